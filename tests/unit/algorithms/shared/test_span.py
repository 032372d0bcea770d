"""Combinations as coefficients against the vectors themselves; updates of the last rounds."""

import torch

from fairfl.algorithms.interface import Federation, Reports
from fairfl.algorithms.shared.recent_updates import no_updates, updates_of_absent, with_round
from fairfl.algorithms.shared.span import Span, gram
from tests.unit.algorithms.toy import close

V = torch.randn(4, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
C = torch.tensor([[1.0, -2.0, 0.5, 0.0], [0.0, 3.0, 1.0, -1.0]], dtype=torch.float64)
SPAN = Span(gram(V))


def test_gram_takes_columns_in_pieces():
    wide = torch.randn(3, 2**18 + 5, generator=torch.Generator().manual_seed(2))
    close(gram(wide), wide.double() @ wide.double().T, 1e-6)


def test_products_of_combinations():
    u, w = C @ V
    close(SPAN.vectors() @ V, V, 0)
    close(SPAN.square(C[1]), w @ w, 1e-12)
    close(SPAN.parts(C[0]), (V[0].norm() + 2 * V[1].norm() + 0.5 * V[2].norm()) ** 2, 1e-12)


def test_the_first_vectors_span_a_part():
    first = SPAN.first(2)
    close(first.products, V[:2] @ V[:2].T, 1e-12)
    close(SPAN.extend(C[0, :2]), [1.0, -2.0, 0.0, 0.0], 0)


def report(t, clients, updates):
    clients, updates = torch.tensor(clients), torch.tensor(updates)[:, None]
    return Reports(clients=clients, samples=torch.ones(len(clients)), learning_rate=0.1, round=t, delta=updates)


def test_latest_updates_of_absent_clients_by_age():
    memory = no_updates(Federation(torch.ones(5), torch.zeros(1), clients_per_round=2), rounds=2)
    rounds = [report(0, [0, 1], [10.0, 11.0]), report(1, [1, 2], [21.0, 22.0]), report(2, [2, 3], [32.0, 33.0])]
    for sent in rounds[:2]:
        assert updates_of_absent(memory, sent, 2) == [], "none before round 2"
        memory = with_round(memory, sent, 2)
    # Client 1 has sent again since round 0, client 2 is in the round.
    assert [ages.tolist() for ages in updates_of_absent(memory, rounds[2], 2)] == [[[10.0]], [[21.0]]]
    memory = with_round(memory, rounds[2], 2)
    assert [ages.tolist() for ages in updates_of_absent(memory, report(3, [4], [0.0]), 2)] == [
        [[21.0]],
        [[32.0], [33.0]],
    ]
