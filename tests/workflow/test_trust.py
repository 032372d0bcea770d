"""No wrong number passes and no good result is lost: edits during a run, jobs that fail, damage of equal size."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairfl.runtime import records
from tests.workflow.faults import Workflow, start
from tests.workflow.small_project import Project

pytestmark = [pytest.mark.long, pytest.mark.workflow, pytest.mark.xdist_group("trust")]

AFL = "src/fairfl/algorithms/afl.py"
RERUN = "src/fairfl/workflow/rerun.py"
BACK = "results are back that were computed before and kept"
SYNTHETIC = "eagle_synthetic_gaussian"
RUN = f"results/tiny/runs/{SYNTHETIC}/afl/default/seed0"
TIDY = f"results/tiny/tidy/{SYNTHETIC}.csv"
TABLE = "results/tiny/eagle/table3.csv"
ORDERS = "results/tiny/.jobs"  # is there once Snakemake has planned and before jobs start


@pytest.fixture
def own(finished, tmp_path) -> Iterator[Project]:
    yield finished.copy(tmp_path / "project")


def ran(text: str) -> str:
    """What a call says it is to do."""
    return "; ".join(re.findall("^to do: (.*)$", text, re.M))


def call(project: Project, *config: str, check: bool = True) -> str:
    return project.snakemake(config=config, check=check).stdout


def numbers(project: Project) -> dict[str, bytes]:
    """All CSVs but those that are kept; a kept file has no suffix."""
    return project.csv()


def flip(path: Path) -> None:
    """Another byte in the middle, the same size and time."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def while_it_runs(project: Project, act: Callable[[], None], *config: str) -> tuple[int, str]:
    """Do something when all is planned and no job has begun; exit code and words of the call."""
    with start(project, config=config) as workflow:
        assert workflow.wait_for((project.folder / ORDERS).exists, pause=0.001), workflow.said()
        act()
        return finish(workflow)


def finish(workflow: Workflow) -> tuple[int, str]:
    assert workflow.ended(), workflow.said()
    return workflow.process.returncode, workflow.said()


def test_a_job_that_fails_leaves_what_it_was_to_replace(own):
    before = numbers(own)
    text = (own.folder / AFL).read_text()
    own.edit(AFL, "class Config", "raise RuntimeError('why')\n\n\nclass Config")
    call(own, check=False)
    assert numbers(own) == before and (own.folder / RUN / "metrics.parquet").exists()
    own.write(AFL, text)
    at = text.rindex("        return ")
    own.write(AFL, text[:at] + "        raise RuntimeError('why')\n" + text[at:])
    assert own.snakemake(check=False).returncode == 1
    assert numbers(own) == before and (own.folder / RUN / "metrics.parquet").exists()
    own.write(AFL, text)
    assert "Nothing to be done" in call(own)


def test_a_table_that_fails_leaves_the_page_of_all_others(own):
    """And the page says why; once it is mended the next call makes both."""
    path = "src/fairfl/reporting/tables/table.py"
    text = (own.folder / path).read_text()
    begins = "    inputs, artifact = Inputs(spec), spec.artifact\n"
    own.edit(path, begins, f"    raise FairflError('no such € letter')\n{begins}")
    own.edit(path, "from fairfl.runtime", "from fairfl.runtime.errors import FairflError\nfrom fairfl.runtime")
    assert own.snakemake(check=False).returncode == 1
    page = (own.folder / "results/tiny/index.html").read_text()
    assert "Failed: no such € letter" in page and "eagle/figure2.png" in page
    own.write(path, text)
    call(own)
    assert "Failed: " not in (own.folder / "results/tiny/index.html").read_text()


def test_an_edit_that_is_taken_back_trains_nothing(own):
    before, text = numbers(own), (own.folder / AFL).read_text()
    own.write(AFL, text.replace("class Config", "_EDIT = 1\n\n\nclass Config", 1))
    assert "2 trainings" in ran(call(own))
    own.write(AFL, text)
    said = call(own)
    assert BACK in said and not ran(said)
    assert numbers(own) == before and "Nothing to be done" in call(own)
    own.write(AFL, text.replace("class Config", "_EDIT = 1\n\n\nclass Config", 1))
    said = call(own)
    assert BACK in said and not ran(said)  # and there again
    own.write(AFL, text)
    for folder in own.folder.glob("results/*/kept"):
        shutil.rmtree(folder)
    assert "2 trainings" in ran(call(own, "superseded_results_limit=0"))
    assert numbers(own) == before and not list(own.folder.glob("results/*/kept"))


def test_a_call_that_fails_while_results_come_back_loses_nothing(own):
    before, text = numbers(own), (own.folder / AFL).read_text()
    own.write(AFL, text.replace("class Config", "_EDIT = 1\n\n\nclass Config", 1))
    call(own)
    own.write(AFL, text)
    rerun, moved = (own.folder / RERUN).read_text(), "            result.move_back(Path(job.record))\n"
    assert moved in rerun
    own.write(RERUN, rerun.replace(moved, f"{moved}            1 / 0\n"))
    assert own.snakemake(check=False).returncode == 1
    own.write(RERUN, rerun)
    said = call(own)
    assert BACK in said and not ran(said)
    assert numbers(own) == before and "Nothing to be done" in call(own)


