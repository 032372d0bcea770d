"""LaTeX of titles and captions as readable text."""

import re

from fairfl.experiments.variant import GREEK

_SYMBOLS = GREEK | {
    "varepsilon": "ε", "kappa": "κ", "pi": "π", "phi": "φ", "omega": "ω",
    "pm": "±", "times": "×", "cdot": "·", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "uparrow": "↑",
    "downarrow": "↓", "to": "→", "infty": "∞", "sum": "∑", "nabla": "∇", "ell": "ℓ", "in": "∈", "sqrt": "√",
    "Gamma": "Γ", "Delta": "Δ", "text": "", "mathrm": "", "mathbf": "", "mathcal": "", "textbf": "", "left": "",
    "right": "", "quad": " ",
}  # fmt: skip


def plain(text: str) -> str:
    """LaTeX of a title as readable text: '$\\max_k r_k$' -> 'max_k r_k'. Unknown commands keep their name."""
    text = re.sub(r"\\([%&#$_{}])", r"\1", text.replace("$", "").replace("^2", "²").replace("^*", "*"))
    text = re.sub(r"\\([A-Za-z]+) ?", lambda m: _SYMBOLS.get(m[1], m[1]), text)
    return re.sub(r"[{}]", "", text).replace("\\,", " ").strip()


def readable(text: str) -> str:
    """As `plain`, with signs that a table of Markdown has no room for: 'a ‖ u', '°'."""
    return plain(text.replace("\\|", "‖").replace("^\\circ", "°"))
