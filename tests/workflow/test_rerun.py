"""Exactly what depends on an edit runs again, in the real Snakefile; `fairfl plan` names the same runs and says why.

Every case states the exact set of planned jobs, of all rules. They are named like their logs:
`train/<setting>/<algorithm>/<variant>/seed0`, `collect/<setting>`, `table/eagle/table1`.
"""

import ast
import fnmatch
import functools
import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

from fairfl.recorded import sums
from tests import edits
from tests.workflow.small_project import LINES, Job, Project, jobs_in, plan_in

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("rerun")]


def running(test):
    """Marks tests of minutes: a group apart, in a process that does not plan."""
    return pytest.mark.long(pytest.mark.xdist_group("running")(test))


ARTIFACTS = "eagle_table1,eagle_figure2,eagle_figure3,eagle_table3,fedeba_table20,focus_table12,vred_table4"
SELECTION = (
    "scale=tiny",
    "papers=eagle,fedeba,focus,vred",
    f"artifacts={ARTIFACTS}",
    "settings=eagle_*,fedeba_fashion_mnist_mlp,focus_rotated_mnist_10,vred_cifar100",
    "algorithms=afl,eagle,fedavg,feddisco,fedeba,fedeba_plus,fedwavg,local_only,qffl,vred",
)

LINEAR, NEAR_UNIFORM = "eagle_emnist_linear_a0.1", "eagle_emnist_linear_a2000"
SYNTHETIC, FASHION, ROTATED = "eagle_synthetic_gaussian", "fedeba_fashion_mnist_mlp", "focus_rotated_mnist_10"
POINTS = [f"vred_cifar100~tuning~learning_rate={rate}" for rate in (0.05, 0.2)]
# Partitioner and model of each setting; its data are digits but for the synthetic ones.
SETTINGS = {
    LINEAR: ("dirichlet_by_class", "logistic_regression"),
    NEAR_UNIFORM: ("dirichlet_by_class", "logistic_regression"),
    SYNTHETIC: ("plain", "logistic_regression"),
    FASHION: ("label_shards", "mlp"),
    ROTATED: ("rotation_clusters", "mlp"),
    **dict.fromkeys(POINTS, ("label_shards", "logistic_regression")),
}
PLOTS = {"figure/eagle/figure2": "optima_range", "figure/eagle/figure3": "client_curves"}
SUMMARY = {"comparison", "claims", "ranking", "side_by_side", "page"}
SEMANTIC = "\n_EDIT = 1\n"


# -- the project, run once from nothing -----------------------------------------------------------
@pytest.fixture(scope="module")
def wide(finished, tmp_path_factory) -> Project:
    """Jobs of every kind, from four papers. Tests must leave the results as they are."""
    project = finished.copy(tmp_path_factory.mktemp("wide") / "project")
    project.select(SELECTION)
    project.snakemake()
    return project


@pytest.fixture
def case(wide) -> Iterator[Project]:
    """For edits with `write` and `edit`, which are undone."""
    yield wide
    wide.undo()


@pytest.fixture
def own(wide, tmp_path) -> Project:
    """A copy of the finished project for tests that run something."""
    return wide.copy(tmp_path / "project")


@pytest.fixture(scope="module")
def every(wide) -> dict[str, Job]:
    """Every job of the selection."""
    return wide.jobs("--forceall")


def below(jobs: dict[str, Job], *patterns: str) -> set[str]:
    """The jobs whose names match, and all that read, however far below, what these leave."""
    found = {name for name in jobs for pattern in patterns if fnmatch.fnmatchcase(name, pattern)}
    assert found, patterns
    left = {path for name in found for path in jobs[name].outputs}
    while more := {name for name, job in jobs.items() if name not in found and left.intersection(job.inputs)}:
        found |= more
        left |= {path for name in more for path in jobs[name].outputs}
    return found


def check(project: Project, expected: set[str], says: dict[str, str] | None = None, **how) -> None:
    """A dry-run plans exactly the expected jobs; `plan` names the same and `says` why, {jobs: words}."""
    dry_run, said = project.looked(**how)
    planned, plan = set(jobs_in(dry_run)), plan_in(said)
    assert planned == expected, {"too much": sorted(planned - expected), "missing": sorted(expected - planned)}
    assert {name for name, why in plan.items() if why} == planned
    for pattern, words in (says or {}).items():
        reasons = {name: plan[name] for name in plan if fnmatch.fnmatchcase(name, pattern)}
        assert reasons and all(words in why for why in reasons.values()), (words, reasons)


# -- the model of the test: which modules a job runs ------------------------------------------------
# Plumbing, of which no number depends, but for what reads results and specs.
READERS = {f"fairfl.runtime.{name}" for name in ("differences", "generators", "json_text", "result_files", "tables")}