def test_what_is_kept_and_damaged_is_not_used(own):
    before, text = numbers(own), (own.folder / AFL).read_text()
    own.write(AFL, text.replace("class Config", "_EDIT = 1\n\n\nclass Config", 1))
    call(own)
    own.write(AFL, text)
    for path in own.folder.glob(f"results/tiny/kept/train/{SYNTHETIC}/afl/default/seed0/*/0"):
        flip(path)
    assert "1 training" in ran(call(own)) and numbers(own) == before


def test_damage_of_equal_size_is_repaired_by_the_same_command(own):
    before = numbers(own)
    index = own.folder / "results/tiny/index.html"
    damaged = [TIDY, f"{RUN}/metrics.parquet", f"results/tiny/partitions/{SYNTHETIC}/seed0.parquet",
               "results/data/digits.safetensors", "results/tiny/comparison.csv", "results/tiny/index.html",
               "results/tiny/eagle/figure2.png"]  # fmt: skip
    for path in damaged:
        flip(own.folder / path)
    (own.folder / TABLE).unlink()
    verified = own.fairfl("verify", code=1)
    assert "8 damaged" in verified
    assert all(f"damaged: {os.path.dirname(path)}: {os.path.basename(path)}" in verified for path in damaged)
    said = call(own)
    assert said.count("set aside") == len(damaged)
    assert numbers(own) == before and index.exists() and "Nothing to be done" in call(own)
    assert f"`fairfl clear --yes` deletes these {len(damaged)} files" in own.fairfl("clear", code=1)
    assert f"{len(damaged)} files deleted" in own.fairfl("clear", "--yes")
    assert " 0 damaged, 0 foreign, 0 orphaned" in own.fairfl("verify")


@pytest.mark.parametrize("read", [True, False])
def test_what_is_damaged_after_the_plan_fails_the_call_and_the_same_one_repairs_it(own, read):
    """By the job that reads it; what no job reads, at the end."""
    before = numbers(own)
    record = json.loads((own.folder / "results/tiny/records/figure/eagle/figure3.json").read_text())
    tidy = {path.replace("/records/collect/", "/tidy/").replace(".json", ".csv") for path in record["inputs"]}
    path = next(name for name in sorted(before) if "/tidy/" in name and (name in tidy) == read)
    (own.folder / "results/tiny/eagle/figure3.csv").unlink()
    code, said = while_it_runs(own, lambda: flip(own.folder / path))
    assert code == 1, said
    assert f"{os.path.basename(path)} is {'missing' if read else 'damaged'}" in said and "run again" in said
    call(own)
    assert numbers(own) == before and (own.folder / f"{path}{records.DAMAGED}").exists()


def test_a_repair_that_comes_out_different_fails_with_one_line_and_the_next_call_runs_its_readers(own):
    before = numbers(own)
    job, reader = (
        own.folder / f"results/tiny/records/{name}.json" for name in (f"train/{RUN[18:]}", f"collect/{SYNTHETIC}")
    )
    record, read = json.loads(job.read_text()), json.loads(reader.read_text())
    record["outputs"][f"{RUN}/metrics.parquet"][1:] = ["f" * 16, "f" * 32]  # as if it had come out otherwise then
    read["inputs"][f"results/tiny/records/train/{RUN[18:]}.json"][1] = records.results_hash(record)
    job.write_text(json.dumps(record))
    reader.write_text(json.dumps(read))
    (own.folder / RUN / "metrics.parquet").unlink()
    done = own.snakemake(check=False)
    (line,) = [line for line in done.stdout.splitlines() if "run again" in line]
    assert done.returncode == 1 and "collect" in line and "has come out different" in line
    call(own)
    assert numbers(own) == before and "Nothing to be done" in call(own)


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
def test_what_is_edited_while_jobs_run_changes_nothing(own, warm, stays):
    before, texts = numbers(own), {name: (own.folder / name).read_text() for name in MEANWHILE}
    page = own.folder / "results/tiny/index.html"
    page.unlink()
    shutil.rmtree(own.folder / "results/tiny/runs")
    with start(own, config=(f"warm_start={warm}",)) as workflow:
        assert workflow.wait_for((own.folder / ORDERS).exists, pause=0.001), workflow.said()
        for name, more in MEANWHILE.items():
            own.write(name, texts[name] + more)
        if not stays:
            workflow.wait_for(page.exists)
            own.undo()
        code, said = finish(workflow)
    assert code == 0 and numbers(own) == before, said
    edits = [line for line in said.splitlines() if line.startswith("edited meanwhile")]
    if stays:
        assert len(edits) == 1 and AFL in edits[0] and "1 more" in edits[0]
        assert own.snakemake("-n", check=False).returncode == 1  # it sees the edits
        own.undo()
    assert bool(edits) == stays
    assert "Nothing to be done" in call(own)
    (copy,) = own.folder.glob("results/tiny/.code/*")
    record = json.loads((own.folder / f"results/tiny/records/train/{RUN[18:]}.json").read_text())
    assert record["snapshot"] == copy.name and (copy / AFL).read_text() == texts[AFL]
