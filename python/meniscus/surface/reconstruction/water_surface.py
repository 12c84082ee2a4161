"""Surface of water that is on a grid, in tetrahedra and in drops, carried along from frame to frame."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.core.stateful import Stateful, exclusively
from meniscus.grid import Grid, MacField, ZeroGradient, sample
from meniscus.parallel.communicator import one_rank
from meniscus.surface.levelset import LevelSet
from meniscus.surface.markers.options import ParticleOptions
from meniscus.surface.markers.particle_levelset import ParticleLevelSet
from meniscus.surface.markers.particle_sets import no_markers
from meniscus.surface.reconstruction.flow import GridVelocity, fine_velocity
from meniscus.surface.reconstruction.inputs import WaterInDrops, WaterInTets, WaterMesh
from meniscus.surface.reconstruction.lattice import NOTHING, Box, box_around, box_of, interpolated, moved
from meniscus.surface.reconstruction.measurement import Held, Seen, passes_for, reach_of, see
from meniscus.surface.reconstruction.options import WaterSurfaceOptions

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
_BAND = 5.0  # cells, within which level sets are distances; beyond, they are this
_FAR = 1e9  # cells
_RIPPLES = 2  # passes of the kernel
_DEPTH = 0.05  # cells by which full tetrahedra are inside, so that they are in the mesh too, whose triangles cut corners


class WaterSurface(Stateful):
    """One surface of water from three kinds: on a grid, in tetrahedra, and in drops; time after time.

    The surface lives on a lattice some times finer than the grid, in a box around the water. An update is an advection-only particle level
    set where there is water in tetrahedra or in small drops: the surface of the last update and its markers are carried along by the
    velocity of the water, half of the time by that of the last update and half by the new one; then the surface goes a part of the way to
    what the water says now, and the markers are fitted to it. So noise of tetrahedra that water enters and leaves is averaged
    out over time, without lagging behind. Elsewhere the surface is that of the grid's level set, interpolated, and of large drops.

    Args:
        grid: 3-D; of the solver, or any other around the water: memory is that of a box around the water. Its sides are the ends of the
            surface; axes are not connected to themselves.
        refine: fine cells in a cell of the grid, along each axis.
        options: see `WaterSurfaceOptions`.
        **changes: fields of `options` that are to have other values, such as gain=1.0.

    Attributes:
        spray: (n,) bool, of the drops of the last update those that are no part of the surface, to be drawn as balls.

    Raises:
        TypeError, ValueError: not a 3-D grid, other options.

    Source: Lee 2018, section 3.4.2.
    """

    def __init__(self, grid: Grid, refine: int = 2, *, options: WaterSurfaceOptions | None = None, **changes: Any) -> None:
        self._grid = _checks.one_of_type("grid", grid, Grid)
        if grid.dimension != 3:
            raise ValueError(f"grid must be 3-D, not {grid.dimension}-D")
        self._refine = _checks.integer("refine", refine, 1, 17)
        given = WaterSurfaceOptions() if options is None else _checks.one_of_type("options", options, WaterSurfaceOptions)
        self._options = WaterSurfaceOptions(**{**vars(given), **changes})
        self._whole = box_of((0, 0, 0), np.array(grid.shape) * refine)
        self._workspace = Workspace()
        none = np.empty((0, 3))
        # Boxes are stored as arrays of their lowest and highest cells.
        self._near_box = self.declare("_near_box", np.zeros((2, 3), np.int64))
        self._water_box = self.declare("_water_box", np.zeros((2, 3), np.int64))
        self._near_phi = self.declare("_near_phi", np.empty((0, 0, 0)), resizable=3)
        self._flow = self.declare("_flow", [np.empty((0, 0, 0)) for _ in range(3)], resizable=3)
        self._markers = self.declare("_markers", no_markers(none))
        self._seedings = self.declare("_seedings", 0)
        self._passes = self.declare("_passes", 0)
        self._box = self.declare("_box", np.zeros((2, 3), np.int64))
        self._phi = self.declare("_phi", np.empty((0, 0, 0)), resizable=3)
        self._vertices = self.declare("_vertices", none.copy(), resizable=True)
        self._triangles = self.declare("_triangles", np.empty((0, 3), np.int32), resizable=True)
        self._normals = self.declare("_normals", none.copy(), resizable=True, rows_of="_vertices")
        self._velocities = self.declare("_velocities", none.copy(), resizable=True, rows_of="_vertices")
        self.spray = self.declare("spray", np.empty(0, bool), resizable=True)

    @property
    def grid(self) -> Grid:
        """The coarse grid."""
        return self._grid

    @property
    def refine(self) -> int:
        """Fine cells in a cell of the grid, along each axis."""
        return self._refine

    @property
    def spacing(self) -> float:
        """Edge of a fine cell, m."""
        return self._grid.spacing / self._refine

    @property
    def options(self) -> WaterSurfaceOptions:
        """Numbers."""
        return self._options

    @property
    def box(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner of the box around the water, m; equal where there is none."""
        low, high = (np.array(self._grid.origin) + self.spacing * corner for corner in self._box)
        return low, high

    def mesh(self) -> WaterMesh:
        """Return the surface of the last update; empty before the first one, and where there is no water."""
        return WaterMesh(self._vertices, self._triangles, self._normals, self._velocities)

    def levelset(self) -> LevelSet | None:
        """Return the surface as a level set (m) on the fine cells of the box, a distance up to 5 of them; None where there is no water."""
        box = _box(self._box)
        if box.empty:
            return None
        corner = np.array(self._grid.origin) + self.spacing * np.array(box.low)
        result = LevelSet(Grid(box.shape, self.spacing, corner.tolist(), comm=one_rank()), "cells")
        result.array = self._phi * self.spacing
        return result

    @exclusively
    def update(
        self,
        dt: float = 0.0,
        *,
        levelset: LevelSet | None = None,
        velocity: MacField | npt.NDArray[np.floating] | None = None,
        tets: WaterInTets | None = None,
        drops: WaterInDrops | None = None,
    ) -> WaterMesh:
        """Go on to the water as it is dt later, and return its surface.

        Args:
            dt: s since the last update; 0: the surface goes nowhere. The first update needs none.
            levelset: of the grid's water, on its cells.
            velocity: of the grid's water: a MacField, or (nx, ny, nz, 3) on the cells, m/s; also a little outside of the water. Default: at
                rest.
            tets: water in tetrahedra.
            drops: flying drops.

        Raises:
            TypeError, ValueError: other types, dtypes or grids, values that are not finite; nothing is changed.
        """
        seconds = _checks.number("dt", dt)
        if seconds < 0:
            raise ValueError(f"dt must be at least 0 s, not {seconds:g}")
        phi = self._levelset_of(levelset)
        flow = None if levelset is None else self._velocity_of(velocity)
        wet, flying = self._in_cells(tets, drops)
        large = flying.radius >= self._options.smallest_drop
        balls, small = _chosen(flying, large), _chosen(flying, ~large)
        holds = wet.volume > 0
        near_water = self._around(wet.positions[wet.tets[holds]].reshape(-1, 3), None).joined(self._around(small.positions, None))
        passes = self._passes or (passes_for(wet.positions, wet.tets, self._options.smoothing) if holds.any() else 0)
        water = near_water.joined(self._around(balls.positions, balls.radius)).joined(self._box_of_grid_water(phi))
        near = self._near_part(near_water, passes)
        box = self._whole if self._options.extent == "grid" and not water.empty else water.grown(4, self._whole).joined(near)
        if box.empty:
            self._forget()
            self._passes, self.spray = passes, np.ones(len(flying.radius), bool)
            return self.mesh()
        result = np.full(box.shape, _BAND)
        if phi is not None:
            np.clip(interpolated(phi, self._refine, box, cubic=True), -_BAND, _BAND, out=result)
        owner = _unite_balls(result, box, balls)
        parts = None
        if not near.empty:
            part = result[box.slices(near)]
            seen = see(near, wet, small, part, max(passes, 2), self._options.overlap == "union", self._workspace)
            held = Held(near, wet, self._options.least_fill, self._workspace)
            parts = self._advance(seconds, near, seen, held, part, flow)
            part += seen.near * (parts[0] - part)
        # Nothing can fail from here on.
        self._forget()
        if parts is not None:
            self._near_phi, self._markers, self._seedings = parts[0], parts[1].particles, parts[1].seedings
            self._flow = [parts[2].component(d).copy() for d in range(3)]
            self._near_box, self._water_box = _corners(near), _corners(near_water)
        self._box, self._phi, self._passes = _corners(box), result, passes
        self._extract(box, owner, balls, flow, None if parts is None else (near, seen.near, parts[2]))
        outside = np.zeros(len(large), bool)
        outside[~large] = self._outside(small.positions, box)
        self.spray = outside
        return self.mesh()

    def _advance(
        self, dt: float, box: Box, seen: Seen, held: Held, grid: Floats, flow: GridVelocity | None
    ) -> tuple[Floats, ParticleLevelSet, MacField]:
        """Return the surface near water in tetrahedra: carried along, corrected by what is seen; its markers; the new velocity."""
        o = self._options
        options = ParticleOptions(per_cell=o.markers, band=o.band, reseed_every=None, seed=o.seed)
        tracked = ParticleLevelSet(box.grid(), "cells", options=options, window=(box.low, self._whole.shape))
        old = _box(self._near_box)
        known = seen.weight > 0.05
        fastest = [float(np.abs(m[known] / seen.weight[known]).max(initial=0.0)) for m in seen.momentum]
        travel = min(dt * math.hypot(*fastest), float(max(box.shape)))
        target = LevelSet(box.grid(), "cells")
        held.hold(seen.phi)
        target.array = grid + seen.near * (seen.phi - grid)
        target.redistance(band=_BAND, at_sides="goes-on", workspace=self._workspace)
        velocity = fine_velocity(box, self._refine, seen, flow, target, _BAND + travel, self._workspace)
        if not old.empty and o.gain < 1:
            before = MacField(box.grid(), boundary=ZeroGradient())
            for d in range(3):
                before.component(d)[...] = moved(self._flow[d], old, box, 0.0, d)
            tracked.levelset.array = moved(self._near_phi, old, box, _BAND)
            tracked.particles.assign(self._markers)
            tracked.seedings = self._seedings
            if dt > 0:
                tracked.advance(before, 0.5 * dt)
                tracked.advance(velocity, 0.5 * dt)
            phi = np.clip(tracked.levelset.array, -_BAND, _BAND)
            gap = target.array - phi
            share = np.minimum(np.abs(gap) / o.slack, 1.0)
            gain = o.gain + (1 - o.gain) * share * share * (3 - 2 * share)
            phi += (1 - seen.near * (1 - gain)) * gap
            held.hold(phi)
            phi -= seen.near * _ripples(phi, self._workspace)
            tracked.levelset.array = phi
            tracked.redistance()
            tracked.accept_levelset()
            tracked.reseed()
        else:
            tracked.levelset.array = target.array
            if o.gain < 1:
                tracked.seed()
        tracked.levelset.redistance(band=_BAND, at_sides="goes-on", workspace=self._workspace)
        result = tracked.levelset.array.copy()
        held.hold(result, _DEPTH)
        return result, tracked, velocity

    def _near_part(self, near_water: Box, passes: int) -> Box:
        """Return the box in which the surface is carried along: around water in tetrahedra, now and at the last update."""
        if near_water.empty:
            return NOTHING
        if self._options.extent == "grid":
            return self._whole
        return near_water.joined(_box(self._water_box)).grown(reach_of(passes) + 14, self._whole)

    def _extract(
        self,
        box: Box,
        owner: npt.NDArray[np.int32],
        balls: WaterInDrops,
        flow: GridVelocity | None,
        near: tuple[Box, Floats, MacField] | None,
    ) -> None:
        """Make the mesh of the level set, with the velocity of the water at its vertices."""
        field = LevelSet(box.grid(), "cells")
        field.array = self._phi
        x, triangles, normals = field.to_mesh(normals=True, workspace=self._workspace)
        v = np.zeros_like(x) if flow is None else flow.at_points(x, self._refine)
        cell = tuple(np.clip(np.floor(x).astype(int) - box.low, 0, np.array(box.shape) - 1).T)
        if near is not None:
            part, share, velocity = near
            inside = np.flatnonzero(((x >= part.low) & (x <= part.high)).all(axis=1))
            there = np.ascontiguousarray(x[inside])
            at = tuple(np.clip(np.floor(there).astype(int) - part.low, 0, np.array(part.shape) - 1).T)
            v[inside] += share[at][:, None] * (sample(velocity, there) - v[inside])
        if len(balls.radius) and len(x):
            mine = owner[cell]
            of_ball = mine >= 0
            v[of_ball] = balls.velocity[mine[of_ball]]
        self._vertices, self._triangles, self._normals = x * self.spacing + np.array(self._grid.origin), triangles, normals
        self._velocities = v * self.spacing

    def _outside(self, points: Floats, box: Box) -> Bools:
        """Return which points are outside of the surface."""
        cell = np.floor(points).astype(int) - np.array(box.low)
        within = ((cell >= 0) & (cell < np.array(box.shape))).all(axis=1)
        result = np.ones(len(points), bool)
        result[within] = self._phi[tuple(cell[within].T)] > 0
        return result

    def _forget(self) -> None:
        """Remove all water but what says how it is seen."""
        for name in ("_near_box", "_water_box", "_box"):
            setattr(self, name, np.zeros((2, 3), np.int64))
        self._near_phi = self._phi = np.empty((0, 0, 0))
        self._flow = [np.empty((0, 0, 0)) for _ in range(3)]
        self._vertices, self._normals, self._velocities = (np.empty((0, 3)) for _ in range(3))
        self._triangles = np.empty((0, 3), np.int32)
        self._markers = no_markers(np.empty((0, 3)))

    def _levelset_of(self, levelset: LevelSet | None) -> Floats | None:
        """Return the samples of the grid's level set in fine cells."""
        if levelset is None:
            return None
        given = _checks.one_of_type("levelset", levelset, LevelSet)
        if given.location != "cells":
            raise ValueError("levelset must be on cells, not on nodes")
        if given.grid != self._grid:
            raise ValueError(f"levelset must be on the grid of the surface, {self._grid!r}, not on {given.grid!r}")
        _checks.require_finite("levelset", given.array)
        result: Floats = given.array.astype(np.float64) / self.spacing
        return result

    def _velocity_of(self, velocity: MacField | npt.NDArray[np.floating] | None) -> GridVelocity | None:
        if velocity is None:
            return GridVelocity((np.zeros(self._grid.shape),) * 3, True)
        if isinstance(velocity, MacField):
            if velocity.grid != self._grid:
                raise ValueError(f"velocity must be on the grid of the surface, {self._grid!r}, not on {velocity.grid!r}")
            for d in range(3):
                _checks.require_finite(f"component {d} of velocity", velocity.component(d))
        else:
            shape = np.shape(velocity)
            if shape != (*self._grid.shape, 3):
                raise ValueError(f"velocity must be a MacField or have shape {(*self._grid.shape, 3)}, not {shape}")
            velocity = np.asarray(velocity)
            _checks.require_finite("velocity", velocity)
        return GridVelocity.of(velocity, 1 / self.spacing)

    def _in_cells(self, tets: WaterInTets | None, drops: WaterInDrops | None) -> tuple[WaterInTets, WaterInDrops]:
        """Return the water with fine cells as the unit of length."""
        h, origin = self.spacing, np.array(self._grid.origin)
        if tets is None:
            none = np.empty((0, 3))
            tets = WaterInTets(none, np.empty((0, 4), np.int32), np.empty(0), np.empty(0), none)
        if drops is None:
            drops = WaterInDrops(np.empty((0, 3)), np.empty(0), np.empty((0, 3)))
        t = _checks.one_of_type("tets", tets, WaterInTets)
        d = _checks.one_of_type("drops", drops, WaterInDrops)
        # Farther than any grid reaches, numbers of cells would not fit into integers.
        x, y = (np.clip((p - origin) / h, -_FAR, _FAR) for p in (t.positions, d.positions))
        return (
            WaterInTets(x, t.tets, t.volume / h**3, t.capacity / h**3, t.velocity / h),
            WaterInDrops(y, np.minimum(d.radius / h, _FAR), d.velocity / h),
        )

    def _around(self, points: Floats, radius: Floats | None) -> Box:
        return box_around(points, self._whole, radius)

    def _box_of_grid_water(self, phi: Floats | None) -> Box:
        """Return a box around the grid's water."""
        if phi is None:
            return NOTHING
        wet = phi <= 0
        if not wet.any():
            return NOTHING
        ranges = [np.flatnonzero(wet.any(axis=tuple(b for b in range(3) if b != a)))[[0, -1]] for a in range(3)]
        low, high = np.array([r[0] for r in ranges]) - 1, np.array([r[1] for r in ranges]) + 2
        shape = np.array(self._grid.shape)
        return box_of(np.maximum(low, 0) * self._refine, np.minimum(high, shape) * self._refine)


