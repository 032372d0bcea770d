"""Progress of a run: a line per interval in a log, one rewritten line on a terminal."""

import sys
import time
from collections.abc import Callable

INTERVAL = 5.0  # seconds between two lines


class Progress:
    """Prints round, pace, what `latest` says of the newest metrics, and the time to go."""

    def __init__(self, rounds: int, latest: Callable[[], str], start: int = 0) -> None:
        self.rounds, self.latest, self.start = rounds, latest, start
        self.begun = self.shown = time.monotonic()

    def step(self, done: int, *, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now - self.shown < INTERVAL:
            return
        self.shown = now
        speed = (done - self.start) / max(now - self.begun, 1e-9)
        left = (self.rounds - done) / speed if speed else float("inf")
        pace = f"{1 / speed:.1f} s a round" if 0 < speed < 1 else f"{speed:.1f} rounds/s"
        line = f"round {done}/{self.rounds}  {pace}  {self.latest()}  {left:.0f} s to go"
        if sys.stdout.isatty():
            print(f"\r{line}\x1b[K", end="\n" if done == self.rounds else "", flush=True)
        else:
            print(line, flush=True)
