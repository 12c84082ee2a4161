"""Comparison methods of collision detection: roots of a cubic with tolerances, and simplices in space and time."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.ccd import cases, queries
from support.ccd.oracle import KINDS, Kind
from support.exact import hulls_meet, integers
from support.variants import slow_but

import meniscus as ms

CUBIC = {"vertex-face": ms.collision.cubic_vertex_face, "edge-edge": ms.collision.cubic_edge_edge}
EXACT = {"vertex-face": ms.collision.vertex_face, "edge-edge": ms.collision.edge_edge}
SIMPLEX = {"vertex-face": ms.collision.space_time_vertex_face, "edge-edge": ms.collision.space_time_edge_edge}
METHODS: tuple[Any, ...] = ("cramer", "elimination", "integer-elimination")
UNIT_FACE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


# --- cubic --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_cubic_agrees_on_generic_queries(kind: Kind, rng: np.random.Generator) -> None:
    start, end = queries.mixture(queries.GENERIC, rng, 100_000, kind)
    expected = EXACT[kind](start, end, mode="any")
    differences = np.count_nonzero(np.isfinite(CUBIC[kind](start, end)) != expected)
    assert differences <= 10  # 99.99 %
    assert expected.sum() > 5000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", queries.DEGENERATE)
def test_cubic_misses_no_degenerate_contact(family: str, kind: Kind, rng: np.random.Generator) -> None:
    start, end = queries.DEGENERATE[family](rng, 200, kind)
    found = np.isfinite(CUBIC[kind](start, end))
    assert not (EXACT[kind](start, end, mode="any") & ~found).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "family", ["small_grid", "in_plane", "in_tilted_plane", "on_a_line", "parallel_edges", "flat_elements", "translations", "static_pairs"]
)
def test_cubic_reports_nothing_else_where_gaps_are_wide(family: str, kind: Kind, rng: np.random.Generator) -> None:
    start, end = queries.DEGENERATE[family](rng, 400, kind)
    assert (np.isfinite(CUBIC[kind](start, end)) == EXACT[kind](start, end, mode="any")).all()


@pytest.mark.parametrize("case", cases.CASES, ids=lambda c: c.name)
def test_cubic_on_known_cases(case: cases.Case) -> None:
    (time,) = CUBIC[case.kind](case.start[None], case.end[None])
    if case.first is None:
        assert time == np.inf
    else:
        assert time == pytest.approx(case.first, abs=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_cubic_cannot_do(kind: Kind, rng: np.random.Generator) -> None:
    """Elements that pass each other a little apart collide with any safe tolerance."""
    for family in ("near_misses", "near_double_roots", "hair"):
        start, end = queries.DEGENERATE[family](rng, 400, kind)
        wrong = np.isfinite(CUBIC[kind](start, end)) & ~EXACT[kind](start, end, mode="any")
        assert wrong.sum() > 40, family


def test_cubic_time_of_a_falling_point(rng: np.random.Generator) -> None:
    n = 200
    height, speed = rng.uniform(0.1, 2, n), rng.uniform(0.1, 8, n)
    start = np.broadcast_to(np.concatenate([[[0.25, 0.25, 0.0]], UNIT_FACE]), (n, 4, 3)).copy()
    start[:, 0, 2] = height
    end = start.copy()
    end[:, 0, 2] -= speed
    expected = np.where(height <= speed, height / speed, np.inf)
    np.testing.assert_allclose(ms.collision.cubic_vertex_face(start, end, tolerance=1e-12), expected, rtol=1e-11)
    # The tolerance is a fraction of the size: what it says does not depend on the unit.
    for scale in (2.0**-1000, 2.0**1000):
        np.testing.assert_allclose(ms.collision.cubic_vertex_face(start * scale, end * scale, tolerance=1e-12), expected, rtol=1e-11)


# --- simplices in space and time ------------------------------------------------------------------------------------------------------


def reference(kind: Kind, start: np.ndarray, end: np.ndarray, indices: list[int]) -> bool:
    """Return whether the simplices meet, as convex hulls of points (x, y, z, t), by linear feasibility in integers."""
    rows = integers(np.stack([start, end]))

    def at(i: int, late: int) -> list[int]:
        return [*rows[late][i], late]

    def edge(i: int, j: int) -> list[list[list[int]]]:
        i, j = sorted((i, j), key=lambda k: indices[k])
        return [[at(i, 0), at(j, 0), at(j, 1)], [at(i, 0), at(i, 1), at(j, 1)]]

    if kind == "vertex-face":
        a, b, c = sorted((1, 2, 3), key=lambda k: indices[k])
        cells = [
            [at(a, 0), at(b, 0), at(c, 0), at(c, 1)],
            [at(a, 0), at(b, 0), at(b, 1), at(c, 1)],
            [at(a, 0), at(a, 1), at(b, 1), at(c, 1)],
        ]
        return any(hulls_meet([at(0, 0), at(0, 1)], cell) for cell in cells)
    return any(hulls_meet(first, second) for first in edge(0, 1) for second in edge(2, 3))


@pytest.mark.parametrize("n", [200, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_simplices_against_linear_feasibility(kind: Kind, n: int, rng: np.random.Generator) -> None:
    parts = [queries.mixture(queries.GENERIC, rng, n, kind), queries.mixture(queries.DEGENERATE, rng, 2 * n, kind)]
    start, end = (np.concatenate([p[k] for p in parts]) for k in range(2))
    indices = rng.permuted(np.tile(np.arange(4, dtype=np.int32), (len(start), 1)), axis=1)
    expected = [reference(kind, s, e, i) for s, e, i in zip(start, end, indices.tolist(), strict=True)]
    assert 0.5 * n < sum(expected) < 2.5 * n
    for method in METHODS:
        assert np.isfinite(SIMPLEX[kind](start, end, indices, method).times).tolist() == expected, method


@pytest.mark.parametrize("kind", slow_but(KINDS, "vertex-face"))
def test_all_ways_to_solve_the_systems_agree(kind: Kind, rng: np.random.Generator) -> None:
    parts = [queries.mixture(queries.GENERIC, rng, 4000, kind), queries.mixture(queries.DEGENERATE, rng, 4000, kind)]
    start, end = (np.concatenate([p[k] for p in parts]) for k in range(2))
    first, *others = (SIMPLEX[kind](start, end, method=m) for m in METHODS)
    for other in others:
        assert (np.isfinite(other.times) == np.isfinite(first.times)).all()
        np.testing.assert_allclose(other.times[:4000], first.times[:4000], rtol=0, atol=1e-9)
    assert np.isfinite(first.times).sum() > 2000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["translations", "real_translations", "static_pairs"])
def test_simplices_agree_with_straight_motion_where_elements_are_translated(family: str, kind: Kind, rng: np.random.Generator) -> None:
    start, end = queries.DEGENERATE[family](rng, 4000, kind)
    expected = EXACT[kind](start, end, mode="any")
    assert expected.sum() > 100
    for method in METHODS:
        assert (np.isfinite(SIMPLEX[kind](start, end, method=method).times) == expected).all()


@pytest.mark.parametrize("kind", KINDS)
def test_simplices_do_not_depend_on_the_order_of_the_points(kind: Kind, rng: np.random.Generator) -> None:
    start, end = queries.mixture(queries.DEGENERATE, rng, 1000, kind)
    indices = np.tile(np.array([7, 1, 5, 3], np.int32), (1000, 1))
    expected = np.isfinite(SIMPLEX[kind](start, end, indices).times)
    for order in [[0, 2, 3, 1], [0, 1, 3, 2]] if kind == "vertex-face" else [[1, 0, 2, 3], [2, 3, 0, 1]]:
        s, e, i = (np.ascontiguousarray(x[:, order]) for x in (start, end, indices))
        assert (np.isfinite(SIMPLEX[kind](s, e, i).times) == expected).all()
    # Another numbering is another cutting.
    assert (np.isfinite(SIMPLEX[kind](start, end).times) != expected).any()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_leaks_through_inner_diagonals(method: Any, rng: np.random.Generator) -> None:
    """A point that passes exactly through the common side of two cells is reported, from whichever face one looks."""
    n = 300
    face = 4 * rng.integers(-5, 6, (2, n, 3, 3))
    # Weights of quarters on the vertices of a triangle between two tetrahedra: x1 x2 x3* or x1 x2* x3*.
    weights = rng.multinomial(4, [1 / 3] * 3, n)
    second = rng.random(n) < 0.5
    corners = np.stack([face[0, :, 0], np.where(second[:, None], face[1, :, 1], face[0, :, 1]), face[1, :, 2]], axis=1)
    late = np.stack([np.zeros(n, bool), second, np.ones(n, bool)], axis=1)
    point = (weights[..., None] * corners).sum(axis=1) // 4
    quarter = (weights * late).sum(axis=1)
    velocity = rng.integers(-3, 4, (n, 3))
    start = np.concatenate([(point - quarter[:, None] * velocity)[:, None], face[0]], axis=1).astype(float)
    end = np.concatenate([(point + (4 - quarter)[:, None] * velocity)[:, None], face[1]], axis=1).astype(float)
    found = ms.collision.space_time_vertex_face(start, end, method=method)
    assert (found.times <= quarter / 4).all()


def tetrahedron_faces() -> np.ndarray:
    return np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def inside(corners: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strictly inside and strictly outside of tetrahedra with integer corners (n, 4, 3)."""
    signs = []
    for rows in itertools.combinations(range(4), 3):
        (other,) = set(range(4)) - set(rows)
        a, b, c = (corners[:, k] - points for k in rows)
        whole = [corners[:, k] - corners[:, other] for k in rows]
        signs.append(np.round(np.linalg.det(np.stack([a, b, c], axis=1))) * np.round(np.linalg.det(np.stack(whole, axis=1))))
    s = np.stack(signs)
    return (s > 0).all(axis=0), (s < 0).any(axis=0)


