"""fairfl show ARTIFACT [VARIANT] [METRIC] [SETTING]: from a printed number to its runs.

    fairfl show fedfv_table3 fedfv/alpha=0.667,tau=0 accuracy_mean
    fairfl show fedfv_table3 fedavg                               all numbers of FedAvg in this table
    fairfl show fedfv_table3 fedavg accuracy_mean --csv           the curve of each run as CSV

The words behind the artifact choose among its numbers, in any order; a variant is written as in comparison.csv and
config.yaml. One number is shown with its verdict, how that came about, and each of its runs: place, commit, machine,
seconds and curve. Several numbers are a list of those to choose from. Runs nothing.
"""

import argparse
import json
import math
import os
import webbrowser
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairfl.experiments.strict import load, yaml_files
from fairfl.experiments.variant import selected_by
from fairfl.experiments.workload import Workload, load_workload
from fairfl.judgement.cells import digits_of, metric_of
from fairfl.judgement.recorded import ran_by_place, recorded_numbers
from fairfl.judgement.rows import ComparisonLine, csv_text, records
from fairfl.judgement.units import printed_cell
from fairfl.metrics.registry import METRICS, by_round, measured
from fairfl.recorded.record import SCALE, Record
from fairfl.reporting.page.details import sentences_on
from fairfl.reporting.page.text import readable
from fairfl.runtime.errors import FairflError
from fairfl.runtime.inputs import read_bytes
from fairfl.runtime.plain_data import aligned, shown
from fairfl.runtime.validation import nearest
from fairfl.values import tables

BLOCKS = "▁▂▃▄▅▆▇█"
_WIDTH = 60  # letters of a chart


class FoundRun(NamedTuple):
    """A run that is on this machine."""

    place: Path  # its folder, or the file of stored results that has it
    origin: list[str]  # commit and date of a stored run, machine, seconds
    rounds: pd.DataFrame  # its metrics.parquet


def main(root: Path, argv: list[str]) -> None:
    """Raises FairflError for an artifact or a word that no number has."""
    args = make_parser().parse_args(argv)
    os.chdir(root)
    config = load(Path("config.yaml")) | ({"scale": args.scale} if args.scale else {})
    paper = args.artifact.partition("_")[0]
    papers = yaml_files(Path("papers"))
    if paper not in papers:
        raise FairflError(f"fairfl show: no paper {shown(paper)}{nearest(paper, papers)}")
    workload = load_workload(Path.cwd(), config | {"papers": [paper]})
    scale, lines = _numbers(workload, args.artifact, always=bool(args.scale))
    lines = chosen(lines, args.words, args.artifact)
    if args.open:
        page = Path("results", scale, "index.html").resolve()
        webbrowser.open(f"{page.as_uri()}#{args.artifact}")
    if len(lines) > 1:
        text = csv_text(lines, ComparisonLine) if args.csv else "\n".join(_list(workload, lines))
    elif args.csv:
        text = _curves(workload, lines[0], scale).to_csv(index=False)
    else:
        text = "\n".join(_number(workload, lines[0], scale))
    print(text.rstrip())


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command's options."""
    parser = argparse.ArgumentParser(
        prog="fairfl show",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("artifact", metavar="ARTIFACT", help="a table or figure: fedfv_table3")
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="variant, algorithm, metric or setting"
    )
    parser.add_argument("--scale", help="quick, small or full; as config.yaml says, else full")
    parser.add_argument("--csv", action="store_true", help="as CSV: curves of one number's runs")
    parser.add_argument("--open", action="store_true", help="open the page of the artifact, too")
    return parser


# -- which numbers --------------------------------------------------------------------------------
def _numbers(workload: Workload, artifact: str, always: bool) -> tuple[str, list[ComparisonLine]]:
    """(scale, numbers of an artifact): the last built ones, else stored ones, unless one scale is asked for."""
    scale = workload.scale.scale
    built = Path("results", scale)
    files = [*built.glob("comparison.csv"), *built.glob("selections/*/comparison.csv")]
    sources = [
        (scale, records(path, "comparison", ComparisonLine))
        for path in sorted(files, key=os.path.getmtime, reverse=True)
    ]
    if scale == SCALE or not always:
        sources.append((SCALE, recorded_numbers(Path())))
    for place, every in sources:
        if lines := [line for line in every if line.artifact == artifact]:
            return place, lines
    names = dict.fromkeys(line.artifact for _, every in sources for line in every)
    raise FairflError(
        f"fairfl show: no numbers of {shown(artifact)} at scale {scale}{nearest(artifact, names)}"
    )


def chosen(
    lines: list[ComparisonLine], words: Iterable[str], artifact: str
) -> list[ComparisonLine]:
    """The numbers that all words name. Raises FairflError for a word that names none of those which are left."""
    for word in words:
        one = selected_by(word)
        matching = [
            line
            for line in lines
            if one in (line.variant, line.algorithm, line.metric, line.setting)
        ]
        if not matching:
            names = dict.fromkeys(
                name
                for line in lines
                for name in (line.variant.selector, line.algorithm, line.metric, line.setting)
            )
            raise FairflError(
                f"fairfl show: {artifact} has no {shown(word)} there{nearest(word, names)}"
            )
        lines = matching
    return lines


