"""Every plot, drawn from small generated results: the CSV says what was put in, the files are valid and stable."""

import io
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from fairfl.experiments.plugins import names
from fairfl.reporting import figures
from fairfl.reporting.plots.weight_paths import mean_loss
from fairfl.runtime.errors import FairflError
from tests.unit.reporting import demo

SETTING = "toy"
ROWS = [
    {"algorithm": "afl", "hyperparameters": {}},
    {"algorithm": "qffl", "hyperparameters": {"q": 5.0}},
    {"algorithm": "eagle", "hyperparameters": {"lambda": 2.0}},
    {"algorithm": "fedavg", "hyperparameters": {}},
]
PLOTS = ["client_curves", "client_scatter", "gap_boxes", "optima_range", "separators", "weight_paths"]
ARM = ("setting", "algorithm", "hyperparameters", "seed")
SEEDS, CLIENTS, ROUNDS = (0, 42), 3, 41


VECTORS = {"a": [3.0, 0.0], "b": [-1.06, 1.06], "c": [-0.57, -0.82]}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Files of a toy setting, drawn at random: three clients, two classes, four rows with paths of three parameters."""
    folder, rng = tmp_path_factory.mktemp("results"), np.random.default_rng(0)
    client, part = np.repeat(np.arange(CLIENTS), 40), np.tile(np.repeat([0, 1, 2], [24, 8, 8]), CLIENTS)
    tensors = {"inputs": rng.normal(size=(120, 2)).astype(np.float32), "labels": np.arange(120) % 2}
    save_file(tensors, folder / "data.safetensors")
    pd.DataFrame({"row": np.arange(120), "client": client, "part": part}).to_parquet(folder / "deal.parquet")
    rounds, tidy, models = [], [], {}
    for row in ROWS:
        hyper = ",".join(f"{key}={value}" for key, value in row["hyperparameters"].items())
        run = f"{SETTING}/{row['algorithm']}/{hyper or 'default'}/seed"
        path = {"theta": rng.normal(size=3), "path": rng.normal(size=(ROUNDS, 3)).cumsum(0)}
        path = {name: values.astype(np.float32) for name, values in path.items()} | {"path_rounds": np.arange(ROUNDS)}
        models[f"{run}{SEEDS[0]}"] = str(folder / f"{row['algorithm']}.safetensors")
        save_file(path, models[f"{run}{SEEDS[0]}"])
        for seed, k in product(SEEDS, range(CLIENTS)):
            names = (SETTING, row["algorithm"], hyper, seed)
            rounds += [(*names, at, k, loss, loss - k / 10) for at, loss in enumerate(rng.random(ROUNDS))]
            for metric, value in (("loss", rng.random()), ("gap", rng.random())):
                tidy.append((*names, f"{metric}_client_{k}", value, "nats"))
    for setting, seed, end in product((SETTING, "near_iid"), SEEDS, ("min", "max")):
        tidy.append((setting, "local_only", "", seed, f"local_loss_{end}", rng.random(), "nats"))
    demo.tidy(folder / "tidy.csv", tidy)
    columns = [*ARM, "round", "client", "loss_train", "gap_validation"]
    pd.DataFrame(rounds, columns=columns).to_parquet(folder / "rounds.parquet")
    files = {"tidy": "tidy.csv", "rounds": "rounds.parquet", "data": "data.safetensors", "partition": "deal.parquet"}
    return {kind: {SETTING: str(folder / name)} for kind, name in files.items()} | {"model": models}


def spec_of(results, plot, options=None, rows=ROWS):
    settings = [SETTING]
    if plot == "optima_range":
        settings, rows = [SETTING, "near_iid"], [{"algorithm": "local_only"}]
        options = options or {"labels": {SETTING: "α = 0.1", "near_iid": "α = 2000"}}
    facts = {"data": "blobs (stand-in for emnist)", "rounds": ROUNDS}
    given = {"settings": settings, "rows": rows, "plot": plot, "options": options or {}}
    return demo.spec("eagle_figure9", results, facts, kind="figure", **given)


def drawn(spec):
    pdf, png, text = figures.build(demo.parsed(spec))
    return pdf, png, pd.read_csv(io.StringIO(text), comment="#", keep_default_na=False, na_values=["", "nan"])


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.slow
def test_files_are_valid_name_the_stand_in_and_are_equal_on_a_second_draw(results, plot):
    spec = spec_of(results, plot)
    pdf, png, text = figures.build(demo.parsed(spec))
    assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and b"IEND" in png[-12:]
    assert b"CreationDate" not in pdf and b"/Type3" not in pdf
    assert (pdf, png, text) == figures.build(demo.parsed(spec))
    frame = pd.read_csv(io.StringIO(text), comment="#")
    assert set(frame["data"]) == {"blobs (stand-in for emnist)"}
    assert set(frame["artifact"]) == {"eagle_figure9"}


def test_all_plots_are_tested():
    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("test_plots*.py"))
    assert [name for name in names("reporting/plots") if f'"{name}"' not in texts] == []


def test_gap_boxes_shows_every_client_of_every_seed(results):
    *_, frame = drawn(spec_of(results, "gap_boxes"))
    tidy = pd.read_csv(results["tidy"][SETTING], keep_default_na=False)
    wanted = tidy[tidy["metric"].str.startswith("gap_client")]
    keys = ["algorithm", "seed", "metric"]
    assert len(frame) == len(wanted) == len(ROWS) * len(SEEDS) * CLIENTS
    merged = frame.merge(wanted, on=keys, validate="1:1")
    assert (merged["value_x"] == merged["value_y"]).all()


def test_mean_loss_counts_every_client_alike():
    data = pd.DataFrame({"x": [1.0, 1.0, 1.0, -1.0], "y": 0.0, "client": [0, 0, 0, 1], "class": 1})
    with pytest.raises(FairflError, match="two classes"):
        mean_loss(data, np.zeros(1), np.zeros(1), 0.0)
    losses = mean_loss(data.assign(**{"class": [1, 1, 1, 0]}), np.array([0.0, 1.0]), np.array([0.0]), 1.0)
    expected = [(np.log1p(np.exp(-1)) + np.log1p(np.exp(1))) / 2, (np.log1p(np.exp(-2)) + np.log(2)) / 2]
    assert losses[:, 0] == pytest.approx(expected)


# -- metrics over the clients -----------------------------------------------------------------
@pytest.mark.slow
def test_metric_curves_are_mean_and_range_over_seeds_of_the_metric_over_clients(tmp_path):
    """Ten clients, the last one without samples, at three rounds with two seeds; the paper's curve."""
    frame = pd.DataFrame(product((0, 1), (0, 50, 100), range(10)), columns=["seed", "round", "client"])
    frame = frame.assign(setting=SETTING, algorithm="qffl", hyperparameters="q=5.0", loss_test=1.0)
    values = 0.1 + frame["round"] / 250 + frame["client"] / 50 + frame["seed"] / 20
    frame["accuracy_test"] = frame["recall_test"] = values.where(frame["client"] < 9)
    frame.assign(samples_test=(frame["client"] < 9) * 5).to_parquet(tmp_path / "rounds.parquet")
    curve = f'figure2,{SETTING},qffl,q=5,accuracy_mean_curve,{{}},1,std,percent,"round={{}}; from logs"\n'
    (tmp_path / "figure2.csv").write_text(demo.REPORTED + curve.format(110, 100) + curve.format(10, 0))
    files = {"rounds": {SETTING: "rounds.parquet"}, "reported": {"figure2": "figure2.csv"}}
    files = {kind: {key: str(tmp_path / path) for key, path in some.items()} for kind, some in files.items()}
    metrics = {"accuracy_mean": {"name": "mean accuracy", "meaning": "", "unit": "percent", "direction": "up"}}
    given = {"settings": [SETTING], "rows": ROWS[1:2], "plot": "metric_curves", "columns": list(metrics)}
    *_, frame = drawn(demo.spec("fedfv_figure2", files, None, metrics, kind="figure", **given))
    ours = frame[frame["kind"] == "ours"].set_index("round")
    assert ours.index.tolist() == [0, 50, 100] and set(ours["metric"]) == {"accuracy_mean"}
    # Mean over the nine clients that have samples: 0.1 + 0.4 + 4/50, seeds 0.05 apart, in percent.
    assert ours.loc[100, ["mean", "low", "high"]].tolist() == pytest.approx([60.5, 58, 63])
    assert ours.loc[100, "seeds"] == 2
    assert frame[frame["kind"] == "paper"][["round", "mean"]].to_numpy().tolist() == [[100, 110], [0, 10]]


# -- an illustration --------------------------------------------------------------------------
def test_projected_gradients_are_those_of_algorithm_2():
    options = {"vectors": VECTORS, "losses": [0.5, 1.0, 1.5]}
    spec = demo.spec("fedfv_figure1", kind="illustration", plot="projected_gradients", options=options)
    *_, frame = drawn(spec)
    vectors = frame[frame["vector"].notna()].set_index(["algorithm", "vector"])[["x", "y"]]
    h = vectors.xs("h_b", level="vector").iloc[0].to_numpy()
    g = {name: np.array(value) for name, value in VECTORS.items()}
    expected = g["b"] - (g["b"] @ g["a"]) / (g["a"] @ g["a"]) * g["a"]
    expected -= min(expected @ g["c"], 0) / (g["c"] @ g["c"]) * g["c"]
    assert h == pytest.approx(expected)
    plain, projected = (vectors.loc[(way, "average")].to_numpy() for way in ("plain", "projected"))
    assert plain == pytest.approx(np.mean(list(g.values()), axis=0))
    assert np.linalg.norm(projected) == pytest.approx(np.linalg.norm(plain))
