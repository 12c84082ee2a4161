"""Natural shapes of strands that are at rest under gravity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus.solids.force import Floats
from meniscus.solids.hair.rod_force import RodForce
from meniscus.solids.hair.strip_force import StripForce

_STIFFER = 2.0  # factor of a strand whose style is no minimum
_MOST_STIFFENINGS = 16


@dataclass(frozen=True)
class SagReport:
    """What a sag-free rest shape needed.

    Attributes:
        factors: (m,) by which the stiffness of strands was multiplied so that their style is a stable equilibrium.
        impossible: strands whose style cannot be at rest: turned more than 2.5 rad at a point, or a rest length below half of that in the
            style; they keep their style as natural shape, and sag.
    """

    factors: Floats
    impossible: npt.NDArray[np.int64]


def rest_stably(rods: RodForce | StripForce, x: Floats, masses: Floats, gravity: Floats, held: npt.NDArray[np.bool_]) -> SagReport:
    """Let strands be in stable balance at `x` under gravity, with `held` points (n,); see `SagReport`."""
    todo = np.ones(rods.strands.strands, np.bool_)
    factors = np.ones(len(todo))
    for _ in range(_MOST_STIFFENINGS):
        good = rods.rest_at(x, masses, gravity, todo) & rods.stable(x, held)
        todo &= ~good
        if not todo.any():
            break
        more = np.where(todo, _STIFFER, 1.0)
        rods.stiffen(more)
        factors *= more
    if todo.any():
        rods.stiffen(np.where(todo, 1 / factors, 1.0))
        factors[todo] = 1.0
        rods.rest_at(x, masses, np.zeros(3), todo)
    return SagReport(factors, np.flatnonzero(todo))
