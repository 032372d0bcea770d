"""Benchmarks: operations counted by hand, the same work for all, turns, report, regression check."""

import gzip
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]

from benchmarks import __main__ as command  # noqa: E402
from benchmarks import agreement, bench, check, data, driver, environments, models, report, scaling, tune  # noqa: E402
from benchmarks.bench import Bench, slug  # noqa: E402
from benchmarks.peers import PEERS, QUICKEST, REFERENCE, dataloader, gemm, indexed, products  # noqa: E402
from benchmarks.peers import fairfl as own  # noqa: E402
from benchmarks.worker import Gated, Job, Unfit  # noqa: E402
from benchmarks.workloads import (  # noqa: E402
    CNN_B64,
    FOCUS,
    LINEAR_B10,
    MLP_B64,
    MLP_FULL,
    NEIGHBOURS,
    Workload,
    gemm_flops,
    workloads,
)

from fairfl import models as fairfl_models  # noqa: E402
from fairfl.runtime.errors import FairflError  # noqa: E402

TINY = MLP_B64.at(name="tiny", model={"name": "mlp", "hidden": [8]}, batch=5, clients=6, samples=12, per_round=3)


def job_of(workload, folder, prepare=None):
    if prepare is None:
        data.prepare(folder, workload.shape, workload.clients * workload.samples)
    else:
        prepare(folder)
    return Job(workload, *data.load(folder, workload), torch.device("cpu"), folder)


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


def test_steps_count_the_short_last_batch_and_every_epoch():
    assert (MLP_B64.steps, MLP_FULL.steps, LINEAR_B10.steps) == (10, 1, 60)
    assert (TINY.steps, TINY.at(epochs=2).steps, TINY.batches) == (3, 6, [5, 5, 2])
    assert MLP_FULL.batches == [600] and MLP_B64.batches == [64] * 9 + [24]
    assert FOCUS.layers == [(784, 200), (200, 10)] and LINEAR_B10.layers == [(784, 10)]


def test_a_workload_survives_json():
    assert Workload.of(json.loads(json.dumps(CNN_B64.plain()))) == CNN_B64


@pytest.mark.parametrize("workload", (MLP_B64, CNN_B64, LINEAR_B10), ids=lambda w: w.name)
def test_the_plain_models_are_fairfls(workload):
    plain = models.build(workload.model, workload.shape, workload.classes)
    theirs = fairfl_models.build(workload.model, workload.shape, workload.classes)
    theirs.load_state_dict(dict(zip(theirs.state_dict(), plain.state_dict().values(), strict=True)))
    inputs = torch.randn(3, *workload.shape)
    torch.testing.assert_close(plain(inputs), theirs(inputs))
    assert torch.equal(models.flat(plain), models.flat(models.build(workload.model, workload.shape, 10)))


# -- the same work ---------------------------------------------------------------------------------
@pytest.mark.parametrize("workload", agreement.WORKLOADS, ids=lambda w: w.name)
def test_own_competitors_end_at_the_same_model(workload, tmp_path):
    job = job_of(workload, tmp_path, agreement.prepare)
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


def test_each_round_draws_other_clients_and_batches(tmp_path):
    run = indexed.start(job_of(TINY, tmp_path), "")
    assert len({tuple(sorted(run.sampled())) for _ in range(50)}) > 5
    assert all(len(set(run.sampled())) == 3 for _ in range(20))
    inputs, labels = zip(*run.batches(2), strict=True)
    assert [len(batch) for batch in labels] == [5, 5, 2]
    mine = run.job.client(2)[0]
    assert not torch.equal(torch.cat(inputs), mine)
    assert torch.equal(torch.cat(inputs).sum(0).sort().values, mine.sum(0).sort().values) or torch.allclose(
        torch.cat(inputs).sum(0), mine.sum(0), atol=1e-4
    )


def test_bf16_changes_the_numbers_a_little(tmp_path):
    plain = job_of(TINY.at(per_round=6, batch=None), tmp_path)
    rounded = Job(plain.workload.at(precision="bf16"), plain.inputs, plain.labels, plain.device, tmp_path)
    ends = []
    for job in (plain, rounded):
        run = indexed.start(job, "")
        run.step()
        ends.append(run.parameters())
    assert 0 < (ends[0] - ends[1]).abs().max() < 0.05


