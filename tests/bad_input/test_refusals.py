"""What a user may write, and how it is refused: in one line with file, key, value and the nearest valid name.

Each entry of mistakes.yaml is written by the function of its name.
"""

import pytest

from fairfl.data.registry import load as load_data
from fairfl.experiments.config import Config
from fairfl.experiments.declaration import declaration, parameters
from fairfl.experiments.explanations import FOLDER, load_explanations
from fairfl.experiments.plugins import names
from fairfl.experiments.reading import load_paper, load_scale, patched
from fairfl.experiments.setting import Setting
from fairfl.experiments.strict import load
from fairfl.experiments.workload import load_workload
from fairfl.judgement.claims import preflight
from fairfl.runtime.validation import check, checked
from tests.bad_input.refusals import MISTAKES, refused
from tests.unit.edited_papers import GONE, ROOT, changed, planned, read, written

FIGURE, TABLE, DIGITS = "artifacts/figure1", "artifacts/table1", "settings/template_digits"
BOTH = ["accuracy_mean", "accuracy_worst10"]


def config(folder, changes):
    load_workload(ROOT, {"scale": "quick", "papers": ["eagle"]} | changes)


def file(folder, text):
    check(load(written(folder / "config.yaml", text.encode("latin-1"))), Config, "config.yaml")


def paper(folder, name, keys, value):
    load_paper(written(folder / f"{name}.yaml", changed(read(f"papers/{name}.yaml"), {keys: value})))


def plan(folder, name, changes):
    preflight.check(planned(folder, name, changes))


def claim(folder, expression):
    plan(folder, "eagle", {f"{TABLE}/claims/0/expr": expression})


def figure(folder, plot, columns, options, setting, without=()):
    changes = {f"{DIGITS}/{key}": value for key, value in setting.items()}
    changes |= {f"metrics/{name}": {"name": "m", "meaning": "m", "unit": ""} for name in columns if name not in BOTH}
    changes |= {f"{FIGURE}/plot": plot, f"{FIGURE}/columns": columns, f"{FIGURE}/options": options}
    plan(folder, "template", changes | dict(without))


def table(folder, setting, changes):
    changes |= {f"{DIGITS}/{key}": value for key, value in setting.items()}
    plan(folder, "template", {FIGURE: GONE, f"{TABLE}/claims": []} | changes)


def column(folder, metric, unit, setting, others=()):
    described = {"name": "m", "meaning": "m", "unit": unit, "other_units": list(others)}
    table(folder, setting, {f"metrics/{metric}": described, f"{TABLE}/columns": [metric]})


def row(folder, algorithm, modifiers, setting):
    rows = [{"algorithm": algorithm, "modifiers": modifiers}]
    table(folder, setting, {f"algorithms/{algorithm}": {"title": "A"}, f"{TABLE}/rows": rows})


def scale(folder, keys, value):
    load_scale(written(folder / "quick.yaml", changed(read("scales/quick.yaml"), {keys: value})))


def patch(folder, change):
    tree = {"scale": "tiny", "description": "", "patches": [{"match": ["*"], "set": change, "why": "test"}]}
    given = load_paper(ROOT / "papers/template.yaml").settings["template_digits"].model_dump(mode="json")
    patched("a", check(given, Setting, "p"), load_scale(written(folder / "tiny.yaml", tree)), "s")


def explanation(folder, place, changes):
    trial = {"change": "c", "where": "w", "before": "1", "after": "2"}
    why = {"hypothesis": "h", "tried": [trial], "conclusion": "No.", "outcome": "unresolved"}
    whole = changes if place == "." else {"differences": {place: [why | {"algorithms": ["fedavg"]} | changes]}}
    written(folder / FOLDER / "eagle.yaml", {"paper": "eagle"} | whole)
    load_explanations(folder, {"eagle": load_paper(ROOT / "papers/eagle.yaml")})


def data(folder, name, options):
    checked(options, load_data(name).Config, name)


def part(folder, kind, name, given):
    parameters(kind, name, given, "papers/p.yaml", "row")


KINDS = (config, file, claim, figure, column, row, scale, patch, explanation, data, part)
BEGINS = {config: "config.yaml: ", **dict.fromkeys((plan, claim, figure, column, row, part), "papers/")}


