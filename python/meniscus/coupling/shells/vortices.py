"""Vortex particles beside thin shells."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import coupling as _coupling
from meniscus.core import Workspace
from meniscus.coupling.shell_water.near_particles import NearParticles, near_walls
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.fluids.vorticity.vortex_particles import VortexParticles
from meniscus.grid.fields import MacField
from meniscus.grid.particles.domain_ends import brought_within
from meniscus.grid.transport.advection import max_speed

Floats = npt.NDArray[np.float64]

_core: Any = _coupling  # overloaded over dimension and scalar
_MOST = 15  # cells: clearances above are not told apart
_LOST = 2


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
        h = velocity.grid.spacing
        reach = math.ceil((max_speed(velocity) * dt + way) / h) + 1
        mask = near_walls(start, particles.positions, reach if reach < _MOST else 255)
        near = NearParticles.taken(particles, mask, Workspace())
        self.deleted = 0
        if len(near):
            targets = _core.trace_past_walls(velocity._core, start._core, near.positions, dt, time)
            left = brought_within(velocity, targets)
            walls, dtype = (start._core, end._core), particles.positions.dtype
            stops, _, ends = _core.stop_at_shells(*walls, near.positions, targets.astype(dtype).astype(np.float64), dt)
            left |= brought_within(velocity, stops)
            rounded = stops.astype(dtype).astype(np.float64)
            # Rounding may have brought it across.
            lost = (ends == _LOST) | (
                (rounded != targets).any(axis=1) & (_core.stop_at_shells(*walls, near.positions, rounded, dt)[2] != 0)
            )
            self.deleted = int((lost & ~left).sum())
            near.positions = rounded
            near = near.kept(~(lost | left))
        self._near = near

    def put_back(self, levels: Any = None) -> None:
        """Put particles back where they have got to; with `levels`, a function of positions (n, dim), only those where it is negative."""
        near = self._near
        if levels is not None and len(near):
            near = near.kept(levels(near.positions) <= 0)
        near.put_back(self._particles)
