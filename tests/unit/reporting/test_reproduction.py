"""docs/papers/*.md, derived sentences, results/recorded/*.csv: never stale, refused when of a part of the record."""

import json
from pathlib import Path

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.jobs import reproduction as job
from fairfl.judgement.recorded import CLAIMS
from fairfl.runtime.errors import FairflError

LONGEST = 60  # lines of a page


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"scale": "small"}, "scale: 'small': .* must be 'full'"),
        ({"recorded": "use"}, "recorded: 'use': .* must be 'only'"),
        ({"seeds": [0]}, r"seeds: \[0\]: .* must be None"),
        ({"settings": ["fedfv_fmnist"]}, "settings: "),
        ({"verdict": {"significance_level": 0.1}}, "verdict: "),
        ({"tuned": True}, "tuned: True: .* must be False"),
    ],
)
def test_a_part_of_the_record_is_refused(root, tmp_path, config, words):
    given = {"scale": "full", "recorded": "only", "papers": ["*"]} | config
    with pytest.raises(FairflError, match=f"config.yaml: {words}"):
        job.main(["--config", json.dumps(given), "--root", str(root), "--results", str(tmp_path)])


def test_the_committed_pages_say_what_the_committed_numbers_say(root):
    """That these are what the record gives: tests/workflow/test_reproduction.py."""
    workload = load_workload(root, {"scale": "full", "papers": ["*"]})
    assert (root / CLAIMS).is_file()
    texts = job.texts(root, workload.papers)
    assert {Path("README.md"), Path("docs/papers/fedeba.md"), Path("docs/getting-started.md")} <= texts.keys()
    for path, text in texts.items():
        assert (root / path).read_text(encoding="utf-8") == text, f"{path} is stale: `make report`"
    assert all(len(text.splitlines()) <= LONGEST for path, text in texts.items() if path.parent == job.PAGES)
