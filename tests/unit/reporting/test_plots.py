"""Every plot, drawn from small generated results: the CSV says what was put in, the files are valid and stable."""

import io

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from fairfl.experiments.plugins import names
from fairfl.reporting import figures
from fairfl.reporting.plots.weight_paths import mean_loss
from fairfl.runtime.errors import FairflError
from tests.unit.reporting import demo
from tests.unit.reporting import drawing as in_memory

SETTING = "toy"
ROWS = [
    {"algorithm": "afl", "hyperparameters": {}},
    {"algorithm": "qffl", "hyperparameters": {"q": 5.0}},
    {"algorithm": "eagle", "hyperparameters": {"lambda": 2.0}},
    {"algorithm": "fedavg", "hyperparameters": {}},
]
PLOTS = ["client_curves", "client_scatter", "gap_boxes", "optima_range", "separators", "weight_paths"]
METRIC_PLOTS = [
    "client_pairs", "critical_difference", "excess_risk", "factor_ranks", "fair_angle", "label_shares", "leaderboard",
    "metric_curves", "metric_scatter", "metric_sweep", "one_step", "paired_differences", "projected_gradients",
    "pseudo_code", "rank_correlation", "tuning_need",
]  # fmt: skip
ARM = ("setting", "algorithm", "hyperparameters", "seed")
SEEDS, CLIENTS, ROUNDS = (0, 42), 3, 41


VECTORS = {"a": [3.0, 0.0], "b": [-1.06, 1.06], "c": [-0.57, -0.82]}


def hyperparameters(row):
    return ",".join(f"{key}={value}" for key, value in sorted(row["hyperparameters"].items()))


def samples(rng):
    """Three clients with 40 samples each, two classes, ever less separable, the last one rotated."""
    features, labels = [], []
    for client, distance in enumerate((2.0, 1.0, 0.5)):
        label = np.arange(40) % 2
        own = rng.normal(size=(40, 2)) + distance * (2 * label - 1)[:, None]
        angle = np.pi / 4 if client == 2 else 0.0
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        features.append(own @ turn.T)
        labels.append(label)
    return np.concatenate(features).astype(np.float32), np.concatenate(labels)


def descend(features, labels, client, weights, seed):
    """Path [rounds, 3] of gradient descent on a weighted mean of the clients' logistic losses."""
    rng = np.random.default_rng(seed)
    theta, path = rng.normal(scale=0.3, size=3), []
    inputs = np.c_[features, np.ones(len(features))]
    sign = 2.0 * labels - 1
    importance = np.asarray(weights)[client] / 40
    for _ in range(ROUNDS):
        path.append(theta)
        slope = -sign / (1 + np.exp(sign * (inputs @ theta)))
        theta = theta - 0.5 * (importance * slope) @ inputs
    return np.array(path)


WEIGHTS = {"afl": (0, 0.2, 0.8), "qffl": (0.05, 0.25, 0.7), "eagle": (0.5, 0.3, 0.2), "fedavg": (1 / 3, 1 / 3, 1 / 3)}


