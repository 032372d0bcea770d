"""The description of an artifact: which rows, which columns, where its numbers come from, what is refused."""

import pytest
from pydantic import ValidationError

from fairfl.spec.paper import Artifact

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


def test_columns_of_an_algorithm() -> None:
    one = table(columns_of={"fedavg": ["accuracy_mean"]})
    assert (one.columns_for("fedavg"), one.columns_for("qffl")) == (["accuracy_mean"], ["accuracy_mean", "hp_q"])


@pytest.mark.parametrize(
    ("columns", "origins", "needs"),
    [
        (["accuracy_mean"], ("tidy",), ("tidy",)),
        (["hp_q", "learning_rate"], ("tuned",), ("tuned", "reported")),
        (["accuracy_mean", "num_clients"], ("tidy", "statistics"), ("tidy", "statistics", "reported")),
    ],
)
def test_where_numbers_come_from(columns, origins, needs) -> None:
    assert (table(columns=columns).origins, table(columns=columns).needs) == (origins, needs)


def test_an_artifact_without_columns_shows_runs() -> None:
    figure = Artifact(kind="figure", title="F", caption="", settings=["a"], rows=TABLE["rows"][:1], plot="gap_boxes")
    assert figure.origins == ("tidy",)


def test_counts_need_no_rows() -> None:
    assert table(rows=[], columns=["num_clients", "samples_train"]).rows == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": []}, "a table needs rows, unless all of its columns count"),
        ({"settings": []}, "a table needs settings and columns"),
        ({"settings": ["a"]}, "row 1: setting 'b' is not one of the artifact's settings"),
        ({"columns_of": {"qfl": ["hp_q"]}}, "columns_of: no row has algorithm 'qfl'; did you mean 'qffl'"),
        ({"columns_of": {"qffl": ["hp_p"]}}, "columns_of.qffl: 'hp_p' is no column; did you mean 'hp_q'"),
        ({"layout": "settings_by_arm"}, "layout settings_by_arm has one metric per cell; name that of fedavg"),
        ({"layout": "arms_by_setting", "rows": [], "columns": ["num_clients"]}, "layout arms_by_setting needs rows"),
        ({"layout": "arms_by_settings"}, "layout"),
        ({"rules": [2]}, r"rules: \[2\] for rows 0 to 1"),
    ],
)
def test_what_cannot_be_printed_is_refused(given, message) -> None:
    with pytest.raises(ValidationError, match=message):
        table(**given)
