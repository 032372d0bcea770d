"""Links from the page to files of the results folder, and their text; data for its script."""

import base64
import gzip
import io
import json
import os
from collections.abc import Collection
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from fairfl.experiments.artifact import Artifact
from fairfl.judgement.units import unit_words
from fairfl.reporting.page.settings import yaml_text
from fairfl.reporting.page.text import readable
from fairfl.runtime import inputs, opened
from fairfl.values import tables


class Files:
    """Files of a results folder, as seen from the page."""

    def __init__(self, results: Path, page: Path) -> None:
        self.results, self.folder = results, page.parent

    def link(self, path: str) -> str:
        """Relative URL, '' if nothing is there. Side-by-side tables are of a selection, as the page is."""
        target = (self.folder if ".side_by_side." in path else self.results) / path
        if not target.exists():
            return ""
        return quote(Path(os.path.relpath(target, self.folder)).as_posix())

    @opened.by_fairfl()
    def text(self, path: str) -> str:
        """Content of a file, '' if it is not there."""
        try:
            return inputs.read_bytes(self.results / path).decode("utf-8", errors="replace")
        except (FileNotFoundError, IsADirectoryError):
            return ""

    def describe(self, details: Collection[tuple[list[str], list[str]]]) -> dict[str, Any]:
        """Details for the page's script: (sentences, runs) of each number, and where each run lies."""
        runs = dict.fromkeys(chain.from_iterable(runs for _, runs in details))
        links = {run: self.link(f"runs/{run}") or self.link(run) for run in runs}
        return {"runs": links, "numbers": details}

    def of(self, path: str, artifact: Artifact) -> dict[str, Any]:
        """Links to the files of an artifact, the files that are not there, and texts to be copied."""
        endings = ["pdf", "png", "csv"] if artifact.plot else ["csv", "md", "tex"]
        if artifact.kind == "table":
            endings += ["side_by_side.md", "side_by_side.tex"]
        links = {ending: self.link(f"{path}.{ending}") for ending in endings}
        missing = [f"{path}.{ending}" for ending, url in links.items() if not url]
        texts = [ending for ending in ("tex", "md") if links.get(ending)]
        copies = {ending: self.text(f"{path}.{ending}") for ending in texts}
        return {"links": links, "missing": missing, "copies": copies}

    def remarks(self, path: str) -> list[str]:
        """The remarks above a table, none if it is not there."""
        return tables.remarks_of(io.StringIO(self.text(path)))


def template(name: str, autoescape: bool = True) -> Template:
    """A template beside this file, in which what is put in is text, or Markdown without `autoescape`."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=autoescape, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {"plain": readable, "yaml": yaml_text, "unit": unit_words}
    return environment.get_template(name)


def embedded(data: Any) -> str:
    """JSON for the page's script, as base64 of gzip: a tenth of its size."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
