"""One variant, all its spellings: each is read back as it was written, and no two variants share one."""

from enum import StrEnum
from types import SimpleNamespace
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from fairfl.experiments import declaration as declarations
from fairfl.experiments import variant as variants
from fairfl.experiments.base import Strict
from fairfl.experiments.variant import Variant, check_folder
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import SpecError
from tests.unit.edited_papers import planned

KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
DOTTED = st.sampled_from(["dp.sigma", "dp.clip", "lsr", "server_momentum.beta", "fedvarp"])
WORDS = st.from_regex(r"[A-Za-z0-9_.+-]{1,12}", fullmatch=True).filter(lambda text: not text.endswith("+tuned"))
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
SPECIAL = [1, 1.0, 0, -0.0, 1e-05, 1e22, 1e300, 5e-324, "1", "1e-5", "true", "nan", "inf", "1_000", "+1"]
VALUES = st.booleans() | NUMBERS | WORDS | st.sampled_from(SPECIAL)
ALGORITHMS = st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True)
VARIANTS = st.builds(Variant, ALGORITHMS, st.dictionaries(KEYS | DOTTED, VALUES, max_size=5), st.booleans())


class Kind(StrEnum):
    a, b = "1", "1.0"


class _Fields(Strict):
    a: str = "x"
    way: Literal["1", "1.0"] | None = None
    q: float = 1.0
    either: str | float = 1.0
    some: Annotated[str, Field(min_length=1)] | int = 1
    count: int | float = 1
    kind: Kind = Kind.a
    worded: Annotated[float, Field(gt=0)] | Literal["auto"] | None = 1.0


@pytest.fixture()
def fields(monkeypatch):
    """Algorithm `mine` has text fields and others."""
    known = {"mine": SimpleNamespace(Config=_Fields)}
    original = variants.declaration
    monkeypatch.setattr(variants, "declaration", lambda kind, name: known.get(name) or original(kind, name))
    variants.texts_of.cache_clear()
    yield
    variants.texts_of.cache_clear()


PAIRS = [("1", "1.0"), ("true", "True"), ("01", "1"), ("1e5", "100000"), ("+1", "1"), ("0", "-0"), (".5", "0.5")]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_texts_that_read_as_equal_numbers_are_two_variants_and_come_back(fields, one, other):
    for key in ("a", "way", "either", "some", "count", "kind"):
        pair = [Variant("mine", {key: text}) for text in (one, other)]
        assert pair[0] != pair[1] and not pair[0].includes(pair[1]) and len({v.folder for v in pair}) == 2
        for v in pair:
            assert Variant.from_folder("mine", v.folder) == Variant.from_csv("mine", v.csv) == v
            assert Variant.from_selector(v.selector) == v and v.includes(Variant("", dict(v.values)))
    assert Variant("mine", {"q": 1, "a": "x"}).includes(Variant("", {"q": 1})), "it has more"
    assert Variant("mine", {"q": 1}) == Variant("mine", {"q": 1.0}) == Variant.from_csv("mine", "q=1e0")
    assert Variant("mine", {"worded": "1"}) == Variant("mine", {"worded": 1.0}) != Variant("mine", {"worded": "auto"})


@pytest.mark.parametrize(("one", "other"), [(1, True), ("1", 1)])
def test_rows_that_files_cannot_tell_apart_are_refused(monkeypatch, tmp_path, one, other):
    """They are equal as files name them, and train with other values."""

    class Config(Strict):
        q: bool | int | str = 1

    qffl = declarations.declaration("algorithms", "qffl")
    mine = SimpleNamespace(**{name: getattr(qffl, name) for name in dir(qffl) if name[0] != "_"} | {"Config": Config})
    real = declarations.declaration
    for module in (declarations, variants):
        monkeypatch.setattr(module, "declaration", lambda kind, name: mine if name == "qffl" else real(kind, name))
    variants.texts_of.cache_clear()
    rows = [{"algorithm": "qffl", "hyperparameters": {"q": value}} for value in (one, other)]
    changes = {f"artifacts/{name}/rows": rows for name in ("table1", "figure1")}
    with pytest.raises(SpecError, match=r"template.yaml: template_digits: qffl: \{'q': .*\} are two values that files"):
        planned(tmp_path, "template", changes)
    changes = {name: [rows[0], rows[0]] for name in changes}
    assert len(planned(tmp_path, "template", changes).variants["template_digits"]) == 1
    variants.texts_of.cache_clear()


