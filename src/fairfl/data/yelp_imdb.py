"""Reviews of restaurants and other places (Yelp) and of films (IMDb), positive or negative: two domains of sentiment.

Yelp review polarity (Zhang, Zhao, LeCun 2015): 560,000 training and 38,000 test reviews, one and two stars against
three and four. IMDb (Maas et al. 2011): 25,000 and 25,000. FOCUS takes 56,000 of Yelp's training reviews and all others
(section 5.2, table 2); which 56,000 it does not say, so they are drawn here, once.

Where Yelp's archive is absent, generated reviews of restaurants (:mod:`fairfl.data.sentiment`) take its place, and the
``source`` says so. IMDb has no stand-in. Its two forms, the archive as published and two tables that an offline mirror
may carry, have the same reviews; they come in alphabetical order, so that the form makes no difference.
"""

import csv
import gzip
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from fairfl.data import pretrained, reviews, sentiment
from fairfl.data.checks import find_form, has_file, usable
from fairfl.data.formats import archives
from fairfl.data.interface import Prepared, RemoteFile
from fairfl.data.reviews import Reviews, Tokens
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import SourceError

_NAME = "yelp_imdb"
_PARTS = ("train", "test")
_YELP, _IMDB = 0, 1
_ROWS = {"train": (560_000, 25_000), "test": (38_000, 25_000)}
"""Published reviews of Yelp and of IMDb."""
_DRAW_SEED = 0

_YELP_ARCHIVE = RemoteFile(
    "yelp_review_polarity_csv.tgz",
    ("https://s3.amazonaws.com/fast-ai-nlp/yelp_review_polarity_csv.tgz",),
    sha256=("528f22e286cad085948acbc3bea7e58188416546b0e364d0ae4ca0ce666abe35",),
    magic="gzip",
    folder="yelp",
)
_YELP_FORMS = {
    "auto": (
        replace(_YELP_ARCHIVE, otherwise="generated reviews of restaurants take the place of Yelp"),
    ),
    "published": (_YELP_ARCHIVE,),
    "generated": (),
}

_IMDB_ARCHIVE = RemoteFile(
    "aclImdb_v1.tar.gz",
    ("https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",),
    sha256=("c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",),
    magic="gzip",
    folder="imdb",
)
_IMDB_MEMBER = re.compile(r"aclImdb/(train|test)/(neg|pos)/\d+_\d+\.txt")
_IMDB_TABLES = {
    part: RemoteFile(
        f"{part}.tsv.gz", (), sha256=(sha256,), magic="gzip", folder="imdb", instead=_IMDB_ARCHIVE
    )
    for part, sha256 in (
        ("train", "857d44231062dcedd80be8b25b6be30a85bce2ff7b7de92d25be45f9d2c6d868"),
        ("test", "e4da8c9f8eb1bb623857f546bfcf1086cf28b9015eded5716d46baec424277a5"),
    )
}

_HUB = "https://huggingface.co/google-bert/bert-base-uncased/resolve/86b5e0934494bd15c9632b12f734a8a67f723594/"
_BERT = tuple(
    RemoteFile(name, (_HUB + name,), sha256=(sha256,), folder=pretrained.BERT)
    for name, sha256 in pretrained.PUBLISHED_BERT.items()
)
_WITHOUT_BERT = "unless the cache of the Hugging Face hub has it, reviews are read as whole words"
_TOKENIZERS = {
    "auto": tuple(replace(file, otherwise=_WITHOUT_BERT) for file in _BERT),
    "wordpiece": _BERT,
    "words": (),
}


class Config(Strict):
    """Options of the data set."""

    train: list[Annotated[int, Field(ge=1)]] = Field(
        [56_000, 25_000],
        min_length=2,
        max_length=2,
        description="training reviews of Yelp and of IMDb",
    )
    test: list[Annotated[int, Field(ge=1)]] = Field([38_000, 25_000], min_length=2, max_length=2)
    yelp: Literal["auto", "published", "generated"] = Field(
        "auto",
        description="generated: reviews of restaurants from a grammar; auto: published if it is there",
    )
    tokenizer: Literal["auto", "wordpiece", "words"] = Field(
        "auto",
        description="wordpiece: the word pieces of bert-base-uncased; words: the most frequent whole words of the "
        "training reviews; auto: word pieces if the data folder or the cache of the Hugging Face hub has the model",
    )
    vocabulary: int = Field(
        30_522,
        ge=5,
        lt=2**32,
        description="most tokens of whole words; as many as word pieces, so one model fits both",
    )
    max_tokens: int = Field(
        128,
        ge=3,
        lt=2**32,
        description="tokens of a row, with one that begins and one that ends it; longer reviews lose their end. The "
        "paper does not say, and 512, which BERT reads at most, costs five times as much",
    )

    @model_validator(mode="after")
    def _published(self) -> "Config":
        for part, sizes in (("train", self.train), ("test", self.test)):
            for domain, (size, highest) in enumerate(zip(sizes, _ROWS[part], strict=True)):
                if size > highest:
                    raise ValueError(f"{part}[{domain}] is {size}; expected at most {highest}")
        return self


