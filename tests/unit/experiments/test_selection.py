"""The name of what is selected on the command line."""

import pytest

from fairfl.experiments.config import Config, selection

USUAL = {"scale": "quick", "papers": ["eagle", "focus"], "artifacts": ["a_table1"]}


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({}, ""),
        ({"scale": "small", "threads": 2, "budget": 5}, ""),  # another scale or machine is no part
        ({"papers": "eagle"}, "papers=eagle"),
        ({"artifacts": None}, "artifacts=all"),
        ({"seeds": "0,12", "algorithms": ["fedavg"]}, "algorithms=fedavg_seeds=0,12"),
    ],
)
def test_what_differs_from_config_yaml_is_named(more, name):
    assert selection(Config(**USUAL | more), Config(**USUAL)) == name


def test_names_are_short_plain_and_distinct():
    names = set()
    for count in range(30, 33):
        many = [f"eagle_setting_{n}" for n in range(count)] + ["fedfv/alpha=0.1", "x_*"]
        names.add(selection(Config(**USUAL | {"settings": many}), Config(**USUAL)))
    assert len(names) == 3 and all(len(name) < 100 and "/" not in name and "*" not in name for name in names)