class Imports:
    """The import graph of a package in `src`, read from its source; not with the tools that the package uses."""

    def __init__(self, src: Path) -> None:
        self.files = {}
        for file in sorted(src.glob("fairfl/**/*.py")):
            parts = file.relative_to(src).with_suffix("").parts
            self.files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
        self.closure = functools.cache(self.closure)

    def of(self, module: str) -> set[str]:
        """What a module imports anywhere but below `if TYPE_CHECKING`."""
        found: set[str] = set()
        package = module if self.files[module].name == "__init__.py" else module.rpartition(".")[0]

        def visit(node: ast.AST) -> None:
            if isinstance(node, ast.FunctionDef) and node.name in ("spec", "plugins") and ".jobs." in module:
                return  # runs in the planner
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                for child in node.orelse:
                    visit(child)
                return
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                base = ".".join([*base, *([node.module] if node.module else [])])
                found.update([base, *(f"{base}.{alias.name}" for alias in node.names)])
            for child in ast.iter_child_nodes(node):
                visit(child)

        visit(ast.parse(self.files[module].read_text()))
        return {name for name in found if name in self.files}

    def closure(self, *entries: str, counted: bool = False) -> set[str]:
        """All modules that run when these do; importing a.b.c runs a and a.b too. Those that are `counted` are not
        reached by way of stored results, which are compared with their hashes."""
        found, ahead = set(), list(entries)
        while ahead:
            module = ahead.pop()
            if module not in found and not (counted and f"{module}.".startswith("fairfl.recorded.")):
                found.add(module)
                ahead += self.of(module)
                if package := module.rpartition(".")[0]:
                    ahead.append(package)
        return found

    def jobs(self, jobs: dict[str, Job], module: str) -> set[str]:
        """The jobs whose results a module can change, and all below them."""
        if f"{module}.".startswith("fairfl.runtime.") and module not in READERS:
            return set()
        own = {name for name in jobs if module in self.closure(*entries(name), counted=True)}
        return below(jobs, *map(literally, own)) if own else set()


def literally(name: str) -> str:
    return re.sub(r"([\[*?])", r"[\1]", name)


def entries(name: str) -> list[str]:
    """The modules that a job names: its own, and those that it looks up by what its spec says."""
    kind, *rest = name.split("/")
    partitioner, model = SETTINGS.get(rest[0] if rest else "", ("", ""))
    if kind == "prepare":
        return ["fairfl.jobs.prepare", f"fairfl.data.{re.split('[-_.]seed|-', rest[0])[0]}"]
    if name in PLOTS:
        return ["fairfl.jobs.figure", f"fairfl.reporting.plots.{PLOTS[name]}"]
    return {
        "partition": lambda: ["fairfl.jobs.partition", f"fairfl.partition.{partitioner}"],
        "local_optimum": lambda: [
            "fairfl.jobs.local_optimum", f"fairfl.models.{model}", "fairfl.algorithms.local_only",
        ],
        "surrogate": lambda: ["fairfl.jobs.surrogate", f"fairfl.models.{model}"],
        "train": lambda: ["fairfl.jobs.train", f"fairfl.models.{model}", f"fairfl.algorithms.{rest[1]}"],
        "timing": lambda: [
            "fairfl.jobs.timing", "fairfl.jobs.train", f"fairfl.models.{model}",
            *(f"fairfl.algorithms.{algorithm}" for algorithm in ("afl", "fedavg", "qffl")),
        ],
        "collect": lambda: ["fairfl.jobs.collect"],
        "trials": lambda: ["fairfl.jobs.trials"],
        "tune": lambda: ["fairfl.jobs.tune"],
        "comparison": lambda: ["fairfl.jobs.comparison"],
        "claims": lambda: ["fairfl.jobs.claims"],
        "ranking": lambda: ["fairfl.jobs.ranking"],
        "side_by_side": lambda: ["fairfl.jobs.side_by_side"],
        "page": lambda: ["fairfl.jobs.page"],
    }.get(kind, lambda: ["fairfl.jobs.table"])()  # fmt: skip


@pytest.fixture(scope="module")
def imports(wide) -> Imports:
    return Imports(wide.folder / "src")


def test_the_model_knows_every_job(every, imports):
    """Otherwise the cases below would assert less than they seem to."""
    kinds = {name.split("/")[0] for name in every}
    assert kinds == {
        "prepare", "partition", "local_optimum", "surrogate", "train", "collect", "trials", "tune", "timing",
        "table", "figure", *SUMMARY,
    }  # fmt: skip
    assert len(every) == 73 and {name.split("/")[1] for name in every if name.startswith("train/")} == {
        LINEAR, SYNTHETIC, FASHION, *POINTS,
    }  # fmt: skip
    for name in every:
        assert set(entries(name)) <= set(imports.files), name


# -- code -----------------------------------------------------------------------------------------
def edited(module: str) -> str:
    return f"src/{module.replace('.', '/')}.py"


def test_nothing_is_planned_for_finished_results(wide):
    check(wide, set())


def test_an_algorithm(case):
    case.edit("src/fairfl/algorithms/eagle.py", "1e-12", "1e-11")
    eagle = [f"{LINEAR}/eagle/lambda={value}/seed0" for value in ("0.1", "1.0", "2.0", "3.0", "5.0")]
    eagle.append(f"{SYNTHETIC}/eagle/lambda=2.0/seed0")
    collected = {
        f"collect/{LINEAR}",
        f"collect/{SYNTHETIC}",
        "table/eagle/table1",
        "figure/eagle/figure2",
        "figure/eagle/figure3",
        *SUMMARY,
    }
    check(case, {f"train/{run}" for run in eagle} | collected, {"train/*/eagle/*": "edited fairfl.algorithms.eagle"})


