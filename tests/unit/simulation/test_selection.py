"""Who takes part in a round: the engine's draw, an algorithm's own, what it costs."""

import sys
from types import SimpleNamespace

import pytest
import torch

from fairfl.algorithms.interface import Aggregate, EvaluationModels
from fairfl.simulation.seeds import first_of_permutation, generator
from tests.unit.modifiers.test_dp import Recorded
from tests.unit.simulation.federations import close, simulation
from tests.unit.simulation.test_extension_points import register

COUNTS = (4, 6, 9, 3, 5)


def taking_part(run):
    """Clients of three rounds."""
    drawn = []
    for _ in range(3):
        drawn.append(run.select_clients())
        run.run_round()
    return drawn


def test_by_default_the_first_of_the_order_take_part(monkeypatch):
    register(monkeypatch, "toy")
    run = simulation("toy", counts=COUNTS, clients_per_round=2)
    orders = [torch.randperm(5, generator=generator(1, "clients", t)) for t in range(3)]
    assert taking_part(run) == [sorted(order[:2].tolist()) for order in orders]
    assert simulation("toy", counts=COUNTS, clients_per_round=5).select_clients() == [0, 1, 2, 3, 4]


def test_with_a_client_seed_all_runs_draw_the_same_clients(monkeypatch):
    register(monkeypatch, "toy")
    seeds = [{"seed": 1, "client_seed": 9}, {"seed": 2, "client_seed": 9}, {"seed": 9}]
    one, other, alone = (simulation("toy", counts=COUNTS, clients_per_round=2, **given) for given in seeds)
    assert taking_part(one) == taking_part(other) == taking_part(alone)
    assert not torch.equal(one.x, other.x), "all else is of the run's own seed"


def test_an_algorithm_knows_the_order_the_losses_and_its_state(monkeypatch):
    seen = []
    register(monkeypatch, "toy", select=lambda self, state, told: (seen.append(told), told.order[-2:])[1])
    run = simulation("toy", counts=COUNTS, clients_per_round=3)
    order = torch.randperm(5, generator=generator(1, "clients", 0))
    assert run.select_clients() == sorted(order[-2:].tolist())
    told = seen[0]
    assert torch.equal(told.order, order) and (told.clients_per_round, told.round) == (3, 0)
    assert told.samples.tolist() == list(COUNTS)
    close(told.losses(torch.tensor([3, 1])), run.losses("train", [3, 1]))
    run.run_round()
    run.select_clients()
    assert seen[-1].round == 1
    drawn = [(told, "a"), (told, "a"), (told, "b"), (seen[-1], "a")]
    a, again, b, later = (torch.rand(2, generator=one.generator(purpose)).tolist() for one, purpose in drawn)
    assert a == again and len({*a, *b, *later}) == 6


def test_a_round_in_which_nobody_is_there_has_no_step(monkeypatch):
    register(monkeypatch, "toy", select=lambda self, state, told: told.order[: 2 if told.round == 1 else 0])
    run = simulation("toy", counts=COUNTS, clients_per_round=2, evaluate_every=1, keep="path")
    result = run.run()
    start, first, second, third = result.path
    assert torch.equal(first, start) and not torch.equal(second, first) and torch.equal(third, second)
    assert len(result.history) == 4 and result.dropped == 0
    assert run.measures()["comm_cost"] * 3 == pytest.approx(2 * 30 * 4 / 2**20)


@pytest.mark.parametrize("models", [1, 2])
def test_candidates_receive_the_model_once_and_send_losses(monkeypatch, models):
    """15 parameters; four candidates of whom two are asked twice; two of them and one other take part."""

    def select(self, state, selection):
        selection.losses(torch.tensor([0, 1, 2, 3]))
        selection.losses(torch.tensor([0, 1]))
        return torch.tensor([0, 2, 4])

    def aggregate(self, state, reports):
        return Aggregate(torch.ones(reports.delta.shape[:-1], dtype=torch.float64) / 3), state

    several = {"server_models": lambda self: 2, "evaluation_models": lambda self, state, x: EvaluationModels(x[:1])}
    register(monkeypatch, "toy", select=select, aggregate=aggregate, **(several if models == 2 else {}))
    run = simulation("toy", counts=COUNTS, clients_per_round=3, rounds=4)
    run.run()
    x = 15 * models
    assert run.communication.sent == 4 * (4 * x + 6 * models + x + 3 * x)


def test_privacy_is_claimed_of_uniform_draws_only(monkeypatch):
    monkeypatch.setitem(sys.modules, "opacus.accountants", SimpleNamespace(RDPAccountant=Recorded))
    private = {"modifiers": {"dp": {"sigma": 1.0, "per_sample": True}}, "counts": COUNTS, "clients_per_round": 2}
    register(monkeypatch, "toy")
    assert "epsilon" in simulation("toy", **private).measures()
    register(monkeypatch, "toy", select=lambda self, state, selection: selection.order[:2])
    assert "epsilon" not in simulation("toy", **private).measures()


# -- Draws by purpose.
@pytest.mark.parametrize(("count", "m"), [(1, 1), (2, 1), (3, 2), (10, 9), (1000, 1000), (100_003, 9)])
def test_the_first_of_a_permutation_are_those_of_the_whole(count, m):
    for seed in range(5):
        whole = torch.randperm(count, generator=generator(seed, count))
        assert first_of_permutation(count, m, generator(seed, count)) == whole[:m].tolist()


@pytest.mark.parametrize("value", [torch.zeros(5), torch.tensor(2.0)])
def test_a_state_may_have_any_name(monkeypatch, value):
    register(monkeypatch, "toy", init_state=lambda self, federation: {"aligned": value, "epsilon": value})
    run = simulation("toy", counts=COUNTS)
    run.run()
    assert set(run.measures()) == {"comm_cost", "comm_extra_cost"}
