"""Lagged friction of the pairs within a barrier."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus.collision.barrier.potential import Barrier
from meniscus.collision.contact.nodes import values

Floats = npt.NDArray[np.float64]

_FLOAT64 = np.dtype(np.float64)


class BarrierFriction:
    """Coulomb friction of pairs within a barrier, as the gradient of a potential that is lagged.

    `lag` stores for each pair the weights of its closest points, two directions across its gap, and the force mu lambda that friction can
    exert, where lambda is the size of the force of the barrier. With the displacement u of the closest points along these directions, the
    potential is the sum of mu lambda f0(|u|). The derivative of f0 is f1(y) = (2 - y / s) y / s below the slip s and 1 beyond: friction
    holds with less than its full force what moves by less than the slip.

    Args:
        barrier: whose pairs rub.
        friction: a number or (n,) numbers, coefficients of the vertices. That of an element is the mean of its vertices', that of a pair
            the geometric mean of its elements'.

    Raises:
        TypeError, ValueError: wrong types or lengths, negative coefficients.

    Source: Li et al., "Incremental Potential Contact", 2020, section 5.
    """

    def __init__(self, barrier: Barrier, friction: float | npt.ArrayLike) -> None:
        self._barrier = _checks.one_of_type("barrier", barrier, Barrier)
        n = barrier.nodes.vertices
        self._friction = np.full(n, _checks.number("friction", friction)) if np.ndim(friction) == 0 else values("friction", friction)
        if not (self._friction >= 0).all():
            raise ValueError("friction must not be negative")
        self._core: Any = _collision.BarrierFriction()

    @property
    def core(self) -> Any:
        """The compiled friction."""
        return self._core

    def lag(self, positions: Floats, stiffness: float = 1.0) -> int:
        """Take the pairs that the barrier has found at positions (n, 3), m, with its stiffness; return the number of those that rub.

        Raises:
            TypeError, ValueError: wrong dtype or shape, positions that are not finite, a stiffness that is not positive.
        """
        x = _checks.points("positions", positions, _FLOAT64, 3)
        _checks.require_finite("positions", x)
        self._core.lag(self._barrier.core, x, _checks.positive("stiffness", stiffness), self._friction)
        return int(self._core.size)

    def value(self, displacements: Floats, slip: float) -> float:
        """Return the potential of displacements (n, 3), m, since the lag, with a slip in m."""
        return float(self._core.energy(_checks.points("displacements", displacements, _FLOAT64, 3), _checks.positive("slip", slip)))

    def gradient(self, displacements: Floats, slip: float) -> Floats:
        """Return its derivative (n, 3): minus the forces of friction."""
        u = np.asarray(_checks.points("displacements", displacements, _FLOAT64, 3), np.float64)
        out = np.zeros_like(u)
        self._core.add_gradient(u, _checks.positive("slip", slip), out)
        return out

    def product(self, displacements: Floats, change: Floats, slip: float) -> Floats:
        """Return the second derivative at displacements (n, 3) times a small change (n, 3) of them."""
        self._core.linearise(_checks.points("displacements", displacements, _FLOAT64, 3), _checks.positive("slip", slip))
        du = np.asarray(_checks.points("change", change, _FLOAT64, 3), np.float64)
        out = np.zeros_like(du)
        self._core.add_product(du, out)
        return out
