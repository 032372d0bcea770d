"""What a short training costs besides training, with and without warm starts: python benchmarks/starts.py

One job of 3 rounds on the embedded digits, started as rules start it, plainly and warm in turn, one at a time and two
at once. CPU seconds are user + system of everything that ran for the job: client, forked process, the server's share.
Prints one JSON object.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))


from fairfl.runtime.warm_start import client  # noqa: E402
from fairfl.runtime.warm_start.client import VARIABLE  # noqa: E402
from fairfl.runtime.warm_start.launch import StartServer  # noqa: E402
from fairfl.workflow import environment, snakemake  # noqa: E402

REPETITIONS = 10
SETTING, SEED = "eagle_emnist_linear_a0.1", "0"
COMMAND = [sys.executable, client.__file__]


def prepared(folder: Path) -> tuple[list[str], list[str]]:
    """Make data and partition; the training command without --out, and what the start server imports for it."""
    graph = snakemake.parsed(ROOT, {"scale": "quick", "papers": ["eagle"]})["graph"]
    training = graph.job(f"train/{SETTING}/fedavg/default/seed{SEED}")
    prepare, partition = map(graph.job, training.inputs[:2])
    data, rows = str(folder / "data.safetensors"), str(folder / "partition.parquet")
    for command in (
        ["fairfl.jobs.prepare", "--spec", prepare.spec, "--folder", str(folder), "--out", data],
        [
            "fairfl.jobs.partition",
            "--spec",
            partition.spec,
            "--data",
            data,
            "--out",
            rows,
            "--statistics",
            f"{rows}.csv",
        ],
    ):
        subprocess.run([*COMMAND, *command], check=True, stdout=subprocess.DEVNULL)
    short = training.parsed | {"rounds": 3, "evaluate_every": 3}
    common = ["--data", data, "--partition", rows, "--device", "cpu", "--threads", "1"]
    modules = environment.preloaded(graph.workload, [training])
    return [*COMMAND, "fairfl.jobs.train", "--spec", json.dumps(short), *common], modules


def server_cpu(server: StartServer) -> float:
    """User + system seconds of the server and of the jobs that it has waited for."""
    assert server.process is not None
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    ticks = sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(
    command: list[str], out: Path, address: str | None, at_once: int
) -> tuple[float, float, float]:
    """CPU seconds per job without the server's, wall seconds until all are done, training seconds of the first."""
    variables = {name: value for name, value in os.environ.items() if name != VARIABLE}
    variables |= {VARIABLE: address} if address else {}
    begun = time.perf_counter()
    jobs = [
        subprocess.Popen(
            [*command, "--out", str(out / str(n)), "--checkpoint", str(out / f"{n}.pt")],
            env=variables,
            stdout=subprocess.DEVNULL,
        )
        for n in range(at_once)
    ]
    used = 0.0
    for job in jobs:
        _, status, usage = os.wait4(job.pid, 0)
        if status:
            raise SystemExit(f"a job failed: {status}")
        used += usage.ru_utime + usage.ru_stime
    wall = time.perf_counter() - begun
    summary = json.loads((out / "0" / "summary.json").read_text())
    return used / at_once, wall, summary["training_seconds"]


def main() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"  # as Snakemake does for rules with one thread
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command, modules = prepared(folder)
        server = StartServer()
        server.start(modules)
        address = os.environ[VARIABLE]
        measured(command, folder / "first", address, 1)
        start = server_cpu(server)
        for _ in range(REPETITIONS):
            for at_once, suffix in ((1, ""), (2, "_two")):
                for kind, where in (("plain", None), ("warm", address)):
                    before = server_cpu(server)
                    cpu, wall, training = measured(command, folder / kind, where, at_once)
                    cpu += (server_cpu(server) - before) / at_once
                    for key, value in (("cpu", cpu), ("wall", wall), ("training", training)):
                        found.setdefault(f"{kind}_{key}{suffix}_s", []).append(value)
        server.stop()
    # Means for CPU: the system counts the server's in hundredths of a second.
    result = {
        key: (statistics.mean if "_cpu" in key else statistics.median)(values)
        for key, values in found.items()
    }
    result |= {"training_s": result["warm_training_s"], "server_start_cpu_s": start}
    print(json.dumps({key: round(value, 3) for key, value in result.items()}))


if __name__ == "__main__":
    main()
