"""Shapes of bodies and obstacles: triangle meshes that are made here, or read from a file, rotated, scaled and placed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import TriangleMesh, icosphere, read, tet_block
from meniscus.viz.smoke import UpAxis

Floats = npt.NDArray[np.float64]
Triangles = npt.NDArray[np.int32]
Mesh = tuple[Floats, Triangles]

UPWARD: dict[UpAxis, list[int]] = {"x": [1, 2, 0], "y": [2, 0, 1], "z": [0, 1, 2]}
"""Axes of a file as x, y and z, where the named one turns upward. A cyclic change of axes is a rotation, so insides stay inside."""


def lattice(around: int, across: int, *, closed: bool = True, inward: bool = False) -> Triangles:
    """Return the triangles of a surface over a lattice of nodes, those of its second axis next to each other.

    Args:
        around, across: nodes along the axes.
        closed: whether the last nodes of the first axis are beside its first ones; those of the second always are.
        inward: whether the surface is turned over.
    """
    i, j = (n.ravel() for n in np.meshgrid(np.arange(around if closed else around - 1), np.arange(across), indexing="ij"))
    next_i, next_j = (i + 1) % around, (j + 1) % across
    a, b, c, d = i * across + j, next_i * across + j, next_i * across + next_j, i * across + next_j
    if inward:
        b, d = d, b
    return np.ascontiguousarray(np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]), np.int32)


def bowl(around: int, rings: int) -> Triangles:
    """Return the triangles of a node and of rings of nodes around it, one after the other."""
    fan = [(0, 1 + k, 1 + (k + 1) % around) for k in range(around)]
    pairs = [(1 + i * around + k, 1 + i * around + (k + 1) % around) for i in range(rings - 1) for k in range(around)]
    side = [t for p, q in pairs for t in ((p, p + around, q), (q, p + around, q + around))]
    return np.array(fan + side, np.int32)


def knot(around: int = 240, across: int = 24, thickness: float = 0.5) -> Mesh:
    """Return the closed surface of a tube along a trefoil knot, lying around the z axis, 6 wide.

    Args:
        around: vertices along the knot.
        across: vertices around the tube.
        thickness: radius of the tube.
    """
    t = 2 * np.pi * np.arange(around) / around
    center = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)
    along = np.stack([np.cos(t) + 4 * np.cos(2 * t), -np.sin(t) + 4 * np.sin(2 * t), -3 * np.cos(3 * t)], axis=1)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    # The curve is never vertical, so that the vertical gives every section a frame that comes back to itself.
    side = np.cross(along, (0.0, 0.0, 1.0))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    above = np.cross(side, along)
    angle = 2 * np.pi * np.arange(across) / across
    ring = np.cos(angle)[None, :, None] * side[:, None] + np.sin(angle)[None, :, None] * above[:, None]
    vertices = (center[:, None] + thickness * ring).reshape(-1, 3)
    return np.ascontiguousarray(vertices), lattice(around, across)


def load(path: str, up: UpAxis) -> Mesh:
    """Return the mesh of a file with the named axis turned upward. Raises ValueError for a file without a usable mesh."""
    _checks.choice("mesh_up", up, UpAxis)
    try:
        vertices, triangles = read(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"the obstacle cannot be read: {error}") from error
    return np.ascontiguousarray(vertices[:, UPWARD[up]]), triangles


def placed(mesh: Mesh, center: tuple[float, float, float], size: float) -> Mesh:
    """Return a mesh moved and scaled so that its bounding box has its middle at `center` and `size` (m) as its longest edge."""
    vertices, triangles = mesh
    used = vertices[np.unique(triangles)]
    low, high = used.min(axis=0), used.max(axis=0)
    longest = float((high - low).max())
    if longest <= 0:
        raise ValueError("the obstacle cannot be used: all of its vertices are at one point")
    return np.ascontiguousarray((vertices - 0.5 * (low + high)) * (_checks.positive("size", size) / longest) + center), triangles


def hexahedron(corners: npt.ArrayLike) -> TriangleMesh:
    """Return the surface of a body with eight corners: four around one side, then the four opposite ones in the same order."""
    x = np.asarray(corners, np.float64)
    sides = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (2, 3, 7, 6), (1, 2, 6, 5), (0, 4, 7, 3))
    triangles = np.array([t for p, q, r, s in sides for t in ((p, q, r), (p, r, s))], np.int32)
    volume = np.linalg.det(x[triangles] - x.mean(axis=0)).sum()
    return TriangleMesh(x, triangles if volume > 0 else np.ascontiguousarray(triangles[:, ::-1]))


def ring(radius: float, tube: float, around: int = 32, across: int = 12) -> TriangleMesh:
    """Return a torus around the y axis."""
    return _woven(lambda u, v: (radius + tube * np.cos(v), -tube * np.sin(v), u), around, across)


def cup(radius: float, height: float, wall: float, around: int = 28, along: int = 24) -> TriangleMesh:
    """Return a cup around the y axis, open at its top, with a small hole in its bottom, as a closed surface."""

    def profile(u: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        # The profile is a loop of constant thickness around an arc from the axis to the rim; it stays off the axis by a little.
        s = v / np.pi
        inner = s < 1
        t = np.where(inner, s, 2 - s) * np.pi / 2
        r = np.where(inner, radius - wall, radius) * np.sin(0.06 + t * (1 - 0.12 / np.pi))
        y = -np.where(inner, height - wall, height) * np.cos(0.06 + t * (1 - 0.12 / np.pi))
        return r, y, u

    return _woven(profile, around, along)


def star(points: int, inner: float, outer: float, depth: float) -> TriangleMesh:
    """Return a prism over a star, along y."""
    n = 2 * points
    angle = 2 * np.pi * np.arange(n) / n
    r = np.where(np.arange(n) % 2, inner, outer)
    rim = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1)
    return _prism(rim, depth)


def paddle_wheel(paddles: int, radius: float, hub: float, width: float, thickness: float) -> TriangleMesh:
    """Return a closed wheel with an axle along y through the origin: straight paddles of a thickness on a hub.

    Raises:
        ValueError: paddles that touch each other at the hub.
    """
    half = 0.5 * thickness
    foot = np.arcsin(min(half / hub, 1.0))
    if paddles < 2 or not 2 * foot < 2 * np.pi / paddles:
        raise ValueError(f"{paddles} paddles of thickness {thickness:g} do not fit on a hub of radius {hub:g}")
    rim = []
    for k in range(paddles):
        angle = 2 * np.pi * k / paddles
        along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        rim += [hub * (np.cos(foot) * along - np.sin(foot) * across), radius * along - half * across]
        rim += [radius * along + half * across, hub * (np.cos(foot) * along + np.sin(foot) * across)]
        # Between two paddles, the hub is round.
        for part in (1 / 3, 2 / 3):
            turn = angle + foot + part * (2 * np.pi / paddles - 2 * foot)
            rim.append(hub * np.array([np.cos(turn), np.sin(turn)]))
    return _prism(np.array(rim), width)


def _prism(rim: Floats, depth: float) -> TriangleMesh:
    """Return a closed prism along y over a section that is seen as a whole from the origin; its rim (n, 2) goes from x to z."""
    n = len(rim)
    layers = [np.column_stack([rim[:, 0], np.full(n, y), rim[:, 1]]) for y in (-depth / 2, depth / 2)]
    x = np.concatenate([*layers, [[0, -depth / 2, 0], [0, depth / 2, 0]]])
    k, m = np.arange(n), (np.arange(n) + 1) % n
    sides = [np.stack([k, k + n, m], axis=1), np.stack([m, k + n, m + n], axis=1)]
    caps = [np.stack([np.full(n, 2 * n), k, m], axis=1), np.stack([np.full(n, 2 * n + 1), m + n, k + n], axis=1)]
    return TriangleMesh(x, np.concatenate([*sides, *caps]).astype(np.int32))


def _woven(place: Any, around: int, across: int) -> TriangleMesh:
    """Return a closed surface of (r, y, angle) = place(u, v) over two periodic parameters."""
    i, j = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    r, y, u = place(2 * np.pi * i / around, 2 * np.pi * j / across)
    x = np.stack([r * np.cos(u), y, r * np.sin(u)], axis=-1).reshape(-1, 3)
    mesh = TriangleMesh(x, lattice(around, across))
    volume = np.linalg.det(x[mesh.triangles]).sum()
    return mesh if volume > 0 else TriangleMesh(x, np.ascontiguousarray(mesh.triangles[:, ::-1]))


def ball(center: Sequence[float], radius: float) -> TriangleMesh:
    """Return the triangles of a sphere."""
    mesh = icosphere(3, radius)
    return TriangleMesh(mesh.vertices + np.asarray(center), mesh.triangles)


def tube(
    start: Sequence[float], end: Sequence[float], radii: Sequence[float] | Floats, along: Floats | None = None, around: int = 48
) -> TriangleMesh:
    """Return the triangles of a surface of revolution with given radii (m) at parts of the way along the axis; None: equal parts."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    axis = (b - a) / np.linalg.norm(b - a)
    u = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    u /= np.linalg.norm(u)
    v = np.cross(axis, u)
    angles = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    ring = np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * v
    along = np.linspace(0.0, 1.0, len(radii)) if along is None else along
    vertices = np.concatenate([a + s * (b - a) + r * ring for s, r in zip(along, radii, strict=True)])
    return TriangleMesh(vertices, lattice(len(radii), around, closed=False, inward=True))


