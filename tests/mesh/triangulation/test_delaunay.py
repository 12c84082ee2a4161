"""Delaunay tetrahedra: exact spheres, hulls, degenerate points. Source: Müller et al. 2008, section 3.6."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from support.variants import slow_but

import meniscus as ms


def lattice(n):
    return np.stack(np.meshgrid(*[np.arange(float(n))] * 3, indexing="ij"), -1).reshape(-1, 3)


def on_sphere(n, rng):
    x = rng.normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1)[:, None]


CLOUDS = {
    "random": lambda n, rng: rng.random((n, 3)),
    "lattice": lambda n, rng: lattice(round(n ** (1 / 3))),
    "sphere": on_sphere,
    "close to a plane": lambda n, rng: rng.random((n, 3)) * [1, 1, 1e-12],
    "clusters": lambda n, rng: rng.integers(0, 4, (n, 3)) + 1e-9 * rng.random((n, 3)),
    "two lines": lambda n, rng: (
        np.where(np.arange(n)[:, None] % 2, [1.0, 0, 0], [0, 1.0, 0]) * rng.random((n, 1)) + np.arange(n)[:, None] % 2 * [0, 0, 1.0]
    ),
    "far away": lambda n, rng: 1e8 + rng.random((n, 3)),
    "coarse numbers": lambda n, rng: rng.integers(0, 6, (n, 3)).astype(float),
}


def corners(mesh):
    return tuple(np.ascontiguousarray(mesh.vertices[mesh.tets[:, k]]) for k in range(4))


def require_delaunay(mesh):
    """Every tetrahedron is positive, and no point opposite of a common face lies inside of a sphere; then none lies inside at all."""
    t, x = mesh.tets, mesh.vertices
    assert (ms.numerics.orient3d(*corners(mesh)) == 1).all()
    faces = np.concatenate([t[:, [1, 2, 3]], t[:, [0, 3, 2]], t[:, [0, 1, 3]], t[:, [0, 2, 1]]])
    opposite, owner = t.T.ravel(), np.tile(np.arange(len(t)), 4)
    order = np.lexsort(np.sort(faces, 1).T)
    s = np.sort(faces, 1)[order]
    inner = np.flatnonzero((s[1:] == s[:-1]).all(1))
    assert not np.isin(inner + 1, inner).any()  # no face has three sides
    a = [np.ascontiguousarray(x[t[owner[order[inner]], k]]) for k in range(4)]
    e = np.ascontiguousarray(x[opposite[order[inner + 1]]])
    assert (ms.numerics.insphere(*a, e) <= 0).all()
    edges = np.unique(np.sort(np.concatenate([t[:, list(p)] for p in itertools.combinations(range(4), 2)]), 1), axis=0)
    # Euler's number of a ball.
    assert len(np.unique(t)) - len(edges) + (4 * len(t) - len(inner)) - len(t) == 1
    return faces[np.setdiff1d(order, np.concatenate([order[inner], order[inner + 1]]))]


def volume(mesh):
    a, b, c, d = corners(mesh)
    return np.einsum("nd,nd->n", b - a, np.cross(c - a, d - a)).sum() / 6


def canonical(mesh, names):
    return np.unique(np.sort(names[mesh.tets], axis=1), axis=0)


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("n", [5, 27, 300, 5000])
def test_spheres_are_empty(name, n):
    n = min(n, 300) if name == "two lines" else n  # n^2 / 4 tetrahedra
    points = CLOUDS[name](n, np.random.default_rng(n))
    if name == "two lines" and n == 5:
        points = np.concatenate([points, np.eye(3)])
    mesh = ms.mesh.delaunay(points)
    hull = require_delaunay(mesh)
    # The boundary is convex: no point lies beyond any of its faces.
    h = [points[hull[:, k]] for k in range(3)]
    for p in points[:: max(1, n // 100)]:
        assert (ms.numerics.orient3d(*map(np.ascontiguousarray, h), np.ascontiguousarray(np.broadcast_to(p, h[0].shape))) <= 0).all()


@pytest.mark.parametrize("name", slow_but(["random", "lattice", "sphere", "coarse numbers"], "random", "lattice", "coarse numbers"))
def test_spheres_are_empty_of_all_points(name):
    points = CLOUDS[name](600, np.random.default_rng(7))
    mesh = ms.mesh.delaunay(points)
    a = corners(mesh)
    for p in points:
        assert (ms.numerics.insphere(*a, np.ascontiguousarray(np.broadcast_to(p, a[0].shape))) <= 0).all()


@pytest.mark.parametrize("name", ["random", "sphere"])
def test_tetrahedra_fill_the_hull(name):
    points = CLOUDS[name](4000, np.random.default_rng(3))
    mesh = ms.mesh.delaunay(points)
    assert volume(mesh) == pytest.approx(ConvexHull(points).volume, rel=1e-12)
    assert len(np.unique(mesh.tets)) == len(points)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_lattices(n):
    mesh = ms.mesh.delaunay(lattice(n))
    require_delaunay(mesh)
    assert volume(mesh) == pytest.approx((n - 1) ** 3, rel=1e-14)
    # Ties of a translate of a cube are decided alike.
    assert len(mesh.tets) == 6 * (n - 1) ** 3


@pytest.mark.parametrize("name", ["random", "lattice", "sphere", "clusters", "coarse numbers"])
def test_order_of_points_does_not_matter(name):
    rng = np.random.default_rng(11)
    points = np.unique(CLOUDS[name](1000, rng), axis=0)
    expected = canonical(ms.mesh.delaunay(points), np.arange(len(points)))
    for _ in range(3):
        mixed = rng.permutation(len(points))
        found = canonical(ms.mesh.delaunay(np.ascontiguousarray(points[mixed])), mixed)
        np.testing.assert_array_equal(found, expected)


def test_equal_points_have_no_tetrahedra():
    x = np.random.default_rng(5).random((200, 3))
    mesh = ms.mesh.delaunay(np.concatenate([x, x[::-1], [x[0]]]))
    assert len(mesh.vertices) == 401
    used = np.unique(mesh.tets)
    # Of equal points the first.
    np.testing.assert_array_equal(used, np.arange(200))
    np.testing.assert_array_equal(np.unique(mesh.vertices[used], axis=0), np.unique(x, axis=0))
    assert len(mesh.tets) == len(ms.mesh.delaunay(x).tets)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 8e307])
def test_extreme_sizes(scale):
    x = np.random.default_rng(2).random((60, 3)) * 2 - 1
    x = np.round(x * 1024) / 1024  # so that the products stay exact
    expected = canonical(ms.mesh.delaunay(x), np.arange(60))
    np.testing.assert_array_equal(canonical(ms.mesh.delaunay(x * scale), np.arange(60)), expected)


def test_four_points():
    mesh = ms.mesh.delaunay(np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1.0]]))
    assert len(mesh.tets) == 1
    assert volume(mesh) == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((0, 3)),
        np.eye(3),
        np.zeros((9, 3)),
        np.arange(30.0).reshape(-1, 3),
        lattice(4) * [1, 1, 0],
        lattice(3) @ np.array([[1.0, 2, 3], [3, 2, 1], [4, 4, 4]]),
    ],
    ids=["none", "three", "one place", "a line", "a plane", "a slanted plane"],
)
def test_flat_points_are_refused(points):
    with pytest.raises(ValueError, match="four points that do not lie in a plane"):
        ms.mesh.delaunay(points)


def test_bad_points():
    x = np.random.default_rng(0).random((9, 3))
    x[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"points must be finite, but \[4, 1\] is nan"):
        ms.mesh.delaunay(x)
    with pytest.raises(ValueError, match=r"must have shape \(n, 3\), not \(4, 2\)"):
        ms.mesh.delaunay(np.zeros((4, 2)))
    with pytest.raises(TypeError, match="dtype float64, not float32"):
        ms.mesh.delaunay(np.zeros((4, 3), np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random", "lattice", "sphere"])
def test_a_hundred_thousand_points(name):
    require_delaunay(ms.mesh.delaunay(CLOUDS[name](100_000, np.random.default_rng(1))))
