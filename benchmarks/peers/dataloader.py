"""The plain loop with a DataLoader for each client, as most code is written."""

from torch.utils.data import DataLoader, TensorDataset

from benchmarks.peers.indexed import Indexed
from benchmarks.worker import Competitor, Job


class WithDataLoader(Indexed):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        w = job.workload
        data = (TensorDataset(*job.client(k)) for k in range(w.clients))
        self.loaders = [DataLoader(d, batch_size=w.batch or w.samples, shuffle=True) for d in data]

    def batches(self, client: int):
        for inputs, labels in self.loaders[client]:
            yield inputs.to(self.job.device), labels.to(self.job.device)


def start(job: Job, competitor: str) -> Competitor:
    return WithDataLoader(job)
