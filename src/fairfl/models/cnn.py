"""Small convolutional network: (conv, max-pool 2, ReLU) blocks, dense hidden layer, logits out.

Max-pool before ReLU: the two commute, and ReLU then sees a quarter of the values.

EAGLE says only "a convolutional network"; the default (3x3, 32 and 64 channels, 128 hidden units) is the
project's choice. Inputs smaller than a block's kernel (8x8 stand-ins) work with `padding`.
"""

from pydantic import Field, field_validator
from torch import nn

from fairfl.spec.base import Strict


class Config(Strict):
    channels: list[int] = Field(default=[32, 64], min_length=1, description="output channels of the blocks")
    kernel: int = Field(3, ge=1)
    padding: int = Field(0, ge=0)
    hidden: int = Field(128, ge=1, description="units of the dense hidden layer")

    @field_validator("channels")
    @classmethod
    def _positive(cls, value: list[int]) -> list[int]:
        if min(value) < 1:
            raise ValueError(f"a block needs at least one channel, got {value}")
        return value


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Raises ValueError if the image is too small for the blocks."""
    if len(shape) != 3:
        raise ValueError(f"cnn needs images [channels, height, width], the data have shape {list(shape)}")
    inputs, height, width = shape
    layers: list[nn.Module] = []
    for channels in config.channels:
        layers += [nn.Conv2d(inputs, channels, config.kernel, padding=config.padding), nn.MaxPool2d(2), nn.ReLU()]
        grow = 2 * config.padding - config.kernel + 1
        inputs, height, width = channels, (height + grow) // 2, (width + grow) // 2
        if min(height, width) < 1:
            raise ValueError(f"cnn with {len(config.channels)} blocks is too deep for images of shape {list(shape)}")
    flat = inputs * height * width
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(flat, config.hidden), nn.ReLU(), nn.Linear(config.hidden, outputs)
    )
