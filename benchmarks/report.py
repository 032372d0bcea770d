"""From measurements to rows of the JSON file, from the JSON file to a table and a plot."""

import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.agreement import TOLERANCE
from benchmarks.driver import Measured
from benchmarks.peers import PEERS, REFERENCE, YARDSTICKS
from benchmarks.workloads import Workload, gemm_flops


def rows(
    workload: Workload, measured: dict[str, Measured], skipped: dict[str, str], device: str
) -> dict[str, Any]:
    """One workload: its competitors, and the yardsticks that were measured in the same run.

    Ratios and shares are taken turn by turn, so that drift cancels; median, smallest and largest are kept.
    """
    reference, products = measured.get(REFERENCE), measured.get("products")
    reading = measured.get("reading")
    gemms = {name: own for name, own in measured.items() if name.startswith("gemm")}
    peaks = [
        gemm_flops(device) / min(turn)
        for turn in zip(*(own.medians for own in gemms.values()), strict=True)
    ]
    competitors = {}
    for name, own in measured.items():
        if name in YARDSTICKS:
            continue
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
        if peaks:
            row["share_of_peak"] = statistics.median(
                workload.flops / s / peak for s, peak in zip(own.medians, peaks, strict=True)
            )
        if products:
            row["share_of_products"] = _median_ratio(products.medians, own)
        if products and reading:
            both = [sum(turn) for turn in zip(products.medians, reading.medians, strict=True)]
            row["share_with_reading"] = _median_ratio(both, own)
        if reference:
            ratios = [s / r for s, r in zip(own.medians, reference.medians, strict=True)]
            row["ratio"] = {
                "median": statistics.median(ratios),
                "min": min(ratios),
                "max": max(ratios),
            }
        competitors[name] = row
    entry = {
        **workload.plain(),
        "flops_per_round": workload.flops,
        "gemm_gflops": statistics.median(peaks) / 1e9 if peaks else None,
        "gemm": {
            name.partition("-")[2]: gemm_flops(device) / own.seconds / 1e9
            for name, own in gemms.items()
        },
        "competitors": competitors,
        "skipped": skipped,
    }
    if products:
        forms = {product: form for product, form in products.versions.items() if product != "torch"}
        entry["products"] = {"seconds": products.seconds, "turns": products.medians, "forms": forms}
    if reading:
        entry["reading"] = {"seconds": reading.seconds, "turns": reading.medians}
    return entry


def _median_ratio(above: list[float], below: Measured) -> float:
    return statistics.median(a / b for a, b in zip(above, below.medians, strict=True))


