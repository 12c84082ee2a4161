"""Intersection of edges, triangles and tetrahedra against linear feasibility in integers."""

from itertools import permutations

import numpy as np
import pytest
from support.build import same_bits
from support.exact import crosses, hulls_meet, integers
from support.meshes import torus

import meniscus as ms
from meniscus.collision import edge_triangle, point_in_tetrahedron, triangle_triangle

KINDS = [
    "random",
    "grid 1",
    "grid 2",
    "grid 30",
    "coplanar",
    "collinear",
    "touching",
    "duplicates",
    "degenerate",
    "huge",
    "subnormal",
    "wide",
    "shared corners",
]


def draw(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Sets of points (n, k, 3), all in the configuration that the name says."""
    n, k, _ = shape
    if kind == "random":
        return rng.uniform(-1, 1, shape)
    if kind.startswith("grid"):
        size = int(kind.split()[1])
        return rng.integers(-size, size + 1, shape).astype(float)
    if kind == "coplanar":  # tilted planes through the origin, where small multiples of the directions are exact
        directions = rng.integers(-3, 4, (n, 2, 3)) * 0.1
        return np.einsum("nki,nij->nkj", rng.integers(-3, 4, (n, k, 2)).astype(float), directions)
    if kind == "collinear":
        return rng.integers(-4, 5, (n, k, 1)) * (rng.integers(-3, 4, (n, 1, 3)) * 0.125)
    if kind == "touching":  # a point of the last three is moved onto a combination of the others, up to rounding
        x = rng.uniform(-1, 1, shape)
        weights = rng.choice([0.0, 0.25, 0.5, 1.0], (n, k - 1))
        weights[weights.sum(axis=1) == 0, 0] = 1
        weights /= weights.sum(axis=1, keepdims=True)
        x[:, 0] = (weights[:, :, None] * x[:, 1:]).sum(axis=1)
        return x
    if kind == "duplicates":
        x = rng.integers(-2, 3, shape).astype(float)
        return np.take_along_axis(x, rng.integers(0, k, (n, k, 1)), axis=1)
    if kind == "degenerate":  # zero-length edges, triangles that are segments
        x = rng.integers(-2, 3, shape).astype(float)
        x[::2, 1] = x[::2, 0]
        x[::3, -1] = 2 * x[::3, -2] - x[::3, -3]
        return x
    if kind == "huge":
        return np.ldexp(draw("grid 2" if n % 2 else "coplanar", shape, rng), 1021)
    if kind == "subnormal":
        return np.ldexp(rng.integers(-3, 4, shape).astype(float), -1074)
    if kind == "wide":
        x = draw("grid 1", shape, rng)
        return np.where(rng.random(shape) < 0.5, x, np.ldexp(x, rng.integers(-1074, 1023, shape)))
    assert kind == "shared corners"
    x = rng.integers(-2, 3, shape).astype(float)
    x[:, -1] = x[:, 0]
    x[::2, -2] = x[::2, 1]
    return x


def check_edges(x: np.ndarray) -> None:
    """x: (n, 5, 3), edges and triangles."""
    edges, triangles = np.ascontiguousarray(x[:, :2]), np.ascontiguousarray(x[:, 2:])
    exact = [integers(p) for p in x]
    assert edge_triangle(edges, triangles).tolist() == [hulls_meet(p[:2], p[2:]) for p in exact]
    assert edge_triangle(edges, triangles, "does not count").tolist() == [crosses(p[:2], p[2:]) for p in exact]


def check_triangles(x: np.ndarray) -> None:
    """x: (n, 6, 3), pairs of triangles."""
    first, second = np.ascontiguousarray(x[:, :3]), np.ascontiguousarray(x[:, 3:])
    exact = [(p[:3], p[3:]) for p in map(integers, x)]
    assert triangle_triangle(first, second).tolist() == [hulls_meet(s, t) for s, t in exact]
    crossing = [any(crosses((a[k - 1], a[k]), b) for a, b in ((s, t), (t, s)) for k in range(3)) for s, t in exact]
    assert triangle_triangle(first, second, "does not count").tolist() == crossing


def check_tetrahedra(x: np.ndarray) -> None:
    """x: (n, 5, 3), points and tetrahedra."""
    found = point_in_tetrahedron(np.ascontiguousarray(x[:, 0]), np.ascontiguousarray(x[:, 1:]))
    for (p, *corners), where in zip(map(integers, x), found, strict=True):
        on_face = any(hulls_meet([p], corners[:k] + corners[k + 1 :]) for k in range(4))
        assert where == (0 if on_face else 1 if hulls_meet([p], corners) else -1)


@pytest.mark.parametrize("kind", KINDS)
def test_edges_and_triangles(kind: str, rng: np.random.Generator) -> None:
    check_edges(draw(kind, (800, 5, 3), rng))


@pytest.mark.parametrize("kind", KINDS)
def test_two_triangles(kind: str, rng: np.random.Generator) -> None:
    check_triangles(draw(kind, (700, 6, 3), rng))


@pytest.mark.parametrize("kind", KINDS)
def test_points_and_tetrahedra(kind: str, rng: np.random.Generator) -> None:
    check_tetrahedra(draw(kind, (400, 5, 3), rng))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many(kind: str) -> None:
    rng = np.random.default_rng(7)
    check_edges(draw(kind, (20000, 5, 3), rng))
    check_triangles(draw(kind, (15000, 6, 3), rng))
    check_tetrahedra(draw(kind, (8000, 5, 3), rng))


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_corners_does_not_matter(kind: str, rng: np.random.Generator) -> None:
    x = draw(kind, (2000, 5, 3), rng)
    y = draw(kind, (2000, 6, 3), rng)
    for policy in ("counts", "does not count"):
        edges = edge_triangle(np.ascontiguousarray(x[:, :2]), np.ascontiguousarray(x[:, 2:]), policy)
        pairs = triangle_triangle(np.ascontiguousarray(y[:, :3]), np.ascontiguousarray(y[:, 3:]), policy)
        for order in permutations(range(3)):
            corners = np.ascontiguousarray(x[:, 2:][:, order])
            for ends in ((0, 1), (1, 0)):
                assert same_bits(edge_triangle(np.ascontiguousarray(x[:, ends]), corners, policy), edges)
            first, second = np.ascontiguousarray(y[:, :3][:, order]), np.ascontiguousarray(y[:, 3:][:, order[::-1]])
            assert same_bits(triangle_triangle(first, second, policy), pairs)
            assert same_bits(triangle_triangle(second, first, policy), pairs)


def test_policies_on_one_triangle() -> None:
    triangle = np.array([[(0, 0, 0), (4, 0, 0), (0, 4, 0)]], float)
    for ends, closed, proper in [
        (((1, 1, 1), (1, 1, -1)), True, True),
        (((1, 1, 1), (1, 1, 0)), True, False),  # ends on the face
        (((2, 0, 1), (2, 0, -1)), True, False),  # through an edge
        (((0, 0, 1), (0, 0, -1)), True, False),  # through a corner
        (((5, 5, 1), (5, 5, -1)), False, False),
        (((1, 1, 2), (1, 1, 1)), False, False),
        (((-1, 1, 0), (9, 1, 0)), True, False),  # in the plane, across
        (((1, 1, 0), (1.5, 1, 0)), True, False),  # in the plane, inside
        (((-1, 5, 0), (5, -1, 0)), True, False),  # along the long edge
        (((-1, 6, 0), (6, -1, 0)), False, False),
        (((4, 0, 0), (9, 0, 0)), True, False),  # on the line of an edge, from a corner
        (((5, 0, 0), (9, 0, 0)), False, False),
        (((1, 1, 0), (1, 1, 0)), True, False),  # a point
        (((3, 3, 0), (3, 3, 0)), False, False),
    ]:
        edge = np.array([ends], float)
        assert edge_triangle(edge, triangle).tolist() == [closed], ends
        assert edge_triangle(edge, triangle, degenerate="does not count").tolist() == [proper], ends


@pytest.mark.slow
def test_triangles_of_a_mesh_meet_where_they_share_corners() -> None:
    vertices, triangles = torus()
    corners = vertices[triangles]
    i, j = np.triu_indices(len(corners), 1)
    shared = (triangles[i][:, :, None] == triangles[j][:, None, :]).any(axis=(1, 2))
    first, second = corners[i], corners[j]
    assert same_bits(triangle_triangle(first, second), shared)
    assert not triangle_triangle(first, second, "does not count").any()


def test_every_point_is_in_one_tetrahedron_of_a_cube_or_on_a_face(rng: np.random.Generator) -> None:
    """Six tetrahedra fill a cube, also one that is far from the origin and rounded."""
    paths = np.array([np.vstack([np.zeros(3), np.cumsum(np.eye(3)[list(order)], axis=0)]) for order in permutations(range(3))])
    points = np.concatenate([rng.uniform(-0.2, 1.2, (2000, 3)), rng.integers(-1, 6, (2000, 3)) * 0.25])
    for shift in (0.0, 1e9):
        x, cube = points + shift, paths + shift
        where = np.stack([point_in_tetrahedron(x, np.tile(t, (len(x), 1, 1))) for t in cube], axis=1)
        inside = ((x > shift) & (x < shift + 1)).all(axis=1)
        outside = ((x < shift) | (x > shift + 1)).any(axis=1)
        assert (where[outside] == -1).all()
        holders = (where == 1).sum(axis=1)
        rims = (where == 0).sum(axis=1)
        assert ((holders == 1) ^ (rims >= 2))[inside].all()
        assert (holders[~inside] == 0).all()


def test_intersections_are_the_same_on_all_threads(default_parallelism: None, rng: np.random.Generator) -> None:
    x = np.concatenate([draw(kind, (500, 6, 3), rng) for kind in KINDS])
    first, second, points = (np.ascontiguousarray(p) for p in (x[:, :3], x[:, 3:], x[:, 0]))

    def everything() -> list[np.ndarray]:
        return [
            *(edge_triangle(np.ascontiguousarray(first[:, :2]), second, p) for p in ("counts", "does not count")),
            *(triangle_triangle(first, second, p) for p in ("counts", "does not count")),
            point_in_tetrahedron(points, np.ascontiguousarray(x[:, 2:])),
        ]

    ms.set_num_threads(1)
    expected = everything()
    for threads in (2, 3, 5, 8):
        ms.set_num_threads(threads)
        assert same_bits(everything(), expected)


def test_nothing_and_what_is_refused() -> None:
    none = np.empty((0, 3, 3))
    assert edge_triangle(np.empty((0, 2, 3)), none).tolist() == []
    assert triangle_triangle(none, none).dtype == np.bool_
    assert point_in_tetrahedron(np.empty((0, 3)), np.empty((0, 4, 3))).dtype == np.int8
    edges, triangles = np.zeros((2, 2, 3)), np.zeros((2, 3, 3))
    with pytest.raises(ValueError, match="degenerate must be one of 'counts', 'does not count', not 'maybe'"):
        edge_triangle(edges, triangles, "maybe")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"edges must have shape \(n, 2, 3\), not \(2, 3, 3\)"):
        edge_triangle(triangles, triangles)
    with pytest.raises(ValueError, match="triangles must have as many rows as edges, which has 2, not 1"):
        edge_triangle(edges, triangles[:1])
    with pytest.raises(TypeError, match="second must be of dtype float64, not float32"):
        triangle_triangle(triangles, triangles.astype(np.float32))
    with pytest.raises(TypeError, match="first must be C-contiguous"):
        triangle_triangle(np.zeros((3, 3, 2)).transpose(2, 0, 1), triangles)
    bad = triangles.copy()
    bad[1, 0, 2] = np.nan
    with pytest.raises(ValueError, match=r"triangles must be finite, but \[1, 0, 2\] is nan"):
        edge_triangle(edges, bad)
    with pytest.raises(ValueError, match="tetrahedra must have as many rows as points, which has 3, not 0"):
        point_in_tetrahedron(np.zeros((3, 3)), np.empty((0, 4, 3)))
