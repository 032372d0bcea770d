"""Small federations of multi-layer perceptrons, as the engine describes them to PFNM and FedMA."""

import itertools

import torch

from fairfl.algorithms.interface import Federation, Received, Reports
from fairfl.algorithms.shared import wide_mlp
from tests.unit.algorithms.toy import close, vector

# Section 10 of the specification: one input, two hidden neurons, one class with shares 0.3 and 0.7.
EXAMPLE = [
    [(vector([1.0], [-1.0]), vector(0.1, 0.0)), (vector([2.0, 1.0]), vector(0.5))],
    [(vector([-0.9], [0.9]), vector(0.1, 0.2)), (vector([1.2, 1.8]), vector(-0.1))],
]


def federation(algorithm, hidden, labels, inputs=1):
    """Clients with nets of these hidden units and sample counts `labels` [K][C]."""
    labels = torch.tensor(labels, dtype=torch.float64)
    model = {"name": "mlp", "hidden": hidden}
    wide = [inputs, *algorithm.architecture(model, len(labels))["hidden"], labels.shape[1]]
    shapes = tuple(shape for a, b in itertools.pairwise(wide) for shape in ((b, a), (b,)))
    x = torch.zeros(size(wide), dtype=torch.float64)
    return Federation(labels.sum(1), x, shapes=shapes, labels=labels, model=model, seed=5)


def flat(nets, state):
    """Compact nets [K, P] from the layers of each client, [(weight, bias), ...]."""
    wide = state["wide"].tolist()
    return torch.stack([wide_mlp.flatten(net, wide, torch.zeros(size(wide), dtype=torch.float64)) for net in nets])


def size(wide):
    return sum(a * b + b for a, b in itertools.pairwise(wide))


def unpadded(model, wide):
    """Layers without the units that are zero, which come last."""
    found, below = [], wide[0]
    for weight, bias in wide_mlp.layers(model, wide):
        used = weight.any(1) | (bias != 0)
        width = int(used.sum())
        assert used[:width].all()
        found.append((weight[:width, :below], bias[:width]))
        below = width
    kept = sum(tensor.count_nonzero() for pair in found for tensor in pair)
    assert kept == model.count_nonzero(), "no weights leave a unit that is zero"
    return found


def compare(net, expected, tolerance=1e-6):
    assert len(net) == len(expected)
    for (weight, bias), (w, b) in zip(net, expected, strict=True):
        close(weight, torch.as_tensor(w), tolerance)
        close(bias, torch.as_tensor(b), tolerance)


def random_nets(sizes, count, scale=2.0):
    draw = torch.Generator().manual_seed(0)

    def layer(a, b):
        return scale * torch.randn(b, a, generator=draw).double(), scale * torch.randn(b, generator=draw).double()

    return [[layer(a, b) for a, b in itertools.pairwise(sizes)] for _ in range(count)]


def known(federation, clients=None, **more):
    ids = torch.arange(federation.clients) if clients is None else torch.tensor(clients)
    return {"clients": ids, "samples": federation.samples[ids], "learning_rate": 0.1, "x": federation.x, **more}


def received(federation, clients=None, **more):
    return Received(**known(federation, clients, **more))


def reports(federation, trained, clients=None, **more):
    """Reports of clients that moved to `trained` [m, P]."""
    return Reports(**known(federation, clients, **more), start=trained, delta=torch.zeros_like(trained))