def test_a_precision_that_changes_nothing_is_not_reported(tmp_path, monkeypatch):
    job = job_of(TINY.at(precision="bf16"), tmp_path)
    monkeypatch.setattr(own, "after_one_round", lambda job, precision: torch.zeros(3))
    with pytest.raises(Unfit, match="bf16"):
        own.start(job, "")


# -- data ------------------------------------------------------------------------------------------
def test_generated_samples_are_two_shards_a_client(tmp_path):
    assert data.prepare(tmp_path, (1, 28, 28), 2000) == "generated pixels"
    inputs, labels = data.load(tmp_path, MLP_B64.at(samples=20))
    assert inputs.shape == (2000, 1, 28, 28)
    assert all(len(set(own.tolist())) <= 2 for own in labels.view(100, 20))
    assert labels.bincount().tolist() == [200] * 10
    with pytest.raises(ValueError, match="60000 rows are needed, the data have 2000"):
        data.load(tmp_path, MLP_B64)


def test_a_series_over_clients_holds_equal_memory(tmp_path):
    data.prepare(tmp_path, (1, 28, 28), 2000)
    few, _ = data.load(tmp_path, MLP_B64.at(clients=10, samples=6))
    assert len(few) == 60 and few.untyped_storage().nbytes() == 2000 * 784 * 4


def test_mnist_of_a_folder(tmp_path):
    for kind, values in (
        ("images-idx3-ubyte", np.arange(2 * 784).reshape(2, 28, 28) % 256),
        ("labels-idx1-ubyte", [3, 7]),
    ):
        values = np.array(values, dtype=np.uint8)
        head = bytes((0, 0, 8, values.ndim)) + np.array(values.shape, dtype=">u4").tobytes()
        (tmp_path / f"train-{kind}.gz").write_bytes(gzip.compress(head + values.tobytes()))
    images, labels = data._mnist(tmp_path)
    assert images.shape == (2, 1, 28, 28) and labels.tolist() == [3, 7]
    with pytest.raises(FairflError, match="--mnist"):
        data._mnist(tmp_path / "nowhere")


# -- who takes part --------------------------------------------------------------------------------
def test_who_takes_part():
    taking, skipped = driver.competitors_of(MLP_B64, "cpu", None)
    assert taking[0] == REFERENCE and set(taking) == set(PEERS) and not skipped
    assert driver.competitors_of(MLP_B64.at(precision="bf16"), "cpu", None) == (["fairfl", "indexed"], {})
    taking, skipped = driver.competitors_of(MLP_B64, "cuda", ["flower", "pfl"])
    assert taking == ["fairfl", "pfl"] and "CPU" in skipped["flower"]
    assert {w.precision for w in workloads("cuda")} == {"fp32", "tf32", "bf16"}


def test_neighbours_of_the_rows_meet_the_quickest_alone():
    rows = [w for w in workloads("cpu") if w.name in NEIGHBOURS]
    assert len(rows) == len(NEIGHBOURS) > 0 and {w.precision for w in rows} == {"fp32"}
    assert driver.competitors_of(rows[0], "cpu", None) == ([REFERENCE, *QUICKEST], {})
    assert driver.competitors_of(rows[0], "cpu", []) == ([REFERENCE], {})


# -- what the hardware does ------------------------------------------------------------------------
@pytest.mark.parametrize("name", ("gemm-mm", "gemm-onednn"))
def test_both_products_of_the_yardstick_multiply(name, tmp_path, monkeypatch):
    monkeypatch.setitem(gemm.GEMM_SIDE, "cpu", 5)
    run = gemm.start(job_of(TINY, tmp_path), name)
    run.step()
    product = gemm.onednn(run.a, run.b) if run.by_onednn else run.c
    torch.testing.assert_close(product, run.a.double().matmul(run.b.double()).float())
    assert run.by_onednn == (name == "gemm-onednn")


def test_without_onednn_the_yardstick_is_torchs_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(gemm, "onednn_fits", lambda job: False)
    with pytest.raises(Unfit, match="oneDNN"):
        gemm.start(job_of(TINY, tmp_path), "gemm-onednn")


