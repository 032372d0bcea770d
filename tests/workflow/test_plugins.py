"""Plug-ins as a user writes them: what no plan could notice ends the job by name, and leaves no result."""

import re
from pathlib import Path

import pytest
import yaml

from tests.workflow.small_project import Project

pytestmark = [pytest.mark.long, pytest.mark.workflow, pytest.mark.xdist_group("plugins")]

HEAD = """import importlib, os, pkgutil, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
import torch
from fairfl.algorithms.interface import Aggregate, Algorithm
from fairfl.experiments.base import Strict
ROOT = Path(ROOT_)
BESIDE = Path(__file__).with_name("w.json")
{module}

class Config(Strict):
    pass


class Mine(Algorithm[Config]):
    measurements = ("loss_received",)

    def aggregate(self, state, reports):
        {line}
        return Aggregate(weights=reports.shares()), state
"""
# name -> (text of the module, line of a hook, what the log says)
W = r"algorithms/w\.json: this job reads it"
QFFL = r"algorithms/qffl\.py: this job reads it"
OUTSIDE = r"outside: this job reads it"
CODE = "src/fairfl/algorithms/qffl.py"
REFUSED = {
    "by_name": ("", "importlib.import_module('fairfl.algorithms.qffl')", QFFL),
    "by_create": ("from fairfl import algorithms", "algorithms.create('qffl', {'q': 1.0})", QFFL),
    "by_path": (
        "",
        "importlib.util.spec_from_file_location('x', BESIDE.with_name('qffl.py')).loader.get_code('x')",
        QFFL,
    ),
    "by_text": ("", "exec(BESIDE.with_name('qffl.py').read_text(), {'__name__': 'x'})", QFFL),
    "by_syspath": ("sys.path.insert(0, str(BESIDE.parent)); import qffl", "", QFFL),
    "unnamed": ("", "BESIDE.read_text()", W),
    "at_import": ("TEXT = BESIDE.read_text()", "", W),
    "in_thread": ("", "ThreadPoolExecutor().submit(BESIDE.read_text).result()", W),
    "by_loader": ("from importlib.machinery import SourceFileLoader", "SourceFileLoader('a', 'b').get_data(BESIDE)", W),
    "by_pkgutil": ("", "pkgutil.get_data('fairfl.algorithms', 'w.json')", W),
    "by_runtime": ("from fairfl.runtime import inputs", "inputs.read_bytes(BESIDE)", W),
    "by_library": ("", "np.fromfile(BESIDE, np.uint8)", W),
    "by_link": ("", "os.path.exists(ROOT / 'l') or (ROOT / 'l').symlink_to(BESIDE); (ROOT / 'l').read_text()", W),
    "outside": ("", "(ROOT / 'outside').read_text()", OUTSIDE),
    "after_mkdir": ("", "os.makedirs(ROOT / 'folder', exist_ok=True); (ROOT / 'folder/outside').read_text()", OUTSIDE),
    "after_failed_write": (
        "",
        "\n        try:\n            open(ROOT / 'outside', 'x')\n        except OSError:\n            (ROOT / 'outside').read_text()",
        OUTSIDE,
    ),
    "caught": ("", "\n        try:\n            BESIDE.read_text() / 0\n        except TypeError:\n            pass", W),
    "listed": ("", "os.listdir(ROOT / 'folder')", r"folder: this job reads it"),
    "proc": ("", "Path('/proc/self/environ').read_bytes()", r"/proc/\d+/environ: this job reads it"),
    "started": ("", "subprocess.run(['true'])", "this job starts a process"),
    "forked": ("", "os.fork() or os._exit(0)", "this job starts a process"),
}
PASSES = {
    "own_file": ("import tempfile", "f = tempfile.NamedTemporaryFile('w+'); f.write('1'); f.seek(0); f.read()", ""),
    "named": ("READS: tuple[str, ...] = ('named.json',)", "BESIDE.with_name('named.json').read_text()", ""),
    "by_statement": ("from fairfl.algorithms import fedavg", "from fairfl.algorithms.shared import simplex", ""),
}


def paper(names: list[str], **setting) -> str:
    """A paper with a table of these algorithms."""
    rows = [{"algorithm": name} for name in names]
    text = yaml.safe_load(Path("papers/template.yaml").read_text())
    text["paper"], text["algorithms"] = "mine", {name: {"title": name} for name in names}
    text["settings"] = {"mine": text["settings"]["template_digits"] | {"seeds": [0], "rounds": 8} | setting}
    table = text["artifacts"]["table1"] | {"settings": ["mine"], "rows": rows, "claims": []}
    text["artifacts"] = {"table1": table}
    return yaml.safe_dump(text, sort_keys=False)


def project(root, folder, algorithms: dict[str, tuple[str, ...]], **setting) -> Project:
    """A project with a paper of these own algorithms."""
    made = Project(root, folder / "project", "scale: tiny\ndescription: own\npatches: []\n", ["scale=tiny", "papers=mine"])
    for name, (module, line, *_) in algorithms.items():
        text = HEAD.replace("ROOT_", repr(str(folder))).format(module=module, line=line or "pass")
        made.write(f"src/fairfl/algorithms/{name}.py", text)
    for name in ("w", "named"):
        made.write(f"src/fairfl/algorithms/{name}.json", "0.5")
    made.write("papers/mine.yaml", paper(list(algorithms), **setting))
    (folder / "folder").mkdir()
    for path in ("outside", "folder/outside"):
        (folder / path).write_text("1")
    return made


def run(made: Project, *words: str, **options) -> str:
    return made.snakemake(*words, check=False, FAIRFL_DISPLAY="plain", **options).stdout


def log(made: Project, name: str) -> str:
    (path,) = made.folder.glob(f"results/tiny/logs/train/mine/{name}/*/seed0.log")
    return path.read_text()


def trained(made: Project) -> set[str]:
    return {path.parents[2].name for path in made.folder.glob("results/tiny/runs/mine/*/*/seed0/metrics.parquet")}


def test_what_a_job_reads_or_runs_without_a_hash_ends_it_by_name(root, tmp_path):
    made = project(root, tmp_path, REFUSED | PASSES)
    said = run(made, "-k")
    for name, (_, _, words) in REFUSED.items():
        assert re.search(f"error: .*{words}", log(made, name)), (name, log(made, name))
    assert trained(made) == set(PASSES), said
    made.write("src/fairfl/algorithms/named.json", "0.25")
    assert [name for name in made.jobs() if name.startswith("train/mine/n")] == ["train/mine/named/default/seed0"]
