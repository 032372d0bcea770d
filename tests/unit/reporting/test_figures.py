"""The figure command around the plots: errors, options, footers, clean state."""

import io
import json
import math
import subprocess
import sys
from itertools import pairwise

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from fairfl.experiments.paper import Artifact
from fairfl.experiments.workload import load_workload
from fairfl.judgement.results import Results
from fairfl.reporting import figures, style
from fairfl.reporting.artifact import artifact_spec
from fairfl.reporting.inputs import Inputs, NothingRun, rows_of
from fairfl.reporting.notes import condensed, seeds_text
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plot": "gap_boxs"}, r"artifacts.figure4.plot: no plot 'gap_boxs'; did you mean 'gap_boxes'\?"),
        ({"options": {"famly": "gap"}}, r"options.famly: unknown key \(value 'gap'\); did you mean 'family'\?"),
        ({"options": {"family": "accuracy_client"}}, "the results have no metric accuracy_client_0"),
    ],
)
def test_what_cannot_be_drawn_says_why(spec, changes, message):
    spec["artifact"] |= changes
    with pytest.raises(FairflError, match=message):
        figures.build(demo.parsed(spec))


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


def test_footer_says_what_it_was_made_from(spec):
    inputs = Inputs(demo.parsed(spec))
    inputs.measured()
    assert figures.footer_text(inputs, {}) == (
        "eagle, Figure 4. Scale: quick. Made from a stand-in: blobs for EMNIST. "
        "Data: blobs (stand-in for EMNIST); 1 round; 2 seeds. Not run: AFL."
    )


def test_a_setting_that_was_not_run_is_said_and_not_described(spec):
    spec["artifact"]["settings"].append("other")
    spec["settings"]["other"] = spec["settings"]["toy"] | {"data": "mnist", "seeds": 3}
    assert figures.footer_text(Inputs(demo.parsed(spec)), {"other": "MNIST"}) == (
        "eagle, Figure 4. Scale: quick. Made from a stand-in: blobs for EMNIST. "
        "Data: blobs (stand-in for EMNIST); 1 round; 2 seeds. Not run: MNIST."
    )


def test_footnotes_can_be_left_out(spec, root):
    spec["footnote"] = False
    footers = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures.style, "footer", lambda figure, text, head="": footers.append((text, head)) or 1.0)
        figures.build(demo.parsed(spec))
    assert footers == [("", "Stand-in: blobs for EMNIST")]  # what nobody may miss stays
    for said in (True, False):
        workload = load_workload(root, {"scale": "quick", "papers": ["eagle"], "footnotes": said})
        assert artifact_spec(workload, "eagle_figure4", {}).footnote is said
        assert artifact_spec(workload, "eagle_table1", {}).footnote  # a table has its note either way


def test_a_source_without_a_name_is_no_sentence(spec, monkeypatch):
    monkeypatch.setattr(Results, "sources", ["", "drawn here"])
    inputs = Inputs(demo.parsed(spec))
    _ = inputs.ours
    assert inputs.remarks == ["Source: drawn here."]


def test_seeds_are_counted_in_words():
    assert [seeds_text(counts) for counts in ([1], [3, 3, math.nan], [3, 2])] == ["1 seed", "3 seeds", "2 to 3 seeds"]


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


@pytest.mark.parametrize("kind", ["tidy", "rounds"])
def test_footer_says_that_fewer_seeds_ran(spec, kind, tmp_path):
    if kind == "rounds":
        lines = [("toy", name, hyper, seed, 1, 0, 0.5) for name, hyper in (("fedavg", None), ("eagle", "lambda=0.10"))
                 for seed in (0, 1)]  # fmt: skip
        columns = ["setting", "algorithm", "hyperparameters", "seed", "round", "client", "loss_test"]
        pd.DataFrame(lines + lines, columns=columns).to_parquet(tmp_path / "toy.parquet")
        spec["files"] = {"rounds": {"toy": str(tmp_path / "toy.parquet")}}

    def said(seeds: int) -> list[str]:
        spec["settings"]["toy"]["seeds"] = seeds
        inputs = Inputs(demo.parsed(spec))
        inputs.compare_drawn_seeds()
        return inputs.remarks

    assert said(2) == [] and said(3) == []
    inputs = Inputs(demo.parsed(spec))
    assert inputs.drawn_of("toy") == "2 of 3 seeds" and "; 2 of 3 seeds." in figures.footer_text(inputs, {})
    if kind == "tidy":
        path = tmp_path / "toy.csv"
        path.write_text("".join(line for line in path.open() if ",lambda=0.1,1," not in line))
        assert said(2) == ["Only 1 seed: EAGLE λ = 0.1."]
        footers = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(figures.style, "footer", lambda figure, text, head="": footers.append(text) or 1.0)
            figures.build(demo.parsed(spec))
        assert "; 1 to 2 of 2 seeds." in footers[0] and footers[0].endswith(" Only 1 seed: EAGLE λ = 0.1.")


