"""The record in the real Snakefile: taken, read, restricted to, refused."""

import csv
import re
import shutil

import pytest

from fairfl.runtime.errors import FairflError
from fairfl.workflow import record
from tests.workflow.graphs import printed_plan
from tests.workflow.small_project import LINES, TINY, Project, jobs_in

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("record")]

SELECTION = ("scale=full", "papers=eagle", "artifacts=eagle_table1,eagle_figure3,eagle_table3")


@pytest.fixture(scope="module")
def recorded(root, tmp_path_factory) -> Project:
    """FedAvg alone, trained and recorded; the scale is called full, but tiny."""
    project = Project(root, tmp_path_factory.mktemp("recorded"), selection=SELECTION)
    (project.folder / "scales" / "full.yaml").write_text(TINY.replace("scale: tiny", "scale: full"))
    project.snakemake(config=("algorithms=fedavg",))
    said = project.snakemake("record", config=("algorithms=fedavg",)).stdout
    assert " taken" in said
    return project


@pytest.fixture()
def fresh(recorded, tmp_path) -> Project:
    """A clone: the record, and no other result."""
    project = recorded.copy(tmp_path / "clone")
    shutil.rmtree(project.folder / "results/full")
    shutil.rmtree(project.folder / "results/data")
    shutil.rmtree(project.folder / ".snakemake")
    return project


def rules_of(text: str) -> list[str]:
    return sorted({job.rule for job in jobs_in(text).values()})


def test_a_clone_reads_what_is_stored_and_trains_nothing(recorded, fresh):
    done = fresh.snakemake(config=("algorithms=fedavg",), **LINES)
    assert {"train", "local_optimum", "fetch"}.isdisjoint(rules_of(done.stdout))
    assert not any((fresh.folder / "results/full" / folder).exists() for folder in ("runs", "optima"))
    ours = fresh.results(".csv")
    assert len(ours) > 5
    for name, content in recorded.results(".csv").items():
        if not name.startswith("results/recorded/"):
            assert ours.get(name, content) == content, name
    for table in recorded.folder.glob("results/full/tidy/*.parquet"):
        assert table.read_bytes() == (fresh.folder / "results/full/tidy" / table.name).read_bytes()
    # Then nothing is left to do, and nothing of it is taken in again.
    assert not fresh.jobs(config=["algorithms=fedavg"])
    fresh.snakemake("plan", config=("algorithms=fedavg",))
    plan = (fresh.folder / "results/full/plan.txt").read_text()
    assert "keep  train/eagle_synthetic_gaussian/fedavg/default/seed0  is stored" in plan
    assert "stored before" not in fresh.snakemake("record", config=("algorithms=fedavg",)).stdout
    assert "0 damaged, 0 foreign, 0 orphaned" in fresh.fairfl("verify")
    # A file of a stored result is asked for by name: it is in no file, and nothing trains it unasked.
    metrics = "results/full/runs/eagle_synthetic_gaussian/fedavg/default/seed0/metrics.parquet"
    refused = fresh.snakemake(metrics, config=("algorithms=fedavg",), check=False)
    assert refused.returncode and f"{metrics}: is among the stored results, and in no file" in refused.stdout


def test_an_edit_trains_a_stored_run_and_taken_back_nothing(recorded, fresh):
    """Also where the result of the edit lies where that of the run would."""
    config, run = ("algorithms=fedavg",), "train/eagle_synthetic_gaussian/fedavg/default/seed0"
    scale = (fresh.folder / "scales/full.yaml").read_text()
    fresh.snakemake(config=config)
    before = fresh.results(".csv")
    rounds = re.search(r"rounds: (\d+)", scale)
    fresh.write("scales/full.yaml", scale.replace(rounds[0], f"rounds: {int(rounds[1]) + 1}", 1))
    assert run in jobs_in(fresh.snakemake(config=config, **LINES).stdout) and fresh.results(".csv") != before
    fresh.write("scales/full.yaml", scale)
    assert "train" not in rules_of(fresh.snakemake(config=config, **LINES).stdout)
    after = fresh.results(".csv")
    assert {name: after.get(name) for name in before} == before and not fresh.jobs(config=config)
    # What is trained here stands, an edit of its code trains it again.
    fresh.snakemake(config=(*config, "recorded=ignore"))
    assert not fresh.jobs(config=config)
    fresh.edit("src/fairfl/algorithms/fedavg.py", "class FedAvg", "OTHER = 1\n\n\nclass FedAvg")
    assert run in jobs_in(fresh.snakemake("--dry-run", config=config, **LINES).stdout)


def test_a_training_reads_stored_optima_and_is_stored_in_turn(fresh):
    """EAGLE's, which takes them while it trains."""
    config = ("algorithms=fedavg,eagle", "artifacts=eagle_table1")
    done = rules_of(fresh.snakemake(config=config, **LINES).stdout)
    assert "train" in done and "local_optimum" not in done
    assert list((fresh.folder / "results/full/runs").glob("*/eagle/*/seed0/summary.json"))
    assert re.search(r"\d+ taken", fresh.snakemake("record", config=config).stdout)


def test_the_rest_is_trained(fresh):
    jobs = jobs_in(fresh.snakemake("--dry-run", **LINES).stdout).values()
    trained = {job.name for job in jobs if job.rule == "train"}
    assert trained and not any("/fedavg/" in name for name in trained)


def test_a_dry_run_names_the_jobs_of_the_plan(fresh, capsys):
    """None of them is of a stored result."""
    table = re.compile(r"^ +([\d,]+) [a-z' -]+  .*$", re.M)
    dry = fresh.snakemake("--dry-run").stdout
    planned = printed_plan(fresh.folder, capsys, scale="full")
    lines = [found[0] for found in table.finditer(dry)]
    assert lines and lines == [found[0] for found in table.finditer(planned)][: len(lines)]
    assert re.search(r"trainings  never finished$", dry, re.M)
    head = re.compile(r"^(\d+) jobs would run at scale full:$", re.M)
    assert head.search(dry)[1] == head.search(planned)[1] == str(sum(int(n) for n in table.findall(dry)))


def test_from_the_record_alone_everything_is_built(fresh):
    done = fresh.snakemake("eagle_table1", "results/full/comparison.csv", config=("recorded=only",), **LINES)
    assert {"train", "local_optimum", "fetch"}.isdisjoint(rules_of(done.stdout))
    with (fresh.folder / "results/full/eagle/table1.csv").open() as file:
        rows = list(csv.DictReader(file))
    ran = {row["algorithm"] for row in rows if row["mean"] not in ("", "nan")}
    assert "fedavg" in ran and "afl" not in ran and {row["algorithm"] for row in rows} >= {"fedavg"}
    with (fresh.folder / "results/full/comparison.csv").open() as file:
        verdicts = {row["verdict"] for row in csv.DictReader(file) if row["algorithm"] == "afl"}
    assert "not run" in verdicts and verdicts <= {"not run", "not reported"}


def test_other_code_is_said(fresh):
    fresh.edit("src/fairfl/algorithms/fedavg.py", "class FedAvg", "OTHER = 1\n\n\nclass FedAvg")
    tidy = "results/full/tidy/eagle_synthetic_gaussian.csv"
    fresh.snakemake(tidy, config=("algorithms=fedavg",))
    assert "stored with the code of" in (fresh.folder / tidy).read_text()


def test_a_damaged_record_is_refused_by_name(fresh):
    path = fresh.folder / "results/recorded/eagle_synthetic_gaussian/jobs.json"
    text = path.read_text()
    place = text.index('"comm_cost":') + len('"comm_cost":')
    path.write_text(f"{text[:place]}9{text[place:]}")
    failed = fresh.snakemake(config=("algorithms=fedavg",), check=False)
    assert failed.returncode
    assert "results/recorded/eagle_synthetic_gaussian/jobs.json: train/" in failed.stdout
    assert "stored results are damaged" in failed.stdout


def test_only_the_papers_scale_is_recorded(root):
    with pytest.raises(FairflError, match="--config scale=full"):
        record.main(["--config", '{"scale": "quick"}', "--root", str(root)])
