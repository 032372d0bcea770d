"""Evaluate the claims of the papers on our numbers and on theirs.

A claim of a paper is checked here only if its settings ran as the paper has them, but for the seeds. Elsewhere it is
not, and what it does on the stand-in is a hint. A claim of yours speaks of what ran, wherever that is.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from fairfl.experiments.artifact import Artifact, Claim
from fairfl.experiments.workload import Workload
from fairfl.judgement.cells import Cells, digits_of, number_text, pooled
from fairfl.judgement.changes import changed_by_scale, original
from fairfl.judgement.claims.evaluation import evaluate, status_over_completed_rows
from fairfl.judgement.claims.grammar import (
    ClaimError,
    Speaking,
    Statement,
    nodes,
    parse,
)
from fairfl.judgement.claims.noise import NONE, Status, share_of_resamples, with_noise
from fairfl.judgement.comparison import chosen_by, reason_not_comparable
from fairfl.judgement.results import Results, results_of
from fairfl.judgement.rows import ClaimLine
from fairfl.runtime.validation import nearest

BASELINE = "fedavg"


def setting_of(claim: Claim, name: str, artifact: Artifact) -> str | None:
    """The claim's own setting, else the only one of its artifact, else None.

    An illustration has no setting: its claims speak of what it draws, which is kept under its own name.
    """
    if artifact.drawing:
        return name
    return claim.setting or (artifact.settings[0] if len(artifact.settings) == 1 else None)


def settings_of(statement: Statement, setting: str | None) -> list[str]:
    """The settings that a claim speaks of: its own and those behind '@', sorted."""
    named = {node.setting or setting for node, _ in nodes(statement) if isinstance(node, Speaking)}
    return sorted(name for name in named if name)


def fitted(workload: Workload, statement: Statement, setting: str | None) -> str:
    """Choice that was made by the numbers of a row, or of an algorithm, that a claim names; '' if nothing was.

    FedAvg is not meant: the others are compared with it.
    """
    for node, _ in nodes(statement):
        if isinstance(node, Speaking):
            place = node.setting or setting
            what = place in workload.settings and chosen_by(workload, place, node.variant)
            if what and node.variant.algorithm != BASELINE:
                return what
    return ""


def basis(workload: Workload, settings: list[str]) -> str:
    """Basis of a claim's check here: 'full scale', or data and number of changes for each setting.

    'the drawing' where `settings` is the name of an illustration.
    """
    if any(name in workload.artifacts for name in settings):
        return "the drawing"
    changed = {name: len(changed_by_scale(workload, name)) for name in settings}
    parts = [
        f"{workload.settings[name].data.label}, {count} change{'' if count == 1 else 's'}"
        if count
        else "full scale"
        for name, count in changed.items()
    ]
    return "; ".join(dict.fromkeys(parts)) or "full scale"


def comparable(workload: Workload, settings: list[str]) -> bool:
    """True if all of them ran as the paper has them, but for the seeds."""
    ran = [name for name in settings if name not in workload.artifacts]
    return not any(reason_not_comparable(workload, name, "") for name in ran)


Stated = tuple[Claim, Statement]


def parsed(workload: Workload, name: str) -> list[Stated]:
    """The claims of an artifact with their syntax trees.

    Raises ClaimError naming artifact, claim, column and what was expected, or a setting that is not there.
    """
    paper, _, artifact = workload.artifacts[name]
    claims = []
    for claim in artifact.claims:
        try:
            statement = parse(claim.expr, claim.id)
        except ClaimError as error:
            raise ClaimError(f"papers/{paper}.yaml: {name}: {error}") from None
        for setting in settings_of(statement, setting_of(claim, name, artifact)):
            if setting not in workload.settings and setting != name:
                hint = nearest(setting, workload.settings)
                raise ClaimError(
                    f"papers/{paper}.yaml: {name}: claim {claim.id}: no setting {setting!r}{hint}"
                )
        claims.append((claim, statement))
    return claims


def claim_lines(
    workload: Workload, root: Path, files: Mapping[str, Mapping[str, str]]
) -> list[ClaimLine]:
    """One row per claim of the selected artifacts, in catalogue order; `files`: see fairfl.judgement.results."""
    claims = {name: parsed(workload, name) for name in workload.artifacts}
    numbers = results_of(workload, root, files)
    lines = []
    for name, stated in claims.items():
        reported = pooled(name, numbers.reported)
        lines += [_line(workload, numbers, reported, name, each) for each in stated]
    return lines


def _line(
    workload: Workload, numbers: Results, reported: Cells, name: str, stated: Stated
) -> ClaimLine:
    """The row of a claim on our `numbers` and the `reported` ones of its paper."""
    (claim, statement), (paper, _, artifact) = stated, workload.artifacts[name]
    setting, digits = setting_of(claim, name, artifact), digits_of(workload.papers[paper].metrics)
    judge = partial(evaluate, statement, setting=setting, rows=artifact.rows, digits=digits)
    here, theirs, settings = judge(numbers.ours), judge(reported), settings_of(statement, setting)
    checked = workload.papers[paper].sources == "own" or comparable(workload, settings)
    status: Status = here.status
    share, partly = None, ""
    if here.status == "missing numbers":
        checked = True
        partly = status_over_completed_rows(statement, numbers.ours, setting, artifact.rows, digits)
    else:
        # Spreads of the paper say nothing of another experiment.
        seeds = {one: len(original(workload, one).seeds) for one in workload.settings}
        published = (reported, seeds) if checked else (NONE, {})
        level = workload.config.verdict.significance_level
        share, unknown = share_of_resamples(judge, numbers.ours, numbers.noise, *published, level)
        status = with_noise(here.status, share, level, unknown)
    chose = fitted(workload, statement, setting) if status != "missing numbers" else ""
    proves = "fitted" if chose else status
    fit = f"a row that it names chose {chose}" if chose else ""
    return ClaimLine(
        paper=paper,
        artifact=name,
        claim=claim.id,
        setting=setting or "",
        text=claim.text,
        expr=claim.expr,
        status=proves if checked else "not evaluated at this scale",
        status_at_this_scale=status,
        share_of_resamples=number_text(share),
        lhs=number_text(here.left),
        rhs=number_text(here.right),
        reason="; ".join(filter(None, (fit, partly, here.reason))),
        status_in_paper="not testable from printed numbers"
        if theirs.status == "missing numbers"
        else theirs.status,
        expected_in_paper=claim.reference,
        basis=basis(workload, settings),
    )
