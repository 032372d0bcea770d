"""Warm starts: a job behaves as if `python -m MODULE` had run it, whatever happens to client, server and workflow."""

import contextlib
import ctypes
import json
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fairfl.data.interface import assemble
from fairfl.jobs.prepare import write
from fairfl.runtime.warm_start import client as client_file
from fairfl.runtime.warm_start import launch
from fairfl.runtime.warm_start.client import VARIABLE
from fairfl.runtime.warm_start.server import HUGE_PAGE, MADV_COLLAPSE
from fairfl.workflow.code_hash import closure

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the server needs Linux"),
    pytest.mark.xdist_group("start"),
    pytest.mark.slow,
]

CLIENT = [sys.executable, "-P", client_file.__file__, "start_job"]
PLAIN = [sys.executable, "-P", "-m", "start_job"]
# Prints that it runs and who started it, then sleeps.
SLEEP = "print(os.getpid(), os.getppid(), flush=True); rest()"


class Bare(launch.Server):
    """A server that imports nothing and has little patience: ready in a moment."""

    command = [
        *launch.Server.command[:2],
        "-c",
        "from fairfl.runtime.warm_start import server\n"
        "server.preload = lambda _: None; server.GRACE = 0.3; server.main()",
    ]


@contextlib.contextmanager
def running(kind=Bare):
    server = kind()
    server.start()
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
    with running(launch.Server) as server:
        yield server


@pytest.fixture
def server():
    with running() as server:
        yield server


def job(code, *arguments, command=CLIENT, **options):
    """A finished job."""
    return subprocess.run([*command, code, *arguments], text=True, capture_output=True, timeout=60, **options)


