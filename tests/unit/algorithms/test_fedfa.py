"""FedFa: the hand-computed examples over two rounds, options."""

import pytest

from fairfl.algorithms import fedfa
from fairfl.algorithms.interface import Federation
from tests.unit.algorithms.toy import ETA, close, told, vector

TRAINED, ACCURACY = vector([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]), vector(0.9, 0.6, 0.3)


def rounds(*counts, x=(0, 0), ids=(0, 1, 2), steps=1, momentum=(0, 0), **hyperparameters):
    """(x, weights, state) after rounds with the same trained models, from `counts` rounds of each client."""
    algorithm = fedfa.FedFa(fedfa.Config(**hyperparameters))
    state = algorithm.init_state(Federation(vector(1, 1, 1), vector(0, 0)))
    state |= {"rounds": vector(*(counts or (0, 0, 0))).double(), "momentum": vector(*momentum)}
    accuracy = {"local": "accuracy_after", "global": "accuracy_received"}[algorithm.config.acc_of]
    x, ids = vector(*x), list(ids)
    for _ in range(steps):
        report = told(x - TRAINED[ids], ids, x=x, **{accuracy: ACCURACY[ids]})
        result, state = algorithm.aggregate(state, report)
        x = x - result.weights @ report.delta - result.extra
    return x, result.weights, state


@pytest.mark.parametrize("acc_of", ["local", "global"])
@pytest.mark.parametrize(("sign", "x"), [(-1, [0.654022, 0.790515]), (1, [0.722866, 0.873727])])
def test_example(sign, x, acc_of):
    actual, w, state = rounds(0, 1, 2, sign=sign, acc_of=acc_of)
    close(actual, x)
    close(w, [0.167879, 0.311556, 0.520565])
    close(state["momentum"], [0.344222, 0.416061])
    close(state["rounds"], [1.0, 2.0, 3.0])


def test_second_round_of_the_example():
    x, w, state = rounds(1, 1, 3, x=(0.654022, 0.790515), momentum=(0.344222, 0.416061))
    close(w, [0.210106, 0.266679, 0.523215])
    close(state["momentum"], [0.211760, 0.207720], 2e-6)
    close(x, [0.712145, 0.769122], 2e-6)


def test_absent_clients_are_not_counted():
    close(rounds(ids=(0, 2), steps=3)[2]["rounds"], [3.0, 0.0, 3.0])


def test_uniform_weights_as_the_released_code_without_options():
    x, w, state = rounds(0, 5, 9, weighting="uniform")
    mean = TRAINED.mean(0)
    close(w, [1 / 3] * 3, 1e-15)
    close(state["momentum"], 0.5 * mean)
    close(x, mean - ETA * 0.5 * mean)


def test_clients_train_with_their_momentum():
    assert fedfa.FedFa(fedfa.Config(gamma_c=0.7)).configure_clients({}, None).momentum == 0.7
