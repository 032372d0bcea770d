"""The report: one static page with every artifact, verdict, claim and source.

Works from a file, without a network or scripts. It shows what comparison.csv and claims.csv say and links to the
artifacts beside it; a file that is not there is named as missing. No dates: same inputs, same bytes.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fairfl.experiments.paper import Algorithm, Artifact, Paper
from fairfl.experiments.setting import Setting
from fairfl.experiments.workload import Workload
from fairfl.metrics.origin import origin
from fairfl.reporting import calibration
from fairfl.reporting.cells import Record, metric_of, records
from fairfl.reporting.changes import changed_by_scale, original
from fairfl.reporting.claims.judging import ClaimLine
from fairfl.reporting.comparison import VERDICTS, ComparisonLine
from fairfl.reporting.marks import USED_HEADER, legend, printed_values, telling, used_lines
from fairfl.reporting.notes import stand_ins
from fairfl.reporting.order import OrderLine
from fairfl.reporting.page.numbers import Files, contradictions_view, plain, provenance, table_views
from fairfl.reporting.reproduction.numbers import JUDGED, Place, judged_by_place, place
from fairfl.reporting.sources import used_values
from fairfl.runtime.result_files import CalibratedChoice

_PLURAL = {"agrees": "agree", "differs": "differ", "holds": "hold", "fails": "fail"}
STATUS: dict[str, tuple[str, ...]] = {
    "holds": ("good", "✓"),
    "within noise": ("near", "≈"),
    "fails": ("bad", "✗"),
    "not judged here": ("apart", "≠"),
    "undecidable": ("none", "?"),
    "untestable": ("none", "–"),
}


# -- what the scale replaced ------------------------------------------------------------------
def used_settings(workload: Workload) -> list[str]:
    return list(dict.fromkeys(name for _, _, artifact in workload.artifacts.values() for name in artifact.settings))


def substitutions(workload: Workload) -> list[tuple[str, str]]:
    """(what, sentence) for data, rounds, seeds and the rest; empty if everything is as in the papers."""
    used = used_settings(workload)
    facts: dict[str, Counter] = {"Data": Counter(), "Rounds": Counter(), "Seeds": Counter()}
    others: set[str] = set()
    for name in used:
        here, paper = workload.settings[name], original(workload, name)
        if here.data.stands_in_for:
            facts["Data"][f"{here.data.name} stands in for {here.data.stands_in_for}"] += 1
        if here.rounds != paper.rounds:
            facts["Rounds"][f"{here.rounds:,} instead of {paper.rounds:,}"] += 1
        if here.seeds != paper.seeds:
            facts["Seeds"][f"{len(here.seeds)} instead of {len(paper.seeds)}"] += 1
        others |= {change.partition(":")[0].partition(".")[0] for change in changed_by_scale(workload, name)}
    sentences = [
        (what, "; ".join(f"{text} ({count} of {len(used)} settings)" for text, count in counts.items()) + ".")
        for what, counts in facts.items()
        if counts
    ]
    rest = sorted(others - {"data", "rounds", "seeds"})
    if rest:
        sentences.append(("Also changed", ", ".join(rest) + ". Every value is listed under Settings."))
    same = [name for name in used if not changed_by_scale(workload, name)]
    if sentences and same:
        sentences.append(("As in the paper", ", ".join(same) + "."))
    return sentences


def gaps(lines: list[Record]) -> str:
    """How many numbers were not run, or with fewer seeds than the paper's, in words; empty if all were run."""
    unrun = sum(line["verdict"] == "not run" for line in lines)
    ran = [line for line in lines if line["seeds"] != "0" and origin(line["metric"]) == "tidy"]
    fewer = sum(int(line["seeds"]) < int(line["reported_seeds"]) for line in ran)
    sentences = [(unrun, "{} of {:,} numbers were not run."), (fewer, "{} come from fewer seeds than the paper's.")]
    return " ".join(text.format(f"{count:,}", len(lines)) for count, text in sentences if count)


