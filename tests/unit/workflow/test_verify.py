"""What `fairfl clear` deletes, and what it leaves."""

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairfl.commands import main
from fairfl.experiments.config import Config
from fairfl.runtime import locks, records
from fairfl.runtime.errors import FairflError
from fairfl.workflow import verify

RESULTS = Path("results/tiny")
GIVEN = {"scale": "tiny"}


def left_by(name: str, *outputs: str) -> None:
    for path in map(Path, outputs):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    records.write(RESULTS / f"records/{name}.json", {"name": name}, {}, [*map(Path, outputs)])


def plan(monkeypatch, asked_for) -> None:
    """Let a configuration have these jobs, `asked_for(config)`, and these faulty papers."""

    def parsed(root: Path, config: dict):
        assert all(config[key] is None for key in ("artifacts", "algorithms", "seeds", "budget"))
        assert config["settings"] == ["*"] and config["recorded"] == "use"
        jobs, faulty = asked_for(Config(**config))
        workload = SimpleNamespace(known={}, faulty=faulty)
        jobs = [SimpleNamespace(name=name) for name in jobs]
        return {"graph": SimpleNamespace(workload=workload, wanted=lambda target: target, below=lambda wanted: jobs)}

    monkeypatch.setattr(verify.snakemake, "parsed", parsed)


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Files of a project with a current, an orphaned, a kept, a damaged, a recorded and a user's own file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(locks.WORKFLOW, "")  # which a lock sets
    left_by("train/gone", "results/tiny/runs/gone/a.csv", "results/tiny/shared.csv")
    left_by("train/now", "results/tiny/runs/now/a.csv", "results/tiny/shared.csv")  # made anew by another job
    others = ("tiny/runs/gone/mine.txt", "tiny/kept/train/gone/0123/record", "recorded/a.damaged", "tiny/now.txt")
    for path in (*others, "tiny/runs/now/b.csv.damaged", "../papers/ours.yaml", "../papers/template.yaml"):
        Path("results", path).parent.mkdir(parents=True, exist_ok=True)
        Path("results", path).write_text(json.dumps(path))
    plan(monkeypatch, lambda config: (["train/now"], {}))

    def files():
        seen = {str(path) for path in Path(".").glob("**/*") if path.is_file()}
        return seen - {"results/tiny/.lock"}

    return files


def test_orphans_and_damaged_files_go_and_nothing_else(found):
    before = found()
    verify.clear(Path("."), GIVEN, yes=True)
    gone = {"records/train/gone.json", "runs/gone/a.csv", "runs/now/b.csv.damaged"}
    assert before - found() == {f"results/tiny/{path}" for path in gone}


def test_what_a_needed_job_left_too_stays(found):
    left_by("train/gone", "results/tiny/runs/now/a.csv")
    verify.clear(Path("."), GIVEN, yes=True)
    assert {"results/tiny/runs/now/a.csv", "results/tiny/shared.csv"} < found()


@pytest.mark.parametrize(
    "asks",
    [
        lambda config: config.tuned,
        lambda config: not config.tuned,
        lambda config: config.papers == ["template"],
        lambda config: config.papers == ["*"],
    ],
)
def test_what_another_configuration_asks_for_stays(found, monkeypatch, asks):
    plan(monkeypatch, lambda config: (["train/now", *["train/gone"] * asks(config)], {}))
    given = {"tuned": True, "papers": ["ours"], "settings": ["a"], "algorithms": ["b"], "seeds": [1]}
    before = found()
    verify.clear(Path("."), GIVEN | given | {"artifacts": ["c"], "budget": 1.0}, yes=True)
    assert before - found() == {"results/tiny/runs/now/b.csv.damaged"}


