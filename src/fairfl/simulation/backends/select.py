"""The backend that runs a model, and the model's first values."""

from dataclasses import replace

import torch
from torch import Tensor

from fairfl import models
from fairfl.data import pretrained
from fairfl.simulation import flat_parameters
from fairfl.simulation.backends.dense_kernels import supports
from fairfl.simulation.backends.interface import Backend
from fairfl.simulation.backends.sequential import Sequential
from fairfl.simulation.backends.stacked import Stacked
from fairfl.simulation.clients import Clients
from fairfl.simulation.losses import LOSSES, ClosedForm, outputs_needed
from fairfl.simulation.seeds import seed_of
from fairfl.simulation.training_spec import LearningSpec


def make_backend(
    spec: LearningSpec,
    clients: Clients,
    name: str,
    device: torch.device,
    count: int | None = None,
    special: str = "",
) -> tuple[Backend, Tensor]:
    """The backend and the initial model x [P + B], or [count, P + B] for several.

    Training images become the backend's, in its memory order, so that they have no second copy.

    `name` is auto, stacked or sequential; `special` names what only the sequential backend can do, if there is such.
    Raises ValueError if the backend cannot run the model, FairflError if it starts from other weights than the spec's.
    """
    train, model = clients.parts["train"], _initial(spec, clients, device)
    pretrained.check(spec.model.options.get("pretrained"), spec.pretrained_sha256)
    clients.check(model, spec.loss)
    x = flat_parameters.flatten(model)
    if count is not None:
        others = (_initial(spec, clients, device, number) for number in range(1, count))
        x = torch.stack([x, *map(flat_parameters.flatten, others)])
    loss, product = LOSSES[spec.loss], torch.bfloat16 if spec.precision == "bf16" else None
    special = special or ("" if spec.optimizer == "sgd" else f"optimizer {spec.optimizer}")
    special = special or ("weight decay" if spec.weight_decay else "")
    if supports(model) and isinstance(loss, ClosedForm):
        if not special and name != "sequential":
            return Stacked(model, loss, train, product), x
    else:
        special = f"model {spec.model.name}"
    if name == "stacked":
        raise ValueError(f"backend stacked cannot run {special}; use auto or sequential")
    backend = Sequential(model, loss, train, product)
    clients.parts["train"] = replace(train, inputs=backend.inputs)
    return backend, x


def _initial(
    spec: LearningSpec, clients: Clients, device: torch.device, *number: int
) -> torch.nn.Module:
    """The model with its first values; several of a run have a `number`, but for the first."""
    outputs = outputs_needed(spec.loss, clients.classes)

    def build() -> torch.nn.Module:
        return flat_parameters.initial(
            lambda: models.build(spec.model.model_dump(), clients.shape, outputs),
            seed_of(spec.seed, "init", *number),
        )

    model, sample = build(), clients.parts["train"].inputs[:1].cpu()
    sample = torch.cat([sample, sample])  # normalisation over a batch of one is an error
    flat_parameters.observe(model, build, sample.float() if sample.is_floating_point() else sample)
    return model.to(device=device, dtype=clients.dtype)