@pytest.mark.parametrize("product", products.products_of(first=False), ids=lambda p: p.name)
def test_every_form_of_a_product_computes_it(product):
    layer, batches, models = (4, 3), [5, 5, 2], 6
    operands = products.Operands(product, layer, models, batches, torch.empty(0, dtype=torch.float32))
    seen = set()
    for form in products.forms(models, by_onednn=True):
        made = products.Repeated(form, operands)
        seen.add(form.kind)
        assert len(made.calls) == len(batches) * models // form.group
        for number, (left, right, out) in enumerate(made.calls):
            first, place = number // len(batches) * form.group, number % len(batches)
            sides = [operands.of(side, place, form.flipped[side])[first : first + form.group] for side in (0, 1)]
            expected = sides[0] @ sides[1]
            expected = expected.mT if form.transposed else expected
            assert sides[0].shape[1:] + sides[1].shape[2:] == product.sizes(batches[place], *layer)
            if form.kind == "onednn":
                torch.testing.assert_close(gemm.onednn(left, right), expected[0])
            else:
                out.zero_()
                made.run(slice(number, number + 1))
                scale = 1 if form.kind in ("mm", "bmm") else 1 / products.SMALL
                torch.testing.assert_close(out.view(expected.shape) * scale, expected)
    assert seen == {"mm", "addmm", "bmm", "baddbmm", "onednn"}


def test_the_roofline_has_every_product_of_a_round(tmp_path):
    run = products.start(job_of(TINY.at(epochs=2), tmp_path), "products")
    assert list(run.versions) == [
        "784-8 forward",
        "784-8 gradient of weights",
        "8-10 forward",
        "8-10 gradient of weights",
        "8-10 gradient of inputs",
    ]
    counted = 0
    for product in run.chosen:
        for left, right, _ in product.calls:
            counted += 2 * left.shape.numel() * right.shape[-1]
    assert 2 * counted == TINY.at(epochs=2).flops
    ran = []
    for product in run.chosen:
        product.run = lambda product=product: ran.append(product)
    run.step()
    assert ran == run.chosen * 2
    with pytest.raises(Unfit, match="convolutions"):
        products.start(job_of(TINY.at(model=agreement.SMALL_CNN), tmp_path), "products")


def test_every_peer_has_a_module_and_pinned_packages():
    folder = ROOT / "benchmarks" / "peers"
    for name, peer in PEERS.items():
        assert (folder / f"{name.partition('-')[0]}.py").is_file()
        if peer.environment:
            lines = (folder / f"{peer.environment}.txt").read_text().split()
            assert all("==" in line for line in lines) and not any(line.startswith("torch=") for line in lines)


def test_why_a_peer_is_missing_names_no_place():
    stderr = "ERROR: Could not find https://host/simple/pfl/\nERROR: No matching distribution found for pfl"
    assert environments.reason(stderr) == "not installed (No matching distribution found for pfl)"
    assert "/" not in environments.reason("ERROR: Could not open /home/me/pfl.txt")


def test_a_peer_that_cannot_be_installed_is_tried_once(tmp_path, monkeypatch):
    calls = []

    def no_network(command, **options):
        calls.append(command)
        return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution found for pfl")

    monkeypatch.setattr(environments, "_failed", {})
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setattr(environments.subprocess, "run", no_network)
    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "pfl.txt").write_text("pfl==0.6.0\n")
    for _ in range(2):
        measured, skipped = driver.interleaved({"pfl": ("pfl", TINY)}, tmp_path, driver.Setting())
        assert measured == {} and skipped == {"pfl": "not installed (No matching distribution found for pfl)"}
    assert len(calls) == 1


