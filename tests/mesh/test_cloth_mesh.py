"""Triangle meshes: cloth in a herring-bone pattern, hinges, boundaries, neighbours, spheres."""

import math
from collections import Counter

import numpy as np
import pytest
from support.meshes import box, torus
from support.simplices import edges_of, facets_of, neighbours_of

from meniscus.mesh import TriangleMesh, cloth_mesh, icosphere


def diagonals(mesh: TriangleMesh, nx: int, ny: int) -> np.ndarray:
    """Of each quad, +1 if its diagonal rises and -1 if it falls, from the edge that its two triangles share."""
    result = np.empty((nx, ny), int)
    grid = mesh.vertices
    for q in range(nx * ny):
        a, b = sorted(set(mesh.triangles[2 * q].tolist()) & set(mesh.triangles[2 * q + 1].tolist()))
        step = grid[b] - grid[a]
        result[q // ny, q % ny] = np.sign(step[0] * step[1])
    return result


@pytest.mark.parametrize(("nx", "ny"), [(1, 1), (4, 3), (3, 4), (5, 5), (6, 6), (1, 4), (2, 1)])
@pytest.mark.parametrize("pattern", ["herring-bone", "diamond", "regular"])
def test_counts_and_diagonals(nx: int, ny: int, pattern: str) -> None:
    m = cloth_mesh(nx, ny, (1.5, 0.5), origin=(1.0, 2.0, 3.0), pattern=pattern)
    assert len(m.vertices) == (nx + 1) * (ny + 1)
    assert len(m.triangles) == 2 * nx * ny
    grid = m.vertices.reshape(nx + 1, ny + 1, 3)
    assert grid[nx, ny].tolist() == [2.5, 2.5, 3.0]
    assert grid[nx, 0].tolist() == [2.5, 2.0, 3.0]
    corners = m.vertices[m.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (normals[:, 2] > 0).all()
    assert m.areas == pytest.approx(np.full(2 * nx * ny, 0.375 / (nx * ny)), rel=1e-12)
    at = facets_of(m.triangles)
    assert Counter(map(len, at.values())) == Counter({2: 3 * nx * ny - nx - ny, 1: 2 * (nx + ny)})
    assert m.euler_characteristic == 1
    assert m.is_manifold
    d = diagonals(m, nx, ny)
    if pattern == "regular":
        assert (d == 1).all()
    elif pattern == "diamond":
        assert abs(d.sum()) == (nx * ny) % 2
        assert (d[1:] == -d[:-1]).all()
        assert (d[:, 1:] == -d[:, :-1]).all()
    else:
        assert abs(d.sum()) == (ny if nx % 2 and ny % 2 else 0)
        rows = nx % 2 == 1 and ny % 2 == 0
        along, across = (d.T, d) if rows else (d, d.T)
        assert (along[1:] == -along[:-1]).all()
        assert (across[1:] == across[:-1]).all()


def hinges_of(triangles: np.ndarray) -> list[tuple[int, ...]]:
    """From directed edges: i < j, the corner of the triangle that passes i to j, and that of the other."""
    passing = {}
    for t in triangles.tolist():
        for k in range(3):
            passing[t[k], t[(k + 1) % 3]] = t[(k + 2) % 3]
    return sorted((i, j, k, passing[j, i]) for (i, j), k in passing.items() if i < j and (j, i) in passing)


@pytest.mark.parametrize("mesh", [torus(), box()], ids=["torus", "box"])
def test_pairs_that_bend(mesh: tuple[np.ndarray, np.ndarray]) -> None:
    m = TriangleMesh(*mesh)
    assert [tuple(b) for b in m.hinges.tolist()] == hinges_of(m.triangles)
    assert len(m.hinges) == len(m.edges)
    c = cloth_mesh(5, 4)
    assert [tuple(b) for b in c.hinges.tolist()] == hinges_of(c.triangles)
    assert len(c.hinges) == 3 * 20 - 9


def test_pairs_that_bend_where_triangles_are_flipped_or_many() -> None:
    # Both triangles pass the edge 0-1 from 0 to 1: the first comes first.
    x = np.random.default_rng(3).random((6, 3))
    m = TriangleMesh(x, np.array([(3, 0, 1), (0, 1, 2)], np.int32))
    assert m.hinges.tolist() == [[0, 1, 3, 2]]
    m = TriangleMesh(x, np.array([(3, 1, 0), (1, 0, 2)], np.int32))
    assert m.hinges.tolist() == [[0, 1, 3, 2]]
    # Three triangles at 0-1 do not bend there; they have no neighbour there and are no boundary.
    m = TriangleMesh(x, np.array([(0, 1, 2), (0, 1, 3), (1, 0, 4), (1, 2, 5)], np.int32))
    assert m.nonmanifold_edges.tolist() == [[0, 1]]
    assert m.hinges.tolist() == [[1, 2, 0, 5]]
    assert m.neighbours.tolist() == [[3, -1, -1], [-1, -1, -1], [-1, -1, -1], [-1, -1, 0]]
    assert sorted(sorted(s) for s in m.boundary.segments.tolist()) == [[0, 2], [0, 3], [0, 4], [1, 3], [1, 4], [1, 5], [2, 5]]
    assert not m.is_manifold
    assert m.components == 1


def test_edges_neighbours_and_boundary(rng: np.random.Generator) -> None:
    c = cloth_mesh(6, 5)
    order = rng.permutation(len(c.triangles))[:50]
    m = c.submesh(order)
    assert m.edges.tolist() == edges_of(m.triangles)
    number = {tuple(e): i for i, e in enumerate(m.edges.tolist())}
    # Edge k of a triangle is opposite of corner k.
    expected = [[number[tuple(sorted((t[(k + 1) % 3], t[(k + 2) % 3])))] for k in range(3)] for t in m.triangles.tolist()]
    assert m.element_edges.tolist() == expected
    assert (m.neighbours == neighbours_of(m.triangles)).all()
    directed = {(t[k], t[(k + 1) % 3]) for t in m.triangles.tolist() for k in range(3)}
    boundary = sorted((e for e in directed if e[::-1] not in directed), key=sorted)
    assert [tuple(s) for s in m.boundary.segments.tolist()] == boundary
    assert np.shares_memory(m.boundary.vertices, m.vertices)


def test_a_triangle_with_a_corner_twice_has_no_part_in_edges() -> None:
    m = TriangleMesh(np.eye(4, 3), np.array([(0, 1, 2), (1, 1, 3), (2, 1, 3)], np.int32))
    assert m.edges.tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert m.element_edges[1].tolist() == [-1, -1, -1]
    assert m.hinges.tolist() == [[1, 2, 0, 3]]
    assert m.components == 2
    assert m.neighbours[1].tolist() == [-1, -1, -1]
    assert m.one_rings.row(3).tolist() == [1, 2]


def test_pinched_vertices() -> None:
    v, t = box()
    closed = TriangleMesh(v, t)
    assert closed.is_manifold
    # Without the triangles at one edge's ends only, a fan is cut in two at vertices whose triangles no longer hang together.
    fan = np.array([(0, 1, 2), (0, 2, 3), (0, 4, 5), (0, 5, 6)], np.int32)
    x = np.random.default_rng(5).random((7, 3))
    assert TriangleMesh(x, fan).pinched_vertices.tolist() == [0]
    assert TriangleMesh(x, fan[:2]).pinched_vertices.tolist() == []


def test_enclosed_volumes() -> None:
    v, t = box((1.0, 2.0, 3.0), (2.0, 4.0, 6.0))
    m = TriangleMesh(v + 1000, t)
    assert m.volume() == pytest.approx(6.0, rel=1e-12)
    assert TriangleMesh(v, np.ascontiguousarray(t[:, ::-1])).volume() == pytest.approx(-6.0, rel=1e-14)
    assert m.volume(2 * v) == pytest.approx(48.0, rel=1e-14)
    with pytest.raises(ValueError, match="a mesh with 3 boundary edges encloses no volume"):
        m.submesh(np.arange(1, 12)).volume()


def test_icospheres() -> None:
    previous = math.inf
    for levels in range(5):
        s = icosphere(levels, 2.0, (1.0, -1.0, 0.5))
        n = 20 * 4**levels
        assert len(s.triangles) == n
        assert len(s.vertices) == n // 2 + 2
        assert np.linalg.norm(s.vertices - (1.0, -1.0, 0.5), axis=1) == pytest.approx(np.full(len(s.vertices), 2.0), rel=1e-15)
        assert s.check_watertight().watertight
        assert s.euler_characteristic == 2
        error = 4 / 3 * math.pi * 8 - s.volume()
        assert 0 < error < previous / 3
        previous = error
        # Of an icosahedron, all vertices have five neighbours; middles have six.
        rings = np.diff(s.one_rings.starts)
        assert (rings == 5).sum() == 12
        assert set(rings.tolist()) <= {5, 6}
    with pytest.raises(ValueError, match="levels must be below 13"):
        icosphere(13)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="nx must be at least 1, not 0"):
        cloth_mesh(0, 1)
    with pytest.raises(ValueError, match=r"size\[0\] must be positive, not -1"):
        cloth_mesh(1, 1, (-1.0, 1.0))
    with pytest.raises(ValueError, match="pattern must be one of 'herring-bone', 'diamond', 'regular', not 'plain'"):
        cloth_mesh(1, 1, pattern="plain")
    with pytest.raises(ValueError, match="a mesh can have at most 2147483647 vertices"):
        cloth_mesh(100000, 100000)
