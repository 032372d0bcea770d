"""Files of the user's own are read at the plan: what their jobs would refuse is refused before anything runs."""

from pathlib import Path

import pytest

from fairfl.data import local_csv
from fairfl.experiments.workload import load_workload
from fairfl.jobs import own_data
from fairfl.partition import by_client
from fairfl.runtime.errors import FairflError
from tests.unit.edited_papers import ROOT, template, written

TABLE = "x,y,outcome,ward\n" + "".join(f"{n},{n % 7},{'ab'[n % 2]},w{n % 4}\n" for n in range(80))


OWN = {"name": "local_csv", "label": "outcome", "client": "ward"}
KEYS = {
    "data": OWN, "model": {"name": "logistic_regression"}, "partition": {"name": "by_client"}, "clients": 4,
    "clients_per_round": 4,
}  # fmt: skip
DIGITS = {"data": {"name": "digits"}, "partition": {"name": "dirichlet_by_class", "alpha": 0.5}}


@pytest.fixture()
def planned(tmp_path: Path):
    """The template's workload on a table, with other keys of its setting."""
    path = tmp_path / "data/local_csv/table.csv"
    path.parent.mkdir(parents=True)
    path.write_text(TABLE)
    return lambda **keys: template(tmp_path, KEYS | keys, data_folder=str(tmp_path / "data"))


def test_a_table_that_can_be_dealt_passes_and_its_size_is_known(planned) -> None:
    workload = planned()
    said = "table.csv: outcome from x, y; 80 samples, 2 classes (a, b), 4 owners (w0, w1, w2, w3)"
    assert own_data.partition_own_data(workload) == {"template_digits": [said]}
    assert own_data.partition_own_data(planned(clients=3, clients_per_round=3))["template_digits"][1:] == [
        "3 of 4 owners take part, the first"
    ]


def test_surrogates_need_the_true_clusters(planned) -> None:
    data = OWN | {"features": ["x"], "cluster": "outcome"}
    own_data.partition_own_data(planned(surrogate={"clusters": 2}, data=data))  # odd wards are of class b
    with pytest.raises(FairflError, match="surrogate.clusters is 2, the partition's number of true clusters is 1"):
        own_data.partition_own_data(planned(surrogate={"clusters": 2}, data=data | {"cluster": None}))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"clients": 5, "clients_per_round": 5}, "4 of 4 owners have 1 or more samples, the setting asks for 5"),
        ({"data": OWN | {"label": "outcom"}}, "no column 'outcom', split at ','; did you mean"),
        ({"samples": 100}, "samples is 100, the data set has only 80"),
        (DIGITS | {"partition": {"name": "by_client"}}, "by_client needs data whose rows"),
    ],
)  # fmt: skip
def test_what_the_data_cannot_give_is_refused(planned, keys, message) -> None:
    own_data.partition_own_data(planned(**DIGITS))
    with pytest.raises(FairflError) as error:
        own_data.partition_own_data(planned(**keys))
    assert str(error.value).startswith("papers/template.yaml: settings.template_digits: ")
    assert message in str(error.value)


def faulty(*arguments):
    return {}["missing"]


@pytest.mark.parametrize(("plugin", "function"), [(local_csv, "prepare"), (by_client, "assign")])
def test_an_error_of_a_plug_in_has_file_and_line(planned, monkeypatch, plugin, function) -> None:
    monkeypatch.setattr(plugin, function, faulty)
    with pytest.raises(FairflError) as error:
        own_data.partition_own_data(planned())
    where = f"{__file__}, line {faulty.__code__.co_firstlineno + 1}"
    assert str(error.value) == f"papers/template.yaml: settings.template_digits: {where}: faulty: KeyError: 'missing'"


def test_a_table_that_is_not_here_is_left_to_its_job(planned) -> None:
    workload = planned(data={"name": "local_csv", "file": "other.csv"})
    own_data.partition_own_data(workload)
    assert own_data.prepared(workload, "template_digits") is None


def test_a_bad_cell_stops_only_the_paper_that_reads_its_file(planned, tmp_path) -> None:
    def checked(workload):
        own_data.partition_own_data(workload)
        return workload

    planned()
    table, papers = tmp_path / "data/local_csv/table.csv", tmp_path / "papers"
    table.write_text(table.read_text().replace("3,3,", "3,NA,"))
    for name, text in (("mine", papers / "template.yaml"), ("other", ROOT / "papers/template.yaml")):
        named = text.read_text().replace("paper: template", f"paper: {name}").replace("template_digits", f"{name}_s")
        written(papers / f"{name}.yaml", named.encode())
    asked = {"scale": "full", "data_folder": str(tmp_path / "data")}
    workload = load_workload(tmp_path, asked | {"papers": ["*"]}, checked)
    assert list(workload.papers) == ["other"]
    assert workload.faulty["mine"].startswith("papers/mine.yaml: settings.mine_s: ")
    assert "table.csv: sample 4: y: 'NA' is a missing cell" in workload.faulty["mine"]
    with pytest.raises(FairflError, match="'NA' is a missing cell"):
        load_workload(tmp_path, asked | {"papers": ["mine"]}, checked)