def test_a_python_of_another_version_is_looked_for_on_the_path_and_with_uv(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(environments.Unavailable, match=r"needs Python 3\.14, and there is none"):
        environments.interpreter("3.14")
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\n[ $4 = 3.14 ] && echo /opt/python3.14\n")
    uv.chmod(0o755)
    assert environments.interpreter("3.14") == "/opt/python3.14"
    with pytest.raises(environments.Unavailable, match="3.15"):
        environments.interpreter("3.15")
    (tmp_path / "python3.14").symlink_to("/bin/true")
    assert environments.interpreter("3.14") == str(tmp_path / "python3.14")


def test_another_python_gets_the_same_torch_and_no_outer_packages(tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr(environments, "_failed", {})
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setattr(environments, "interpreter", lambda version: f"python{version}")
    monkeypatch.setattr(environments, "_run", lambda peer, command: commands.append(command) or str(tmp_path))
    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "blazefl.txt").write_text("blazefl==3.0.0\n")
    (tmp_path / ".envs" / "blazefl").mkdir(parents=True)
    environments.python_of("blazefl", "3.14")
    assert commands[0][0] == "python3.14"
    assert f"torch=={torch.__version__.partition('+')[0]}" in commands[2] and f"numpy=={np.__version__}" in commands[2]
    assert (tmp_path / "outer.pth").read_text().strip() == ""


# -- turns -----------------------------------------------------------------------------------------
class Counting(Gated):
    def __init__(self):
        super().__init__(job=None)
        self.rounds_done = 0
        self.launch(self.loop)

    def loop(self):
        while True:
            self.turn()
            if self.rounds_done == 3:
                raise ValueError("broken")
            self.rounds_done += 1


def test_a_framework_with_its_own_loop_is_driven_round_by_round():
    run = Counting()
    assert run.rounds_done == 0
    for done in (1, 2, 3):
        run.step()
        assert run.rounds_done == done
    with pytest.raises(ValueError, match="broken"):
        run.step()


def test_a_turn_has_as_many_rounds_as_fill_it():
    setting = driver.Setting(turn_s=1.0, most_rounds=50)
    assert [driver.rounds_for(s, setting) for s in (5.0, 0.3, 1e-9)] == [1, 4, 50]


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
    assert tiny["skipped"] == {"blazefl": "needs Python 3.14"} and tiny["gemm_gflops"] > 1
    assert set(tiny["competitors"]) == set(full["competitors"]) == {"fairfl"}
    for entry, row in ((e, row) for e in (tiny, full) for row in e["competitors"].values()):
        assert len(row["turns"]) == 2 and row["rounds"] >= 2
        assert row["start_s"] > row["seconds"] > 0 and row["peak_mib"] > 50 and 0 < row["share_of_peak"] < 1
        assert row["gflops"] == pytest.approx(entry["flops_per_round"] / row["seconds"] / 1e9)
        assert row["versions"]["torch"] == torch.__version__
    assert full["competitors"]["fairfl"]["ratio"] == {"median": 1.0, "min": 1.0, "max": 1.0}
    assert str(tmp_path) not in json.dumps(document) and str(Path.home()) not in json.dumps(document)
    assert "tiny_full" in report.markdown(document)


@pytest.mark.slow
def test_a_competitor_that_fails_is_skipped_with_the_reason(tmp_path, capfd):
    data.prepare(tmp_path, TINY.shape, 72)
    setting = driver.Setting(warm_up=1, turns=2, turn_s=0.01)
    measured, skipped = driver.interleaved({"x": ("nobody", TINY), "y": ("indexed", TINY)}, tmp_path, setting)
    assert list(measured) == ["y"] and len(measured["y"].turns) == 2 and "nobody" in skipped["x"]
    assert "Traceback" in capfd.readouterr().err


# -- report ----------------------------------------------------------------------------------------
def document_of(ratio=2.0, share=0.5, **changes):
    """A made-up run of one workload: fairfl takes 0.1 s, the product's rate is such that fairfl has `share` of it."""
    fairfl = driver.Measured([[0.1, 0.1], [0.2, 0.2]], 1.5, {"peak_mib": 300.0}, {"torch": "2.0"})
    rival = driver.Measured(
        [[0.1 * ratio] * 2, [0.2 * ratio] * 2], 2.5, {"peak_mib": 400.0, "gpu_mib": 50.0}, {"torch": "2.0"}
    )
    product = gemm_flops("cpu") / MLP_B64.flops * 0.1 * share
    measured = {
        "fairfl": fairfl,
        "indexed": rival,
        "gemm-mm": driver.Measured([[2 * product], [2 * product]]),
        "gemm-onednn": driver.Measured([[product], [4 * product]]),
        "products": driver.Measured([[0.08], [0.16]], versions={"784-200 forward": "mm", "torch": "2.0"}),
    }
    entry = report.rows(MLP_B64, measured, {"pfl": "no network"}, "cpu")
    return {
        "date": "2026-01-01",
        "fairfl": "0.1.0",
        "machine": {"name": "A CPU", "cores": 2, "memory_gib": 8, "torch": "2.0", "python": "3.11", "system": "Linux"},
        "protocol": {"turns": 2, "turn_s": 1.0, "warm_up": 2, "pinned": True, "threads": 1},
        "data": {"60000x1x28x28": "generated pixels"},
        "workloads": {"mlp_b64": entry},
        **changes,
    }


def test_ratio_and_share_are_taken_turn_by_turn():
    # The machine is half as fast in the second turn; neither number may see it.
    row = document_of(ratio=3.0, share=0.25)["workloads"]["mlp_b64"]["competitors"]
    assert row["indexed"]["ratio"] == pytest.approx({"median": 3.0, "min": 3.0, "max": 3.0})
    assert row["fairfl"]["share_of_peak"] == pytest.approx(0.25)
    assert row["indexed"]["share_of_peak"] == pytest.approx(0.25 / 3)
    assert row["fairfl"]["seconds"] == pytest.approx(0.15)
    assert row["fairfl"]["samples_per_s"] == pytest.approx(6000 / 0.15)
    assert row["fairfl"]["share_of_products"] == pytest.approx(0.8)
    assert row["indexed"]["share_of_products"] == pytest.approx(0.8 / 3)


def test_the_yardstick_is_the_better_product_of_each_turn():
    entry = document_of(share=0.25)["workloads"]["mlp_b64"]
    peak = MLP_B64.flops / 0.1 / 0.25 / 1e9
    assert entry["gemm"] == pytest.approx({"mm": peak / 2, "onednn": peak / 2.5})
    assert entry["gemm_gflops"] == pytest.approx((peak + peak / 2) / 2)
    assert set(entry["competitors"]) == {"fairfl", "indexed"}
    bare = report.rows(MLP_B64, {"fairfl": driver.Measured([[0.1]])}, {}, "cpu")
    assert bare["gemm_gflops"] is None and "share_of_peak" not in bare["competitors"]["fairfl"]


def test_table_and_plot_show_everything(tmp_path):
    points = [
        {"x": 1, "seconds": 0.1, "rounds_per_s": 10.0, "gflops": 5.0, "peak_mib": 100.0},
        {"x": 2, "skipped": "why"},
    ]
    document = document_of(
        agreement={"indexed": 1e-7, "dataloader": 0.5, "pfl": "no network"},
        scaling={"width": {"title": "units", "points": points, "hundredfold": {"seconds": 1.1, "peak_mib": 1.02}}},
        starts={"plain_cpu_s": 2.0},
    )
    text = report.markdown(document)
    assert "| plain loop, indexed tensors | 0.3 | 3.33 |" in text and "2.00 .. 2.00" in text
    assert "pfl-research (torch): skipped, no network" in text
    assert "plain loop, DataLoader: 5.0e-01 **DIFFERS**" in text and "indexed tensors: 1.0e-07\n" in text
    assert "| 400 + 50 |" in text and "| 300 |" in text
    assert "100: 1.10 x time, 1.02 x memory" in text
    assert "2: skipped, why" in text and "plain_cpu_s: 2.0" in text
    assert "the products alone take 0.12 s" in text and "784-200 forward by mm." in text and "| 80% |" in text
    assert "torch.mm " in text and "oneDNN " in text
    report.plot(document, tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks/results").glob("*.json")), ids=lambda path: path.stem)
def test_committed_tables_are_those_of_the_committed_numbers(path):
    document = json.loads(path.read_text())
    assert report.markdown(document) == path.with_suffix(".md").read_text()
    assert document["machine"]["kind"] and document["machine"]["instruction_sets"]


def test_series_hold_the_work_that_their_titles_say():
    points = scaling.SERIES
    assert all(w.clients * w.samples <= scaling.ROWS for _, series in points.values() for w in series.values())
    assert {w.flops for w in points["all_clients_fixed_work"][1].values()} == {scaling.SMALL.flops}
    assert {w.clients * w.samples for w in points["all_clients_fixed_data"][1].values()} == {scaling.ROWS}
    assert max(points["sampled_clients"][1]) == points["sampled_clients"][1][200].clients == 200


# -- regression check ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fresh", "tolerance", "passes"),
    [
        (document_of(), 0.7, True),
        (document_of(ratio=1.5, share=0.4), 0.7, True),
        (document_of(ratio=1.3), 0.7, False),
        (document_of(share=0.3), 0.7, False),
        (document_of(ratio=1.3), 0.6, True),
        (document_of(ratio=4.0, share=0.9), 0.7, True),
    ],
)
def test_check_fails_only_below_the_tolerance(fresh, tolerance, passes):
    lines = check.compared(fresh, document_of(), tolerance)
    assert len(lines) == 2 and all(passed for passed, _ in lines) == passes


def test_check_fails_where_a_rival_is_quicker_whatever_was_committed():
    old = document_of(ratio=1.1)
    lines = check.compared(document_of(ratio=0.95), old, 0.7)
    assert [passed for passed, _ in lines] == [False, True] and lines[0][1].startswith("SLOW mlp_b64")
    assert [passed for passed, _ in check.compared(document_of(ratio=1.05), old, 0.7)] == [True, True]


def test_shares_of_another_yardstick_are_not_compared():
    old = document_of(share=0.9)
    assert [passed for passed, _ in check.compared(document_of(), old, 0.7)] == [True, False]
    del old["workloads"]["mlp_b64"]["gemm"]
    assert [passed for passed, _ in check.compared(document_of(), old, 0.7)] == [True]


def test_the_newest_results_of_a_kind_count(tmp_path):
    for name, kind, date in (("a", "x", "2026-01-01"), ("b", "x", "2026-02-01"), ("c", "y", "2026-03-01")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"machine": {"kind": kind}, "date": date}))
    assert check.committed_for("x", tmp_path).stem == "b" and check.committed_for("y", tmp_path).stem == "c"