def test_units_follow_the_paper(spec):
    spec["metrics"] = {"gap_client_k": {"name": "gap", "meaning": "", "unit": "percent"}}
    with pytest.raises(FairflError, match="toy.csv, line 2: unit 'nats' cannot be shown as 'percent'"):
        _ = Inputs(demo.parsed(spec)).ours


def test_a_figure_without_titles_of_settings_names_the_stand_in_above_its_panels(spec, monkeypatch):
    heads = []
    monkeypatch.setattr(figures.style, "footer", lambda figure, text, head="": heads.append(head) or 1.0)
    figures.build(demo.parsed(spec))
    spec["settings"]["toy"]["data"] = "emnist"
    figures.build(demo.parsed(spec))
    assert heads == ["Stand-in: blobs for EMNIST", ""]


def test_a_figure_that_tells_nothing_says_so_above_its_panels(spec, monkeypatch):
    heads = []
    monkeypatch.setattr(figures.style, "footer", lambda figure, text, head="": heads.append(head) or 1.0)
    spec["telling"] = "[quick: tells nothing of all]"
    figures.build(demo.parsed(spec))
    spec["settings"]["toy"]["data"] = "emnist"
    figures.build(demo.parsed(spec))
    assert heads == [
        "[quick: tells nothing of all] Stand-in: blobs for EMNIST",
        "[quick: tells nothing of all]",
    ]


def test_lines_above_the_panels_are_broken_and_the_figure_grows_with_them():
    plain, tall = figures.style.canvas(3, 2), figures.style.canvas(3, 2)
    figures.style.footer(plain, "")
    figures.style.footer(tall, "", "tells nothing of all, " * 6)
    head = tall.texts[0].get_text().splitlines()
    assert len(head) > 2 and max(map(len, head)) <= 51
    assert tall.get_figheight() == pytest.approx(plain.get_figheight() + 0.12 * len(head) + 0.06)


def test_small_print_that_is_longer_than_the_figure_makes_it_grow():
    """A record of several codes and seeds once had more of it than there was figure."""
    figure = figures.style.canvas(figures.style.PAGE, 2.7)
    figure.subplots(1, 2)
    top = figures.style.footer(figure, "recorded with the code of another day; " * 120)
    figures.style.lay_out(figure, top)
    assert all(axes.get_position().height * figure.get_figheight() > 0.8 for axes in figure.axes)


def test_what_is_written_outside_of_a_panel_that_grows_has_room():
    figure = figures.style.canvas(figures.style.PAGE, 2.7)
    axes = figure.subplots()
    axes.set(ylim=(10, 0))
    label = axes.annotate("CD = 10", (0.1, -2), annotation_clip=False)
    figures.style.lay_out(figure, figures.style.footer(figure, "recorded with the code of another day; " * 40))
    assert label.get_window_extent().y1 <= figure.bbox.y1


def test_sources_that_differ_in_seed_or_code_are_one():
    drawn = [f"drawn here, seed {seed}; recorded with the code of {code}" for code in "ab" for seed in range(5)]
    assert condensed(drawn) == ["drawn here, seeds 0 to 4; recorded with the code of a and b"]
    assert condensed(["X, lossy", "drawn, seed 0", "drawn, seed 12"]) == ["X, lossy", "drawn, seeds 0, 12"]
    mixed = ["X", "X; recorded with the code of a", "Y, seed 3"]
    assert condensed(mixed) == ["X; in part recorded with the code of a", "Y, seed 3"]
    assert condensed([]) == []


def test_a_legend_above_the_panels_lies_between_them_and_the_lines_above():
    figure = figures.style.canvas(3, 2)
    axes = figure.subplots()
    axes.set_title("digits for MNIST", loc="left")
    figures.style.legend_above(figure, axes.plot([0, 1], label="FedAvg"))
    figures.style.lay_out(figure, figures.style.footer(figure, "Scale: quick.", "tells nothing of all, " * 4))
    head, foot = (text.get_window_extent() for text in figure.texts)
    legend, panel = figure.legends[0].get_window_extent(), axes.get_tightbbox()
    assert foot.y1 < panel.y0 < panel.y1 < legend.y0 < legend.y1 < head.y0