# -- artifacts --------------------------------------------------------------------------------
def artifact_view(
    name: str,
    workload: Workload,
    lines: list[Record],
    claims: list[Record],
    orders: list[Record],
    recorded: dict[Place, Record],
    files: Files,
) -> dict[str, Any]:
    """Everything the template needs to show one artifact."""
    paper, key, artifact = workload.artifacts[name]
    endings: tuple[str, ...] = ("pdf", "png", "csv") if artifact.plot else ("csv", "md", "tex")
    endings += ("beside.md", "beside.tex") * (artifact.kind == "table")
    links = {ending: files.link(f"{paper}/{key}.{ending}") for ending in endings}
    groups = provenance(name, lines, files)
    source = workload.papers[paper]
    rounds = {
        setting: (workload.settings[setting].rounds, original(workload, setting).rounds)
        for setting in dict.fromkeys(line["setting"] for line in lines)
    }
    return {
        "name": name,
        "spec": artifact,
        "path": f"{paper}/{key}",
        "telling": telling(workload.scale, name),
        "stand_in": stand_ins(workload.settings[setting].data.label for setting in artifact.settings),
        "links": links,
        "missing": [f"{paper}/{key}.{ending}" for ending, url in links.items() if not url],
        "settings": [
            {
                "name": setting,
                "data": workload.settings[setting].data.label,
                "stand_in": workload.settings[setting].data.stands_in_for is not None,
                "changes": len(changed_by_scale(workload, setting)),
            }
            for setting in artifact.settings
        ],
        "verdicts": Counter(line["verdict"] for line in lines),
        "tables": table_views(lines, source, artifact, groups, rounds, recorded),
        "words": words_view(workload, paper, artifact) if artifact.kind == "static_table" else None,
        "over": "repetitions" if artifact.origins == ("timed",) else "seeds",
        "claims": claims,
        "orders": [order_view(order, source) for order in orders],
        "provenance": list(groups.values()),
    }


def order_view(order: Record, paper: Paper) -> dict[str, Any]:
    """A rank correlation in words: whether the variants of a column are in the paper's order."""
    described = metric_of(paper.metrics, order["metric"])
    sure = order["low"] != order["high"]
    return {
        "setting": order["setting"],
        "metric": described.name if described else order["metric"],
        "variants": order["variants"],
        "tau": f"{float(order['tau']):+.2f}" if order["tau"] else "none",
        "range": f"{float(order['low']):+.2f} to {float(order['high']):+.2f}" if sure else "",
        "p": f"{float(order['p']):.2g}" if order["p"] else "",
        "judged": order["judged"] == "True",
    }


def words_view(workload: Workload, paper: str, artifact: Artifact) -> dict[str, Any]:
    """Header, lines and legend of a static table."""
    if artifact.content != "used":
        return {"header": artifact.header, "lines": artifact.content, "legend": []}
    values = printed_values(used_values(workload, paper), artifact.options.get("printed", []))
    lines = [(title, "; ".join(f"{key}: {shown}" for key, shown in of)) for title, of in used_lines(values)]
    return {"header": USED_HEADER, "lines": lines, "legend": legend((used.provenance for used in values), "value")}


# -- settings ---------------------------------------------------------------------------------
def _text(value: Any) -> str:
    """A value in the words of YAML: 'cnn, channels: [32, 64]'."""
    if isinstance(value, dict):
        head = [str(value["name"])] if "name" in value else []
        rest = [f"{key}: {_text(item)}" for key, item in value.items() if key != "name" and item is not None]
        return ", ".join(head + rest)
    if isinstance(value, list):
        return f"[{', '.join(_text(item) for item in value)}]"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def setting_view(workload: Workload, name: str) -> dict[str, Any]:
    """Every hyper-parameter of a setting: value here, the paper's value, source."""
    here, paper = workload.settings[name], original(workload, name)
    rows = []
    for key in Setting.model_fields:
        if key in ("sources", "notes"):
            continue
        values = [setting.model_dump(mode="json")[key] for setting in (here, paper)]
        sources = [
            (part.removeprefix(f"{key}."), text)
            for part, text in paper.sources.items()
            if part == key or part.startswith(f"{key}.")
        ]
        rows.append({
            "key": key,
            "here": _text(values[0]),
            "paper": _text(values[1]),
            "changed": values[0] != values[1],
            "sources": [f"{part}: {text}" if part != key else text for part, text in sources],
        })  # fmt: skip
    return {"name": name, "data": here.data.label, "rows": rows, "notes": paper.notes}


def algorithm_view(key: str, algorithm: Algorithm, artifacts: Iterable[Artifact]) -> dict[str, Any]:
    """Hyper-parameters of an algorithm: fixed values, values of the rows, the paper's grid, source."""
    rows = [row.hyperparameters for artifact in artifacts for row in artifact.rows if row.algorithm == key]
    used = dict.fromkeys((name, value) for row in rows for name, value in row.items())
    names = dict.fromkeys([*algorithm.defaults, *algorithm.grid, *(name for name, _ in used)])
    return {
        "key": key,
        "title": algorithm.title,
        "rows": [
            {
                "key": name,
                "fixed": _text(algorithm.defaults[name]) if name in algorithm.defaults else "",
                "rows": ", ".join(str(value) for other, value in used if other == name),
                "grid": ", ".join(str(value) for value in algorithm.grid.get(name, [])),
                "source": algorithm.sources.get(name, ""),
            }
            for name in names
        ],
    }


