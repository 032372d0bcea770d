"""Hand-computed examples of the specification: weights on the toy, and rounds on quadratic losses."""

from dataclasses import replace

import pytest

from tests.unit.algorithms.toy import SAMPLES, F, G, close, gradient_at_zero, received, reports, start, step, vector
from tests.unit.plain_engine import on_quadratics

P = SAMPLES / SAMPLES.sum()
# (algorithm, hyper-parameters, weights, x)
TOY = [
    ("aaggff", {"form": "code"}, [0.325578, 0.331389, 0.343032], [0.830810, -2.030810]),
    ("aaggff", {"form": "centred"}, [0.318156, 0.329529, 0.352315], [0.828396, -2.028396]),
    ("afl", {"order": "ascent_first"}, [0.183333, 0.483333, 0.333333], [0.878333, -2.078333]),
    ("afl", {"order": "descent_first"}, [0.25, 0.5, 0.25], [0.900000, -2.100000]),
    ("core_fed", {"M": 3.0}, [0.210526, 0.263158, 0.526316], [0.773684, -1.973684]),
    ("core_fed", {"M": 3.0, "weighting": "size"}, [1 / 6, 5 / 12, 5 / 12], [0.841667, -2.041667]),
    ("fedavg", {"weighting": "size"}, [0.25, 0.5, 0.25], [0.900000, -2.100000]),
    ("fedavg", {"weighting": "uniform"}, [1 / 3, 1 / 3, 1 / 3], [0.833333, -2.033333]),
    ("fedeba", {"tau": 1.0}, [0.140244, 0.231224, 0.628532], [0.743661, -1.943661]),
    ("fedeba", {"tau": 0.1}, [0.000000, 0.000045, 0.999954], None),
    ("fedeba", {"tau": 100.0}, [0.331112, 0.332772, 0.336116], None),
    ("fedeba", {"tau": 1.0, "prior": "size"}, [0.113906, 0.375600, 0.510493], [0.810581, -2.010581]),
    ("fedsgd", {"weighting": "size"}, [0.25, 0.5, 0.25], [0.900000, -2.100000]),
    ("gifair", {"bound_share": 1}, [0.0, 0.5, 0.5], [0.850000, -2.050000]),
    ("gifair", {"bound_share": 0.1}, [0.225, 0.5, 0.275], [0.895000, -2.095000]),
    ("qffl", {"q": 1}, [0.072464, 0.144928, 0.289855], [0.884058, -1.985507]),
    ("qffl", {"q": 1, "L": 0.5}, [0.136240, 0.272480, 0.544959], [0.782016, -1.972752]),
    ("qffl", {"q": 2}, [0.015974, 0.063898, 0.255591], [0.900958, -1.968051]),
    ("qffl", {"q": 2, "weights": "size"}, [0.013405, 0.107239, 0.214477], [0.922252, -1.989276]),
    ("semi_vred", {"beta": 0.1}, [0.2390625, 0.478125, 0.2828125], [0.886875, -2.086875]),
    ("term", {"alpha": 0.5}, [0.175900, 0.451720, 0.372380], [0.861040, -2.061040]),
    ("vred", {"beta": 0.1}, [0.218750, 0.487500, 0.293750], [0.887500, -2.087500]),
]
ALL, TWO_OF, BEST = (0, 1, 2), (0, 2), vector(0.4, 0.7, 1.1)
LOW, MOVING = vector(0.1, 0.1, 0.1), {"alpha": 0.5, "mode": "moving"}
BY_RATE, BY_GAP = {"mode": "client", "bound_share": 0.5}, {"lambda": 0.5, "norm": "none"}
# (algorithm, hyper-parameters, clients and losses of each round, weights of the last one, what is in the state then)
SEVERAL = [
    ("afl", {"sampled": "mass", "order": "ascent_first"}, [(TWO_OF, F)], [0.35, 0.65], {"lambda": [0.175, 0.5, 0.325]}),
    ("afl", {"sampled": "unit", "order": "ascent_first"}, [(TWO_OF, F)], [0.425, 0.575],
     {"lambda": [0.425, 0.5, 0.575]}),
    # A whole step; lambda is 1/4 for both, at first.
    ("afl", {"sampled": "unit"}, [(TWO_OF, F)], [0.5, 0.5], {"lambda": [0.425, 0.5, 0.575]}),
    # A larger first loss raises M for good; 1 / (12 - 5 F).
    ("core_fed", {"M": 2.0}, [(ALL, 5 * F)], [0.140704, 0.190955, 0.668342], {"M": 12.0}),
    ("core_fed", {"M": 2.0}, [(ALL, 5 * F), (ALL, 50 * F)], None, {"M": 12.0}),
    ("core_fed", {"M": 2.0, "epsilon": 0.5}, [(ALL, LOW), (ALL, vector(1.0, 1.5, 99.0))], [0.2, 0.4, 0.4], {}),
    *(("fedeba", {"tau": 5.0, "kappa": 0.5, "tau_schedule": schedule}, [(ALL, F)] * 3, (F / tau).softmax(0), {})
      for schedule, tau in (("constant", 5.0), ("linear", 2.5), ("concave", 3.535534), ("convex", 0.625))),
    ("gifair", BY_RATE, [(ALL, F)], [0.25, 0.5, 0.25], {"F": F}),
    ("gifair", BY_RATE, [(TWO_OF, F), ((0, 1), vector(3.0, 1.0, 2.0))], None, {"F": [3.0, 1.0, 2.0]}),
    ("term", MOVING, [(ALL, F)], [0.151480, 0.194504, 0.320683], {}),
    ("term", MOVING, [(ALL, F)] * 2, [0.100987, 0.129669, 0.213789], {}),
    ("term", MOVING, [(ALL, F)] * 62, (0.5 * F).softmax(0) / 3, {}),  # losses stand still
    ("term", {"alpha": -2000.0, "mode": "moving"}, [(ALL, F)], [2 / 3, 0.0, 0.0], {}),
    ("term", {"alpha": 1e5}, [(ALL, vector(2.0, 2.0, 0.5))], [1 / 3, 2 / 3, 0.0], {}),  # ties share by size
]  # fmt: skip
# (algorithm, hyper-parameters, clients and losses of the rounds before, clients of this one, their rates)
RATES = [
    ("eagle", BY_GAP, [], ALL, [1.0, 1.0, 1.0]),  # a lag of one round
    # Gaps 0.1 and 0.9 of a first round of two; the third client has their mean until it takes part.
    ("eagle", BY_GAP, [(TWO_OF, F)], ALL, [0.4, 1.0, 1.6]),
    ("eagle", BY_GAP, [(TWO_OF, F)], (1, 2), [1.0, 1.6]),
    ("eagle", BY_GAP, [(TWO_OF, F), ((1,), F)], ALL, [0.5, 0.8, 1.7]),
    ("eagle", BY_GAP, [(TWO_OF, F), ((1,), F), ((0,), F + 0.8)], ALL, [1.3, 0.4, 1.3]),
    ("gifair", BY_RATE, [], ALL, [1.0, 1.0, 1.0]),
    ("gifair", BY_RATE, [(ALL, F)], ALL, [0.5, 1.0, 1.5]),
    ("gifair", BY_RATE, [(TWO_OF, F)], (1, 2), [1.0, 1 + 0.0625 * 1 / 0.25]),  # client 1 ties, 2 is above 0
    ("gifair", BY_RATE, [(TWO_OF, F), ((0, 1), vector(3.0, 1.0, 2.0))], ALL, [1.5, 0.75, 1.0]),
]
# (algorithm, hyper-parameters, what it minimises, of the clients' losses)
OBJECTIVES = [
    ("gifair", {"lambda": 0.05}, lambda F: P @ F + 0.05 * (F[:, None] - F).abs().triu().sum()),
    ("semi_vred", {"beta": 0.4}, lambda F: P @ F + 0.4 * P @ (F - P @ F).clamp(min=0).square()),
    ("term", {"alpha": 0.5}, lambda F: (P.log() + 0.5 * F).logsumexp(0) / 0.5),
    ("vred", {"beta": 0.4}, lambda F: P @ F + 0.4 * P @ (F - P @ F).square()),
]
TWO = {}  # (y - 1)^2 / 2 and (y + 3)^2 / 2, two steps of rate 0.1 from 0
ONE = {"centres": ((3,),), "curvatures": 2}  # (y - 3)^2
PLANE = {"x": (0.5, 0.5), "centres": ((1, 0), (0, 2)), "curvatures": (1, 2)}  # ||w - (1, 0)||^2 / 2, ||w - (0, 2)||^2
LINE = PLANE | {"state": {"P": [[0.6, 0.8]]}, "samples": (10, 30)}
BOTH = {"x": ((1, 1), (0, 1)), "centres": ((1, 0), (0, 2)), "curvatures": 2}  # two models of the server
PI = vector([0.9, 0.1], [0.2, 0.8], [0.6, 0.4])
THREE = BOTH | {"centres": ((1, 0), (0, 2), (1, 1)), "samples": (100, 100, 300), "known": {"memberships": PI}}
PERSONAL = {"lambda": 1.0, "report": "personal"}
PULLED = {"lambda": 1.0, "d_sub": 1, "start": "same"}
FAIR, ALIKE = {"alpha": 0.5, "tau": 2.0, "theta": 15.0}, {"alpha": 0.5, "tau": 2.0, "theta": 45.0}
PASSES = {"gradient": "local_epoch", "fair_weights": "after"}
# (algorithm, hyper-parameters, clients, rounds, x, what else the newest round made)
ROUNDS = [
    ("ditto", PERSONAL, PLANE, 1, [0.4575, 0.7225], {"v": [[0.59, 0.41], [0.33, 1.01]]}),
    ("ditto", PERSONAL, PLANE, 2, [0.426688, 0.883812], {"v": [[0.639950, 0.392450], [0.239475, 1.297725]]}),
    ("fedavg_hardcluster", {"M": 2}, THREE, 1, [[1.00, 0.91], [0.00, 1.36]], {"weights": [[0.25, 0, 0.75], [0, 1, 0]]}),
    ("fedeba_plus", FAIR, TWO, 1, [-0.447188], {
        "direction": [2.523188], "mix": 0.5, "delta": [[0.148511], [0.538511]], "loss_after": [0.659539, 3.029464],
        "weights": [0.234161, 0.765839], "extra": None, "fair_angle_rounds": 1,
    }),
    ("fedeba_plus", FAIR | {"weight_loss": "before"}, TWO, 1, [-0.492022], {}),
    ("fedeba_plus", FAIR, {"steps": 1}, 1, None, {"delta": [[0.076159], [0.276159]]}),
    ("fedeba_plus", ALIKE, TWO, 1, [-0.254395], {
        "direction": None, "delta": [[-0.19], [0.57]], "loss_after": [0.328050, 2.952450],
        "weights": [0.5 * 0.212119, 0.5 * 0.787881], "extra": [0.5 * 0.1], "fair_angle_rounds": 0,
    }),
    ("fedeba_plus", ALIKE | {"weight_loss": "before"}, TWO, 1, [-0.289703], {}),
    # A plain pass before the aligned one: D' = (-0.19, 0.57), A = (0.32805, 2.95245), g = D' / 0.2
    ("fedeba_plus", FAIR | PASSES, TWO, 1, [-0.406228], {
        "direction": [2.043948], "mix": 0.5, "delta": [[0.101785], [0.491785]], "weights": [0.219377, 0.780623],
        "fair_angle_rounds": 1,
    }),
    ("fedeba_plus", ALIKE | PASSES, TWO, 1, [-(0.5 * (0.212119 * -0.19 + 0.787881 * 0.57) + 0.5 * 0.19)], {
        "epochs": 0, "weights": None, "fair_angle_rounds": 0,
    }),
    *(("fedeba_plus", FAIR | keys, TWO, 1, None, {"direction": [direction]}) for keys, direction in [
        ({"fair_weights": "uniform"}, (-1 + 3) / 2),
        ({"fair_weights": "before"}, 2.523188),
        ({"gradient": "local_epoch", "fair_weights": "uniform"}, (-0.95 + 2.85) / 2),
        ({"gradient": "local_epoch", "fair_weights": "before"}, 0.95 * 2.523188),
        ({"fair_weights": "before", "tau_fair": 1e12}, 1),
        ({"fair_weights": "before", "tau_fair": 1e-3}, 3),
        ({"fair_weights": "share"}, 1.394751),  # losses of 0.5 and 4.5 are 0.1 and 0.9
        (PASSES | {"tau_fair": 1e-3}, 2.85),
    ]),
    ("fedprox", {"mu": 1.0}, ONE | {"steps": 1}, 1, [0.6], {}),
    ("fedprox", {"mu": 1.0}, ONE, 1, [1.02], {}),
    ("fedprox", {"mu": 0.0}, ONE, 1, [1.08], {}),
    ("focus", {"M": 2}, BOTH, 1, [[0.903181, 0.833638], [0.096819, 1.166362]], {
        "loss_received": [[1, 2], [2, 1]], "mixture": [[0.731059, 0.268941], [0.268941, 0.731059]],
    }),
    ("focus", {"M": 2}, BOTH, 2, [[0.910007, 0.589586], [0.089993, 1.410414]], {
        "loss_received": [[0.704326, 2.176137], [2.176137, 0.704326]],
        "mixture": [[0.922142, 0.077858], [0.077858, 0.922142]],
    }),
    ("lp_proj", PULLED | {"p": 2}, LINE, 1, [0.5, 0.5], {
        "th": [[0.520000, 0.305000], [0.237800, 0.930400]], "omega": [0.072150], "weights": None,
    }),
    ("lp_proj", PULLED | {"p": 1}, LINE, 1, [0.5, 0.5], {
        "th": [[0.481, 0.253], [0.212, 0.896]], "o": [[0.1], [0.1]], "omega": [0.1],
    }),
    # A second exchange goes on with the o_k of the first.
    ("lp_proj", PULLED | {"p": 2, "repeats": 2}, LINE, 1, [0.5, 0.5], {
        "th": [[0.556893, 0.174640], [0.062209, 1.195479]], "o": [[0.097425], [0.179201]], "omega": [0.138313],
    }),
    ("prac_fedeba_plus", FAIR, TWO, 1, [-0.408790], {
        "direction": None, "extra": None, "weights": [0.212119, 0.787881], "g_b": [2.043948], "angle": 38.659808,
    }),
    ("prac_fedeba_plus", FAIR | {"weight_loss": "before"}, TWO, 1, None, {"g_b": [2.397029], "angle": 38.659808}),
    ("prac_fedeba_plus", FAIR | {"gradient_weights": "received"}, TWO, 1, None, {"g_b": [2.397029]}),
    ("prac_fedeba_plus", FAIR, TWO, 2, [-0.722825], {
        "loss_received": [0.992344, 3.357186], "direction": [2.043948], "mix": 0.5,
        "trained": [[-0.470718], [-0.860718]], "weights": [0.353571, 0.646429], "fair_angle_rounds": 1,
    }),
    # Losses 0.328, 2.952 after the first round: 38.66 degrees; 28.53 at the second round's x.
    *(("prac_fedeba_plus", FAIR | {"theta": theta, "angle_from": at}, TWO, 2, None,
       {"fair_angle_rounds": aligned} | ({"extra": None} if aligned else {"direction": None}))
      for theta, at, aligned in ((33.0, "received", 0), (33.0, "previous", 1), (39.0, "previous", 0))),
    # As if the first round knew a fair gradient already.
    ("prac_fedeba_plus", ALIKE, {"state": {"g_b": [7.0]}}, 1, [-0.251895], {
        "direction": None, "weights": [0.5 * 0.212119, 0.5 * 0.787881], "extra": [0.5 * 0.095], "g_b": [2.043948],
        "fair_angle_rounds": 0,
    }),
    ("scaffold", {}, TWO, 1, [-0.19], {"c_k": [[-0.95], [2.85]], "c": [0.95]}),  # D_k / (2 0.1)
    ("scaffold", {}, TWO, 2, [-0.3439], {
        "direction": [[1.9], [-1.9]], "delta": [[0.1349], [0.1729]], "c_k": [[-1.2255], [2.7645]], "c": [0.7695],
    }),
    ("scaffold", {"option": 1, "eta_g": 0.5}, TWO, 1, [-0.095], {"c_k": [[-1.0], [3.0]], "c": [1.0]}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "w", "x"), TOY)
