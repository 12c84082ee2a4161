"""Watertightness: holes as loops, non-manifold and flipped edges, components, degenerate triangles, and errors."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from support.meshes import WATERTIGHT_FILES, Mesh, box, join, real_mesh, reversed_mesh, sphere_like, torus

import meniscus as ms
from meniscus.mesh import check_watertight


def boundary_graph(mesh: Mesh) -> dict[int, list[int]]:
    """Neighbours along edges with one triangle, by counting."""
    count = Counter(tuple(sorted(e)) for t in mesh[1].tolist() for e in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0])))
    graph = defaultdict(list)
    for (a, b), n in count.items():
        if n == 1:
            graph[a].append(b)
            graph[b].append(a)
    return graph


def connected_parts(graph: dict[int, list[int]]) -> list[set[int]]:
    """Connected components of a graph."""
    left, parts = set(graph), []
    while left:
        stack, part = [left.pop()], set()
        while stack:
            v = stack.pop()
            part.add(v)
            for w in graph[v]:
                if w in left:
                    left.remove(w)
                    stack.append(w)
        parts.append(part)
    return parts


def sides(loop: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True))


@pytest.mark.parametrize("mesh", [box(), torus(), reversed_mesh(box()), join(box(), torus())], ids=["box", "torus", "inward", "two"])
def test_closed_meshes(mesh: Mesh) -> None:
    r = check_watertight(*mesh)
    assert r.watertight
    assert r.holes == []
    assert r.hole_lengths == []
    assert r.boundary_edges == len(r.nonmanifold_edges) == len(r.flipped_edges) == len(r.degenerate) == 0
    assert r.faults() == ""
    assert str(r).endswith(f"in {r.components} component{'s' if r.components > 1 else ''}, watertight")


def test_components_are_numbered_by_their_first_triangle(rng: np.random.Generator) -> None:
    parts = [box(), torus(), sphere_like(3, rng)]
    v, t = join(*parts)
    label = np.repeat([0, 1, 2], [len(p[1]) for p in parts])
    order = rng.permutation(len(t))
    r = check_watertight(v, np.ascontiguousarray(t[order]))
    first_seen = list(dict.fromkeys(label[order].tolist()))
    assert r.components == 3
    assert (r.component == np.array([first_seen.index(k) for k in label[order]])).all()


def test_an_open_box_has_one_hole() -> None:
    v, t = box()
    r = check_watertight(v, np.ascontiguousarray(t[2:]))
    assert not r.watertight
    assert r.boundary_edges == 4
    assert r.hole_lengths == [4]
    # The face x = 0 is missing; the loop follows the triangles that are there.
    directed = {(int(a), int(b)) for x in t[2:] for a, b in zip(x, np.roll(x, -1), strict=True)}
    assert set(sides(r.holes[0])) <= directed
    assert (v[r.holes[0], 0] == 0).all()
    assert r.faults() == "1 hole with 4 boundary edges"
    assert repr(r) == "<WatertightReport: 10 triangles in 1 component, not watertight: 1 hole with 4 boundary edges>"


def test_loops_follow_the_fans_of_triangles_at_a_vertex() -> None:
    # Two triangles of a torus that share a vertex only: two holes; around that vertex the triangles form two fans.
    v, t = torus(n=12, m=12)
    at_vertex = np.flatnonzero((t == 30).any(axis=1))
    for pair in [(at_vertex[0], k) for k in at_vertex[1:]]:
        if len(set(t[pair[0]]) & set(t[pair[1]])) == 1:
            break
    r = check_watertight(v, np.ascontiguousarray(np.delete(t, pair, axis=0)))
    assert r.boundary_edges == 6
    assert sorted(e for loop in r.holes for a, b in sides(loop) for e in [tuple(sorted((a, b)))]) == sorted(
        tuple(sorted((int(a), int(b)))) for k in pair for a, b in zip(t[k], np.roll(t[k], -1), strict=True)
    )
    # Fans are followed, so the boundary of the one hole continues with that of the other.
    assert r.hole_lengths == [6]
    # Boxes without a face that touch in a corner: the fans belong to different holes.
    a, b = box(), box((1.0, 1.0, 1.0), (2.0, 2.0, 2.0))
    w, s = join((a[0], a[1][:2]), (b[0], b[1][:2]))
    corner_a, corner_b = int(s[0, 0]), int(s[2, 0])
    s[s == corner_b] = corner_a
    r = check_watertight(w, s)
    assert r.hole_lengths == [4, 4]
    assert r.components == 2


def test_a_flipped_triangle(rng: np.random.Generator) -> None:
    v, t = torus()
    t = t.copy()
    t[17] = t[17, ::-1]
    r = check_watertight(v, t)
    assert not r.watertight
    assert r.boundary_edges == 0
    edges = {tuple(sorted((int(a), int(b)))) for a, b in zip(t[17], np.roll(t[17], -1), strict=True)}
    assert {tuple(e) for e in r.flipped_edges.tolist()} == edges
    assert r.faults() == "3 edges between triangles of opposite orientation"


def test_non_manifold_edges_and_an_open_chain() -> None:
    # Three triangles share the edge 0-1: each has two boundary edges, which meet the others only at its ends.
    v = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, -1, 0)], float)
    r = check_watertight(v, np.array([(0, 1, 2), (0, 1, 3), (0, 1, 4)], np.int32))
    assert r.nonmanifold_edges.tolist() == [[0, 1]]
    assert r.boundary_edges == 6
    assert sorted(tuple(h) for h in (sorted(h.tolist()) for h in r.holes)) == [(0, 1, 2), (0, 1, 3), (0, 1, 4)]
    assert all(h[1] in (2, 3, 4) for h in r.holes)
    assert r.components == 1
    assert r.faults() == "3 holes with 6 boundary edges and 1 non-manifold edge"


def test_degenerate_triangles_are_named_and_do_no_harm() -> None:
    v, t = box()
    v = np.concatenate([v, [0.5 * (v[t[0, 0]] + v[t[0, 1]])]])
    # Edge a-b of two triangles gets a vertex in its middle on one side only; a triangle without area fills the crack.
    a, b, c = t[0].tolist()
    closed = np.concatenate([t[1:], [(a, 8, c), (8, b, c), (a, b, 8), (3, 3, 5)]]).astype(np.int32)
    r = check_watertight(v, closed)
    assert r.degenerate.tolist() == [len(closed) - 2, len(closed) - 1]
    assert r.watertight
    assert r.components == 1
    assert r.component[-1] == -1
    assert str(r) == "15 triangles in 1 component, watertight; 2 degenerate triangles"


@pytest.mark.parametrize("name", WATERTIGHT_FILES)
def test_real_meshes_are_watertight(name: str) -> None:
    r = check_watertight(*real_mesh(name))
    assert r.watertight, str(r)
    assert r.components == 1


def test_the_holes_of_the_bunny() -> None:
    mesh = real_mesh("stanford-bunny")
    r = check_watertight(*mesh)
    graph = boundary_graph(mesh)
    assert all(len(n) == 2 for n in graph.values())  # so every hole is one simple loop, and a connected component
    parts = connected_parts(graph)
    assert len(parts) == len(r.holes) == 5
    assert r.boundary_edges == sum(map(len, parts)) == sum(r.hole_lengths) == 223
    assert sorted(map(sorted, parts)) == sorted(sorted(h.tolist()) for h in r.holes)
    for hole in r.holes:
        assert all(b in graph[a] for a, b in sides(hole))


def test_what_is_refused() -> None:
    v, t = box()
    for check in (ms.mesh.check_watertight, ms.surface.MeshDistance):
        for bad, error, text in [
            (v.astype(complex), TypeError, "vertices must hold numbers, not complex128"),
            (v[:, :2].copy(), ValueError, r"vertices must have shape \(n, 3\), not \(8, 2\)"),
        ]:
            with pytest.raises(error, match=text):
                check(bad, t)
        for bad, error, text in [
            (t.astype(float), TypeError, "triangles must hold integers, not float64"),
            (t[:, :2].copy(), ValueError, r"triangles must have shape \(m, 3\), not \(12, 2\)"),
            (t[:0], ValueError, "triangles must hold at least one triangle"),
        ]:
            with pytest.raises(error, match=text):
                check(v, bad)
        far = t.copy()
        far[4, 1] = 8
        far[7, 2] = -1
        with pytest.raises(ValueError, match=r"indices of the 8 vertices, but \[4, 1\] is 8"):
            check(v, far)
        for value, shown in ((np.nan, "nan"), (np.inf, "inf")):
            w = v.copy()
            w[5, 2] = w[6, 0] = value
            with pytest.raises(ValueError, match=rf"vertices must be finite, but \[5, 2\] is {shown}"):
                check(w, t)
