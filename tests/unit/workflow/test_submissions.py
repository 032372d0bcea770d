"""Which jobs share a submission to Slurm, and what becomes of them. On a real one: tests/workflow/test_slurm.py."""

import json
import subprocess
from collections import Counter
from types import SimpleNamespace

import pytest

from fairfl.runtime import submission
from fairfl.runtime.errors import FairflError
from fairfl.workflow import submissions
from fairfl.workflow.submissions import Submissions

VIOLATED = (
    "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size "
)
LIMIT = f"sbatch: error: AssocMaxSubmitJobLimit\n{VIOLATED}and/or time limits)"
LATER = 1e9  # seconds: nobody waits for company any more


class Info(SimpleNamespace):
    def __init__(self, job, external_jobid=None, aux=None):
        super().__init__(job=job, external_jobid=external_jobid, aux=aux)


class Executor:
    """What of the plugin's executor is used; `submitted` and `said` hold what it would have done."""

    array_jobs, run_uuid = (), "fairfl_1"

    def __init__(self, latency=0):
        self.submitted, self.good, self.bad = [], [], []
        self.workflow = SimpleNamespace(execution_settings=SimpleNamespace(latency_wait=latency))
        self._job_submission_executor = SimpleNamespace(submit=lambda run, job: run(job))
        self.run_job = self.submitted.append
        self.run_jobs = self.run_job_pre = self.cancel = self.shutdown = lambda *_: None
        self.format_job_exec = lambda job: "python -m snakemake"
        self.report_job_success = lambda info: self.good.append(info.job.name)
        self.report_job_error = lambda info, msg=None, **_: self.bad.append((info.job.name, msg))

    def end(self, which, state, codes=(), whole=True):
        """A submission has ended; `codes` of its jobs."""
        lines = [f"{number} {code}\n" for number, code in enumerate(codes)] + ["end 0\n"] * whole
        which.file.with_name(f"{which.file.name}.ended").write_text("".join(lines))
        if state == "COMPLETED":
            self.report_job_success(Info(which))
        else:
            self.report_job_error(Info(which), msg=f"SLURM-job '7' failed, SLURM status is: '{state}'. Reason")


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(submissions.threading, "Thread", lambda **_: SimpleNamespace(start=lambda: None))

    def made(**how):
        executor, said = Executor(), []
        options = {
            "limits": {"train": {"minutes": 120, "memory_mb": 4000}},
            "preloaded": [],
            "most": 100,
            "say": said.append,
        } | how
        environment = {"FAIRFL_CODE": "/a place/copy"}
        stands = Submissions(executor, tmp_path, environment=environment, name=lambda job: job.name, **options)
        return executor, stands, said

    (tmp_path / ".lock").touch()
    return made


def jobs(count, seconds=5, runtime=30, mem_mb=1000, rule="train", **params):
    return [
        SimpleNamespace(
            name=f"{rule}{number}", rule=SimpleNamespace(name=rule), threads=1, wildcards=[],
            shellcmd=f"echo {number}",
            output=[f"out/{number}"], log=[f"log/{number}"], params=SimpleNamespace(**params), is_group=lambda: False,
            resources={"runtime": runtime, "mem_mb": mem_mb, "seconds": seconds, "device": "cpu"},
        )
        for number in range(count)
    ]  # fmt: skip


def test_short_jobs_share_a_submission_of_ten_minutes_and_long_ones_do_not(cluster):
    executor, stands, _ = cluster()
    stands.take([*jobs(250), *jobs(2, seconds=4000, runtime=200, rule="surrogate")])
    stands.submit(stands.last)
    short = [each for each in executor.submitted if each.rule.name == "train"]
    assert [len(each.jobs) for each in short] == [100, 100]  # the rest may get company
    assert [len(each.jobs) for each in executor.submitted if each not in short] == [1, 1]
    stands.submit(LATER)
    assert len(executor.submitted[-1].jobs) == 50
    assert Counter(job.name for each in executor.submitted for job in each.jobs).most_common(1)[0][1] == 1
    assert [each.resources.runtime for each in executor.submitted] == [30, 30, 200, 200, 15]
    assert json.loads(short[0].file.read_text())["commands"][3] == "echo 3"
    command = executor.format_job_exec(short[0])
    assert command.startswith("export FAIRFL_CODE='/a place/copy' && ") and str(short[0].file) in command


def test_a_short_time_limit_holds_fewer_and_other_requests_do_not_mix(cluster):
    executor, stands, _ = cluster()
    stands.take([*jobs(60, runtime=10), *jobs(3, mem_mb=2000)])
    stands.submit(LATER)
    assert sorted((len(each.jobs), each.resources.mem_mb) for each in executor.submitted) == [
        (3, 2000), (27, 1000), (33, 1000)
    ]  # fmt: skip


