"""Flower 1.42: a ServerApp and a ClientApp under run_simulation with ray and one actor.

ServerApp runs its own loop; `configure_train`, with which each of its rounds begins, waits for the driver. So a round
holds all that Flower does: messages, serialisation, polling. Server and actor share the core of the other competitors.
"""

import functools
import importlib.metadata
import os
from pathlib import Path
from typing import Any

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch import Tensor

from benchmarks import data, models
from benchmarks.peers.indexed import Indexed
from benchmarks.worker import Competitor, Gated, Job
from benchmarks.workloads import Workload

_WORKLOAD, _SOURCE = (
    "BENCHMARK_WORKLOAD",
    "BENCHMARK_SOURCE",
)  # how the actor's process learns what to load


@functools.cache
def clients() -> Indexed:
    """All clients' data and one module, kept by the actor between messages."""
    import json

    torch.set_num_threads(1)
    workload, source = Workload.of(json.loads(os.environ[_WORKLOAD])), Path(os.environ[_SOURCE])
    return Indexed(Job(workload, *data.load(source, workload), torch.device("cpu"), source))


client_app = ClientApp()


@client_app.train()
def train(message: Message, context: Context) -> Message:
    own = clients()
    own.model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    own.train(int(context.node_config["partition-id"]))
    content = {
        "arrays": ArrayRecord(own.model.state_dict()),
        "metrics": MetricRecord({"num-examples": own.job.workload.samples}),
    }
    return Message(content=RecordDict(content), reply_to=message)


class Flower(Gated):
    def __init__(self, job: Job) -> None:
        import json

        super().__init__(job)
        self.versions = {name: importlib.metadata.version(name) for name in ("flwr", "ray")}
        os.environ[_WORKLOAD], os.environ[_SOURCE] = (
            json.dumps(job.workload.plain()),
            str(job.source),
        )
        w = job.workload
        self.model = models.build(w.model, w.shape, w.classes)
        self.arrays = ArrayRecord(self.model.state_dict())
        self.launch(self.loop)

    def loop(self) -> None:
        gate, w = self, self.job.workload

        class Held(FedAvg):
            def configure_train(
                self, server_round: int, arrays: ArrayRecord, config: Any, grid: Grid
            ) -> Any:
                gate.arrays = arrays
                gate.turn()
                return super().configure_train(server_round, arrays, config, grid)

        app = ServerApp()

        @app.main()
        def main(grid: Grid, context: Context) -> None:
            # The minima, because its nodes register while the first round is being configured.
            strategy = Held(
                fraction_train=w.per_round / w.clients,
                fraction_evaluate=0.0,
                min_train_nodes=w.per_round,
                min_available_nodes=w.clients,
            )
            strategy.start(grid, self.arrays, num_rounds=1_000_000)

        config = {
            "init_args": {"num_cpus": 1, "num_gpus": 0, "include_dashboard": False},
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        }
        run_simulation(app, client_app, num_supernodes=w.clients, backend_config=config)

    def parameters(self) -> Tensor:
        self.model.load_state_dict(self.arrays.to_torch_state_dict())
        return models.flat(self.model)

    def close(self) -> None:
        import ray

        ray.shutdown()


def start(job: Job, competitor: str) -> Competitor:
    return Flower(job)
