"""Text of papers and users: which part of it is mathematics, and which is only text.

A formula stands between two dollars with no blank inside them and no digit behind them ("$5 and $6" is money). It may
use what LaTeX itself has for mathematics and nothing else, so no formula reads a file or redefines a command.
"""

import re
from collections.abc import Callable

from fairfl.experiments.variant import GREEK

_FORMULA = re.compile(r"(?<!\\)\$(?=[^\s$])((?:\\.|[^$\\])*)(?<=\S)\$(?!\d)")
_COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.S)
_COMMANDS = frozenset(
    """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho
    sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
    pm mp times div ast star circ bullet cdot cap cup setminus oplus ominus otimes odot wedge vee le leq ge geq neq ne
    approx sim simeq cong equiv propto ll gg subset supset subseteq supseteq in ni notin mid parallel perp prec succ
    to gets mapsto leftarrow rightarrow Leftarrow Rightarrow leftrightarrow uparrow downarrow infty partial nabla
    forall exists neg emptyset surd top bot angle prime ell hbar Re Im dots ldots cdots vdots ddots colon
    sum prod int max min sup inf lim arg exp log ln sin cos tan arcsin arccos arctan det dim ker deg gcd Pr
    frac sqrt bar hat tilde vec dot ddot check breve acute grave overline underline widehat widetilde overbrace
    limsup liminf underbrace text mathrm mathbf mathit mathsf mathtt mathcal left right big Big bigg Bigg bigl bigr Bigl
    Bigr langle rangle lfloor rfloor lceil rceil lvert rvert lVert rVert vert Vert quad qquad displaystyle textstyle
    """.split()  # noqa: SIM905
)
_SYMBOLS = frozenset(",;:!| {}%&#_-/")
# What LaTeX has a command for in mathematics, and the letter that shows it; of two commands for one the first is used.
LETTERS = GREEK | {
    "varepsilon": "ε", "kappa": "κ", "pi": "π", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "zeta": "ζ",
    "Gamma": "Γ", "Delta": "Δ", "Sigma": "Σ", "Lambda": "Λ", "Theta": "Θ", "Omega": "Ω",
    "pm": "±", "times": "×", "cdot": "·", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "neq": "≠", "approx": "≈",
    "uparrow": "↑", "downarrow": "↓", "to": "→", "infty": "∞", "sum": "∑", "nabla": "∇", "ell": "ℓ", "in": "∈",
    "surd": "√", "Vert": "‖", "circ": "○",
}  # fmt: skip


def literal(text: str) -> str:
    """Text from data, such as the name of a column: each dollar in it is a dollar."""
    return text.replace("$", r"\$")


def is_formula(text: str) -> bool:
    """True if what stands between two dollars is mathematics that LaTeX itself sets, and does nothing else."""
    commands = _COMMAND.findall(text)
    bare = _COMMAND.sub("x", text)
    is_known = all(name in _COMMANDS or name in _SYMBOLS for name in commands)
    is_known &= commands.count("left") == commands.count("right")
    dangling = re.search(r"\^\s*\^|[_^]\s*([}_^]|$)|^\s*$", bare)
    return is_known and not dangling and not re.search(r"[%#&~]", bare) and _balanced(bare)


def _balanced(text: str) -> bool:
    depth = 0
    for brace in re.findall(r"[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def apply(
    text: str,
    plain: Callable[[str], str],
    math: Callable[[str], str],
    allowed: Callable[[str], bool] = is_formula,
    marked: bool = True,
) -> str:
    """Apply one function to text, with its dollars as they are read, and another to what formulas have between theirs.

    `marked` formulas keep their dollars. Mathematics that is not allowed is text.
    """
    written, at, dollar = [], 0, "$" * marked
    for formula in _FORMULA.finditer(text):
        if allowed(formula[1]):
            written += [
                plain(_read(text[at : formula.start()])),
                f"{dollar}{math(formula[1])}{dollar}",
            ]
            at = formula.end()
    return "".join([*written, plain(_read(text[at:]))])


def _read(text: str) -> str:
    return text.replace(r"\$", "$")
