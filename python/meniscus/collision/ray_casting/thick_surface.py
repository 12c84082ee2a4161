"""Visibility queries against thickened triangle surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Classes = npt.NDArray[np.int8]
Bools = npt.NDArray[np.bool_]
_FLOAT64 = np.dtype(np.float64)

VISIBLE: Final[int] = int(_collision.VISIBLE)
"""Class of a target: the segment from the origin is clear of all wedges."""
OCCLUDED: Final[int] = int(_collision.OCCLUDED)
"""Class of a target: the segment meets a wedge, and the target lies in none."""
INSIDE: Final[int] = int(_collision.INSIDE)
"""Class of a target: it lies in a wedge, whatever is on the way."""


class RayHits(NamedTuple):
    """First hits of n segments from an origin to a target.

    Attributes:
        classes: (n,), `VISIBLE`, `OCCLUDED` or `INSIDE`.
        triangles: (n,), the triangle whose wedge is entered first, of several at the same place the first; -1 for visible targets.
        bodies: (n,), its body; -1 for visible targets.
        fractions: (n,), fraction of the way at which the wedge is entered: 0 for origins in a wedge, 1 for visible targets.
        barycentric: (n, 3), of the point of that triangle that is closest to the position; zero for visible targets.
        positions: (n, 3), positions at which the wedge is entered, m; the target itself if it is visible.
        velocities: (n, 3), of the surface there, m/s; zero for visible targets and where no velocities were given.
    """

    classes: Classes
    triangles: Ints
    bodies: Ints
    fractions: Floats
    barycentric: Floats
    positions: Floats
    velocities: Floats


class FaceVisibility(NamedTuple):
    """Visibility between neighbouring cell centres of a grid of (nx, ny, nz) cells, on the faces between the cells.

    Attributes:
        x, y, z: (nx + 1, ny, nz), (nx, ny + 1, nz) and (nx, ny, nz + 1), true where the segment across the face is clear.
        axes: (k,), the axis of each face that is not clear: first those across x, then y, then z, each in C order.
        faces: (k, 3), its place in `x`, `y` or `z`.
        hits: the hits that block it, seen from the cell with the lower coordinate.
    """

    x: Bools
    y: Bools
    z: Bools
    axes: Ints
    faces: Longs
    hits: RayHits


class ThickSurface:
    """A triangle surface that is thickened so that no segment leaks through it. It copies the mesh.

    The wedge of a triangle is the set of points within half the thickness of it, and so holds the triangle pushed out by half the thickness
    along its normal and, in its plane, across its edges; a triangle without area is a capsule or a ball. A target is visible only if the
    whole segment is certainly farther from all triangles than half the thickness. A segment within round-off of that distance (2^-43 of the
    largest coordinate) may count as a hit, but never the other way. The thickness should be small against the cells of a grid and large
    against round-off; a thousandth of the cells is usual.

    Args:
        vertices: (n, 3) float64, C-contiguous, m.
        triangles: (m, 3) int32, C-contiguous; any orientation; the surface need not be closed.
        thickness: of the wedges, m; not negative.
        bodies: (m,) int32, a number of the body that each triangle belongs to; without, all are body 0.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, indices out of range, values that are not finite.

    Source: Guendelman, Selle, Losasso and Fedkiw, "Coupling water and smoke to thin deformable and rigid shells", 2005, section 3;
    Selle, "Hybrid techniques for high-fidelity physical simulation of solids and fluids", 2008, section 4.3.
    """

    def __init__(self, vertices: Floats, triangles: Ints, thickness: float, bodies: Ints | None = None) -> None:
        x = _checks.points("vertices", vertices, _FLOAT64, 3)
        t = _checks.triangles("triangles", triangles)
        self._thickness = _checks.number("thickness", thickness)
        if self._thickness < 0:
            raise ValueError(f"thickness must not be negative, but it is {self._thickness:g}")
        if bodies is not None:
            bodies = _body_numbers(bodies, len(t))
        self._core: Any = _collision.ThickSurface(x, t, self._thickness, bodies)

    @property
    def thickness(self) -> float:
        """Thickness of the wedges, m."""
        return self._thickness

    def move(self, vertices: Floats) -> None:
        """Set new positions of the same vertices, with the results of a new surface. Raises TypeError or ValueError."""
        self._core.move(_checks.points("vertices", vertices, _FLOAT64, 3))

    def classify(self, origins: Floats, targets: Floats) -> Classes:
        """Return the class (k,) of each target, (k, 3) float64, as seen from its origin: VISIBLE, OCCLUDED or INSIDE.

        Exchanging origins and targets does not change which segments are visible.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, different lengths, positions that are not finite.
        """
        return self._core.classify(*_segments(origins, targets))  # type: ignore[no-any-return]

    def cast(self, origins: Floats, targets: Floats, velocities: Floats | None = None) -> RayHits:
        """Return the classes of `classify` and the first hit of each segment.

        Args:
            origins, targets: (k, 3) float64, C-contiguous, m.
            velocities: (n, 3) float64 of the vertices, m/s, for those of the hits.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, different lengths, values that are not finite.
        """
        return RayHits(*self._core.cast(*_segments(origins, targets), _velocities(velocities)))

    def inside(self, points: Floats) -> Bools:
        """Return whether each of the points (k, 3) float64 lies in a wedge. Raises TypeError or ValueError."""
        return self._core.inside(_checks.points("points", points, _FLOAT64, 3))  # type: ignore[no-any-return]

    def near_cells(
        self, low: Sequence[float], spacing: float, shape: Sequence[int], reach: float, *, end_vertices: Floats | None = None
    ) -> Bools:
        """Return the cells of a grid near the surface: a mask of the given shape.

        A segment whose ends lie within `reach` of an unmarked cell along each axis is visible without a test.

        Args:
            low: the lowest corner of the grid, m.
            spacing: of its cells, m.
            shape: cells along each axis.
            reach: largest distance of the end of a segment from its own cell, m: the reach of a stencil.
            end_vertices: (n, 3) float64, positions at the end of a step: then cells near the way of a triangle are marked, too.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite or not positive.
        """
        grid = _grid(low, spacing, shape)
        if end_vertices is not None:
            _checks.points("end_vertices", end_vertices, _FLOAT64, 3)
        return self._core.near_cells(*grid, _checks.number("reach", reach), end_vertices)  # type: ignore[no-any-return]

    def swept_points(self, points: Floats, end_vertices: Floats, *, end_points: Floats | None = None) -> Bools:
        """Return the points (k,) that the surface sweeps over in a step from its positions to `end_vertices`.

        These are the points that meet a triangle at any time while all vertices move straight (exact), and those that lie in a wedge at the
        start or at the end. A point that is not swept over has not changed sides.

        Args:
            points: (k, 3) float64, C-contiguous, m.
            end_vertices: (n, 3) float64, C-contiguous, positions at the end, m; the surface itself does not move.
            end_points: (k, 3) float64, positions of the points at the end, m; without, they stay.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, positions that are not finite.
        """
        _checks.points("end_vertices", end_vertices, _FLOAT64, 3)
        if end_points is not None:
            _checks.points("end_points", end_points, _FLOAT64, 3)
        x = _checks.points("points", points, _FLOAT64, 3)
        return self._core.swept_points(x, end_vertices, end_points)  # type: ignore[no-any-return]

    def visible_faces(
        self, low: Sequence[float], spacing: float, shape: Sequence[int], *, guarded: bool = True, velocities: Floats | None = None
    ) -> FaceVisibility:
        """Return the visibility between neighbouring cell centres of a grid; at the sides, the centres of the next cells outside are used.

        Args:
            low: the lowest corner of the grid, m.
            spacing: of its cells, m.
            shape: cells along each axis.
            guarded: whether only cells near the surface are tested, which changes the time and not the result.
            velocities: (n, 3) float64 of the vertices, m/s, for those of the hits.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite or not positive.
        """
        _checks.one_of_type("guarded", guarded, bool)
        x, y, z, axes, faces, hits = self._core.visible_faces(*_grid(low, spacing, shape), guarded, _velocities(velocities))
        return FaceVisibility(x, y, z, axes, faces, RayHits(*hits))


def _segments(origins: Floats, targets: Floats) -> tuple[Any, Any]:
    return _checks.points("origins", origins, _FLOAT64, 3), _checks.points("targets", targets, _FLOAT64, 3)


def _velocities(velocities: Floats | None) -> Any:
    return None if velocities is None else _checks.points("velocities", velocities, _FLOAT64, 3)


def _body_numbers(bodies: Any, n: int) -> Ints:
    if not isinstance(bodies, np.ndarray) or bodies.dtype != np.int32:
        raise TypeError(f"bodies must be an array of dtype int32, not {getattr(bodies, 'dtype', type(bodies).__name__)}")
    if bodies.shape != (n,):
        raise ValueError(f"bodies must have shape ({n},), not {bodies.shape}")
    return np.ascontiguousarray(bodies)


def _grid(low: Sequence[float], spacing: float, shape: Sequence[int]) -> tuple[tuple[float, ...], float, tuple[int, ...]]:
    if isinstance(shape, (str, bytes)) or not isinstance(shape, (Sequence, np.ndarray)) or len(shape) != 3:
        raise TypeError(f"shape must hold 3 integers, not {shape!r}")
    cells = tuple(_checks.integer(f"shape[{i}]", n, at_least=1) for i, n in enumerate(shape))
    return _checks.vector("low", low, 3), _checks.positive("spacing", spacing), cells
