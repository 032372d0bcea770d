"""Image models that start from files of weights: torchvision's layout, new heads, files that do not fit."""

import hashlib

import pytest
import torch
import torchvision

from fairfl import models
from fairfl.data import pretrained
from fairfl.runtime.errors import FairflError
from fairfl.simulation import flat_parameters

RESNET = {"name": "resnet", "norm": "batch", "stem": "imagenet"}
SMALL = RESNET | {"widths": [2], "blocks": [1]}
CASES = {
    "resnet18": (RESNET, "fc", torchvision.models.resnet18, "ResNet"),
    "mobilenet_v2": ({"name": "mobilenet_v2"}, "classifier.1", torchvision.models.mobilenet_v2, "MobileNet-v2"),
}


pytestmark = pytest.mark.usefixtures("no_models")


@pytest.fixture(scope="module", params=CASES)
def published(request, tmp_path_factory):
    """torchvision's model, its statistics moved by some images, and the file of its weights, named as theirs are."""
    torch.manual_seed(0)
    model = CASES[request.param][2]()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
        model(torch.randn(4, 3, 32, 32))
    folder = tmp_path_factory.mktemp("weights")
    torch.save(model.state_dict(), folder / "new")
    digest = hashlib.sha256((folder / "new").read_bytes()).hexdigest()
    path = (folder / "new").rename(folder / f"{request.param}-{digest[:8]}.pth")
    return request.param, model.eval(), path


def built(choice, outputs, seed=0):
    torch.manual_seed(seed)
    return models.build(choice, (3, 32, 32), outputs).eval()


@pytest.mark.slow
def test_the_published_model(published, monkeypatch, tmp_path):
    """All classes of ImageNet: torchvision's own outputs. Others: its weights under a head of the run's seed."""
    kind, theirs, path = published
    choice, head, _, title = CASES[kind]
    choice = choice | {"pretrained": "imagenet"}
    monkeypatch.setitem(pretrained.PUBLISHED, kind, pretrained.published(path.name, ""))
    with pytest.raises(FairflError, match=f"'imagenet' is {path.name}, which is not in"):
        built(choice, 10)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / path.name).symlink_to(path)
    whole, ours, same, other = built(choice, 1000), *(built(choice, 10, seed) for seed in (1, 1, 2))
    images = torch.randn(2, 3, 48, 48)
    with torch.no_grad():
        torch.testing.assert_close(whole(images), theirs(images))
    assert whole.origin == f"{title} pre-trained on ImageNet ({path.name})"
    assert ours.origin == f"{whole.origin}, its head from random weights"
    own, given = ours.state_dict(), theirs.state_dict()
    heads = {f"{head}.weight", f"{head}.bias"}
    assert list(own) == list(given)
    assert all(torch.equal(own[key], given[key]) for key in own.keys() - heads)
    assert own[f"{head}.weight"].shape == (10, given[f"{head}.weight"].shape[1])
    assert torch.equal(flat_parameters.flatten(ours), flat_parameters.flatten(same))
    assert not torch.equal(own[f"{head}.weight"], other.state_dict()[f"{head}.weight"])


def put(path, model, **changes):
    """The weights of a model, some of them others; None: left out."""
    found = {**model.state_dict(), **changes}
    torch.save({key: value for key, value in found.items() if value is not None}, path)
    return {**SMALL, "pretrained": str(path)}


def test_weights_of_a_file_of_ones_own(tmp_path):
    """Any layout of ours, whatever was drawn; the head too, if it has as many outputs."""
    saved = built(SMALL, 3, seed=1)
    choice = put(tmp_path / "mine.pth", saved)
    same, other = built(choice, 3), built(choice, 4)
    assert torch.equal(flat_parameters.flatten(same), flat_parameters.flatten(saved))
    assert same.origin == "ResNet pre-trained (mine.pth)"
    assert other.origin == "ResNet pre-trained (mine.pth), its head from random weights"
    assert torch.equal(other.conv1.weight, saved.conv1.weight) and other.fc.weight.shape == (4, 2)
    choice = put(tmp_path / "trunk.pth", saved, **{"fc.weight": None, "fc.bias": None})
    assert "its head from random weights" in built(choice, 3).origin


def test_files_that_are_no_weights(tmp_path):
    """Those that torch cannot load: tests/bad_input/test_bad_files.py."""
    path = tmp_path / "mine.pth"
    choice = {**SMALL, "pretrained": str(path)}
    for content in ([torch.zeros(2)], {"conv1.weight": 3}):
        torch.save(content, path)
        with pytest.raises(FairflError, match="mine.pth: holds something else than tensors by their names"):
            built(choice, 3)


def test_group_normalisation_starts_from_weights_of_batch_normalisation_without_their_statistics(tmp_path):
    published = built(SMALL, 3, seed=1)
    choice = put(tmp_path / "mine.pth", published, **{"bn1.weight": torch.tensor([2.0, 3.0])}) | {"norm": "group"}
    ours = built(choice, 3, seed=2).state_dict()
    assert not any("running" in key for key in ours) and ours["bn1.weight"].tolist() == [2, 3]
    given = published.state_dict()
    assert all(torch.equal(ours[key], given[key]) for key in ours.keys() - {"bn1.weight"})
