"""Generated reviews of restaurants and films, positive or negative: two domains of sentiment without any file to fetch.

A stand-in for Yelp and IMDb. A review has one opinion or three, of which the majority decides its label, and perhaps a
sentence that says nothing. An opinion is a thing and a word for it, plain or negated; words come from a vocabulary of
the domain, from a common one, and from words that praise in one domain and blame in the other: a dark film is good, a
dark soup is not. Some reviews do not tell what they are about and use such words only, so a model for both domains
cannot be right about them in both, which models of one domain each can.
"""

import random
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from fairfl.data import reviews
from fairfl.data.interface import Prepared
from fairfl.data.reviews import Reviews
from fairfl.experiments.base import Natural, Strict

DOMAINS = ("restaurant", "film")


_NAME = "sentiment"

_words = str.split

_THINGS = {
    "restaurant": _words(
        "food service pizza pasta soup steak dessert waiter staff coffee salad wine"
    ),
    "film": _words("plot acting movie film script director cast ending story actress camera music"),
}
_ANYTHING = ("it", "everything", "all of it", "the whole thing", "this one", "most of it")
_COMMON = {
    True: _words("great good wonderful excellent amazing perfect lovely nice"),
    False: _words("bad awful terrible horrible disappointing poor dreadful annoying"),
}
_TYPICAL = {
    ("restaurant", True): _words("delicious tasty fresh friendly juicy crispy tender attentive"),
    ("restaurant", False): _words("stale greasy bland rude soggy burnt overpriced dirty"),
    ("film", True): _words("gripping moving hilarious clever stunning witty believable original"),
    ("film", False): _words("boring wooden pointless clumsy shallow tedious confusing forgettable"),
}
_TURNING = {
    ("restaurant", True): _words("cheap quick light predictable sweet soft familiar simple"),
    ("film", True): _words("dark cold raw heavy wild rough intense unexpected"),
}
_TURNING |= {
    ("film", False): _TURNING["restaurant", True],
    ("restaurant", False): _TURNING["film", True],
}
_VERBS = {
    True: ("i loved {}", "i enjoyed {}", "i recommend {}", "go for {}"),
    False: ("i hated {}", "i regret {}", "avoid {}", "i cannot stand {}"),
}
_IS = ("{} was {}", "{} was really {}", "{} felt {}", "i found {} {}")
_IS_NOT = ("{} was not {}", "{} was never {}", "{} was hardly {}", "i did not find {} {}")
_REMARKS = {
    "restaurant": (
        "we ordered {} and {}",
        "we came for {} on a monday",
        "my wife had {}",
        "there is {} too",
    ),
    "film": (
        "we talked about {} and {}",
        "i watched it for {} on a monday",
        "then comes {}",
        "there is {} too",
    ),
}

# Shares of the reviews, or of the opinions in a review. Films are the harder domain, as IMDb is.
_HIDDEN = 0.1  # do not tell their domain
_SHORT = 0.6  # have one opinion, the others three
_MIXED = {
    "restaurant": 0.15,
    "film": 0.3,
}  # of those with three, one opinion is against the other two
_REMARK = 0.3  # have a sentence without any opinion
_NAMED = 0.8  # name the thing
_VERB = 0.2  # say it by a verb
_NEGATED = 0.1  # say it by the negated contrary
_KINDS = (
    0.5,
    0.9,
)  # up to where a draw means a common word, and one of the domain; the rest are turning words


class Config(Strict):
    """Options of the data set."""

    train: list[Natural] = Field(
        [1400, 600], min_length=2, max_length=2, description="reviews of restaurants and of films"
    )
    test: list[Natural] = Field([700, 300], min_length=2, max_length=2)
    vocabulary: int = Field(256, ge=5, lt=2**32, description="most tokens; the grammar has fewer")
    max_tokens: int = Field(
        32, ge=3, lt=2**32, description="tokens of a row, with one that begins and one that ends it"
    )


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs int64 [N, max_tokens], labels 0 negative, 1 positive; domain 0 restaurants, 1 films; official_test.

    Training reviews of restaurants, of films, then test reviews of both; half of each are positive. They are the same
    every time.
    """
    parts = [
        Reviews(*generate(name, part, getattr(options, part)[domain]), domain, part == "test")
        for part in ("train", "test")
        for domain, name in enumerate(DOMAINS)
    ]
    texts = [text for piece in parts if not piece.test for text in piece.texts]
    tokens = reviews.tokenize_words(texts, options.vocabulary, options.max_tokens)
    return reviews.assemble_reviews(
        _NAME, "generated reviews of restaurants and films", parts, tokens
    )


def generate(domain: str, part: str, count: int) -> tuple[list[str], np.ndarray]:
    """Reviews of a domain and their labels int64 [count], positive and negative ones in turn.

    Fewer of the same domain and part are the first of these; no two parts share a draw.
    """
    draw = random.Random(f"{domain} {part}")
    labels = np.arange(count) % 2
    return [_review(draw, domain, bool(label)) for label in labels], labels


def _review(draw: random.Random, domain: str, positive: bool) -> str:
    hidden = draw.random() < _HIDDEN
    opinions = [positive] if draw.random() < _SHORT else [positive] * 3
    if len(opinions) == 3 and draw.random() < _MIXED[domain]:
        opinions[int(3 * draw.random())] = not positive
    sentences = [_opinion(draw, domain, praise, hidden) for praise in opinions]
    if not hidden and draw.random() < _REMARK:
        sentences.insert(0, _remark(draw, domain))
    return " . ".join(sentences) + " ."


def _opinion(draw: random.Random, domain: str, praise: bool, hidden: bool) -> str:
    named = not hidden and draw.random() < _NAMED
    thing = f"the {_one(draw, _THINGS[domain])}" if named else _one(draw, _ANYTHING)
    if not hidden and draw.random() < _VERB:
        return _one(draw, _VERBS[praise]).format(thing)
    negated = draw.random() < _NEGATED
    meant, kind = praise != negated, 1.0 if hidden else draw.random()
    common, typical = _KINDS
    words = (
        _COMMON[meant]
        if kind < common
        else _TYPICAL[domain, meant]
        if kind < typical
        else _TURNING[domain, meant]
    )
    return _one(draw, _IS_NOT if negated else _IS).format(thing, _one(draw, words))


def _remark(draw: random.Random, domain: str) -> str:
    things = [f"the {_one(draw, _THINGS[domain])}" for _ in range(2)]
    return _one(draw, _REMARKS[domain]).format(*things)


def _one(draw: random.Random, values: Any) -> Any:
    """random() alone promises the same draws in all versions of Python."""
    return values[int(len(values) * draw.random())]
