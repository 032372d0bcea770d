"""papers/*.yaml and scales/*.yaml: refused when they are read, with file, key, value and the nearest valid name."""

import copy
import shutil
from functools import cache

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairfl.experiments.reading import load_paper, load_scale, patched
from fairfl.experiments.setting import Setting
from fairfl.experiments.workload import load_workload
from fairfl.judgement.claims import preflight
from fairfl.runtime.validation import check
from tests.bad_input.refusals import refused

DELETE = object()
S = "settings/eagle_toy_2clients"
LINEAR = "settings/eagle_emnist_linear_a0.1"
ROW = "artifacts/table1/rows/5/hyperparameters"
USED = {"kind": "static_table", "title": "T", "caption": "c", "content": "used", "options": {"printed": ["afl.lr"]}}


@cache
def read(path):
    return yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def changed(tree, keys, value):
    """A copy in which a key ("a/b/0") has another value, or is gone."""
    tree = copy.deepcopy(tree)
    *parents, last = [int(key) if key.isdigit() else key for key in keys.split("/")]
    node = tree
    for key in parents:
        node = node[key]
    if value is DELETE:
        del node[last]
    else:
        node[last] = value
    return tree


def written(path, tree):
    path.write_text(tree if isinstance(tree, str) else yaml.safe_dump(tree, sort_keys=False))
    return path


PAPER = [
    ("templates/emnist/data", DELETE, "settings.eagle_emnist_linear_a0.1.data: missing; it has no default"),
    ("templates", 5, "templates: 5: expected entries by name"),
    ("settings", DELETE, "headline.setting: unknown 'eagle_emnist_linear_a0.1'"),
    (S, None, "settings.eagle_toy_2clients: expected `key: value` lines"),
    (f"{S}/extends", ["base"], "settings.eagle_toy_2clients: extends: ['base'] is no name"),
    (f"{S}/extends", "bse", "extends unknown 'bse'; did you mean 'base'"),
    (f"{S}/extends", "eagle_toy_2clients", "extends runs in a circle: eagle_toy_2clients -> eagle_toy_2clients"),
    ("settings/a b", {"extends": "emnist_linear"}, "'a b' cannot be the name of a file"),
    ("settings/" + "s" * 101, {"extends": "emnist_linear"}, "is too long for the name of a file: 101 of 100"),
    (f"{LINEAR}/clients", 10**9 + 1, "clients: 1000000001: expected 1000000 or less"),
    (f"{LINEAR}/clients_per_round", 11, "clients_per_round is 11, there are only 10 clients"),
    (f"{LINEAR}/rounds", 0, "rounds: 0"),
    (f"{LINEAR}/learning_rate", "1e-3", "unless it has a point: 1.0e-3"),
    (f"{LINEAR}/seeds", [0, 0], "seeds: 0 is given twice"),
    (f"{LINEAR}/data", {"name": "../mnist"}, "data: '../mnist' is not one of the data sets; did you mean 'mnist'"),
    (f"{LINEAR}/model", {"name": "os.system"}, "model: 'os.system' is not one of the models"),
    (f"{LINEAR}/sources", {"rouns": "paper"}, "source for unknown key 'rouns'"),
    (
        f"{LINEAR}/tuning",
        {"grid": {"batch_size": [1]}, "algorithms": {"qffl": {"q": []}}},
        "tuning.algorithms.qffl.q: []",
    ),
    (f"{LINEAR}/tuning", {"grid": {"batch_size": [1]}, "algorithms": {"qffl": {"q": [1, 1]}}}, "q: '1' is given twice"),
    (
        f"{LINEAR}/tuning",
        {"grid": {"learning_rate": list(map(float, range(1, 200)))}, "algorithms": {"qffl": {"q": list(range(100))}}},
        "a grid of 19900 points, expected 10000 at most",
    ),
    (f"{ROW}/lambda", "../../x", "'../../x' cannot be part of a file name"),
    (f"{ROW}/lambda", "x" * 300, "is too long for the name of a file"),
    (ROW, {f"key{n}": 1 for n in range(40)}, "too long for the name of a folder"),
    ("artifacts/table1/rows/5/modifiers", {"dp": 3}, "modifiers.dp: 3 is no mapping"),
    ("artifacts/table1/rows/5/setting", "nowhere", "row 5: setting 'nowhere' is not one of"),
    ("artifacts/table1/settings", ["eagle_emnist_linear_a0.1"] * 2, "'eagle_emnist_linear_a0.1' is given twice"),
    ("artifacts/table1/columns", ["gap_max", "gap_max"], "'gap_max' is given twice"),
    ("artifacts/table1/columns", ["gap_mx"], "unknown metric 'gap_mx'; did you mean 'gap_max'"),
    ("artifacts/table1/columns", ["accuracy_client_k"], "accuracy_client_k: {name: ..., meaning: ..., unit: fraction,"),
    (
        "artifacts/table1/columns",
        ["accuracy_std"],
        "'accuracy_std' is measured, but not described. Try under",
    ),
    ("artifacts/table 1", {"kind": "table"}, "'table 1' cannot be the name of a file"),
    ("artifacts/table1/claims/0/expr", "x" * 10_001, "string should have at most 10000 characters"),
    ("artifacts/figure1/options", {"x": float("nan")}, "options.x: nan: not a finite number"),
    (
        "templates/emnist/unstated/facts",
        {"x": {"why": "w"}},
        "expected `values` of one key, or `readings`",
    ),
    ("templates/emnist/unstated/facts/samples/values", [10, 10], "'10' is given twice"),
    ("paper", "runs", "paper: 'runs': expected small letters and digits, but not calibrated, logs"),
    ("paper", "eagle2", "'eagle2' must equal the file's name 'eagle'"),
    ("templates/base/learning_rat", 0.1, "learning_rat: unknown key (value 0.1); did you mean 'learning_rate'"),
    ("templates/base/learning_rate", float("nan"), "learning_rate: nan: not a finite number"),
    ("templates/base/split/train", 0.9, "it must be 1"),
    ("templates/base/split", {"train": 0.5, "validation": 0.0, "test": 0.5}, "split.validation is 0"),
    ("templates/base/sources/learning_rate", "I guess", "source of 'learning_rate'"),
    ("templates/base/sources/learning_rate", DELETE, "no source for learning_rate"),
    ("templates/emnist/samples", 5, "samples is 5"),
    ("templates/emnist/data/split", "byclas", "did you mean 'byclass'"),
    ("templates/emnist/partition/name", "dirichlet", "did you mean 'dirichlet_by_class'"),
    ("templates/emnist/unstated/algorithm", "eagle", "unstated.algorithm: 'eagle'"),
    (f"{LINEAR}/partition/alpha", 0, "more than 0"),
    (f"{LINEAR}/partition/alfa", 1.0, "did you mean 'alpha'"),
    (f"{LINEAR}/fitted", {"eagle/lambda=1.1": "its penalty"}, "no row has 'eagle/lambda=1.1'; did you mean"),
    ("algorithms/eagle/defaults/nrom", "l2", "no source for nrom"),
    ("artifacts/table1/rows/5/algorithm", "eagel", "did you mean 'eagle'"),
    ("artifacts/table1/kind", "tabel", "did you mean 'table'"),
    ("artifacts/figure1/plot", DELETE, "a figure needs `plot`"),
    ("artifacts/table3/content/0", ["x"], "content row 0 has 1 cells"),
    ("artifacts/table3", USED, "afl: unknown hyper-parameter 'lr'"),
]
VRED = [
    ("templates/base/tuning/algorithms/vred/betta", [1.0], "did you mean 'beta'"),
    ("templates/base/tuning/algorithms/vredd", {}, "did you mean 'vred'"),
    ("settings/vred_cifar10/learning_rates/fedavgg", 0.1, "did you mean 'fedavg'"),
    ("settings/vred_cifar10/hyperparameters", {"qfl": {}}, "did you mean 'qffl'"),
    ("settings/vred_cifar10/hyperparameters", {"qffl": {"Q": 1}}, "known: q"),
    ("artifacts/table6/rows/0/setting", "vred_cifar", "row 0: setting 'vred_cifar'"),
    ("artifacts/table5/columns_of/vred", ["hp_betta"], "did you mean 'hp_beta'"),
    ("artifacts/table1/baseline/algorithm", "fedavgg", "did you mean 'fedavg'"),
]


