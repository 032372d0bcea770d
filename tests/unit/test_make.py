"""Targets of the Makefile that a slip would make dangerous."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_clean_keeps_the_record(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    kept = ["results/recorded/fedfv/jobs.json", "data/mnist/x", ".venv/ready"]
    gone = ["results/quick/index.html", "results/.hidden/x", "results/recorded2/x", ".snakemake/x"]
    for name in [*kept, *gone]:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("")
    for _ in range(2):
        subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
        assert all((tmp_path / name).is_file() for name in kept)
        assert not any((tmp_path / name).parent.exists() for name in gone)