def round_lines(features, labels, client, row, seed, path):
    sign = 2.0 * labels - 1
    inputs = np.c_[features, np.ones(len(features))]
    for at, theta in enumerate(path):
        losses = np.logaddexp(0, -sign * (inputs @ theta))
        for k, floor in enumerate((0.05, 0.3, 0.55)):
            loss = losses[client == k].mean()
            yield (SETTING, row["algorithm"], hyperparameters(row), seed, at, k, loss, loss - floor)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Files of a finished toy setting, and of a second one that only has local optima."""
    folder = tmp_path_factory.mktemp("results")
    features, labels = samples(np.random.default_rng(0))
    client = np.repeat(np.arange(CLIENTS), 40)
    part = np.tile(np.repeat([0, 1, 2], [24, 8, 8]), CLIENTS)
    save_file({"inputs": features, "labels": labels}, folder / "data.safetensors")
    order = np.random.default_rng(1).permutation(len(labels))
    pd.DataFrame({"row": order, "client": client[order], "part": part[order]}).to_parquet(folder / "deal.parquet")
    rounds, tidy, models = [], [], {}
    for row in ROWS:
        for seed in SEEDS:
            path = descend(features, labels, client, WEIGHTS[row["algorithm"]], seed)
            lines = list(round_lines(features, labels, client, row, seed, path))
            rounds += lines
            run = f"{SETTING}/{row['algorithm']}/{hyperparameters(row) or 'default'}/seed{seed}"
            for *_, at, k, loss, gap in lines:
                if at == ROUNDS - 1:
                    common = (SETTING, row["algorithm"], hyperparameters(row), seed)
                    tail = ("nats", "blobs", ROUNDS, run, "f" * 16)
                    tidy += [(*common, f"loss_client_{k}", loss, *tail), (*common, f"gap_client_{k}", gap, *tail)]
            if seed == SEEDS[0]:
                models[run] = str(folder / f"{row['algorithm']}.safetensors")
                tensors = {"theta": path[-1], "path": path, "path_rounds": np.arange(ROUNDS)}
                save_file({k: v.astype(np.float32 if v.dtype.kind == "f" else np.int64) for k, v in tensors.items()},
                          models[run])  # fmt: skip
    for setting, low, high in ((SETTING, 0.1, 1.4), ("near_iid", 0.6, 0.8)):
        for seed in SEEDS:
            for metric, value in (("local_loss_min", low), ("local_loss_max", high)):
                value += seed / 1000
                line = (setting, "local_only", "", seed, metric, value, "nats", "blobs", 0, f"{setting}/l/seed{seed}")
                tidy.append((*line, "f" * 16))
    pd.DataFrame(tidy, columns=demo.TIDY.strip().split(",")).to_csv(folder / "tidy.csv", index=False)
    columns = [*ARM, "round", "client", "loss_train", "gap_validation"]
    pd.DataFrame(rounds, columns=columns).to_parquet(folder / "rounds.parquet")
    return {
        "tidy": {SETTING: str(folder / "tidy.csv")},
        "rounds": {SETTING: str(folder / "rounds.parquet")},
        "data": {SETTING: str(folder / "data.safetensors")},
        "partition": {SETTING: str(folder / "deal.parquet")},
        "model": models,
    }


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
    assert sorted(names("reporting/plots")) == sorted([*PLOTS, *METRIC_PLOTS])


def test_gap_boxes_shows_every_client_of_every_seed(results):
    *_, frame = drawn(spec_of(results, "gap_boxes"))
    tidy = pd.read_csv(results["tidy"][SETTING], keep_default_na=False)
    wanted = tidy[tidy["metric"].str.startswith("gap_client")]
    keys = ["algorithm", "seed", "metric"]
    assert len(frame) == len(wanted) == len(ROWS) * len(SEEDS) * CLIENTS
    merged = frame.merge(wanted, on=keys, validate="1:1")
    assert (merged["value_x"] == merged["value_y"]).all()


def test_paired_differences_are_those_of_each_seed(results):
    """Two rows minus the two others, in two metrics."""
    described = {"name": "gap", "meaning": "g", "unit": "nats", "direction": "down", "digits": 2}
    metrics = {f"gap_client_{k}": described for k in (0, 1)}
    spec = spec_of(results, "paired_differences", {"of": ["eagle/lambda=2.0", "afl"]})
    spec["artifact"]["columns"], spec["metrics"] = [*metrics], metrics
    drawing, frame, remarks = in_memory.drawn(spec)
    tidy = pd.read_csv(results["tidy"][SETTING], keep_default_na=False)
    value = tidy[tidy["metric"] == "gap_client_1"].set_index(["algorithm", "seed"])["value"]
    apart = [value["eagle", seed] - value["qffl", seed] for seed in SEEDS]
    line = frame[(frame["of"] == "eagle") & (frame["algorithm"] == "qffl") & (frame["metric"] == "gap_client_1")].iloc[
        0
    ]
    half = 12.7062047 * np.std(apart, ddof=1) / np.sqrt(2)  # t of one degree of freedom
    assert line["difference"] == pytest.approx(np.mean(apart))
    assert (line["low"], line["high"]) == pytest.approx((np.mean(apart) - half, np.mean(apart) + half), rel=1e-6)
    assert len(frame) == 2 * 2 * 2 and set(frame["algorithm"]) == {"qffl", "fedavg"}
    assert [text.get_text() for text in drawing.axes[0].get_yticklabels()] == ["– q-FFL q = 5.0", "– FedAvg"]
    assert "Mark: mean difference over 2 seeds; bar: 95% interval, each by itself." in remarks


def test_mean_loss_counts_every_client_alike():
    data = pd.DataFrame({"x": [1.0, 1.0, 1.0, -1.0], "y": 0.0, "client": [0, 0, 0, 1], "class": 1})
    with pytest.raises(FairflError, match="two classes"):
        mean_loss(data, np.zeros(1), np.zeros(1), 0.0)
    losses = mean_loss(data.assign(**{"class": [1, 1, 1, 0]}), np.array([0.0, 1.0]), np.array([0.0]), 1.0)
    expected = [(np.log1p(np.exp(-1)) + np.log1p(np.exp(1))) / 2, (np.log1p(np.exp(-2)) + np.log(2)) / 2]
    assert losses[:, 0] == pytest.approx(expected)


# -- metrics over the clients -----------------------------------------------------------------
ROUND = [0, 50, 100]
DESCRIBED = {
    "accuracy_mean": {"name": "mean accuracy", "meaning": "", "unit": "percent", "direction": "up", "digits": 2},
    "accuracy_worst10": {"name": "worst 10%", "meaning": "", "unit": "percent", "direction": "up", "digits": 2},
    "loss_mean": {"name": "mean loss", "meaning": "", "unit": "nats", "direction": "down", "digits": 2},
}
COLUMNS = {"metric_curves": ["accuracy_mean"], "metric_scatter": ["accuracy_mean", "accuracy_worst10"]}


QFFL = {"algorithm": "qffl", "hyperparameters": {"q": 5.0}}


def metric_spec(
    plot, folder, settings=(SETTING,), rows=({"algorithm": "fedavg"}, QFFL), changed=(), columns=None, **options
):
    columns = columns or COLUMNS[plot]
    files = {
        "rounds": {SETTING: str(folder / "rounds.parquet")},
        "tidy": {name: str(folder / f"{name}.csv") for name in settings},
        "reported": {"figure2": str(folder / "figure2.csv"), "table6": str(folder / "table6.csv")},
    }
    given = {"settings": list(settings), "rows": list(rows), "plot": plot, "columns": columns, "options": options}
    metrics = {name: DESCRIBED[name] for name in columns}
    return demo.spec("fedfv_figure2", files, {"changed": list(changed)}, metrics, kind="figure", **given)


@pytest.fixture
def accuracies(tmp_path):
    """Ten clients, the last one without samples, at three rounds with two seeds; the paper's curve and its table."""
    lines = []
    for algorithm, hyper, shift in (("fedavg", "", 0.0), ("qffl", "q=5.0", 0.1)):
        for seed in (0, 1):
            for at in ROUND:
                for k in range(10):
                    value = np.nan if k == 9 else shift + at / 250 + k / 50 + seed / 20
                    lines.append((SETTING, algorithm, hyper, seed, at, k, 1.0 if k < 9 else np.nan, value, value))
    columns = [*ARM, "round", "client", "loss_test", "accuracy_test", "recall_test"]
    frame = pd.DataFrame(lines, columns=columns).assign(samples_test=lambda own: (own["client"] < 9) * 5)
    frame.to_parquet(tmp_path / "rounds.parquet")
    curve = "".join(
        f'figure2,{SETTING},qffl,q=5,accuracy_mean_curve,{10 + at},1,std,percent,"round={at}; from logs"\n'
        for at in (100, 0)
    )
    (tmp_path / "figure2.csv").write_text(demo.REPORTED + curve)
    (tmp_path / "table6.csv").write_text(
        f"{demo.REPORTED}table6,{SETTING},fedavg,,accuracy_mean,40,,,percent,\n"
        f"table6,{SETTING},fedavg,,accuracy_worst10,20,,,percent,\n"
        f"table6,{SETTING},qffl,q=5,accuracy_mean,,,,percent,illegible\n"
    )
    text = "".join(
        f"{SETTING},{a},{h},{seed},{metric},{value + seed / 10},fraction,d,9,r,f\n"
        for a, h, base in (("fedavg", "", 0.3), ("qffl", "q=5.0", 0.4))
        for seed in (0, 1)
        for metric, value in (("accuracy_mean", base), ("accuracy_worst10", base - 0.2))
    )
    (tmp_path / f"{SETTING}.csv").write_text(demo.TIDY + text)
    return tmp_path


