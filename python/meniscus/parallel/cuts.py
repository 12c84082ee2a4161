"""Cuts of a domain into blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from meniscus import _checks

LEAST_CELLS = 4
"""Cells of a block along an axis that is cut: the three ghost layers of a neighbour, and the samples on the side between them."""


def balanced_blocks(shape: Sequence[int], count: int, periodic: Sequence[bool] | None = None) -> tuple[tuple[int, ...], ...]:
    """Return the cells of the blocks along each axis, of the cut into `count` blocks of nearly equal size with the least surface.

    Blocks are boxes between cuts that go through the whole domain. Along an axis their sizes differ by at most one cell; larger ones come
    first. Among cuts with equal surface the one with more blocks along earlier axes is taken.

    Args:
        shape: cells per axis, 2 or 3 numbers.
        count: of blocks.
        periodic: per axis; default none. Around a periodic axis that is cut, the first and the last block touch each other too.

    Raises:
        TypeError, ValueError: wrong numbers, or no cut leaves every block at least 4 cells along each axis that is cut.
    """
    n = tuple(_checks.integer("shape", s, at_least=1) for s in shape)
    _checks.integer("count", count, at_least=1)
    closes = (False,) * len(n) if periodic is None else tuple(periodic)
    best: tuple[int, tuple[int, ...]] | None = None
    for factors in _factors(count, len(n)):
        if any(f > 1 and s // f < LEAST_CELLS for f, s in zip(factors, n, strict=True)):
            continue
        area = 0
        for d, f in enumerate(factors):
            cuts = (f - 1 + closes[d]) if f > 1 else 0
            section = 1
            for e, s in enumerate(n):
                section *= s if e != d else 1
            area += cuts * section
        rank = (area, tuple(-f for f in factors))
        if best is None or rank < best:
            best = rank
    if best is None:
        raise ValueError(
            f"a domain of {n} cells cannot be cut into {count} blocks of at least {LEAST_CELLS} cells along each axis that is cut, which "
            "the ghosts of their neighbours need; use fewer ranks or more cells"
        )
    return tuple(even_cells(s, -f) for s, f in zip(n, best[1], strict=True))


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