@pytest.mark.parametrize("largest", [2, 20])
@pytest.mark.parametrize("method", METHODS)
def test_a_point_does_not_leave_a_closed_mesh_unnoticed(method: Any, largest: int, rng: np.random.Generator) -> None:
    n = 20_000
    start, end = (rng.integers(-largest, largest + 1, (n, 5, 3)).astype(float) for _ in range(2))
    start[:, 0] = np.round(start[:, 1:].mean(axis=1))  # often inside
    before, after = inside(start[:, 1:], start[:, 0]), inside(end[:, 1:], end[:, 0])
    # The same orientation at both ends, or the mesh turns inside out and the point may be on no side of it.
    turned = [np.linalg.det(x[:, 2:] - x[:, 1:2]) for x in (start, end)]
    changed = ((before[0] & after[1]) | (before[1] & after[0])) & (turned[0] * turned[1] > 0.5)
    start, end = start[changed], end[changed]
    assert len(start) > 100
    noticed = np.zeros(len(start), bool)
    for face in tetrahedron_faces():
        rows = np.concatenate([[0], face + 1]).astype(np.int32)
        indices = np.tile(rows, (len(start), 1))
        noticed |= np.isfinite(ms.collision.space_time_vertex_face(start[:, rows].copy(), end[:, rows].copy(), indices, method).times)
    assert noticed.all()


