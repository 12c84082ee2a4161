"""Volume of fluid: liquid as its volume in each cell, transported geometrically and conserved to rounding."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.core.state import Arguments, State, restored_parts, snapshot_of
from meniscus.grid import CellField, Grid, MacField
from meniscus.grid.boundary import BoundarySpec
from meniscus.surface.levelset import LevelSet
from meniscus.surface.redistancing.redistance import redistance
from meniscus.surface.shapes.constructive import Shape


class FractionTransport(NamedTuple):
    """What a step of transport did.

    Attributes:
        substeps: into which the step was cut.
        outflow: volume that has left through the sides of the domain less what has come in, m^3 (m^2 in 2-D).
        overfull: largest part by which a cell is too full afterwards: more than rounding only where the velocity compresses liquid and no
            neighbour has room.
    """

    substeps: int
    outflow: float
    overfull: float


class VolumeOfFluid(State):
    """Liquid as the part of the open space of each cell that it fills, between 0 and 1.

    The volume changes by what passes the sides of the domain, and by rounding, in any flow: in every cell that is partly full, the surface
    is a plane below which the liquid of the cell lies, and what the flow sweeps out of the cell is taken from below the plane. Thin sheets
    break into drops of about a cell, where a level set loses them.

    Args:
        grid: 2-D or 3-D.
        solid: level set on the nodes of the grid (float64), or a shape, that no liquid enters; it is copied and stays where it is. The
            velocity must not pass through it: that of a projection with the same solid.
        boundary: of the fractions, as of fields: what flows in through a side is as full as the cells there, or as `Prescribed` says.

    Raises:
        TypeError, ValueError: not a grid, another kind of solid, unknown conditions.

    Source: Weymouth and Yue 2010 (transport); Scardovelli and Zaleski 2000 (planes); Aulisa et al. 2007 (normals).
    """

    def __init__(self, grid: Grid, *, solid: LevelSet | Shape | None = None, boundary: BoundarySpec = None) -> None:
        self._fractions = CellField(grid, np.float64, boundary=boundary)
        self._solid = None if solid is None else _solid_of(grid, solid)
        if self._solid is not None:
            self._solid.field.fill_ghosts()
        self._first_axis = 0
        self._workspace = Workspace()

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self._fractions.grid

    @property
    def solid(self) -> LevelSet | None:
        """Copy of the solid, or None."""
        return None if self._solid is None else self._solid.copy()

    @property
    def fractions(self) -> CellField:
        """Part of the open space of each cell that is liquid. The memory is that of this object, and may be written."""
        return self._fractions

    def fill(self, region: LevelSet | Shape) -> None:
        """Set the liquid to the inside of a level set (on cells or nodes of the grid) or of a shape, outside of the solid.

        In each cell the surface is replaced by a plane, which is of second order. Raises TypeError or ValueError for another region; then
        nothing is changed.
        """
        _checks.one_of_type("region", region, (LevelSet, Shape))
        if isinstance(region, Shape):
            region = LevelSet.from_shape(self.grid, region, "nodes")
        if region.grid != self.grid:
            raise ValueError(f"region must be on {self.grid}, not on {region.grid}")
        _surface.fractions_below(region.field._core, self._solid_core(), self._fractions._core, self._workspace)

    def advect(self, velocity: MacField, dt: float) -> FractionTransport:
        """Move the liquid with a velocity (m/s) for `dt` (s): any number of cells a step.

        Args:
            velocity: on the faces of the grid. Where it is free of divergence, cells stay between empty and full; elsewhere liquid that
                finds no room in its cell goes to the cells around.
            dt: positive.

        Raises:
            TypeError, ValueError: another kind of velocity or step, numbers that are not finite, more than half a million cells in the
                step; then nothing is changed.
        """
        _checks.one_of_type("velocity", velocity, MacField)
        if velocity.grid != self.grid:
            raise ValueError(f"velocity must be on {self.grid}, not on {velocity.grid}")
        step = _checks.positive("dt", dt)
        done = FractionTransport(
            *_surface.advect_fractions(self._fractions._core, velocity._core, step, self._first_axis, self._solid_core(), self._workspace)
        )
        self._first_axis = (self._first_axis + done.substeps) % self.grid.dimension
        return done

    def volume(self) -> float:
        """Return the volume of the liquid, m^3 (in 2-D the area, m^2)."""
        return float(_surface.fraction_volume(self._fractions._core, self._solid_core(), self._workspace))

    def levelset(self, *, band: float | None = None) -> LevelSet:
        """Return a level set (on cells) with the surface of the liquid, a distance within `band` (m; default: everywhere).

        Liquid that fills less than about half of a cell and its neighbours has no surface in it, as in any level set. Raises TypeError or
        ValueError for a band that is not positive.
        """
        width = float(np.linalg.norm(self.grid.shape)) * self.grid.spacing if band is None else _checks.positive("band", band)
        result = LevelSet(self.grid, "cells")
        _surface.fraction_distance(self._fractions._core, self._solid_core(), width, result.field._core, self._workspace)
        redistance(result, band=band)
        return result

    def snapshot(self) -> dict[str, Any]:
        """Return copies of the fractions and of what orders the next step, for `restore`."""
        return {name: snapshot_of(part) for name, part in self._parts().items()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Set both from a snapshot. Raises TypeError or ValueError; then nothing is changed."""
        backup = self._fractions.copy()
        try:
            parts = restored_parts("VolumeOfFluid", self._parts(), snapshot)
            if parts["first_axis"] not in range(self.grid.dimension):
                raise ValueError(f"first_axis in the snapshot must be an axis, not {parts['first_axis']}")
        except (TypeError, ValueError):
            self._fractions.assign(backup)
            raise
        self._first_axis = int(parts["first_axis"])

    def assign(self, other: VolumeOfFluid) -> None:
        """Copy the liquid of another one on the same grid. Raises TypeError or ValueError; then nothing is changed."""
        self._fractions.assign(_checks.one_of_type("the liquid to assign", other, VolumeOfFluid)._fractions)
        self._first_axis = other._first_axis

    @property
    def nbytes(self) -> int:
        """Bytes held, with scratch memory."""
        return self._fractions.nbytes + (0 if self._solid is None else self._solid.nbytes) + self._workspace.nbytes

    def __repr__(self) -> str:
        """One line: shape and volume."""
        unit = "m^2" if self.grid.dimension == 2 else "m^3"
        return f"<VolumeOfFluid {'x'.join(map(str, self.grid.shape))} cells, {self.volume():.6g} {unit}>"

    def _parts(self) -> dict[str, Any]:
        return {"fractions": self._fractions, "first_axis": self._first_axis}

    def _solid_core(self) -> Any:
        return None if self._solid is None else self._solid.field._core

    def _arguments(self) -> Arguments:
        return (self.grid,), {"solid": self._solid, "boundary": self._fractions.boundary}


def _solid_of(grid: Grid, solid: LevelSet | Shape) -> LevelSet:
    """Return a level set of its own on the nodes of a grid."""
    _checks.one_of_type("solid", solid, (LevelSet, Shape))
    if isinstance(solid, Shape):
        return LevelSet.from_shape(grid, solid, "nodes")
    if solid.grid != grid:
        raise ValueError(f"solid must be on {grid}, not on {solid.grid}")
    if solid.location != "nodes" or solid.dtype != np.dtype(np.float64):
        raise TypeError(f"solid must be on nodes and float64, not on {solid.location} and {solid.dtype}")
    if not np.isfinite(solid.array).all():
        raise ValueError("solid must be finite, but some of its samples are not")
    return solid.copy()
