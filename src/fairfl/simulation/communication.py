"""How many numbers clients and server exchange (FedEBA+ tables 3 and 8)."""

from dataclasses import dataclass, field

from torch import Tensor

from fairfl.algorithms.interface import Plan, Reports
from fairfl.simulation.aggregation import NUMBERS

# Of a number that clients and server exchange.
BYTES = 4


@dataclass
class Communication:
    """Counts what a simulated run would send: models down and up, shared directions down, gradients up, losses up.

    `traffic` are the numbers (down, up) of a client and round where these are not the models it receives and trains.
    """

    traffic: tuple[int, int] | None
    parameters: int  # P
    sent: int = 0
    model: Tensor | None = field(default=None, repr=False)  # that the clients of the round have
    asked: set[int] = field(
        default_factory=set
    )  # clients that got x before the round's were chosen

    def ask(self, clients: list[int], x: Tensor, numbers: int) -> None:
        """Clients are sent x and answer with `numbers` numbers in all, before the server selects."""
        new = set(clients) - self.asked
        self.asked |= new
        self.sent += len(new) * x.numel() + numbers

    def add(self, reports: Reports, plan: Plan) -> None:
        """One exchange with the clients of a round, who are sent x and answer with `reports`."""
        clients = len(reports.clients)
        if reports.exchange and plan.epochs == 0 and plan.start is None:
            return  # the round has ended: nobody trains or measures another model
        has_it = reports.exchange > 0 and reports.x is self.model
        self.model = reports.x
        down, up = 0 if has_it else reports.x.numel(), reports.start.numel() // clients
        if self.traffic is not None:
            down, up = self.traffic if reports.exchange == 0 else (0, 0)
        shared = plan.direction is not None and plan.direction.dim() == 1
        down += self.parameters if shared else 0
        up += 0 if reports.gradient is None else self.parameters
        up += sum(
            value.numel() // clients
            for name in NUMBERS
            if (value := getattr(reports, name)) is not None
        )
        self.sent += clients * (down + up)
        if self.asked and self.traffic is None and reports.exchange == 0:
            self.sent -= len(self.asked.intersection(reports.clients.tolist())) * reports.x.numel()

    def measures(self, rounds: int, clients: int, size: int) -> dict[str, float]:
        """MB of 2^20 bytes per round, in all and beyond FedAvg's one model of `size` down and up for every client."""
        sent = self.sent / max(1, rounds)
        return {
            "comm_cost": sent * BYTES / 2**20,
            "comm_extra_cost": (sent - 2 * clients * size) * BYTES / 2**20,
        }
