"""The page in a real browser: finding, filtering, sorting, addresses that last, a phone, people who do not see it."""

import shutil
from pathlib import Path

import pytest

from fairfl.reporting.page.page import render
from tests.browser.browser import Browser
from tests.unit.reporting.test_page import build

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

LISTED = (
    "[...document.querySelectorAll('#artifacts li')]"
    ".filter((e) => e.checkVisibility() && e.querySelector('a[href*=demo_]'))"
)
NAMES = f"{LISTED}.map((e) => e.querySelector('a').hash.slice(1).split('?')[0])"
SHOWN = "document.querySelector('section.view.shown').id"


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


def search(page, words: str) -> None:
    page.js("const e = document.querySelector('#search'); e.value = arguments[0];"
            "e.dispatchEvent(new Event('input', {bubbles: true}))", words)  # fmt: skip


def test_search_looks_at_captions_algorithms_settings_and_claims(page):
    every = page.js(f"return {NAMES}")
    assert {"demo_table1", "demo_figure1", "demo_table3"} <= set(every)
    search(page, "curves")
    page.until(f"{NAMES}.length < {len(every)}")
    assert page.js(f"return {NAMES}") == ["demo_figure1"]
    search(page, "fedavg wins")  # a claim
    page.until(f"JSON.stringify({NAMES}) === '[\"demo_table1\"]'")
    search(page, "nothing of that name")
    page.until(f"{NAMES}.length === 0")
    search(page, "")
    page.until(f"{NAMES}.length === {len(every)}")


def test_filters_hide_what_was_not_judged(page):
    page.js("document.querySelector('[data-filter=checked]').click()")
    page.until(f"{NAMES}.length === 1")
    assert page.js(f"return {NAMES}") == ["demo_table1"]


def test_a_column_sorts_both_ways(page, address):
    page.open(f"{address}#demo_table1")
    page.until(f"{SHOWN} === 'demo_table1'")
    button = "document.querySelector('section.shown table th button.sort')"
    first = "document.querySelector('section.shown table tbody tr th').textContent.trim()"
    orders = set()
    for _ in range(3):
        page.js(f"{button}.click()")
        orders.add((page.js(f"return {button}.closest('th').ariaSort"), page.js(f"return {first}")))
    assert {"ascending", "descending"} <= {order for order, _ in orders}
    assert len({name for order, name in orders if order in ("ascending", "descending")}) == 2


def test_an_address_shows_an_artifact_and_outlives_a_reload(page, address):
    page.open(f"{address}#demo_figure1")
    page.until(f"{SHOWN} === 'demo_figure1'")
    search(page, "curves")
    page.until("location.hash.includes('q=curves')")
    page.js("location.reload()")
    page.until("document.readyState === 'complete' && document.querySelector('#search').value === 'curves'")
    assert page.until(SHOWN) == "demo_figure1" and page.js(f"return {NAMES}") == ["demo_figure1"]


def test_what_is_behind_a_number_is_told_when_it_has_the_focus(page, address):
    page.open(f"{address}#demo_table1")
    page.until(f"{SHOWN} === 'demo_table1'")
    page.js("document.querySelector('section.shown [data-i]').focus()")
    told = page.until("!document.querySelector('#tip').hidden && document.querySelector('#tip').textContent")
    assert "seeds" in told and "tolerance" in told


def test_a_phone_loses_nothing(page, address):
    page.width(390, phone=True)
    page.open(f"{address}#demo_table1")
    page.until(f"{SHOWN} === 'demo_table1'")
    assert page.js("return document.documentElement.scrollWidth") <= 390
    cells = "[...document.querySelectorAll('section.shown td')]"
    assert page.js(f"return {cells}.filter((e) => !e.checkVisibility()).map((e) => e.outerHTML)") == []
    # Whatever is wider than the screen scrolls in a box of its own.
    scrolls = "['auto', 'scroll'].includes(getComputedStyle(box).overflowX)"
    boxed = f"(e) => {{ for (let box = e; box; box = box.parentElement) if ({scrolls}) return true; return false; }}"
    outside = f"{cells}.filter((e) => e.getBoundingClientRect().right > 390 && !({boxed})(e)).length"
    assert page.js(f"return {cells}.length > 4 && {outside}") == 0


@pytest.mark.parametrize("width", [390, 1400])
def test_the_first_table_breaks_its_lines_before_it_scrolls(page, width):
    """The claims of each paper once lay behind its right edge."""
    page.width(width, phone=width < 1000)
    page.js("document.querySelector('table.papers tbody td:last-child').textContent = arguments[0]", "8 refuted, " * 9)
    scroll = "document.querySelector('.scroll:has(> table.papers)')"
    assert page.js(f"return [{scroll}.scrollWidth <= {scroll}.clientWidth, {scroll}.clientWidth > 300]") == [True, True]


def box(page, of: str) -> dict[str, float]:
    return page.js(f"const e = {of}, b = e.getBoundingClientRect();"
                   "return {top: b.top, bottom: b.bottom, left: b.left, right: b.right, width: b.width}")  # fmt: skip


TABLE = "document.querySelector('section.shown table.numbers')"
# As many columns as FOCUS's table 1 has, with numbers as long as its longest.
WIDEN = f"""
    const table = {TABLE}, cell = table.querySelector('tbody td .n > span').closest('td');
    while (table.tHead.rows.length > 1) table.tHead.lastChild.remove();
    table.tHead.rows[0].replaceChildren();
    for (let n = 0; n < arguments[0]; n++)
      table.tHead.rows[0].insertAdjacentHTML('beforeend', '<th>q-FFL q = 10.0</th>');
    for (const row of table.tBodies[0].rows) {{
      while (row.cells.length > 1) row.lastChild.remove();
      row.cells[0].textContent = 'FedAvg';
      for (let n = 1; n < arguments[0]; n++) row.append(cell.cloneNode(true));
    }}
    for (const one of table.querySelectorAll('tbody .n [data-i]'))
      one.innerHTML = '0.24963<i> ± 0.00500</i>';
    fit(table.closest('.view'));
"""


