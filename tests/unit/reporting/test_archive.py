"""The archive: everything that is committed and built, described, equal bytes, refused if it would not be that."""

import hashlib
import io
import json
import os
import subprocess
import time
import zipfile
from pathlib import Path

import pytest
import yaml

from fairfl.experiments.workload import load_workload
from fairfl.reporting import archive as module
from fairfl.reporting.archive import METADATA, SUMS, archive, main
from fairfl.runtime.errors import FairflError
from tests.unit.reporting import demo

TABLE = {"kind": "table", "title": "Table 1", "caption": "c", "settings": ["full"], "columns": ["loss"],
         "rows": [{"algorithm": "fedavg"}]}  # fmt: skip
FIGURE = {"kind": "figure", "title": "Figure 2", "caption": "c", "plot": "curves", "settings": ["full"]}
PAPER = {
    **demo.PAPER,
    "metrics": {"loss": {"name": "loss", "meaning": "m", "unit": "nats", "direction": "down", "digits": 2}},
    "algorithms": {"fedavg": {"title": "FedAvg"}},
    "settings": {"full": demo.SETTING},
    "artifacts": {"table1": TABLE, "figure2": FIGURE},
}
BUILT = [
    "index.html", "comparison.csv", "claims.csv", "order.csv",
    *(f"demo/table1.{ending}" for ending in ("csv", "md", "tex", "beside.md", "beside.tex")),
    *(f"demo/figure2.{ending}" for ending in ("csv", "pdf", "png")),
]  # fmt: skip
CITATION = {
    "cff-version": "1.2.0", "title": "A work", "version": "0.1.0", "license": "MIT", "type": "software",
    "authors": [{"name": "The authors"}, {"family-names": "Doe", "given-names": "Jo", "affiliation": "U"}],
}  # fmt: skip


def git(root: Path, *words: str) -> None:
    names = {"GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "e"}
    date = {"GIT_AUTHOR_DATE": "2024-05-06T07:08:09 +0000", "GIT_COMMITTER_DATE": "2024-05-06T07:08:09 +0000"}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, env=environment | names | date)


@pytest.fixture
def project(tmp_path) -> Path:
    """A small project under git, with a record and all results built."""
    root = tmp_path / "project"
    demo.project(root, PAPER)
    (root / "scales/paper.yaml").write_text(json.dumps({"scale": "paper", "description": "As published."}))
    files = {
        "Snakefile": "rule all:\n", "src/code.py": "x = 1\n", "envs/requirements.lock": "a==1\n", "LICENSE": "MIT\n",
        "CITATION.cff": yaml.safe_dump(CITATION), "README.md": "# r\n",
        ".gitignore": "/results/*\n!/results/recorded/\n",
        "results/recorded/full/jobs.json": "{}\n", "docs/reproduction.md": "# r\n",
    }  # fmt: skip
    for name, text in (files | {f"results/paper/{name}": name for name in BUILT}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "c")
    return root


def made(root: Path) -> tuple[str, bytes]:
    return archive(root, load_workload(root, {"scale": "paper", "papers": ["demo"]}))


def unpacked(root: Path) -> tuple[str, dict[str, bytes]]:
    name, data = made(root)
    folder = name.removesuffix(".zip") + "/"
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None and all(entry.startswith(folder) for entry in file.namelist())
        return name, {entry.removeprefix(folder): file.read(entry) for entry in file.namelist()}


def test_everything_committed_and_built_is_in_it(project):
    name, files = unpacked(project)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project, capture_output=True, text=True).stdout
    assert name == f"fairfl-0.1.0-{head[:12]}.zip"
    tracked = subprocess.run(["git", "ls-files"], cwd=project, capture_output=True, text=True).stdout.split()
    assert "results/recorded/full/jobs.json" in tracked and "envs/requirements.lock" in tracked
    assert set(files) == {*tracked, *(f"results/paper/{name}" for name in BUILT), METADATA, SUMS}
    assert files["results/paper/demo/table1.csv"] == b"demo/table1.csv" and files["src/code.py"] == b"x = 1\n"
    sums = dict(line.split("  ")[::-1] for line in files[SUMS].decode().splitlines())
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != SUMS}


