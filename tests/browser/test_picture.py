"""README's picture of the page is of today's page: words that stay when the record grows are compared."""

import html
import re
from pathlib import Path

import pytest
import yaml

from fairfl.experiments.workload import load_workload
from fairfl.reporting import page as package
from fairfl.reporting.headlines import sentence
from tests.browser import picture

# Words of the template that the page of the record shows on its first screen.
FIRST_SCREEN = r'<(?:label|h1|dt|option value="")\b[^>]*>(.*?)</(?:label|h1|dt|option)>'


@pytest.fixture(scope="module")
def shown(root) -> str:
    return picture.words(root / "docs/page.png")


def labels() -> list[str]:
    text = (Path(package.__file__).parent / "page.html.j2").read_text()
    text = re.sub(r"^{% if [^%]*%}<.*?{% endif %}", "", text, flags=re.M)  # what not every page has
    text = text.replace("{{ scale.scale }}", "paper").split('<section class="view" id="farthest"')[0]
    plain = (html.unescape(re.sub(r"<[^>]+>", "", label)) for label in re.findall(FIRST_SCREEN, text))
    return [" ".join(label.split()) for label in plain if "{" not in label]


def test_its_labels_are_those_of_the_template(shown):
    assert len(labels()) >= 8
    assert [label for label in labels() if label not in shown] == []


@pytest.fixture(scope="module")
def papers(root):
    return load_workload(root, yaml.safe_load((root / "config.yaml").read_text())).papers


def test_it_opens_with_a_line_per_paper(shown, papers):
    """Their headlines, which stay when the record grows; its counts are those of the day when it was drawn."""
    assert "Does it reproduce?" in shown
    published = [paper for paper in papers.values() if paper.headline]  # an experiment of one's own has none
    assert len(published) == 5 and [paper.called for paper in published if sentence(paper) not in shown] == []


def test_it_lists_every_artifact_of_the_papers(shown, papers):
    titles = {
        artifact.title
        for paper in papers.values()
        for artifact in paper.artifacts.values()
        if "$" not in artifact.title and not artifact.ours
    }
    assert len(titles) > 30
    assert [title for title in titles if title not in shown] == []
