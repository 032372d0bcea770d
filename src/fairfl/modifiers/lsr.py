"""LSR, local self-regularisation under noisy labels. Jiang et al., Towards Federated Learning against Noisy Labels via
Local Self-Regularization, CIKM 2022 (FedLSR).

Two views of a batch, as it is and mildly augmented, with logits z1 and z2; c ~ Beta(1, 1) for each batch:

    pm   = c softmax(z1) + (1 - c) softmax(z2)
    ps   = pm^2 / sum pm^2                                       sharpened, temperature 1/2
    Lcls = - log ps[label]
    q_i  = softmax(z_i / Td),  U = (q_1 + q_2) / 2               in [1e-6, 1]
    Lreg = (KL(q_1 || U) + KL(q_2 || U)) / 2                     self-distillation, 0 to log 2
    Lent = (H(q_1) + H(q_2)) / 2
    loss = Lcls + gamma_t Lreg  [ + lam_e Lent ],  gamma_t = gamma min(1, t / (warmup T))      round t = 0, ..., T - 1

FedEBA+ (table 13) defines the first two terms only. `official_code` has the three deviations of the released code: Lcls
takes ps for logits, a second softmax that bounds it; Lreg is the mean over classes too, 1/C of the above; Lent is the
entropy of softmax(q_1), of the first view alone. It uses all terms: `terms: ce+reg+ent`.

Table 13 says nothing of the augmentation. FedLSR's code, drawn for each image, on pixels in [0, 1]:

    rotation    (Fashion-)MNIST: by an angle of -30 to 30 degrees; black comes in from beyond the edge
    colour      CIFAR: mirrored with probability 1/2; with probability 0.8 brightness, contrast and saturation scaled by
                0.2 to 1.8 and the hue moved by -0.2 to 0.2, in random order; grey with probability 0.2

The draws come from the client's generator of the round.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Generator, Tensor

from fairfl.experiments.base import Strict
from fairfl.modifiers.interface import Modifier, Outputs, Samples
from fairfl.runtime.errors import OptionError

LEAST = 1e-6
MOST_DEGREES = 30.0


@cache
def _transforms() -> Any:
    """torchvision's; imported here, because that takes three seconds."""
    from torchvision.transforms.v2 import functional

    return functional


# Changes of colour by an amount in [-1, 1): torchvision's ColorJitter(0.8, 0.8, 0.8, 0.2).
JITTER = (
    lambda image, amount: _transforms().adjust_brightness(image, 1 + 0.8 * amount),
    lambda image, amount: _transforms().adjust_contrast(image, 1 + 0.8 * amount),
    lambda image, amount: _transforms().adjust_saturation(image, 1 + 0.8 * amount),
    lambda image, amount: _transforms().adjust_hue(image, 0.2 * amount),
)


class Config(Strict):
    gamma: float = Field(0.4, ge=0, description="weight of Lreg after warm-up; 0.4 is FedLSR's")
    lam_e: float = Field(
        0.6, ge=0, description="weight of Lent, with terms ce+reg+ent; 0.6 is FedLSR's"
    )
    Td: float = Field(
        1 / 3, gt=0, description="temperature of the distilled predictions; 1/3 is FedLSR's"
    )
    sharpening: float = Field(0.5, gt=0, le=1, description="temperature of ps; 1: pm as it is")
    warmup: float = Field(
        0.2, ge=0, le=1, description="share of the rounds in which the weight of Lreg rises from 0"
    )
    terms: Literal["ce+reg", "ce+reg+ent"] = Field(
        "ce+reg", description="as FedEBA+ defines it, or as FedLSR"
    )
    official_code: bool = Field(False, description="with the deviations of FedLSR's code")
    augmentation: Literal["rotation", "colour", "none"] = Field(
        "rotation",
        description="of the second view: as FedLSR for (Fashion-)MNIST, for CIFAR, or none",
    )


@dataclass(frozen=True)
class SelfRegularised:
    """See `fairfl.modifiers.interface.Objective`."""

    config: Config
    samples: Samples
    rounds: int  # T

    def gamma(self, round: int) -> float:
        """gamma_t."""
        warm = self.config.warmup * self.rounds
        return self.config.gamma * (min(1.0, round / warm) if warm else 1.0)

    def losses(
        self, outputs: Outputs, inputs: Tensor, labels: Tensor, round: int, generator: Generator
    ) -> Tensor:
        c = torch.rand((), generator=generator, dtype=torch.float64).to(
            inputs.device
        )  # Beta(1, 1) is uniform
        z1, z2 = outputs(inputs), outputs(self.second_view(inputs, generator))
        Lcls, Lreg, Lent = terms(z1, z2, labels, c, self.config)
        total = Lcls + self.gamma(round) * Lreg
        return total + self.config.lam_e * Lent if self.config.terms == "ce+reg+ent" else total

    def second_view(self, inputs: Tensor, generator: Generator) -> Tensor:
        """Images [n, C, H, W] augmented; the transforms see pixels in [0, 1]."""
        if self.config.augmentation == "none":
            return inputs
        mean, std = self.samples.mean.to(inputs), self.samples.std.to(inputs)
        augmented = rotated if self.config.augmentation == "rotation" else coloured
        return (augmented((inputs * std + mean).clamp(0, 1), generator) - mean) / std


