"""Small convolutional network: (conv, max-pool 2, ReLU) blocks, dense hidden layers with ReLU, logits out.

Max-pool before ReLU: the two commute, and ReLU then sees a quarter of the values.

EAGLE says only "a convolutional network"; the default (3x3, 32 and 64 channels, 128 hidden units) is the
project's choice. Inputs smaller than a block's kernel (8x8 stand-ins) work with `padding`.

FedFV's released MNIST model (easyFL, branch easyFL_v1.0): kernel 5, hidden 512, no activation in the blocks, 62 outputs
for the ten classes, and ReLU on them. FLGo's CIFAR model: channels 64 and 64, kernel 5, hidden 384 and 192.
"""

from typing import Literal

from pydantic import Field, field_validator
from torch import nn

from fairfl.models.layers import dense, image_shape
from fairfl.spec.base import Strict


class Config(Strict):
    channels: list[int] = Field(default=[32, 64], min_length=1, description="output channels of the blocks")
    kernel: int = Field(3, ge=1)
    padding: int = Field(0, ge=0)
    activation: Literal["relu", "none"] = Field("relu", description="after each block")
    hidden: int | list[int] = Field(128, description="units of the dense hidden layer, or of each")
    outputs: int | None = Field(
        None, ge=2, description="outputs beyond the classes are never right; null: one per class"
    )
    output_activation: Literal["none", "relu"] = Field("none", description="none: logits")

    @field_validator("channels", "hidden")
    @classmethod
    def _positive(cls, value: int | list[int]) -> int | list[int]:
        if min(value if isinstance(value, list) else [value], default=0) < 1:
            raise ValueError(f"a layer needs at least one channel or unit, got {value}")
        return value


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Raises ValueError if the image is too small for the blocks, or `config.outputs` are not what the loss needs."""
    inputs, height, width = image_shape(shape, "cnn")
    layers: list[nn.Module] = []
    for channels in config.channels:
        layers += [nn.Conv2d(inputs, channels, config.kernel, padding=config.padding), nn.MaxPool2d(2)]
        layers += [nn.ReLU()] if config.activation == "relu" else []
        grow = 2 * config.padding - config.kernel + 1
        inputs, height, width = channels, (height + grow) // 2, (width + grow) // 2
        if min(height, width) < 1:
            raise ValueError(f"cnn with {len(config.channels)} blocks is too deep for images of shape {list(shape)}")
    hidden = config.hidden if isinstance(config.hidden, list) else [config.hidden]
    head = dense([inputs * height * width, *hidden, _width(config, outputs)])
    return nn.Sequential(*layers, nn.Flatten(), *(head if config.output_activation == "relu" else head[:-1]))


def _width(config: Config, outputs: int) -> int:
    if config.outputs is None:
        return outputs
    if outputs == 1:
        raise ValueError(f"cnn: outputs is {config.outputs}, the loss takes a single one")
    if config.outputs < outputs:
        raise ValueError(f"cnn: outputs is {config.outputs}, less than the {outputs} classes of the data")
    return config.outputs
