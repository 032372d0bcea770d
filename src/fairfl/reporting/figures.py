"""One figure as PDF, PNG and the CSV of exactly what it shows, with the whole footnote in the CSV's first lines.

How a figure is drawn stands in fairfl.reporting.plots.<plot>: a `Config` with its options, the kinds of
files that it NEEDS, and `draw(inputs, config) -> (Figure, DataFrame)`.
"""

import importlib
import io
import textwrap
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fairfl.experiments.plugins import names
from fairfl.reporting import formulas, margins, style
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.reporting.inputs import SOURCES, Inputs, NoRunsError
from fairfl.runtime import tables
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import check, nearest

PLOTS = "reporting/plots"
# No date, no version: the same figure is the same file.
_METADATA = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def build(spec: ArtifactSpec) -> tuple[bytes, bytes, str]:
    """(PDF, PNG, CSV) of a figure. Raises FairflError on an unknown plot, a bad option, missing inputs."""
    plot, file, where = spec.artifact.plot, f"papers/{spec.paper}.yaml", f"artifacts.{spec.id}"
    known = names(PLOTS)
    if plot not in known:
        raise FairflError(f"{file}: {where}.plot: no plot {plot!r}{nearest(plot, known)}")
    # Each dollar that does not belong to a formula is a dollar, not the beginning of one.
    spec = ArtifactSpec.model_validate(_with_dollars(spec.model_dump(mode="json")))
    module = importlib.import_module(f"fairfl.reporting.plots.{plot}")
    config = check(spec.artifact.options, module.Config, file, f"{where}.options")
    inputs = Inputs(spec)
    with style.applied():
        try:
            figure, frame = module.draw(inputs, config)
            head, note = _head(inputs, figure), footnote(inputs)
        except NoRunsError as error:
            figure, frame = _empty(str(error))
            head, note = "", [f"{_name(spec)} Scale: {spec.scale}."]
        printed = (
            sorted(note, key=lambda sentence: "Partition: " in sentence) if spec.footnote else []
        )
        margins.lay_out(figure, margins.footer(figure, printed, head, f"{spec.id}.csv"))
        pdf, png = (_bytes(figure, kind) for kind in ("pdf", "png"))
    return pdf, png, csv(spec, frame, note)


def _with_dollars(value: Any) -> Any:
    if isinstance(value, str):
        return (
            formulas.apply(value, formulas.literal, str, style.is_formula)
            if "$" in value
            else value
        )
    if isinstance(value, dict):
        return {key: _with_dollars(inner) for key, inner in value.items()}
    return [_with_dollars(inner) for inner in value] if isinstance(value, list) else value


def _name(spec: ArtifactSpec) -> str:
    return f"{spec.paper}, {spec.artifact.title}."


def _head(inputs: Inputs, figure: Figure) -> str:
    """What nobody may miss: that the figure tells nothing, and stand-ins, unless titles of panels name them."""
    drawn = {axes.get_title("left") for axes in figure.axes}
    titled = set(inputs.titles.values()) <= drawn
    replaced = inputs.spec.stand_in
    shown = titled or not replaced
    return " ".join(filter(None, (inputs.spec.telling, "" if shown else f"Stand-in: {replaced}")))


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
    return [f"{_name(spec)} {scale}", *reading, *made_from, *_recovered(inputs), *sources]


def _recovered(inputs: Inputs) -> list[str]:
    """Which rows have hyper-parameters that the paper does not print, and which algorithms are reconstructions."""
    groups: dict[str, list[str]] = {}
    for row, entry in zip(inputs.rows, inputs.spec.artifact.rows, strict=True):
        groups.setdefault(entry.provenance, []).append(row.label)
    every = len(groups) == 1
    sentences = [
        f"Hyper-parameters not in the paper, {word}{'' if every else ': ' + ', '.join(dict.fromkeys(names))}."
        for word, names in groups.items()
        if word != "paper"
    ]
    reconstructed = ", ".join(inputs.spec.algorithms[name] for name in inputs.spec.reconstructed)
    return sentences + [f"Reconstructed without its formulas: {reconstructed}."] * bool(
        reconstructed
    )


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


def _empty(text: str) -> tuple[Figure, pd.DataFrame]:
    """A figure that says why it is empty: a restricted configuration must not stop the other artifacts."""
    figure = style.canvas(style.COLUMN, 1.2)
    figure.text(0.5, 0.6, textwrap.fill(text, 50), ha="center", va="center", color=style.GREY)
    return figure, pd.DataFrame({"setting": []})


def _bytes(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    return buffer.getvalue()
