"""Vortex particles beside thin shells."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import coupling as _coupling
from meniscus.core import Workspace
from meniscus.coupling.shell_water.near_particles import NearParticles, near_walls
from meniscus.coupling.shell_water.ways_past_shells import ends_of_ways, reach_of_ways
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.fluids.vorticity.vortex_particles import VortexParticles
from meniscus.grid.fields import MacField
from meniscus.grid.transport.advection import max_speed

Floats = npt.NDArray[np.float64]

_core: Any = _coupling  # overloaded over dimension and scalar


class VorticesPastShells:
    """Moves vortex particles that may meet a shell in a step, and keeps them on their side of it.

    They go with the velocity that they see, and along a shell that they would meet; what finds no way is removed. They keep their
    vorticity: its change needs gradients of the velocity, which a shell parts.

    Args:
        particles: of the fluid.
        velocity: of the fluid; gives the sides through which particles leave.
        start: walls at the start of the step.
        end: the same walls at its end.
        way: how far they go at most, m.
        dt: seconds.
        time: at the start, s.

    Attributes:
        deleted: number of particles that found no way.
    """

    def __init__(
        self, particles: VortexParticles, velocity: MacField, start: ShellWalls, end: ShellWalls, way: float, dt: float, time: float
    ) -> None:
        self._particles = particles
        reach = reach_of_ways(max_speed(velocity) * dt + way, velocity.grid.spacing)
        near = NearParticles.taken(particles, near_walls(start, particles.positions, reach), Workspace())
        self.deleted = 0
        if len(near):
            aims = _core.trace_past_walls(velocity._core, start._core, near.positions, dt, time)
            ways = ends_of_ways(velocity, start, end, near.positions, aims, dt, particles.positions.dtype)
            self.deleted = int(ways.lost.sum())
            near.positions = ways.positions
            near = near.kept(~(ways.lost | ways.left))
        self._near = near

    def put_back(self, levels: Any = None) -> None:
        """Put particles back where they have got to; with `levels`, a function of positions (n, dim), only those where it is negative."""
        near = self._near
        if levels is not None and len(near):
            near = near.kept(levels(near.positions) <= 0)
        near.put_back(self._particles)
