"""Clients whose losses are quadratic functions of one number: the toy of FedEBA+, figure 1.

Client k has one sample (a, b) with a = sqrt(c_k) and b = a m_k, so that the squared error of the model a x (model
linear_regression: one weight x, no bias) is c_k (x - m_k)^2. With the defaults that is 2 (x - 2)^2 and (x + 4)^2 / 2.
The sample is what the client trains on; there is nothing to validate or test on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.data.options import merge, number
from fairfl.runtime.errors import OptionError
from fairfl.runtime.plain import shown

CLASSES = 0
PER_SEED = False
DEFAULTS: dict[str, Any] = {"coefficients": [2.0, 0.5], "minima": [2.0, -4.0]}

_NAME = "two_quadratics"


def files(options: dict[str, Any]) -> tuple[RemoteFile, ...]:
    """None: the data are computed."""
    _checked(options)
    return ()


def prepare(raw: Path | None, options: dict[str, Any], seed: int) -> Prepared:
    """inputs float32 [K, 1], labels float32 [K], client int64 [K]: row k is the one sample of client k.

    The paper's formulas are lost in the text at hand; the defaults are recalled from an earlier version, whose FedAvg
    point 0.5 follows from them (step 1/4 from x = 0 takes the clients to 2 and -1).

    Options:
        coefficients: c_k > 0, one per client (default 2 and 0.5).
        minima: m_k, one per client (default 2 and -4).

    Raises:
        OptionError: an unknown option, a value that is not allowed, or lists of different lengths.
    """
    coefficients, minima = _checked(options)
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


def _checked(options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and minima, float64 [K] each."""
    chosen = merge(_NAME, options, DEFAULTS)
    for name, values in chosen.items():
        if not isinstance(values, list | tuple) or not values:
            raise OptionError(f"{_NAME}: option {name} is {shown(values)}; expected a list of numbers, one per client")
    coefficients = [number(_NAME, "coefficients", value, 0.0) for value in chosen["coefficients"]]
    minima = [number(_NAME, "minima", value, -np.inf) for value in chosen["minima"]]
    if 0.0 in coefficients:
        raise OptionError(f"{_NAME}: option coefficients is {chosen['coefficients']}; expected numbers > 0")
    if len(coefficients) != len(minima):
        raise OptionError(
            f"{_NAME}: options coefficients and minima have {len(coefficients)} and {len(minima)} numbers; "
            "expected one of each per client"
        )
    return np.array(coefficients), np.array(minima)
