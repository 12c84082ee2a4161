"""Uniform refinement: counts, shapes, volumes, motion, and the same topology whatever the mesh does."""

import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest
from support.build import same_bits
from support.simplices import THREADS, affine, bcc, delaunay

import meniscus as ms
from meniscus.mesh import SegmentMesh, SubdivisionHierarchy, TetMesh, TriangleMesh, cloth_mesh, icosphere, tet_block


def counts(m: TetMesh) -> tuple[int, int, int, int]:
    return len(m.vertices), len(m.edges), len(m.faces), len(m.tets)


@pytest.mark.parametrize(
    "make", [lambda r: delaunay(40, r), lambda r: tet_block(2, 1, 3), lambda r: bcc(2)], ids=["delaunay", "block", "bcc"]
)
def test_counts(make: object, rng: np.random.Generator) -> None:
    h = SubdivisionHierarchy(make(rng), 3)  # type: ignore[operator]
    for level in range(3):
        v, e, f, t = counts(h.mesh(level))
        fine = h.mesh(level + 1)
        assert counts(fine) == (v + e, 2 * e + 3 * f + t, 4 * f + 8 * t, 8 * t)
        assert fine.boundary.check_watertight().watertight
        assert len(fine.flipped_faces) == 0
        assert h.vertex_count(level + 1) == v + e
        assert (h.parents(level + 1) == h.mesh(level).edges).all()


def test_a_mesh_of_the_size_of_a_character() -> None:
    # As many tetrahedra as in the largest example of Lee 2018: 16170 * 8^3 = 8279040 after three levels; here two are cut.
    b = tet_block(35, 77, 1)
    assert len(b.tets) == 16170
    h = SubdivisionHierarchy(b, 2)
    assert len(h.elements(2)) == 1034880
    v, e, f, t = counts(b)
    expected = v
    for _ in range(2):
        expected += e
        e, f, t = 2 * e + 3 * f + t, 4 * f + 8 * t, 8 * t
    assert h.vertex_count(2) == expected


@pytest.mark.slow
def test_eight_million_tetrahedra() -> None:
    b = tet_block(35, 77, 1)
    h = SubdivisionHierarchy(b, 3)
    assert len(h.elements(3)) == 8279040
    assert h.positions(b.vertices, 3).shape == (h.vertex_count(3), 3)


def test_volumes_are_cut_in_eight_however_the_mesh_is_deformed(rng: np.random.Generator) -> None:
    m = delaunay(50, rng)
    h = SubdivisionHierarchy(m, 3)
    for x in (m.vertices, rng.normal(size=m.vertices.shape)):
        coarse = m.measures(x)
        for level in range(1, 4):
            fine = h.mesh(level).measures(h.positions(x, level)).reshape(len(m.tets), 8**level)
            scale = np.abs(coarse).max()
            assert np.abs(fine - coarse[:, None] / 8**level).max() < 1e-13 * scale / 8**level
            assert np.abs(fine.sum(axis=1) - coarse).max() < 1e-13 * scale
            # No child is inverted unless its parent is.
            certain = np.abs(coarse) > 1e-9
            assert (np.sign(fine[certain]) == np.sign(coarse[certain])[:, None]).all()


def test_bcc_tetrahedra_have_bcc_children() -> None:
    m = bcc(2)
    h = SubdivisionHierarchy(m, 2)
    for level in (1, 2):
        fine = h.mesh(level)
        lengths = np.sort(np.linalg.norm(fine.vertices[fine.edges[:, 1]] - fine.vertices[fine.edges[:, 0]], axis=1))
        a = 0.5**level
        assert set(np.round(lengths, 12)) == {round(a, 12), round(a * 3**0.5 / 2, 12)}
        q = fine.quality()
        assert q.smallest_angle == pytest.approx(np.full(len(fine.tets), 60.0), rel=1e-9)
        assert q.largest_angle == pytest.approx(np.full(len(fine.tets), 90.0), rel=1e-9)


