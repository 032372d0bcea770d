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
BESIDE, QFFL = (Path(__file__).with_name(name) for name in ("w.json", "qffl.py"))
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


def tried(line: str, then: str) -> str:
    """A line of a hook, and what follows its error."""
    return f"\n        try: {line}\n        except (OSError, TypeError): {then}"


# name -> (text of the module, line of a hook, what the log says)
W = r"algorithms/w\.json: this job reads it"
QFFL = r"algorithms/qffl\.py: this job reads it"
OUTSIDE = r"outside: this job reads it"
REFUSED = {
    "by_name": ("", "importlib.import_module('fairfl.algorithms.qffl')", QFFL),
    "by_create": ("from fairfl import algorithms", "algorithms.create('qffl', {'q': 1.0})", QFFL),
    "by_path": ("", "importlib.util.spec_from_file_location('x', QFFL).loader.get_code('x')", QFFL),
    "by_text": ("", "exec(QFFL.read_text(), {'__name__': 'x'})", QFFL),
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
    "after_failed_write": ("", tried("open(ROOT / 'outside', 'x')", "(ROOT / 'outside').read_text()"), OUTSIDE),
    "caught": ("", tried("BESIDE.read_text() / 0", "pass"), W),
    "listed": ("", "os.listdir(ROOT / 'folder')", r"folder: this job reads it"),
    "through_proc": ("", "Path(f'/proc/self/root{ROOT}/outside').read_bytes()", OUTSIDE),
    "random_device": ("", "Path('/dev/urandom').open('rb').read(1)", "/dev/urandom: this job reads it"),
    "started": ("", "subprocess.run(['true'])", "this job starts it"),
    "forked": ("", "os.fork() or os._exit(0)", "this job starts it"),
}  # fmt: skip
PASSES = {
    "own_file": ("import tempfile", "f = tempfile.NamedTemporaryFile('w+'); f.write('1'); f.seek(0); f.read()"),
    "own_folder": ("import tempfile", "tempfile.TemporaryDirectory().cleanup()"),
    "named": ("READS: tuple[str, ...] = ('named.json',)", "BESIDE.with_name('named.json').read_text()"),
    "library": ("", "__import__('sklearn.cluster').cluster.KMeans(2, n_init=1).fit(torch.rand(9, 2).numpy())"),
    "by_statement": ("from fairfl.algorithms import fedavg", "from fairfl.algorithms.shared import simplex"),
}  # fmt: skip


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
WORDS = [*sys.argv, '--checkpoint', 'none']
SAVED = Path(WORDS[WORDS.index('--checkpoint') + 1]).with_name('.checkpoint.pt.before')
"""
KILL = "time.sleep(0.02); DEAD.exists() or not SAVED.exists() or (DEAD.touch(), os.kill(os.getpid(), 9)); "
REMEMBERS = {
    "late": ("M = []", "M.append(loss); v = 0 if len(M) < 6 else M[-6] - M[-1]"),
    "wide": ("M = []", "reports.loss_received.topk(self.config.k); M.append(loss); v = len(M) % 5"),
    "wide_only": ("M = []", "M.append(loss); v = len(M) * (len(reports.clients) > 8 and reports.delta.shape[1] > 100)"),
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


# -- data sets, partitions, models, plots -----------------------------------------------------------
DATA = """import os, uuid
import numpy as np
from pathlib import Path
from fairfl.data import checks
from fairfl.data.formats import csv_table
from fairfl.data.interface import assemble
from fairfl.experiments.base import Strict

FILE = csv_table.local_file("a.csv")

class Config(Strict):
    pass

def files(options):
    return (FILE,)

def prepare(raw, options, seed):
    path = checks.usable(raw, FILE, "{name}")
    x = np.loadtxt(path, dtype=np.float32)[:, None]
    {line}
    return assemble("{name}", 2, "own", x, (x[:, 0] > 5).astype(np.int64))
