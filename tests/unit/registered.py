"""The registered algorithms that federate, and what those that cannot do without are given."""

import torch

from fairfl.experiments.declaration import declaration
from fairfl.experiments.plugins import names

REQUIRED = {
    "cgsv": {"Gamma": 0.5},
    "ditto": {"report": "global"},
    "eagle": {"lambda": 0.5, "norm": "l2_k"},
    "fedavg_hardcluster": {"M": 2},
    "focus": {"M": 2},
    "power_of_choice": {"d": 3},
}
# Of three clients in two clusters, as an algorithm that depends_on another with M = 2 finds them.
MEMBERSHIPS = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]], dtype=torch.float64)
# Of two classes in the training samples of three clients.
SHARES = torch.tensor([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]], dtype=torch.float64)
FEDERATING = [name for name in names("algorithms") if declaration("algorithms", name).is_federated]