def test_by_products_of_a_falling_point(rng: np.random.Generator) -> None:
    n = 100
    height, speed = rng.uniform(0.1, 1, n), rng.uniform(1, 8, n)
    start = np.broadcast_to(np.concatenate([[[0.25, 0.25, 0.0]], UNIT_FACE]), (n, 4, 3)).copy()
    start[:, 0, 2] = height
    end = start + np.array([0.5, 0.25, 0.0])
    end[:, 0, 2] -= speed
    for order, side in (([0, 1, 2, 3], 1.0), ([0, 1, 3, 2], -1.0), ([0, 3, 1, 2], 1.0)):
        found = ms.collision.space_time_vertex_face(start[:, order].copy(), end[:, order].copy())
        np.testing.assert_allclose(found.times, height / speed, rtol=1e-13)
        np.testing.assert_allclose(found.normals, np.broadcast_to([0, 0, side], (n, 3)), atol=1e-15)
        np.testing.assert_allclose(found.displacements, -side * speed, rtol=1e-13)


def test_by_products_of_falling_edges() -> None:
    start = np.array([[[-1.0, 0, 1], [1, 0, 1], [0, -1, 0], [0, 1, 0]]])
    end = start.copy()
    end[:, :2, 2] = -3
    found = ms.collision.space_time_edge_edge(start, end)
    assert found.times.tolist() == [0.25]
    assert found.normals.tolist() == [[0, 0, 1]]
    assert found.displacements.tolist() == [-4]


