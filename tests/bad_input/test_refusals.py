"""What a user may write, and how it is refused: in one line with file, key, value and the nearest valid name.

A table for each kind of file. A row is what is written and the words of the refusal.
"""

import pytest

from fairfl.experiments.config import Config
from fairfl.experiments.declaration import declaration
from fairfl.experiments.explanations import FOLDER, load_explanations
from fairfl.experiments.plugins import names
from fairfl.experiments.reading import load_paper, load_scale, patched
from fairfl.experiments.setting import Setting
from fairfl.experiments.strict import load
from fairfl.experiments.workload import load_workload
from fairfl.judgement.claims import preflight
from fairfl.runtime.validation import check
from tests.bad_input.refusals import refused
from tests.unit.edited_papers import GONE, ROOT, changed, planned, read, written

# -- config.yaml and --config ------------------------------------------------------------------------
CONFIG = [
    ({"seeds": [2**32]}, "seeds.0: 4294967296: expected less than 4294967296"),
    ({"seeds": "0-4"}, "seeds.0: '0-4': expected a whole number; several are written 0,1,2"),
    ({"seeds": [0, 0]}, "seeds: 0 is given twice"),
    ({"seeds": True}, "seeds: True: expected numbers, not true or false"),
    ({"threads": 1e9}, "threads: 1000000000.0: expected 256 or less"),
    ({"checkpoint_seconds": float("nan")}, "checkpoint_seconds: nan: not a finite number"),
    ({"papers": ["../eagle"]}, "papers: no paper '../eagle'; did you mean 'eagle'"),
    ({"papers": ["eagle\nerror: x"]}, r"papers: no paper 'eagle\nerror: x'"),
    ({"scale": "../../tmp/x"}, "scale: no scale '../../tmp/x'; known:"),
    ({"artifacts": ["eagle_table1", "eagle_tabel2"]}, "no artifact 'eagle_tabel2'; did you mean 'eagle_table2'"),
    ({"artifacts": "fedfv_table3"}, "artifacts: no artifact 'fedfv_table3': `papers` leaves out fedfv"),
    (
        {"artifacts": "fedfv_table3", "papers": "fedfv", "settings": "fedfv_cifar10"},
        "`settings` leaves out all that it shows: fedfv_fmnist",
    ),
    ({"settings": [""]}, "settings: no setting ''"),
    ({"algorithms": ["fedavg/../x"]}, "algorithms: no artifact uses 'fedavg/../x'; did you mean 'fedavg'"),
    ({"offline": "perhaps"}, "offline: 'perhaps'"),
    ({"cuda_graphs": "of"}, "cuda_graphs: 'of' is not valid; did you mean 'off'"),
    ({"superseded_results_limit": -1}, "superseded_results_limit: -1: expected a size, 0 or more, such as 0, 500MB or"),
    ({"budget": 5, "recorded": "only"}, "budget: 5: nothing is trained with recorded: only"),
    ({"data_folder": ""}, "data_folder: ''"),
    ({"mirrors": ["ftp://host/data"]}, "mirrors: 'ftp://host/data': no folder or address"),
    ({"mirrors": ["http://[x"]}, "mirrors: 'http://[x': Invalid IPv6 URL"),
    ({"mirors": ["/data"]}, "mirors: unknown key (value ['/data']); did you mean 'mirrors'"),
]
FILE = [  # the bytes of config.yaml
    (b"", "expected `key: value` lines, found None"),
    (b"scale: quick\nscale: full\n", "line 2: not valid YAML: key 'scale' is given twice"),
    (b"scale:\tquick\n\tpapers: [eagle]\n", "line 2: not valid YAML"),
    (b"scale: caf\xe9\n", "not UTF-8 text (byte 10)"),
    (b"scale: !!python/object/apply:os.system [id]\n", "could not determine a constructor for the tag"),
    (b"a: &a {b: *a}\n", "line 1: not valid YAML: found unconstructable recursive node"),
    (b"[a, b]: 1\n", "line 1: not valid YAML: found unhashable key"),
]

