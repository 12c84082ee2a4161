"""Control by a shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.fluids.control.control import Control, ControlForce, ControlledFluid, GridControl
from meniscus.grid.fields import MacField
from meniscus.grid.uniform import Grid
from meniscus.surface import KinematicSolid, Solid, SolidSample
from meniscus.surface.shapes.kinematic import Motion


@dataclass(frozen=True, eq=False)
class ControlShape(Control):
    """A shape that draws a fluid towards it and gives the fluid inside its velocity.

    For distances d from 0 to `reach` outside of it, the potential is attraction (1 - (1 - d / reach)^2): the acceleration is
    2 attraction / reach at the surface and fades to zero at the reach.

        letter = ms.surface.LevelSetShape(levelset)
        form = ms.fluids.ControlShape(letter, 0.3, ms.fluids.ControlForce(attraction=20.0, rate=10.0))
        smoke = ms.fluids.SmokeSolver(grid, controls=[form])

    Attributes:
        target: a `Solid`, which may move or deform; or a `Shape`, a closed surface (a `TriangleMesh` or what it is made from), or a
            `LevelSet`.
        reach: m, at least a cell.
        force: what it does.
        motion: of a target that is no `Solid`: a function of time (s) that returns a `Pose` or a translation (m).

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Thürey, Keiser, Pauly and Rüde 2006, section 3; Fattal and Lischinski 2004, section 3.1.
    """

    target: object
    reach: float
    force: ControlForce
    motion: Motion | None = None
    _solid: Solid = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the values."""
        _checks.one_of_type("force", self.force, ControlForce)
        _checks.positive("reach", self.reach)
        if not isinstance(self.target, Solid):
            object.__setattr__(self, "_solid", KinematicSolid(self.target, self.motion))
        elif self.motion is None:
            object.__setattr__(self, "_solid", self.target)
        else:
            raise ValueError("motion must be left out where the target is a Solid, which moves by itself")

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return self._solid.dimension

    @property
    def _steepest(self) -> float:
        return 2 * abs(self.force.attraction) / self.reach

    def _fastest(self, time: float) -> float:
        corners = np.array(self._solid.bounds(time))
        if not self._solid.moves or not np.isfinite(corners).all():
            return 0.0
        points = np.stack([x.ravel() for x in np.meshgrid(*corners.T)], axis=1)
        return float(np.abs(self._solid.velocity(points, time)).max())

    def _on(self, grid: Grid, dtype: np.dtype[Any]) -> GridControl:
        self._require_lengths(grid)
        if self.reach < grid.spacing:
            raise ValueError(f"reach must be at least the spacing, {grid.spacing:g} m, but is {self.reach:g} m")
        return _GridShape(self, self._solid, grid, dtype)


class _GridShape(GridControl):
    borrowed = ("_solid",)

    def __init__(self, shape: ControlShape, solid: Solid, grid: Grid, dtype: np.dtype[Any]) -> None:
        super().__init__(shape.force)
        self._solid, self._reach = solid, shape.reach
        self._sample = SolidSample(grid, dtype)
        self._sampled = False

    def act(self, velocity: MacField, dt: float, time: float, fluid: ControlledFluid, workspace: Workspace) -> list[float]:
        sample, solid, reach = self._sample, self._solid, self._reach
        if solid.moves or not self._sampled:
            # Beyond the reach the sign is all that counts.
            solid.sample(velocity.grid, time, -dt if solid.moves else None, band=reach + velocity.grid.spacing, out=sample)
            self._sampled = True
        fields = sample.levelset._core, sample.velocity._core
        return _fluids.control_by_shape(velocity._core, *fields, self.force.attraction, reach, *self._rest(dt, fluid, workspace))
