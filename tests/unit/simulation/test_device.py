"""The machine: choice of the device, rules of a kind of CPU, freed memory."""

import json
import math
import os
from dataclasses import fields

import pytest
import torch

from fairfl.runtime import machine
from fairfl.runtime.errors import FairflError
from fairfl.simulation import device
from fairfl.simulation.backends import cpu_tuning, heap
from fairfl.simulation.backends.cpu_tuning import CpuTuning

# Everything that multiplies: layers, convolutions, LSTMs.
PRODUCTS = (torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn)


@pytest.fixture
def gpu(monkeypatch):
    """Say whether there is a GPU; torch's global switches are put back afterwards."""
    threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    fill = torch.utils.deterministic.fill_uninitialized_memory
    products = [(switch, switch.fp32_precision) for switch in PRODUCTS]
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    # The machine's own GPUs, if it has some, are for its jobs.
    monkeypatch.setattr(device.gpu_slots, "take", lambda alone: None)
    yield lambda there: monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode(mode)
    torch.utils.deterministic.fill_uninitialized_memory = fill
    for switch, precision in products:
        switch.fp32_precision = precision


@pytest.mark.parametrize(
    ("name", "there", "kind"),
    [("auto", False, "cpu"), ("auto", True, "cuda"), ("cpu", True, "cpu"), ("cuda", True, "cuda")],
)
def test_auto_takes_the_gpu_that_is_there_before_torch_looks_for_one(gpu, monkeypatch, name, there, kind):
    gpu(there)
    taken, looked = [], torch.cuda.is_available
    monkeypatch.setattr(device.gpu_slots, "take", taken.append)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: looked() and taken == [True])
    assert device.choose(name, 1, alone=True).type == kind
    assert taken == ([] if name == "cpu" else [True])


def test_cuda_without_a_gpu_names_the_key(gpu):
    gpu(False)
    with pytest.raises(FairflError, match="config.yaml: device: 'cuda'.*no GPU.*'auto' or 'cpu'"):
        device.choose("cuda", 1)


@pytest.mark.parametrize(("precision", "arithmetic"), [("fp32", "ieee"), ("tf32", "tf32"), ("bf16", "ieee")])
def test_threads_deterministic_arithmetic_and_the_precision_are_set(gpu, precision, arithmetic):
    gpu(False)
    torch.set_deterministic_debug_mode("default")
    for switch in PRODUCTS:
        switch.fp32_precision = "ieee" if arithmetic == "tf32" else "tf32"
    chosen = device.choose("cpu", 3, precision)
    assert device.facts(chosen) == {"device": "cpu", "processor": machine.cpu_name(), "threads": 3}
    assert torch.get_num_threads() == 3 and torch.are_deterministic_algorithms_enabled()
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert [switch.fp32_precision for switch in PRODUCTS] == [arithmetic] * 3


# -- How a kind of CPU is named, and which rules it gets.
@pytest.mark.parametrize(
    ("kind", "rules"), [(cpu_tuning.kind(), CpuTuning(5, math.inf, 7)), ("Other AVX2048", CpuTuning())]
)
def test_rules_are_those_of_this_kind_of_cpu(tmp_path, monkeypatch, kind, rules):
    measured = {"onednn_from": 5, "stack_bytes": 7, "measured": "once"}
    (tmp_path / "cpu_tuning.json").write_text(json.dumps({kind: measured}))
    monkeypatch.setattr(cpu_tuning, "FILE", tmp_path / "cpu_tuning.json")
    assert cpu_tuning.tuning.__wrapped__() == rules


def test_committed_rules_can_be_read():
    for rules in json.loads(cpu_tuning.FILE.read_text()).values():
        assert rules.pop("measured")
        assert {*rules} <= {field.name for field in fields(CpuTuning)} and min(rules.values()) > 0


# -- Freed memory goes back to the system.
MIB = 2**20


def resident() -> int:
    with open("/proc/self/statm") as counts:
        return int(counts.read().split()[1]) * 4096


@pytest.mark.skipif(heap._glibc() is None, reason="freed memory is given back on glibc only")
def test_freed_memory_goes_back_if_it_is_much():
    pieces = [bytearray(b"1" * 65536) for _ in range(4096)]
    last = bytearray(b"1" * 65536)  # without it glibc gives the end of the heap back by itself
    full = resident()
    del pieces
    assert not heap.release(most=2**40, every=0)
    assert not heap.release(most=MIB, every=60)  # looked a moment ago
    assert heap.release(most=MIB, every=0)
    assert resident() < full - 200 * MIB
    assert last
