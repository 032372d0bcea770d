"""What moves the last bits of a run's numbers, and when two runs differ in it."""

import platform
from importlib.metadata import version

import pytest

from fairfl.runtime import arithmetic, gpu_slots, machine

CPU_NAME = machine.cpu_name.__wrapped__
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


def test_as_text():
    limited = CPU | {"instructions": "AVX2 ATEN_CPU_CAPABILITY=default"}
    assert arithmetic.parsed(arithmetic.text(limited)) == limited
    assert arithmetic.parsed("") == {} and arithmetic.text({}) == ""


# -- the name of the processor tells apart those that round differently -------------------------------
EPYC = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 1
model name\t: AMD EPYC
flags\t\t: fpu avx avx2 {more}

processor\t: 1
cpu family\t: 99
model name\t: the second core
"""


@pytest.fixture()
def name(tmp_path, monkeypatch):
    def name(text: str | None) -> str:
        monkeypatch.setattr(machine, "INFO", tmp_path / "cpuinfo")
        machine.INFO.unlink(missing_ok=True)
        if text is not None:
            machine.INFO.write_text(text)
        return CPU_NAME()

    return name


@pytest.mark.parametrize(("more", "vectors"), [("fma", "AVX2"), ("fma avx512f avx512bw", "AVX-512")])
def test_generations_of_one_name_are_told_apart(name, more, vectors):
    assert name(EPYC.format(more=more)) == f"AMD EPYC (family 25, model 1, {vectors})"


def test_other_systems(name, monkeypatch):
    assert name("processor : 0\nFeatures : fp asimd\nmodel name\t: Neoverse\n") == "Neoverse (NEON)"
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert name(None) == "arm64"