@pytest.mark.parametrize(
    ("helper", "algorithms"), [("class_counts", {"feddisco", "fedwavg"}), ("entropy", {"fedeba", "fedeba_plus"})]
)
def test_a_helper_that_two_algorithms_import(case, helper, algorithms):
    path = f"src/fairfl/algorithms/shared/{helper}.py"
    case.write(path, (case.folder / path).read_text() + SEMANTIC)
    variants = {"fedeba": "tau=0.1", "fedeba_plus": "alpha=0.9~tau=0.1"}
    runs = {f"train/{FASHION}/{name}/{variants.get(name, 'default')}/seed0" for name in algorithms}
    says = {f"train/*/{name}/*": f"edited fairfl.algorithms.shared.{helper}" for name in algorithms}
    check(case, {*runs, f"collect/{FASHION}", "table/fedeba/table20", *SUMMARY}, says)


def test_the_engine(case, every):
    case.edit("src/fairfl/simulation/simulation.py", "\nimport ", "\n_EDIT = 1\nimport ")
    above = {name for name in every if name.startswith(("prepare/", "partition/", "local_optimum/", "surrogate/"))}
    expected = (
        set(every) - above - {"table/eagle/table3", f"collect/{NEAR_UNIFORM}"}
    )  # the latter has local optima only
    check(case, expected, {"train/*": "edited fairfl.simulation.simulation"})


def test_what_local_optima_import_too(case, every, imports):
    assert {"fairfl.simulation.losses"} <= imports.closure("fairfl.jobs.local_optimum") & imports.closure(
        "fairfl.jobs.train"
    )
    path = "src/fairfl/simulation/losses.py"
    case.write(path, (case.folder / path).read_text() + SEMANTIC)
    untouched = {name for name in every if name.startswith(("prepare/", "partition/"))}
    check(case, set(every) - untouched - {"table/eagle/table3"}, {"train/*": "edited fairfl.simulation.losses"})


def test_a_model(case, every):
    case.edit("src/fairfl/models/mlp.py", "layers[:-1]", "layers[0:-1]")
    expected = below(every, f"train/{FASHION}/*", f"surrogate/{FASHION}/*", f"timing/{ROTATED}")
    assert len(expected) == 5 + 1 + 1 + len(["tidy", "table20", "table12", *SUMMARY])
    check(case, expected, {f"train/{FASHION}/*": "edited fairfl.models.mlp"})


def test_a_partitioner(case, every):
    path = "src/fairfl/partition/dirichlet_by_class.py"
    case.write(path, (case.folder / path).read_text() + SEMANTIC)
    expected = {name for name in every if LINEAR in name or NEAR_UNIFORM in name}
    expected |= {"table/eagle/table1", "figure/eagle/figure2", *SUMMARY}
    assert expected == below(every, f"partition/{LINEAR}/*", f"partition/{NEAR_UNIFORM}/*")
    check(case, expected, {f"train/{LINEAR}/*": "edited fairfl.partition.dirichlet_by_class"})


def test_a_data_set(case, every):
    path = "src/fairfl/data/synthetic_gaussian.py"
    case.write(path, (case.folder / path).read_text() + SEMANTIC)
    expected = {name for name in every if SYNTHETIC in name} | {"figure/eagle/figure3", *SUMMARY}
    expected |= {name for name in every if name.startswith("prepare/synthetic_gaussian")}
    check(case, expected, {f"train/{SYNTHETIC}/*": "edited fairfl.data.synthetic_gaussian"})


def test_a_metric(case, every):
    """What is collected from runs; no training, and not the seconds that other metrics take."""
    path = "src/fairfl/metrics/clusters.py"
    case.write(path, (case.folder / path).read_text() + SEMANTIC)
    expected = below(every, "collect/*", "trials/*")
    assert not any(name.startswith(("train/", "timing/")) for name in expected)
    check(case, expected)


def test_a_figure_function(case):
    path = "src/fairfl/reporting/plots/optima_range.py"
    case.write(path, (case.folder / path).read_text() + SEMANTIC)
    check(case, {"figure/eagle/figure2", "page"})


@pytest.mark.parametrize("name", ["page.html.j2", "page.macros.j2", "page.css", "page.js"])
def test_the_template_of_the_page(case, name):
    path = f"src/fairfl/reporting/page/{name}"
    case.write(path, (case.folder / path).read_text() + "\n")
    check(case, {"page"})


def test_a_file_that_a_module_reads(case, every):
    path = "src/fairfl/simulation/backends/cpu_tuning.json"
    case.write(path, (case.folder / path).read_text() + "\n")
    expected = below(every, "train/*", "local_optimum/*", "surrogate/*", "timing/*")
    check(case, expected, {"train/*": f"edited {path.removeprefix('src/')}"})


@running
def test_what_nobody_would_notice_is_refused(own, every):
    path = "src/fairfl/algorithms/eagle.py"
    own.write("rate.txt", "1.0")
    own.write(path, (own.folder / path).read_text() + "\n\n_RATE = float(open('rate.txt').read())\n")
    done = own.snakemake(every[RUN].outputs[0], check=False)
    assert done.returncode and "rate.txt: this job reads it, and no change there would be noticed" in done.stdout
    assert "Traceback" not in done.stdout


