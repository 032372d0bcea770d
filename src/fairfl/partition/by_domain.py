"""Clients of one domain each. FOCUS section 5.2: Yelp over seven clients, IMDb over three, and so two clusters.

The rows of a domain are assigned evenly at random, the data set's own training and test parts apart.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.partition.interface import Assignment, PartitionError, Table


class Config(Strict):
    clients: list[Annotated[int, Field(ge=1)]] = Field(
        [7, 3], min_length=1, description="clients of each domain, one after the other"
    )

    def true_clusters(self) -> int:
        """Number of the clients' true clusters."""
        return len(self.clients)


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    """Raises PartitionError if the data do not have these domains, or the clients are not as many as these."""
    if table.domain is None:
        raise PartitionError(
            "by_domain needs data of several sources (a `domain` tensor: yelp_imdb, sentiment)"
        )
    if sum(config.clients) != clients:
        total = sum(config.clients)
        raise PartitionError(
            f"by_domain has {config.clients}, {total} clients in all, the setting asks for {clients}"
        )
    domains = np.unique(table.domain)
    if not np.array_equal(domains, np.arange(len(config.clients))):
        raise PartitionError(
            f"by_domain has clients for the domains 0 to {len(config.clients) - 1}, the data have {domains.tolist()}"
        )
    rows = []
    for domain, owners in enumerate(config.clients):
        parts = [part[table.domain[part] == domain] for part in table.official_parts]
        shares = [np.array_split(rng.permutation(part), owners) for part in parts]
        rows += [np.sort(np.concatenate(pieces)) for pieces in zip(*shares, strict=True)]
    return Assignment(rows, clusters=np.repeat(domains, config.clients).tolist())
