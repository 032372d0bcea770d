"""python -m benchmarks.gpu_check: is this GPU fit for fairfl? One command, at most ten minutes.

Needs torch, numpy and pydantic; torchvision, transformers and scipy for the models and methods that use them. Writes
all numbers to gpu_check/results/<device>.json, prints a table, and exits with 1 if something is wrong. On a CPU it
checks the same with small models, as far as that has a meaning.
"""

import argparse
import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

CHECKS = ("kinds", "algorithms", "precision", "sizes", "layout", "gram", "rows", "sharing")


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_check", description=__doc__)
    parser.add_argument(
        "checks", nargs="*", metavar="CHECK", help=f"these only: {', '.join(CHECKS)}"
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument(
        "--minutes", type=float, default=9.5, help="what comes later is not checked (default 9.5)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small models and few cases, also on a GPU"
    )
    parser.add_argument(
        "--out", type=Path, help="the JSON file; default: gpu_check/results/<device>.json"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.checks) - set(CHECKS):
        parser.error(f"no check {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    return options


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    import torch

    from benchmarks.bench import FOLDER, cores, machine, slug
    from benchmarks.gpu_check import correct, speed
    from benchmarks.gpu_check.findings import Check, DeviceLost, OutOfTime, table
    from fairfl.runtime import atomic, gpu_slots
    from fairfl.runtime.errors import FairflError
    from fairfl.simulation.device import choose

    started = time.monotonic()
    try:
        seen = gpu_slots.visible()
        device = choose(options.device, 1)
        document: dict[str, Any] = {"machine": machine(device.type)}
    except FairflError as error:
        print(error, file=sys.stderr)
        return 2
    large = device.type == "cuda" and not options.quick
    if large:
        torch.set_num_threads(min(8, len(cores())))  # of the CPU's numbers to compare with
    check = Check(device, large, options.quick, started + 60 * options.minutes)
    document["machine"] |= {
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "gpus_seen": len(seen),
    }
    if check.gpu:
        properties = torch.cuda.get_device_properties(device)
        document["machine"]["gpu_memory_gib"] = round(properties.total_memory / 2**30)
    print(json.dumps(document["machine"]), flush=True)
    with check.finding("machine", "GPUs that fairfl counts") as found:
        found["seen"] = len(seen)
        check.expect(bool(seen) or not check.gpu, "torch has a GPU, and fairfl sees none")
    for name in options.checks or CHECKS:
        begun = time.monotonic()
        try:
            with contextlib.suppress(OutOfTime):
                getattr(correct if hasattr(correct, name) else speed, name)(check)
        except DeviceLost:
            print(
                f"the GPU answers this process no more; what follows {name} was not checked: name it to check it alone"
            )
            break
        document.setdefault("seconds", {})[name] = round(time.monotonic() - begun, 1)
    document["findings"] = check.findings
    path = options.out or FOLDER / "gpu_check/results" / f"{slug(document['machine']['name'])}.json"
    atomic.write_text(path, json.dumps(document, indent=1) + "\n")
    print(f"\n{table(check.findings)}\n{time.monotonic() - started:.0f} s; all numbers: {path}")
    return 1 if any(found["passed"] is False for found in check.findings) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
