"""The figure command around the plots: errors, options, footers, clean state."""

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from fairfl.experiments.workload import load_workload
from fairfl.reporting import figures, style
from fairfl.reporting.inputs import Inputs, NothingRun, rows_of
from fairfl.reporting.notes import condensed
from fairfl.reporting.tables.table import table
from fairfl.runtime.errors import FairflError
from tests.unit.reporting import demo


@pytest.fixture
def spec(tmp_path):
    """A box plot of two clients, two seeds, two algorithms; AFL was not run."""
    lines = [
        f"toy,{algorithm},{hyper},{seed},gap_client_{k},{0.1 * k + seed},nats,blobs,5,toy/{algorithm}/x/seed{seed},f\n"
        for algorithm, hyper in (("fedavg", ""), ("eagle", "lambda=0.1"))
        for seed in (0, 1)
        for k in (0, 1)
    ]
    (tmp_path / "toy.csv").write_text(demo.TIDY + "".join(lines))
    rows = [{"algorithm": "afl"}, {"algorithm": "fedavg"}, {"algorithm": "eagle", "hyperparameters": {"lambda": 0.1}}]
    facts = {"data": "blobs (stand-in for emnist)", "rounds": 1, "changed": ["x: 1 -> 2"]}
    files = {"tidy": {"toy": str(tmp_path / "toy.csv")}}
    return demo.spec("eagle_figure4", files, facts, kind="figure", settings=["toy"], plot="gap_boxes", rows=rows)


@pytest.mark.parametrize("kind", ["figure", "table"])
def test_files_that_the_spec_does_not_list_are_named(spec, kind):
    if kind == "table":
        metrics = {"gap_client_0": {"name": "gap", "meaning": "", "unit": "nats"}}
        spec["artifact"] |= {"kind": "table", "plot": None, "columns": list(metrics)}
        spec["metrics"] = metrics
    build = figures.build if kind == "figure" else table
    spec["files"] = {}
    with pytest.raises(FairflError, match="eagle_figure4: needs files of kind 'tidy', the spec lists none"):
        build(demo.parsed(spec))
    del spec["files"]
    with pytest.raises(FairflError, match="--spec: files: missing; it has no default"):
        build(demo.parsed(spec))


@pytest.mark.parametrize("plot", ["gap_boxes", "optima_range"])
@pytest.mark.parametrize("lines", [1, 9])
def test_figure_without_any_run_is_empty_and_says_so(spec, tmp_path, plot, lines):
    text = (tmp_path / "toy.csv").read_text().splitlines()[:lines]
    (tmp_path / "toy.csv").write_text("\n".join(text) + "\n")
    spec["artifact"] |= {"rows": spec["artifact"]["rows"][:1], "plot": plot}
    footers = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures.style, "footer", lambda figure, text, head="": footers.append((text, head)) or 1.0)
        pdf, _, csv = figures.build(demo.parsed(spec))
    assert pdf.startswith(b"%PDF-") and csv == "artifact,setting,data\n"
    assert footers == [("eagle, Figure 4. Scale: quick.", "")]  # no seeds and no stand-in of what was not run
    with pytest.raises(NothingRun, match="Not run at this scale"):
        Inputs(demo.parsed(spec)).measured()


def test_rows_of_an_algorithm_have_its_hue_and_marks_of_their_own(root):
    """The first looks as the algorithm does everywhere."""
    workload = load_workload(root, {"scale": "quick", "papers": ["fedfv"]})
    artifact = workload.artifacts["fedfv_figure2"][2]
    rows = rows_of(artifact, dict.fromkeys((row.algorithm for row in artifact.rows), ""))
    looks = style.looks(rows, [])
    own = [looks[row] for row in rows if row.algorithm == "fedfv"]
    assert (own[0]["color"], own[0]["marker"]) == style.algorithm_looks()["fedfv"][:2]
    for part in ("color", "marker"):
        assert len({look[part] for look in looks.values()}) == len(rows) == 10, part


def test_units_follow_the_paper(spec):
    spec["metrics"] = {"gap_client_k": {"name": "gap", "meaning": "", "unit": "percent"}}
    with pytest.raises(FairflError, match="toy.csv, line 2: unit 'nats' cannot be shown as 'percent'"):
        _ = Inputs(demo.parsed(spec)).ours


