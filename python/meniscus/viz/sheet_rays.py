"""Sheets in a volume of smoke: where rays meet them, and what rays see on this side of them.

Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.1 (one-sided interpolation); Selle 2008, section 4.6 (pictures by it).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from meniscus.collision import ThickSurface
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.grid import CellField
from meniscus.viz.light import SKY_RADIUS

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]
_SPREADS = 2 * ((2 * SKY_RADIUS + 1) ** 2 - 1) // 6  # of variance 1/2 cell^2 each: as far as two box filters
_REACH = 2  # cells to a wall within which the interpolation of slices looks across it


class Sight(Protocol):
    """What is asked of a view of a volume: cells, with axes right, up and towards the viewer."""

    eye: Array
    shape: Array
    slice_axis: int
    others: tuple[int, ...]
    plane: float
    grid: list[Array]

    def places(self, k: float) -> Array:
        """Return the places of the pixels of the plane on the slice at k."""


class SheetRays:
    """Shells in a picture of smoke.

    Args:
        walls: where the shells are, on the grid of the smoke, 3-D.
        up: the axis of the grid that points upward.
        view: of the volume.
        sun: unit vector towards the sun, in the axes of the volume.
    """

    def __init__(self, walls: ShellWalls, up: int, view: Sight, sun: Array) -> None:
        self.walls, self.up, self.view = walls, up, view
        grid = walls.grid
        self._spacing, self._origin = grid.spacing, np.array(grid.origin, np.float64)
        self._axes = [d for d in range(3) if d != up]
        self._flipped = up != 1
        self._sun = self._direction(sun)
        vertices, triangles = walls.mesh
        self._surface = ThickSurface(vertices, triangles, walls.thickness)
        self._near = self._turned(walls.clearance()) <= _REACH
        self._far = 2 * float(np.linalg.norm(grid.extent)) * self._sun
        self._fields: list[CellField] = []
        self._meet()

    # --- between the axes of the volume and those of the grid ---------------------------------------------------------------------

    def _turned(self, field: Array) -> Array:
        turned: Array = field.transpose(self._axes[0], self.up, self._axes[1])
        if self._flipped:
            turned = turned[:, :, ::-1]
        return turned

    def _field(self, turned: Floats) -> CellField:
        """Return a field on the grid from one in the axes of the volume."""
        field = CellField(self.walls.grid, np.dtype(np.float32))
        self._turned(field.array)[...] = turned
        return field

    def _direction(self, d: Array) -> Array:
        out = np.empty(np.shape(d))
        out[..., self._axes[0]], out[..., self.up] = d[..., 0], d[..., 1]
        out[..., self._axes[1]] = -d[..., 2] if self._flipped else d[..., 2]
        return out

    def _metres(self, places: Array) -> Array:
        x = self._direction(places)
        if self._flipped:
            x[..., self._axes[1]] += self.view.shape[2]
        return np.ascontiguousarray(self._origin + self._spacing * x)

    # --- the sheets themselves ------------------------------------------------------------------------------------------------------

    def _meet(self) -> None:
        """Find where the rays through the plane meet a sheet first."""
        v = self.view
        c = v.slice_axis
        through = np.empty((len(v.grid[0]), len(v.grid[1]), 3))
        through[..., v.others[0]], through[..., v.others[1]], through[..., c] = v.grid[0][:, None], v.grid[1][None, :], v.plane
        end = 0.0 if v.plane > 0 else float(v.shape[c])
        targets = v.eye + (through - v.eye) * ((end - v.eye[c]) / (v.plane - v.eye[c]))
        eye, to = self._metres(v.eye), self._metres(targets).reshape(-1, 3)
        hits = self._surface.cast(np.ascontiguousarray(np.broadcast_to(eye, to.shape)), to)
        shape = through.shape[:2]
        self.met = (hits.triangles >= 0).reshape(shape)
        self.at: Array = (v.eye[c] + hits.fractions * (end - v.eye[c]) - 0.5).reshape(shape)
        rows = self.met.ravel()
        back = eye - hits.positions[rows]
        back /= np.linalg.norm(back, axis=1, keepdims=True)
        self._places = np.ascontiguousarray(hits.positions[rows] + 4 * self.walls.thickness * back)
        normals = self._normals(hits.triangles[rows], hits.barycentric[rows])
        normals *= np.where(np.einsum("nd,nd->n", normals, back) < 0, -1.0, 1.0)[:, None]
        self.facing = self._spread(np.einsum("nd,d->n", normals, self._sun))
        self.upward = self._spread(normals[:, self.up])
        half = self._sun + back
        self.glint = self._spread(np.einsum("nd,nd->n", normals, half / np.linalg.norm(half, axis=1, keepdims=True)))

    def _normals(self, triangles: Array, barycentric: Array) -> Array:
        """Return unit normals at points of triangles, smooth over the surface."""
        x, t = self.walls.mesh
        across = np.cross(x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]])
        at_vertex = np.stack([np.bincount(t.ravel(), np.repeat(across[:, d], 3), minlength=len(x)) for d in range(3)], axis=1)
        n = np.einsum("nk,nkd->nd", barycentric, at_vertex[t[triangles]])
        length = np.linalg.norm(n, axis=1, keepdims=True)
        unit: Array = np.where(length > 0, n / np.where(length > 0, length, 1.0), across[triangles])
        return unit

    def _spread(self, values: Array) -> Floats:
        out = np.zeros(self.met.shape, np.float32)
        out[self.met] = values
        return out

    def sunlit(self) -> Floats:
        """Return how much of the sun sheets let through to cells (in the axes of the volume): 1 or 0, with soft edges far from sheets."""
        n = self.view.shape
        places = np.stack(np.meshgrid(*(np.arange(m) + 0.5 for m in n), indexing="ij"), axis=-1).reshape(-1, 3)
        x = self._metres(places)
        lit = (self._surface.classify(x, x + self._far).reshape(n) == 0).astype(np.float32)
        soft = lit
        for axis in (0, 1, 2, 0, 1, 2):
            padded = np.pad(soft, [(1, 1) if a == axis else (0, 0) for a in range(3)], mode="edge")
            m = soft.shape[axis]
            soft = 0.25 * padded.take(range(m), axis) + 0.5 * soft + 0.25 * padded.take(range(2, m + 2), axis)
        result: Floats = np.where(self._near, lit, soft)
        return result

    def ambient(self, extinction: Floats) -> Floats:
        """Return the part of the light of the sky that reaches each cell; smoke behind a sheet does not count.

        It is `light.ambient_visibility` elsewhere. In place of box filters, values spread as far from cell to cell, where no sheet is
        between.
        """
        open_faces = [np.asarray(~m, np.float32) for m in self.walls.blocked_faces]
        mean = np.zeros(self.walls.grid.shape, np.float32)
        self._turned(mean)[...] = extinction
        for _ in range(_SPREADS):
            for axis, faces in enumerate(open_faces):
                n = mean.shape[axis]
                inner = faces.take(range(1, n), axis)
                rise = 0.25 * inner * np.diff(mean, axis=axis)
                flows = np.pad(rise, [(1, 1) if a == axis else (0, 0) for a in range(3)])
                mean = mean + np.diff(flows, axis=axis)
        visible: Floats = np.exp(-0.5 * SKY_RADIUS * self._turned(mean))
        return visible

    def light(self, sun: Floats, sky: Floats) -> None:
        """Find the light on the sheets from that in the air on their side: `on_sheet`, of sun and sky."""
        x = self._places
        inside = ((x > self._origin) & (x < self._origin + self.walls.grid.extent)).all(axis=1)
        found = np.ones((2, len(x)))
        for values, field in zip(found, (sun, sky), strict=True):
            seen = self.walls.sample(self._field(field), np.ascontiguousarray(x[inside]), None)
            # Light is never 0 in the air: these places are in the thickness of another fold.
            values[inside] = np.where(seen > 0, seen, 1.0)
        found[0] *= self._surface.classify(x, x + self._far) == 0
        self.on_sheet = [self._spread(values) for values in found]

    def passed(self, k: float, done: Array) -> Array:
        """Return the pixels whose ray meets a sheet before the slice at k, and not before one of those that are `done`."""
        ahead: Array = self.met & ~done & ((self.at >= k) if self.view.plane > 0 else (self.at <= k))
        return ahead

    # --- smoke ----------------------------------------------------------------------------------------------------------------------

    def see(self, fields: Sequence[Floats]) -> None:
        """Set the fields, in the axes of the volume, whose one-sided values `correct` gives."""
        self._fields = [self._field(f) for f in fields]

    def correct(self, k: float, through: Floats, seen: list[Floats]) -> None:
        """Replace values of the fields on the slice at k, in place, by one-sided ones near sheets, where light still gets through."""
        places = self.view.places(k)
        cells = np.floor(places).astype(np.int64)
        inner = ((places > 0) & (places < self.view.shape)).all(axis=-1)
        cells[~inner] = 0
        near = inner & self._near[cells[..., 0], cells[..., 1], cells[..., 2]] & (through > 1e-3) & (np.abs(seen[0]) > 1e-7)
        if not near.any():
            return
        x = self._metres(places[near])
        for values, field in zip(seen, self._fields, strict=True):
            values[near] = self.walls.sample(field, x, None)
