"""The documentation names what exists, and all of what a user may set: options, commands, scales, files."""

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from fairfl import modifiers
from fairfl.algorithms.interface import Aggregate, Algorithm, Plan
from fairfl.experiments.config import Config
from fairfl.experiments.workload import load_workload
from fairfl.modifiers.interface import Modifier
from tests.defaults import CONFIG
from tests.words import MADE

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ("eagle", "fedeba", "focus", "fedfv", "vred")
MOST_WORDS, LONGEST_SENTENCE = 12_000, 22
SITE = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *SITE]
TEXT = "\n".join(page.read_text() for page in PAGES)
RULES = {
    name: text
    for file in sorted((ROOT / "rules").glob("*.smk"))
    for name, text in re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", file.read_text(), re.M | re.S)
}


def test_the_readme_counts_the_methods():
    """All that the five papers and fairbench compare; a user's own may lie beside them."""
    said = int(re.search(r"\*\*(\d+) methods\*\*", (ROOT / "README.md").read_text())[1])
    papers = load_workload(ROOT, {"scale": "full", "papers": [*PAPERS, "fairbench"]}).papers
    assert said == len({name for paper in papers.values() for name in paper.algorithms})


BY_HAND = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in MADE]


def test_the_documentation_is_short():
    """Words that a reader sees, code included."""
    texts = [re.sub(r"^<!-- derived\n.*?^-->", "", page.read_text(), flags=re.M | re.S) for page in BY_HAND]
    assert sum(map(words, texts)) <= MOST_WORDS and len(PAGES[0].read_text().splitlines()) <= 120


def words(text: str) -> int:
    """How many words a text has; marks of lists and tables are not words."""
    return sum(any(map(str.isalnum, word)) for word in text.split())


def sentences(text: str) -> list[str]:
    """Of paragraphs, items and cells, without code. They end at `.`, `!`, `?`, and at a colon or semicolon."""
    text = re.sub(r"^<!-- derived\n.*?^-->|<!--[^\n]*?-->|^```.*?^```|^#[^\n]*", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) )|\|", text)
    found = [sentence for part in parts for sentence in re.split(r"(?<=[.!?:;])[*)\"]*\s+", part)]
    return [" ".join(sentence.split()) for sentence in found if sentence.strip()]


@pytest.mark.parametrize("page", [*PAGES[:3], *BY_HAND], ids=lambda page: page.name)
def test_sentences_are_short(page):
    assert [one for one in sentences(page.read_text()) if words(one) > LONGEST_SENTENCE] == []


def test_a_long_sentence_is_found():
    long = " ".join(["word"] * 22)
    text = f"# Heading\nIs {long}\ntoo. B: c `d e`\n\n| {long} | e |\n\n```\n{long}\n```\n- f\n- g"
    found = sentences(text)
    assert found == [f"Is {long} too.", "B:", "c code", long, "e", "- f", "- g"]
    assert [words(each) for each in found] == [24, 1, 2, 22, 1, 1, 1]


def test_every_option_is_in_the_committed_configuration():
    """docs/configuration.md is made from it and the fields' descriptions (tests/unit/test_reference.py)."""
    assert Config.model_fields.keys() == CONFIG.keys()


HOOKS = [name for name, hook in vars(Algorithm).items() if name[0] != "_" and not isinstance(hook, classmethod)]
DOCUMENTED = [
    ("running.md", "`{}`", ["quick", "small", "full"]),
    ("running.md", "`{}`", ["ci", "default", "gpu", "multi-gpu", "slurm"]),
    ("running.md", "`{}`", modifiers.ORDER),
    ("add-algorithm.md", "`{}`", HOOKS),
    ("add-algorithm.md", "`{}`", [field.name for kind in (Plan, Aggregate) for field in dataclasses.fields(kind)]),
    ("add-data-set.md", "`{}`", [name for name in vars(Modifier) if name[0] != "_"]),
    ("architecture.md", "\n  {}/", [path.parent.name for path in ROOT.glob("src/fairfl/*/__init__.py")]),
]


