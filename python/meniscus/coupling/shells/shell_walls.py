"""Walls of thin shells at one position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import coupling as _coupling
from meniscus.grid.face_arrays import beside_samples, with_neighbours
from meniscus.grid.fields import CellField, MacField, ScalarField
from meniscus.grid.transport.walls import ThinWalls
from meniscus.grid.uniform import Grid
from meniscus.surface import SolidBoundary

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
_ALL_LAYERS = 1 << 20  # more than any grid has
EXTENDED = 5
"""Cells from a wall beyond which what continues a fluid into a solid, four layers, has not met it."""


class ShellWalls(ThinWalls):
    """Thin walls on a grid, where shells are at one time: marked cells, blocked faces, and what is visible from where.

    Args:
        grid: 2-D or 3-D.
        vertices: (n, dim) float64, m.
        elements: (m, dim) int32, triangles or segments.
        thickness: m.

    Attributes:
        slides: whether faces take the part of the velocity of a shell that is normal to it. The volume that a shell sweeps is the same;
            but a shell that moves within itself, such as a wheel that turns, then leaves a fluid at rest, where the stairs of faces would
            stir it.

    Raises:
        TypeError, ValueError: wrong types or shapes, positions that are not finite, a grid of several blocks.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, sections 3 and 4.3; Selle 2008, sections 4.3 and 4.4.
    """

    def __init__(self, grid: Grid, vertices: Floats, elements: Ints, thickness: float) -> None:
        self.grid = _checks.one_of_type("grid", grid, Grid)
        kind: Any = _coupling.ShellWalls2 if grid.dimension == 2 else _coupling.ShellWalls3
        self.thickness = _checks.positive("thickness", thickness)
        self._core = kind(grid._core, vertices, elements, self.thickness)
        self._vertices, self._way, self._elements = vertices, np.zeros_like(vertices), elements
        self.slides = self._sees_solid = False
        self._read_faces()

    def place(self, vertices: Floats, velocities: Floats) -> None:
        """Move to positions (n, dim), m, with velocities (n, dim), m/s, of the vertices."""
        self._core.place(vertices, velocities)
        self._vertices, self._way = vertices, np.zeros_like(vertices)
        self._read_faces()

    def set_velocities(self, velocities: Floats, dt: float = 0.0) -> None:
        """Set the velocities (n, dim) of the vertices, m/s, at which they go on for dt seconds.

        Normals are those in the middle of this way: what a shell sweeps with them is right when it turns, too.
        """
        self._core.set_velocities(velocities)
        self._way = 0.5 * dt * velocities
        self._read_faces()

    def see_solid(self, solid: SolidBoundary | None, *, through: bool = False) -> None:
        """Let ways from now on not lead through a solid either, as it is now, or through none.

        Args:
            solid: on the grid of the walls; its level set is copied.
            through: whether samples in the solid are visible, which continue the fluid on this side; else they are hidden.
        """
        self._core.see_solid(None if solid is None else solid.levelset._core, through)
        if solid is not None or self._sees_solid:
            self._read_faces()
        self._sees_solid = solid is not None

    @property
    def blocked_faces(self) -> tuple[Bools, ...]:
        """Per axis, the faces with a wall between the centres of the two cells beside them; read-only."""
        return self._masks

    @property
    def marked_cells(self) -> int:
        """Number of cells that the shells come near."""
        return int(self._core.marked_cells)

    @property
    def nbytes(self) -> int:
        """Bytes held, without the triangles."""
        return int(self._core.nbytes)

    def clearance(self) -> npt.NDArray[np.uint8]:
        """Return, per cell, the distance in cells to the nearest marked one along the axis where it is most; or less."""
        return self._core.clearance()  # type: ignore[no-any-return]

    def hidden(self, origin: npt.ArrayLike, targets: npt.ArrayLike) -> Bools:
        """Return which of at most 8 targets (k, dim), m, are hidden from an origin (dim,)."""
        x = np.array(origin, np.float64)[None]
        y = np.ascontiguousarray(targets, np.float64)
        bits = int(self._core.hidden(x, y))
        return np.array([bits >> i & 1 for i in range(len(y))], bool)

    @property
    def mesh(self) -> tuple[Floats, Ints]:
        """Vertices (n, dim), m, and elements (m, dim) where the shells are now."""
        return self._vertices, self._elements

    def sample(self, field: CellField, points: npt.ArrayLike, replacement: float | None = 0.0, *, time: float = 0.0) -> Floats:
        """Return a scalar at points (n, dim), m, by linear interpolation of the samples that are visible from each.

        Args:
            field: on the grid of the walls.
            points: m, within the domain.
            replacement: what counts in place of hidden samples, and at points that a wall covers. None: the mean of the visible ones, which
                keeps what is uniform uniform; and 0 where nothing is visible.
            time: s, for functions in the conditions of the field.

        Raises:
            TypeError, ValueError: wrong types, shapes or grids, points that are not finite.

        Source: Guendelman et al. 2005, section 4.1.
        """
        _checks.one_of_type("field", field, CellField)
        x = np.ascontiguousarray(points, np.float64)
        module: Any = _coupling
        value = 0.0 if replacement is None else _checks.number("replacement", replacement)
        return module.sample_one_sided(field._core, self._core, value, replacement is None, x, time)  # type: ignore[no-any-return]

    def hold_faces(self, velocity: MacField) -> None:
        """Give blocked faces of a velocity the normal velocity of the shell there, in place."""
        for d, (places, values) in enumerate(self._held):
            velocity.component(d)[places] = values

    def extend_faces(self, velocity: MacField, levelset: ScalarField, sources: Sequence[Bools], known: Sequence[Bools], band: int) -> None:
        """Find the values of an extended velocity anew where the extension may have looked through a wall; see `ThinWalls`."""
        module: Any = _coupling
        for d, (source, mask) in enumerate(zip(sources, known, strict=True)):
            module.extend_past_walls(velocity._core, d, levelset._core, self._core, source, mask, band + 1)

    def extend_cells_into(self, outside: Bools, field: ScalarField, replacement: float) -> None:
        """Find samples in a solid anew where what continued them may have looked through a wall; see `ThinWalls`."""
        invalid = ~outside & (self.clearance() <= EXTENDED)
        # Deeper ones see nothing.
        first = invalid & beside_samples(self.grid, outside)
        field.array[invalid & ~first] = replacement
        if first.any():
            self.revalidate_cells(field, first, replacement)

    def extend_faces_into(self, outside: Sequence[Bools], velocity: MacField) -> None:
        """Likewise for a velocity; see `ThinWalls`."""
        near = (self.clearance() <= EXTENDED).astype(np.float64)
        for d, mask in enumerate(outside):
            beside = with_neighbours(self.grid, near, d)
            n = self.grid.shape[d]
            close = (beside.take(range(n + 1), axis=d) > 0) | (beside.take(range(1, n + 2), axis=d) > 0)
            invalid = ~mask & close
            first = invalid & beside_samples(self.grid, mask)
            velocity.component(d)[invalid & ~first] = 0.0
            if first.any():
                self.revalidate_faces(velocity, d, first)

    def continue_faces(self, before: Sequence[Bools], after: Sequence[Bools], velocity: MacField) -> None:
        """Find faces anew that a velocity was continued to; see `ThinWalls`."""
        module: Any = _coupling
        for d, (known, reached) in enumerate(zip(before, after, strict=True)):
            module.continue_faces_past_walls(velocity._core, d, known, self._core, EXTENDED - 1)
            velocity.component(d)[~reached] = 0.0

    def out_of_solid(self, begins: Floats, ends: Floats) -> Floats:
        """Return the ends of ways (n, dim), m, outside of the solid: pushed out of it, or before it where no way leads around."""
        if not self._sees_solid:
            return ends
        moved: Floats = self._core.out_of_solid(np.ascontiguousarray(begins), np.ascontiguousarray(ends))
        return moved

    def in_solid(self, points: Floats) -> Bools:
        """Return which points (n, dim), m, are in the solid."""
        if not self._sees_solid:
            return np.zeros(len(points), bool)
        levels: Floats = self._core.solid_levels(np.ascontiguousarray(points))
        return levels <= 0

    def swept(self, end: ShellWalls, on_side: tuple[int, ...]) -> Bools:
        """Return which samples shells pass on the way from here to `end`, or cover here or there; exact.

        Args:
            end: the same shells at the end of a step.
            on_side: place of the samples: per axis 0 in cells, 1 on sides.
        """
        return self._core.swept_samples(end._core, on_side)  # type: ignore[no-any-return]

    def revalidate_cells(self, field: ScalarField, invalid: Bools, replacement: float) -> tuple[int, int, int]:
        """Give invalid samples of a scalar new values from visible neighbours, else from `replacement`, in place.

        Returns:
            Numbers of invalid samples, of those that no visible neighbour reached, and of sweeps.

        Source: Guendelman et al. 2005, section 3; Selle 2008, section 4.3.
        """
        module: Any = _coupling
        return module.revalidate(field._core, invalid, self._core, -1, replacement)  # type: ignore[no-any-return]

    def continue_level(self, levels: ScalarField, known: Bools, unreached: float | None, layers: int | None = None) -> tuple[int, int, int]:
        """Give cells of a level set that are not `known` values that continue those on their side, in place.

        With the slope of what is known, so that a level surface stays one; what a mean of neighbours says instead sets water at rest in
        motion. A cell whose centre a shell covers is on the side of the cells beyond its faces that no shell blocks.

        Args:
            levels: m; the liquid is where it is at most zero.
            known: cells that have a value.
            unreached: of cells that nothing reaches, m; None: they keep what they have.
            layers: cells that values are continued; only cells no more than one further from a shell take part. None: all.

        Returns:
            Numbers of cells without a value, of those that nothing reached, and of layers.

        Source: Guendelman et al. 2005, section 3, which takes means.
        """
        module: Any = _coupling
        most, left = _ALL_LAYERS if layers is None else layers, math.nan if unreached is None else unreached
        return module.continue_level_past_walls(levels._core, known, self._core, most, left)  # type: ignore[no-any-return]

    def revalidate_faces(self, velocity: MacField, axis: int, invalid: Bools) -> tuple[int, int, int]:
        """Give invalid samples of a component new values from visible neighbours, else from the shells; as `revalidate_cells`."""
        module: Any = _coupling
        return module.revalidate_component(velocity._core, axis, invalid, self._core)  # type: ignore[no-any-return]

    def _read_faces(self) -> None:
        axes, faces, velocities, hit = self._core.faces()
        if self.slides and len(hit):
            normals = _normals((self._vertices + self._way)[self._elements[hit]])
            velocities = np.einsum("kd,kd->k", velocities, normals)[:, None] * normals
        masks, held = [], []
        for d in range(self.grid.dimension):
            shape = tuple(n + (a == d) for a, n in enumerate(self.grid.shape))
            rows = axes == d
            places = tuple(faces[rows].T)
            mask = np.zeros(shape, bool)
            mask[places] = True
            mask.flags.writeable = False
            masks.append(mask)
            held.append((places, velocities[rows, d]))
        self._masks, self._held = tuple(masks), held


def _normals(corners: Floats) -> Floats:
    """Return unit normals of elements (k, dim, dim); zero for those without extent."""
    if corners.shape[1] == 2:
        along = corners[:, 1] - corners[:, 0]
        normals = np.stack([-along[:, 1], along[:, 0]], axis=1)
    else:
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    unit: Floats = normals / np.where(length > 0, length, 1.0)
    return unit
