"""FedDisco, FedFa and FedWAvg, whose weights are of labels, of accuracies and of forgotten samples."""

import pytest
import torch
from scipy.spatial.distance import cosine
from scipy.stats import entropy

from fairfl.algorithms import feddisco, fedfa, fedwavg
from fairfl.algorithms.interface import Federation
from tests.unit.algorithms.toy import SAMPLES, X, close, reports, told, vector

# -- feddisco: the hand-computed weights, all metrics against SciPy, fall-backs.
COUNTS = vector([90.0, 10.0], [100.0, 100.0], [20.0, 80.0])


def by_discrepancy(counts=COUNTS, clients=None, **hyperparameters):
    algorithm, n = feddisco.FedDisco(feddisco.Config(**hyperparameters)), counts.sum(1)
    ids = list(range(len(n))) if clients is None else clients
    state = algorithm.init_state(Federation(n, labels=counts))
    return algorithm.aggregate(state, told(torch.zeros(len(ids), 1), ids, n[ids]))[0].weights


def test_example_of_feddisco():
    close(feddisco.discrepancies(COUNTS, vector(0.5, 0.5), "kl"), [0.368064, 0, 0.192745])
    close(by_discrepancy(), [0.027307, 0.75, 0.222693])
    close(X - by_discrepancy() @ reports().delta, [0.980461, -2.180461])
    close(by_discrepancy(a=2.0), [0, 1, 0])  # negative weights
    close(by_discrepancy(vector([10.0, 0.0], [0.0, 30.0]), a=9.0, b=0.0), [0.25, 0.75])  # all cut off: sizes


def test_metrics_of_feddisco_against_scipy():
    draw = torch.Generator().manual_seed(1)
    counts = torch.randint(0, 9, (6, 5), generator=draw).double() + torch.eye(6, 5)
    u, q = vector(0.1, 0.3, 0.2, 0.15, 0.25), counts / counts.sum(1, keepdim=True)
    for metric, expected in {
        "kl": lambda own: entropy(own, u),
        "cosine": lambda own: cosine(own, u),
        "l1": lambda own: abs(own - u).sum(),
        "l2": lambda own: (own - u).norm(),
    }.items():
        close(feddisco.discrepancies(counts, u, metric), [float(expected(own)) for own in q], 1e-12)


def test_the_pooled_target_of_feddisco():
    """Two clients that together are balanced as the pool is; the third is the pool."""
    counts = vector([8.0, 2.0], [1.0, 3.0], [9.0, 5.0])
    algorithm = feddisco.FedDisco(feddisco.Config(target="pooled"))
    close(algorithm.init_state(Federation(counts.sum(1), labels=counts))["d"][2], 0.0, 1e-12)
    unseen = vector([8.0, 2.0, 0.0], [1.0, 3.0, 0.0])  # a class that nobody has
    assert by_discrepancy(unseen, target="pooled").isfinite().all() and by_discrepancy(unseen).isfinite().all()


def test_the_divisor_of_feddisco_is_of_the_clients_of_the_round():
    w = (vector(0.5, 0.5) - 0.5 * vector(0.656309, 0.343691) + 0.1).clamp(min=0)
    close(by_discrepancy(clients=[0, 2]), w / w.sum())


# -- fedfa: the hand-computed examples over two rounds, options.
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


W, V, FIRST = [0.167879, 0.311556, 0.520565], [0.344222, 0.416061], [0.654022, 0.790515]
SECOND = {"x": FIRST, "momentum": V}
# Rounds of each client before, what else is given; x, weights and momentum after the round.
FEDFA = [
    ((0, 1, 2), {"sign": -1, "acc_of": "local"}, FIRST, W, V),
    ((0, 1, 2), {"sign": -1, "acc_of": "global"}, FIRST, W, V),
    ((0, 1, 2), {"sign": 1}, [0.722866, 0.873727], W, V),
    ((1, 1, 3), SECOND, [0.712145, 0.769122], [0.210106, 0.266679, 0.523215], [0.211760, 0.207720]),
    # Those of the released code without options: the mean (2/3, 2/3), less a tenth of half of it.
    ((0, 5, 9), {"weighting": "uniform"}, [0.95 * 2 / 3] * 2, [1 / 3] * 3, [1 / 3] * 2),
]