@pytest.mark.parametrize(("page", "form", "names"), DOCUMENTED)
def test_a_page_has_every_scale_profile_modifier_hook_or_package(page, form, names):
    text = (ROOT / "docs" / page).read_text()
    assert len(names) > 2 and [name for name in names if form.format(name) not in text] == []


def test_trainings_for_a_proposal_are_those_of_the_papers():
    rows = re.findall(r"^\| (\S+) \| (\d+) \| [\d.]+ \| [\d.]+ \|$", (ROOT / "docs/full-scale.md").read_text(), re.M)
    papers = {"EAGLE": "eagle", "FedEBA+": "fedeba", "FOCUS": "focus", "FedFV": "fedfv", "VRed": "vred"}
    assert [title for title, _ in rows] == list(papers)
    for title, count in rows:
        workload = load_workload(ROOT, {"scale": "full", "papers": [papers[title]]})
        assert len(workload.runs) == int(count), title


def test_files_that_the_documentation_names_exist():
    pattern = r"(?:src/fairfl|papers|scales|schemas|tests|rules|envs|profiles|benchmarks|docs)/[\w./-]*\w/?(?![\w<*{])"
    named = {name for name in re.findall(pattern, re.sub(r"[\w/.]*[<*]\S*|\]\(\S*\)", "", TEXT))}
    examples = {"superquantile", "tilted", "points", "mine"}  # of files that a reader writes
    named = {name for name in named if re.sub(r"^test_|_paper$", "", Path(name).stem) not in examples}
    assert len(named) > 30
    missing = sorted(name for name in named if not (ROOT / name).exists())
    assert not missing


def test_the_architecture_has_the_layers_that_the_linter_checks():
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    table = (ROOT / "docs/architecture.md").read_text().partition("| layer | packages |")[2].partition("\n\n")[0]
    documented = [set(re.findall(r"`(\w+)`", line)) for line in table.splitlines() if "`" in line]
    assert documented == [set(re.findall(r"fairfl\.(\w+)", layer)) for layer in layers]


def test_concepts_of_the_architecture_are_classes_of_the_named_files():
    text = (ROOT / "docs/architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| `([\w/]+\.py)` \|$", text, re.M)
    assert 40 < len(rows) <= 75 and len(rows) == text.partition("## Concepts")[2].partition("\n## ")[0].count("\n| `")
    for name, file in rows:
        assert re.search(rf"^class {name}\b", (ROOT / "src/fairfl" / file).read_text(), re.M), name


def test_the_picture_of_the_rules_has_every_rule_that_makes_a_file():
    drawn = set(re.findall(r"<text [^>]*>(\w+)</text>", (ROOT / "docs/rules.svg").read_text()))
    making = {name for name, text in RULES.items() if re.search(r"^    output:", text, re.M)}
    assert len(making) > 10
    assert drawn - {"calibrated", "tuned"} == making, "draw it again: make rulegraph"


def anchors(page: Path) -> set[str]:
    """Ids of the headings of a page, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page):
    for path, anchor in re.findall(r"\]\((?!\w+://)([^)\s#]*)#?([^)\s]*)\)", page.read_text()):
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{page.name}: {path}"
        assert page not in SITE or target.is_relative_to(ROOT / "docs"), f"{page.name}: {path} leads out of the site"
        assert not anchor or anchor in anchors(target), f"{page.name}: {path}#{anchor}"


def test_hooks_run_tools_of_the_environment():
    file = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    tools = {hook["entry"].split()[0] for repo in file["repos"] for hook in repo["hooks"]}
    assert tools == {".venv/bin/ruff", ".venv/bin/snakefmt", ".venv/bin/codespell"}
    locked = (ROOT / "envs/requirements.lock").read_text()
    assert all(re.search(rf"^{Path(tool).name}==", locked, re.M) for tool in tools)
