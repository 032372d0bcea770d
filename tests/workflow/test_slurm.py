"""A real Slurm of four nodes: the profile works, and whatever ends a job or the workflow, it goes on."""

import contextlib
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflow import slurm, watchful
from tests.workflow.faults import Workflow, processes_in
from tests.workflow.small_project import Project

pytestmark = [
    pytest.mark.long,
    pytest.mark.workflow,
    pytest.mark.xdist_group("slurm"),
    pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing()),
]
pytest.importorskip("snakemake_executor_plugin_slurm", reason="the Slurm plugin is not installed")

SETTING = "eagle_synthetic_gaussian"
TIDY = f"results/tiny/tidy/{SETTING}.csv"
ALGORITHMS = ("fedavg", "afl")
# Trainings of some seconds, so that there is something to disturb.
TINY = """
scale: tiny
description: Smallest thing worth a cluster.
limits: {train: {minutes: 7, memory_mb: 900}}
patches:
  - match: ["eagle_*"]
    set: {rounds: 6000, evaluate_every: 1000, seeds: [0], local_optimum.max_steps: 3}
    why: test
"""
SELECTED = ("scale=tiny", "artifacts=eagle_figure3", f"algorithms={','.join(ALGORITHMS)}", "checkpoint_seconds=0.2")
APART = ("--set-resources", "train:seconds=600")  # each training has a submission to itself


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm.Cluster(tmp_path_factory.getbasetemp()) as running:
        yield running


@pytest.fixture(scope="module")
def local(root, tmp_path_factory) -> Project:
    """The project, run on this machine. Tests must leave it as it is."""
    project = Project(root, tmp_path_factory.mktemp("local"), TINY, SELECTED)
    project.snakemake(TIDY)
    return project


@pytest.fixture
def untrained(local, tmp_path) -> Project:
    """A copy in which no training has run yet."""
    project = local.copy(tmp_path / "project")
    for name in ("runs", "records/train", "logs/train", "tidy", "records/collect"):
        shutil.rmtree(project.folder / "results/tiny" / name)
    return project


class Submitted(Workflow):
    """Snakemake at work on the cluster. As a context it leaves nothing of it running."""

    def __init__(self, cluster: slurm.Cluster, project: Project, *arguments: str) -> None:
        self.cluster, self.project = cluster, project
        self.name = ""  # of its jobs in Slurm
        command = [sys.executable, watchful.__file__, "--workflow-profile", "profiles/slurm"]
        apart = () if "--set-resources" in arguments else APART
        command += [*apart, "--nocolor", "--latency-wait", "5", *arguments, "--config", *project.selection]
        super().__init__(project.folder, command, cluster.environment)

    def __exit__(self, *_: object) -> None:
        self.lives()
        self.process.kill()
        self.process.wait()
        self.cluster.cancel([job["JobId"] for job in self.jobs()])
        self.output.close()

    def lives(self) -> bool:
        """Looks up the name of its jobs, too, which is forgotten when it ends."""
        is_running = self.running()
        if is_running:
            with contextlib.suppress(FileNotFoundError):
                self.name = (self.folder / "results/tiny/.slurm").read_text()
        return is_running

    def says(self, text: str) -> None:
        """Wait for a text."""
        slurm.wait(lambda: text in self.said() or not self.lives(), repr(text))
        assert text in self.said(), self.said()

    @contextlib.contextmanager
    def unseen(self) -> Iterator[None]:
        """What happens to jobs meanwhile, Snakemake sees only afterwards, all at once."""
        asked, blind = (self.project.folder / path for path in (watchful.ASKED, watchful.BLIND))
        asked.touch()
        slurm.wait(blind.exists)
        yield
        blind.unlink()

    def ended(self) -> int:
        """Exit status."""
        slurm.wait(lambda: not self.lives(), f"the end of Snakemake\n{self.cluster.jobs()}")
        return self.process.returncode

    def jobs(self, algorithm: str = "") -> list[dict[str, str]]:
        """Slurm's view of the jobs that this call has submitted; of the trainings of one algorithm only."""
        self.lives()
        found = [job for job in self.cluster.jobs() if self.name and job["JobName"] == self.name]
        return [job for job in found if f"_{algorithm}" in job["StdOut"]]

    def trainings(self, algorithm: str = "") -> list[int]:
        """Processes that train, and only these: not Snakemake or a shell that waits for them."""
        return [
            pid
            for pid, command in processes_in(self.project.folder).items()
            if command[1:4] == ["-P", "-m", "fairfl.jobs.train"]
            and any(f"/{algorithm}" in part for part in command[4:])
        ]

    def paused(self, algorithm: str) -> int:
        """The process that trains an algorithm, stopped when it has written a checkpoint in this call.

        It runs in slices from the moment that it is seen: one left alone may end between two looks.
        """

        def found() -> list[int]:
            assert self.lives(), self.said()
            return self.trainings(algorithm)

        def stopped() -> bool:
            for signal_number in (signal.SIGCONT, signal.SIGSTOP):
                os.kill(process, signal_number)
                time.sleep(0.01)
            return bool(self.new(f"tiny/runs/{SETTING}/{algorithm}/default/seed0/checkpoint.pt"))

        process = slurm.wait(found, what=f"the training of {algorithm}")[0]
        slurm.wait(stopped, what=f"a checkpoint of {algorithm}", pause=0)
        return process