def test_both_of_two_edits(case, every):
    for path in ("algorithms/qffl.py", "reporting/plots/client_curves.py"):
        case.write(f"src/fairfl/{path}", (case.folder / f"src/fairfl/{path}").read_text() + SEMANTIC)
    expected = below(every, "train/*/qffl/*", "timing/*", "figure/eagle/figure3")
    check(case, expected, {"train/*/qffl/*": "edited fairfl.algorithms.qffl"})


def test_a_helper_that_moved_to_a_file_of_its_own(case, every):
    """The new module appears in the closure, the old ones do not vanish from it."""
    path = "src/fairfl/algorithms/eagle.py"
    case.write("src/fairfl/algorithms/eagle_parts.py", "FACTOR = 1\n")
    case.write(path, (case.folder / path).read_text() + "\nfrom fairfl.algorithms.eagle_parts import FACTOR\n")
    check(case, below(every, "train/*/eagle/*"), {"train/*/eagle/*": "new module fairfl.algorithms.eagle_parts"})


# -- papers, scales, config -------------------------------------------------------------------------
def test_one_hyperparameter_of_one_variant(case):
    case.edit("papers/eagle.yaml", "hyperparameters: {q: 3.0}", "hyperparameters: {q: 4.0}")
    expected = {
        f"train/{LINEAR}/qffl/q=4.0/seed0",
        f"collect/{LINEAR}",
        "table/eagle/table1",
        "figure/eagle/figure2",
        *SUMMARY,
    }
    check(case, expected, {f"train/{LINEAR}/qffl/q=4.0/seed0": "never finished"})


def test_a_default_of_one_algorithm(case):
    case.edit("papers/eagle.yaml", "defaults: {eta_lambda: 0.1", "defaults: {eta_lambda: 0.2")
    runs = {f"train/{setting}/afl/default/seed0" for setting in (LINEAR, SYNTHETIC)}
    expected = {
        *runs,
        f"collect/{LINEAR}",
        f"collect/{SYNTHETIC}",
        "table/eagle/table1",
        "figure/eagle/figure2",
        "figure/eagle/figure3",
    }
    check(case, expected | SUMMARY, {"train/eagle_*/afl/*": "hyperparameters.eta_lambda: 0.1 -> 0.2"})


def test_two_values_that_change_places(case):
    """Snakemake keeps parameters as a set of values without names, to which this is no change."""
    case.edit("src/fairfl/algorithms/feddisco.py", "a: float = Field(0.5,", "a: float = Field(0.1,")
    case.edit("src/fairfl/algorithms/feddisco.py", "b: float = Field(0.1,", "b: float = Field(0.5,")
    expected = {f"train/{FASHION}/feddisco/default/seed0", f"collect/{FASHION}", "table/fedeba/table20", *SUMMARY}
    says = {"train/*/feddisco/*": "hyperparameters.a: 0.5 -> 0.1; hyperparameters.b: 0.1 -> 0.5"}
    check(case, expected, says)


def test_two_values_of_a_setting_that_change_places(case, every):
    case.edit("scales/tiny.yaml", "train: 0.8, validation: 0.0, test: 0.2", "train: 0.2, validation: 0.0, test: 0.8")
    check(case, below(every, f"partition/{ROTATED}/*"))


def test_a_value_of_one_setting(case, every):
    case.edit("papers/eagle.yaml", "loss: logistic\n    evaluate_every: 50", "loss: logistic\n    learning_rate: 0.2")
    expected = below(every, f"train/{SYNTHETIC}/*", f"local_optimum/{SYNTHETIC}/*")
    check(case, expected, {f"train/{SYNTHETIC}/*": "learning_rate: 0.1 -> 0.2"})


def test_a_value_of_the_scale(case, every):
    """Tuning has rounds of its own, but its table says those of the setting."""
    case.edit("scales/tiny.yaml", "rounds: 3,", "rounds: 4,")
    expected = below(every, "train/eagle_*", f"train/{FASHION}/*", "timing/*", "collect/eagle_*", "table/vred/table4")
    check(case, expected, {"train/eagle_*": "rounds: 3 -> 4"})


def test_another_seed(case, every):
    config = ["seeds=0,1"]
    more = case.jobs("--forceall", config=config)
    new = set(more) - set(every)
    assert new and all("seed1" in name for name in new) and set(every) <= set(more)
    says = {"table/focus/table12", "table/vred/table4"}  # how many seeds there are, though they do not collect them
    check(case, below(more, *map(literally, new)) | says, {"train/*/seed1": "never finished"}, config=config)


def test_another_variant(case):
    row = "      - {algorithm: qffl, hyperparameters: {q: 3.0}}\n"
    case.edit("papers/eagle.yaml", row, f"{row}{row.replace('3.0', '2.0')}")
    expected = {
        f"train/{LINEAR}/qffl/q=2.0/seed0",
        f"collect/{LINEAR}",
        "table/eagle/table1",
        "figure/eagle/figure2",
        *SUMMARY,
    }
    check(case, expected, {f"train/{LINEAR}/qffl/q=2.0/seed0": "never finished"})


