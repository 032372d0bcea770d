"""Any value, any text: what cannot be read is refused in words, what can is read the same twice."""

from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fairfl.data import registry
from fairfl.experiments.config import Config
from fairfl.experiments.plugins import names
from fairfl.experiments.strict import load
from fairfl.judgement.claims.grammar import ClaimError, parse
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import SpecError, check, checked, from_text
from tests.bad_input.refusals import check_lines

MANY = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
ROOT = Path(__file__).resolve().parents[2]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.binary(max_size=4)
    | st.dates()
    | st.sampled_from([2**63, 10**400, "\ud800", "\0", "\n", "eagle,vred", "a=1,b=2", "1e-3", "quick", "~x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6) | st.integers(), inner, max_size=3),
    max_leaves=12,
)
KEYS = st.sampled_from([*Config.model_fields, "x", "a\nb", ""])


@MANY
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_config(changes):
    given = {"scale": "quick", "papers": ["eagle"]} | changes
    try:
        config = check(given, Config, "config.yaml")
    except SpecError as error:
        check_lines(str(error), (), begins="config.yaml: ")
    else:
        assert check(config.model_dump(mode="json"), Config, "config.yaml") == config


_YAML = [
    "scale", "papers", ": ", "- ", "\n", "\n  ", "[", "]", "{", "}", "&a ", "*a", "<<: ", "!!int ", "!!python/name:x ",
    "'", '"', "|\n", ">\n", "#", "? ", "\t", ".nan", ".inf", "~", "0x1", "1e5", "2020-01-01", "---\n", "...\n",
    "%YAML 1.1\n",
    "é", "\ufeff", "quick", ",", "@", "`", "!", "!<x> ", "\\",
]  # fmt: skip


@MANY
@given(
    st.binary(max_size=60)
    | st.text(max_size=60).map(str.encode)
    | st.lists(st.sampled_from(_YAML), max_size=30).map(lambda parts: "".join(parts).encode())
)
@example(b"a: &a [*a]")
@example(b"!!omap [a: 1]")
@example(b"? !!null ''\n: 1")
def test_any_file(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    try:
        check(load(path), Config, str(path))
    except SpecError as error:
        check_lines(str(error), (), begins=str(path))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@MANY
@given(PLAIN)
def test_any_plain_value_comes_back_from_a_file(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "plain.yaml"
    path.write_text(yaml.safe_dump({"key": value}), encoding="utf-8")
    assert load(path) == {"key": value}


@MANY
@given(st.text(max_size=60))
def test_any_text_as_options(text):
    try:
        assert isinstance(from_text(text, dict, "--options"), dict)
    except FairflError as error:
        check_lines(str(error), ("--options: ",))


@MANY
@given(st.sampled_from(names("data")), st.data())
def test_any_options_of_any_data_set(name, draw):
    module = registry.load(name)
    known = st.sampled_from([*module.Config.model_fields, "x"])
    options = draw.draw(st.dictionaries(known, VALUES, max_size=2))
    try:
        checked(options, module.Config, name)
    except FairflError as error:
        check_lines(str(error), (name,))


# -- claims -----------------------------------------------------------------------------------------------
@cache
def claims():
    found = []
    for path in sorted((ROOT / "papers").glob("*.yaml")):
        paper = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        found += [claim["expr"] for artifact in paper["artifacts"].values() for claim in artifact.get("claims", [])]
    return found


@st.composite
def mutated(draw):
    text = draw(st.sampled_from(claims()))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        drop = draw(st.integers(0, 3))
        piece = draw(st.sampled_from(["", "(", ")", ",", "=", "@", "-", "x", " ", "\n", "é", "1e9"]))
        text = text[:at] + piece + text[at + drop :]
    return text


@MANY
@given(mutated() | st.text(max_size=80))
def test_any_claim(text):
    try:
        statement = parse(text, "c")
    except ClaimError as error:
        check_lines(str(error), ("claim c: ",))
    else:
        assert parse(f" {text}\n", "c") == statement


LONG = [
    "(" * 5000, "(" * 4000 + "1" + ")" * 4000 + " < 2", "-" * 9000 + "1 < 2", "1" * 9000 + " < 2", "1 < " + "9" * 9000,
    "+".join("1" * 4000) + " < 2", "min(" * 2000, "abs(" * 2400, "!" * 9000, "a" * 9000, "a(" * 4000, "." * 9000,
    "min_over(m, " + ",".join(["!a"] * 3000) + ") < 1", "m(a, " + ",".join(f"k{n}=1" for n in range(1200)) + ") < 1",
    "undominated a: " + ",".join(["m up"] * 1800), " " * 9999, "1e" + "9" * 5000 + " < 2", "a" * 10**6, "1 <" * 3000,
]  # fmt: skip


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:12])
def test_long_claims_do_not_hang(text):
    try:
        parse(text, "c")
    except FairflError as error:
        check_lines(str(error), ("claim c: ",))