def results(project: Project) -> dict[str, bytes]:
    """All that must be equal in two runs."""
    return project.results(".csv", ".parquet", ".safetensors")


def went_on(project: Project, algorithm: str) -> bool:
    """True if the newest log says so."""
    log = project.folder / f"results/tiny/logs/train/{SETTING}/{algorithm}/default/seed0.log"
    return re.search(r"^resuming(: \d+ to [1-9]\d* once more| from [1-9])", log.read_text(), re.M) is not None


def test_results_equal_those_of_a_local_run(cluster, local, tmp_path):
    project = local.copy(tmp_path / "project")
    for name in ("results", ".snakemake"):
        shutil.rmtree(project.folder / name)
    asked = [
        "train:seconds=600",
        "local_optimum:seconds=5",
        "train:gpu=1",
        "train:slurm_partition=gpu",
        "local_optimum:gpu=0",
        "local_optimum:gres='shard:2'",
    ]
    with Submitted(cluster, project, "--set-resources", *asked, "--retries", "0", TIDY) as run:
        assert run.ended() == 0, run.said()
        jobs = run.jobs()
    assert results(project) == results(local)
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    rules = {job["JobId"]: re.search(r"/rule_(\w+)/", job["StdOut"])[1] for job in jobs}
    assert sorted(rules.values()) == ["local_optimum", "prepare", *["train"] * 2]  # three optima in one submission
    for job in jobs:  # what each asks for: test_sbatch.py
        assert job["JobName"].startswith("fairfl_") and not Path(job["StdOut"]).exists()  # of what failed, they stay


def test_failed_and_preempted_jobs_go_on(cluster, local, untrained):
    with Submitted(cluster, untrained, TIDY) as run:
        first, second = (run.paused(algorithm) for algorithm in ALGORITHMS)
        with run.unseen():
            os.kill(first, signal.SIGKILL)
            slurm.wait(lambda: run.jobs("fedavg")[0]["JobState"] == "FAILED")
            node = f"--nodelist={run.jobs('afl')[0]['NodeList']}"  # all of it
            urgent = ("--partition=urgent", node, f"--cpus-per-task={slurm.CPUS}", "--mem=0", "--output=/dev/null")
            cluster.run("sbatch", *urgent, "--job-name=urgent", "--wrap=true")
            slurm.wait(lambda: run.jobs("afl")[0]["JobState"] == "PENDING")
            cluster.hurry(run.jobs("afl")[0]["JobId"])
        assert run.ended() == 0, run.said()
        assert second not in run.trainings()
        killed, again, preempted = (*run.jobs("fedavg"), *run.jobs("afl"))
        text = run.said()
    assert [job["JobState"] for job in (killed, again, preempted)] == ["FAILED", "COMPLETED", "COMPLETED"]
    assert [job["Restarts"] for job in (killed, again, preempted)] == ["0", "0", "1"]
    assert "900M" in killed["MinMemoryNode"] and "900M" in again["MinMemoryNode"]  # it did not run out of memory
    assert all(went_on(untrained, algorithm) for algorithm in ALGORITHMS)
    assert results(untrained) == results(local)
    assert "failed: FedAvg" in text and killed["StdOut"] in text and "Trying to restart job" in text
    assert "| it was killed (SIGKILL); SLURM-job" in text


