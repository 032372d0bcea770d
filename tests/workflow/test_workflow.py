"""The real Snakefile on a small selection: outputs, no-op, equal bytes, re-run precision, bad input."""

import json
import os

import pytest
from small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

RUNS = "tiny/logs/runs/eagle_emnist_linear_a0.1"
EAGLE = {f"{RUNS}/eagle/lambda={value}/seed0.log" for value in ("0.1", "1.0", "2.0", "3.0", "5.0")}
SYNTHETIC = "tiny/logs/runs/eagle_synthetic_gaussian"


def below(planned: set[str], *parts: str) -> set[str]:
    return {name for name in planned if any(part in name for part in parts)}


def test_everything_is_there(finished):
    results = finished.folder / "results" / "tiny"
    expected = ["comparison.csv", "claims.csv", "index.html"]
    expected += [f"eagle/{name}" for name in ("table1.csv", "table1.md", "table1.tex", "table3.md")]
    expected += [f"eagle/figure{n}.{suffix}" for n in (2, 3) for suffix in ("csv", "pdf", "png")]
    for name in expected:
        assert (results / name).stat().st_size > 0, name
    assert "stand-in for emnist" in (results / "eagle" / "table1.csv").read_text()


def test_a_summary_traces_a_number_to_code_and_spec(finished):
    path = finished.folder / "results/tiny/runs/eagle_emnist_linear_a0.1/eagle/lambda=1.0/seed0/summary.json"
    summary = json.loads(path.read_text())
    assert summary["spec"]["hyperparameters"]["lambda"] == 1.0
    assert "fairfl.algorithms.eagle" in summary["spec"]["code"]
    assert summary["versions"]["torch"] and summary["device"] == "cpu" and summary["peak_memory_mib"] > 0


def test_same_command_again_runs_nothing(finished):
    assert "Nothing to be done" in finished.snakemake("--dry-run").stdout


def test_another_clone_gives_the_same_bytes(finished, root, tmp_path):
    other = Project(root, tmp_path)
    other.snakemake()
    first, second = finished.csv(), other.csv()
    assert first.keys() == second.keys() and len(first) > 10
    assert [name for name in first if first[name] != second[name]] == []


def test_editing_an_algorithm_runs_its_arms_and_what_depends_on_them(project):
    project.edit("src/fairfl/algorithms/eagle.py", "1e-12", "1e-11")
    planned = project.planned()
    assert below(planned, "/runs/") == EAGLE | {f"{SYNTHETIC}/eagle/lambda=2.0/seed0.log"}
    assert below(planned, "/partitions/", "/optima/", "data/") == set()
    assert below(planned, "table1", "figure3", "comparison", "page") != set()
    assert below(planned, "table3") == set()


def test_editing_a_model_runs_its_settings(project):
    project.edit("src/fairfl/models/mlp.py", "layers[:-1]", "layers[0:-1]")
    assert project.planned() == set()
    project.edit("src/fairfl/models/logistic_regression.py", "nn.Flatten(), dense", "nn.Flatten(1), dense")
    planned = project.planned()
    assert len(below(planned, "/runs/")) == 14
    assert below(planned, "/partitions/") == set()


def test_editing_a_plot_draws_that_figure_only(project):
    path = project.folder / "src/fairfl/artifacts/plots/optima_range.py"
    path.write_text(path.read_text() + "\nEXTRA = 1\n")
    assert below(project.planned(), "/runs/", "figure3", "table1", "tidy") == set()
    assert below(project.planned(), "figure2") != set()


def test_comment_touch_and_format_run_nothing(project):
    for name in ("algorithms/eagle.py", "engine/rounds.py", "partition/cut.py", "artifacts/table.py"):
        path = project.folder / "src/fairfl" / name
        path.write_text("# a comment\n" + path.read_text().replace("\n\n\n", "\n\n\n\n"))
        os.utime(path)
    assert project.planned() == set()


def test_one_hyperparameter_runs_that_arm(project):
    project.edit("papers/eagle.yaml", "hyperparameters: {q: 3.0}", "hyperparameters: {q: 4.0}")
    assert below(project.planned(), "/runs/") == {f"{RUNS}/qffl/q=4.0/seed0.log"}


