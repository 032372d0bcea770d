"""Data sets as they have been prepared ever since: stored results are of these tensors."""

import pytest

from fairfl.data.registry import load
from fairfl.runtime.errors import SourceError

# Data set, options, first digits of the digest of its tensors; those with files are read from a mirror where there is
# one. Long: JPEG files, as the wheels of Pillow decode them. None are of sums, which processors round differently.
PREPARED = [
    ("digits", {}, "448ff6b77b256208"),
    ("digits", {"classes": [3, 1, 7]}, "dd949745f5d58254"),
    ("ambiguous_digits", {}, "1f202046082514c8"),
    ("sentiment", {}, "d6cc6529bc26acea"),
]
READ = [
    ("ambiguous_digits", {"base": "mnist", "images": 50}, "8e0f12600d10b8c1"),
    ("mnist", {}, "b4d0cae07d20dc0d"),
    ("mnist", {"part": "test"}, "5070f98e283cbfc8"),
    ("fashion_mnist", {}, "b55112dacd22878a"),
    ("emnist", {}, "e5956d87a74e5c3c"),
    pytest.param("femnist", {}, "0fb2f6b82e37f5f2", marks=pytest.mark.long),
    pytest.param("cifar10", {"part": "test"}, "aa8bc6ed8c2cdea4", marks=pytest.mark.long),
    pytest.param("tiny_imagenet", {"part": "val"}, "a3e46bc8d7144ee1", marks=pytest.mark.long),
    ("yelp_imdb", {"train": [200, 300], "test": [100, 150], "yelp": "generated"}, "42059444d21908b9"),
]


def digest_of(name, options, folder):
    digest: str = load(name).prepare(folder, load(name).Config(**options), 3).metadata["sha256"]
    return digest[:16]


@pytest.mark.parametrize(("name", "options", "digest"), PREPARED)
def test_data_without_files_stay_as_they_are(name, options, digest):
    assert digest_of(name, options, None) == digest


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options", "digest"), READ)
def test_data_of_a_mirror_stay_as_they_are(mirror, name, options, digest):
    try:
        found = digest_of(name, options, mirror)
    except SourceError as error:
        pytest.skip(str(error))
    assert found == digest
