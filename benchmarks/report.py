"""From measurements to rows of the JSON file, from the JSON file to a table and a plot."""

import statistics
from typing import Any

from benchmarks.agreement import TOLERANCE
from benchmarks.driver import Measured
from benchmarks.peers import PEERS, REFERENCE
from benchmarks.workloads import Workload


def rows(
    workload: Workload, measured: dict[str, Measured], skipped: dict[str, str], gemm: Measured | None, product: int
) -> dict[str, Any]:
    """One workload. `gemm` is the matrix product's turns in the same run, `product` its operations.

    Ratios and shares are taken turn by turn, so that drift cancels; median, smallest and largest are kept.
    """
    reference = measured.get(REFERENCE)
    competitors = {}
    for name, own in measured.items():
        row: dict[str, Any] = {
            "seconds": own.seconds,
            "rounds_per_s": 1 / own.seconds,
            "samples_per_s": workload.samples_per_round / own.seconds,
            "gflops": workload.flops / own.seconds / 1e9,
            **own.memory,
            "start_s": own.start_s,
            "turns": own.medians,
            "rounds": sum(map(len, own.turns)),
            "versions": own.versions,
        }
        if gemm:
            row["share_of_peak"] = statistics.median(
                workload.flops / s / (product / g) for s, g in zip(own.medians, gemm.medians, strict=True)
            )
        if reference:
            ratios = [s / r for s, r in zip(own.medians, reference.medians, strict=True)]
            row["ratio"] = {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}
        competitors[name] = row
    return {
        **workload.plain(),
        "flops_per_round": workload.flops,
        "gemm_gflops": product / gemm.seconds / 1e9 if gemm else None,
        "competitors": competitors,
        "skipped": skipped,
    }


