"""Code fingerprints: which modules a job executes, and which of them count."""

import ast
import re
from pathlib import Path

import pytest

from fairfl.experiments import declaration
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import digest
from fairfl.workflow import code_hash
from fairfl.workflow.code_hash import PLUMBING, ROOT, closure

JOBS = sorted(path.stem for path in (ROOT / "fairfl/jobs").glob("*.py") if "def spec(" in path.read_text())
MODELS = ("fairfl.models.mlp", "fairfl.algorithms.eagle", "fairfl.modifiers.dp")


def test_plumbing_does_not_count():
    """Ownership, errors, the choice of a GPU, progress: a message there trains nothing again."""
    found = closure("fairfl.jobs.train", *MODELS)
    assert [name for name in found if f"{name}.".startswith(PLUMBING)] == []
    assert {"fairfl.simulation.generators", "fairfl.values.json_text", "fairfl.values.result_files"} <= found.keys()


def test_plumbing_that_reads_files_is_known():
    """A module that turns bytes into values belongs to fairfl.values, unless none of them gets into a number."""
    libraries = {"csv", "json", "numpy", "pandas", "pyarrow", "safetensors", "torch", "yaml"}
    found = set()
    for path in (ROOT / "fairfl/runtime").glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            if libraries & {name.partition(".")[0] for name in names}:
                found.add(f"fairfl.{path.relative_to(ROOT / 'fairfl').with_suffix('').as_posix().replace('/', '.')}")
    assert found == {
        "fairfl.runtime.fingerprint",  # writes specs
        "fairfl.runtime.machine",  # asks torch for the name of the GPU
        "fairfl.runtime.locks",  # who owns a folder
        "fairfl.runtime.notes",  # hashes, for specs, and what saves time
        "fairfl.runtime.records",  # whether a job must run
        "fairfl.runtime.submission",  # how jobs start on a cluster
        "fairfl.runtime.warm_start.launch",  # how jobs start
        "fairfl.runtime.warm_start.server",
    }


@pytest.mark.parametrize("job", JOBS)
def test_no_job_reads_programs(job):
    """Otherwise docstrings and annotations of all that it runs count."""
    modules = [name for name in closure(f"fairfl.jobs.{job}", *MODELS) if "/" not in name]
    assert list(filter(code_hash._reads_programs, modules)) == []


def test_docstrings_count_where_some_module_reads_them(monkeypatch):
    entries = ("fairfl.jobs.train", "fairfl.algorithms.eagle")
    closure.cache_clear()
    before = closure(*entries)
    closure.cache_clear()
    monkeypatch.setattr(code_hash, "_reads_programs", lambda module: module == "fairfl.algorithms.eagle")
    after = closure(*entries)
    closure.cache_clear()
    assert after.keys() == before.keys() and after["fairfl.simulation.seeds"] != before["fairfl.simulation.seeds"]


@pytest.mark.parametrize("job", ["fetch", "prepare", "partition", "local_optimum", "surrogate", "train", "tune"])
def test_what_stands_in_papers_and_how_results_are_shown_trains_nothing(job):
    above = {name.split(".")[1] for name in closure(f"fairfl.jobs.{job}") if "." in name}
    assert above & {"judgement", "reporting", "metrics", "workflow"} == set()
    experiments = {name for name in closure(f"fairfl.jobs.{job}") if name.startswith("fairfl.experiments.")}
    assert experiments <= {f"fairfl.experiments.{name}" for name in ("base", "parts", "plugins")}  # what checks specs


def test_what_a_declaration_imports_counts_where_declarations_are_read():
    """Else a job that reads one is refused at its end: no change there would be noticed."""
    ours = {name for name in declaration._CHEAP if name.startswith("fairfl.")}
    found = [closure(f"fairfl.jobs.{job}") for job in JOBS]
    reading = [code for code in found if "fairfl.experiments.declaration" in code]
    assert len(ours) > 1 and reading and all(ours <= code.keys() for code in reading)


