"""Closest points of elements against exact rational minima, and the geometry of contacts."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.build import same_bits

import meniscus as ms
from meniscus.collision import edge_edge_contact, edge_edge_distance, point_triangle_distance, vertex_face_contact

Vector = list[Fraction]


def fractions(points: np.ndarray) -> list[Vector]:
    return [[Fraction(float(x)) for x in p] for p in points]


def minus(p: Vector, q: Vector) -> Vector:
    return [x - y for x, y in zip(p, q, strict=True)]


def dot(p: Vector, q: Vector) -> Fraction:
    return sum((x * y for x, y in zip(p, q, strict=True)), Fraction(0))


def cross(p: Vector, q: Vector) -> Vector:
    return [p[i - 2] * q[i - 1] - p[i - 1] * q[i - 2] for i in range(3)]


def root(x: Fraction) -> float:
    """Square root of a rational number of any magnitude."""
    if x == 0:
        return 0.0
    shift = 2 * ((x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    return math.ldexp(math.sqrt(x / Fraction(2) ** shift), shift // 2)


def square_to_segment(p: Vector, a: Vector, b: Vector) -> Fraction:
    """Squared distance of a point and a segment."""
    edge = minus(b, a)
    length = dot(edge, edge)
    t = min(max(dot(minus(p, a), edge) / length, Fraction(0)), Fraction(1)) if length else Fraction(0)
    gap = [x - y - t * z for x, y, z in zip(p, a, edge, strict=True)]
    return dot(gap, gap)


def exact_edge_edge(first: np.ndarray, second: np.ndarray) -> float:
    (p, q), (r, s) = fractions(first), fractions(second)
    best = min(square_to_segment(p, r, s), square_to_segment(q, r, s), square_to_segment(r, p, q), square_to_segment(s, p, q))
    a, b, c = minus(q, p), minus(s, r), minus(p, r)
    n = cross(a, b)
    n2 = dot(n, n)
    if n2 and 0 < dot(cross(b, c), n) < n2 and 0 < dot(cross(a, c), n) < n2:
        best = dot(c, n) ** 2 / n2
    return root(best)


def exact_point_triangle(point: np.ndarray, triangle: np.ndarray) -> float:
    (x,), (a, b, c) = fractions(point[None]), fractions(triangle)
    n = cross(minus(b, a), minus(c, a))
    n2 = dot(n, n)
    if n2 and all(dot(cross(minus(q, p), minus(x, p)), n) >= 0 for p, q in ((a, b), (b, c), (c, a))):
        return root(dot(minus(x, a), n) ** 2 / n2)
    return root(min(square_to_segment(x, a, b), square_to_segment(x, b, c), square_to_segment(x, c, a)))


def check(first: np.ndarray, second: np.ndarray, found: ms.collision.ElementDistances, exact: np.ndarray, tolerance: float) -> None:
    """All parts fit together and the distance is exact but for a relative tolerance and one unit of round-off of the extent."""
    scale = 2.0 ** math.floor(math.log2(np.abs(first).max()))
    x = np.concatenate([first.reshape(len(exact), -1, 3), second], axis=1) / scale
    k = x.shape[1] - second.shape[1]
    extent = np.ptp(x, axis=1).max(axis=1)
    distances, exact = found.distances / scale, exact / scale
    w = found.weights
    assert (np.abs(distances - exact) <= tolerance * exact + 4e-16 * extent).all()
    assert (w[:, :k] >= 0).all()
    assert (w[:, k:] <= 0).all()
    assert np.abs(w[:, :k].sum(axis=1) - 1).max() <= 4e-16
    assert np.abs(w[:, k:].sum(axis=1) + 1).max() <= 4e-16
    size = np.abs(x).max()
    assert np.abs((w[:, :k, None] * x[:, :k]).sum(axis=1) - found.first / scale).max() <= 1e-15 * size
    assert np.abs((-w[:, k:, None] * x[:, k:]).sum(axis=1) - found.second / scale).max() <= 1e-15 * size
    assert np.abs(np.linalg.norm(found.normals, axis=1) - 1).max() <= 4e-16
    gap = (w[:, :, None] * (x - x[:, :1])).sum(axis=1)
    apart = exact > 1e-14 * extent
    assert np.abs(gap - distances[:, None] * found.normals)[apart].max(initial=0) <= 2e-15 * size


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150, 1e-300, 1e290])
def test_random_edges(scale: float, rng: np.random.Generator) -> None:
    a, b = scale * rng.uniform(-1, 1, (2, 500, 2, 3))
    exact = np.array([exact_edge_edge(p, q) for p, q in zip(a, b, strict=True)])
    found = edge_edge_distance(a, b)
    check(a, b, found, exact, 1e-12)
    assert (np.abs(found.distances - exact) <= 1e-12 * exact).all()


@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-7])
@pytest.mark.parametrize("angle", [1e-1, 1e-3, 1e-5, 1e-7, 1e-8, 1e-9, 1e-12, 1e-15, 0.0])
def test_edges_that_are_nearly_parallel(angle: float, gap: float, rng: np.random.Generator) -> None:
    n = 120
    a = rng.uniform(-1, 1, (n, 2, 3))
    along = a[:, 1] - a[:, 0]
    across = np.cross(along, rng.uniform(-1, 1, (n, 3)))
    b = a + gap * across[:, None] + rng.uniform(-1, 1, (n, 1, 1)) * along[:, None]
    b += angle * rng.uniform(-1, 1, (n, 2, 1)) * np.cross(along, across)[:, None]
    flip = rng.random(n) < 0.5
    b[flip] = b[flip, ::-1]
    exact = np.array([exact_edge_edge(p, q) for p, q in zip(a, b, strict=True)])
    check(a, b, edge_edge_distance(a, np.ascontiguousarray(b)), exact, 1e-12)


def test_edges_on_a_grid_touch_cross_and_have_no_length(rng: np.random.Generator) -> None:
    a, b = rng.integers(-2, 3, (2, 1500, 2, 3)).astype(float)
    a[::5, 1] = a[::5, 0]
    b[::7, 1] = b[::7, 0]
    b[1::5, 1] = b[1::5, 0] + 2 * (a[1::5, 1] - a[1::5, 0])
    exact = np.array([exact_edge_edge(p, q) for p, q in zip(a, b, strict=True)])
    assert (exact == 0).sum() > 30
    found = edge_edge_distance(a, b)
    check(a, b, found, exact, 1e-14)
    # Where they touch, the normal is across both edges.
    along = np.stack([a[:, 1] - a[:, 0], b[:, 1] - b[:, 0]])
    skew = (exact == 0) & (np.linalg.norm(np.cross(along[0], along[1]), axis=1) > 0)
    assert skew.sum() > 20
    assert np.abs((along * found.normals).sum(axis=2))[:, skew].max() <= 1e-14


def test_weights_of_edges_are_exact_where_they_can_be() -> None:
    def one(*points: tuple[float, float, float]) -> list[float]:
        x = np.array([points], float)
        return edge_edge_distance(np.ascontiguousarray(x[:, :2]), np.ascontiguousarray(x[:, 2:])).weights[0].tolist()

    assert one((-1, 0, 1), (1, 0, 1), (0, -1, 0), (0, 3, 0)) == [0.5, 0.5, -0.75, -0.25]
    assert one((0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 5, 0)) == [0, 1, -1, 0]
    assert one((0, 0, 0), (1, 0, 0), (5, 3, 0), (0.25, 1, 0)) == [0.75, 0.25, 0, -1]
    assert one((0, 0, 0), (1, 0, 0), (5, 1, 0), (1, 1, 0)) == [0, 1, 0, -1]  # parallel
    assert one((0, 0, 0), (0, 0, 0), (-1, 1, 0), (3, 1, 0)) == [1, 0, -0.75, -0.25]
    assert one((2, 2, 2), (2, 2, 2), (1, 1, 1), (1, 1, 1)) == [1, 0, -1, 0]


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150, 1e-300, 1e290])
@pytest.mark.parametrize("thinness", [1.0, 1e-3, 1e-8, 0.0])
def test_points_and_triangles(scale: float, thinness: float, rng: np.random.Generator) -> None:
    points = rng.uniform(-1, 1, (200, 3))
    triangles = rng.uniform(-1, 1, (200, 3, 3))
    triangles[:, 2] = (1 - thinness) * (0.3 * triangles[:, 0] + 0.7 * triangles[:, 1]) + thinness * triangles[:, 2]
    triangles = np.ascontiguousarray(triangles[:, rng.permutation(3)])
    points, triangles = scale * points, scale * triangles
    exact = np.array([exact_point_triangle(p, t) for p, t in zip(points, triangles, strict=True)])
    found = point_triangle_distance(points, triangles)
    check(points, triangles, found, exact, 1e-12)
    assert same_bits(found.first, points)


def test_points_on_triangles_have_their_normal(rng: np.random.Generator) -> None:
    triangles = rng.integers(-4, 5, (300, 3, 3)).astype(float)
    weights = rng.choice([0, 0.25, 0.5, 0.25, 1], (300, 2))
    weights = np.column_stack([weights, 1 - weights.sum(axis=1)])
    triangles = triangles[(weights >= 0).all(axis=1)]
    points = np.ascontiguousarray((weights[(weights >= 0).all(axis=1)][:, :, None] * triangles).sum(axis=1))
    found = point_triangle_distance(points, triangles)
    check(points, triangles, found, np.zeros(len(points)), 1e-14)
    edges = triangles - np.roll(triangles, 1, axis=1)
    area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    assert np.abs((edges * found.normals[:, None]).sum(axis=2))[area > 0].max() <= 1e-13


def test_the_greatest_doubles() -> None:
    most = np.finfo(float).max
    found = edge_edge_distance(np.array([[(-most, 0, 0), (most, 0, 0)]]), np.array([[(0, -most, most / 2), (0, most, most / 2)]]))
    assert found.distances.tolist() == [most / 2]
    assert found.weights.tolist() == [[0.5, 0.5, -0.5, -0.5]]
    assert found.normals.tolist() == [[0, 0, -1]]
    far = point_triangle_distance(np.array([(-most, 0, 0)]), np.array([[(most, 0, 0), (most, 1, 0), (most, 0, 1)]]))
    assert far.distances.tolist() == [np.inf]  # twice the greatest double
    assert far.normals.tolist() == [[-1, 0, 0]]
    start = np.array([[(-most, 0, 1), (-most, -1, 0), (-most, 2, -1), (-most, -1, 2)]])
    moved = vertex_face_contact(start, start * [-1, 1, 1])
    assert moved.weights[0, 0] == 1
    assert moved.weights.sum() == pytest.approx(0, abs=1e-15)
    assert (moved.weights[0, 1:] <= 0).all()
    assert np.linalg.norm(moved.normals) == pytest.approx(1, rel=1e-15)


def test_the_order_of_ends_and_edges_does_not_matter(rng: np.random.Generator) -> None:
    a, b = rng.uniform(-1, 1, (2, 300, 2, 3))
    a[::3] = np.round(a[::3])
    b[::3] = np.round(b[::3])
    d = edge_edge_distance(a, b).distances
    for p, q in ((b, a), (a[:, ::-1], b), (a, b[:, ::-1]), (b[:, ::-1], a[:, ::-1])):
        assert np.abs(edge_edge_distance(np.ascontiguousarray(p), np.ascontiguousarray(q)).distances - d).max() <= 2e-15


CONTACTS = [vertex_face_contact, edge_edge_contact]


def distances_of(contact: object, x: np.ndarray) -> ms.collision.ElementDistances:
    """The closest points of stencils of four points."""
    if contact is vertex_face_contact:
        return point_triangle_distance(np.ascontiguousarray(x[:, 0]), np.ascontiguousarray(x[:, 1:]))
    return edge_edge_distance(np.ascontiguousarray(x[:, :2]), np.ascontiguousarray(x[:, 2:]))


@pytest.mark.parametrize("contact", CONTACTS)
def test_contacts_are_measured_in_the_middle_of_the_step(contact: object, rng: np.random.Generator) -> None:
    start, end = rng.uniform(-1, 1, (2, 400, 4, 3))
    found = contact(start, end)
    middle = distances_of(contact, 0.5 * start + 0.5 * end)
    assert same_bits([found.weights, found.distances, found.normals], [middle.weights, middle.distances, middle.normals])
    assert not found.sources.any()
    moved = (found.weights[:, :, None] * (end - start)).sum(axis=1)
    assert np.abs((moved * found.normals).sum(axis=1) - found.normal_displacements).max() <= 1e-14


def test_where_normals_come_from_when_the_elements_touch_in_the_middle() -> None:
    face = [(-1, -1, 0), (2, -1, 0), (-1, 2, 0)]
    flat = [(-1, 0, 0), (1, 0, 0), (0, 0, 0)]
    for start, end, source, normal, displacement in [
        ([(0, 0, 1), *face], [(0, 0, -1), *face], 1, (0, 0, -1), 2),
        ([(0, 0, 0), *face], [(0.5, 0, 0), *face], 2, None, 0),
        ([(0, 1, 0), *flat], [(0, 0, 0), (-1, -3, 0), (1, -3, 0), (0, 10, 0)], 3, (0, 1, 0), None),
        ([(0, 0, 0), *flat], [(0, 0, 0), *flat], 4, None, 0),
        ([(1, 2, 3)] * 4, [(1, 2, 3)] * 4, 5, (0, 1, 0), 0),
    ]:
        for shift in (0.0, 100.0):
            for scale in (1.0, 1e-170, 1e170, 1e306):
                a, b = (scale * (np.array([x], float) + shift) for x in (start, end))
                found = vertex_face_contact(a, b)
                assert found.sources.tolist() == [source], (start, end, shift, scale)
                if normal is not None:
                    assert np.abs(found.normals[0] - normal).max() <= 1e-15
                if displacement is not None:
                    assert abs(found.normal_displacements[0] / scale - displacement) <= 1e-15 * (1 + shift)
                assert abs(np.linalg.norm(found.normals[0]) - 1) <= 1e-15
                assert source not in (2, 4) or abs(found.normals[0, 0]) <= 1e-15  # across what lies along x
    crossing = np.array([[(-1, 0, 1), (1, 0, 1), (0, -1, 0), (0, 1, 0)]], float)
    after = crossing * np.array([1, 1, -1.0])
    found = edge_edge_contact(crossing, after)
    assert found.sources.tolist() == [1]
    assert found.weights.tolist() == [[0.5, 0.5, -0.5, -0.5]]
    assert found.normals.tolist() == [[0, 0, -1]]
    assert found.normal_displacements.tolist() == [2]


def count_collisions(contact: object, start: np.ndarray, end: np.ndarray) -> int:
    """Collisions within a step by the roots of the cubic, in doubles: good for generic input."""

    def parts(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = (1 - t) * start + t * end
        return (x[2] - x[1], x[3] - x[1], x[0] - x[1]) if contact is vertex_face_contact else (x[1] - x[0], x[2] - x[3], x[2] - x[0])

    times = np.array([0.0, 1 / 3, 2 / 3, 1.0])
    cubic = np.linalg.solve(np.vander(times), [np.linalg.det(np.stack(parts(t))) for t in times])
    count = 0
    for t in np.roots(cubic):
        if abs(t.imag) < 1e-9 and 0 <= t.real <= 1:
            u, v, r = parts(t.real)
            s = np.linalg.lstsq(np.stack([u, v], axis=1), r, rcond=None)[0]
            count += int((s >= 0).all() and (s.sum() <= 1 if contact is vertex_face_contact else (s <= 1).all()))
    return count


@pytest.mark.parametrize("contact", CONTACTS)
def test_zeroing_the_normal_displacement_parts_the_elements(contact: object, rng: np.random.Generator) -> None:
    """One impulse of points of equal mass that move by some percent of the size of the elements."""
    n = 1000
    time = rng.uniform(0, 1, (n, 1, 1))
    at_contact = rng.uniform(-1, 1, (n, 4, 3))
    s, t = rng.uniform(0, 1, (2, n))
    if contact is vertex_face_contact:
        s, t = np.where(s + t > 1, [1 - s, 1 - t], [s, t])
        weights = np.stack([np.ones(n), s + t - 1, -s, -t], axis=1)
    else:
        weights = np.stack([1 - s, s, t - 1, -t], axis=1)
    at_contact[:, : 1 if contact is vertex_face_contact else 2] -= (weights[:, :, None] * at_contact).sum(axis=1, keepdims=True)
    velocity = 0.02 * rng.uniform(-1, 1, (n, 4, 3))
    start, end = at_contact - time * velocity, at_contact + (1 - time) * velocity
    single = np.array([count_collisions(contact, a, b) == 1 for a, b in zip(start, end, strict=True)])
    assert single.mean() > 0.95
    start, end = start[single], end[single]
    found = contact(start, end)
    impulse = found.normal_displacements / (found.weights**2).sum(axis=1)
    after = end - impulse[:, None, None] * found.weights[:, :, None] * found.normals[:, None]
    collide = np.array([count_collisions(contact, a, b) for a, b in zip(start, after, strict=True)])
    assert (collide == 0).mean() >= 0.99


def test_proximity_is_the_same_on_all_threads(default_parallelism: None, rng: np.random.Generator) -> None:
    start, end = rng.uniform(-1, 1, (2, 3000, 4, 3))
    start[::2] = np.round(start[::2])

    def everything() -> list[np.ndarray]:
        return [
            array
            for result in (
                point_triangle_distance(np.ascontiguousarray(start[:, 0]), np.ascontiguousarray(start[:, 1:])),
                edge_edge_distance(np.ascontiguousarray(start[:, :2]), np.ascontiguousarray(start[:, 2:])),
                vertex_face_contact(start, end),
                edge_edge_contact(start, end),
            )
            for array in result
        ]

    ms.set_num_threads(1)
    expected = everything()
    for threads in (2, 3, 5, 8):
        ms.set_num_threads(threads)
        assert same_bits(everything(), expected)


def test_nothing_and_what_is_refused() -> None:
    for contact in CONTACTS:
        found = contact(np.empty((0, 4, 3)), np.empty((0, 4, 3)))
        assert [a.shape for a in found] == [(0, 4), (0,), (0, 3), (0,), (0,)]
        good = np.zeros((3, 4, 3))
        bad = good.copy()
        bad[1, 2, 0] = bad[2, 0, 0] = np.inf
        with pytest.raises(ValueError, match=r"start must be finite, but \[1, 2, 0\] is inf"):
            contact(bad, good)
        with pytest.raises(ValueError, match=r"end must be finite, but \[1, 2, 0\] is inf"):
            contact(good, bad)
        with pytest.raises(ValueError, match="end must have as many rows as start, which has 3, not 2"):
            contact(good, good[:2])
        with pytest.raises(ValueError, match=r"start must have shape \(n, 4, 3\), not \(3, 4\)"):
            contact(good[:, :, 0].copy(), good)
        with pytest.raises(TypeError, match="end must be of dtype float64, not float32"):
            contact(good, good.astype(np.float32))
    assert [a.shape for a in edge_edge_distance(np.empty((0, 2, 3)), np.empty((0, 2, 3)))] == [(0,), (0, 4), (0, 3), (0, 3), (0, 3)]
    with pytest.raises(ValueError, match=r"triangles must have shape \(n, 3, 3\)"):
        point_triangle_distance(np.zeros((2, 3)), np.zeros((2, 2, 3)))
    with pytest.raises(TypeError, match="first must be C-contiguous"):
        edge_edge_distance(np.zeros((2, 3, 2)).transpose(0, 2, 1), np.zeros((2, 2, 3)))
