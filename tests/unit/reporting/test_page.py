"""The page: everything is on it, nothing hostile gets through, nothing is loaded from elsewhere, it fits a phone."""

import base64
import dataclasses
import gzip
import json
import re
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from fairfl.experiments.workload import Workload, load_workload
from fairfl.judgement.claims.judging import claim_lines
from fairfl.judgement.comparison import comparison_lines
from fairfl.judgement.ranking import RankingLine, ranking_lines
from fairfl.judgement.recorded import CLAIMS as RECORDED_CLAIMS
from fairfl.judgement.recorded import COMPARISON, claims_text, comparison_text
from fairfl.judgement.rows import ClaimLine, ComparisonLine, csv_text
from fairfl.recorded import sums
from fairfl.reporting.page import page as page_module
from fairfl.reporting.page.numbers import summarize_verdicts
from fairfl.reporting.page.page import records, render
from tests.unit import rows
from tests.unit.reporting import demo

HOSTILE = '<script>alert("1")</script><img src=x onerror=alert(1)>'
VOID = {"meta", "link", "img", "br", "hr", "input"}
LONG = f"not stated: chosen because {'of time ' * 20}"
SETTING = demo.SETTING | {"rounds": 1000, "sources": demo.SETTING["sources"] | {"rounds": LONG}}
ROWS = [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 1.0}}]
TWICE = {"id": "acc", "expr": "acc(row) == 2 * loss(row)", "within": 0.01, "text": "twice <the> loss"}
CLAIMS = [
    {"id": "c1", "expr": "loss(fedavg) < loss(qffl, q=1)", "text": "FedAvg wins"},
    {"id": "c2", "expr": "loss(fedavg) < 0", "text": HOSTILE},
]
FIGURE = {"kind": "figure", "title": "Figure", "plot": "metric_curves", "settings": ["demo_full"]}
LONG_NAME = "demo_short_with_a_rather_long_name_for_a_setting_a0.1"
ARTIFACTS = {
    "table1": {
        "kind": "table", "title": "Table 1", "caption": HOSTILE, "settings": ["demo_full", LONG_NAME], "rows": ROWS,
        "columns": ["loss", "acc"], "rules": [1],
        "claims": [{**claim, "setting": "demo_full", "reference": "supported"} for claim in CLAIMS],
    },
    "figure1": {**FIGURE, "caption": 'Curves "of" $\\alpha$'},
    "figure2": {**FIGURE, "caption": "Not there"},
    "table3": {
        "kind": "static_table", "title": "Table 3", "caption": "Words", "header": ["a", "b"], "rules": [0],
        "content": [["$\\lambda$", HOSTILE]],
    },
}  # fmt: skip
PAPER = {
    **demo.PAPER,
    "title": f"A demo {HOSTILE}",
    "metrics": {
        "loss": {"name": "$\\max_k L_k$", "meaning": "largest", "unit": "nats", "direction": "down", "digits": 2},
        "acc": {"name": "accuracy", "meaning": "mean", "unit": "percent", "direction": "up", "digits": 1},
    },
    "algorithms": {
        "fedavg": {"title": "FedAvg"},
        "qffl": {"title": "q-FFL", "grid": {"q": [1, 2]}, "sources": {"q": "paper table 1"}},
    },
    "settings": dict.fromkeys(("demo_full", LONG_NAME), SETTING),
    "artifacts": ARTIFACTS,
}
PATCH = {
    "match": ["demo_short*"],
    "set": {"rounds": 10, "evaluate_every": 5, "data": {"name": "digits"}, "seeds": [0]},
    "why": "time",
}


