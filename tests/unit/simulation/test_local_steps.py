"""Beside the steps of a plan (test_plain_engine.py): weight decay, decaying rates, measurements, what is exchanged."""

import torch

from fairfl.algorithms.interface import Plan
from tests.unit.plain_engine import of_simulation
from tests.unit.simulation.federations import close
from tests.unit.simulation.test_extension_points import register, simulation

D = torch.linspace(-1, 1, 15, dtype=torch.float64)


def planned(**given):
    return lambda self, state, received: Plan(**given)


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
