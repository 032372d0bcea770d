"""A job for test_warm_start.py: runs the Python code that it gets as its first argument."""

import json
import os
import sys
import time
from pathlib import Path

from fairfl.runtime import cli
from fairfl.runtime.errors import FairflError


def rest() -> None:
    """Wait for a minute in short pieces: Python handles a signal that comes just before a system call only after it."""
    for _ in range(6000):
        time.sleep(0.01)


NAMES = {"rest": rest, "json": json, "os": os, "sys": sys, "time": time, "Path": Path, "FairflError": FairflError}


def main(argv: list[str] | None = None) -> None:
    # Compiled first: text given to exec() turns a caught Ctrl-C into a death by SIGINT.
    exec(compile(sys.argv[1], "job", "exec"), dict(NAMES))


if __name__ == "__main__":
    cli.run(main)
