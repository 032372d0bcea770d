"""Yelp and IMDb on small generated files of the same forms, and IMDb on a mirror where there is one."""

import gzip
import json

import numpy as np
import pytest

from fairfl.data import pretrained, reviews, yelp_imdb
from fairfl.jobs import fetch
from fairfl.runtime.errors import SourceError
from tests.unit.data import toys

YELP = {
    "train": ['"1","Cold, ""dirty"" and\\nrude."', '"2","Great pizza."', '"2","Nice staff."', '"1","Bad soup."'],
    "test": ['"2","Great soup."', '"1","Rude staff."'],
}
IMDB = {
    "train": [("A dull film.", 0), ("A <br /><br />great cast.", 1), ("Moving café scene.", 1)],
    "test": [("Great film.", 1), ("A bad cast.", 0)],
}
SIZES = {"train": [4, 3], "test": [2, 2]}
OPTIONS = {"tokenizer": "words", "vocabulary": 40, "max_tokens": 8}


def put_tables(folder):
    for part, own in IMDB.items():
        text = "label\ttext\n" + "".join(f"{label}\t{text.replace('<br />', ' ')}\n" for text, label in own)
        toys.put(folder / "imdb" / f"{part}.tsv.gz", gzip.compress(text.encode()))


def put_archive(folder):
    members = [
        (f"aclImdb/{part}/{('neg', 'pos')[label]}/{number}_{1 + 9 * label}.txt", text.encode())
        for part, own in IMDB.items()
        for number, (text, label) in reversed(list(enumerate(own)))
    ]
    other = [("aclImdb/train/unsup/0_0.txt", b"No label."), ("aclImdb/train/pos/a.txt", b"x"), ("aclImdb/README", b"x")]
    toys.put(folder / "imdb" / "aclImdb_v1.tar.gz", toys.tar(other + members))


PIECES = ["[PAD]", "[UNK]", "[SEP]", "[CLS]", "great", "film", "so", "##up", ".", "a"]


def prepared(folder, **options):
    return yelp_imdb.prepare(folder, yelp_imdb.Config(**SIZES | options), 0)


@pytest.fixture(autouse=True)
def small_parts(no_models, monkeypatch, any_checksum):
    """The published parts have as many reviews as these files."""
    monkeypatch.setattr(yelp_imdb, "_ROWS", {"train": (4, 3), "test": (2, 2)})


@pytest.fixture
def raw(tmp_path):
    texts = {"readme.txt": "x"} | {f"{part}.csv": "\n".join(lines) for part, lines in YELP.items()}
    members = [(f"yelp_review_polarity_csv/{name}", text.encode()) for name, text in texts.items()]
    toys.put(tmp_path / "yelp" / "yelp_review_polarity_csv.tgz", toys.tar(members))
    put_tables(tmp_path)
    return tmp_path


def test_published_reviews_by_hand(raw):
    """Yelp in stored order, IMDb in alphabetical order; training parts first."""
    data = prepared(raw, **OPTIONS)
    tensors = data.tensors
    assert tensors["domain"].tolist() == [0] * 4 + [1] * 3 + [0] * 2 + [1] * 2
    assert tensors["official_test"].tolist() == [0] * 7 + [1] * 4
    assert tensors["labels"].tolist() == [0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1]
    texts = [
        'cold , " dirty " and rude .',
        "great pizza .",
        "nice staff .",
        "bad soup .",
        "a dull film .",
        "a great cast .",
        "moving caf é scene .",
    ]
    tokens = reviews.tokenize_words(texts, 40, 8)
    np.testing.assert_array_equal(tensors["inputs"][:7], tokens.encode(texts))
    test = ["great soup .", "rude staff .", "a bad cast .", "great film ."]
    np.testing.assert_array_equal(tensors["inputs"][7:], tokens.encode(test))
    assert (tensors["inputs"][9] == reviews.UNKNOWN).sum() == 0  # words of both domains
    assert data.metadata["classes"] == "2"
    assert data.metadata["source"] == (
        "Yelp polarity, 4 + 2 training and test reviews, and IMDb, 3 + 2; "
        "words of a vocabulary of 24 tokens made from the training reviews"
    )