@pytest.mark.parametrize(
    ("paper", "keys", "value", "words"), [*(("eagle", *row) for row in PAPER), *(("vred", *row) for row in VRED)]
)
def test_papers(root, tmp_path, paper, keys, value, words):
    path = written(tmp_path / f"{paper}.yaml", changed(read(root / "papers" / f"{paper}.yaml"), keys, value))
    refused(lambda: load_paper(path), words, begins=str(path))


TEXTS = [
    ("", "expected `key: value` lines, found None"),
    ("settings: {a: {}, a: {}}\n", "key 'a' is given twice"),
    ("settings: " + "".join(f"{{s{n}: " for n in range(60)), "nested more than 50 deep"),
    ("settings: {" + ", ".join(f"s{n}: {{extends: s{n + 1}}}" for n in range(40)) + "}", "goes through more than 20"),
]


@pytest.mark.parametrize(("text", "words"), TEXTS, ids=[words for _, words in TEXTS])
def test_texts_of_papers(tmp_path, text, words):
    path = written(tmp_path / "eagle.yaml", text)
    refused(lambda: load_paper(path), words, begins=str(path))


SCALE = [
    ("scale", "../quick", "'../quick' cannot be the name of a file"),
    ("scale", "data", "'data': the name is taken, by a folder of results"),
    ("patches", {}, "patches: {}"),
    ("patches/0/match", [], "patches.0.match: []"),
    ("patches/0/set", {}, "patches.0.set: {}"),
    ("patches/0/set", {"rounds": float("inf")}, "patches.0.set.rounds: inf: not a finite number"),
    ("patches/0/whi", "x", "patches.0.whi: unknown key (value 'x'); did you mean 'why'"),
]