# -- papers/*.yaml, by the paper and the keys that are changed -----------------------------------------
TOY, LINEAR, CIFAR = (f"settings/{name}" for name in ("eagle_toy_2clients", "eagle_emnist_linear_a0.1", "vred_cifar10"))
ROW, TABLE = "artifacts/table1/rows/5", "artifacts/table1"
LONG = {"grid": {"learning_rate": [n / 8 for n in range(1, 200)]}, "algorithms": {"qffl": {"q": list(range(100))}}}
USED = {"kind": "static_table", "title": "T", "caption": "c", "content": "used", "options": {"printed": ["afl.lr"]}}
PAPER = [
    ("eagle", "templates/emnist/data", GONE, "settings.eagle_emnist_linear_a0.1.data: missing; it has no default"),
    ("eagle", "templates", 5, "templates: 5: expected entries by name"),
    ("eagle", TOY, None, "settings.eagle_toy_2clients: expected `key: value` lines"),
    ("eagle", f"{TOY}/extends", ["base"], "settings.eagle_toy_2clients: extends: ['base'] is no name"),
    ("eagle", f"{TOY}/extends", "bse", "extends unknown 'bse'; did you mean 'base'"),
    ("eagle", f"{TOY}/extends", "eagle_toy_2clients", "extends runs in a circle: eagle_toy_2clients -> eagle_toy_2cl"),
    ("eagle", "settings/a b", {"extends": "emnist_linear"}, "'a b' cannot be the name of a file"),
    ("eagle", "settings/" + "s" * 101, {"extends": "emnist_linear"}, "too long for the name of a file: 101 of 100"),
    ("eagle", f"{LINEAR}/clients_per_round", 11, "clients_per_round is 11, there are only 10 clients"),
    ("eagle", f"{LINEAR}/rounds", 0, "rounds: 0"),
    ("eagle", f"{LINEAR}/learning_rate", "1e-3", "unless it has a point: 1.0e-3"),
    ("eagle", f"{LINEAR}/data", {"name": "../mnist"}, "'../mnist' is not one of the data sets; did you mean 'mnist'"),
    ("eagle", f"{LINEAR}/sources", {"rouns": "paper"}, "sources: unknown 'rouns'; did you mean 'rounds'"),
    ("eagle", f"{LINEAR}/tuning", LONG, "a grid of 19900 points, expected 10000 at most"),
    ("eagle", f"{LINEAR}/partition/alpha", 0, "more than 0"),
    ("eagle", f"{LINEAR}/partition/alfa", 1.0, "did you mean 'alpha'"),
    ("eagle", f"{LINEAR}/fitted", {"eagle/lambda=1.1": "its penalty"}, "fitted: unknown 'eagle/lambda=1.1'; did you"),
    ("eagle", f"{LINEAR}/modifiers", {"lrs": {"gamma": 0.2}}, "modifiers: 'lrs' is not one of the modifiers; did you"),
    ("eagle", f"{LINEAR}/modifiers", {"lsr": {"gama": 1}}, "modifiers: lsr: unknown hyper-parameter 'gama'; did you"),
    ("eagle", f"{ROW}/hyperparameters/lambda", "../../x", "'../../x' cannot be part of a file name"),
    ("eagle", f"{ROW}/hyperparameters/lambda", "x" * 300, "is too long for the name of a file"),
    ("eagle", f"{ROW}/hyperparameters", {f"key{n}": 1 for n in range(40)}, "too long for the name of a folder"),
    ("eagle", f"{ROW}/modifiers", {"dp": 3}, "modifiers.dp: 3 is not a mapping"),
    ("eagle", f"{ROW}/setting", "nowhere", "row 5: setting 'nowhere' is not one of"),
    ("eagle", f"{ROW}/algorithm", "eagel", "did you mean 'eagle'"),
    ("eagle", f"{TABLE}/columns", ["gap_mx"], "columns: metric: unknown 'gap_mx'; did you mean 'gap_max'"),
    ("eagle", f"{TABLE}/columns", ["accuracy_client_k"], "accuracy_client_k: {name: ..., meaning: ..., unit: fraction"),
    ("eagle", "artifacts/table 1", {"kind": "table"}, "'table 1' cannot be the name of a file"),
    ("eagle", "artifacts/figure1/plot", GONE, "a figure needs `plot`"),
    ("eagle", "artifacts/figure1/plot", "../x", "artifacts.figure1.plot: '../x' is not one of the plots"),
    ("eagle", "artifacts/table3/content/0", ["x"], "content row 0 has 1 cells"),
    ("eagle", "artifacts/table3", USED, "afl: unknown hyper-parameter 'lr'"),
    ("eagle", "templates/emnist/unstated/facts", {"x": {"why": "w"}}, "expected `values` of one key, or `readings`"),
    ("eagle", "templates/emnist/unstated/algorithm", "eagle", "unstated.algorithm: 'eagle'"),
    ("eagle", "templates/emnist/samples", 5, "samples is 5"),
    ("eagle", "templates/emnist/data/split", "byclas", "did you mean 'byclass'"),
    ("eagle", "templates/base/split/train", 0.9, "it must be 1"),
    ("eagle", "templates/base/split", {"train": 0.5, "validation": 0.0, "test": 0.5}, "split.validation is 0"),
    ("eagle", "templates/base/sources/learning_rate", "I guess", "source of 'learning_rate'"),
    ("eagle", "templates/base/sources/learning_rate", GONE, "no source for learning_rate"),
    ("eagle", "algorithms/eagle/defaults/nrom", "l2", "no source for nrom"),
    ("eagle", "headline/setting", "y", "headline.setting: unknown 'y'"),
    ("eagle", "headline/method/algorithm", "eagel", "headline.method: unknown 'eagel'; did you mean 'eagle'"),
    ("eagle", "headline/utility", "gap_mx", "headline.utility: unknown 'gap_mx'; did you mean 'gap_max'"),
    ("eagle", "paper", "runs", "paper: 'runs': expected small letters and digits, but not calibrated, logs"),
    ("eagle", "paper", "eagle2", "'eagle2' must equal the file's name 'eagle'"),
    ("fedeba", "consistency", [{"id": "c", "expr": "1 == 1", "setting": "u"}], "consistency.c: setting: unknown 'u'"),
    ("fedeba", "consistency", [{"id": "c", "expr": "1 == 1"}] * 2, "two relations share an id"),
    ("vred", "templates/base/tuning/algorithms/vred/betta", [1.0], "did you mean 'beta'"),
    ("vred", "templates/base/tuning/algorithms/vredd", {}, "did you mean 'vred'"),
    ("vred", f"{CIFAR}/learning_rates", {"fedavgg": 0.1}, "did you mean 'fedavg'"),
    ("vred", f"{CIFAR}/hyperparameters", {"qffl": {"Q": 1}}, "known: q"),
    ("vred", "artifacts/table5/columns_of/vred", ["hp_betta"], "did you mean 'hp_beta'"),
    ("fairbench", "settings/fairbench_shards/levels", ["mnist", "shard", "all"], "has no level 'shard'; did you mean"),
    ("fairbench", "settings/fairbench_shards/levels", ["mnist"], "levels: ['mnist']: expected one each of "),
]

