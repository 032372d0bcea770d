"""Words that the style guide replaces (the table in CONTRIBUTING.md): how many are in docs and in strings of src/."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MADE = {"reference.md", "configuration.md"}  # from the code's own descriptions


def avoided(guide: str) -> list[str]:
    """Words and phrases in backquotes in the first column of the table 'instead of'."""
    table = guide.partition("| instead of | write |")[2].partition("\n\n")[0]
    return [
        word
        for line in table.splitlines()
        for word in re.findall(r"`([^`]+)`", line.split("|")[1] if "|" in line else "")
    ]


def pages(root: Path) -> str:
    """Text of README and docs/, without code and comments."""
    files = [root / "README.md", *(page for page in sorted(root.glob("docs/*.md")) if page.name not in MADE)]
    text = "\n".join(file.read_text() for file in files)
    return re.sub(r"```.*?^```|<!--.*?-->|`[^`\n]*`", "", text, flags=re.M | re.S)


def strings(root: Path) -> list[str]:
    """Strings of src/fairfl that are sentences: docstrings, messages, titles, footers."""
    found = []
    for file in sorted((root / "src/fairfl").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                found.append(re.sub(r"`[^`\n]*`", "", node.value))
    return found


def counted(words: list[str], text: str) -> Counter[str]:
    """How often each word occurs."""
    plain = " ".join(text.split()).lower()
    return Counter({word: len(re.findall(rf"\b{re.escape(word)}\b", plain)) for word in words})


def totals() -> dict[str, int]:
    """How many are in the docs and in the strings of src/."""
    listed = avoided((ROOT / "CONTRIBUTING.md").read_text())
    texts = {"docs": pages(ROOT), "src": "\n".join(strings(ROOT))}
    return {place: counted(listed, text).total() for place, text in texts.items()}


def strings_with(word: str) -> list[str]:
    """The strings of src/ that have one of them."""
    return [text for text in strings(ROOT) if counted([word], text).total()]
