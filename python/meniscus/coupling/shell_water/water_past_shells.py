"""The surface of water beside thin shells, and the drops there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import coupling as _coupling
from meniscus.core import Workspace
from meniscus.coupling.shell_water.marker_distances import MarkerDistances
from meniscus.coupling.shell_water.near_particles import NearParticles, near_walls
from meniscus.coupling.shell_water.ways_past_shells import WayEnds, ends_of_ways, reach_of_ways
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.fluids.liquid.surface import LiquidSurface
from meniscus.fluids.liquid.volume import LiquidVolume
from meniscus.grid import Particles
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.transport.advection import TRACE, max_speed
from meniscus.surface import LevelSet, ParticleLevelSet, SolidBoundary

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_core: Any = _coupling  # overloaded over dimension and scalar
_SIGHT = 0  # cells from a wall within which a point may not see all corners of its cell
_PUSHES = 1  # cells from a wall within which a marker may be nearer to it than its distance
_LAYERS = 7  # cells that a level set is continued into a solid
_RADII_MARGIN = 3.0  # cells beyond the band of markers within which the level set is kept a distance


class WaterPastShells:
    """What a `LiquidSurface` does near walls, in place of its own ways: all that it reads is seen from its own side.

    Away from walls the level set, markers and drops take the ordinary ways, with the same bits.

    Args:
        surface: of the liquid.
        velocity: of the liquid; gives the sides through which particles leave.
        volume: of the liquid, whose parts are from now on those that walls part.
        distances: that markers of the water keep from shells; None: none.

    Attributes:
        walls: as they are now, within a step: those at its start, or at its end.
        swept: samples of the level set that shells have passed or cover in the last step.
        replaced: of which no visible neighbour knew a value.
        deleted: markers of the last step that found no way past the shells.
        deleted_drops: drops likewise.
        pushed: markers of the last step that were pushed to their distance.
        blocked: markers that are nearer to a shell than that, as their way out is not free.
    """

    def __init__(self, surface: LiquidSurface, velocity: MacField, volume: LiquidVolume, distances: MarkerDistances | None = None) -> None:
        self._surface, self._velocity, self._volume, self._distances = surface, velocity, volume, distances
        levelset = surface.levelset
        self._before = CellField(levelset.grid, levelset.dtype)
        self._old_velocity = MacField(levelset.grid, levelset.dtype, velocity.boundary)
        self._workspace = Workspace()
        self._start: ShellWalls | None = None
        self._end: ShellWalls | None = None
        self.walls: ShellWalls
        self._way = 0.0
        self._older_drops = 0
        self._resting: Bools = np.zeros(0, bool)
        self.swept = self.replaced = self.deleted = self.deleted_drops = self.pushed = self.blocked = 0

    def between(self, start: ShellWalls, end: ShellWalls, way: float = 0.0) -> None:
        """Set the walls at the start and at the end of a step, and how far they go at most, m; the transport begins with the first."""
        self._start, self._end, self._way = start, end, way
        self.walls = start
        self._volume.see_walls(start)

    def leave(self) -> None:
        """Let the liquid see no walls."""
        self._surface.shells = None
        self._volume.see_walls(None)

    def moved(self) -> None:
        """Let stages from now on see the walls at the end."""
        assert self._end is not None
        self.walls = self._end

    # --- the level set -----------------------------------------------------------------------------------------------------------

    def redistance(self, levelset: LevelSet, band: float, ordinary: Any, outside: Bools | None = None) -> None:
        """Redistance by an ordinary method, and anew where that may have looked through a wall; `outside`: cells not in a solid."""
        self._before.array[...] = levelset.array
        ordinary()
        _core.redistance_past_walls(levelset.field._core, self._before._core, self.walls._core, band, outside, self._workspace)
        if outside is not None:
            # Markers see what the pressure sees: distances lead around shells in a solid.
            self.walls.continue_level(levelset.field, outside, band, _LAYERS)

    def levels(self, positions: Floats) -> Floats:
        """Return the level set at points (n, dim), m, as each sees it; NaN where it sees none."""
        values: Floats = _core.sample_level_past_walls(self._surface.levelset.field._core, self.walls._core, positions, 0.0)
        return values

    def _advect_level(self, velocity: MacField, dt: float, width: float, trace: str, time: float, reach: int) -> None:
        field = self._surface.levelset.field._core
        args = self._before._core, velocity._core, self.walls._core, dt, width, reach, TRACE("trace", trace), time
        _core.advect_level_past_walls(field, *args)

    def _uncover(self, solid: SolidBoundary | None) -> None:
        """See the walls where they are now, and give samples that they have passed, or cover, values of their new side."""
        assert self._start is not None
        assert self._end is not None
        levelset = self._surface.levelset
        cells = self._start.swept(self._end, (0,) * levelset.grid.dimension)
        self.moved()
        self._volume.see_walls(self._end, self._start, cells)
        h, levels = levelset.grid.spacing, levelset.array
        # What nothing reaches is air where a shell has passed, and keeps its value where one stands on it.
        passed = cells & ~self._end.swept(self._end, (0,) * levelset.grid.dimension)
        levels[passed] = h
        if solid is None:
            self._end.continue_level(levelset.field, ~cells, None)
        else:
            # The solid holds values of the old sides, and no way leads through it.
            near = self._end.clearance() <= _LAYERS + 1
            levels[~solid.outside_cells & near] = self._surface.band
            self._end.continue_level(levelset.field, solid.outside_cells & ~cells, None, _LAYERS)
            far = cells & ~near
            if far.any():
                self._end.continue_level(levelset.field, ~far, None)
        self.swept, self.replaced = int(cells.sum()), int((levels[passed] == levels.dtype.type(h)).sum())

    def continue_into(self, solid: SolidBoundary) -> None:
        """Find the level set in a solid anew where what continued it may have looked through a wall."""
        self.walls.continue_level(self._surface.levelset.field, solid.outside_cells, self._surface.band, _LAYERS)

    # --- a step ------------------------------------------------------------------------------------------------------------------

    def advance(self, velocity: MacField, dt: float, time: float, solid: SolidBoundary | None = None) -> None:
        """Advect the surface for dt while the shells move, correct it by markers, and redistance it; around a solid at the end of dt."""
        particles = self._surface.particles
        if particles is None:
            self._advance_level_set(velocity, dt, time, solid)
        else:
            self._older_drops = len(particles.spray)
            self._advance_with_markers(particles, velocity, dt, time, solid)

    def carry_velocity(self, velocity: MacField, ordinary: Callable[[], None], known: Sequence[Bools], dt: float, time: float) -> None:
        """Let a velocity carry itself by an ordinary method, and past the walls where they were at the start near these."""
        assert self._start is not None
        for d in range(velocity.grid.dimension):
            self._old_velocity.component(d)[...] = velocity.component(d)
        reach = self._reach(velocity, dt)
        ordinary()
        trace = TRACE("trace", self._surface.trace)
        for d, mask in enumerate(known):
            args = velocity._core, d, self._old_velocity._core, self._start._core, mask, dt, reach, trace, time
            _core.advect_faces_past_walls(*args)

    def _advance_level_set(self, velocity: MacField, dt: float, time: float, solid: SolidBoundary | None) -> None:
        surface = self._surface
        self._before.array[...] = surface.levelset.array
        reach = self._reach(velocity, dt)
        surface.advect_band(velocity, dt, time)
        self._advect_level(velocity, dt, surface.band, surface.trace, time, reach)
        self._uncover(solid)
        surface.redistance(solid)

    def _advance_with_markers(self, p: ParticleLevelSet, velocity: MacField, dt: float, time: float, solid: SolidBoundary | None) -> None:
        o, h, end = p.options, p.grid.spacing, time + dt
        speed = max_speed(velocity)
        reach = self._reach(velocity, dt)
        self._before.array[...] = p.levelset.array
        near = self._taken(p.particles, reach)
        p.advect(velocity, dt, solid=solid, time=time)
        self._advect_level(velocity, dt, p.band + math.sqrt(p.grid.dimension) * speed * dt + h, o.transport.trace, time, reach)
        near = self._move_markers(near, velocity, dt, time)
        self._uncover(solid)
        # Those that did not come near before the step see all around them after it.
        beside = near_walls(self.walls, near.positions, _SIGHT)
        near.kept(~beside).put_back(p.particles)
        near = near.kept(beside)
        self._correct(p, near, end)
        band = (max(o.radii[1], 1.0) + _RADII_MARGIN - 1.0 + o.band) * h + dt * speed
        outside = None if solid is None else solid.outside_cells
        self.redistance(p.levelset, band, lambda: p.redistance(dt * speed, outside=outside), outside)
        self._correct(p, near, end)
        fused = o.radii_from == "flow"
        p._remove_escaped(velocity, end, adjust_far=fused)
        if not fused:
            p.adjust_radii(time=end)
        self._sorted_out(p, near, velocity, end).put_back(p.particles)
        p.steps += 1
        if o.reseed_every is not None and p.steps % o.reseed_every == 0:
            if o.reset_radii_on_reseed:
                p.reset_radii(time=end)
            added = p.reseed(solid=solid, time=end).added
            self.remove_hidden_seeds(added)

    def accept_levelset(self, p: ParticleLevelSet, moved: float) -> None:
        """Accept a surface that was moved by at most a distance, m: markers that it has passed go, and radii are set from it."""
        near = self._taken(p.particles, _SIGHT)
        p.accept_levelset(moved)
        depth = near.columns["sign"].astype(np.float64) * self.levels(near.positions)
        near = near.kept(~((depth <= 0) & (depth >= -moved)))
        depth = near.columns["sign"].astype(np.float64) * self.levels(near.positions)
        least, most = (r * p.grid.spacing for r in p.options.radii)
        own = depth >= 0
        near.columns["radius"][own] = np.clip(depth[own], least, most)
        near.put_back(p.particles)

    def _correct(self, p: ParticleLevelSet, near: NearParticles, time: float) -> None:
        p.correct(time=time)
        if len(near):
            c = near.columns
            args = near.positions, self.levels(near.positions), c["sign"], c["radius"].astype(np.float64), 0.0
            _core.correct_past_walls(p.levelset.field._core, self.walls._core, *args)

    def _sorted_out(self, p: ParticleLevelSet, near: NearParticles, velocity: MacField, time: float) -> NearParticles:
        """Set radii from the level set, and remove markers that have escaped too far; those of water become drops."""
        o, h = p.options, p.grid.spacing
        signs, radii = near.columns["sign"].astype(np.float64), near.columns["radius"]
        depth = signs * self.levels(near.positions)
        own = depth >= 0
        radii[own] = np.clip(depth[own], o.radii[0] * h, o.radii[1] * h)
        escaped = -depth > o.escaped.removal_distance * radii
        outside = (signs > 0) & escaped
        if o.escaped.max_outside_depth is not None:
            outside |= (signs > 0) & (-depth > o.escaped.max_outside_depth * h)
        gone = outside if o.escaped.escaped_outside == "delete" else np.zeros(len(near), bool)
        drops = (signs < 0) & escaped
        if o.escaped.spray and drops.any():
            x = near.positions[drops]
            radius = o.removed_radius(p.grid.dimension) * h or near.columns["radius"][drops]
            v = (_core.trace_past_walls(velocity._core, self.walls._core, x, 1e-6 * h, time) - x) / (1e-6 * h)
            dtype = p.dtype
            p.spray.append(
                x.astype(dtype), velocity=v.astype(dtype), radius=np.broadcast_to(radius, len(x)).astype(dtype), **near.kept(drops).followed
            )
            gone = gone | drops
        return near.kept(~gone)

    def _move_markers(self, near: NearParticles, velocity: MacField, dt: float, time: float) -> NearParticles:
        self.deleted = self.pushed = self.blocked = 0
        if len(near) == 0:
            return near
        x, flow, walls = near.positions, velocity._core, self.walls._core
        distances = None
        if self._distances is None:
            targets = _core.trace_past_walls(flow, walls, x, dt, time)
        else:
            distances = self._distances.of(near.ids, near.columns["sign"], velocity.grid.spacing)
            targets = _core.trace_at_distance(flow, walls, x, distances, dt, time)
        ways = self._ends(x, targets, dt, distances)
        self.deleted, self.pushed, self.blocked = (int(w.sum()) for w in (ways.lost, ways.pushed, ways.blocked))
        near.positions = ways.positions
        self._shrink(near.columns["radius"], ways.pushed)
        return near.kept(~(ways.lost | ways.left))

    def _shrink(self, radii: npt.NDArray[Any], pushed: Bools) -> None:
        """Give markers that were pushed the smallest radius: they are not where the flow would have them."""
        p = self._surface.particles
        assert p is not None
        radii[pushed] = np.minimum(radii[pushed], p.options.radius_bounds[0] * p.grid.spacing)

    def _push_seeds(self, markers: Particles, rows: npt.NDArray[np.intp], distances_of: MarkerDistances) -> None:
        """Push new markers to their distance."""
        x, walls = np.array(markers.positions[rows], np.float64), self.walls._core
        distances = distances_of.of(markers.ids[rows], markers["sign"][rows], self.walls.grid.spacing)
        places, _ = _core.push_from_shells(walls, walls, x, x, distances, markers.positions.dtype == np.float32)
        markers.positions[rows] = places

    def _ends(self, x: Floats, aims: Floats, dt: float, distances: Floats | None = None) -> WayEnds:
        assert self._start is not None
        assert self._end is not None
        return ends_of_ways(self._velocity, self._start, self._end, x, aims, dt, self._surface.levelset.dtype, distances)

    def remove_hidden_seeds(self, count: int) -> None:
        """Of the last `count` markers, remove those that are not on the side of the surface that they see, and set the radii of others."""
        p = self._surface.particles
        if p is None or count == 0:
            return
        markers = p.particles
        first = len(markers) - count

        def beside() -> npt.NDArray[np.intp]:
            return first + np.flatnonzero(near_walls(self.walls, np.ascontiguousarray(markers.positions[first:]), _PUSHES))

        if self._distances is not None:
            self._push_seeds(markers, beside(), self._distances)
        rows = beside()
        depth = markers["sign"][rows] * self.levels(np.array(markers.positions[rows], np.float64))
        h, wrong = p.grid.spacing, np.zeros(len(markers), bool)
        wrong[rows] = ~((depth > 0) & (depth < p.band))
        # Radii that were set through a wall reach as far as the water on its other side is deep.
        least, most = (r * h for r in p.options.radii)
        markers["radius"][rows] = np.clip(depth, least, most)
        if wrong.any():
            markers.remove(wrong, workspace=self._workspace)

    # --- drops -------------------------------------------------------------------------------------------------------------------

    def take_drops(self, spray: Particles, dt: float, gravity: Floats) -> NearParticles:
        """Take the drops that may meet a shell within dt out of their set."""
        fastest = float(np.abs(spray["velocity"]).max(initial=0.0)) + dt * float(np.abs(gravity).max())
        assert self._start is not None
        mask = near_walls(self._start, spray.positions, reach_of_ways(fastest * dt + self._way, self.walls.grid.spacing))
        # Those that are new have gone all their way in this step as markers.
        self._resting = np.flatnonzero(mask) >= self._older_drops
        return NearParticles.taken(spray, mask, self._workspace)

    def fly(self, near: NearParticles, dt: float, gravity: Floats, drag: float) -> tuple[NearParticles, Floats]:
        """Let drops fly for dt while the shells move; return those that are left, and the radii of those that have left the domain.

        What finds no way past the shells goes back to the water around it.
        """
        resting, near = near.kept(self._resting), near.kept(~self._resting)
        v = near.columns["velocity"].astype(np.float64)
        if drag > 0:
            slower = -math.expm1(-drag * dt) / drag
            after, way = v + (gravity - drag * v) * slower, v * slower + gravity * (dt - slower) / drag
        else:
            after, way = v + dt * gravity, dt * v + 0.5 * dt**2 * gravity
        ways = self._ends(near.positions, near.positions + way, dt)
        self.deleted_drops = int(ways.lost.sum())
        beside = near.positions[ways.lost]
        after[ways.met] = ways.velocities[ways.met]
        near.positions = ways.positions
        near.columns["velocity"] = after.astype(self._surface.levelset.dtype)
        self._give_back(beside, near.columns["radius"][ways.lost])
        return near.kept(~(ways.lost | ways.left)).joined(resting), near.columns["radius"][ways.left].astype(np.float64)

    def drops_beside_shells(self, spray: Particles) -> NearParticles:
        """Take the drops that may not see all around them out of their set."""
        return self._taken(spray, _SIGHT)

    def rejoin(self, near: NearParticles) -> None:
        """Make markers of the drops that touch the water that they see, and put the others back."""
        p = self._surface.particles
        assert p is not None
        touches = self.levels(near.positions) <= near.columns["radius"]
        joining, h = near.kept(touches), p.grid.spacing
        near.kept(~touches).put_back(p.spray)
        if len(joining):
            self._give_back(joining.positions, joining.columns["radius"])
            least, most = (r * h for r in p.options.radii)
            radius = np.clip(joining.columns["radius"], least, most).astype(p.dtype)
            p.particles.append(
                joining.positions.astype(p.dtype), sign=np.full(len(joining), -1, np.int8), radius=radius, **joining.followed
            )

    def _give_back(self, positions: Floats, radii: npt.NDArray[Any]) -> None:
        """Expect the volumes of drops at positions (n, dim), m, of the water around them."""
        if len(positions):
            ball = math.pi if positions.shape[1] == 2 else 4 / 3 * math.pi
            volumes = ball * radii.astype(np.float64) ** positions.shape[1]
            self._volume.add_volumes(np.ascontiguousarray(positions), volumes, None)

    # --- parts -------------------------------------------------------------------------------------------------------------------

    def _taken(self, particles: Particles, reach: int) -> NearParticles:
        return NearParticles.taken(particles, near_walls(self.walls, particles.positions, reach), self._workspace)

    def _reach(self, velocity: MacField, dt: float) -> int:
        return reach_of_ways(max_speed(velocity) * dt + self._way, velocity.grid.spacing)