@pytest.mark.parametrize("job", ["local_optimum", "surrogate"])
def test_modifiers_do_not_count_where_none_can_act(job):
    assert [name for name in closure(f"fairfl.jobs.{job}") if name.startswith("fairfl.modifiers")] == []


@pytest.mark.parametrize("job", ["collect", "table", "figure"])
def test_claims_and_the_page_do_not_count_elsewhere(job):
    found = closure(f"fairfl.jobs.{job}")
    assert [name for name in found if name.startswith(("fairfl.judgement.claims", "fairfl.reporting.page"))] == []


def test_the_files_that_a_module_names_count():
    found = closure("fairfl.jobs.page")
    files = {name for name in found if "/" in name}
    assert {f"fairfl/reporting/page/{name}" for name in ("page.css", "page.html.j2", "page.js")} <= files
    assert found["fairfl/reporting/page/page.css"] == digest(Path("src/fairfl/reporting/page/page.css").read_bytes())


READS = {
    "READS = ('rules.json',)": ["rules.json"],
    "READS: tuple[str, ...] = ('rules.json',)": ["rules.json"],
    "READS = ('rules.json',)\nREADS = ['other.json']": ["rules.json", "other.json"],  # never too few
    "x = 'READS'": [],
}
NO_READS = {
    "READS = ('a/b',)": "line 1: READS: expected once",
    "READS = ('rules.json', 'missing')": "'missing' is not a file next to the module",
    "x = 1\nREADS = (x,)": "line 2: READS: expected once",
    "READS = ()\nREADS += ('rules.json',)": "line 2: READS: expected once",
    "if True:\n    READS = ('rules.json',)": "line 2: READS: expected once",
    "for READS in [('rules.json',)]: pass": "line 1: READS: expected once",
    "READS: tuple": "line 1: READS: expected once",
    "READS, x = ('rules.json',), 1": "line 1: READS: expected once",
    "(READS := ('rules.json',))": "line 1: READS: expected once",
}


@pytest.mark.parametrize("text", [*READS, *NO_READS])
def test_what_a_module_names_is_seen_or_refused(tmp_path, text):
    for name in ("rules.json", "other.json"):
        (tmp_path / name).touch()
    if text in READS:
        assert [path.name for path in code_hash._beside(tmp_path / "mine.py", text.encode())] == READS[text]
    else:
        with pytest.raises(FairflError, match=re.escape(NO_READS[text])):
            code_hash._beside(tmp_path / "mine.py", text.encode())


def test_an_edit_of_equal_size_is_another_hash(monkeypatch, tmp_path):
    path = tmp_path / "mine.py"
    monkeypatch.setattr(code_hash, "_path", lambda module: path)
    monkeypatch.setattr(code_hash, "_source", lambda module: path.read_bytes())
    hashes = {path.write_text(text) and code_hash._hashed.__wrapped__("mine", False) for text in ("x = 1", "x = 2")}
    assert len(hashes) == 2


def test_hashes_are_kept_by_content_for_the_next_plan(monkeypatch, tmp_path):
    monkeypatch.setattr(code_hash, "MEMORY", tmp_path / "hashes.json")
    hashed = code_hash._hashed.__wrapped__
    try:
        monkeypatch.setattr(code_hash, "_used", {})
        code_hash._seen.cache_clear()
        first = hashed("fairfl.algorithms.fedavg", False)
        code_hash.save()
        monkeypatch.setattr(code_hash, "_used", {})
        code_hash._seen.cache_clear()
        with monkeypatch.context() as without:
            without.setattr(code_hash, "normal_form", None)
            assert hashed("fairfl.algorithms.fedavg", False) == first
            with pytest.raises(TypeError):
                hashed("fairfl.algorithms.fedavg", True)
        (tmp_path / "hashes.json").write_text("[1")
        code_hash._seen.cache_clear()
        assert hashed("fairfl.algorithms.fedavg", False) == first
    finally:
        code_hash._seen.cache_clear()