class Elements(HTMLParser):
    """Start tags with attributes and text; complains about tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.tags: list[tuple[str, dict]] = []
        self.text = ""
        self.open: list[str] = []
        self.ids: list[str] = []  # of what is open, '' without one
        self.inside: dict[str, str] = {}  # id -> text of the element
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))
        self.add(" ")
        if tag not in VOID:
            self.open.append(tag)
            self.ids.append(dict(attrs).get("id", ""))

    def handle_endtag(self, tag) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()
        self.ids.pop()
        self.add(" ")

    def handle_data(self, data) -> None:
        self.add(data)

    def add(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.text += data
        for id in filter(None, self.ids):
            self.inside[id] = self.inside.get(id, "") + data

    def words(self, id: str) -> str:
        """The text of an element."""
        return " ".join(self.inside[id].split())

    def embedded(self, id: str) -> Any:
        """What the script has to unpack."""
        return json.loads(gzip.decompress(base64.b64decode(self.inside[id])))

    def asked(self, artifact: str) -> list[str]:
        """What is told of each number of an artifact, with its runs."""
        data = self.embedded("details")
        places = [int(number) for number in re.findall(r"data-i=(\d+)", self.html(artifact))]
        return [" ".join(chain(*data["numbers"][place])) for place in places]

    def html(self, artifact: str) -> str:
        """The source of a section."""
        start = self.source.index(f'id="{artifact}"')
        return self.source[start : self.source.index('<section class="', start)]

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.tags if name == tag]

    def values(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.tags if attribute in attributes]


def build(root: Path, patches: tuple = (PATCH,)):
    """A workload with comparison, claims and most of its files; figure2 is missing."""
    demo.project(root, PAPER, *patches)
    results = root / "results/tiny"
    (results / "tidy").mkdir(parents=True)
    (results / "demo").mkdir()
    (results / "runs/demo_full/fedavg/default/seed0").mkdir(parents=True)
    (root / "papers/reported/demo/table1.csv").write_text(
        demo.REPORTED
        + "table1,demo_full,fedavg,,loss,1.1,0.1,std,nats,\ntable1,demo_full,qffl,q=1,loss,9,0.1,std,nats,\n"
    )
    for setting in PAPER["settings"]:
        text = demo.TIDY
        for algorithm, variant in (("fedavg", ""), ("qffl", "q=1.0")):
            for seed in (0, 1):
                run = f"{setting}/{algorithm}/{variant or 'default'}/seed{seed},print{seed}"
                text += f"{setting},{algorithm},{variant},{seed},loss,{1 + seed / 5},nats,d,10,{run}\n"
        (results / f"tidy/{setting}.csv").write_text(text)
    for name in ("table1.csv", "table1.md", "table1.tex", "figure1.png", "figure1.pdf", "figure1.csv", "table3.csv"):
        (results / "demo" / name).write_bytes(b"x")
    return summarised(root, "demo"), results


def summarised(root: Path, *papers: str) -> Workload:
    """The workload of some papers, compared and checked."""
    workload, results = load_workload(root, {"scale": "tiny", "papers": list(papers)}), root / "results/tiny"
    files = demo.files_below(results, workload)
    compared = csv_text(comparison_lines(workload, root, files), ComparisonLine)
    (results / "comparison.csv").write_text(compared)
    (results / "claims.csv").write_text(csv_text(claim_lines(workload, root, files), ClaimLine))
    rankings = ranking_lines(records(results / "comparison.csv", "comparison", ComparisonLine))
    (results / "ranking.csv").write_text(csv_text(rankings, RankingLine))
    return workload


def rendered(workload: Workload, results: Path) -> Elements:
    return Elements(render(workload, results.parents[1], results, results / "index.html"))


@pytest.fixture
def page(tmp_path) -> Elements:
    return rendered(*build(tmp_path))


@pytest.mark.parametrize("name", ["demo_figure1", "demo_table1"])
def test_what_failed_costs_neither_the_page_of_the_others_nor_its_reason(tmp_path, name) -> None:
    workload, results = build(tmp_path)
    page = Elements(render(workload, tmp_path, results, results / "index.html", {name: "all is lost"}))
    assert "Failed: all is lost" in page.html(name) and page.source.count("all is lost") == 1
    assert {f"demo_{key}" for key in ARTIFACTS} <= set(page.values("id"))
    assert "figure1.png" not in page.html("demo_figure1") or name != "demo_figure1"


def test_links_within_the_page_lead_somewhere(page) -> None:
    inner = {link[1:] for link in page.values("href") if link.startswith("#")}
    assert inner <= set(page.values("id"))
    assert {"demo_table1", "setting-demo_full"} <= inner


def test_nothing_is_loaded_from_elsewhere(page) -> None:
    assert page.all("script") and not [script for script in page.all("script") if "src" in script]
    loads = page.values("src") + [a["href"] for a in page.all("link")] + page.values("srcset")
    assert not [url for url in loads if re.match(r"(https?:)?//", url)]
    folder = Path(page_module.__file__).parent
    css, script = (folder / "page.css").read_text(), (folder / "page.js").read_text()
    assert "url(" not in css and "@import" not in css
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|import ", script)


def test_hostile_text_stays_text(page) -> None:
    assert HOSTILE in page.text
    assert not [a for _, a in page.tags if "onerror" in a]
    assert all(a.get("src") != "x" for a in page.all("img"))


def test_the_page_says_to_the_letter_what_it_is_to_say(tmp_path, monkeypatch) -> None:
    """With stored results next to a smaller scale's, a contradiction of the paper, and what runs say of themselves."""
    monkeypatch.setitem(globals(), "PAPER", PAPER | {"consistency": [TWICE]})
    _, results = build(tmp_path)
    numbers = ("loss,1.1,0.1,std,nats,legible", "acc,50,,,percent,legible", "loss,9,0.1,std,nats,read off; legible")
    variants = ("fedavg,", "fedavg,", "qffl,q=1")
    text = "".join(f"table1,demo_full,{variant},{one}\n" for variant, one in zip(variants, numbers, strict=True))
    (tmp_path / "papers/reported/demo/table1.csv").write_text(demo.REPORTED + text)
    workload = summarised(tmp_path, "demo")
    assert "stored results" not in rendered(workload, results).text
    for seed in (0, 1):
        summary = results / f"runs/demo_full/fedavg/default/seed{seed}/summary.json"
        summary.parent.mkdir(exist_ok=True)
        words = {"data_source": "toys, a lossy copy", "partition": ["3 of 4 owners take part"], "processor": "EPYC"}
        summary.write_text(json.dumps({"arithmetic": {"threads": str(1 + seed)}, "seconds": 70, **words}))
    store(tmp_path, results)
    page = rendered(workload, results)
    assert page.source == rendered(workload, results).source
    parts = []
    for id in ("artifacts", "overview", "farthest", "claims", "paper-demo", *(f"demo_{key}" for key in ARTIFACTS)):
        lines = (" ".join(line.split()) for line in page.inside[id].splitlines())
        parts.append("\n".join([f"# {id}", *filter(None, lines)]))
    parts += page.asked("demo_table1")
    path = Path(__file__).parent / "expected/page.txt"
    assert "\n".join(parts) + "\n" == path.read_text()


