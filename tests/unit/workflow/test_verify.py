"""What `fairfl clear` deletes, and what it leaves."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairfl.runtime import records
from fairfl.runtime.errors import FairflError
from fairfl.workflow import verify

RESULTS = Path("results/tiny")


def left_by(name: str, *outputs: str) -> None:
    for path in map(Path, outputs):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    records.write(RESULTS / f"records/{name}.json", {"name": name}, {}, [*map(Path, outputs)])


def graph(planned: list[str], **config):
    given = dict.fromkeys(("artifacts", "settings", "algorithms", "seeds", "budget")) | {"papers": ["ours"]} | config
    workload = SimpleNamespace(config=SimpleNamespace(**given), known={})
    jobs = [SimpleNamespace(name=name) for name in planned]
    return SimpleNamespace(workload=workload, wanted=lambda target: target, below=lambda wanted: jobs)


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Files of a project with a current, an orphaned, a kept, a damaged, a recorded and a user's own file."""
    monkeypatch.chdir(tmp_path)
    left_by("train/gone", "results/tiny/runs/gone/a.csv", "results/tiny/shared.csv")
    left_by("train/now", "results/tiny/runs/now/a.csv", "results/tiny/shared.csv")  # made anew by another job
    others = ("tiny/runs/gone/mine.txt", "tiny/kept/train/gone/0123/record", "recorded/a.damaged", "tiny/now.txt")
    for path in (*others, "tiny/runs/now/b.csv.damaged", "../papers/ours.yaml"):
        Path("results", path).parent.mkdir(parents=True, exist_ok=True)
        Path("results", path).write_text(json.dumps(path))

    def files():
        return {str(path) for path in Path(".").glob("**/*") if path.is_file()}

    return files


def test_orphans_and_damaged_files_go_and_nothing_else(found):
    before = found()
    assert verify.clear(graph(["train/now"]), RESULTS) == 3
    gone = {"records/train/gone.json", "runs/gone/a.csv", "runs/now/b.csv.damaged"}
    assert before - found() == {f"results/tiny/{path}" for path in gone}


@pytest.mark.parametrize(
    "given", [{"papers": []}, {"artifacts": ["x"]}, {"settings": ["a"]}, {"seeds": [0]}, {"budget": 1.0}]
)
def test_a_selection_deletes_nothing(found, given):
    before = found()
    with pytest.raises(FairflError, match=f"clear: {next(iter(given))}: what is not selected would be deleted"):
        verify.clear(graph(["train/now"], **given), RESULTS)
    assert found() == before
