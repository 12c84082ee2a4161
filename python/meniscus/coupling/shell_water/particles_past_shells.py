"""A particle liquid beside thin shells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import coupling as _coupling
from meniscus.core import Workspace
from meniscus.coupling.shell_water.near_particles import near_walls
from meniscus.coupling.shell_water.ways_past_shells import ends_of_ways, reach_of_ways
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.grid import Particles
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.transport.advection import max_speed
from meniscus.surface import LevelSet

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
_Near = tuple[Bools, npt.NDArray[Any]]

_core: Any = _coupling  # overloaded over dimension and scalar
_SIGHT = 0  # cells from a wall within which a particle may not see all faces around it


class ParticlesPastShells:
    """What particles, faces and the surface of a `ParticleLiquidSolver` do near walls: each has to do with what is on its side alone.

    Away from walls all is as without, with the same bits.

    Args:
        velocity: of the liquid; gives the sides at which particles end.
        now: returns the walls where the shells are, between steps.

    Attributes:
        deleted: particles of the last step that found no way past the shells.
    """

    def __init__(self, velocity: MacField, now: Callable[[], ShellWalls]) -> None:
        self._velocity, self._now = velocity, now
        self._workspace = Workspace()
        self._walls: ShellWalls | None = None
        self._start: ShellWalls | None = None
        self._end: ShellWalls | None = None
        self._way = 0.0
        self.deleted = 0

    @property
    def walls(self) -> ShellWalls:
        """The walls that all sees now: in a step those at its start, and from `moved` on those at its end."""
        return self._now() if self._walls is None else self._walls

    def between(self, start: ShellWalls, end: ShellWalls, way: float) -> None:
        """Begin a step with the walls at its start and at its end, and how far they go at most, m."""
        self._start, self._end, self._way = start, end, way
        self._walls, self.deleted = start, 0

    def moved(self) -> int:
        """See the walls at the end from now on, and give faces that they have passed velocities of their new side; return their number."""
        assert self._start is not None
        assert self._end is not None
        self._walls, count = self._end, 0
        for d in range(self._velocity.grid.dimension):
            faces = self._start.swept(self._end, tuple(int(a == d) for a in range(self._velocity.grid.dimension)))
            count += self._end.revalidate_faces(self._velocity, d, faces)[0]
        self._end.hold_faces(self._velocity)
        return count

    def leave(self) -> None:
        """End a step."""
        self._walls = self._start = self._end = None

    # --- faces -------------------------------------------------------------------------------------------------------------------

    def faces_from_particles(self, particles: Particles, velocity: MacField, known: list[Bools]) -> None:
        """Set the faces near walls, and their masks, from the particles that see them."""
        _core.particles_to_faces_past_walls(particles._core, velocity._core, self.walls._core, known, self._workspace)

    def fill_blocked_faces(self, velocity: MacField, known: Sequence[Bools]) -> None:
        """Give the velocity of the walls to those of the faces that they block that no particle sees."""
        before = self.blocked_values(velocity)
        self.walls.hold_faces(velocity)
        for d, (blocked, values) in enumerate(zip(self.walls.blocked_faces, before, strict=True)):
            seen = known[d][blocked]
            held = velocity.component(d)[blocked]
            held[seen] = values[seen]
            velocity.component(d)[blocked] = held

    def blocked_values(self, velocity: MacField) -> list[npt.NDArray[Any]]:
        """Return the values of the faces that walls block, per axis."""
        return [np.array(velocity.component(d)[blocked]) for d, blocked in enumerate(self.walls.blocked_faces)]

    def set_blocked(self, velocity: MacField, values: Sequence[npt.NDArray[Any] | float]) -> None:
        """Set the values of the faces that walls block, per axis."""
        for d, blocked in enumerate(self.walls.blocked_faces):
            velocity.component(d)[blocked] = values[d]

    def extend(self, velocity: MacField, levelset: LevelSet, sources: Sequence[Bools], known: Sequence[Bools], band: int) -> None:
        """Find the values of an extended velocity anew where the extension may have looked through a wall."""
        self.walls.extend_faces(velocity, levelset.field, sources, known, band)

    # --- particles ---------------------------------------------------------------------------------------------------------------

    def particles_near(self, particles: Particles) -> _Near:
        """Return which particles may not see all faces around them, and their velocities."""
        mask = near_walls(self.walls, particles.positions, _SIGHT)
        return mask, np.array(particles["velocity"][mask])

    def faces_to_particles(
        self, velocity: MacField, particles: Particles, near: _Near, before: MacField | None, flip_ratio: float, time: float
    ) -> None:
        """Set the velocities of particles near walls from the faces that they see, as `grid_to_particles` does with all."""
        mask, own = near
        if not mask.any():
            return
        x = np.array(particles.positions[mask], np.float64)
        values, gradients = _core.sample_velocity_past_walls(velocity._core, self.walls._core, x, time)
        if before is not None:
            values = values + flip_ratio * (own - _core.sample_velocity_past_walls(before._core, self.walls._core, x, time)[0])
        particles["velocity"][mask] = values
        if "affine" in particles.columns:
            particles["affine"][mask] = gradients

    def levels(self, levelset: LevelSet, positions: npt.NDArray[Any]) -> Floats:
        """Return a level set at points (n, dim), m, as each sees it; NaN where it sees none."""
        points = np.array(positions, np.float64)
        values: Floats = _core.sample_level_past_walls(levelset.field._core, self.walls._core, points, 0.0)
        return values

    def update_distances(self, particles: Particles, positions: CellField, dt: float, time: float) -> None:
        """Let the distances of particles near walls follow the surface of the positions that they see."""
        args = positions._core, self._velocity._core, self.walls._core, dt, time
        _core.update_distances_past_walls(particles._core, *args)

    def ways(self, particles: Particles, velocity: MacField, dt: float, time: float) -> tuple[Bools, Floats, Bools]:
        """Return which particles may meet a shell within dt, where these end on their side of it, m, and which of them find no way.

        They go with the velocity that they see, and along a shell that they would meet, else with it.
        """
        if self._start is None:
            raise RuntimeError("a liquid of particles beside shells must be stepped by its ShellCoupling")
        spacing = velocity.grid.spacing
        mask = near_walls(self._start, particles.positions, reach_of_ways(max_speed(velocity) * dt + self._way + spacing, spacing))
        x = np.array(particles.positions[mask], np.float64)
        if len(x) == 0:
            return mask, x, np.zeros(0, bool)
        aims = _core.trace_past_walls(velocity._core, self._start._core, x, dt, time)
        assert self._end is not None
        ways = ends_of_ways(self._velocity, self._start, self._end, x, aims, dt, particles.positions.dtype)
        return mask, ways.positions, ways.lost

    def count_particles(self, particles: Particles, density: CellField, full: float, workspace: Workspace) -> None:
        """Set the density (particles a cell) of cells near walls from the particles that these see, for the space that they see."""
        _core.particle_density_past_walls(particles._core, density._core, self.walls._core, full, workspace)

    def particles_of_parts(self, particles: Particles, labels: npt.NDArray[np.int32], parts: int) -> npt.NDArray[np.int64]:
        """Return how many particles are in cells of each label: those of a particle whose centre it sees."""
        cells = _core.home_cells(self.walls._core, np.array(particles.positions, np.float64))
        return np.bincount(labels.ravel()[cells[cells >= 0]], minlength=parts)[:parts]

    def shifted_distances(self, particles: Particles, levelset: LevelSet, factor: float) -> _Near:
        """Return which particles may not see all around them, and their distances with the height of a level set that they see above its
        value in full cells, times a factor. Those that see none keep theirs.
        """
        mask = near_walls(self.walls, particles.positions, _SIGHT)
        own = np.array(particles["distance"][mask])
        told = own + factor * (self.levels(levelset, particles.positions[mask]) + levelset.grid.spacing)
        return mask, np.where(np.isfinite(told), told, own).astype(own.dtype)

    def shifts(self, particles: Particles, shift: MacField) -> tuple[Bools, Floats, Bools]:
        """Return which particles a displacement (m, as a velocity for one second) may take to a wall, and where these end; none is lost."""
        walls, spacing = self.walls, shift.grid.spacing
        mask = near_walls(walls, particles.positions, reach_of_ways(max_speed(shift) + spacing, spacing))
        x = np.array(particles.positions[mask], np.float64)
        if len(x):
            aims = x + _core.sample_velocity_past_walls(shift._core, walls._core, x, 0.0)[0]
            ways = ends_of_ways(shift, walls, walls, x, aims, 1.0, particles.positions.dtype)
            # What finds no way has none to go.
            x = np.where(ways.lost[:, None], x, ways.positions)
        return mask, x, np.zeros(len(x), bool)

    def go(self, particles: Particles, ways: tuple[Bools, Floats, Bools]) -> None:
        """Move particles to the ends of their ways, and remove those that have none."""
        mask, ends, lost = ways
        particles.positions[mask] = ends
        if lost.any():
            gone = np.zeros(len(particles), bool)
            gone[mask] = lost
            particles.remove(gone, workspace=self._workspace)
            self.deleted += int(lost.sum())