def test_cancelled_jobs_and_a_killed_snakemake(cluster, local, untrained):
    with Submitted(cluster, untrained, "--retries", "0", TIDY) as run:
        for algorithm in ALGORITHMS:
            run.paused(algorithm)
        cluster.run("scancel", "--user=root")
        run.says("SLURM status is: 'CANCELLED'")
        slurm.wait(lambda: {job["JobState"] for job in run.jobs()} == {"CANCELLED"})

    # One job stands still, one is back in the queue; Snakemake dies. The next one cancels both before it begins.
    with Submitted(cluster, untrained, TIDY) as orphans:
        stopped, _ = (orphans.paused(algorithm) for algorithm in ALGORITHMS)
        (held,) = (job["JobId"] for job in orphans.jobs("afl"))
        with orphans.unseen():
            cluster.run("scontrol", "requeuehold", held)
            orphans.process.kill()
            orphans.process.wait()
        slurm.wait(lambda: orphans.jobs("afl")[0]["JobState"] == "PENDING")

        with Submitted(cluster, untrained, TIDY) as run:
            assert run.ended() == 0, run.said()
            assert "2 submissions of a workflow that was killed here are cancelled" in run.said()
            assert all(went_on(untrained, algorithm) for algorithm in ALGORITHMS)
        assert {job["JobState"] for job in orphans.jobs()} == {"CANCELLED"} and stopped not in run.trainings()
    assert results(untrained) == results(local)
    assert "Nothing to be done" in untrained.snakemake("--dry-run", TIDY).stdout


# The first submission meets Slurm's words for a limit that is reached.
LIMITED = f"""#!/bin/sh
mkdir "$0.refused" 2> /dev/null || exec {shutil.which("sbatch")} "$@"
echo 'sbatch: error: AssocMaxSubmitJobLimit' >&2
echo 'sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, ...)' >&2
exit 1
"""


def test_limits_are_waited_for_a_held_job_is_named_and_another_refusal_said(cluster, local, untrained):
    """A limit on submissions; on the time of a job, which is no try; and what lets a held job go on."""
    sbatch = cluster.folder / "bin/sbatch"
    sbatch.write_text(LIMITED)
    sbatch.chmod(0o755)
    try:
        with Submitted(cluster, untrained, "--retries", "0", TIDY) as run:
            run.says("Slurm takes no more submissions now: AssocMaxSubmitJobLimit")
            first = slurm.wait(lambda: next(filter(run.trainings, ALGORITHMS), ""))  # either may be submitted first
            paused = {algorithm: run.paused(algorithm) for algorithm in sorted(ALGORITHMS, key=first.__ne__)}
            held, number = paused["fedavg"], run.jobs("fedavg")[0]["JobId"]
            cluster.run("scontrol", "requeuehold", number)
            run.says(f"`scontrol release {number}` lets it start (train/{SETTING}/fedavg/default/seed0)")
            assert held not in run.trainings()
            cluster.run("scontrol", "update", f"job={run.jobs('afl')[0]['JobId']}", "TimeLimit=0-00:01:00")
            run.says("goes on in another submission: Slurm ended the last one (TIMEOUT)")
            cluster.run("scontrol", "release", number)
            cluster.hurry(number)
            assert run.ended() == 0, run.said()
            assert not re.search("^failed", run.said(), re.M)
            assert [job["JobState"] for job in run.jobs("afl")] == ["TIMEOUT", "COMPLETED"]
            assert len(run.jobs("fedavg")) == 1
    finally:
        sbatch.unlink()
    assert all(went_on(untrained, algorithm) for algorithm in ALGORITHMS)
    assert results(untrained) == results(local)
    (untrained.folder / f"results/tiny/runs/{SETTING}/afl/default/seed0/summary.json").unlink()
    asked = (*APART, "train:slurm_partition=nowhere")
    with Submitted(cluster, untrained, *asked, "--retries", "0", TIDY) as run:
        assert run.ended(), run.said()
        assert "| invalid partition specified: nowhere" in run.said() and "done in" not in run.said()
        assert " --workflow-profile profiles/slurm --config " in run.said()