def begun(code=SLEEP, command=CLIENT, **options):
    """A running job and the numbers that it has printed first."""
    process = subprocess.Popen([*command, code], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    return process, [int(word) for word in process.stdout.readline().split()]


def state(pid):
    """One letter: Z for a zombie, T if stopped; X if there is no such process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return "X"


def pause(server):
    os.kill(server.process.pid, signal.SIGSTOP)
    while state(server.process.pid) != "T":
        time.sleep(0.01)


def ends(pid):
    """Wait until the process is gone."""
    limit = time.monotonic() + 90
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


def test_a_bug_keeps_its_traceback(server):
    plain, warm = (job("1 / 0", command=command) for command in (PLAIN, CLIENT))
    assert warm.returncode == plain.returncode == 1
    head, *lines = warm.stderr.splitlines()
    assert head == "Traceback (most recent call last):" and "cli.py" in lines[0]
    assert plain.stderr.splitlines()[-len(lines) :] == lines


def test_the_job_is_a_process_that_the_server_forked(server):
    pid, parent, group = json.loads(job("print([os.getpid(), os.getppid(), os.getpgrp()])").stdout)
    assert parent == server.process.pid and pid == group


def test_jobs_run_at_the_same_time_and_leave_no_process(server, tmp_path):
    # Each waits until all six are there.
    code = "p = Path(sys.argv[2]); (p / str(os.getpid())).touch()\nwhile len(list(p.iterdir())) < 6: time.sleep(.01)"
    jobs = [subprocess.Popen([*CLIENT, code, str(tmp_path)]) for _ in range(6)]
    assert [process.wait(90) for process in jobs] == [0] * 6
    assert children(server.process.pid) == []


def test_clients_wait_for_a_server_that_is_not_ready(server):
    pause(server)
    jobs = [subprocess.Popen([*CLIENT, "print(os.getppid())"], stdout=subprocess.PIPE) for _ in range(3)]
    assert not select.select([process.stdout for process in jobs], [], [], 0.3)[0]
    os.kill(server.process.pid, signal.SIGCONT)
    assert [int(process.communicate(timeout=90)[0]) for process in jobs] == [server.process.pid] * 3


def test_the_client_imports_nothing_that_costs_time(server):
    done = job("pass", command=[sys.executable, "-X", "importtime", *CLIENT[1:]])
    imported = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert "_socket" in imported
    assert not imported & {
        "fairfl",
        "runpy",
        "contextlib",
        "socket",
        "signal",
        "json",
        "argparse",
        "subprocess",
        "pathlib",
        "enum",
    }


# -- signals and deaths ---------------------------------------------------------------------------
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, -1)])
def test_a_signal_to_the_client_reaches_the_job(server, number, code):
    for command in (PLAIN, CLIENT):
        process, (pid, _) = begun(command=command)
        process.send_signal(number)
        out, err = process.communicate(timeout=90)
        assert (process.returncode, out, err) == (code, "", "")
        assert ends(pid)


def test_a_signal_is_passed_on_whenever_it_comes(server):
    # As soon as the job says a word, the client may be anywhere between its start and its wait.
    for _ in range(40):
        process, _ = begun("print(1, flush=True); rest()")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=90)
        assert process.returncode == 143


def test_a_signal_reaches_what_the_job_has_started(server):
    process, (pid,) = begun("import subprocess as s; p = s.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=90)
    assert process.returncode == 143 and ends(pid)


def test_an_ignored_signal_is_not_passed_on(server):
    process, (pid, _) = begun(command=["env", "--ignore-signal=HUP", *CLIENT])
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=90)
    assert process.returncode == 143


def test_a_signal_to_a_waiting_client_ends_it_and_nothing_is_run(server, tmp_path):
    pause(server)
    process = subprocess.Popen([*CLIENT, "Path(sys.argv[2]).touch()", str(tmp_path / "ran")], stderr=subprocess.PIPE)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(90) == -signal.SIGINT
    os.kill(server.process.pid, signal.SIGCONT)
    assert process.communicate(timeout=90)[1] == b""
    assert job("pass").returncode == 0
    assert not (tmp_path / "ran").exists()


def test_a_killed_client_takes_its_job_along(server, tmp_path):
    tidy = f"try:\n {SLEEP}\nfinally: Path({str(tmp_path / 'tidied')!r}).touch()"
    stubborn = f"import signal; signal.signal(15, signal.SIG_IGN); {SLEEP}"
    started = [begun(code) for code in (tidy, stubborn)]
    for process, _ in started:
        process.kill()
        process.communicate()
    assert all(ends(pid) for _, (pid, _) in started)
    assert (tmp_path / "tidied").exists()
    assert job("pass").returncode == 0 and children(server.process.pid) == []


def test_a_killed_server_takes_its_job_along_and_the_job_is_not_run_again(server, tmp_path):
    ran = tmp_path / "ran"
    process, (pid, _) = begun(f"open({str(ran)!r}, 'a').write('once'); {SLEEP}")
    server.process.kill()
    assert process.communicate(timeout=90) == (
        "",
        "error: the start server died and took this job along; run the same command again\n",
    )
    assert process.returncode == 1 and ends(pid) and ran.read_text() == "once"


def test_a_server_that_dies_before_the_job_starts_means_a_plain_start(server):
    pause(server)
    process = subprocess.Popen([*CLIENT, "print(os.getpid())"], stdout=subprocess.PIPE)
    time.sleep(0.3)
    server.process.kill()
    assert int(process.communicate(timeout=90)[0]) == process.pid and process.returncode == 0


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
    assert process.wait(90) == 143 and ends(pid) and ends(server)
    assert not Path(address).parent.exists()


def test_a_client_that_comes_as_the_workflow_ends_starts_plainly(server):
    process, _ = begun()
    pause(server)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), server.alive)  # closes the pipe
    late = client()
    time.sleep(0.3)
    os.kill(server.process.pid, signal.SIGCONT)
    assert plainly(late) and process.wait(90) == 143


def test_stop_ends_the_jobs_and_cleans_up():
    with running() as server:
        address = os.environ[VARIABLE]
        assert Path(address).parent.stat().st_mode & 0o777 == 0o700
        process, (pid, _) = begun()
        server.stop()
        assert process.wait(90) == 143 and ends(pid)
        assert VARIABLE not in os.environ and not Path(address).parent.exists()


# -- plain starts ---------------------------------------------------------------------------------
def plainly(process):
    """The job ran in the client's own process, with the right result."""
    out, err = process.communicate(timeout=60)
    return (process.returncode, out, err) == (3, f"{process.pid}\n", "note\n")


CODE = "print(os.getpid()); print('note', file=sys.stderr); sys.exit(3)"


def client(python=sys.executable, **environment):
    command = [python, *CLIENT[1:], CODE]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=os.environ | environment, **pipes)


