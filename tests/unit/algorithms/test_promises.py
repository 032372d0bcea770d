"""What tests tell the author of an algorithm: one line with what to change."""

import pytest

from fairfl.algorithms import afl
from tests.unit.algorithms import test_every
from tests.unit.algorithms.reweighting import vector, weights


def test_a_renamed_hyperparameter_is_one_line():
    with pytest.raises(pytest.fail.Exception) as failed:
        weights("qffl", vector(1.0, 2.0), vector(1, 1), strength=1.0)
    assert "qffl has no hyper-parameter 'strength', only q" in str(failed.value)
    assert str(failed.value).endswith("change tests/unit/algorithms/test_qffl.py") and not failed.value.pytrace


def test_a_promise_that_is_not_kept_is_one_line_with_what_to_write(monkeypatch):
    with (
        pytest.raises(pytest.fail.Exception, match="afl: not true that the weights sum to 1. If that is how") as failed,
        test_every.promised("afl", "weights_sum_to_one"),
    ):
        raise AssertionError
    assert "By design not `weights_sum_to_one`: why" in str(failed.value) and not failed.value.pytrace
    monkeypatch.setattr(afl.AFL, "__doc__", "By design not `weights_sum_to_one`: they are counts.")
    with (
        pytest.raises(pytest.skip.Exception, match="afl: they are counts"),
        test_every.promised("afl", "weights_sum_to_one"),
    ):
        pass
