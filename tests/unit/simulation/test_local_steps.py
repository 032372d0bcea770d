"""What a plan adds to local steps, and what clients measure: both backends against loops of two lines on autograd.

Directions, forces, single steps, full batches, weight decay, decaying rates; gradients at the
received model, which samples are right, numbers of steps; models that are only measured; how much is exchanged.
"""

import pytest
import torch

from fairfl.algorithms.interface import Plan
from tests.unit.simulation.federations import close, gradient
from tests.unit.simulation.test_extension_points import BOTH, register, simulation, uniform


def planned(**given):
    return lambda self, state, received: Plan(**given)


def by_hand(run, step, epochs=2):
    """FedAvg (uniform) of clients that take `epochs` full-batch steps y <- step(y, k)."""
    moved = []
    for k in range(3):
        y = run.x
        for _ in range(epochs):
            y = step(y, k)
        moved.append(y)
    return torch.stack(moved).mean(0)


D = torch.linspace(-1, 1, 15, dtype=torch.float64)


@BOTH
def test_direction_prox_momentum_and_slope_go_together(monkeypatch, backend):
    def slope(losses):
        return 0.5 + losses

    given = {"mix": 0.4, "direction": D, "prox": 0.7, "momentum": 0.5, "slope": slope}
    register(monkeypatch, "toy", configure_clients=planned(**given))
    run = simulation("toy", backend=backend)
    x = run.x

    def trained(k):
        inputs, labels = run.clients.parts["train"].of(k)
        y, v = x, torch.zeros_like(x)
        for _ in range(2):
            loss = torch.nn.functional.cross_entropy(inputs.flatten(1) @ y[:12].view(3, 4).T + y[12:], labels)
            v = 0.5 * v + 0.6 * slope(loss) * gradient(run, y, k) + 0.4 * D + 0.7 * (y - x)
            y = y - 0.1 * v
        return y

    expected = torch.stack([trained(k) for k in range(3)]).mean(0)
    run.run_round()
    close(run.x, expected)


@BOTH
def test_without_mix_each_client_adds_its_own_direction(monkeypatch, backend):
    """Clients of 4, 6 and 9 samples train in another order than they are numbered in, on stacks."""
    own = torch.stack([D, 2 * D, -D.flip(0)])
    register(monkeypatch, "toy", configure_clients=planned(direction=own))
    run = simulation("toy", backend=backend)
    expected = by_hand(run, lambda y, k: y - 0.1 * (gradient(run, y, k) + own[k]))
    run.run_round()
    close(run.x, expected)
    run = simulation("toy", backend=backend)
    register(monkeypatch, "toy", configure_clients=planned(direction=own, mix=0.3))
    mixed = simulation("toy", backend=backend)
    expected = by_hand(mixed, lambda y, k: y - 0.1 * (0.7 * gradient(run, y, k) + 0.3 * own[k]))
    mixed.run_round()
    close(mixed.x, expected)


# -- forces --------------------------------------------------------------------------------------------------
PULL = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)


def pull(Y, places):
    return PULL[places, None] * (Y - D)


@BOTH
@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_a_force_acts_on_the_models_before_the_step(monkeypatch, backend, momentum):
    register(monkeypatch, "toy", configure_clients=planned(force=pull, momentum=momentum))
    run = simulation("toy", backend=backend)
    x, ends = run.x, []
    for k in range(3):
        y, v = x, torch.zeros_like(x)
        for _ in range(2):
            v = momentum * v + gradient(run, y, k) + PULL[k] * (y - D)
            y = y - 0.1 * v
        ends.append(y)
    run.run_round()
    close(run.x, torch.stack(ends).mean(0))


@pytest.mark.parametrize("counts", [(4, 6, 9), (9, 4, 6), (0, 7, 7), (60, 4, 2)])
@pytest.mark.parametrize("model", ["logistic_regression", "mlp"])
def test_backends_agree_on_all_terms_at_once(monkeypatch, counts, model):
    """Epochs of unequal length, rates and directions of each client, a proximal term, momentum, a frozen layer."""
    draw = torch.Generator().manual_seed(0)
    model = {"name": model} | ({"hidden": [5, 4]} if model == "mlp" else {"init": "pytorch"})

    def plan(self, state, received):
        P = received.x.numel()
        return Plan(
            direction=torch.linspace(-1, 1, 3 * P, dtype=received.x.dtype).view(3, P),
            force=lambda Y, places: (places + 1)[:, None] * Y.sin(),
            lr_scale=torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64),
            prox=0.3,
            momentum=0.5,
            frozen=2 if model["name"] == "mlp" else 0,
        )

    register(monkeypatch, "toy", configure_clients=plan)
    given = {"counts": counts, "batch_size": 4, "model": model}
    runs = [simulation("toy", backend=backend, **given) for backend in ("stacked", "sequential")]
    for run in runs:
        run.x = torch.randn(run.x.shape, generator=draw.manual_seed(0), dtype=torch.float64)
    plain = [run.run().x for run in runs]
    close(*plain)


