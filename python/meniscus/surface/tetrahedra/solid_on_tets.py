"""A solid as a tetrahedral mesh sees it: distances, cut cells, fractions, normals and velocities."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core.memory import MemoryOwner
from meniscus.mesh.quadrature.tet_samples import tet_samples
from meniscus.surface.shapes.constructive import checked_band
from meniscus.surface.shapes.solid import checked_step
from meniscus.surface.tetrahedra.solid_at_time import SolidAtTime, TetSolid, members_at, union_distance
from meniscus.surface.tetrahedra.touched import checked_tets

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int32]
FractionBy = Literal["level-set", "count"]
Continuation = Literal["closest", "averaged"]
_APART = 2  # of what is known of the motion in a tetrahedron: nothing, and it is not continued there


class SolidOnTets(MemoryOwner):
    """Solid on a tetrahedral mesh at one time: signed distance at the nodes; fraction, cut cells, normal and velocity per tetrahedron.

    All arrays keep their addresses; `update` fills them. Tetrahedra may be inverted: fractions are of the size of their volume.

    A tetrahedron is cut if the surface touches it, though none of its nodes or samples is inside: a thin plate, a spike, a small ball.
    For surfaces of triangles the test is exact: closed tetrahedra and closed triangles that have a common point. For shapes,
    tetrahedra are divided until a point of the other side is found or none can be there. None is missed, but those that are closer to the
    surface than 1/64 of their edges may count as cut.

    Args:
        tets: (m, 4) int32; copied, unless it is read-only.
        vertices: number of vertices.
        fraction: 'level-set': share of the volume below the linear interpolation of the distance, of second order. 'count': share of
            sample points inside, as in the source.
        count: number of these points: 1, 4, 5, 8, 10, 20, 35 or 64 (`mesh.tet_samples`).
        continuation: 'closest': within the band, normal and velocity of each tetrahedron are those of the closest point of the surface
            to its centroid; the others choose, layer by layer, among the points that their neighbours chose. 'averaged': those of
            cut ones are such, and all others take means of their neighbours, layer by layer, as in the source.
        stars: the tetrahedra around each vertex, of the core, where they are known; default: found when they are needed.

    Raises:
        TypeError, ValueError: wrong dtypes or shapes, a corner that is no vertex, options that do not exist.

    Source: Lee 2018, section 3.3.1.
    """

    borrowed = ("_tets", "_moving")

    def __init__(
        self,
        tets: Ints,
        vertices: int,
        *,
        fraction: FractionBy = "level-set",
        count: int = 10,
        continuation: Continuation = "closest",
        stars: _surface.TetStars | None = None,
    ) -> None:
        n = _checks.integer("vertices", vertices, at_least=0, below=2**31)
        given = checked_tets(tets, n)
        self._own_tets = np.array(given) if given.flags.writeable else None
        self._tets = given if self._own_tets is None else self._own_tets
        self._tets.flags.writeable = False
        self._fraction_by = _checks.choice("fraction", fraction, FractionBy)
        self._samples = len(tet_samples("fixed", count))
        self._continuation = _checks.choice("continuation", continuation, Continuation)
        m = len(self._tets)
        self._phi = np.zeros(n)
        self._fraction = np.zeros(m)
        self._cut = np.zeros(m, np.bool_)
        self._inside = np.zeros(m, np.bool_)
        self._normal = np.zeros((m, 3))
        self._velocity = np.zeros((m, 3))
        self._time = self._band = math.nan
        # Scratch memory, kept from call to call.
        self._known = np.full(m, _APART, np.int8)
        self._occupancy = _surface.UnionOccupancy()
        self._moving: Any = None
        self._motion_layers = -1
        self._stars = None if stars is None else _checks.one_of_type("stars", stars, _surface.TetStars)
        self._trees: dict[int, tuple[Ints, Any]] = {}

    @property
    def phi(self) -> Floats:
        """Signed distance (n,), m, at the nodes, <= 0 inside, clamped to the band on both sides."""
        return self._phi

    @property
    def fraction(self) -> Floats:
        """Share (m,) of each tetrahedron that is solid, from 0 to 1."""
        return self._fraction

    @property
    def cut(self) -> Bools:
        """Tetrahedra (m,) that the surface touches."""
        return self._cut

    @property
    def inside(self) -> Bools:
        """Tetrahedra (m,) that are in the solid entirely and not cut."""
        return self._inside

    @property
    def normal(self) -> Floats:
        """Unit normals (m, 3) away from the solid; 0 inside of it, and where nothing cut or within the band is connected."""
        return self._normal

    @property
    def velocity(self) -> Floats:
        """Velocity (m, 3) of the solid, m/s, constant along normals near the surface; 0 where the normal is."""
        return self._velocity

    @property
    def tets(self) -> Ints:
        """The tetrahedra (m, 4), read-only."""
        return self._tets

    @property
    def time(self) -> float:
        """Time of the last update, s; NaN before the first and after one that failed."""
        return self._time

    @property
    def band(self) -> float:
        """Distance up to which `phi` is exact, m; NaN before the first update."""
        return self._band

    @property
    def members(self) -> list[SolidAtTime]:
        """The members of the solid of the last update; none before the first."""
        return [] if self._moving is None else list(self._moving[0])

    def update(
        self,
        solid: TetSolid | None,
        positions: Floats,
        time: float = 0.0,
        dt: float | None = None,
        *,
        band: float | None = None,
        edges: float = 0.0,
        motion: bool = True,
    ) -> None:
        """Set all arrays to a solid at a time.

        Args:
            solid: a `Solid`, such as `KinematicSolid`, `DeformingSolid` or `SolidGroup`; a `Shape` or `LevelSet` at rest; None: nothing.
            positions: (n, 3) float64 of the vertices at this time, m.
            time: s.
            dt: for velocities, as for `Solid.sample`: None: at `time`. A number of either sign, s: their mean between `time` and
                `time + dt`.
            band: m; closer to the surface than this, distances are exact, and normals and velocities those of closest points. Default, and
                the least: 1.6 times the longest edge of the mesh, so that tetrahedra
                with a node beyond are not cut. `math.inf`: everywhere.
            edges: this many of the longest edges are added to `band`.
            motion: whether to set `normal` and `velocity`, too; they are left to `update_motion` otherwise.

        Raises:
            TypeError, ValueError: wrong types, shapes or dimensions, positions or distances that are not finite.
        """
        x: Any = _checks.points("positions", positions, np.dtype(np.float64), 3)
        if len(x) != len(self._phi):
            raise ValueError(f"positions must have {len(self._phi)} rows, one for each vertex, not {len(x)}")
        _checks.require_finite("positions", x)
        when = _checks.number("time", time)
        step = None if dt is None else checked_step(dt)
        given = 0.0 if band is None else checked_band(band)
        more = _checks.number("edges", edges)
        members = members_at(solid, when, step)
        self._time, self._band, self._moving = math.nan, math.nan, None
        width, edge = self._set_occupancy(members, x, given, more)
        self._band = width
        self._motion_layers = -1
        self._moving = (members, x, width, edge)
        self._time = when
        if _checks.flag("motion", motion):
            self.update_motion()

    def update_motion(self, layers: int | None = None, where: npt.NDArray[np.bool_] | None = None) -> None:
        """Set `normal` and `velocity` of the last update, unless they are set. Solid and positions must still be those of that time.

        Args:
            layers: how far beyond the band, in steps across corners; elsewhere both are 0. None: everywhere.
            where: (m,) bool, the tetrahedra that matter, such as those with water; the others take no part and have 0. None: all.

        Raises:
            TypeError, ValueError: a number of layers that is negative, a wrong shape; there was no update.
        """
        wanted = 2**62 if layers is None else _checks.integer("layers", layers, at_least=0)
        if self._moving is None:
            raise ValueError("update_motion needs an update before")
        if where is not None:
            where = np.asarray(where)
            if where.dtype != np.bool_ or where.shape != (len(self._tets),):
                raise ValueError(f"where must be {len(self._tets)} bools, one for each tetrahedron, not {where.shape} of {where.dtype}")
        if wanted > self._motion_layers:
            members, x, width, edge = self._moving
            self._set_motion(members, x, width, edge, wanted, where)
            # What holds for some tetrahedra says nothing of the others.
            self._motion_layers = wanted if where is None else -1

    def _set_occupancy(self, members: list[SolidAtTime], x: Floats, band: float, edges: float) -> tuple[float, float]:
        """Set `phi`, `fraction`, `cut` and `inside`; return the band that these have, m, and the longest edge, m."""
        trees = [None if member.surface is None else self._tree(i, *member.surface) for i, member in enumerate(members)]
        parts: list[tuple[Any, ...]] = [(member.field, member.slope, tree) for member, tree in zip(members, trees, strict=True)]
        width, edge = self._occupancy.set(x, self._tets, parts, band, edges, self._phi, self._fraction, self._cut, self._inside)
        if self._fraction_by == "count" and members:
            _surface.count_samples(x, self._tets, self._cut, union_distance(members), self._samples, self._fraction)
        return width, edge

    def _tree(self, member: int, vertices: Floats, triangles: Ints) -> Any:
        """Return a tree over the surface of a member; as long as its triangles are the same, it keeps its structure."""
        known = self._trees.get(member)
        if known is not None and known[0].shape == triangles.shape and (known[0] == triangles).all():
            known[1].update(vertices)
            return known[1]
        tree = _surface.SurfaceTree(vertices, triangles)
        self._trees[member] = (triangles, tree)
        return tree

    def _clear_motion(self) -> None:
        """Set to 0 what the last call may have set: few rows, where little of the mesh is wet."""
        known = np.flatnonzero(self._known != _APART)
        if 8 * len(known) > len(self._known):
            self._normal.fill(0.0)
            self._velocity.fill(0.0)
        else:
            self._normal[known] = 0
            self._velocity[known] = 0
        self._known.fill(_APART)

    def _set_motion(self, members: list[SolidAtTime], x: Floats, band: float, edge: float, layers: int, where: Any) -> None:
        self._clear_motion()
        if not members:
            return
        closest = self._continuation == "closest"
        _surface.find_known(self._tets, self._phi, band, self._cut, self._inside, closest, self._known)
        if where is not None:
            self._known[~where] = _APART
        near = np.flatnonzero(self._known == 1)
        if not len(near):
            return
        corners = self._tets[near]
        centroids = 0.25 * ((x[corners[:, 0]] + x[corners[:, 1]]) + (x[corners[:, 2]] + x[corners[:, 3]]))
        feet, self._normal[near], self._velocity[near] = _motion_of(members, centroids, 1e-5 * edge)
        if layers and (self._known == 0).any():
            if self._stars is None:
                self._stars = _surface.TetStars(self._tets, len(self._phi))
            if closest:
                _surface.continue_closest(self._stars, x, self._known, near, feet, layers, self._normal, self._velocity)
            else:
                _surface.continue_averages(self._stars, self._known, layers, self._normal, self._velocity)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor's arguments; arrays are filled by the next update."""
        return _rebuild, (self._tets, len(self._phi), self._fraction_by, self._samples, self._continuation)

    def __repr__(self) -> str:
        """Sizes and time."""
        return f"<SolidOnTets at time {self._time:g} s: {len(self._tets)} tetrahedra, {int(self._cut.sum())} cut>"


def _motion_of(members: list[SolidAtTime], points: Floats, step: float) -> tuple[Floats, Floats, Floats]:
    """Return closest points of the nearest member, normals and velocities there, the first of equally near ones."""
    if len(members) == 1:
        return members[0].motion(points, step)
    nearest = np.argmin([member.distance(points) for member in members], axis=0)
    closest, normal, velocity = np.empty_like(points), np.empty_like(points), np.empty_like(points)
    for i, member in enumerate(members):
        mine = np.flatnonzero(nearest == i)
        if len(mine):
            closest[mine], normal[mine], velocity[mine] = member.motion(np.ascontiguousarray(points[mine]), step)
    return closest, normal, velocity


def _rebuild(tets: Ints, vertices: int, fraction: FractionBy, count: int, continuation: Continuation) -> SolidOnTets:
    return SolidOnTets(tets, vertices, fraction=fraction, count=count, continuation=continuation)
