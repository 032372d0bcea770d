"""CINIC-10 on small generated archives of the same form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairfl.data import cinic10
from fairfl.runtime.errors import DataError, FairflError, SourceError
from fairfl.runtime.validation import checked

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
def made(small, tmp_path, any_checksum, monkeypatch):
    """An archive with the images in mixed order, one of them grey, and other files; {name: file}."""
    monkeypatch.setattr(cinic10, "_PER_CLASS", 3)
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


def test_non_rgb_images_can_be_converted(small, made, tmp_path):
    row = image_names().index(GREY)
    data = cinic10.prepare(tmp_path, cinic10.Config(non_rgb="convert"), 0)
    assert data.tensors["inputs"].shape == (90, 3, 32, 32)
    np.testing.assert_array_equal(data.tensors["inputs"][row], np.stack([pixels(0)[:, :, 0]] * 3))
    assert data.metadata["source"].endswith("; 1 images that are not RGB converted")
    # An alpha channel is not RGB either.
    alpha = np.concatenate([pixels(1), np.full((32, 32, 1), 9, np.uint8)], axis=2)
    put(small, tmp_path, {**made, "train/airplane/n01.png": small.picture(alpha, "PNG")})
    assert len(cinic10.prepare(tmp_path, cinic10.Config(), 0).tensors["labels"]) == 88
    inputs = cinic10.prepare(tmp_path, cinic10.Config(non_rgb="convert"), 0).tensors["inputs"]
    np.testing.assert_array_equal(inputs[2], pixels(1).transpose(2, 0, 1))


NAME = "test/frog/n01.png"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda small, data: data[: len(data) // 2], f"{NAME}: damaged, or not a PNG file"),
        (lambda small, data: b"nonsense", f"{NAME}: damaged, or not a PNG file"),
        (lambda small, data: small.picture(np.zeros((32, 32, 3)), "JPEG"), f"{NAME}: damaged, or not a PNG file"),
        (lambda small, data: small.picture(np.zeros((32, 31, 3)), "PNG"), f"{NAME}: the image is 31x32"),
        (lambda small, data: bytes(65537), f"{NAME} has 65537 bytes; expected 65536 at most"),
        (lambda small, data: None, "CINIC-10.tar.gz: test/frog has 2 different images; expected 3"),
    ],
)
def test_bad_images(small, made, tmp_path, edit, message):
    changed = edit(small, made.pop(NAME))
    put(small, tmp_path, made if changed is None else {**made, NAME: changed})
    with pytest.raises(DataError, match=message):
        cinic10.prepare(tmp_path, cinic10.Config(), 0)


def test_wrong_counts(small, made, tmp_path):
    put(small, tmp_path, {**made, "test/frog/n02.png": made[NAME]})
    with pytest.raises(DataError, match="has more than 90 images in train, valid, test"):
        cinic10.prepare(tmp_path, cinic10.Config(), 0)
    moved = {name: data for name, data in made.items() if name != NAME} | {"test/cat/n02.png": made[NAME]}
    put(small, tmp_path, moved)
    with pytest.raises(DataError, match="test/cat has 4 different images; expected 3"):
        cinic10.prepare(tmp_path, cinic10.Config(), 0)
    assert len(cinic10.prepare(tmp_path, cinic10.Config(part="train"), 0).tensors["labels"]) == 30
    # The same file twice does not make up for one that is missing.
    names = [name for name in image_names() if name != NAME]
    twice = [(name, made[name]) for name in [*names, "test/frog/cifar10-test-3.png"]]
    small.tar(tmp_path / "cinic10" / "CINIC-10.tar.gz", twice)
    with pytest.raises(DataError, match="test/frog/cifar10-test-3.png is there twice"):
        cinic10.prepare(tmp_path, cinic10.Config(), 0)


def test_checksum_and_options(small, tmp_path):
    small.tar(tmp_path / "cinic10" / "CINIC-10.tar.gz", [("a", b"b")])
    with pytest.raises(SourceError, match="checksum mismatch: md5 .* expected 6ee4d0c996905fe93221de577967a372"):
        cinic10.prepare(tmp_path, cinic10.Config(), 0)
    with pytest.raises(FairflError, match="non_rgb: 'dropped' is not valid; did you mean 'drop'"):
        checked({"non_rgb": "dropped"}, cinic10.Config, "cinic10")
    with pytest.raises(FairflError, match="part: 'val' is not valid; did you mean 'valid'"):
        checked({"part": "val"}, cinic10.Config, "cinic10")


@given(st.permutations(range(12)))
def test_reorder_is_indexing(order):
    rows = np.arange(24).reshape(12, 2)
    expected = rows[list(order)]
    cinic10._reorder(rows, list(order))
    np.testing.assert_array_equal(rows, expected)