def _box(corners: npt.NDArray[np.int64]) -> Box:
    return box_of(corners[0], corners[1])


def _corners(box: Box) -> npt.NDArray[np.int64]:
    return np.array([box.low, box.high], np.int64)


def _chosen(drops: WaterInDrops, which: Bools) -> WaterInDrops:
    return WaterInDrops(np.ascontiguousarray(drops.positions[which]), drops.radius[which], np.ascontiguousarray(drops.velocity[which]))


def _unite_balls(phi: Floats, box: Box, balls: WaterInDrops) -> npt.NDArray[np.int32]:
    """Unite a level set with balls, and return whose surface a cell is nearest to: the number of a ball, or -1."""
    owner = np.full(phi.shape if len(balls.radius) else (0, 0, 0), -1, np.int32)
    for n, (center, radius) in enumerate(zip(balls.positions, balls.radius, strict=True)):
        around = box_of(np.floor(center - radius - _BAND), np.ceil(center + radius + _BAND))
        part = box_of(np.maximum(around.low, box.low), np.minimum(around.high, box.high))
        if part.empty:
            continue
        where = box.slices(part)
        places = np.meshgrid(*(np.arange(a, b) + 0.5 for a, b in zip(part.low, part.high, strict=True)), indexing="ij")
        distance = np.sqrt(sum((p - c) ** 2 for p, c in zip(places, center, strict=True))) - radius
        nearer = distance < phi[where]
        phi[where][nearer] = distance[nearer]
        owner[where][nearer] = n
    return owner


def _ripples(phi: Floats, workspace: Workspace) -> Floats:
    """Return the part of a level set that changes from cell to cell: what a kernel removes, and again from that. Curvature is none."""
    rest = phi
    for _ in range(2):
        seen = rest.copy()
        _surface.smooth_binomial(seen, phi.shape, _RIPPLES, workspace)
        rest = rest - seen
    return rest
