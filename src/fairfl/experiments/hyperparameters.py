"""Hyper-parameters that several algorithms have: type, bounds and description. Each algorithm has its own default."""

from typing import Annotated, Literal

from pydantic import Field

Weighting = Annotated[Literal["size", "uniform"], Field(description="p_k by samples, or 1/m")]

# Of FedEBA, FedEBA+ and Prac-FedEBA+.
Prior = Annotated[Literal["uniform", "size"], Field(description="q_k: 1/m, or by samples")]
Temperature = Annotated[float, Field(ge=1e-6, description="temperature, eq. (4), nats")]
TauSchedule = Annotated[
    Literal["constant", "linear", "concave", "convex"], Field(description="eq. (188)")
]
Kappa = Annotated[
    float, Field(ge=0, description="decay of tau; 9 / (rounds - 1): linear ends at tau / 10")
]
FairAngle = Annotated[
    float,
    Field(ge=0, le=180, description="fair angle, degrees; 0 aligns if losses differ, 90 never"),
]

# Of PFNM and FedMA.
NeuronVariance = Annotated[
    float, Field(gt=0, description="variance of clients' neurons around the global one")
]
PriorVariance = Annotated[float, Field(gt=0, description="prior variance of a global neuron")]
ProcessMass = Annotated[
    float, Field(gt=0, description="mass of the Beta process; more means more global neurons")
]
MaxWidth = Annotated[
    int,
    Field(gt=0, description="global neurons of a layer at most; the public code stops at 700"),
]
