"""Subdivision that stops before contact: folds that plain Loop subdivision lets intersect, and water beside them."""

from __future__ import annotations

import numpy as np
import pytest
from support.shells import Mesh, ball

from meniscus.collision import CollisionMesh
from meniscus.collision.contact.limited_motion import limited_motion
from meniscus.collision.contact.smooth_surface import SmoothSurface, smooth_surface
from meniscus.mesh import TriangleMesh
from meniscus.mesh.refinement.loop import LoopSubdivision


def folded(layers: int, gap: float = 1e-3, columns: int = 6, rows: int = 3) -> Mesh:
    """Return a wrinkled strip that is folded to and fro, each layer shorter than the one below."""
    places = []
    for k in range(layers):
        along = np.arange(k, columns + 1 - k // 2)
        places += [(i, k) for i in (along if k % 2 == 0 else along[::-1])]
    profile = np.array([[0.2 * i, 0.03 * (1 - i % 2 * 2) + gap * k] for i, k in places])
    n = len(profile)
    x = np.concatenate([np.column_stack([profile[:, 0], np.full(n, 0.2 * j), profile[:, 1]]) for j in range(rows + 1)])
    quads = [(j * n + i, j * n + i + 1, (j + 1) * n + i + 1, (j + 1) * n + i) for j in range(rows) for i in range(n - 1)]
    return x, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32)


def intersections(x: np.ndarray, t: np.ndarray) -> int:
    return len(CollisionMesh(None, t).self_intersections(np.ascontiguousarray(x)))


@pytest.mark.parametrize("layers", [2, 3, 4])
def test_folds_do_not_intersect_where_those_of_plain_subdivision_do(layers: int) -> None:
    x, t = folded(layers)
    assert intersections(x, t) == 0
    plain, triangles = x, t
    for _ in range(2):
        finer = LoopSubdivision(triangles, len(plain))
        plain, triangles = finer.smooth(plain), finer.triangles
    made = smooth_surface((x, t), 2)
    assert np.array_equal(made.triangles, triangles)
    assert intersections(plain, triangles) > 0
    assert intersections(made.vertices, triangles) == 0
    # It is smoother than the folds all the same: most vertices go a part of the way.
    linear = SmoothSurface(t, len(x), 1)._levels[0][0].linear(x)
    assert np.abs(made.vertices[: len(linear)] - linear).max() > 0.3 * np.abs(plain[: len(linear)] - linear).max()


def test_what_touches_nothing_is_plain_subdivision() -> None:
    x, t = ball((0.0, 0.0, 0.0), 1.0, 1)
    finer = LoopSubdivision(t, len(x))
    assert np.array_equal(smooth_surface((x, t), 1).vertices, finer.smooth(x))


def test_water_stays_on_its_side() -> None:
    """Points just inside of a ball, whose smooth surface is smaller, and a mesh there: they hold it."""
    x, t = ball((0.0, 0.0, 0.0), 1.0, 1)
    points = np.ascontiguousarray((1 - 1e-3) * x[t].mean(axis=1)[::3])
    plain = LoopSubdivision(t, len(x)).smooth(x)
    made = SmoothSurface(t, len(x), 1)
    for obstacle in (points, TriangleMesh(np.ascontiguousarray(0.98 * x), t)):
        kept = made.at(x, [obstacle])
        assert np.abs(kept - plain).max() > 1e-3
    kept = made.at(x, [points])
    normals = np.cross(kept[made.triangles[:, 1]] - kept[made.triangles[:, 0]], kept[made.triangles[:, 2]] - kept[made.triangles[:, 0]])
    nearest = [int(np.argmin(np.linalg.norm(kept[made.triangles].mean(axis=1) - p, axis=1))) for p in points]
    beyond = np.einsum("nd,nd->n", points - kept[made.triangles[nearest, 0]], normals[nearest])
    assert (beyond < 0).all()
    inner = CollisionMesh(None, t)
    within = np.ascontiguousarray(0.98 * x)
    kept = made.at(x, [TriangleMesh(within, t)])
    met = CollisionMesh(None, made.triangles).intersections_with(inner, kept, within)
    assert len(met.edge_face) == len(met.face_edge) == 0


def test_parts_of_ways_and_what_is_refused() -> None:
    """Two triangles that fly at each other: those that meet nothing arrive."""
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.1, 0.1, 1], [0.3, 0.1, 1], [0.1, 0.3, 1], [5, 0, 0], [6, 0, 0], [5, 1, 0]], float)
    mesh = CollisionMesh(None, np.arange(9, dtype=np.int32).reshape(3, 3))
    y = x.copy()
    y[3:, 2] -= 3.0
    z, part = limited_motion(mesh, x, y)
    assert (part[6:] == 1.0).all()
    assert np.array_equal(z[6:], y[6:])
    assert (part[3:6] == 0.25).all()
    assert not mesh.collides(x, z)
    with pytest.raises(ValueError, match="must not touch at the start"):
        limited_motion(mesh, np.where(np.arange(9)[:, None] < 6, x * [1, 1, 0], x), y)
    with pytest.raises(ValueError, match="9 rows, not 8"):
        limited_motion(mesh, x, y[:8])
