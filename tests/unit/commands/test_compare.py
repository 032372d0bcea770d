"""fairfl compare: an own algorithm in a published table. What is written can be planned; what cannot leaves nothing."""

import os
import shutil
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
import yaml

from fairfl.commands import compare
from fairfl.experiments.plugins import names
from fairfl.experiments.workload import load_workload
from fairfl.judgement.claims import preflight
from fairfl.runtime.errors import FairflError
from tests.defaults import copy_config, copy_papers

OWN = "term/alpha=2.0"  # an algorithm that none of the tables below has


@pytest.fixture()
def clone(root, tmp_path, monkeypatch):
    """What the command reads of the repository, in a folder of its own; what it tells Snakemake is kept, not run."""
    copy_papers(tmp_path)
    shutil.copytree(root / "scales", tmp_path / "scales")
    copy_config(tmp_path)
    told = []
    run = lambda words: told.append(words[words.index("snakemake") + 1 :]) or SimpleNamespace(returncode=0)  # noqa: E731
    monkeypatch.setattr(compare, "_takes", lambda config: ["takes: about 3 min"])
    monkeypatch.setattr(compare, "subprocess", SimpleNamespace(run=run))
    before = os.getcwd()
    yield SimpleNamespace(
        root=tmp_path, told=told, papers=lambda: {path.name for path in (tmp_path / "papers").iterdir()}
    )
    os.chdir(before)


def planned(clone, name, **config):
    workload = load_workload(clone.root, {"scale": "quick", "papers": [name], **config})
    preflight.check(workload)
    return workload


def test_a_published_table_with_an_own_row(clone, capsys):
    compare.main(clone.root, [OWN, "--with", "fedfv_table3", "--name", "mine", "--cores", "1"])
    assert clone.told == [["--cores", "1", "--config", "papers=mine", "scale=quick"]]
    assert "papers/mine.yaml: term/alpha=2.0 in fedfv's Table 3" in capsys.readouterr().out
    workload = planned(clone, "mine", scale="full")
    table, differences, curves = (artifact for _, _, artifact in workload.artifacts.values())
    assert len(table.rows) == 14 and table.rows[-1].algorithm == "term" and table.rules == [10, 13]
    assert table.columns[0] == differences.columns[0] == "accuracy_client_2"
    assert differences.options == {"of": ["term/alpha=2.0"]}
    assert [row.algorithm for row in curves.rows] == ["term", "fedavg", "afl", "qffl", "fedfa", "fedmgda_plus", "fedfv"]
    published = {run.id for run in load_workload(clone.root, {"scale": "full", "papers": ["fedfv"]}).runs}
    assert {run.id for run in workload.runs} - published == {
        f"fedfv_fmnist/term/alpha=2.0/seed{seed}" for seed in (0, 12, 37, 119, 568)
    }


@pytest.mark.parametrize(
    "target", ["focus_synthetic_10", "focus_table1", "fedeba_table1", "eagle_table8", "vred_table1"]
)
def test_what_is_written_for_other_tables_and_settings_can_be_planned(clone, target):
    compare.main(clone.root, ["lp_proj", "--with", target, "--name", "mine"])
    assert any(run.algorithm == "lp_proj" for run in planned(clone, "mine").runs)


def test_the_users_own_config_counts(clone):
    """In what is planned here as in what Snakemake is told; papers and scale, which the command knows, come last."""
    compare.main(clone.root, [OWN, "--with", "fedfv_table3", "--config", "seeds=0", "scale=small", "-n", "--download"])
    (words,) = clone.told
    assert words[0] == "-n" and words.count("--config") == 1
    assert words[-4:] == ["seeds=0", "scale=small", "papers=termfedfvtable3", "scale=small"]


def test_a_dry_run_leaves_papers_as_they_were(clone):
    before, words = clone.papers(), [OWN, "--with", "fedfv_table3", "--name", "mine"]
    compare.main(clone.root, [*words, "-n"])
    assert clone.papers() == before
    compare.main(clone.root, words)
    written = (clone.root / "papers/mine.yaml").read_text()
    compare.main(clone.root, [*words, "--dry-run", "--seeds", "1"])
    assert (clone.root / "papers/mine.yaml").read_text() == written


