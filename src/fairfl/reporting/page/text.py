"""LaTeX of titles and captions as readable text."""

import re

from fairfl.reporting import formulas

_SYMBOLS = formulas.LETTERS | dict.fromkeys(
    ("text", "mathrm", "mathbf", "mathcal", "textbf", "left", "right"), ""
)
_SYMBOLS |= {"sqrt": "√", "quad": " "}


def readable(text: str) -> str:
    """LaTeX of a title as readable text: '$\\max_k r_k$' -> 'max_k r_k'. Unknown commands keep their name."""
    return formulas.apply(text, _unescaped, _plain, marked=False).strip()


def _unescaped(text: str) -> str:
    return re.sub(r"\\([%&#$_{}])", r"\1", text)


def _plain(formula: str) -> str:
    for command, sign in {"^2": "²", "^*": "*", "^\\circ": "°", "\\|": "‖", "\\,": " "}.items():
        formula = formula.replace(command, sign)
    formula = re.sub(r"\\([A-Za-z]+) ?", lambda m: _SYMBOLS.get(m[1], m[1]), _unescaped(formula))
    return re.sub(r"[{}]", "", formula)
