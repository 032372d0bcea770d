"""FedFV, q-FedAvg, AFL and FedMGDA+ once more, slowly: the papers' boxes line by line, in NumPy, on whole vectors.

Written from the papers alone, to be compared with fairfl.algorithms. Loops over clients, no inner products kept,
no weights: every function returns the next model. `S` are the ids of the round's clients, in ascending order;
`update[k]` = x - x_k, `loss[k]` and `samples[k]` belong to client k.
"""

import math

import numpy as np
from scipy.optimize import minimize

# The published package FLGo (flgo 0.4.4, successor of the code released with FedFV) was compared in November 2026.
# It agrees but for this. FedFV: rounds count from 1, and external conflicts go through ages tau-1, ..., 0: the round's
# own clients, but never tau. AFL: the initial model has a share in the mean. q-FedAvg: F + 1e-8, here 1e-10. FedMGDA+:
# steps of length 1, not of the local rate. FedFa: one gamma, 0.9, for all; the received model's accuracy.


class FedFV:
    """Federated Learning with Fair Averaging, Algorithms 1 to 3."""

    def __init__(self, alpha: float, tau: int, reverse: bool = False) -> None:
        self.alpha, self.tau, self.reverse = alpha, tau, reverse
        self.GH: dict[int, np.ndarray] = {}  # latest update of every client
        self.t: dict[int, int] = {}  # and its round

    def round(self, x, t, S, update, loss, samples, eta, steps):
        for k in S:
            self.GH[k], self.t[k] = update[k], t
        PO = sorted(S, key=lambda k: (-loss[k] if self.reverse else loss[k], k))
        g = self.mitigate_internal_conflict(PO, update)
        if t >= self.tau:
            g = self.mitigate_external_conflict(g, t)
        average = sum(update[k] for k in S) / len(S)
        return x - g / np.linalg.norm(g) * np.linalg.norm(average)

    def mitigate_internal_conflict(self, PO, g):
        m = len(PO)
        keep = PO[math.ceil((m - 1) * (1 - self.alpha)) :] if self.alpha > 0 else []
        projected = {}
        for k in PO:
            projected[k] = g[k].copy()
            if k in keep:
                continue
            for j in PO:
                if j != k and projected[k] @ g[j] < 0:
                    projected[k] = projected[k] - (projected[k] @ g[j]) / np.linalg.norm(g[j]) ** 2 * g[j]
        return sum(projected.values()) / m

    def mitigate_external_conflict(self, g, t):
        for age in range(self.tau, 0, -1):
            g_con = np.zeros_like(g)
            for k in self.GH:
                if self.t[k] == t - age and g @ self.GH[k] < 0:
                    g_con = g_con + self.GH[k]
            if g @ g_con < 0:
                g = g - (g @ g_con) / np.linalg.norm(g_con) ** 2 * g_con
        return g


class QFedAvg:
    """Fair Resource Allocation in Federated Learning, Algorithm 2."""

    def __init__(self, q: float, epsilon: float = 1e-10) -> None:
        self.q, self.epsilon = q, epsilon

    def round(self, x, t, S, update, loss, samples, eta, steps):
        L = 1 / eta
        total, denominator = np.zeros_like(x), 0.0
        for k in S:
            F, dw = loss[k] + self.epsilon, L * update[k]
            total = total + F**self.q * dw
            denominator += self.q * F ** (self.q - 1) * np.linalg.norm(dw) ** 2 + L * F**self.q
        return x - total / denominator


class AFL:
    """Agnostic Federated Learning, Algorithm 1: w with the present lambda, then lambda; the mean of the iterates."""

    def __init__(self, eta_lambda: float, clients: int) -> None:
        self.eta_lambda = eta_lambda
        self.lam = np.full(clients, 1 / clients)
        self.iterates: list[np.ndarray] = []

    def round(self, x, t, S, update, loss, samples, eta, steps):
        x = x - sum(self.lam[k] * update[k] for k in S)
        self.lam = nearest_on_simplex(self.lam + self.eta_lambda * loss)
        self.iterates.append(x)
        return x

    def result(self):
        return sum(self.iterates) / len(self.iterates)


def nearest_on_simplex(y):
    """max(y - theta, 0) with sum 1: theta by bisection."""
    low, high = y.min() - 1, y.max()
    for _ in range(200):
        theta = (low + high) / 2
        low, high = (theta, high) if np.maximum(y - theta, 0).sum() > 1 else (low, theta)
    return np.maximum(y - low, 0)


class FedMGDA:
    """FedMGDA+, Algorithm 1: min-norm combination of the updates at length 1, by a general solver."""

    def __init__(self, epsilon: float, eta_global: float | None, uniform: bool = False) -> None:
        self.epsilon, self.eta_global, self.uniform = epsilon, eta_global, uniform

    def round(self, x, t, S, update, loss, samples, eta, steps):
        n = np.array([1.0 if self.uniform else samples[k] for k in S])
        u = np.stack([update[k] / np.linalg.norm(update[k]) for k in S])
        box = [(max(0, c - self.epsilon), min(1, c + self.epsilon)) for c in n / n.sum()]
        lam = least_norm(u, n / n.sum(), box)
        return x - (eta if self.eta_global is None else self.eta_global) * (lam @ u)


def least_norm(u, start, box):
    """argmin ||lam u||^2 over lam in the simplex and in the box, by sequential quadratic programming."""
    return minimize(
        lambda lam: np.sum((lam @ u) ** 2),
        start,
        jac=lambda lam: 2 * u @ (lam @ u),
        bounds=box,
        constraints={"type": "eq", "fun": lambda lam: lam.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    ).x


class Scaffold:
    """SCAFFOLD, Algorithm 1, lines 12 to 17 with option II: `steps[k]` local steps of rate eta led to `update[k]`."""

    def __init__(self, eta_g: float, clients: int, P: int) -> None:
        self.eta_g, self.N = eta_g, clients
        self.c, self.ci = np.zeros(P), [np.zeros(P) for _ in range(clients)]

    def round(self, x, t, S, update, loss, samples, eta, steps):
        dy, dc = [], []
        for i in S:
            yi = x - update[i]
            plus = self.ci[i] - self.c + (x - yi) / (steps[i] * eta)
            dy.append(yi - x)
            dc.append(plus - self.ci[i])
            self.ci[i] = plus
        self.c = self.c + len(S) / self.N * (sum(dc) / len(S))
        return x + self.eta_g * sum(dy) / len(S)


def power_of_choice(candidates, loss, m):
    """Towards Understanding Biased Client Selection, pow-d: the m candidates with the largest losses."""
    return sorted(sorted(candidates, key=lambda k: loss[k], reverse=True)[:m])
