"""What examples and the oracle leave open: options, partial rounds and guards of single algorithms."""

from dataclasses import replace
from math import log

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl import algorithms
from fairfl.algorithms import afl, ditto, gifair, propfair
from fairfl.algorithms.interface import Federation, Plan, Received, Reports, Selection
from fairfl.algorithms.shared import entropy
from fairfl.runtime.errors import OptionError
from fairfl.simulation.seeds import generator
from tests.unit.algorithms.test_examples import LINE, PULLED, THREE
from tests.unit.algorithms.toy import F, close, received, reports, start, step, vector
from tests.unit.plain_engine import on_quadratics
from tests.unit.simulation.federations import simulation


# -- afl: more of it in test_examples.py and tests/oracle.
def test_afl_defaults_are_those_of_algorithm_1():
    """lambda moves with x, not before it, and the answer is the mean of the iterates."""
    assert torch.equal(step("afl")[0], step("afl", order="descent_first")[0]) and "mean" in step("afl")[2]


def test_afl_clients_without_mass_are_averaged_by_size():
    config = afl.Config(eta_lambda=0.7, order="ascent_first", report="last")
    result, state = afl.AFL(config).aggregate({"lambda": vector(0.0, 0.0, 1.0)}, reports(ids=(0, 1)))
    close(result.weights, [1 / 3, 2 / 3])
    close(state["lambda"], [0.0, 0.0, 1.0], 0)


# -- ditto: global reports, buffers of personal models; its rounds are in test_examples.py.
def test_ditto_a_global_report_trains_no_personal_models():
    algorithm, state = start("ditto", report="global")
    assert state == {} and algorithm.configure_clients(state, None) == Plan()


def test_ditto_personal_models_carry_the_buffers_of_their_training():
    """Two parameters and one number of a buffer; client 0 is not drawn."""
    algorithm, first = ditto.Ditto(ditto.Config(report="personal")), vector(1, 2, 7)
    state = algorithm.init_state(Federation(vector(5, 5), first, parameters=2, shapes=((2,),)))
    known = {"clients": torch.tensor([1]), "samples": vector(5), "learning_rate": 0.1, "x": vector(3, 4, 8)}
    plan = algorithm.configure_clients(state, Received(**known))
    close(plan.start, [[[3, 4, 8]], [[1, 2, 7]]])
    delta, buffers = vector(0.5, 0.5, 0.25, -0.25).view(2, 1, 2), vector(8.5, 7.5).view(2, 1, 1)
    reports = Reports(**known, delta=delta, start=plan.start, buffers=buffers)
    close(algorithm.aggregate(state, reports)[1]["v"], [[1, 2, 7], [0.75, 2.25, 7.5]])


# -- fedavg_hardcluster: ties, absent members; its round is in test_examples.py.
def test_fedavg_hardcluster_ties_go_to_the_lowest_cluster():
    pi = vector([0.5, 0.5, 0.0], [0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3])
    engine = on_quadratics("fedavg_hardcluster", **THREE | {"known": {"memberships": pi}}, M=3)
    assert engine.state["z"].tolist() == [0, 1, 0]


def test_fedavg_hardcluster_only_sampled_members_count_and_a_cluster_without_any_stays():
    engine = on_quadratics("fedavg_hardcluster", **THREE, M=2).rounds(1, clients=[0])
    assert engine.result.weights.tolist() == [[1.0], [0.0]]
    assert not torch.equal(engine.x[0], vector(1, 1)) and torch.equal(engine.x[1], vector(0, 1))


# -- fedeba: which losses count, figure 1, schedules of tau; its examples are in test_examples.py.
@pytest.mark.parametrize(("weight_loss", "other"), [("after", "loss_received"), ("before", "loss_after")])
def test_fedeba_losses_that_a_client_does_not_go_by_do_not_count(weight_loss, other):
    _, weights, state = step("fedeba", replace(reports(), **{other: -F}), tau=1.0, weight_loss=weight_loss)
    close(weights, F.softmax(0))
    assert state == {}


