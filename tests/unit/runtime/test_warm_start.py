"""Warm starts: a job behaves as if `python -m MODULE` had run it, whatever happens to client, server and workflow."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fairfl
from fairfl.runtime.warm_start import client as client_file
from fairfl.runtime.warm_start import launch
from fairfl.runtime.warm_start.client import VARIABLE

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the server needs Linux"),
    pytest.mark.xdist_group("start"),
    pytest.mark.slow,
]

CLIENT = [sys.executable, "-P", "-S", client_file.__file__, "start_job"]
PLAIN = [sys.executable, "-P", "-m", "start_job"]
PRELOADED = ["fairfl.metrics", "fairfl.metrics.fairness", "fairfl.metrics.registry"]
# Prints that it runs and who started it, then sleeps.
SLEEP = "print(os.getpid(), os.getppid(), flush=True); rest()"


def without_imports(grace):
    """Command of a server that is ready in a moment, and has so many seconds of patience."""
    bare = f"server.preload = lambda *_: None; server.GRACE = {grace}; server.main()"
    return [*launch.StartServer.command[:2], "-c", f"from fairfl.runtime.warm_start import server\n{bare}"]


class Bare(launch.StartServer):
    """Kills no job because the machine is slow."""

    command = without_imports(600)


class Impatient(launch.StartServer):
    command = without_imports(0)


@contextlib.contextmanager
def running(kind=Bare, **how):
    server = kind()
    server.start(**how)
    try:
        yield server
    finally:
        with contextlib.suppress(OSError, AttributeError):  # it is gone, or was stopped
            os.kill(server.process.pid, signal.SIGCONT)
        server.stop()


@pytest.fixture(scope="module", autouse=True)
def path():
    """Server and clients find start_job, as they find fairfl."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], str(Path(__file__).parent)]))
        patch.delenv(VARIABLE, raising=False)
        yield


@pytest.fixture(scope="module")
def real():
    with running(launch.StartServer, modules=PRELOADED) as server:
        yield server


@pytest.fixture
def server():
    with running() as server:
        yield server


def job(code, *arguments, command=CLIENT, **options):
    """A finished job."""
    return subprocess.run([*command, code, *arguments], text=True, capture_output=True, timeout=600, **options)


