"""What no import graph can see of a module is hashed with it, or refused by file and line."""

import pytest

from fairfl.runtime.errors import FairflError
from fairfl.workflow import code_hash, unseen
from fairfl.workflow.unseen import named


@pytest.fixture
def look(tmp_path):
    """The names of the files that a module names."""

    def run(text: str, module: str = "fairfl.algorithms.mine") -> list[str]:
        return [path.name for path in named(module, tmp_path / "mine.py", text.encode())]

    (tmp_path / "mine.json").write_text("{}")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_text("")
    return run


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = open('rates.json')", "calls open"),
        ("from pathlib import Path\n\ndef f():\n    return Path(__file__).with_name('a').read_text()", "read_text"),
        ("from pathlib import Path\nread = Path.read_bytes", "read_bytes"),
        ("from pathlib import Path\n\ndef f():\n    Path('log').write_text('a')", "write_text"),
        ("from pathlib import Path\nn = len(list(Path('.').glob('*')))", "glob"),
        ("import numpy as np\nx = np.load('a.npy')", "numpy.load"),
        ("from numpy import loadtxt as l\nx = l('a.txt')", "numpy.loadtxt"),
        ("import torch\n\ndef f():\n    return torch.load('a.pt')", "torch.load"),
        ("import pandas as pd\nx = pd.read_csv('a.csv')", "pandas.read_csv"),
        ("from safetensors.torch import load_file\nx = load_file('a')", "load_file"),
        ("import json\nx = json.load(open('a'))", "calls"),
        ("import importlib\nm = importlib.import_module('outside')", "imports importlib"),
        ("from importlib import import_module", "imports importlib.import_module"),
        ("m = __import__('outside')", "uses __import__"),
        ("exec('import outside')", "uses exec"),
        ("f = eval", "uses eval"),
        ("f = getattr(__builtins__, 'open')", "asks for open by name"),
        ("import os\nx = os.environ.get('RATE')", "imports os"),
        ("from os import getenv", "imports os.getenv"),
        ("import subprocess", "imports subprocess"),
        ("import time", "imports time"),
        ("import torch\nf = torch.ops.load_library('a.so')", "torch.ops.load_library"),
        ("def f():\n    import cvxpy", "imports cvxpy, which is none of the pinned libraries"),
        ("import torch\nx = getattr(torch, 'load')('a')", "asks for load by name"),
        ("import numpy as np\nx = np.os.environ['RATE']", "uses numpy.os.environ"),
        ("x = __loader__.get_data('a')", "uses __loader__"),
        ("f = globals()['__builtins__']", "uses globals"),
        ("import numpy as np\nnp.save('a', 1)", "numpy.save"),
        ("import mine_too", "imports mine_too, which is none"),
    ],
)
def test_an_algorithm_that_reads_what_nobody_sees_is_refused(look, text, what):
    line = text.count("\n") + 1 if "cvxpy" in text else r"\d"
    with pytest.raises(FairflError, match=rf"mine\.py, line {line}: .*{what}") as said:
        look(text)
    assert "\n" not in str(said.value) and "READS" in str(said.value)


@pytest.mark.parametrize("package", ["modifiers", "partition", "metrics", "algorithms.shared", "models", "data"])
def test_so_are_other_plug_ins(look, package):
    with pytest.raises(FairflError, match="mine.py, line 2: .*open"):
        look("# a\nx = open('rates.json')", f"fairfl.{package}.mine")
    look("# a\nx = open('rates.json')", "fairfl.jobs.mine")


def test_what_arguments_lead_to_may_be_read_by_data_sets_and_models(look):
    text = "def prepare(raw):\n    path = raw / 'a'\n    for file in sorted(path):\n        file.read_bytes()\n"
    look(text, "fairfl.data.mine")
    with pytest.raises(FairflError, match=r"line 4: calls file\.read_bytes"):
        look(text)
    with pytest.raises(FairflError, match="line 4: calls .*read_bytes"):
        look(text.replace("path = raw /", "path = HOME /"), "fairfl.data.mine")
    with pytest.raises(FairflError, match=r"line 1: imports os\.environ"):
        look("from os import environ", "fairfl.data.mine")


def test_files_that_a_module_names(look):
    opened = "import json\nfrom pathlib import Path\nREADS = ('mine.json',)\n"
    for read in ("Path(__file__).with_name('mine.json').read_text()", "Path(__file__).with_name(*READS).read_text()"):
        assert look(f"{opened}X = json.loads({read})") == ["mine.json"]
    assert look(f"{opened}P = Path(__file__).with_name('mine.json')\n\ndef f():\n    return P.read_text()")
    assert look("READS = ('mine.json',)", "fairfl.simulation.mine") == ["mine.json"]
    with pytest.raises(FairflError, match=r"line 4: calls .*read_text"):
        look(f"{opened}X = Path('/etc/other.json').read_text()")
    with pytest.raises(FairflError, match=r"READS: 'none\.json' is no file beside it"):
        look("READS = ('none.json',)")
    for place in ("../mine.json", "sub/file", "sub", ""):
        with pytest.raises(FairflError, match="is no file beside it"):
            look(f"READS = ({place!r},)")
    with pytest.raises(FairflError, match="line 1: READS: expected names"):
        look("READS = (x,)")


def test_its_files_count_for_a_modules_hash(monkeypatch, tmp_path):
    (tmp_path / "mine.py").write_text("READS = ('rules.json',)")
    monkeypatch.setattr(code_hash, "_path", lambda module: tmp_path / "mine.py")
    monkeypatch.setattr(code_hash, "_source", lambda module: (tmp_path / "mine.py").read_bytes())
    hashes = set()
    for text in ("1", "2"):
        (tmp_path / "rules.json").write_text(text)
        hashes.add(code_hash.module_hash.__wrapped__("fairfl.simulation.mine", True))
    assert len(hashes) == 2


def test_no_module_of_a_training_finds_files_beside_it_unnamed():
    found = [
        (kind, path) for kind in ("algorithms", "models") for path in (code_hash.ROOT / "fairfl" / kind).glob("*.py")
    ]
    plugins = [f"fairfl.{kind}.{path.stem}" for kind, path in found if path.stem != "__init__"]
    for module in code_hash.closure("fairfl.jobs.train", "fairfl.jobs.prepare", *plugins):
        text = code_hash._path(module).read_text()
        assert "__file__" not in text or "READS" in text or module == "fairfl.experiments.plugins", module


def test_libraries_are_those_of_the_project(root):
    """Each is asked for in pyproject.toml, or by what is; their versions are in envs/."""
    import tomllib
    from importlib.metadata import packages_distributions

    pinned = (root / "envs/requirements.lock").read_text().lower()
    names = packages_distributions()
    for library in unseen.LIBRARIES & names.keys():
        assert any(f"\n{name.lower()}==" in pinned for name in names[library]), library
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    asked = " ".join([*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]).lower()
    for library in unseen.LIBRARIES - {"tokenizers"}:  # comes with transformers
        assert any(name.lower() in asked for name in names.get(library, [library])), library


def test_all_plug_ins_pass():
    for module in code_hash._graph().modules:
        path = code_hash._path(module)
        assert named(module, path, path.read_bytes()) is not None
