"""Links from the page to files of the results folder, and their text."""

import os
from pathlib import Path
from urllib.parse import quote


class Files:
    """Those of a results folder, as seen from the page."""

    def __init__(self, results: Path, page: Path) -> None:
        self.results, self.folder = results, page.parent

    def link(self, path: str) -> str:
        """Relative URL, '' if nothing is there."""
        target = self.results / path
        if not target.exists():
            return ""
        return quote(Path(os.path.relpath(target, self.folder)).as_posix())

    def text(self, path: str) -> str:
        """What a file says, '' if it is not there."""
        target = self.results / path
        return target.read_text(encoding="utf-8", errors="replace") if target.is_file() else ""
