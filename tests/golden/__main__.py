"""python -m tests.golden [--write]: compare what `make` has written at quick scale with what was committed.

On the kind of machine that the committed digests are from, every CSV and every table as Markdown and LaTeX must be
equal to the byte, except columns that hold fingerprints and artifacts that print seconds of this machine. Another
processor or torch rounds otherwise, and some trainings amplify that: there the numbers need only agree within the
tolerances below.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from fairfl.experiments.paper import FOLDERS
from fairfl.values.tables import remarks_of

HERE = Path(__file__).parent
REPORTED = HERE.parents[1] / "papers/reported"
DIGESTS, NUMBERS = HERE / "quick.json", HERE / "quick.csv"
KEY = ["artifact", "setting", "algorithm", "hyperparameters", "metric", "unit"]
# Share of all numbers that must lie within RELATIVE of the committed ones on another kind of machine. Measured with
# AVX2 kernels in place of AVX-512: 76 % of the runs' means over clients stay equal, 97.9 % are within RELATIVE.
# Cells such as variances and worst clients spread more.
SHARE, RELATIVE = 0.8, 0.1


def machine() -> dict[str, str]:
    """What the last bits of a number depend on: the processor's family, the kernels that torch chose, torch."""
    fields = dict.fromkeys(("vendor_id", "cpu family", "model"), "")
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text().splitlines() if cpuinfo.exists() else ():
        name, _, value = line.partition(":")
        if name.strip() in fields:
            fields[name.strip()] = value.strip()
    return {
        "processor": " ".join(fields.values()),
        "kernels": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__.partition("+")[0],
    }


def tables(results: Path) -> dict[str, pd.DataFrame]:
    """All CSVs that a reader of the papers sees, by path below `results`, without what differs between equal runs."""
    paths = [*of_papers(results, "csv"), *(results / f"{name}.csv" for name in ("comparison", "claims", "ranking"))]
    frames = {str(path.relative_to(results)): read(path) for path in paths}
    timed = timed_in(frames)
    return {
        path: frame.drop(columns="fingerprints", errors="ignore")[~in_any(frame, timed)]
        for path, frame in frames.items()
    }


def of_papers(results: Path, ending: str) -> list[Path]:
    """The files of tables and figures."""
    return [path for path in sorted(results.glob(f"*/*.{ending}")) if path.parent.name not in FOLDERS]


def texts(results: Path) -> dict[str, str]:
    """Digests of the tables as Markdown and LaTeX, by path below `results`, without those that print seconds."""
    frames = {str(path): read(path) for path in of_papers(results, "csv")}
    timed = timed_in(frames)
    return {
        str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for ending in ("md", "tex")
        for path in of_papers(results, ending)
        if f"{path.parent.name}_{path.name.partition('.')[0]}" not in timed
    }


def timed_in(frames: dict[str, pd.DataFrame]) -> set[str]:
    """Artifacts that print times of this machine."""
    return {name for frame in frames.values() for name in measured_in_seconds(frame)}


def read(path: Path) -> pd.DataFrame:
    with path.open(encoding="utf-8") as file:
        remarks_of(file)
        return pd.read_csv(file, dtype=str, keep_default_na=False)


def measured_in_seconds(frame: pd.DataFrame) -> set[str]:
    return set(frame["artifact"][frame["unit"] == "seconds"]) if {"artifact", "unit"} <= set(frame) else set()


def in_any(frame: pd.DataFrame, artifacts: set[str]) -> pd.Series:
    return frame["artifact"].isin(artifacts) if "artifact" in frame else pd.Series(False, index=frame.index)


def digest(frame: pd.DataFrame) -> str:
    """First 16 hex digits of the sha256 of a table as CSV."""
    return hashlib.sha256(frame.to_csv(index=False, lineterminator="\n").encode()).hexdigest()[:16]


def numbers(frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Every cell of comparison.csv that has a number of ours, one row each; of published papers, not of experiments of
    one's own, whose choices of tuning a last bit can turn."""
    frame = frames["comparison.csv"]
    published = frame["artifact"].str.partition("_")[0].isin([path.name for path in REPORTED.iterdir()])
    return frame.loc[(frame["ours"] != "") & published, [*KEY, "ours"]].drop_duplicates(KEY)


def digests_of(results: Path) -> dict[str, str]:
    return {path: digest(frame) for path, frame in tables(results).items()} | texts(results)


def write(results: Path) -> None:
    record = {"machine": machine(), "digests": digests_of(results)}
    DIGESTS.write_text(json.dumps(record, indent=1) + "\n")
    numbers(tables(results)).to_csv(NUMBERS, index=False, lineterminator="\n")


def problems(results: Path) -> list[str]:
    """Where the results differ from the committed ones: a line each, empty if nowhere."""
    committed, found = json.loads(DIGESTS.read_text()), digests_of(results)
    digests = committed["digests"]
    missing = [f"{path}: missing" for path in sorted(digests.keys() - found.keys())]
    missing += [f"{path}: not among the committed ones" for path in sorted(found.keys() - digests.keys())]
    if committed["machine"] == machine():
        return missing + [f"{path}: differs" for path, own in found.items() if digests.get(path, own) != own]
    return missing + far_apart(read(NUMBERS), numbers(tables(results)))


def far_apart(then: pd.DataFrame, now: pd.DataFrame) -> list[str]:
    """A line if too few numbers agree; lines for numbers that are there once only."""
    both = then.merge(now, on=KEY, how="outer", suffixes=("_then", "_now"), indicator=True)
    lines = [f"{' '.join(row[KEY])}: {row['_merge']}" for _, row in both[both["_merge"] != "both"].iterrows()]
    old, new = (both.loc[both["_merge"] == "both", f"ours_{side}"].astype(float) for side in ("then", "now"))
    share = float(np.isclose(new, old, rtol=RELATIVE, atol=1e-6, equal_nan=True).mean())
    return lines + ([f"only {share:.1%} of the numbers are within {RELATIVE:.0%}"] if share < SHARE else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?", type=Path, default=Path("results/quick"))
    parser.add_argument("--write", action="store_true", help="commit these results instead: say why in the commit")
    args = parser.parse_args()
    if args.write:
        return write(args.results)
    found = problems(args.results)
    kind = "to the byte" if json.loads(DIGESTS.read_text())["machine"] == machine() else "within tolerance"
    print("\n".join(found) or f"{args.results}: equal {kind} to the committed results")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