def _number(value: float | None) -> str:
    """Three significant digits."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _table(head: list[str], body: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body)]


def _workload(name: str, entry: dict[str, Any]) -> list[str]:
    batch = entry["batch"] or "full"
    lines = [
        f"## {name}",
        "",
        f"{entry['model']['name']}, batch {batch}, {entry['precision']}: {entry['per_round']} of"
        f" {entry['clients']} clients x {entry['samples']} samples, {entry['flops_per_round'] / 1e9:.3g} GFLOP a round."
        f" Matrix product in the same run: {_number(entry['gemm_gflops'])} GFLOP/s.",
        "",
    ]
    head = [
        "",
        "s/round",
        "rounds/s",
        "samples/s",
        "GFLOP/s",
        "of peak",
        "peak MiB (+ GPU)",
        "start s",
        "s / fairfl's s",
        "range",
    ]
    body = []
    for competitor, row in sorted(entry["competitors"].items(), key=lambda item: item[1]["seconds"]):
        ratio = row.get("ratio")
        share = row.get("share_of_peak")
        body.append(
            [
                PEERS[competitor].title if competitor in PEERS else competitor,
                *(_number(row[key]) for key in ("seconds", "rounds_per_s", "samples_per_s", "gflops")),
                f"{share:.0%}" if share is not None else "-",
                " + ".join(f"{row[key]:,.0f}" for key in ("peak_mib", "gpu_mib") if key in row),
                f"{row['start_s']:.1f}",
                f"{ratio['median']:.2f}" if ratio else "-",
                f"{ratio['min']:.2f} .. {ratio['max']:.2f}" if ratio else "-",
            ]
        )
    lines += _table(head, body)
    lines += [f"- {PEERS[c].title if c in PEERS else c}: skipped, {why}" for c, why in entry["skipped"].items()]
    return [*lines, ""]


def _series(entry: dict[str, Any]) -> list[str]:
    names = {"seconds": "s/round", "rounds_per_s": "rounds/s", "gflops": "GFLOP/s", "peak_mib": "peak MiB"}
    names["gpu_mib"] = "GPU MiB"
    shown = [key for key in names if any(key in point for point in entry["points"])]
    body = [[f"{point['x']:,}", *(_number(point.get(key)) for key in shown)] for point in entry["points"]]
    reasons = [f"- {point['x']}: skipped, {point['skipped']}" for point in entry["points"] if "skipped" in point]
    return [
        f"**{entry['title']}**",
        "",
        *_table(["", *(names[key] for key in shown)], body),
        *reasons,
        *_hundredfold(entry),
        "",
    ]


def _hundredfold(entry: dict[str, Any]) -> list[str]:
    if "hundredfold" not in entry:
        return []
    more = entry["hundredfold"]
    return ["", f"10,000 clients against 100: {more['seconds']:.2f} x time, {more['peak_mib']:.2f} x memory."]


def markdown(document: dict[str, Any]) -> str:
    """The whole file as tables."""
    machine, protocol = document["machine"], document["protocol"]
    lines = [
        f"# {machine['name']}",
        "",
        f"{document['date']}, fairfl {document['fairfl']}, {machine['cores']} cores, {machine['memory_gib']} GiB,"
        f" torch {machine['torch']},"
        f" Python {machine['python']}, {machine['system']}."
        f" Samples: {', '.join(f'{shape} {said}' for shape, said in document['data'].items())}."
        f" {protocol['turns']} turns of about {protocol['turn_s']} s each, competitors in turn;"
        f" {'one core pinned, one thread' if protocol['pinned'] else 'no core pinned'}. No evaluation.",
        "",
    ]
    for name, entry in document.get("workloads", {}).items():
        lines += _workload(name, entry)
    if agreement := document.get("agreement"):
        lines += [
            "## Same work",
            "",
            f"Largest parameter difference to fairfl after two rounds (at most {TOLERANCE}):",
            "",
        ]
        for name, value in agreement.items():
            said = value if isinstance(value, str) else f"{value:.1e}" + ("" if value <= TOLERANCE else " **DIFFERS**")
            lines.append(f"- {PEERS[name].title}: {said}")
        lines.append("")
    if scaling := document.get("scaling"):
        lines += ["## How fairfl scales", ""]
        for entry in scaling.values():
            lines += _series(entry)
    for key in ("starts", "planning"):
        if document.get(key):
            lines += [f"## {key.capitalize()}", "", *(f"- {k}: {v}" for k, v in document[key].items()), ""]
    notes = [f"- {peer.title}: {peer.note}" for peer in PEERS.values() if peer.note]
    return "\n".join([*lines, "## Competitors", "", *notes, ""])


def plot(document: dict[str, Any], path: Any) -> None:
    """Ratios per workload above, scaling below. Raises ImportError without matplotlib."""
    from fairfl.reporting import style

    loads, scaling = document.get("workloads", {}), document.get("scaling", {})
    shown = [name for name in scaling if scaling[name]["points"] and name != "simultaneous"]
    with style.applied():
        figure = style.canvas(style.PAGE, 0.28 * len(loads) + 1.0 + (2.0 if shown else 0))
        parts = figure.subfigures(2, 1, height_ratios=(0.28 * len(loads) + 1.0, 2.0)) if shown else [figure]
        axes = parts[0].subplots()
        names = [name for name in PEERS if any(name in entry["competitors"] for entry in loads.values())]
        colors = style.algorithm_colors([name for name in names if name != REFERENCE])
        handles = []
        for number, name in enumerate(n for n in names if n != REFERENCE):
            points = [
                (row["ratio"]["median"], y)
                for y, entry in enumerate(loads.values())
                if "ratio" in (row := entry["competitors"].get(name, {}))
            ]
            look = {"marker": style.marker(number), "linestyle": "none", "color": colors[name]}
            axes.plot(*zip(*points, strict=True), **look) if points else None
            handles.append(style.key(label=PEERS[name].title, **look))
        axes.axvline(1, color=style.GREY, linewidth=0.8)
        axes.set(xscale="log", xlabel="seconds per round / fairfl's", yticks=range(len(loads)), yticklabels=list(loads))
        axes.invert_yaxis()
        parts[0].legend(handles=handles, loc="outside right center")
        below = parts[1].subplots(1, len(shown), squeeze=False, sharey=True)[0] if shown else []
        for axis, name in zip(below, shown, strict=True):
            points = [point for point in scaling[name]["points"] if "seconds" in point]
            axis.plot([p["x"] for p in points], [p["seconds"] for p in points], marker="o")
            axis.set(xscale="log", yscale="log", title=name.replace("_", "\n", 1).replace("_", " "))
            axis.xaxis.set_minor_formatter("")
        for axis in below[:1]:
            axis.set_ylabel("s/round")
        figure.savefig(path, format="png")
