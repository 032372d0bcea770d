"""FedAvg-HardCluster: ties, absent members; its round is in test_examples.py."""

import torch

from tests.unit.algorithms.test_examples import THREE
from tests.unit.algorithms.toy import vector
from tests.unit.plain_engine import on_quadratics


def test_ties_go_to_the_lowest_cluster():
    pi = vector([0.5, 0.5, 0.0], [0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3])
    engine = on_quadratics("fedavg_hardcluster", **THREE | {"known": {"memberships": pi}}, M=3)
    assert engine.state["z"].tolist() == [0, 1, 0]


def test_only_sampled_members_count_and_a_cluster_without_any_stays():
    engine = on_quadratics("fedavg_hardcluster", **THREE, M=2).rounds(1, clients=[0])
    assert engine.result.weights.tolist() == [[1.0], [0.0]]
    assert not torch.equal(engine.x[0], vector(1, 1)) and torch.equal(engine.x[1], vector(0, 1))
