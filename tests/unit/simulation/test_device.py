"""Choice of the device."""

import os

import pytest
import torch

from fairfl.runtime import machine
from fairfl.runtime.errors import FairflError
from fairfl.simulation import device

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
def test_auto_takes_the_gpu_that_is_there(gpu, name, there, kind):
    gpu(there)
    assert device.choose(name, 1).type == kind


@pytest.mark.parametrize(("name", "taken"), [("auto", [True]), ("cuda", [True]), ("cpu", [])])
def test_a_gpu_is_taken_before_torch_looks_for_one(gpu, monkeypatch, name, taken):
    done = []
    monkeypatch.setattr(device.gpu_slots, "take", done.append)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: done == taken)
    device.choose(name, 1, alone=True)
    assert done == taken


def test_cuda_without_a_gpu_names_the_key(gpu):
    gpu(False)
    with pytest.raises(FairflError, match="config.yaml: device: 'cuda'.*no GPU.*'auto' or 'cpu'"):
        device.choose("cuda", 1)


def test_threads_and_deterministic_arithmetic_are_set(gpu):
    gpu(False)
    torch.set_deterministic_debug_mode("default")
    chosen = device.choose("cpu", 3)
    assert device.facts(chosen) == {"device": "cpu", "processor": machine.cpu_name(), "threads": 3}
    assert torch.get_num_threads() == 3 and torch.are_deterministic_algorithms_enabled()
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


@pytest.mark.parametrize(("precision", "arithmetic"), [("fp32", "ieee"), ("tf32", "tf32"), ("bf16", "ieee")])
def test_products_are_those_of_the_precision(gpu, precision, arithmetic):
    gpu(False)
    for switch in PRODUCTS:
        switch.fp32_precision = "ieee" if arithmetic == "tf32" else "tf32"
    device.choose("cpu", 1, precision)
    assert [switch.fp32_precision for switch in PRODUCTS] == [arithmetic] * 3
