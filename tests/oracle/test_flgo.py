"""fairfl.algorithms against the published package FLGo (flgo 0.4.4, successor of the code released with FedFV).

Skipped where it is not installed: `pip install flgo==0.4.4` into an environment of its own, next to pytest, scipy and
pydantic. Its servers run their own `iterate` on our updates and losses. It differs from us, and from the code that
produced FedFV's numbers, in these points, each of which is a test here:

    FedFV      rounds count from 1 and external conflicts go through ages tau-1, ..., 0: never tau, but the round's
               own clients. Its tau + 1 is ours followed by age 0.
    AFL        rounds count from 1, so the initial model has a share in the mean.
    q-FedAvg   F + 1e-8 where we add 1e-10.
    FedMGDA+   steps of length 1 by default, not of the local rate; lengths + 1e-8; its quadratic program needs cvxopt
               (GPL), which SLSQP replaces here.
    FedFa      one gamma, 0.9 by default, for client and server; accuracy of the received model.
"""

import importlib
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from tests.oracle import naive
from tests.oracle.federation import ETA, K, P, naive_path, path, rounds
from tests.oracle.test_naive import SEEDS, same

flgo = pytest.importorskip("flgo", reason="flgo 0.4.4 is not installed; it is compared in an environment of its own")
FModule = importlib.import_module("flgo.utils.fmodule").FModule
TAUS = pytest.mark.parametrize("tau", [0, 1, 3])


@pytest.fixture(autouse=True)
def double():
    """FLGo sums norms and inner products into a tensor of the default type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


class Model(FModule):
    """A flat vector as FLGo's model."""

    def __init__(self, values=None) -> None:
        super().__init__()
        values = torch.zeros(P) if values is None else torch.as_tensor(values)
        self.x = torch.nn.Parameter(values.clone(), requires_grad=False)


def flgo_server(name: str, samples, **hyperparameters):
    """A server of flgo.algorithm.<name> without FLGo's task, logger and clients."""
    server = object.__new__(importlib.import_module(f"flgo.algorithm.{name}").Server)
    server.option = {"learning_rate": ETA, "algo_para": None}
    server.clients = [SimpleNamespace(train_data=range(int(n))) for n in samples]
    server.num_clients, server._object_map = len(server.clients), {}
    server.model, server.current_round = Model(), 1
    server.initialize()
    vars(server).update(hyperparameters)
    return server


def flgo_path(name: str, drawn, **hyperparameters):
    """Models after every round and the server, over the same rounds as `federation.path`."""
    server = flgo_server(name, drawn[0].samples, **hyperparameters)
    found = []
    for round in drawn:
        models = {k: Model(server.model.x.data - torch.from_numpy(round.update[k])) for k in round.S}
        losses = [float(round.loss[k]) for k in round.S]
        server.sample = lambda S=round.S: S
        server.received_clients = round.S
        server.communicate = lambda S, models=models, losses=losses, round=round: {
            "model": list(models.values()),
            "loss": losses,
            "acc": [float(np.exp(-loss)) for loss in losses],
            "freq": [sum(k in past.S for past in drawn[: round.t + 1]) for k in round.S],
            **packed(name, server, models, losses),
        }
        if name == "fedmgda":
            server.model = server.aggregate(list(models.values()))
        else:
            server.iterate()
        server.current_round += 1
        found.append(server.model.x.numpy().copy())
    return found, server


def packed(name: str, server, models, losses):
    """dk and hk of q-FedAvg, which FLGo's clients compute."""
    if name != "qfedavg":
        return {}
    client = object.__new__(importlib.import_module("flgo.algorithm.qfedavg").Client)
    client.learning_rate, client.q = ETA, server.q
    sent = []
    for model, loss in zip(models.values(), losses, strict=True):
        client.global_model = server.model
        client.test = lambda *_, loss=loss: {"loss": loss}
        sent.append(client.pack(model))
    return {key: [package[key] for package in sent] for key in ("dk", "hk")}


@pytest.fixture
def quadratic_program(monkeypatch):
    """FLGo's FedMGDA+ without cvxopt."""
    monkeypatch.setitem(sys.modules, "cvxopt", ModuleType("cvxopt"))
    server = importlib.import_module("flgo.algorithm.fedmgda").Server

    def solve(self, P, q, G, h, A, b):
        m = len(P)
        upper, lower = h[m:, 0], -h[:m, 0]
        values, vectors = np.linalg.eigh(P / 2)
        u = vectors * np.sqrt(values.clip(min=0))  # rows with the inner products P / 2
        return naive.least_norm(u, (lower + upper) / 2, list(zip(lower, upper, strict=True)))[:, None]

    monkeypatch.setattr(server, "quadprog", solve)


@SEEDS
@pytest.mark.parametrize("alpha", [0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("m", [1, 3, K])
def test_fedfv_without_history(seed, alpha, m):
    drawn = rounds(seed, m)
    same(path("fedfv", drawn, alpha=float(alpha), tau=0)[0], flgo_path("fedfv", drawn, alpha=alpha, tau=0)[0])


@SEEDS
@TAUS
def test_fedfv_of_tau_plus_one_adds_the_own_round(seed, tau):
    drawn = rounds(seed, 3)
    theirs = flgo_path("fedfv", drawn, alpha=0.1, tau=tau + 1)[0]
    same(naive_path(naive.FedFV(0.1, tau, ages=range(tau, -1, -1)), drawn), theirs)


@SEEDS
@pytest.mark.parametrize("tau", [1, 3])
def test_fedfv_differs_in_the_ages(seed, tau):
    drawn = rounds(seed, 3)
    ours, theirs = path("fedfv", drawn, alpha=0.1, tau=tau)[0], flgo_path("fedfv", drawn, alpha=0.1, tau=tau)[0]
    assert np.abs(np.stack(ours) - np.stack(theirs)).max() > 1e-3


@SEEDS
@pytest.mark.parametrize("q", [0, 0.1, 1, 5])
def test_qffl(seed, q):
    drawn = rounds(seed, 3)
    same(path("qffl", drawn, q=q, epsilon=1e-8)[0], flgo_path("qfedavg", drawn, q=q)[0])


def test_qffl_differs_in_the_constant():
    drawn = rounds(0, 3)
    ours, theirs = path("qffl", drawn, q=5)[0], flgo_path("qfedavg", drawn, q=5)[0]
    assert 1e-13 < np.abs(np.stack(ours) - np.stack(theirs)).max() < 1e-6


@SEEDS
def test_afl(seed):
    drawn = rounds(seed, K)
    theirs, server = flgo_path("afl", drawn, learning_rate_lambda=0.1)
    ours, result = path("afl", drawn, eta_lambda=0.1, order="descent_first", start="uniform", report="average")
    same(ours, theirs)
    # The initial model is 0 here.
    same([result * len(drawn) / (len(drawn) + 1)], [server.result_model.x.numpy()])


@SEEDS
@pytest.mark.parametrize("epsilon", [0, 0.1, 1])
def test_fedmgda_plus(seed, epsilon, quadratic_program):
    drawn = rounds(seed, 4)
    theirs, server = flgo_path("fedmgda", drawn, epsilon=epsilon)
    assert server.eta == 1
    same(path("fedmgda_plus", drawn, epsilon=epsilon, eta_global=1.0)[0], theirs, 1e-6)


@SEEDS
def test_fedfa(seed):
    drawn = rounds(seed, 4)
    theirs, server = flgo_path("fedfa", drawn)
    assert server.gamma == 0.9
    same(path("fedfa", drawn, acc_of="global", gamma_s=0.9)[0], theirs)
