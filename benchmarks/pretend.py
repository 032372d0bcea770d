"""Results and records that nothing has computed: to plan with, in benchmarks and tests."""

import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import yaml

from fairfl.runtime import records
from fairfl.workflow import snakemake
from fairfl.workflow.graph import Graph

TORCH = ("train", "local_optimum", "surrogate", "timing")  # jobs whose records name torch's version


def finish(graph: Graph, names: Iterable[str] | None = None) -> None:
    """Leave results and records of jobs (default: all) and what they need in the working directory."""
    for job in graph.below(names or graph.everything()):
        for output in map(Path, job.outputs):
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(json.dumps({"says": job.name, "files": []}))
        read = {graph.record(name): records.read(graph.record(name)) for name in job.inputs}
        inputs = {
            path: [record["fingerprint"], records.results_hash(record)]
            for path, record in read.items()
            if record
        }
        made = {"arithmetic": {"torch": version("torch")}} if job.rule in TORCH else {}
        records.write(
            Path(graph.record(job.name)), job.parsed, inputs, list(map(Path, job.outputs)), **made
        )


if (
    __name__ == "__main__"
):  # python -m benchmarks.pretend SCALE [PAPER ...], in a folder with a Snakefile
    config = yaml.safe_load(Path("config.yaml").read_text()) | {"scale": sys.argv[1]}
    config["papers"] = sys.argv[2:] or config["papers"]
    finish(snakemake.parsed(Path("."), config)["graph"])