def test_one_variant_less(case):
    case.edit("papers/eagle.yaml", "      - {algorithm: qffl, hyperparameters: {q: 3.0}}\n", "")
    check(case, {f"collect/{LINEAR}", "table/eagle/table1", "figure/eagle/figure2", *SUMMARY})


def test_another_paper(wide, finished, tmp_path, every):
    """The results of one paper are there; the others come on top of it."""
    project = finished.copy(tmp_path / "project")
    project.select(wide.selection)
    eagle = {name for name in every if "eagle" in name} | {"prepare/digits"}
    eagle |= {name for name in every if name.startswith("prepare/synthetic_gaussian")}
    check(project, set(every) - eagle, {f"train/{FASHION}/*": "never finished"})


def test_one_paper_less(case):
    config = ["papers=eagle,fedeba,vred", f"artifacts={ARTIFACTS.replace('focus_table12,', '')}"]
    check(case, SUMMARY, config=[*config, "settings=eagle_*,fedeba_fashion_mnist_mlp,vred_cifar100"])


def test_claims_sources_and_captions(case):
    for old, new in {
        "the worst-off client is served best by EAGLE": "another wording",
        'expr: "gap_var(eagle, lambda=1.0) < gap_var(fedavg)"': 'expr: "gap_var(eagle, lambda=1.0) < gap_var(afl)"',
        "not stated: chosen because 100 points draw a smooth curve": "not stated: chosen because of another reason",
        "Smallest and largest local optimal loss over the clients, skewed": "Caption of a figure, skewed",
        "Gap extremes, gap variance and accuracy on EMNIST": "Caption of a table",
    }.items():
        case.edit("papers/eagle.yaml", old, new)
    check(case, {"table/eagle/table1", *SUMMARY})  # a table prints its caption, that of a figure is on the page


def test_the_record_is_read_by_the_page_alone(case):
    """Of another scale than the record's."""
    header = "artifact,setting,algorithm,hyperparameters,metric,unit,reported,reported_spread,reported_seeds,ours,"
    text = f"{header}ours_std,seeds,difference,seed_std,tolerance,verdict,contradiction\n"
    for path in ("comparison.csv", sums.LIST):
        case.write(f"results/recorded/{path}", "")  # put back afterwards
    sums.write(case.folder / "results/recorded", {"comparison.csv": text.encode()})
    check(case, {"page"}, {"page": "results/recorded/comparison.csv"})


def test_a_reported_number(case, every):
    path = "papers/reported/eagle/table1.csv"
    case.write(path, (case.folder / path).read_text().replace(",0.152,", ",0.153,", 1))
    readers = {name for name, job in every.items() if path in job.inputs}
    check(case, SUMMARY | readers)


def test_how_and_where_jobs_run(case):
    how = ["device=cpu", "threads=2", "warm_start=false", "checkpoint_seconds=1", "data_folder=elsewhere"]
    check(case, set(), config=[*how, "mirrors=nowhere", "offline=true", "backend=sequential", "cuda_graphs=off"])


def test_the_rule_of_verdicts(case):
    case.edit("config.yaml", "significance_level: 0.05", "significance_level: 0.01")
    check(case, SUMMARY)


def test_another_precision(case, every):
    expected = below(every, "train/*", "local_optimum/*", "surrogate/*", "timing/*")
    check(case, expected, {"train/*": "precision: 'fp32' -> 'bf16'"}, config=["precision=bf16"])


# -- what must not matter -------------------------------------------------------------------------
def sources(project: Project) -> list[Path]:
    return sorted(project.folder.glob("src/fairfl/**/*.py"))


