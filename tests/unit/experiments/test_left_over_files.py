"""One left-over file stops only what uses it, and is named by file and key."""

import os
import shutil
import subprocess
import sys
from importlib.util import spec_from_file_location

import pytest

from fairfl.experiments import plugins, strict
from fairfl.experiments.workload import load_workload, usual_config
from fairfl.runtime.validation import SpecError
from fairfl.workflow import code_hash
from tests.defaults import copy_config, copy_papers

WITHOUT = "paper: {0}\ntitle: t\nsources: own\nmetrics: {{}}\nalgorithms: {{{1}: {{title: x}}}}\nartifacts: {{{2}}}\n"
STATIC = "table1: {kind: static_table, title: T, caption: c, header: [a], content: [[b]]}"


@pytest.fixture()
def clone(root, tmp_path):
    copy_papers(tmp_path)
    shutil.copytree(root / "scales", tmp_path / "scales")
    copy_config(tmp_path)
    return tmp_path


def test_a_faulty_paper_stops_only_who_names_it(clone):
    papers = clone / "papers"
    whole = load_workload(clone, {"scale": "quick"}).config.papers
    for name, text in (
        ("deleted", WITHOUT.format("deleted", "gone", STATIC).encode()),
        ("half", b"paper: [half\n"),
        ("latin", b"title: caf\xe9\n"),
        ("train", WITHOUT.format("train", "fedavg", STATIC).encode()),
        ("local", WITHOUT.format("local", "fedavg", STATIC.replace("table1", "optimum")).encode()),
        ("borrows", WITHOUT.format("borrows", "fedavg", STATIC[:-1] + ", settings: [half_s]}").encode()),
        (".#hidden", b"["),
    ):
        (papers / f"{name}.yaml").write_bytes(text)
    (papers / "moved.yaml").symlink_to("/nowhere.yaml")
    (papers / "folder.yaml").mkdir()
    (papers / "other.yml").touch()
    workload = load_workload(clone, {"scale": "quick"})
    assert workload.config.papers == whole == sorted(usual_config(clone, workload.faulty).papers)
    for name, words in {
        "deleted": "algorithms.gone: 'gone' is not one of the algorithms",
        "half": "not valid YAML",
        "latin": "not UTF-8 text",
        "train": "'train' is a rule of the workflow",
        "local": "'local_optimum' is a rule of the workflow",
        "borrows": "takes a setting from another file: .*half.yaml",
        "moved": "no such file",
        "folder": "cannot be read: Is a directory",
        "other": "call it other.yaml",
    }.items():
        with pytest.raises(SpecError, match=words):
            load_workload(clone, {"scale": "quick", "papers": [name]})
        assert workload.faulty[name].startswith(f"papers/{name}.y")
    assert load_workload(clone, {"scale": "quick", "papers": ["fedfv"]}).faulty == {}


def test_what_editors_and_copies_leave_beside_plugins_is_none(tmp_path, monkeypatch):
    folder = tmp_path / "src/fairfl/algorithms"
    folder.mkdir(parents=True)
    monkeypatch.setattr(plugins, "PACKAGE", folder.parent)
    text = "import x\nclass Config(Strict): ..."
    for name in ("good", "Upper", "a copy", "no.dots", "twice"):
        (folder / f"{name}.py").write_text(text)
    (folder / "bom.py").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (folder / "plain.py").write_text("x = 1")
    (folder / ".#good.py").symlink_to("me@host.1:2")
    (folder / "moved.py").symlink_to("/nowhere.py")
    (folder / "old.py").mkdir()
    (folder / "twice").mkdir()
    (folder / "twice/__init__.py").touch()
    plugins.names.cache_clear()
    try:
        assert plugins.names("algorithms") == ("bom", "good")
        for name, why in (("moved", "is a link to nothing"), ("plain", "no `class Config"), ("twice", "folder twice/")):
            with pytest.raises(ValueError, match=f"src/fairfl/algorithms/{name}.py: {why}"):
                plugins.known("algorithms")(name)
    finally:
        plugins.names.cache_clear()


def test_the_code_of_a_job_is_read_beside_files_that_are_no_python(tmp_path, monkeypatch):
    """A half-written module stops only who imports it; what Python reads, with a mark or in latin-1, is read."""
    package = tmp_path / "fairfl"
    package.mkdir()
    for name, data in {
        "__init__": b"",
        "good": b"import fairfl.bom\nimport fairfl.cookie\n",
        "uses": b"from fairfl import half\n",
        "bom": b"\xef\xbb\xbfx = 1\n",
        "cookie": b"# coding: latin-1\nx = '\xe9'\n",
        "half": b"def f(:\n",
        "latin": b"x = '\xe9'\n",
    }.items():
        (package / f"{name}.py").write_bytes(data)
    (package / "moved.py").symlink_to("/nowhere.py")
    (package / "old.py").mkdir()
    (package / os.fsdecode(b"al-\xe9.py")).write_bytes(b"x = 1\n")
    spec = spec_from_file_location("fairfl", package / "__init__.py", submodule_search_locations=[str(package)])
    monkeypatch.setattr(code_hash, "ROOT", tmp_path)
    monkeypatch.setattr(code_hash, "_finder", code_hash._Finder())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    cached = (code_hash._graph, code_hash.closure, code_hash._source, code_hash._hashed)
    try:
        for function in cached:
            function.cache_clear()
        assert {"fairfl.bom", "fairfl.cookie"} <= code_hash.closure("fairfl.good").keys()
        for entry in ("fairfl.half", "fairfl.uses"):
            with pytest.raises(Exception, match=r"fairfl/half.py, line 1: SyntaxError: invalid syntax"):
                code_hash.closure(entry)
    finally:
        for function in cached:
            function.cache_clear()


def test_the_package_may_lie_behind_a_link(root, tmp_path):
    (tmp_path / "src").symlink_to(root / "src")
    code = "from fairfl.workflow import code_hash; print(*code_hash.closure('fairfl.jobs.fetch'))"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    said = subprocess.run([sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True)
    assert "fairfl.data.download" in said.stdout, said.stderr


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a: &a {r: 4, b: 1}\nc: {<<: *a, r: 8}", {"r": 8, "b": 1}),
        ("a: &a {r: 1}\nb: &b {r: 2, s: 3}\nc: {<<: [*a, *b]}", {"r": 1, "s": 3}),
        ("c: {r: '010', s: 0x10, t: 0.05, u: 1.0e-3}", {"r": "010", "s": 16, "t": 0.05, "u": 0.001}),
    ],
)
def test_own_keys_count_before_merged_ones(tmp_path, text, read):
    (tmp_path / "a.yaml").write_text(text)
    assert strict.load(tmp_path / "a.yaml")["c"] == read
