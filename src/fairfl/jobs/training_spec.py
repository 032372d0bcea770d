"""What a job's spec says about local training, as the shapes of fairfl.runtime.shape."""

from fairfl.partition.partition_file import PARTS
from fairfl.runtime.shape import COUNT, SEED, modules
from fairfl.simulation.losses import LOSSES

PRECISIONS = frozenset({"fp32", "tf32", "bf16"})

# What every job that trains a model has.
LEARNT = {
    "model": {"name": modules("models")},
    "loss": frozenset(LOSSES),
    "optimizer": frozenset({"sgd", "adamw"}),
    "learning_rate": float,
    "weight_decay": float,
    "batch_size": (COUNT, None),
    "precision": PRECISIONS,
    "seed": SEED,
}

# A federated training.
TRAINED = {
    **LEARNT,
    "algorithm": modules("algorithms"),
    "hyperparameters": dict,
    "modifiers": {"*": dict},
    "clients_per_round": COUNT,
    "rounds": COUNT,
    "local_epochs": COUNT,
    "lr_decay": ({"factor": float, "every": COUNT}, None),
    "evaluate_every": COUNT,
    "evaluated_parts": [frozenset(PARTS)],
    "keep": frozenset({"nothing", "model", "path"}),
}