# -- what only the last jobs read: a paper as it is planned ---------------------------------------------
CLAIM, FIGURE, DIGITS = f"{TABLE}/claims/0/expr", "artifacts/figure1", "settings/template_digits"
CURVES, BOTH = ["accuracy_mean"], ["accuracy_mean", "accuracy_worst10"]
FAMILY = ["accuracy_mean", "accuracy_client_k"]
SQUARED = {f"{DIGITS}/loss": "squared_error", f"{DIGITS}/evaluated_parts": ["train", "test"]}
WORST = "settings/fairbench_shards_worst/tuning/trials_of"


def figure(plot, columns=(), **options):
    """The template's figure as another plot."""
    return {f"{FIGURE}/plot": plot, f"{FIGURE}/columns": list(columns), f"{FIGURE}/options": options}


def column(metric, unit="", **changes):
    """The template's table with this column alone."""
    described = {f"metrics/{metric}": {"name": "m", "meaning": "m", "unit": unit}, FIGURE: GONE}
    return described | {f"{TABLE}/columns": [metric], f"{TABLE}/claims": []} | changes


def row(algorithm, modifiers, **changes):
    """The template's table with this row alone."""
    given = {f"{TABLE}/rows": [{"algorithm": algorithm, "modifiers": modifiers}], f"{TABLE}/claims": [], FIGURE: GONE}
    return {f"algorithms/{algorithm}": {"title": "A"}} | given | changes


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
            changes = figure(plot, BOTH, **options(plot)) | {f"{FIGURE}/{part}": []}
            yield "template", changes, f"artifacts.figure1: plot {plot} needs {part}: "


