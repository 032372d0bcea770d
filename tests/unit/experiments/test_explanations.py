"""papers/explanations/<paper>.yaml: what it says is read."""

import json

from fairfl.experiments.explanations import FOLDER, load_explanations
from fairfl.experiments.workload import load_workload
from tests.unit.reporting import demo

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