@pytest.mark.parametrize(("keys", "value", "words"), SCALE, ids=[words for *_, words in SCALE])
def test_scales(root, tmp_path, keys, value, words):
    path = written(tmp_path / "quick.yaml", changed(read(root / "scales" / "quick.yaml"), keys, value))
    refused(lambda: load_scale(path), words, begins=str(path))


PATCHES = [
    ({"data": {"nme": "digits"}}, "nme: unknown key"),
    ({"data.name.x": 1}, "data.name: {'x': 1}"),
    ({"rounds": 0}, "rounds: 0"),
    ({"partition": {"name": "cut"}}, "'cut' is not one of the partition"),
    ({"roundz": 3}, "roundz: unknown key (value 3); did you mean 'rounds'"),
]


@pytest.mark.parametrize(("change", "words"), PATCHES, ids=[words for _, words in PATCHES])
def test_patches_of_scales(root, tmp_path, change, words):
    tree = {"scale": "tiny", "description": "", "patches": [{"match": ["*"], "set": change, "why": "test"}]}
    scale = load_scale(written(tmp_path / "tiny.yaml", tree))
    setting = check(_setting(root), Setting, "p")
    refused(lambda: patched("a", setting, scale, "scales/tiny.yaml"), words, begins="scales/tiny.yaml: ")


@cache
def _setting(root):
    paper = load_paper(root / "papers" / "eagle.yaml")
    return paper.settings["eagle_emnist_linear_a0.1"].model_dump(mode="json")


# -- what only the last jobs read ------------------------------------------------------------------
CLAIM = "artifacts/table1/claims/0/expr"
LAST = [
    (f"{ROW}/lamda", 1.0, "lamda", "did you mean 'lambda'"),
    (CLAIM, "gap_max(fedavg) <", "eagle_table1: claim", "column 18: found the end"),
    (CLAIM, "gap_mx(fedavg) < 1", "no metric 'gap_mx'; did you mean 'gap_max'"),
    (CLAIM, "gap_max(fedavgg) < 1", "no algorithm 'fedavgg'; did you mean 'fedavg'"),
    (CLAIM, "gap_max(eagle, lambda=77) < 1", "no row of the paper is eagle(lambda=77); did you mean 'eagle(lambda="),
    (CLAIM, "gap_max(fedavg)@nowhere < 1", "no setting 'nowhere'"),
    (CLAIM, "min_over(gap_max, eagle, lamda=1) < 1", "no row of the paper is eagle(lamda=1)"),
    (CLAIM, "monotone(gap_max, eagle, lamda, up)", "no row of the paper is eagle with lamda"),
    (CLAIM, "-" * 200 + "1 < 2", "nested more than 100 deep"),
    ("artifacts/figure1/plot", "../x", "artifacts.figure1.plot: '../x' is not one of the plots"),
    ("artifacts/figure1/options", {"titel": 1}, "artifacts.figure1.options.titel: unknown key"),
    ("consistency", [{"id": "c", "expr": "argmin gap_max == fedavg"}], "claim c: a trend or an optimum"),
]


@pytest.mark.parametrize("case", LAST, ids=[case[2][:40] for case in LAST])
def test_what_the_last_jobs_would_refuse(root, tmp_path, case):
    keys, value, *words = case
    (tmp_path / "scales").mkdir()
    shutil.copytree(root / "papers", tmp_path / "papers")
    written(tmp_path / "papers" / "eagle.yaml", changed(read(root / "papers" / "eagle.yaml"), keys, value))
    shutil.copy(root / "scales" / "full.yaml", tmp_path / "scales")
    config = {"scale": "full", "papers": ["eagle"]}
    refused(lambda: preflight.check(load_workload(tmp_path, config)), "papers/eagle.yaml: ", *words)


def test_the_papers_of_the_project_pass(root):
    preflight.check(
        load_workload(root, {"scale": "quick", "papers": sorted(p.stem for p in (root / "papers").glob("*.yaml"))})
    )


# -- any value for any key --------------------------------------------------------------------------
ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([2**63, 10**400, "\ud800", "\0", "../x", "nan", b"x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=10,
)


def places(tree, at=()):
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_value_anywhere_in_a_paper_is_valid_or_refused(root, tmp_path_factory, data):
    tree = read(root / "papers" / "fedfv.yaml")
    place = data.draw(st.sampled_from(list(places(tree))))
    value = data.draw(ANY.filter(lambda value: not isinstance(value, bytes)))
    tree = copy.deepcopy(tree)
    node = tree
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    path = tmp_path_factory.mktemp("paper") / "fedfv.yaml"
    path.write_bytes(yaml.safe_dump(tree, sort_keys=False).encode("utf-8", "surrogatepass"))
    try:
        load_paper(path)
    except Exception:
        refused(lambda: load_paper(path), begins=str(path))
