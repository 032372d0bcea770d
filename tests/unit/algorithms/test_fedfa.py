"""FedFa: hand-computed examples over two rounds, limiting cases, guards."""

import pytest
import torch
from pydantic import ValidationError

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


def test_accuracies_in_percent_give_the_same_weights():
    close(rounds(0, 1, 2, accuracy=100 * ACCURACY)[1], rounds(0, 1, 2)[1], 1e-12)


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


@pytest.mark.parametrize(
    ("alpha", "beta", "expected"),
    [(1.0, 0.0, [0.193426, 0.306574, 0.5]), (0.0, 1.0, [0.142331, 0.316539, 0.541131])],
)
def test_information_of_the_example(alpha, beta, expected):
    close(fedfa.information_weights(ACCURACY, counted(1, 2, 3), fedfa.Config(alpha=alpha, beta=beta)), expected)


def test_equal_accuracies_and_counts_weigh_equally():
    close(rounds(accuracy=torch.full_like(ACCURACY, 0.4))[1], [1 / 3] * 3, 1e-12)


def test_full_server_momentum_never_starts():
    x, w, state = rounds(steps=3, gamma_s=1.0)
    close(state["momentum"], [0.0, 0.0], 0)
    close(x, w @ TRAINED, 1e-12)


def test_one_client_alone_has_weight_one():
    x, w, _ = rounds(ids=(1,), gamma_s=1.0)
    close(w, [1.0], 0)
    close(x, TRAINED[1], 1e-12)


def test_beta_one_ignores_the_accuracies():
    close(rounds(alpha=0.0, beta=1.0)[1], rounds(alpha=0.0, beta=1.0, accuracy=ACCURACY.flip(0))[1], 0)


def test_absent_clients_are_not_counted():
    close(rounds(ids=(0, 2), steps=3)[2]["rounds"], [3.0, 0.0, 3.0])


def test_accuracies_of_zero_weigh_equally():
    close(rounds(accuracy=torch.zeros(3, dtype=torch.float64))[1], [1 / 3] * 3, 1e-12)


def test_a_single_accuracy_above_zero_is_the_least_weighty():
    w = rounds(accuracy=torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64), alpha=1.0, beta=0.0)[1]
    close(w, [0.0, 0.5, 0.5], 1e-12)


def test_uniform_weights_as_the_released_code_without_options():
    x, w, state = rounds(0, 5, 9, weighting="uniform")
    mean = TRAINED.mean(0)
    close(w, [1 / 3] * 3, 1e-15)
    close(state["momentum"], 0.5 * mean)
    close(x, mean - ETA * 0.5 * mean)


def test_clients_train_with_their_momentum():
    received = Received(clients=torch.arange(3), samples=torch.ones(3), learning_rate=ETA)
    assert fedfa.FedFa(fedfa.Config(gamma_c=0.7)).configure_clients({}, received).momentum == 0.7


def test_momentum_has_the_type_of_the_model():
    state = fedfa.FedFa(fedfa.Config()).init_state(Federation(torch.ones(3, dtype=torch.float64), torch.zeros(2)))
    assert state["momentum"].dtype == torch.float32


def test_shares_that_do_not_sum_to_one_are_refused():
    with pytest.raises(ValidationError, match="alpha 0.7 and beta 0.5 must sum to 1, e.g. beta 0.3"):
        fedfa.Config(alpha=0.7)
    fedfa.Config(alpha=0.9, beta=0.1)
