"""The command fairfl.jobs.train: its files, resume, what it reads; what it refuses: tests/bad_input."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from fairfl.data.interface import assemble
from fairfl.jobs import train
from fairfl.jobs.prepare import write
from fairfl.simulation.clients import load_clients
from tests.unit.simulation.federations import TRAINING

FILES = ["metrics.parquet", "model.safetensors", "summary.json"]
EAGLE = {"algorithm": "eagle", "hyperparameters": {"lambda": 1.0, "norm": "l2_k"}}
# As fairfl.jobs.train.spec makes it.
SPEC = TRAINING | {"rounds": 5, "learning_rate": 0.2, "keep": "model", "code": {}}
SPEC["model"] = {"name": "logistic_regression", "init": "zeros"}


class Job:
    """Prepared images of three classes dealt to three clients, and the command on them."""

    def __init__(self, folder):
        self.folder, self.out = folder, folder / "out"
        draw = np.random.default_rng(0)
        images = draw.integers(0, 256, (36, 1, 4, 4), dtype=np.uint8)
        write(folder / "data.safetensors", assemble("toy", 3, "made", images, draw.integers(0, 3, 36), mean=0.5))
        self.deal([(row, row % 3, (row // 3) % 3) for row in range(36)])

    def deal(self, rows):
        table = pa.table(dict(zip(("row", "client", "part"), map(list, zip(*rows, strict=True)), strict=True)))
        pq.write_table(table, self.folder / "partition.parquet")

    def optima(self, validation, test=0.5, name="optima"):
        folder = self.folder / name
        folder.mkdir()
        for k, value in enumerate(validation):
            (folder / f"client{k}.json").write_text(
                json.dumps({"loss_train": 0.0, "loss_validation": value, "loss_test": test})
            )
        return ["--optima", str(folder)]

    def arguments(self, *more, **changes):
        paths = {"data": "data.safetensors", "partition": "partition.parquet"}
        files = [text for key, name in paths.items() for text in (f"--{key}", str(self.folder / name))]
        files += ["--out", str(self.out), "--checkpoint", str(self.out / "checkpoint.pt")]
        return ["--spec", json.dumps(SPEC | changes), *files, "--device", "cpu", *more]

    def run(self, *more, **changes):
        train.main(self.arguments(*more, **changes))
        return json.loads((self.out / "summary.json").read_text(), parse_constant=pytest.fail)

    def metrics(self):
        return pq.read_table(self.out / "metrics.parquet").to_pydict()

    def kept(self):
        return load_file(self.out / "model.safetensors")


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


@pytest.mark.parametrize(
    ("keep", "names"), [("nothing", set()), ("model", {"theta"}), ("path", {"theta", "path", "path_rounds"})]
)
def test_the_model_is_kept_as_far_as_the_setting_says(job, keep, names):
    job.run(keep=keep)
    assert set(job.kept()) == names


def test_training_uses_the_optima_on_validation_data(job):
    thetas = []
    rising, falling = [0.1, 0.5, 0.9], [0.9, 0.5, 0.1]
    for number, (validation, test) in enumerate([(rising, 0.5), (rising, 0.7), (falling, 0.5)]):
        job.run(*job.optima(validation, test, f"optima{number}"), **EAGLE)
        thetas.append(job.kept()["theta"])
    assert torch.equal(thetas[0], thetas[1])
    assert not torch.allclose(thetas[0], thetas[2])


def test_a_client_whose_optimum_diverged_is_left_out_and_counted(job):
    summary = job.run(*job.optima([0.1, None, 0.9]), **EAGLE)
    assert (summary["dropped_reports"], summary["diverged"]) == (5, False)


@pytest.mark.parametrize(("without", "dropped"), [([1], 0), ([0, 1, 2], 0), ([0], 5)])
def test_a_client_without_validation_samples_is_not_a_diverged_one(job, without, dropped):
    """The optimum of client 1 is missing: it has diverged only if the client has validation samples."""
    parts = [(row, row % 3, (row // 3) % 3) for row in range(36)]
    job.deal([(row, client, 2 if part == 1 and client in without else part) for row, client, part in parts])
    summary = job.run(*job.optima([0.1, None, 0.9]), algorithm="eagle", hyperparameters={"lambda": 0.0, "norm": "none"})
    assert (summary["dropped_reports"], summary["diverged"]) == (dropped, False)
    theta = job.kept()["theta"]
    job.run(algorithm="fedavg", hyperparameters={"weighting": "uniform"})
    assert torch.allclose(theta, job.kept()["theta"], rtol=1e-6) == (not dropped)


def test_a_client_whose_losses_are_nan_is_flagged_as_diverged(job, monkeypatch):
    def load(*files):
        clients = load_clients(*files)
        train = clients.parts["train"]
        train.inputs[train.offsets[1]] = torch.nan  # a training sample of client 1
        return clients

    monkeypatch.setattr("fairfl.simulation.clients.load_clients", load)
    summary = job.run()
    assert (summary["diverged"], summary["dropped_reports"]) == (True, 5)
    assert np.isnan(job.metrics()["loss_train"]).tolist() == [False, True, False] * 4
    assert torch.isfinite(job.kept()["theta"]).all()


# -- memberships, and runs that come after others --------------------------------------------------------------
def test_a_mixture_is_written_down_and_a_later_run_starts_from_it(job):
    focus = job.run(algorithm="focus", hyperparameters={"M": 2})
    pi = np.array(focus["memberships"])
    assert pi.shape == (3, 2) and np.allclose(pi.sum(1), 1) and "clusters" not in focus
    assert "memberships" not in job.run(), "FedAvg deploys one model"

    earlier = job.folder / "earlier.json"
    earlier.write_text(json.dumps(focus | {"memberships": [[0.2, 0.8], [0.9, 0.1], [0.4, 0.6]]}))
    hard = job.run("--after", str(earlier), algorithm="fedavg_hardcluster", hyperparameters={"M": 2})
    assert hard["memberships"] == [[0, 1], [1, 0], [0, 1]]


def test_clusters_and_what_the_partition_had_to_change_are_passed_on(job):
    assert "partition" not in job.run()
    path = job.folder / "partition.parquet"
    said = {"changed": '["3 of 4 owners"]', "clusters": "[0, 0, 1]"}
    pq.write_table(pq.read_table(path).replace_schema_metadata(said), path)
    summary = job.run()
    assert (summary["partition"], summary["clusters"]) == (["3 of 4 owners"], [0, 0, 1])
