"""fairfl show: from a printed number to its runs, on stored results and on built ones."""

import io
import os

import numpy as np
import pandas as pd
import pytest

from fairfl.commands import show
from fairfl.judgement.recorded import recorded_numbers
from fairfl.judgement.rows import ComparisonLine, csv_text
from fairfl.runtime.errors import FairflError
from tests.unit.rows import compared

TABLE, VARIANT = "fedfv_table3", "fedfv/alpha=0.667,tau=0"
RUN = "fedfv_fmnist/fedfv/alpha=0.667~tau=0/seed12"


@pytest.fixture
def clone(root, tmp_path, monkeypatch):
    """A clone with nothing but the committed files: no results but the stored ones, the defaults of config.yaml."""
    for name in ("papers", "scales", "src", "results/recorded"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(root / name)
    (tmp_path / "config.yaml").write_text("scale: quick\n")
    monkeypatch.chdir(tmp_path)  # the command goes there
    return tmp_path


def shown(clone, capsys, *words):
    show.main(clone, [TABLE, *words])
    return capsys.readouterr().out


def test_a_stored_number_leads_to_its_runs_in_one_command(clone, root, capsys):
    text = shown(clone, capsys, VARIANT, "accuracy_mean")
    (line,) = [
        line
        for line in recorded_numbers(root)
        if (line.artifact, line.variant.selector, line.metric) == (TABLE, VARIANT, "accuracy_mean")
    ]
    assert f"reproduced {line.ours:.2f} ± {line.ours_std:.2f} at scale full: {line.verdict}\n" in text
    assert f"tolerance {line.tolerance:.3g}. Seed noise: {line.tolerance_source}." in text
    runs = [part for part in text.splitlines() if part.startswith("fedfv_fmnist/")]
    assert [part.partition(": ")[0] for part in runs] == line.runs.split(";") and len(runs) == line.seeds == 5
    assert all("results/recorded/fedfv_fmnist/jobs.json, commit " in part and part.endswith(" s") for part in runs)
    assert text.count("▁") >= 5 and "accuracy_mean (fraction, test part): " in text


def test_the_curve_ends_at_the_number_of_its_seed(clone, root, capsys):
    frame = pd.read_csv(io.StringIO(shown(clone, capsys, "accuracy_mean", VARIANT, "--csv")))
    (line,) = [
        line
        for line in recorded_numbers(root)
        if (line.artifact, line.variant.selector, line.metric) == (TABLE, VARIANT, "accuracy_mean")
    ]
    ours = {int(seed): float(value) for seed, _, value in (one.partition(":") for one in line.ours_by_seed.split(";"))}
    ends = frame[frame["run"] == RUN].set_index("round")["value"]
    assert 100 * ends.iloc[-1] == pytest.approx(ours[12], abs=1e-4) and set(frame["measure"]) == {
        "accuracy_mean (fraction, test part)"
    }


def test_several_numbers_are_a_list_of_words_that_choose_one(clone, capsys):
    lines = shown(clone, capsys, "fedavg").splitlines()
    assert lines[0].split()[:3] == ["variant", "metric", "setting"] and len(lines) > 3
    variant, metric, setting = lines[1].split()[:3]
    assert shown(clone, capsys, variant, metric, setting).startswith(f"{TABLE} {variant} {metric} {setting}\n")


def test_the_last_built_number_is_shown(clone, capsys):
    """Whether all was built then or a selection, whatever that is called."""
    folders = ["", "selections/settings=a/", "selections/settings=b/"]
    for ours, below in enumerate([*folders, *folders]):
        built = clone / f"results/quick/{below}comparison.csv"
        built.parent.mkdir(parents=True, exist_ok=True)
        line = compared({"artifact": TABLE, "setting": "fedfv_fmnist", "ours": f"{ours}.5", "verdict": "differs"})
        built.write_text(csv_text([line], ComparisonLine))
        os.utime(built, (ours, ours))
        assert f", reproduced {ours}.5 at scale quick" in shown(clone, capsys)


def test_a_word_that_names_nothing_has_the_nearest(clone):
    with pytest.raises(FairflError, match=r"fedfv_table3 has no 'accuracy_meen' there, did you mean|; did you mean"):
        show.main(clone, [TABLE, "accuracy_meen"])
    with pytest.raises(FairflError, match="no numbers of 'fedfv_tabel3' at scale quick; did you mean 'fedfv_table"):
        show.main(clone, ["fedfv_tabel3"])
    with pytest.raises(FairflError, match="fairfl show: no paper 'fedvf'; did you mean 'fedfv'"):
        show.main(clone, ["fedvf_table3"])
    with pytest.raises(FairflError, match="at scale small"):
        show.main(clone, [TABLE, "--scale", "small"])


def test_a_chart_has_a_block_for_each_value_and_gaps_where_there_is_none():
    assert show.chart([0, 7, np.nan, 3.5]) == "▁█ ▅" and show.chart([]) == "" and show.chart([np.inf]) == ""
    assert show.chart([2, 2]) == "▁▁" and len(show.chart(range(500))) == 60


def test_a_metric_that_no_curve_has_is_drawn_by_the_mean_accuracy_or_loss():
    rounds = pd.DataFrame({"round": [0, 0, 1, 1], "client": [0, 1, 0, 1], "samples_test": 5})
    rounds = rounds.assign(loss_test=[1.0, 3.0, 1.0, 2.0], accuracy_test=[0.1, 0.3, 0.5, 0.9], recall_test=0.0)
    assert show.along(rounds, "comm_cost", "test") == ("accuracy_mean (fraction, test part)", {0: 0.2, 1: 0.7})
    assert show.along(rounds, "loss_mean", "test")[1] == {0: 2.0, 1: 1.5}
    label, _ = show.along(rounds.assign(accuracy_test=np.nan), "accuracy_mean", "test")
    assert label == "loss_mean (nats, test part)"