def test_the_shortest_diagonal_at_rest_is_taken(rng: np.random.Generator) -> None:
    m = delaunay(50, rng)
    h = SubdivisionHierarchy(m, 1)
    middles = m.element_edges + len(m.vertices)
    fine = h.mesh(1)
    present = {tuple(e) for e in fine.edges.tolist()}
    for t in range(len(m.tets)):
        pairs = [(middles[t, k], middles[t, 5 - k]) for k in range(3)]
        lengths = [np.linalg.norm(fine.vertices[a] - fine.vertices[b]) for a, b in pairs]
        joined = [tuple(sorted((int(a), int(b)))) in present for a, b in pairs]
        assert sum(joined) == 1
        assert joined[int(np.argmin(lengths))]
    # Of three equal ones the first, also where round-off says otherwise.
    regular = np.array([(1, 1, 1), (-1, 1, -1), (1, -1, -1), (-1, -1, 1)], float)
    for _ in range(20):
        q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        one = TetMesh(np.ascontiguousarray(regular @ q) + rng.normal(size=3), np.array([[0, 1, 2, 3]], np.int32)).oriented()
        assert [4, 9] in SubdivisionHierarchy(one, 1).mesh(1).edges.tolist()


def test_children_follow_their_parents() -> None:
    m = tet_block(1, 1, 2)
    h = SubdivisionHierarchy(m, 2)
    for level in (1, 2):
        coarse, fine = h.mesh(level - 1), h.mesh(level)
        parents = h.parents(level)
        n = len(coarse.vertices)
        assert (fine.vertices[:n] == coarse.vertices).all()
        assert (fine.vertices[n:] == 0.5 * (coarse.vertices[parents[:, 0]] + coarse.vertices[parents[:, 1]])).all()
        for e, corners in enumerate(coarse.tets):
            for c in range(8):
                # Corners of children are corners of the parent or middles of its edges.
                for v in fine.tets[8 * e + c]:
                    assert v in corners if v < n else set(parents[v - n].tolist()) <= set(corners.tolist())


def test_positions_velocities_and_embeddings_are_the_same_combinations(rng: np.random.Generator) -> None:
    m = delaunay(40, rng)
    h = SubdivisionHierarchy(m, 3)
    x, v = rng.normal(size=m.vertices.shape), rng.normal(size=m.vertices.shape)
    for level in range(4):
        e = h.embedding(level)
        assert (e.weights.sum(axis=1) == 1).all()
        assert (e.weights * 2**level == np.round(e.weights * 2**level)).all()
        assert e.evaluate(x) == pytest.approx(h.positions(x, level), abs=1e-14)
        corners = [set(t) for t in m.tets.tolist()]
        used = {tuple(sorted({int(p) for p, w in zip(*r, strict=True) if w})) for r in zip(e.parents, e.weights, strict=True)}
        assert all(any(set(u) <= c for c in corners) for u in used)
        dt = 0.125
        assert h.positions(x + dt * v, level) - h.positions(x, level) == pytest.approx(dt * h.velocities(v, level), abs=1e-14)
        a, b = affine(rng)
        assert h.positions(np.ascontiguousarray(m.vertices @ a.T + b), level) == pytest.approx(h.mesh(level).vertices @ a.T + b, abs=1e-13)


def test_surfaces_and_curves(rng: np.random.Generator) -> None:
    c = cloth_mesh(3, 2)
    h = SubdivisionHierarchy(c, 2)
    assert isinstance(h.mesh(2), TriangleMesh)
    v, e, t = len(c.vertices), len(c.edges), len(c.triangles)
    assert (h.vertex_count(1), len(h.mesh(1).edges), len(h.elements(1))) == (v + e, 2 * e + 3 * t, 4 * t)
    x = rng.normal(size=c.vertices.shape)
    corners = h.positions(x, 2)[h.elements(2)]
    fine = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).reshape(t, 16, 3)
    p = x[c.triangles]
    assert fine == pytest.approx(np.repeat(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])[:, None] / 16, 16, axis=1), abs=1e-13)
    assert SubdivisionHierarchy(icosphere(1), 2).mesh(2).check_watertight().watertight
    s = SegmentMesh(rng.random((4, 3)), np.array([(0, 1), (1, 2), (3, 2)], np.int32))
    hs = SubdivisionHierarchy(s, 3)
    assert hs.mesh(3).length() == pytest.approx(s.length(), rel=1e-14)
    assert len(hs.elements(3)) == 24
    assert hs.mesh(3).components == 1
    for g in (h, hs):
        assert g.embedding(2).evaluate(g.mesh(0).vertices) == pytest.approx(g.mesh(2).vertices, abs=1e-14)


