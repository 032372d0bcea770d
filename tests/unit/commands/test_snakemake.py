"""What Snakemake is told, by make as by the commands."""

import re

import pytest
from snakemake import cli

from fairfl.commands.snakemake import config_of, run, with_cores
from fairfl.runtime.errors import FairflError


@pytest.fixture()
def heard(root, monkeypatch):
    """What Snakemake makes of a command line, in the root of the repository; nothing is planned."""
    monkeypatch.chdir(root)
    monkeypatch.setattr("sys.argv", ["snakemake"])
    seen = []
    monkeypatch.setattr(cli, "args_to_api", lambda args, _: seen.append(args) or True)
    original = cli.parse_args

    def call(*words):
        monkeypatch.setattr(cli, "parse_args", original)  # `run` puts its own there
        with pytest.raises(SystemExit) as end:
            run(words)
        assert not end.value.code
        return cli.parse_config(seen[-1].config), list(seen[-1].targets)

    return call


def test_all_configs_of_a_command_line_count(heard):
    config = {"papers": "template", "scale": "quick"}
    assert heard("-n", "--config", "papers=template", "-C", "scale=quick") == (config, [])
    assert heard("--config=papers=template", "-c1", "--config", "scale=quick", "--", "all")[0] == config
    assert heard("-n", "eagle") == ({}, ["eagle"])
    assert heard("-C", "papers=template", "-nkC", "scale=quick") == (config, [])
    # As make and the commands put words behind those of the user.
    assert heard("-n", "--", "eagle", "fedfv", "--config", "papers=template", "-C", "scale=quick", "--", "focus") == (
        config,
        ["eagle", "fedfv", "focus"],
    )


def test_of_a_key_that_is_given_twice_the_later_value_counts(heard):
    """As `make stored-results` says its own after what the user says."""
    given = ("--config", "scale=small", "papers=fedfv", "--config", "scale=full", "recorded=only")
    assert heard(*given, "--", "reproduction") == (
        {"scale": "full", "papers": "fedfv", "recorded": "only"},
        ["reproduction"],
    )


def test_words_that_are_no_configuration_stay_as_they_are():
    words = ["eagle", "-c2", "--quiet", "all", "--help"]
    assert config_of([*words, "--config", "scale=small"]) == (["scale=small"], words)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("eagle_table1", "'eagle_table1' is no key=value: put `--` before targets that follow --config"),
        ("verdict.significance_level=0.1", "write --config 'verdict={significance_level: 0.1}'"),
        ("paper=eagle", "config.yaml has no key 'paper'; did you mean 'papers'"),
        ("=3", "config.yaml has no key ''"),
        ("seeds=010", "--config seeds: 010: YAML reads 8"),
        ("seeds=[0,1_2]", "--config seeds: 1_2: YAML reads 12"),
        ("verdict={significance_level: 0_1}", "--config verdict: 0_1"),
    ],
)
def test_what_snakemake_would_answer_with_a_traceback(word, message):
    with pytest.raises(FairflError, match=re.escape(message)):
        run(["--config", "scale=full", word])


@pytest.mark.parametrize("word", ["-c1", "-j", "-nc1", "--cores=2", "--profile=profiles/slurm"])
def test_cores_that_are_said_stay(word):
    assert with_cores([word, "eagle"]) == [word, "eagle"]


@pytest.mark.parametrize("word", ["-n", "--config", "eagle"])
def test_all_cores_otherwise(word):
    assert with_cores([word]) == [word, "--cores", "all"]