def entries():
    """(how it is written, what is written, words of the refusal) of each entry."""
    for name, places in MISTAKES["paper"].items():
        for place, found in places.items():
            for key, value, words in found:
                yield paper, (name, f"{place}/{key}".removeprefix("./"), value), words
    for name, found in MISTAKES["plan"].items():
        yield from ((plan, (name, changes), words) for changes, words in found)
    for kind in KINDS:
        yield from ((kind, given, words) for *given, words in MISTAKES[kind.__name__])


def options(plot):
    """Values of the options of a plot that have no default, of their types."""
    if plot == "metric_sweep":  # one of two
        return {"key": "q"}
    examples = {str: "accuracy_mean", float: 0.1, list[str]: ["fedavg"]}
    fields = declaration("reporting/plots", plot).Config.model_fields.items()
    return {name: examples[field.annotation] for name, field in fields if field.is_required()}


def without_what_it_needs(plot):
    """The template's figure as this plot, each time without something to draw: settings, rows or columns."""
    needs = declaration("reporting/plots", plot)
    parts = {"settings": needs.NEEDS, "rows": {"tidy", "rounds", "model"} & set(needs.NEEDS)}
    for part, needed in (parts | {"columns": getattr(needs, "DRAWS_COLUMNS", False)}).items():
        if needed:
            given = (plot, BOTH, options(plot), {}, {f"{FIGURE}/{part}": []})
            yield figure, given, f"artifacts.figure1: plot {plot} needs {part}: "


ROWS = [
    *entries(),
    *(needed for plot in names("reporting/plots") for needed in without_what_it_needs(plot)),
    *((data, (name, {"prat": 1}), "prat: unknown key (value 1)") for name in names("data")),
]


@pytest.mark.parametrize(("kind", "given", "words"), ROWS, ids=[f"{kind.__name__}-{w[:50]}" for kind, _, w in ROWS])
def test_what_cannot_be_meant_is_refused(tmp_path, kind, given, words):
    begins = {paper: f"{tmp_path}/", data: f"{given[0]}: "}.get(kind, BEGINS.get(kind, ""))
    refused(lambda: kind(tmp_path, *given), words, begins=begins)


# -- what is unusual, but fine -----------------------------------------------------------------------------
def test_several_problems_have_a_line_each():
    with pytest.raises(Exception, match="thread") as error:
        config(None, {"thread": 2, "device": "gpu", "seeds": []})
    lines = str(error.value).split("\n")
    assert len(lines) == 3 and all(line.startswith("config.yaml: ") for line in lines)


def test_what_is_unusual_but_fine(tmp_path):
    path = written(tmp_path / "config.yaml", b"\xef\xbb\xbfscale: quick\r\npapers: &p [eagle]\r\nartifacts: *p\r\n")
    assert check(load(path), Config, "c").papers == ["eagle"]
    given = {
        "scale": "quick",
        "seeds": "0,42",
        "offline": "true",
        "threads": "2",
        "mirrors": "file:///x,~no-such-user/x",
    }
    found = check(given | {"data_folder": "my data", "budget": "~"}, Config, "c")
    assert (found.seeds, found.mirrors[1], found.budget) == ([0, 42], "~no-such-user/x", None)


FINE = [
    (column, "accuracy_mean_late", "", {"late_evaluations": 2}),
    (column, "accuracy_client_9", "", {}),
    (column, "accuracy_client_k", "", {}),
    (column, "accuracy_mean", "percent", {}),
    (column, "loss_mean", "nats", {"loss": "squared_error", "evaluated_parts": ["train", "test"]}, ["mse"]),
    (column, "epsilon", "of dp", {}),  # a mere number is called as one likes
    (figure, "weight_paths", [], {}, {"keep": "path", "evaluated_parts": ["train", "test"]}),
]


@pytest.mark.parametrize("given", FINE, ids=lambda given: given[1])
def test_what_can_be_measured_and_shown_is_accepted(tmp_path, given):
    kind, *rest = given
    kind(tmp_path, *rest)


@pytest.mark.parametrize("scale", ["quick", "small", "full"])
def test_the_papers_of_the_project_pass(scale):
    papers = [path.stem for path in (ROOT / "papers").glob("*.yaml")]
    preflight.check(load_workload(ROOT, {"scale": scale, "papers": papers}))
