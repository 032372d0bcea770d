"""Tiny-ImageNet on small generated archives of both forms, and on a mirror where there is one."""

import numpy as np
import pytest

from fairfl.data import tiny_imagenet

WNIDS = ("n02124075", "n01443537", "n04067472")  # not in the order of their ids
ADDED = ("n02480855", "n10148035")
ROOT = "tiny-imagenet-200/"


def colour(part, wnid, number):
    return 40 * sorted((*WNIDS, *ADDED)).index(wnid) + 20, 20 * number + 10, 200 if part == "val" else 30


def jpeg(small, rgb, side=64):
    return small.picture(np.full((side, side, 3), rgb), "JPEG", quality=95)


@pytest.fixture
def few(any_checksum, monkeypatch):
    """Three classes of three training images, of which the subset has two, and one validation image."""
    monkeypatch.setattr(tiny_imagenet, "CLASSES", 3)
    monkeypatch.setattr(tiny_imagenet, "_PER_CLASS", {"train": 3, "val": 1})


@pytest.fixture
def published(small, few, tmp_path):
    """{name: content} of an archive as published, written."""
    made = {ROOT + "wnids.txt": "\n".join(WNIDS), ROOT + "words.txt": "n02124075\tEgyptian cat"}
    for wnid in WNIDS:
        made[f"{ROOT}train/{wnid}/{wnid}_boxes.txt"] = f"{wnid}_0.JPEG\t0\t0\t63\t63\n"
        for number in (2, 0, 1):
            made[f"{ROOT}train/{wnid}/images/{wnid}_{number}.JPEG"] = jpeg(small, colour("train", wnid, number))
    lines = []
    for number, wnid in enumerate(WNIDS):
        made[f"{ROOT}val/images/val_{number}.JPEG"] = jpeg(small, colour("val", wnid, number))
        lines.append(f"val_{number}.JPEG\t{wnid}\t0\t32\t44\t62\n")
    made[ROOT + "val/val_annotations.txt"] = "".join(lines)
    made[ROOT + "test/images/test_0.JPEG"] = b"not read"
    put(small, tmp_path, made)
    return made


@pytest.fixture
def subset(small, few, tmp_path):
    """{name: content} of a subset with two classes too many, written."""
    made = {}
    for number, wnid in enumerate((*WNIDS, *ADDED)):
        made[f"test/{wnid}/val_{number}.JPEG"] = jpeg(small, colour("val", wnid, number))
        for image in (1, 0):
            made[f"train/{wnid}/{wnid}_{image}.JPEG"] = jpeg(small, colour("train", wnid, image))
    put_subset(small, tmp_path, made)
    return made


def put(small, folder, made):
    small.zip(folder / "tiny_imagenet" / "tiny-imagenet-200.zip", made.items())


def put_subset(small, folder, made):
    small.tar(folder / "tiny_imagenet" / "tiny_imagenet_subset.tar.xz", made.items(), "w:xz")


def expected(per_class):
    """Colours in the order of part, class and number, [N, 3]."""
    train = [colour("train", wnid, number) for wnid in sorted(WNIDS) for number in range(per_class)]
    return np.array(train + [colour("val", wnid, WNIDS.index(wnid)) for wnid in sorted(WNIDS)])


def check(data, per_class):
    tensors = data.tensors
    train = 3 * per_class
    assert tensors["inputs"].shape == (train + 3, 3, 64, 64) and tensors["inputs"].dtype == np.uint8
    # Compression moves a colour by a step or two.
    assert np.abs(tensors["inputs"].astype(int) - expected(per_class)[:, :, None, None]).max() <= 3
    assert tensors["labels"].tolist() == [*np.repeat([0, 1, 2], per_class), 0, 1, 2]
    assert tensors["official_test"].tolist() == [0] * train + [1] * 3
    assert data.metadata["classes"] == "3"


def test_published_form(published, tmp_path):
    data = tiny_imagenet.prepare(tmp_path, tiny_imagenet.Config(), 0)
    check(data, 3)
    assert data.metadata["source"] == "Tiny-ImageNet, part all, as published"
    assert (data.metadata["scale_mean"], data.metadata["scale_std"]) == ("0.0", "1.0")


def test_parts(published, subset, tmp_path):
    whole = tiny_imagenet.prepare(tmp_path, tiny_imagenet.Config(), 0).tensors["inputs"]
    for part, rows in (("train", slice(9)), ("val", slice(9, None))):
        tensors = tiny_imagenet.prepare(tmp_path, tiny_imagenet.Config(part=part), 0).tensors
        np.testing.assert_array_equal(tensors["inputs"], whole[rows])
        assert "official_test" not in tensors
    lesser = tiny_imagenet.prepare(tmp_path, tiny_imagenet.Config(part="train", form="subset"), 0)
    assert lesser.metadata["source"] == "Tiny-ImageNet, part train, a subset: 6 of 9 train images, 3 classes"
    np.testing.assert_array_equal(lesser.tensors["inputs"], whole[[0, 1, 3, 4, 6, 7]])