def terms(
    z1: Tensor, z2: Tensor, labels: Tensor, c: Tensor, config: Config
) -> tuple[Tensor, Tensor, Tensor]:
    """Lcls, Lreg, Lent of each sample, [n], nats, from the logits [n, C] of both views and c [] float64.

    At least in float32, whatever the precision of the model.
    """
    z1, z2 = (z.to(torch.promote_types(z.dtype, torch.float32)) for z in (z1, z2))
    log_pm = torch.logaddexp(z1.log_softmax(1) + c.log(), z2.log_softmax(1) + (1 - c).log())
    log_ps = (log_pm / config.sharpening).log_softmax(1)
    q1, q2 = ((z / config.Td).softmax(1).clamp(LEAST, 1) for z in (z1, z2))
    Lreg = (divergence(q1, (q1 + q2) / 2) + divergence(q2, (q1 + q2) / 2)) / 2
    if config.official_code:
        return (
            F.cross_entropy(log_ps.exp(), labels, reduction="none"),
            Lreg / z1.shape[1],
            entropy(q1.softmax(1)),
        )
    return F.nll_loss(log_ps, labels, reduction="none"), Lreg, (entropy(q1) + entropy(q2)) / 2


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """KL(p || q) of each row, [n], nats."""
    return (p * (p / q).log()).sum(1)


def entropy(p: Tensor) -> Tensor:
    """H of each row, [n], nats."""
    return -(p * p.log()).sum(1)


def rotated(images: Tensor, generator: Generator) -> Tensor:
    """Images [n, C, H, W] in [0, 1], each by its own angle; to the bit what torchvision's `rotate` makes of each."""
    n, _, height, width = images.shape
    turns = 2 * torch.rand(n, generator=generator, dtype=torch.float64) - 1
    radians = [math.radians(-(MOST_DEGREES * turn % 360)) for turn in turns.tolist()]
    inverse = [[[math.cos(r), math.sin(r), 0.0], [-math.sin(r), math.cos(r), 0.0]] for r in radians]
    # Where each pixel comes from: its place (x, y, 1) times the inverse rotation, in units of half an image.
    places = images.new_ones(height, width, 3)
    places[..., 0] = torch.linspace((1 - width) / 2, (width - 1) / 2, width)
    places[..., 1] = torch.linspace((1 - height) / 2, (height - 1) / 2, height).unsqueeze(1)
    half = images.new_tensor([width / 2, height / 2])
    grid = places.view(1, -1, 3).expand(n, -1, -1).bmm(images.new_tensor(inverse).mT / half)
    return F.grid_sample(
        images, grid.view(n, height, width, 2), "nearest", "zeros", align_corners=False
    )


def coloured(images: Tensor, generator: Generator) -> Tensor:
    """Images [n, 3, H, W] in [0, 1], each changed by its own draws."""
    draws = torch.rand(len(images), 11, generator=generator, dtype=torch.float64)
    return torch.stack([_coloured(x, draw) for x, draw in zip(images, draws, strict=True)])


def _coloured(image: Tensor, draw: Tensor) -> Tensor:
    """One image [3, H, W]; draws [11] in [0, 1): mirrored, jittered, grey, amounts of four changes, their order."""
    mirrored, jittered, grey = (draw[:3] < torch.tensor([0.5, 0.8, 0.2])).tolist()
    amounts = (2 * draw[3:7] - 1).tolist()
    image = _transforms().horizontal_flip(image) if mirrored else image
    for change in draw[7:].argsort().tolist() if jittered else ():
        image = JITTER[change](image, amounts[change])
    return _transforms().rgb_to_grayscale(image, num_output_channels=3) if grey else image


class LSR(Modifier[Config]):
    losses = ("cross_entropy",)

    def objective(self, loss: str, samples: Samples, rounds: int) -> "SelfRegularised":
        """Raises OptionError if a sample is not an image [channels, height, width], or has no colours."""
        if len(samples.shape) != 3:
            raise OptionError(
                f"modifier lsr needs images [channels, height, width], the data have shape {list(samples.shape)}"
            )
        channels = samples.shape[0]
        if self.config.augmentation == "colour" and channels != 3:
            raise OptionError(
                f"lsr.augmentation: 'colour' needs images of 3 channels, these have {channels}; use 'rotation'"
            )
        return SelfRegularised(self.config, samples, rounds)
