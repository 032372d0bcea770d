"""What moves the last bits of a run's numbers, and when two runs differ in it."""

from importlib.metadata import version

import pytest

from fairfl.runtime import arithmetic, gpu_slots, machine

CPU = {"torch": version("torch"), "device": "cpu", "instructions": "AVX2", "threads": "1", "backend": "auto"}


@pytest.fixture(autouse=True)
def computer(monkeypatch):
    monkeypatch.setattr(machine, "cpu_name", lambda: "A CPU (family 25, model 17, AVX2)")
    monkeypatch.setattr(gpu_slots, "visible", lambda: [])
    for name in machine._LIMITS:
        monkeypatch.delenv(name, raising=False)


def test_of_a_job(monkeypatch):
    assert arithmetic.of("auto", 1, "auto") == arithmetic.of("cpu", 1, "auto") == CPU
    assert arithmetic.of("cpu", 3) == {key: CPU[key] for key in ("torch", "device", "instructions")} | {"threads": "3"}
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert arithmetic.of("cpu", 1)["instructions"] == "AVX2 ATEN_CPU_CAPABILITY=default"
    monkeypatch.setattr(gpu_slots, "visible", lambda: ["0"])
    assert arithmetic.of("auto", 4, "stacked") == {"torch": CPU["torch"], "device": "cuda", "backend": "stacked"}


def test_of_jobs_on_other_machines():
    known = {"torch": CPU["torch"], "threads": "2", "backend": "auto"}
    assert arithmetic.of("auto", 2, "auto", elsewhere=True) == known
    assert "instructions" not in arithmetic.of("cpu", 2, elsewhere=True)


def test_only_what_both_know_differs():
    assert arithmetic.differences(CPU, CPU | {"threads": "2"}) == [("threads", "1", "2")]
    assert arithmetic.differences({"torch": CPU["torch"]}, CPU) == arithmetic.differences(CPU, {}) == []
    assert arithmetic.of_record({"versions": {"torch": "1.0"}}) == {"torch": "1.0"} and arithmetic.of_record({}) == {}


def test_as_text():
    limited = CPU | {"instructions": "AVX2 ATEN_CPU_CAPABILITY=default"}
    assert arithmetic.parsed(arithmetic.text(limited)) == limited
    assert arithmetic.parsed("") == {} and arithmetic.text({}) == ""
