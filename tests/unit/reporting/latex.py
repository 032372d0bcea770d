"""The LaTeX compiler, where there is one."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

COMPILER = shutil.which("pdflatex")


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
