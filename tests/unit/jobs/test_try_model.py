"""A model of the user's own takes one step before any job starts."""

import pytest
from torch import nn

from fairfl import models
from fairfl.jobs import try_model
from fairfl.runtime.errors import FairflError
from fairfl.workflow.code_hash import closure
from tests.unit.edited_papers import template

CASE = {
    "model": {"name": "mlp"}, "loss": "cross_entropy", "optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 0.0,
    "precision": "fp32", "shape": [1, 8, 8], "classes": 10, "where": "papers/mine.yaml: settings.s: model mlp",
}  # fmt: skip
DIGITS = {"data": {"name": "digits"}}


@pytest.fixture()
def faults(monkeypatch):
    """Why a model of these layers cannot take a step on digits, or on others."""

    def found(*layers, **changes):
        monkeypatch.setattr(models, "build", lambda *_: nn.Sequential(*layers))
        return try_model.fault(CASE | changes)

    return found


def test_what_trains_has_no_fault(faults):
    assert faults(nn.Flatten(), nn.Linear(64, 10)) == ""
    unsure = nn.BatchNorm1d(64, track_running_stats=False)
    assert faults(nn.Flatten(), unsure, nn.Linear(64, 10)) == "", "a batch of one sample is left out"
    assert faults(nn.Flatten(), nn.Linear(3, 1), shape=[3], classes=0, loss="squared_error") == ""


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        (
            [nn.Conv2d(1, 4, 5), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 24 * 24, 10)],
            "mat1 and mat2 shapes cannot be multiplied",
        ),
        ([nn.Flatten(), nn.Linear(64, 9)], "samples of shape [1, 8, 8] fails"),
        ([nn.Flatten(), nn.Linear(64, 10).requires_grad_(False)], "samples of shape [1, 8, 8] fails: RuntimeError: "),
        ([nn.Flatten(), nn.BatchNorm1d(64, momentum=None), nn.Linear(64, 10)], "changes the buffer 1.num_batches"),
        ([nn.Embedding(4, 4), nn.Flatten(), nn.Linear(256, 10)], "the model reads tokens"),
    ],
)
def test_what_cannot_train_is_named(faults, layers, words):
    why = faults(*layers)
    assert why.startswith("papers/mine.yaml: settings.s: model mlp: ") and words in why and "\n" not in why


def test_a_plan_tries_each_model_once_and_names_paper_and_setting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = template(tmp_path, DIGITS)
    try_model.check(good, closure)
    monkeypatch.setattr(try_model, "run_module", lambda *_: pytest.fail("it has passed"))
    try_model.check(good, closure)
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    bad = template(tmp_path, {"model": {"name": "cnn"}})
    for _ in range(2):
        with pytest.raises(
            FairflError, match=r"^papers/template.yaml: settings.template_digits: model cnn: .*too deep"
        ):
            try_model.check(bad, closure)
