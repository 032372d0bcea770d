"""docs/papers/*.md, derived sentences, results/recorded/*.csv: counted right, never stale, refused when wrong."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
import yaml

from fairfl.experiments.explanations import FOLDER
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
    "headline": {
        "setting": "full",
        "method": {"algorithm": "term"},
        "baseline": {"algorithm": "fedavg"},
        "fairness": "loss",
        "utility": "acc",
        "source": "abstract",
    },
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
DERIVED = (
    "Of {{ counted().published }} numbers {{ counted().conclusive }} are told; {{ share() }}.\n"
    '{{ say("demo_table1") }} {{ say("demo_table2") }}\n'
    '{{ number("demo_table1", "qffl/q=1.0", "loss") }} {{ number("demo_table1", "qffl/q=1.0", "acc") }} '
    '{{ artifacts() }} {{ artifacts(in_paper=False) }} {{ times.quick }} {{ recorded("full").trainings }}\n'
    '{{ table("demo_table1", ["loss", "acc"], ["qffl/q=1.0", "fedavg/default"]) }}\n'
    "{{ paper_rows() }}"
)
TRIED = [
    {"hypothesis": "Batches are\n larger", "outcome": "unresolved", "algorithms": ["term"],
     "tried": [{"change": "batches of 64", "where": "TERM (acc)", "after": "8.9", "seeds": [0]}]},
    {"hypothesis": "A misprint.", "outcome": "explained", "metrics": ["acc"], "algorithms": ["fedavg/default"],
     "tried": [{"change": "table 2", "where": "FedAvg (acc)", "published": "20", "before": "50"}]},
]  # fmt: skip


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
    (tmp_path / "benchmarks/measured").mkdir(parents=True)
    (tmp_path / "benchmarks/measured/times.json").write_text('{"quick": 7}')
    (results / "claims.csv").write_text(csv_text(claims, ClaimLine))
    (tmp_path / "README.md").write_text(f"# x\n\n<!-- derived\n{DERIVED}\n-->\nold\n<!-- end -->\nbelow\n")
    return tmp_path


def explain(root: Path, differences, **changes) -> None:
    (root / FOLDER).mkdir(exist_ok=True)
    text = yaml.safe_dump({"paper": "demo", "differences": differences} | changes)
    (root / FOLDER / "demo.yaml").write_text(text)


def run(root: Path, **config) -> None:
    config = {"scale": "full", "recorded": "only", "papers": ["demo"]} | config
    job.main(["--config", json.dumps(config), "--root", str(root), "--results", str(root / "results/full")])


def lines_of(root: Path) -> list[str]:
    return (root / "docs/papers/demo.md").read_text().splitlines()


def test_numbers_are_counted_by_paper_and_artifact(project):
    run(project)
    page = lines_of(project)
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


def lines_of_run(root: Path) -> list[str]:
    run(root)
    return lines_of(root)


def test_inconclusive_numbers_are_counted_apart_and_stand_beside_what_their_tolerances_alone_say(project):
    readme = project / "README.md"
    readme.write_text(
        readme.read_text().replace("{{ paper_rows() }}", "{{ paper_rows() }}\n{{ rules() }}\n{{ beyond() }}")
    )
    rows = [line(*number) for number in NUMBERS]
    wide = [
        dataclasses.replace(row, verdict="inconclusive") if row.verdict in ("agrees", "close") else row for row in rows
    ]
    (project / "results/full/comparison.csv").write_text(csv_text(wide, ComparisonLine))
    page = "\n".join(lines_of_run(project))
    assert "0 of 2 agree or are close; 2 are [inconclusive]" in page
    assert "| demo_table1 | 4 | 3 | 0 | 0 | 1 | 2 |" in page
    text = readme.read_text()
    assert "Of 4 numbers 3 have been checked at full scale: 0 agree, 0 close, 1 differ, 2 inconclusive." in text
    # 1.01 is within its tolerance of 0.05, 2.1 beyond, though within a tenth of 2.
    assert "| demo | 1 | 1 | 2 | 50 % | 0 | 0 | 2 | 2 | 0 % |\n1\n" in text


def test_differing_numbers_stand_worst_first(project):
    explain(project, {"demo_table1": TRIED, "full": [TRIED[0]]})
    page = lines_of_run(project)
    header = page.index("| where | variant | metric | published | reproduced | tolerance | seeds | reason |")
    assert page[header + 2 : header + 5] == [
        "| demo_table1 | FedAvg | accuracy | 50.0 | 20.0 ± 0.2 | 0.05 | 2 | explained |",
        "| demo_table2 | FedAvg | max_k L_k | 1.50 | 2.00 ± 0.25 | 0.05 | 2 | nothing tried yet |",
        "",
    ]
    assert page[header - 2].startswith(
        "2 numbers differ (explained: 1; something was tried: 0; openly unexplained: 1)."
    )
    rows = (project / DIFFERENCES).read_text().splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == ["demo_table1", "demo_table2"]


def test_trials_that_led_to_something_stand_first_and_the_page_says_where_the_rest_is(project):
    """Second rows come last, and no more rows than leave the page its sixty lines."""
    second = {"change": "another typo", "where": "FedAvg (loss)", "after": "2.1"}
    about = {"hypothesis": "A typo.", "outcome": "unresolved", "tried": [TRIED[0]["tried"][0], second]}
    questions = ["Which rate\n has table 1?", "Why?"]
    explain(project, {"demo_table1": [about, TRIED[1]]}, questions=questions)
    page = lines_of_run(project)
    head = page.index("| change | where | published | before | after | outcome |")
    rows = [
        "| table 2 | table1: FedAvg (acc) | 20 | 50 | – | explained |",
        "| batches of 64 | table1: TERM (acc) | – | – | 8.9 | unresolved |",
        "| another typo | table1: FedAvg (loss) | – | – | 2.1 | unresolved |",
    ]
    assert page[head + 2 : head + 5] == rows
    asked = page.index("## Questions to the authors")
    assert page[asked + 1 : asked + 3] == ["1. Which rate has table 1?", "2. Why?"]
    explain(project, {"demo_table1": [about, *[{**TRIED[0], "hypothesis": f"Reason {n}"} for n in range(8)]]})
    assert "| 5 more rows: `papers/explanations/demo.yaml` |  |  |  |  |  |" in lines_of_run(project)


def test_derived_sentences_say_what_the_record_says_and_the_rest_stays(project):
    run(project)
    text = (project / "README.md").read_text()
    begin, above, made, below = re.fullmatch(
        r"(# x\n\n)<!-- derived\n(.*)\n-->\n(.*)<!-- end -->\n(below\n)", text, re.S
    ).groups()
    assert (begin, above, below) == ("# x\n\n", DERIVED, "below\n")
    assert made.splitlines()[:6] == [
        "Of 5 numbers 4 are told; 50 %.",
        "Of 4 numbers 3 have been checked at full scale: 1 agree, 1 close, 1 differ, 0 inconclusive. "
        "Of 1 numbers 1 have been checked at full scale: 0 agree, 0 close, 1 differ, 0 inconclusive.",
        "2.10 not run 2 1 7 0",
        "| ours (the paper's) | max_k L_k | accuracy |",
        "| --- | --- | --- |",
        "| q-FFL q = 1.0 | 2.10 (2.00) | not run (55.0) |",
    ]
    line = (
        "| demo | partly tested | 4 of 5 (80 %) | 2 of 4 | 0 | 0 | TERM against FedAvg, synthetic gaussian: max_k L_k "
    )
    line += (
        "in nats | 1.00 → 3.00, accuracy +10.0 | 1.01 → 9.00 (2 of 2 seeds) | 2 supported, 1 inconclusive, 1 refuted |"
    )
    assert line in made and "| FedAvg | 1.01 (1.00) | 20.0 (50.0) |" in made
    run(project)
    assert (project / "README.md").read_text() == text


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
