"""What plug-ins do to files, processes and sockets, while they do it."""

import subprocess
import sys
from pathlib import Path

import pytest

from fairfl.runtime import hooks
from fairfl.runtime.errors import PluginError

# Each is a line of a plug-in's function `f(path)`; `path` is a file of numbers, `folder` what it lies in.
REFUSED = [
    "open(path).read()",
    "path.read_text()",
    "path.write_text('x')",
    "os.listdir(folder)",
    "list(folder.iterdir())",
    "list(folder.walk()) if hasattr(folder, 'walk') else list(os.walk(folder))",
    "path.unlink()",
    "path.rename(folder / 'other')",
    "numpy.loadtxt(path)",
    "numpy.fromfile(path)",
    "numpy.save(folder / 'new.npy', numpy.zeros(2))",
    "pandas.read_csv(path)",
    "torch.load(path)",
    "getattr(torch.os, 'list' + 'dir')(folder)",
    "sklearn.datasets.load_svmlight_file(str(path))",
    "subprocess.run(['true'])",
    "os.system('true')",
    "socket.create_connection(('127.0.0.1', 9))",
    "contextlib.chdir(folder).__enter__()",
    "open(os.open(path, os.O_RDONLY)).read()",
    "os.environ['HOME']",
    "os.getenv('NO_SUCH', '1')",
    "'HOME' in os.environ",
    "dict(os.environ)",
]
PASSED = [
    "open(Path(__file__).with_name('beside.json')).read()",
    "sklearn.datasets.load_iris()",
    "importlib.import_module('wave')",
    "warnings.warn('line of source')",
    "open(os.devnull, 'w')",
    "Path.home(), importlib.util.find_spec('numpy')",  # a library reads a variable
]
PLUGIN = """
import contextlib, importlib, os, socket, subprocess, warnings
from pathlib import Path
import numpy, pandas, sklearn.datasets, torch
READS = ("beside.json",)
def f(path, folder):
    {line}
"""
MAIN = """
import importlib, sys
from pathlib import Path
from fairfl.runtime import watch
from fairfl.runtime.errors import PluginError
watch.begin([])
path = Path(sys.argv[1])
for number in map(int, sys.argv[2:]):
    module = importlib.import_module(f"fairfl.algorithms.mine{number}")
    try:
        module.f(path, path.parent)
        print("passed")
    except BaseException as error:
        print(type(error).__name__, error)
"""


def said(tmp_path: Path, lines: list[str]) -> list[str]:
    """A copy of what is needed of the package, with a plug-in for each line."""
    package = tmp_path / "src/fairfl"
    modules = ("__init__", "errors", "hooks", "plain_data", "watch")
    for name in ("__init__", *(f"runtime/{module}" for module in modules)):
        (package / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (package / f"{name}.py").write_bytes((hooks.PACKAGE / f"{name}.py").read_bytes())
    (package / "algorithms").mkdir()
    (package / "algorithms/__init__.py").touch()
    (package / "algorithms/beside.json").write_text("{}")
    for number, line in enumerate(lines):
        (package / f"algorithms/mine{number}.py").write_text(PLUGIN.format(line=line))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/numbers").write_text("1\n2\n")
    command = [sys.executable, "-P", "-W", "ignore", "-c", MAIN, str(tmp_path / "elsewhere/numbers")]
    command += map(str, range(len(lines)))
    done = subprocess.run(command, text=True, capture_output=True, env={"PYTHONPATH": str(tmp_path / "src")})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_what_a_plug_in_does_is_refused_by_file_and_line_and_what_libraries_need_is_not(tmp_path):
    found = said(tmp_path, [*REFUSED, *PASSED])
    for number, line in enumerate(REFUSED):
        refusal = f"PluginError src/fairfl/algorithms/mine{number}.py, line 7: "
        assert found[number].startswith(refusal), (line, found[number])
    assert found[len(REFUSED) :] == ["passed"] * len(PASSED)
    assert (tmp_path / "elsewhere/numbers").read_text() == "1\n2\n"
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["numbers"]
    assert issubclass(PluginError, Exception)
