"""Plug-ins as a user writes them: what no plan could notice ends the job by name, and leaves no result."""

import re
from pathlib import Path

import pytest
import yaml

from tests.workflow.small_project import Project

pytestmark = [pytest.mark.long, pytest.mark.workflow, pytest.mark.xdist_group("plugins")]

HEAD = """import collections, functools, importlib, os, pkgutil, random, subprocess, sys, time, uuid
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
    k: int = 10
    beta: float = 0.9


class Mine(Algorithm[Config]):
    measurements = ("loss_received",)

    def init_state(self, federation):
        return {{"n": torch.zeros(1)}}

    def aggregate(self, state, reports):
        v, loss, n = 0.0, float(reports.loss_received.mean()), state["n"] + 1
        {line}
        return Aggregate(weights=reports.shares() * (1 + 0.01 * float(v))), {{"n": n}}
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
        "\n        try: open(ROOT / 'outside', 'x')\n        except OSError: (ROOT / 'outside').read_text()",
        OUTSIDE,
    ),
    "caught": (
        "",
        "\n        try:\n            BESIDE.read_text() / 0\n        except TypeError:\n            pass",
        W,
    ),
    "listed": ("", "os.listdir(ROOT / 'folder')", r"folder: this job reads it"),
    "through_proc": ("", "Path(f'/proc/self/root{ROOT}/outside').read_bytes()", OUTSIDE),
    "random_device": ("", "Path('/dev/urandom').open('rb').read(1)", "/dev/urandom: this job reads it"),
    "started": ("", "subprocess.run(['true'])", "this job starts it"),
    "forked": ("", "os.fork() or os._exit(0)", "this job starts it"),
}
PASSES = {
    "own_file": ("import tempfile", "f = tempfile.NamedTemporaryFile('w+'); f.write('1'); f.seek(0); f.read()", ""),
    "named": ("READS: tuple[str, ...] = ('named.json',)", "BESIDE.with_name('named.json').read_text()", ""),
    "library": ("", "__import__('sklearn.cluster').cluster.KMeans(2, n_init=1).fit(torch.rand(9, 2).numpy())", ""),
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
    made = Project(
        root, folder / "project", "scale: tiny\ndescription: own\npatches: []\n", ["scale=tiny", "papers=mine"]
    )
    for name, (module, line, *_) in algorithms.items():
        text = HEAD.replace("ROOT_", repr(str(folder))).format(module=module, line=line or "pass")
        made.write(f"src/fairfl/algorithms/{name}.py", text)
    for name in ("w", "named"):
        made.write(f"src/fairfl/algorithms/{name}.json", "0.5")
    made.write("papers/mine.yaml", paper(list(algorithms), **setting))
    (folder / "folder").mkdir(parents=True)
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


# -- memory ---------------------------------------------------------------------------------------
# Each is killed once, when there are two checkpoints.
DEAD = """DEAD = ROOT / {name!r}
SAVED = Path(sys.argv[sys.argv.index('--checkpoint') + 1]).with_name('.checkpoint.pt.before')
"""
KILL = "time.sleep(0.02); DEAD.exists() or not SAVED.exists() or (DEAD.touch(), os.kill(os.getpid(), 9)); "
REMEMBERS = {
    "late": ("M = []", "M.append(loss); v = 0 if len(M) < 6 else M[-6] - M[-1]"),
    "wide": ("M = []", "reports.loss_received.topk(self.config.k); M.append(loss); v = len(M) % 5"),
    "many_clients": (
        "M = []",
        "M.append(loss); v = len(M) if len(reports.clients) > 8 and reports.delta.shape[1] > 100 else 0",
    ),
    "with_beta": ("M = []", "M.append(loss); v = sum(M) if self.config.beta > 0.5 else 0"),
    "cached": ("C = functools.cache(lambda place: [])", "C(1).append(1); v = len(C(1))"),
    "in_class": ("class D: seen = collections.deque(maxlen=40)", "D.seen.append(1); v = len(D.seen)"),
    "on_self": ("", "vars(self)['n'] = vars(self).get('n', 0) + 1; v = vars(self)['n']"),
    "own_generator": ("G = torch.Generator().manual_seed(1)", "v = float(torch.rand(1, generator=G))"),
    "in_environment": ("", "v = float(os.environ.get('N', 0)) + 1; os.environ['N'] = str(v)"),
    "in_library": ("", "torch.n = getattr(torch, 'n', 0) + 1; v = torch.n"),
    "clock": ("", "v = time.time_ns() % 1000"),
    "own_file": ("import tempfile; F = tempfile.TemporaryFile()", "F.write(b'1'); F.flush(); v = F.tell()"),
}
CONTINUES = {
    "in_state": ("", "v = n"),
    "drawn": ("", "v = random.random() + np.random.rand() + float(torch.rand(1))"),
    "without_seed": ("", "v = np.random.default_rng().random() + random.Random().random() + os.urandom(1)[0]"),
}


def test_a_run_that_resumes_has_the_bits_of_one_that_was_not_interrupted_or_is_refused(root, tmp_path):
    lines = {
        name: (DEAD.format(name=name) + module, KILL + line) for name, (module, line) in (REMEMBERS | CONTINUES).items()
    }
    made = project(root, tmp_path, lines, rounds=400)
    config = ("checkpoint_seconds=0.01",)
    run(made, "-k", config=config)
    assert not trained(made) and {path.name for path in tmp_path.iterdir()} >= lines.keys()
    run(made, "-k", config=config)
    for name in REMEMBERS:
        assert re.search(
            "error: played again in a new process, .* has other bits in .* to begin again: rm results/", log(made, name)
        ), name
    assert trained(made) == set(CONTINUES)
    run(made, "-k", config=config)
    assert trained(made) == set(CONTINUES)  # the same command does not pass what it refused
    resumed = {
        name: (made.folder / f"results/tiny/runs/mine/{name}/default/seed0/metrics.parquet").read_bytes()
        for name in CONTINUES
    }
    again = project(root, tmp_path / "again", {name: lines[name] for name in CONTINUES}, rounds=400)
    for name in CONTINUES:
        (tmp_path / "again" / name).touch()
    run(again)
    for name, content in resumed.items():
        path = again.folder / f"results/tiny/runs/mine/{name}/default/seed0/metrics.parquet"
        assert path.read_bytes() == content, name
