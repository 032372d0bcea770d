"""What a person is told during a run and at its end, on a run made by hand."""

import io
import logging
import signal
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.judgement.rows import ClaimLine, ComparisonLine, csv_text
from fairfl.workflow.plan import kind
from fairfl.workflow.terminal import summary
from fairfl.workflow.terminal.display import Display, summary_lines
from fairfl.workflow.terminal.names import describe_job, located
from fairfl.workflow.terminal.progress import RunningJob, RunProgress
from tests.unit import rows as rows_of


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def info(rule, log="", output="", **wildcards):
    return {"rule_name": rule, "wildcards": wildcards, "log": [log], "output": [output]}


@pytest.fixture()
def run() -> RunProgress:
    run = RunProgress(clock=Clock())
    run.plan({"train": 4, "table": 2, "all": 1, "total": 7})
    return run


def test_a_job_that_was_tried_again_has_not_failed(run):
    run.start(1, info("train"))
    assert run.fail(1).rule == "train" and list(run.failed) == [1]
    run.start(1, info("train"))
    run.finish(1)
    assert not run.failed and run.done["train"] == 1


def test_a_running_job_says_how_far_it_is(tmp_path):
    log = tmp_path / "x.log"
    job = RunningJob("train", "x", str(log), "", 0.0)
    assert job.doing() == ""
    log.write_text("starts\nround 20/100  38.6 rounds/s  accuracy 0.5  3 s to go\n")
    assert job.doing() == "round 20 of 100, 38.6 rounds/s, 3 s left"
    log.write_text("round 24/300  25.0 s a round  loss 0.5377  accuracy 0.8537  6900 s to go\n")
    assert job.doing() == "round 24 of 300, 25.0 s a round, 1 h 55 min left"
    log.write_text("something else\n")
    assert job.doing() == ""


@pytest.fixture(scope="module")
def workload(root):
    return load_workload(root, {"scale": "quick", "papers": ["fedfv", "eagle", "fedeba"]})


def test_every_run_has_a_name_that_a_person_says(workload):
    wildcards = {"setting": "fedfv_cifar10", "algorithm": "fedfv", "variant": "alpha=0.1~tau=10", "seed": "0"}
    assert describe_job(workload, "train", wildcards) == "FedFV alpha=0.1, tau=10, fedfv_cifar10, seed 0"
    assert describe_job(workload, "table", {"paper": "fedfv", "artifact": "table3"}) == "fedfv Table 3"
    assert describe_job(workload, "local_optimum", {"setting": "s", "seed": "1", "client": "2"}) == (
        "local optimum s, seed 1, client 2"
    )
    assert describe_job(workload, "page", {}) == "page"
    names = set()
    for one in workload.runs:
        words = {"setting": one.setting, "algorithm": one.variant.algorithm, "variant": one.variant.folder}
        names.add(describe_job(workload, "train", words | {"seed": str(one.seed)}))
    assert len(names) == len(workload.runs)


# -- the end ----------------------------------------------------------------------------------
def failed(run, tmp_path, number, lines):
    log = tmp_path / f"{number}.log"
    log.write_text("".join(f"line {n}\n" for n in range(lines)))
    run.speak = lambda rule, wildcards: f"run {number}"
    run.start(number, info("train", str(log), f"results/{number}.parquet"))
    run.fail(number)


def test_the_first_failure_is_the_last_thing_said_with_its_log(run, tmp_path):
    failed(run, tmp_path, 1, 40)
    failed(run, tmp_path, 2, 3)
    (tmp_path / "2.log").write_text("ValueError: another cause\n")
    config = {"scale": "small", "tuned": True, "seeds": [0, 1]}
    said = list(summary.failures(run, partial(summary.rerun_command, snakemake=sys.executable, config=config)))
    assert said[:3] == ["failed: run 2", "   | ValueError: another cause", f"   log: {tmp_path / '2.log'}"]
    assert said[3] == "failed: run 1 (2 of 6 jobs failed, 4 did not run)"
    assert said[4:19] == [f"   | line {n}" for n in range(25, 40)]
    assert said[19] == f"   log: {tmp_path / '1.log'}"
    command = f"{sys.executable} --cores 1 --config scale=small tuned=true seeds=0,1 -- results/1.parquet"
    assert said[20:] == [f"   it alone: {command}"]


