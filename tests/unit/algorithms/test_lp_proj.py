"""lp-proj: the server's mean; its round of both norms is in test_examples.py."""

from tests.unit.algorithms.test_examples import LINE, PULLED
from tests.unit.algorithms.toy import close
from tests.unit.plain_engine import on_quadratics


def test_how_the_server_averages():
    plain = on_quadratics("lp_proj", **LINE, **PULLED).rounds().state
    sized = on_quadratics("lp_proj", **LINE, **PULLED, weighting="size", b=0.5).rounds()
    first = sized.state["omega"]
    close(first, 0.5 * (0.25 * plain["o"][0] + 0.75 * plain["o"][1]), 1e-12)
    again = sized.rounds().state
    close(again["omega"], 0.5 * first + 0.5 * (0.25 * again["o"][0] + 0.75 * again["o"][1]), 1e-12)
