"""Forces that control a flow, and the base of what says where they act."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.grid.fields import CellField, MacField, NodeField
from meniscus.grid.uniform import Grid

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ControlledFluid:
    """The fluid that is controlled: a liquid with a level set, or smoke in a gas.

    Attributes:
        levelset: of the liquid, on cells, m; None for a gas.
        density: of the smoke in a gas; None for a liquid.
        solid: level set of the solid on nodes, or None.
        faces: masks of the faces of the fluid, one array per axis; None: all.
    """

    levelset: CellField | None = None
    density: CellField | None = None
    solid: NodeField | None = None
    faces: Sequence[Bools] | None = None


@dataclass(frozen=True, kw_only=True)
class ControlForce:
    """What draws a fluid to places and gives it a velocity there; `ControlParticles` and `ControlShape` say where.

    Attributes:
        attraction: depth of the potential that draws the fluid, m^2/s^2; negative: it repels. To hold a liquid of height H against gravity
            takes several times g H. In a gas it acts on the smoke.
        rate: at which the velocity approaches that of the control, 1/s: a uniform velocity differs from it by exp(-rate t).
        detail: width, m, of the means that approach it, rounded to cells; what is smaller, such as vortices, is left alone. None: the
            velocity of every face does so by itself.
        limited: weaken the attraction of each particle by the part of its kernel that the fluid fills, as in the source; a liquid that is
            enough for the place is held better without. Shapes do not count how full they are.
        max_acceleration: limit of every component, m/s^2; None: there is none.
        full_density: density of smoke, in a `SmokeSolver`, that fills a cell.
        start: when it is turned on, s.
        end: when it is turned off, s.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Thürey, Keiser, Pauly and Rüde 2006, sections 3 and 4.
    """

    attraction: float = 0.0
    rate: float = 0.0
    detail: float | None = None
    limited: bool = False
    max_acceleration: float | None = None
    full_density: float = 1.0
    start: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("attraction", "rate"):
            _checks.number(name, getattr(self, name))
        if self.rate < 0:
            raise ValueError(f"rate must not be negative, not {self.rate:g}")
        for name in ("detail", "max_acceleration"):
            if getattr(self, name) is not None:
                _checks.positive(name, getattr(self, name))
        _checks.flag("limited", self.limited)
        _checks.positive("full_density", self.full_density)
        _checks.interval(self.start, self.end)

    def is_on(self, time: float) -> bool:
        """Return whether it works at a time, s."""
        return self.start <= time < self.end

    def while_on(self, start: float, dt: float) -> tuple[float, float]:
        """Return how long it works in the dt seconds from a time on, s, and until when."""
        end = min(start + dt, self.end)
        return max(end - max(start, self.start), 0.0), end


class Control(ABC):
    """Places where a force controls a flow."""

    force: ControlForce

    @property
    @abstractmethod
    def dimension(self) -> int:
        """2 or 3."""

    @property
    @abstractmethod
    def _steepest(self) -> float:
        """Largest acceleration of the attraction, m/s^2, as far as it can be told."""

    @abstractmethod
    def _fastest(self, time: float) -> float:
        """Return the largest component of the velocity of the control at a time (s), m/s."""

    @abstractmethod
    def _on(self, grid: Grid, dtype: np.dtype[Any]) -> GridControl:
        """Return the control on a grid. Raises ValueError for one that is too fine or too large for it."""

    def limits(self, time: float) -> tuple[float, float]:
        """Return the largest acceleration, m/s^2, and the largest velocity component, m/s, that it may give a fluid from a time (s) on."""
        limit = math.inf if self.force.max_acceleration is None else self.force.max_acceleration
        return min(self._steepest, limit), self._fastest(time) if self.force.rate else 0.0

    def _require_lengths(self, grid: Grid) -> None:
        h, longest, detail = grid.spacing, grid.spacing * min(grid.shape), self.force.detail
        if detail is not None and not h <= detail <= longest:
            raise ValueError(
                f"detail must be from the spacing, {h:g} m, to the shortest side of the domain, {longest:g} m, but is {detail:g} m"
            )


class GridControl(MemoryOwner, ABC):
    """A control on one grid."""

    def __init__(self, force: ControlForce) -> None:
        largest = math.inf if force.max_acceleration is None else force.max_acceleration
        self.force = force
        self._core = _fluids.ControlForce(force.rate, force.detail or 0.0, largest)

    @abstractmethod
    def act(self, velocity: MacField, dt: float, time: float, fluid: ControlledFluid, workspace: Workspace) -> list[float]:
        """Let it act on a velocity, in place, in the step of dt that ends at a time (s).

        Returns:
            The momentum per density that the fluid gains, m^(dim + 1)/s.
        """

    def _rest(self, dt: float, fluid: ControlledFluid, workspace: Workspace) -> tuple[Any, ...]:
        """Return the last arguments of the functions of the core."""
        levelset, density, solid = (None if field is None else field._core for field in (fluid.levelset, fluid.density, fluid.solid))
        return self._core, dt, levelset, density, self.force.full_density, solid, fluid.faces, workspace
