"""No wrong number passes and no good result is lost: edits during a run, jobs that fail, damage of equal size."""

import json
import os
import re
import shutil
from collections.abc import Callable

import pytest

from fairfl.runtime import records
from tests.workflow.faults import Workflow, befall, start
from tests.workflow.small_project import Project

pytestmark = [pytest.mark.long, pytest.mark.workflow, pytest.mark.xdist_group("trust")]

AFL = "src/fairfl/algorithms/afl.py"
BACK = "kept results that are back without a run: "
SYNTHETIC = "eagle_synthetic_gaussian"
RUN = f"results/tiny/runs/{SYNTHETIC}/afl/default/seed0"
TIDY = f"results/tiny/tidy/{SYNTHETIC}.csv"
TABLE = "results/tiny/eagle/table3.csv"
ORDERS = "results/tiny/.jobs"  # is there once Snakemake has planned and before jobs start


def ran(text: str) -> str:
    """What a call says it is to do."""
    return "; ".join(re.findall("^to do: (.*)$", text, re.M))


def call(project: Project, *config: str, check: bool = True) -> str:
    return project.snakemake(config=config, check=check).stdout


def numbers(project: Project) -> dict[str, bytes]:
    """All CSVs but those that are kept; a kept file has no suffix."""
    return project.results(".csv")


def while_it_runs(project: Project, act: Callable[[], None], *config: str) -> tuple[int, str]:
    """Do something when all is planned and no job has begun; exit code and words of the call."""
    with start(project, config=config) as workflow:
        assert workflow.wait_for((project.folder / ORDERS).exists, pause=0.001), workflow.said()
        act()
        return finish(workflow)


def finish(workflow: Workflow) -> tuple[int, str]:
    assert workflow.ended(), workflow.said()
    return workflow.process.returncode, workflow.said()


def test_a_job_that_fails_leaves_what_it_was_to_replace(project):
    before = numbers(project)
    text = (project.folder / AFL).read_text()
    project.edit(AFL, "class Config", "raise RuntimeError('why')\n\n\nclass Config")
    call(project, check=False)
    assert numbers(project) == before and (project.folder / RUN / "metrics.parquet").exists()
    project.write(AFL, text)
    at = text.rindex("        return ")
    project.write(AFL, text[:at] + "        raise RuntimeError('why')\n" + text[at:])
    assert project.snakemake(check=False).returncode == 1
    assert numbers(project) == before and (project.folder / RUN / "metrics.parquet").exists()
    project.write(AFL, text)
    assert "Nothing to be done" in call(project)


def test_a_table_that_fails_leaves_the_page_of_all_others(project):
    """And the page says why; once it is mended the next call makes both."""
    path = "src/fairfl/reporting/tables/table.py"
    text = (project.folder / path).read_text()
    begins = "    inputs, artifact = Inputs(spec), spec.artifact\n"
    project.edit(path, begins, f"    raise FairflError('no such € letter')\n{begins}")
    project.edit(path, "from fairfl.runtime", "from fairfl.runtime.errors import FairflError\nfrom fairfl.runtime")
    assert project.snakemake(check=False).returncode == 1
    page = (project.folder / "results/tiny/index.html").read_text()
    assert "Failed: no such € letter" in page and "eagle/figure2.png" in page
    project.write(path, text)
    call(project)
    assert "Failed: " not in (project.folder / "results/tiny/index.html").read_text()


def test_an_edit_that_is_taken_back_trains_nothing(project):
    """But for what is damaged of the results that were kept, and where none are."""
    before, text = numbers(project), (project.folder / AFL).read_text()
    project.append(AFL)
    assert "2 trainings" in ran(call(project))
    project.write(AFL, text)
    said = call(project)
    assert BACK in said and not ran(said)
    assert numbers(project) == before and "Nothing to be done" in call(project)
    project.append(AFL)
    said = call(project)
    assert BACK in said and not ran(said)  # and there again
    project.write(AFL, text)
    for path in project.folder.glob(f"results/tiny/kept/train/{SYNTHETIC}/afl/default/seed0/*/0"):
        befall(project.folder, ("flip", path.relative_to(project.folder), 0.5))
    assert "1 training" in ran(call(project)) and numbers(project) == before
    project.append(AFL)
    call(project)
    project.write(AFL, text)
    for folder in project.folder.glob("results/*/kept"):
        shutil.rmtree(folder)
    assert "2 trainings" in ran(call(project, "superseded_results_limit=0"))
    assert numbers(project) == before and not list(project.folder.glob("results/*/kept"))


