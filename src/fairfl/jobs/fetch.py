"""Obtain the raw files of a data set: ``python -m fairfl.jobs.fetch --dataset mnist --out m.json``.

Or the published weights that a model may start from: ``--weights resnet18``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairfl.data import pretrained, registry
from fairfl.data.download import Copy, FileSources
from fairfl.data.interface import RemoteFile
from fairfl.jobs import job
from fairfl.runtime import atomic, cli, opened
from fairfl.runtime.errors import FairflError
from fairfl.values.json_text import from_text

if TYPE_CHECKING:
    from fairfl.experiments.config import Config
    from fairfl.experiments.workload import Workload

HASHED = False  # files are known by their checksums, whichever code has fetched them


def spec(workload: Workload, key: str) -> dict[str, Any]:
    """Files that are wanted, not where they are looked for."""
    if key.startswith(pretrained.KEY):
        weights = pretrained.PUBLISHED[key.removeprefix(pretrained.KEY)]
        return {"weights": {"name": weights.name, "sha256": weights.sha256[0]}}
    data = workload.prepared_by(key)[0]
    digests = {
        file.relative(data.name): _digests(file, data.name, workload.config)
        for file in registry.files(data.name, data.options)
    }
    return {"dataset": data.name, "files": digests}


def _digests(file: RemoteFile, dataset: str, config: Config) -> list[str | None]:
    """Names of a file by content. One without a publisher: its content now, since an edit makes another file. That is
    known before it is copied from a mirror, or all that it feeds would run once more afterwards.
    """
    if _is_own(file):
        sources = FileSources(Path(config.data_folder), config.mirrors, config.offline)
        return [sources.digest_at_hand(file, dataset)]
    return [*file.sha256, file.md5]


def _is_own(file: RemoteFile) -> bool:
    """True if only the user has the file itself, though another form of it may be published."""
    return not replace(file, instead=None).is_published


def _check(
    files: Sequence[RemoteFile], dataset: str, copies: Sequence[Copy], folder: Path, spec: str
) -> None:
    """Raises FairflError if a file without a publisher was edited after the plan, which names it by its content."""
    own = {file.relative(dataset) for file in files if _is_own(file)}
    planned = from_text(spec, dict, "--spec").get("files", {})
    for copy in copies:
        if copy.path in own and planned.get(copy.path, [None]) not in ([None], [copy.sha256]):
            raise FairflError(
                f"{folder / copy.path}: is not the file that this job was planned with; run the same command again"
            )


def main(argv: list[str] | None = None) -> None:
    """Bring every file into ``--folder``, then write the marker ``--out``.

    The marker is JSON: {dataset or weights, files: [{name, sha256, bytes, path, source}]} with ``name`` and
    ``path`` (relative to the folder) of the form that was found and ``source`` one of "local
    folder", "mirror", "upstream". A data set without files gets an empty list. On failure no marker
    is written.

    Raises:
        FairflError: unknown data set or option, or options that are not a JSON object.
        SourceError: a file that no source could deliver.
        OSError: the marker cannot be written.
    """
    parser = job.parser("fetch", spec=False, out="marker file to write")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--dataset", help="name of the data set")
    what.add_argument(
        "--weights",
        choices=sorted(pretrained.PUBLISHED),
        help="model whose published weights to obtain",
    )
    parser.add_argument("--options", default="{}", help="options of the data set, a JSON object")
    parser.add_argument("--folder", type=Path, default=Path("data"), help="local data folder")
    parser.add_argument(
        "--mirror",
        action="append",
        default=[],
        help="folder or address; may be given several times",
    )
    parser.add_argument("--offline", action="store_true", help="use no network")
    args = parser.parse_args(argv)
    files: Sequence[RemoteFile]
    if args.weights:
        kind, name, files = "weights", args.weights, [pretrained.PUBLISHED[args.weights]]
    else:
        kind, name = "dataset", args.dataset
        options = from_text(args.options, registry.load(name).Config, "--options")
        files = registry.files(name, options.model_dump())
    with job.run_context(args, args.out):
        with opened.by_fairfl():  # each is compared with its hash
            copies = FileSources(args.folder, args.mirror, args.offline).find_all(files, name)
        _check(files, name, copies, args.folder, args.spec)
        marker = json.dumps({kind: name, "files": list(map(vars, copies))}, indent=2)
        atomic.write_text(args.out, f"{marker}\n")


if __name__ == "__main__":
    cli.run(main)
