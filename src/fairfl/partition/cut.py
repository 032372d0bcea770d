"""Cut of one client's samples into training, validation and test parts."""

import numpy as np

PARTS = ("train", "validation", "test")


def cut(rows: np.ndarray, groups: np.ndarray, fractions: dict[str, float], rng: np.random.Generator) -> np.ndarray:
    """Part (0 train, 1 validation, 2 test) of each row, [n] int8.

    Rows of one group (copies of one image with other labels) stay in one part. Every part with a positive
    fraction gets at least one group if there are enough of them; training is served first.
    """
    names, first = np.unique(groups[rows], return_inverse=True)
    order = rng.permutation(len(names))
    sizes = np.bincount(first, minlength=len(names))[order]
    wanted = [part for part in range(len(PARTS)) if fractions[PARTS[part]] > 0]
    # A group belongs to the part in which its middle row falls, so parts miss their share by half a group at most.
    middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    edges = np.cumsum([fractions[PARTS[part]] for part in wanted])[:-1]
    chosen = np.array(wanted)[np.searchsorted(edges, middle, side="right")]
    for position, part in enumerate(wanted):
        if len(names) >= len(wanted) and not (chosen == part).any():
            # The part is so small that it got nothing: take the group at its border.
            chosen[min(np.searchsorted(chosen, part), len(names) - len(wanted) + position)] = part
    result = np.empty(len(names), dtype=np.int8)
    result[order] = chosen
    return result[first]
