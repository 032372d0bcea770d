"""How long Snakemake takes to plan: python benchmarks/dag.py

Prints JSON: seconds (median of 3) of a dry-run with nothing built, at EAGLE's paper scale and with as many seeds as give
about 2,500 runs, which is what five papers will ask for. Plans only; nothing is trained.
"""

import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def seconds(folder: str, *config: str) -> tuple[float, int]:
    """Median wall time of a dry-run and the number of train jobs that it plans."""
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "rules", "--cores", "2", "--snakefile"]
    command += [str(ROOT / "Snakefile"), "--workflow-profile", "none", "--config", *config]
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - begun)
    lines = (done.stdout + done.stderr).splitlines()
    train = next((int(line.split()[1]) for line in lines if line.startswith("train ")), 0)
    return statistics.median(times), train


if __name__ == "__main__":
    seeds = ",".join(map(str, range(25)))
    with tempfile.TemporaryDirectory() as folder:
        for name, config in {"EAGLE, paper scale": ["scale=paper"], "25 seeds": ["scale=paper", f"seeds={seeds}"]}.items():
            wall, train = seconds(folder, *config)
            print(json.dumps({"workload": name, "train_jobs": train, "seconds": round(wall, 2), "cpu": platform.processor()}))
