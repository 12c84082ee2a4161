"""Shaded triangles as seen from far away, by rays, with shadows, in figures of matplotlib."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import ThickSurface
from meniscus.viz.corner_normals import corner_normals
from meniscus.viz.optics import dot, normalized
from meniscus.viz.picture import figure as figure_of_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

SKIN: Floats = np.array([[0.93, 0.55, 0.36]])
"""Colour of surfaces among tetrahedra."""

_SUB = 3  # rays along each axis of a pixel where neighbours differ
_CREASE = 0.9  # cosine of the angle between normals of neighbours from which on they differ
_LINE = 0.8  # width of edges, pixels
_FINEST = 5.0  # height of triangles without edges, pixels; from twice that on they are as dark as wanted
_FLOOR = np.array([0.93, 0.93, 0.91])
_FADE = 0.25  # of half the diagonal of what is shown: how far from the sides of the picture the floor fades into white
_SHADOW = 0.3  # of the light on the floor that the sun gives
_SIDES = "front", "back"


class Sight:
    """A direction of sight, and the plane of the picture.

    Args:
        eye: direction from what is seen towards the eye.
        up: direction that points up in the picture.

    Raises:
        TypeError, ValueError: no vectors, or no two directions.
    """

    def __init__(self, eye: Sequence[float], up: Sequence[float]) -> None:
        towards, upward = np.array(_checks.vector("eye", eye, 3)), np.array(_checks.vector("up", up, 3))
        right = np.cross(upward, towards)
        if not np.linalg.norm(right) > 0:
            raise ValueError(f"eye and up must be two directions, not {eye!r} and {up!r}")
        self.toward: Floats = towards / np.linalg.norm(towards)
        self.up: Floats = upward / np.linalg.norm(upward)
        right /= np.linalg.norm(right)
        above = np.cross(self.toward, right)
        self.screen: Floats = np.stack([right, above], axis=1)
        light = 0.8 * self.toward + 0.9 * above - 0.5 * right
        self.light: Floats = light / np.linalg.norm(light)


@dataclass(frozen=True)
class Facets:
    """Triangles of one kind.

    Attributes:
        vertices: (n, 3), m.
        triangles: (m, 3).
        front, back: (m, 3) or (1, 3), red, green and blue from 0 to 1 of the two sides.
        edges: brightness of the edges of triangles beside that of the triangles; 1: no edges are seen.
        smooth: whether triangles that meet at a small angle look like one smooth surface.
    """

    vertices: Floats
    triangles: npt.NDArray[np.int32]
    front: Floats
    back: Floats
    edges: float = 1.0
    smooth: bool = True


def draw(
    sight: Sight,
    parts: Sequence[Facets],
    shown: Floats,
    *,
    ambient: float,
    title: str,
    size: tuple[float, float],
    floor: float | None = None,
    dots: Floats | None = None,
) -> Figure:
    """Return a figure of triangles in the light from above the eye.

    Args:
        sight: from where they are seen.
        parts: what is seen.
        shown: (k, 3), m, points that the picture holds.
        ambient: share of the light that comes from everywhere.
        title: above the picture.
        size: width and height of the figure, inches.
        floor: height along `up` of a floor on which they throw shadows, m.
        dots: (d, 3), m, over the triangles.
    """
    figure = figure_of_size(*_checks.vector("size", size, 2))
    axes = figure.add_subplot()
    if not len(shown):
        raise ValueError("a picture of nothing needs a box")
    # Around its middle: far from the origin, rounding would let surfaces throw shadows on themselves.
    middle = 0.5 * (shown.min(axis=0) + shown.max(axis=0))
    shown = shown - middle
    parts = [replace(p, vertices=p.vertices - middle) for p in parts if len(p.triangles)]
    floor = None if floor is None else floor - float(middle @ sight.up)
    frame = shown @ sight.screen
    low, high = frame.min(axis=0), frame.max(axis=0)
    margin = 0.04 * float((high - low).max()) or 1.0
    low, high = low - margin, high + margin
    pixel = float(np.max((high - low) / (figure.dpi * figure.get_size_inches())))
    tracer = _Tracer(sight, parts, ambient, pixel, floor, shown)
    axes.imshow(tracer.picture(low, high), extent=(low[0], high[0], low[1], high[1]), interpolation="antialiased")
    if dots is not None:
        at = (dots - middle) @ sight.screen
        axes.scatter(at[:, 0], at[:, 1], s=1.5, c="k", linewidths=0, zorder=2)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title)
    return figure


def corners_of(box: object) -> Floats:
    """Return the eight corners of a box given as its lowest and highest corner. Raises TypeError or ValueError for something else."""
    if not isinstance(box, (Sequence, np.ndarray)) or np.shape(box) != (2, 3):
        raise TypeError(f"box must be the lowest and the highest corner of a box, not {box!r}")
    ends = [_checks.vector("box", corner, 3) for corner in box]
    corners: Floats = np.array(np.meshgrid(*zip(*ends, strict=True))).reshape(3, -1).T
    return corners


class _Tracer:
    """Parallel rays through pixels of a width (m), their first hits, and the light from there."""

    def __init__(self, sight: Sight, parts: Sequence[Facets], ambient: float, pixel: float, floor: float | None, shown: Floats) -> None:
        self.sight, self.ambient, self.pixel = sight, ambient, pixel
        everything = np.concatenate([shown, *(p.vertices for p in parts)])
        low, high = everything.min(axis=0), everything.max(axis=0)
        self.diagonal = float(np.linalg.norm(high - low)) or 1.0
        self.middle: Floats = 0.5 * (shown.min(axis=0) + shown.max(axis=0))
        self.radius = 0.5 * float(np.linalg.norm(np.ptp(shown, axis=0))) or 0.5 * self.diagonal
        self.reach = 2.0 * self.diagonal + float(np.linalg.norm(self.middle - 0.5 * (low + high)))
        self.push = 1e-6 * self.diagonal
        # From below, a floor would hide what is on it.
        self.floor = floor if floor is not None and sight.toward @ sight.up > 0.02 else None
        self.surface: Any = None
        if not parts:
            return
        starts = np.cumsum([0] + [len(p.vertices) for p in parts])
        vertices = np.concatenate([p.vertices for p in parts])
        triangles = np.concatenate([p.triangles + s for p, s in zip(parts, starts, strict=False)]).astype(np.int32)
        self.surface = ThickSurface(vertices, triangles, 1e-9 * self.diagonal)
        counts = [len(p.triangles) for p in parts]
        self.colors = np.stack(
            [np.concatenate([np.broadcast_to(getattr(p, side), (n, 3)) for p, n in zip(parts, counts, strict=True)]) for side in _SIDES]
        )
        self.edges = np.repeat([p.edges for p in parts], counts)
        x = vertices[triangles]
        across = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
        self.flat = normalized(across)
        smooth = np.repeat([p.smooth for p in parts], counts)
        self.normals = np.repeat(self.flat[:, None], 3, axis=1)
        if smooth.any():
            self.normals[smooth] = corner_normals(vertices, triangles[smooth], across[smooth], None)
        seen = x @ sight.screen
        sides = np.stack([seen[:, (k + 2) % 3] - seen[:, (k + 1) % 3] for k in range(3)], axis=1)
        double = np.abs(sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0])
        # Heights over the three sides in the picture, pixels.
        self.heights = double[:, None] / np.maximum(np.linalg.norm(sides, axis=2), 1e-300) / pixel

    def picture(self, low: Floats, high: Floats) -> npt.NDArray[np.uint8]:
        """Return the pixels of a part of the plane of the picture, from the top row down."""
        self.low, self.high = low, high
        width, height = (max(int(np.ceil(n)), 1) for n in (high - low) / self.pixel)
        u = low[0] + (np.arange(width) + 0.5) * (high[0] - low[0]) / width
        v = high[1] - (np.arange(height) + 0.5) * (high[1] - low[1]) / height
        plane = np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)
        color, seen = self._light(plane)
        again = np.flatnonzero(_differ(seen.reshape(height, width, -1), self.pixel))
        if len(again):
            color[again] = 0.0
            steps = (np.arange(_SUB) - 0.5 * (_SUB - 1)) * self.pixel / _SUB
            for step in itertools.product(steps, steps):
                color[again] += self._light(plane[again] + step)[0] / _SUB**2
        return np.asarray(255 * np.clip(color, 0, 1) + 0.5, np.uint8).reshape(height, width, 3)

    def _light(self, plane: Floats) -> tuple[Floats, Floats]:
        """Return the colours (n, 3) that rays through points of the plane of the picture see, and what tells one surface from another:
        normals, distances and sunlight (n, 5)."""
        sight, n = self.sight, len(plane)
        origins = self.middle + self.reach * sight.toward + (plane - self.middle @ sight.screen) @ sight.screen.T
        color, seen = np.ones((n, 3)), np.zeros((n, 5))
        far = np.full(n, np.inf)
        hit: npt.NDArray[np.bool_] = np.zeros(n, bool)
        if self.surface is not None:
            found = self.surface.cast(np.ascontiguousarray(origins), origins - 2 * self.reach * sight.toward)
            hit = found.triangles >= 0
            far[hit] = 2 * self.reach * found.fractions[hit]
        if self.floor is not None:
            down = (origins @ sight.up - self.floor) / (sight.toward @ sight.up)
            rows = np.flatnonzero((down > 0) & (down < far - self.push))
            hit[rows] = False
            at = origins[rows] - down[rows, None] * sight.toward
            color[rows], seen[rows, 4] = self._on_floor(at)
            seen[rows, 3] = down[rows]
            seen[rows, :3] = sight.up
        rows = np.flatnonzero(hit)
        if len(rows):
            at = origins[rows] - far[rows, None] * sight.toward
            color[rows], seen[rows, :3], seen[rows, 4] = self._on_triangles(at, found.triangles[rows], found.barycentric[rows])
            seen[rows, 3] = far[rows]
        return color, seen

    def _on_triangles(self, at: Floats, triangles: Places, barycentric: Floats) -> tuple[Floats, Floats, Floats]:
        """Return colours, normals and whether the sun shines there."""
        flat = self.flat[triangles]
        facing = np.where(flat @ self.sight.toward >= 0, 1.0, -1.0)
        normal = normalized(np.einsum("ij,ijk->ik", barycentric, self.normals[triangles]))
        normal = facing[:, None] * np.where((dot(flat, normal) > 0.3)[:, None], normal, flat)
        albedo = np.where((facing > 0)[:, None], self.colors[0, triangles], self.colors[1, triangles])
        albedo = albedo * self._line(triangles, barycentric)[:, None]
        sun = np.maximum(normal @ self.sight.light, 0.0)
        lit = np.flatnonzero(sun > 0)
        sun[lit] *= self._sunlit(at[lit] + self.push * (facing[lit, None] * flat[lit] + self.sight.toward))
        sky = 0.7 + 0.3 * (normal @ self.sight.up)
        # What the eye sees straight on is a little brighter than what it sees from the side: folds in the shadow keep their form.
        front = 0.75 + 0.25 * np.abs(normal @ self.sight.toward)
        light = self.ambient * sky * front + (1.15 - self.ambient) * sun
        return albedo * light[:, None], normal, np.sign(sun)

    def _line(self, triangles: Places, barycentric: Floats) -> Floats:
        """Return the brightness of edges beside that of their triangles; where triangles are too small for them, 1."""
        heights, bright = self.heights[triangles], self.edges[triangles]
        near = np.clip(0.5 + _LINE / 2 - (barycentric * heights).min(axis=1), 0.0, 1.0)
        room = np.clip(heights.min(axis=1) / _FINEST - 1.0, 0.0, 1.0)
        result: Floats = 1.0 - (1.0 - bright) * near * room
        return result

    def _sunlit(self, at: Floats) -> Floats:
        """Return the sunlight that reaches points: 1 or 0."""
        if self.surface is None or not len(at):
            return np.ones(len(at))
        hits = self.surface.cast(np.ascontiguousarray(at), at + 2 * self.reach * self.sight.light)
        return np.asarray(hits.triangles < 0, np.float64)

    def _on_floor(self, at: Floats) -> tuple[Floats, Floats]:
        """Return the colour of the floor, which fades into the white around the picture, and the sunlight on it."""
        up = self.sight.up
        away = at - self.middle
        away -= (away @ up)[:, None] * up
        kept = np.clip(1.8 - np.linalg.norm(away, axis=1) / self.radius, 0.0, 1.0)
        plane = at @ self.sight.screen
        kept *= np.clip(np.minimum(plane - self.low, self.high - plane).min(axis=1) / (_FADE * self.radius), 0.0, 1.0)
        sun = self._sunlit(at + self.push * up)
        color: Floats = 1 - kept[:, None] * (1 - _FLOOR * (1.0 - _SHADOW * (1.0 - sun))[:, None])
        return color, sun


def _differ(seen: Floats, pixel: float) -> npt.NDArray[np.bool_]:
    """Return the pixels beside others with another surface, an edge of the same one or a shadow; `seen`: (height, width, 5)."""
    result = np.zeros(seen.shape[:2], bool)
    for axis in (0, 1):
        a, b = (seen.take(range(k, seen.shape[axis] - 1 + k), axis) for k in (0, 1))
        jump = np.abs(a[..., 3] - b[..., 3]) > 8 * pixel
        jump |= np.einsum("ijk,ijk->ij", a[..., :3], b[..., :3]) < _CREASE
        jump &= (a[..., 3] != 0) | (b[..., 3] != 0)
        jump |= a[..., 4] != b[..., 4]
        for k in (0, 1):
            part = [slice(None)] * 2
            part[axis] = slice(k, seen.shape[axis] - 1 + k)
            result[tuple(part)] |= jump
    return result
