"""README's picture of the page is of today's page: its words are compared, no browser is needed."""

import html
import re
from pathlib import Path

import pytest
import yaml

from fairfl.experiments.workload import load_workload
from fairfl.reporting import page as package
from tests.browser import picture

# Words of the template that every page at quick scale shows on its first screen.
FIRST_SCREEN = r'<(?:label|h1|dt|option value="")\b[^>]*>(.*?)</(?:label|h1|dt|option)>'


@pytest.fixture(scope="module")
def shown(root) -> str:
    return picture.words(root / "docs/page.png")


def labels() -> list[str]:
    text = (Path(package.__file__).parent / "page.html.j2").read_text()
    text = text.replace("{{ scale.scale }}", "quick").split('<section class="view" id="farthest"')[0]
    plain = (html.unescape(re.sub(r"<[^>]+>", "", label)) for label in re.findall(FIRST_SCREEN, text))
    return [" ".join(label.split()) for label in plain if "{" not in label]


def test_its_labels_are_those_of_the_template(shown):
    assert len(labels()) >= 8
    assert [label for label in labels() if label not in shown] == []


def test_it_says_what_the_record_says(shown, root):
    readme = (root / "README.md").read_text()
    judged = re.search(r"compared, ([\d,]+) have\s+been judged", readme)
    assert judged and f"{judged[1]} numbers judged:" in shown


def test_it_lists_every_artifact(shown, root):
    papers = load_workload(root, yaml.safe_load((root / "config.yaml").read_text())).papers.values()
    titles = {artifact.title for paper in papers for artifact in paper.artifacts.values() if "$" not in artifact.title}
    assert len(titles) > 30
    assert [title for title in titles if title not in shown] == []
