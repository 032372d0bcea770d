"""What comparison, claims, ranking, side_by_side and page have in common: they read config.yaml and papers/*.yaml."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from fairfl.experiments.base import JobSpec
from fairfl.experiments.workload import load_workload
from fairfl.jobs import job
from fairfl.runtime import atomic, opened
from fairfl.runtime.fingerprint import fingerprint
from fairfl.values.json_text import from_text

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


class SummarySpec(JobSpec):
    """Spec of a summary: its dependencies beside the results that it reads."""

    papers: dict[str, str] = Field(description="fingerprint of each paper")
    scale: str = Field(description="fingerprint of the scale")
    config: dict[str, Any] = Field(description="what to run, not how (device, threads, folders)")
    files: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="our numbers: kind -> setting, artifact or <setting>/<algorithm> -> path",
    )
    reported: dict[str, str] = Field(
        default_factory=dict, description="content of the papers' numbers, by path"
    )


def config(workload: "Workload") -> dict[str, Any]:
    """Keys that say what to run, not how (device, threads, folders)."""
    what = {"scale", "papers", "artifacts", "settings", "algorithms", "seeds", "tuned", "verdict"}
    return workload.config.model_dump(mode="json", include=what)


def spec(workload: "Workload", files: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Fingerprints of all papers and of the scale, the configuration, and the inputs that come by name."""
    return SummarySpec(
        papers={key: paper.fingerprint for key, paper in workload.papers.items()},
        scale=fingerprint(workload.scale.model_dump(mode="json")),
        config=config(workload),
        files=files,
    ).model_dump(mode="json")


def files(args: argparse.Namespace) -> dict[str, dict[str, str]]:
    """The files of our numbers that the job may read. Raises FairflError if it was given no --spec."""
    return from_text(args.spec, SummarySpec, "--spec").files


def write(
    rule: str,
    argv: list[str] | None,
    text: Callable[["Workload", argparse.Namespace], str | list[str]],
) -> None:
    """Run the job: write what `text` makes of the workload and the options --root, --results and --out to --out.

    It makes one text, or one for each file.
    """
    parser = job.parser(rule, spec=False, results="results/<scale>")
    parser.add_argument("--config", required=True, help="config.yaml after overrides, as JSON")
    parser.add_argument(
        "--root", type=Path, default=Path("."), help="folder with papers/ and scales/"
    )
    parser.add_argument("--out", type=Path, required=True, nargs="+", help="files to write")
    args = parser.parse_args(argv)
    args.root = args.code or args.root
    config = from_text(args.config, dict, "--config")
    with job.run_context(args, *args.out):
        with opened.by_fairfl():  # the spec has what it says
            workload = load_workload(args.root, config)
        texts = text(workload, args)
        for path, content in zip(
            args.out, [texts] if isinstance(texts, str) else texts, strict=True
        ):
            atomic.write_text(path, content)
