"""python -m fairfl.jobs.reproduction: docs/papers/*.md, status.svg, derived texts and results/recorded/*.csv.

Not a job of the graph: what it writes is committed. It takes only what the record alone has given.
"""

import argparse
from itertools import chain
from pathlib import Path

from fairfl.experiments.config import SELECTING, Config, with_papers
from fairfl.experiments.paper import Paper
from fairfl.experiments.strict import yaml_files
from fairfl.experiments.workload import Workload, load_workload
from fairfl.runtime import atomic, cli
from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import shown
from fairfl.values.json_text import from_text

PAGES = Path("docs/papers")
TABLES = Path("docs/tables")
PICTURE = Path("docs/status.svg")


def check(workload: Workload, root: Path) -> None:
    """Raises FairflError unless everything that is recorded is selected, and nothing else."""
    chosen = workload.config
    everything = with_papers(Config(scale="full", recorded="only"), yaml_files(root / "papers"))
    for key in ("scale", *SELECTING, "recorded", "tuned", "verdict"):
        value, needed = getattr(chosen, key), getattr(everything, key)
        if (sorted(value) if key == "papers" else value) != needed:
            raise FairflError(
                f"config.yaml: {key}: {shown(value)}: the committed texts describe all stored results: it must be "
                f"{shown(needed)} (`make report`)"
            )


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.jobs.reproduction", description=__doc__)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    parser.add_argument("--results", required=True, type=Path, help="results/full")
    args = parser.parse_args(argv)
    workload = load_workload(args.root, from_text(args.config, dict, "--config"))
    check(workload, args.root)

    from fairfl.judgement import recorded as numbers
    from fairfl.judgement.rows import ClaimLine, ComparisonLine, records
    from fairfl.recorded import FOLDER, sums
    from fairfl.reporting.reproduction import OWN

    quoted = {name for name, paper in workload.papers.items() if paper.sources == "quoted"}
    every = records(args.results / "comparison.csv", "comparison", ComparisonLine)
    checked = records(args.results / "claims.csv", "claims", ClaimLine)
    files = {
        numbers.COMPARISON: numbers.comparison_text(line for line in every if line.paper in quoted),
        numbers.CLAIMS: numbers.claims_text(line for line in checked if line.paper in quoted),
    }
    for name in own(workload):
        files[OWN / name / "claims.csv"] = numbers.claims_text(
            line for line in checked if line.paper == name
        )
        for path in sorted((args.results / name).glob("*.csv")):
            if f"{name}_{path.stem}" in workload.artifacts:  # another may be of an earlier version
                files[OWN / name / path.name] = path.read_text(encoding="utf-8")

    def store() -> None:
        named = {str(path.relative_to(FOLDER)): text.encode() for path, text in files.items()}
        sums.write(args.root / FOLDER, named, (f"{OWN.name}/",))

    store()
    derived = texts(args.root, workload.papers)  # they read those files
    files[numbers.DIFFERENCES] = derived.pop(numbers.DIFFERENCES)
    store()
    for path, text in derived.items():
        atomic.write_text(args.root / path, text)
    print(f"wrote {', '.join(map(str, [*files, *derived]))}")


def own(workload: Workload) -> list[str]:
    """Your experiments of which something is recorded."""
    ran = {workload.paper_of[setting] for setting in workload.shown if workload.runs_of(setting)}
    return sorted(name for name in ran if workload.papers[name].sources == "own")


def texts(root: Path, papers: dict[str, Paper]) -> dict[Path, str]:
    """docs/papers/*.md, docs/tables/*.md, docs/status.svg, differences.csv and every page with derived sentences, from
    results/recorded/, papers/explanations/ and benchmarks/ below `root`."""
    from fairfl.judgement.recorded import DIFFERENCES, NUMBERS
    from fairfl.judgement.rows import ComparisonLine, csv_text
    from fairfl.reporting.derived import BEGIN, filled, vocabulary
    from fairfl.reporting.reproduction import StoredResults
    from fairfl.reporting.status import status_svg

    stored = StoredResults(root, papers)
    counts = {paper.called: stored.counted(name) for name, paper in stored.papers.items()}
    files = {
        TABLES / "index.md": stored.tables_page(),
        PICTURE: status_svg(counts),
        DIFFERENCES: csv_text(stored.differences(), ComparisonLine, NUMBERS),
    }
    for name in stored.papers:
        files[PAGES / f"{name}.md"] = stored.paper_page(name)
        files[TABLES / f"{name}.md"] = stored.tables_page(name)
    names = vocabulary(root, stored)
    for path in sorted(chain(*(root.glob(f"{of}*.md") for of in ("", "docs/", "benchmarks/")))):
        text, page = path.read_text(encoding="utf-8"), path.relative_to(root)
        if f"{BEGIN}\n" in text:
            files[page] = filled(text, names, str(page))
    return files


if __name__ == "__main__":
    cli.run(main)