def _number(value: float | None) -> str:
    """Three significant digits."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _table(head: list[str], body: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body)]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "s/round": lambda row: _number(row["seconds"]),
    "rounds/s": lambda row: _number(row["rounds_per_s"]),
    "samples/s": lambda row: _number(row["samples_per_s"]),
    "GFLOP/s": lambda row: _number(row["gflops"]),
    "of peak": lambda row: _share(row.get("share_of_peak")),
    "of roofline": lambda row: _share(row.get("share_of_products")),
    "of it and reading": lambda row: _share(row.get("share_with_reading")),
    "peak MiB (+ GPU)": lambda row: " + ".join(
        f"{row[key]:,.0f}" for key in ("peak_mib", "gpu_mib") if key in row
    ),
    "start s": lambda row: f"{row['start_s']:.1f}" if "start_s" in row else "",
    "s / fairfl's s": lambda row: f"{row['ratio']['median']:.2f}" if "ratio" in row else "-",
    "range": lambda row: (
        f"{row['ratio']['min']:.2f} .. {row['ratio']['max']:.2f}"
        if "min" in row.get("ratio", ())
        else "-"
    ),
}


def _workload(name: str, entry: dict[str, Any]) -> list[str]:
    epochs = f"{entry['epochs']} epochs, " if entry.get("epochs", 1) > 1 else ""
    made = {"mm": "torch.mm", "onednn": "oneDNN"}
    both = ", ".join(
        f"{made[kind]} {_number(rate)}" for kind, rate in entry.get("gemm", {}).items()
    )
    lines = [
        f"## {name}",
        "",
        f"{_model(entry)}, batch {entry['batch'] or 'full'}, {epochs}{entry['precision']}: {entry['per_round']} of"
        f" {entry['clients']} clients x {entry['samples']} samples, {entry['flops_per_round'] / 1e9:.3g} GFLOP a round."
        f" Matrix product in the same run: {_number(entry['gemm_gflops'])} GFLOP/s{f' ({both})' if both else ''}.",
        *_roofline(entry),
        "",
    ]
    rows = sorted(entry["competitors"].items(), key=lambda item: item[1]["seconds"])
    body = [
        [PEERS[c].title if c in PEERS else c, *(of(row) for of in COLUMNS.values())]
        for c, row in rows
    ]
    shown = [
        i
        for i in range(len(COLUMNS) + 1)
        if i == 0 or any(line[i] not in ("", "-") for line in body)
    ]
    lines += _table([["", *COLUMNS][i] for i in shown], [[line[i] for i in shown] for line in body])
    lines += [
        f"- {PEERS[c].title if c in PEERS else c}: skipped, {why}"
        for c, why in entry["skipped"].items()
    ]
    return [*lines, ""]


def _model(entry: dict[str, Any]) -> str:
    """ "mlp 784-200-200-10"; of a CNN the name alone."""
    model = entry["model"]
    sizes = (
        [math.prod(entry["shape"]), *model.get("hidden", []), entry["classes"]]
        if model["name"] == "mlp"
        else []
    )
    return " ".join([model["name"], "-".join(map(str, sizes))]).strip()


def _roofline(entry: dict[str, Any]) -> list[str]:
    """What the layers' products alone take, in which forms, and what reading the samples takes."""
    if "products" not in entry:
        return []
    seconds, forms = entry["products"]["seconds"], entry["products"]["forms"]
    kinds = [f"{product} by {form}" for product, form in forms.items()]
    rate = entry["flops_per_round"] / seconds / 1e9
    lines = [
        f"Roofline: the products alone take {_number(seconds)} s ({_number(rate)} GFLOP/s): {', '.join(kinds)}."
    ]
    if "reading" in entry:
        lines.append(f"Reading the samples once takes {_number(entry['reading']['seconds'])} s.")
    return lines


def _series(entry: dict[str, Any]) -> list[str]:
    names = {
        "seconds": "s/round",
        "rounds_per_s": "rounds/s",
        "gflops": "GFLOP/s",
        "peak_mib": "peak MiB",
    }
    names["gpu_mib"] = "GPU MiB"
    shown = [key for key in names if any(key in point for point in entry["points"])]
    body = [
        [f"{point['x']:,}", *(_number(point.get(key)) for key in shown)]
        for point in entry["points"]
    ]
    reasons = [
        f"- {point['x']}: skipped, {point['skipped']}"
        for point in entry["points"]
        if "skipped" in point
    ]
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
    return [
        "",
        f"10,000 clients against 100: {more['seconds']:.2f} x time, {more['peak_mib']:.2f} x memory.",
    ]


def _head(document: dict[str, Any]) -> Iterator[str]:
    """Sentences on what was measured, where and how, as far as it is known."""
    machine, protocol = document["machine"], document.get("protocol")
    known = [
        document["date"],
        f"fairfl {document['fairfl']}",
        *(
            [f"CPU {machine['cpu']}"]
            if machine.get("cpu", machine["name"]) != machine["name"]
            else []
        ),
        f"{machine['cores']} cores",
        *[text.format(machine[key]) for key, text in MACHINE.items() if key in machine],
    ]
    yield ", ".join(known) + "."
    if sets := machine.get("instruction_sets"):
        yield f"Instruction sets: {', '.join(sets)}."
    yield f"Samples: {', '.join(f'{shape} {said}' for shape, said in document['data'].items())}."
    if protocol:
        yield f"{protocol['turns']} turns of about {protocol['turn_s']} s each, competitors in turn;"
        yield f"{'one core pinned, one thread' if protocol['pinned'] else 'no core pinned'}. No evaluation."
    if note := document.get("note"):
        yield note


MACHINE = {"memory_gib": "{} GiB", "torch": "torch {}", "python": "Python {}", "system": "{}"}


