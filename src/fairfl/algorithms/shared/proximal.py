"""The proximal term (mu/2) ||y - x||^2 of local training, in FedProx and Ditto."""

from fairfl.runtime.errors import OptionError


def refuse_divergence(algorithm: str, key: str, mu: float, eta: float) -> None:
    """Raises OptionError if y <- y - eta mu (y - x) diverges by itself: eta mu >= 2."""
    if eta * mu >= 2:
        raise OptionError(
            f"{algorithm}: {key}: {mu} diverges at learning_rate {eta}; it must stay below 2 / {eta} = {2 / eta:g}"
        )
