"""What a job would refuse, the plan refuses."""

from types import SimpleNamespace

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.judgement.claims import preflight
from fairfl.runtime.errors import FairflError
from fairfl.workflow import snakemake


@pytest.fixture(scope="module")
def focus(root):
    workload = load_workload(root, {"scale": "quick", "papers": ["focus"]})
    return next(setting for setting in workload.settings.values() if setting.surrogate)


def changed(setting, clusters=2, partition=None, options=None, data=None):
    parts = {"surrogate": setting.surrogate.model_copy(update={"clusters": clusters})}
    if partition:
        parts["partition"] = SimpleNamespace(name=partition, options=options or {})
    if data:
        parts["data"] = SimpleNamespace(name=data[0], options=data[1])
    return setting.model_copy(update=parts)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"clusters": 1, "partition": "iid"}, ""),
        ({"partition": "by_domain", "options": {"clients": [4, 3]}}, ""),
        ({"partition": "rotation_clusters", "options": {"angles": [0, 90, 180], "clients": [2, 2, 2]}}, "has 3 true"),
        ({"partition": "by_client", "data": ("local_csv", {"cluster": None})}, "expected 1, one surrogate for all"),
        ({"partition": "by_client", "data": ("local_csv", {"cluster": "arm"})}, ""),
        ({"partition": "by_client", "data": ("synthetic_regression", {})}, ""),
    ],
)
def test_surrogates_of_clusters_that_there_are_not(focus, parts, words):
    fault = preflight._clusters(changed(focus, **parts))
    assert words in fault and bool(fault) == bool(words)


def test_a_gpu_is_asked_for_where_there_is_none(monkeypatch):
    graph = SimpleNamespace(workload=SimpleNamespace(config=SimpleNamespace(device="cuda")))
    training, table = SimpleNamespace(rule="train"), SimpleNamespace(rule="table")
    here, cluster = SimpleNamespace(local_exec=True), SimpleNamespace(local_exec=False)
    monkeypatch.setattr(snakemake.gpu_slots, "visible", list)
    with pytest.raises(FairflError, match="config.yaml: device: 'cuda': there is no GPU here"):
        snakemake.check_device(here, graph, [training, table])
    snakemake.check_device(cluster, graph, [training])
    snakemake.check_device(here, graph, [table])
    monkeypatch.setattr(snakemake.gpu_slots, "visible", lambda: ["0"])
    snakemake.check_device(here, graph, [training])