def test_small_print_that_is_longer_than_the_figure_makes_it_grow():
    """A record of several codes and seeds once had more of it than there was figure."""
    figure = figures.style.canvas(figures.style.PAGE, 2.7)
    figure.subplots(1, 2)
    top = figures.style.footer(figure, "recorded with the code of another day; " * 120)
    figures.style.lay_out(figure, top)
    assert all(axes.get_position().height * figure.get_figheight() > 0.8 for axes in figure.axes)


def test_sources_that_differ_in_seed_or_code_are_one():
    drawn = [f"drawn here, seed {seed}; recorded with the code of {code}" for code in "ab" for seed in range(5)]
    assert condensed(drawn) == ["drawn here, seeds 0 to 4; recorded with the code of a and b"]
    assert condensed(["X, lossy", "drawn, seed 0", "drawn, seed 12"]) == ["X, lossy", "drawn, seeds 0, 12"]
    mixed = ["X", "X; recorded with the code of a", "Y, seed 3"]
    assert condensed(mixed) == ["X; in part recorded with the code of a", "Y, seed 3"]
    assert condensed([]) == []


def test_panels_lie_on_a_grid_so_that_last_bits_of_the_layout_do_not_show():
    """Those of the layout engine depend on addresses in memory: one drawing in twenty had other bytes."""
    figure = figures.style.canvas(3, 2)
    panels = figure.subplots(2, 2).ravel()
    figures.style.lay_out(figure, figures.style.footer(figure, "Scale: quick."))
    for axes in panels:
        place = axes.get_position().get_points()
        assert np.array_equal(place, np.round(place, 6)) and 0 < place.min() < place.max() <= 1


@pytest.mark.slow
def test_command_line_writes_three_files_without_torch_or_a_screen(spec, tmp_path):
    code = (
        "import sys; from fairfl.jobs.figure import main; main(sys.argv[1:]); "
        "assert 'torch' not in sys.modules and sys.modules['matplotlib'].get_backend() == 'agg'"
    )
    files = {kind: tmp_path / "out" / f"figure4.{kind}" for kind in ("pdf", "png", "csv")}
    arguments = [f"--{kind}={path}" for kind, path in files.items()]
    subprocess.run([sys.executable, "-c", code, "--spec", json.dumps(spec), *arguments], check=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(p.name for p in files.values())
    assert len(pd.read_csv(files["csv"])) == 8


@pytest.mark.slow
def test_command_line_failure_is_one_line_and_leaves_no_file(spec, tmp_path):
    spec["artifact"]["plot"] = "nothing"
    command = [sys.executable, "-m", "fairfl.jobs.figure", "--spec", json.dumps(spec)]
    command += [f"--{kind}={tmp_path / 'out' / kind}" for kind in ("pdf", "png", "csv")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: papers/eagle.yaml: artifacts.figure4.plot: no plot 'nothing'")
    assert done.stderr.count("\n") == 1 and not (tmp_path / "out").exists()


def test_every_algorithm_has_a_look_of_its_own(root):
    folder = root / "src/fairfl/algorithms"
    names = {path.stem for path in folder.glob("*.py")} - {"__init__", "interface"}
    assert names >= style._ALGORITHMS.keys()  # others get the looks that are left
    colors, looks = zip(*((color, (mark, dash)) for color, mark, dash in style._ALGORITHMS.values()), strict=True)
    assert len(set(colors)) == len(colors) and set(looks) <= {(m, d) for m in style._MARKERS for d in range(6)}


def test_a_figure_is_laid_out_before_it_is_drawn_once_for_each_file(monkeypatch) -> None:
    figure, drawn, draw = style.canvas(2, 2), [], Figure.draw
    figure.subplots()
    monkeypatch.setattr(Figure, "draw", lambda self, renderer: drawn.append(self) or draw(self, renderer))
    style.lay_out(figure, style.footer(figure, "From here.", ""))
    for kind in ("pdf", "png"):
        figure.savefig(io.BytesIO(), format=kind)
    assert len(drawn) == 2 + 2