def store(root: Path, results: Path) -> None:
    """Store results at full scale: FedAvg's loss is close, q-FFL has not run, one claim is supported."""
    lines = records(results / "comparison.csv", "comparison", ComparisonLine)
    own = {line.metric + line.algorithm: line for line in lines if line.setting == "demo_full"}
    changes = {
        "lossfedavg": {"ours": 1.25, "ours_std": 0.5, "seeds": 1, "verdict": "close"},
        "lossqffl": {"ours": None, "ours_std": None, "seeds": 0, "verdict": "not run", "difference": None},
    }
    own |= {name: dataclasses.replace(own[name], **changed) for name, changed in changes.items()}
    statuses = {"status": "supported", "share_of_resamples": "1", "status_in_paper": "supported"}
    holds = rows.claim({"artifact": "demo_table1", "claim": "c1", **statuses})
    files = {COMPARISON.name: comparison_text(own.values()), RECORDED_CLAIMS.name: claims_text([holds])}
    sums.write((root / COMPARISON).parent, {name: text.encode() for name, text in files.items()})


def test_a_verdict_of_all_numbers_stands_in_the_caption_instead_of_each_cell() -> None:
    assert summarize_verdicts({"agrees", "not reported"}) == ({"agrees", "not reported"}, "all: agrees")
    apart = {"not comparable: scale", "not run", "not reported"}
    other_scale = "not checked: other data or another scale than the paper's"
    assert summarize_verdicts(apart) == (apart - {"not run"}, other_scale)
    assert summarize_verdicts({"agrees", "differs"}) == ({"not reported"}, "")


def test_every_file_of_an_artifact_has_a_link(page) -> None:
    assert [(a["src"], a["alt"], a["loading"]) for a in page.all("img") if "src" in a] == [
        ("demo/figure1.png", 'Curves "of" α', "lazy")
    ]
    files = ("table1.csv", "table1.md", "table1.tex", "figure1.pdf", "figure1.csv")
    assert {f"demo/{name}" for name in files} <= set(page.values("href"))
    runs = page.embedded("details")["runs"]
    assert runs["demo_full/fedavg/default/seed0"] == "runs/demo_full/fedavg/default/seed0"
    assert runs["demo_full/fedavg/default/seed1"] == ""  # no such folder, no dead link
    assert any(a.get("aria-label") == "1 agree, 1 differ" for a in page.all("div"))
