"""Sources of smoke, heat and gas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.flows.region import RegionCells, set_region
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.transport.walls import ThinWalls
from meniscus.surface import Pose


@dataclass(frozen=True, kw_only=True)
class Emitter:
    """A region in which the gas gets given properties while the emitter is on.

    Where thin shells pass through the region, it is the largest of the parts, of each of its pieces.

    Attributes:
        region: the shape that it fills, m; cells whose centre is inside belong to it. Or a closed surface (a `TriangleMesh` or what it is
            made from), a `LevelSet`, or a function phi(points (n, dim)) -> (n,), negative inside.
        motion: where the region is, as a function of time (s); default at rest.
        density: least density of the smoke in the region; None leaves it.
        density_rate: added per second.
        temperature: temperature that is set; None leaves it.
        velocity: of the gas at the faces of its cells, m/s; None leaves it.
        divergence: inflow of gas, 1/s: per second, the volume of the region times this number.
        start: when it is turned on, s.
        end: when it is turned off, s.
    """

    kind: ClassVar[str] = "an emitter"
    region: Any = field(kw_only=False)
    motion: Callable[[float], Pose] | None = None
    density: float | None = None
    density_rate: float = 0.0
    temperature: float | None = None
    velocity: Sequence[float] | None = None
    divergence: float = 0.0
    start: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        """Check the values."""
        dimension = set_region(self)
        for name in ("density", "temperature"):
            value = getattr(self, name)
            if value is not None:
                _checks.number(name, value)
        for name in ("density_rate", "divergence"):
            _checks.number(name, getattr(self, name))
        if self.velocity is not None:
            _checks.vector("velocity of an Emitter", self.velocity, dimension or np.size(self.velocity))
        _checks.interval(self.start, self.end)

    def is_on(self, time: float) -> bool:
        """Return whether it works at a time, s."""
        return self.start <= time < self.end


class EmitterCells(MemoryOwner):
    """The cells of an emitter on one grid."""

    def __init__(self, emitter: Emitter, phi: CellField) -> None:
        # The sign is all that counts.
        self._cells = RegionCells(emitter, phi, phi.grid.spacing)
        self.emitter = emitter

    def emit(
        self,
        dt: float,
        time: float,
        *,
        density: CellField,
        temperature: CellField,
        divergence: CellField | None,
        velocity: MacField,
        workspace: Workspace,
        walls: ThinWalls | None = None,
    ) -> None:
        """Let the emitter work for dt from `time` on, if it is on; beside walls, in the largest part into which they cut its region."""
        e, rules = self.emitter, _fluids.EmissionRule
        if not e.is_on(time):
            return
        phi = self._cells.at(time, workspace, walls)
        region = phi._core
        if e.density is not None:
            _fluids.emit(region, rules.raise_to, e.density, density._core)
        if e.density_rate:
            _fluids.emit(region, rules.add, dt * e.density_rate, density._core)
        if e.temperature is not None:
            _fluids.emit(region, rules.set, e.temperature, temperature._core)
        if e.divergence and divergence is not None:
            _fluids.emit(region, rules.add, e.divergence, divergence._core)
        if e.velocity is not None:
            set_face_velocity(velocity, phi, e.velocity)


def set_face_velocity(velocity: MacField, region: CellField, value: Sequence[float]) -> None:
    """Give all faces of the cells where a level set is <= 0 a velocity, m/s."""
    _fluids.emit_velocity(region._core, value, velocity._core)
