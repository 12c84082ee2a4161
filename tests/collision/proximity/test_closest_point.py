"""Closest points of triangles and meshes against brute force, also where the regions of a triangle meet."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.build import same_bits
from support.meshes import Mesh, box, brute_force_distance, distances_to_all, random_points, size_of, sphere_like, torus
from support.variants import slow_but

import meniscus as ms
from meniscus.collision import closest_point

ONE = np.array([[0, 1, 2]], np.int32)


def check_consistent(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """The parts of the answer fit together: weights, position, distance. Returns the distances."""
    v, t = mesh
    distances, triangles, weights, positions = closest_point(v, t, points)
    scale = np.abs(v).max() + np.abs(points).max()
    assert (weights >= 0).all()
    assert np.abs(weights.sum(axis=1) - 1).max() <= 4e-16
    assert np.abs((weights[:, :, None] * v[t[triangles]]).sum(axis=1) - positions).max() <= 4e-16 * scale
    assert np.abs(np.linalg.norm(points - positions, axis=1) - distances).max() <= 4e-16 * scale
    return distances


def thin_triangle(thinness: float, rng: np.random.Generator) -> np.ndarray:
    """A triangle whose height is `thinness` times its length."""
    a, b = rng.uniform(-1, 1, (2, 3))
    across = np.cross(b - a, rng.uniform(-1, 1, 3))
    c = a + rng.uniform(-0.3, 1.3) * (b - a) + thinness * across
    return np.stack([a, b, c])[rng.permutation(3)]


def exact_distance(v: np.ndarray, point: np.ndarray) -> float:
    """Distance of a point to a triangle, in rational arithmetic up to the root."""

    def minus(p: list[Fraction], q: list[Fraction]) -> list[Fraction]:
        return [x - y for x, y in zip(p, q, strict=True)]

    def dot(p: list[Fraction], q: list[Fraction]) -> Fraction:
        return sum((x * y for x, y in zip(p, q, strict=True)), Fraction(0))

    def cross(p: list[Fraction], q: list[Fraction]) -> list[Fraction]:
        return [p[i - 2] * q[i - 1] - p[i - 1] * q[i - 2] for i in range(3)]

    x, a, b, c = ([Fraction(float(k)) for k in row] for row in (point, *v))
    normal = cross(minus(b, a), minus(c, a))
    best, inside = None, True
    for p, q in ((a, b), (b, c), (c, a)):
        edge, r = minus(q, p), minus(x, p)
        length = dot(edge, edge)
        t = min(max(dot(r, edge) / length, Fraction(0)), Fraction(1)) if length else Fraction(0)
        gap = minus(r, [t * k for k in edge])
        best = dot(gap, gap) if best is None else min(best, dot(gap, gap))
        inside = inside and dot(cross(edge, r), normal) >= 0
    square = dot(normal, normal)
    if square and inside:
        best = dot(normal, minus(x, a)) ** 2 / square
    return math.sqrt(best)


@pytest.mark.parametrize("thinness", slow_but([1.0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-8, 1e-12, 0.0], 1.0, 1e-3, 1e-12, 0.0))
def test_a_triangle_however_thin(thinness: float, rng: np.random.Generator) -> None:
    for _ in range(25):
        v = thin_triangle(thinness, rng)
        on = rng.dirichlet(np.ones(3), 6) @ v
        points = np.concatenate([rng.uniform(-2, 2, (6, 3)), on, on + 1e-6 * rng.uniform(-1, 1, on.shape), v, 0.5 * (v + v[[1, 2, 0]])])
        d = check_consistent((v, ONE), points)
        assert np.abs(d - [exact_distance(v, p) for p in points]).max() <= 5e-14


def test_regions_have_exact_weights() -> None:
    v = np.array([(0, 0, 0), (2, 0, 0), (0, 2, 0)], float)
    for point, expected in [
        ((-1, -1, 1), (1, 0, 0)),
        ((4, -1, 0), (0, 1, 0)),
        ((-1, 5, 3), (0, 0, 1)),
        ((0.5, -1, 2), (0.75, 0.25, 0)),
        ((2, 2, 1), (0, 0.5, 0.5)),
        ((-3, 0.5, 1), (0.75, 0, 0.25)),
        ((0.5, 0.5, -7), (0.5, 0.25, 0.25)),
        ((0.5, 0.5, 0), (0.5, 0.25, 0.25)),
        ((1, 1, 0), (0, 0.5, 0.5)),
        ((2, 0, 0), (0, 1, 0)),
        ((1, 0, 0), (0.5, 0.5, 0)),
    ]:
        found = closest_point(v, ONE, np.array([point], float))
        assert found.barycentric[0].tolist() == list(expected), point


def test_degenerate_triangles_are_segments_and_points() -> None:
    v = np.array([(0, 0, 0), (1, 0, 0), (3, 0, 0)], float)
    p = np.array([(0.5, 1, 0), (2, 0, 2), (4, 0, 0), (-1, 1, 1)], float)
    expected = [1, 2, 1, np.sqrt(3)]
    for t in [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 2), (0, 0, 2), (2, 0, 2)]:
        assert np.abs(check_consistent((v, np.array([t], np.int32)), p) - expected).max() <= 1e-15
    assert check_consistent((v, np.array([(1, 1, 1)], np.int32)), np.array([(1.0, 2, 0)])).tolist() == [2]


@pytest.mark.parametrize("scale", slow_but([1.0, 1e-6, 1e7], 1.0))
@pytest.mark.parametrize("shift", [0.0, 300.0])
def test_meshes_against_brute_force(scale: float, shift: float, rng: np.random.Generator) -> None:
    for mesh in (box(), torus(), sphere_like(9, rng)):
        m = (scale * (mesh[0] + shift), mesh[1])
        points = random_points(m, 300, rng, 0.5)
        d = check_consistent(m, points)
        assert np.abs(d - brute_force_distance(m, points)).max() <= 1e-13 * max(1.0, shift) * size_of(m)


def test_ties_go_to_the_lowest_triangle() -> None:
    v, t = box((-1, -1, -1), (1, 1, 1))
    for order in (np.arange(12), np.arange(12)[::-1], np.random.default_rng(3).permutation(12)):
        s = np.ascontiguousarray(t[order])
        for p in [(0, 0, 0), (2, 2, 2), (0, 2, 2), (1, 1, 1), (0, 0, -3), (0.25, 0.25, 0.25)]:
            point = np.array([p], float)
            all_distances = distances_to_all((v, s), point[0])
            assert closest_point(v, s, point).triangles[0] == int(np.argmin(all_distances)), p


def test_the_answer_for_a_point_does_not_depend_on_the_others(rng: np.random.Generator) -> None:
    v, t = torus()
    points = random_points((v, t), 700, rng, 0.3)
    points[::7] = np.round(points[::7], 1)
    points[::7, :2] = 0  # on the axis, where everything is a tie
    together = closest_point(v, t, points)
    order = rng.permutation(len(points))
    shuffled = closest_point(v, t, np.ascontiguousarray(points[order]))
    assert same_bits([a[order] for a in together], list(shuffled))
    for i in range(0, 700, 35):
        assert same_bits([a[i : i + 1] for a in together], list(closest_point(v, t, points[i : i + 1])))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 9, 17, 64, 65])
def test_trees_of_every_small_size(n: int, rng: np.random.Generator) -> None:
    v = rng.random((3 * n, 3))
    v[: 3 * (n // 2)] = np.tile(v[:3], (n // 2, 1))  # half of the triangles are the same one, so their Morton codes are equal
    mesh = (v, np.arange(3 * n, dtype=np.int32).reshape(n, 3))
    points = random_points(mesh, 50, rng, 0.5)
    assert np.abs(check_consistent(mesh, points) - brute_force_distance(mesh, points)).max() <= 1e-14


def test_no_points() -> None:
    found = closest_point(*box(), np.empty((0, 3)))
    assert [a.shape for a in found] == [(0,), (0,), (0, 3), (0, 3)]
    assert [a.dtype for a in found] == [np.float64, np.int32, np.float64, np.float64]


def test_what_is_refused() -> None:
    v, t = box()
    p = np.zeros((4, 3))
    for query in (
        lambda q: closest_point(v, t, q),
        lambda q: ms.collision.winding_number(v, t, q),
        ms.surface.MeshDistance(v, t).signed_distance,
        ms.surface.MeshDistance(v, t).contains,
        ms.surface.MeshDistance(v, t).closest,
    ):
        with pytest.raises(TypeError, match="points must be of dtype float64, not float32"):
            query(p.astype(np.float32))
        with pytest.raises(ValueError, match=r"points must have shape \(n, 3\), not \(3,\)"):
            query(p[0])
        with pytest.raises(TypeError, match="points must be C-contiguous"):
            query(np.asfortranarray(p))
        bad = p.copy()
        bad[2, 1] = bad[3, 0] = np.nan
        with pytest.raises(ValueError, match=r"points must be finite, but \[2, 1\] is nan"):
            query(bad)
    with pytest.raises(ValueError, match=r"indices of the 8 vertices, but \[0, 2\] is 99"):
        closest_point(v, np.array([(0, 1, 99)], np.int32), p)
    with pytest.raises(ValueError, match="at least one triangle"):
        closest_point(v, t[:0], p)