def stripped(text: str) -> str:
    """The program as `ast` prints it: other quotes and line breaks, no comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0].value.value = "Another docstring."
    return ast.unparse(tree) + "\n"


def test_comments_docstrings_and_format(case):
    for path in sources(case):
        case.write(path, f"# a comment\n{stripped(path.read_text())}")
    for path in sorted(case.folder.glob("papers/*.yaml")):
        case.write(path, yaml.safe_dump(yaml.safe_load(path.read_text()), sort_keys=False, width=60))
    for path in ("config.yaml", "scales/tiny.yaml", "Snakefile", "rules/train.smk"):
        case.write(path, f"# a comment\n{(case.folder / path).read_text()}")
    check(case, set())


def test_what_editors_and_merges_leave_behind(case):
    text = (case.folder / "src/fairfl/algorithms/eagle.py").read_text()
    for name in ("eagle.py~", "eagle.py.orig", "eagle.py.rej", ".eagle.py.swp", "eagle.py.bak", "#eagle.py#"):
        case.write(f"src/fairfl/algorithms/{name}", text + SEMANTIC)
    case.write("papers/reported/eagle/table1.csv~", "nothing")
    check(case, set())


def test_times_of_files(case):
    chance = random.Random(1)
    for path in sorted(case.folder.glob("**/*")):
        if path.is_file() and ".snakemake" not in path.parts:
            time = 1_500_000_000 + chance.randrange(10**8)
            os.utime(path, (time, time))
    check(case, set())
    for folder in ("src", "papers", "results"):  # each in turn newer than all others
        for path in case.folder.glob(f"{folder}/**/*"):
            os.utime(path)
    check(case, set())


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_another_branch_and_back(case, every):
    folder = case.folder
    git(folder, "init", "--initial-branch=main")
    try:
        (folder / ".git/info/exclude").write_text("results\n.snakemake\n__pycache__\n")
        git(folder, "add", ".")
        git(folder, "commit", "-m", "all")
        git(folder, "checkout", "-b", "other")
        case.edit("src/fairfl/algorithms/eagle.py", "1e-12", "1e-11")
        case.edit("papers/eagle.yaml", "defaults: {eta_lambda: 0.1", "defaults: {eta_lambda: 0.2")
        git(folder, "commit", "-a", "-m", "edit")
        check(case, below(every, "train/*/eagle/*", "train/eagle_*/afl/*"))
        git(folder, "checkout", "main")
        check(case, set())
    finally:
        shutil.rmtree(folder / ".git")


# -- results in another place ------------------------------------------------------------------------
def fresh(project: Project, folder: Path) -> Project:
    """A new clone, without results."""
    return Project(project.folder, folder, selection=project.selection)


def brought(project: Project, clone: Project) -> None:
    """Copy results as `cp -r` does, without their times, in an order that means nothing."""
    files = sorted(path for path in (project.folder / "results").rglob("*") if path.is_file())
    chance = random.Random(2)
    for path in chance.sample(files, len(files)):
        copy = clone.folder / path.relative_to(project.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        time = 1_700_000_000 + chance.randrange(10**6)
        os.utime(copy, (time, time))


def test_results_in_a_fresh_clone(wide, tmp_path, every):
    clone = fresh(wide, tmp_path / "clone")
    brought(wide, clone)
    check(clone, set())
    clone.edit("src/fairfl/algorithms/eagle.py", "1e-12", "1e-11")
    clone.edit("papers/eagle.yaml", "defaults: {eta_lambda: 0.1", "defaults: {eta_lambda: 0.2")
    why = {"eagle": "edited fairfl.algorithms.eagle", "afl": "hyperparameters.eta_lambda: 0.1 -> 0.2"}
    says = {f"train/eagle_*/{algorithm}/*": words for algorithm, words in why.items()}
    check(clone, below(every, "train/*/eagle/*", "train/eagle_*/afl/*"), says)


def test_results_over_an_old_clone(wide, tmp_path):
    """Snakemake's own notes there are of other code and parameters, and of a workflow that was killed."""
    clone = wide.copy(tmp_path / "old")
    notes = [path for path in clone.folder.glob(".snakemake/metadata/**/*") if path.is_file()]
    for path in notes:
        note = json.loads(path.read_text())
        old = {"params": ["another"], "code": "another", "incomplete": True, "starttime": 1.0, "endtime": 2.0}
        path.write_text(json.dumps({**note, **old}))
        (clone.folder / ".snakemake/incomplete").mkdir(exist_ok=True)
        (clone.folder / ".snakemake/incomplete" / path.name).touch()
    (clone.folder / ".snakemake/locks").mkdir(exist_ok=True)
    for kind in ("input", "output"):
        (clone.folder / f".snakemake/locks/0.{kind}.lock").write_text("results/tiny/index.html\n")
    brought(wide, clone)
    check(clone, set())


def test_broken_notes_of_snakemake(own):
    for path in own.folder.glob(".snakemake/metadata/**/*"):
        if path.is_file():
            path.write_bytes(b"\0")
    check(own, set())


# -- another arithmetic ---------------------------------------------------------------------------
@pytest.fixture
def other_torch(tmp_path) -> Path:
    """Folder for PYTHONPATH in which another version of torch seems to be installed."""
    metadata = tmp_path / "site" / "torch-9.8.7.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.8.7\n")
    return metadata.parents[1]


def test_results_of_another_torch_are_kept_with_a_warning(case, other_torch):
    check(case, set(), path=[other_torch])
    for said in case.looked(path=[other_torch]):
        (line,) = [line for line in said.splitlines() if "9.8.7" in line]
        assert "torch" in line and "numerics_mismatch" in line


def test_results_of_another_torch_are_made_anew_if_asked_to(case, other_torch, every):
    expected = below(every, "train/*", "local_optimum/*", "surrogate/*", "timing/*")
    check(case, expected, {"train/*": "-> 9.8.7"}, path=[other_torch], config=["numerics_mismatch=rerun"])
    check(case, set(), config=["numerics_mismatch=rerun"])


@pytest.mark.parametrize(
    ("how", "said"),
    [("threads=2", "threads 1, here it is 2"), ("backend=sequential", "backend auto, here it is sequential")],
)
def test_another_arithmetic(case, every, how, said):
    for text in case.looked(config=[how]):
        (line,) = [line for line in text.splitlines() if said in line]
        assert "numerics_mismatch: keep" in line
    trained = ["train/*", "surrogate/*", "timing/*"] + ["local_optimum/*"] * (how == "threads=2")
    check(case, below(every, *trained), config=[how, "numerics_mismatch=rerun"])


