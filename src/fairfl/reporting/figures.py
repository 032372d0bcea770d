"""One figure as PDF, PNG and the CSV of exactly what it shows.

How a figure is drawn stands in fairfl.reporting.plots.<plot>: a `Config` with its options, the kinds of
files that it NEEDS, and `draw(inputs, config) -> (Figure, DataFrame)`.
"""

import importlib
import io
import textwrap

import pandas as pd
from matplotlib.figure import Figure

from fairfl.experiments.plugins import names
from fairfl.reporting import style
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.reporting.inputs import Inputs, NothingRun, labels
from fairfl.reporting.notes import note, stand_ins
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import check, nearest

PLOTS = "reporting/plots"
# No date, no version: the same figure is the same file.
_METADATA = {"pdf": {"CreationDate": None, "Creator": None, "Producer": None}, "png": {"Software": None}}


def build(spec: ArtifactSpec) -> tuple[bytes, bytes, str]:
    """(PDF, PNG, CSV) of a figure. Raises FairflError on an unknown plot, a bad option, missing inputs."""
    plot, file, where = spec.artifact.plot, f"papers/{spec.paper}.yaml", f"artifacts.{spec.id}"
    known = names(PLOTS)
    if plot not in known:
        raise FairflError(f"{file}: {where}.plot: no plot {plot!r}{nearest(plot, known)}")
    module = importlib.import_module(f"fairfl.reporting.plots.{plot}")
    config = check(spec.artifact.options, module.Config, file, f"{where}.options")
    inputs = Inputs(spec)
    inputs.require(module.NEEDS)
    with style.applied():
        try:
            figure, frame = module.draw(inputs, config)
            inputs.compare_drawn_seeds()
            titles = getattr(config, "labels", {})
            head, text = _head(inputs, figure, titles), footer_text(inputs, titles)
        except NothingRun as error:
            figure, frame = _empty(str(error))
            head, text = "", f"{_name(spec)} Scale: {spec.scale}."
        top = style.footer(figure, text if spec.footnote else "", head)
        style.lay_out(figure, top)
        pdf, png = (_bytes(figure, kind) for kind in ("pdf", "png"))
    return pdf, png, csv(spec, frame)


def _name(spec: ArtifactSpec) -> str:
    return f"{spec.paper}, {spec.artifact.title}."


def _head(inputs: Inputs, figure: Figure, titles: dict[str, str]) -> str:
    """What nobody may miss: that the figure tells nothing, and stand-ins, unless titles of panels name them."""
    drawn = {axes.get_title("left") for axes in figure.axes}
    titled = set(inputs.panel_titles(titles).values()) <= drawn
    replaced = stand_ins(facts.data for facts in inputs.spec.settings.values())
    shown = titled or not replaced
    return " ".join(filter(None, (inputs.spec.telling, "" if shown else f"Stand-in: {replaced}")))


def footer_text(inputs: Inputs, titles: dict[str, str]) -> str:
    """What the figure was made from, in small print; of settings that were not run only that they were not."""
    spec, not_run = inputs.spec, inputs.settings_not_run()
    names = labels(inputs.settings, titles)
    ran = {setting: facts for setting, facts in spec.settings.items() if setting not in not_run}
    inputs.remark("Not run", [names[setting] for setting in not_run])
    sources = note(spec.model_copy(update={"settings": ran}), names, changes=False, drawn=inputs.drawn_of)
    return " ".join([_name(spec), sources, *_recovered(inputs), *inputs.remarks])


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
    return sentences + [f"Reconstructed without its formulas: {reconstructed}."] * bool(reconstructed)


def csv(spec: ArtifactSpec, frame: pd.DataFrame) -> str:
    """The drawn numbers, with the artifact and the data (stand-ins included) on every line."""
    frame = frame.copy()
    frame.insert(0, "artifact", spec.name)
    if "setting" in frame:
        frame["data"] = frame["setting"].map({key: facts.data for key, facts in spec.settings.items()})
    return frame.to_csv(index=False, lineterminator="\n", na_rep="nan")


def _empty(text: str) -> tuple[Figure, pd.DataFrame]:
    """A figure that says why it is empty: a restricted configuration must not stop the other artifacts."""
    figure = style.canvas(style.COLUMN, 1.2)
    figure.text(0.5, 0.6, textwrap.fill(text, 50), ha="center", va="center", color=style.GREY)
    return figure, pd.DataFrame({"setting": []})


def _bytes(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    return buffer.getvalue()