def test_fedeba_figure_1():
    """F_1 = 2 (x - 2)^2 and F_2 = (x + 4)^2 / 2 take one step of 1/4 from 0, to 2 and -1; their losses were equal."""
    losses = {"loss_received": vector(8, 8), "loss_after": vector(0, 4.5)}
    report = replace(reports(ids=(0, 1)), delta=vector(-2, 1)[:, None], **losses)

    def moved(**hyperparameters):
        algorithm, state = start("fedeba", **hyperparameters)
        return -algorithm.aggregate(state, report)[0].weights @ report.delta

    close(moved(tau=4.5 / log(7 / 3)), [-0.1])
    close(moved(tau=1.0), [-0.967], 5e-4)
    close(moved(tau=1.0, weight_loss="before"), [0.5])


def test_fedeba_angle():
    assert entropy.angle(vector(0.5, 4.5)) == pytest.approx(38.659808, abs=1e-6)
    assert entropy.angle(vector(*[0] * 9, 3)) == pytest.approx(71.565051, abs=1e-6)  # the largest of ten clients


# -- gifair: rank term and client mode by hand; server mode in test_examples.py.
def test_gifair_ranks():
    close(gifair.rank_term(F), [-2, 0, 2])
    close(gifair.rank_term(vector(1.0, 3.0, 1.0, 2.0, 3.0)), [-3, 3, -3, 0, 3])  # ties share the middle of their places
    close(gifair.rank_term(vector(float("nan"), 1.0, 2.0)), [0, -1, 1])


# -- lp_proj: the server's mean; its round of both norms is in test_examples.py.
def test_lp_proj_how_the_server_averages():
    plain = on_quadratics("lp_proj", **LINE, **PULLED).rounds().state
    sized = on_quadratics("lp_proj", **LINE, **PULLED, weighting="size", b=0.5).rounds()
    first = sized.state["omega"]
    close(first, 0.5 * (0.25 * plain["o"][0] + 0.75 * plain["o"][1]), 1e-12)
    again = sized.rounds().state
    close(again["omega"], 0.5 * first + 0.5 * (0.25 * again["o"][0] + 0.75 * again["o"][1]), 1e-12)


# -- power_of_choice: who is a candidate, what it costs, what is refused; more of it in tests/oracle.
def chosen(losses, samples, m, round=0, **hyperparameters):
    """(A in the order in which it was asked, S)."""
    algorithm, asked = algorithms.create("power_of_choice", hyperparameters), []
    selection = Selection(
        order=torch.randperm(len(samples), generator=generator("order", round)),
        clients_per_round=m,
        samples=samples,
        losses=lambda ids: (asked.extend(ids.tolist()), losses[ids])[1],
        generator=lambda *path: generator("select", round, *path),
    )
    return asked, algorithm.select({}, selection).tolist()


def test_power_of_choice_candidates_are_drawn_by_their_samples_without_replacement():
    """P(k in A) of two out of three: p_k + sum_j p_j p_k / (1 - p_j)."""
    n, draws, found = vector(1, 2, 7), 1000, torch.zeros(3)
    p = n / n.sum()
    for t in range(draws):
        found[chosen(n, n, 2, round=t, d=2)[0]] += 1
    expected = [p[k] + sum(p[j] * p[k] / (1 - p[j]) for j in range(3) if j != k) for k in range(3)]
    assert all(abs(found[k] / draws - expected[k]) < 0.05 for k in range(3))


def test_power_of_choice_more_candidates_than_clients_are_all_and_fewer_than_m_are_refused():
    given = {"counts": (4, 6, 9, 3, 5), "clients_per_round": 3}
    runs = [simulation("power_of_choice", {"d": d}, **given).run() for d in (5, 50)]
    assert torch.equal(runs[0].x, runs[1].x)
    with pytest.raises(OptionError, match="power_of_choice: d: 2 candidates for 3 clients in a round; .* at least 3"):
        simulation("power_of_choice", {"d": 2}, **given)


