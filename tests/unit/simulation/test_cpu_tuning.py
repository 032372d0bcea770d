"""How a kind of CPU is named, and which rules it gets."""

import json
import math
from dataclasses import fields

import pytest
import torch

from fairfl.simulation.backends import cpu_tuning
from fairfl.simulation.backends.cpu_tuning import Tuning


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes rules for this kind of CPU and reads them."""

    def read(rules, kind=None):
        path = tmp_path / "cpu_tuning.json"
        path.write_text(json.dumps({kind or cpu_tuning.kind(): rules}))
        monkeypatch.setattr(cpu_tuning, "FILE", path)
        cpu_tuning.tuning.cache_clear()
        return cpu_tuning.tuning()

    yield read
    cpu_tuning.tuning.cache_clear()


def test_rules_are_those_of_this_kind_of_cpu(written):
    assert written({"onednn_from": 5, "stack_bytes": 7, "measured": "once"}) == Tuning(5, math.inf, 7)


def test_other_kinds_get_the_defaults(written):
    assert written({"onednn_from": 5}, kind="GenuineOther AVX2048") == Tuning()
    assert Tuning().onednn_from == Tuning().alone_from == math.inf


def test_the_kind_says_which_instructions_torch_uses():
    assert cpu_tuning.kind().endswith(f" {torch.backends.cpu.get_cpu_capability()}")


def test_committed_rules_can_be_read():
    for rules in json.loads(cpu_tuning.FILE.read_text()).values():
        assert rules.pop("measured")
        assert {*rules} <= {field.name for field in fields(Tuning)} and min(rules.values()) > 0
