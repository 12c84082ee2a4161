"""Solid boundary on a grid at one time: level set, velocity, slip and masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus.core import Workspace
from meniscus.grid import Grid, MacField, NodeField, ScalarField
from meniscus.grid.boundary import SLIP, Slip, ZeroGradient
from meniscus.mesh.surface_like import is_surface
from meniscus.surface.levelset import LevelSet
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.kinematic import KinematicSolid
from meniscus.surface.shapes.solid import Solid, SolidSample

Bools = npt.NDArray[np.bool_]


class SolidBoundary:
    """Boundary of a solid in a flow: one description for transport, projection, viscosity, extension and particles.

    Fields are referenced: after writing to the level set, call `levelset_changed`.

    Args:
        levelset: signed distance at the nodes, m, float64; solid where <= 0.
        velocity: of the solid on the faces, m/s; None: at rest.
        slip: 'free': the flow moves along the solid without shear; 'no-slip': it has the velocity of the solid.
        dtype: of the flow, float64 (default), or float32 in three dimensions; that of `velocity`, if there is one.

    Raises:
        TypeError, ValueError: wrong types, dtypes or grids.
    """

    def __init__(
        self,
        levelset: NodeField,
        velocity: MacField | None = None,
        slip: Slip = "no-slip",
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        _checks.one_of_type("levelset", levelset, NodeField)
        if levelset.dtype != np.float64:
            raise TypeError(f"the level set of the solid must be of dtype float64, not {levelset.dtype}")
        if velocity is not None:
            dtype = _checks.one_of_type("velocity", velocity, MacField).dtype
            if velocity.grid != levelset.grid:
                raise ValueError(f"the velocity of the solid must have the grid of its level set, {levelset.grid}, not {velocity.grid}")
        # Nodes that are one unknown get one value, which they need not have in fields of the user.
        levelset.fill_ghosts()
        self._levelset = levelset
        self._velocity = velocity
        self._slip: Slip = slip
        self._dtype = _checks.scalar_type(dtype, levelset.grid.dimension)
        self._core: Any = _grid.new_solid_boundary(
            levelset._core, None if velocity is None else velocity._core, SLIP("slip", slip), self._dtype
        )

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self._levelset.grid

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the flow around it."""
        return self._dtype

    @property
    def levelset(self) -> NodeField:
        """Signed distance (m) at the nodes, <= 0 in the solid."""
        return self._levelset

    @property
    def velocity(self) -> MacField | None:
        """Velocity (m/s) on the faces; None: at rest."""
        return self._velocity

    @property
    def slip(self) -> Slip:
        """'free' or 'no-slip'."""
        return self._slip

    @property
    def outside_cells(self) -> Bools:
        """Cells whose centre is not in the solid, by the mean of its corners; a view of what the next change overwrites."""
        mask: Bools = self._core.outside_cells
        return mask

    @property
    def open_faces(self) -> tuple[Bools, ...]:
        """Per axis, faces that are not in the solid entirely; views likewise."""
        masks: tuple[Bools, ...] = self._core.open_faces
        return masks

    @property
    def inside_faces(self) -> tuple[Bools, ...]:
        """Per axis, faces whose centre is in the solid; views likewise."""
        masks: tuple[Bools, ...] = self._core.inside_faces
        return masks

    @property
    def nbytes(self) -> int:
        """Bytes of the masks."""
        return int(self._core.bytes)

    def converted(self, dtype: npt.DTypeLike) -> SolidBoundary:
        """Return the same for a flow of another dtype: with this level set, and a copy of the velocity."""
        velocity = None
        if self._velocity is not None:
            velocity = MacField(self.grid, dtype, ZeroGradient())
            for d in range(self.grid.dimension):
                velocity.component(d)[...] = self._velocity.component(d)
        return SolidBoundary(self._levelset, velocity, self._slip, dtype)

    def levelset_changed(self) -> None:
        """Recompute the masks at their next use."""
        self._core.levelset_changed()

    def max_speed(self) -> float:
        """Return the largest component of the solid's velocity on the faces inside of it, m/s."""
        return float(self._core.max_speed())

    def extend(self, field: ScalarField | MacField, workspace: Workspace) -> None:
        """Extend a field into the solid, as far as stencils and short traces reach, in place.

        A velocity is extended if slip is free; else faces in the solid get the velocity of the solid.
        """
        _grid.continue_into_solid(field._core, self._core, workspace)

    def extend_level_set(self, field: ScalarField, workspace: Workspace) -> None:
        """Continue a signed distance on cells into the solid with its slope, in place.

        A surface goes on at the angle at which it meets the wall. What was inside of the solid is overwritten, never read.
        """
        _grid.continue_level_set_into_solid(field._core, self._core, workspace)

    def set_solid_velocity(self, velocity: MacField) -> None:
        """Set faces in the solid to its velocity, in place; with free slip do nothing."""
        if self._slip == "no-slip":
            _grid.set_solid_velocity(velocity._core, self._core)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by fields and slip; masks are found anew."""
        return type(self), (self._levelset, self._velocity, self._slip, self._dtype)

    def __repr__(self) -> str:
        """Level set, velocity and slip."""
        return f"<SolidBoundary with {self._slip}: {self._levelset!r}, {self._velocity!r}>"


SolidLike = Solid | SolidSample | SolidBoundary | Shape | LevelSet | NodeField


def solid_boundary(
    solid: SolidLike | None,
    grid: Grid,
    dtype: npt.DTypeLike,
    time: float,
    slip: Slip = "no-slip",
    sample: SolidSample | None = None,
) -> SolidBoundary | None:
    """Return the boundary of a solid on the grid of a flow, or None; fields that are on it already are not copied, but for a velocity of
    another dtype, which is rounded to that of the flow.

    Args:
        solid: a Solid (sampled at `time`), a SolidSample or a SolidBoundary (as it is); or at rest: a Shape, a closed surface mesh,
            a LevelSet on nodes or a NodeField of dtype float64 (solid where <= 0).
        grid: of the flow.
        dtype: of the flow.
        time: s.
        slip: of the boundary, unless `solid` is one.
        sample: target of the sampling; default a new one.

    Raises:
        TypeError, ValueError: wrong types, dtypes or grids.
    """
    if solid is None:
        return None
    if isinstance(solid, Shape) or is_surface(solid):
        solid = KinematicSolid(solid)
    if isinstance(solid, Solid):
        solid = solid.sample(grid, time, dtype=dtype, out=sample)
    if isinstance(solid, SolidSample):
        solid = SolidBoundary(solid.levelset, solid.velocity, slip)
    if not isinstance(solid, SolidBoundary):
        levelset = solid.field if isinstance(solid, LevelSet) else solid
        if not isinstance(levelset, NodeField):
            raise TypeError(
                "solid must be a Solid such as KinematicSolid, a SolidSample, a SolidBoundary, a Shape, a surface mesh, or a LevelSet on "
                f"nodes or NodeField, not {type(solid).__name__}" + (" on cells" if isinstance(solid, LevelSet) else "")
            )
        solid = SolidBoundary(levelset, None, slip, dtype)
    if solid.grid != grid:
        raise ValueError(f"solid must have the grid of the velocity, {grid}, not {solid.grid}")
    return solid if solid.dtype == np.dtype(dtype) else solid.converted(dtype)


def solid_core(
    solid: SolidLike | None, grid: Grid, dtype: npt.DTypeLike, time: float, slip: Slip = "no-slip", sample: SolidSample | None = None
) -> Any:
    """Return the same as `solid_boundary`, in the form of the core."""
    boundary = solid_boundary(solid, grid, dtype, time, slip, sample)
    return None if boundary is None else boundary._core