def test_a_default_of_one_algorithm_runs_its_arms(project):
    project.edit("papers/eagle.yaml", "defaults: {eta_lambda: 0.1", "defaults: {eta_lambda: 0.2")
    planned = below(project.planned(), "/runs/")
    assert planned == {f"{RUNS}/afl/default/seed0.log", f"{SYNTHETIC}/afl/default/seed0.log"}


def test_another_seed_runs_the_new_runs_only(project):
    planned = project.planned("seeds=0,1")
    assert below(planned, "/runs/") and all("seed1" in name for name in below(planned, "/runs/", "/optima/"))


def test_a_claim_changes_claims_and_page_only(project):
    project.edit("papers/eagle.yaml", "the worst-off client is served best by EAGLE", "another wording")
    assert below(project.planned(), "/runs/", "/tidy/", "table1.", "figure", "/optima/") == set()
    assert below(project.planned(), "claims") != set()


def test_plan_says_why_in_words(project):
    project.edit("src/fairfl/algorithms/qffl.py", "1e-10, gt=0", "1e-9, gt=0")
    project.edit("papers/eagle.yaml", "defaults: {eta_lambda: 0.1", "defaults: {eta_lambda: 0.2")
    text = project.snakemake("plan", "--quiet", "all").stdout
    lines = {line.split()[1]: line for line in text.splitlines() if line.startswith(("run ", "keep"))}
    assert len(lines) == 14
    prefix = "eagle_emnist_linear_a0.1"
    assert lines[f"{prefix}/fedavg/default/seed0"].endswith("up to date")
    assert "edited fairfl.algorithms.qffl" in lines[f"{prefix}/qffl/q=1.0/seed0"]
    assert "hyperparameters.eta_lambda: 0.1 -> 0.2" in lines[f"{prefix}/afl/default/seed0"]
    assert "6 of 14 runs would run at scale tiny" in text
    (project.folder / f"results/tiny/runs/{prefix}/fedavg/default/seed0/summary.json").unlink()
    assert "never finished" in project.snakemake("plan", "--quiet", "all").stdout


def test_bad_config_stops_before_any_job(project):
    done = project.snakemake(config=("scale=tinny",), check=False)
    assert done.returncode != 0
    assert "scale: no scale 'tinny'; did you mean 'tiny'?" in done.stdout
    assert "Traceback" not in done.stdout


def test_missing_raw_data_is_one_clear_sentence(project):
    done = project.snakemake(
        "results/data/mnist.safetensors", config=("scale=small", "artifacts=eagle_table1", "mirrors=nowhere",
        "offline=true"), check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "config.yaml" in done.stdout and "train-images-idx3-ubyte.gz" in done.stdout
    assert "Traceback" not in done.stdout
    assert not (project.folder / "results/data/mnist.safetensors").exists()


def test_a_single_artifact_is_a_target(finished):
    text = finished.snakemake("--dry-run", "--forceall", "eagle_table3").stdout
    assert "rule table" in text and "rule train" not in text


def test_calibration_compares_a_grid_of_fedavg_runs_only(project):
    project.edit("papers/eagle.yaml", "samples: [10000, 20000, 50000]", "samples: [60, 90]")
    project.edit("papers/eagle.yaml", "learning_rate: [0.1, 0.3, 1.0]", "learning_rate: [0.1]")
    text = project.snakemake("calibrate").stdout
    assert "algorithm=eagle," not in text and "algorithm=qffl" not in text
    table = (project.folder / "results/tiny/eagle/calibration_emnist_size.csv").read_text().splitlines()
    assert len(table) == 3 and table[0].startswith("learning_rate,samples,accuracy_balanced,")
    assert "digits (stand-in for emnist)" in table[1]
    report = (project.folder / "results/tiny/eagle/calibration_emnist_size.md").read_text()
    assert "on fedavg" in report and "nearest to the reported numbers: learning_rate = 0.1, samples = " in report


def test_report_is_a_target(finished):
    assert "Nothing to be done" in finished.snakemake("report", "--dry-run").stdout
