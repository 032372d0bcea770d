"""Beside the steps of a plan (test_plain_engine.py): weight decay, decaying rates, measurements, what is exchanged."""

import pytest
import torch

from fairfl.algorithms.interface import Plan
from tests.unit.plain_engine import of_simulation
from tests.unit.simulation.federations import close
from tests.unit.simulation.test_extension_points import BOTH, register, simulation, uniform

D = torch.linspace(-1, 1, 15, dtype=torch.float64)


def planned(**given):
    return lambda self, state, received: Plan(**given)


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
    register(monkeypatch, "toy", configure_clients=planned(force=lambda Y, places: 0.5 * Y))
    pulled = simulation("toy")
    pulled.run_round()
    register(monkeypatch, "toy")
    decayed = simulation("toy", weight_decay=0.5)
    decayed.run_round()
    close(decayed.x, pulled.x)


def test_the_rate_decays_by_rounds():
    run, rates = simulation("fedavg", lr_decay={"factor": 0.5, "every": 2}, rounds=5), []
    for _ in range(5):
        rates.append(run.learning_rate)
        engine = of_simulation(run).rounds()
        run.run_round()
        close(run.x, engine.x)
    assert rates == [0.1, 0.1, 0.05, 0.05, 0.025]


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
