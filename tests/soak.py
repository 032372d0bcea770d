"""python -m tests.soak: kill, damage and edit a small workflow at random, again and again; it must always finish equal.

A failure prints the steps that led to it; the same `--seed` draws them again.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.workflow.faults import fetching
from tests.workflow.soaking import Broken, Soak

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=60, help="stop after so many")
    parser.add_argument("--minutes", type=float, default=20, help="or after this time, whichever comes first")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn; the same one draws the same steps")
    args = parser.parse_args()
    # A shell ignores SIGINT in what it starts in the background, which all that is started from there would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="fairfl-soak-"))
    undisturbed = fetching(ROOT, folder / "undisturbed")
    undisturbed.snakemake()
    soak = Soak(undisturbed, folder / "killed", args.seed, lambda line: print(line, flush=True))
    try:
        soak.run(args.kills, time.monotonic() + 60 * args.minutes)
    except Broken as error:
        sys.exit(f"{soak.report()}\n{error}")
    shutil.rmtree(folder)
    print(soak.report())
    if soak.kills < args.kills:
        print(f"only {soak.kills} of {args.kills} kills in {args.minutes:g} minutes")


if __name__ == "__main__":
    main()
