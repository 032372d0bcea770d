"""The modifiers of a run, applied one after the other in the order of fairfl.modifiers.ORDER."""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from fairfl import modifiers
from fairfl.algorithms.interface import Aggregate, Federation, Received, Reports, State
from fairfl.modifiers.interface import Objective, Privacy
from fairfl.simulation.training_spec import TrainingSpec


class Modifiers:
    """See fairfl.modifiers.interface for what each of them may do. `needs` are those of the algorithm."""

    def __init__(self, spec: TrainingSpec, needs: tuple[str, ...], classes: int, shape: tuple[int, ...]) -> None:
        self.used: list[tuple[str, ModuleType, Any]] = []
        for name in modifiers.ORDER:
            if name in spec.modifiers:
                module = modifiers.load(name)
                config = module.resolve(module.Config(**spec.modifiers[name]), needs, spec.batch_size)
                self.used.append((name, module, config))
        self.states: dict[str, State] = {name: {} for name, _, _ in self.used}
        self.objective: Objective | None = None
        self.privacy: Privacy | None = None
        self.changes_local_steps = ""  # the modifier that does, in words
        for name, module, config in self.used:
            objective = module.objective(config, spec.loss, classes, shape, spec.rounds)
            privacy = module.privacy(config, needs)
            if objective is not None or privacy is not None:
                self.changes_local_steps = f"modifier {name}"
            self.objective, self.privacy = self.objective or objective, self.privacy or privacy
        if self.objective is not None and self.privacy is not None and self.privacy.per_sample:
            raise ValueError("dp.per_sample clips gradients of the loss, and lsr puts another objective in its place")

    def init(self, federation: Federation) -> None:
        """State before the first round."""
        self.states = {name: module.init(federation, config) for name, module, config in self.used}

    def received(self, received: Received) -> Received:
        for _, module, config in self.used:
            received = module.received(received, config)
        return received

    def reports(self, reports: Reports) -> Reports:
        for name, module, config in self.used:
            reports = module.reports(self.states[name], reports, config)
        return reports

    def total(self, G: Tensor, aggregate: Aggregate, reports: Reports) -> Tensor:
        for name, module, config in self.used:
            G, self.states[name] = module.total(self.states[name], G, aggregate, reports, config)
        return G

    def epsilon(self, **schedule: Any) -> float | None:
        """epsilon of the modifier that has one, see fairfl.modifiers.dp."""
        accounts = (module.epsilon(config, **schedule) for _, module, config in self.used if hasattr(module, "epsilon"))
        return next(accounts, None)

    def state_dict(self) -> dict[str, State]:
        """The states, on the CPU."""
        return {name: {key: value.cpu() for key, value in state.items()} for name, state in self.states.items()}

    def load_state_dict(self, saved: dict[str, State], device: torch.device) -> None:
        """Continue from what `state_dict` returned."""
        self.states = {name: {key: value.to(device) for key, value in state.items()} for name, state in saved.items()}
