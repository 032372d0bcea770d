"""Updates of the last rounds, and which of them are the latest that their client has sent.

The memory is a ring of `rounds` rounds: round t in place t % rounds, its updates [m, P] and its clients [m], -1 where a
client failed to report; `last` [K] is the latest round of each client, -1: none. There is one tensor per round: a round
replaces one of them, so the others need not be copied.
"""

import torch
from torch import Tensor

from fairfl.algorithms.interface import Federation, Reports, State


def no_updates(federation: Federation, rounds: int) -> State:
    """The memory before the first round."""
    K, x = federation.clients, federation.x[: federation.parameters]
    m = federation.clients_per_round or K
    memory = {"last": torch.full((K,), -1, device=x.device)}
    for place in range(rounds):
        memory[f"updates_{place}"] = x.new_zeros(m, len(x))
        memory[f"clients_{place}"] = torch.full((m,), -1, device=x.device)
    return memory


def updates_of_absent(memory: State, reports: Reports, rounds: int) -> list[Tensor]:
    """The latest updates of clients that are not in this round t, by their round t - rounds, ..., t - 1, each [*, P].

    None before t = rounds.
    """
    t, updates = reports.round, []
    last = memory["last"].index_fill(0, reports.clients, t)
    for past in range(t - rounds, t) if t >= rounds else ():
        clients = memory[f"clients_{past % rounds}"]
        updates.append(memory[f"updates_{past % rounds}"][(clients >= 0) & (last[clients] == past)])
    return updates


def with_round(memory: State, reports: Reports, rounds: int) -> State:
    """The memory with this round in the place of round t - rounds."""
    place, m = reports.round % rounds, len(reports.clients)
    clients = torch.full_like(memory[f"clients_{place}"], -1)
    clients[:m] = reports.clients
    updates = reports.delta
    if m < len(clients):
        updates = torch.cat([updates, updates.new_zeros(len(clients) - m, updates.shape[1])])
    last = memory["last"].index_fill(0, reports.clients, reports.round)
    return {**memory, "last": last, f"clients_{place}": clients, f"updates_{place}": updates}
