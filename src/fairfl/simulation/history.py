"""The history of a run: losses, accuracies and recalls of every client at the evaluated rounds."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fairfl.simulation.clients import Clients
from fairfl.simulation.evaluation import Evaluation, count, recall

# Evaluations that wait on a GPU before they are fetched together; on a CPU nothing is gained by keeping their hits.
PENDING = 32


@dataclass
class Result:
    """End of a run. `history` has one row for each evaluated round (see History)."""

    x: Tensor  # [P + B], or [M, P + B] if the server keeps M models
    history: list[dict[str, Tensor]]
    dropped: int = 0  # reports that were left out, of all rounds, for a NaN or an infinity
    # x at the evaluated rounds, if the setting keeps it.
    path: list[Tensor] = field(default_factory=list)
    mixture: Tensor | None = None  # [K, R], see EvaluationModels; of the last evaluation


def log_spaced(rounds: int, count: int) -> frozenset[int]:
    """Rounds from 1 to the last one, spaced evenly in their logarithm; rounded, so fewer at the beginning."""
    return frozenset(round(rounds ** (i / (count - 1))) for i in range(count))


class History:
    """`rows`, one for each evaluated round: `round`, and for each part P the columns, all [K],

        loss_P      mean loss, nats, float64
        accuracy_P  fraction, float64
        recall_P    mean over the classes of the client of its accuracy on each, fraction, float64
        samples_P   int64

    A row is complete after `fetch` only: to read numbers from a GPU is to wait for it.
    """

    def __init__(self, clients: Clients) -> None:
        self.samples = {name: part.counts for name, part in clients.parts.items()}
        self.totals = {
            name: count(part, clients.classes).cpu() for name, part in clients.parts.items()
        }  # [K, C]
        self.rows: list[dict[str, Tensor]] = []
        self.pending: list[tuple[int, dict[str, Evaluation]]] = []

    def add(self, round: int, evaluations: dict[str, Evaluation]) -> None:
        """Evaluations by part."""
        self.pending.append((round, evaluations))
        waiting = any(evaluation.hits.is_cuda for evaluation in evaluations.values())
        if not waiting or len(self.pending) >= PENDING:
            self.fetch()

    def fetch(self) -> None:
        """Bring pending evaluations from the device into `rows`."""
        for round, evaluations in self.pending:
            row = {"round": torch.tensor(round)}
            for part, evaluation in evaluations.items():
                hits, totals = evaluation.hits.cpu(), self.totals[part]
                row[f"loss_{part}"] = evaluation.loss.cpu()
                row[f"accuracy_{part}"] = hits.sum(1).double() / totals.sum(1)
                row[f"recall_{part}"] = torch.from_numpy(recall(hits.numpy(), totals.numpy()))
                row[f"samples_{part}"] = self.samples[part]
            self.rows.append(row)
        self.pending.clear()

    def latest(self, part: str) -> str:
        """The newest row in words: mean loss, mean and worst accuracy over the clients; empty without one."""
        self.fetch()
        if not self.rows:
            return ""
        loss, accuracy = self.rows[-1][f"loss_{part}"].nanmean(), self.rows[-1][f"accuracy_{part}"]
        if accuracy.isnan().all():
            return f"loss {loss:.4f}"
        return f"loss {loss:.4f}  accuracy {accuracy.nanmean():.4f} worst {accuracy.nan_to_num(1).min():.4f}"
