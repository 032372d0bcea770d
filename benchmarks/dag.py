"""How long Snakemake takes to plan thousands of jobs: python benchmarks/dag.py

EAGLE's settings with their local optima stand in for the papers. Plans only, nothing is trained: from nothing, and with
made-up results of all jobs, after which nothing is to be done. Prints one JSON line per workload: jobs, seconds and
seconds of CPU (median of --repeat, 3), and the peak of memory.
"""

import argparse
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MANY = """
scale: many%d
description: EAGLE with %d seeds, to measure planning.
patches:
  - match: ["*"]
    set: {seeds: [%s]}
    why: many runs
"""


def dry_run(scale: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "snakemake",
        "--dry-run",
        "--cores",
        "2",
        "--config",
        f"scale={scale}",
    ]


def cpu_seconds() -> float:
    """Of all processes started here that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def nothing_to_do(folder: Path, scale: str, repeat: int) -> dict[str, float]:
    """Seconds to find out that nothing is to be done, with made-up results of all jobs; medians."""
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(folder / "src")])}
    subprocess.run(
        [sys.executable, "-m", "benchmarks.pretend", scale],
        cwd=folder,
        env=os.environ | paths,
        check=True,
    )
    spent, cpu = [], []
    for _ in range(repeat):
        begun, before = time.perf_counter(), cpu_seconds()
        done = subprocess.run(dry_run(scale), cwd=folder, capture_output=True, text=True)
        spent.append(time.perf_counter() - begun)
        cpu.append(cpu_seconds() - before)
        assert "Nothing to be done" in done.stdout + done.stderr
    medians = {
        "nothing_to_do": statistics.median(spent),
        "cpu_nothing_to_do": statistics.median(cpu),
    }
    return {name: round(value, 2) for name, value in medians.items()}


def planned(folder: Path, scale: str, repeat: int) -> dict[str, float | int | str]:
    """Plan everything a few times at a scale; nothing is built.

    `seconds_to_plan` ends when Snakemake prints the job counts: start, parsing, DAG. `seconds` is the whole dry-run,
    which then prints every job.
    """
    command = dry_run(scale)
    plan, whole, cpu, text = [], [], [], ""
    for _ in range(repeat):
        begun, before = time.perf_counter(), cpu_seconds()
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                if line.startswith("Job stats") and len(plan) == len(whole):
                    plan.append(time.perf_counter() - begun)
                lines.append(line)
        whole.append(time.perf_counter() - begun)
        cpu.append(cpu_seconds() - before)
        text = "".join(lines)
        if process.returncode:
            raise SystemExit(text[-2000:])
    counts = dict(re.findall(r"^(train|local_optimum|total) +(\d+)", text, re.M))
    medians = {
        "seconds_to_plan": statistics.median(plan), "seconds": statistics.median(whole),
        "cpu_seconds": statistics.median(cpu),
    }  # fmt: skip
    return {
        "scale": scale,
        **{k: int(v) for k, v in counts.items()},
        **{k: round(v, 2) for k, v in medians.items()},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[10], help="of EAGLE's settings")
    parser.add_argument("--scales", nargs="*", default=["quick", "full"], help="to plan besides")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--plan-only", action="store_true", help="not with made-up results of all jobs"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("rules", "papers", "scales", "envs", "src", "profiles"):
            shutil.copytree(
                ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
            )
        for part in ("Snakefile", "config.yaml"):
            shutil.copy(ROOT / part, folder / part)
        for seeds in args.seeds:
            (folder / "scales" / f"many{seeds}.yaml").write_text(
                MANY % (seeds, seeds, ", ".join(map(str, range(seeds))))
            )
        for scale in (*args.scales, *(f"many{seeds}" for seeds in args.seeds)):
            found = planned(folder, scale, args.repeat)
            if not args.plan_only:
                found |= nothing_to_do(folder, scale, args.repeat)
            found["peak_mib"] = (
                resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
            )  # of all so far
            print(json.dumps(found | {"python": platform.python_version()}), flush=True)
