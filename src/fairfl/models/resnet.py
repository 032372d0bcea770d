"""Residual network of basic blocks (He et al. 2016) with group or batch normalisation, logits out.

The default is ResNet-18.

VRed: ResNet-18 with GroupNorm on 32 x 32 images. The stem of ImageNet even there, two groups and the initial
values are those of FairFL, the public code of the same group. Group normalisation has no running statistics, so the
parameters are all of the model.

FOCUS: ResNet-18 on CIFAR-10. The paper says no more than that; the original has batch normalisation.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator
from torch import Tensor, nn

from fairfl.models.layers import image_shape
from fairfl.spec.base import Strict


class Config(Strict):
    widths: list[int] = Field(default=[64, 128, 256, 512], min_length=1, description="channels of the stages")
    blocks: list[int] = Field(default=[2, 2, 2, 2], validate_default=True, description="blocks of each stage")
    norm: Literal["group", "batch"] = Field(
        "group", description="batch: means and variances of the batch; running ones, momentum 0.1, in evaluation"
    )
    groups: int = Field(
        2, ge=1, validate_default=True, description="norm group: groups of channels with a mean and variance each"
    )
    stem: Literal["imagenet", "cifar"] = Field(
        "imagenet", description="7x7 with stride 2 and max-pool 3x3 with stride 2; or 3x3, no pool"
    )

    @field_validator("widths", "blocks")
    @classmethod
    def _positive(cls, value: list[int]) -> list[int]:
        if min(value, default=0) < 1:
            raise ValueError(f"a stage needs at least one channel and one block, got {value}")
        return value

    @field_validator("blocks")
    @classmethod
    def _one_per_stage(cls, value: list[int], info: ValidationInfo) -> list[int]:
        widths = info.data.get("widths", value)
        if len(value) != len(widths):
            raise ValueError(f"{value} are {len(value)} stages, widths {widths} are {len(widths)}")
        return value

    @field_validator("groups")
    @classmethod
    def _whole_groups(cls, value: int, info: ValidationInfo) -> int:
        widths = info.data.get("widths", [])
        if info.data.get("norm") == "group" and any(width % value for width in widths):
            raise ValueError(f"{value} groups do not divide each of the widths {widths}")
        return value


class Residual(nn.Module):
    """ReLU(body(x) + shortcut(x)): two 3x3 convolutions, and the identity or a 1x1 convolution of the same shape."""

    def __init__(self, inputs: int, channels: int, stride: int, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(_convolution(inputs, channels, 3, stride), norm(channels), nn.ReLU()),
            *(_convolution(channels, channels, 3, 1), norm(channels)),
        )
        same = (inputs, stride) == (channels, 1)
        shortcut = [] if same else [_convolution(inputs, channels, 1, stride), norm(channels)]
        self.shortcut = nn.Sequential(*shortcut)

    def forward(self, x: Tensor) -> Tensor:
        return (self.body(x) + self.shortcut(x)).relu()


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Raises ValueError if the data are no images."""
    inputs, first = image_shape(shape, "resnet")[0], config.widths[0]
    norm = nn.BatchNorm2d if config.norm == "batch" else partial(nn.GroupNorm, config.groups)
    kernel, stride = (7, 2) if config.stem == "imagenet" else (3, 1)
    layers = [_convolution(inputs, first, kernel, stride), norm(first), nn.ReLU()]
    layers += [nn.MaxPool2d(3, stride=2, padding=1)] if config.stem == "imagenet" else []
    inputs = first
    for stage, (channels, blocks) in enumerate(zip(config.widths, config.blocks, strict=True)):
        for block in range(blocks):
            layers.append(Residual(inputs, channels, 2 if stage > 0 and block == 0 else 1, norm))
            inputs = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, outputs))


def _convolution(inputs: int, channels: int, kernel: int, stride: int) -> nn.Module:
    """Same size / stride; no bias, the normalisation after it has one. Initial values: He normal, fan-out."""
    layer = nn.Conv2d(inputs, channels, kernel, stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer
