"""The name of the processor tells apart those that round differently."""

import platform

import pytest

from fairfl.runtime import machine

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
        return machine.cpu_name.__wrapped__()

    return name


@pytest.mark.parametrize(("more", "vectors"), [("fma", "AVX2"), ("fma avx512f avx512bw", "AVX-512")])
def test_generations_of_one_name_are_told_apart(name, more, vectors):
    assert name(EPYC.format(more=more)) == f"AMD EPYC (family 25, model 1, {vectors})"


def test_other_systems(name, monkeypatch):
    assert name("processor : 0\nFeatures : fp asimd\nmodel name\t: Neoverse\n") == "Neoverse (NEON)"
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert name(None) == "arm64"
