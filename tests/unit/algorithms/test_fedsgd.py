"""FedSGD: the hand-computed example, one gradient per client and round, FedAvg and gradient descent as limits."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.unit.algorithms.toy import close, received, reports, start
from tests.unit.simulation.federations import simulation


@pytest.mark.parametrize(("gradient", "full"), [("full", True), ("batch", False)])
def test_a_round_is_one_step(gradient, full):
    algorithm, state = start("fedsgd", gradient=gradient)
    plan = algorithm.configure_clients(state, received(reports()))
    assert plan.single_step and plan.full_batch == full


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
@pytest.mark.parametrize("clients_per_round", [2, 3])
def test_in_the_engine_it_is_fedavg_with_one_full_step(backend, clients_per_round):
    plain = simulation("fedavg", {}, backend, clients_per_round=clients_per_round, local_epochs=1).run()
    changes = {"local_epochs": 5, "batch_size": 2, "clients_per_round": clients_per_round}
    close(simulation("fedsgd", {}, backend, **changes).run().x, plain.x, 1e-12)


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_in_the_engine_all_clients_descend_the_pooled_loss(backend):
    run = simulation("fedsgd", {}, backend, batch_size=4)
    x = run.x.clone().requires_grad_()
    train = run.clients.parts["train"]
    loss = cross_entropy(train.inputs.flatten(1) @ x[:12].view(3, 4).T + x[12:], train.labels)
    (gradient,) = torch.autograd.grad(loss, x)
    run.run_round()
    close(run.x, x.detach() - 0.1 * gradient, 1e-12)
