"""External forces: wind, drag, given loads, pressure. Gravity belongs to the body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.arrays import float_rows, integers
from meniscus.solids.force import FLOAT64, Floats, Force, Ints, of_mesh, per_element
from meniscus.solids.force import rest_positions as _rest

Wind = Sequence[float] | Floats | Callable[[Floats, float], Floats]
_NO_VELOCITIES = np.zeros((0, 3))


class _InWind(Force):
    """A force that the wind sets."""

    _core: _solids.WindDrag | _solids.Drag

    def set_wind(self, wind: Wind) -> None:
        """Set the wind: a velocity, one per node (n, 3), or a function of positions (n, 3) and time that returns these; m/s."""
        if callable(wind):
            self._wind: Callable[[Floats, float], Floats] | None = wind
            return
        self._wind = None
        self._core.set_wind(_velocities(wind, self.nodes), _NO_VELOCITIES)

    def prepare(self, x: Floats, v: Floats, time: float) -> None:
        """Update the wind at positions `x` (m) and a `time` (s), and the velocities `v` (m/s) for the factor of quadratic drag."""
        _checks.points("x", x, FLOAT64, 3)
        _checks.require_finite("v", _checks.points("v", v, FLOAT64, 3))
        wind = np.zeros((0, 3)) if self._wind is None else _velocities(self._wind(x, time), self.nodes)
        self._core.set_wind(wind, v)


class WindDrag(_InWind):
    """Wind on a surface: at each vertex, F = c ((wind - v) . N) N with the unit normal N of the vertex.

    The normal is that of the triangles at the vertex, weighted by their areas. Wind along the surface does nothing.

    Args:
        mesh: a triangle mesh, or an (m, 3) int32 array of triangles.
        rest_positions: (n, 3) float64, m, needed for `per_area`; the mesh's own vertices if left out.
        coefficient: c, N s/m (quadratic: N s^2/m^2); a number or one per node.
        per_area: instead of `coefficient`: c per area, N s/m^3 (quadratic: N s^2/m^4), times a third of the rest areas of the triangles at
            each vertex. The drag of a surface then does not depend on its resolution.
        wind: m/s; a velocity, one per node (n, 3), or a function of positions (n, 3) and time that returns these. A function is evaluated
            before each step (`prepare`).
        quadratic: F = c |(wind - v) . N| ((wind - v) . N) N. The factor |...| uses the velocities of the last `prepare`, so that steps stay
            linear in the velocity; before, velocities are 0. Newton's method in implicit Euler uses the new velocities in both factors.

    Raises:
        TypeError, ValueError: wrong dtype or shape, nodes without a position, both or neither of `coefficient` and `per_area`,
            negative values, winds that are not finite.

    Source: Selle 2008, section 6.6.
    """

    _core: _solids.WindDrag

    def __init__(
        self,
        mesh: Any,
        rest_positions: Floats | None = None,
        *,
        coefficient: npt.ArrayLike | None = None,
        per_area: float | None = None,
        wind: Wind = (0.0, 0.0, 0.0),
        quadratic: bool = False,
    ) -> None:
        mesh = own_mesh(mesh)
        triangles = of_mesh("mesh", mesh, "triangles", 3)
        nodes = int(triangles.max(initial=-1)) + 1
        if (coefficient is None) == (per_area is None):
            raise ValueError("give coefficient or per_area, one of the two")
        if coefficient is not None:
            c = _per_node("coefficient", coefficient, nodes)
        else:
            c = _checks.number("per_area", per_area) * _node_areas(triangles, _rest(mesh, rest_positions, triangles), nodes)
        self._make(_solids.WindDrag, triangles, np.ascontiguousarray(c), _checks.flag("quadratic", quadratic))
        self.set_wind(wind)


class Drag(_InWind):
    """Isotropic drag at each node: F = c (wind - v). Wind on cloth is better modelled by `WindDrag`.

    Args:
        coefficient: (n,), one per node: c, N s/m (quadratic: N s^2/m^2); or a number, together with `nodes`.
        nodes: number of nodes.
        wind: as in `WindDrag`.
        quadratic: F = c |wind - v| (wind - v), with the factor from the velocities of the last `prepare`; Newton's method in implicit
            Euler uses the new velocities in both factors.

    Raises:
        TypeError, ValueError: wrong type or shape, negative values, winds that are not finite.

    Source: Selle 2008, section 6.6 (which does without).
    """

    _core: _solids.Drag

    def __init__(
        self, coefficient: npt.ArrayLike, *, nodes: int | None = None, wind: Wind = (0.0, 0.0, 0.0), quadratic: bool = False
    ) -> None:
        size = np.asarray(coefficient).shape
        if nodes is None and len(size) != 1:
            raise ValueError("coefficient must have shape (n,) where the number of nodes is not given")
        n = size[0] if nodes is None else _checks.integer("nodes", nodes, 0, 2**31)
        self._make(_solids.Drag, per_element("coefficient", coefficient, n), _checks.flag("quadratic", quadratic))
        self.set_wind(wind)


class PointLoads(Force):
    """Given forces on some nodes.

    Args:
        nodes: (m,) integers; a node may be named more than once.
        loads: (m, 3) float64, C-contiguous, N.

    Raises:
        TypeError, ValueError: wrong dtype or shape, negative nodes, loads that are not finite.

    Source: Newton's second law.
    """

    _core: _solids.PointLoads

    def __init__(self, nodes: npt.ArrayLike, loads: npt.ArrayLike) -> None:
        f = float_rows("loads", loads, 3)
        _checks.require_finite("loads", f)
        self._make(_solids.PointLoads, integers("nodes", nodes, 1), f)

    def _changes(self) -> Any:
        return self.loads.copy()

    def _restore(self, changes: Any) -> None:
        self.loads[...] = changes

    @property
    def loads(self) -> Floats:
        """The forces (m, 3), N: a view that may be written to between steps."""
        return np.asarray(self._core.loads)


class Pressure(Force):
    """A pressure on a surface, along its normals: each triangle gives pressure times area vector, a third to each corner.

    For a closed surface this is minus the derivative of the energy -p V; an open one has no energy, and `energy` is 0.

    Args:
        mesh: a triangle mesh, or an (m, 3) int32 array of triangles, counter-clockwise as seen from outside.
        pressure: inside minus outside, Pa.

    Raises:
        TypeError, ValueError: wrong dtype or shape, a pressure that is not finite.

    Source: the divergence theorem.
    """

    _core: _solids.Pressure

    def __init__(self, mesh: Any, pressure: float) -> None:
        mesh = own_mesh(mesh)
        triangles = of_mesh("mesh", mesh, "triangles", 3)
        self._make(_solids.Pressure, triangles, _checks.number("pressure", pressure), _is_closed(triangles))

    def _changes(self) -> Any:
        return self.pressure

    def _restore(self, changes: Any) -> None:
        self.pressure = changes

    @property
    def pressure(self) -> float:
        """Inside minus outside, Pa; may be set between steps."""
        return float(self._core.pressure)

    @pressure.setter
    def pressure(self, value: float) -> None:
        self._core.pressure = _checks.number("pressure", value)

    def volume(self, x: Floats) -> float:
        """Return the signed volume that a closed surface has at positions `x` (m), m^3."""
        return float(self._core.volume(_checks.points("x", x, FLOAT64, 3)))


def _velocities(wind: Any, nodes: int) -> Floats:
    w = np.ascontiguousarray(np.atleast_2d(_checks.numbers("wind", wind)))
    if w.ndim != 2 or w.shape[1] != 3 or (len(w) != 1 and len(w) < nodes):
        raise ValueError(f"wind must be a velocity or have shape ({nodes}, 3), not {np.shape(wind)}")
    _checks.require_finite("wind", w)
    return w


def _per_node(name: str, value: npt.ArrayLike, nodes: int) -> Floats:
    array = np.asarray(value)
    return per_element(name, array, len(array) if array.ndim == 1 and len(array) >= nodes else nodes)


def _node_areas(triangles: Ints, x: Floats, nodes: int) -> Floats:
    a, b, c = (x[triangles[:, k]] for k in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return np.asarray(np.bincount(triangles.ravel(), np.repeat(areas / 3, 3), nodes), np.float64)


def _is_closed(triangles: Ints) -> bool:
    """Return whether every directed edge has its opposite exactly once."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]).astype(np.int64)
    n = int(triangles.max(initial=0)) + 1
    forward, backward = np.sort(edges[:, 0] * n + edges[:, 1]), np.sort(edges[:, 1] * n + edges[:, 0])
    return bool(np.array_equal(forward, backward))