def block(lower: Sequence[float], upper: Sequence[float], cells: int = 6) -> TriangleMesh:
    """Return the triangles of a box."""
    size = np.subtract(upper, lower)
    n = np.maximum(1, np.round(cells * size / size.max())).astype(int)
    nx, ny, nz = n.tolist()
    mesh = tet_block(nx, ny, nz, size.tolist(), origin=tuple(lower)).boundary
    return TriangleMesh(mesh.vertices, mesh.triangles)


def together(*parts: TriangleMesh) -> TriangleMesh:
    """Return closed surfaces as one mesh; where they overlap, they are one body."""
    first = np.cumsum([0, *(len(part.vertices) for part in parts)])
    triangles = np.concatenate([part.triangles + start for part, start in zip(parts, first, strict=False)])
    return TriangleMesh(np.concatenate([part.vertices for part in parts]), np.ascontiguousarray(triangles, np.int32))


def rotor(sails: int, radius: float, hub: float, chord: float, pitch: float, thickness: float) -> TriangleMesh:
    """Return a wheel of flat sails with an axle along x through the origin; `pitch` (radians) turns them out of the wheel's plane."""
    parts = [block((-hub, -hub, -hub), (hub, hub, hub), 1)]
    for k in range(sails):
        angle = 2 * np.pi * k / sails
        out = np.array([0.0, np.cos(angle), np.sin(angle)])
        side = np.array([np.sin(pitch), -np.cos(pitch) * np.sin(angle), np.cos(pitch) * np.cos(angle)])
        normal = np.cross(out, side)
        ends = [
            r * out + 0.5 * a * chord * side + 0.5 * b * thickness * normal
            for r in (0.5 * hub, radius)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        ]
        parts.append(hexahedron(ends))
    return together(*parts)


def duck(size: float) -> TriangleMesh:
    """Return a duck of a length (m) along x: a body, a tail, a head and a beak, around the origin."""
    body, head, tail, beak = (icosphere(2, 1.0).vertices for _ in range(4))
    round_parts = [
        body * (0.40, 0.30, 0.24),
        head * 0.185 + (0.24, 0.0, 0.30),
        tail * (0.20, 0.13, 0.09) @ _pitched(-0.6) + (-0.33, 0.0, 0.12),
        beak * (0.10, 0.08, 0.035) + (0.43, 0.0, 0.28),
    ]
    triangles = icosphere(2, 1.0).triangles
    return together(*(TriangleMesh(np.ascontiguousarray(size * x), triangles) for x in round_parts))


def _pitched(angle: float) -> Floats:
    """Return the matrix that turns rows about the y axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
