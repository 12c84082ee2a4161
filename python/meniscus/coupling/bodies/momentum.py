"""Momentum of a gas and the bodies in it, which transport on a grid does not keep by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import grid as _grid
from meniscus.coupling.bodies.bodies_on_grid import BodySample
from meniscus.coupling.bodies.pushed_form import PushedForm
from meniscus.grid.face_arrays import closing_axes, each_face_once
from meniscus.grid.fields import MacField

Floats = npt.NDArray[np.float64]
_FILM = _fluids.MovingBodies.film_opening


def open_parts(sample: BodySample, axis: int) -> Floats:
    """Return the open part of each face across an axis, as the pressure takes it."""
    part: Floats = _grid.open_fractions(sample.boundary.levelset._core, axis)
    return np.where(sample.films[axis], np.maximum(part, _FILM), part)


class MomentumKeeper:
    """Gives a gas back what transport, and faces that open and close where bodies pass, have taken from its momentum.

    Semi-Lagrangian transport keeps no momentum. Along axes that close, without anything held in the way, nothing else takes any either:
    the gas as a whole moves a little faster or more slowly. Bodies then exchange momentum with the gas, and all of it stays.

    Args:
        velocity: of the gas.
        density: kg/m^3.
    """

    def __init__(self, velocity: MacField, density: float) -> None:
        grid = self._grid = velocity.grid
        self._velocity, self._cell = velocity, density * grid.spacing**grid.dimension
        self._axes = closing_axes(grid)
        self._lost = np.zeros(3)

    def of_gas(self, sample: BodySample) -> tuple[Floats, Floats]:
        """Return momentum (3,) and mass (3,) of the open parts of faces, kg m/s and kg."""
        momentum, mass = np.zeros(3), np.zeros(3)
        for d in self._axes:
            part = each_face_once(self._grid, open_parts(sample, d), d)
            u = each_face_once(self._grid, np.asarray(self._velocity.component(d), np.float64), d)
            momentum[d], mass[d] = self._cell * float((part * u).sum()), self._cell * float(part.sum())
        return momentum, mass

    def before_transport(self, sample: BodySample) -> None:
        """Remember the momentum of the gas around bodies where they were."""
        self._lost = self.of_gas(sample)[0]

    def after_transport(self, sample: BodySample) -> None:
        """Give back what was lost, around bodies where they are."""
        after, mass = self.of_gas(sample)
        for d in self._axes:
            if mass[d] > 0:
                self._velocity.component(d)[...] += (self._lost[d] - after[d]) / mass[d]

    def settle(self, sample: BodySample, forms: Sequence[PushedForm], change: Floats, attached: Floats) -> None:
        """Take from all, gas and bodies, what the gas that moves with bodies has more of by being more than before.

        Args:
            sample: the bodies.
            forms: of the bodies that move.
            change: momentum (3,) that has come from nowhere, kg m/s.
            attached: (3,) mass of the gas that moves with bodies, kg.
        """
        mass = self.of_gas(sample)[1] + attached + sum(form.mass for form in forms)
        for d in self._axes:
            shift = -change[d] / mass[d]
            self._velocity.component(d)[...] += shift
            for form in forms:
                form.add_motion(shift * np.eye(6)[d])
