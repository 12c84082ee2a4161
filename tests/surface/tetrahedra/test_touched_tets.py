"""Tetrahedra that triangles touch: against exact rational arithmetic, and over numbers of threads."""

from __future__ import annotations

import numpy as np
import pytest
from support.exact import integers
from support.meshes import real_mesh, torus
from support.same_bits import everywhere
from support.simplices import bcc

import meniscus as ms
from meniscus.surface import touched_tets

ONE_TET = np.arange(4, dtype=np.int32)[None]
ONE_TRIANGLE = np.arange(3, dtype=np.int32)[None]


def separated(a: list[list[int]], b: list[list[int]]) -> bool:
    """Whether a plane separates two convex hulls strictly: candidates are spanned by differences of corners (exact integers)."""

    def minus(p: list[int], q: list[int]) -> list[int]:
        return [x - y for x, y in zip(p, q, strict=True)]

    def cross(p: list[int], q: list[int]) -> list[int]:
        return [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]]

    edges = [[minus(p, q) for i, p in enumerate(s) for q in s[:i]] for s in (a, b)]
    between = [minus(p, q) for p in a for q in b]
    everything = edges[0] + edges[1] + between
    axes = everything + [cross(p, q) for i, p in enumerate(everything) for q in everything[:i]]
    # Degenerate hulls: normals within their own plane, too.
    axes += [cross(n, e) for s in edges for i, p in enumerate(s) for q in s[:i] if any(n := cross(p, q)) for e in s]
    axes += [cross(cross(e, d), e) for e in edges[0] + edges[1] for d in between]
    for axis in axes:
        if any(axis):
            left = [sum(x * y for x, y in zip(axis, p, strict=True)) for p in a]
            right = [sum(x * y for x, y in zip(axis, p, strict=True)) for p in b]
            if max(left) < min(right) or max(right) < min(left):
                return True
    return False


def exactly(tet: np.ndarray, triangle: np.ndarray) -> bool:
    rows = integers(np.vstack([tet, triangle]))
    return not separated(rows[:4], rows[4:])


def one(tet: np.ndarray, triangle: np.ndarray) -> bool:
    return bool(touched_tets(tet, ONE_TET, triangle, ONE_TRIANGLE)[0])