def test_check_fails_if_the_rival_is_gone():
    fresh = document_of()
    del fresh["workloads"]["mlp_b64"]["competitors"]["indexed"]
    assert [passed for passed, _ in check.compared(fresh, document_of(), 0.7)] == [False, True]


def test_check_ends_with_its_verdict(tmp_path, monkeypatch, capsys):
    base = document_of()
    base["machine"]["kind"] = "this kind"
    (tmp_path / "base.json").write_text(json.dumps(base))
    fresh = document_of(ratio=1.0)

    class Made:
        def __init__(self, *args, **options):
            assert options["yardsticks"] == ("gemm-mm", "gemm-onednn")  # the roofline takes too long
            self.document = fresh

        def workloads(self, chosen):
            assert {w.name for w in chosen} == set(check.WORKLOADS)

    monkeypatch.setattr("benchmarks.bench.Bench", Made)
    options = ["check", "--results", str(tmp_path)]
    monkeypatch.setattr(bench, "machine", lambda device: {"kind": "this kind"})
    assert command.main([*options, "--tolerance", "0.4"]) == 0
    monkeypatch.setattr(bench, "machine", lambda device: {"kind": "new kind"})
    assert command.main([*options]) == 2
    said = capsys.readouterr().err
    assert "no committed results of a 'new kind'" in said and "there are: base (this kind)" in said
    options = [*options, "--against"]
    assert command.main([*options, "base"]) == 1
    assert "SLOW mlp_b64: indexed s / fairfl s 1, committed 2" in capsys.readouterr().out
    assert command.main([*options, "base", "--tolerance", "0.4"]) == 0
    assert command.main([*options, "other"]) == 2
    assert "there are: base" in capsys.readouterr().err