def described(metric, changes):
    return {f"metrics/{metric}": {"name": "m", "meaning": "m", "unit": ""}} | changes


MODELS = {f"{DIGITS}/keep": "model", f"{DIGITS}/evaluated_parts": ["train", "test"]}
PLAN = [
    *(needed for plot in names("reporting/plots") for needed in without_what_it_needs(plot)),
    ("template", described(FAMILY[1], figure("metric_scatter", FAMILY, x=FAMILY[0], y=FAMILY[1])),
     "'accuracy_client_k' is a number for each client"),
    ("template", described("accuracy_area", figure("metric_curves", ["accuracy_area"])), "cannot be drawn along train"),
    ("template", figure("metric_sweep", CURVES, key="qq"), "options: no row has 'qq'; did you mean 'q'?"),
    ("template", figure("metric_curves", CURVES, color_by="p"), "artifacts.figure1: options: no row has 'p'"),
    ("template", figure("metric_sweep", CURVES, places={"template_digitz": 1}, x_label="x"),
     "options.places: 'template_digitz' is not one of the settings; did you mean 'template_digits'"),
    ("template", figure("metric_sweep", CURVES, places={"template_digitz": 1}, x_label="x"),
     "options.places: no place for template_digits"),
    ("template", figure("weight_paths") | MODELS, "template_digits has keep: model, expected path"),
    ("eagle", {f"{ROW}/hyperparameters/lamda": 1.0}, "lamda: unknown key (value 1.0); did you mean 'lambda'"),
    ("eagle", {CLAIM: "gap_max(fedavg) <"}, "column 18: found the end"),
    ("eagle", {CLAIM: "gap_mx(fedavg) < 1"}, "no metric 'gap_mx'; did you mean 'gap_max'"),
    ("eagle", {CLAIM: "gap_max(fedavgg) < 1"}, "no algorithm 'fedavgg'; did you mean 'fedavg'"),
    ("eagle", {CLAIM: "gap_max(eagle, lambda=77) < 1"}, "no row of the paper is eagle(lambda=77); did you mean "),
    ("eagle", {CLAIM: "gap_max(fedavg)@nowhere < 1"}, "no setting 'nowhere'"),
    ("eagle", {CLAIM: "min_over(gap_max, eagle, lamda=1) < 1"}, "no row of the paper is eagle(lamda=1)"),
    ("eagle", {CLAIM: "monotone(gap_max, eagle, lamda, up)"}, "no row of the paper is eagle with lamda"),
    ("eagle", {"consistency": [{"id": "c", "expr": "argmin gap_max == fedavg"}]}, "claim c: a trend or an optimum"),
    ("fairbench", {WORST: "fairbench_shard"}, "trials_of: no setting 'fairbench_shard' with `tuning`; did you mean"),
    ("fairbench", {WORST: "fairbench_rotated"}, "'fairbench_rotated' differs in more than its tuning"),
    ("fairbench", {WORST: "fairbench_shards_worst"}, "takes the trials of fairbench_shards_worst: name that one"),
    ("template", {f"{DIGITS}/partition": {"name": "rotation_clusters", "angles": [0], "clients": [10]},
                  f"{DIGITS}/surrogate": {"clusters": 2}}, "clusters: 2: partition rotation_clusters has 1 true clus"),
    ("template", {f"{DIGITS}/surrogate": {"clusters": 2}}, "expected 1, one surrogate for all"),
    ("template", {"metrics/accuracy_wrst10": {"name": "n", "meaning": "m", "unit": ""}}, "nothing measures it; did "),
    ("template", {"metrics/accuracy_mean/unit": "percnt"}, "unit: 'percnt': it is measured in fraction; did you mean"),
    ("template", column("loss_mean", "nats", **SQUARED), "measures it in mse, which unit: nats does not show; add oth"),
    ("template", row("fedma", {"fedvarp": {}}), "fedvarp makes no sense with fedma"),
    ("template", row("qffl", {"server_momentum": {"beta": 1.9}}), "qffl(server_momentum.beta=1.9): server_momentum.be"),
    ("template", row("fedavg", {"lsr": {}}, **{f"{DIGITS}/loss": "logistic"}), "lsr acts on loss cross_entropy"),
    ("template", figure("metric_curves", CURVES, patr="test"), "artifacts.figure1.options.patr: unknown key"),
    ("template", figure("metric_curves", CURVES, part="train"), "needs clients evaluated on train, evaluated_parts of"),
    ("template", figure("metric_scatter", BOTH, x=BOTH[0], y="accuracy_worst"), "'accuracy_worst' is not one of the "),
    ("template", figure("gap_boxes"), "gap_client_0: is measured from each client's local_optimum"),
    ("template", figure("excess_risk"), "excess_client_0: is measured from each client's surrogate"),
    ("template", figure("separators"), "needs the models of the runs: template_digits has keep: nothing, expected mod"),
    ("template", column("accuracy_mean_late"), "template_digits has no late_evaluations"),
    ("template", column("accuracy_client_10"), "accuracy_client_10: template_digits has clients 0 to 9"),
    ("template", column("accuracy_mean", **SQUARED), "template_digits is a regression, which has no accuracy"),
    ("template", column("learning_rate"), "is what tuning chose, and template_digits has no tuning"),
]  # fmt: skip

