"""Cut of a domain among ranks that divides a liquid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from meniscus import _checks
from meniscus.grid.uniform import AXES, Grid
from meniscus.parallel import balanced_blocks, one_rank
from meniscus.parallel.communicator import resolve
from meniscus.surface import LevelSet, Shape

Side = Literal["x-", "x+", "y-", "y+", "z-", "z+"]

_BOXES = 64
"""Boxes of cells along the longest axis, at most, in which liquid is looked for."""


def liquid_blocks(
    shape: Sequence[int],
    spacing: float,
    liquid: Shape | Sequence[Shape],
    *,
    origin: Sequence[float] | None = None,
    periodic: Sequence[bool] | None = None,
    down: Side | None = None,
    liquid_work: float = 2.0,
    comm: Any = None,
) -> tuple[tuple[int, ...], ...]:
    """Return the `blocks` of a `Grid` that divide the work on a liquid among its ranks: where it is, and where it will lie.

    Counts a cell of air as work 1, at the start and when the liquid has come to rest as a layer on the lower side, and takes the cut of
    `parallel.balanced_blocks` for both. What a solver computes does not depend on the cut.

    Args:
        shape: cells per axis of the domain.
        spacing: of the cells, m.
        liquid: a Shape, or several that together are the liquid at the start.
        origin: lower corner of the domain, m; default zeros.
        periodic: per axis; default none.
        down: the side on which the liquid comes to rest, 'z-' for example; default: the lower side of the last axis.
        liquid_work: work on a cell of liquid. The default was measured for `LiquidSolver`; for `ParticleLiquidSolver` 10 is right.
        comm: the ranks, as for `Grid`.

    Raises:
        TypeError, ValueError: wrong types or values, or no cut as in `parallel.balanced_blocks`.
    """
    work = _checks.positive("liquid_work", liquid_work)
    domain = Grid(shape, spacing, origin, False if periodic is None else periodic, comm=one_rank())
    side = f"{AXES[domain.dimension - 1]}-" if down is None else _checks.choice("down", down, Side)
    axis = AXES.index(side[0])
    if axis >= domain.dimension:
        raise ValueError(f"down must be a side of a domain in {domain.dimension} dimensions, not {side!r}")
    shapes = [liquid] if isinstance(liquid, Shape) else _checks.items("liquid", liquid, Shape)
    ranks = resolve(comm).size
    if ranks == 1:
        return domain.blocks
    cells = -(-max(domain.shape) // _BOXES)
    boxes = Grid([-(-n // cells) for n in domain.shape], cells * domain.spacing, domain.origin, comm=one_rank())
    wet = np.zeros(boxes.shape, bool)
    for part in shapes:
        wet |= LevelSet.from_shape(boxes, part, "cells").array <= 0
    layers = boxes.shape[axis]
    rest = np.clip(wet.mean() * layers - np.arange(layers), 0, 1)
    rest = (rest if side[1] == "-" else rest[::-1]).reshape([-1 if d == axis else 1 for d in range(boxes.dimension)])
    weights = [1 + (work - 1) * np.broadcast_to(part, boxes.shape) for part in (wet, rest)]
    return balanced_blocks(domain.shape, ranks, periodic, weights=weights)
