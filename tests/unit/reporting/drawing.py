"""Figures drawn in memory, for tests of plots."""

import importlib

from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs
from tests.unit.reporting import demo


def drawn(spec):
    """The figure, laid out, its numbers and remarks."""
    inputs = Inputs(demo.parsed(spec))
    plot = importlib.import_module(f"fairfl.reporting.plots.{spec['artifact']['plot']}")
    with style.applied():
        drawing, frame = plot.draw(inputs, plot.Config(**spec["artifact"]["options"]))
        drawing.draw_without_rendering()
    return drawing, frame, inputs.remarks
