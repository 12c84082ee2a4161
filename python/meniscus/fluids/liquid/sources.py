"""Sources and drains of liquid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.flows.region import set_region
from meniscus.grid.fields import CellField
from meniscus.grid.transport.one_side import beyond_largest_parts
from meniscus.grid.transport.walls import ThinWalls
from meniscus.surface import Pose
from meniscus.surface.shapes.sampled import as_shape


@dataclass(frozen=True, kw_only=True)
class _Region:
    region: Any = field(kw_only=False)
    motion: Callable[[float], Pose] | None = None
    start: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        """Check the values."""
        set_region(self)
        _checks.interval(self.start, self.end)

    def is_on(self, time: float) -> bool:
        """Return whether it works at a time, s."""
        return self.start <= time < self.end


@dataclass(frozen=True, kw_only=True)
class LiquidSource(_Region):
    """A region that is filled with liquid at a given velocity while the source is on.

    What the region lacks is filled, and counts as emitted. Where thin shells pass through the region, it is the
    largest of the parts, of each of its pieces. Liquid that a source sends away from a closed side of the box leaves no gap
    there to fill: it enters through the side, and counts as inflow. A plain inlet in a side is a `Prescribed` velocity.

    Attributes:
        region: the shape that is filled, m; or a closed surface (a `TriangleMesh` or what it is made from), a `LevelSet`, or a function
            phi(points (n, dim)) -> (n,), negative inside.
        motion: where the region is, as a function of time (s); default at rest.
        velocity: of the liquid at the faces of the region's cells, m/s; None leaves it.
        start: when it is turned on, s.
        end: when it is turned off, s.
    """

    velocity: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        if self.velocity is not None:
            _checks.vector("velocity of a LiquidSource", self.velocity, getattr(self.region, "dimension", None) or np.size(self.velocity))


@dataclass(frozen=True, kw_only=True)
class Drain(_Region):
    """A region in which liquid, and drops that enter it, vanish while the drain is on; as that of a `LiquidSource` beside thin shells.

    Attributes:
        region: the shape that is emptied, m; given as that of a `LiquidSource`.
        motion: where the region is, as a function of time (s); default at rest.
        start: when it is turned on, s.
        end: when it is turned off, s.
    """


class RegionCells(MemoryOwner):
    """The signed distance of a region on one grid; recomputed only while it moves."""

    def __init__(self, owner: LiquidSource | Drain, phi: CellField, band: float) -> None:
        kind = "source" if isinstance(owner, LiquidSource) else "drain"
        self.region = as_shape(f"the region of a {kind}", owner.region, phi.grid.dimension)
        if isinstance(owner, LiquidSource) and owner.velocity is not None:
            _checks.vector("velocity of a LiquidSource", owner.velocity, phi.grid.dimension)
        self.owner = owner
        self.phi = phi
        self._side: CellField | None = None
        self._band = band
        self._known = False

    def at(self, time: float, workspace: Workspace, walls: ThinWalls | None = None) -> CellField:
        """Return the signed distance at a time, s; with walls, of the largest part into which they cut it."""
        motion = self.owner.motion
        if motion is not None or not self._known:
            pose = None if motion is None else motion(time)
            self.region.sample(self.phi, pose=pose, band=self._band, workspace=workspace)
            self._known = True
        beyond = None if walls is None else beyond_largest_parts(self.phi.array <= 0, walls)
        if beyond is None:
            return self.phi
        if self._side is None:
            self._side = CellField(self.phi.grid, self.phi.dtype)
        self._side.array[...] = np.where(beyond, self.phi.grid.spacing, self.phi.array)
        return self._side
