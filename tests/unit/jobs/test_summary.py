"""What the summaries of a scale have in common."""

import json

import pytest

from fairfl.jobs import claims, comparison
from fairfl.runtime.errors import FairflError


@pytest.mark.parametrize("module", [comparison, claims])
def test_without_a_spec_nothing_is_judged(module, root, tmp_path):
    """It names the files of our numbers: without it all of these would seem not to have run."""
    config = json.dumps({"scale": "quick", "papers": ["eagle"], "artifacts": ["eagle_table3"]})
    with pytest.raises(FairflError, match="--spec"):
        module.main(["--config", config, "--root", str(root), "--results", str(tmp_path), "--out", str(tmp_path / "x")])
    assert not (tmp_path / "x").exists()
