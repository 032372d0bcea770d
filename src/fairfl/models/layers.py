"""What several model families are made of."""

import itertools
from collections.abc import Sequence

from torch import nn

from fairfl.runtime.errors import OptionError


def image_shape(shape: tuple[int, ...], model: str) -> tuple[int, int, int]:
    """Channels, height and width of one sample. Raises OptionError, naming the model, if it is not an image."""
    if len(shape) != 3:
        raise OptionError(
            f"{model} needs images [channels, height, width], the data have shape {list(shape)}"
        )
    return shape


def dense(sizes: Sequence[int]) -> list[nn.Module]:
    """Dense layers from each size to the next, with ReLU after each of them."""
    layers: list[nn.Module] = []
    for inputs, units in itertools.pairwise(sizes):
        layers += [nn.Linear(inputs, units), nn.ReLU()]
    return layers