def files(options: Config) -> tuple[RemoteFile, ...]:
    """IMDb's two tables, Yelp's archive and the pre-trained BERT whose word pieces are the tokens."""
    return (*_IMDB_TABLES.values(), *_YELP_FORMS[options.yelp], *_TOKENIZERS[options.tokenizer])


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs int64 [N, max_tokens], labels 0 negative, 1 positive; domain 0 Yelp, 1 IMDb; official_test.

    Training reviews of Yelp, of IMDb, then test reviews of both; N = 144,000 with default options. Where fewer are
    asked for than there are, they are drawn at random, the same for every seed.

    Raises:
        SourceError: a file is missing or damaged.
        DataError: the vocabulary of word pieces is not one, or their library is not installed.
    """
    yelp, origin = _yelp(raw, options)
    imdb = _imdb(raw, options)
    parts = [
        Reviews(*by_part[part], domain, part == "test")
        for part in _PARTS
        for domain, by_part in enumerate((yelp, imdb))
    ]
    counts = [
        " + ".join(str(getattr(options, part)[domain]) for part in _PARTS)
        for domain in (_YELP, _IMDB)
    ]
    source = f"{origin}, {counts[_YELP]} training and test reviews, and IMDb, {counts[_IMDB]}"
    return reviews.assemble_reviews(_NAME, source, parts, _tokens(raw, options, parts))


def _tokens(raw: Path | None, options: Config, parts: list[Reviews]) -> Tokens:
    folder = None if options.tokenizer == "words" else pretrained.find(pretrained.BERT, raw)
    if folder is not None:
        return reviews.tokenize_pieces(
            pretrained.BERT, folder / pretrained.VOCABULARY, options.max_tokens
        )
    if options.tokenizer == "wordpiece":
        raise SourceError(
            f"{_NAME}: {pretrained.BERT} is missing; run fairfl.jobs.fetch --dataset {_NAME}"
        )
    texts = [text for piece in parts if not piece.test for text in piece.texts]
    return reviews.tokenize_words(texts, options.vocabulary, options.max_tokens)


def _draw_rows(part: str, domain: int, size: int) -> np.ndarray:
    """Ascending row numbers of the published reviews that are taken."""
    draw = np.random.default_rng([_DRAW_SEED, domain, _PARTS.index(part)])
    return np.sort(draw.choice(_ROWS[part][domain], size, replace=False))


# ---- Yelp


def _yelp(raw: Path | None, options: Config) -> tuple[dict[str, tuple[list[str], np.ndarray]], str]:
    """Texts and labels of both parts, and what they are."""
    if options.yelp == "generated" or (
        options.yelp == "auto" and not has_file(raw, _YELP_ARCHIVE, _NAME)
    ):
        domain = sentiment.DOMAINS[_YELP]
        generated = {
            part: sentiment.generate(domain, part, getattr(options, part)[_YELP]) for part in _PARTS
        }
        return generated, "generated reviews of restaurants as a stand-in for Yelp"
    names = {f"yelp_review_polarity_csv/{part}.csv": part for part in _PARTS}
    reviews_of = {}
    for name, data in archives.read_members(usable(raw, _YELP_ARCHIVE, _NAME), names.__contains__):
        part = names[name]
        numbers = set(_draw_rows(part, _YELP, getattr(options, part)[_YELP]).tolist())
        lines = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""))
        rows = [row for number, row in enumerate(lines) if number in numbers]
        texts = [text.replace("\\n", " ") for _, text in rows]
        reviews_of[part] = (
            texts,
            np.array([int(label) - 1 for label, _ in rows]),
        )  # 1 negative, 2 positive
    return reviews_of, "Yelp polarity"


# ---- IMDb


def _imdb(raw: Path | None, options: Config) -> dict[str, tuple[list[str], np.ndarray]]:
    """Texts and labels of both parts, in alphabetical order."""
    tables = {part: find_form(raw, table, _NAME) for part, table in _IMDB_TABLES.items()}
    rows = (
        _from_archive(usable(raw, _IMDB_ARCHIVE, _NAME))
        if _IMDB_ARCHIVE in tables.values()
        else {part: _from_table(usable(raw, table, _NAME)) for part, table in tables.items()}
    )
    reviews_of = {}
    for part in _PARTS:
        ordered = sorted(rows[part])
        sample = [ordered[row] for row in _draw_rows(part, _IMDB, getattr(options, part)[_IMDB])]
        reviews_of[part] = [text for text, _ in sample], np.array([label for _, label in sample])
    return reviews_of


def _from_table(path: Path) -> list[tuple[str, int]]:
    """Texts with their labels from a table of the columns label and text, after a line with their names."""
    lines = gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")[1:]
    rows = (line.partition("\t") for line in lines if line)
    return [(_plain(text), int(label)) for label, _, text in rows]


def _from_archive(path: Path) -> dict[str, list[tuple[str, int]]]:
    rows: dict[str, list[tuple[str, int]]] = {part: [] for part in _PARTS}
    for name, data in archives.read_members(path, lambda name: bool(_IMDB_MEMBER.fullmatch(name))):
        _, part, label, _ = name.split("/")
        rows[part].append((_plain(data.decode("utf-8")), int(label == "pos")))
    return rows


def _plain(text: str) -> str:
    """One line; the archive marks line breaks as HTML does."""
    return " ".join(text.replace("<br />", " ").split())
