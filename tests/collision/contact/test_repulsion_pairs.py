"""Pairs of repulsion: those that brute force finds, coloured, in a known order, worked on as one after the other."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.collision import Scene, brute_force, cloth, edges_of, soup
from support.contact.repulsion import Reference
from support.same_bits import everywhere

import meniscus as ms
from meniscus.collision import CollisionMesh, ContactNodes, PairSearch, Repulsion, edge_edge_distance, point_triangle_distance

KINDS = ("vertex-face", "edge-edge")


def distances(scene: Scene, kind: str, pairs: np.ndarray, x: np.ndarray) -> np.ndarray:
    if kind == "vertex-face":
        return point_triangle_distance(x[pairs[:, 0]], x[scene.triangles[pairs[:, 1]]]).distances
    return edge_edge_distance(x[scene.edges[pairs[:, 0]]], x[scene.edges[pairs[:, 1]]]).distances


def elements(scene: Scene, kind: str, pairs: np.ndarray) -> list[np.ndarray]:
    """Vertices of the first and the second elements."""
    if kind == "vertex-face":
        return [pairs[:, :1], scene.triangles[pairs[:, 1]]]
    return [scene.edges[pairs[:, 0]], scene.edges[pairs[:, 1]]]


def pressed(rng: np.random.Generator, n: int = 12) -> tuple[Scene, np.ndarray]:
    """Two waving sheets near each other, with positions at rest far from those now."""
    s = cloth(n, 2, 0.03)
    rest = s.start + np.where(np.arange(len(s.start)) < len(s.start) // 2, 0.0, 5.0)[:, None]
    return s._replace(start=s.start + rng.uniform(-0.01, 0.01, s.start.shape)), rest


def test_brute_force_finds_the_same_pairs(rng: np.random.Generator) -> None:
    scene = soup(60, rng)
    x = scene.start
    lengths = np.linalg.norm(x[scene.edges[:, 0]] - x[scene.edges[:, 1]], axis=1)
    given = rng.uniform(0.01, 0.3, len(x))
    repulsion = Repulsion(CollisionMesh(scene.edges, scene.triangles), x, np.ones(len(x)), thickness=given, search=PairSearch(margin=0.02))
    shortest = np.full(len(x), np.inf)
    for k in range(2):
        np.minimum.at(shortest, scene.edges[:, k], lengths)
    thickness = np.minimum(given, 0.9 * shortest)
    assert repulsion.thickness == pytest.approx(thickness, rel=1e-14)
    assert repulsion.clamped == np.count_nonzero(given > 0.9 * shortest) > 0

    label = np.arange(len(x))
    for _ in range(len(x)):
        for a, b in scene.edges:
            label[label == max(label[a], label[b])] = min(label[a], label[b])
    repulsion.find(x)
    everything = brute_force(scene._replace(end=x), 1.0)
    for kind, pairs in zip(KINDS, everything, strict=True):
        first, second = elements(scene, kind, pairs)
        h = 0.5 * (thickness[first].min(axis=1) + thickness[second].min(axis=1))
        d = distances(scene, kind, pairs, x)
        # At rest as now, no pair of one surface is within its thickness.
        connected = label[first[:, 0]] == label[second[:, 0]]
        h = np.where(connected, np.minimum(h, 0.9 * d), h)
        expected = (d <= 1.1 * h + 0.02) & (h > 0)
        found = repulsion.pairs(kind)
        order = np.lexsort(found.elements.T[::-1])
        assert np.array_equal(found.elements[order], pairs[expected])
        assert expected.sum() > 20
        assert found.thickness[order] == pytest.approx(h[expected], rel=1e-12)


def test_the_order_of_vertices_holds_the_side(rng: np.random.Generator) -> None:
    scene, rest = pressed(rng)
    x = scene.start
    repulsion = Repulsion(CollisionMesh(scene.edges, scene.triangles), rest, np.ones(len(x)), thickness=0.04)
    repulsion.find(x)
    for kind in KINDS:
        p = repulsion.pairs(kind)
        a, b = elements(scene, kind, p.elements)
        assert np.array_equal(np.sort(p.vertices, axis=1), np.sort(np.concatenate([a, b], axis=1), axis=1))
        y = x[p.vertices]
        if kind == "vertex-face":
            volume = np.einsum("ij,ij->i", np.cross(y[:, 2] - y[:, 1], y[:, 3] - y[:, 1]), y[:, 0] - y[:, 1])
        else:
            volume = np.einsum("ij,ij->i", np.cross(y[:, 1] - y[:, 0], y[:, 3] - y[:, 2]), y[:, 0] - y[:, 2])
            direction = edge_edge_distance(np.ascontiguousarray(y[:, :2]), np.ascontiguousarray(y[:, 2:])).normals
            assert p.direction == pytest.approx(direction, abs=1e-6)
        assert (volume >= -1e-18).all()
        assert len(volume) > 50


def test_a_surface_at_rest_does_not_repel_itself(rng: np.random.Generator) -> None:
    """With a thickness at the clamp, elements that are not neighbours would be within it."""
    scene = cloth(12)
    x = scene.start
    repulsion = Repulsion(CollisionMesh(scene.edges, scene.triangles), x, np.ones(len(x)), thickness=1.0)
    assert repulsion.clamped == len(x)
    repulsion.find(x)
    v = np.zeros_like(x)
    assert repulsion.push(x, v, 0.01).active == 0
    assert not v.any()
    squeezed = x * [0.5, 1, 1]
    repulsion.find(squeezed)
    assert repulsion.push(squeezed, v, 0.01).active > 0


def test_pairs_that_cannot_yield_are_left_out(rng: np.random.Generator) -> None:
    scene, rest = pressed(rng)
    x = scene.start
    w = np.ones(len(x))
    w[len(x) // 2 :] = 0
    w[: len(x) // 4] = 0
    mesh = CollisionMesh(scene.edges, scene.triangles)
    everything = Repulsion(mesh, rest, np.ones(len(x)), thickness=0.04)
    some = Repulsion(mesh, rest, w, thickness=0.04)
    everything.find(x)
    some.find(x)
    for kind in KINDS:
        p, q = everything.pairs(kind), some.pairs(kind)
        kept = {tuple(e) for e, s in zip(p.elements, p.vertices, strict=True) if w[s].any()}
        assert kept == {tuple(e) for e in q.elements}
        assert 0 < len(kept) < len(p.elements)
    none = Repulsion(mesh, rest, np.zeros(len(x)), thickness=0.04)
    assert none.find(x) == 0


def test_pairs_of_a_colour_share_no_node_that_moves(rng: np.random.Generator) -> None:
    scene, rest = pressed(rng, 8)
    x = scene.start
    n = len(x)
    mesh = CollisionMesh(scene.edges, scene.triangles)
    # Vertices hang in nodes of a coarse set, which makes more conflicts; some nodes do not move.
    w = np.ones(n)
    w[::7] = 0
    node = np.stack([np.arange(n), (np.arange(n) * 3) % (n // 4)], axis=1).ravel()
    shared = ContactNodes(w, first=2 * np.arange(n + 1), node=node, weight=np.full(2 * n, 0.5))
    for nodes in (ContactNodes(w), shared):
        repulsion = Repulsion(mesh, rest, nodes, thickness=0.04)
        repulsion.find(x)
        for kind in KINDS:
            p = repulsion.pairs(kind)
            of = p.vertices if nodes is not shared else node.reshape(-1, 2)[p.vertices].reshape(len(p.vertices), 8)
            taken: list[set[int]] = [set() for _ in range(p.colour.max() + 1)]
            assert (np.diff(p.colour) >= 0).all()
            for c, s in zip(p.colour, of, strict=True):
                moving = {int(i) for i in s if w[i] > 0}
                assert not taken[c] & moving
                taken[c] |= moving
            # More than 64 colours at once, for the general nodes.
            assert nodes is not shared or kind == "vertex-face" or len(taken) > 64
            for c in range(len(taken)):
                assert (np.diff(p.elements[p.colour == c] @ [len(x) * 10, 1]) > 0).all()
            # The lowest free colour, pair after pair in ascending order.
            order = np.lexsort(p.elements.T[::-1])
            greedy: list[set[int]] = []
            for i in order:
                moving = {int(k) for k in of[i] if w[k] > 0}
                c = next((c for c, t in enumerate(greedy) if not t & moving), len(greedy))
                if c == len(greedy):
                    greedy.append(set())
                greedy[c] |= moving
                assert p.colour[i] == c


def test_threads_do_the_bits_of_the_named_serial_order(rng: np.random.Generator) -> None:
    scene, rest = pressed(rng)
    x = scene.start
    w = rng.uniform(0.5, 2, len(x))
    w[rng.random(len(x)) < 0.1] = 0
    mesh = CollisionMesh(scene.edges, scene.triangles)
    v0 = rng.standard_normal(x.shape)
    later = x + rng.uniform(-0.02, 0.02, x.shape)

    def run() -> list[np.ndarray]:
        repulsion = Repulsion(mesh, rest, w, thickness=0.04)
        repulsion.find(x)
        v, u = v0.copy(), v0.copy()
        reports = repulsion.push(later, v, 0.01), repulsion.rub(later, u)
        return [v, u, np.array(reports), *(a for kind in KINDS for a in repulsion.pairs(kind))]

    everywhere(run)
    result = run()
    repulsion = Repulsion(mesh, rest, w, thickness=0.04)
    repulsion.find(x)
    pairs = [repulsion.pairs(kind) for kind in KINDS]
    for k, dt in ((0, 0.01), (1, None)):
        v = v0.copy()
        impulses = Reference(w, ends=False).sweep(pairs, later, v, dt)
        assert np.array_equal(v, result[k])
        assert impulses == result[2][k, 3] > 100
    assert result[2][0, 2] > 10


def test_embedded_surfaces_have_the_same_bits_on_any_threads(rng: np.random.Generator) -> None:
    scene, rest = pressed(rng)
    x = scene.start
    n = len(x)
    node = np.stack([np.arange(n), (np.arange(n) + 1) % n, (np.arange(n) + 5) % n], axis=1).ravel()
    nodes = ContactNodes(np.ones(n), first=3 * np.arange(n + 1), node=node, weight=np.tile([0.5, 0.3, 0.2], n))
    mesh = CollisionMesh(scene.edges, scene.triangles)
    v0 = rng.standard_normal(x.shape)

    def run() -> list[np.ndarray]:
        repulsion = Repulsion(mesh, rest, nodes, thickness=0.04)
        repulsion.find(x)
        v = v0.copy()
        repulsion.push(x, v, 0.01)
        repulsion.rub(x, v)
        return [v]

    everywhere(run)
    assert not np.array_equal(run()[0], v0)


def test_pairs_do_not_depend_on_what_the_mesh_saw_before(rng: np.random.Generator) -> None:
    """Trees are built once and refitted; the order of the pairs is that of their elements."""
    scene, rest = pressed(rng)
    x = scene.start
    fresh = Repulsion(CollisionMesh(scene.edges, scene.triangles), rest, np.ones(len(x)), thickness=0.04)
    used = Repulsion(CollisionMesh(scene.edges, scene.triangles), rest, np.ones(len(x)), thickness=0.04)
    used.find(np.ascontiguousarray(rng.permutation(x)))
    fresh.find(x)
    used.find(x)
    for kind in KINDS:
        for a, b in zip(fresh.pairs(kind), used.pairs(kind), strict=True):
            assert np.array_equal(a, b)


def test_few_steps_prune_pairs_that_moved_apart(rng: np.random.Generator) -> None:
    scene, rest = pressed(rng)
    x = scene.start
    repulsion = Repulsion(CollisionMesh(scene.edges, scene.triangles), rest, np.ones(len(x)), thickness=0.04)
    n = repulsion.find(x)
    apart = x.copy()
    apart[len(x) // 2 :, 2] += 1
    report = repulsion.push(apart, np.zeros_like(x), 0.01)
    assert report.pairs == n
    assert report.active == 0
    repulsion.forget()
    assert repulsion.push(x, np.zeros_like(x), 0.01).pairs == 0


def test_repeated_steps_allocate_nothing(rng: np.random.Generator) -> None:
    scene, rest = pressed(rng)
    x = scene.start
    repulsion = Repulsion(CollisionMesh(scene.edges, scene.triangles), rest, np.ones(len(x)), thickness=0.04)
    v = np.zeros_like(x)
    for _ in range(2):
        repulsion.find(x)
        repulsion.push(x, v, 0.01)
    held, blocks = repulsion.nbytes, ms.core.block_allocations()
    repulsion.find(x)
    repulsion.push(x, v, 0.01)
    repulsion.rub(x, v)
    assert repulsion.nbytes == held
    assert ms.core.block_allocations() == blocks


def test_calls_from_several_threads_wait_for_each_other(rng: np.random.Generator) -> None:
    scene, rest = pressed(rng)
    x = scene.start
    repulsion = Repulsion(CollisionMesh(scene.edges, scene.triangles), rest, np.ones(len(x)), thickness=0.04)
    n = repulsion.find(x)
    v0 = rng.standard_normal(x.shape)
    expected = v0.copy()
    repulsion.push(x, expected, 0.01)

    def work(number: int) -> np.ndarray:
        v = v0.copy()
        for _ in range(20):
            if number % 2:
                repulsion.find(x)
                assert sum(len(repulsion.pairs(kind).colour) for kind in KINDS) == n
            v = v0.copy()
            repulsion.push(x, v, 0.01)
        return v

    with ThreadPoolExecutor(4) as pool:
        for v in pool.map(work, range(4)):
            assert np.array_equal(v, expected)


def test_edges_of_the_mesh_clamp(rng: np.random.Generator) -> None:
    """Also edges that belong to no triangle."""
    x = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0.2, 0], [5, 5, 5]])
    mesh = CollisionMesh(np.array([[0, 1], [1, 2]]), np.empty((0, 3), np.int32))
    repulsion = Repulsion(mesh, x, np.ones(4), thickness=0.5)
    assert repulsion.thickness == pytest.approx([0.5, 0.18, 0.18, 0.5])
    assert repulsion.clamped == 2
    assert np.array_equal(edges_of(np.empty((0, 3), np.int32)), np.empty((0, 2)))


def test_flat_sheets_on_each_other_are_not_pushed_along_themselves() -> None:
    """Edges with faces act between their ends only; edges without faces also at their ends."""
    below = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    # Corners near edges of the other triangle, seen from above.
    above = np.array([[0.3, 0.02, 0.05], [0.98, 0.45, 0.05], [0.02, 0.55, 0.05]])
    x = np.concatenate([below, above])
    faces = np.array([[0, 1, 2], [3, 4, 5]], np.int32)
    repulsion = Repulsion(CollisionMesh(np.empty((0, 2), np.int32), faces), x, np.ones(6), thickness=0.1)
    repulsion.find(x)
    v = np.zeros((6, 3))
    assert repulsion.push(x, v, 0.01).impulses > 0
    assert v[3:, 2].min() >= 0
    assert v[3:, 2].max() > 0
    assert np.abs(v[:, :2]).max() == pytest.approx(0, abs=1e-14)

    threads = CollisionMesh(np.array([[0, 1], [2, 3]], np.int32), np.empty((0, 3), np.int32))
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0.5, 0.04, 0.03], [0.5, 1, 0.03]])
    repulsion = Repulsion(threads, x, np.ones(4), thickness=0.1)
    repulsion.find(x)
    v = np.zeros((4, 3))
    assert repulsion.push(x, v, 0.01).impulses == 1
    assert v[2] @ [0, 4, 3] > 0