# -- propfair: slopes by hand and by autograd, the threshold.
@pytest.mark.parametrize(
    ("huber", "slopes", "x"),
    [(False, [0.666667, 1.0, 0.5], [0.966667, -2.125000]), (True, [0.666667, 1.0, 5.0], [0.516667, -1.900000])],
)
def test_propfair_example(huber, slopes, x):
    """Clients descend phi in one full-batch step, so their updates are scaled by its slope."""
    algorithm, state = start("propfair", M=2, huber=huber)
    slope = algorithm.configure_clients(state, received(reports())).slope
    close(slope(F), slopes)
    close(step("propfair", reports(scale=slope(F)), M=2, huber=huber)[0], x)


@settings(max_examples=40)
@given(st.floats(0, 8), st.floats(0.1, 5), st.floats(0.05, 1), st.booleans())
def test_propfair_slope_is_the_derivative_of_phi(loss, M, epsilon, huber):
    loss = torch.tensor(loss, dtype=torch.float64, requires_grad=True)
    phi = -torch.log(1 - loss / M) if M - loss >= epsilon else loss / (epsilon if huber else M)
    (expected,) = torch.autograd.grad(phi, loss)
    close(propfair.slope(loss.detach(), propfair.Config(M=M, epsilon=epsilon, huber=huber)), expected, 1e-9)


def test_propfair_the_threshold_itself_belongs_to_the_logarithm():
    close(propfair.slope(vector(1.5, 1.5 + 1e-9), propfair.Config(M=2, epsilon=0.5)), [2.0, 0.5])


# -- qffl: options and guards; more of it in test_examples.py and tests/oracle.


def test_qffl_extreme_powers_and_losses_stay_finite():
    w = step("qffl", q=200)[1]
    assert w[2] > 1e6 * w[:2].max() and w[2] < 0.1, "it follows the largest loss with vanishing steps"
    assert torch.isfinite(step("qffl", q=5000)[1]).all()
    assert torch.isfinite(step("qffl", reports(losses=vector(0.0, 1.0, 2.0)), q=0.1)[1]).all()


def test_qffl_the_loss_after_training_takes_the_place_of_the_received_one():
    after = vector(0.4, 0.1, 1.5)
    only = replace(reports(), loss_received=None, loss_after=after)
    close(step("qffl", only, q=2, loss="after")[1], step("qffl", reports(losses=after), q=2)[1], 1e-15)
    close(step("qffl", replace(reports(), loss_after=after), q=2)[1], step("qffl", q=2)[1], 0)


# -- scaffold: what the variates promise; its rounds are in test_examples.py, more of it in tests/oracle.
ROUNDS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True), min_size=1, max_size=6)
FOUR = {"x": (0, 0), "centres": torch.eye(4, 2).tolist(), "curvatures": (1, 2, 3, 4), "samples": (1, 2, 3, 4)}


@settings(max_examples=10)
@given(ROUNDS, st.sampled_from([1, 2]), st.sampled_from(["size", "uniform"]))
def test_scaffold_c_is_the_mean_of_all_c_k_whoever_takes_part(drawn, option, weighting):
    engine = on_quadratics("scaffold", **FOUR, option=option, weighting=weighting)
    for clients in drawn:
        before = engine.state["c_k"]
        engine.rounds(1, sorted(clients))
        rest = [k for k in range(4) if k not in clients]
        assert torch.equal(engine.state["c_k"][rest], before[rest]), "who is not drawn keeps c_k"
        pi = vector(1, 2, 3, 4) / 10 if weighting == "size" else vector(1, 1, 1, 1) / 4
        close(engine.state["c"], pi @ engine.state["c_k"], 1e-12)


def test_scaffold_a_client_without_samples_keeps_its_variate():
    engine = on_quadratics("scaffold").rounds(1)
    before, engine.steps = engine.state["c_k"], vector(2, 0)
    after = engine.rounds(1).state["c_k"]
    assert after[1] == before[1] and after[0] != before[0]


def test_scaffold_sends_its_variates_beside_the_model():
    for option in (1, 2):
        run = simulation("scaffold", {"option": option}, rounds=1)
        run.run_round()
        assert run.communication.sent == 3 * 4 * 15