def test_without_a_server_a_job_starts_plainly(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stale:
        stale.bind(str(tmp_path / "stale"))
    (tmp_path / "file").touch()
    assert all(plainly(client(**{VARIABLE: str(tmp_path / name)})) for name in ("stale", "file", "nowhere"))
    assert VARIABLE not in os.environ and plainly(client())


@pytest.mark.parametrize("variable", ["SLURM_JOB_ID", "PYTHONUTF8", "LC_ALL"])
def test_a_job_that_differs_from_the_start_starts_plainly(server, variable):
    assert plainly(client(**{variable: "1" if variable != "LC_ALL" else "C"}))
    assert not plainly(client())


def test_another_environment_starts_plainly(server, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "other"], check=True)
    assert plainly(client(str(tmp_path / "other" / "bin" / "python")))


def test_a_request_that_does_not_fit_starts_plainly(server):
    assert plainly(client(**{f"LONG{n}": "x" * 100_000 for n in range(8)}))


def test_options_of_the_interpreter_are_kept(server):
    done = job("print(sys.flags.optimize)", command=[sys.executable, "-O", *CLIENT[1:]])
    assert done.stdout == "1\n"


def test_what_is_no_request_does_not_harm_the_server(server):
    for message in (b"nonsense", b"\x00"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as strange:
            strange.connect(os.environ[VARIABLE])
            strange.send(message)
            assert strange.recv(4) == b""
    assert job("print(os.getppid())").stdout == f"{server.process.pid}\n"


@pytest.mark.parametrize(
    ("preload", "reason"),
    [
        ("server.LIBRARIES = ('nothing',)", "ModuleNotFoundError: No module named 'nothing'"),
        ("threading.Thread(target=time.sleep, args=[600], daemon=True).start()", "the imports have started 1 threads"),
    ],
)
def test_a_server_that_cannot_be_ready_says_so_and_jobs_start_plainly(capfd, preload, reason):
    setup = "import threading, time; from fairfl.runtime.warm_start import server; server.modules = list"

    class Broken(launch.Server):
        command = [sys.executable, "-P", "-c", f"{setup}; {preload}; server.main()"]

    with running(Broken) as server:
        assert plainly(client())
        server.process.wait(90)
        assert not Path(os.environ[VARIABLE]).parent.exists()
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("no warm starts, each job imports everything itself: ") and reason in line


def test_without_a_folder_for_its_socket_there_is_no_server(monkeypatch, capsys):
    server = Bare()
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    server.start()
    assert server.process is None and "no warm starts" in capsys.readouterr().err and VARIABLE not in os.environ
    monkeypatch.undo()
    server.start()
    assert server.process is not None
    server.stop()
    server.stop()


# -- the real server ------------------------------------------------------------------------------
SPEC = {
    "setting": "toy", "model": {"name": "mlp", "hidden": [8]}, "loss": "cross_entropy", "clients_per_round": 2,
    "rounds": 6, "local_epochs": 1, "batch_size": 4, "learning_rate": 0.2, "evaluate_every": 2, "keep": "path",
    "optimizer": "sgd", "weight_decay": 0.0, "lr_decay": None, "modifiers": {},
    "evaluated_parts": ["train", "validation", "test"],
    "algorithm": "qffl", "variant": "default", "hyperparameters": {"q": 1.0}, "precision": "fp32", "seed": 1,
    "code": {},
}  # fmt: skip


def test_a_warm_training_equals_a_plain_one_to_the_bit(real, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    draw = np.random.default_rng(0)
    images = draw.integers(0, 256, (60, 1, 4, 4), dtype=np.uint8)
    write(tmp_path / "data", assemble("toy", 3, "made", images, draw.integers(0, 3, 60), mean=0.5))
    rows = np.arange(60)
    pq.write_table(pa.table({"row": rows, "client": rows % 3, "part": rows // 3 % 3}), tmp_path / "rows")
    common = ["--spec", json.dumps(SPEC), "--data", str(tmp_path / "data"), "--partition", str(tmp_path / "rows")]
    for name, module in (
        ("plain", ["-m", "fairfl.jobs.train"]),
        ("warm", [client_file.__file__, "fairfl.jobs.train"]),
    ):
        command = [sys.executable, "-P", *module, *common, "--device", "cpu", "--out", str(tmp_path / name)]
        command += ["--checkpoint", str(tmp_path / f"{name}.pt")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    plain, warm = tmp_path / "plain", tmp_path / "warm"
    for file in ("metrics.parquet", "model.safetensors"):
        assert (warm / file).read_bytes() == (plain / file).read_bytes()
    before, after = (json.loads((folder / "summary.json").read_text()) for folder in (plain, warm))
    measured = {"seconds", "training_seconds", "peak_memory_mib"}
    assert {k: v for k, v in before.items() if k not in measured} == {
        k: v for k, v in after.items() if k not in measured
    }
    assert after["seconds"] < 60 and 50 < after["peak_memory_mib"] < 4000


def test_two_jobs_do_not_draw_the_same_unseeded_numbers(real):
    code = (
        "import random, numpy, torch, tempfile; print(json.dumps([torch.initial_seed(), torch.rand(1).item(),"
        "random.random(), numpy.random.rand(), next(tempfile._get_candidate_names())]))"
    )
    one, two = (json.loads(job(code).stdout) for _ in range(2))
    assert all(a != b for a, b in zip(one, two, strict=True))


def test_the_server_has_one_thread_no_open_file_and_left_the_gpu_alone(real):
    code = (
        "loaded = {'torch', 'pandas', 'pyarrow.parquet', 'fairfl.algorithms.eagle'} <= set(sys.modules)\n"
        "import torch; print(json.dumps([loaded, torch.cuda.is_initialized(), torch.cuda._is_in_bad_fork(),"
        "[n for n in range(3, 100) if os.path.exists(f'/proc/self/fd/{n}')]]))"
    )
    assert json.loads(job(code).stdout) == [True, False, False, []]
    assert len(os.listdir(f"/proc/{real.process.pid}/task")) == 1


def gathers_huge_pages():
    """True if the kernel gathers some of this process's memory, as it may and need not (fragmentation, limits)."""
    size = 4 * HUGE_PAGE
    with mmap.mmap(-1, size) as area:
        area.write(bytes(size))
        held = (ctypes.c_char * size).from_buffer(area)
        first = -(-ctypes.addressof(held) // HUGE_PAGE) * HUGE_PAGE
        failed = ctypes.CDLL(None).madvise(ctypes.c_void_p(first), ctypes.c_size_t(size // 2), MADV_COLLAPSE)
        del held
    return not failed


def test_what_jobs_share_lies_in_huge_pages(real):
    if not gathers_huge_pages():
        pytest.skip("this kernel gathers no huge pages on demand, or has none left")
    assert job("print('ready')").stdout == "ready\n"
    lines = Path(f"/proc/{real.process.pid}/smaps_rollup").read_text().splitlines()[1:]
    kilobytes = {name: int(size) for name, size, _ in map(str.split, lines)}
    assert kilobytes["AnonHugePages:"] > kilobytes["Anonymous:"] / 10  # how much depends on the memory that is left


def test_starting_is_no_part_of_what_a_job_computes():
    assert [
        name
        for name in closure("fairfl.jobs.train", "fairfl.jobs.local_optimum")
        if name.startswith("fairfl.runtime.warm_start")
    ] == []
