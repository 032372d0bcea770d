"""docs/papers/*.md, derived sentences, results/recorded/*.csv: counted right, never stale, refused when wrong."""

import json
from pathlib import Path

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.jobs import reproduction as job
from fairfl.judgement.recorded import CLAIMS, COMPARISON, DIFFERENCES
from fairfl.judgement.rows import ClaimLine, ComparisonLine, csv_text
from fairfl.runtime.errors import FairflError
from tests.unit.reporting import demo
from tests.unit.rows import claim, compared

LONGEST = 60  # lines of a page
ROOT = Path(__file__).resolve().parents[3]
TABLE = {
    "kind": "table", "title": "Table 1", "caption": "c", "settings": ["full"], "columns": ["loss", "acc"],
    "rows": [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 1.0}}, {"algorithm": "term"}],
    "claims": [{"id": "c1", "expr": "loss(fedavg) < loss(term)", "text": "t", "reference": "supported"}],
}  # fmt: skip
PAPER = {
    **demo.PAPER,
    "metrics": {
        "loss": {"name": "$\\max_k L_k$", "meaning": "m", "unit": "nats", "direction": "down", "digits": 2},
        "acc": {"name": "accuracy", "meaning": "m", "unit": "percent", "direction": "up", "digits": 1},
    },
    "algorithms": {name: {"title": demo.TITLES[name]} for name in ("fedavg", "qffl", "term")},
    "settings": {"full": demo.SETTING},
    "artifacts": {
        "table1": TABLE,
        "table2": {**TABLE, "title": "T 2"},
        "late": {**TABLE, "in_paper": False, "title": "L"},
    },
}
# artifact, variant, metric, reported, ours, verdict
NUMBERS = [
    ("demo_table1", "fedavg", "", "loss", "1.0", "1.01", "agrees"),
    ("demo_table1", "qffl", "q=1.0", "loss", "2.0", "2.1", "close"),
    ("demo_table1", "term", "", "loss", "3.0", "9.0", "differs"),
    ("demo_table1", "fedavg", "", "acc", "50", "20", "differs"),
    ("demo_table1", "term", "", "acc", "60", "", "diverged"),
    ("demo_table1", "qffl", "q=1.0", "acc", "55", "", "not run"),
    ("demo_table2", "fedavg", "", "loss", "1.5", "2.0", "differs"),
    ("demo_table2", "term", "", "loss", "", "2.0", "not reported"),
    ("demo_table2", "qffl", "q=1.0", "loss", "1.0", "2.0", "not comparable: hardware"),
    ("demo_late", "fedavg", "", "loss", "1.0", "7.0", "differs"),
]  # fmt: skip
STATUSES = ("supported", "refuted", "supported", "missing numbers", "inconclusive")


def line(artifact, algorithm, hyperparameters, metric, reported, ours, verdict) -> ComparisonLine:
    apart = f"{float(ours) - float(reported):.3g}" if ours and reported else ""
    return compared({
        "artifact": artifact, "setting": "full", "algorithm": algorithm, "hyperparameters": hyperparameters,
        "metric": metric, "unit": PAPER["metrics"][metric]["unit"], "reported": reported, "reported_seeds": "2",
        "ours": ours, "ours_std": "0.25", "seeds": "0" if verdict == "not run" else "2", "seed_std": "0.1",
        "difference": apart, "tolerance": "0.05" if apart else "", "verdict": verdict, "verdict_strict": verdict,
        "seed_pairs": "2", "seed_pairs_within": "1",
        "contradiction": "table 9 says 1" if algorithm == "term" else "", "note": "n", "fingerprints": "f",
    })  # fmt: skip


@pytest.fixture
def project(tmp_path) -> Path:
    """A project with results at full scale."""
    demo.project(tmp_path, PAPER)
    (tmp_path / "scales/full.yaml").write_text(json.dumps({"scale": "full", "description": "As published."}))
    results = tmp_path / "results/full"
    results.mkdir()
    (results / "comparison.csv").write_text(csv_text([line(*number) for number in NUMBERS], ComparisonLine))
    claims = [claim({"artifact": "demo_table1", "claim": f"c{n}", "status": word})
              for n, word in enumerate(STATUSES)]  # fmt: skip
    (results / "claims.csv").write_text(csv_text(claims, ClaimLine))
    derived = "<!-- derived\n{{ say('demo_table1') }}\n-->\n"
    (tmp_path / "README.md").write_text(f"# x\n\n{derived}old\n<!-- end -->\nbelow\n")
    return tmp_path


def run(root: Path, **config) -> None:
    config = {"scale": "full", "recorded": "only", "papers": ["demo"]} | config
    job.main(["--config", json.dumps(config), "--root", str(root), "--results", str(root / "results/full")])


def test_numbers_are_counted_by_paper_and_artifact(project):
    run(project)
    page = (project / "docs/papers/demo.md").read_text().splitlines()
    # Of five published numbers one was not run; what is not reported or seconds counts nowhere, nor do readings and
    # the two numbers of TERM, which the paper contradicts itself on.
    assert page[3] == (
        "**demo has been tested in part** (nothing is stored): 4 of 5 published numbers have been checked at full "
        "scale. Of 4 that can be distinguished from noise, 2 of 4 agree or are close; 0 are "
        "[inconclusive](../numbers.md#verdicts), 0 rest on a single seed."
    )
    assert "- **Claims:** 2 supported, 1 inconclusive, 1 refuted. The paper with itself: prints nothing twice." in page
    assert "| demo_table1 | 4 | 3 | 1 | 1 | 1 | 0 | 2 supported, 1 inconclusive, 1 refuted |" in page
    assert "| demo_table2 | 1 | 1 | 0 | 0 | 1 | 0 | – |" in page and not any("demo_late" in text for text in page)
    said = "Of 4 numbers 3 have been checked at full scale: 1 agree, 1 close, 1 differ, 0 inconclusive."
    begin = "# x\n\n<!-- derived\n{{ say('demo_table1') }}\n-->\n"
    assert (project / "README.md").read_text() == f"{begin}{said}\n<!-- end -->\nbelow\n"
    rows = (project / DIFFERENCES).read_text().splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == ["demo_table1", "demo_table2"]


# -- refusals -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"scale": "tiny"}, "scale: 'tiny': .* must be 'full'"),
        ({"recorded": "use"}, "recorded: 'use': .* must be 'only'"),
        ({"seeds": [0]}, r"seeds: \[0\]: .* must be None"),
        ({"settings": ["full"]}, "settings: "),
        ({"verdict": {"significance_level": 0.1}}, "verdict: "),
        ({"tuned": True}, "tuned: True: .* must be False"),
    ],
)
def test_a_part_of_the_record_is_refused(project, config, words):
    before = (project / "README.md").read_text()
    with pytest.raises(FairflError, match=f"config.yaml: {words}"):
        run(project, **config)
    assert (project / "README.md").read_text() == before and not (project / COMPARISON).exists()


# -- what is committed ----------------------------------------------------------------------------
def test_the_committed_pages_say_what_the_committed_numbers_say():
    """That these are what the record gives: tests/workflow/test_reproduction.py."""
    workload = load_workload(ROOT, {"scale": "full", "papers": ["*"]})
    assert (ROOT / CLAIMS).is_file()
    texts = job.texts(ROOT, workload.papers)
    assert {Path("README.md"), Path("docs/papers/fedeba.md"), Path("docs/getting-started.md")} <= texts.keys()
    for path, text in texts.items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"{path} is stale: `make report`"
    assert all(len(text.splitlines()) <= LONGEST for path, text in texts.items() if path.parent == job.PAGES)
