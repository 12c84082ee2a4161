"""Natural shapes of strands that are at rest under gravity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus.solids.force import Floats
from meniscus.solids.hair.rod_force import RodForce

_LARGEST_TURN = 2.5  # rad: beyond it the natural shape of a point folds back on itself
_SHORTEST = 0.5  # of a rest length, relative to the segment in the style
_STIFFER = 2.0  # factor of a strand whose style is no minimum
_MOST_STIFFENINGS = 16


@dataclass(frozen=True)
class SagReport:
    """What a sag-free rest shape needed.

    Attributes:
        factors: (m,) by which the stiffness of strands was multiplied so that their style is a stable equilibrium.
        impossible: strands whose style cannot be at rest: turned more than 2.5 rad at a point, or compressed to less than half; they keep
            their style as natural shape, and sag.
    """

    factors: Floats
    impossible: npt.NDArray[np.int64]


def rest_at(rods: RodForce, x: Floats, masses: Floats, gravity: Floats, chosen: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Let strands be in balance at `x` under gravity; return their largest natural turns (m,), rad, and shortest relative lengths (m,)."""
    m = len(chosen)
    turns, lengths = np.zeros(m), np.ones(m)
    rods.strands.rest_at(x, masses, tuple(gravity), chosen.astype(np.uint8), turns, lengths)
    return turns, lengths


def rest_stably(rods: RodForce, x: Floats, masses: Floats, gravity: Floats, held: npt.NDArray[np.bool_]) -> SagReport:
    """Let strands be in stable balance at `x` under gravity, with `held` points (n,); see `SagReport`."""
    todo = np.ones(rods.strands.strands, np.bool_)
    factors = np.ones(len(todo))
    for _ in range(_MOST_STIFFENINGS):
        turns, lengths = rest_at(rods, x, masses, gravity, todo)
        good = (turns < _LARGEST_TURN) & (lengths > _SHORTEST) & rods.stable(x, held)
        todo &= ~good
        if not todo.any():
            break
        more = np.where(todo, _STIFFER, 1.0)
        rods.stiffen(more)
        factors *= more
    if todo.any():
        rods.stiffen(np.where(todo, 1 / factors, 1.0))
        factors[todo] = 1.0
        rest_at(rods, x, masses, np.zeros(3), todo)
    return SagReport(factors, np.flatnonzero(todo))