# -- scales/*.yaml ----------------------------------------------------------------------------------------
SCALE = [
    ("scale", "../quick", "'../quick' cannot be the name of a file"),
    ("scale", "data", "'data': the name is taken, by a folder of results"),
    ("patches", {}, "patches: {}"),
    ("patches/0/match", [], "patches.0.match: []"),
]
PATCH = [
    ({"data": {"nme": "digits"}}, "nme: unknown key"),
    ({"roundz": 3}, "roundz: unknown key (value 3); did you mean 'rounds'"),
]

# -- papers/explanations/*.yaml: keys of one hypothesis on a setting, or of the file ------------------------
TRIAL = {"change": "twice the rate", "where": "FedAvg (loss / gap)", "before": "1.0 / 2", "after": "3.0 / –"}
WHY = {"hypothesis": "h", "tried": [TRIAL], "conclusion": "No.", "outcome": "unresolved", "algorithms": ["fedavg"]}
EXPLANATION = [
    ({"differences": {"eagle_table99": [WHY]}}, "differences: no artifact or setting 'eagle_table99'; did you mean"),
    ({"algorithms": ["fedavgg"]}, "0.algorithms: no row has 'fedavgg'; did you mean 'fedavg'"),
    ({"metrics": ["gap_mx"]}, "0.metrics: no metric 'gap_mx'; did you mean 'gap_max'"),
    ({"conclusion": "no " * 31}, "0.conclusion: 31 words. Expected at most 30."),
    ({"tried": [{**TRIAL, "after": 3.0}]}, "tried.0.after: 3.0: expected a text; put a text"),
    ({"tried": [{**TRIAL, "after": "1 / 2 / 3"}]}, "tried.0: before has 2, after has 3 values. Expected"),
    ({"tried": [{"change": "c", "where": "w"}]}, "tried.0: no number. Expected at least one of published, "),
    ({"questions": ["State the rate."]}, "questions.0: 'State the rate.' is not a question. Expected one sentence"),
    ({"questions": ["Why?"] * 6}, "questions: ['Why?', "),
]


