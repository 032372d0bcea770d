"""FedFa: the hand-computed examples over two rounds, options."""

import pytest
import torch

from fairfl.algorithms import fedfa
from fairfl.algorithms.interface import Federation, Received, Reports
from tests.unit.algorithms.toy import close

TRAINED = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
ACCURACY = torch.tensor([0.9, 0.6, 0.3], dtype=torch.float64)
ETA = 0.1


def counted(*count):
    return torch.tensor(count, dtype=torch.float64)


def rounds(*earlier, ids=(0, 1, 2), accuracy=ACCURACY, trained=TRAINED, steps=1, **hyperparameters):
    """(x, weights, state) after `steps` rounds from x = 0 with the same trained models; `earlier` counts per client."""
    config = fedfa.Config(**hyperparameters)
    state = fedfa.FedFa(config).init_state(
        Federation(torch.ones(3, dtype=torch.float64), torch.zeros(2, dtype=torch.float64))
    )
    state = {**state, "rounds": counted(*(earlier or (0, 0, 0)))}
    x, ids = torch.zeros(2, dtype=torch.float64), torch.tensor(ids)
    for _ in range(steps):
        report = Reports(
            clients=ids,
            samples=torch.ones(len(ids), dtype=torch.float64),
            learning_rate=ETA,
            x=x,
            accuracy_received=accuracy[ids] if config.acc_of == "global" else None,
            accuracy_after=accuracy[ids] if config.acc_of == "local" else None,
            delta=x - trained[ids],
        )
        result, state = fedfa.FedFa(config).aggregate(state, report)
        x = x - result.weights @ report.delta - result.extra
    return x, result.weights, state


@pytest.mark.parametrize(("sign", "x"), [(-1, [0.654022, 0.790515]), (1, [0.722866, 0.873727])])
def test_example(sign, x):
    actual, w, state = rounds(0, 1, 2, sign=sign)
    close(actual, x)
    close(w, [0.167879, 0.311556, 0.520565])
    close(state["momentum"], [0.344222, 0.416061])
    close(state["rounds"], [1.0, 2.0, 3.0])


def test_second_round_of_the_example():
    """Same models and accuracies, counts 2, 2, 4."""
    config = fedfa.Config()
    x, _, state = rounds(0, 1, 2)
    state = {**state, "rounds": counted(1, 1, 3)}
    report = Reports(
        clients=torch.arange(3),
        samples=torch.ones(3, dtype=torch.float64),
        learning_rate=ETA,
        x=x,
        accuracy_after=ACCURACY,
        delta=x - TRAINED,
    )
    result, state = fedfa.FedFa(config).aggregate(state, report)
    close(result.weights, [0.210106, 0.266679, 0.523215])
    close(state["momentum"], [0.211760, 0.207720])
    close(x - result.weights @ report.delta - result.extra, [0.712145, 0.769122])


def test_absent_clients_are_not_counted():
    close(rounds(ids=(0, 2), steps=3)[2]["rounds"], [3.0, 0.0, 3.0])


def test_uniform_weights_as_the_released_code_without_options():
    x, w, state = rounds(0, 5, 9, weighting="uniform")
    mean = TRAINED.mean(0)
    close(w, [1 / 3] * 3, 1e-15)
    close(state["momentum"], 0.5 * mean)
    close(x, mean - ETA * 0.5 * mean)


def test_clients_train_with_their_momentum():
    received = Received(clients=torch.arange(3), samples=torch.ones(3), learning_rate=ETA)
    assert fedfa.FedFa(fedfa.Config(gamma_c=0.7)).configure_clients({}, received).momentum == 0.7
