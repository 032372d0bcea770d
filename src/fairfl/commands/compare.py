"""fairfl compare ALGORITHM... --with ARTIFACT|SETTING: your algorithms in a published table, beside its own rows.

    fairfl compare mine --with fedfv_table3 --scale full
    fairfl compare mine/strength={1,2,4} qffl/q=1 --with focus_synthetic_10 --seeds 2
    fairfl compare ~/gini.py --with fedfv_fmnist

An algorithm is a file of src/fairfl/algorithms by its name, or one elsewhere by its path, to which a link is laid
there; with hyper-parameters as in mine/strength=2.0. Several are several rows: of a grid all points are shown, none is
chosen on test numbers. A setting stands for the first table that shows it, that setting alone.

Writes papers/NAME.yaml, an experiment of your own that borrows the settings, and builds it: the table with your rows,
the differences between yours and the others over the same seeds, curves, and the page. At scale full the table's own
rows come from stored results as far as there are any, so that little more than yours is trained. Other options are
Snakemake's (-n: what would run).
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fairfl.commands.experiment import experiment
from fairfl.commands.new import checked
from fairfl.commands.snakemake import config_of, line_of, split_at, with_cores
from fairfl.experiments.artifact import Artifact
from fairfl.experiments.declaration import declaration, parameters
from fairfl.experiments.layout import Layout
from fairfl.experiments.origin import origin
from fairfl.experiments.plugins import PACKAGE, names
from fairfl.experiments.strict import load, yaml_files
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Workload, load_workload
from fairfl.judgement.claims import preflight
from fairfl.judgement.paired import LEVEL
from fairfl.judgement.units import unit_words
from fairfl.planning import downloads
from fairfl.runtime import atomic
from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import aligned, shown
from fairfl.runtime.processes import run_module
from fairfl.runtime.validation import nearest
from fairfl.workflow.session import DATA

_HEAD = "# Written by `fairfl compare"


def main(root: Path, argv: list[str]) -> None:
    """Raises FairflError for what cannot be compared, before anything is written or run."""
    overrides, words = config_of(argv)
    options, rest = split_at(words, "--")
    args, others = make_parser().parse_known_args(options)
    here = Path.cwd()
    os.chdir(root)
    with ExitStack() as undo:
        _run(args, undo, here, overrides, argv, [*others, *rest])


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command's own options; others are Snakemake's."""
    parser = argparse.ArgumentParser(
        prog="fairfl compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "algorithms",
        nargs="+",
        metavar="ALGORITHM",
        help="mine, mine/strength=2.0, or path/to/mine.py",
    )
    parser.add_argument(
        "--with", required=True, dest="target", help="a table, a figure or a setting: fedfv_table3"
    )
    parser.add_argument("--scale", help="quick, small or full; as config.yaml says")
    parser.add_argument(
        "--seeds", type=int, help="how many of the setting's seeds, or more; all of them"
    )
    parser.add_argument("--name", help="of the experiment: small letters and digits")
    parser.add_argument(
        "--download",
        action="store_true",
        help="data that are not on this machine may be downloaded",
    )
    return parser


def _run(
    args: argparse.Namespace,
    undo: ExitStack,
    here: Path,
    overrides: list[str],
    argv: list[str],
    others: list[str],
) -> None:
    """Write the experiment and build it. `undo` takes back what is written, unless it is built."""
    from snakemake.cli import parse_config  # takes a second to load: not for --help

    if args.name:
        checked("paper", args.name)
    variants = [_variant(text, here, PACKAGE / "algorithms", undo) for text in args.algorithms]
    scale = {"scale": args.scale} if args.scale else {}
    config = load(Path("config.yaml")) | parse_config(overrides) | scale
    workload, artifact = _published(config, args.target)
    _at_hand(workload, artifact, args)
    compared = f"# {' '.join(variant.selector for variant in variants)} with {args.target}\n"
    name = args.name or _free(f"{variants[0].algorithm}{args.target}", compared)
    head = f"{_HEAD} {' '.join(argv)}`, and rewrites it each time: change it in a copy.\n{compared}"
    path = _write(name, head + experiment(name, workload, artifact, variants), compared, undo)
    preflight.check(load_workload(Path.cwd(), config | {"papers": [name]}))
    chosen = [*overrides, f"papers={name}", f"scale={workload.scale.scale}"]
    if args.seeds is not None:
        chosen.append("seeds=" + ",".join(map(str, seeds(workload, artifact, args.seeds))))
    dry = bool({"-n", "--dry-run", "--dryrun"} & set(others))
    paper, alone = workload.config.papers[0], ", for this dry run alone" if dry else ""
    print(
        f"{path}: {', '.join(variant.selector for variant in variants)} in {paper}'s {artifact.title}{alone}"
    )
    print("\n".join(_takes(config | parse_config(chosen))), flush=True)
    if not dry:
        undo.pop_all()
    words = line_of(with_cores(others), ["--config", *chosen])
    done = subprocess.run([sys.executable, "-P", "-m", "snakemake", *words])
    if done.returncode:
        raise SystemExit(done.returncode)
    differences = Path("results", workload.scale.scale, name, "differences.csv")
    if differences.is_file() and not dry:
        digits = {metric: m.digits for metric, m in workload.papers[paper].metrics.items()}
        print("\n".join(difference_lines(differences, digits)))


