"""A table or figure that could show nothing is refused at the plan, by name: every kind of plot, and tables."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairfl.experiments.declaration import declaration
from fairfl.experiments.plugins import names
from fairfl.experiments.workload import load_workload
from fairfl.judgement.claims import preflight
from fairfl.runtime.validation import SpecError

FIGURE: dict[str, Any] = {
    "kind": "figure",
    "title": "F",
    "caption": "",
    "settings": ["template_digits"],
    "rows": [{"algorithm": "fedavg"}],
}


@pytest.fixture()
def planned(root: Path, tmp_path: Path):
    """Plans the template with another figure, columns of its table, keys of its setting or metrics."""
    paper = yaml.safe_load((root / "papers/template.yaml").read_text())
    for name in ("papers", "scales"):
        (tmp_path / name).mkdir()
    (tmp_path / "scales/quick.yaml").write_text("scale: quick\ndescription: d\n")

    def plan(figure=None, table=None, setting=None, metrics=(), units=None) -> None:
        data = copy.deepcopy(paper)
        described = {"name": "m", "meaning": "m", "unit": "", "direction": "up"}
        data["metrics"] |= {metric: described for metric in metrics}
        for metric, keys in (units or {}).items():
            data["metrics"].setdefault(metric, dict(described)).update(keys)
        data["settings"]["template_digits"] |= setting or {}
        data["artifacts"]["table1"] |= table or {}
        if figure is not None:
            data["artifacts"]["figure1"] = FIGURE | figure
        (tmp_path / "papers/template.yaml").write_text(yaml.safe_dump(data))
        preflight.check(load_workload(tmp_path, {"scale": "quick", "papers": ["template"]}))

    return plan


def needed(plot: str) -> list[str]:
    """Which of settings, rows and columns a kind of plot cannot do without."""
    declared = declaration("reporting/plots", plot)
    runs = {"tidy", "rounds", "model"} & set(declared.NEEDS)
    parts = {"settings": declared.NEEDS, "rows": runs, "columns": getattr(declared, "DRAWS_COLUMNS", False)}
    return [part for part, is_needed in parts.items() if is_needed]


NEEDED = [(plot, part) for plot in names("reporting/plots") for part in needed(plot)]


def options(plot: str) -> dict[str, Any]:
    """Values of the options that have no default, of their types."""
    if plot == "metric_sweep":  # one of two
        return {"key": "q"}
    examples = {str: "accuracy_mean", float: 0.1, list[str]: ["fedavg"]}
    fields = declaration("reporting/plots", plot).Config.model_fields.items()
    return {name: examples[field.annotation] for name, field in fields if field.is_required()}


def test_the_template_passes(planned) -> None:
    planned()


def test_a_plot_of_one_number_a_row_takes_no_family(planned) -> None:
    columns = ["accuracy_mean", "accuracy_client_k"]
    figure = {"plot": "metric_scatter", "columns": columns, "options": dict(zip("xy", columns, strict=True))}
    with pytest.raises(
        SpecError, match="'accuracy_client_k' is a number for each client; .* such as accuracy_client_0"
    ):
        planned(figure, metrics=columns)


@pytest.mark.parametrize(("plot", "part"), NEEDED)
def test_a_figure_with_nothing_to_draw_is_refused(planned, plot, part) -> None:
    columns = ["accuracy_mean", "accuracy_worst10"]
    figure = {"plot": plot, "options": options(plot), "columns": columns, part: []}
    with pytest.raises(SpecError, match=f"papers/template.yaml: artifacts.figure1: plot {plot} needs {part}: "):
        planned(figure)


BOTH = ["accuracy_mean", "accuracy_worst10"]
SQUARED = {"loss": "squared_error", "evaluated_parts": ["train", "test"]}


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ({"plot": "metric_curves", "columns": ["accuracy_mean"], "options": {"patr": "test"}}, "options.patr: unknown"),
        (
            {"plot": "metric_curves", "columns": ["accuracy_mean"], "options": {"part": "train"}},
            "needs clients evaluated on train, evaluated_parts of template_digits are test",
        ),
        (
            {"plot": "metric_curves", "columns": ["accuracy_mean"], "options": {"log": ["accuracy_maen"]}},
            "options: 'accuracy_maen' is not one of the columns; did you mean 'accuracy_mean'",
        ),
        (
            {"plot": "metric_scatter", "columns": BOTH, "options": {"x": "accuracy_mean", "y": "accuracy_worst"}},
            "options: 'accuracy_worst' is not one of the columns; did you mean 'accuracy_worst10'",
        ),
        (
            {"plot": "gap_boxes"},
            "gap_client_0: is measured from each client's local_optimum",
        ),
        ({"plot": "excess_risk"}, "excess_client_0: is measured from each client's surrogate"),
        (
            {"plot": "separators"},
            "needs the models of the runs: template_digits has keep: nothing, expected model",
        ),
        ({"plot": "weight_paths"}, "needs clients evaluated on train"),
    ],
)
def test_a_figure_that_its_settings_cannot_fill_is_refused(planned, figure, message) -> None:
    with pytest.raises(SpecError) as error:
        planned(figure)
    assert message in str(error.value) and "papers/template.yaml: artifacts.figure1" in str(error.value)


@pytest.mark.parametrize(
    ("column", "setting", "message"),
    [
        ("gap_max", {}, "gap_max: is measured from each client's local_optimum, which template_digits does not have"),
        ("accuracy_mean_late", {}, "template_digits has no late_evaluations"),
        ("accuracy_client_10", {}, "accuracy_client_10: template_digits has clients 0 to 9"),
        ("accuracy_mean", SQUARED, "accuracy_mean: template_digits is a regression, which has no accuracy"),
        ("learning_rate", {}, "learning_rate: is what tuning chose, and template_digits has no tuning"),
    ],
)
def test_a_table_whose_cells_would_be_empty_is_refused(planned, column, setting, message) -> None:
    with pytest.raises(SpecError) as error:
        planned({"plot": "label_shares"}, {"columns": [column], "claims": []}, setting, [column])
    assert "papers/template.yaml: artifacts.table1: " in str(error.value) and message in str(error.value)


@pytest.mark.parametrize(
    ("column", "setting"),
    [("accuracy_mean_late", {"late_evaluations": 2}), ("accuracy_client_9", {}), ("accuracy_client_k", {})],
)
def test_what_the_setting_measures_is_accepted(planned, column, setting) -> None:
    planned(table={"columns": [column], "claims": []}, setting=setting, metrics=[column])


def test_a_figure_of_paths_needs_models_with_their_paths(planned) -> None:
    kept = {"keep": "model", "evaluated_parts": ["train", "test"]}
    with pytest.raises(SpecError, match="template_digits has keep: model, expected path"):
        planned({"plot": "weight_paths"}, setting=kept)
    planned({"plot": "weight_paths"}, setting=kept | {"keep": "path"})


def test_columns_of_curves_are_metrics_along_training(planned) -> None:
    with pytest.raises(SpecError, match="columns: 'accuracy_area' cannot be drawn along training"):
        planned({"plot": "metric_curves", "columns": ["accuracy_area"]}, metrics=["accuracy_area"])


def test_metrics_that_nothing_measures_are_all_named_at_once(planned) -> None:
    with pytest.raises(SpecError) as error:
        planned(metrics=["accuracy_wrst10", "loss_clients_1"])
    assert "metrics.accuracy_wrst10: nothing measures it; did you mean 'accuracy_worst10'" in str(error.value)
    assert "metrics.loss_clients_1: nothing measures it; did you mean 'loss_client_" in str(error.value)


@pytest.mark.parametrize(
    ("metric", "keys", "setting", "message"),
    [
        ("accuracy_mean", {"unit": "percnt"}, {}, "metrics.accuracy_mean.unit: 'percnt': it is measured in fraction; "),
        ("accuracy_var", {"unit": "percent"}, {}, "metrics.accuracy_var.unit: 'percent': it is measured in fraction^2"),
        ("loss_mean", {"unit": "nats", "other_units": ["msd"]}, {}, "metrics.loss_mean.unit: 'msd'"),
        ("loss_mean", {"unit": "nats"}, SQUARED, "loss_mean: template_digits measures it in mse, which unit: nats"),
    ],
)  # fmt: skip
def test_a_unit_in_which_it_is_not_measured_is_refused(planned, metric, keys, setting, message) -> None:
    """At the plan, not by the table after all trainings."""
    with pytest.raises(SpecError) as error:
        planned(
            {"plot": "label_shares"}, {"columns": ["loss_mean"], "claims": []}, setting, ["loss_mean"], {metric: keys}
        )
    assert "papers/template.yaml: " in str(error.value) and message in str(error.value)


def test_a_unit_that_resembles_none_gets_each_unit_once(planned) -> None:
    with pytest.raises(SpecError, match="known: fraction, percent, percent_points\n"):
        planned(metrics=["accuracy_mean"], units={"accuracy_mean": {"unit": "lux"}})


@pytest.mark.parametrize(
    ("metric", "keys", "setting"),
    [
        ("accuracy_mean", {"unit": "percent"}, {}),
        ("loss_mean", {"unit": "nats", "other_units": ["mse"]}, SQUARED),
        ("epsilon", {"unit": "of dp"}, {}),  # a mere number is called as one likes
    ],
)
def test_units_that_can_be_shown_are_accepted(planned, metric, keys, setting) -> None:
    planned({"plot": "label_shares"}, {"columns": ["loss_mean"], "claims": []}, setting, ["loss_mean"], {metric: keys})