def calibration_view(choice: CalibratedChoice) -> dict[str, Any]:
    """What was chosen for the unstated facts of a setting, and how well each point fits FedAvg."""
    header, lines = calibration.table(choice.model_dump(mode="json"))
    return {"name": choice.setting, "choice": choice, "header": header, "lines": lines}


# -- the page ---------------------------------------------------------------------------------
def tiles(
    artifacts: list[dict[str, Any]], lines: list[Record], claims: list[Record], recorded: list[Record]
) -> list[dict[str, Any]]:
    """Summary: (title, big number, parts); `recorded`: these numbers at the papers' own scale, if this is another."""
    built = sum(not view["missing"] for view in artifacts)

    def counted(title: str, records: list[Record], column: str, lead: str, judged: set[str]) -> dict[str, Any]:
        """Of those that were judged, how many agree or hold; the others are named below."""
        rows, styles = Counter(record[column] for record in records), VERDICTS | STATUS
        parts = sorted(
            (styles[word][0], _PLURAL.get(word, word), count) for word, count in rows.items() if word != lead
        )
        of = sum(count for word, count in rows.items() if word in judged)
        return {"title": title, "count": rows[lead], "of": of, "word": _PLURAL[lead], "parts": parts}

    numbers, statements = set(JUDGED), {"holds", "within noise", "fails"}
    at_paper_scale = [counted("Numbers recorded at paper scale", recorded, "verdict", "agrees", numbers)]
    return [
        {"title": "Artifacts", "count": built, "of": len(artifacts), "word": "built", "parts": []},
        counted("Numbers beside the paper's", lines, "verdict", "agrees", numbers),
        *at_paper_scale[: len(recorded)],
        counted("Claims on our numbers", claims, "here", "holds", statements),
        counted("Claims on the paper's own numbers", claims, "reported", "holds", statements),
    ]


def render(workload: Workload, root: Path, results: Path, out: Path) -> str:
    """The page as HTML text; `out` decides how its links are written. The record lies below `root`."""
    lines = records(out.parent / "comparison.csv", "comparison", ComparisonLine)
    claims = records(out.parent / "claims.csv", "claims", ClaimLine)
    orders = records(out.parent / "order.csv", "order", OrderLine)
    recorded = judged_by_place(workload, root)
    files = Files(results, out)
    views = {
        name: artifact_view(
            name,
            workload,
            [line for line in lines if line["artifact"] == name],
            [claim for claim in claims if claim["artifact"] == name],
            [order for order in orders if order["artifact"] == name],
            recorded,
            files,
        )
        for name in workload.artifacts
    }
    papers = []
    for key, paper in workload.papers.items():
        artifacts = {name: view for name, view in views.items() if workload.artifacts[name][0] == key}
        numbers = [line for line in lines if line["artifact"] in artifacts]
        printed = {name for name, view in artifacts.items() if not view["spec"].ours}  # our readings repeat its numbers
        own = [line for line in numbers if line["artifact"] in printed]
        papers.append({
            "id": key,
            "spec": paper,
            "artifacts": list(artifacts.values()),
            "tiles": tiles(
                list(artifacts.values()),
                own,
                [claim for claim in claims if claim["artifact"] in printed],
                [recorded[place(line)] for line in own if place(line) in recorded],
            ),
            "settings": [setting_view(workload, n) for n in used_settings(workload) if workload.paper_of[n] == key],
            "calibrations": [
                calibration_view(choice) for n, choice in workload.calibrated.items() if workload.paper_of[n] == key
            ],
            "contradictions": contradictions_view(numbers, paper.metrics),
            "algorithms": [algorithm_view(*item, paper.artifacts.values()) for item in paper.algorithms.items()],
        })  # fmt: skip
    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["plain"] = plain
    return environment.get_template("page.html.j2").render(
        scale=workload.scale,
        papers=papers,
        substitutions=substitutions(workload),
        gaps=gaps(lines),
        verdict=workload.config.verdict,
        tiles=tiles(
            list(views.values()), lines, claims, [recorded[place(line)] for line in lines if place(line) in recorded]
        ),
        recorded=bool(recorded),
        surprises=[claim for claim in claims if claim["reported"] != claim["reported_expected"]],
        verdicts=VERDICTS,
        status=STATUS,
        downloads=[(name, files.link(name)) for name in ("comparison.csv", "claims.csv", "order.csv")],
    )
