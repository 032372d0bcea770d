"""python -m tests.words: words of the documentation that the style guide replaces; their number may only fall.

The list is the first column of the table in CONTRIBUTING.md. `--write` lowers the budget (tests/words.txt).
"""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = Path(__file__).with_suffix(".txt")
MADE = {"reference.md", "configuration.md"}  # from the code's own descriptions


def avoided(guide: str) -> list[str]:
    """Words and phrases in backquotes in the first column of the table 'instead of'."""
    table = guide.partition("| instead of | write |")[2].partition("\n\n")[0]
    return [
        word
        for line in table.splitlines()
        for word in re.findall(r"`([^`]+)`", line.split("|")[1] if "|" in line else "")
    ]


def counted(root: Path) -> Counter[str]:
    """How often each occurs in README and docs/, but for code and comments."""
    words = avoided((root / "CONTRIBUTING.md").read_text())
    pages = [root / "README.md", *(page for page in sorted(root.glob("docs/*.md")) if page.name not in MADE)]
    text = "\n".join(page.read_text() for page in pages)
    text = re.sub(r"```.*?^```|<!--.*?-->|`[^`\n]*`", "", text, flags=re.M | re.S)
    plain = " ".join(text.split()).lower()
    return Counter({word: len(re.findall(rf"\b{re.escape(word)}\b", plain)) for word in words})


def main(options: list[str]) -> int:
    found, budget = counted(ROOT), int(BUDGET.read_text())
    if "--write" in options:
        BUDGET.write_text(f"{min(found.total(), budget)}\n")
    elif found.total() > budget:
        print(f"docs: {found.total()} words that CONTRIBUTING.md replaces, at most {budget} ({BUDGET.name}): {+found}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
