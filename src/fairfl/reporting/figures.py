"""One figure as PDF, PNG and the CSV of exactly what it shows, with the whole footnote in the CSV's first lines.

A module fairfl.reporting.plots.<plot> draws it: a `Config` with its options, the kinds of
files that it NEEDS, and `draw(inputs, config) -> (Figure, DataFrame)`.
"""

import importlib
import io
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from fairfl.reporting import formulas, style
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.reporting.inputs import SOURCES, Inputs, NoRunsError
from fairfl.runtime.validation import check
from fairfl.values import tables

LINES = 3  # of small print below a figure

# No date, no version: the same figure is the same file.
_METADATA = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def build(spec: ArtifactSpec) -> tuple[bytes, bytes, str]:
    """(PDF, PNG, CSV) of a figure. Raises FairflError on a bad option or missing inputs."""
    # Each dollar that does not belong to a formula is a dollar, not the beginning of one.
    spec = ArtifactSpec.model_validate(_with_dollars(spec.model_dump(mode="json")))
    module = importlib.import_module(f"fairfl.reporting.plots.{spec.artifact.plot}")
    where = f"artifacts.{spec.id}.options"
    config = check(spec.artifact.options, module.Config, f"papers/{spec.paper}.yaml", where)
    inputs, name = Inputs(spec), f"{spec.paper}, {spec.artifact.title}."
    with style.applied():
        try:
            figure, frame = module.draw(inputs, config)
            head = f"Stand-in: {spec.stand_in}" if spec.stand_in else ""
            scale, *note = footnote(inputs)
            head, note = f"{spec.telling} {head}".strip(), [f"{name} {scale}", *note]
        except NoRunsError as error:
            figure, frame = style.canvas(style.COLUMN, 1.2), pd.DataFrame({"setting": []})
            style.write_not_run(figure.subplots(), str(error))
            head, note = "", [f"{name} Scale: {spec.scale}."]
        printed = sorted(note, key=lambda sentence: "Partition: " in sentence)
        footer = " ".join(printed) if spec.footnote else ""
        _write_around(figure, head, footer, f"{spec.id}.csv")
        _lay_out(figure)
        pdf, png = (_bytes(figure, kind) for kind in ("pdf", "png"))
    return pdf, png, csv(spec, frame, note)


def _write_around(figure: Figure, head: str, note: str, more: str) -> None:
    """Write bold lines above a figure, and at most LINES small grey ones below it; `more` ends cut ones."""
    width = figure.get_figwidth()
    above = textwrap.fill(head, int(width * 17), break_on_hyphens=False)
    below = textwrap.fill(
        note,
        int(width * 21.5),
        break_on_hyphens=False,
        max_lines=LINES,
        placeholder=f" ... More: {more}.",
    )
    # The saved picture has room for all that is written outside of the figure.
    figure.text(0.01, 1.01, above, fontsize=7, fontweight="bold", va="bottom")
    figure.text(0.01, -0.01, below, fontsize=6, color=style.GREY, va="top")


def _lay_out(figure: Figure) -> None:
    """Lay out before drawing, so that PDF and PNG have the same layout.

    Twice: what lies outside of its panel moves with the panel's size, which the first time is not yet the last. The
    last bits of what the engine finds depend on addresses in memory: a grid of a millionth of the figure makes equal
    bytes of equal inputs.
    """
    engine = figure.get_layout_engine()
    if figure.axes and engine:
        for _ in range(2):
            engine.execute(figure)
    figure.set_layout_engine(None)
    for axes in figure.axes:
        axes.set_position(Bbox(np.round(axes.get_position().get_points(), 6)))
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure)


def _with_dollars(value: Any) -> Any:
    if isinstance(value, str) and "$" in value:
        return formulas.apply(value, formulas.literal, str, style.is_formula)
    if isinstance(value, dict):
        return {key: _with_dollars(inner) for key, inner in value.items()}
    return [_with_dollars(inner) for inner in value] if isinstance(value, list) else value


def footnote(inputs: Inputs) -> list[str]:
    """Sentences on how to read the figure, then on what it was made from; of settings not run only that they were not.

    The first ones are printed below the figure, all of them stand on the page and in the CSV.
    """
    spec, not_run = inputs.spec, inputs.settings_not_run()
    ran = {setting: facts for setting, facts in spec.settings.items() if setting not in not_run}
    inputs.remark("Not run", [inputs.names[setting] for setting in not_run])
    spec = spec.model_copy(update={"settings": ran})
    runs = bool({"tidy", "rounds", "model", "tuned"} & spec.files.keys())
    scale, *made_from = spec.sentences(inputs.names, spec.artifact.columns, inputs.drawn_of, runs)
    sources = [remark for remark in inputs.remarks if remark.startswith(SOURCES)]
    reading = [remark for remark in inputs.remarks if remark not in sources]
    return [scale, *reading, *made_from, *_recovered(inputs), *sources]


def _recovered(inputs: Inputs) -> list[str]:
    """Sentences on rows with hyper-parameters that the paper does not print, and on reconstructed algorithms."""
    groups: dict[str, list[str]] = {}
    for row, entry in zip(inputs.rows, inputs.spec.artifact.rows, strict=True):
        groups.setdefault(entry.provenance, []).append(row.label)
    sentences = []
    for word, labels in groups.items():
        whose = ": " + ", ".join(dict.fromkeys(labels)) if len(groups) > 1 else ""
        if word != "paper":
            sentences.append(f"Hyper-parameters not in the paper, {word}{whose}.")
    if reconstructed := ", ".join(
        inputs.spec.algorithms[name] for name in inputs.spec.reconstructed
    ):
        sentences.append(f"Reconstructed without its formulas: {reconstructed}.")
    return sentences


def csv(spec: ArtifactSpec, frame: pd.DataFrame, note: Sequence[str] = ()) -> str:
    """The drawn numbers, with the artifact and the data (stand-ins included) on every line; the note above them."""
    frame = frame.copy()
    frame.insert(0, "artifact", spec.name)
    if "setting" in frame:
        frame["data"] = frame["setting"].map(
            {key: facts.data for key, facts in spec.settings.items()}
        )
    head = "".join(f"{tables.REMARK}{' '.join(sentence.split())}\n" for sentence in note)
    return head + frame.to_csv(index=False, lineterminator="\n", na_rep="nan")


def _bytes(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    return buffer.getvalue()
