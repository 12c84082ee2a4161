"""Bodies on the grid of a fluid: their level set, the faces that belong to each, and their velocity there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus.coupling.bodies.pushed_form import PushedForm
from meniscus.grid.boundary import Open, Slip, ZeroGradient
from meniscus.grid.face_arrays import close_faces
from meniscus.grid.fields import MacField
from meniscus.grid.node_window import NodeWindow
from meniscus.grid.uniform import AXES
from meniscus.surface import SolidBoundary, SolidSample
from meniscus.surface.shapes.solid_boundary import solid_boundary

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
_BAND = 4  # cells around a body in which its level set has its own values
_FILM = 1.0  # cells: a gap between two solids that is narrower is a film, and so far around it faces see both
_ALONG = 0.7  # most slope of the distance across a face that lies along a film


class BodySample:
    """Bodies at one time, and an obstacle among them, on a grid.

    Where two solids touch, a film of fluid stays between them, through which pressure reaches what they cover: else water would press
    a body onto the floor with the weight of all that is above it.

    Args:
        velocity: of the fluid.
        slip: condition of the flow at all solids.

    Attributes:
        owners: per axis, the number of the body to which each face belongs, within four cells of it; -1 elsewhere, and where the obstacle
            is nearer; on sides of the domain -2 minus the number.
        films: per axis, the faces that lie along gaps below a cell between two solids, or one and a closed side.
        boundary: level set, velocity and slip of all.
    """

    def __init__(self, velocity: MacField, slip: Slip) -> None:
        grid = self._grid = velocity.grid
        self._slip = slip
        self._sample = SolidSample(grid, velocity.dtype)
        made = solid_boundary(self._sample, grid, self._sample.velocity.dtype, 0.0, slip)
        assert made is not None
        self.boundary: SolidBoundary = made
        shapes = [self._sample.velocity.component(d).shape for d in range(grid.dimension)]
        self.owners: tuple[Ints, ...] = tuple(np.full(shape, -1, np.int32) for shape in shapes)
        self._nearest = tuple(np.empty(shape) for shape in shapes)
        self._second = tuple(np.empty(shape) for shape in shapes)
        self._covered = tuple(np.zeros(shape, bool) for shape in shapes)
        self._along: tuple[Bools, ...] = tuple(np.empty(shape, bool) for shape in shapes)
        self.films: tuple[Bools, ...] = tuple(np.zeros(shape, bool) for shape in shapes)
        self._to_sides = tuple(_to_closed_sides(velocity, d) for d in range(grid.dimension))

    def place(self, forms: Sequence[PushedForm], time: float, obstacle: SolidBoundary | None) -> None:
        """Set all fields from where bodies are now and the motion that they have."""
        grid, levels, velocity = self._grid, self._sample.levelset, self._sample.velocity
        band = _BAND * grid.spacing
        with self._sample.filling(time):
            levels.array[...] = band if obstacle is None else obstacle.levelset.array
            for d in range(grid.dimension):
                still = obstacle is None or obstacle.velocity is None
                velocity.component(d)[...] = 0.0 if still else obstacle.velocity.component(d)  # type: ignore[union-attr]
                self._nearest[d][...] = band if obstacle is None else _on_faces(levels.array, d)
                self._covered[d][...] = False if obstacle is None else self._nearest[d] < 0.0
                self._along[d][...] = False if obstacle is None else _lies_along(levels.array, d, grid.spacing)
                self._second[d][...] = band
                self.owners[d][...] = -1
            for number, form in enumerate(forms):
                self._unite(number, form, band)
            for d in range(grid.dimension):
                self._find_films(d)
                self._leave_sides(d)
            levels.fill_ghosts()
            velocity.fill_ghosts(time)
        self.boundary.levelset_changed()

    def _unite(self, number: int, form: PushedForm, band: float) -> None:
        h = self._grid.spacing
        lower, upper = form.bounds()
        window = NodeWindow(self._grid, lower - band, upper + band)
        phi = form.signed_distance(window.points.reshape(-1, self._grid.dimension)).reshape(window.points.shape[:-1])
        phi -= form.level(phi, h)
        if window.is_empty:
            return
        phi = window.in_domain(phi)
        levels = self._sample.levelset.array
        place = window.nodes()
        levels[place] = np.minimum(levels[place], phi)
        for d in range(self._grid.dimension):
            at = window.faces(d)
            value = _on_faces(phi, d)
            nearest = self._nearest[d][at]
            # What lies within the obstacle is none of the body: the pressure does not reach it.
            mine = (value < nearest) & ~self._covered[d][at]
            self._second[d][at] = np.minimum(self._second[d][at], np.maximum(nearest, value))
            self._along[d][at] = np.where(mine, _lies_along(phi, d, h), self._along[d][at])
            self._nearest[d][at] = np.where(mine, value, nearest)
            self.owners[d][at] = np.where(mine, number, self.owners[d][at])
            if not mine.any():
                continue
            middles = [x if k == d else x[:-1] + 0.5 * h for k, x in enumerate(window.coordinates)]
            u = self._sample.velocity.component(d)
            u[at] = np.where(mine, form.speeds(middles, d), u[at])

    def _find_films(self, d: int) -> None:
        """Find the faces across an axis that lie along films."""
        reach = _FILM * self._grid.spacing
        nearest, second = self._nearest[d], self._second[d]
        other = np.minimum(second, np.where(self.owners[d] >= 0, self._to_sides[d], np.inf))
        self.films[d][...] = self._along[d] & (nearest + other < reach) & (np.abs(nearest) < reach) & (other < reach)

    def _leave_sides(self, d: int) -> None:
        """Take what lies on sides of the domain from bodies; where an axis closes, its last samples are the first."""
        grid, u = self._grid, self._sample.velocity.component(d)
        for end, side in ((0, AXES[d] + "-"), (-1, AXES[d] + "+")):
            if side in grid.sides:
                at = (slice(None),) * d + (end,)
                u[at] = np.where(self.owners[d][at] >= 0, 0.0, u[at])
                self.owners[d][at] = np.where(self.owners[d][at] >= 0, -2 - self.owners[d][at], -1)
                self.films[d][at] = False
        close_faces(grid, u, d)
        close_faces(grid, self.films[d], d)
        close_faces(grid, self.owners[d], d)
        # Nodes close along all axes.
        close_faces(grid, self._sample.levelset.array, d)


def _on_faces(nodes: Floats, d: int) -> Floats:
    """Return the mean of the corners of faces across an axis."""
    for k in range(nodes.ndim):
        if k != d:
            n = nodes.shape[k]
            nodes = 0.5 * (nodes.take(range(n - 1), axis=k) + nodes.take(range(1, n), axis=k))
    return nodes


def _lies_along(nodes: Floats, d: int, h: float) -> Bools:
    """Return which faces across an axis lie along the level set: their cells are about as far from it. At the ends none does."""
    cells = nodes
    for k in range(nodes.ndim):
        n = cells.shape[k]
        cells = 0.5 * (cells.take(range(n - 1), axis=k) + cells.take(range(1, n), axis=k))
    inner = np.abs(np.diff(cells, axis=d)) < _ALONG * h
    width = [(0, 0)] * nodes.ndim
    width[d] = (1, 1)
    return np.pad(inner, width)


def _to_closed_sides(velocity: MacField, d: int) -> Floats:
    """Return the distance, m, of faces across an axis from the nearest closed side of the domain."""
    grid = velocity.grid
    result = np.full(velocity.component(d).shape, np.inf)
    for k, axis in enumerate(AXES[: grid.dimension]):
        n = grid.shape[k]
        along = grid.spacing * (np.arange(n + 1) if k == d else np.arange(n) + 0.5)
        shape = [1] * grid.dimension
        shape[k] = len(along)
        for side, far in ((axis + "-", along), (axis + "+", n * grid.spacing - along)):
            if side in grid.sides and not isinstance(velocity.boundary[side], (Open, ZeroGradient)):
                result = np.minimum(result, far.reshape(shape))
    return result