def test_both_forms_of_imdb_are_the_same_data(raw):
    table = prepared(raw, **OPTIONS).metadata
    for part in IMDB:
        (raw / "imdb" / f"{part}.tsv.gz").unlink()
    put_archive(raw)
    assert prepared(raw, **OPTIONS).metadata == table
    (raw / "imdb" / "aclImdb_v1.tar.gz").write_bytes(b"")
    put_tables(raw)
    assert prepared(raw, **OPTIONS).metadata == table  # the tables come first


# -- word pieces


def test_word_pieces_by_hand(raw):
    """soup is so + ##up; dull and the like are unknown."""
    pytest.importorskip("tokenizers")
    for name in pretrained.FILES:  # configuration and weights are not read by the data
        toys.put(raw / "bert-base-uncased" / name, "\n".join(PIECES).encode() if name == "vocab.txt" else b"{}")
    data = prepared(raw, max_tokens=6)
    pad, unknown, sep, cls, great, film, so, up, stop, a = range(10)
    assert data.tensors["inputs"][[0, 3, 4, 10]].tolist() == [
        [cls, unknown, unknown, unknown, unknown, sep],
        [cls, unknown, so, up, stop, sep],
        [cls, a, unknown, film, stop, sep],
        [cls, great, film, stop, sep, pad],
    ]
    assert data.metadata["source"].endswith("; 10 word pieces of bert-base-uncased")
    asked = prepared(raw, max_tokens=6, tokenizer="wordpiece")
    assert asked.metadata == data.metadata
    assert "words of a vocabulary" in prepared(raw, **OPTIONS).metadata["source"]


# -- fetching


def test_fetching_offline_does_without_what_has_a_stand_in(tmp_path, capsys):
    put_tables(tmp_path / "mirror")
    marker, folder = tmp_path / "m.json", tmp_path / "data"
    where = ["--folder", str(folder), "--mirror", str(tmp_path / "mirror"), "--offline", "--out", str(marker)]
    fetch.main(["--dataset", "yelp_imdb", "--options", json.dumps(SIZES), *where])
    paths = [file["path"] for file in json.loads(marker.read_text())["files"]]
    assert paths == ["imdb/train.tsv.gz", "imdb/test.tsv.gz"]
    said = capsys.readouterr().err
    assert "yelp_review_polarity_csv.tgz: generated reviews of restaurants take the place of Yelp. The reason" in said
    assert "vocab.txt: unless the cache of the Hugging Face hub has it, reviews are read as whole words. The" in said
    for options in ({"yelp": "published"}, {"tokenizer": "wordpiece"}):
        marker.unlink(missing_ok=True)
        with pytest.raises(SourceError, match="no usable copy of"):
            fetch.main(["--dataset", "yelp_imdb", "--options", json.dumps(SIZES | options), *where])
        assert not marker.exists()


# -- Generated reviews: their form, and that the two domains want a model each.
def test_words_by_hand():
    """a comes three times, the full stop and b twice, c and the comma once: c has no room among 8 tokens."""
    tokens = reviews.tokenize_words(["A b a.", "c B, a ."], 8, 7)
    assert tokens.described == "words of a vocabulary of 8 tokens made from the training reviews"
    a, stop, b, comma = 4, 5, 6, 7
    pad, unknown, first, last = reviews.PAD, reviews.UNKNOWN, reviews.CLS, reviews.SEP
    assert tokens.encode(["a b", "A C!", "b . a , a a a", ""]).tolist() == [
        [first, a, b, last, pad, pad, pad],
        [first, a, unknown, unknown, last, pad, pad],
        [first, b, stop, a, comma, a, last],
        [first, last, pad, pad, pad, pad, pad],
    ]
