"""What `make soak` does: the same again for the same seed, and of every kind."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.workflow.faults import made_by
from tests.workflow.soaking import EDITS, FAILING, INSIDE, Drawn, Edit, Finish, Kill, decoded, edited, encoded

RUN = "results/tiny/runs/s/fedavg/default/seed0"
NAMES = [f"{RUN}/metrics.parquet", f"{RUN}/summary.json", "results/tiny/tidy/s.csv", "results/tiny/records/runs.json",
         "results/data/digits.safetensors", "results/tiny/eagle/table1.csv", "results/tiny/index.html"]  # fmt: skip


def test_a_seed_replays_its_steps():
    steps, again, others = (
        list(Drawn(seed, names).steps(60)) for seed, names in ((1, NAMES), (1, NAMES[::-1]), (2, NAMES))
    )
    assert steps == again and steps != others
    assert [decoded(encoded(step)) for step in steps] == steps
    kills = [step for step in steps if isinstance(step, Kill)]
    assert len(kills) >= 60 and sum(kill.phase in INSIDE for kill in kills) > 15
    edits = {step.kind for step in steps if isinstance(step, Edit)}
    assert edits == {"number", *FAILING} and isinstance(steps[-1], Finish)
    hit = {made_by(step[1]) for step in steps if isinstance(step, tuple) and step[0] == "flip"}
    assert {"train", "tidy", "table", "page", "prepare"} <= hit  # damage of equal size


@pytest.mark.parametrize("file", EDITS)
@pytest.mark.parametrize("kind", ["number", *FAILING])
def test_edits_fit_the_files(root, file, kind):
    text = Path(root, file).read_text()
    changed = edited(file, kind, text)
    assert changed != text
    if file.endswith(".py"):
        with pytest.raises(SyntaxError) if kind == "syntax" else nullcontext():
            compile(changed, file, "exec")
