"""A small copy of the project that the tests may edit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

TINY = """
scale: tiny
description: Smallest thing that exercises every rule.
patches:
  - match: ["*"]
    set: {rounds: 3, evaluate_every: 1, seeds: [0]}
    why: test
  - match: ["eagle_*"]
    set: {local_optimum.max_steps: 3}
    why: test
  - match: ["eagle_emnist_*"]
    set: {data: {name: digits}, samples: 120, clients: 2, clients_per_round: 2}
    why: test
"""
SELECTION = ["scale=tiny", "artifacts=eagle_table1,eagle_figure2,eagle_figure3,eagle_table3"]


class Project:
    """A copy of the workflow and its package in a folder of its own."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        ignore = shutil.ignore_patterns("__pycache__")
        for name in ("rules", "papers", "scales", "envs", "profiles", "src"):
            shutil.copytree(root / name, folder / name, ignore=ignore)
        for name in ("Snakefile", "config.yaml"):
            shutil.copy(root / name, folder / name)
        (folder / "scales" / "tiny.yaml").write_text(TINY)

    def snakemake(self, *arguments: str, config: tuple[str, ...] = (), check: bool = True):
        """Run Snakemake in the folder with the small selection; returns the finished process."""
        command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
        command += ["--config", *SELECTION, *config]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
        )
        assert not check or done.returncode == 0, done.stdout[-4000:]
        return done

    def planned(self, *config: str) -> set[str]:
        """Logs of the jobs that a dry-run plans: a name per job that holds rule and wildcards."""
        text = self.snakemake("--dry-run", config=config).stdout
        lines = (line.strip() for line in text.splitlines())
        return {line.removeprefix("log: results/").split(" ")[0] for line in lines if line.startswith("log: ")}

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.folder / path
        text = file.read_text()
        assert old in text, f"{old!r} is not in {path}"
        file.write_text(text.replace(old, new, 1))

    def csv(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.glob("results/**/*.csv")}
