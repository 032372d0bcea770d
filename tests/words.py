"""python -m tests.words: words that the style guide replaces, in docs and strings of src/; no count may rise.

The list is the first column of the table in CONTRIBUTING.md. `--write` lowers the budgets (tests/words.json).
`python -m tests.words WORD` lists the strings of src/ that have one.
"""

import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = Path(__file__).with_suffix(".json")
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


def main(options: list[str]) -> int:
    words, budgets = avoided((ROOT / "CONTRIBUTING.md").read_text()), json.loads(BUDGET.read_text())
    texts = {"docs": pages(ROOT), "src": "\n".join(strings(ROOT))}
    counts = {place: counted(words, text) for place, text in texts.items()}
    if "--write" in options:
        lower = {place: min(count.total(), budgets[place]) for place, count in counts.items()}
        BUDGET.write_text(json.dumps(lower, indent=1) + "\n")
    elif options:
        print("\n".join(text for text in strings(ROOT) if counted([" ".join(options)], text).total()))
    for place, count in counts.items():
        if count.total() > budgets[place]:
            listed = ", ".join(f"{word} {many}" for word, many in count.most_common() if many)
            print(f"{place}: {count.total()} words that CONTRIBUTING.md replaces, at most {budgets[place]}: {listed}")
    return int(any(count.total() > budgets[place] for place, count in counts.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
