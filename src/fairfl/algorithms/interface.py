"""What an algorithm is given, what it answers, and the class that every algorithm extends.

Symbols (all over the m clients of a round, K clients in all, P parameters, B numbers in buffers, C classes):

    x      received model, flat [P + B]       D_k = x - x_k   update of client k (`delta`), parameters only, [m, P]
    F_k    mean training loss at x            `loss_received`, nats
    A_k    mean training loss at x_k          `loss_after`, nats
    a_k    training accuracy                  `accuracy_received` at x, `accuracy_after` at x_k, fraction
    g_k    gradient of the mean training loss at x, [m, P]: `gradient_full` over all samples, `gradient_batch` over the
           first batch of the round; both come as `gradient`
    c_k    which training samples are classified right, [m, n_max] int8, 1 or 0, -1 beyond n_k, in stored order:
           `correct_received` at x, `correct_after` at x_k
    V_k    mean validation loss at x          `validation_loss_received`, nats
    L*_k   validation loss of the best model that client k trains alone   `local_optimum_loss`, nats
           Both are NaN for a client without validation samples, which takes part nevertheless.

A file in this folder holds `class Config(Strict)`, its hyper-parameters, and one class that extends `Algorithm`. The
engine (fairfl.simulation) runs, in every round,

    clients   = algorithm.select(state, selection)                     who takes part
    received  = what the clients measure of x                          `measurements`
    plan      = algorithm.configure_clients(state, received)           how they train
    reports   = what they send back: D_k, losses, ...
    aggregate, state = algorithm.aggregate(state, reports)
    x        <- x - G,    G = sum_k w_k D_k + extra                    w and extra are those of `aggregate`

Running means and variances of normalisation (buffers) are behind the parameters in every model, but in no D_k: they are
averaged by n_k, or, where the server keeps several models, by the weights of each.

A client may also train more models than it received, or another one, a personal one for instance: `Plan.start`. A
server that does not step but replaces its model says so by `Aggregate.model`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import torch
from pydantic import ConfigDict, Field, NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass as checked_dataclass
from torch import Tensor

from fairfl.experiments.base import Strict
from fairfl.runtime.hooks import WithHooks

State = dict[str, Tensor]
Slope = Callable[[Tensor], Tensor]
# (Y [n, P], places [n] int64) -> what is added to the gradients, [n, P]; see Plan
Force = Callable[[Tensor, Tensor], Tensor]
Share = Annotated[float, Field(ge=0, le=1)]
# Of answers: a value of another type than declared fails where a plug-in makes it.
STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)
# What an algorithm has not named in `measurements` is not there: using it fails at once.
NOT_MEASURED: Any = None


@dataclass(frozen=True)
class Federation:
    """Facts known before the first round: training samples per client, [K] float64, and the initial model, [P + B].

    Server and clients know `labels`; `memberships` are the mixture that the run named by `depends_on` ended with.
    """

    samples: Tensor
    x: Tensor = field(default_factory=lambda: torch.empty(0))  # [M, P + B] if there are several
    clients_per_round: int = 0  # m; 0: all
    parameters: int | None = None  # P; None: all of x
    shapes: tuple[tuple[int, ...], ...] = ()  # of the parameters, in the order of x
    labels: Tensor = NOT_MEASURED  # [K, C] float64, training samples of each class
    memberships: Tensor = NOT_MEASURED  # [K, M] float64, rows sum to 1
    model: dict[str, Any] = field(default_factory=dict)  # the setting's, {name: ..., **parameters}
    seed: int = 0  # of the server's own draws before the first round

    @property
    def clients(self) -> int:
        return self.samples.numel()


@dataclass(frozen=True)
class Selection:
    """Facts known when the clients of a round are chosen. All tensors are on the CPU.

    Asking for losses sends x to these clients, and their losses back: `comm_cost` counts both, and the clients that
    are then chosen do not get x again.
    """

    order: Tensor  # [K] int64, ids in a random order, the same for all algorithms of the setting and seed
    clients_per_round: int  # m
    samples: Tensor  # [K] float64, training samples n_k
    # ids [d] -> F_k(x), [d] float64, nats; [M, d] if there are several x
    losses: Callable[[Tensor], Tensor]
    # ("purpose", ...) -> a CPU generator of its own in this round
    generator: Callable[..., torch.Generator]
    round: int = 0  # t, from 0


@dataclass(frozen=True)
class Received:
    """Measurements before the clients train. Losses are [m] float64, there if `measurements` names them."""

    clients: Tensor  # [m] int64, ids
    samples: Tensor  # [m] float64, training samples n_k
    learning_rate: float
    x: Tensor = NOT_MEASURED  # [P + B], [M, P + B] if there are several
    round: int = 0  # t, from 0
    exchange: int = 0  # of the round, from 0
    seed: int = 0  # of the server's own draws in this exchange
    # (purpose, client) -> a CPU generator of their own in this exchange
    generator: Callable[[str, int], torch.Generator] = NOT_MEASURED
    gradient: Tensor = NOT_MEASURED  # [m, P], g_k
    correct_received: Tensor = NOT_MEASURED  # [m, n_max] int8
    loss_received: Tensor = NOT_MEASURED
    accuracy_received: Tensor = NOT_MEASURED
    validation_loss_received: Tensor = NOT_MEASURED
    local_optimum_loss: Tensor = NOT_MEASURED

    def factors(self, weighting: str) -> Tensor:
        """n_k with weighting `size`, else 1, [m] float64."""
        return self.samples if weighting == "size" else torch.ones_like(self.samples)

    def shares(self, weighting: str = "size") -> Tensor:
        """p_k = n_k / sum_j n_j over the clients of the round, or 1/m with weighting `uniform`, [m]."""
        n = self.factors(weighting)
        return n / n.sum()


@dataclass(frozen=True)
class Reports(Received):
    """Answers of the clients. The state may keep these tensors: every exchange makes new ones."""

    delta: Tensor = NOT_MEASURED  # [m, P], D_k; [models, m, P] if there are several
    start: Tensor = NOT_MEASURED  # [m, P + B] or [models, m, P + B], where training began
    # [m, B] or [models, m, B], of the trained models; None: they have none
    buffers: Tensor | None = None
    loss_after: Tensor = NOT_MEASURED
    accuracy_after: Tensor = NOT_MEASURED
    correct_after: Tensor = NOT_MEASURED  # [m, n_max] int8
    steps: Tensor = NOT_MEASURED  # [m] float64, J_k, local steps taken; perhaps none
    mix: float | None = None  # of the plan by which they trained

    @property
    def divisor(self) -> Tensor:
        """J_k by which D_k is divided, [m]; 1 of a client that took no step, whose D_k is 0."""
        return self.steps.clamp(min=1)

    @property
    def trained(self) -> Tensor:
        """The trained models, [m, P + B] or [models, m, P + B]."""
        if self.buffers is None:
            return self.start - self.delta
        return torch.cat(
            [self.start[..., : self.delta.shape[-1]] - self.delta, self.buffers], dim=-1
        )


@checked_dataclass(frozen=True, config=STRICT)
class Plan:
    """Training of the clients. Every local step, on a batch of mean loss l before the step, is

        h = (1 - mix) slope(l) grad l(y) + mix direction_k + prox (y - x) + force(y)
        v <- momentum v + lr_scale_k h,    y <- y - eta v

    with v = 0 at the start of each round. Without `mix` the direction is added whole, to the whole gradient:
    h = slope(l) grad l(y) + direction_k + ...

    `direction` is [P], the same for all clients, or [m, P], one for each; [models, m, P] where they train several.

    `force(Y, places)` gets models Y [n, P] that are trained side by side, as they are before the step, and in `places`
    [n] int64 whose they are: i is the client at place i of the round, client k of model j is j m + k. It returns
    [n, P], from Y and places alone, and leaves Y as it is. How many models it gets, and in which order, is up to the
    backend. A force that differentiates by autograd needs `requires_sequential`.

    `slope` is phi'(l) for clients that descend phi(l) instead of l; it maps the losses of several models at once,
    [models] -> [models], elementwise with tensor operations only; models without a batch have NaN. Give a function of
    the module or a `functools.partial` of it: a lambda rebuilt in each round is captured again on a GPU.

    `start` [m, P + B] lets each client train a separate model, [models, m, P + B] several, each from its own start;
    `prox` may then be a tensor [models], one factor for each. A client's models see the same batches. The proximal term
    pulls to x. Parameters of the first `frozen` shapes stay as they are.

    `epochs` replaces the setting's local epochs; with 0 no client trains, D_k is 0, and clients only measure the models
    of `start`. `single_step` ends the round after its first local step, `full_batch` takes all samples in every step.
    """

    lr_scale: Tensor | None = None  # [m]
    mix: Share | None = None
    direction: Tensor | None = None  # [P], [m, P] or [models, m, P]
    prox: float | Tensor = 0.0
    force: Force | None = None
    start: Tensor | None = None
    momentum: Share = 0.0  # less than 1
    slope: Slope | None = None
    frozen: NonNegativeInt = 0
    epochs: NonNegativeInt | None = None
    single_step: bool = False
    full_batch: bool = False


@checked_dataclass(frozen=True, config=STRICT)
class Aggregate:
    """Weights of the updates, [m] float64; they need not sum to 1 and may be negative.

    Where clients train several models and the server keeps one, the weights are [models, m], all summed. Without
    weights the server's model stays, or becomes `model`.
    """

    weights: Tensor | None = None
    extra: Tensor | None = None  # [P]
    model: Tensor | None = None  # [P + B] or [M, P + B], in place of a step


@checked_dataclass(frozen=True, config=STRICT)
class EvaluationModels:
    """Models that clients are evaluated with, [R, P + B]: one for all (R = 1), one each (R = K), or, with `mixture`
    [K, R], for client k the mixture sum_r mixture[k, r] * probabilities of model r (of outputs, in a regression)."""

    models: Tensor
    mixture: Tensor | None = None


def put(state: State, clients: Tensor, **rows: Tensor) -> State:
    """The state with these rows, [m, ...] by name, in place of the clients', [K, ...]."""
    return state | {name: state[name].index_copy(0, clients, new) for name, new in rows.items()}


