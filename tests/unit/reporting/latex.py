"""What must hold of a table in LaTeX so that it compiles; and the compiler itself, where there is one."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

COMPILER = shutil.which("pdflatex")
ENVIRONMENTS = {"table", "tabular", "minipage"}
# Of LaTeX itself, booktabs and graphicx; any other command is a misprint.
COMMANDS = set(
    """
    begin end caption label input centering small footnotesize par smallskip medskip parbox linewidth
    textheight totalheight resizebox ifdim width else fi toprule midrule bottomrule cmidrule addlinespace multicolumn
    textbf
    textsuperscript textbackslash
    textasciitilde textasciicircum dots pm times le ge neq approx to uparrow downarrow infty cdot in sum sup inf surd
    circ ast Vert vert nabla frac sqrt max min log exp mbox mathrm mathbf mathcal bar hat tilde left right quad ll gg
    subset setminus mid ell alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi
    varphi chi psi omega Delta Gamma Sigma Lambda Theta Omega forall langle rangle arg prime partial cos leq geq
    lfloor rfloor lceil rceil texteuro pounds textbullet textperthousand S
    """.split()  # noqa: SIM905
)


def faults(text: str) -> Iterator[str]:
    """Why a table would not compile, or not as it is meant."""
    text = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    text = re.sub(
        r"\{\\ifdefined\\Umathchar [^\\]*\\else (\?+)\\fi\}", r"\1", text
    )  # pdfLaTeX reads the question marks
    if foreign := sorted({c for c in text if not c.isascii() and not (c.isalpha() and ord(c) < 0x180)}):
        yield f"characters {foreign}"
    if unknown := sorted(set(re.findall(r"\\([A-Za-z]+)", text)) - COMMANDS):
        yield f"commands {unknown}"
    bare = re.sub(r"\\[\\{}$&%#_|,;! ^\"'`~=.]", "", text)
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth < 0:
            break
    if depth:
        yield "braces are not balanced"
    if bare.count("$") % 2:
        yield "a lone dollar"
    words = re.sub(r"\\label\{[^}]*\}", "", re.sub(r"\$[^$]*\$", "", bare))
    if special := sorted(set(words) & set("_^#%~") - {"~"}):
        yield f"{special} outside of math"
    opened: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if name not in ENVIRONMENTS:
            yield f"environment {name}"
        if what == "begin":
            opened.append(name)
        elif not opened or opened.pop() != name:
            yield f"{name} ends where it is not open"
    if opened:
        yield f"{opened} never ends"
    for tabular in re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", text, re.S):
        yield from _rows(tabular)


def _rows(tabular: str) -> Iterator[str]:
    """Every line has as many cells as there are columns, every rule lies below some."""
    found = re.match(r"\\begin\{tabular\}\{((?:[lrc]|p\{[^}]*\})+)\}", tabular)
    if found is None:
        yield "columns that are not l, r, c or p"
        return
    columns = len(re.sub(r"p\{[^}]*\}", "p", found[1]))
    lines = re.findall(r"^(.*) \\\\$", tabular, re.M)
    if len(lines) < 2:
        yield "no lines"
    for line in lines:
        wider = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", line))
        cells = len(re.findall(r"(?<!\\)&", line)) + 1 + wider
        if cells != columns:
            yield f"{cells} cells in {columns} columns: {line}"
    for first, last in re.findall(r"\\cmidrule(?:\(\w+\))?\{(\d+)-(\d+)\}", tabular):
        if not 1 <= int(first) <= int(last) <= columns:
            yield f"a rule below columns {first} to {last} of {columns}"


def compiled(folder: Path, files: Iterable[Path]) -> str:
    """What LaTeX complains of in a document with nothing but these tables, '' if of nothing."""
    inputs = "\n".join(f"\\typeout{{in {path.name}}}\\input{{{path}}}\\clearpage" for path in files)
    preamble = "\\documentclass{article}\n\\usepackage{booktabs, graphicx}\n"
    return complaints(folder, f"{preamble}\\begin{{document}}\n{inputs}\n\\end{{document}}\n")


def complaints(folder: Path, document: str) -> str:
    """What LaTeX complains of in a document, '' if of nothing; `folder` has what it reads."""
    assert COMPILER is not None
    (folder / "all.tex").write_text(document)
    command = [COMPILER, "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    said = [line for line in done.stdout.splitlines() if re.match("! |in |Overfull|.*Float too large", line)]
    found = [f"{before}: {line}" for before, line in zip(["", *said], said, strict=False) if line[:3] != "in "]
    return "\n".join(found) or ("" if done.returncode == 0 else done.stdout[-2000:])
