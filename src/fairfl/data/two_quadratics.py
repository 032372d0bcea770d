"""Clients whose losses are quadratic functions of one number: the toy of FedEBA+, figure 1.

Client k has one sample (a, b) with a = sqrt(c_k) and b = a m_k, so that the squared error of the model a x (model
linear_regression: one weight x, no bias) is c_k (x - m_k)^2. With the defaults that is 2 (x - 2)^2 and (x + 4)^2 / 2.
The sample is what the client trains on; there is nothing to validate or test on.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from fairfl.data.interface import Prepared, assemble
from fairfl.experiments.base import Strict

CLASSES = 0

_NAME = "two_quadratics"


class Config(Strict):
    """Options of the data set."""

    coefficients: list[Annotated[float, Field(gt=0)]] = Field(
        [2.0, 0.5], min_length=1, description="c_k, one per client"
    )
    minima: list[float] = Field([2.0, -4.0], min_length=1, description="m_k, one per client")

    @model_validator(mode="after")
    def _per_client(self) -> "Config":
        if len(self.coefficients) != len(self.minima):
            raise ValueError(
                f"coefficients and minima have {len(self.coefficients)} and {len(self.minima)} numbers; "
                "expected one of each per client"
            )
        return self


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs float32 [K, 1], labels float32 [K], client int64 [K]: row k is the one sample of client k.

    The paper's formulas are lost in the text at hand; the defaults are recalled from an earlier version, whose FedAvg
    point 0.5 follows from them (step 1/4 from x = 0 takes the clients to 2 and -1).
    """
    coefficients, minima = np.array(options.coefficients), np.array(options.minima)
    a = np.sqrt(coefficients)
    terms = (f"{c:g} (x - {m:g})^2" for c, m in zip(coefficients, minima, strict=True))
    return assemble(
        _NAME,
        CLASSES,
        f"computed: losses {', '.join(terms)} of one number x (FedEBA+, figure 1)",
        a[:, None].astype(np.float32),
        (a * minima).astype(np.float32),
        client=np.arange(len(a)),
    )
