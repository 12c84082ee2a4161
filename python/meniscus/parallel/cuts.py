"""Cuts of a domain into blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.parallel.weighted_cuts import Work, cut_by_work

LEAST_CELLS = 4
"""Cells of a block along an axis that is cut: the three ghost layers of a neighbour, and the samples on the side between them."""

_GHOSTS = 3
"""Layers of ghosts, which count as work where cuts are compared."""


def balanced_blocks(
    shape: Sequence[int],
    count: int,
    periodic: Sequence[bool] | None = None,
    *,
    weights: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Return the cells of the blocks along each axis: nearly equal blocks with the least surface, or blocks with nearly equal work.

    Blocks are boxes between cuts that go through the whole domain. Without weights their sizes along an axis differ by at most one cell;
    larger ones come first. Among cuts with equal surface the one with more blocks along earlier axes is taken.

    With weights, numbers of blocks per axis are compared, each with equal sizes and with places of the cuts that make the largest work of
    a block small. The cut is taken for which the sum is least of three numbers: the largest work of a block and the largest number of its
    cells, both over their means, and the ghosts of all blocks per cell. Work moves in the course of a run and cells do not: an axis that
    divides both alike, as one along which a liquid is everywhere the same, is preferred to one that divides only the present work.

    Args:
        shape: cells per axis, 2 or 3 numbers.
        count: of blocks.
        periodic: per axis; default none. Around a periodic axis that is cut, the first and the last block touch each other too.
        weights: work in each cell in any unit, an array of the shape, or coarser: then each number is the work of a box of cells, of
            equally many along an axis, but for the last. A list of arrays has the work at several times, each of which counts alike.

    Raises:
        TypeError, ValueError: wrong numbers, or no cut leaves every block at least 4 cells along each axis that is cut.

    Source: Nicol 1994, "Rectilinear partitioning of irregular data parallel computations".
    """
    n = tuple(_checks.integer("shape", s, at_least=1) for s in shape)
    _checks.integer("count", count, at_least=1)
    closes = (False,) * len(n) if periodic is None else tuple(periodic)
    works = _works(n, weights)
    possible = [f for f in _factors(count, len(n)) if not any(k > 1 and s // k < LEAST_CELLS for k, s in zip(f, n, strict=True))]
    if not possible:
        raise ValueError(
            f"a domain of {n} cells cannot be cut into {count} blocks of at least {LEAST_CELLS} cells along each axis that is cut, which "
            "the ghosts of their neighbours need; use fewer ranks or more cells"
        )
    # By surface, and then by more blocks along earlier axes.
    possible.sort(key=lambda f: (_surface(n, f, closes), tuple(-k for k in f)))
    even = [tuple(even_cells(s, k) for s, k in zip(n, f, strict=True)) for f in possible]
    if not works:
        return even[0]
    candidates = [cells for cut in even for cells in (cut, *(cut_by_work(work, cut, LEAST_CELLS) for work in works))]
    return min(candidates, key=lambda cells: _imbalance(works, n, cells, closes))


def _works(shape: tuple[int, ...], weights: Any) -> list[Work]:
    """Return the work at each of the times for which weights are given."""
    if weights is None:
        return []
    several = isinstance(weights, Sequence) and not isinstance(weights, (str, bytes)) and np.ndim(weights[0]) == len(shape)
    return [Work(shape, one) for one in (weights if several else [weights])]


def _surface(shape: tuple[int, ...], counts: tuple[int, ...], closes: tuple[bool, ...]) -> int:
    """Return the cells on one side of all cuts."""
    cuts = [(k - 1 + closed) if k > 1 else 0 for k, closed in zip(counts, closes, strict=True)]
    return sum(k * (math.prod(shape) // n) for k, n in zip(cuts, shape, strict=True))


def _imbalance(works: list[Work], shape: tuple[int, ...], cells: tuple[tuple[int, ...], ...], closes: tuple[bool, ...]) -> float:
    """Return by how much a cut is worse than blocks of equal work and equal size without ghosts, for which it is 2."""
    counts = tuple(len(parts) for parts in cells)
    loads = [work.of_blocks(cells) for work in works]
    largest = math.prod(max(parts) for parts in cells) * math.prod(counts) / math.prod(shape)
    ghosts = 2 * _GHOSTS * _surface(shape, counts, closes) / math.prod(shape)
    return math.fsum(load.max() / load.mean() for load in loads) / len(loads) + largest + ghosts


def even_cells(cells: int, count: int) -> tuple[int, ...]:
    """Return `cells` divided into `count` parts that differ by at most one, larger ones first."""
    return tuple(cells // count + (k < cells % count) for k in range(count))


def _factors(count: int, axes: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write a number as a product of so many factors."""
    if axes == 1:
        yield (count,)
        return
    for f in range(1, count + 1):
        if count % f == 0:
            for rest in _factors(count // f, axes - 1):
                yield (f, *rest)
