"""What should hold between a paper's own numbers."""

from pydantic import Field

from fairfl.experiments.base import Strict


class Consistency(Strict):
    """A relation that the paper's own numbers should satisfy, as a comparison of fairfl.judgement.claims.grammar.

    The algorithm `row` stands for every variant, in every setting, of which the paper prints the number on the left.
    """

    id: str
    expr: str
    setting: str | None = Field(None, description="null: every setting")
    within: float = Field(
        0.0, ge=0, description="relative slack beside half a unit of the last printed digit"
    )
    text: str = Field("", description="what should hold, in words")
