"""Data sets as they have been prepared ever since: stored results are of these tensors."""

import pytest

from fairfl.data.registry import files, load
from fairfl.runtime.errors import SourceError

# Data set, options, first digits of the digest of its tensors; those with files are read from a mirror where there is
# one. None are of JPEG files, which libraries decode differently, or of sums, which processors round differently.
PREPARED = [
    ("digits", {}, "448ff6b77b256208"),
    ("digits", {"classes": [3, 1, 7]}, "dd949745f5d58254"),
    ("ambiguous_digits", {}, "1f202046082514c8"),
    ("ambiguous_digits", {"base": "mnist", "images": 50}, "8e0f12600d10b8c1"),
    ("mnist", {}, "b4d0cae07d20dc0d"),
    ("mnist", {"part": "test"}, "5070f98e283cbfc8"),
    ("fashion_mnist", {}, "b55112dacd22878a"),
    ("fashion_mnist", {"part": "test"}, "5fa4fd4ccb7067a7"),
    ("emnist", {}, "e5956d87a74e5c3c"),
    pytest.param("femnist", {}, "0fb2f6b82e37f5f2", marks=pytest.mark.long),
    ("sentiment", {}, "d6cc6529bc26acea"),
    (
        "yelp_imdb",
        {"train": [200, 300], "test": [100, 150], "yelp": "generated", "tokenizer": "words"},
        "42059444d21908b9",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options", "digest"), PREPARED)
def test_prepared_data_stay_as_they_are(request, name, options, digest):
    folder = request.getfixturevalue("mirror") if files(name, options) else None
    try:
        prepared = load(name).prepare(folder, load(name).Config(**options), 3)
    except SourceError as error:
        pytest.skip(str(error))
    assert prepared.metadata["sha256"].startswith(digest)