def test_the_same_commit_and_results_give_the_same_bytes(project, tmp_path, monkeypatch):
    first = made(project)
    time.sleep(0.01)
    for path in project.rglob("*.csv"):
        path.touch()
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    assert made(project) == first
    monkeypatch.undo()
    time.tzset()
    (project / "results/paper/demo/table1.csv").write_text("another")
    assert made(project)[0] == first[0] and made(project)[1] != first[1]


def test_the_metadata_are_a_ro_crate(project):
    _, files = unpacked(project)
    crate = json.loads(files[METADATA])
    assert crate["@context"] == "https://w3id.org/ro/crate/1.1/context"
    entities = {entity["@id"]: entity for entity in crate["@graph"]}
    assert len(entities) == len(crate["@graph"])
    assert entities[METADATA]["about"] == {"@id": "./"}
    assert {"@id": "https://w3id.org/ro/crate/1.1"} in entities[METADATA]["conformsTo"]
    root = entities["./"]
    assert root["@type"] == "Dataset" and root["datePublished"] == "2024-05-06" and root["name"] == "A work"
    assert entities[root["license"]["@id"]]["name"] == "MIT"
    assert [entities[of["@id"]]["name"] for of in root["creator"]] == ["The authors", "Jo Doe"]
    assert entities["#author-2"]["@type"] == "Person" and entities["#author-1"]["@type"] == "Organization"
    workflow = entities[root["mainEntity"]["@id"]]
    assert "ComputationalWorkflow" in workflow["@type"] and workflow["version"] == root["identifier"]
    assert entities["README.md"]["about"] == {"@id": "./"}
    # All that is named is there, all files of the results are named.
    for part in root["hasPart"]:
        assert part["@id"] in entities
        assert any(path.startswith(part["@id"]) for path in files), part
    assert {f"results/paper/{name}" for name in BUILT} <= set(entities)
    assert {"results/recorded/", "envs/requirements.lock", "CITATION.cff"} <= set(entities)
    table = entities["results/paper/demo/table1.beside.md"]
    assert table["name"] == "Table 1 of demo: table1.beside.md" and table["encodingFormat"] == "text/markdown"
    assert entities[table["isBasedOn"]["@id"]]["@type"] == "ScholarlyArticle"
    references = [value for entity in crate["@graph"] for value in entity.values() if isinstance(value, list | dict)]
    named = [of["@id"] for value in references for of in (value if isinstance(value, list) else [value]) if "@id" in of]
    assert {name for name in named if not name.startswith("http")} <= set(entities)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/code.py", "x = 2\n"),
        ("README.md", "# other\n"),
        ("results/recorded/full/curves.parquet", "new, not committed"),
        ("papers/reported/demo/new.csv", "new, not committed"),
    ],
)
def test_what_is_not_committed_is_refused_by_name(project, path, text):
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_text(text)
    with pytest.raises(FairflError, match=f"{path}: is not as at HEAD.*commit it first"):
        made(project)


def test_what_is_not_built_is_refused_by_name(project):
    for name in ("demo/figure2.png", "order.csv"):
        (project / "results/paper" / name).unlink()
    with pytest.raises(FairflError, match=r"results/paper/order.csv: no such file \(2 are missing\); `make recorded`"):
        made(project)


def test_without_git_it_says_so(project, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FairflError, match="git: not found"):
        made(project)


def test_a_folder_without_commits_is_refused(project):
    subprocess.run(["rm", "-rf", ".git"], cwd=project, check=True)
    with pytest.raises(FairflError, match="git status: "):
        made(project)


def test_the_command_writes_one_file(project, capsys, monkeypatch):
    monkeypatch.chdir(project)
    main([])
    (path,) = (project / "dist").iterdir()
    assert zipfile.is_zipfile(path) and f"wrote dist/{path.name}" in capsys.readouterr().out


def test_the_parts_that_it_describes_are_parts_of_this_project():
    root = Path(__file__).resolve().parents[3]
    assert all((root / name).exists() for name in [*module._PARTS, *module._READ])
