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
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

from fairfl.recorded import sums
from tests import edits
from tests.workflow.faults import YEAR
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
    """A copy of the finished project for tests that run something: times of files mean nothing there."""
    project = wide.copy(tmp_path / "project")
    shuffle_times(project, random.Random(3))
    return project


def shuffle_times(project: Project, chance: random.Random) -> None:
    """As after a copy that lost all times, or with a clock that was set back or on: ten years around today."""
    for path in sorted(project.folder.glob("**/*")):
        if path.is_file() and ".snakemake" not in path.parts:
            then = time.time() + chance.uniform(-5, 5) * YEAR
            os.utime(path, (then, then))


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


def check(project: Project, expected: set[str], says: dict[str, str] | None = None, **how) -> str:
    """A dry-run plans exactly the expected jobs; `plan` names the same and `says` why, {jobs: words}. What both say."""
    said = project.looked(**how)
    planned, plan = set(jobs_in(said)), plan_in(said)
    assert planned == expected, {"too much": sorted(planned - expected), "missing": sorted(expected - planned)}
    assert {name for name, why in plan.items() if why} == planned
    for pattern, words in (says or {}).items():
        reasons = {name: plan[name] for name in plan if fnmatch.fnmatchcase(name, pattern)}
        assert reasons and all(words in why for why in reasons.values()), (words, reasons)
    return said


# -- the model of the test: which modules a job runs ------------------------------------------------
# On plumbing, fairfl.runtime and fairfl.recorded, no number depends.
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
        if f"{module}.".startswith("fairfl.runtime."):
            return set()
        own = {name for name in jobs if module in self.closure(*entries(name), counted=True)}
        return below(jobs, *map(literally, own)) if own else set()


def literally(name: str) -> str:
    return re.sub(r"([\[*?])", r"[\1]", name)


def entries(name: str) -> list[str]:
    """The modules that a job names: its own, and those that it looks up by what its spec says."""
    kind, *rest = name.split("/")
    partitioner, model = SETTINGS.get(rest[0] if rest else "", ("", ""))
    parts = {
        "prepare": lambda: [f"data.{re.split('[-_.]seed|-', rest[0])[0]}"],
        "partition": lambda: [f"partition.{partitioner}"],
        "local_optimum": lambda: [f"models.{model}", "algorithms.local_only"],
        "surrogate": lambda: [f"models.{model}"],
        "train": lambda: [f"models.{model}", f"algorithms.{rest[1]}"],
        "timing": lambda: ["jobs.train", f"models.{model}", *(f"algorithms.{a}" for a in ("afl", "fedavg", "qffl"))],
        "figure": lambda: [f"reporting.plots.{PLOTS[name]}"],
    }
    return [f"fairfl.{part}" for part in (f"jobs.{kind}", *parts.get(kind, list)())]


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


# -- edits: what is changed, and exactly what runs again ------------------------------------------------
EDITS = yaml.safe_load(Path(__file__).with_name("edits.yaml").read_text())


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_runs_what_depends_on_it_and_nothing_else(case, every, name):
    edit = EDITS[name]
    for path, *texts in edit.get("edit", []):
        case.edit(path, *texts) if len(texts) == 2 else case.append(path, *texts)
    patterns = edit.get("runs", "").split()
    alone = {literal.removeprefix("=") for literal in patterns if literal.startswith("=")}
    above = [pattern for pattern in patterns if not pattern.startswith("=")]
    expected = (below(every, *above) if above else set()) | alone | set(edit.get("new", []))
    assert len(expected) == edit["jobs"]
    check(case, expected, edit.get("says"), config=edit.get("config", []))


def test_another_seed(case, every):
    config = ["seeds=0,1"]
    more = case.jobs("--forceall", config=config)
    new = set(more) - set(every)
    assert new and all("seed1" in name for name in new) and set(every) <= set(more)
    says = {"table/focus/table12", "table/vred/table4"}  # how many seeds there are, though they do not collect them
    check(case, below(more, *map(literally, new)) | says, {"train/*/seed1": "never finished"}, config=config)


def test_another_paper(wide, finished, tmp_path, every):
    """The results of one paper are there; the others come on top of it."""
    project = finished.copy(tmp_path / "project")
    project.select(wide.selection)
    eagle = {name for name in every if "eagle" in name} | {"prepare/digits"}
    eagle |= {name for name in every if name.startswith("prepare/synthetic_gaussian")}
    check(project, set(every) - eagle, {f"train/{FASHION}/*": "never finished"})


