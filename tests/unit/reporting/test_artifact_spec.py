"""The description of an artifact: which rows, which columns, where its numbers come from, what is refused."""

import pytest
from pydantic import ValidationError

from fairfl.experiments.artifact import Artifact

TABLE = {
    "kind": "table",
    "title": "T",
    "caption": "",
    "settings": ["a", "b"],
    "rows": [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 1.0}, "setting": "b"}],
    "columns": ["accuracy_mean", "hp_q"],
}


def table(**given) -> Artifact:
    return Artifact(**{**TABLE, **given})


def test_rows_of_a_setting() -> None:
    assert [row.algorithm for row in table().rows_in("a")] == ["fedavg"]
    assert [row.algorithm for row in table().rows_in("b")] == ["fedavg", "qffl"]


def test_columns_of_algorithms_and_settings() -> None:
    three = ["accuracy_mean", "hp_q", "loss_mean"]
    one = table(columns=three, columns_of={"fedavg": ["accuracy_mean", "loss_mean"]}, columns_in={"b": ["loss_mean"]})
    assert one.columns_for("fedavg", "a") == ["accuracy_mean", "loss_mean"]
    assert one.columns_for("fedavg", "b") == ["loss_mean"]  # both must allow it
    assert one.columns_for("qffl", "a") == three
    unordered = table(columns=three, columns_in={"a": ["loss_mean", "accuracy_mean"]})
    assert unordered.columns_for("qffl", "a") == ["accuracy_mean", "loss_mean"]  # print order is that of the columns


@pytest.mark.parametrize(
    ("columns", "origins", "needs"),
    [
        (["accuracy_mean"], ("tidy",), ("tidy",)),
        (["hp_q", "learning_rate"], ("tuned",), ("tuned", "reported")),
        (["accuracy_mean", "num_clients"], ("tidy", "statistics"), ("tidy", "statistics", "reported")),
        (["inference_seconds"], ("timed",), ("timed",)),
        (["accuracy_mean", "inference_seconds"], ("tidy", "timed"), ("tidy", "timed")),
        (["config_rounds", "num_clients"], ("setting", "statistics"), ("statistics", "reported")),
    ],
)
def test_where_numbers_come_from(columns, origins, needs) -> None:
    assert (table(columns=columns).origins, table(columns=columns).needs) == (origins, needs)


TWO, NONE = "layout: two numbers in the cell of", "a table needs rows, unless all of its columns"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": []}, f"{NONE} count"),
        ({"rows": [], "columns": ["num_clients", "inference_seconds"]}, NONE),
        ({"settings": []}, "a table needs settings and columns"),
        ({"settings": ["a"]}, "row 1: setting 'b' is not one of these; known: a"),
        ({"columns_of": {"qfl": ["hp_q"]}}, "columns_of: 'qfl' is not one of these; did you mean 'qffl'"),
        ({"columns_of": {"qffl": ["hp_p"]}}, "columns_of.qffl: 'hp_p' is not one of these; did you mean 'hp_q'"),
        ({"columns_in": {"c": ["hp_q"]}}, "columns_in: 'c' is not one of these; known: a, b"),
        ({"columns_in": {"a": ["hp_p"]}}, "columns_in.a: 'hp_p' is not one of these; did you mean 'hp_q'"),
        ({"layout": {"down": ["setting"], "across": ["row"]}}, f"{TWO} a, .*; 'metric' must run down or across"),
        ({"layout": {"down": ["metric"], "across": ["setting"]}}, f"{TWO} b, .*; 'row' must run down or across"),
        ({"layout": {"down": ["row"], "across": ["row"]}}, "'row' cannot run both down and across"),
        ({"layout": {"blocks": [["a"], ["c"]]}}, "layout.blocks: 'c' is not one of these; known: a, b"),
        ({"layout": {"blocks": [["a"]]}}, "layout.blocks: 'b' is in none of them"),
        ({"layout": {"brackets": {"hp_q": "hp_p"}}}, "layout.brackets: 'hp_p' is not one of these; did you mean 'hp_q"),
        ({"layout": "variants_by_settings"}, "layout"),
        ({"rows": [], "columns": ["num_clients"], "layout": {"down": ["setting", "metric"], "across": ["row"]}},
         "layout: there are no rows to stand alone on a side"),
        ({"rules": [2]}, r"rules: \[2\] for rows 0 to 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_printed_is_refused(given, message) -> None:
    with pytest.raises(ValidationError, match=message):
        table(**given)
