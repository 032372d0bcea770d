"""How long Snakemake takes to plan about 2,500 runs, which is what five papers ask for: python benchmarks/dag.py

EAGLE's settings with 24 seeds stand in for the other papers; one setting in ten keeps its local optima, about the share
that the papers have. Plans only, nothing is trained. Prints one JSON line per workload: jobs, seconds (median of 3).
"""

import json
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


def planned(folder: Path, scale: str) -> dict[str, float | int | str]:
    """Plan everything three times at a scale; nothing is built."""
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "rules", "--cores", "2"]
    command += ["--config", f"scale={scale}"]
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - begun)
    counts = dict(re.findall(r"^(train|local_optimum|total) +(\d+)", done.stdout + done.stderr, re.M))
    return {"scale": scale, **{k: int(v) for k, v in counts.items()}, "seconds": round(statistics.median(times), 2)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("rules", "papers", "scales", "envs", "src"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("Snakefile", "config.yaml"):
            shutil.copy(ROOT / part, folder / part)
        (folder / "scales" / "many.yaml").write_text(MANY % ", ".join(map(str, range(24))))
        for scale in ("quick", "paper", "many"):
            print(json.dumps(planned(folder, scale) | {"python": platform.python_version()}), flush=True)
