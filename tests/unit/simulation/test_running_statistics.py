"""Batch normalisation: running means and variances lie behind the flat_parameters, averaged by a rule of their own."""

from functools import partial

import pytest
import torch
from torch import nn

from fairfl.algorithms.interface import Plan
from fairfl.simulation import flat_parameters
from fairfl.simulation.aggregation import buffer_update
from tests.unit.simulation import federations
from tests.unit.simulation.federations import close, work_of

RESNET = {"name": "resnet", "widths": [4], "blocks": [1], "stem": "cifar", "norm": "batch"}
simulation = partial(federations.simulation, counts=(6, 9, 5), shape=(1, 4, 4), model=RESNET, batch_size=4)


def buffers(run):
    return run.x[..., run.parameters :]


def test_a_model_is_its_parameters_and_then_its_running_statistics():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(2, 3))
    model[1].running_mean.copy_(torch.tensor([1.0, 2.0]))
    model[1].running_var.copy_(torch.tensor([3.0, 4.0]))
    flat = flat_parameters.flatten(model)
    assert flat_parameters.count(model) == 20 + 4 + 9 and flat.numel() == 33 + 4
    assert flat[33:].tolist() == [1, 2, 3, 4]
    flat_parameters.bind(model, flat)
    model.train()(torch.randn(5, 1, 3, 3))
    assert (flat[33:] != torch.tensor([1.0, 2.0, 3.0, 4.0])).all(), "training writes into the flat model"
    flat[33:] = 7
    assert model[1].running_mean.tolist() == [7, 7] and model[1].running_var.tolist() == [7, 7]


def test_running_statistics_are_where_cudnn_reads_four_numbers_at_once():
    run = simulation()
    assert run.parameters % 4, "else they would be there anyhow"
    buffers = flat_parameters.statistics(run.backend.model)
    assert buffers and all(buffer.data_ptr() % 16 == 0 for buffer in buffers)


@pytest.mark.parametrize("algorithm", ["fedavg", "qffl"])
def test_buffers_are_averaged_by_samples_whatever_the_weights_are(algorithm):
    run = simulation(algorithm, hyperparameters={"q": 5.0} if algorithm == "qffl" else {})
    work = work_of(run, [0, 1, 2], Plan())
    trained = (work.start - run.backend.train(work, run.local, 0).delta)[:, run.parameters :]
    n = torch.tensor([6.0, 9.0, 5.0], dtype=torch.float64)
    run.run_round()
    close(buffers(run), n / n.sum() @ trained)


def test_a_batch_of_one_sample_is_skipped():
    """It has no variance, and torch refuses it where an image is down to one pixel."""
    run = simulation(counts=(5, 6, 9))
    batches = []
    program = run.backend._step_on
    run.backend._step_on = lambda size, *more: (batches.append(size), program(size, *more))[1]
    run.run_round()
    assert batches == [4] * 2 + [4, 2] * 2 + [4, 4] * 2
    assert torch.isfinite(run.x).all()


ALIGNED = {"alpha": 0.5, "tau": 0.2, "gradient": "local_epoch", "fair_weights": "after"}


@pytest.mark.parametrize(
    ("algorithm", "given", "modifiers"),
    [
        ("scaffold", {}, {}),
        ("prac_fedeba_plus", {"alpha": 0.5, "tau": 0.2, "theta": 90.0}, {}),
        ("prac_fedeba_plus", {"alpha": 0.5, "tau": 0.2, "theta": 0.0}, {}),
        ("fedeba_plus", ALIGNED | {"theta": 90.0}, {}),
        ("fedeba_plus", ALIGNED | {"theta": 0.0}, {}),
        ("fedeba_plus", ALIGNED, {"dp": {"sigma": 1.0}}),
    ],
)
def test_a_skipped_batch_is_not_a_step(algorithm, given, modifiers):
    """Of two epochs in batches of four; a client with one sample takes no step."""
    run = simulation(algorithm, given, counts=(5, 6, 9, 1), clients_per_round=4, modifiers=modifiers)
    aggregate, steps = run.aggregate, []
    run.aggregate = lambda reports: (steps.append(reports.steps.tolist()), aggregate(reports))
    run.run()
    assert [2, 4, 4, 0] in steps and run.result.dropped == 0
    assert torch.isfinite(run.x).all()


def test_what_is_taken_from_the_servers_buffers():
    held, of_clients = torch.tensor([10.0]).double(), torch.tensor([[1.0], [4.0]]).double()
    n = torch.tensor([1.0, 3.0]).double()

    def left(held, buffers, weights):
        return held - buffer_update(held, buffers, torch.tensor(weights).double(), n)

    close(left(held, of_clients, [5.0, -9.0]), torch.tensor([3.25]).double())
    both = torch.stack([of_clients, 100 * of_clients])
    close(left(held, both, [[0.5, 0.5], [0.0, 0.0]]), torch.tensor([3.25]).double())
    close(left(held, both, [[0.5, 0.5], [0.2, 0.2]]), torch.tensor([(3.25 + 325) / 2]).double())
    several = left(held.expand(3, 1), torch.stack([of_clients] * 3), [[1.0, 0.0], [0.25, 0.75], [0.0, 0.0]])
    close(several, torch.tensor([[1.0], [3.25], [10.0]]).double())
