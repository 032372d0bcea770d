"""Training samples of each class, for algorithms that are about one label per sample."""

import torch
from torch import Tensor

from fairfl.algorithms.interface import Federation
from fairfl.runtime.errors import FairflError


def class_counts(algorithm: str, federation: Federation) -> Tensor:
    """[K, C] float64. Raises FairflError in a regression and where a sample asks for a prediction at each position."""
    labels = federation.labels
    if labels is None or not labels.shape[1]:
        raise FairflError(f"{algorithm}: loss: it needs classes, and a regression has none")
    if not torch.equal(labels.sum(1), federation.samples):
        raise FairflError(
            f"{algorithm}: loss: it needs one class for each sample, "
            f"here {labels.sum():.0f} are to be predicted in {federation.samples.sum():.0f} samples"
        )
    return labels
