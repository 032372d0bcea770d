"""Tokens of src/fairfl.

A token is a name, an operator, a number or a string: lines could be made fuller instead, tokens cannot.
"""

import tokenize
from pathlib import Path

PACKAGES = Path("src/fairfl")
COUNTED = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
STARTS = (tokenize.ENCODING, tokenize.INDENT, tokenize.NEWLINE)  # of a module, of a block, of a statement


def tokens(file: Path) -> int:
    """Count a module's tokens; without docstrings, and an f-string is one, as in Python 3.11, whatever is inside."""
    count, inside, before = 0, 0, tokenize.NEWLINE
    with file.open("rb") as lines:
        for token in tokenize.tokenize(lines.readline):
            name = tokenize.tok_name[token.type]
            docstring = token.type == tokenize.STRING and before in STARTS
            opens = name == "FSTRING_START"
            count += not inside and not docstring and (token.type in COUNTED or opens)
            inside += opens - (name == "FSTRING_END")
            before = before if token.type in (tokenize.COMMENT, tokenize.NL) else token.type
    return count


def counted() -> dict[str, int]:
    """Tokens by package."""
    folders = [folder for folder in sorted(PACKAGES.iterdir()) if (folder / "__init__.py").is_file()]
    return {folder.name: sum(map(tokens, folder.rglob("*.py"))) for folder in folders}
