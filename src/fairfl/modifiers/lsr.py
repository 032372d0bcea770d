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

Table 13 says nothing of the augmentation. It is drawn for each image: mirrored with probability 1/2, shifted by a crop
of the padded image, brightness and contrast changed.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Generator, Tensor

from fairfl.experiments.base import Strict
from fairfl.models.layers import image_shape
from fairfl.modifiers.interface import Modifier, Outputs

LEAST = 1e-6


class Config(Strict):
    gamma: float = Field(0.4, ge=0, description="weight of Lreg after warm-up; 0.4 is FedLSR's")
    lam_e: float = Field(0.6, ge=0, description="weight of Lent, with terms ce+reg+ent; 0.6 is FedLSR's")
    Td: float = Field(1 / 3, gt=0, description="temperature of the distilled predictions; 1/3 is FedLSR's")
    sharpening: float = Field(0.5, gt=0, le=1, description="temperature of ps; 1: pm as it is")
    warmup: float = Field(0.2, ge=0, le=1, description="share of the rounds in which the weight of Lreg rises from 0")
    terms: Literal["ce+reg", "ce+reg+ent"] = Field("ce+reg", description="as FedEBA+ defines it, or as FedLSR")
    official_code: bool = Field(False, description="with the deviations of FedLSR's code")
    flip: bool = Field(True, description="mirror every second image, at random")
    shift: float = Field(
        0.125,
        ge=0,
        lt=1,
        description="share of the side by which an image moves at most, rounded down to whole pixels: 4 of 32, 1 of 8; "
        "0 comes in from beyond the edge, the mean of normalised images",
    )
    jitter: float = Field(
        0.1,
        ge=0,
        le=1,
        description="a: brightness moves by up to a, in the unit of the inputs; contrast is scaled by 1 - a to 1 + a",
    )


@dataclass(frozen=True)
class SelfRegularised:
    """See `fairfl.modifiers.interface.Objective`."""

    config: Config
    rounds: int  # T

    def gamma(self, round: int) -> float:
        """gamma_t."""
        warm = self.config.warmup * self.rounds
        return self.config.gamma * (min(1.0, round / warm) if warm else 1.0)

    def losses(self, outputs: Outputs, inputs: Tensor, labels: Tensor, round: int, generator: Generator) -> Tensor:
        c = torch.rand((), generator=generator, dtype=torch.float64).to(inputs.device)  # Beta(1, 1) is uniform
        z1, z2 = outputs(inputs), outputs(augmented(inputs, self.config, generator))
        Lcls, Lreg, Lent = terms(z1, z2, labels, c, self.config)
        total = Lcls + self.gamma(round) * Lreg
        return total + self.config.lam_e * Lent if self.config.terms == "ce+reg+ent" else total


def terms(z1: Tensor, z2: Tensor, labels: Tensor, c: Tensor, config: Config) -> tuple[Tensor, Tensor, Tensor]:
    """Lcls, Lreg, Lent of each sample, [n], nats, from the logits [n, C] of both views and c [] float64.

    At least in float32, whatever the precision of the model.
    """
    z1, z2 = (z.to(torch.promote_types(z.dtype, torch.float32)) for z in (z1, z2))
    log_pm = torch.logaddexp(z1.log_softmax(1) + c.log(), z2.log_softmax(1) + (1 - c).log())
    log_ps = (log_pm / config.sharpening).log_softmax(1)
    q1, q2 = ((z / config.Td).softmax(1).clamp(LEAST, 1) for z in (z1, z2))
    Lreg = (divergence(q1, (q1 + q2) / 2) + divergence(q2, (q1 + q2) / 2)) / 2
    if config.official_code:
        return F.cross_entropy(log_ps.exp(), labels, reduction="none"), Lreg / z1.shape[1], entropy(q1.softmax(1))
    return F.nll_loss(log_ps, labels, reduction="none"), Lreg, (entropy(q1) + entropy(q2)) / 2


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """KL(p || q) of each row, [n], nats."""
    return (p * (p / q).log()).sum(1)


def entropy(p: Tensor) -> Tensor:
    """H of each row, [n], nats."""
    return -(p * p.log()).sum(1)


def augmented(images: Tensor, config: Config, generator: Generator) -> Tensor:
    """The second view of images [n, C, H, W], each changed by its own draws. Draws are made on the CPU."""
    n, device = len(images), images.device

    def uniform() -> Tensor:
        """[n, 1, 1, 1] in [0, 1)."""
        return torch.rand(n, 1, 1, 1, generator=generator).to(device)

    if config.flip:
        images = torch.where(uniform() < 0.5, images.flip(3), images)
    for axis in (2, 3):
        most = int(config.shift * images.shape[axis])
        if most:
            moves = torch.randint(-most, most + 1, (n,), generator=generator).to(device)
            images = moved(images, moves, axis)
    if config.jitter:
        a = config.jitter
        mean = images.mean((1, 2, 3), keepdim=True)
        contrast, brightness = 1 + a * (2 * uniform() - 1), a * (2 * uniform() - 1)
        images = ((images - mean) * contrast + mean + brightness).to(images.dtype)
    return images


def moved(images: Tensor, moves: Tensor, axis: int) -> Tensor:
    """Images [n, C, H, W] moved along an axis by so many pixels, [n] int64; what comes in from beyond the edge is 0."""
    shape = [1, 1, 1, 1]
    shape[axis] = images.shape[axis]
    source = torch.arange(images.shape[axis], device=images.device).view(shape) - moves.view(-1, 1, 1, 1)
    inside = (source >= 0) & (source < images.shape[axis])
    source = source.clamp(0, images.shape[axis] - 1).expand(images.shape)
    return torch.where(inside, images.gather(axis, source), 0)


class LSR(Modifier[Config]):
    losses = ("cross_entropy",)

    def objective(self, loss: str, classes: int, shape: tuple[int, ...], rounds: int) -> "SelfRegularised":
        """Raises ValueError if a sample is no image [channels, height, width]."""
        image_shape(shape, "modifier lsr")
        return SelfRegularised(self.config, rounds)
