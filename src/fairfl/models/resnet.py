"""Residual network of basic blocks (He et al. 2016) with group or batch normalisation, logits out.

The default is ResNet-18.

VRed: ResNet-18 with GroupNorm on 32 x 32 images. The stem of ImageNet even there, two groups and the initial
values are from FairFL, the public code of the same group, and so is a start from ImageNet's weights, which were
trained with batch normalisation. Group normalisation has no running statistics, so the parameters are all of the model.

FOCUS: ResNet-18 on CIFAR-10. The paper says no more than that; the original has batch normalisation.

FedEBA+: ResNet-18 on CIFAR-100, "Resnet" on Tiny-ImageNet, where its numbers are out of reach of random weights.

Layers have the names of torchvision's, so that files of its weights fit.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, ValidationInfo, field_validator, model_validator
from torch import Tensor, nn

from fairfl.experiments.base import Strict
from fairfl.models import weights
from fairfl.models.layers import image_shape

PUBLISHED = "resnet18"  # the weights that `pretrained: imagenet` means, in fairfl.data.pretrained


class Config(Strict):
    widths: list[Annotated[int, Field(ge=1)]] = Field(
        default=[64, 128, 256, 512], min_length=1, description="channels of the stages"
    )
    blocks: list[Annotated[int, Field(ge=1)]] = Field(
        default=[2, 2, 2, 2], validate_default=True, description="blocks of each stage"
    )
    norm: Literal["group", "batch"] = Field(
        "group",
        description="batch: means and variances of the batch; running ones, momentum 0.1, in evaluation",
    )
    groups: int = Field(
        2,
        ge=1,
        validate_default=True,
        description="norm group: groups of channels with a mean and variance each",
    )
    stem: Literal["imagenet", "cifar"] = Field(
        "imagenet", description="7x7 with stride 2 and max-pool 3x3 with stride 2; or 3x3, no pool"
    )
    pretrained: str | None = Field(
        None,
        description="imagenet: the weights that torchvision publishes for ResNet-18 (stem imagenet), with norm group "
        "without the running statistics, as FairFL loads them; a file of weights under the same names; null: random "
        "weights. The head is random for other classes",
    )

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

    @model_validator(mode="after")
    def _published(self) -> "Config":
        for key in ("widths", "blocks", "stem"):
            value = type(self).model_fields[key].default  # ResNet-18's
            if self.pretrained == "imagenet" and (own := getattr(self, key)) != value:
                raise ValueError(
                    f"{key} is {own!r}, the weights of pretrained: imagenet are of {value!r}"
                )
        return self


class SameSize(nn.Conv2d):
    """A convolution padded to keep the size, or the size / stride. Initial values: He normal, fan-out.

    It has no bias: the normalisation after it has one.

    An image of at most kernel // 2 + 1 pixels a side is whole under the kernel wherever that stands: it is multiplied
    with what lies on it. The rest meets padding: five or eight of nine products in the last two stages of ResNet-18
    with the ImageNet stem, where 32 x 32 images have 2 x 2 pixels and one.
    """

    def __init__(self, inputs: int, channels: int, kernel: int, stride: int) -> None:
        super().__init__(inputs, channels, kernel, stride, padding=kernel // 2, bias=False)
        nn.init.kaiming_normal_(self.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        (height, width), middle, step = x.shape[-2:], self.kernel_size[0] // 2, self.stride[0]
        if max(height, width) > middle + 1:
            return super().forward(x)
        # Parameters and images are stored channels last: so gradients are as well.
        kernel, x = self.weight.permute(0, 2, 3, 1), x.permute(0, 2, 3, 1)
        rows, columns = (range(middle, middle - size, -step) for size in (height, width))
        on_image = [kernel[:, r : r + height, c : c + width] for r in rows for c in columns]
        pixels = F.linear(x.flatten(1), torch.cat(on_image).flatten(1))
        return pixels.unflatten(1, (len(rows), -1, len(kernel))).permute(0, 3, 1, 2)


class Residual(nn.Module):
    """Two 3x3 convolutions; their result plus x itself, or plus a 1x1 convolution of x where the shape changes."""

    def __init__(
        self, inputs: int, channels: int, stride: int, norm: Callable[[int], nn.Module]
    ) -> None:
        super().__init__()
        self.conv1, self.bn1 = SameSize(inputs, channels, 3, stride), norm(channels)
        self.conv2, self.bn2 = SameSize(channels, channels, 3, 1), norm(channels)
        same = (inputs, stride) == (channels, 1)
        shortcut = [] if same else [SameSize(inputs, channels, 1, stride), norm(channels)]
        self.downsample = nn.Sequential(*shortcut)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.bn1(self.conv1(x)).relu()
        return (self.bn2(self.conv2(inner)) + self.downsample(x)).relu()


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Raises ValueError if the data are no images, FairflError if weights that are asked for are not there."""
    inputs, first = image_shape(shape, "resnet")[0], config.widths[0]
    norm = nn.BatchNorm2d if config.norm == "batch" else partial(nn.GroupNorm, config.groups)
    kernel, stride = (7, 2) if config.stem == "imagenet" else (3, 1)
    layers: dict[str, nn.Module] = {
        "conv1": SameSize(inputs, first, kernel, stride),
        "bn1": norm(first),
        "relu": nn.ReLU(),
    }
    if config.stem == "imagenet":
        layers["maxpool"] = nn.MaxPool2d(3, stride=2, padding=1)
    inputs = first
    for stage, (channels, blocks) in enumerate(zip(config.widths, config.blocks, strict=True), 1):
        changing = Residual(inputs, channels, 2 if stage > 1 else 1, norm)
        layers[f"layer{stage}"] = nn.Sequential(
            changing, *(Residual(channels, channels, 1, norm) for _ in range(blocks - 1))
        )
        inputs = channels
    layers |= {
        "avgpool": nn.AdaptiveAvgPool2d(1),
        "flatten": nn.Flatten(),
        "fc": nn.Linear(inputs, outputs),
    }
    return weights.start(
        nn.Sequential(OrderedDict(layers)), "ResNet", config.pretrained, PUBLISHED, "fc"
    )