def test_damage_of_equal_size_is_repaired_by_the_same_command(project):
    before = numbers(project)
    index = project.folder / "results/tiny/index.html"
    damaged = [TIDY, f"{RUN}/metrics.parquet", f"results/tiny/partitions/{SYNTHETIC}/seed0.parquet",
               "results/data/digits.safetensors", "results/tiny/comparison.csv", "results/tiny/index.html",
               "results/tiny/eagle/figure2.png"]  # fmt: skip
    for path in damaged:
        befall(project.folder, ("flip", path, 0.5))
    (project.folder / TABLE).unlink()
    verified = project.fairfl("verify", code=1)
    assert "8 damaged" in verified
    assert all(f"damaged: {os.path.dirname(path)}: {os.path.basename(path)}" in verified for path in damaged)
    said = call(project)
    assert said.count("set aside") == len(damaged)
    assert numbers(project) == before and index.exists() and "Nothing to be done" in call(project)
    assert f"`fairfl clear --yes` deletes these {len(damaged)} files" in project.fairfl("clear", code=1)
    assert f"{len(damaged)} files deleted" in project.fairfl("clear", "--yes")
    assert " 0 damaged, 0 foreign, 0 orphaned" in project.fairfl("verify")


@pytest.mark.parametrize("read", [True, False])
def test_what_is_damaged_after_the_plan_fails_the_call_and_the_same_one_repairs_it(project, read):
    """By the job that reads it; what no job reads, at the end."""
    before = numbers(project)
    record = json.loads((project.folder / "results/tiny/records/figure/eagle/figure3.json").read_text())
    tidy = {path.replace("/records/collect/", "/tidy/").replace(".json", ".csv") for path in record["inputs"]}
    path = next(name for name in sorted(before) if "/tidy/" in name and (name in tidy) == read)
    (project.folder / "results/tiny/eagle/figure3.csv").unlink()
    code, said = while_it_runs(project, lambda: befall(project.folder, ("flip", path, 0.5)))
    assert code == 1, said
    assert f"{os.path.basename(path)} is {'missing' if read else 'damaged'}" in said and "run again" in said
    call(project)
    assert numbers(project) == before and (project.folder / f"{path}{records.DAMAGED}").exists()


def test_a_repair_that_comes_out_different_fails_with_one_line_and_the_next_call_runs_its_readers(project):
    before = numbers(project)
    job, reader = (
        project.folder / f"results/tiny/records/{name}.json" for name in (f"train/{RUN[18:]}", f"collect/{SYNTHETIC}")
    )
    record, read = json.loads(job.read_text()), json.loads(reader.read_text())
    record["outputs"][f"{RUN}/metrics.parquet"][1:] = ["f" * 16, "f" * 32]  # as if it had come out otherwise then
    read["inputs"][f"results/tiny/records/train/{RUN[18:]}.json"][1] = records.results_hash(record)
    job.write_text(json.dumps(record))
    reader.write_text(json.dumps(read))
    (project.folder / RUN / "metrics.parquet").unlink()
    done = project.snakemake(check=False)
    (line,) = [line for line in done.stdout.splitlines() if "run again" in line]
    assert done.returncode == 1 and "collect" in line and "has come out different" in line
    call(project)
    assert numbers(project) == before and "Nothing to be done" in call(project)


# Code that jobs import late, what they read beside it, what planning has read, and what the page takes.
MEANWHILE = {
    AFL: "\nraise RuntimeError('edited')\n",
    "papers/eagle.yaml": "\n# a comment\n",
    "papers/reported/eagle/table1.csv": "\nnonsense\n",
    "scales/tiny.yaml": "\nunknown: 1\n",
    "src/fairfl/reporting/page/page.html.j2": "{{ nonsense",
    "src/fairfl/simulation/backends/cpu_tuning.json": "[",
}


@pytest.mark.parametrize(("warm", "stays"), [("false", True), ("true", False)])
def test_what_is_edited_while_jobs_run_changes_nothing(project, warm, stays):
    before, texts = numbers(project), {name: (project.folder / name).read_text() for name in MEANWHILE}
    page = project.folder / "results/tiny/index.html"
    page.unlink()
    shutil.rmtree(project.folder / "results/tiny/runs")
    with start(project, config=(f"warm_start={warm}",)) as workflow:
        assert workflow.wait_for((project.folder / ORDERS).exists, pause=0.001), workflow.said()
        for name, more in MEANWHILE.items():
            project.write(name, texts[name] + more)
        if not stays:
            workflow.wait_for(page.exists)
            project.undo()
        code, said = finish(workflow)
    assert code == 0 and numbers(project) == before, said
    edits = [line for line in said.splitlines() if line.startswith("edited meanwhile")]
    if stays:
        assert len(edits) == 1 and AFL in edits[0] and "1 more" in edits[0]
        assert project.snakemake("-n", check=False).returncode == 1  # it sees the edits
        project.undo()
    assert bool(edits) == stays
    assert "Nothing to be done" in call(project)
    (copy,) = project.folder.glob("results/tiny/.code/*")
    record = json.loads((project.folder / f"results/tiny/records/train/{RUN[18:]}.json").read_text())
    assert record["snapshot"] == copy.name and (copy / AFL).read_text() == texts[AFL]