def test_weight_decay_shrinks_the_model_before_the_step(monkeypatch):
    register(monkeypatch, "toy")
    run = simulation("toy", weight_decay=0.5)
    expected = by_hand(run, lambda y, k: y - 0.1 * (gradient(run, y, k) + 0.5 * y))
    run.run_round()
    close(run.x, expected)


# -- how many steps ----------------------------------------------------------------------------------------
@BOTH
def test_a_single_step_is_the_first_of_the_round(monkeypatch, backend):
    """Of a batch of 4 where there are more samples: the very batch that a whole round would begin with."""
    seen = {}

    def kept(self, state, reports):
        seen["delta"], seen["steps"] = reports.delta, reports.steps
        return uniform(self, state, reports)

    register(monkeypatch, "toy", configure_clients=planned(single_step=True), aggregate=kept)
    run = simulation("toy", backend=backend, batch_size=4)
    x = run.x
    run.run_round()
    for k in range(3):
        rows = slice(None) if k == 0 else first_batch(run, k)
        close(seen["delta"][k], 0.1 * gradient(run, x, k, rows))
    assert seen["steps"].tolist() == [1, 1, 1]


def first_batch(run, client):
    from fairfl.simulation.backends.interface import order

    return order(run.clients.parts["train"].sizes[client], run.local, 0, client, 0)[:4]


def test_steps_are_counted_per_client(monkeypatch):
    seen = []

    def kept(self, state, reports):
        seen.append(reports.steps.tolist())
        return uniform(self, state, reports)

    register(monkeypatch, "toy", aggregate=kept)
    simulation("toy", batch_size=4, rounds=1).run()
    assert seen == [[2, 4, 6]]  # two epochs


def test_the_rate_decays_by_rounds(monkeypatch):
    seen = []

    def plan(self, state, received):
        seen.append(received.learning_rate)
        return Plan(single_step=True)

    register(monkeypatch, "toy", configure_clients=plan)
    run = simulation("toy", lr_decay={"factor": 0.5, "every": 2}, rounds=5)
    starts = []
    for _ in range(5):
        starts.append(run.x)
        run.run_round()
    assert seen == [0.1, 0.1, 0.05, 0.05, 0.025]
    close(run.x, starts[4] - 0.025 * torch.stack([gradient(run, starts[4], k) for k in range(3)]).mean(0))


# -- what clients measure ----------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("kind", ["gradient_full", "gradient_batch"])
def test_gradients_at_the_received_model(monkeypatch, backend, kind):
    seen = {}

    def plan(self, state, received):
        seen["plan"] = received.gradient
        return Plan()

    def kept(self, state, reports):
        seen["aggregate"] = reports.gradient
        return uniform(self, state, reports)

    register(monkeypatch, "toy", measurements=(kind,), configure_clients=plan, aggregate=kept)
    run = simulation("toy", backend=backend, batch_size=4)
    x = run.x
    run.run_round()
    for k in range(3):
        rows = slice(None) if kind == "gradient_full" or k == 0 else first_batch(run, k)
        close(seen["plan"][k], gradient(run, x, k, rows))
    assert seen["aggregate"] is seen["plan"]
    register(monkeypatch, "toy")
    plain = simulation("toy", backend=backend, batch_size=4)
    plain.run_round()
    assert torch.equal(run.x, plain.x), "measuring changes nothing"


@BOTH
def test_which_samples_are_right(monkeypatch, backend):
    seen = {}

    def kept(self, state, reports):
        seen["reports"] = reports
        return uniform(self, state, reports)

    register(monkeypatch, "toy", measurements=("correct_received", "correct_after", "accuracy_after"), aggregate=kept)
    run = simulation("toy", backend=backend, clients_per_round=2)
    run.run_round()
    reports = seen["reports"]
    for place, k in enumerate(reports.clients.tolist()):
        inputs, labels = run.clients.parts["train"].of(k)
        for model, correct in ((reports.x, reports.correct_received), (reports.trained[place], reports.correct_after)):
            guessed = (inputs.flatten(1) @ model[:12].view(3, 4).T + model[12:]).argmax(1)
            expected = [int(right) for right in guessed == labels]
            assert correct[place].tolist() == expected + [-1] * (9 - len(expected))
        right = reports.correct_after[place]
        close(right.eq(1).sum() / right.ge(0).sum().double(), reports.accuracy_after[place])


# -- what is exchanged -------------------------------------------------------------------------------------
def test_every_number_that_is_sent_counts(monkeypatch):
    """15 parameters, 3 clients, 6 rounds. FedAvg: a model down and up; then a loss, a gradient up, a direction down."""
    register(monkeypatch, "toy")
    run = simulation("toy")
    run.run()
    assert run.communication.sent == 6 * 3 * 30
    assert run.measures() == {"comm_cost": 3 * 30 * 4 / 2**20, "comm_extra_cost": 0.0}
    needs = ("loss_received", "gradient_batch")
    register(monkeypatch, "toy", measurements=needs, configure_clients=planned(mix=0.5, direction=D))
    run = simulation("toy")
    run.run()
    assert run.communication.sent == 6 * 3 * (30 + 1 + 15 + 15)
    register(monkeypatch, "toy", traffic=lambda self, federation: (2, 3))
    run = simulation("toy")
    run.run()
    assert run.communication.sent == 6 * 3 * 5
