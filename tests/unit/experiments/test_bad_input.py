"""Bad input stops the run before any job: the message names file, key, value and the nearest valid name."""

import shutil
from pathlib import Path

import pytest
import yaml

from fairfl.experiments.config import Config
from fairfl.experiments.strict import load
from fairfl.experiments.workload import load_workload
from fairfl.runtime.validation import SpecError, check


@pytest.fixture()
def project(tmp_path, root) -> Path:
    for name in ("papers", "scales"):
        shutil.copytree(root / name, tmp_path / name)
    return tmp_path


def config(root: Path, **changes) -> dict:
    return yaml.safe_load((root / "config.yaml").read_text()) | changes


DELETE = "(delete this key)"


def edit(path: Path, keys: str, value) -> None:
    """Set a key of a YAML file ("a/b/0"), or delete it."""
    data = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    *parents, last = [int(key) if key.isdigit() else key for key in keys.split("/")]
    node = data
    for key in parents:
        node = node[key]
    if value == DELETE:
        del node[last]
    else:
        node[last] = value
    path.write_text(yaml.safe_dump(data, sort_keys=False))


S = "settings/eagle_emnist_linear_a0.1"
TEMPLATE = "templates/emnist"
USED = {"kind": "static_table", "title": "T", "caption": "c", "content": "used"}
PAPER_CASES = [
    ("templates/base/learning_rat", 0.1, ["learning_rat", "unknown key", "did you mean 'learning_rate'"]),
    ("templates/base/learning_rate", 0, ["learning_rate", "0"]),
    ("templates/base/learning_rate", float("nan"), ["learning_rate", "nan"]),
    ("templates/base/learning_rate", float("inf"), ["learning_rate", "inf"]),
    ("templates/base/learning_rate", "fast", ["learning_rate", "'fast'"]),
    ("templates/base/batch_size", 0, ["batch_size", "0"]),
    ("templates/base/rounds", -5, ["rounds", "-5"]),
    ("templates/base/rounds", 1.5, ["rounds", "1.5"]),
    ("templates/base/local_epochs", 0, ["local_epochs", "0"]),
    ("templates/base/clients_per_round", 11, ["clients_per_round is 11", "10 clients"]),
    ("templates/base/seeds", [], ["seeds"]),
    ("templates/base/loss", "crossentropy", ["loss", "'crossentropy'", "did you mean 'cross_entropy'"]),
    ("templates/base/split/train", 0.9, ["split", "it must be 1"]),
    ("templates/base/split/train", -0.6, ["split.train", "-0.6"]),
    ("templates/base/split", {"train": 0.5, "validation": 0.0, "test": 0.5}, ["split.validation is 0"]),
    ("templates/base/local_optimum/max_steps", 0, ["local_optimum.max_steps", "0"]),
    ("templates/base/sources/learning_rate", "I guess", ["source of 'learning_rate'", "not stated: chosen because"]),
    ("templates/base/sources/learning_rate", DELETE, ["no source for learning_rate"]),
    (f"{TEMPLATE}/samples", 5, ["samples is 5", "10 clients"]),
    (f"{TEMPLATE}/clients", 0, ["clients", "0"]),
    (f"{TEMPLATE}/data/name", "emnits", ["emnits", "emnist"]),
    (f"{TEMPLATE}/data/split", "byclas", ["byclas", "byclass"]),
    (f"{TEMPLATE}/data/spilt", "byclass", ["spilt", "split"]),
    (f"{TEMPLATE}/partition/name", "dirichlet", ["'dirichlet'", "did you mean 'dirichlet_by_class'"]),
    (f"{S}/partition/alpha", 0, ["alpha", "more than 0"]),
    (f"{S}/partition/alpha", -1.0, ["alpha", "more than 0"]),
    (f"{S}/partition/alpha", float("nan"), ["alpha", "finite"]),
    (f"{S}/partition/alfa", 1.0, ["alfa", "did you mean 'alpha'"]),
    (f"{S}/extends", "emnist_liner", ["extends unknown 'emnist_liner'", "did you mean 'emnist_linear'"]),
    ("templates/emnist_cnn/model/name", "cnm", ["'cnm'", "did you mean 'cnn'"]),
    ("templates/emnist_cnn/model/chanels", [3], ["chanels", "did you mean 'channels'"]),
    ("templates/emnist_cnn/model/channels", [0], ["channels"]),
    ("algorithms/eagle/defaults/norm", "l3", ["norm", "'l3'"]),
    ("algorithms/eagle/defaults/nrom", "l2", ["no source for nrom"]),
    ("algorithms/afl/defaults/eta_lambda", -0.1, ["eta_lambda", "-0.1"]),
    ("artifacts/table1/rows/5/hyperparameters/lambda", -0.1, ["lambda", "-0.1"]),
    ("artifacts/table1/rows/5/hyperparameters/lambda", float("nan"), ["lambda", "nan"]),
    ("artifacts/table1/rows/5/hyperparameters/lamda", 1.0, ["lamda", "did you mean 'lambda'"]),
    ("artifacts/table1/rows/5/algorithm", "eagel", ["'eagel'", "did you mean 'eagle'"]),
    ("artifacts/table1/columns/0", "gap_mx", ["'gap_mx'", "did you mean 'gap_max'"]),
    ("artifacts/table1/settings/0", "eagle_emnist_linear_a0.2", ["eagle_emnist_linear_a0.2", "did you mean"]),
    ("artifacts/table1/kind", "tabel", ["'tabel'", "did you mean 'table'"]),
    ("artifacts/figure1/plot", DELETE, ["a figure needs `plot`"]),
    ("artifacts/table3/content/0", ["x"], ["content row 0 has 1 cells"]),
    (
        "artifacts/table3",
        USED | {"options": {"printed": ["afl.eta_lamda"]}},
        ["artifacts.table3", "afl: unknown hyper-parameter 'eta_lamda'", "did you mean 'eta_lambda'"],
    ),
    ("templates/emnist/unstated/algorithm", "eagle", ["unstated.algorithm", "'eagle'", "fedavg"]),
    ("templates/emnist/unstated/targets", {"gap_mx": 0.1}, ["unstated.targets", "'gap_mx'", "did you mean 'gap_max'"]),
    (
        "settings/eagle_emnist_linear_a0.1/fitted",
        {"eagle/lambda=1.1": "its penalty"},
        [
            "settings.eagle_emnist_linear_a0.1.fitted",
            "no row has 'eagle/lambda=1.1'",
            "did you mean 'eagle/lambda=1.0'",
        ],
    ),
    ("paper", "eagel", ["'eagel' must equal the file's name 'eagle'"]),
]