@pytest.mark.parametrize("method", METHODS)
def test_point_and_segment_of_the_plane(method: Any, rng: np.random.Generator) -> None:
    for largest, scale in ((2, 1.0), (30, 1.0), (2, 2.0**-1074), (2, 2.0**1000)):
        start, end = (rng.integers(-largest, largest + 1, (200, 3, 2)) * scale for _ in range(2))
        indices = rng.permuted(np.tile(np.arange(3, dtype=np.int32), (200, 1)), axis=1)
        found = ms.collision.space_time_point_segment(start, end, indices, method)
        assert found.normals.shape == (200, 2)
        for s, e, row, time in zip(start, end, indices.tolist(), found.times, strict=True):
            x = [[[*p, late] for p in points] for late, points in enumerate(integers(np.stack([s, e])))]
            i, j = sorted((1, 2), key=lambda k: row[k])
            cells = [[x[0][i], x[0][j], x[1][j]], [x[0][i], x[1][i], x[1][j]]]
            assert np.isfinite(time) == any(hulls_meet([x[0][0], x[1][0]], cell) for cell in cells)


def test_by_products_in_the_plane() -> None:
    start = np.array([[[0.25, 1.0], [0.0, 0.0], [1.0, 0.0]]])
    end = np.array([[[0.25, -3.0], [0.0, 0.0], [1.0, 0.0]]])
    found = ms.collision.space_time_point_segment(start, end)
    assert found.times.tolist() == [0.25]
    assert found.normals.tolist() == [[0, 1]]
    assert found.displacements.tolist() == [-4]


# --- arguments ------------------------------------------------------------------------------------------------------------------------


ALL = [*CUBIC.values(), *SIMPLEX.values()]


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_arguments(function: Any) -> None:
    x = np.zeros((3, 4, 3))
    with pytest.raises(TypeError, match="start must be of dtype float64, not float32"):
        function(x.astype(np.float32), x)
    with pytest.raises(ValueError, match=r"end must have shape \(n, 4, 3\), not \(3, 4, 2\)"):
        function(x, np.zeros((3, 4, 2)))
    with pytest.raises(TypeError, match="start must be C-contiguous"):
        function(np.zeros((4, 3, 3)).swapaxes(0, 1), x)
    with pytest.raises(ValueError, match="end must"):
        function(x, np.zeros((2, 4, 3)))
    for bad in (np.nan, np.inf):
        y = x.copy()
        y[1, 2, 0] = bad
        with pytest.raises(ValueError, match=r"end must be finite, but \[1, 2, 0\] is"):
            function(x, y)
    empty = function(x[:0], x[:0])
    assert len(empty if isinstance(empty, np.ndarray) else empty.times) == 0


def test_options() -> None:
    x = np.zeros((3, 4, 3))
    with pytest.raises(ValueError, match="tolerance must not be negative"):
        ms.collision.cubic_vertex_face(x, x, tolerance=-1.0)
    with pytest.raises(ValueError, match="method must be one of 'cramer'"):
        ms.collision.space_time_vertex_face(x, x, method="gauss")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="indices must be of dtype int32"):
        ms.collision.space_time_edge_edge(x, x, np.zeros((3, 4)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"indices must have shape \(3, 4\), not \(3, 3\)"):
        ms.collision.space_time_edge_edge(x, x, np.zeros((3, 3), np.int32))
    with pytest.raises(ValueError, match=r"start must have shape \(n, 3, 2\)"):
        ms.collision.space_time_point_segment(x, x)


@pytest.mark.usefixtures("default_parallelism")
@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_on_any_number_of_threads(kind: Kind, rng: np.random.Generator) -> None:
    start, end = queries.mixture(queries.DEGENERATE, rng, 1000, kind)
    results = []
    for threads in (1, 2, 3, 5, 8):
        ms.set_num_threads(threads)
        results.append([CUBIC[kind](start, end), *SIMPLEX[kind](start, end), *SIMPLEX[kind](start, end, method="elimination")])
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))
