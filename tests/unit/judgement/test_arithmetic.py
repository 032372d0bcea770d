"""What is said of the arithmetic of runs in one table."""

from importlib.metadata import version

from fairfl.judgement.arithmetic import describe_numerics

CPU = {"torch": version("torch"), "device": "cpu", "instructions": "AVX2", "threads": "1", "backend": "auto"}


def test_what_is_said_of_a_table():
    assert describe_numerics([CPU, CPU, {}]) == describe_numerics([]) == ""
    assert describe_numerics([CPU, CPU | {"threads": "2"}, CPU, {}]) == "threads 1 (2 runs) and 2 (1 run)"
    assert describe_numerics([CPU | {"threads": "2"}] * 2) == "threads 2"  # not as usual
    mixed = [CPU, CPU | {"torch": "1.0", "backend": "sequential"}, CPU | {"torch": "2.0"}]
    assert describe_numerics(mixed) == (
        f"torch 1.0 (1 run), 2.0 (1 run) and {CPU['torch']} (1 run); backend auto (2 runs) and sequential (1 run)"
    )
    assert describe_numerics([CPU | {"instructions": "NEON"}]) == ""  # every machine has its own
