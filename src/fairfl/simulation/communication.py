"""How many numbers clients and server exchange (FedEBA+ tables 3 and 8)."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from fairfl.algorithms.interface import Plan
from fairfl.simulation.aggregation import NUMBERS

# Of a number that clients and server exchange.
BYTES = 4


@dataclass
class Exchanged:
    """Counts what a simulated run would send: models down and up, directions down, gradients up, losses up.

    `traffic` are the numbers (down, up) of a client and round where these are not the models it receives and trains.
    """

    traffic: tuple[int, int] | None
    parameters: int  # P
    sent: int = 0

    def add(self, x: Tensor, plan: Plan, known: dict[str, Any], phase: int) -> None:
        """One exchange with the clients of a round, who are sent x and have reported what is `known`."""
        clients = len(known["clients"])
        down, up = x.numel(), known["start"].numel() // clients
        if self.traffic is not None:
            down, up = self.traffic if phase == 0 else (0, 0)
        down += 0 if plan.direction is None else self.parameters
        up += 0 if known["gradient"] is None else self.parameters
        up += sum(value.numel() // clients for name in NUMBERS if (value := known.get(name)) is not None)
        self.sent += clients * (down + up)

    def measures(self, rounds: int, clients: int, size: int) -> dict[str, float]:
        """MB of 2^20 bytes per round, in all and beyond FedAvg's one model of `size` down and up for every client."""
        sent = self.sent / max(1, rounds)
        return {
            "comm_cost": sent * BYTES / 2**20,
            "comm_extra_cost": (sent - 2 * clients * size) * BYTES / 2**20,
        }