def test_cores_and_environment_change_no_byte(own):
    """`threads` of config.yaml says how sums are taken, not how many cores there are."""
    run = own.folder / "results/tiny/runs" / RUN.removeprefix("train/")
    files = {name: (run / name).read_bytes() for name in ("metrics.parquet", "model.safetensors")}
    (run / "model.safetensors").unlink()
    many = {f"{name}_NUM_THREADS": "3" for name in ("OMP", "MKL", "OPENBLAS")}
    own.snakemake("--cores", "1", str((run / "summary.json").relative_to(own.folder)), **many)
    assert {name: (run / name).read_bytes() for name in files} == files
    (run / "model.safetensors").unlink()
    own.snakemake("--cores", "1", str((run / "summary.json").relative_to(own.folder)), config=["threads=2"])
    summary = json.loads((run / "summary.json").read_text())
    assert summary["threads"] == 2 and summary["arithmetic"]["threads"] == "2"


def test_the_old_name_of_the_key(case):
    done = case.snakemake("--dry-run", config=["other_torch=rerun"], check=False)
    assert done.returncode and "other_torch: unknown key; did you mean 'numerics_mismatch'?" in done.stdout
    assert "Traceback" not in done.stdout


# -- damage -----------------------------------------------------------------------------------------
RUN = f"train/{LINEAR}/eagle/lambda=1.0/seed0"
# A file of a job of each kind. No two in a group read from each other.
DAMAGE = {
    "upper": {
        "prepare/digits": "safetensors",
        f"local_optimum/{LINEAR}/seed0/client1": "json",
        f"surrogate/{FASHION}/seed0/cluster0": "json",
        RUN: "metrics.parquet",
        f"train/{LINEAR}/afl/default/seed0": "summary.json",
        f"train/{SYNTHETIC}/fedavg/default/seed0": "model.safetensors",
        "table/vred/table4": "md",
        "page": "html",
    },
    "lower": {
        f"partition/{FASHION}/seed0": "csv",
        f"partition/{LINEAR}/seed0": "parquet",
        f"collect/{SYNTHETIC}": "rounds.parquet",
        f"collect/{FASHION}": "csv",
        "tune/vred_cifar100/vred": "json",
        f"timing/{ROTATED}": "json",
        "table/eagle/table1": "md",
        "table/eagle/table3": "tex",
        "figure/eagle/figure2": "png",
        "comparison": "csv",
        "claims": "csv",
    },
    "artifacts": {
        "table/eagle/table1": "csv",
        "figure/eagle/figure2": "pdf",
        "figure/eagle/figure3": "csv",
        f"collect/{NEAR_UNIFORM}": "csv",
    },
}


def files(every: dict[str, Job], group: str) -> dict[str, str]:
    """Job -> path of the file that is damaged."""
    return {
        name: next(path for path in every[name].outputs if path.endswith(suffix))
        for name, suffix in DAMAGE[group].items()
    }


