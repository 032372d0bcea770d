"""An experiment of one's own: no sources, no citation, no reference for claims; papers that are found by themselves."""

import shutil

import pytest
import yaml

from fairfl.experiments.config import TEMPLATE, Config, selection, with_papers
from fairfl.experiments.reading import load_paper
from fairfl.experiments.workload import load_workload, usual_config
from fairfl.jobs import train
from fairfl.judgement.claims import preflight
from fairfl.runtime.validation import SpecError
from tests.defaults import CONFIG, copy_config, copy_papers
from tests.unit.edited_papers import changed, read, written

PAPERS = ["eagle", "fedfv", "mine", TEMPLATE]


@pytest.fixture()
def template():
    return changed(read("papers/template.yaml"), {})


def test_another_plug_in_does_not_inherit_options_of_the_first(tmp_path, template):
    template["settings"]["template_owners"] = {"extends": "template_digits", "partition": {"name": "by_client"}}
    template["settings"]["template_skewed"] = {"extends": "template_digits", "partition": {"min_samples": 5}}
    settings = load_paper(written(tmp_path / "template.yaml", template)).settings
    assert settings["template_owners"].partition.name == "by_client"
    assert "alpha" not in settings["template_owners"].partition.options
    skewed = settings["template_skewed"].partition
    assert (skewed.name, skewed.options["alpha"], skewed.options["min_samples"]) == ("dirichlet_by_class", 0.3, 5)


def test_a_quoted_paper_is_told_at_once_all_that_has_no_source(tmp_path, template):
    template |= {"sources": "quoted", "arxiv": "2603.29818"}
    with pytest.raises(SpecError) as error:
        load_paper(written(tmp_path / "template.yaml", template))
    text = str(error.value)
    assert text.split("; ", 1)[0].endswith("no citation") and "`sources: own` is for an experiment of your own" in text
    assert "algorithms.fedavg: no source for weighting" in text
    assert "settings.template_digits: no source for data, samples, model" in text
    assert "artifacts.table1: no reference for claim t1_mean" in text
    assert "no arxiv" not in text and "algorithms.qffl" not in text


FOUND = {"*": "eagle fedfv mine", "mine *": "mine eagle fedfv", "fed* eagle": "fedfv eagle", "template": "template"}


@pytest.mark.parametrize(("wanted", "found"), FOUND.items())
def test_papers_are_found_by_patterns_in_their_order(wanted, found):
    assert with_papers(Config(scale="quick", papers=wanted.split()), PAPERS).papers == found.split()


def test_a_new_paper_is_built_without_a_change_of_the_configuration(root, tmp_path, template):
    copy_papers(tmp_path)
    shutil.copytree(root / "scales", tmp_path / "scales")
    copy_config(tmp_path)
    before = usual_config(tmp_path).papers
    assert before[:5] == ["eagle", "fedeba", "focus", "fedfv", "vred"] and TEMPLATE not in before
    template["settings"] = {"mine_digits": template["settings"]["template_digits"]}
    for artifact in template["artifacts"].values():
        artifact["settings"] = ["mine_digits"]
    written(tmp_path / "papers/mine.yaml", template | {"paper": "mine"})
    workload = load_workload(tmp_path, CONFIG)
    assert workload.config.papers == [*before, "mine"]
    assert "mine_table1" in workload.artifacts


# -- settings that published papers lend ----------------------------------------------------------
BORROWED = yaml.safe_load("""
paper: mine
title: Mine
sources: own
metrics:
  accuracy_mean: {name: mean, meaning: mean, unit: percent}
  accuracy_worst10: {name: worst, meaning: worst tenth, unit: percent}
algorithms: {fedavg: {title: FedAvg}, term: {title: Tilted, defaults: {alpha: 2.0}}}
settings: {}
artifacts:
  table1: {kind: table, title: Table 1, caption: mine beside theirs, settings: [fedfv_fmnist],
           rows: [{algorithm: fedavg}, {algorithm: term}], columns: [accuracy_mean, accuracy_worst10]}
""")


@pytest.fixture()
def borrowing(root, tmp_path):
    """A function: the workload of an own paper with other keys that uses FedFV's setting."""
    for folder in ("papers", "scales"):
        shutil.copytree(root / folder, tmp_path / folder)
    copy_config(tmp_path)

    def load(changes=()):
        written(tmp_path / "papers/mine.yaml", changed(BORROWED, dict(changes)))
        return load_workload(tmp_path, {"scale": "full", "papers": ["mine"]})

    return load


def test_a_paper_of_ones_own_may_use_a_published_setting_alone(borrowing):
    workload = borrowing()
    preflight.check(workload)
    assert list(workload.artifacts) == ["mine_table1"] and len(workload.runs) == 10
    assert {run.setting for run in workload.runs} == {"fedfv_fmnist"}
    assert workload.sharing.users("fedfv_fmnist") == ["fedfv", "mine"]
    assert workload.sharing.builders("fedfv_fmnist") == ["mine"]


def test_the_lender_says_how_its_algorithms_run_and_the_borrower_how_its_own_do(borrowing, root):
    """So that its runs are those that the record has."""
    workload = borrowing()
    fedavg, term = (next(run for run in workload.runs if run.algorithm == name) for name in ("fedavg", "term"))
    assert workload.hyperparameters(fedavg)["weighting"] == "uniform"
    assert workload.hyperparameters(term)["alpha"] == 2.0
    assert workload.sharing.usage("fedfv_fmnist", "term").title == "Tilted"
    assert workload.sharing.metrics("fedfv_fmnist")["accuracy_worst10"].name == "worst"
    alone = load_workload(root, {"scale": "full", "papers": ["fedfv"]})
    same = next(run for run in alone.runs if run == fedavg)
    assert train.spec_of_run(workload, same) == train.spec_of_run(alone, same)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("algorithms/fedavg/defaults", {"weighting": "samples"}, "algorithms.fedavg.defaults: "),
        ("metrics/accuracy_mean/unit", "fraction", "metrics.accuracy_mean.unit: 'fraction': "),
        ("algorithms/term/defaults", {"t": 2.0}, "term.t: unknown key (value 2.0)"),
        ("artifacts/table1/settings", ["fedfv_fmnits"], "did you mean 'fedfv_fmnist'"),
    ],
)
def test_what_a_borrower_says_otherwise_is_refused(borrowing, key, value, words):
    with pytest.raises(SpecError) as error:
        borrowing({key: value})
    assert "papers/mine.yaml: " in str(error.value) and words in str(error.value)


# -- the name of what is selected on the command line ----------------------------------------------
USUAL = {"scale": "quick", "papers": ["eagle", "focus"], "artifacts": ["a_table1"]}


NAMED = [
    ({}, ""),
    ({"scale": "small", "threads": 2, "budget": 5}, ""),  # another scale or machine is no part
    ({"papers": "eagle"}, "papers=eagle"),
    ({"artifacts": None}, "artifacts=all"),
    ({"seeds": "0,12", "algorithms": ["fedavg"]}, "algorithms=fedavg_seeds=0,12"),
]


@pytest.mark.parametrize(("more", "name"), NAMED)
def test_what_differs_from_config_yaml_is_named(more, name):
    assert selection(Config(**USUAL | more), Config(**USUAL)) == name


def test_names_are_short_plain_and_distinct():
    names = set()
    for count in range(30, 33):
        many = [f"eagle_setting_{n}" for n in range(count)] + ["fedfv/alpha=0.1", "x_*"]
        names.add(selection(Config(**USUAL | {"settings": many}), Config(**USUAL)))
    assert len(names) == 3 and all(len(name) < 100 and "/" not in name and "*" not in name for name in names)
