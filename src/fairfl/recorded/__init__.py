"""The record: what jobs at full scale have left, kept in the repository; results/recorded/ has a folder per setting.

    jobs.json       per job what it computed from, what came out, and with which commit, versions and processor
    curves.parquet  metrics of all trainings: one line per run, evaluated round and client
    files/          other small results as they are, by their path below results/full/

A job may have several entries, if the same spec gave other numbers with other code or another torch.
"""

from pathlib import Path

FOLDER = Path("results/recorded")