VRED_CASES = [
    ("templates/base/tuning/algorithms/vred/betta", [1.0], ["tuning.algorithms", "'betta'", "did you mean 'beta'"]),
    ("templates/base/tuning/algorithms/vredd", {}, ["tuning.algorithms", "'vredd'", "did you mean 'vred'"]),
    ("templates/base/tuning/grid/learning_rat", [1.0], ["tuning.grid", "learning_rat"]),
    ("templates/base/tuning/hold_out", 1.0, ["tuning.hold_out", "1.0"]),
    ("templates/base/tuning/direction", "upp", ["tuning.direction", "'upp'"]),
    ("settings/vred_cifar10/learning_rates/fedavgg", 0.1, ["learning_rates", "'fedavgg'", "did you mean 'fedavg'"]),
    ("settings/vred_cifar10/hyperparameters", {"qfl": {}}, ["hyperparameters", "'qfl'", "did you mean 'qffl'"]),
    ("settings/vred_cifar10/hyperparameters", {"qffl": {"Q": 1}}, ["hyperparameters", "'Q'", "known: q"]),
    ("settings/vred_cifar10/learning_rates/vred", 0.0, ["learning_rates", "vred: 0.0"]),
    ("templates/base/partition_seed", -1, ["partition_seed", "-1"]),
    ("templates/image/split/order", "sorted", ["split.order", "'sorted'"]),
    ("artifacts/table6/rows/0/setting", "vred_cifar", ["row 0", "'vred_cifar'"]),
    ("artifacts/table4/layout", "variant", ["layout", "'variant'"]),
    ("artifacts/table5/columns_of/vred", ["hp_betta"], ["columns_of.vred", "'hp_betta'", "did you mean 'hp_beta'"]),
    ("artifacts/table1/baseline/algorithm", "fedavgg", ["'fedavgg'", "did you mean 'fedavg'"]),
]


@pytest.mark.parametrize(
    ("paper", "keys", "value", "words"),
    [*(("eagle", *case) for case in PAPER_CASES), *(("vred", *case) for case in VRED_CASES)],
    ids=lambda v: str(v)[:40],
)
def test_paper(project, root, paper, keys, value, words):
    edit(project / "papers" / f"{paper}.yaml", keys, value)
    with pytest.raises(SpecError) as error:
        load_workload(project, config(root, scale="paper", papers=[paper]))
    message = str(error.value)
    assert f"papers/{paper}.yaml" in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a: 1\na: 2\n", ["line 2", "'a' is given twice"]),
        (b"a: [1, 2\n", ["not valid YAML"]),
        (b"\xff\xfe\x00", ["not UTF-8"]),
        (b"- 1\n", ["expected `key: value` lines"]),
        (b"", ["expected `key: value` lines"]),
        (b"scale: !!python/object/apply:os.system [id]\n", ["not valid YAML"]),
        (b"? [1, 2]\n: 3\n", ["not a plain value"]),
    ],
)
def test_broken_yaml(tmp_path, content, words):
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)
    with pytest.raises(SpecError) as error:
        check(load(path), Config, str(path))
    assert "broken.yaml" in str(error.value)
    for word in words:
        assert word in str(error.value)