def test_out_arrays_and_overlaps() -> None:
    m = tet_block(2, 2, 2)
    h = SubdivisionHierarchy(m, 2)
    n = h.vertex_count(2)
    expected = h.positions(m.vertices, 2)
    out = np.empty((n, 3))
    assert h.positions(m.vertices, 2, out) is out
    assert same_bits(out, expected)
    out[:] = np.nan
    out[: len(m.vertices)] = m.vertices
    h.positions(out[: len(m.vertices)], 2, out)  # in place
    assert same_bits(out, expected)
    with pytest.raises(ValueError, match="out must begin with the memory of coarse"):
        h.positions(out[1 : len(m.vertices) + 1], 2, out)
    with pytest.raises(ValueError, match=r"coarse must have shape \(27, 3\), not \(26, 3\)"):
        h.positions(m.vertices[1:], 2)
    with pytest.raises(ValueError, match="out must have shape"):
        h.positions(m.vertices, 1, out)
    with pytest.raises(ValueError, match="level must be below 3, not 3"):
        h.positions(m.vertices, 3)
    with pytest.raises(ValueError, match="have no parents"):
        h.parents(0)
    with pytest.raises(ValueError, match="levels must be at least 0"):
        SubdivisionHierarchy(m, -1)
    with pytest.raises(TypeError, match="mesh must be a TetMesh, TriangleMesh or SegmentMesh, not str"):
        SubdivisionHierarchy("mesh", 1)  # type: ignore[type-var]
    with pytest.raises(ValueError, match=r"triangles\[0\] has vertex 1 twice"):
        SubdivisionHierarchy(TriangleMesh(np.eye(3), np.array([[1, 1, 2]], np.int32)), 1)
    assert SubdivisionHierarchy(m, 0).mesh(0) is m
    empty = SubdivisionHierarchy(TetMesh(np.eye(3), np.empty((0, 4), np.int32)), 2)
    assert empty.positions(np.eye(3), 2).tolist() == np.eye(3).tolist()
    assert repr(h) == "<SubdivisionHierarchy: 48, 384, 3072 tets>"
    assert not h.elements(1).flags.writeable


def test_the_same_on_any_number_of_threads(default_parallelism: None, rng: np.random.Generator) -> None:
    b = tet_block(12, 11, 10)
    m = TetMesh(b.vertices + rng.uniform(-0.02, 0.02, b.vertices.shape), b.tets)

    def run() -> list[np.ndarray]:
        h = SubdivisionHierarchy(m, 2)
        e = h.embedding(2)
        return [h.elements(1), h.elements(2), h.parents(2), h.positions(m.vertices, 2), e.parents, e.weights]

    ms.set_num_threads(1)
    plain = run()
    for n in THREADS:
        ms.set_num_threads(n)
        assert same_bits(run(), plain), f"{n} threads"


def test_neighbouring_parents_agree_on_their_common_face() -> None:
    # Every fine vertex on a coarse face is one vertex, from whichever tetrahedron it is seen.
    m = pickle.loads(pickle.dumps(tet_block(2, 1, 1)))
    fine = SubdivisionHierarchy(m, 2).mesh(2)
    assert len({tuple(v) for v in np.round(fine.vertices, 9).tolist()}) == len(fine.vertices)
    assert len(set(itertools.chain.from_iterable(fine.tets.tolist()))) == len(fine.vertices)


def test_levels_that_cannot_be_are_refused_before_any_is_made() -> None:
    code = """
from pathlib import Path
import meniscus as ms
block = ms.mesh.tet_block(1, 1, 1)
for mesh, levels, sentence in (
    (ms.mesh.icosphere(0), 17, "levels must be below 13, not 17: level 13 would have 1342177280 elements"),
    (block, 30, "levels must be below 9, not 30: level 9 would have 805306368 elements"),
):
    try:
        ms.mesh.SubdivisionHierarchy(mesh, levels)
    except ValueError as error:
        assert str(error).startswith(sentence), error
    else:
        raise AssertionError(levels)
# The peak of this program alone, kB; that of `getrusage` begins with the memory of the process that started it.
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
assert int(peak) < 400_000  # the coarser levels take gigabytes
"""
    subprocess.run([sys.executable, "-c", code], check=True)
