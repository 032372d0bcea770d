"""What clients and server exchange."""

import torch

from fairfl.algorithms.interface import Aggregate, Plan
from tests.unit.simulation.test_extension_points import register, simulation


def test_every_number_that_is_sent_counts(monkeypatch):
    """15 parameters, 3 clients, 6 rounds. FedAvg: a model down and up; then a loss, a gradient up, a direction down."""
    register(monkeypatch, "toy")
    run = simulation("toy")
    run.run()
    assert run.communication.sent == 6 * 3 * 30
    assert run.measures() == {"comm_cost": 3 * 30 * 4 / 2**20, "comm_extra_cost": 0.0}
    needs, plan = ("loss_received", "gradient_batch"), Plan(mix=0.5, direction=torch.linspace(-1, 1, 15).double())
    register(monkeypatch, "toy", measurements=needs, configure_clients=lambda self, state, received: plan)
    run = simulation("toy")
    run.run()
    assert run.communication.sent == 6 * 3 * (30 + 1 + 15 + 15)
    register(monkeypatch, "toy", traffic=lambda self, federation: (2, 3))
    run = simulation("toy")
    run.run()
    assert run.communication.sent == 6 * 3 * 5


def test_who_has_the_model_is_not_sent_it_again(monkeypatch):
    """Two exchanges in a round, between which the server takes no step."""
    hooks = {"exchanges_per_round": lambda self, federation: 2}
    register(monkeypatch, "toy", aggregate=lambda self, state, reports: (Aggregate(), state), **hooks)
    run = simulation("toy")
    run.run()
    assert run.communication.sent == 6 * 3 * (15 + 2 * 15)
