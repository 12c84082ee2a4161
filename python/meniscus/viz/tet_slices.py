"""Plane slices of tetrahedral meshes, and what water on them does there, through matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.fluids import TetVOF
from meniscus.viz.picture import figure as figure_of_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_EDGES = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])


class Plane:
    """A plane with coordinates: `point` is its origin, the second axis points upward as far as it can.

    Args:
        point: m.
        normal: towards the eye.

    Raises:
        TypeError, ValueError: no vectors, or a zero normal.
    """

    def __init__(self, point: Sequence[float], normal: Sequence[float]) -> None:
        self.point: Floats = np.array(_checks.vector("point", point, 3))
        n = np.array(_checks.vector("normal", normal, 3))
        if not n.any():
            raise ValueError("normal must not be zero")
        self.normal: Floats = n / np.linalg.norm(n)
        up = np.eye(3)[2 if abs(self.normal[2]) < 0.9 else 1]
        right = np.cross(up, self.normal)
        self.right: Floats = right / np.linalg.norm(right)
        self.above: Floats = np.cross(self.normal, self.right)

    def of(self, points: Floats) -> Floats:
        """Return the coordinates (k, 2) of the feet of points (k, 3), m."""
        x = points - self.point
        result: Floats = np.stack([x @ self.right, x @ self.above], axis=-1)
        return result

    def cut(self, positions: Floats, tets: Ints) -> tuple[list[Floats], npt.NDArray[np.int64]]:
        """Return the polygons (3 or 4, 2) in which the plane cuts tetrahedra, and the numbers of these."""
        height = (positions - self.point) @ self.normal
        side = height[tets] > 0
        owners = np.flatnonzero(side.any(axis=1) & ~side.all(axis=1))
        polygons = []
        for t in owners:
            ends = tets[t][_EDGES[side[t][_EDGES[:, 0]] != side[t][_EDGES[:, 1]]]]
            a, b = height[ends[:, 0]], height[ends[:, 1]]
            share = (a / (a - b))[:, None]
            at = self.of(positions[ends[:, 0]] * (1 - share) + positions[ends[:, 1]] * share)
            middle = at - at.mean(axis=0)
            polygons.append(at[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]), kind="stable")])
        return polygons, owners


def tet_slice(
    positions: npt.ArrayLike,
    tets: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    point: Sequence[float],
    normal: Sequence[float] = (0.0, -1.0, 0.0),
    limits: tuple[float, float] | None = None,
    colormap: str = "Blues",
    name: str = "",
    numbers: bool = False,
    reach: float | None = None,
    title: str = "",
    size: tuple[float, float] = (6.0, 5.0),
) -> Figure:
    """Return a figure of the polygons in which a plane cuts tetrahedra, coloured by a value of each.

    Args:
        positions: (n, 3), m.
        tets: (m, 4).
        values: (m,); NaN is grey.
        point: of the plane, m, and middle of the picture if there is a `reach`.
        normal: of the plane, towards the eye.
        limits: values of the first and the last colour; default: the least and the greatest in the picture.
        colormap: a name that matplotlib knows.
        name: of the values.
        numbers: whether values are written into the polygons.
        reach: half the width of the picture, m; default: all of the slice.
        title: above the picture.
        size: width and height of the figure, inches.

    Raises:
        TypeError, ValueError: wrong types or shapes.
    """
    x = np.asarray(_checks.points("positions", _checks.numbers("positions", positions), np.dtype(np.float64), 3), np.float64)
    t, v = np.asarray(tets), _checks.numbers("values", values)
    if v.shape != (len(t),):
        raise ValueError(f"values must have shape ({len(t)},), not {v.shape}")
    figure, axes = _empty(title, size)
    _polygons(figure, axes, Plane(point, normal), x, t, v, limits, colormap, name, numbers, reach)
    return figure


def transport_slice(
    vof: TetVOF, tet: int, dt: float, *, normal: Sequence[float] | None = None, size: tuple[float, float] = (6.0, 5.0)
) -> Figure:
    """Return a figure of what one tetrahedron requests in the next step: where it is traced back to, and from which it gets water.

    The tetrahedron is outlined at the end of the step, its traced image in red, on a slice of the old mesh. Colours say how full the old
    tetrahedra are, numbers which per cent of its volume are requested from each; red dots are the feet of the sample points, where these
    are fixed lattices. A copy of the solver does the step.

    Args:
        vof: is not changed.
        tet: its number.
        dt: of the step, s.
        normal: of the slice; default: across the way of the tetrahedron and the vertical.
        size: width and height of the figure, inches.

    Raises:
        TypeError, ValueError: no such tetrahedron, or a step that is not possible.

    Source: Lee 2018, section 3.3.2, figure 3.5.
    """
    _checks.one_of_type("vof", vof, TetVOF)
    number = _checks.integer("tet", tet, 0, len(vof.volume))
    before, fill = np.array(vof.positions), np.array(vof.saturation)
    room = np.array(vof.rank) >= 0
    trial = vof.copy()
    trial.move(_checks.positive("dt", dt))
    trial.request(dt)
    receiver, donor, volume = trial.requests()
    mine = receiver == number
    donors, index = np.unique(donor[mine], return_inverse=True)
    requested = np.bincount(index, volume[mine], len(donors))
    here = np.array(trial.positions)[vof.tets[number]]
    velocity = vof.velocity[number]
    there = here - dt * velocity
    across = np.cross(velocity, (0.0, 0.0, 1.0)) if normal is None else np.asarray(normal, np.float64)
    if not np.linalg.norm(across) > 0:
        across = np.array((0.0, -1.0, 0.0))
    plane = Plane(there.mean(axis=0).tolist(), across.tolist())
    figure, axes = _empty(f"requests of tetrahedron {number} in {dt:.3g} s", size)
    edge = float(np.linalg.norm(here[1:] - here[0], axis=1).max())
    reach = 1.1 * edge + float(np.linalg.norm(velocity)) * dt
    _polygons(figure, axes, plane, before, vof.tets, np.where(room, fill, np.nan), (0.0, 1.0), "Blues", "fill", False, reach)
    for corners, color, style in ((here, "k", "-"), (there, "r", "--")):
        at = plane.of(corners)
        for i, j in _EDGES:
            axes.plot(at[[i, j], 0], at[[i, j], 1], style, color=color, lw=1.4)
    start, end = plane.of(here.mean(axis=0)), plane.of(there.mean(axis=0))
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "r"})
    o = trial.options
    steps = {4: 1, 10: 2, 20: 3, 35: 4}.get(o.count)
    if o.samples == "fixed" and steps is not None:
        at = plane.of(_lattice(steps) @ there)
        axes.plot(at[:, 0], at[:, 1], "r.", ms=4)
    whole = float(abs(np.linalg.det(there[1:] - there[0]))) / 6.0
    for k in np.argsort(-requested)[:8]:
        at = plane.of(before[vof.tets[donors[k]]].mean(axis=0))
        label = f"{100 * requested[k] / whole:.0f} %"
        axes.text(*at, label, ha="center", va="center", fontsize=7, bbox={"facecolor": "w", "alpha": 0.8, "lw": 0, "pad": 0.8})
    return figure


def way_out_slice(
    vof: TetVOF, tet: int, *, normal: Sequence[float] = (0.0, -1.0, 0.0), reach: float | None = None, size: tuple[float, float] = (6.0, 5.0)
) -> Figure:
    """Return a figure of the ranks around a tetrahedron and of where its water goes when it is full: the tetrahedra of `vof.way_out`.

    Args:
        vof: the solver.
        tet: number of the tetrahedron, which is outlined in red; where its water goes is outlined in green.
        normal: of the slice, which passes through the centroid of the tetrahedron.
        reach: half the width of the picture, m; default: all of the slice.
        size: width and height of the figure, inches.

    Raises:
        TypeError, ValueError: no such tetrahedron.

    Source: Lee 2018, section 3.3.1, figure 3.6.
    """
    _checks.one_of_type("vof", vof, TetVOF)
    way, found = vof.way_out(tet)
    x, rank = np.array(vof.positions), np.array(vof.rank)
    middle = x[vof.tets].mean(axis=1)
    plane = Plane(middle[tet].tolist(), normal)
    figure, axes = _empty(f"rank; the way out of {tet}: {way.replace('_', ' ')}", size)
    _polygons(figure, axes, plane, x, vof.tets, np.where(rank >= 0, rank, np.nan), None, "viridis", "rank", True, reach)
    start = plane.of(middle[tet])
    for t in found:
        axes.annotate("", plane.of(middle[t]), start, arrowprops={"arrowstyle": "->", "color": "tab:red", "lw": 1.5})
    for t, color in [*((t, "tab:green") for t in found), (tet, "tab:red")]:
        at = plane.of(x[vof.tets[t]])
        for i, j in _EDGES:
            axes.plot(at[[i, j], 0], at[[i, j], 1], color=color, lw=1.6)
    return figure


def _lattice(m: int) -> Floats:
    """Return barycentric coordinates of the points of a regular lattice, pulled inward."""
    points = [(i, j, k, m - i - j - k) for i in range(m + 1) for j in range(m + 1 - i) for k in range(m + 1 - i - j)]
    result: Floats = (np.array(points) + 0.25) / (m + 1)
    return result


def _empty(title: str, size: tuple[float, float]) -> tuple[Figure, Any]:
    figure = figure_of_size(*_checks.vector("size", size, 2))
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title)
    return figure, axes


def _polygons(
    figure: Any,
    axes: Any,
    plane: Plane,
    positions: Floats,
    tets: npt.NDArray[Any],
    values: Floats,
    limits: tuple[float, float] | None,
    colormap: str,
    name: str,
    numbers: bool,
    reach: float | None,
) -> None:
    from matplotlib import colormaps
    from matplotlib.collections import PolyCollection

    if reach is not None:
        close = np.flatnonzero((np.abs(plane.of(positions[tets].mean(axis=1))) < 1.5 * reach).all(axis=1))
        tets, values = tets[close], values[close]
    polygons, owners = plane.cut(positions, tets)
    shown = values[owners]
    known = shown[np.isfinite(shown)]
    first, last = limits or ((float(known.min()), float(known.max())) if len(known) else (0.0, 1.0))
    colors = np.asarray(colormaps[colormap](np.clip((shown - first) / max(last - first, 1e-300), 0.0, 1.0)))
    colors[~np.isfinite(shown)] = (0.75, 0.72, 0.68, 1.0)
    axes.add_collection(PolyCollection(polygons, facecolors=colors, edgecolors="0.55", linewidths=0.4))
    if numbers:
        # Slivers have no place for a number.
        areas = np.array([np.ptp(polygon, axis=0).prod() for polygon in polygons])
        for polygon, value, area in zip(polygons, shown, areas, strict=True):
            if np.isfinite(value) and area > 0.4 * areas.max():
                axes.text(*polygon.mean(axis=0), f"{value:g}", ha="center", va="center", fontsize=6, clip_on=True, color="0.9")
    if reach is not None:
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-reach, reach)
    else:
        axes.autoscale_view()
    if name:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        figure.colorbar(ScalarMappable(Normalize(first, last), colormap), ax=axes, label=name, shrink=0.7)
