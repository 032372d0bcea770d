"""The choice of unstated facts: by FedAvg's reported row alone, as far as seeds let it tell the points apart."""

import json

import pytest
import yaml

from fairfl.jobs import calibrate
from fairfl.judgement import calibration

METRICS = {
    "gap_max": {"name": "g", "meaning": "m", "unit": "nats", "digits": 3},
    "accuracy_balanced": {"name": "a", "meaning": "m", "unit": "percent", "digits": 1},
}
POINTS = [{"setting": "s~calibration~default", "options": {}, "changes": {}, "departures": []}]
for samples, departures in ((500, ["rate"]), (900, ["rate", "samples"])):
    options, changes = ({key: 1.0, "samples": samples} for key in ("rate", "learning_rate"))
    setting = f"s~calibration~rate=1.0~samples={samples}"
    POINTS.append({"setting": setting, "options": options, "changes": changes, "departures": departures})
REPORTED = {"gap_max": 0.5, "accuracy_balanced": 80.0}  # of FedAvg; another row has 0.9 and 90


def written(tmp_path, values, spread=0.001, seeds=3, algorithm="fedavg", **changes):
    """The spec, with a tidy file for each point: (gap_max, accuracy as a fraction) around which its seeds lie."""
    tidy = {}
    for point, pair in zip(POINTS, values, strict=True):
        path = tmp_path / f"{point['setting']}.csv"
        lines = ["setting,algorithm,hyperparameters,seed,metric,value,unit,run,fingerprint"]
        for seed in range(seeds):
            for (metric, unit), value in zip(
                [("gap_max", "nats"), ("accuracy_balanced", "fraction")], pair, strict=True
            ):
                text = "" if value is None else value + spread * (seed - (seeds - 1) / 2)
                lines.append(f"{point['setting']},{algorithm},,{seed},{metric},{text},{unit},r,f")
        path.write_text("\n".join(lines) + "\n")
        tidy[point["setting"]] = str(path)
    table = tmp_path / "table1.csv"
    lines = ["artifact,setting,algorithm,hyperparameters,metric,value,spread,spread_kind,unit,note"]
    for metric, unit in (("gap_max", "nats"), ("accuracy_balanced", "percent")):
        lines.append(f"table1,s,fedavg,,{metric},{REPORTED[metric]},,unknown,{unit},")
        lines.append(f"table1,s,eagle,lambda=1.0,{metric},{0.9 if unit == 'nats' else 90.0},,unknown,{unit},")
    table.write_text("\n".join(lines) + "\n")
    return {
        "setting": "s", "data": "digits (stand-in for emnist)", "changed": [],
        "facts": {"rate": "not stated", "samples": "not stated"},
        "targets": {"gap_max": 0.1, "accuracy_balanced": 1.0}, "metrics": METRICS, "points": POINTS,
        "reported_seeds": 3, "level": 0.05, "files": {"tidy": tidy, "reported": {"table1": str(table)}},
    } | changes  # fmt: skip


def made(*arguments, **changes):
    return calibration.choose(calibration.CalibrateSpec(**written(*arguments, **changes)))


WORSE, BEST, ALIKE = (0.9, 0.70), (0.501, 0.801), (0.5, 0.8)


def test_the_point_that_fits_fedavg_is_chosen_in_the_unit_of_the_paper(tmp_path):
    choice = made(tmp_path, [WORSE, (0.6, 0.82), ALIKE])
    assert choice["chosen"] == {"rate": 1.0, "samples": 900} and choice["told_apart"]
    assert choice["changes"] == {"learning_rate": 1.0, "samples": 900}
    best, second, named = choice["points"]
    assert best["options"] == choice["chosen"] and named["options"] == {}
    assert second["misfit"] == pytest.approx(((1 + 4) / 2) ** 0.5)  # 0.1 nats and 2 points off
    assert named["ours"]["accuracy_balanced"] == pytest.approx(70.0) and named["worse"] > 0.99


def test_a_fact_that_fedavg_cannot_tell_stays_as_named(tmp_path):
    choice = made(tmp_path, [WORSE, BEST, ALIKE], spread=0.02)
    assert choice["points"][0]["options"] == {"rate": 1.0, "samples": 900}  # fits best, but not for sure
    assert choice["chosen"] == {"rate": 1.0, "samples": 500}
    assert "As named: samples." in choice["explanation"]


def test_the_named_choices_stay_where_seeds_make_the_difference(tmp_path):
    choice = made(tmp_path, [(0.52, 0.805), BEST, ALIKE], spread=0.1)
    assert choice["chosen"] == {} and choice["changes"] == {} and not choice["told_apart"]
    assert "cannot tell the named choices from the best of 3 points" in choice["explanation"]


def test_one_seed_chooses_nothing(tmp_path):
    choice = made(tmp_path, [WORSE, BEST, ALIKE], seeds=1)
    assert choice["chosen"] == {} and "One seed a point" in choice["explanation"]


def test_a_diverged_point_comes_last_and_is_never_chosen(tmp_path):
    choice = made(tmp_path, [(None, 0.8), BEST, (0.9, 0.7)])
    assert choice["points"][-1]["options"] == {} and choice["points"][-1]["misfit"] is None
    assert choice["chosen"] == {"rate": 1.0, "samples": 500}
    every = made(tmp_path, [(None, None)] * 3)
    assert every["chosen"] == {} and "FedAvg diverged" in every["explanation"]


def test_the_command_leaves_the_choice_and_its_page(tmp_path):
    spec = json.dumps(written(tmp_path, [WORSE, BEST, (0.6, 0.8)]))
    out, md = tmp_path / "out.json", tmp_path / "out.md"
    calibrate.main(["--spec", spec, "--out", str(out), "--md", str(md)])
    assert json.loads(out.read_text())["chosen"] == {"rate": 1.0, "samples": 500}
    text = md.read_text()
    pasted = yaml.safe_load(text.partition("```yaml\n")[2].removesuffix("```\n"))
    assert pasted == {"settings": {"s": POINTS[1]["changes"] | {"unstated": {"fitted": "rate = 1.0, samples = 500"}}}}
    assert text.startswith("# What s does not say\n") and "**rate = 1.0, samples = 500**" in text
    assert "Made from digits (stand-in for emnist)." in text and "gap_max ± 0.1, accuracy_balanced ± 1" in text
    assert "| reported |  |  | 0.5 | 80 |  |  |\n| chosen | 1.0 | 500 | 0.501 | 80.1 | " in text
    assert "| as named | named | named | 0.9 | 70 | " in text