def markdown(document: dict[str, Any]) -> str:
    """The whole file as tables."""
    lines = [f"# {document['machine']['name']}", "", " ".join(_head(document)), ""]
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
            said = (
                value
                if isinstance(value, str)
                else f"{value:.1e}" + ("" if value <= TOLERANCE else " **DIFFERS**")
            )
            lines.append(f"- {PEERS[name].title}: {said}")
        lines.append("")
    if scaling := document.get("scaling"):
        lines += ["## How fairfl scales", ""]
        for entry in scaling.values():
            lines += _series(entry)
    for key in ("starts", "planning"):
        if document.get(key):
            lines += [
                f"## {key.capitalize()}",
                "",
                *(f"- {k}: {v}" for k, v in document[key].items()),
                "",
            ]
    for table in document.get("tables", []):
        lines += [f"## {table['title']}", "", *([table["note"], ""] if "note" in table else [])]
        lines += [*_table(table["head"], table["body"]), ""]
    shown = {
        name for entry in document.get("workloads", {}).values() for name in entry["competitors"]
    }
    notes = [
        f"- {peer.title}: {peer.note}"
        for name, peer in PEERS.items()
        if peer.note and name in shown
    ]
    return "\n".join([*lines, "## Competitors", "", *notes, ""])


PANELS = {
    "sampled_clients": ("clients of a round", "clients"),
    "all_clients_fixed_data": ("all clients,\n60,000 images", "clients"),
    "all_clients_fixed_work": ("all clients,\n6 images each", "clients"),
    "width": ("hidden units", "units"),
    "batch": ("batch size", "samples"),
}


def _row(entry: dict[str, Any]) -> str:
    """'MLP 200-200, batch 64', then what is not as usual: 'bf16', '5 epochs', '20 of 100 clients'."""
    model = entry["model"]
    kind = {
        "mlp": lambda: f"MLP {'-'.join(map(str, model['hidden']))}",
        "cnn": lambda: "CNN",
        "logistic_regression": lambda: "linear",
    }[model["name"]]()
    parts = [kind, f"batch {entry['batch']}" if entry["batch"] else "full batch"]
    if entry["precision"] != "fp32":
        parts.append(entry["precision"])
    if entry.get("epochs", 1) > 1:
        parts.append(f"{entry['epochs']} epochs")
    if (entry["per_round"], entry["clients"]) != (10, 100):
        parts.append(f"{entry['per_round']} of {entry['clients']} clients")
    return ", ".join(parts)


def plot(document: dict[str, Any], path: Any) -> None:
    """Ratios per workload above, scaling below. Raises ImportError without matplotlib."""
    from matplotlib.lines import Line2D

    from fairfl.reporting import style

    loads, scaling = document.get("workloads", {}), document.get("scaling", {})
    shown = [name for name in scaling if scaling[name]["points"] and name != "simultaneous"]
    with style.applied():
        figure = style.canvas(style.PAGE, 0.28 * len(loads) + 1.0 + (2.0 if shown else 0))
        parts = (
            figure.subfigures(2, 1, height_ratios=(0.28 * len(loads) + 1.0, 2.0))
            if shown
            else [figure]
        )
        axes = parts[0].subplots()
        handles = []
        colors = style.client_colors(7)
        for number, name in enumerate(name for name in PEERS if name != REFERENCE):
            if not any(name in entry["competitors"] for entry in loads.values()):
                continue  # its colour stays its own, on every machine
            points = [
                (row["ratio"]["median"], y)
                for y, entry in enumerate(loads.values())
                if "ratio" in (row := entry["competitors"].get(name, {}))
            ]
            look = {"marker": style.marker(number), "linestyle": "none"}
            look["color"] = colors[number % len(colors)]
            axes.plot(*zip(*points, strict=True), **look) if points else None
            handles.append(Line2D([], [], label=PEERS[name].title, **look))
        axes.axvline(1, color=style.GREY, linewidth=0.8)
        axes.set(
            xscale="log",
            xlabel="seconds per round / fairfl's",
            yticks=range(len(loads)),
            yticklabels=list(map(_row, loads.values())),
        )
        axes.invert_yaxis()
        parts[0].legend(handles=handles, loc="outside right center")
        below = parts[1].subplots(1, len(shown), squeeze=False, sharey=True)[0] if shown else []
        for axis, name in zip(below, shown, strict=True):
            points = [point for point in scaling[name]["points"] if "seconds" in point]
            axis.plot([p["x"] for p in points], [p["seconds"] for p in points], marker="o")
            title, x = PANELS[name]
            axis.set(xscale="log", yscale="log", title=title, xlabel=x)
            axis.xaxis.set_minor_formatter("")
        for axis in below[:1]:
            axis.set_ylabel("seconds per round")
        figure.savefig(path, format="png")