# -- rules of a kind of CPU ------------------------------------------------------------------------
@pytest.fixture
def timed(monkeypatch):
    """A search over two cases; `speed(rules)` stands in for the clock."""
    trained = tune.Rounds.seconds

    def search(speed, moves, start=tune.Tuning()):  # noqa: B008 - frozen
        monkeypatch.setattr(tune, "tuning", lambda: start)
        monkeypatch.setattr(tune, "pinned_core", lambda device: None)
        monkeypatch.setattr(torch, "set_num_threads", lambda threads: None)
        monkeypatch.setattr(tune.Rounds, "seconds", lambda self, rounds: trained(self, 1) and speed(self.rules))
        return tune.Search(turns=3, cases=[TINY.at(per_round=6), TINY.at(batch=None)], moves=moves)

    return search


NEVER, ALWAYS = tune.math.inf, 0.0


def test_the_search_takes_what_is_faster_and_leaves_the_rest(timed):
    moves = [[{"alone_from": ALWAYS}, {"alone_from": NEVER}], [{"onednn_from": ALWAYS}, {"onednn_from": NEVER}]]
    search = timed(lambda rules: 0.5 + 0.5 * (rules.alone_from == NEVER) + 0.1 * (rules.onednn_from == 0), moves)
    assert search.found() == tune.Tuning(alone_from=ALWAYS)


def test_a_rule_that_hardly_pays_does_not_move_results(timed):
    moves = [[{"alone_from": ALWAYS}]]
    assert timed(lambda rules: 0.98 if rules.alone_from == 0 else 1.0, moves).found() == tune.Tuning()
    assert timed(lambda rules: 0.96 if rules.alone_from == 0 else 1.0, moves).found().alone_from == 0