def test_each_job_ends_as_it_did(cluster):
    executor, stands, _ = cluster()
    stands.take(jobs(3))
    stands.submit(LATER)
    executor.end(executor.submitted[0], "FAILED", [0, 1, 0])
    assert executor.good == ["train0", "train2"] and [name for name, _ in executor.bad] == ["train1"]
    stands.take(jobs(1))
    stands.submit(LATER)
    msg = "SLURM-job '8' failed, SLURM status is: 'FAILED'. Reason: Unable to contact"  # it was submitted
    executor.report_job_error(Info(executor.submitted[-1]), msg)
    assert [name for name, _ in executor.bad] == ["train1", "train0"]
    assert not stands.under_way and len(executor.submitted) == 2


def test_no_more_are_under_way_than_the_user_says(cluster):
    executor, stands, _ = cluster(most=2)
    stands.take(jobs(4, seconds=4000))
    stands.submit(LATER)
    assert len(executor.submitted) == 2
    executor.end(executor.submitted[0], "COMPLETED")
    stands.submit(LATER)
    assert len(executor.submitted) == 3


def test_a_limit_on_submissions_is_waited_for_and_any_other_refusal_said_in_its_own_words(cluster):
    executor, stands, said = cluster()
    stands.take(jobs(2))
    stands.submit(LATER)
    (first,) = executor.submitted
    executor.report_job_error(Info(first), f"SLURM sbatch failed. The error message was '{LIMIT}'.\n    sbatch call:\n")
    assert not executor.bad and "AssocMaxSubmitJobLimit" in said[0] and "format=maxsubmit" in said[0]
    stands.submit(stands.paused)
    assert executor.submitted == [first]
    stands.submit(LATER)
    assert executor.submitted == [first, first]
    no = f"sbatch: error: QOSMaxWallDurationPerJobLimit\n{VIOLATED}and/or time limits)"
    executor.report_job_error(Info(first), f"SLURM sbatch failed. The error message was '{no}'.\n    sbatch call:\n  x")
    assert [name for name, _ in executor.bad] == ["train0", "train1"]
    assert executor.bad[0][1].startswith("QOSMaxWallDurationPerJobLimit Batch job submission failed: Job violates")


def test_memory_grows_only_after_a_job_ran_out_of_it_and_to_the_scales_limit(cluster):
    executor, stands, said = cluster()
    stands.take(jobs(2))
    stands.submit(LATER)
    executor.end(executor.submitted[-1], "FAILED", [submission.OUT_OF_MEMORY, 137])
    assert [name for name, _ in executor.bad] == ["train1"]  # killed, but not for memory: a try of Snakemake's
    for expected in (2000, 4000):
        stands.submit(LATER)
        assert executor.submitted[-1].resources.mem_mb == expected and len(executor.submitted[-1].jobs) == 1
        executor.end(executor.submitted[-1], "OUT_OF_MEMORY", whole=False)
    assert executor.bad[-1] == ("train0", "4000 MB were not enough: raise limits.train.memory_mb in scales/")
    assert said[0] == "train0: 1000 MB were not enough; it asks for 2000"
    stands.take(jobs(1))  # Snakemake tries again
    stands.submit(LATER)
    assert executor.submitted[-1].resources.mem_mb == 4000


def test_a_time_limit_is_no_failure_while_there_is_progress(cluster, tmp_path):
    executor, stands, _ = cluster()
    checkpoint = tmp_path / "checkpoint.pt"
    stands.take(jobs(1, runtime=40, checkpoint=str(checkpoint)))
    for _ in range(5):
        stands.submit(LATER)
        checkpoint.touch()
        executor.submitted[-1].begun -= 100
        executor.end(executor.submitted[-1], "TIMEOUT", whole=False)
    assert not executor.bad and {each.resources.runtime for each in executor.submitted} == {40}
    checkpoint.unlink()
    for expected in (40, 80, 120):
        stands.submit(LATER)
        assert executor.submitted[-1].resources.runtime == expected
        executor.end(executor.submitted[-1], "TIMEOUT", whole=False)
    assert executor.bad == [("train0", "120 minutes were not enough: raise limits.train.minutes in scales/")]


def test_what_a_time_limit_or_a_preemption_cut_off_goes_on(cluster):
    executor, stands, _ = cluster()
    stands.take(jobs(4))
    stands.submit(LATER)
    for state in ("TIMEOUT", submissions.PREEMPTED):
        executor.end(executor.submitted[-1], state, [0], whole=False)
        stands.submit(LATER)
    assert executor.good == ["train0", "train1"] and not executor.bad
    assert [job.name for job in executor.submitted[-1].jobs] == ["train2", "train3"]
    executor.end(executor.submitted[-1], "CANCELLED", whole=False)
    assert [name for name, _ in executor.bad] == ["train2", "train3"]


