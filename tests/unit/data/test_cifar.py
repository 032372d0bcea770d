"""CIFAR-10 and CIFAR-100 on small generated archives of the same form, and on a mirror where there is one."""

import io
import pickle
import struct
import tarfile
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from fairfl.data import cifar10, cifar100
from fairfl.data.formats import archives, cifar_batches
from fairfl.jobs.prepare import write
from fairfl.runtime.errors import DataError, FairflError, SourceError
from fairfl.runtime.validation import checked
from fairfl.simulation.clients import load_clients

# ---- pickles as Python 2 and its numpy wrote them


def python2(value):
    """The pickle, protocol 2, of dicts, lists, whole numbers, texts (bytes) and arrays of bytes."""
    return b"\x80\x02" + _opcodes(value) + b"."


def _opcodes(value):
    if isinstance(value, dict):
        return b"}(" + b"".join(_opcodes(key) + _opcodes(item) for key, item in value.items()) + b"u"
    if isinstance(value, list):
        return b"](" + b"".join(map(_opcodes, value)) + b"e"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(_opcodes, value)) + b"t"
    if isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    if isinstance(value, bytes):
        return b"T" + struct.pack("<i", len(value)) + value
    if value is None:
        return b"N"
    return _array(value)


def _array(array):
    kind = array.dtype.str[1:].encode()
    order = (3, b"|" if array.dtype.itemsize == 1 else b"<", None, None, None, -1, -1, 0)
    by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
    state = b"(J\1\0\0\0" + _opcodes(array.shape)
    state += b"cnumpy\ndtype\n" + _opcodes((kind, 0, 1)) + b"R" + _opcodes(order) + b"b"
    state += _opcodes(bool(by_columns)) + _opcodes(array.tobytes("A")) + b"t"
    empty = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n" + _opcodes((0,)) + _opcodes(b"b") + b"tR"
    return empty + state + b"b"