@pytest.mark.slow
def test_metric_curves_are_mean_and_range_over_seeds_of_the_metric_over_clients(accuracies):
    *_, frame = drawn(metric_spec("metric_curves", accuracies))
    ours = frame[(frame["kind"] == "ours") & (frame["algorithm"] == "qffl")].set_index("round")
    assert ours.index.tolist() == ROUND and set(ours["metric"]) == {"accuracy_mean"}
    # Mean over the nine clients that have samples: 0.1 + 0.4 + 4/50, seeds 0.05 apart, in percent.
    assert ours.loc[100, ["mean", "low", "high"]].tolist() == pytest.approx([60.5, 58, 63])
    assert ours.loc[100, "seeds"] == 2
    paper = frame[frame["kind"] == "paper"]
    assert paper[["round", "mean"]].to_numpy().tolist() == [[100, 110], [0, 10]]


def test_metric_scatter_shows_means_deviations_and_the_papers_numbers(accuracies):
    *_, frame = drawn(metric_spec("metric_scatter", accuracies, x="accuracy_worst10", y="accuracy_mean"))
    ours = frame[frame["kind"] == "ours"].set_index("algorithm")
    assert ours.loc["fedavg", ["x", "x_std", "y", "y_std", "seeds"]].tolist() == pytest.approx([15, 5, 35, 5, 2])
    paper = frame[frame["kind"] == "paper"]
    assert paper[["algorithm", "x", "y"]].to_numpy().tolist() == [["fedavg", 20, 40]]  # q-FFL's mean is illegible


# -- an illustration --------------------------------------------------------------------------
def gradients_spec(vectors=VECTORS, losses=(0.5, 1.0, 1.5)):
    options = {"vectors": vectors, "losses": list(losses)}
    return demo.spec("fedfv_figure1", kind="illustration", plot="projected_gradients", options=options)


def test_projected_gradients_are_those_of_algorithm_2():
    *_, frame = drawn(gradients_spec())
    vectors = frame[frame["vector"].notna()].set_index(["algorithm", "vector"])[["x", "y"]]
    h = vectors.xs("h_b", level="vector").iloc[0].to_numpy()
    g = {name: np.array(value) for name, value in VECTORS.items()}
    expected = g["b"] - (g["b"] @ g["a"]) / (g["a"] @ g["a"]) * g["a"]
    expected -= min(expected @ g["c"], 0) / (g["c"] @ g["c"]) * g["c"]
    assert h == pytest.approx(expected)
    plain, projected = (vectors.loc[(way, "average")].to_numpy() for way in ("plain", "projected"))
    assert plain == pytest.approx(np.mean(list(g.values()), axis=0))
    assert np.linalg.norm(projected) == pytest.approx(np.linalg.norm(plain))
