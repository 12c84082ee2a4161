"""Forces on shallow water that are set per cell, and sponges before sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.grid.uniform import Grid

Floats = npt.NDArray[np.floating[Any]]

FORCES = ("manning", "surface_pressure", "downward", "push", "wind_stress", "sponge")
"""Attributes of `ShallowWater` that are set per cell."""

# -log of what comes back straight through a sponge in front of a wall. Of waves up to 60 degrees, which gradients of the rate return, an
# open side behind it leaves least with this one, for a rate that grows with the square of the way.
_DEPTH_OF_SPONGE = 3.5


Water = Any
"""The solver that has the forces, whose module imports this one."""


class CellForce:
    """Attribute of a `ShallowWater` that is None, or an array of numbers per cell in the memory of the core.

    Args:
        *names: of the arrays of the core, one, or one per axis.
        least: smallest value.
        positive: whether values must be above zero.
    """

    def __init__(self, *names: str, least: float | None = None, positive: bool = False) -> None:
        self._arrays = [getattr(_fluids.ShallowArray, name) for name in names]
        self._least, self._positive = least, positive

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the name of the attribute."""
        self._name = name

    def __get__(self, water: Water, owner: type) -> Any:
        """Return what was set, in the memory of the core: an array, or a list of two; writing to it changes it."""
        if water is None:
            return self
        if not water.__dict__.get("_set_" + self._name):
            return None
        views = [water._core.array(array) for array in self._arrays]
        return views[0] if len(views) == 1 else views

    def __set__(self, water: Water, value: object) -> None:
        """Set numbers or arrays per cell. Raises TypeError or ValueError for other shapes and values."""
        if value is None:
            for array in self._arrays:
                water._core.drop(array)
            water.__dict__["_set_" + self._name] = False
            return
        parts = self._parts(value)
        checked = [self._checked(water, part) for part in parts]
        for array, part in zip(self._arrays, checked, strict=True):
            water._core.array(array)[...] = part
        water.__dict__["_set_" + self._name] = True

    def _parts(self, value: object) -> list[object]:
        if len(self._arrays) == 1:
            return [value]
        if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != len(self._arrays):
            raise ValueError(f"{self._name} must hold {len(self._arrays)} numbers or arrays, not {value!r}")
        return list(value)

    def _checked(self, water: Water, value: object) -> npt.NDArray[np.float64]:
        array: npt.NDArray[np.float64] = water._incoming(self._name, value)
        if self._least is not None and array.min() < self._least:
            raise ValueError(f"{self._name} must be at least {self._least:g}, not {array.min():g}")
        if self._positive and array.min() <= 0:
            raise ValueError(f"{self._name} must be positive, not {array.min():g}")
        return array


class Sponge(CellForce):
    """Rates of sponges before sides across x and y, and the level of rest: all or none."""

    def __init__(self) -> None:
        super().__init__("damping_u", "damping_v", "level")


def sponge_rates(grid: Grid, side: str, width: float, speed: float) -> npt.NDArray[np.float64]:
    """Return rates (1/s) per cell of a sponge before a side, for waves of a speed, m/s."""
    axis, high = "xy".index(side[0]), side[1] == "+"
    x = grid.cell_centers()[axis]
    low, top = grid.origin[axis], grid.origin[axis] + grid.extent[axis]
    into = np.clip((x - (top - width) if high else low + width - x) / width, 0.0, 1.0)
    # A wave that goes in and back straight loses the factor exp(-2 integral of rate / speed).
    rates: npt.NDArray[np.float64] = np.broadcast_to(0.5 * _DEPTH_OF_SPONGE * speed / width * 3 * into**2, grid.shape).copy()
    return rates
