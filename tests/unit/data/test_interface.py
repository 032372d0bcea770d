import re
import subprocess
import sys

import numpy as np
import pytest

from fairfl.data.formats import csv_table
from fairfl.data.interface import RemoteFile, assemble, content_sha256
from fairfl.data.registry import load
from fairfl.experiments.declaration import declaration
from fairfl.experiments.plugins import names
from fairfl.runtime.errors import DataError, FairflError, SourceError

IMAGES = np.zeros((4, 1, 2, 2), np.uint8)
LABELS = np.array([0, 1, 2, 1])


def is_local(file: RemoteFile) -> bool:
    """True for a user's own file, which nobody else has and no checksum vouches for."""
    return file == csv_table.local_file(file.name)


def test_names():
    assert set(names("data")) >= {
        "ambiguous_digits",
        "cifar10",
        "cifar100",
        "cinic10",
        "digits",
        "dirty_mnist",
        "emnist",
        "fashion_mnist",
        "femnist",
        "local_csv",
        "mnist",
        "python_text",
        "reddit",
        "sentiment",
        "stackoverflow",
        "synthetic_gaussian",
        "synthetic_regression",
        "tiny_imagenet",
        "two_quadratics",
        "yelp_imdb",
    }


@pytest.mark.parametrize("name", names("data"))
def test_every_module_has_the_interface(name):
    module = load(name)
    assert module.PER_SEED is name.startswith("synthetic_")
    for file in module.files(module.Config()):
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in file.sha256)
        assert file.urls or file.instead or is_local(file)
    declared = declaration("data", name)
    assert declared.Config.model_json_schema() == module.Config.model_json_schema()
    assert declared.PER_SEED is module.PER_SEED


WITH_FILES = [
    name for name in names("data") if (files := load(name).files(load(name).Config())) and not any(map(is_local, files))
]


@pytest.mark.parametrize("name", WITH_FILES)
def test_files_are_checked_before_they_are_read(tmp_path, name):
    module = load(name)
    options = module.Config(**({"yelp": "published"} if name == "yelp_imdb" else {}))
    with pytest.raises(SourceError, match=rf" is missing; run fairfl.jobs.fetch --dataset (mnist|{name})"):
        module.prepare(tmp_path, options, 0)
    with pytest.raises(SourceError, match="no data folder was given"):
        module.prepare(None, options, 0)
    for file in module.files(options):
        path = tmp_path / file.relative(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes({"gzip": b"\x1f\x8b", "zip": b"PK", "torch": b"PK", None: b"x"}[file.magic])
    with pytest.raises(SourceError, match="checksum mismatch: |truncated "):
        module.prepare(tmp_path, options, 0)


def test_unknown_name_gives_the_nearest():
    with pytest.raises(FairflError, match="'mnits' is not one of the data sets; did you mean 'mnist'"):
        load("mnits")
    with pytest.raises(FairflError):
        load("interface")


def test_imports_are_cheap():
    code = (
        "import sys\n"
        "from fairfl.data.registry import load\n"
        "from fairfl.experiments.plugins import names\n"
        "for name in names('data'): load(name)\n"
        "print([m for m in ('torch', 'sklearn', 'pandas', 'PIL', 'urllib.request') if m in sys.modules])"
    )
    env = {"PYTHONPATH": ":".join(sys.path)}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, timeout=30)
    assert out.stdout == b"[]\n", out.stderr


def test_remote_file_is_a_plain_name_with_a_checksum_or_a_reason():
    for bad in ("../x", "a/b", "/x"):
        with pytest.raises(ValueError, match="not a plain name"):
            RemoteFile(bad, (), sha256=("0",))
        with pytest.raises(ValueError, match="not a plain name"):
            RemoteFile("x", (), sha256=("0",), folder=bad)
    with pytest.raises(ValueError, match="why_no_sha256"):
        RemoteFile("x", ())
    assert RemoteFile("x", (), sha256=("0",)).relative("d") == "d/x"
    assert RemoteFile("x", (), sha256=("0",), folder="f").relative("d") == "f/x"


def test_assemble_fills_in():
    data = assemble("d", 3, "a sentence", IMAGES, LABELS.astype(np.uint8), mean=0.5, std=2)
    assert {k: v.dtype.name for k, v in data.tensors.items()} == {
        "inputs": "uint8",
        "labels": "int64",
        "groups": "int64",
    }
    assert data.tensors["groups"].tolist() == [0, 1, 2, 3]
    assert data.metadata == {
        "dataset": "d",
        "classes": "3",
        "source": "a sentence",
        "scale_mean": "0.5",
        "scale_std": "2.0",
        "sha256": content_sha256(data.tensors),
    }


