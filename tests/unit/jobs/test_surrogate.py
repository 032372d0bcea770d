"""Surrogates: whose data, which steps, the epochs that are kept, resume."""

import json
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from fairfl.data.interface import Prepared, assemble
from fairfl.jobs.prepare import write
from fairfl.jobs.surrogate import Spec, main
from fairfl.simulation import surrogate
from fairfl.simulation.checkpoint import Checkpoint
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.simulation import Simulation
from tests.unit.jobs.test_local_optimum import LEARNT, descend, logistic_loss, noisy
from tests.unit.simulation.federations import image_clients
from tests.unit.simulation.federations import spec_of as run_of

CPU = torch.device("cpu")


def spec_of(clusters=1, method="trained", epochs=20, every=1, batch="setting", **changes):
    """A spec as fairfl.jobs.surrogate.spec makes it."""
    how = {"clusters": clusters, "method": method, "epochs": epochs, "every": every, "batch_size": batch}
    asked = {"data": {"name": "toy"}, "evaluated_parts": ["train", "test"], "surrogate": how, "cluster": 0}
    return Spec(**LEARNT | asked | changes)


def part_of(owned):
    """A part from (inputs, labels) of each client."""
    inputs, labels = (torch.as_tensor(np.concatenate(values)) for values in zip(*owned, strict=True))
    return Part(inputs, labels, torch.tensor([len(y) for _, y in owned]))


def clients_of(train, test, classes=2):
    parts = {"train": part_of(train), "validation": part_of([(x[:0], y[:0]) for x, y in train]), "test": part_of(test)}
    return Clients(parts, classes, (2,))


# Two clients of unlike sizes.
TRAIN = [noisy(30, seed=0), noisy(10, seed=1)]
TEST = [noisy(6, seed=2), noisy(20, seed=3)]
POOL = tuple(np.concatenate(values) for values in zip(*TRAIN, strict=True))
POOLED_TEST = tuple(np.concatenate(values) for values in zip(*TEST, strict=True))


def trained(spec, clients=None, checkpoint=None):
    return surrogate.Pooled(spec, clients or clients_of(TRAIN, TEST), CPU).run(checkpoint)


# -- what is kept -----------------------------------------------------------------------------------
@pytest.mark.parametrize("rate", [2.0, 6.0])
def test_losses_of_every_client_at_the_epoch_of_smallest_pooled_test_loss_and_at_the_last_one(rate):
    models = descend(*POOL, rate=rate, steps=20)
    pooled = [logistic_loss(theta, *POOLED_TEST) for theta in models]
    best = int(np.argmin(pooled))
    assert 0 < best < 20
    found = trained(spec_of(learning_rate=rate))
    assert found["curve"]["epoch"] == list(range(21)) and not found["diverged"]
    assert found["curve"]["loss_test"] == pytest.approx(pooled, rel=1e-9)
    for name, epoch in (("best", best), ("last", 20)):
        assert found[name]["epoch"] == epoch
        for part, owned in (("train", TRAIN), ("test", TEST)):
            expected = [logistic_loss(models[epoch], *own) for own in owned]
            assert found[name][f"loss_{part}"] == pytest.approx(expected, rel=1e-9)


def test_a_client_without_test_samples_has_no_loss_and_does_not_count():
    x, y = TEST[0]
    found = trained(spec_of(epochs=2), clients_of(TRAIN, [(x[:0], y[:0]), TEST[1]]))
    assert found["best"]["loss_test"][0] is None and found["best"]["loss_test"][1] > 0
    assert found["curve"]["loss_test"][0] == pytest.approx(math.log(2))


@pytest.mark.parametrize(("epochs", "every", "measured"), [(6, 2, [0, 2, 4, 6]), (7, 3, [0, 3, 6, 7]), (2, 5, [0, 2])])
def test_it_is_measured_before_training_every_so_many_epochs_and_at_the_end(epochs, every, measured):
    found = trained(spec_of(epochs=epochs, every=every))
    assert found["curve"]["epoch"] == measured and found["last"]["epoch"] == epochs
    theta = descend(*POOL, rate=0.5, steps=epochs)[-1]
    assert found["last"]["loss_test"] == pytest.approx([logistic_loss(theta, *own) for own in TEST], rel=1e-9)


def test_one_that_diverges_stops_and_keeps_its_best_finite_epoch():
    """Three equal inputs, one of them with the other label: the first step is so long that its loss is infinite."""
    owned = [(np.full((3, 2), 1e30, dtype=np.float32), np.array([1, 1, 0]))]
    found = trained(spec_of(learning_rate=1e10), clients_of(owned, owned))
    assert found["diverged"] and (found["best"]["epoch"], found["last"]["epoch"]) == (0, 1)
    assert found["best"]["loss_test"] == pytest.approx([math.log(2)]) and found["last"]["loss_test"] == [None]
    assert found["curve"] == {"epoch": [0, 1], "loss_test": [pytest.approx(math.log(2)), None]}


# -- whose data -------------------------------------------------------------------------------------


