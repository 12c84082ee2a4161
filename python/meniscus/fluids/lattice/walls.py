"""Solids in a lattice: their cells and links, and the forces on them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core.memory import MemoryOwner
from meniscus.grid.face_arrays import domain_images, shifts_to_images
from meniscus.grid.uniform import Grid
from meniscus.surface import KinematicSolid, Shape, Solid, SolidGroup

Floats = npt.NDArray[np.float64]

# Cells whose distances are asked at once, so that a solid without bounds does not need memory for points of the whole domain.
_CELLS_AT_ONCE = 1 << 18
# Steps of regula falsi with halved weights: on a sphere with a radius of three cells they leave 1e-6 of a cell.
_NARROWINGS = 3


class LatticeSolid(MemoryOwner):
    """The solid of a flow on its lattice.

    Args:
        grid: of the flow.
        core: of the flow.
        interpolated: whether walls lie where the surface is, or half-way between cells.
        solid: a `Solid` or a `Shape`, or None.

    Attributes:
        covered: mass of the fluid that was covered in the last change, in cells at the density of rest.
        uncovered: mass that was put into uncovered cells, likewise.
    """

    borrowed = ("_core", "_solid", "_members")

    def __init__(self, grid: Grid, core: _fluids.LatticeFlow, interpolated: bool, solid: Solid | Shape | None) -> None:
        self._grid, self._core, self._interpolated = grid, core, interpolated
        self._images = [np.ascontiguousarray(s) for s in domain_images(grid)]
        self._solid: Solid | None = None
        self._in_core = False  # whether the core has cells of a solid
        self._members: tuple[Solid, ...] = ()
        self.solid = solid

    @property
    def solid(self) -> Solid | None:
        """The solid; may be set."""
        return self._solid

    @solid.setter
    def solid(self, value: Solid | Shape | None) -> None:
        made = KinematicSolid(value) if isinstance(value, Shape) else value
        if made is not None and _checks.one_of_type("solid", made, Solid).dimension != self._grid.dimension:
            raise ValueError(f"solid must be {self._grid.dimension}-D like the grid, not {made.dimension}-D")
        self._given, self._solid = value, made
        self._members = made.solids if isinstance(made, SolidGroup) else () if made is None else (made,)
        self.forget()

    @property
    def moves(self) -> bool:
        """Whether the solid may move."""
        return self._solid is not None and self._solid.moves

    def forget(self) -> None:
        """Drop what is known of the place and the forces."""
        self._time = math.nan
        self._owners: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self._points: Floats = np.empty((0, self._grid.dimension))
        self._impulses: Floats = self._points
        self._impulse_points: Floats = self._points
        self._impulse_owners = self._owners
        self._close: list[Floats] = []
        self.covered = self.uncovered = 0.0

    def place(self, time: float, dt: float, *, moving: bool, fill: bool = True) -> None:
        """Put the solid where it is at a time (s), with its mean velocity over the step of dt (s) that ends then.

        Args:
            time: s.
            dt: s.
            moving: whether it has moved there from its last place through the fluid; else nothing was covered or uncovered.
            fill: whether cells that it leaves get new populations; else they have theirs, from a snapshot.
        """
        if (self._solid is None and not self._in_core) or (time == self._time and not moving) or (moving and not self.moves):
            return
        core, solid, grid = self._core, self._solid, self._grid
        core.begin_solids()
        self._close = self._close_images(time)
        self._in_core = solid is not None
        if solid is not None:
            self._add_cells(solid, time)
        core.find_links()
        if solid is None:
            core.prepare_links(None, None, self._interpolated)
            if fill:
                core.fill_uncovered(np.zeros((len(core.changed_points(False)), grid.dimension)))
            self.forget()
            return
        if self._interpolated:
            core.set_link_ends(self._distance(self._at(0.0), time), False)
            core.set_link_ends(self._distance(self._at(1.0), time), True)
            for _ in range(_NARROWINGS):
                core.narrow_links(self._distance(self._at(-1.0), time))
        self._points = self._at(-1.0)
        self._owners = self._nearest(self._points, time)
        velocities = self._velocities(self._points, time, dt) * (dt / grid.spacing) if self.moves else None
        core.prepare_links(velocities, self._owners, self._interpolated)
        self._change_cells(time, dt, moving, fill)
        self._time = time

    def force_on(self, solid: Solid | Shape) -> npt.NDArray[np.bool_] | None:
        """Return which links belong to a solid: this one, or a member of the group; raises ValueError for others."""
        if solid is self._given or solid is self._solid:
            return None
        for i, member in enumerate(self._members):
            if member is solid:
                return np.asarray(self._owners == i)
        raise ValueError("solid must be that of the flow, or one of its members")

    def force_and_torque(self, solid: Solid | Shape, about: Floats) -> tuple[Floats, Floats]:
        """Return the momentum and the angular momentum about a point (m) that the last step gave to a solid, in lattice units and m.

        The torque has one component in 2-D.
        """
        chosen = self.force_on(solid)
        forces, points = self._core.link_forces(), self._points
        also, where = self._impulses, self._impulse_points
        if chosen is not None:
            number = next(i for i, member in enumerate(self._members) if member is solid)
            forces, points = forces[chosen], points[chosen]
            mine = self._impulse_owners == number
            also, where = also[mine], where[mine]
        forces, points = np.concatenate([forces, also]), np.concatenate([points, where])
        arms = points - about
        arms += shifts_to_images(self._grid, points, np.broadcast_to(about, points.shape))
        torque = np.cross(arms, forces) if self._grid.dimension == 3 else arms[:, :1] * forces[:, 1:] - arms[:, 1:] * forces[:, :1]
        return forces.sum(axis=0), torque.sum(axis=0)

    def _at(self, fraction: float) -> Floats:
        points: Floats = self._core.link_points(fraction)
        points *= self._grid.spacing
        points += np.array(self._grid.origin)
        return points

    def _distance(self, points: Floats, time: float) -> Floats:
        """Return the distance (n,) of points from the solid and its images around axes that close."""
        if self._solid is None:
            raise ValueError("there is no solid")
        result = self._solid.signed_distance(points, time)
        for shift in self._close:
            result = np.minimum(result, self._solid.signed_distance(points - shift, time))
        return np.ascontiguousarray(result)

    def _close_images(self, time: float) -> list[Floats]:
        """Return the shifts of the images that reach to within two cells of the domain."""
        if len(self._images) == 1 or self._solid is None:
            return []
        lower, upper = self._solid.bounds(time)
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            return []
        start, margin = np.array(self._grid.origin), 2 * self._grid.spacing
        end = start + np.array(self._grid.extent)
        # Where the solid has left the domain, its images are those around the one that is in it.
        here = shifts_to_images(self._grid, 0.5 * (lower + upper)[None], 0.5 * (start + end)[None])
        images = [np.ascontiguousarray(s + here[0]) for s in self._images]
        return [s for s in images if s.any() and (lower + s < end + margin).all() and (upper + s > start - margin).all()]

    def _velocities(self, points: Floats, time: float, dt: float) -> Floats:
        """Return the velocity of the solid (n, dimension), m/s, at points beside it or one of its images."""
        if self._solid is None:
            raise ValueError("there is no solid")
        if self._close:
            candidates = [np.zeros(self._grid.dimension), *self._close]
            distances = [self._solid.signed_distance(np.ascontiguousarray(points - s), time) for s in candidates]
            points = np.ascontiguousarray(points - np.array(candidates)[np.argmin(np.abs(distances), axis=0)])
        return np.ascontiguousarray(self._solid.velocity(points, time, -dt))

    def _nearest(self, points: Floats, time: float) -> npt.NDArray[np.int32]:
        if len(self._members) < 2:
            return np.zeros(len(points), np.int32)
        shifts = [np.zeros(self._grid.dimension), *self._close]
        distances = [np.min([m.signed_distance(np.ascontiguousarray(points - s), time) for s in shifts], axis=0) for m in self._members]
        nearest: npt.NDArray[np.int32] = np.argmin(distances, axis=0).astype(np.int32)
        return nearest

    def _add_cells(self, solid: Solid, time: float) -> None:
        """Add the cells of the solid and its images to the core."""
        grid = self._grid
        start, h, shape = np.array(grid.origin), grid.spacing, np.array(grid.shape)
        lower, upper = solid.bounds(time)
        for shift in (np.zeros(grid.dimension), *self._close):
            first = np.clip(np.nan_to_num((lower + shift - start) / h - 1.5, posinf=1e18, neginf=-1e18), 0, shape).astype(np.int64)
            last = np.clip(np.nan_to_num((upper + shift - start) / h + 1.5, posinf=1e18, neginf=-1e18), 0, shape).astype(np.int64)
            if (last <= first).any():
                continue
            across = max(1, _CELLS_AT_ONCE // int(np.prod(last[1:] - first[1:])))
            for i in range(int(first[0]), int(last[0]), across):
                low, high = first.copy(), last.copy()
                low[0], high[0] = i, min(i + across, int(last[0]))
                axes = [start[d] + h * (np.arange(low[d], high[d]) + 0.5) for d in range(grid.dimension)]
                points = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1) - shift
                distance = np.ascontiguousarray(solid.signed_distance(np.ascontiguousarray(points), time))
                self._core.add_solid_cells(low.tolist(), high.tolist(), distance)

    def _change_cells(self, time: float, dt: float, moving: bool, fill: bool) -> None:
        """Fill uncovered cells, and account for what was covered and uncovered."""
        core, h, start = self._core, self._grid.spacing, np.array(self._grid.origin)
        covered, gone = (start + h * core.changed_points(c) for c in (True, False))
        taken = core.changed_contents(True)
        if fill and len(gone):
            core.fill_uncovered(self._velocities(np.ascontiguousarray(gone), time, dt) * (dt / h))
        given = core.changed_contents(False)
        self.covered = float(taken[:, 0].sum()) if moving else 0.0
        self.uncovered = float(given[:, 0].sum()) if moving else 0.0
        if not moving:
            taken, given, covered, gone = taken[:0], given[:0], covered[:0], gone[:0]
        self._impulse_points = np.ascontiguousarray(np.concatenate([covered, gone]))
        self._impulses = np.concatenate([taken[:, 1:], -given[:, 1:]])
        self._impulse_owners = self._nearest(self._impulse_points, time)