def _write(name: str, text: str, compared: str, undo: ExitStack) -> Path:
    """Write the experiment's file; `undo` brings back what was there before."""
    path = Path("papers", f"{name}.yaml")
    if not path.exists():
        undo.callback(path.unlink, missing_ok=True)
    elif _is_of(path, compared):
        undo.callback(atomic.write_text, path, path.read_text())
    else:
        raise FairflError(
            f"{path} is there already, and not of this comparison: give another --name, or remove it"
        )
    atomic.write_text(path, text)
    return path


def _free(name: str, compared: str) -> str:
    """The name, or the next one (x2, x3, ...) that no other comparison has."""
    name = re.sub("[^a-z0-9]", "", name)
    tried = (name if number == 1 else f"{name}x{number}" for number in itertools.count(1))
    return next(
        one
        for one in tried
        if not (path := Path("papers", f"{one}.yaml")).exists() or _is_of(path, compared)
    )


def _is_of(path: Path, compared: str) -> bool:
    """True for a file that this command has written for the same algorithms and table."""
    head = path.read_text(errors="replace").splitlines(keepends=True)[:2]
    return len(head) == 2 and head[0].startswith(_HEAD) and head[1] == compared


def _takes(config: dict[str, Any]) -> list[str]:
    """Lines of `fairfl plan` that say how long it takes; nothing if nothing is missing."""
    output = run_module(
        "fairfl.planning.plan", "--config", json.dumps(config), "--root", "."
    ).stdout
    return re.findall("(?m)^takes: .*", output)


# -- what is compared -----------------------------------------------------------------------------
def _variant(text: str, here: Path, folder: Path, undo: ExitStack) -> Variant:
    """'mine', 'mine/strength=2.0' or 'path/to/mine.py/strength=2.0'. Lays a link to a file that is elsewhere."""
    if match := re.fullmatch(r"(.*\.py)(?:/(.*))?", text):
        text = "/".join(
            filter(None, (_linked(here / Path(match[1]).expanduser(), folder, undo), match[2]))
        )
    variant = Variant.from_selector(text) if "/" in text else Variant(text, {})
    declaration("algorithms", variant.algorithm)
    parameters("algorithms", variant.algorithm, dict(variant.values), "fairfl compare", text)
    return variant


def _linked(file: Path, folder: Path, undo: ExitStack) -> str:
    """The algorithm's name; its file is one of `folder` or behind a link there. `undo` removes a new link."""
    place = folder / file.name
    if not file.is_file():
        raise FairflError(f"{file}: no such file")
    checked("algorithm", file.stem)
    if not place.exists():
        place.unlink(missing_ok=True)  # a link whose file has gone
        place.symlink_to(file.resolve())
        undo.callback(names.cache_clear)
        undo.callback(place.unlink, missing_ok=True)
        names.cache_clear()
        print(f"{place}: a link to {file.resolve()}")
    elif place.resolve() != file.resolve():
        raise FairflError(f"{place} is there already, and another file than {file}: rename yours")
    return file.stem


def _published(config: dict[str, Any], target: str) -> tuple[Workload, Artifact]:
    """The workload of the target's paper, and the artifact with the columns and settings that are compared."""
    papers = yaml_files(Path("papers"))
    paper = target.partition("_")[0]
    if paper not in papers:
        raise FairflError(
            f"--with {shown(target)}: no paper {shown(paper)}{nearest(paper, papers)}"
        )
    workload = load_workload(Path.cwd(), config | {"papers": [paper]})
    tables = {name: _results(artifact) for name, (_, _, artifact) in workload.known.items()}
    fit = {
        name: artifact for name, artifact in tables.items() if artifact.columns and artifact.rows
    }
    if target in fit:
        return workload, fit[target]
    showing = [artifact for artifact in fit.values() if target in artifact.settings]
    if showing:
        return workload, _only(min(showing, key=lambda one: one.kind != "table"), target)
    if target in tables:
        raise FairflError(
            f"--with {target}: prints no results of runs in columns; these do: {', '.join(fit)}"
        )
    names = [*fit, *(setting for artifact in fit.values() for setting in artifact.settings)]
    raise FairflError(
        f"--with {shown(target)}: no table, figure or setting of {paper} has this name{nearest(target, names)}"
    )


