"""Checkpoints: what they cost, and files that are not what they should be."""

import contextlib
from types import SimpleNamespace

import pytest
import torch

from fairfl.runtime.errors import PluginError
from fairfl.simulation import checkpoint as module
from fairfl.simulation.checkpoint import Checkpoint

STATE = {"x": torch.arange(1000.0), "round": 3, "history": [{"loss": torch.ones(2)}]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.pt"


@pytest.fixture
def saved(path):
    """The checkpoint of a run that has saved rounds 2 and 3."""
    checkpoint = Checkpoint(path, "id", 0)
    for round, state in ((2, {"x": torch.zeros(1)}), (3, STATE)):
        checkpoint.save(round, state)
    return checkpoint


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_what_saves_cost_is_a_small_share_of_the_time(path, monkeypatch):
    """A round takes 0.5 s; to collect the state 1 s, to write it 3 s."""
    save, clock = torch.save, SimpleNamespace(now=1000.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(torch, "save", lambda *arguments: (save(*arguments), setattr(clock, "now", clock.now + 3)))
    checkpoint, saved = Checkpoint(path, "id", 60), []
    while clock.now < 1000 + 600:
        clock.now += 0.5
        if checkpoint.due():
            clock.now += 1
            checkpoint.save(3, STATE)
            saved.append(clock.now - 1000)
    assert saved[:3] == [64, 64 + 204, 64 + 2 * 204]  # the interval; then 4 s / 0.02 = 200 s


def test_what_was_saved_is_restored_and_removed_at_the_end(path, saved):
    assert names(path.parent) == [".checkpoint.pt.before", "checkpoint.pt"]
    again, loaded = Checkpoint(path, "id", 0), {}
    assert torch.equal(again.restore()["x"], torch.zeros(1))
    again.step(3, lambda: STATE, loaded.update)
    assert torch.equal(loaded["x"], STATE["x"]) and loaded["round"] == 3
    assert torch.equal(loaded["history"][0]["loss"], torch.ones(2))
    saved.remove()
    saved.remove()
    assert names(path.parent) == []


def test_other_bits_are_refused_by_name_until_the_file_is_removed(path, saved):
    other = STATE | {"x": STATE["x"].nextafter(torch.tensor(torch.inf)), "history": [{"loss": torch.zeros(2)}]}
    for _ in range(2):
        again = Checkpoint(path, "id", 0)
        again.restore()
        with pytest.raises(PluginError, match=rf"3 has other bits in history\.0\.loss, x: .* begin again: rm {path}"):
            again.step(3, lambda: other, other.update)
    for file in (path, path.with_name(".checkpoint.pt.before")):
        file.unlink()
    assert Checkpoint(path, "id", 0).restore() is None


def test_a_kill_between_the_two_renames_of_a_save_loses_that_save_only(path, saved, monkeypatch):
    monkeypatch.setattr(module.atomic, "replacing", lambda path: killed(path.with_name("new")))
    with pytest.raises(KeyboardInterrupt):
        saved.save(4, STATE | {"round": 4})
    assert not path.exists()
    again = Checkpoint(path, "id", 0)
    assert again.restore()["round"] == 3
    monkeypatch.undo()
    again.step(4, lambda: STATE | {"round": 4}, {}.update)  # nothing to compare with: it is saved
    assert Checkpoint(path, "id", 0).restore()["round"] == 3 and path.exists()


def test_a_damaged_checkpoint_costs_what_came_after_the_one_before_it(path, saved):
    path.write_bytes(path.read_bytes()[:-100])
    again = Checkpoint(path, "id", 0)
    assert torch.equal(again.restore()["x"], torch.zeros(1))
    again.step(3, lambda: STATE, {}.update)  # nothing to compare with: it is saved
    assert Checkpoint(path, "id", 0).restore() is not None and path.exists()


def test_no_file_of_a_damaged_pair_is_left_to_be_compared_with_later(path, saved):
    for file in path.parent.iterdir():
        file.write_bytes(file.read_bytes()[:-100])
    assert Checkpoint(path, "id", 0).restore() is None
    assert names(path.parent) == []


@contextlib.contextmanager
def killed(temporary):
    """The context of a save that is killed before its file has its name."""
    yield temporary
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        ({"fingerprint": "another", "state": {}}, "belongs to another spec or code version"),
        ({"fingerprint": "id", "state": [1]}, "holds no state"),
        (torch.zeros(3), "holds no state"),
        ({"fingerprint": "id", "state": print}, "cannot be read (UnpicklingError)"),  # nothing in it may run
    ],
)
def test_a_file_of_torch_that_is_not_this_runs(path, capsys, held, reason):
    torch.save(held, path)
    assert Checkpoint(path, "id", 0).restore() is None
    assert capsys.readouterr().out == f"checkpoint checkpoint.pt {reason}: deleted\n"
    assert names(path.parent) == []
