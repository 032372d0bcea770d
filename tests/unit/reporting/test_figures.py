"""The figure command around the plots: errors, options, footers, clean state."""

import warnings
from types import SimpleNamespace

import pytest
from matplotlib.font_manager import findfont, get_font

from fairfl.experiments.workload import load_workload
from fairfl.reporting import figures, style
from fairfl.reporting.inputs import Inputs, NoRunsError, rows_of
from tests.unit.reporting import demo


@pytest.fixture
def spec(tmp_path):
    """A box plot of two clients, two seeds, two algorithms; AFL was not run."""
    lines = [
        ("toy", algorithm, hyper, seed, f"gap_client_{k}", 0.1 * k + seed, "nats")
        for algorithm, hyper in (("fedavg", ""), ("eagle", "lambda=0.1"))
        for seed in (0, 1)
        for k in (0, 1)
    ]
    rows = [{"algorithm": "afl"}, {"algorithm": "fedavg"}, {"algorithm": "eagle", "hyperparameters": {"lambda": 0.1}}]
    facts = {"data": "blobs (stand-in for emnist)", "rounds": 1, "changed": ["x: 1 -> 2"]}
    files = {"tidy": {"toy": demo.tidy(tmp_path / "toy.csv", lines)}}
    return demo.spec("eagle_figure4", files, facts, kind="figure", settings=["toy"], plot="gap_boxes", rows=rows)


@pytest.mark.parametrize(("plot", "lines"), [("gap_boxes", 9), ("optima_range", 1)])
def test_figure_without_any_run_is_empty_and_says_so(spec, tmp_path, plot, lines):
    text = (tmp_path / "toy.csv").read_text().splitlines()[:lines]
    (tmp_path / "toy.csv").write_text("\n".join(text) + "\n")
    spec["artifact"] |= {"rows": spec["artifact"]["rows"][:1], "plot": plot}
    around = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "_write_around", lambda figure, head, text, more: around.append((figure, head, text)))
        pdf, _, csv = figures.build(demo.parsed(spec))
    assert pdf.startswith(b"%PDF-") and csv == "# eagle, Figure 4. Scale: quick.\nartifact,setting,data\n"
    ((figure, *texts),) = around
    assert texts == ["", "eagle, Figure 4. Scale: quick."]  # no seeds and no stand-in of what was not run
    (axes,), (said,) = figure.axes, figure.axes[0].texts  # in the middle of a frame, so that the saved picture has both
    assert said.get_text() == "Not run at this scale." and said.get_position() == (0.5, 0.5)
    assert [*axes.get_xticks(), *axes.get_yticks()] == []
    with pytest.raises(NoRunsError, match="Not run at this scale"):
        Inputs(demo.parsed(spec)).measured()


def test_rows_of_an_algorithm_have_its_hue_and_marks_of_their_own(root):
    """The first looks as the algorithm does everywhere."""
    workload = load_workload(root, {"scale": "quick", "papers": ["fedfv"]})
    artifact = workload.artifacts["fedfv_figure2"][2]
    rows = rows_of(artifact, dict.fromkeys((row.algorithm for row in artifact.rows), ""))
    looks = style.looks(SimpleNamespace(rows=rows, spec=SimpleNamespace(algorithms=[])))
    own = [looks[row] for row in rows if row.algorithm == "fedfv"]
    assert (own[0]["color"].upper(), own[0]["marker"]) == style.algorithm_looks()["fedfv"][:2]
    for part in ("color", "marker"):
        assert len({look[part] for look in looks.values()}) == len(rows) == 10, part


def test_small_print_has_three_lines_and_says_where_the_rest_is():
    """A record of several codes and seeds once had more of it than there was figure."""
    figure, code = style.canvas(style.PAGE, 2.7), "Recorded with the code of another day."
    figures._write_around(figure, "quick", " ".join(["Line: mean.", *[code] * 40]), "figure2.csv")
    above, below = figure.texts
    lines = below.get_text().splitlines()
    assert len(lines) == 3 and lines[0].startswith("Line: mean. Recorded") and lines[-1].endswith("More: figure2.csv.")
    assert above.get_text() == "quick" and above.get_position()[1] > 1 and below.get_position()[1] < 0  # not on panels


def test_letters_that_the_usual_font_lacks_come_from_another_of_the_style_or_are_warned_of(spec):
    usual, stix = (set(map(chr, get_font(findfont(name)).get_charmap())) for name in ("DejaVu Sans", "STIXGeneral"))
    letter = next(letter for letter in sorted(stix - usual) if letter.isprintable())
    spec["algorithms"]["fedavg"] = f"FedAvg {letter}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures.build(demo.parsed(spec))
    spec["algorithms"]["fedavg"] = "FedAvg \U0001f9ea"  # no font of letters has it
    with pytest.warns(UserWarning, match="Glyph 129514"):
        figures.build(demo.parsed(spec))


def test_dollars_that_are_no_mathematics_are_drawn(spec):
    spec["algorithms"]["fedavg"] = "FedAvg for $5 or $a_$, $\\nothing$"
    figures.build(demo.parsed(spec))  # matplotlib would take them for formulas, and raise