def begun(code=SLEEP, command=CLIENT, **options):
    """A running job and the numbers that it has printed first."""
    process = subprocess.Popen([*command, code], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    return process, [int(word) for word in process.stdout.readline().split()]


def state(pid):
    """One letter: Z for a zombie, T if stopped; X if there is no such process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return "X"


def ends(pid):
    """Wait until the process is gone."""
    limit = time.monotonic() + 600
    while state(pid) not in "XZ":
        assert time.monotonic() < limit, f"process {pid} lives on"
        time.sleep(0.01)
    return True


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


# -- as if it had been started plainly ------------------------------------------------------------
SAME = [
    "print('out'); print('note', file=sys.stderr)",
    "print(sys.stdin.read())",
    "print('no line end', end=''); sys.exit(7)",
    "sys.exit('text')",
    "sys.exit(-1)",
    "raise FairflError('what is wrong')",
    "open('/nowhere/at/all')",
    "raise KeyboardInterrupt",
    "import argparse; argparse.ArgumentParser(prog='job').parse_args(['--what'])",
    "os.kill(os.getpid(), 15); time.sleep(9)",
    "os.kill(os.getpid(), 9)",
    "os.kill(os.getpid(), 10)",
    "os.umask(0o22); print(oct(os.umask(0)), sys.argv, sys.path, os.getcwd(), sys.stdout.line_buffering)",
    "print(json.dumps(dict(os.environ), sort_keys=True))",
    "os.system('echo from the shell')",
]


@pytest.mark.parametrize("code", SAME)
def test_a_warm_job_says_and_returns_what_a_plain_one_does(server, tmp_path, code):
    options = {"input": "hello", "cwd": tmp_path, "env": os.environ | {"JOB": "one"}, "umask": 0o27}
    plain, warm = (job(code, "an argument", command=command, **options) for command in (PLAIN, CLIENT))
    assert (warm.returncode, warm.stdout, warm.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_the_client_imports_nothing_that_costs_time(server):
    done = job("pass", command=[sys.executable, "-X", "importtime", *CLIENT[1:]])
    imported = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert "_socket" in imported
    slow = "fairfl runpy contextlib socket signal json argparse subprocess pathlib enum"
    assert not imported & set(slow.split())


# -- signals and deaths ---------------------------------------------------------------------------
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, -1)])
def test_a_signal_to_the_client_reaches_the_job(server, number, code):
    for command in (PLAIN, CLIENT):
        process, (pid, _) = begun(command=command)
        process.send_signal(number)
        out, err = process.communicate(timeout=600)
        assert (process.returncode, out, err) == (code, "", "")
        assert ends(pid)


def test_a_killed_client_takes_its_job_along(server, tmp_path):
    process, (pid, _) = begun(f"try:\n {SLEEP}\nfinally: Path({str(tmp_path / 'tidied')!r}).touch()")
    process.kill()
    process.communicate()
    assert ends(pid) and (tmp_path / "tidied").exists()
    assert job("pass").returncode == 0 and children(server.process.pid) == []


def test_a_job_that_does_not_heed_its_end_is_killed():
    with running(Impatient):
        process, (pid, _) = begun(f"import signal; signal.signal(15, signal.SIG_IGN); {SLEEP}")
        process.kill()
        process.communicate()
        assert ends(pid)


def test_a_killed_server_takes_its_job_along_and_the_job_is_not_run_again(server, tmp_path):
    ran = tmp_path / "ran"
    process, (pid, _) = begun(f"open({str(ran)!r}, 'a').write('once'); {SLEEP}")
    server.process.kill()
    assert process.communicate(timeout=600) == (
        "",
        "error: the start server died and took this job along; run the same command again\n",
    )
    assert process.returncode == 1 and ends(pid) and ran.read_text() == "once"


START = "import subprocess; p = subprocess.Popen(['sleep', '99'], stdout=-3, stderr=-3).pid\n"
FORK = (
    "import signal; p = os.fork()\nif not p: signal.signal(15, signal.SIG_IGN); os.closerange(1, 3); rest(); rest()\n"
)


@pytest.mark.parametrize(
    ("code", "how"),
    [
        *((FORK, how) for how in ("the job ends", "the job is killed", "the client is killed", "the server is killed")),
        *((START, how) for how in ("the job ends", "the job is killed", "the client is killed")),
    ],
)
def test_whatever_a_job_forks_ends_with_it(server, code, how):
    process, (forked, pid) = begun(code + "print(p, os.getpid(), flush=True)\n" + ("" if "ends" in how else SLEEP))
    if "killed" in how:
        ended = {"job": pid, "client": process.pid, "server": server.process.pid}[how.split()[1]]
        os.kill(ended, signal.SIGKILL)
    process.communicate(timeout=600)
    assert ends(pid) and ends(forked)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_everything_ends_with_the_workflow(number):
    workflow = (
        "import os, sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from tests.unit.runtime.test_warm_start import Bare; s = Bare(); s.start()\n"
        f"print(s.process.pid, os.environ[{VARIABLE!r}], flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", workflow, str(Path(__file__).parents[3])], stdout=subprocess.PIPE, text=True
    )
    server, address = owner.stdout.readline().split()
    process, (pid, parent) = begun(env=os.environ | {VARIABLE: address})
    assert parent == int(server) and Path(address).exists()
    owner.send_signal(number)
    owner.communicate()
    assert process.wait(600) == 143 and ends(pid) and ends(server)
    assert not Path(address).parent.exists()


# -- plain starts ---------------------------------------------------------------------------------
def plainly(process):
    """The job ran in the client's own process, with the right result."""
    out, err = process.communicate(timeout=600)
    return (process.returncode, out, err) == (3, f"{process.pid}\n", "note\n")


CODE = "print(os.getpid()); print('note', file=sys.stderr); sys.exit(3)"


def client(python=sys.executable, **environment):
    command = [python, *CLIENT[1:], CODE]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=os.environ | environment, **pipes)


@pytest.mark.parametrize("variable", ["SLURM_JOB_ID", "PYTHONUTF8", "LC_ALL"])
def test_a_job_that_differs_from_the_start_starts_plainly(server, variable):
    assert plainly(client(**{variable: "1" if variable != "LC_ALL" else "C"}))
    assert not plainly(client())