def test_jobs_that_failed_in_the_same_way_are_told_together_each_once(run, tmp_path):
    for number in range(52):
        failed(run, tmp_path, number, 1)
        (tmp_path / f"{number}.log").write_text(
            f"File x/{number}.py\nOSError: no 'seed{number}' in /a/{number}, {number} s\n"
        )
    said = list(summary.failures(run, lambda job: job.output))
    assert len(said) == 6 and said[0].startswith("failed: run 0 (52 of 6 jobs failed")
    assert said[3] == "   51 more in the same way: run 1; run 2; run 3; ..."


@pytest.mark.parametrize("called", ["/x/src/fairfl/__main__.py", __file__, "snakemake"])
def test_the_command_of_one_job_works_when_pasted(tmp_path, monkeypatch, called):
    """A Python file cannot be called; and the shell may be in another folder than Snakemake is."""
    job = RunningJob("train", "a", "a.log", "results/a b.csv", 0.0)
    monkeypatch.setenv("PWD", str(Path.cwd()))
    command = f"{sys.executable} -m snakemake --cores 1 -- 'results/a b.csv'"
    assert summary.rerun_command(job, called, {}) == command
    monkeypatch.setenv("PWD", str(tmp_path))
    assert summary.rerun_command(job, called, {}) == f"cd {Path.cwd()} && {command}"


def write(path: Path, kind: type, rows):
    """A file of such rows, empty but for what is given."""
    row = {ComparisonLine: rows_of.compared, ClaimLine: rows_of.claim}[kind]
    path.write_text(csv_text(map(row, rows), kind))


def compared(*verdicts: str):
    """Rows of comparison.csv with different numbers of 5 seeds in the paper, one here."""
    more = {"metric": "accuracy_mean", "seeds": "1", "reported_seeds": "5"}
    return [{"verdict": verdict, "reported": str(n), **more} for n, verdict in enumerate(verdicts)]


def test_a_run_ends_with_what_was_judged_and_the_page(run, tmp_path):
    run.start(1, info("table"))
    run.finish(1)
    rows = compared("agrees", "agrees", "agrees", "close", "diverged", "inconclusive", "not reported", "not run")
    write(tmp_path / "comparison.csv", ComparisonLine, [*rows, rows[0] | {"artifact": "again", "seeds": "1"}])
    claims = [{"status": here} for here in ("supported", "supported", "not evaluated at this scale")]
    claims += [{"status": "refuted", "artifact": "demo_late"}, {"status": "refuted", "artifact": "mine_table1"}]
    write(tmp_path / "claims.csv", ClaimLine, claims)
    reading, table = SimpleNamespace(in_paper=False), SimpleNamespace(in_paper=True)
    papers = {
        "demo": SimpleNamespace(sources="quoted", artifacts={"late": reading}),
        "mine": SimpleNamespace(sources="own", artifacts={"table1": table}),
    }
    (tmp_path / "index.html").write_text("")
    run.clock.now = 61.0
    run.asked = lambda: ["all"]
    assert list(summary.success_lines(run, tmp_path, papers, "quick")) == [
        "done: 1 job in 1 min 1 s; 1 table built at scale quick",
        "checked: 6 of 7 published numbers: 3 agree, 1 close, 1 differ, 1 inconclusive; 6 rest on one seed",
        "claims: 2 supported, 1 not evaluated at this scale; your experiments: 1 refuted",
        f"page: {(tmp_path / 'index.html').as_uri()}",
        f"next: {summary.RECORDED}",
    ]
    assert list(summary.success_lines(run, tmp_path, papers, "full"))[-1].startswith(
        "next: fairfl plan --config scale=full "
    )
    run.asked = list
    assert len(list(summary.success_lines(run, tmp_path))) == 1
    write(tmp_path / "comparison.csv", ComparisonLine, [{"verdict": "not reported"}] * 3)
    assert not any("checked:" in line for line in summary.checked_lines(tmp_path))


