"""The figure command around the plots: errors, options, footers, clean state."""

import json
import subprocess
import sys

import matplotlib
import pandas as pd
import pytest

from fairfl.reporting import figures, style
from fairfl.reporting.inputs import Inputs, NothingRun
from fairfl.runtime.errors import FairflError
from tests.unit.reporting import demo

LINE = "{s},{a},{h},{seed},{m},{v},{u},blobs,5,{s}/{a}/x/seed{seed},f\n"


@pytest.fixture
def spec(tmp_path):
    """A box plot of two clients, two seeds, two algorithms; AFL was not run."""
    text = "setting,algorithm,hyperparameters,seed,metric,value,unit,data,rounds,run,fingerprint\n"
    for algorithm, hyper in (("fedavg", ""), ("eagle", "lambda=0.1")):
        for seed in (0, 1):
            for client in (0, 1):
                text += LINE.format(
                    s="toy", a=algorithm, h=hyper, seed=seed, m=f"gap_client_{client}", v=0.1 * client + seed, u="nats"
                )
    (tmp_path / "toy.csv").write_text(text)
    rows = [("afl", {}), ("fedavg", {}), ("eagle", {"lambda": 0.1})]
    return {
        "paper": "eagle",
        "id": "figure4",
        "artifact": demo.artifact(
            kind="figure", title="Figure 4", caption="", settings=["toy"], plot="gap_boxes",
            rows=[{"algorithm": a, "hyperparameters": h} for a, h in rows],
        ),
        "metrics": {}, "algorithms": {"afl": "AFL", "fedavg": "FedAvg", "eagle": "EAGLE"}, "scale": "quick",
        "settings": {"toy": {"data": "blobs (stand-in for emnist)", "rounds": 1, "seeds": 2, "changed": ["x: 1 -> 2"]}},
        "code": {}, "files": {"tidy": {"toy": str(tmp_path / "toy.csv")}},
    }  # fmt: skip


def test_unknown_plot_names_the_nearest(spec):
    spec["artifact"]["plot"] = "gap_boxs"
    with pytest.raises(FairflError, match=r"artifacts.figure4.plot: no plot 'gap_boxs'; did you mean 'gap_boxes'\?"):
        figures.build(demo.parsed(spec))


def test_unknown_option_names_the_nearest(spec):
    spec["artifact"]["options"] = {"famly": "gap"}
    with pytest.raises(FairflError, match=r"options.famly: unknown key \(value 'gap'\); did you mean 'family'\?"):
        figures.build(demo.parsed(spec))


def test_missing_kind_of_file_is_named(spec):
    spec["files"] = {}
    with pytest.raises(FairflError, match="eagle_figure4: needs files of kind 'tidy', the spec lists none"):
        figures.build(demo.parsed(spec))


def test_family_without_values(spec):
    spec["artifact"]["options"] = {"family": "accuracy_client"}
    with pytest.raises(FairflError, match="the results have no metric accuracy_client_0"):
        figures.build(demo.parsed(spec))


@pytest.mark.parametrize("plot", ["gap_boxes", "optima_range"])
@pytest.mark.parametrize("lines", [1, 9])
def test_figure_without_any_run_is_empty_and_says_so(spec, tmp_path, plot, lines):
    text = (tmp_path / "toy.csv").read_text().splitlines()[:lines]
    (tmp_path / "toy.csv").write_text("\n".join(text) + "\n")
    spec["artifact"] |= {"rows": spec["artifact"]["rows"][:1], "plot": plot}
    pdf, _, csv = figures.build(demo.parsed(spec))
    assert pdf.startswith(b"%PDF-") and csv == "artifact,setting,data\n"
    with pytest.raises(NothingRun, match="None of its rows was run: AFL"):
        Inputs(demo.parsed(spec)).measured()


def test_a_damaged_collected_file_is_named(spec, tmp_path):
    (tmp_path / "toy.csv").write_text("setting,seed\ntoy,0\n")
    with pytest.raises(FairflError, match=r"toy.csv: no column 'algorithm'"):
        figures.build(demo.parsed(spec))


def test_footer_says_what_it_was_made_from(spec):
    inputs = Inputs(demo.parsed(spec))
    inputs.measured()
    assert figures.footer_text(inputs, {}) == (
        "eagle, Figure 4. Scale: quick. Made from a stand-in: blobs for emnist. "
        "Data: blobs (stand-in for emnist); 1 round; 2 seeds. Not run: AFL."
    )


def test_units_follow_the_paper(spec):
    spec["metrics"] = {"gap_client_k": {"name": "gap", "meaning": "", "unit": "percent"}}
    with pytest.raises(FairflError, match="toy.csv, line 2: unit 'nats' cannot be shown as 'percent'"):
        _ = Inputs(demo.parsed(spec)).ours


def test_row_labels(spec):
    assert [row.label for row in Inputs(demo.parsed(spec)).rows] == ["AFL", "FedAvg", "EAGLE λ = 0.1"]
    assert [row.hyperparameters for row in Inputs(demo.parsed(spec)).rows] == ["", "", "lambda=0.1"]


def test_state_of_matplotlib_is_left_alone(spec):
    before = dict(matplotlib.rcParams)
    figures.build(demo.parsed(spec))
    assert dict(matplotlib.rcParams) == before


def test_a_users_matplotlibrc_changes_nothing(spec):
    files = figures.build(demo.parsed(spec))
    with matplotlib.rc_context({"font.size": 20, "figure.dpi": 31, "pdf.fonttype": 3}):
        assert figures.build(demo.parsed(spec)) == files


@pytest.mark.slow
def test_command_line_writes_three_files_without_pyplot(spec, tmp_path):
    code = (
        "import sys; from fairfl.jobs.figure import main; main(sys.argv[1:]); "
        "assert not {'matplotlib.pyplot', 'seaborn', 'torch'} & set(sys.modules)"
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


def test_algorithms_keep_their_colour():
    few, many = style.algorithm_colors(["eagle", "fedavg"]), style.algorithm_colors(["fedavg", "zzz", "eagle"])
    assert few["eagle"] == many["eagle"] and few["fedavg"] == many["fedavg"]
    assert len({style.client_color(k, 20) for k in range(20)}) == 20
