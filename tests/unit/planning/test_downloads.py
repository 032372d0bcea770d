"""Where raw files would come from."""

from pathlib import Path

from fairfl.experiments.workload import load_workload
from fairfl.planning.downloads import source


def test_raw_files_are_here_or_on_the_internet_or_nowhere(root, load, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    workload = load(device="cpu", mirrors=[], papers=["fedeba"])
    offline = load_workload(root, workload.config.model_dump() | {"offline": True})
    key = workload.prepared("fedeba_cifar10_cnn", 0)
    offline.prepared("fedeba_cifar10_cnn", 0)
    assert (source(workload, key), source(offline, key)) == ("download", "unavailable")
    Path("data/cifar10").mkdir(parents=True)
    Path("data/cifar10/cifar10_jpeg.tar.xz").touch()  # another form of it
    assert source(offline, key) == "local"
    assert source(offline, "weights/resnet18") == "unavailable"


def test_a_folder_in_the_home_folder_is_one_for_planning_and_jobs(load, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    workload = load(device="cpu", data_folder="~/data", mirrors=["~no-such-user/x"], papers=["fedeba"], offline=True)
    assert workload.config.data_folder == str(tmp_path / "data")
    key = workload.prepared("fedeba_cifar10_cnn", 0)
    assert source(workload, key) == "unavailable"
    (tmp_path / "data/cifar10").mkdir(parents=True)
    (tmp_path / "data/cifar10/cifar10_jpeg.tar.xz").touch()
    assert source(workload, key) == "local"
