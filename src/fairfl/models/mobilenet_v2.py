"""MobileNet-v2 (Sandler et al. 2018) as torchvision has it: depthwise convolutions and batch normalisation; logits out.

FedEBA+ on Tiny-ImageNet: 2,480,072 parameters for 200 classes. It does not say where the weights start, but its
accuracy is out of reach of random ones.
"""

from pydantic import Field, model_validator
from torch import nn

from fairfl.experiments.base import Strict
from fairfl.models import weights
from fairfl.models.layers import image_shape

LIBRARIES = ("torchvision.models.mobilenetv2",)
# The weights that `pretrained: imagenet` means, in fairfl.data.pretrained.
PUBLISHED = "mobilenet_v2"

# Expansion, channels, blocks, stride of each stage: table 2 of Sandler et al.
STAGES = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)
)  # fmt: skip


class Config(Strict):
    width: float = Field(
        1.0, gt=0, description="times the channels of the stages, rounded to multiples of 8"
    )
    stages: int = Field(
        7, ge=2, le=7, description="the first of the seven; fewer are for smaller models"
    )
    small_input: bool = Field(
        False,
        description="stride 1 in the stem and in the first stage with stride 2: for images of 32 or 64 pixels",
    )
    dropout: float = Field(0.2, ge=0, lt=1, description="before the head; 0.2 is torchvision's")
    pretrained: str | None = Field(
        None,
        description="imagenet: the weights that torchvision publishes (width 1, stages 7); a file of weights under the "
        "same names; null: random weights. The head is random for other classes",
    )

    @model_validator(mode="after")
    def _published(self) -> "Config":
        for key, value in (("width", 1.0), ("stages", 7)):
            if self.pretrained == "imagenet" and getattr(self, key) != value:
                raise ValueError(
                    f"{key} is {getattr(self, key)}, the weights of pretrained: imagenet are of {value}"
                )
        return self


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Raises ValueError if the data are no images, FairflError if weights that are asked for are not there."""
    channels = image_shape(shape, "mobilenet_v2")[0]
    stages = [list(stage) for stage in STAGES[: config.stages]]
    if config.small_input:
        next(stage for stage in stages if stage[-1] == 2)[-1] = 1
    from torchvision.models import mobilenetv2  # which takes a second

    model = mobilenetv2.MobileNetV2(outputs, config.width, stages, dropout=config.dropout)
    # torchvision's stem is for three channels, with stride 2.
    stem = model.features[0]
    stem[0] = nn.Conv2d(
        channels, stem[0].out_channels, 3, 1 if config.small_input else 2, padding=1, bias=False
    )
    nn.init.kaiming_normal_(stem[0].weight, mode="fan_out")
    return weights.start(model, "MobileNet-v2", config.pretrained, PUBLISHED, "classifier.1")