def test_panels_lie_on_a_grid_so_that_last_bits_of_the_layout_do_not_show():
    """Those of the layout engine depend on addresses in memory: one drawing in twenty had other bytes."""
    figure = figures.style.canvas(3, 2)
    panels = figure.subplots(2, 2).ravel()
    figures.style.lay_out(figure, figures.style.footer(figure, "Scale: quick."))
    for axes in panels:
        place = axes.get_position().get_points()
        assert np.array_equal(place, np.round(place, 6)) and 0 < place.min() < place.max() <= 1


def test_state_of_matplotlib_is_left_alone(spec):
    before = dict(matplotlib.rcParams)
    figures.build(demo.parsed(spec))
    assert dict(matplotlib.rcParams) == before


def test_a_users_matplotlibrc_changes_nothing(spec):
    files = figures.build(demo.parsed(spec))
    with matplotlib.rc_context({"font.size": 20, "figure.dpi": 31, "pdf.fonttype": 3}):
        assert figures.build(demo.parsed(spec)) == files


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


def test_algorithms_keep_their_look():
    few, many = style.algorithm_looks(["eagle", "fedavg"]), style.algorithm_looks(["fedavg", "zzz", "eagle"])
    assert few["eagle"] == many["eagle"] and few["fedavg"] == many["fedavg"]
    assert len({style.client_color(k, 20) for k in range(20)}) == 20


def test_every_algorithm_has_a_look_of_its_own(root):
    folder = root / "src/fairfl/algorithms"
    names = {path.stem for path in folder.glob("*.py")} - {"__init__", "interface"}
    assert names >= style._ALGORITHMS.keys()  # others get the looks that are left
    colors, looks = zip(*((color, (mark, dash)) for color, mark, dash in style._ALGORITHMS.values()), strict=True)
    assert len(set(colors)) == len(colors) and set(looks) <= {(m, d) for m in style._MARKERS for d in range(6)}


def test_algorithms_of_ones_own_look_different_from_all_others():
    """In colour, and in marker or dashes, whatever there is beside them; two after one another also in the marker."""
    own = [f"own{n:02}" for n in range(36)]
    looks = list(style.algorithm_looks(own).values())
    assert len(looks) == len(style._ALGORITHMS) + 36
    assert len({color for color, _, _ in looks}) == len(looks)
    first = [style.algorithm_looks(own)[name][1:] for name in own]
    assert len(set(first)) == 36 and set(first).isdisjoint(look[1:] for look in style._ALGORITHMS.values())
    assert all(a[0] != b[0] for a, b in pairwise(first))


def test_own_algorithms_need_no_entry_in_a_list_of_those_drawn():
    """A figure of an artifact's row that its list of algorithms leaves out."""
    both = {"mine": "Mine", "yours": "Yours"}
    figure = {"kind": "figure", "title": "Figure 1", "caption": "", "plot": "metric_curves", "settings": ["a"]}
    rows = rows_of(Artifact(**figure, rows=[{"algorithm": name} for name in both]), both)
    mine, yours = style.looks(rows, []).values()
    assert mine["color"] != yours["color"] and mine["marker"] != yours["marker"]


@pytest.mark.parametrize("paper", ["eagle", "fedeba", "focus", "fedfv", "vred"])
def test_what_a_figure_compares_differs_in_two_ways(root, paper):
    """In colour and mark, so that grey prints tell them apart."""
    workload = load_workload(root, {"scale": "quick", "papers": [paper]})
    for name, (_, _, artifact) in workload.artifacts.items():
        compared = {row.algorithm for row in artifact.rows} if artifact.kind == "figure" else set()
        marks = {style.algorithm_looks(compared)[name][1] for name in compared}
        assert len(marks) == len(compared), name


def test_a_figure_is_laid_out_before_it_is_drawn_once_for_each_file(monkeypatch) -> None:
    figure, drawn, draw = style.canvas(2, 2), [], Figure.draw
    figure.subplots()
    monkeypatch.setattr(Figure, "draw", lambda self, renderer: drawn.append(self) or draw(self, renderer))
    style.lay_out(figure, style.footer(figure, "From here.", ""))
    for kind in ("pdf", "png"):
        figure.savefig(io.BytesIO(), format=kind)
    assert len(drawn) == 2 + 2
