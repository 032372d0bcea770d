"""Small convolutional network: (conv, max-pool, ReLU) blocks, dense hidden layers with ReLU, logits out.

Max-pool before ReLU: the two commute, and ReLU then sees a quarter of the values.

EAGLE says only "a convolutional network"; the default (3x3, 32 and 64 channels, 128 hidden units) is the
project's choice. Inputs smaller than a block's kernel (8x8 stand-ins) work with `padding`.

FedFV's released MNIST model (easyFL, branch easyFL_v1.0): kernel 5, hidden 512, no activation in the blocks, 62 outputs
for the ten classes, and ReLU on them. FLGo's CIFAR model: channels 64 and 64, kernel 5, hidden 384 and 192.

FedEBA+: the latter on CIFAR-10, 797,962 parameters; ten clients' are the printed 30.4 MB. Tables 21 and 22 have a
shallower and a deeper, a narrower and a wider one, of which it says no more. Assumed are: one block with pool 4 and
`hidden: []`; a third block of 64 channels, kernel 3, padding 1, pool 1; half and twice the channels and hidden units.
"""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator
from torch import nn

from fairfl.experiments.base import Strict
from fairfl.models.layers import dense, image_shape


class Config(Strict):
    channels: list[int] = Field(
        default=[32, 64], min_length=1, description="output channels of the blocks"
    )
    kernel: int | list[int] = Field(3, description="edge of the kernels, or of each block's")
    padding: int | list[int] = Field(
        0, description="zeros around the image, or around each block's image"
    )
    pool: int | list[int] = Field(
        2, description="edge and stride of the max-pool, or of each block's; 1: none"
    )
    activation: Literal["relu", "none"] = Field("relu", description="after each block")
    hidden: int | list[int] = Field(
        128, description="units of the dense hidden layer, or of each; []: none"
    )
    outputs: int | None = Field(
        None, ge=2, description="outputs beyond the classes are never right; null: one per class"
    )
    output_activation: Literal["none", "relu"] = Field("none", description="none: logits")

    @field_validator("channels", "kernel", "padding", "pool", "hidden")
    @classmethod
    def _large_enough(cls, value: int | list[int], info: ValidationInfo) -> int | list[int]:
        least = 0 if info.field_name == "padding" else 1
        if min(value if isinstance(value, list) else [value], default=least) < least:
            raise ValueError(f"a number of at least {least}, got {value}")
        return value

    @field_validator("kernel", "padding", "pool")
    @classmethod
    def _one_per_block(cls, value: int | list[int], info: ValidationInfo) -> int | list[int]:
        channels = info.data.get("channels", [])
        if isinstance(value, list) and channels and len(value) != len(channels):
            raise ValueError(
                f"{value} are for {len(value)} blocks, channels {channels} are {len(channels)}"
            )
        return value


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Raises ValueError if the image is too small for the blocks, or `config.outputs` are not what the loss needs."""
    inputs, height, width = image_shape(shape, "cnn")
    blocks = len(config.channels)
    geometry = (_per_block(value, blocks) for value in (config.kernel, config.padding, config.pool))
    layers: list[nn.Module] = []
    for channels, kernel, padding, pool in zip(config.channels, *geometry, strict=True):
        layers.append(nn.Conv2d(inputs, channels, kernel, padding=padding))
        layers += [nn.MaxPool2d(pool)] if pool > 1 else []
        layers += [nn.ReLU()] if config.activation == "relu" else []
        grow = 2 * padding - kernel + 1
        inputs, height, width = channels, (height + grow) // pool, (width + grow) // pool
        if min(height, width) < 1:
            raise ValueError(
                f"cnn with {blocks} blocks is too deep for images of shape {list(shape)}"
            )
    hidden = config.hidden if isinstance(config.hidden, list) else [config.hidden]
    head = dense([inputs * height * width, *hidden, _width(config, outputs)])
    return nn.Sequential(
        *layers, nn.Flatten(), *(head if config.output_activation == "relu" else head[:-1])
    )


def _per_block(value: int | list[int], blocks: int) -> list[int]:
    return value if isinstance(value, list) else [value] * blocks


def _width(config: Config, outputs: int) -> int:
    if config.outputs is None:
        return outputs
    if outputs == 1:
        raise ValueError(f"cnn: outputs is {config.outputs}, the loss takes a single one")
    if config.outputs < outputs:
        raise ValueError(
            f"cnn: outputs is {config.outputs}, less than the {outputs} classes of the data"
        )
    return config.outputs
