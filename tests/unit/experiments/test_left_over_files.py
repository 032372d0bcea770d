"""One left-over file stops only what uses it, and is named by file and key."""

import os
import shutil
import subprocess
import sys

import pytest

from fairfl.experiments import plugins, strict
from fairfl.experiments.workload import load_workload, usual_config
from fairfl.runtime.validation import SpecError
from tests.defaults import copy_config, copy_papers

WITHOUT = "paper: {0}\ntitle: t\nsources: own\nmetrics: {{}}\nalgorithms: {{{1}: {{title: x}}}}\nartifacts: {{{2}}}\n"
STATIC = "table1: {kind: static_table, title: T, caption: c, header: [a], content: [[b]]}"
OPTIMUM, LENT = STATIC.replace("table1", "optimum"), STATIC[:-1] + ", settings: [half_s]}"


@pytest.fixture()
def clone(root, tmp_path):
    copy_papers(tmp_path)
    shutil.copytree(root / "scales", tmp_path / "scales")
    copy_config(tmp_path)
    return tmp_path


FAULTY = {
    "deleted.yaml": (WITHOUT.format("deleted", "gone", STATIC), "algorithms.gone: 'gone' is not one of the algorithms"),
    "half.yaml": ("paper: [half\n", "not valid YAML"),
    "latin.yaml": ("title: caf\xe9\n", "not UTF-8 text"),
    "train.yaml": (WITHOUT.format("train", "fedavg", STATIC), "'train' is a rule of the workflow"),
    "local.yaml": (WITHOUT.format("local", "fedavg", OPTIMUM), "'local_optimum' is a rule of the workflow"),
    "borrows.yaml": (WITHOUT.format("borrows", "fedavg", LENT), "takes a setting from another file: .*half.yaml"),
    "other.yml": ("", "call it other.yaml"),
    "moved.yaml": (None, "no such file"),
    "folder.yaml": (None, "cannot be read: Is a directory"),
}


def test_a_faulty_paper_stops_only_who_names_it(clone):
    papers = clone / "papers"
    whole = load_workload(clone, {"scale": "quick"}).config.papers
    for file, (text, _) in FAULTY.items():
        if text is not None:
            (papers / file).write_text(text, encoding="latin-1")
    (papers / ".#hidden.yaml").write_text("[")
    (papers / "moved.yaml").symlink_to("/nowhere.yaml")
    (papers / "folder.yaml").mkdir()
    workload = load_workload(clone, {"scale": "quick"})
    assert workload.config.papers == whole == sorted(usual_config(clone, workload.faulty).papers)
    for file, (_, words) in FAULTY.items():
        name = file.partition(".")[0]
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


def test_the_code_of_a_job_is_read_behind_a_link_and_beside_files_that_are_no_python(root, tmp_path):
    """A half-written module stops only who imports it; what Python reads, with a mark or in latin-1, is read."""
    package = tmp_path / "there/fairfl"
    shutil.copytree(root / "src/fairfl", package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src").symlink_to(package.parent)
    for name, content in {
        "good": b"import fairfl.bom\nimport fairfl.cookie\n",
        "uses": b"from fairfl import half\n",
        "bom": b"\xef\xbb\xbfx = 1\n",
        "cookie": b"# coding: latin-1\nx = '\xe9'\n",
        "half": b"def f(:\n",
        "latin": b"x = '\xe9'\n",
        os.fsdecode(b"al-\xe9"): b"x = 1\n",
    }.items():
        (package / f"{name}.py").write_bytes(content)
    (package / "moved.py").symlink_to("/nowhere.py")
    (package / "old.py").mkdir()
    code = "from fairfl.workflow.code_hash import closure; print(*closure('fairfl.jobs.fetch'), *closure('fairfl.{}'))"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    said = {}
    for name in ("good", "half", "uses"):
        command = [sys.executable, "-P", "-c", code.format(name)]
        said[name] = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert {"fairfl.data.download", "fairfl.bom", "fairfl.cookie"} <= {*said["good"].stdout.split()}, said[
        "good"
    ].stderr
    for name in ("half", "uses"):
        assert "fairfl/half.py, line 1: SyntaxError: invalid syntax" in said[name].stderr


MERGED = [
    ("a: &a {r: 4, b: 1}\nc: {<<: *a, r: 8}", {"r": 8, "b": 1}),
    ("a: &a {r: 1}\nb: &b {r: 2, s: 3}\nc: {<<: [*a, *b]}", {"r": 1, "s": 3}),
    ("c: {r: '010', s: 0x10, t: 0.05, u: 1.0e-3}", {"r": "010", "s": 16, "t": 0.05, "u": 0.001}),
]


@pytest.mark.parametrize(("text", "read"), MERGED)
def test_own_keys_count_before_merged_ones(tmp_path, text, read):
    (tmp_path / "a.yaml").write_text(text)
    assert strict.load(tmp_path / "a.yaml")["c"] == read
