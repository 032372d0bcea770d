"""Where the first values of an image model come from: drawn, or from a file of weights."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fairfl.data import pretrained
from fairfl.runtime.errors import FairflError

# Files of before 2018 lack it, and none of our models uses it.
_OPTIONAL = "num_batches_tracked"
# Of batch normalisation; what else a normalisation has, scale and shift, group normalisation has too.
_STATISTICS = ("running_mean", "running_var")


def start(model: Any, title: str, choice: str | None, published: str, head: str) -> nn.Module:
    """Set the model to the weights that its option `pretrained` names; returns it.

    The head stays as it was drawn if the file has none for as many outputs. Attribute `origin` of the model becomes a
    phrase for results: where the weights come from.

    Args:
        choice: "imagenet", a file, or None: as drawn.
        published: name of the model in fairfl.data.pretrained.PUBLISHED.
        head: name of the last layer.

    Raises:
        FairflError: the file is not there, damaged, or of another model.
    """
    if choice is None:
        model.origin = f"{title} from random weights"
        return model
    path = pretrained.find_weights(choice, published)
    initial = model.state_dict()
    stored = {
        key: value
        for key, value in _read(path).items()
        if key in initial or not key.endswith(_STATISTICS)
    }
    last = {key: value for key, value in initial.items() if key.startswith(f"{head}.")}
    anew = _differences(last, {key: stored[key] for key in last if key in stored})
    if anew:
        stored |= last
    if wrong := _differences(initial, stored):
        raise FairflError(f"{path}: not the weights of this {title}: {wrong[0]}")
    model.load_state_dict(stored, strict=False)
    data = " on ImageNet" if choice == pretrained.IMAGENET else ""
    model.origin = f"{title} pre-trained{data} ({path.name})" + (
        ", its head from random weights" if anew else ""
    )
    return model


def _read(path: Path) -> dict[str, Tensor]:
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of the many kinds that a file may raise
        raise FairflError(
            f"{path}: no file of weights that torch can load ({type(error).__name__})"
        ) from error
    if not isinstance(tensors, dict) or not all(
        isinstance(value, Tensor) for value in tensors.values()
    ):
        raise FairflError(f"{path}: holds something else than tensors by their names")
    return dict(tensors)


def _differences(ours: dict[str, Tensor], stored: dict[str, Tensor]) -> list[str]:
    """Each in words: a name that only one has, or under which they have other shapes."""
    shapes = [
        {key: list(value.shape) for key, value in tensors.items()} for tensors in (ours, stored)
    ]
    keys = [key for key in ours | stored if not key.endswith(_OPTIONAL)]
    wrong = [(key, *(own.get(key, "nothing") for own in shapes)) for key in keys]
    return [
        f"{key} is {has} in the model, {other} in the file"
        for key, has, other in wrong
        if has != other
    ]