def config(folder, changes):
    load_workload(ROOT, {"scale": "quick", "papers": ["eagle"]} | changes)


def file(folder, content):
    check(load(written(folder / "config.yaml", content)), Config, "config.yaml")


def paper(folder, name, keys, value):
    load_paper(written(folder / f"{name}.yaml", changed(read(f"papers/{name}.yaml"), {keys: value})))


def plan(folder, name, changes):
    preflight.check(planned(folder, name, changes))


def scale(folder, keys, value):
    load_scale(written(folder / "quick.yaml", changed(read("scales/quick.yaml"), {keys: value})))


def patch(folder, change):
    tree = {"scale": "tiny", "description": "", "patches": [{"match": ["*"], "set": change, "why": "test"}]}
    setting = load_paper(ROOT / "papers/template.yaml").settings["template_digits"]
    patched(
        "a", check(setting.model_dump(mode="json"), Setting, "p"), load_scale(written(folder / "tiny.yaml", tree)), "s"
    )


def explanation(folder, changes):
    whole = {"paper": "eagle"} | (changes if {*changes} & {"differences", "questions"} else {})
    if whole.keys() == {"paper"}:
        whole["differences"] = {"eagle_table1": [WHY | changes]}
    written(folder / FOLDER / "eagle.yaml", whole)
    load_explanations(folder, {"eagle": load_paper(ROOT / "papers/eagle.yaml")})


TABLES = {
    config: CONFIG, file: FILE, paper: PAPER, plan: PLAN, scale: SCALE, patch: PATCH, explanation: EXPLANATION
}  # fmt: skip
ROWS = [(kind, given, words) for kind, rows in TABLES.items() for *given, words in rows]


@pytest.mark.parametrize(("kind", "given", "words"), ROWS, ids=[f"{kind.__name__}-{w[:50]}" for kind, _, w in ROWS])
def test_what_cannot_be_meant_is_refused(tmp_path, kind, given, words):
    begins = {config: "config.yaml: ", paper: f"{tmp_path}/", plan: "papers/"}.get(kind, "")
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
    given = {"scale": "quick", "seeds": "0,42", "offline": "true", "threads": "2", "mirrors": "file:///x,~nobody/x"}
    found = check(given | {"data_folder": "my data", "budget": "~"}, Config, "c")
    assert (found.seeds, found.mirrors[1], found.budget) == ([0, 42], "~nobody/x", None)


@pytest.mark.parametrize(
    "changes",
    [
        column("accuracy_mean_late", **{f"{DIGITS}/late_evaluations": 2}),
        column("accuracy_client_9"),
        column("accuracy_client_k"),
        column("accuracy_mean", "percent"),
        column("loss_mean", "nats", **{"metrics/loss_mean/other_units": ["mse"]}, **SQUARED),
        described("epsilon", {"metrics/epsilon/unit": "of dp"}),  # a mere number is called as one likes
        figure("weight_paths") | MODELS | {f"{DIGITS}/keep": "path"},
    ],
)
def test_what_can_be_measured_and_shown_is_accepted(tmp_path, changes):
    plan(tmp_path, "template", changes)


@pytest.mark.parametrize("scale", ["quick", "small", "full"])
def test_the_papers_of_the_project_pass(scale):
    papers = [path.stem for path in (ROOT / "papers").glob("*.yaml")]
    preflight.check(load_workload(ROOT, {"scale": scale, "papers": papers}))