@pytest.mark.parametrize(("columns", "steps"), [(4, []), (5, ["stacked"]), (9, ["stacked", "tight"])])
def test_no_column_is_out_of_sight_on_a_large_screen(page, address, columns, steps):
    page.open(f"{address}#demo_table1")
    page.until(f"{SHOWN} === 'demo_table1'")
    page.js(WIDEN, columns)
    assert page.js(f"return {TABLE}.tHead.rows[0].cells.length") == columns
    assert [name for name in ("stacked", "tight") if page.js(f"return {TABLE}.matches('.{name}')")] == steps
    last = box(page, f"[...{TABLE}.tBodies[0].rows].at(-1).lastChild")
    around = box(page, f"{TABLE}.closest('.scroll')")
    assert around["left"] < last["left"] < last["right"] <= around["right"] <= 1400
    ours, theirs = (box(page, f"{TABLE}.querySelector('td .n > {part}')") for part in ("button", "span"))
    if steps:
        assert theirs["top"] >= ours["bottom"] - 4 and abs(theirs["left"] - ours["left"]) < 2
    else:
        assert theirs["left"] >= ours["right"] and theirs["top"] < ours["bottom"] - 4


def test_the_sidebar_folds_and_stays_folded(page, address):
    page.open(f"{address}#demo_table1")
    page.until(f"{SHOWN} === 'demo_table1'")
    before = box(page, "document.querySelector('main')")
    page.js("document.querySelector('#menu').click()")
    page.until("!document.querySelector('#sidebar').checkVisibility()")
    assert before["left"] > 300 and box(page, "document.querySelector('main')")["left"] < 10
    assert page.js("return document.querySelector('#menu').ariaExpanded") == "false"
    # A busy Chromium loses one in 75 values that are stored right before a reload.
    for _ in range(5):
        page.js("location.reload()")
        page.until("document.readyState === 'complete' && document.querySelector('section.view.shown')")
        if not (shown := page.js("return document.querySelector('#sidebar').checkVisibility()")):
            break
        page.js("document.querySelector('#menu').click()")
    assert not shown
    page.js("document.querySelector('#menu').click(); localStorage.clear()")
    assert page.js("return document.querySelector('#sidebar').checkVisibility()")


@pytest.mark.parametrize("view", ["farthest", "claims", "overview", "demo_table3"])
def test_lists_are_cards_on_a_phone(page, address, view):
    page.width(390, phone=True)
    page.open(f"{address}#{view}")
    page.until(f"{SHOWN} === arguments[0]", view)
    cells = page.js("""return [...document.querySelectorAll('section.shown table.wide tbody tr > *')].map((cell) => {
        const b = cell.getBoundingClientRect(), above = cell.previousElementSibling?.getBoundingClientRect();
        return [b.left, b.right, above ? b.top - above.bottom : 0, getComputedStyle(cell, '::before').content];
    })""")
    assert len(cells) > 1
    for left, right, below, label in cells:  # each in the window, one below another, with its column's title
        assert 0 <= left < right <= 390 and below >= -1 and ": " in label
    assert page.js("return document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("width", [390, 1400])
def test_a_figure_is_shown_in_full_size(page, address, width):
    page.width(width, phone=width < 500)
    page.open(f"{address}#demo_figure1")
    picture = "document.querySelector('section.shown a.zoom img')"
    page.js(f"""const blank = document.createElement('canvas'); [blank.width, blank.height] = [1380, 700];
        {picture}.src = {picture}.parentElement.href = blank.toDataURL()""")
    page.until(f"{picture}.naturalWidth === 1380")
    small = box(page, picture)["width"]
    page.js(f"{picture}.click()")
    page.until("document.querySelector('#zoomed').open && document.querySelector('#zoomed img').naturalWidth")
    large = box(page, "document.querySelector('#zoomed img')")["width"]
    assert large >= 1380 and large > 1.4 * small
    assert (
        page.js("const d = document.querySelector('#zoomed'); d.scrollLeft = 1e6; return d.scrollLeft + d.clientWidth")
        >= large
    )


def test_signs_have_names_for_those_who_do_not_see_them(page, address):
    page.open(f"{address}#demo_table1")
    page.until(f"{SHOWN} === 'demo_table1'")
    signs = page.js("return [...document.querySelectorAll('section.shown .m')].map((e) => [e.role, e.ariaLabel])")
    assert {"agrees", "differs"} <= {name for _, name in signs} and {role for role, _ in signs} == {"img"}


@pytest.mark.parametrize("view", ["overview", "farthest", "claims", "demo_table1", "demo_figure1", "paper-demo"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_people_who_do_not_see_it_can_use_it(page, address, view, theme):
    page.open(f"{address}#{view}")
    page.until(f"{SHOWN} === arguments[0]", view)
    page.js("document.documentElement.dataset.theme = arguments[0]", theme)
    wrong = page.js((Path(__file__).parent / "accessibility.js").read_text())
    assert wrong == []


def test_nothing_complains_and_no_foreign_script_runs(page, address):
    for view in ("overview", "claims", "farthest", "demo_table1", "demo_figure1", "demo_table3"):
        page.js("location.hash = arguments[0]", view)
        page.until(f"{SHOWN} === arguments[0]", view)
    assert page.js("return window.alert.toString()").count("native code")
    assert [line for line in page.complaints() if "figure2" not in line and "figure1" not in line] == []
