"""Symmetric label noise: probabilities, which labels it may touch, and how it reaches the engine."""

import numpy as np
import pytest

from fairfl.partition.deal import Spec, partition, statistics
from fairfl.partition.interface import PartitionError
from fairfl.partition.label_noise import flipped
from tests.unit.partition.partition_tables import job, rng


def noise(ratio, **changes):
    return Spec(**job(label_noise={"ratio": ratio}, **changes))


def tensors():
    return {"labels": np.arange(300) % 5, "groups": np.arange(300)}


@pytest.mark.parametrize("ratio", [0.3, 0.75])
def test_the_transition_matrix(ratio):
    """1 - r on the diagonal, r / (C - 1) beside it; with r = 3/4 and four classes all of it is 1/4."""
    labels = np.repeat(np.arange(4), 20_000)
    noisy = flipped(labels, ratio, 4, rng())
    matrix = np.stack([np.bincount(noisy[labels == c], minlength=4) for c in range(4)]) / 20_000
    np.testing.assert_allclose(matrix, (1 - ratio - ratio / 3) * np.eye(4) + ratio / 3, atol=0.015)


@pytest.mark.parametrize(
    ("labels", "classes", "kind"),
    [
        (np.zeros((3, 4), int), 5, "words to predict"),
        (np.zeros(3, np.float32), 1, "numbers to predict"),
        (np.zeros(3, int), 1, "only one"),
    ],
)
def test_what_has_no_classes_is_refused(labels, classes, kind):
    with pytest.raises(PartitionError, match=f"label_noise flips classes, and the samples have {kind}"):
        flipped(labels, 0.5, classes, rng())


def test_only_training_labels_change():
    data = tensors()
    columns, assignment = partition(noise(0.5), data)
    wrong = columns["label"] != data["labels"][columns["row"]]
    train = columns["part"] == 0
    assert not wrong[~train].any() and 0.35 < wrong[train].mean() < 0.65
    assert assignment.remarks == [f"label noise: {wrong.sum()} of {train.sum()} training labels are wrong"]


def test_statistics_count_the_labels_that_are_used():
    data = tensors()
    columns, assignment = partition(noise(1.0, clients=1), data)
    head, *lines = statistics(columns, data["labels"], assignment.remarks, "digits (stand-in for emnist)").splitlines()
    assert head == "client,part,samples,label_0,label_1,label_2,label_3,label_4,data,remarks" and len(lines) == 3
    counts = [int(number) for number in lines[0].split(",")[3:8]]
    assert counts == np.bincount(columns["label"][columns["part"] == 0], minlength=5).tolist()
    assert lines[0].endswith('digits (stand-in for emnist),"label noise: 180 of 180 training labels are wrong"')
