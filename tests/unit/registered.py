"""The registered algorithms that federate, and what those that cannot do without are given."""

from contextlib import suppress
from typing import Annotated, Any, Literal, get_args, get_origin

import torch
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from fairfl.experiments.declaration import declaration
from fairfl.experiments.plugins import names

_REQUIRED = {"cgsv": {"Gamma": 0.5}, "eagle": {"lambda": 0.5, "norm": "l2_k"}, "power_of_choice": {"d": 3}}


def required(name: str) -> dict[str, Any]:
    """Values of the hyper-parameters that have no default: small ones that their types and bounds allow."""
    fields = declaration("algorithms", name).Config.model_fields.items()
    needed = {field.alias or key: _small(field) for key, field in fields if field.is_required()}
    return needed | _REQUIRED.get(name, {})


def _small(field: FieldInfo) -> Any:
    if get_origin(field.annotation) is Literal:
        return get_args(field.annotation)[-1]
    for value in (2, 1, 0.5, True, "1"):
        with suppress(ValidationError):
            return TypeAdapter(Annotated[field.annotation, *field.metadata]).validate_python(value, strict=True)
    raise ValueError(f"{field}: tests know no value; give it a default, or name one in tests/unit/registered.py")


# Of three clients in two clusters, as an algorithm that depends_on another with M = 2 finds them.
MEMBERSHIPS = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]], dtype=torch.float64)
# Of two classes in the training samples of three clients.
SHARES = torch.tensor([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]], dtype=torch.float64)
FEDERATING = [name for name in names("algorithms") if declaration("algorithms", name).is_federated]