def test_the_record_is_read_by_the_page_alone(case):
    """Of another scale than the record's."""
    header = "artifact,setting,algorithm,hyperparameters,metric,unit,reported,reported_spread,reported_seeds,ours,"
    text = f"{header}ours_std,seeds,difference,seed_std,tolerance,verdict,contradiction\n"
    for path in ("comparison.csv", sums.LIST):
        case.write(f"results/recorded/{path}", "")  # put back afterwards
    sums.write(case.folder / "results/recorded", {"comparison.csv": text.encode()})
    check(case, {"page"}, {"page": "results/recorded/comparison.csv"})


# -- what must not matter -------------------------------------------------------------------------
def stripped(text: str) -> str:
    """The program as `ast` prints it: other quotes and line breaks, no comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0].value.value = "Another docstring."
    return ast.unparse(tree) + "\n"


def test_comments_docstrings_and_format(case):
    for path in sorted(case.folder.glob("src/fairfl/**/*.py")):
        case.write(path, f"# a comment\n{stripped(path.read_text())}")
    for path in sorted(case.folder.glob("papers/*.yaml")):
        case.write(path, yaml.safe_dump(yaml.safe_load(path.read_text()), sort_keys=False, width=60))
    for path in ("config.yaml", "scales/tiny.yaml", "Snakefile", "rules/train.smk"):
        case.write(path, f"# a comment\n{(case.folder / path).read_text()}")
    check(case, set())


def test_times_of_files(case):
    """With what runs then, too: the fixture `own`."""
    shuffle_times(case, random.Random(1))
    check(case, set())
    for folder in ("src", "papers", "results"):  # each in turn newer than all others
        for path in case.folder.glob(f"{folder}/**/*"):
            os.utime(path)
    check(case, set())


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
        then = 1_700_000_000 + chance.randrange(10**6)
        os.utime(copy, (then, then))


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
    """Snakemake's own notes there are of other code and parameters, and of a workflow that was killed; or broken."""
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
    for path in notes:
        path.write_bytes(b"\0")
    check(clone, set())


# -- another arithmetic ---------------------------------------------------------------------------
def test_results_of_another_torch_are_kept_with_a_warning_or_made_again_if_asked_to(case, every, tmp_path):
    """In a folder of PYTHONPATH another version of torch seems to be installed."""
    metadata = tmp_path / "torch-9.8.7.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.8.7\n")
    lines = [line for line in check(case, set(), path=[tmp_path]).splitlines() if "9.8.7" in line]
    assert len(lines) == 2 and all("torch" in line and "numerics_mismatch" in line for line in lines)
    expected = below(every, "train/*", "local_optimum/*", "surrogate/*", "timing/*")
    check(case, expected, {"train/*": "-> 9.8.7"}, path=[tmp_path], config=["numerics_mismatch=rerun"])
    check(case, set(), config=["numerics_mismatch=rerun"])


@pytest.mark.parametrize(
    ("how", "said"),
    [("threads=2", "threads 1, here it is 2"), ("backend=sequential", "backend auto, here it is sequential")],
)
def test_another_arithmetic_is_said(case, how, said):
    """What runs if it matters: edits.yaml."""
    lines = [line for line in check(case, set(), config=[how]).splitlines() if said in line]
    assert len(lines) == 2 and all("numerics_mismatch: keep" in line for line in lines)


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


# -- damage -----------------------------------------------------------------------------------------
RUN = f"train/{LINEAR}/eagle/lambda=1.0/seed0"


def files(every: dict[str, Job], number: int) -> dict[str, str]:
    """A job of each kind -> the path of one of its files; another job, and another file, for another number."""
    kinds: dict[str, list[str]] = {}
    for name in sorted(every):
        kinds.setdefault(name.split("/")[0], []).append(name)
    chosen = [names[number % len(names)] for names in kinds.values()]
    return {name: every[name].outputs[number % len(every[name].outputs)] for name in chosen}


