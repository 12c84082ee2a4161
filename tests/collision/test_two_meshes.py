"""Detection between two meshes finds what detection in the mesh of both finds between them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import meniscus as ms
from meniscus.collision import CollisionMesh
from meniscus.mesh import icosphere


class Pair:
    """Two meshes that move, apart and as one."""

    def __init__(self, rng: np.random.Generator, size: float, faces: bool = True) -> None:
        a, b = icosphere(2), icosphere(1)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        self.start = np.ascontiguousarray(a.vertices @ turn)
        self.other_start = np.ascontiguousarray(0.7 * b.vertices @ turn.T + rng.uniform(1.2, 1.9) * turn[0])
        self.end = self.start + size * rng.normal(size=self.start.shape) + rng.normal(size=3)
        self.other_end = self.other_start + size * rng.normal(size=self.other_start.shape)
        self.mesh, self.other = (CollisionMesh(m) if faces else CollisionMesh(m.edges, np.empty((0, 3), np.int32)) for m in (a, b))
        n = self.n = len(self.start)
        self.edges = len(self.mesh.edges)
        self.triangles = len(self.mesh.triangles)
        self.both = CollisionMesh(
            np.concatenate([self.mesh.edges, self.other.edges + n]), np.concatenate([self.mesh.triangles, self.other.triangles + n])
        )
        self.motion = self.start, self.end, self.other_start, self.other_end
        self.together = np.concatenate([self.start, self.other_start]), np.concatenate([self.end, self.other_end])

    def split(self, pairs: ms.collision.CollisionPairs) -> list[set[tuple[int, int]]]:
        """The pairs between the two meshes, in the numbers of each."""
        vf, ee = pairs.vertex_face, pairs.edge_edge
        there = vf[(vf[:, 0] < self.n) & (vf[:, 1] >= self.triangles)] - (0, self.triangles)
        back = (vf[(vf[:, 0] >= self.n) & (vf[:, 1] < self.triangles)] - (self.n, 0))[:, ::-1]
        crossing = ee[(ee[:, 0] < self.edges) & (ee[:, 1] >= self.edges)] - (0, self.edges)
        return [set(map(tuple, part.tolist())) for part in (there, back, crossing)]


def as_sets(pairs: ms.collision.MutualPairs) -> list[set[tuple[int, int]]]:
    for part in pairs:
        assert part.tolist() == sorted(map(list, set(map(tuple, part.tolist()))))
    return [set(map(tuple, part.tolist())) for part in pairs]


@pytest.mark.parametrize("mode", ["any", "parity"])
@pytest.mark.parametrize("size", [0.0, 0.05, 0.6])
def test_collisions_are_those_of_one_mesh(rng: np.random.Generator, mode: str, size: float) -> None:
    found = 0
    for _ in range(6):
        p = Pair(rng, size)
        expected = p.split(p.both.collisions(*p.together, mode))
        for moving_frame in (False, True):
            got = as_sets(p.mesh.collisions_with(p.other, *p.motion, mode, moving_frame=moving_frame))
            assert got == expected
            assert p.mesh.collides_with(p.other, *p.motion, mode, moving_frame=moving_frame) == any(expected)
        turned = p.other.collisions_with(p.mesh, *p.motion[2:], *p.motion[:2], mode)
        reversed_ = [{(b, a) for a, b in part} for part in as_sets(turned)]
        assert [reversed_[1], reversed_[0], reversed_[2]] == expected
        found += sum(map(len, expected))
    assert found > 100


def test_only_pairs_with_changed_vertices_are_tested(rng: np.random.Generator) -> None:
    pairs = (Pair(rng, 0.1) for _ in range(50))
    p = next(p for p in pairs if len(p.mesh.collisions_with(p.other, *p.motion).edge_edge) > 50)
    all_pairs, tested = as_sets(p.mesh.collisions_with(p.other, *p.motion)), 0
    for _ in range(4):
        mine, theirs = rng.random(p.n) < 0.1, rng.random(len(p.other_start)) < 0.1
        for changed, other_changed in ((mine, theirs), (mine, None), (None, theirs)):
            a = np.zeros(p.n, bool) if changed is None else changed
            b = np.zeros(len(p.other_start), bool) if other_changed is None else other_changed
            wanted = [
                {(i, j) for i, j in all_pairs[0] if a[i] or b[p.other.triangles[j]].any()},
                {(i, j) for i, j in all_pairs[1] if a[p.mesh.triangles[i]].any() or b[j]},
                {(i, j) for i, j in all_pairs[2] if a[p.mesh.edges[i]].any() or b[p.other.edges[j]].any()},
            ]
            assert as_sets(p.mesh.collisions_with(p.other, *p.motion, changed=changed, other_changed=other_changed)) == wanted
            tested += sum(map(len, wanted))
    assert tested > 20
    assert as_sets(p.mesh.collisions_with(p.other, *p.motion)) == all_pairs  # flags are not remembered
    assert as_sets(p.mesh.collisions_with(p.other, *p.motion, changed=np.zeros(p.n, bool))) == [set(), set(), set()]


def test_time_of_impact_is_that_of_one_mesh(rng: np.random.Generator) -> None:
    times = []
    for _ in range(8):
        p = Pair(rng, 0.0, faces=rng.random() < 0.7)  # rigid motion, so that neither mesh meets itself
        expected = p.both.time_of_impact(*p.together, 1e-9)
        times.append(p.mesh.time_of_impact_with(p.other, *p.motion, 1e-9))
        assert times[-1] == expected
        assert p.mesh.collides_with(p.other, *p.motion) == math.isfinite(expected)
    assert any(0 < t < 1 for t in times)


def test_intersections_are_those_of_one_mesh(rng: np.random.Generator) -> None:
    for degenerate in ("counts", "does not count"):
        for x, y in ((0.0, 0.0), (1.0, 0.0)):
            p = Pair(rng, 0.0)
            other = p.other_start + x * (p.start[0] - p.other_start[0]) + y
            edge_face, face_edge = p.mesh.intersections_with(p.other, p.start, other, degenerate)
            pairs = p.both.self_intersections(np.concatenate([p.start, other]), degenerate)
            there = pairs[(pairs[:, 0] < p.edges) & (pairs[:, 1] >= p.triangles)] - (0, p.triangles)
            back = (pairs[(pairs[:, 0] >= p.edges) & (pairs[:, 1] < p.triangles)] - (p.edges, 0))[:, ::-1]
            np.testing.assert_array_equal(edge_face, there)
            assert face_edge.tolist() == sorted(back.tolist())
            if x:
                assert len(there) + len(back) > 0


def test_any_number_of_threads(rng: np.random.Generator) -> None:
    p = Pair(rng, 0.3)
    before = ms.num_threads()
    try:
        results = []
        for n in (1, 2):
            ms.set_num_threads(n)
            results.append([part.tolist() for part in p.mesh.collisions_with(p.other, *p.motion)])
            results[-1].append(p.mesh.time_of_impact_with(p.other, *p.motion))
        assert results[0] == results[1]
    finally:
        ms.set_num_threads(before)


def test_the_default_stops_a_step() -> None:
    # A vertex that passes the triangle and comes back within the step.
    start = np.array([[[-2, 4, 0], [-1, 9, -6], [9, -1, 7], [-1, -3, 0]]], dtype=float)
    end = np.array([[[7, -6, 2], [-6, 9, 7], [2, -6, -3], [0, -9, 5]]], dtype=float)
    assert ms.collision.vertex_face(start, end)[0]
    assert not ms.collision.vertex_face(start, end, mode="parity")[0]


def test_what_is_refused(rng: np.random.Generator) -> None:
    p = Pair(rng, 0.0)
    start, end, other_start, other_end = p.motion
    for call in (p.mesh.collides_with, p.mesh.collisions_with, p.mesh.time_of_impact_with):
        with pytest.raises(ValueError, match="queries of a mesh with itself"):
            call(p.mesh, start, end, start, end)
        with pytest.raises(TypeError, match="other must be a CollisionMesh"):
            call(p.start, *p.motion)
        with pytest.raises(ValueError, match="other_start and other_end must hold the same number of positions"):
            call(p.other, start, end, other_start, other_end[:-1].copy())
        with pytest.raises(ValueError, match="other_changed must have one flag per position"):
            call(p.other, *p.motion, other_changed=np.zeros(3, bool))
        with pytest.raises(TypeError, match="other_changed must be of dtype bool"):
            call(p.other, *p.motion, other_changed=np.zeros(len(other_start)))
    with pytest.raises(ValueError, match="other_positions must be finite"):
        p.mesh.intersections_with(p.other, start, other_start * np.nan)


def test_meshes_stand_for_the_positions_of_their_vertices() -> None:
    from meniscus.mesh import cloth_mesh, icosphere

    sheet = cloth_mesh(6, 6, (2.0, 2.0), origin=(-1.0, -1.0, 0.0))
    ball = icosphere(2, 0.3, (0.1, 0.2, 0.6)).rotated((0.8, 0.0, 0.6, 0.0))
    fallen = ball.translated((0.1, 0.0, -0.9))
    first, second = CollisionMesh(sheet), CollisionMesh(ball)
    meshes = sheet, sheet, ball, fallen
    arrays = tuple(m.vertices for m in meshes)
    assert first.collides_with(second, *meshes)
    assert first.time_of_impact_with(second, *meshes) == first.time_of_impact_with(second, *arrays) < 1.0
    for question in (first.collisions_with, first.candidates_with):
        for given, expected in zip(question(second, *meshes), question(second, *arrays), strict=True):
            np.testing.assert_array_equal(given, expected)
    for given, expected in zip(
        first.intersections_with(second, sheet, fallen), first.intersections_with(second, *arrays[1::2]), strict=True
    ):
        np.testing.assert_array_equal(given, expected)
    folded = sheet.moved(np.ascontiguousarray(np.abs(sheet.vertices) * [1.0, 1.0, 0.0] + [0.0, 0.0, 0.1]))
    assert first.collides(sheet, folded)
    assert first.time_of_impact(sheet, folded) == first.time_of_impact(sheet.vertices, folded.vertices)
    np.testing.assert_array_equal(first.self_intersections(folded), first.self_intersections(folded.vertices))