def damage(project: Project, paths: Iterable[str], how: str) -> None:
    """Delete the files, or empty each second one and cut off half of the others."""
    for number, path in enumerate(paths):
        content = (project.folder / path).read_bytes()
        assert len(content) > 1, path
        project.write(path, None if how == "deleted" else content[: len(content) // 2 * (number % 2)])


@pytest.mark.parametrize("how", ["deleted", "damaged"])
@pytest.mark.parametrize("group", DAMAGE)
def test_a_damaged_result_is_made_again_and_nothing_else(case, every, group, how):
    paths = files(every, group)
    damage(case, paths.values(), how)
    word = "missing" if how == "deleted" else "damaged"
    check(case, set(paths), {literally(name): f"{Path(path).name} is {word}" for name, path in paths.items()})


@pytest.mark.parametrize("how", ["deleted", "damaged", "no record"])
@pytest.mark.parametrize("group", ["upper", "lower"])
def test_without_its_record_a_job_runs_again_and_nothing_else(case, every, group, how):
    paths = [every[name].record for name in DAMAGE[group]]
    if how == "no record":
        for path in paths:
            case.write(path, '{"fingerprint": [], "spec": 0, "inputs": {}}')
    else:
        damage(case, paths, how)
    check(case, set(DAMAGE[group]))


def test_a_record_of_another_spec_in_its_place(case, every):
    """The results may be anything, so what reads them runs too."""
    path = every[RUN].record
    case.write(path, (case.folder / path.replace("lambda=1.0", "lambda=2.0")).read_text())
    says = {RUN: "hyperparameters.lambda: 2.0 -> 1.0"}
    check(case, below(every, RUN), says)


@running
def test_results_of_another_run_in_its_place(own):
    before = own.csv()
    for names in (("metrics.parquet",), ("summary.json",), ("metrics.parquet", "summary.json")):
        own.undo()
        for name in names:
            path = f"results/tiny/{RUN.replace('train/', 'runs/', 1)}/{name}"
            own.write(path, (own.folder / path.replace("eagle/lambda=1.0", "qffl/q=1.0")).read_bytes())
        check(own, {RUN})
    own.snakemake()
    assert own.csv() == before
    check(own, set())


# Says which modules of the package are executed, also those that are looked up by name.
SPY = """
import sys

def said(event, args):
    path = getattr(args[0], "co_filename", "") if event == "exec" else ""
    module = path.partition("/src/")[2].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if module.startswith("fairfl") and module in sys.modules:  # not only its declaration
        print("executes", module, file=sys.stderr)

sys.addaudithook(said)
import runpy
sys.argv[:] = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@running
def test_repairs_run_alone_and_give_the_same_bytes(own, every, imports, tmp_path):
    """For real, one job of each kind. None executes a module that the import graph does not know."""

    def kept() -> dict[str, bytes]:
        found = [path for path in own.folder.glob("results/**/*") if ".code" not in path.parts]
        suffixes = {".csv", ".parquet", ".safetensors", ".md", ".tex", ".png", ".pdf"}  # pages tell seconds
        return {str(path): path.read_bytes() for path in found if path.suffix in suffixes}

    before = kept()
    kinds = {name.split("/")[0]: name for name in [*DAMAGE["upper"], *DAMAGE["lower"]] if not name.startswith("timing")}
    paths = {name: path for group in DAMAGE for name, path in files(every, group).items() if name in kinds.values()}
    for path in paths.values():
        (own.folder / path).unlink()
    own.edit("src/fairfl/runtime/warm_start/client.py", '"-m", *arguments', '"-c", SPY, *arguments')
    own.edit("src/fairfl/runtime/warm_start/client.py", "def plain", f"SPY = {SPY!r}\n\n\ndef plain")
    done = own.snakemake(config=("warm_start=false",), **LINES)
    assert set(jobs_in(done.stdout)) == set(paths)
    after = kept()
    assert [name for name in before if before[name] != after.get(name)] == [] and before.keys() == after.keys()
    check(own, set())
    options = [module for module in imports.files if module.startswith("fairfl.data.")]
    for name in paths:
        log = (own.folder / every[name].log).read_text()
        executed = set(re.findall(r"^executes (\S+)$", log, re.M))
        known = imports.closure(*entries(name))
        if name in SUMMARY:  # reads papers/*.yaml, so looks up which options data sets have; they are in its spec
            known = known | imports.closure(*options)
        assert set(entries(name)[1:]) <= executed <= known, (name, executed - known)


@running
def test_half_of_an_edit(own, every):
    """What was not reached is still planned, and reads the results of today only. Taken back, nothing runs again."""
    metrics = own.folder / every[RUN].outputs[0]
    before = metrics.read_bytes()
    own.edit("src/fairfl/algorithms/eagle.py", "1e-12", "1e-11")
    own.snakemake(every[RUN].outputs[0])
    check(own, below(every, "train/*/eagle/*") - {RUN})
    own.undo()
    assert RUN in jobs_in(own.looked()[0])  # a dry run names what was computed before the edit
    own.snakemake()
    assert metrics.read_bytes() == before
    check(own, set())


@running
def test_prepared_data_from_raw_files(root, tmp_path, mirror, wide):
    """A marker of raw files, and what is prepared from them."""
    project = Project(root, tmp_path / "project", selection=["scale=small", "papers=eagle", "artifacts=eagle_table1"])
    project.snakemake("results/data/mnist.safetensors", config=(f"mirrors={mirror}", "offline=true"))

    def planned() -> set[str]:
        return set(project.jobs("results/data/mnist.safetensors"))

    assert planned() == set()
    for name in ("results/data/mnist.fetched.json", "results/data/mnist.safetensors"):
        damage(project, [name], "damaged")
        assert planned() == {"fetch/mnist" if "fetched" in name else "prepare/mnist"}
        project.undo()
    formats = "src/fairfl/data/formats/mnist_files.py"
    project.write(formats, (project.folder / formats).read_text() + SEMANTIC)
    assert planned() == {"prepare/mnist"}


# -- any edit ---------------------------------------------------------------------------------------
# Of these the Snakefile itself executes declarations, no functions.
PURE = ("algorithms", "models", "modifiers", "partition", "simulation")
EDITS = int(os.environ.get("FAIRFL_EDITS", "12"))


@pytest.mark.parametrize("number", range(EDITS))
def test_any_edit_runs_what_imports_it(case, every, imports, number):
    """Modules that no job of the selection runs are among them, but not many. FAIRFL_EDITS says how many to try."""
    chance = random.Random(number)
    used = set().union(*(imports.closure(*entries(name)) for name in every))
    pool = sorted(used if number % 4 else set(imports.files) - used)
    module = chance.choice(pool)
    path, pure = imports.files[module], module.startswith(tuple(f"fairfl.{package}." for package in PURE))
    edit = functools.partial(edits.semantic, planned=True) if pure else edits.statement
    case.write(path, edit(path.read_text(), chance))
    expected = imports.jobs(every, module)
    runs = {
        name
        for name in expected
        if name.startswith("train/") and module in imports.closure(*entries(name), counted=True)
    }
    check(case, expected, {name: f"edited {module}" for name in runs})


@pytest.mark.parametrize("number", range(1 + EDITS // 12))
def test_any_edit_of_what_is_only_read_runs_nothing(case, imports, number):
    """Docstrings, annotations of functions and comments of all modules; plumbing in other words."""
    for place, (module, path) in enumerate(imports.files.items()):
        plumbing = module.startswith(("fairfl.runtime.", "fairfl.recorded.")) and module not in READERS
        text = path.read_text()
        text = edits.reworded(text) if plumbing else text
        case.write(path, edits.neutral(text, random.Random(f"{number} {place}")))
    check(case, set())
