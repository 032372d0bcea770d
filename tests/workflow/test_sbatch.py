"""What Snakemake asks a Slurm cluster for: the sbatch commands themselves. Needs no Slurm, only its commands' names."""

import os
import re
from pathlib import Path

import pytest
import yaml

from fairfl.experiments.workload import load_workload
from tests.defaults import CONFIG
from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]
pytest.importorskip("snakemake_executor_plugin_slurm", reason="the Slurm plugin is not installed")

SETTING = "eagle_synthetic_gaussian"
# Ends with an error, so that Snakemake does not wait for the job.
SBATCH = '#!/bin/sh\nprintf "%s\\0" "$@" > "$0.$$.called"\nexit 1\n'
SINFO = "#!/bin/sh\necho 'usual* other'\n"
NONE = "#!/bin/sh\nexit 1\n"
# Options of sbatch that say what a job gets, by their short forms.
SHORT = {"-t": "--time", "-p": "--partition", "-A": "--account"}
# `# key: value`; a sentence begins otherwise.
COMMENTED_OUT = re.compile(r"^( *)# ( *[a-z][a-z_-]*:( .*)?)$", re.M)
SAID = ("--time", "--partition", "--account", "--mem", "--gpus", "--gres", "--cpus-per-task", "--exclude")


class Asked:
    """Runs Snakemake on a finished project with forced jobs and commands of a cluster that refuses them all."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.project, self.folder = project, folder
        folder.mkdir()
        programs = {"sbatch": SBATCH, "sinfo": SINFO, "squeue": NONE, "sacct": NONE, "scontrol": NONE, "scancel": NONE}
        programs |= {"sacctmgr": "#!/bin/sh\necho mine\n"}
        for name, text in programs.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def __call__(self, *arguments: str, config: tuple[str, ...] = (), profile: str = "slurm") -> dict[str, dict]:
        """Rule -> the options of its job that say what it gets."""
        quickly = ("--retries", "0", "--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "0")
        options = ("--workflow-profile", f"profiles/{profile}", *quickly, "--force", *arguments)
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        self.text = self.project.snakemake(*options, config=config, check=False, PATH=path).stdout
        found = {}
        for call in self.folder.glob("*.called"):
            words = call.read_text().split("\0")[:-1]
            call.unlink()
            options = self.options(words)
            found[options["--comment"].removeprefix("rule_").split("_wildcards_")[0]] = options
        return {rule: {name: said[name] for name in SAID if name in said} for rule, said in found.items()}

    @staticmethod
    def options(words: list[str]) -> dict[str, str]:
        """`--name=value`, `--name value` and `-n value` alike."""
        found = {}
        for word, after in zip(words, [*words[1:], ""], strict=True):
            if word.startswith("-"):
                name, equals, value = word.partition("=")
                found[SHORT.get(name, name)] = value if equals else after
        return found


@pytest.fixture
def asked(finished, tmp_path) -> Asked:
    return Asked(finished.copy(tmp_path / "project"), tmp_path / "bin")


TRAINED = f"results/tiny/runs/{SETTING}/fedavg/default/seed0/summary.json"
OPTIMUM = f"results/tiny/optima/{SETTING}/seed0/client0.json"


def test_each_job_asks_for_its_share(asked):
    scale = asked.project.folder / "scales/tiny.yaml"
    scale.write_text(scale.read_text() + "limits: {train: {minutes: 300, memory_mb: 5000}}\n")
    usual = {"--partition": "usual", "--cpus-per-task": "1"}
    share = usual | {"--time": "30", "--mem": "2000"}  # three times what stored runs and optima took, with floors
    assert asked(TRAINED, OPTIMUM, config=("device=cpu",)) == {"train": share, "local_optimum": share}
    on_gpu = {rule: share | {"--gpus": "1"} for rule in ("train", "local_optimum")}
    for job in on_gpu.values():
        job["--cpus-per-task"] = "2"
    assert asked(TRAINED, OPTIMUM, config=("device=cuda", "threads=2")) == on_gpu


def test_a_login_node_is_not_compared_with_the_cluster(asked):
    """It dry-runs without a GPU; what was trained with another node's instructions is not trained again."""
    for record in asked.project.folder.glob("results/tiny/records/train/**/*.json"):
        text = record.read_text()
        assert (other := re.sub(r'("instructions": ?)"[^"]*"', r'\1"OTHER"', text)) != text
        record.write_text(other)
    anew, profile = ("numerics_mismatch=rerun",), ("--workflow-profile", "profiles/slurm")
    said = asked.project.snakemake("--dry-run", *profile, config=anew).stdout
    assert "Nothing to be done" in said, said
    assert "trainings  instructions changed" in asked.project.snakemake("--dry-run", "--jobs", "4", config=anew).stdout
    (asked.project.folder / TRAINED).unlink()
    on_gpu = ("--dry-run", TRAINED)
    assert "1 training " in asked.project.snakemake(*on_gpu, *profile, config=("device=cuda",)).stdout
    refused = asked.project.snakemake(*on_gpu, "--jobs", "4", config=("device=cuda",), check=False).stdout
    assert "there is no GPU here that CUDA may use" in refused


def test_what_the_profile_has_commented_out_works(asked):
    file = asked.project.folder / "profiles/slurm/profile.yaml"
    profile = yaml.safe_load(COMMENTED_OUT.sub(r"\1\2", file.read_text()))
    assert {"slurm_account", "slurm_partition", "slurm_extra"} < set(profile["default-resources"])
    profile["default-resources"]["slurm_account"] = "mine"  # the plugin asks sacctmgr whether it exists
    file.write_text(yaml.safe_dump(profile))
    everywhere = {"--account": "mine", "--exclude": "node7", "--cpus-per-task": "1"}
    assert asked(TRAINED, OPTIMUM, config=("device=cuda",)) == {
        "train": everywhere | {"--partition": "gpu", "--gpus": "a100:1", "--time": "1440", "--mem": "2000"},
        "local_optimum": everywhere | {"--partition": "cpu", "--gres": "shard:1", "--time": "30", "--mem": "2000"},
    }


@pytest.mark.parametrize("scale", ["quick", "small", "full"])
def test_no_wildcard_is_lost_on_its_way_to_a_node(root, scale):
    from snakemake.target_jobs import parse_target_jobs_cli_args
    from snakemake_interface_executor_plugins.utils import TargetSpec, encode_target_jobs_cli_args

    config = CONFIG | {"scale": scale, "tuned": True}
    runs = load_workload(root, config).runs
    specs = [
        TargetSpec("train", {"setting": run.setting, "variant": run.variant.folder, "seed": str(run.seed)})
        for run in runs
    ]
    assert parse_target_jobs_cli_args(encode_target_jobs_cli_args(specs)) == specs and len(specs) > 300
