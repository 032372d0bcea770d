"""FedSGD: one gradient per client and round, gradient descent on the pooled loss."""

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
def test_in_the_engine_all_clients_descend_the_pooled_loss(backend):
    run = simulation("fedsgd", {}, backend, batch_size=4)
    x = run.x.clone().requires_grad_()
    train = run.clients.parts["train"]
    loss = cross_entropy(train.inputs.flatten(1) @ x[:12].view(3, 4).T + x[12:], train.labels)
    (gradient,) = torch.autograd.grad(loss, x)
    run.run_round()
    close(run.x, x.detach() - 0.1 * gradient, 1e-12)