# -- what is shown --------------------------------------------------------------------------------
def _list(workload: Workload, lines: Sequence[ComparisonLine]) -> list[str]:
    """A table of numbers, each line with the words that choose it."""
    header = ("variant", "metric", "setting", "published", "reproduced", "seeds", "verdict")
    body = [
        (line.variant.selector, line.metric, line.setting, *_both(workload, line), str(line.seeds), line.verdict)
        for line in lines
    ]  # fmt: skip
    return aligned([header, *body])


def _both(workload: Workload, line: ComparisonLine) -> tuple[str, str]:
    """The published number and ours, with their spreads."""
    digits = digits_of(_paper(workload, line).metrics)(line.metric)
    ours_std = line.ours_std if line.seeds > 1 else None
    theirs = printed_cell(line.reported, line.unit, digits, line.reported_spread, missing="–")
    return theirs, printed_cell(line.ours, line.unit, digits, ours_std, missing="–")


def _number(workload: Workload, line: ComparisonLine, scale: str) -> Iterator[str]:
    """One number: both values, the verdict and how it came about, its runs."""
    paper = _paper(workload, line)
    titles = {name: algorithm.title for name, algorithm in paper.algorithms.items()}
    title = readable(line.variant.label(titles.get(line.algorithm, line.algorithm)))
    theirs, ours = _both(workload, line)
    yield f"{line.artifact} {line.variant.selector} {line.metric} {line.setting}"
    yield f"published {theirs}, reproduced {ours} at scale {scale}: {line.verdict}"
    metric = metric_of(paper.metrics, line.metric)
    stored = None if scale == SCALE else ran_by_place(recorded_numbers(Path())).get(line.place)
    yield from (f"  {text}" for text in sentences_on(line, title, metric, "seeds", stored))
    for name in filter(None, line.runs.split(";")):
        ran = find_run(name, scale)
        if ran is None:
            yield f"{name}: " + (
                "a file of results" if Path("results", scale, name).exists() else "not here"
            )
            continue
        yield f"{name}: {', '.join([str(ran.place), *ran.origin])}"
        label, curve = along(ran.rounds, line.metric, _part(workload, line))
        if blocks := chart([*curve.values()]):
            first, *_, last = curve.items() if len(curve) > 1 else [*curve.items()] * 2
            ends = " to ".join(f"{value:.4g} in round {number}" for number, value in (first, last))
            yield f"  {blocks}  {label}: {ends}"


def _curves(workload: Workload, line: ComparisonLine, scale: str) -> pd.DataFrame:
    """Columns run, round, measure and value, of each run of a number that is on this machine."""
    rows: list[tuple[Any, ...]] = []
    for name in filter(None, line.runs.split(";")):
        if run := find_run(name, scale):
            label, curve = along(run.rounds, line.metric, _part(workload, line))
            rows += [(name, number, label, value) for number, value in curve.items()]
    return pd.DataFrame(rows, columns=["run", "round", "measure", "value"])


def _paper(workload: Workload, line: ComparisonLine) -> Any:
    return workload.papers[line.paper]


def _part(workload: Workload, line: ComparisonLine) -> str:
    return workload.settings[line.setting].reported_part


def find_run(name: str, scale: str) -> FoundRun | None:
    """A run by its id: in the results of a scale, else among stored ones; None if it is in neither."""
    folder = Path("results", scale, "runs", name)
    if (folder / "summary.json").is_file():
        summary = json.loads(read_bytes(folder / "summary.json"))
        stored = summary.get("recorded") or {}
        facts = [f"{key} {stored[key]}" for key in ("commit", "date") if stored.get(key)]
        machine = [str(summary.get("processor", "")), f"{summary.get('seconds', 0):.4g} s"]
        return FoundRun(
            folder, facts + machine, tables.arrow(folder / "metrics.parquet").to_pandas()
        )
    record = Record(name.partition("/")[0])
    entries = record.jobs.get(f"train/{name}", []) if scale == SCALE else []
    if not entries:
        return None
    origin = entries[-1].origin
    facts = [f"commit {origin.commit or 'unknown'}", f"date {origin.date}"]
    rounds = record.metrics(f"train/{name}", entries[-1]).to_pandas()
    return FoundRun(record.path, [*facts, origin.processor, f"{origin.seconds:.4g} s"], rounds)


def along(rounds: pd.DataFrame, metric: str, part: str) -> tuple[str, dict[int, float]]:
    """(what is drawn, its value by evaluated round): the metric itself if it follows from losses or accuracies of the
    clients, else their mean accuracy, or mean loss where there are no classes."""
    values = measured(rounds, part)
    for name in (metric, "accuracy_mean", "loss_mean"):
        unit, vector, function = METRICS.get(name, ("", "", None))
        if function and vector in values and values[vector].notna().any():
            curve = {at: function(of) for at, (_, of) in by_round(values[vector], rounds).items()}
            return f"{name} ({unit}, {part} part)", curve
    return "", {}


def chart(values: Sequence[float]) -> str:
    """A curve as a line of blocks, at most _WIDTH of them; a value that is not finite is a gap."""
    at = np.linspace(0, len(values) - 1, min(len(values), _WIDTH)).round().astype(int)
    points = np.array(values, float)[at]
    finite = points[np.isfinite(points)]
    if not finite.size:
        return ""
    span = (finite.max() - finite.min()) or 1.0
    heights = (points - finite.min()) / span * (len(BLOCKS) - 1)
    return "".join(BLOCKS[round(each)] if math.isfinite(each) else " " for each in heights)
