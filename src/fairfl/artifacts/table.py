"""python -m fairfl.artifacts.table: one table as CSV (tidy), Markdown and LaTeX (booktabs).

Rows, columns, order and precision are the paper's. A cell reads "mean (± std)" over seeds (population
standard deviation, as the papers aggregate a fixed list of seeds); one seed has no ±. Seconds are aggregated over
repetitions instead. Rounds to a target that a seed did not reach read "> 300". What was chosen by tuning, counted in a
partition or is said by the setting is one number, with the paper's own behind it. The best value of a metric over the
rows of a setting, ties at the printed precision included, is bold.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import Field

from fairfl import atomic, cli
from fairfl.artifacts.cells import Line, best, lines_of, on_machines, remarks
from fairfl.artifacts.inputs import Inputs, Row, labels, note, read_spec
from fairfl.artifacts.layouts import Head, Words, grid_of, title
from fairfl.artifacts.markup import (
    latex,
    latex_page,
    latex_row,
    latex_table,
    markdown,
    markdown_page,
    markdown_table,
)
from fairfl.metrics.origin import origins
from fairfl.spec.base import Strict
from fairfl.spec.strict import check

CSV_COLUMNS = (
    "artifact", "setting", "algorithm", "hyperparameters", "metric", "unit", "mean", "std", "seeds", "data", "runs",
)  # fmt: skip


class Config(Strict):
    """Options of a table."""

    labels: dict[str, str] = Field(default_factory=dict, description="setting id -> how the paper calls it")
    words: list[Words] = Field(default_factory=list, description="more columns, in layout arms")


# -- CSV --------------------------------------------------------------------------------------------
def csv(inputs: Inputs, lines: list[Line]) -> str:
    """One line per cell; mean is empty for a missing run, 'nan' for a diverged one, 'inf' where the cell has no end."""
    records = []
    for line in lines:
        for metric, own in line.cells.items():
            mean, std = ("" if number is None else f"{number + 0.0:.9g}" for number in (own.mean, own.std))
            data = inputs.spec["settings"][line.setting]["data"]
            key = (inputs.name, line.setting, line.row.algorithm, line.row.hyperparameters, metric)
            records.append((*key, own.unit, mean, std, own.seeds, data, " ".join(own.runs)))
    return pd.DataFrame(records, columns=list(CSV_COLUMNS)).to_csv(index=False, lineterminator="\n")


# -- the three files --------------------------------------------------------------------------------
def results_table(spec: dict[str, Any]) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of results."""
    inputs = Inputs(spec)
    artifact, metrics = spec["artifact"], spec["metrics"]
    config = check(artifact["options"], Config, f"papers/{spec['paper']}.yaml", f"artifacts.{spec['id']}.options")
    names = labels(inputs.settings, config.labels)
    lines = lines_of(inputs)
    remarks(inputs, lines, names)
    if "timed" in origins(artifact["columns"]):
        on_machines(inputs, lines, names)
    winners = {m: best(lines, m, metrics[m]["direction"], metrics[m]["digits"]) for m in artifact["columns"]}
    grid = grid_of(inputs, lines, names, config.words)
    if artifact["layout"] in ("settings_by_arm", "arms_by_setting") and len(artifact["columns"]) == 1:
        inputs.say(f"Cells: {title(metrics[artifact['columns'][0]])}.")

    def shown(
        place: tuple[Line, str] | str, bold: str, words: Callable[[str], str], number: Callable[[str], str]
    ) -> str:
        if isinstance(place, str):
            return words(place)
        line, metric = place
        digits = metrics[metric]["digits"]
        mean, beside = (number(t) for t in (line.cells[metric].number(digits), line.cells[metric].beside(digits)))
        mean = bold % mean if (line.setting, line.row) in winners[metric] else mean
        return f"{mean} {beside}".rstrip()

    def body(head: Callable[[Head], str], *style: Any) -> list[list[str]]:
        return [
            [*map(head, heads), *(shown(place, *style) for place in places)]
            for heads, places in zip(grid.heads, grid.places, strict=True)
        ]

    def in_markdown(head: Head) -> str:
        return markdown(head.label if isinstance(head, Row) else head)

    def in_latex(head: Head) -> str:
        return latex_row(head) if isinstance(head, Row) else latex(head)

    note_text = " ".join([note(spec, names), *inputs.remarks])
    left = len(grid.corner)
    titles = [*grid.corner, *grid.columns]
    md = markdown_table([*map(in_markdown, titles)], body(in_markdown, "**%s**", markdown, markdown), left)
    tex_body = body(in_latex, r"\textbf{%s}", latex, _number)
    tex = latex_table([*map(in_latex, titles)], tex_body, grid.rules, "l" * left + grid.align)
    return csv(inputs, lines), markdown_page(spec, md, note_text), latex_page(spec, tex, note_text)


def _number(text: str) -> str:
    """A printed number for LaTeX: a hyphen would be a dash too short."""
    return latex(text.replace("-", "−"))


def static_table(spec: dict[str, Any]) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table whose content stands in the paper's YAML."""
    header, content = spec["artifact"]["header"], spec["artifact"]["content"]
    text = pd.DataFrame(content, columns=header).to_csv(index=False, lineterminator="\n")
    body = [[markdown(c) for c in row] for row in content]
    md = markdown_table([markdown(c) for c in header], body, len(header))
    # The last column of such tables holds prose; without a width it would leave the page.
    longest = max(len(row[-1]) for row in content)
    layout = "l" * (len(header) - 1) + ("p{0.6\\linewidth}" if longest > 50 else "l")
    rules = set(spec["artifact"]["rules"])
    tex = latex_table([latex(c) for c in header], [[latex(c) for c in row] for row in content], rules, layout)
    return text, markdown_page(spec, md, ""), latex_page(spec, tex, "")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.artifacts.table", description=__doc__)
    parser.add_argument("--spec", required=True, help="job spec (JSON)")
    for kind in ("csv", "md", "tex"):
        parser.add_argument(f"--{kind}", required=True, type=Path, help=f"the table as .{kind}")
    args = parser.parse_args(argv)
    spec = read_spec(args.spec)
    build = static_table if spec["artifact"]["kind"] == "static_table" else results_table
    for path, text in zip((args.csv, args.md, args.tex), build(spec), strict=True):
        atomic.write_text(path, text)


if __name__ == "__main__":
    cli.run(main)
