"""Masks of the faces around a liquid, and the velocity continued from them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import grid as _grid
from meniscus.core import Workspace
from meniscus.core.stateful import Stateful
from meniscus.fluids.pressure.projection import PressureSolver, project
from meniscus.fluids.stages import extend_into_solid
from meniscus.grid.fields import CellField, MacField, component_shapes
from meniscus.grid.transport.walls import ThinWalls
from meniscus.surface import LevelSet, SolidBoundary

Bools = npt.NDArray[np.bool_]
_BALANCED = 2.5  # cells of air that are made divergence-free
_BALANCE_TOLERANCE = 1e-4  # of the air, at a tolerance of the projection of 1e-8
_NO_PRESSURE_TIME = 1e-30  # s; in no time, pressures given on open sides do nothing to the air, however large they are
_GAP_SPEED = 1.0
# Times the speed of the liquid around a gap; measured on impacts. With twice as much, columns that hit a ball gain energy in two
# dimensions; with four times as much, a slab that lands flat gains 1.6 times its own in three.


class LiquidFaces(Stateful):
    """Masks of the faces of one velocity, one array per axis.

    Args:
        velocity: gives grid, dtype and boundary.
        balanced: whether the velocity is made divergence-free in the air.
        two_fluids: whether air and liquid share a pressure, so that faces with little liquid are as fast as the air.
        tolerance: of the projection. A tighter one than 1e-8 makes the air tighter too, by its square: at 1e-12 both are equal.

    Attributes:
        known: faces with a valid velocity: next to liquid, or extended from there.
    """

    def __init__(self, velocity: MacField, balanced: bool, two_fluids: bool = False, tolerance: float = 1e-8) -> None:
        self._solver = PressureSolver(velocity.grid) if balanced else None
        self._two_fluids = two_fluids
        self._tolerance = max(_BALANCE_TOLERANCE * min(1.0, tolerance / 1e-8) ** 2, min(tolerance, _BALANCE_TOLERANCE))
        self._air: Bools = np.zeros(velocity.grid.local_shape, bool)
        self._bounds = CellField(velocity.grid, velocity.dtype) if balanced or two_fluids else None
        shapes = component_shapes(velocity.grid)
        self.known: list[Bools] = self.declare("known", [np.zeros(s, bool) for s in shapes], samples_of=velocity.grid)
        self._liquid: list[Bools] = [np.zeros(s, bool) for s in shapes]
        self._near: list[Bools] = []

    def liquid(self, levelset: LevelSet) -> list[Bools]:
        """Return the faces next to liquid; overwritten by the next call."""
        _fluids.liquid_faces(levelset.field._core, self._liquid)
        return self._liquid

    def extend(
        self,
        velocity: MacField,
        levelset: LevelSet,
        solid: SolidBoundary | None,
        band: int,
        workspace: Workspace,
        time: float = 0.0,
        walls: ThinWalls | None = None,
    ) -> None:
        """Extend the velocity from the liquid faces into `band` cells of air, then into the solid; elsewhere it becomes zero.

        Without free slip, faces in the solid get its velocity.
        """
        if self._two_fluids:
            self._slow_light_faces(velocity, levelset, solid)
        self._extend_into_air(velocity, levelset, solid, band, workspace)
        if walls is not None:
            walls.extend_faces(velocity, levelset.field, self._liquid, self.known, band)
        if walls is None or solid is None:
            extend_into_solid(velocity, self.known, solid, workspace)
        else:
            before = [mask.copy() for mask in self.known]
            extend_into_solid(velocity, self.known, solid, workspace)
            walls.continue_faces(before, self.known, velocity)
        if walls is not None:
            walls.hold_faces(velocity)
        if solid is not None:
            solid.set_solid_velocity(velocity)
        if self._solver is not None:
            self._balance(velocity, levelset, solid, time, walls)

    def extend_acceleration(
        self, acceleration: MacField, levelset: LevelSet, solid: SolidBoundary | None, band: int, workspace: Workspace
    ) -> None:
        """Extend an acceleration from the liquid faces likewise, into a solid as well, but zero where faces are closed."""
        self._extend_into_air(acceleration, levelset, solid, band, workspace)
        extend_into_solid(acceleration, self.known, solid, workspace)
        if solid is not None:
            _grid.assign_faces(acceleration._core, 0.0, solid.inside_faces, True)

    def _extend_into_air(self, field: MacField, levelset: LevelSet, solid: SolidBoundary | None, band: int, workspace: Workspace) -> None:
        # A face that is mostly closed may let out at any speed what a solid displaces; the flow beside it is what carries.
        closed = None if solid is None else solid.inside_faces
        masks = closed, band * field.grid.spacing, self._liquid, self.known
        _fluids.extend_from_liquid(field._core, levelset.field._core, *masks, workspace)

    def _slow_light_faces(self, velocity: MacField, levelset: LevelSet, solid: SolidBoundary | None) -> None:
        """Limit the velocity on faces of the liquid that are mostly in the air, in gaps to that of faces that are not.

        They have gone along with the air, and in a gap that is much faster than the liquid, which would inherit their speed as it fills it.
        """
        assert self._bounds is not None
        _fluids.mostly_liquid_faces(levelset.field._core, self._liquid)
        if solid is not None:
            # Closed, and whatever has been there says nothing: the extension replaces it.
            _grid.assign_faces(velocity._core, 0.0, solid.inside_faces, True)
            _grid.unite_masks(self._liquid, solid.inside_faces, self._liquid)
        _fluids.near_air_cells(levelset.field._core, _BALANCED * levelset.grid.spacing, self._air)
        _fluids.limit_air_speed(velocity._core, levelset.field._core, self._air, self._liquid, _GAP_SPEED, self._bounds._core)

    def _balance(self, velocity: MacField, levelset: LevelSet, solid: SolidBoundary | None, time: float, walls: ThinWalls | None) -> None:
        """Make the velocity in the air around the liquid divergence-free without changing that of the liquid.

        Constant extension creates volume where the liquid stretches along its normal: half a cell of it, wherever the surface lies beyond
        the last liquid face. In narrow gaps the speed of the air is limited, though, and faces that are mostly closed keep the velocity of
        the solid: liquid that flows in behind air that is pressed out of a gap would inherit its speed.
        """
        assert self._bounds is not None
        closed = [] if solid is None else [solid.inside_faces]
        if walls is not None:
            closed.append(walls.blocked_faces)
        _fluids.air_around_liquid(levelset.field._core, _BALANCED * levelset.grid.spacing, closed, self._air, self._liquid)
        project(
            velocity,
            _NO_PRESSURE_TIME,
            solid,
            liquid=self._air,
            given_faces=self._liquid,
            tolerance=self._tolerance,
            time=time,
            raise_on_failure=False,
            solver=self._solver,
        )
        _fluids.limit_air_speed(velocity._core, levelset.field._core, self._air, self._liquid, _GAP_SPEED, self._bounds._core)

    def near_surface(self, levelset: LevelSet, distance: float) -> list[Bools]:
        """Return the faces beside cells closer to the surface than a distance, m; overwritten by the next call."""
        if not self._near:
            self._near = [np.zeros(m.shape, bool) for m in self.known]
        _fluids.near_surface_faces(levelset.field._core, distance, self._near)
        return self._near

    def max_speed(self, velocity: MacField, levelset: LevelSet) -> float:
        """Return the largest component on faces next to liquid, m/s; infinite if one of them is not finite."""
        return float(_grid.max_component_speed_in(velocity._core, self.liquid(levelset)))

    def motion(self, velocity: MacField, levelset: LevelSet, solid: SolidBoundary | None) -> tuple[float, float]:
        """Return the kinetic energy of the liquid per density, m^(dim + 2)/s^2, and `max_speed`; a face represents the liquid in half of
        each cell next to it, without what is in the solid.
        """
        nodes = None if solid is None else solid.levelset._core
        return _fluids.liquid_motion(velocity._core, levelset.field._core, nodes, self._liquid)