"""
DRAWS = "x = x + np.random.default_rng().random() + os.urandom(1)[0] / 256 + uuid.uuid4().int % 2"
PARTITION = """import numpy as np
from fairfl.experiments.base import Strict
from fairfl.partition.interface import Assignment

class Config(Strict):
    pass

def assign(table, clients, config, rng):
    order = np.random.Generator(np.random.PCG64()).permutation(len(table.labels))
    return Assignment([np.sort(part) for part in np.array_split(order, clients)])
"""
MODEL = """import os, sys, time
from pathlib import Path
import torch
from torch import nn
from fairfl.experiments.base import Strict
{module}

class Config(Strict):
    pass

class Own(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.last, self.calls = nn.Linear(inputs, outputs), 0
        with torch.no_grad():
            draw = torch.Generator()
            draw.seed()
            self.last.weight.copy_(torch.rand(outputs, inputs, generator=draw))

    def forward(self, x):
        {line}
        return self.last(x)

def build(config, shape, outputs):
    return Own(shape[0], outputs)
"""


def with_parts(root, folder: Path, data: str = "pass", model: tuple[str, str] = ("", "pass"), **setting) -> Project:
    """A project whose data set, partitioner and model are own."""
    parts = {"data": {"name": "owndata"}, "partition": {"name": "owndeal"}, "model": {"name": "ownmodel"}}
    made = project(root, folder, {"plain": ("", "")}, clients=4, clients_per_round=4, **parts, **setting)
    made.write("src/fairfl/data/owndata.py", DATA.format(name="owndata", line=data))
    made.write("src/fairfl/partition/owndeal.py", PARTITION)
    made.write("src/fairfl/models/ownmodel.py", MODEL.format(module=model[0], line=model[1]))
    made.write("data/owndata/a.csv", "".join(f"{n % 11}\n" for n in range(200)))
    made.write("data/owndata/scale.txt", "2")
    return made


def test_what_is_given_no_seed_repeats_in_every_kind_of_part(root, tmp_path):
    found = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        made = with_parts(root, folder, DRAWS)
        said = run(made)
        assert trained(made) == {"plain"}, said
        found.append([path.read_bytes() for path in sorted(made.folder.glob("results/**/seed0*.parquet"))])
        found[-1] += [path.read_bytes() for path in sorted(made.folder.glob("results/tiny/runs/**/*.parquet"))]
    assert len(found[0]) > 1 and found[0] == found[1]


def test_a_data_set_reads_the_files_that_it_lists_and_a_model_remembers_nothing(root, tmp_path):
    made = with_parts(root, tmp_path / "data", "x = x * float(Path(path).with_name('scale.txt').read_text())")
    assert re.search(r"owndata/scale\.txt: this job reads it", run(made))
    assert not list(made.folder.glob("results/**/*.safetensors"))
    folder = tmp_path / "model"
    dead = f"ROOT = Path({str(folder)!r})\n" + DEAD.format(name="dead")
    kill = KILL.replace("time.sleep(0.02)", "time.sleep(0.001)").replace("reports", "self")
    line = f"self.calls += 1; x = x * (1 + self.calls / 1e4); {kill}"
    made = with_parts(root, folder, model=(dead, line), rounds=400)
    run(made, config=("checkpoint_seconds=0.01",))
    assert (folder / "dead").exists() and not trained(made)
    run(made, config=("checkpoint_seconds=0.01",))
    assert "other bits in " in log(made, "plain") and not trained(made)


def test_a_copy_that_is_written_to_while_jobs_run_leaves_no_result_even_if_it_is_put_back(root, tmp_path):
    line = "w = BESIDE.with_name('fedavg.py'); w.touch()"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")  # nor does it matter by which name the project is called
    made = project(root, tmp_path / "link", {"touches": ("from fairfl.algorithms import fedavg", line)})
    run(made)
    assert "was written to since this copy was made" in log(made, "touches") and not trained(made)
    made.write("src/fairfl/algorithms/touches.py", HEAD.replace("ROOT_", "'x'").format(module="", line="pass"))
    run(made)
    assert trained(made) == {"touches"}