def test_assemble_takes_one_scale_per_channel():
    colours = np.zeros((4, 3, 2, 2), np.uint8)
    metadata = assemble("d", 3, "s", colours, LABELS, mean=(0.5, 0.25, 1), std=(1, 2, 0.125)).metadata
    assert (metadata["scale_mean"], metadata["scale_std"]) == ("0.5,0.25,1.0", "1.0,2.0,0.125")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": (0.1, 0.2)}, r"mean has 2 values; expected 1 or 1 \(channels\)"),
        ({"mean": float("nan")}, r"mean is \[nan\]; expected finite numbers"),
        ({"std": 0}, r"std is \[0.0\]; expected finite numbers > 0"),
        ({"labels": np.array([0, 1, 3, 1])}, "labels row 2 is 3; expected 0..2"),
        ({"labels": np.array([0, -1, 2, 1])}, "labels row 1 is -1"),
        ({"labels": LABELS[:3]}, r"labels have shape \[3\]; expected \[4\]"),
        ({"labels": LABELS * 1.0}, "labels are float64"),
        ({"inputs": IMAGES[:, 0]}, r"inputs are uint8 \[4, 2, 2\]"),
        ({"inputs": IMAGES.astype(np.int64)}, "inputs are int64"),
        ({"inputs": IMAGES[:0]}, "inputs are empty"),
        ({"inputs": np.array([[0], [np.nan], [0], [0]], np.float32)}, "inputs row 1 .* not finite"),
        ({"ambiguous": np.array([0, 2, 0, 0])}, "ambiguous row 1 is 2"),
        ({"client": np.array([0, 0, 0, -1])}, "client row 3 is -1"),
        ({"domain": np.array([0, 1, 0, -1])}, "domain row 3 is -1"),
        ({"official_test": np.array([0, 1, 2, 0])}, "official_test row 2 is 2; expected 0..1"),
        ({"clusters": [0]}, "clusters has 1 entries; the rows have 0 clients"),
        ({"client": LABELS, "clusters": [0, 1]}, "clusters has 2 entries; the rows have 3 clients"),
        ({"client": LABELS, "clusters": [0, -1, 1]}, "clusters row 1 is -1"),
        ({"groups": np.array([0, 0, -5, 1])}, "groups row 2 is -5"),
    ],
)
def test_assemble_refuses(change, message):
    arguments = {"inputs": IMAGES, "labels": LABELS, **change}
    with pytest.raises(DataError, match=f"d: {message}"):
        assemble("d", 3, "s", **arguments)


def test_assemble_takes_domains_the_data_sets_own_test_part_and_clusters():
    test = np.array([False, True, False, True])
    data = assemble("d", 3, "s", IMAGES, LABELS, domain=LABELS, client=LABELS, official_test=test, clusters=(1, 0, 1))
    assert (data.tensors["domain"].dtype, data.tensors["official_test"].dtype) == (np.int64, np.uint8)
    assert data.tensors["domain"].tolist() == [0, 1, 2, 1] and data.tensors["official_test"].tolist() == [0, 1, 0, 1]
    assert data.metadata["clusters"] == "[1, 0, 1]"
    assert "clusters" not in assemble("d", 3, "s", IMAGES, LABELS, client=LABELS).metadata


FEATURES = np.ones((3, 2), np.float32)


def test_assemble_takes_numbers_to_predict():
    data = assemble("d", 0, "s", FEATURES, np.array([0.5, -2.0, 1e3]))
    assert data.tensors["labels"].dtype == np.float32
    assert data.tensors["labels"].tolist() == [0.5, -2.0, 1000.0] and data.metadata["classes"] == "0"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([0, 1, 2]), r"labels are int64 \[3\]; a regression \(classes 0\) has floating numbers \[3\]"),
        (np.array([0.0, 1.0]), r"labels are float64 \[2\]"),
        (np.array([[0.0], [1.0], [2.0]]), r"labels are float64 \[3, 1\]"),
        (np.array([0.0, np.nan, np.inf]), "labels row 1 is nan; expected a finite number"),
    ],
)
def test_assemble_refuses_numbers_to_predict(labels, message):
    with pytest.raises(DataError, match=f"d: {message}"):
        assemble("d", 0, "s", FEATURES, labels)


def test_content_digest_sees_names_shapes_values_but_not_order():
    a, b = np.arange(4), np.ones(2)
    digest = content_sha256({"a": a, "b": b})
    assert digest == content_sha256({"b": b, "a": a})
    for other in ({"a": b, "b": a}, {"a": a.reshape(2, 2), "b": b}, {"a": a + 1, "b": b}):
        assert digest != content_sha256(other)