def test_two_thresholds_that_pay_only_together_are_found(timed):
    def speed(rules):
        return 0.5 if rules.alone_from == rules.onednn_from == 0 else 1.0 + 0.1 * (rules.alone_from == 0)

    moves = [[{"onednn_from": ALWAYS}], [{"alone_from": ALWAYS}], [{"onednn_from": ALWAYS, "alone_from": ALWAYS}]]
    assert timed(speed, moves).found() == tune.Tuning(onednn_from=ALWAYS, alone_from=ALWAYS)


def test_rules_of_which_the_engine_makes_the_same_share_a_time():
    case = TINY.at(per_round=6)
    part = tune.samples(case)
    made = [tune.Rounds(case, part, tune.Tuning(alone_from=value)).made for value in (0, 1, 10**9, NEVER)]
    assert made[0] == made[1] != made[2] == made[3]
    ratios = tune.Search(turns=1)._ratios(case, tune.Tuning(), [tune.Tuning(alone_from=10**9), tune.Tuning()])
    assert ratios == [1.0, 1.0]


def test_a_real_search_over_tiny_rounds(monkeypatch, capsys):
    monkeypatch.setattr(tune, "TURN_S", 0.0)
    monkeypatch.setattr(tune, "pinned_core", lambda device: None)
    before = tune.tuning()
    rules = tune.Search(turns=1, cases=[TINY.at(per_round=6)], moves=[[{"stack_bytes": 1.0}, {"stack_bytes": 2.0}]])
    assert isinstance(rules.found(), tune.Tuning) and "of the time" in capsys.readouterr().err
    assert tune.tuning() == before and tune.stacked.tuning is tune.tuning


def test_rules_are_written_beside_those_of_other_kinds(tmp_path, capsys):
    path = tmp_path / "rules.json"
    other = {"OtherCPU AVX9": {"stack_bytes": 5, "measured": "once"}}
    path.write_text(json.dumps(other))
    tune.write(tune.Tuning(onednn_from=8.0, stack_bytes=2.0**20), path)
    written = json.loads(path.read_text())
    measured = written[tune.kind()].pop("measured")
    assert written == other | {tune.kind(): {"onednn_from": 8, "stack_bytes": 2**20}}
    assert tune.cpu_name() in measured and torch.__version__.partition("+")[0] in measured and "20" in measured[:4]
    before = path.read_bytes()
    tune.write(tune.Tuning(onednn_from=8.0, stack_bytes=2.0**20), path)  # the date alone is no reason to write
    assert path.read_bytes() == before and "stay as they are" in capsys.readouterr().err


def test_tuning_is_for_cpus_and_only_on_demand(monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(tune.Search, "found", lambda self: ran.append(self.turns) or tune.Tuning())
    monkeypatch.setattr(tune, "write", lambda rules, path: ran.append(path))
    assert command.main(["run", "--tune", "--turns", "2"]) == 0 and ran == [2, tune.FILE]
    assert command.main(["run", "--tune", "--device", "cuda"]) == 2 and "--tune" in capsys.readouterr().err


def test_all_cases_of_the_search_are_what_rounds_have():
    cases = tune.Search().cases
    assert len({case.name for case in cases}) == len(cases) == 25
    assert {case.batch for case in cases} == {10, 32, 64, 128, None}


# -- the command -----------------------------------------------------------------------------------
def test_names_that_do_not_exist_are_refused(capsys):
    assert command.main(["run", "--workloads", "mlp_b65"]) == 2
    assert "no mlp_b65; there are mlp_b64" in capsys.readouterr().err


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.setattr(command, "NEEDED", ("numpy", "no_such_package"))
    assert command.main(["run"]) == 2
    assert "missing: no_such_package" in capsys.readouterr().err


def test_other_parts_stay_if_the_machine_is_the_same(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document_of(scaling={"old": 1})))
    fresh = document_of()
    del fresh["workloads"]
    command.keep_other_parts(fresh, path)
    assert fresh["scaling"] == {"old": 1} and "mlp_b64" in fresh["workloads"]
    other = document_of(machine={"name": "another"})
    command.keep_other_parts(other, path)
    assert "scaling" not in other


def test_file_name_of_a_machine():
    assert slug("Intel(R) Xeon(R) Platinum 8488C @ 2.4GHz") == "intel-r-xeon-r-platinum-8488c-2-4ghz"
