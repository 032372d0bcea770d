"""SCAFFOLD: what the variates promise; its rounds are in test_examples.py, more of it in tests/oracle."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.algorithms.toy import close, vector
from tests.unit.plain_engine import on_quadratics
from tests.unit.simulation.federations import simulation

ROUNDS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True), min_size=1, max_size=6)
FOUR = {"x": (0, 0), "centres": torch.eye(4, 2).tolist(), "curvatures": (1, 2, 3, 4), "samples": (1, 2, 3, 4)}


@settings(max_examples=10)
@given(ROUNDS, st.sampled_from([1, 2]), st.sampled_from(["size", "uniform"]))
def test_c_is_the_mean_of_all_c_k_whoever_takes_part(drawn, option, weighting):
    engine = on_quadratics("scaffold", **FOUR, option=option, weighting=weighting)
    for clients in drawn:
        before = engine.state["c_k"]
        engine.rounds(1, sorted(clients))
        rest = [k for k in range(4) if k not in clients]
        assert torch.equal(engine.state["c_k"][rest], before[rest]), "who is not drawn keeps c_k"
        pi = vector(1, 2, 3, 4) / 10 if weighting == "size" else vector(1, 1, 1, 1) / 4
        close(engine.state["c"], pi @ engine.state["c_k"], 1e-12)


def test_a_client_without_samples_keeps_its_variate():
    engine = on_quadratics("scaffold").rounds(1)
    before, engine.steps = engine.state["c_k"], vector(2, 0)
    after = engine.rounds(1).state["c_k"]
    assert after[1] == before[1] and after[0] != before[0]


@pytest.mark.parametrize(
    ("name", "given", "vectors"), [("scaffold", {"option": 1}, 4), ("scaffold", {}, 4), ("feddyn", {}, 2)]
)
def test_vectors_that_go_down_and_up(name, given, vectors):
    """SCAFFOLD sends its variates beside the model; clients of FedDyn keep g_k themselves."""
    run = simulation(name, given, rounds=4)
    run.run()
    assert run.communication.sent == 4 * 3 * vectors * 15
