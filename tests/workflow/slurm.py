"""A Slurm of four nodes for tests: own configuration, keys, ports, folders, and no trace once it is stopped.

Each node has its own name and /tmp, in namespaces of one machine. Slurm's commands find it through SLURM_CONF, so a
Slurm that the machine belongs to is never asked.
"""

import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from tests.workflow.faults import PATIENCE

# Each node claims more cores and memory than the machine may have: tests look at what is asked for and granted.
NODES, CPUS, MEMORY_MB, GPUS, SHARDS = ("node1", "node2", "node3", "node4"), 4, 16000, 2, 8

CONFIGURATION = """
ClusterName=fairfl
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket.2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
GresTypes=gpu,shard
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
KillWait=2
ReturnToService=2
{nodes}PartitionName=cpu Nodes=ALL Default=YES PriorityTier=1
PartitionName=gpu Nodes=node3,node4 PriorityTier=1
PartitionName=urgent Nodes=ALL PriorityTier=9
"""
NODE = "NodeName={name} NodeAddr=127.0.0.1 NodeHostname={name} Port={port} CPUs={cpus} RealMemory={memory} "
NODE += "Gres=gpu:fake:{gpus},shard:{shards}\n"
# A node: its name, and a /tmp that shows of the machine's only some folders.
SEPARATE = """
name=$0 slurmd=$1; shift
hostname "$name"
mount -t tmpfs tmpfs /mnt
number=0
for folder in "$@"; do number=$((number + 1)); mkdir /mnt/$number; mount --bind "$folder" /mnt/$number; done
mount -t tmpfs -o mode=1777 tmpfs /tmp
number=0
for folder in "$@"; do number=$((number + 1)); mkdir -p "$folder"; mount --bind /mnt/$number "$folder"; done
exec "$slurmd" -D -N "$name"
"""