def _results(artifact: Artifact) -> Artifact:
    """The artifact with those columns that runs measure."""
    return _with_columns(artifact, [name for name in artifact.columns if origin(name) == "tidy"])


def _only(artifact: Artifact, setting: str) -> Artifact:
    """The artifact in one of its settings."""
    alone = {"settings": [setting], "rows": artifact.rows_in(setting), "columns_in": {}}
    columns = artifact.columns_in.get(setting, artifact.columns)
    return _with_columns(artifact, columns, **alone, rules=[], layout=Layout())


def _with_columns(artifact: Artifact, columns: list[str], **changes: Any) -> Artifact:
    """The artifact with these of its columns, and other changes."""
    subsets = {
        key: [metric for metric in of if metric in columns]
        for key, of in artifact.columns_of.items()
    }
    changes |= {"columns": columns, "columns_of": subsets}
    return artifact.model_copy(update=changes)


def seeds(workload: Workload, artifact: Artifact, count: int) -> list[int]:
    """The first seeds of the artifact's settings; beyond these the smallest other numbers."""
    lists = {tuple(workload.settings[setting].seeds) for setting in artifact.settings}
    if len(lists) > 1 or count < 1:
        raise FairflError(
            f"--seeds {count}: "
            + ("at least 1" if count < 1 else "its settings have different seeds")
        )
    listed = lists.pop()
    return [*listed, *(seed for seed in range(len(listed) + count) if seed not in listed)][:count]


def _at_hand(workload: Workload, artifact: Artifact, args: argparse.Namespace) -> None:
    """Raises FairflError with what to type if data or weights of a setting are not on this machine."""
    if args.download:
        return
    for setting in artifact.settings:
        here = workload.settings[setting]
        data_of_key = {workload.prepared(setting, seed): here.data.name for seed in here.seeds}
        if weights := downloads.published_weights(workload, setting):
            data_of_key[f"weights/{weights}"] = weights
        for key, data in data_of_key.items():
            prepared = Path(DATA, f"{key}.safetensors").is_file()
            if prepared or (location := downloads.source(workload, key)) == "local":
                continue
            fetch = "" if location == "unavailable" else "; --download fetches them"
            raise FairflError(
                f"{args.target} at scale {workload.scale.scale}: the files of {data} (for {setting}) are neither in "
                f"{workload.config.data_folder}/{data} nor in a mirror{fetch}; --scale quick runs without them"
            )


# -- what came out ----------------------------------------------------------------------------------
def difference_lines(path: Path, digits: Mapping[str, int]) -> Iterator[str]:
    """The differences as lines of text: a table for each setting and row, '+0.42 [-0.10, +0.94]' in its cells."""
    import pandas as pd

    table = pd.read_csv(path, comment="#", keep_default_na=False, dtype=str)
    for name, values in (("of", "of_hyperparameters"), ("algorithm", "hyperparameters")):
        variants = map(Variant.from_csv, table[name], table[values])
        table[name] = [variant.selector.removesuffix("/default") for variant in variants]
    rows = table.to_dict("records")
    table["cell"] = [_cell(row, digits.get(row["metric"], 3)) for row in rows]
    for (setting, one, seeds), block in table.groupby(["setting", "of", "seeds"], sort=False):
        cells = block.pivot(index="algorithm", columns="metric", values="cell").fillna("")
        cells = cells.loc[block["algorithm"].unique(), block["metric"].unique()]
        units = filter(None, dict.fromkeys(map(unit_words, block["unit"])))
        count = "1 seed" if seeds == "1" else f"{seeds} seeds"
        yield f"\n{setting}, {', '.join(units)}: means over the same {count}, with {LEVEL:.0%} intervals"
        yield from aligned([(f"{one} minus", *cells.columns), *cells.itertuples(name=None)])


def _cell(row: Mapping[str, str], digits: int) -> str:
    if row["difference"] == "nan":
        return "diverged"
    number, low, high = (f"{float(row[key]):+.{digits}f}" for key in ("difference", "low", "high"))
    return f"{number} [{low}, {high}]" if row["low"] != "nan" else number
