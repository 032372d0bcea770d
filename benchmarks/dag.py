"""How long Snakemake takes to plan about 2,500 runs, which is what five papers ask for: python benchmarks/dag.py

EAGLE's settings with 24 seeds stand in for the other papers; one setting in ten keeps its local optima, about the share
that the papers have. Plans only, nothing is trained: from nothing, and with made-up results of all jobs, after which
nothing is to be done. Prints one JSON line per workload: jobs, seconds (median of 3).
"""

import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MANY = """
scale: many
description: EAGLE with 24 seeds, to measure planning.
patches:
  - match: ["*"]
    set: {seeds: [%s]}
    why: about 2,500 runs
  - match: ["eagle_emnist_*"]
    set: {local_optimum: null}
    why: few of the papers' runs have local optima
"""


def dry_run(scale: str) -> list[str]:
    return [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "2", "--config", f"scale={scale}"]


def nothing_to_do(folder: Path, scale: str) -> float:
    """Seconds to find out that nothing is to be done, with made-up results of all jobs; median of 3."""
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(folder / "src")])}
    subprocess.run([sys.executable, "-m", "benchmarks.pretend", scale], cwd=folder, env=os.environ | paths, check=True)
    spent = []
    for _ in range(3):
        begun = time.perf_counter()
        done = subprocess.run(dry_run(scale), cwd=folder, capture_output=True, text=True)
        spent.append(time.perf_counter() - begun)
        assert "Nothing to be done" in done.stdout + done.stderr
    return round(statistics.median(spent), 2)


def planned(folder: Path, scale: str) -> dict[str, float | int | str]:
    """Plan everything three times at a scale; nothing is built.

    `seconds_to_plan` ends when Snakemake prints the job counts: start, parsing, DAG. `seconds` is the whole dry-run,
    which then prints every job.
    """
    command = dry_run(scale)
    plan, whole, text = [], [], ""
    for _ in range(3):
        begun = time.perf_counter()
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
        text = "".join(lines)
        if process.returncode:
            raise SystemExit(text[-2000:])
    counts = dict(re.findall(r"^(train|local_optimum|total) +(\d+)", text, re.M))
    medians = {"seconds_to_plan": statistics.median(plan), "seconds": statistics.median(whole)}
    return {"scale": scale, **{k: int(v) for k, v in counts.items()}, **{k: round(v, 2) for k, v in medians.items()}}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("rules", "papers", "scales", "envs", "src", "profiles"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("Snakefile", "config.yaml"):
            shutil.copy(ROOT / part, folder / part)
        (folder / "scales" / "many.yaml").write_text(MANY % ", ".join(map(str, range(24))))
        for scale in ("quick", "paper", "many"):
            found = planned(folder, scale) | {"nothing_to_do": nothing_to_do(folder, scale)}
            print(json.dumps(found | {"python": platform.python_version()}), flush=True)
