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
from typing import Any

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
    papers = ["papers=eagle"] if scale.startswith("many") else []
    snakemake = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "2"]
    return [*snakemake, "--config", f"scale={scale}", *papers]


def cpu_seconds() -> float:
    """Of all processes started here that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def planned(folder: Path, scale: str, repeat: int) -> tuple[str, dict[str, float]]:
    """Text, and medians of seconds, of planning everything a few times at a scale; nothing is built."""
    spent, cpu, text = [], [], ""
    for _ in range(repeat):
        begun, before = time.perf_counter(), cpu_seconds()
        done = subprocess.run(dry_run(scale), cwd=folder, capture_output=True, text=True)
        spent.append(time.perf_counter() - begun)
        cpu.append(cpu_seconds() - before)
        text = done.stdout + done.stderr
        if done.returncode:
            raise SystemExit(text[-2000:])
    medians = {"seconds": statistics.median(spent), "cpu_seconds": statistics.median(cpu)}
    return text, {name: round(value, 2) for name, value in medians.items()}


def from_nothing(folder: Path, scale: str, repeat: int) -> dict[str, Any]:
    """How many jobs would run, and how long it takes to say so."""
    text, medians = planned(folder, scale, repeat)
    jobs = re.search(r"([\d,]+) jobs would run", text)
    assert jobs, text[-2000:]
    return {"scale": scale, "jobs": int(jobs[1].replace(",", ""))} | medians


def nothing_to_do(folder: Path, scale: str, repeat: int) -> dict[str, float]:
    """How long it takes to find out that nothing is to be done, with made-up results of all jobs."""
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(folder / "src")])}
    papers = ["eagle"] if scale.startswith("many") else []
    pretend = [sys.executable, "-m", "benchmarks.pretend", scale, *papers]
    subprocess.run(pretend, cwd=folder, env=os.environ | paths, check=True)
    text, medians = planned(folder, scale, repeat)
    assert "Nothing to be done" in text, text[-2000:]
    return {f"{name}_nothing_to_do": value for name, value in medians.items()}


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
            found = from_nothing(folder, scale, args.repeat)
            if not args.plan_only:
                found |= nothing_to_do(folder, scale, args.repeat)
            found["peak_mib"] = (
                resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
            )  # of all so far
            print(json.dumps(found | {"python": platform.python_version()}), flush=True)
