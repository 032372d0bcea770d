"""What jobs ask a cluster for."""

from types import SimpleNamespace

import pytest

from fairfl.planning import requests
from fairfl.planning.estimate import Estimate
from fairfl.planning.requests import Requests
from fairfl.runtime.errors import FairflError


class Wildcards(dict):
    pass


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """(minutes, memory, seconds) of a training that takes so long."""
    limit = SimpleNamespace(minutes=720, memory_mb=8000)
    workload = SimpleNamespace(scale=SimpleNamespace(limits=SimpleNamespace(train=limit)))

    def ask(estimate, on_gpu=False, asks=True):
        def estimated(_, results, rule, *words):
            assert (rule, *words) == ("train", "s", "a", "v")
            if estimate is None:
                raise FairflError("nothing like it")
            return estimate

        monkeypatch.setattr(requests, "estimate_rule", estimated)
        of = Requests(workload, tmp_path, on_gpu, asks)
        wildcards = Wildcards(setting="s", algorithm="a", variant="v", seed="0")
        return tuple(kind("train")(wildcards) for kind in (of.minutes, of.memory_mb, of.seconds))

    return ask


@pytest.mark.parametrize(
    ("seconds", "memory", "expected"),
    [
        (84, 300, (30, 1000, 84)),  # floors
        (3600, 544, (180, 2000, 3600)),  # three times; memory in steps, so that more of them share a submission
        (90_000, 9000, (720, 8000, 90_000)),  # at most the scale's limits
        (84, 0, (30, 8000, 84)),
    ],
)
def test_three_times_what_jobs_like_it_took(asked, seconds, memory, expected):
    assert asked(Estimate(seconds, 7.0, memory, "measured")) == expected


def test_seconds_of_the_device_that_it_gets(asked):
    assert asked(Estimate(9000, 60.2, 300, "scaled"), on_gpu=True) == (30, 1000, 61)


def test_what_nobody_knows_asks_for_the_limits(asked):
    assert asked(None) == (720, 8000, 0)


def test_on_this_machine_nothing_is_estimated(asked):
    assert asked(Estimate(84, 7.0, 300, "measured"), asks=False) == (720, 8000, 0)
