"""papers/explanations/<paper>.yaml: what it says is read, and what is wrong is named with file, key and a way out."""

import json
from copy import deepcopy

import pytest

from fairfl.experiments.explanations import FOLDER, load_explanations
from fairfl.experiments.workload import load_workload
from fairfl.runtime.validation import SpecError
from tests.unit.reporting import demo

FILE = f"{FOLDER}/demo.yaml: "
PAPER = {
    **demo.PAPER,
    "metrics": {"loss": {"name": "L", "meaning": "m", "unit": "nats", "direction": "down", "digits": 2}},
    "algorithms": {"fedavg": {"title": "FedAvg"}},
    "settings": {"full": demo.SETTING},
    "artifacts": {
        "table1": {
            "kind": "table", "title": "Table 1", "caption": "c", "settings": ["full"], "columns": ["loss"],
            "rows": [{"algorithm": "fedavg"}],
        }
    },
}  # fmt: skip
TRIAL = {
    "change": "twice the rate",
    "where": "FedAvg (loss / gap)",
    "before": "1.0 / 2",
    "after": "3.0 / –",
    "seeds": 3,
}
HYPOTHESIS = {
    "hypothesis": "h",
    "tried": [TRIAL],
    "conclusion": "No.",
    "outcome": "unresolved",
    "algorithms": ["fedavg"],
}


def read(root, content):
    demo.project(root, PAPER)
    (root / FOLDER).mkdir()
    (root / FOLDER / "demo.yaml").write_text(json.dumps(content))
    workload = load_workload(root, {"scale": "tiny", "papers": ["demo"]})
    return load_explanations(root, workload.papers)["demo"]


def test_trials_keep_the_digits_of_their_numbers(tmp_path):
    found = read(tmp_path, {"paper": "demo", "differences": {"demo_table1": [HYPOTHESIS]}})
    assert found.differences["demo_table1"][0].tried[0].before == "1.0 / 2"


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        (
            ["State the rate."],
            "questions.0: 'State the rate.' is not a question. Expected one sentence that ends in '?'",
        ),
        (["Why?"] * 6, "questions: ['Why?', "),
    ],
)
def test_questions_are_few_and_ask(tmp_path, questions, words):
    with pytest.raises(SpecError) as error:
        read(tmp_path, {"paper": "demo", "questions": questions})
    assert str(error.value).startswith(FILE + words)


@pytest.mark.parametrize(
    ("place", "key", "value", "words"),
    [
        ("demo_table2", "outcome", "unresolved", "differences: no artifact or setting 'demo_table2'; did you mean"),
        ("full", "algorithms", ["fedavgg"], "differences.full.0.algorithms: no row has 'fedavgg'"),
        ("full", "metrics", ["los"], "differences.full.0.metrics: no metric 'los'; did you mean 'loss'"),
        ("full", "evidence", "ran 64", "differences.full.0.evidence: unknown key"),
        ("full", "conclusion", "no " * 31, "differences.full.0.conclusion: 31 words. Expected at most 30."),
        ("full", "tried", [], "differences.full.0.tried: []: expected 1 or more values"),
        ("full", "tried", [{**TRIAL, "after": 3.0}], "tried.0.after: 3.0: expected a text; put a text"),
        ("full", "tried", [{**TRIAL, "after": "1 / 2 / 3"}], "tried.0: before has 2, after has 3 values. Expected"),
        ("full", "tried", [{"change": "c", "where": "w"}], "tried.0: no number. Expected at least one of published, "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_key(tmp_path, place, key, value, words):
    one = deepcopy(HYPOTHESIS) | {key: value}
    with pytest.raises(SpecError) as error:
        read(tmp_path, {"paper": "demo", "differences": {place: [one]}})
    assert str(error.value).startswith(FILE) and words in str(error.value)