def test_a_request_that_does_not_fit_starts_plainly(server):
    assert plainly(client(**{f"LONG{n}": "x" * 100_000 for n in range(8)}))


def test_what_is_no_request_does_not_harm_the_server(server):
    for message in (b"nonsense", b"\x00"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as strange:
            strange.connect(os.environ[VARIABLE])
            strange.send(message)
            assert strange.recv(4) == b""
    assert job("print(os.getppid())").stdout == f"{server.process.pid}\n"


# -- the real server ------------------------------------------------------------------------------
def test_draws_without_a_seed_repeat_by_the_seed_of_the_run(real):
    code = (
        "import random, numpy, torch, tempfile; from fairfl.jobs.job import parser\n"
        "parser('train').parse_args(sys.argv[2:])\n"
        "print(json.dumps([torch.rand(1).item(), random.random(), numpy.random.rand(),"
        " next(tempfile._get_candidate_names())]))"
    )
    commands = [(CLIENT, 3), (PLAIN, 3), (CLIENT, 4)]
    one, again, other = (
        json.loads(job(f"import torch\n{code}", "--spec", f'{{"seed":{seed}}}', command=command).stdout)
        for command, seed in commands
    )
    assert one[:3] == again[:3] and all(a != b for a, b in zip(one, other, strict=True))
    assert one[3] != again[3]  # names of temporary files are no draws of these


def test_of_what_is_preloaded_a_job_sees_what_its_spec_has_the_code_of(real, tmp_path):
    """What it looks up beside that it imports itself: then `opened.check` refuses it."""
    code = (
        "from fairfl.runtime import opened; from fairfl.jobs.job import parser\n"
        "before = set(sys.modules); parser('train').parse_args(sys.argv[2:])\n"
        "gone = sorted(name for name in before - set(sys.modules) if name.startswith('fairfl.'))\n"
        "import fairfl.metrics; from fairfl.metrics import fairness\n"
        "print(json.dumps([gone, fairness is sys.modules['fairfl.metrics.fairness']]))"
    )
    planned = [name for name in PRELOADED if name != "fairfl.metrics.fairness"]
    for spec, gone in (({"code": dict.fromkeys(planned, "0")}, ["fairfl.metrics.fairness"]), ({}, [])):
        done = job(code, "--spec", json.dumps(spec), "--code", str(tmp_path))
        assert json.loads(done.stdout) == [gone, True], done.stderr


def test_what_the_server_imports_changes_no_state_that_jobs_share():
    """So a job computes the same with the modules of other rules imported."""
    code = """
import importlib, locale, random, sys, warnings
import matplotlib, numpy, torch
states = lambda: repr((
    numpy.geterr(), numpy.get_printoptions(), torch.get_default_dtype(), torch.get_num_threads(),
    torch.is_grad_enabled(), torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision(),
    torch.initial_seed(), torch.backends.mkldnn.enabled, dict(matplotlib.rcParams), random.getstate(),
    numpy.random.get_state()[1].tolist(),
    warnings.filters, locale.setlocale(locale.LC_ALL), sys.getrecursionlimit(),
))
from fairfl.runtime.warm_start.server import LIBRARIES
for name in LIBRARIES: importlib.import_module(name)
matplotlib.use("agg")
before = states()
for name in sys.argv[1:]: importlib.import_module(name)
assert states() == before
"""
    src = Path(fairfl.__file__).parents[1]
    names = {".".join(path.relative_to(src).with_suffix("").parts) for path in src.glob("fairfl/*/**/*.py")}
    planning = ("fairfl.commands", "fairfl.planning", "fairfl.workflow", "fairfl.runtime.submission")
    modules = sorted(name for name in names if not name.startswith(planning) and "__main__" not in name)
    assert {"fairfl.simulation.simulation", "fairfl.reporting.style"} <= set(modules)
    done = subprocess.run([sys.executable, "-P", "-c", code, *modules], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_a_module_that_cannot_be_imported_stops_only_who_needs_it(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("1 / 0")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], str(tmp_path)]))
    with running(launch.StartServer, modules=["broken"]) as server:
        assert int(job("print(os.getppid())").stdout) == server.process.pid
