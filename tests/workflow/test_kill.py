"""Kill anything at any time, lose or damage any file, fill the disk: the same command finishes, with the same bytes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow import faults
from tests.workflow.faults import Workflow, processes_in, same_in, signal_to, start
from tests.workflow.small_project import Project
from tests.workflow.soaking import Soak

pytestmark = [
    pytest.mark.long,
    pytest.mark.workflow,
    pytest.mark.xdist_group("faults"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

EMNIST = "results/tiny/tidy/eagle_emnist_linear_a0.1.csv"
FEDAVG = "results/tiny/runs/eagle_synthetic_gaussian/fedavg/default/seed0"
ALONE = f"{FEDAVG}/metrics.parquet"  # needs data and partition only


@pytest.fixture(scope="module")
def undisturbed(root, tmp_path_factory) -> Project:
    """The project, run from nothing. Tests must leave it as it is."""
    project = faults.fetching(root, tmp_path_factory.mktemp("undisturbed"))
    project.snakemake()
    return project


@pytest.fixture
def fresh(undisturbed, tmp_path) -> Project:
    """A project in which nothing has run."""
    return faults.from_nothing(undisturbed, tmp_path / "fresh")


@pytest.fixture
def finished(undisturbed, tmp_path) -> Project:
    """A copy of the project that has finished."""
    return undisturbed.copy(tmp_path / "finished")


@pytest.fixture
def small_disk(tmp_path):
    """A function that mounts a small disk in memory; it returns one that mounts it again with other options."""
    mounted = []

    def under(folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16m", "fairfl-test", folder], text=True, capture_output=True
        )
        if done.returncode:
            pytest.skip(f"needs the right to mount: {done.stderr.strip()}")
        mounted.append(folder)
        return lambda how: subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)

    try:
        yield under
    finally:
        for folder in mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)


def test_random_kills_and_damage(undisturbed, tmp_path):
    """The same on every machine; tests/soak.py does it for longer."""
    soak = Soak(undisturbed, tmp_path / "killed", seed=36)  # begins with kills inside trainings
    soak.run(kills=3)
    assert soak.kills and soak.finished


@pytest.mark.parametrize("damaged", ["half", "flipped"])
def test_fetched_files_that_are_lost_are_fetched_again(finished, damaged):
    """But only if something must be prepared from them, or what says that they are there is damaged."""
    images, labels = (finished.folder / f"data/mnist/train-{name}-ubyte.gz" for name in ("images-idx3", "labels-idx1"))
    prepared = finished.folder / "results/data/mnist.safetensors"
    expected = prepared.read_bytes()
    labels.unlink()
    faults.befall(finished.folder, ("truncate" if damaged == "half" else "flip", f"data/mnist/{images.name}", 0.5))
    assert finished.jobs() == {}
    prepared.unlink()
    finished.snakemake("results/data/mnist.safetensors")
    assert prepared.read_bytes() == expected
    faults.befall(finished.folder, ("truncate", "results/data/mnist.fetched.json", 0.5))
    assert finished.jobs().keys() == {"fetch/mnist"}
    finished.append("src/fairfl/data/formats/mnist_files.py")
    assert finished.jobs("results/data/mnist.safetensors").keys() == {"fetch/mnist", "prepare/mnist"}


SAVED = "        self.cost = self.last - self.checked\n"
SLEEP = "        if os.path.exists('sleep'): os.unlink('sleep'), os.kill(os.getpid(), 19)\n"


@pytest.fixture
def sleepy(fresh) -> Project:
    """One in which the first training stops itself once it has left a checkpoint: an orphan may sleep as long."""
    fresh.edit("src/fairfl/simulation/checkpoint.py", SAVED, SAVED + SLEEP)
    fresh.write("sleep", "")
    return fresh


def sleeping_trainer(workflow: Workflow) -> int:
    """The process of the training that has stopped itself."""
    assert workflow.wait_for(lambda: any(map(faults.sleeps, processes_in(workflow.folder)))), workflow.said()
    return next(filter(faults.sleeps, processes_in(workflow.folder)))


def test_a_second_workflow_is_refused(sleepy, undisturbed):
    with start(sleepy, ALONE, config=("warm_start=false",)) as first:
        trainer = sleeping_trainer(first)
        again = sleepy.snakemake(ALONE, check=False)
        assert again.returncode != 0 and "Traceback" not in again.stdout
        assert f"pid {first.pid} " in again.stdout and "another workflow runs in this folder" in again.stdout
        assert sleepy.jobs()  # who only looks is not refused
        os.kill(trainer, signal.SIGCONT)
        assert first.ended() and first.process.returncode == 0, first.said()
    assert (sleepy.folder / ALONE).read_bytes() == (undisturbed.folder / ALONE).read_bytes()


@pytest.mark.parametrize("wakes", ["while its successor trains", "when its successor has ended"])
def test_an_orphan_changes_nothing(sleepy, undisturbed, wakes):
    with start(sleepy, ALONE, config=("warm_start=false",)) as first:
        orphan = sleeping_trainer(first)
        first.process.kill()
        for pid in processes_in(sleepy.folder):
            if pid != orphan:
                signal_to(pid, signal.SIGKILL)
        assert first.ended()
        with start(sleepy, ALONE, config=("warm_start=false",)) as second:

            def succeeded() -> bool:
                running = processes_in(sleepy.folder).items()
                return {pid for pid, command in running if "fairfl.jobs.train" in command} > {orphan}

            assert second.wait_for(succeeded)
            if wakes == "while its successor trains":
                os.kill(orphan, signal.SIGCONT)
            assert second.ended() and second.process.returncode == 0, second.said()
            signal_to(orphan, signal.SIGCONT)
            assert faults.gone(sleepy.folder)
    assert "Nothing to be done" in sleepy.snakemake("--dry-run", ALONE).stdout
    expected = same_in(undisturbed)
    assert [name for name, content in same_in(sleepy).items() if expected[name] != content] == []
    assert not [name for name in faults.made_in(sleepy) if name not in faults.made_in(undisturbed)]


def test_a_full_disk(fresh, undisturbed, small_disk):
    small_disk(fresh.folder / "results")
    ballast = fresh.folder / "results" / "ballast"
    with start(fresh, EMNIST) as workflow:
        assert workflow.wait_for(lambda: workflow.seen("checkpoint"))
        room = os.statvfs(ballast.parent).f_bavail * os.statvfs(ballast.parent).f_frsize
        ballast.write_bytes(bytes(room - 16384))  # for messages; a checkpoint has 31 kB of parameters
        assert workflow.ended() and workflow.process.returncode != 0
        said = workflow.said()
    assert "No space left on device" in said and "Traceback" not in said
    ballast.unlink()
    expected, left = same_in(undisturbed), same_in(fresh)
    wrong = [name for name, content in left.items() if expected.get(name) != content]
    assert [name for name in wrong if "checkpoint.pt" not in name] == []  # from which the next call goes on
    fresh.snakemake(EMNIST)
    assert (fresh.folder / EMNIST).read_bytes() == expected[EMNIST]


def test_a_read_only_folder(finished, small_disk):
    results = finished.folder / "results"
    results.rename(finished.folder / "kept")
    remount = small_disk(results)
    remount("ro")
    nothing = finished.snakemake(check=False)
    remount("rw")
    subprocess.run(["cp", "-a", f"{finished.folder}/kept/.", results], check=True)
    remount("ro")
    assert "Nothing to be done" in finished.snakemake().stdout
    remount("rw")
    (finished.folder / EMNIST).unlink()
    remount("ro")
    something = finished.snakemake(check=False)
    for done, why in ((nothing, "Read-only file system: 'results/"), (something, "Write-protected output files")):
        assert done.returncode != 0 and why in done.stdout and "Traceback" not in done.stdout
    remount("rw")
    finished.snakemake(EMNIST)
    assert (finished.folder / EMNIST).read_bytes() == Path(
        finished.folder, EMNIST.replace("results", "kept")
    ).read_bytes()