def pairs(kind: str, n: int, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random pairs of a tetrahedron and a triangle, most of them close to each other."""
    result = []
    for i in range(n):
        if kind == "general":
            tet, triangle = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)) * rng.choice([0.2, 1.0, 4.0]) + rng.normal(size=3)
        elif kind == "small integers":  # common planes, edges and corners, and elements without volume or area
            tet, triangle = rng.integers(0, 3, (4, 3)).astype(float), rng.integers(-1, 4, (3, 3)).astype(float)
        elif kind == "corner on face":
            tet = rng.normal(size=(4, 3))
            triangle = rng.normal(size=(3, 3))
            triangle[0] = rng.dirichlet(np.ones(3)) @ tet[1:]  # on the face to within round-off, on either side
            triangle[1:] += 2.0 * (tet[1:].mean(axis=0) - tet[0])
        elif kind == "edge on edge":
            tet = rng.normal(size=(4, 3))
            middle = 0.5 * (tet[0] + tet[1])
            along = rng.normal(size=3)
            triangle = np.stack([middle + along, middle - along, middle + 3.0 * (middle - tet[2:].mean(axis=0)) + rng.normal(size=3)])
        else:  # in the plane of a face
            tet = rng.normal(size=(4, 3)) * [1, 1, 0] + [[0, 0, 0.5 + rng.random()]] + np.array([[0, 0, 1.0], *[[0, 0, 0.0]] * 3])
            tet[1:, 2] = tet[1, 2]
            triangle = np.column_stack([rng.normal(size=(3, 2)) * 2, np.full(3, tet[1, 2])])
        if i % 2:
            tet = tet[[1, 0, 2, 3]]
        result.append((np.ascontiguousarray(tet), np.ascontiguousarray(triangle)))
    return result


@pytest.mark.parametrize("kind", ["general", "small integers", "corner on face", "edge on edge", "in a face's plane"])
def test_answers_are_those_of_exact_arithmetic(kind: str, rng: np.random.Generator) -> None:
    answers = []
    for tet, triangle in pairs(kind, 120, rng):
        expected = exactly(tet, triangle)
        assert one(tet, triangle) == expected, (tet, triangle)
        assert one(tet[[2, 0, 3, 1]], triangle[[2, 0, 1]]) == expected
        answers.append(expected)
    assert 0.1 < np.mean(answers) < 0.95


def test_contact_in_single_points_counts() -> None:
    tet = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    at_corner = np.array([[1, 0, 0], [2, 1, 0], [2, -1, 0.0]])
    beside_it = at_corner.copy()
    beside_it[0, 0] = np.nextafter(1, 2)
    below_face = np.array([[-5, -5, -5e-324], [9, -5, -5e-324], [-5, 9, -5e-324]])
    in_face = below_face * [1, 1, 0]
    inside = np.array([[0.1, 0.1, 0.1], [0.2, 0.1, 0.1], [0.1, 0.2, 0.1]])
    around = np.array([[-9, -9, 0.5], [9, -9, 0.5], [0, 18, 0.5]])
    triangles = [at_corner, beside_it, below_face, in_face, inside, around]
    assert [one(tet, t) for t in triangles] == [True, False, False, True, True, True]
    assert [one(1e150 * tet, 1e150 * t) for t in (at_corner, beside_it, inside)] == [True, False, True]


def brute_force(mesh: ms.mesh.TetMesh, x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """All pairs, one by one, so that no search can hide any."""
    touched = np.zeros(len(mesh.tets), bool)
    for triangle in x[triangles]:
        low, high = triangle.min(axis=0), triangle.max(axis=0)
        corners = mesh.vertices[mesh.tets]
        close = ((corners.min(axis=1) <= high) & (corners.max(axis=1) >= low)).all(axis=1) & ~touched
        for t in np.flatnonzero(close):
            touched[t] = one(np.ascontiguousarray(corners[t]), np.ascontiguousarray(triangle))
    return touched


@pytest.mark.parametrize("scrambled", [False, True])
def test_search_misses_nothing(scrambled: bool, rng: np.random.Generator) -> None:
    mesh = bcc(5, 0.5)
    if scrambled:
        mesh = ms.mesh.TetMesh(mesh.vertices, np.ascontiguousarray(rng.permutation(mesh.tets)[:, [1, 0, 2, 3]]))
    x, triangles = torus(0.6, 0.17, 16, 9)
    x = x @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + mesh.vertices.mean(axis=0)
    found = touched_tets(mesh.vertices, mesh.tets, np.ascontiguousarray(x), np.asarray(triangles, np.int32))
    assert 50 < found.sum() < 0.5 * len(found)
    assert np.array_equal(found, brute_force(mesh, x, triangles))


def test_same_bits_for_any_threads(default_parallelism: None) -> None:
    mesh = bcc(24, 0.1)
    x, triangles = torus(0.7, 0.3, 40, 24)
    x = x + mesh.vertices.mean(axis=0)
    everywhere(lambda: [touched_tets(mesh.vertices, mesh.tets, x, np.asarray(triangles, np.int32))])


@pytest.mark.slow
def test_every_triangle_of_a_skin_touches_a_cut_tetrahedron() -> None:
    x, triangles = real_mesh("spot")
    low, high = x.min(axis=0), x.max(axis=0)
    n = 14
    size = float((high - low).max()) / n
    cubes = np.ceil((high - low) / size).astype(int) + 4
    mesh = ms.mesh.bcc_lattice(tuple(low - 2 * size), size, tuple(int(c) for c in cubes))
    solid = ms.surface.KinematicSolid((x, triangles))
    on_tets = ms.surface.SolidOnTets(mesh.tets, len(mesh.vertices))
    on_tets.update(solid, np.array(mesh.vertices))
    assert np.array_equal(on_tets.cut, touched_tets(mesh.vertices, mesh.tets, x, np.asarray(triangles, np.int32)))
    # Each triangle alone against cut tetrahedra only.
    cut = np.ascontiguousarray(mesh.tets[on_tets.cut])
    for t in np.asarray(triangles, np.int32):
        assert touched_tets(mesh.vertices, cut, x, np.ascontiguousarray(t[None])).any()
    # No tetrahedron that is not cut has both signs at its nodes.
    phi = on_tets.phi[mesh.tets]
    assert not ((phi.min(axis=1) < 0) & (phi.max(axis=1) > 0) & ~on_tets.cut).any()


def test_what_is_refused() -> None:
    x, tri = np.eye(4, 3), ONE_TRIANGLE
    with pytest.raises(TypeError, match="tets must be a NumPy array of dtype int32, not int64"):
        touched_tets(x, ONE_TET.astype(np.int64), x, tri)
    with pytest.raises(ValueError, match=r"tets must have shape \(m, 4\), not \(1, 3\)"):
        touched_tets(x, np.ascontiguousarray(ONE_TET[:, :3]), x, tri)
    with pytest.raises(ValueError, match="tetrahedron 0 has"):
        touched_tets(x, ONE_TET + np.int32(1), x, tri)
    with pytest.raises(ValueError, match="vertices must be finite"):
        touched_tets(np.full((4, 3), np.nan), ONE_TET, x, tri)
    with pytest.raises(ValueError, match="finite"):
        touched_tets(x, ONE_TET, np.full((4, 3), np.inf), tri)
    with pytest.raises(ValueError, match="triangle"):
        touched_tets(x, ONE_TET, x, tri + np.int32(4))
    assert not touched_tets(x, ONE_TET, x, np.zeros((0, 3), np.int32)).any()
    assert touched_tets(x, np.zeros((0, 4), np.int32), x, tri).shape == (0,)
