"""fairfl.jobs.timing: what is repeated how often, in which order, by a clock that tests turn. No time is asserted."""

import json

import pytest

from fairfl.experiments.origin import EVALUATING, INFERENCE, TRAINING
from fairfl.jobs import timing
from fairfl.runtime import arithmetic
from fairfl.runtime.fingerprint import fingerprint
from fairfl.simulation.timing import Stopwatch, in_turns, metric_works, variant_record
from fairfl.simulation.training_spec import TimedVariant
from tests.unit.jobs import test_train

# As fairfl.jobs.timing.spec makes it.
VARIANT = {key: value for key, value in test_train.SPEC.items() if key != "code"}
VARIANT |= {"shown": "", "rounds": 1, "evaluated_parts": ["test"], "evaluate_every": 1, "keep": "nothing"}
OTHER = VARIANT | {"algorithm": "qffl", "variant": "q=1.0", "shown": "q=1.0", "hyperparameters": {"q": 1.0}}
SPEC = {"setting": "toy", "clients": 3, "variants": [VARIANT, OTHER], "precision": "fp32", "code": {}}
SPEC |= {"rounds": 3, "inferences": 2, "metrics": 4}


class Clock:
    """Stands still but for what work adds; writes down what happens."""

    def __init__(self) -> None:
        self.now, self.log = 0.0, []

    def work(self, name: str, seconds: float):
        def do() -> None:
            self.now += seconds
            self.log.append(name)

        return do

    def watch(self) -> Stopwatch:
        return Stopwatch(lambda: self.now, lambda: self.log.append("wait"))


def test_work_takes_turns_and_the_first_turn_does_not_count() -> None:
    clock = Clock()
    first = iter([9.0, 1.0, 2.0])
    works = [lambda: clock.work("a", next(first))(), clock.work("b", 0.5)]
    assert in_turns(works, 2, clock.watch()) == [[1.0, 2.0], [0.5, 0.5]]
    assert [name for name in clock.log if name != "wait"] == ["a", "b"] * 3


def test_the_clock_is_read_when_the_device_has_finished() -> None:
    clock = Clock()
    in_turns([clock.work("a", 1.0)], 1, clock.watch())
    assert clock.log == ["wait", "a", "wait"] * 2


def test_seconds_per_model_are_those_of_a_round_divided_by_the_models_of_the_server() -> None:
    record = variant_record(TimedVariant(**OTHER), 3, [6.0, 9.0], [0.25])
    assert record == {
        "algorithm": "qffl",
        "hyperparameters": "q=1.0",
        "models": 3,
        "seconds": {
            "train_seconds_per_round": [6.0, 9.0],
            "train_seconds_per_model": [2.0, 3.0],
            "inference_seconds": [0.25],
        },
    }
    assert set(variant_record(TimedVariant(**VARIANT), 1, [], [0.25])["seconds"]) == {*INFERENCE}
    assert set(variant_record(TimedVariant(**VARIANT), 1, [1.0], [])["seconds"]) == {*TRAINING}


@pytest.mark.parametrize("clients", [1, 10])
def test_every_timed_metric_is_a_number_of_the_clients_vectors(clients) -> None:
    works = metric_works(clients)
    assert set(works) == {*EVALUATING}
    values = {name: work() for name, work in works.items()}
    assert all(isinstance(value, float) and value >= 0 for value in values.values())
    if clients == 1:  # one client is as far from itself as from anybody
        assert values["metric_seconds_faa"] == values["metric_seconds_accuracy_parity"] == 0


@pytest.fixture
def job(tmp_path):
    """Runs the command on prepared images of three clients; None names no file."""
    test_train.Job(tmp_path)

    def run(files: bool = True, **changes):
        spec = SPEC | changes
        paths = {"data": tmp_path / "data.safetensors", "partition": tmp_path / "partition.parquet"} if files else {}
        arguments = [text for key, path in paths.items() for text in (f"--{key}", str(path))]
        out = tmp_path / "timed" / "toy.json"
        timing.main(["--spec", json.dumps(spec), *arguments, "--out", str(out), "--device", "cpu"])
        return out

    return run


def test_the_record_holds_every_single_time_and_the_machine(job) -> None:
    record = json.loads(job().read_text())
    assert record["spec"] == SPEC and record["fingerprint"] == fingerprint(SPEC)
    assert (record["device"], record["threads"]) == ("cpu", 1)
    assert record["processor"] and record["host"] and record["versions"]["torch"]
    assert record["arithmetic"] == arithmetic.of("cpu", 1, "auto")
    who = [tuple(variant[key] for key in ("algorithm", "hyperparameters", "models")) for variant in record["variants"]]
    assert who == [("fedavg", "", 1), ("qffl", "q=1.0", 1)]
    for variant in record["variants"]:
        lengths = {name: len(seconds) for name, seconds in variant["seconds"].items()}
        assert lengths == {"train_seconds_per_round": 3, "train_seconds_per_model": 3, "inference_seconds": 2}
        assert all(second > 0 for seconds in variant["seconds"].values() for second in seconds)
    assert {name: len(seconds) for name, seconds in record["metrics"].items()} == dict.fromkeys(EVALUATING, 4)