def damage(project: Project, paths: Iterable[str], how: str) -> None:
    """Delete the files, or empty each second one and cut off half of the others."""
    for number, path in enumerate(paths):
        content = (project.folder / path).read_bytes()
        assert len(content) > 1, path
        project.write(path, None if how == "deleted" else content[: len(content) // 2 * (number % 2)])


@pytest.mark.parametrize("how", ["deleted", "damaged"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_damaged_result_is_made_again_and_nothing_else(case, every, number, how):
    paths = files(every, number)
    damage(case, paths.values(), how)
    word = "missing" if how == "deleted" else "damaged"
    check(case, set(paths), {literally(name): f"{Path(path).name} is {word}" for name, path in paths.items()})


@pytest.mark.parametrize("how", ["deleted", "damaged", "of its shape", "with another digit"])
def test_without_its_record_a_job_runs_again_and_nothing_else(case, every, how):
    names = files(every, 0)
    paths = [every[name].record for name in names]
    if how in ("deleted", "damaged"):
        damage(case, paths, how)
    for path in paths if how in ("of its shape", "with another digit") else ():
        whole = json.loads((case.folder / path).read_text())
        other = f"{int(whole['fingerprint'][0], 16) ^ 1:x}{whole['fingerprint'][1:]}"
        no_record = {"fingerprint": [], "spec": 0, "inputs": {}} if how == "of its shape" else {"fingerprint": other}
        case.write(path, json.dumps(whole | no_record))
    check(case, set(names))


def test_a_record_of_another_spec_in_its_place(case, every):
    """The results may be anything, so what reads them runs too."""
    path = every[RUN].record
    case.write(path, (case.folder / path.replace("lambda=1.0", "lambda=2.0")).read_text())
    says = {RUN: "hyperparameters.lambda: 2.0 -> 1.0"}
    check(case, below(every, RUN), says)


@running
def test_results_of_another_run_in_its_place(own):
    before = own.results(".csv")
    for names in (("metrics.parquet",), ("summary.json",), ("metrics.parquet", "summary.json")):
        own.undo()
        for name in names:
            path = f"results/tiny/{RUN.replace('train/', 'runs/', 1)}/{name}"
            own.write(path, (own.folder / path.replace("eagle/lambda=1.0", "qffl/q=1.0")).read_bytes())
        check(own, {RUN})
    own.snakemake()
    assert own.results(".csv") == before
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

    suffixes = (".csv", ".parquet", ".safetensors", ".md", ".tex", ".png", ".pdf")  # pages tell seconds
    before = own.results(*suffixes)
    paths = {name: path for name, path in files(every, 1).items() if not name.startswith("timing/")}
    for path in paths.values():
        (own.folder / path).unlink()
    own.edit("src/fairfl/runtime/warm_start/client.py", '"-m", *arguments', '"-c", SPY, *arguments')
    own.edit("src/fairfl/runtime/warm_start/client.py", "def plain", f"SPY = {SPY!r}\n\n\ndef plain")
    done = own.snakemake(config=("warm_start=false",), **LINES)
    assert set(jobs_in(done.stdout)) == set(paths)
    after = own.results(*suffixes)
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
    assert RUN in jobs_in(own.looked())  # a dry run names what was computed before the edit
    own.snakemake()
    assert metrics.read_bytes() == before
    check(own, set())


# -- any edit ---------------------------------------------------------------------------------------
# Of these the Snakefile itself executes declarations, no functions.
PURE = ("algorithms", "models", "modifiers", "partition", "simulation")
TRIED = int(os.environ.get("FAIRFL_EDITS", "12"))
NUMBERS = [pytest.param(number, marks=[pytest.mark.long] if number >= 4 else []) for number in range(TRIED)]


@pytest.mark.parametrize("number", NUMBERS)
def test_any_edit_runs_what_imports_it(case, every, imports, number):
    """Modules that no job of the selection runs are among them, but not many. FAIRFL_EDITS says how many to try, of
    which all but four are long tests.
    """
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


@pytest.mark.parametrize("number", range(1 + TRIED // 12))
def test_any_edit_of_what_is_only_read_runs_nothing(case, imports, number):
    """Docstrings, annotations of functions and comments of all modules; plumbing in other words."""
    for place, (module, path) in enumerate(imports.files.items()):
        plumbing = module.startswith(("fairfl.runtime.", "fairfl.recorded."))
        text = path.read_text()
        text = edits.reworded(text) if plumbing else text
        case.write(path, edits.neutral(text, random.Random(f"{number} {place}")))
    check(case, set())
