"""A run: its data, the machine, and the document that grows part by part."""

import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import agreement, data, driver, report, scaling
from benchmarks.peers import YARDSTICKS
from benchmarks.workloads import FEDFV, MLP_B64, Workload
from fairfl.runtime.errors import FairflError
from fairfl.runtime.machine import cpu_name

FOLDER = Path(__file__).parent
_ASK = """
import json, torch
from fairfl.simulation.backends.cpu_tuning import kind
print(json.dumps([torch.__version__, torch.cuda.is_available() and torch.cuda.get_device_name(), kind()]))
"""
# Flags of /proc/cpuinfo that decide how fast layers are multiplied.
INSTRUCTION_SETS = (
    "avx2",
    "avx_vnni",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "amx_bf16",
    "amx_int8",
    "asimd",
    "sve",
)


def machine(device: str) -> dict[str, Any]:
    """What the numbers hold for; no host name, no paths. Raises FairflError if a GPU is asked for and there is none."""
    paths = {"PYTHONPATH": str(data.ROOT / "src")}
    asked = subprocess.run(
        [sys.executable, "-c", _ASK],
        env=os.environ | paths,
        capture_output=True,
        text=True,
        check=True,
    )
    torch, gpu, kind = json.loads(asked.stdout)
    if device == "cuda" and not gpu:
        raise FairflError("--device cuda: torch finds no GPU; use --device cpu")
    pages = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")
    memory = os.sysconf(pages[0]) * os.sysconf(pages[1]) if hasattr(os, "sysconf") else 0
    return {
        "device": device,
        "name": gpu if device == "cuda" else cpu_name(),
        "cpu": cpu_name(),
        "kind": gpu if device == "cuda" else kind,
        "instruction_sets": instruction_sets(),
        "cores": len(cores()),
        "memory_gib": round(memory / 2**30),
        "torch": torch,
        "python": platform.python_version(),
        "system": platform.system(),
    }


def instruction_sets() -> list[str]:
    """Those of INSTRUCTION_SETS that this CPU has, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    line = (
        re.search(r"^(?:flags|Features)\s*:(.*)$", info.read_text(), re.M)
        if info.exists()
        else None
    )
    flags = line[1].split() if line else []
    return [name for name in INSTRUCTION_SETS if name in flags]


def cores() -> list[int]:
    """Cores that this process may use."""
    return (
        sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else list(range(os.cpu_count() or 1))
    )


def slug(name: str) -> str:
    """File name of a machine's results."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Bench:
    """Measures part by part; `save` is called whenever the document has grown."""

    def __init__(
        self,
        setting: driver.Setting,
        scratch: Path,
        mnist: Path | None = None,
        peers: list[str] | None = None,
        save: Callable[[dict[str, Any]], None] = lambda document: None,
        yardsticks: Sequence[str] = YARDSTICKS,
    ) -> None:
        self.yardsticks = yardsticks
        self.setting, self.scratch, self.mnist, self.peers = setting, scratch, mnist, peers
        self.sources: dict[str, Path] = {}
        self.document: dict[str, Any] = {
            "date": datetime.date.today().isoformat(),
            "fairfl": tomllib.loads((data.ROOT / "pyproject.toml").read_text())["project"][
                "version"
            ],
            "machine": machine(setting.device),
            "protocol": {
                "turns": setting.turns,
                "turn_s": setting.turn_s,
                "warm_up": setting.warm_up,
                "pinned": driver.pinned_core(setting.device) is not None,
                "threads": 1,
            },
            "data": {},
        }
        self.save = lambda: save(self.document)

    def source(self, workload: Workload) -> Path:
        """Folder of the samples of a workload's shape and size, written when first asked for."""
        rows = workload.clients * workload.samples
        name = "x".join(map(str, (rows, *workload.shape)))
        if name not in self.sources:
            self.document["data"][name] = data.prepare(
                self.scratch / name, workload.shape, rows, self.mnist
            )
            self.sources[name] = self.scratch / name
        return self.sources[name]

    def workloads(self, chosen: list[Workload]) -> None:
        """The table: all competitors of each workload, and what the hardware does, in turns."""
        table = self.document.setdefault("workloads", {})
        for workload in chosen:
            taking, skipped = driver.competitors_of(workload, self.setting.device, self.peers)
            _say(f"{workload.name}: {', '.join(taking)}")
            entries = {name: (name, workload) for name in [*taking, *self.yardsticks]}
            measured, failed = driver.interleaved(entries, self.source(workload), self.setting)
            failed = {name: why for name, why in failed.items() if name not in YARDSTICKS}
            entry = report.rows(workload, measured, skipped | failed, self.setting.device)
            table[workload.name] = entry | {"date": self.document["date"]}
            for name, row in entry["competitors"].items():
                _say(f"  {name:12} {row['seconds']:.4f} s/round")
            for name, why in failed.items():
                _say(f"  {name:12} skipped: {why}")
            self.save()

    def agreement(self) -> None:
        """Whether all competitors do the same work."""
        _say("agreement: two rounds on data where order does not matter")
        taking, _ = driver.competitors_of(agreement.WORKLOADS[0], self.setting.device, self.peers)
        found = agreement.differences(taking, self.scratch / "agreement", self.setting.device)
        for name, value in found.items():
            _say(f"  {name:12} {value if isinstance(value, str) else f'{value:.1e}'}")
        self.document["agreement"] = found
        self.save()

    def scaling(self) -> None:
        """fairfl alone: time and memory over clients, width, batch size, processes."""
        series = self.document.setdefault("scaling", {})
        for name in scaling.SERIES:
            _say(f"scaling: {name}")
            series[name] = scaling.series(name, self.source(MLP_B64), self.setting)
            self.save()
        _say("scaling: simultaneous")
        cpu = self.setting.device == "cpu"
        pinned = cores() if driver.pinned_core(self.setting.device) is not None else [None]
        source = self.source(MLP_B64 if cpu else FEDFV)
        series["simultaneous"] = scaling.simultaneous(source, self.setting, pinned)
        self.save()

    def starts(self) -> None:
        """What the start of a training job costs: benchmarks/starts.py."""
        _say("starts")
        self.document["starts"] = _last_json("starts.py")
        self.save()

    def planning(self) -> None:
        """How long Snakemake plans: benchmarks/dag.py."""
        _say("planning")
        self.document["planning"] = _last_json("dag.py")
        self.save()


def _last_json(script: str) -> dict[str, Any]:
    """What a script beside this file prints as its last line. Raises FairflError if it fails."""
    paths = {
        "PYTHONPATH": os.pathsep.join([str(data.ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    }
    done = subprocess.run(
        [sys.executable, str(FOLDER / script)],
        cwd=data.ROOT,
        env=os.environ | paths,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        raise FairflError(
            f"benchmarks/{script} printed no JSON (exit {done.returncode}); its message is above"
        ) from None
