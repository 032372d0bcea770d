"""The trials of one algorithm: which runs they are, and what is made of them."""

import json

import pandas as pd

from fairfl.jobs import trials
from tests.unit.jobs.test_collect import SPEC, write_run


def test_runs_of_every_point_become_one_table(tmp_path):
    points = []
    for rate, shift in ((0.1, 0.5), (0.5, 0.0)):
        setting = f"s~tuning~learning_rate={rate}"
        run = {"id": f"{setting}/vred/beta=1.0/seed7", "algorithm": "vred", "hyperparameters": "beta=1.0", "seed": 7}
        write_run(tmp_path, run, shift=shift)
        points.append({**SPEC, "setting": setting, "runs": [run], "optima_seeds": []})
    out = tmp_path / "trials.csv"
    trials.main(["--spec", json.dumps({"points": points, "code": {}}), "--results", str(tmp_path), "--out", str(out)])
    table = pd.read_csv(out)
    losses = table[table["metric"] == "loss_mean"].set_index("setting")["value"].to_dict()
    assert losses == {"s~tuning~learning_rate=0.1": 1.125, "s~tuning~learning_rate=0.5": 0.625}
    assert not [name for name in table["metric"] if name.startswith("gap")]