def test_the_last_line_says_where_what_was_asked_for_lies(run, workload, tmp_path):
    for name in ("fedfv/table3.md", "fedfv/table3.csv", "fedfv/figure2.pdf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    run.locate = lambda target: located(workload, tmp_path, target)
    file = str(tmp_path / "fedfv/table3.csv")
    run.asked = lambda: ["fedfv_table3", "fedfv_figure2", "fedfv", file, "eagle_table1"]
    assert list(summary.output_paths(run, tmp_path)) == [
        f"fedfv_table3: {tmp_path / 'fedfv/table3.md'}",
        f"fedfv_figure2: {tmp_path / 'fedfv/figure2.pdf'}",
        f"fedfv: {tmp_path / 'fedfv'}",
        file,
    ]


# -- Snakemake's records ------------------------------------------------------------------------


def test_ctrl_c_is_no_failure_and_what_failed_before_it_is_told(monkeypatch):
    out = io.StringIO()
    display = Display(out)
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("atexit.register", lambda _: None)
    try:
        display.heed_interrupts()
        display._run_info({"stats": {"train": 3, "total": 3}})
        for number in range(3):
            display._job_info({"jobid": number, **info("train", f"{number}.log")})
        display._job_finished({"job_id": 0})
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    log = logging.Logger("x")
    log.addHandler(display)
    log.error("RuleException:\nCommand 'python client.py' died with <Signals.SIGINT: 2>.")
    log.info("Terminating processes on user request, this might take some time.")
    display._job_error({"jobid": 1})
    log.error("At least one job did not complete successfully.")
    display.finish(summary_lines(display, Path(), "snakemake", {}, {}))
    first, *rest = out.getvalue().splitlines()
    assert first == "to do: 3 trainings" and len(rest) == 1
    assert rest[0].startswith("interrupted: 1 of 3 jobs had ended")


def test_ctrl_c_before_any_job_is_one_line(monkeypatch):
    out, at_exit, codes = io.StringIO(), [], []
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("sys.excepthook", sys.excepthook)
    monkeypatch.setattr("atexit.register", at_exit.append)
    monkeypatch.setattr("os._exit", codes.append)
    try:
        Display(out).heed_interrupts()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    at_exit[0]()
    assert codes == [130] and out.getvalue() == "interrupted: nothing has run yet\n"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("never finished (goes on from its checkpoint)", "never finished (goes on from its checkpoint)"),
        ("train/x/seed0, which it reads, runs: edited fairfl.a", "what it reads has changed"),
        ("metrics.parquet is damaged (3 bytes, not 4)", "a file is missing or damaged"),
        ("torch: 2.1 -> 2.2", "torch changed"),
        ("rounds: 3 -> 4; setting.learning_rate: 0.1 -> 0.2", "rounds, setting.learning_rate changed"),
        ("runs: new ['a']; runs: no longer ['b']; runs: new 'of table... (243 characters)'", "runs changed"),
        ("settings.fedeba_cifar10_cnn.a: 1 -> 2; settings.fedeba_cifar10_cnn.b: 1 -> 2", "settings changed"),
        (
            "edited fairfl.b; new module fairfl.a; module gone fairfl.c; seed: 0 -> 1",
            "edited fairfl.a and 2 more; seed changed",
        ),
    ],
)
def test_reasons_are_told_by_what_they_have_in_common(reason, words):
    assert kind(reason) == words