# -- read back as written ---------------------------------------------------------------------------
@given(VARIANTS)
def test_folder_and_selector_are_read_back(variant):
    """The selector is that of the reported variant."""
    assert Variant.from_folder(variant.algorithm, variant.folder) == variant
    assert Variant.from_selector(variant.selector) == variant.untuned
    assert Variant.from_selector(f"{variant.algorithm}/{variant.untuned.folder}") == variant.untuned


# -- no two alike -----------------------------------------------------------------------------------
@given(VARIANTS, VARIANTS)
def test_no_two_variants_share_a_folder(one, other):
    assert one == other or (one.algorithm, one.folder) != (other.algorithm, other.folder)


def test_a_word_is_no_number_and_a_tuned_variant_is_not_the_reported_one():
    words = [Variant("a", {"x": value}) for value in ("loss", "gap", "nan", "inf", "1_000", 1, 1000)]
    assert len(set(words)) == len(words)
    tuned = Variant("a", {"x": 1}, tuned=True)
    assert tuned != tuned.untuned == Variant("a", {"x": 1})
    with pytest.raises(ValueError, match=r"'loss\+tuned' cannot end in \+tuned"):
        check_folder({"x": "loss+tuned"})


# -- by hand ----------------------------------------------------------------------------------------
def test_the_spellings():
    variant = Variant("fedfv", {"tau": 10, "alpha": 0.1})
    assert variant.folder == "alpha=0.1~tau=10" and variant.csv == "alpha=0.1,tau=10"
    assert variant.selector == "fedfv/alpha=0.1,tau=10" and str(variant) == "fedfv(alpha=0.1, tau=10)"
    assert variant.label("FedFV") == "FedFV α = 0.1, τ = 10"
    assert variant.latex("FedFV", str) == r"FedFV $\alpha = 0.1$, $\tau = 10$"
    assert Variant("fedfv", dict(variant.values), tuned=True).folder == "alpha=0.1~tau=10+tuned"
    plain = Variant("fedavg", {})
    assert (plain.folder, plain.csv, plain.selector, str(plain)) == ("default", "", "fedavg/default", "fedavg")
    assert (plain.label("FedAvg"), plain.latex("FedAvg", str)) == ("FedAvg", "FedAvg")
    flipped = Variant("qffl", {"q": 1.0, "lsr": True})
    assert (flipped.folder, flipped.csv, str(flipped)) == ("lsr=true~q=1.0", "lsr=True,q=1.0", "qffl(lsr=1, q=1)")
    assert Variant("a", {"eta_lambda": 1, "order": "loss"}).latex("A", str) == r"A $\eta_{\lambda} = 1$, order = loss"


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        ("csv", "q", "'q' is not key=value"),
        ("folder", "q=", "'q=' is not key=value"),
        ("csv", "q=1,q=2", "'q' is given twice"),
        ("folder", "q=1~q=2", "'q' is given twice"),
        ("selector", "qffl", "'qffl' is not <algorithm>/<key>=<value>"),
        ("selector", "/q=1", "'/q=1' is not <algorithm>/<key>=<value>"),
    ],
)
def test_bad_spellings_are_named(read, text, message):
    with pytest.raises(FairflError, match=f"{message}$"):
        getattr(Variant, f"from_{read}")(*["qffl"] * (read != "selector"), text)
