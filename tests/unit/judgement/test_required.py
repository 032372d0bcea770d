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


SQUARED = {"loss": "squared_error", "evaluated_parts": ["train", "test"]}


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
