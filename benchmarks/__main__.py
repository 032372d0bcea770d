"""python -m benchmarks run | check; see --help of each."""

import argparse
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

NEEDED = ("fairfl", "numpy", "torch", "pyarrow", "pydantic", "safetensors")
PARTS = ("agreement", "workloads", "scaling", "starts", "planning")


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure; write results/NAME.json, .md, .png")
    run.add_argument("--name", help="file name; default: the model of the CPU or GPU")
    run.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=PARTS[:-1],
        help="the others stay as they are in NAME",
    )
    run.add_argument("--all", action="store_true", help="all parts, planning by Snakemake too")
    run.add_argument("--workloads", nargs="+", metavar="NAME", help="these rows only")
    run.add_argument(
        "--peers", nargs="*", metavar="NAME", help="these beside fairfl only; none: fairfl alone"
    )
    run.add_argument("--turns", type=int, default=5, help="turns of each competitor (default 5)")
    run.add_argument(
        "--tune",
        action="store_true",
        help="only find and write how dense models run on this kind of CPU (10 minutes)",
    )
    check = commands.add_parser(
        "check", help="a short run against committed results; exit 1 if fairfl became slower"
    )
    check.add_argument(
        "--against", help="name of the results; default: those of this kind of CPU or GPU"
    )
    check.add_argument(
        "--tolerance",
        type=float,
        default=0.7,
        help="fail below this share of the old ratio (default 0.7)",
    )
    check.add_argument("--turns", type=int, default=3)
    for command in (run, check):
        command.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
        command.add_argument(
            "--turn-seconds",
            type=float,
            default=1.0,
            help="about how long a turn lasts (default 1)",
        )
        command.add_argument(
            "--mnist",
            type=Path,
            metavar="FOLDER",
            help="with MNIST's training files; default: mirrors",
        )
        command.add_argument(
            "--results",
            type=Path,
            default=Path(__file__).parent / "results",
            help=argparse.SUPPRESS,
        )
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, scratch: Path) -> int:
    if options.tune:
        return tune(options)
    from benchmarks.bench import Bench, slug
    from benchmarks.driver import Setting
    from benchmarks.peers import PEERS
    from benchmarks.workloads import workloads

    rows = {w.name: w for w in workloads(options.device)}
    chosen = known("--workloads", options.workloads, list(rows))
    peers = known("--peers", options.peers, list(PEERS)) if options.peers is not None else None
    setting = Setting(options.device, turns=options.turns, turn_s=options.turn_seconds)
    bench = Bench(
        setting, scratch, options.mnist, peers, save=lambda document: save(document, options)
    )
    options.name = options.name or slug(bench.document["machine"]["name"])
    keep_other_parts(bench.document, options.results / f"{options.name}.json")
    for part in PARTS if options.all else options.parts:
        if part == "workloads":
            bench.workloads([rows[name] for name in chosen])
        else:
            getattr(bench, part)()
    draw(bench.document, options)
    return 0


def tune(options: argparse.Namespace) -> int:
    from benchmarks import tune
    from fairfl.runtime.errors import FairflError

    if options.device != "cpu":
        raise FairflError("--tune: rules are for kinds of CPU; leave out --device cuda")
    tune.write(tune.Search(turns=options.turns).found(), tune.FILE)
    return 0


def known(option: str, asked: list[str] | None, names: list[str]) -> list[str]:
    from fairfl.runtime.errors import FairflError

    if asked and (unknown := set(asked) - set(names)):
        raise FairflError(
            f"{option}: no {', '.join(sorted(unknown))}; there are {', '.join(names)}"
        )
    return names if asked is None else asked


def keep_other_parts(document: dict[str, Any], path: Path) -> None:
    """Parts that this run does not measure stay as they are, if they were measured on the same machine."""
    if path.is_file():
        before = json.loads(path.read_text())
        if before["machine"] == document["machine"]:
            document |= {part: before[part] for part in PARTS if part in before}
            document["data"] = before["data"]


def save(document: dict[str, Any], options: argparse.Namespace) -> None:
    from benchmarks import report
    from fairfl.runtime import atomic

    atomic.write_text(
        options.results / f"{options.name}.json", json.dumps(document, indent=1) + "\n"
    )
    atomic.write_text(options.results / f"{options.name}.md", report.markdown(document))


def draw(document: dict[str, Any], options: argparse.Namespace) -> None:
    from benchmarks import report
    from fairfl.runtime import atomic

    try:
        with atomic.replacing(options.results / f"{options.name}.png") as temp:
            report.plot(document, temp)
    except ImportError as error:
        print(f"no plot: {error}", file=sys.stderr)


def check(options: argparse.Namespace, scratch: Path) -> int:
    from benchmarks import check
    from benchmarks.bench import Bench, machine
    from benchmarks.driver import Setting
    from benchmarks.workloads import workloads
    from fairfl.runtime.errors import FairflError

    if options.against is None:
        path = check.committed_for(machine(options.device)["kind"], options.results)
    else:
        path = options.results / f"{options.against}.json"
        if not path.is_file():
            there = ", ".join(sorted(p.stem for p in options.results.glob("*.json"))) or "none"
            raise FairflError(f"--against {options.against}: there are: {there}")
    committed = json.loads(path.read_text())
    setting = Setting(options.device, turns=options.turns, turn_s=options.turn_seconds)
    bench = Bench(setting, scratch, peers=[check.RIVAL], yardsticks=check.YARDSTICKS)
    bench.workloads([w for w in workloads(options.device) if w.name in check.WORKLOADS])
    lines = check.compared(bench.document, committed, options.tolerance)
    if not lines:
        raise FairflError(
            f"{path.name} has none of the measures to compare; measure it anew with make bench"
        )
    print("\n".join(line for _, line in lines))
    return 0 if all(passed for passed, _ in lines) else 1


def main(arguments: list[str]) -> int:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"missing: {', '.join(missing)}; fairfl itself is found with PYTHONPATH=src",
            file=sys.stderr,
        )
        return 2
    from fairfl.runtime.errors import FairflError

    options = parsed(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            return {"run": run, "check": check}[options.command](options, Path(scratch))
        except FairflError as error:
            print(error, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
