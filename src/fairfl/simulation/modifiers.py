"""The modifiers of a run, applied one after the other in the order of fairfl.modifiers.ORDER."""

import torch
from torch import Tensor

from fairfl import modifiers
from fairfl.algorithms.interface import Aggregate, Federation, Received, Reports, State
from fairfl.modifiers.interface import Modifier, Objective, Privacy, Samples, Schedule
from fairfl.simulation import hook_checks
from fairfl.simulation.training_spec import TrainingSpec


class Modifiers:
    """See fairfl.modifiers.interface for what each of them may do. `measurements` are the algorithm's."""

    def __init__(self, spec: TrainingSpec, measurements: tuple[str, ...], samples: Samples) -> None:
        self.used: dict[str, Modifier] = {}
        for name in modifiers.ORDER:
            if name in spec.modifiers:
                modifier = modifiers.create(name, spec.modifiers[name])
                self.used[name] = modifier.resolve(measurements, spec.batch_size)
        self.states: dict[str, State] = {}
        self.objective: Objective | None = None
        self.privacy: Privacy | None = None
        self.changes_local_steps = ""  # the modifier that does, in words
        for name, modifier in self.used.items():
            objective = modifier.objective(spec.loss, samples, spec.rounds)
            privacy = modifier.privacy()
            if objective is not None or privacy is not None:
                self.changes_local_steps = f"modifier {name}"
            self.objective, self.privacy = self.objective or objective, self.privacy or privacy
        if self.objective is not None and self.privacy is not None and self.privacy.per_sample:
            raise ValueError(
                "dp.per_sample clips gradients of the loss, and lsr puts another objective in its place"
            )

    def init(self, federation: Federation) -> None:
        """State before the first round."""
        self.states = {
            name: modifier.init_state(federation) for name, modifier in self.used.items()
        }

    def received(self, received: Received) -> Received:
        for modifier in self.used.values():
            received = modifier.modify_received(received)
        return received

    def reports(self, reports: Reports) -> Reports:
        for name, modifier in self.used.items():
            reports = modifier.modify_reports(self.states[name], reports)
        return reports

    def total(self, G: Tensor, aggregate: Aggregate, reports: Reports) -> Tensor:
        for name, modifier in self.used.items():
            before, state = G, self.states[name]
            G, self.states[name] = hook_checks.ask(
                modifier, "modify_sum", state, before, aggregate, reports
            )
            shape = {"[P]" if before.dim() == 1 else "[M, P]": before.shape}
            hook_checks.check_shape(modifier.modify_sum, "G", G, shape, before)
        return G

    def epsilon(self, measurements: tuple[str, ...], schedule: Schedule) -> float | None:
        """epsilon of the modifier that has one, see fairfl.modifiers.dp."""
        accounts = (modifier.epsilon(measurements, schedule) for modifier in self.used.values())
        return next((epsilon for epsilon in accounts if epsilon is not None), None)

    def state_dict(self) -> dict[str, State]:
        """The states, on the CPU."""
        return {
            name: {key: value.cpu() for key, value in state.items()}
            for name, state in self.states.items()
        }

    def load_state_dict(self, saved: dict[str, State], device: torch.device) -> None:
        """Continue from what `state_dict` returned."""
        self.states = {
            name: {key: value.to(device) for key, value in state.items()}
            for name, state in saved.items()
        }
