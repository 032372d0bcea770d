"""Ditto: global reports, buffers of personal models; its rounds are in test_examples.py."""

import torch

from fairfl.algorithms import ditto
from fairfl.algorithms.interface import Federation, Plan, Received, Reports
from tests.unit.algorithms.toy import close, vector


def test_a_global_report_trains_no_personal_models():
    algorithm = ditto.Ditto(ditto.Config(**{"lambda": 1e9}, report="global"))
    assert algorithm.init_state(Federation(vector(5, 5), vector(0.5, 0.5))) == {}
    assert algorithm.configure_clients({}, None) == Plan()
    close(algorithm.evaluation_models({}, vector(0.5, 0.5)).models, [[0.5, 0.5]])


def test_personal_models_carry_the_buffers_of_their_training():
    """Two parameters and one number of a buffer; client 0 is not drawn."""
    algorithm, first = ditto.Ditto(ditto.Config(report="personal")), vector(1, 2, 7)
    state = algorithm.init_state(Federation(vector(5, 5), first, parameters=2, shapes=((2,),)))
    known = {"clients": torch.tensor([1]), "samples": vector(5), "learning_rate": 0.1, "x": vector(3, 4, 8)}
    plan = algorithm.configure_clients(state, Received(**known))
    close(plan.start, [[[3, 4, 8]], [[1, 2, 7]]])
    delta, buffers = vector(0.5, 0.5, 0.25, -0.25).view(2, 1, 2), vector(8.5, 7.5).view(2, 1, 1)
    reports = Reports(**known, delta=delta, start=plan.start, buffers=buffers)
    close(algorithm.aggregate(state, reports)[1]["v"], [[1, 2, 7], [0.75, 2.25, 7.5]])
