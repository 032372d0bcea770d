"""CIFAR-10, CIFAR-100, CINIC-10 and Tiny-ImageNet on small generated archives of the same forms."""

import io
import pickle
import random

import numpy as np
import pytest

from fairfl.data import cifar10, cifar100, cinic10, tiny_imagenet
from fairfl.data.formats import cifar
from fairfl.runtime.errors import SourceError
from tests.unit.data import toys

pytestmark = pytest.mark.usefixtures("any_checksum")

# Classes are numbered by the alphabet, in which an underscore comes before letters.
NATURE, WNIDS = ("apple", "pine_tree", "pinecone"), ("n01443537", "n02124075", "n04067472")
ROOT = "tiny-imagenet-200/"
JPEGS, PNGS = ("0000.jpg", "0001.jpg"), ("cifar10-12.png", "cifar10-3.png")


def in_folders(part, classes, files):
    """Names of the files, in the order of the rows."""
    return [f"{part}/{name}/{file.format(name)}" for name in classes for file in files]


VALIDATION = "".join(f"val_{n}.JPEG\t{WNIDS[n - 2]}\t0\t32\t44\t62\n" for n in range(3))
ARCHIVES = [  # the archive, its files by part in the order of the rows, files that are passed over, the source
    (cifar10, "cifar10/cifar10_jpeg.tar.xz", {part: in_folders(part, NATURE, JPEGS) for part in ("train", "test")},
     {"files.tsv": "train/apple/0000.jpg\ta.png"}, "CIFAR-10, part all, JPEG-compressed copy, lossy"),
    (cinic10, "cinic10/CINIC-10.tar.gz",
     {part: in_folders(f"./{part}", NATURE, PNGS) for part in ("train", "valid", "test")},
     {"README.md": "about", "train/cat/notes.txt": "x"},
     "CINIC-10, part all, as published; 0 images that are not RGB dropped"),
    (tiny_imagenet, "tiny_imagenet/tiny-imagenet-200.zip",
     {"train": in_folders(f"{ROOT}train", WNIDS, [f"images/{{}}_{n}.JPEG" for n in (0, 2, 10)]),
      "val": [f"{ROOT}val/images/val_{n}.JPEG" for n in (2, 0, 1)]},
     {f"{ROOT}val/val_annotations.txt": VALIDATION, f"{ROOT}test/images/test_0.JPEG": "not read"},
     "Tiny-ImageNet, part all, as published"),
    (tiny_imagenet, "tiny_imagenet/tiny_imagenet_subset.tar.xz",
     {"train": in_folders("train", WNIDS, ["{}_0.JPEG", "{}_1.JPEG"]), "val": in_folders("test", WNIDS, ["v_7.JPEG"])},
     {"train/n02480855/n02480855_0.JPEG": "of a class too many"},
     "Tiny-ImageNet, part all, a subset: 6 of 9 train images and 3 of 3 val images, 3 classes"),
]  # fmt: skip


def colour(row):
    return 37 * row % 256, 101 * row % 256, 11 * row % 256


def write(path, parts, others, side=32):
    """An archive with its files in mixed order, each picture of a colour of its own."""
    names, blank = sum(parts.values(), []), np.ones((side, side, 1))
    kind = "PNG" if names[0].endswith("png") else "JPEG"
    members = [(name, toys.picture(blank * colour(row), kind)) for row, name in enumerate(names)]
    members += [(name, text.encode()) for name, text in others.items()]
    random.Random(0).shuffle(members)
    toys.put(path, (toys.zipped if path.suffix == ".zip" else toys.tar)(members))


