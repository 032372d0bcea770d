"""What a setting says about itself, as metrics (FOCUS table 2). Cheap to import."""

import math
from collections.abc import Callable, Mapping
from typing import Any

CONFIGURED: dict[str, Callable[[Mapping[str, Any]], float | None]] = {
    "config_batch_size": lambda setting: (
        math.inf if setting["batch_size"] is None else setting["batch_size"]
    ),
    "config_learning_rate": lambda setting: setting["learning_rate"],
    "config_local_epochs": lambda setting: setting["local_epochs"],
    "config_rounds": lambda setting: setting["rounds"],
    "config_clusters": lambda setting: (
        setting["surrogate"]["clusters"] if setting["surrogate"] else None
    ),
}


def configured(setting: Mapping[str, Any]) -> dict[str, float]:
    """Values by metric id, from Setting.training(). A full batch is infinite; what is not stated is left out."""
    values = {name: function(setting) for name, function in CONFIGURED.items()}
    return {name: float(value) for name, value in values.items() if value is not None}
