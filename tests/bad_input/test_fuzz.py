"""Any text is a claim, or is refused in words."""

from functools import cache
from pathlib import Path

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairfl.judgement.claims.grammar import ClaimError, parse
from tests.bad_input.refusals import check_lines

MANY = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
ROOT = Path(__file__).resolve().parents[2]


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