def test_the_pickles_of_these_tests_are_what_numpy_reads():
    array = np.random.default_rng(0).integers(0, 256, (3, 5), dtype=np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old name of a module of numpy
        for form in (array, np.asfortranarray(array)):
            read = pickle.loads(python2({b"a": form, b"b": [1, 2]}), encoding="bytes")
            np.testing.assert_array_equal(read[b"a"], array)
            assert read[b"b"] == [1, 2]


ROWS = 4


def batch(seed, labels, key=b"labels"):
    data = np.random.default_rng(seed).integers(0, 256, (ROWS, 3072), dtype=np.uint8)
    return {b"batch_label": b"made", key: labels, b"data": data, b"filenames": [b"a.png"] * ROWS}


@pytest.fixture
def batches(small, tmp_path, any_checksum, monkeypatch):
    """Batches of four rows in an archive whose order is not theirs; returns {name: batch}."""
    rows = {part: dict.fromkeys(names, ROWS) for part, names in cifar10._BATCHES.items()}
    monkeypatch.setattr(cifar10, "_BATCHES", rows)
    made = {f"data_batch_{n}": batch(n, [n, 0, 9, n]) for n in (4, 1, 5, 2, 3)}
    made = {"test_batch": batch(0, [0, 1, 2, 3]), **made}
    put(small, tmp_path, made)
    return made


def put(small, folder, made):
    members = [(f"cifar-10-batches-py/{name}", python2(value)) for name, value in made.items()]
    small.tar(folder / "cifar10" / "cifar-10-python.tar.gz", [*members, ("cifar-10-batches-py/readme.html", b"hi")])


def test_published_form(batches, tmp_path):
    data = cifar10.prepare(tmp_path, cifar10.Config(), 0)
    order = [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]
    expected = np.concatenate([batches[name][b"data"] for name in order]).reshape(-1, 3, 32, 32)
    np.testing.assert_array_equal(data.tensors["inputs"], expected)
    assert data.tensors["labels"].tolist() == [1, 0, 9, 1, 2, 0, 9, 2, 3, 0, 9, 3, 4, 0, 9, 4, 5, 0, 9, 5, 0, 1, 2, 3]
    assert data.metadata["source"] == "CIFAR-10, part all, as published"
    assert (data.metadata["scale_mean"], data.metadata["scale_std"]) == ("0.0", "1.0")
    test = cifar10.prepare(tmp_path, cifar10.Config(part="test"), 0).tensors
    np.testing.assert_array_equal(test["inputs"], expected[20:])
    assert len(cifar10.prepare(tmp_path, cifar10.Config(part="train"), 0).tensors["labels"]) == 20


def test_an_array_stored_by_columns_is_the_same_array(small, batches, tmp_path):
    plain = cifar10.prepare(tmp_path, cifar10.Config(), 0).tensors["inputs"]
    columns = {name: {**value, b"data": np.asfortranarray(value[b"data"])} for name, value in batches.items()}
    put(small, tmp_path, columns)
    np.testing.assert_array_equal(cifar10.prepare(tmp_path, cifar10.Config(), 0).tensors["inputs"], plain)


def test_cifar100_has_fine_labels(small, tmp_path, any_checksum, monkeypatch):
    rows = {part: dict.fromkeys(names, ROWS) for part, names in cifar100._PARTS.items()}
    monkeypatch.setattr(cifar100, "_PARTS", rows)
    made = [batch(n, [n, 99, 50, 7], b"fine_labels") | {b"coarse_labels": [0] * ROWS} for n in (0, 1)]
    members = [("cifar-100-python/test", python2(made[1])), ("cifar-100-python/train", python2(made[0]))]
    small.tar(tmp_path / "cifar100" / "cifar-100-python.tar.gz", members)
    data = cifar100.prepare(tmp_path, cifar100.Config(), 0)
    assert data.tensors["labels"].tolist() == [0, 99, 50, 7, 1, 99, 50, 7]
    np.testing.assert_array_equal(data.tensors["inputs"][:4].reshape(4, -1), made[0][b"data"])
    assert data.metadata["classes"] == "100"
    assert cifar100.prepare(tmp_path, cifar100.Config(part="test"), 0).tensors["labels"].tolist() == [1, 99, 50, 7]
    (file,) = cifar100.files(cifar100.Config())
    assert file.sha256[0].startswith("85cd44d0") and file.md5 == "eb9058c3a382ffc7106e4002c42a8d85"
    with pytest.raises(FairflError, match="cifar100: part: 'tran' is not valid; did you mean 'train'"):
        checked({"part": "tran"}, cifar100.Config, "cifar100")


# ---- pickles that are not batches


class Runs:
    """Its pickle calls a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def forged(case, tmp_path):
    owned = str(tmp_path / "owned")
    if case == "open":
        return pickle.dumps({b"data": Runs(open, owned, "w")}, protocol=2)
    if case == "open, protocol 4":
        return pickle.dumps({b"data": Runs(open, owned, "w")}, protocol=4)
    if case == "another function of numpy":
        return b"\x80\x02cnumpy\nfromfile\n(T\x01\0\0\0/tR."
    if case == "attribute of an allowed module":
        return b"\x80\x02cnumpy.core.multiarray\nfromfile\n(T\x01\0\0\0/tR."
    if case == "dotted name":
        return b"\x80\x04\x8c\x05numpy\x8c\x0cndarray.dump\x93."
    raise AssertionError(case)


@pytest.mark.parametrize(
    "case",
    [
        "open",
        "open, protocol 4",
        "another function of numpy",
        "attribute of an allowed module",
        "dotted name",
    ],
)
def test_a_pickle_cannot_call_anything(small, batches, tmp_path, case):
    members = [("cifar-10-batches-py/test_batch", forged(case, tmp_path))]
    small.tar(tmp_path / "cifar10" / "cifar-10-python.tar.gz", members)
    with pytest.raises(DataError, match="test_batch: not a batch of CIFAR .it refers to "):
        cifar10.prepare(tmp_path, cifar10.Config(part="test"), 0)
    assert not (tmp_path / "owned").exists()


def test_an_array_made_of_pointers_is_not_an_array():
    """numpy.ndarray((1,), "O", bytes) takes bytes for the address of an object; the stand-in takes nothing."""
    call = b"cnumpy\nndarray\n" + _opcodes(((ROWS, 3072), b"O", b"A" * 8)) + b"R"
    data = b"\x80\x02}(" + _opcodes(b"data") + call + _opcodes(b"labels") + _opcodes([0] * ROWS) + b"u."
    with pytest.raises(DataError, match="forged: data are not an array of numpy"):
        cifar_batches._batch("forged", data, ROWS, "labels", 10)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "holds a list; expected a dict"),
        (batch(0, [0] * ROWS) | {b"data": 1}, "data are int; expected an array"),
        ({b"data": b"x", b"labels": [0] * ROWS}, "data are bytes; expected an array"),
        ({b"labels": [0] * ROWS}, "data are NoneType"),
        (
            batch(0, [0] * ROWS) | {b"data": np.zeros((ROWS, 3071), np.uint8)},
            r"data are u1 \(4, 3071\) with 12284 bytes",
        ),
        (
            batch(0, [0] * ROWS) | {b"data": np.zeros((3, 3072), np.uint8)},
            r"data are u1 \(3, 3072\) .*expected u1 \(4, 3072\)",
        ),
        (batch(0, [0] * ROWS) | {b"data": np.zeros((ROWS, 3072), np.int16)}, r"data are i2 \(4, 3072\)"),
        (batch(0, [0] * ROWS) | {b"data": np.zeros((ROWS, 3072), np.int8)}, r"data are i1 \(4, 3072\)"),
        (batch(0, [0] * (ROWS - 1)), "has 3 labels; expected 4"),
        (batch(0, [0, 1, 2, 10]), "labels are not a list of whole numbers within 0..9"),
        (batch(0, [0, 1, 2, -1]), "labels are not a list"),
        (batch(0, [0, 1, 2, 0.5]), "labels are not a list"),
        (batch(0, [0, 1, 2, b"3"]), "labels are not a list"),
        (batch(0, b"0123"), "labels are not a list"),
        (batch(0, [0] * ROWS, b"fine_labels"), "labels are not a list"),
    ],
)
def test_batches_with_other_contents(value, message):
    with pytest.raises(DataError, match=f"name: {message}"):
        cifar_batches._batch("name", python2(value), ROWS, "labels", 10)


def test_damaged_pickles():
    good = python2(batch(0, [0] * ROWS))
    for end in (0, 1, 10, 200, len(good) - 1):
        with pytest.raises(DataError, match="name: not a batch of CIFAR"):
            cifar_batches._batch("name", good[:end], ROWS, "labels", 10)
    with pytest.raises(DataError, match="name: "):
        cifar_batches._batch("name", good.replace(b"u1", b"u9", 1), ROWS, "labels", 10)


# ---- archives


def test_archives_with_other_contents(small, batches, tmp_path, monkeypatch):
    put(small, tmp_path, {name: value for name, value in batches.items() if name != "data_batch_3"})
    with pytest.raises(DataError, match="cifar-10-python.tar.gz: has no file cifar-10-batches-py/data_batch_3"):
        cifar10.prepare(tmp_path, cifar10.Config(), 0)
    monkeypatch.setattr(cifar_batches, "_MAX_BYTES", 1000)
    with pytest.raises(DataError, match=r"test_batch has \d+ bytes; expected 1000 at most"):
        cifar10.prepare(tmp_path, cifar10.Config(), 0)


def test_cifar10_checks_the_checksum_again(small, tmp_path):
    small.tar(tmp_path / "cifar10" / "cifar-10-python.tar.gz", [("a", b"b")])
    with pytest.raises(SourceError, match="cifar-10-python.tar.gz: checksum mismatch: sha256"):
        cifar10.prepare(tmp_path, cifar10.Config(), 0)
    with pytest.raises(SourceError, match="other/cifar10/cifar-10-python.tar.gz is missing"):
        cifar10.prepare(tmp_path / "other", cifar10.Config(), 0)


def test_members_are_read_in_place_and_only_if_they_are_files(small, tmp_path):
    path = tmp_path / "a.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        for name, kind in (("link", tarfile.SYMTYPE), ("folder", tarfile.DIRTYPE), ("pipe", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/hostname"
            archive.addfile(info)
        for name in ("./one", "../two", "three"):
            info = tarfile.TarInfo(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"abc"))
    before = sorted(tmp_path.parent.rglob("*"))
    assert list(archives.members(path, lambda name: name != "three", 3)) == [("one", b"abc"), ("../two", b"abc")]
    assert sorted(tmp_path.parent.rglob("*")) == before


@pytest.mark.parametrize("mode", ["w:gz", "w:xz"])
def test_damaged_archives(small, tmp_path, mode):
    path = tmp_path / "a.tar"
    noise = np.random.default_rng(0).bytes(50_000)
    small.tar(path, [("a", noise), ("b", noise)], mode)
    whole = path.read_bytes()
    for damaged in (b"", b"not a tar file", whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="a.tar: damaged archive"):
            list(archives.members(path, lambda name: True, 1 << 20))


# ---- JPEG form

CLASS_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@pytest.fixture
def jpegs(small, tmp_path, any_checksum, monkeypatch):
    """Two training images and one test image per class, each of one colour of its own; {name: file}."""
    monkeypatch.setattr(cifar10, "_JPEGS_PER_CLASS", {"train": 2, "test": 1})
    made = {}
    for part, count in (("test", 1), ("train", 2)):
        for label, name in enumerate(CLASS_NAMES):
            for number in range(count):
                made[f"{part}/{name}/{number:04}.jpg"] = jpeg(small, colour(part, label, number))
    put_jpegs(small, tmp_path, made)
    return made


def colour(part, label, number):
    return 20 * label + 10, 100 * number + 50, 200 if part == "test" else 30


def jpeg(small, rgb, side=32):
    return small.picture(np.full((side, side, 3), rgb), "JPEG", quality=95)


def put_jpegs(small, folder, made):
    # In an order that is not that of the rows.
    members = sorted(made.items(), key=lambda item: item[0][::-1])
    small.tar(folder / "cifar10" / "cifar10_jpeg.tar.xz", members, "w:xz")


def test_jpeg_form(jpegs, tmp_path):
    data = cifar10.prepare(tmp_path, cifar10.Config(), 0)
    labels = np.concatenate([np.repeat(np.arange(10), 2), np.arange(10)])
    assert data.tensors["labels"].tolist() == labels.tolist()
    assert data.metadata["source"] == "CIFAR-10, part all, JPEG-compressed copy, lossy"
    numbers, parts = [0, 1] * 10 + [0] * 10, ["train"] * 20 + ["test"] * 10
    expected = [colour(*which) for which in zip(parts, labels, numbers, strict=True)]
    inputs = data.tensors["inputs"]
    assert inputs.shape == (30, 3, 32, 32) and inputs.dtype == np.uint8
    # Compression moves a colour by a step or two.
    assert np.abs(inputs.astype(int) - np.array(expected)[:, :, None, None]).max() <= 3
    test = cifar10.prepare(tmp_path, cifar10.Config(part="test"), 0).tensors
    np.testing.assert_array_equal(test["inputs"], inputs[20:])


def test_forms(small, jpegs, batches, tmp_path):
    def source(**options):
        return (
            cifar10.prepare(tmp_path, cifar10.Config(**{"part": "test", **options}), 0)
            .metadata["source"]
            .split(", ", 2)[2]
        )

    published, lossy = "as published", "JPEG-compressed copy, lossy"
    assert (source(), source(form="pickle"), source(form="jpeg")) == (published, published, lossy)
    (tmp_path / "cifar10" / "cifar-10-python.tar.gz").unlink()
    assert (source(), source(form="jpeg")) == (lossy, lossy)
    with pytest.raises(SourceError, match="cifar-10-python.tar.gz is missing"):
        source(form="pickle")


def test_files_of_the_forms():
    def names(form):
        (file,) = cifar10.files(cifar10.Config(form=form))
        return file.name, file.instead and file.instead.name

    assert names("auto") == ("cifar-10-python.tar.gz", "cifar10_jpeg.tar.xz")
    assert names("pickle") == ("cifar-10-python.tar.gz", None)
    assert names("jpeg") == ("cifar10_jpeg.tar.xz", None)
    (file,) = cifar10.files(cifar10.Config())
    assert file.sha256[0].startswith("6d958be0") and file.md5 == "c58f30108f718f92721af3b95e74349a"
    with pytest.raises(FairflError, match="form: 'jpg' is not valid; did you mean 'jpeg'"):
        checked({"form": "jpg"}, cifar10.Config, "cifar10")


NAME = "train/ship/0001.jpg"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda small, data: data[: len(data) // 2], f"{NAME}: damaged, or not a JPEG file"),
        (lambda small, data: b"", f"{NAME}: damaged, or not a JPEG file"),
        (lambda small, data: small.picture(np.zeros((32, 32, 3)), "PNG"), f"{NAME}: damaged, or not a JPEG file"),
        (lambda small, data: jpeg(small, (0, 0, 0), 33), f"{NAME}: the image is 33x33; expected 32x32"),
        (lambda small, data: bytes(65537), f"{NAME} has 65537 bytes; expected 65536 at most"),
        (lambda small, data: None, rf"has no file {NAME} \(1 of 30 are missing\)"),
    ],
)
def test_bad_jpegs(small, jpegs, tmp_path, edit, message):
    changed = edit(small, jpegs.pop(NAME))
    put_jpegs(small, tmp_path, jpegs if changed is None else {**jpegs, NAME: changed})
    with pytest.raises(DataError, match=message):
        cifar10.prepare(tmp_path, cifar10.Config(), 0)


def test_without_pillow(jpegs, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(DataError, match="needs Pillow"):
        cifar10.prepare(tmp_path, cifar10.Config(), 0)


@pytest.mark.slow
def test_real_jpegs(mirror):
    """The 10000 test images only: the 60000 take six times as long."""
    if not (mirror / "cifar10" / "cifar10_jpeg.tar.xz").is_file():
        pytest.skip("the mirror has no CIFAR-10 of JPEG files")
    data = cifar10.prepare(mirror, cifar10.Config(part="test", form="jpeg"), 0).tensors
    assert data["inputs"].shape == (10000, 3, 32, 32)
    assert data["labels"].tolist() == np.repeat(np.arange(10), 1000).tolist()
    # Airplanes and ships are mostly in front of the sky or the sea: the bluest two classes.
    blue = [float(data["inputs"][data["labels"] == k, 2].mean()) for k in range(10)]
    assert sorted(range(10), key=blue.__getitem__)[-2:] in ([0, 8], [8, 0])


# ---- scale


def test_normalised_channels_reach_the_engine(batches, tmp_path):
    data = cifar10.prepare(tmp_path, cifar10.Config(part="test", normalise="channels"), 0)
    assert data.metadata["scale_mean"] == "0.4914,0.4822,0.4465"
    assert data.metadata["scale_std"] == "0.2023,0.1994,0.201"
    inputs = _loaded(data, tmp_path)
    for channel, (mean, std) in enumerate(((0.4914, 0.2023), (0.4822, 0.1994), (0.4465, 0.2010))):
        expected = (data.tensors["inputs"][:, channel] / 255 - mean) / std
        np.testing.assert_allclose(inputs[:, channel].numpy(), expected, rtol=1e-5, atol=1e-6)


def test_one_number_scales_to_the_bit_as_a_plain_number_does(batches, tmp_path):
    data = cifar10.prepare(tmp_path, cifar10.Config(part="test"), 0)
    for mean, std in ((0.0, 1.0), (0.1307, 0.3081)):
        data.metadata.update(scale_mean=str(mean), scale_std=str(std))
        images = torch.from_numpy(data.tensors["inputs"]).float()
        assert torch.equal(_loaded(data, tmp_path), (images / 255 - mean) / std)


def _loaded(data, folder):
    """Inputs as the engine has them, if client 0 owns all rows."""
    count = len(data.tensors["labels"])
    write(folder / "data.safetensors", data)
    columns = {"row": np.arange(count), "client": np.zeros(count, np.int32), "part": np.zeros(count, np.int8)}
    pq.write_table(pa.table(columns), folder / "p.parquet")
    return load_clients(folder / "data.safetensors", folder / "p.parquet", torch.device("cpu")).parts["train"].inputs