def test_weights_of_the_toy(name, given, w, x):
    found, weights, _ = step(name, **given)
    close(weights, w)
    if x is not None:
        close(found, x)


@pytest.mark.parametrize(("name", "given", "rounds", "w", "kept"), SEVERAL)
def test_rounds_of_the_toy(name, given, rounds, w, kept):
    algorithm, state = start(name, **given)
    for t, (clients, losses) in enumerate(rounds):
        result, state = algorithm.aggregate(state, replace(reports(clients, losses), round=t))
    if w is not None:
        close(result.weights, w)
    for key, value in kept.items():
        close(state[key], value)


@pytest.mark.parametrize(("name", "given", "before", "clients", "rates"), RATES)
def test_rates_go_by_the_newest_loss_of_each_client(name, given, before, clients, rates):
    algorithm, state = start(name, **given)
    for past, losses in before:
        _, state = algorithm.aggregate(state, reports(past, losses, best=BEST))
    close(algorithm.configure_clients(state, received(reports(clients, best=BEST))).lr_scale, rates)


@pytest.mark.parametrize(("name", "given", "objective"), OBJECTIVES)
def test_weights_are_the_gradient_of_the_objective(name, given, objective):
    close(step(name, **given)[1] @ G, gradient_at_zero(objective), 1e-7)


@pytest.mark.parametrize("name", ["fedavg", "fedprox", "fedsgd", "propfair"])
def test_sizes_are_those_of_the_clients_of_the_round(name):
    close(step(name, reports(ids=(0, 1)))[1], [1 / 3, 2 / 3])


@pytest.mark.parametrize(("name", "given", "clients", "rounds", "x", "expected"), ROUNDS)
def test_rounds_on_quadratic_losses(name, given, clients, rounds, x, expected):
    engine = on_quadratics(name, **clients, **given).rounds(rounds)
    if x is not None:
        close(engine.x, x)
    deployed = engine.algorithm.evaluation_models(engine.state, engine.x)
    parts = [engine.state, *(vars(part) for part in (deployed, engine.result, engine.plan, engine.reports))]
    made = {key: value for part in parts for key, value in part.items()} | {"trained": engine.reports.trained}
    for key, value in expected.items():
        if value is None:
            assert made[key] is None
        else:
            close(made[key], value)