@pytest.mark.parametrize(
    ("left", "planned", "is_needed"),
    [
        ("train/s/qffl/q=1/seed7", "train/s/qffl/q=1.0/seed0", True),  # another artifact may write it so
        ("train/s/qffl/q=1+tuned/seed0", "train/s/qffl/q=1/seed0", False),
        ("train/s/qffl/q=2/seed0", "train/s/qffl/q=1/seed0", False),
        ("train/s/qffl/seed1/seed0", "train/s/qffl/q=1/seed0", False),
        ("local_optimum/s/seed3/client1", "local_optimum/s/seed0/client1", True),
        ("local_optimum/s/seed0/client2", "local_optimum/s/seed0/client1", False),
        ("collect/seeds", "collect/seed", False),
    ],
)
def test_a_job_of_another_seed_or_spelling_is_the_same(left, planned, is_needed):
    assert (verify.of_what(left) == verify.of_what(planned)) == is_needed


def test_a_paper_that_cannot_be_read_deletes_nothing(found, monkeypatch):
    plan(monkeypatch, lambda config: ([], {"mine": "papers/mine.yml: is not read: call it mine.yaml"}))
    before = found()
    with pytest.raises(FairflError, match="nothing is deleted, .* papers/mine.yml: is not read"):
        verify.clear(Path("."), GIVEN, yes=True)
    assert found() == before


def test_nothing_that_a_killed_workflow_left_is_foreign(tmp_path, monkeypatch):
    """Specs of its jobs, and where trainings and surrogates go on."""
    monkeypatch.chdir(tmp_path)
    runs, surrogates = "runs/s/fedavg/default/seed0", "surrogates/s/seed0"
    left = [f"{runs}/checkpoint.pt", f"{runs}/.checkpoint.pt.before", f"{surrogates}/cluster0.checkpoint.pt"]
    left += [f"{surrogates}/.cluster0.checkpoint.pt.before", ".jobs/train/s/fedavg/default/seed0.json"]
    own = [f"{runs}/{name}" for name in ("floor-plan.txt", "mine.json", "my.checkpoint.pt")]
    for path in (RESULTS / below for below in (*left, "plan.txt", "plan.csv", *own)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    assert list(verify.Verifier().folder(RESULTS)) == [("foreign", f"{RESULTS}/{path}") for path in own]


@pytest.mark.parametrize(
    "command", [lambda: verify.clear(Path("."), GIVEN, yes=True), lambda: verify.verify(Path("."), GIVEN)]
)
def test_nothing_is_read_while_a_workflow_runs(found, command):
    before = found()
    with locks.workflow_lock(RESULTS / ".lock"), pytest.raises(FairflError, match="another workflow runs"):
        command()
    assert found() == before


@pytest.mark.parametrize(("answer", "is_meant"), [("y", True), ("", False), ("no", False), (None, False)])
def test_a_person_is_asked(found, monkeypatch, capsys, answer, is_meant):
    """Where there is none at a terminal, `--yes` is wanted."""
    stdin = io.StringIO(f"{answer}\n")
    stdin.isatty = lambda: answer is not None
    monkeypatch.setattr("sys.stdin", stdin)
    before = found()
    try:
        verify.clear(Path("."), GIVEN)
    except FairflError as error:
        assert answer is None and "`fairfl clear --yes` deletes these 3 files" in str(error)
    assert "results/tiny/runs/gone/a.csv\n" in capsys.readouterr().out
    assert (before != found()) == is_meant


def test_the_command_takes_files_of_configuration_and_the_line_of_words(found, monkeypatch):
    """The command line counts most, then the last file."""
    Path("config.yaml").write_text("scale: quick\ntuned: true\n")
    Path("more.yaml").write_text("scale: small\nthreads: 2\n")
    given = []
    monkeypatch.setattr(verify, "clear", lambda *words: given.append(words))
    words = ["--configfile", "more.yaml", "--config", "scale=tiny", "--yes"]
    main.look_after(Path("."), "clear", words)
    assert given == [(Path("."), {"scale": "tiny", "tuned": True, "threads": 2}, True, False)]