@pytest.mark.parametrize(("counts", "given", "x", "w", "momentum"), FEDFA)
def test_example_of_fedfa(counts, given, x, w, momentum):
    found, weights, state = rounds(*counts, **given)
    close(found, x, 2e-6)
    close(weights, w)
    close(state["momentum"], momentum, 2e-6)
    assert state["rounds"].tolist() == [count + 1 for count in counts]


def test_absent_clients_are_not_counted_in_fedfa():
    close(rounds(ids=(0, 2), steps=3)[2]["rounds"], [3.0, 0.0, 3.0])


def test_clients_of_fedfa_train_with_their_momentum():
    assert fedfa.FedFa(fedfa.Config(gamma_c=0.7)).configure_clients({}, None).momentum == 0.7


# -- fedwavg: the hand-computed round, what counts as forgotten, state of clients that are not drawn.
def bits(*rows):
    """int8 [m, n_max] from strings of 1, 0 and - for padding."""
    return torch.tensor([[{"1": 1, "0": 0, "-": -1}[c] for c in row] for row in rows], dtype=torch.int8)


def played(samples, before, after, clients=None, state=None, **hyperparameters):
    """Weights and state after a round."""
    algorithm = fedwavg.FedWAvg(fedwavg.Config(**hyperparameters))
    labels = torch.stack([samples, 0 * samples], dim=1)
    state = algorithm.init_state(Federation(samples, labels=labels)) if state is None else state
    ids = list(range(len(samples))) if clients is None else clients
    report = told(torch.zeros(len(ids), 1), ids, samples[ids], correct_received=before, correct_after=after)
    result, state = algorithm.aggregate(state, report)
    return result.weights, state


@pytest.mark.parametrize(
    ("mode", "w"), [("count", [0.363636, 0.090909, 0.545455]), ("scaled", [0.252451, 0.490196, 0.257353])]
)
def test_example_of_fedwavg(mode, w):
    """s = (3, 0, 5) of 100, 200 and 100 samples."""
    right = bits("000" + 97 * "1" + 100 * "-", 200 * "1", "00000" + 95 * "1" + 100 * "-")
    weights, _ = played(SAMPLES, right, right, mode=mode)
    close(weights, w)
    if mode == "count":
        close(X - weights @ reports().delta, [0.718182, -1.918182])


def test_what_is_forgettable():
    """Samples: never right; learned; forgotten in a round, then learned again; forgotten between rounds."""
    n = vector(4.0, 1.0)
    w, state = played(n, bits("0010", "1---"), bits("0101", "1---"))
    close(w, [3 / 4, 1 / 4])  # the first and the third
    w, state = played(n, bits("0100", "1---"), bits("0111", "1---"), state=state)
    close(w, [4 / 5, 1 / 5])  # and the fourth, for ever
    assert state["forgotten"][0].tolist() == [False, False, True, True]
    assert state["right_ever"][0].tolist() == [False, True, True, True]
    w, state = played(n, bits("1111", "1---"), bits("1111", "1---"), state=state)
    close(w, [3 / 4, 1 / 4])  # the first is learned now
    assert not state["right_ever"][1, 1:].any()


def test_clients_that_are_not_drawn_keep_their_bits():
    n = vector(2.0, 2.0)
    _, state = played(n, bits("10", "01"), bits("11", "01"))
    w, after = played(n, bits("00"), bits("00"), clients=[1], state=state)
    close(w, [1.0])
    assert all(torch.equal(state[name][0], after[name][0]) for name in state)
    assert after["forgotten"][1].tolist() == [False, True]