def test_jobs_in_conda_environments_are_snakemakes_own(cluster):
    executor, stands, _ = cluster(preloaded=None)
    stands.take(jobs(2))
    stands.submit(LATER)
    assert [len(each.jobs) for each in executor.submitted] == [1, 1]
    assert (
        executor.format_job_exec(executor.submitted[0]) == "export FAIRFL_CODE='/a place/copy' && python -m snakemake"
    )


def test_arrays_are_refused(cluster, monkeypatch):
    monkeypatch.setattr(Executor, "array_jobs", {"train"})
    with pytest.raises(FairflError, match="--slurm-array-jobs: .*issue 473"):
        cluster()


# -- jobs of a workflow that was killed -----------------------------------------------------------
@pytest.fixture
def slurm(monkeypatch):
    called, answers = [], ["7 8", "7", ""]

    def run(command, **_):
        called.append(command[0])
        if not answers:
            raise subprocess.CalledProcessError(1, command)
        return SimpleNamespace(stdout=answers.pop(0) if command[0] == "squeue" else "")

    monkeypatch.setattr(submissions.subprocess, "run", run)
    monkeypatch.setattr(submissions.time, "sleep", lambda _: None)
    return called, answers


def test_jobs_of_a_killed_workflow_are_cancelled_by_name_before_others_begin(slurm, tmp_path):
    called, answers = slurm
    said = []
    submissions.end_orphans(tmp_path, said.append)
    assert not called
    (tmp_path / ".slurm").write_text("fairfl_9")
    submissions.end_orphans(tmp_path, said.append)
    assert called == ["squeue", "scancel", "squeue", "squeue"] and not (tmp_path / ".slurm").exists()
    assert said[0].startswith(
        "2 submissions of a workflow that was killed here are cancelled (scancel --name=fairfl_9)"
    )
    (tmp_path / ".slurm").write_text("fairfl_9")
    with pytest.raises(FairflError, match="which does not answer"):
        submissions.end_orphans(tmp_path, said.append)
    assert (tmp_path / ".slurm").exists()


def test_the_name_is_kept_as_long_as_there_may_be_jobs(cluster, tmp_path):
    executor, _, _ = cluster()
    assert (tmp_path / ".slurm").read_text() == "fairfl_1"
    executor.shutdown()
    assert not (tmp_path / ".slurm").exists()


# -- on the node ----------------------------------------------------------------------------------
def order(folder, *commands, **how):
    file = folder / "1.json"
    (folder / ".lock").touch()
    whole = {"lock": str(folder / ".lock"), "commands": commands, "warm_start": False, "preloaded": []}
    file.write_text(json.dumps(whole | how))
    return file


def test_jobs_run_in_turn_and_those_that_ended_well_do_not_run_again(tmp_path):
    file = order(tmp_path, f"echo a >> {tmp_path}/said", f"echo b >> {tmp_path}/said; exit 3", "kill -9 $$")
    assert submission.main([str(file)]) == 1 and submission.ended(file) == ({0: 0, 1: 3, 2: 137}, True)
    assert submission.main([str(file)]) == 1
    assert (tmp_path / "said").read_text() == "a\nb\nb\n"


def test_a_stop_ends_all_of_them(tmp_path):
    file = order(tmp_path, "true", "kill $$", f"touch {tmp_path}/never")
    assert submission.main([str(file)]) == 143 and submission.ended(file) == ({0: 0}, False)
    assert not (tmp_path / "never").exists()


def test_what_ran_out_of_memory_is_told_from_what_was_killed(tmp_path, monkeypatch):
    kills = iter([3, 3, 3, 4])
    monkeypatch.setattr(submission, "kills_for_memory", lambda: next(kills))
    file = order(tmp_path, "kill -9 $$", "kill -9 $$")
    assert submission.main([str(file)]) == 1
    assert submission.ended(file) == ({0: 137, 1: submission.OUT_OF_MEMORY}, True)


def test_nothing_begins_for_a_workflow_that_has_ended(tmp_path, monkeypatch):
    with pytest.raises(FairflError, match="the workflow of this job has ended"):
        submission.main([str(tmp_path / "gone.json")])
    file = order(tmp_path, f"touch {tmp_path}/never")
    (tmp_path / ".lock").write_text('{"token": "another"}')
    monkeypatch.setenv("FAIRFL_WORKFLOW", "mine")
    with pytest.raises(FairflError, match="another workflow has begun"):
        submission.main([str(file)])
    assert not (tmp_path / "never").exists()
