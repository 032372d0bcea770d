"""What a job would refuse, the plan refuses."""

from types import SimpleNamespace

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.runtime.errors import FairflError
from fairfl.workflow import snakemake


@pytest.fixture(scope="module")
def focus(root):
    workload = load_workload(root, {"scale": "quick", "papers": ["focus"]})
    return next(setting for setting in workload.settings.values() if setting.surrogate)


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