Hyperparameters = TypeVar("Hyperparameters", bound=Strict)


class Algorithm(WithHooks, Generic[Hyperparameters]):
    """One federated algorithm with its validated hyper-parameters; all that it remembers is in `state`.

    Extend it as `class FedAvg(Algorithm[Config])`. `aggregate` is the one method that every algorithm must write. The
    class attributes are literals: the planner reads them, here and in the algorithm's file, without importing torch.
    """

    # The numbers of `Received` and `Reports` that the engine measures for it; no other is there. gradient_local_epoch
    # is none of them: it says that the updates of a round's first exchange serve as gradients.
    measurements: ClassVar[tuple[str, ...]] = ()
    # (algorithm, names of hyper-parameters): its run of this setting and seed, with the same values of these, comes
    # first, and `Federation.memberships` is the mixture that it ended with.
    depends_on: ClassVar[tuple[str, tuple[str, ...]] | None] = None
    # False: no rounds, every client trains alone (local_only).
    is_federated: ClassVar[bool] = True
    # Modifiers that make no sense with it, or values of theirs: dp.target=update where models are never sent.
    incompatible_modifiers: ClassVar[tuple[str, ...]] = ()
    # True: written without the paper's formulas at hand, which tables say beside its numbers.
    is_reconstructed: ClassVar[bool] = False
    # True: its clients must train one after the other: its force uses autograd, for instance.
    requires_sequential: ClassVar[bool] = False
    # True: under the modifier lsr its training losses are those of the regularised objective, not the plain ones.
    measures_objective: ClassVar[bool] = False

    def __init__(self, config: Hyperparameters) -> None:
        self.config = config

    # -- what most algorithms write ------------------------------------------------------------------------------------
    def init_state(self, federation: Federation) -> State:
        """Return what the server remembers, which checkpoints save: tensors by name. By default nothing."""
        return {}

    def configure_clients(self, state: State, received: Received) -> Plan:
        """Return how the round's clients train. By default ordinary local SGD from the received model."""
        return Plan()

    def aggregate(self, state: State, reports: Reports) -> tuple[Aggregate, State]:
        """The server's step, and its next state.

        The engine sums G = sum_k w_k D_k + extra, applies the modifiers to it and steps x <- x - G. Clients that sent a
        NaN or an infinity are left out of `reports`; without any left it is not called.
        """
        raise NotImplementedError(f"{type(self).__name__} does not aggregate")

    # -- what few algorithms write -------------------------------------------------------------------------------------
    def select(self, state: State, selection: Selection) -> Tensor:
        """Ids [m] int64 of the clients that take part in a round, each once, in any order.

        By default the first m of `selection.order`: a uniform draw. Their number may differ from m; with none the round
        has no step.
        """
        return selection.order[: selection.clients_per_round]

    def required_measurements(self) -> tuple[str, ...]:
        """Measurements that these hyper-parameters need: by default all of `measurements`."""
        return self.measurements

    def server_models(self) -> PositiveInt | None:
        """M, if the server keeps several models. By default None: one.

        Then x is [M, P + B], all of them go to every client, losses are [M, m], D is [M, m, P], weights are [M, m].
        """
        return None

    def evaluation_models(self, state: State, x: Tensor) -> EvaluationModels:
        """The models that clients are evaluated with after a round. By default x [P + B] for all of them."""
        return EvaluationModels(x.unsqueeze(0))

    def exchanges_per_round(self, federation: Federation) -> PositiveInt:
        """Return how often clients and server exchange models in a round, by default once.

        In each exchange, with the same clients, `configure_clients` and `aggregate` are called; `received.exchange`
        counts them from 0.
        """
        return 1

    def architecture(self, model: dict[str, Any], clients: int) -> dict[str, Any]:
        """The model to build for K = `clients` clients, {name: ..., **parameters}. By default the setting's."""
        return model

    def traffic(self, federation: Federation) -> tuple[int, int] | None:
        """Numbers that a client receives and sends in a round, (down, up), beside losses and gradients, and beside a
        direction that all clients share. What a direction of its own is made of counts here, if it is sent.

        By default None: the models that it receives and trains. Only reported (metric comm_cost).
        """
        return None

    @classmethod
    def draws_uniformly(cls) -> bool:
        """True if it leaves the choice of clients to the engine."""
        return cls.select is Algorithm.select

    @classmethod
    def uses_plain_sgd(cls) -> bool:
        """True if it never configures clients: they train by ordinary local SGD whatever they measure."""
        return cls.configure_clients is Algorithm.configure_clients
