"""Who is measured. Each module has `start(job, competitor) -> Competitor`; `<module>-<variant>` names a variant."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    title: str
    environment: str | None = None  # its own packages: benchmarks/peers/<environment>.txt
    python: str | None = None  # the version that it needs, if not the calling interpreter's
    cuda: bool = False
    every_precision: bool = False
    note: str = ""


REFERENCE = "fairfl"
QUICKEST = ("indexed", "pfl")  # the plain loop and the simulator that come nearest on dense models
# What the hardware does: see their modules.
YARDSTICKS = ("gemm-mm", "gemm-onednn", "products", "reading")
PEERS = {
    REFERENCE: Peer(
        "fairfl",
        cuda=True,
        every_precision=True,
        note="its CNN pools before ReLU, all others after: the same function",
    ),
    "indexed": Peer(
        "plain loop, indexed tensors",
        cuda=True,
        every_precision=True,
        note="torch.nn, autograd and torch.optim.SGD",
    ),
    "dataloader": Peer(
        "plain loop, DataLoader", cuda=True, note="the same with TensorDataset and DataLoader"
    ),
    "flgo": Peer(
        "FLGo", "flgo", note="its MNIST benchmark as it comes: images are decoded in every round"
    ),
    "flgo-mem": Peer("FLGo, load_mode=mem", "flgo"),
    "fedlab": Peer(
        "FedLab", "fedlab", note="SyncServerHandler and SGDSerialClientTrainer in one process"
    ),
    "pfl": Peer(
        "pfl-research (torch)",
        "pfl",
        cuda=True,
        note="its user data sets cache their batches and are never shuffled: less work than the others do",
    ),
    "flower": Peer(
        "Flower, ray, one actor",
        "flower",
        note="ServerApp's own loop, held at the start of each round; the client trains with the plain indexed loop",
    ),
    "blazefl": Peer(
        "BlazeFL",
        "blazefl",
        python="3.14",
        note="FedAvgBaseClientTrainer, one client after the other",
    ),
}


def module_of(competitor: str) -> str:
    """Module in this folder that runs a competitor."""
    return competitor.partition("-")[0]
