"""fairfl plan and run hand over to Snakemake in the repository's root; mistakes end in one line with what to do."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from snakemake import cli

from fairfl.commands import main as command
from fairfl.commands import snakemake
from fairfl.runtime.errors import FairflError


@pytest.fixture()
def became(monkeypatch):
    """What Snakemake would have been told, and where."""
    told = []
    monkeypatch.setattr(command, "run", lambda words: told.append((words, os.getcwd())))

    def call(*words: str) -> tuple[list[str], str]:
        before = os.getcwd()
        try:
            command._command(list(words))
        finally:
            os.chdir(before)
        return told[-1]

    return call


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["plan"], ["plan", "--cores", "all"]),
        (["store", "--config", "scale=full"], ["record", "--config", "scale=full", "--cores", "all"]),
        (["tune", "-n"], ["tuned", "-n", "--cores", "all"]),
        (["run", "mine", "--config", "papers=mine"], ["mine", "--config", "papers=mine", "--cores", "all"]),
        *((["run", *words], words) for words in (["-c2", "-n"], ["-j", "eagle"], ["-nc1"], ["--cores=2"])),
        (["run", "--profile=profiles/slurm"], ["--profile=profiles/slurm"]),
        (["run", "--workflow-profile", "profiles/slurm"], ["--workflow-profile", "profiles/slurm"]),
    ],
)
def test_plan_and_run_are_snakemake(became, root, words, line):
    assert became(*words) == (line, str(root))


def test_from_a_folder_of_the_repository(became, root, monkeypatch):
    monkeypatch.chdir(root / "docs")
    assert became("plan")[1] == str(root)


def test_a_clone_that_one_stands_in_counts_before_the_one_that_is_installed(tmp_path, root):
    (tmp_path / "src/fairfl").mkdir(parents=True)
    (tmp_path / "Snakefile").touch()
    assert command.repository(tmp_path / "src") == tmp_path
    assert command.repository(Path("/")) == root


def run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "fairfl", *words], text=True, capture_output=True)


def test_help_and_unknown_commands(root):
    assert "fairfl new algorithm|paper|dataset NAME" in run().stdout
    for word in ("run", "plan", "store", "tune", "calibrate"):  # not the 300 lines of Snakemake
        first, *options = run(word, "--config", "scale=full", "--help").stdout.splitlines()
        assert first.startswith(f"fairfl {word} [") and "--config KEY=VALUE" in options[2]
        profile = next(line for line in options if "profile" in line).split()
        assert profile[0] == "--workflow-profile" and (root / profile[1] / "profile.yaml").is_file()
    done = run("plans")
    assert done.returncode == 1
    assert done.stderr.strip() == "error: fairfl has no command 'plans'; did you mean 'plan'?"


# -- what Snakemake is told, by make as by the commands -----------------------------------------------
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
            snakemake.run(words)
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
    # Of a key that is given twice the later value: `make stored-results` says its own after what the user says.
    given = ("--config", "scale=small", "papers=fedfv", "--config", "scale=full", "recorded=only")
    assert heard(*given, "--", "all") == ({"scale": "full", "papers": "fedfv", "recorded": "only"}, ["all"])


def test_words_that_are_no_configuration_stay_as_they_are():
    words = ["eagle", "-c2", "--quiet", "all", "--help"]
    assert snakemake.config_of([*words, "--config", "scale=small"]) == (["scale=small"], words)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("eagle_table1", "'eagle_table1' has no '=': put `--` before targets that follow --config"),
        ("verdict.significance_level=0.1", "write --config 'verdict={significance_level: 0.1}'"),
        ("paper=eagle", "config.yaml has no key 'paper'; did you mean 'papers'"),
        ("=3", "config.yaml has no key ''"),
    ],
)
def test_what_snakemake_would_answer_with_a_traceback(word, message):
    with pytest.raises(FairflError, match=re.escape(message)):
        snakemake.run(["--config", "scale=full", word])
