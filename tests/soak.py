"""python -m tests.soak: kill, damage and edit a small workflow at random, again and again; it must always finish equal.

A failure prints the steps that led to it as lines of JSON; `--replay FILE` takes them again from such a file.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.workflow.faults import fetching
from tests.workflow.soaking import Broken, Soak, decoded

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=60, help="stop after so many")
    parser.add_argument("--minutes", type=float, default=20, help="or after this time, whichever comes first")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn; the same one draws the same steps")
    parser.add_argument("--replay", type=Path, help="file of steps, one line of JSON each, in place of random ones")
    args = parser.parse_args()
    # A shell ignores SIGINT in what it starts in the background, which all that is started from there would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="fairfl-soak-"))
    undisturbed = fetching(ROOT, folder / "undisturbed")
    undisturbed.snakemake()
    soak = Soak(undisturbed, folder / "killed", args.seed, lambda line: print(line, flush=True))
    steps = soak.drawn(args.kills, time.monotonic() + 60 * args.minutes)
    if args.replay:
        lines = args.replay.read_text().splitlines()
        steps = [decoded(line) for line in lines if line.startswith(("[", "{"))]
    try:
        soak.run(steps)
    except Broken as error:
        sys.exit(f"{soak.report()}\n{error}")
    shutil.rmtree(folder)
    print(soak.report())
    if not args.replay and soak.kills < args.kills:
        print(f"only {soak.kills} of {args.kills} kills in {args.minutes:g} minutes")


if __name__ == "__main__":
    main()
