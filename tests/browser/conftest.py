"""A browser, and the page of a small workload, once per session."""

import shutil

import pytest

from fairfl.reporting.page.page import render
from tests.browser.browser import Browser
from tests.unit.reporting.test_page import build


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    for program in ("chromium", "chromedriver"):
        if not shutil.which(program):
            pytest.skip(f"no {program} here (Debian: apt-get install chromium chromium-driver)")
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def address(tmp_path_factory) -> str:
    """Of the page of two papers' worth of hostile words: a table, figures, a list of words."""
    workload, results = build(tmp_path_factory.mktemp("page"))
    path = results / "index.html"
    path.write_text(render(workload, results.parents[1], results, path))
    return path.as_uri()


@pytest.fixture()
def page(browser, address):
    """The page as it is first seen, on a large screen."""
    browser.width(1400)
    browser.open("about:blank")
    browser.complaints()
    browser.open(address)
    return browser
