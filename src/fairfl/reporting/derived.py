"""Sentences with numbers in the documentation: `make report` writes them from measurements, never by hand.

A page has, as a comment, how they are made (jinja2); what that gives stands below it:

    <!-- derived
    {{ say("fedfv_table3") }}
    -->
    Of 65 numbers 62 agree, 1 is close, 2 differ.
    <!-- end -->

The names in there are those of `vocabulary`: counts and numbers of the record, times and speed of committed files.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from fairfl.reporting.reproduction import StoredResults
from fairfl.runtime.errors import FairflError

BEGIN, END = "<!-- derived", "<!-- end -->"
_BLOCK = re.compile(rf"^{BEGIN}\n(.*?)\n-->\n(?:(?!{BEGIN}).)*?^{END}$", re.M | re.S)
MEASURED = ("benchmarks/measured", "benchmarks/results")  # committed measurements


def filled(text: str, names: Mapping[str, Any], file: str) -> str:
    """A page with each block rebuilt. Raises FairflError if a comment has no end, or names what there is not."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )

    def rebuild(block: re.Match[str]) -> str:
        try:
            content = re.sub(
                " +$", "", environment.from_string(block[1]).render(names).strip("\n"), flags=re.M
            )
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            line = text[: block.start()].count("\n") + 1
            raise FairflError(
                f"{file}: line {line}: the derived text cannot be made: {error}"
            ) from error
        return f"{BEGIN}\n{block[1]}\n-->\n{content}\n{END}"

    result, blocks = _BLOCK.subn(rebuild, text)
    marks = re.findall(rf"^{BEGIN}$", text, re.M), re.findall(rf"^{END}$", text, re.M)
    if any(len(each) != blocks for each in marks):
        raise FairflError(
            f"{file}: each {BEGIN!r} needs a line '-->' and, below what is made, {END!r}"
        )
    return result


def vocabulary(root: Path, stored: StoredResults) -> dict[str, Any]:
    """Names in derived texts: the public methods of stored results, and what the folders of MEASURED have by file."""
    names = {name: getattr(stored, name) for name in dir(stored) if name[0] != "_"}
    return names | {
        path.stem.replace("-", "_"): json.loads(path.read_text(encoding="utf-8"))
        for folder in MEASURED
        for path in sorted((root / folder).glob("*.json"))
    }
