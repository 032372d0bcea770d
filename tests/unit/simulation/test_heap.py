"""Freed memory goes back to the system."""

import pytest

from fairfl.simulation.backends import heap

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
    assert not heap.release(kept=2**40)
    assert heap.release(kept=MIB)
    assert resident() < full - 200 * MIB
    assert last
