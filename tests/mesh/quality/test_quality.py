"""Shapes of elements: regular and BCC ones exactly, random ones by plain formulas, degenerate ones without NaN; orders."""

import math

import numpy as np
import pytest
from support.simplices import bcc, delaunay

from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh, cloth_mesh, tet_block

REGULAR = np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], float)


def plain_quality(p: np.ndarray) -> list[float]:
    """Angles between faces from their planes, altitudes from the inverse matrix, radii by least squares."""
    angles = []
    for i in range(4):
        for j in range(i + 1, 4):
            k, m = (x for x in range(4) if x not in (i, j))
            # Perpendicular to the edge k-m, towards the other two corners.
            e = (p[m] - p[k]) / np.linalg.norm(p[m] - p[k])
            a, b = (q - p[k] - ((q - p[k]) @ e) * e for q in (p[i], p[j]))
            angles.append(math.degrees(math.acos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))))
    gradients = np.linalg.inv(np.column_stack([p, np.ones(4)]))[:3].T
    altitudes = 1 / np.linalg.norm(gradients, axis=1)
    longest = max(np.linalg.norm(p[i] - p[j]) for i in range(4) for j in range(i))
    center = np.linalg.solve(2 * (p[1:] - p[0]), (p[1:] ** 2).sum(axis=1) - (p[0] ** 2).sum())
    inradius = 1 / (1 / altitudes).sum()
    return [min(angles), max(angles), altitudes.min() / longest, 3 * inradius / np.linalg.norm(center - p[0])]


def test_random_tetrahedra(rng: np.random.Generator) -> None:
    m = delaunay(60, rng)
    q = m.quality()
    for t in range(len(m.tets)):
        found = [q.smallest_angle[t], q.largest_angle[t], q.aspect[t], q.radius_ratio[t]]
        assert found == pytest.approx(plain_quality(m.vertices[m.tets[t]]), rel=1e-6, abs=1e-6)
    assert (q.measures == m.volumes).all()
    assert q.radius_ratio[q.worst] == q.radius_ratio.min()
    # The same shapes of a mesh that is turned, scaled, and of its mirror image.
    turned = m.quality(np.ascontiguousarray(3 * m.vertices @ np.linalg.qr(rng.normal(size=(3, 3)))[0]))
    assert turned.aspect == pytest.approx(q.aspect, rel=1e-9)
    mirrored = m.quality(m.vertices * np.array([-1.0, 1, 1]))
    assert mirrored.smallest_angle == pytest.approx(q.smallest_angle, rel=1e-12)
    assert mirrored.inverted == len(m.tets)


def test_regular_and_bcc_tetrahedra() -> None:
    q = TetMesh(REGULAR, np.array([[0, 1, 2, 3]], np.int32)).oriented().quality()
    regular = math.degrees(math.acos(1 / 3))
    assert [q.smallest_angle[0], q.largest_angle[0]] == pytest.approx([regular, regular], rel=1e-14)
    assert q.aspect[0] == pytest.approx(math.sqrt(2 / 3), rel=1e-14)
    assert q.radius_ratio[0] == pytest.approx(1, rel=1e-14)
    q = bcc(2).quality()
    assert q.smallest_angle == pytest.approx(np.full(len(q.measures), 60.0), rel=1e-12)
    assert q.largest_angle == pytest.approx(np.full(len(q.measures), 90.0), rel=1e-12)
    assert q.aspect == pytest.approx(np.full(len(q.measures), math.sqrt(0.5)), rel=1e-12)
    smallest, largest, bounds = q.histogram(9)
    assert bounds.tolist() == [20.0 * k for k in range(10)]
    assert smallest.sum() == largest.sum() == len(q.measures)
    assert np.flatnonzero(smallest).tolist() in ([2], [2, 3], [3])


def test_triangles(rng: np.random.Generator) -> None:
    x = np.array([(0, 0, 0), (3, 0, 0), (0, 4, 0), (1, 0, 0), (0.5, math.sqrt(0.75), 0)])
    q = TriangleMesh(x, np.array([(0, 1, 2), (0, 3, 4)], np.int32)).quality()
    assert q.smallest_angle == pytest.approx([math.degrees(math.atan2(3, 4)), 60], rel=1e-14)
    assert q.largest_angle == pytest.approx([90, 60], rel=1e-14)
    assert q.aspect == pytest.approx([2.4 / 5, math.sqrt(0.75)], rel=1e-14)
    assert q.radius_ratio == pytest.approx([2 * 1 / 2.5, 1], rel=1e-14)
    assert q.measures == pytest.approx([6, math.sqrt(0.75) / 2], rel=1e-14)
    assert "2 triangles, 0 of them without area" in str(q)


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e60])
def test_degenerate_elements_never_give_nan(scale: float) -> None:
    x = scale * np.array([(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 0), (1, 1, 0), (0, 0, 1)], float)
    tets = np.array([(0, 1, 2, 3), (0, 1, 3, 5), (0, 4, 1, 3), (0, 4, 1, 6), (0, 1, 3, 6)], np.int32)
    q = TetMesh(x, tets).quality()
    for values in (q.measures, q.smallest_angle, q.largest_angle, q.aspect, q.radius_ratio):
        assert np.isfinite(values).all()
    assert q.radius_ratio[:4].tolist() == [0, 0, 0, 0]
    assert q.aspect[:4].tolist() == [0, 0, 0, 0]
    assert q.inverted == 4
    plain = plain_quality(x[tets[4]] / scale)
    assert [v[4] for v in (q.smallest_angle, q.largest_angle, q.aspect, q.radius_ratio)] == pytest.approx(plain, rel=1e-9)
    point = TetMesh(np.zeros((4, 3)), np.array([(0, 1, 2, 3)], np.int32)).quality()
    assert point.aspect[0] == point.radius_ratio[0] == 0
    line = TriangleMesh(x, np.array([(0, 1, 2), (0, 4, 1), (0, 0, 0)], np.int32)).quality()
    assert np.isfinite(line.largest_angle).all()
    assert line.radius_ratio.tolist() == [0, 0, 0]


