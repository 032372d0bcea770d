"""CINIC-10 on small generated archives of the same form."""

import numpy as np
import pytest

from fairfl.data import cinic10

CLASS_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
PARTS = ("train", "valid", "test")
GREY = "valid/deer/n01.png"


def image_names():
    """Three per class and part, in the order that the rows have: "cifar..." before "n..."."""
    return [
        f"{part}/{name}/{file}"
        for part in PARTS
        for name in CLASS_NAMES
        for file in (f"cifar10-{part}-12.png", f"cifar10-{part}-3.png", "n01.png")
    ]


def pixels(row):
    return np.random.default_rng(row).integers(0, 256, (32, 32, 3), dtype=np.uint8)


@pytest.fixture
def made(small, tmp_path, any_checksum):
    """An archive with the images in mixed order, one of them grey, and other files; {name: file}."""
    files = {name: small.picture(pixels(row), "PNG") for row, name in enumerate(image_names())}
    files[GREY] = small.picture(pixels(0)[:, :, 0], "PNG")
    put(small, tmp_path, files)
    return files


def put(small, folder, files):
    names = np.random.default_rng(0).permutation(sorted(files)).tolist()
    others = [("README.md", b"about"), ("imagenet-contributors.csv", b"a,b"), ("train/cat/notes.txt", b"x")]
    members = [*others, *((f"./{name}", files[name]) for name in names)]
    small.tar(folder / "cinic10" / "CINIC-10.tar.gz", members)


def test_rows_are_in_the_order_of_part_class_and_name(made, tmp_path):
    data = cinic10.prepare(tmp_path, cinic10.Config(), 0)
    kept = [row for row, name in enumerate(image_names()) if name != GREY]
    assert len(kept) == 89
    expected = np.stack([pixels(row) for row in kept]).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(data.tensors["inputs"], expected)
    assert data.tensors["labels"].tolist() == [row // 3 % 10 for row in kept]
    assert data.metadata["source"] == "CINIC-10, part all, as published; 1 images that are not RGB dropped"
    assert data.metadata["classes"] == "10"


def test_parts(made, tmp_path):
    for number, part in enumerate(PARTS):
        inputs = cinic10.prepare(tmp_path, cinic10.Config(part=part, non_rgb="convert"), 0).tensors["inputs"]
        assert len(inputs) == 30
        np.testing.assert_array_equal(inputs[0], pixels(30 * number).transpose(2, 0, 1))
