"""The registered algorithms that federate, and the hyper-parameters of those that cannot do without."""

from fairfl.spec.declaration import declaration, names

REQUIRED = {
    "ditto": {"report": "global"},
    "eagle": {"lambda": 0.5, "norm": "l2_k"},
}
FEDERATING = [name for name in names("algorithms") if declaration("algorithms", name).ROUNDS]
