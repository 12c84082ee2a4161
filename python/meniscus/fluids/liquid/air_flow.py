"""Air around a liquid as a fluid with a velocity of its own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.core.stateful import Stateful
from meniscus.fluids.liquid.options import LiquidOptions
from meniscus.fluids.schemes import carry_velocity
from meniscus.fluids.stages import extend_into_solid
from meniscus.grid.fields import MacField, component_shapes
from meniscus.grid.transport.advection import max_speed
from meniscus.surface import LevelSet, SolidBoundary

_CELLS_PER_STEP = 4.0
# Air may pass this many times as many cells in a step as the liquid: its transport is stable for any step, and between solid and liquid
# it is many times as fast.


class AirFlow(Stateful):
    """The velocity of air that shares one pressure solve with a liquid.

    Liquid and air are carried by velocities of their own, and become one between transport and projection, by mass. Liquid that took up the
    velocity of air beside it would gain a thousand times the energy that the air has lost.

    Args:
        velocity: of the liquid; gives grid, dtype and boundary.
        options: of the solver.

    Attributes:
        velocity: of the air, m/s; within the liquid as of the last step.
        cells: bool array over the cells, all True: all air is solved for.

    Source: Sussman, Smith, Hussaini, Ohta and Zhi-Wei 2007, "A sharp interface method for incompressible two-phase flows", section 3 (a
    liquid velocity extended into the gas, which carries the surface and the liquid).
    """

    def __init__(self, velocity: MacField, options: LiquidOptions) -> None:
        self._options = options
        self.velocity = self.declare("velocity", MacField(velocity.grid, velocity.dtype, velocity.boundary))
        self.cells: npt.NDArray[np.bool_] = np.ones(velocity.grid.local_shape, bool)
        self._known = [np.zeros(s, bool) for s in component_shapes(velocity.grid)]

    @property
    def limiting_speed(self) -> float:
        """Speed of the air as it counts for the length of a step, m/s."""
        return max_speed(self.velocity) / _CELLS_PER_STEP

    def advect(self, dt: float, time: float, workspace: Workspace) -> None:
        """Let the air carry its own velocity for dt."""
        carry_velocity(self.velocity, dt, self._options.transport, time=time, workspace=workspace)

    def unite_with(self, velocity: MacField, levelset: LevelSet) -> None:
        """Add the air to the velocity of the liquid: each face gets the mean by the mass of both that is around it."""
        _fluids.unite_velocities(
            velocity._core, self.velocity._core, levelset.field._core, self._options.air_density / self._options.density
        )

    def separate_from(self, velocity: MacField, solid: SolidBoundary | None, workspace: Workspace) -> None:
        """Take over the velocity of both fluids after a projection, continued into the solid."""
        self.velocity.assign(velocity)
        for d, known in enumerate(self._known):
            if solid is None:
                known[...] = True
            else:
                np.logical_not(solid.inside_faces[d], out=known)
        extend_into_solid(self.velocity, self._known, solid, workspace)
        if solid is not None:
            solid.set_solid_velocity(self.velocity)