@functools.cache
def missing() -> str:
    """Why no Slurm can be started here; empty if one can."""
    needed = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "setpriv", "unshare")
    absent = [name for name in needed if _program(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian: apt-get install slurm-wlm munge)"
    if os.geteuid():
        return "Slurm's daemons need root to start jobs"
    separate = subprocess.run(["unshare", "-m", "-u", "--propagation", "private", "mount", "-t", "tmpfs", "x", "/mnt"])
    return "nodes with names and /tmp of their own need namespaces" if separate.returncode else ""


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait(condition, what: str = "", pause: float = 0.05):
    """The first true value of a condition that is asked again and again."""
    limit = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < limit, f"waited {PATIENCE} s for {what or condition}"
        time.sleep(pause)
    return found


class Cluster:
    """Use as a context; `environment` is what its users' processes need."""

    def __init__(self, tests: Path) -> None:
        """`tests`: folder with all that jobs read and write."""
        self.tests = tests
        # A socket's path may have 107 letters: pytest's folders are longer.
        self.folder = Path(tempfile.mkdtemp(prefix="fairfl-slurm-"))
        self.daemons: list[subprocess.Popen[bytes]] = []
        path = f"{self.folder}/bin{os.pathsep}{os.environ['PATH']}"
        self.environment = os.environ | {"SLURM_CONF": f"{self.folder}/slurm.conf", "PATH": path}

    def __enter__(self) -> "Cluster":
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        folder, host = self.folder, socket.gethostname().split(".")[0]
        for name in ("state", "bin"):
            (folder / name).mkdir()
        # Snakemake's plugin calls srun without SLURM_CONF: a machine's own Slurm has its file in /etc.
        srun = folder / "bin" / "srun"
        srun.write_text(f'#!/bin/sh\nexport SLURM_CONF={folder}/slurm.conf\nexec {_program("srun")} "$@"\n')
        srun.chmod(0o755)
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        devices = [folder / f"gpu{index}" for index in range(GPUS)]
        for device in devices:
            device.touch()
        size = {"cpus": CPUS, "memory": MEMORY_MB, "gpus": GPUS, "shards": SHARDS}
        nodes = "".join(NODE.format(name=name, port=_free_port(), **size) for name in NODES)
        text = CONFIGURATION.format(folder=folder, host=host, controller_port=_free_port(), nodes=nodes)
        (folder / "slurm.conf").write_text(text)
        gpus = "".join(f"Name=gpu Type=fake File={device}\n" for device in devices)
        (folder / "gres.conf").write_text(f"AutoDetect=off\n{gpus}Name=shard Count={SHARDS}\n")
        files = {option: f"{folder}/munge.{option}" for option in ("socket", "log-file", "pid-file", "seed-file")}
        files |= {"socket": f"{folder}/munge.socket.2", "key-file": str(key)}
        # --force: a private folder is no place for a machine's munge, but right for this one.
        self._daemon("munged", "--foreground", "--force", *(f"--{option}={path}" for option, path in files.items()))
        wait((folder / "munge.socket.2").exists, "munged")
        self._daemon("slurmctld", "-D")
        root = Path(__file__).parents[2]
        seen = [str(path) for path in (self.tests, folder, root) if path.is_relative_to("/tmp")]
        for name in NODES:
            separate = ("-m", "-u", "--propagation", "private", "sh", "-ec", SEPARATE)
            self._daemon("unshare", *separate, name, str(_program("slurmd")), *seen)
        states = ("sinfo", "--noheader", "--Node", "--partition=cpu", "--format=%t")
        wait(lambda: self.run(*states, check=False).split() == ["idle"] * len(NODES), "four idle nodes")

    def _daemon(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}{len(self.daemons)}.out").open("wb") as out:
            self.daemons.append(
                subprocess.Popen(
                    # Ends with the tests, even if these are killed.
                    ["setpriv", "--pdeathsig", "TERM", str(_program(name)), *arguments],
                    stdout=out,
                    stderr=out,
                    env=self.environment,
                    cwd=self.folder,
                )
            )

    def __exit__(self, *_: object) -> None:
        try:
            if len(self.daemons) == 2 + len(NODES):
                self.cancel([job["JobId"] for job in self.jobs()])
        finally:
            for daemon in reversed(self.daemons):
                daemon.terminate()
                try:
                    daemon.wait(60)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    daemon.wait()
            shutil.rmtree(self.folder)

    def hurry(self, number: str) -> None:
        """Start a job that is back in the queue when it can be; Slurm lets it wait for two minutes."""
        self.run("scontrol", "update", f"job={number}", "StartTime=now")

    def cancel(self, ids: list[str]) -> None:
        """End jobs at once and leave no process of them, even of those that Slurm has lost sight of."""
        if ids:
            self.run("scancel", *ids, check=False)
            wait(lambda: not any(job["JobId"] in ids for job in self.jobs("RUNNING", "PENDING")), "scancel")
        while left := self.processes(ids):
            for number in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.05)

    def processes(self, ids: list[str]) -> list[int]:
        """Processes of jobs, whether or not Slurm still knows them."""
        setting = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        jobs, found = {f"SLURM_JOB_ID={number}".encode() for number in ids}, []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if setting in environment and not jobs.isdisjoint(environment):
                found.append(int(process.name))
        return found

    def run(self, *command: str, check: bool = True) -> str:
        """What one of Slurm's commands prints."""
        done = subprocess.run(command, env=self.environment, text=True, stdout=-1, stderr=-2, timeout=PATIENCE)
        assert not check or done.returncode == 0, done.stdout
        return done.stdout

    def jobs(self, *states: str) -> list[dict[str, str]]:
        """All that Slurm knows of its jobs (or of those in some states), by scontrol's names."""
        lines = self.run("scontrol", "--oneliner", "--all", "show", "jobs").splitlines()
        found = [dict(field.split("=", 1) for field in line.split() if "=" in field) for line in lines]
        return [job for job in found if "JobId" in job and (not states or job["JobState"] in states)]
