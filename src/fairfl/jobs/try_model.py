"""python -m fairfl.jobs.try_model: one local step of a model on made-up samples, in a separate process.

So a model of the user's own that cannot be built, trained or evaluated is named before any job starts.
"""

import json
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data import prepared
from fairfl.experiments.workload import Workload
from fairfl.jobs import own_data, train
from fairfl.runtime import cli, notes
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import canonical, fingerprint
from fairfl.runtime.hooks import place_of
from fairfl.runtime.plain_data import one_line
from fairfl.runtime.processes import run_module

PREPARED = Path("results/data")
MEMORY = Path("results/.models_tried.json")
_KEYS = (
    "model", "pretrained_sha256", "loss", "optimizer", "learning_rate", "weight_decay", "precision"
)  # fmt: skip
_SAMPLES = 5  # in batches of 4, so that one is left over


def check(workload: Workload, code_of: Callable[..., Mapping[str, str]]) -> None:
    """Raises FairflError with paper, setting and model if one of the user's own experiments cannot take a step.

    What has passed with the same code, by `code_of` (fairfl.workflow.code_hash), is not tried again. Texts are not
    tried: made-up tokens are of no vocabulary.
    """
    cases: dict[str, dict[str, Any]] = {}
    for setting, run in {run.setting: run for run in workload.runs}.items():
        paper = workload.paper_of[setting]
        if workload.papers[paper].sources != "own":
            continue
        if (sample := _sample(workload, setting)) is not None:
            spec = train.spec_of_run(workload, run)
            code = code_of("fairfl.jobs.train", f"fairfl.{train.plugins(spec)[0]}")
            case = sample | {key: spec[key] for key in _KEYS if key in spec}
            where = f"papers/{paper}.yaml: settings.{setting}: model {spec['model']['name']}"
            cases.setdefault(fingerprint([case, code]), case | {"where": where})
    passed = notes.read(MEMORY)
    if new := {key: case for key, case in cases.items() if key not in passed}:
        run_module("fairfl.jobs.try_model", canonical(list(new.values())))
        notes.write(MEMORY, passed | dict.fromkeys(new))


def _sample(workload: Workload, setting: str) -> dict[str, Any] | None:
    """Shape and classes of the data, if they are here and no texts."""
    own = own_data.prepared(workload, setting)
    path = (
        PREPARED / f"{workload.prepared(setting, workload.settings[setting].seeds[0])}.safetensors"
    )
    if own is not None:
        tensors, metadata = own.tensors, own.metadata
    elif path.is_file():
        tensors, metadata = prepared.load(path, "inputs", "labels")
    else:
        return None
    inputs = tensors["inputs"]
    sample = {"shape": list(inputs.shape[1:]), "classes": int(metadata["classes"])}
    return None if inputs.dtype == np.int64 else sample


def fault(case: dict[str, Any]) -> str:
    """Reason why a model cannot take a step and be evaluated; "" if it can."""
    import torch

    from fairfl.partition.partition_file import PARTS
    from fairfl.simulation.backends.interface import LocalTraining, Work
    from fairfl.simulation.backends.select import make_backend
    from fairfl.simulation.clients import Clients, Part
    from fairfl.simulation.training_spec import LearningSpec

    shape, classes, where = (case.pop(key) for key in ("shape", "classes", "where"))
    spec = LearningSpec(**case, data=None, batch_size=_SAMPLES - 1, seed=0)
    draw = torch.Generator().manual_seed(0)
    inputs = torch.rand(_SAMPLES, *shape, generator=draw)
    numbers = torch.arange(_SAMPLES)
    labels = classes - 1 - numbers % classes if classes else numbers.float()
    part = Part(inputs, labels, torch.tensor([_SAMPLES]))
    clients = Clients(dict.fromkeys(PARTS, part), classes, tuple(shape))
    local = LocalTraining(1, spec.batch_size, 0, spec.optimizer, spec.weight_decay)
    rate = torch.tensor([spec.learning_rate], dtype=torch.float64)
    try:
        backend, x = make_backend(spec, clients, "auto", torch.device("cpu"))
        backend.train(Work([0], x.unsqueeze(0), rate), local, 0)
        backend.forward(x, inputs)
    except (FairflError, ValueError) as error:
        return f"{where}: {one_line(str(error))}"
    except Exception as error:  # whatever torch raises
        own = f"models/{spec.model.name}.py"
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith(own)]
        at = "".join(f"{place_of(Path(f.filename), f.lineno)}: " for f in frames[-1:])
        samples = f"one step on made-up samples of shape {shape} fails"
        return f"{where}: {samples}: {at}{type(error).__name__}: {one_line(str(error))}"
    return ""


def main(argv: list[str] | None = None) -> None:
    (text,) = sys.argv[1:] if argv is None else argv
    for case in json.loads(text):
        if why := fault(case):
            raise FairflError(why)


if __name__ == "__main__":
    cli.run(main, teardown=False)