def test_two_comparisons_never_share_a_name(clone):
    words = ["--with", "fedfv_table3", "--cores", "1"]
    for variants in ([OWN, "term/alpha=3.0"], [OWN], [OWN, "term/alpha=3.0"], ["term/alpha=3.0"], [OWN]):
        compare.main(clone.root, [*variants, *words])
    chosen = [told[-2].removeprefix("papers=termfedfvtable3") for told in clone.told]
    assert chosen == ["", "x2", "", "x3", "x2"]
    with pytest.raises(FairflError, match="termfedfvtable3.yaml is there already, and not of this comparison"):
        compare.main(clone.root, [OWN, *words, "--name", "termfedfvtable3"])


def test_a_grid_is_several_rows_and_a_variant_of_a_baseline_is_told_from_it(clone):
    compare.main(clone.root, ["qffl/q=0.3", "qffl/q=0.4", "--with", "fedfv_table3", "--name", "mine"])
    written = yaml.safe_load((clone.root / "papers/mine.yaml").read_text())
    assert written["artifacts"]["differences"]["options"]["of"] == ["qffl/q=0.3", "qffl/q=0.4"]
    assert len(written["artifacts"]["table"]["rows"]) == 15
    planned(clone, "mine")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["terms", "--with", "fedfv_table3"], "did you mean 'term'"),
        ([OWN, "--with", "fedfv_table33"], "no table, figure or setting of fedfv has this name.* 'fedfv_table3'"),
        ([OWN, "--with", "fedfv_table1"], "prints no results of runs in columns; these do: .*fedfv_table3"),
        (["qffl/q=5.0", "--with", "fedfv_table3"], "is a row of fedfv's Table 3 already"),
        ([OWN, "--with", "fedfv_table3", "--seeds", "0"], "at least 1"),
        ([OWN, "--with", "fedfv_table3", "--name", "My X"], "^'My X' cannot name a paper: expected small letters and"),
        (["nowhere/mine.py", "--with", "fedfv_table3"], "nowhere/mine.py: no such file"),
    ],
)
def test_what_cannot_be_compared_leaves_nothing(clone, words, message):
    before = clone.papers()
    with pytest.raises(FairflError, match=message):
        compare.main(clone.root, words)
    assert clone.papers() == before and not clone.told


def test_an_algorithm_of_a_file_elsewhere(tmp_path):
    """A link is laid to it, so that an edit is noticed; another file of the name is left alone."""
    before, folder = names("algorithms"), tmp_path / "algorithms"
    folder.mkdir()
    (folder / "taken.py").write_text("")
    undo = ExitStack()
    for name in ("mine", "taken", "Not-A-Name", "shared"):
        (tmp_path / f"{name}.py").write_text("class Config(Strict): ...")
    assert compare._linked(tmp_path / "mine.py", folder, undo) == "mine"
    assert (folder / "mine.py").resolve() == tmp_path / "mine.py"
    assert compare._linked(tmp_path / "mine.py", folder, undo) == "mine"  # again
    with pytest.raises(FairflError, match="is there already, and another file"):
        compare._linked(tmp_path / "taken.py", folder, undo)
    for name in ("Not-A-Name", "shared"):
        with pytest.raises(FairflError, match="cannot name an algorithm"):
            compare._linked(tmp_path / f"{name}.py", folder, undo)
    undo.close()
    assert not (folder / "mine.py").is_symlink()
    assert names("algorithms") == before


def test_what_came_out_is_said(tmp_path):
    path = tmp_path / "differences.csv"
    path.write_text(
        "setting,of,of_hyperparameters,algorithm,hyperparameters,metric,unit,difference,low,high,p,seeds\n"
        'x_y,mine,,fedfv,"alpha=0.1,tau=0",accuracy_mean,percent_points,0.421,-0.1,0.942,0.08,5\n'
        "x_y,mine,,fedavg,,accuracy_mean,percent_points,nan,nan,nan,nan,5\n"
    )
    assert list(compare.difference_lines(path, {"accuracy_mean": 2})) == [
        "\nx_y, percentage points: means over the same 5 seeds, with 95% intervals",
        "mine minus             accuracy_mean",
        "fedfv/alpha=0.1,tau=0  +0.42 [-0.10, +0.94]",
        "fedavg                 diverged",
    ]
