"""Benchmarks: operations counted by hand, the same work for all, turns, report, regression check."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from benchmarks import agreement, check, data, driver, environments, local_training, models, report, starts
from benchmarks.bench import Bench
from benchmarks.peers import dataloader, indexed
from benchmarks.peers import fairfl as own
from benchmarks.worker import Job
from benchmarks.workloads import CNN_B64, FOCUS, LINEAR_B10, MLP_B64, MLP_FULL, gemm_flops

from fairfl.runtime.errors import FairflError
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.local_optimum import pretrain
from fairfl.simulation.training_spec import LocalOptimumSpec
from tests.unit.simulation.federations import TRAINING, image_clients

TINY = MLP_B64.at(name="tiny", model={"name": "mlp", "hidden": [8]}, batch=5, clients=6, samples=12, per_round=3)


# -- operations ------------------------------------------------------------------------------------
def test_operations_of_a_round_counted_by_hand():
    # forward and gradient of weights everywhere, gradient of inputs everywhere but in the first layer
    linear = 2 * (2 * 784 * 10)
    mlp = 2 * (2 * 784 * 200 + 3 * 200 * 200 + 3 * 200 * 10)
    conv = 2 * (2 * 28 * 28 * 32 * 25 + 3 * 14 * 14 * 64 * 32 * 25)
    cnn = conv + 2 * 3 * (7 * 7 * 64 * 512 + 512 * 10)
    assert LINEAR_B10.flops == 6000 * linear
    assert MLP_B64.flops == MLP_FULL.flops == 6000 * mlp == 5_275_200_000
    assert CNN_B64.flops == 6000 * cnn == 434_307_072_000
    assert gemm_flops("cpu") == 2 * 2048**3
    assert FOCUS.flops == 10 * 10 * 6000 * 2 * (2 * 784 * 200 + 3 * 200 * 10)  # ten epochs


# -- the same work ---------------------------------------------------------------------------------
@pytest.mark.parametrize("workload", agreement.WORKLOADS, ids=lambda w: w.name)
def test_own_competitors_end_at_the_same_model(workload, tmp_path):
    agreement.prepare(tmp_path)
    job = Job(workload, *data.load(tmp_path, workload), torch.device("cpu"), tmp_path)
    runs = [module.start(job, "") for module in (own, indexed, dataloader)]
    begin = models.flat(models.build(workload.model, workload.shape, workload.classes))
    for run in runs:
        torch.testing.assert_close(run.parameters(), begin, rtol=0, atol=0)
        run.rounds(2)
    ends = [run.parameters() for run in runs]
    assert (ends[0] - begin).abs().max() > 1e-2
    for end in ends[1:]:
        assert (end - ends[0]).abs().max() < 1e-5
    runs[1].rounds(1)
    assert (runs[1].parameters() - ends[0]).abs().max() > 100 * agreement.TOLERANCE  # a round more or less shows


# -- turns -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tiny_run_from_end_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "_failed", {"blazefl": "needs Python 3.14"})
    saved = []
    setting = driver.Setting(warm_up=1, turns=2, turn_s=0.05)
    bench = Bench(setting, tmp_path, peers=["blazefl"], save=lambda d: saved.append(json.loads(json.dumps(d))))
    bench.workloads([TINY, TINY.at(name="tiny_full", batch=None)])
    assert [list(d["workloads"]) for d in saved] == [["tiny"], ["tiny", "tiny_full"]]
    document = saved[-1]
    assert document["data"] == {"72x1x28x28": "generated pixels"}
    tiny, full = document["workloads"].values()
    assert tiny["skipped"] == {"blazefl": "needs Python 3.14"} and tiny["gemm_gflops"] > 0
    for entry in (tiny, full):
        ((name, row),) = entry["competitors"].items()
        assert name == "fairfl" and len(row["turns"]) == 2 and row["rounds"] >= 2
        assert row["start_s"] > row["seconds"] > 0 and row["peak_mib"] > 50 and row["share_of_peak"] > 0
        assert row["share_with_reading"] > row["share_of_products"] > 0 and entry["reading"]["seconds"] > 0
        assert row["gflops"] == pytest.approx(entry["flops_per_round"] / row["seconds"] / 1e9)
        assert row["versions"]["torch"] == torch.__version__
    assert full["competitors"]["fairfl"]["ratio"] == {"median": 1.0, "min": 1.0, "max": 1.0}
    assert str(tmp_path) not in json.dumps(document) and str(Path.home()) not in json.dumps(document)
    assert "tiny_full" in report.markdown(document)


def test_the_picture_names_its_rows_in_words():
    other = MLP_B64.at(batch=None, precision="bf16", epochs=5, clients=10)
    rows = ["MLP 200-200, batch 64", "MLP 200-200, full batch, bf16, 5 epochs, 10 of 10 clients", "linear, batch 10"]
    assert [report._row(asdict(workload)) for workload in (MLP_B64, other, LINEAR_B10)] == rows


@pytest.mark.slow
def test_a_warm_start_is_measured_as_the_workflow_makes_it(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    command, modules = starts.prepared(tmp_path)
    server = starts.StartServer()
    server.start(modules)
    try:
        address = os.environ[starts.VARIABLE]
        starts.measured(command, tmp_path / "first", address, 1)
        before = starts.server_cpu(server)
        starts.measured(command, tmp_path / "warm", address, 2)
        assert starts.server_cpu(server) > before  # the jobs are forked from the server
    finally:
        server.stop()


# -- regression check ------------------------------------------------------------------------------
def document_of(ratio=2.0, share=0.5):
    """Results of one workload: how much longer a rival takes, and fairfl's share of the product's rate."""
    competitors = {"fairfl": {"share_of_peak": share}, "indexed": {"ratio": {"median": ratio}}}
    return {"workloads": {"mlp_b64": {"competitors": competitors, "gemm": "mm"}}}


# How much longer a rival takes, fairfl's share, the tolerance, and whether the check passes; 0.9: a rival is quicker.
CHECKS = [(2.0, 0.5, 0.7, True), (1.5, 0.4, 0.7, True), (1.3, 0.5, 0.7, False), (2.0, 0.3, 0.7, False),
          (1.3, 0.5, 0.6, True), (0.9, 0.5, 0.1, False)]  # fmt: skip


@pytest.mark.parametrize(("ratio", "share", "tolerance", "passes"), CHECKS)
def test_check_fails_only_below_the_tolerance(ratio, share, tolerance, passes):
    lines = check.compared(document_of(ratio, share), document_of(), tolerance)
    assert len(lines) == 2 and all(passed for passed, _ in lines) == passes


def test_the_committed_results_of_each_kind_of_cpu_are_found():
    folder = Path(check.__file__).with_name("results")
    names = {"AuthenticAMD AVX512": "amd-epyc", "GenuineIntel AVX512": "intel-xeon"}
    assert {kind: check.committed_for(kind, folder).stem for kind in names} == names
    with pytest.raises(FairflError, match=r"no committed results of a 'other'.*intel-xeon \(GenuineIntel AVX512\)"):
        check.committed_for("other", folder)


# -- when clients stop training alone --------------------------------------------------------------
@pytest.mark.parametrize("tolerance", [0.005, 0.02])
def test_a_client_that_trains_alone_stops_where_its_job_stops(tolerance):
    clients = image_clients([9], shape=(1, 2, 3), dtype=torch.float32)
    clients.parts["train"].inputs[..., 1, 2] = 0  # a pixel that no image has
    rule = {"max_steps": 1000, "flat_window": 1, "flat_tolerance": tolerance}
    keys = ("model", "loss", "optimizer", "weight_decay", "batch_size", "precision", "seed")
    spec = LocalOptimumSpec(**{key: TRAINING[key] for key in keys}, learning_rate=0.3, client=0, local_optimum=rule)
    _, start = make_backend(spec, clients, "auto", torch.device("cpu"))
    images, labels = clients.parts["train"].of(0)
    found = {t: rest for t, *rest in local_training.alone(images.flatten(1), labels, start, 0.3, (0.02, 0.005))}
    x, epochs = found[tolerance]
    batches = local_training.Batches(len(labels), 1, draw=0)  # all images in one: the same rule
    ((_, of_batches, steps),) = batches.alone(images.flatten(1), labels, start, 0.3, (tolerance,))
    assert steps == epochs and torch.allclose(of_batches, x, atol=1e-6)
    job = pretrain(spec, clients, torch.device("cpu"))
    assert job["stopped"] == "flat" and job["epochs"] == epochs > 3
    images, labels = clients.parts["test"].of(0)
    assert local_training.loss_of(x, images.flatten(1), labels) == pytest.approx(job["loss_test"], rel=1e-5)


def test_batches_scatter_where_a_client_stops():
    images, labels = torch.rand(64, 6, generator=torch.Generator().manual_seed(0)), torch.arange(64) % 4
    stops = {
        steps
        for draw in range(5)
        for _, _, steps in local_training.Batches(4, 3, draw).alone(images, labels, torch.zeros(4 * 7), 0.3, (0.02,))
    }
    assert len(stops) > 1 and min(stops) >= 5  # two means of three losses


def test_fedavgs_rows_are_scored_in_what_is_printed_beside_them():
    numbers = local_training.printed()
    assert len(numbers) == 16 and numbers["table7", "gap_var"] == (0.017, 0.01)
    one_off = {key: value + spread for key, (value, spread) in numbers.items()}
    assert local_training.misfit(one_off, local_training.GAPS) == pytest.approx(1)