def test_which_are_degenerate(rng: np.random.Generator) -> None:
    m = tet_block(3, 3, 3)
    assert not m.degenerate(m.vertices).any()
    x = m.vertices + rng.uniform(-0.3, 0.3, m.vertices.shape)
    volume, shape = m.measures(x), m.quality(x)
    for ratio, aspect in ((1e-3, 1e-3), (0.0, 0.0), (0.5, 0.1), (-1e9, 0.2)):
        expected = (volume <= ratio * m.volumes) | (shape.aspect < aspect)
        found = m.degenerate(x, min_volume=ratio, min_aspect=aspect)
        assert (found == expected).all()
        if ratio >= 0:
            assert 0 < found.sum() < len(found)
    x[5] = np.nan
    out = np.empty(len(m.tets), bool)
    assert m.degenerate(x, out=out) is out
    assert out[(m.tets == 5).any(axis=1)].all()
    flat = m.vertices * np.array([1.0, 1.0, 0.0])
    assert m.degenerate(flat).all()
    with pytest.raises(TypeError, match="out must be a NumPy array of dtype bool"):
        m.degenerate(flat, out=np.empty(len(m.tets)))
    with pytest.raises(ValueError, match=r"positions must be finite, but \[5, 0\] is nan"):
        m.quality(x)


def test_the_report_in_words() -> None:
    text = str(tet_block(1, 1, 1).quality())
    assert "6 tets, 0 of them not of positive volume" in text
    assert "sum 1 m^3" in text
    assert "dihedral angles 45.00 to 90.00 degrees" in text
    assert repr(cloth_mesh(1, 1).quality()).startswith("<MeshQuality: 2 triangles, 0 inverted or flat, angles 45.00 to 90.00 degrees")
    empty = TetMesh(np.zeros((0, 3)), np.empty((0, 4), np.int32)).quality()
    assert str(empty) == "no tets"
    with pytest.raises(ValueError, match="has no worst"):
        _ = empty.worst


def bandwidth(edges: np.ndarray) -> int:
    return int(np.abs(np.diff(edges, axis=1)).max())


@pytest.mark.parametrize("method", ["morton", "rcm"])
def test_orders(method: str, rng: np.random.Generator) -> None:
    b = tet_block(9, 4, 4)
    p = rng.permutation(len(b.vertices)).astype(np.int32)
    number = np.empty_like(p)
    number[p] = np.arange(len(p))
    mixed = TetMesh(b.vertices[p], np.ascontiguousarray(rng.permutation(number[b.tets])))
    new, order = mixed.reordered(method)
    vertices, elements = mixed.order(method)
    assert (order == vertices).all()
    assert sorted(order.tolist()) == list(range(len(p)))
    assert sorted(elements.tolist()) == list(range(len(b.tets)))
    assert (new.vertices == mixed.vertices[order]).all()
    # The same tetrahedra, corner by corner, in the order of their lowest corner.
    assert (new.vertices[new.tets] == mixed.vertices[mixed.tets[elements]]).all()
    lowest = new.tets.min(axis=1)
    assert (np.diff(lowest) >= 0).all()
    assert np.abs(np.diff(new.edges, axis=1)).mean() < 0.5 * np.abs(np.diff(mixed.edges, axis=1)).mean()


def test_reverse_cuthill_mckee_finds_narrow_bands(rng: np.random.Generator) -> None:
    # A line has bandwidth 1, and a grid of n x m quads at most one column and its neighbour.
    n = 50
    p = rng.permutation(n).astype(np.int32)
    x = rng.random((n + 3, 3))
    line = SegmentMesh(x, np.stack([p[:-1], p[1:]], axis=1))
    new, order = line.reordered("rcm")
    assert bandwidth(new.edges) == 1
    assert sorted(order[-3:].tolist()) == [n, n + 1, n + 2]  # vertices without an edge come last
    c = cloth_mesh(30, 5, pattern="regular")
    q = rng.permutation(len(c.vertices)).astype(np.int32)
    mixed = TriangleMesh(c.vertices, q[c.triangles])
    assert bandwidth(mixed.edges) > 60
    assert bandwidth(mixed.reordered("rcm")[0].edges) <= 2 * 6 + 1
    two = SegmentMesh(x, np.array([(0, 9), (9, 4), (2, 7)], np.int32))
    assert bandwidth(two.reordered("rcm")[0].edges) == 1


def test_morton_order_by_bits() -> None:
    # 8 points at the corners of a cube: z changes fastest, as bits are interleaved from x.
    x = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)
    m = SegmentMesh(np.ascontiguousarray(x[::-1]), np.array([(0, 1)], np.int32))
    order = m.order("morton")[0]
    assert m.vertices[order, 2].tolist() == [0, 1, 0, 1, 0, 1, 0, 1] or m.vertices[order, 0].tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
    same = SegmentMesh(np.zeros((5, 3)), np.array([(0, 1)], np.int32))
    assert same.order("morton")[0].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="method must be one of 'morton', 'rcm', not 'hilbert'"):
        m.order("hilbert")
