"""One of several runs on a card: python -m benchmarks.gpu_check.share DEVICE SECONDS. Prints its rounds per second."""

import sys
import time

import torch

from benchmarks.gpu_check.cases import Case
from fairfl.simulation.device import choose


def main(name: str, seconds: float) -> None:
    device = choose(name, 1)
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    run = Case("share").simulation(device, [480] * 20)
    for _ in range(5):
        run.run_round()
    wait()
    print("ready", flush=True)
    sys.stdin.readline()
    started, rounds = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        run.run_round()
        rounds += 1
    wait()
    print(rounds / (time.perf_counter() - started), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