# -- which steps ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("batch", "choice", "size", "steps"),
    [(20, "setting", 20, 15), (20, "pooled", 60, 5), (None, "setting", None, 1), (None, "pooled", None, 1)],
)
def test_a_batch_is_the_settings_or_makes_an_epoch_as_long_as_a_clients(batch, choice, size, steps):
    local = surrogate.Pooled(
        spec_of(batch=choice, every=1, batch_size=batch), image_clients([100] * 3, classes=2), CPU
    ).local
    assert local.batch_size == size and local.steps(300) == steps
    client = replace(local, batch_size=batch)
    assert choice == "setting" or client.steps(100) == steps


def test_every_cluster_and_seed_has_its_own_minibatches():
    def loss(**changes):
        return trained(spec_of(epochs=1, batch_size=7, **changes))["last"]["loss_train"][0]

    assert loss() == loss() and len({loss(cluster=c, seed=s) for c in (0, 1) for s in (3, 4)}) == 4


@pytest.mark.parametrize(
    "model", [{"name": "mlp", "hidden": [4]}, {"name": "resnet", "widths": [2], "blocks": [1], "norm": "batch"}],
    ids=["mlp", "batch norm"],
)  # fmt: skip
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_it_is_federated_training_with_one_client_that_has_all_data(model, optimizer):
    agents = image_clients([5, 3, 8], shape=(1, 4, 4))
    common = {"model": model, "optimizer": optimizer, "loss": "cross_entropy", "learning_rate": 0.05}
    found = trained(spec_of(epochs=6, every=2, **common), agents)
    one = replace(agents, parts={name: surrogate.pooled(part) for name, part in agents.parts.items()})
    run = Simulation(run_of(**common, rounds=3, local_epochs=2, clients_per_round=1, seed=3), one, None, CPU)
    for _ in range(3):
        run.run_round()
    run.clients = agents  # evaluated one by one
    assert found["last"]["loss_test"] == run.evaluate("test").loss.tolist()
    assert found["last"]["loss_train"] == run.evaluate("train").loss.tolist()


# -- resume -----------------------------------------------------------------------------------------
class Killed(Exception):
    pass


@pytest.mark.parametrize("after", [1, 3])
def test_a_resumed_training_is_equal_to_the_bit(tmp_path, monkeypatch, after):
    spec = spec_of(epochs=7, every=2, learning_rate=20.0, batch_size=7)
    whole = trained(spec)
    checkpoint = Checkpoint(tmp_path / "c.pt", "mark", 0.0)
    saves, save = [], checkpoint.save

    def kill(at, state):
        save(at, state)
        saves.append(state["epoch"])
        if len(saves) == after:
            raise Killed

    monkeypatch.setattr(checkpoint, "save", kill)
    monkeypatch.setattr("fairfl.simulation.checkpoint.SHARE", math.inf)
    with pytest.raises(Killed):
        trained(spec, checkpoint=checkpoint)
    assert saves == [2, 4, 6][:after]
    steps, train = [], surrogate.Pooled.train
    monkeypatch.setattr(surrogate.Pooled, "train", lambda own: (steps.append(own.epoch), train(own)))
    again = trained(spec, checkpoint=Checkpoint(tmp_path / "c.pt", "mark", 1e9))
    assert again == whole and steps == [0, 2, 4, 6][max(after - 1, 0) :]  # from the last checkpoint but one


# -- the command ------------------------------------------------------------------------------------
@pytest.fixture
def files(tmp_path):
    """Features of three clients, of which the first and the last are cluster 0."""
    x, y = noisy(count=30)
    made = assemble("toy", 2, "made", x.astype(np.float32), y)
    write(tmp_path / "data.safetensors", made)
    write(tmp_path / "known.safetensors", Prepared(made.tensors, made.metadata | {"bayes_loss": "0.01"}))
    table = {
        "row": list(range(30)),
        "client": [0] * 10 + [1] * 10 + [2] * 10,
        "part": [0, 0, 0, 0, 0, 0, 0, 2, 2, 2] * 3,
    }
    table = pa.table(table).replace_schema_metadata({"clusters": "[0, 1, 0]"})
    pq.write_table(table, tmp_path / "p.parquet")
    return tmp_path


def command(files, spec, data="data", *more):
    paths = ["--data", str(files / f"{data}.safetensors"), "--partition", str(files / "p.parquet")]
    out = files / "out" / "cluster0.json"
    paths += ["--out", str(out), "--checkpoint", str(out.with_suffix(".pt"))]
    main(["--spec", spec.model_dump_json(exclude_unset=True), *paths, "--device", "cpu", *more])
    return json.loads(out.read_text(), parse_constant=pytest.fail)


def test_a_known_smallest_loss_is_that_of_all_clients_and_nothing_is_trained(files, monkeypatch):
    monkeypatch.setattr(surrogate, "Pooled", None)
    written = command(files, spec_of(clusters=2, method="known"), "known")
    assert written["clients"] == [0, 2]
    assert written["best"] == written["last"] == {"epoch": 0, "loss_train": [0.01, 0.01], "loss_test": [0.01, 0.01]}
