"""Files that `model.pretrained` names are known by their content: in specs, and again when a job has loaded them."""

import hashlib
from pathlib import Path

import pytest
import torch

from fairfl import models
from fairfl.data import pretrained
from fairfl.experiments.variant import Run, Variant
from fairfl.jobs import local_optimum, surrogate, timing, train
from fairfl.runtime.errors import FairflError
from fairfl.values.differences import differences
from tests.unit.edited_papers import template
from tests.unit.jobs.test_train import Job

SETTING = "template_digits"
RESNET = {"name": "resnet", "widths": [2], "blocks": [1], "stem": "cifar", "groups": 1}
HASHES = "pretrained_sha256"


@pytest.fixture(autouse=True)
def elsewhere(no_models, tmp_path, monkeypatch):
    """Planning goes by the configuration, jobs by their environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(pretrained.DATA_FOLDER, str(tmp_path / "elsewhere"))


@pytest.fixture
def planned(tmp_path: Path):
    """The specs of all jobs that build a model, by kind, where the template's setting has this model."""

    def plan(model: dict) -> dict[str, dict]:
        keys = {"surrogate": {"clusters": 1}, "timing": {"rounds": 1}, "model": model}
        workload = template(tmp_path, keys, data_folder="data")
        variant = Variant("fedavg", {})
        workload.timed_variants, workload.seconds = {SETTING: [variant]}, {SETTING: {"seconds_round"}}
        return {
            "train": train.spec_of_run(workload, Run(SETTING, variant, 0)),
            "timing": timing.spec(workload, SETTING)["variants"][0],
            "local_optimum": local_optimum.spec(workload, SETTING),
            "surrogate": surrogate.spec(workload, SETTING),
        }

    return plan


def digits_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def put_bert(folder: Path, weights: bytes = b"weights") -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    contents = dict(zip(pretrained.FILES, (b"{}", b"[CLS]", weights), strict=True))
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return {name: digits_of(data) for name, data in contents.items()}


@pytest.mark.parametrize("model", [RESNET, {"name": "mobilenet_v2"}])
def test_an_overwritten_file_of_weights_is_another_spec_of_all_that_build_the_model(planned, tmp_path, model):
    model = model | {"pretrained": "mine.pth"}
    missing = planned(model)
    Path("mine.pth").write_bytes(b"first")
    before = planned(model)
    Path("mine.pth").write_bytes(b"other")
    after = planned(model)
    first, other = digits_of(b"first"), digits_of(b"other")
    for kind in before:
        assert HASHES not in missing[kind]  # and the job says which file there is not
        assert list(differences(before[kind], after[kind])) == [f"{HASHES}.mine.pth: '{first}' -> '{other}'"], kind
        assert before[kind] == missing[kind] | {HASHES: {"mine.pth": first}}


def test_the_published_bert_may_come_after_the_plan(planned, monkeypatch):
    """Fetching the data brings it along: jobs take it, and nothing runs again for it."""
    model = {"name": "bert", "pretrained": "auto"}
    before = planned(model)
    monkeypatch.setattr(pretrained, "PUBLISHED_BERT", {name: "" for name in pretrained.FILES})
    found = put_bert(Path("data/bert-base-uncased"))
    assert planned(model) != before
    published = {name: hashlib.sha256(Path("data/bert-base-uncased", name).read_bytes()).hexdigest() for name in found}
    monkeypatch.setattr(pretrained, "PUBLISHED_BERT", published)
    assert planned(model) == before
    monkeypatch.setenv(pretrained.DATA_FOLDER, "data")
    pretrained.check("auto", {})


# ---- in jobs


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def save_weights(path: Path, seed: int) -> None:
    torch.manual_seed(seed)
    torch.save(models.build(RESNET, (1, 4, 4), 3).state_dict(), path)


def test_a_job_uses_only_the_file_that_it_was_planned_with(job, planned):
    path = Path("mine.pth")
    model = RESNET | {"pretrained": str(path)}
    save_weights(path, 0)
    hashes = planned(model)["train"][HASHES]
    job.run(model=model, **{HASHES: hashes})
    save_weights(path, 1)
    message = "model.pretrained: 'mine.pth': mine.pth: changed since this job was planned; run the same command again$"
    for given in (hashes, {}):
        with pytest.raises(FairflError, match=message):
            job.run(model=model, **{HASHES: given})
    job.run(model=model, **{HASHES: planned(model)["train"][HASHES]})
    path.unlink()
    with pytest.raises(FairflError, match="^model.pretrained: 'mine.pth' does not hold weights; use 'imagenet'"):
        job.run(model=model, **{HASHES: hashes})


def test_a_bert_that_has_come_or_gone_since_the_plan_is_not_used():
    pretrained.check("auto", {})
    found = put_bert(Path("elsewhere/bert-base-uncased"))
    pretrained.check("auto", found)
    with pytest.raises(FairflError, match="'auto': config.json, model.safetensors, vocab.txt"):
        pretrained.check("auto", {})
    Path("elsewhere/bert-base-uncased/vocab.txt").unlink()
    with pytest.raises(FairflError, match="'auto': config.json, model.safetensors, vocab.txt"):
        pretrained.check("auto", found)