@pytest.mark.parametrize(("module", "path", "parts", "others", "source"), ARCHIVES, ids=[row[1] for row in ARCHIVES])
def test_rows_are_in_the_order_of_part_class_and_file(tmp_path, monkeypatch, module, path, parts, others, source):
    side = 64 if module is tiny_imagenet else 32
    if module is tiny_imagenet:
        monkeypatch.setattr(tiny_imagenet, "CLASSES", 3)
        monkeypatch.setattr(tiny_imagenet, "_PER_CLASS", {"train": 3, "val": 1})
    write(tmp_path / path, parts, others, side)
    data = module.prepare(tmp_path, module.Config(), 0)
    sizes, inputs = [len(names) for names in parts.values()], data.tensors["inputs"]
    assert inputs.shape == (sum(sizes), 3, side, side) and inputs.dtype == np.uint8
    colours = np.array([colour(row) for row in range(len(inputs))])
    assert np.abs(inputs.astype(int) - colours[:, :, None, None]).max() <= 3, "compression moves it by a step or two"
    assert data.tensors["labels"].tolist() == [label for n in sizes for label in np.repeat(range(3), n // 3)]
    assert data.metadata["source"] == source
    if module is not cinic10:
        assert data.tensors["official_test"].tolist() == [0] * sizes[0] + [1] * sizes[1]
    for part, rows in zip(parts, np.split(np.arange(len(inputs)), np.cumsum(sizes)[:-1]), strict=True):
        tensors = module.prepare(tmp_path, module.Config(part=part), 0).tensors
        np.testing.assert_array_equal(tensors["inputs"], inputs[rows])
        assert "official_test" not in tensors


def test_grey_images_of_cinic10_are_dropped_or_converted(tmp_path):
    shapes = {"a.png": (32, 32, 3), "b.png": (32, 32)}
    files = [(f"test/cat/{name}", toys.picture(np.full(shape, 9), "PNG")) for name, shape in shapes.items()]
    toys.put(tmp_path / "cinic10/CINIC-10.tar.gz", toys.tar(files))
    kept, both = (cinic10.prepare(tmp_path, cinic10.Config(non_rgb=way), 0) for way in ("drop", "convert"))
    assert (len(kept.tensors["inputs"]), len(both.tensors["inputs"])) == (1, 2) and (both.tensors["inputs"] == 9).all()
    assert kept.metadata["source"].endswith("1 images that are not RGB dropped")


def test_images_of_cinic10_are_mixed_with_their_labels(tmp_path):
    """Stored order has CIFAR-10's images of a class before ImageNet's: a cut in stored order would part them."""
    files = {part: in_folders(part, NATURE, [f"{n:02}.png" for n in range(9)]) for part in ("train", "valid", "test")}
    write(tmp_path / "cinic10/CINIC-10.tar.gz", files, {})
    stored, drawn = (cinic10.prepare(tmp_path, cinic10.Config(order=order), 0).tensors for order in ("stored", "drawn"))
    pairs = [
        [(*image[:, 0, 0], label) for image, label in zip(one["inputs"], one["labels"], strict=True)]
        for one in (stored, drawn)
    ]
    assert sorted(pairs[0]) == sorted(pairs[1]) and len(set(pairs[0])) == 81
    places = np.argsort([pairs[0].index(pair) for pair in pairs[1]])
    assert abs(np.corrcoef(places, np.arange(81))[0, 1]) < 0.3


# -- The published form of CIFAR: pickles.
# As Python 2 and the numpy of its time wrote it.
PYTHON_2 = (
    b"\x80\x02}(U\x04datacnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR(K\x01(K\x02K\x02t"
    b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x04\x00\x01\x02\x03tb"
    b"U\x06labels](K\x05K\x07eu."
)


def test_pickles_of_python_2_that_call_nothing():
    batch = cifar._Unpickler(io.BytesIO(PYTHON_2), encoding="bytes").load()
    assert batch[b"labels"] == [5, 7] and batch[b"data"].tolist() == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="eval"):
        cifar._Unpickler(io.BytesIO(pickle.dumps(eval))).load()


def put_batches(path, key, batches):
    """Batches {name: labels} in an archive; returns their images, [4, 3072] each."""
    images, members = [], []
    for seed, (name, labels) in enumerate(batches.items()):
        images.append(np.random.default_rng(seed).integers(0, 256, (4, 3072), dtype=np.uint8))
        members.append((name, pickle.dumps({b"batch_label": b"made", key: labels, b"data": images[-1]}, 4)))
    toys.put(path, toys.tar([*reversed(members), ("readme.html", b"hi")]))
    return np.concatenate(images).reshape(-1, 3, 32, 32)


def test_cifar100_as_published_has_fine_and_coarse_labels(tmp_path):
    parts = {"cifar-100-python/train": [0, 99, 50, 7], "cifar-100-python/test": [1, 99, 50, 7]}
    images = put_batches(tmp_path / "cifar100/cifar-100-python.tar.gz", b"fine_labels", parts)
    data = cifar100.prepare(tmp_path, cifar100.Config(), 0)
    np.testing.assert_array_equal(data.tensors["inputs"], images)
    assert data.tensors["labels"].tolist() == [0, 99, 50, 7, 1, 99, 50, 7]
    # As the published archive has it: 0 (apple) is of class 4.
    coarse = cifar100.prepare(tmp_path, cifar100.Config(labels="coarse"), 0)
    assert (coarse.tensors["labels"].tolist(), coarse.metadata["classes"]) == ([4, 13, 16, 7, 1, 13, 16, 7], "20")


def test_cifar10_as_published_and_in_its_lossy_form(tmp_path):
    def prepared(**options):
        return cifar10.prepare(tmp_path, cifar10.Config(**options), 0)

    def source(**options):
        return prepared(part="test", **options).metadata["source"].split(", ", 2)[2]

    names = [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]
    labels = {f"cifar-10-batches-py/{name}": [n, 0, 9, n] for n, name in enumerate(names)}
    pickles = tmp_path / "cifar10/cifar-10-python.tar.gz"
    images, tensors = put_batches(pickles, b"labels", labels), prepared().tensors
    np.testing.assert_array_equal(tensors["inputs"], images)
    assert tensors["labels"].tolist() == [label for n in range(6) for label in (n, 0, 9, n)]
    assert tensors["official_test"].tolist() == [0] * 20 + [1] * 4
    _, path, parts, others, _ = ARCHIVES[0]
    write(tmp_path / path, parts, others)
    published, lossy = "as published", "JPEG-compressed copy, lossy"
    assert (source(), source(form="pickle"), source(form="jpeg")) == (published, published, lossy)
    pickles.unlink()
    assert (source(), source(form="jpeg")) == (lossy, lossy)
    with pytest.raises(SourceError, match="cifar-10-python.tar.gz: missing"):
        source(form="pickle")
