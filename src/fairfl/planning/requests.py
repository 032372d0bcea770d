"""Requests of a job to a cluster: three times what jobs like it took, with a floor, and at most the scale's limits."""

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from fairfl.experiments.workload import Workload
from fairfl.planning.estimate import Estimate, estimate_rule
from fairfl.runtime.errors import FairflError

TIMES = 3
MINUTES, MEMORY_MB = 30, 1000  # floors


class Requests:
    """Functions of wildcards for `resources:`. Only where jobs run elsewhere (`is_cluster`) anything is estimated."""

    def __init__(
        self, workload: Workload, results: Path, is_on_gpu: bool, is_cluster: bool
    ) -> None:
        self.workload, self.is_on_gpu, self.is_cluster = workload, is_on_gpu, is_cluster

        @cache
        def estimated(rule: str, *words: str) -> Estimate | None:
            try:
                return estimate_rule(workload, results, rule, *words)
            except (FairflError, KeyError, ValueError):  # nobody knows
                return None

        self._estimated = estimated

    def _of(self, rule: str, wildcards: Any) -> Estimate | None:
        named = ("setting", "algorithm", "variant")
        words = [word for name, word in wildcards.items() if name in named]
        return self._estimated(rule, *words) if self.is_cluster else None

    def seconds(self, rule: str) -> Callable[[Any], int]:
        """Expected ones; 0 if it is unknown."""

        def seconds(wildcards: Any) -> int:
            cost = self._of(rule, wildcards)
            return (
                math.ceil(cost.gpu_seconds if self.is_on_gpu else cost.core_seconds) if cost else 0
            )

        return seconds

    def minutes(self, rule: str) -> Callable[[Any], int]:
        """The time limit."""
        most = getattr(self.workload.scale.limits, rule).minutes

        def minutes(wildcards: Any) -> int:
            expected = self.seconds(rule)(wildcards)
            return min(most, max(MINUTES, TIMES * expected // 60)) if expected else most

        return minutes

    def memory_mb(self, rule: str) -> Callable[[Any], int]:
        """Powers of two, so that many jobs ask for the same and can share a submission."""
        most = getattr(self.workload.scale.limits, rule).memory_mb

        def memory_mb(wildcards: Any) -> int:
            cost = self._of(rule, wildcards)
            if cost is None or not cost.memory_mib:
                return most
            needed = TIMES * cost.memory_mib * 1.05
            return min(most, MEMORY_MB * 2 ** max(0, math.ceil(math.log2(needed / MEMORY_MB))))

        return memory_mb
