"""Boundary conditions at the sides of the domain. Periodicity is a property of the grid and is not set here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._options import CoreOption
from meniscus.grid.uniform import AXES, Grid

BoundaryFunction = Callable[[npt.NDArray[np.float64], float], npt.ArrayLike]
"""f(positions (n, dim) in metres, time in seconds) -> values (n,) or, for velocities, (n, dim)."""

Slip = Literal["free", "no-slip"]

SLIP = CoreOption(Slip, _grid.Slip)


@dataclass(frozen=True)
class Wall:
    """An impermeable wall: the default on every side.

    Velocities have the wall's normal velocity; tangentially they slip freely, or stick with slip='no-slip'. Scalars have no gradient across
    the wall.

    Args:
        velocity: of the wall, m/s: `dim` numbers, or f(positions, time) -> (n, dim); default at rest.
        slip: 'free' or 'no-slip'.
    """

    velocity: Sequence[float] | BoundaryFunction | None = None
    slip: Slip = "free"

    def __post_init__(self) -> None:
        """Check the options. Raises TypeError or ValueError."""
        _checks.choice("slip", self.slip, Slip)
        if self.velocity is not None and not callable(self.velocity):
            _vector("velocity of a Wall", self.velocity)

    def _core(self, dimension: int, components: int) -> Any:
        if self.velocity is None:
            return _wall_at_rest(self.slip == "no-slip", dimension)
        velocity = self.velocity
        if not callable(velocity):
            velocity = _checks.vector("velocity of a Wall", velocity, dimension)
        return _grid.wall(velocity, self.slip == "no-slip", dimension)


@cache
def _wall_at_rest(sticks: bool, dimension: int) -> Any:
    """Return the condition that most sides of most fields have; fields take copies of it."""
    return _grid.wall((0.0,) * dimension, sticks, dimension)


@dataclass(frozen=True)
class Open:
    """A side through which the medium passes freely, at a given pressure (Pa). Fields have no gradient across it."""

    pressure: float = 0.0

    def __post_init__(self) -> None:
        """Check the pressure. Raises TypeError or ValueError."""
        _checks.number("pressure of an Open side", self.pressure)

    def _core(self, dimension: int, components: int) -> Any:
        return _grid.open(float(self.pressure))


@dataclass(frozen=True)
class ZeroGradient:
    """No gradient across the side: samples beyond it repeat the nearest one inside."""

    def _core(self, dimension: int, components: int) -> Any:
        return _grid.zero_gradient()


@dataclass(frozen=True)
class Prescribed:
    """Given values beyond the side, and for normal velocities on it.

    Args:
        value: a number (scalar fields), `dim` numbers (velocities), or f(positions (n, dim), time) -> (n,) or (n, dim). The function is
            called with all positions of a side that a step can reach at once.
    """

    value: float | Sequence[float] | BoundaryFunction

    def __post_init__(self) -> None:
        """Check the value. Raises TypeError or ValueError."""
        if not callable(self.value):
            if isinstance(self.value, (Sequence, np.ndarray)):
                _vector("value of a Prescribed side", self.value)
            else:
                _checks.number("value of a Prescribed side", self.value)

    def _core(self, dimension: int, components: int) -> Any:
        value = self.value
        if not callable(value):
            if components == 1:
                value = (_checks.number("value of a Prescribed side", value),)
            else:
                value = _checks.vector("value of a Prescribed side", value, components)
        return _grid.prescribed(value, dimension)


def _vector(name: str, value: Any) -> None:
    """Check a velocity whose dimension is not known yet."""
    _checks.vector(name, value, 2 if isinstance(value, (Sequence, np.ndarray)) and len(value) == 2 else 3)


SideCondition = Wall | Open | ZeroGradient | Prescribed
BoundarySpec = SideCondition | Mapping[str, SideCondition] | None


def side_names(dimension: int) -> list[str]:
    """Return 'x-', 'x+', 'y-', ... in storage order."""
    return [f"{AXES[d]}{s}" for d in range(dimension) for s in "-+"]


def resolve(grid: Grid, boundary: BoundarySpec) -> dict[str, SideCondition]:
    """Return the condition of every side; sides that are not named are walls at rest. Raises TypeError or ValueError."""
    names = side_names(grid.dimension)
    types = (Wall, Open, ZeroGradient, Prescribed)
    if boundary is None:
        boundary = {}
    elif isinstance(boundary, types):
        boundary = dict.fromkeys(names, boundary)
    elif not isinstance(boundary, Mapping):
        raise TypeError(
            f"boundary must be a Wall, Open, ZeroGradient or Prescribed, or a dict of them by side ({', '.join(names)}), not {boundary!r}"
        )
    for name, condition in boundary.items():
        if name not in names:
            raise ValueError(f"boundary has no side {name!r}; a {grid.dimension}-D grid has {', '.join(names)}")
        _checks.one_of_type(f"boundary[{name!r}]", condition, types)
    return {name: boundary.get(name, Wall()) for name in names}


def to_core(grid: Grid, boundary: Mapping[str, SideCondition], components: int) -> list[Any]:
    """Return the conditions in the form of the core."""
    return [boundary[name]._core(grid.dimension, components) for name in side_names(grid.dimension)]


def at_rest(side: SideCondition) -> SideCondition:
    """Return the condition for changes of a velocity on a side: no wall speeds up."""
    if isinstance(side, ZeroGradient):
        return side
    return Open() if isinstance(side, Open) else Wall()
