"""Tetrahedral and segment meshes: topology, boundary, masses, and immutability."""

import itertools
import math
import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from support.build import same_bits
from support.simplices import THREADS, bcc, delaunay, edges_of, facets_of, neighbours_of

import meniscus as ms
from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh, tet_block


def shuffled_block(rng: np.random.Generator) -> TetMesh:
    """A block whose tetrahedra come in any order, with vertices that none has."""
    b = tet_block(4, 3, 5)
    x = np.concatenate([rng.random((2, 3)), b.vertices, rng.random((3, 3))])
    return TetMesh(x, np.ascontiguousarray(rng.permutation(b.tets) + np.int32(2)))


def hollow_block(rng: np.random.Generator) -> TetMesh:
    b = tet_block(3, 3, 3)
    return b.submesh(np.arange(len(b.tets)) // 6 != 13)


MESHES: dict[str, Callable[[np.random.Generator], TetMesh]] = {
    "delaunay": lambda rng: delaunay(200, rng),
    "block": shuffled_block,
    "hollow": hollow_block,
    "one": lambda rng: TetMesh(np.eye(4, 3), np.array([[3, 0, 1, 2]], np.int32)),
    "none": lambda rng: TetMesh(rng.random((5, 3)), np.empty((0, 4), np.int32)),
}


@pytest.fixture(params=MESHES)
def mesh(request: pytest.FixtureRequest, rng: np.random.Generator) -> TetMesh:
    return MESHES[request.param](rng)


def test_edges_and_one_rings(mesh: TetMesh) -> None:
    edges = edges_of(mesh.tets)
    assert mesh.edges.tolist() == edges
    number = {tuple(e): i for i, e in enumerate(edges)}
    expected = [[number[tuple(sorted((t[i], t[j])))] for i, j in itertools.combinations(range(4), 2)] for t in mesh.tets.tolist()]
    assert mesh.element_edges.shape == (len(mesh.tets), 6)
    assert mesh.element_edges.tolist() == expected
    for v in range(len(mesh.vertices)):
        ring = sorted({b if a == v else a for a, b in edges if v in (a, b)})
        assert mesh.one_rings.row(v).tolist() == ring


def test_faces_and_neighbours(mesh: TetMesh) -> None:
    facets = facets_of(mesh.tets)
    assert [tuple(sorted(f)) for f in mesh.faces.tolist()] == sorted(facets)
    for f, face in enumerate(mesh.faces.tolist()):
        at = facets[tuple(sorted(face))]
        assert mesh.face_tets[f].tolist() == [at[0][0], at[1][0] if len(at) == 2 else -1]
        for t, k in at:
            assert mesh.tet_faces[t, k] == f
        # Outward from the first tetrahedron: the opposite corner lies below.
        x = mesh.vertices[face]
        opposite = mesh.vertices[mesh.tets[at[0]]]
        assert np.linalg.det([x[1] - x[0], x[2] - x[0], opposite - x[0]]) < 0
    assert (mesh.neighbours == neighbours_of(mesh.tets)).all()
    assert mesh.boundary_faces.tolist() == [f for f, face in enumerate(sorted(facets)) if len(facets[face]) == 1]
    assert len(mesh.flipped_faces) == 0


def test_the_boundary_is_closed_and_encloses_the_volume(mesh: TetMesh) -> None:
    surface = mesh.boundary
    assert np.shares_memory(surface.vertices, mesh.vertices)
    if len(mesh.tets):
        assert surface.check_watertight().watertight
        assert surface.is_manifold
        assert surface.volume() == pytest.approx(mesh.volume(), rel=1e-13)
    compact, kept = surface.compacted()
    assert sorted(set(surface.triangles.ravel().tolist())) == kept.tolist()
    assert (compact.vertices[compact.triangles] == mesh.vertices[surface.triangles]).all()


@pytest.mark.parametrize("pattern", ["six", "five"])
def test_blocks(pattern: str) -> None:
    b = tet_block(3, 4, 2, (1.5, 2.0, 3.0), origin=(1.0, -1.0, 0.5), pattern=pattern)
    n = 24
    per_box = {"six": 6, "five": 5}[pattern]
    assert len(b.tets) == per_box * n
    box = 9.0 / n
    expected = [box / 6] * 6 if pattern == "six" else [box / 6] * 4 + [box / 3]
    assert b.volumes.reshape(n, per_box) == pytest.approx(np.tile(expected, (n, 1)), rel=1e-13)
    assert b.boundary.check_watertight().watertight
    assert b.boundary.area() == pytest.approx(2 * (1.5 * 2 + 2 * 3 + 1.5 * 3), rel=1e-13)
    grid = b.vertices.reshape(4, 5, 3, 3)
    assert grid[3, 0, 0].tolist() == [2.5, -1.0, 0.5]
    assert grid[0, 4, 2].tolist() == [1.0, 1.0, 3.5]
    # All tetrahedra of small box (i, j, k) lie in it.
    cells = np.stack(np.meshgrid(np.arange(3), np.arange(4), np.arange(2), indexing="ij"), -1).reshape(-1, 3)
    middle = b.vertices[b.tets].mean(axis=1).reshape(n, per_box, 3)
    inside = (middle - np.array([1.0, -1.0, 0.5])) / np.array([0.5, 0.5, 1.5]) - cells[:, None]
    assert (inside > 0).all()
    assert (inside < 1).all()


def test_the_six_tetrahedra_share_a_diagonal() -> None:
    t = tet_block(2, 1, 1).tets.reshape(2, 6, 4)
    low, high = np.array([0, 4]), np.array([7, 11])
    assert ((t == low[:, None, None]).sum(axis=2) == 1).all()
    assert ((t == high[:, None, None]).sum(axis=2) == 1).all()


def test_euler_characteristics() -> None:
    solid = tet_block(3, 3, 3)
    cells = np.arange(len(solid.tets)) // 6
    assert solid.euler_characteristic == 1
    assert solid.submesh(cells != 13).euler_characteristic == 2  # a hollow ball
    assert solid.submesh(cells % 9 != 4).euler_characteristic == 0  # a ring
    assert solid.submesh(cells != 13).boundary.components == 2
    assert solid.submesh(cells % 9 != 4).boundary.euler_characteristic == 0
    # V - E + F - T of a ball also from the counts by hand.
    assert len(solid.vertices) - len(edges_of(solid.tets)) + len(facets_of(solid.tets)) - len(solid.tets) == 1


def test_components_are_connected_over_faces(rng: np.random.Generator) -> None:
    b = tet_block(5, 1, 1)
    kept = np.isin(np.arange(len(b.tets)) // 6, [0, 1, 3, 4])
    order = rng.permutation(np.flatnonzero(kept))
    m = b.submesh(order)
    assert m.components == 2
    label = (order // 6 >= 3).astype(int)
    assert m.component.tolist() == (label if label[0] == 0 else 1 - label).tolist()
    # Two small boxes that share an edge only hang together over no face.
    q = tet_block(2, 2, 1)
    assert q.submesh(np.isin(np.arange(24) // 6, [0, 3])).components == 2


def test_pinched_boundaries() -> None:
    b = tet_block(2, 2, 2)
    cells = np.arange(len(b.tets)) // 6
    # Boxes at opposite ends of the diagonal touch in the middle vertex; boxes 0 and 3 (along z: 0 and 6) share an edge.
    touching = b.submesh(np.isin(cells, [0, 7])).boundary
    assert touching.pinched_vertices.tolist() == [13]
    assert len(touching.nonmanifold_edges) == 0
    assert not touching.is_manifold
    edge = b.submesh(np.isin(cells, [0, 6])).boundary
    assert edge.nonmanifold_edges.tolist() == [[12, 13]]
    assert edge.pinched_vertices.tolist() == [12, 13]
    # A void that touches the outside in a vertex: the tetrahedra there hang together, the boundary does not.
    b = tet_block(3, 3, 3)
    cells = np.arange(len(b.tets)) // 6
    void = b.submesh(~np.isin(cells, [0, 13]))
    assert void.components == 1
    assert void.boundary.pinched_vertices.tolist() == [(1 * 4 + 1) * 4 + 1]


def test_more_than_two_tetrahedra_at_a_face_are_refused() -> None:
    x = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1), (1, 1, 1)], float)
    m = TetMesh(x, np.array([(0, 1, 2, 3), (0, 2, 1, 4), (0, 1, 2, 5)], np.int32))
    with pytest.raises(ValueError, match="a face can have at most two tetrahedra, but 0, 1, 2 is a face of tets 0, 1 and 2"):
        _ = m.faces
    assert len(m.edges) == 12  # does not ask for faces


def test_inverted_tetrahedra(rng: np.random.Generator) -> None:
    m = delaunay(60, rng)
    tets = m.tets.copy()
    bad = rng.permutation(len(tets))[:9]
    tets[bad] = tets[bad][:, [1, 0, 2, 3]]
    wrong = TetMesh(m.vertices, tets)
    assert np.flatnonzero(wrong.volumes < 0).tolist() == sorted(bad.tolist())
    expected = [f for f, (s, t) in enumerate(m.face_tets.tolist()) if t >= 0 and (s in bad) != (t in bad)]
    assert wrong.flipped_faces.tolist() == expected
    assert (wrong.oriented().volumes == m.volumes).mean() > 0.8
    assert np.abs(wrong.oriented().volumes) == pytest.approx(m.volumes, rel=1e-9)
    assert (wrong.oriented().volumes > 0).all()
    assert m.oriented() is m
    with pytest.raises(ValueError, match=f"must have a positive volume, but that of tet {bad.min()} is -"):
        wrong.node_masses(1.0)


def test_volumes_against_exact_arithmetic(rng: np.random.Generator) -> None:
    m = delaunay(30, rng)
    total = Fraction(0)
    for t, v in zip(m.tets, m.volumes, strict=True):
        a, b, c, d = ([Fraction(float(y)) for y in m.vertices[i]] for i in t)
        u, w, z = ([q - p for p, q in zip(a, r, strict=True)] for r in (b, c, d))
        det = u[0] * (w[1] * z[2] - w[2] * z[1]) - u[1] * (w[0] * z[2] - w[2] * z[0]) + u[2] * (w[0] * z[1] - w[1] * z[0])
        total += det / 6
        assert abs(float(Fraction(float(v)) - det / 6)) < 1e-16
    assert m.volume() == pytest.approx(float(total), rel=1e-14)


def test_node_masses(mesh: TetMesh, rng: np.random.Generator) -> None:
    density = rng.uniform(500, 1500, len(mesh.tets))
    for rho in (1000.0, density):
        masses = mesh.node_masses(rho)
        assert math.fsum(masses) == pytest.approx(math.fsum(mesh.volumes * rho), rel=1e-15, abs=0)
        expected = np.zeros(len(mesh.vertices))
        for t, m in zip(mesh.tets, mesh.volumes * rho, strict=True):
            expected[t] += m / 4
        assert masses == pytest.approx(expected, rel=1e-14)
    out = np.empty(len(mesh.vertices))
    assert mesh.node_masses(density, out) is out
    assert same_bits(out, mesh.node_masses(density))


def test_masses_of_triangles_and_segments() -> None:
    c = ms.mesh.cloth_mesh(4, 2, (2.0, 1.0))
    m = c.node_masses(0.25)
    assert m.sum() == pytest.approx(0.5, rel=1e-15)
    corner = c.triangles == 0
    assert m[0] == pytest.approx(0.25 * c.areas[corner.any(axis=1)].sum() / 3, rel=1e-15)
    line = SegmentMesh(np.array([(0, 0, 0), (3, 4, 0), (3, 4, 2)], float), np.array([(0, 1), (1, 2)], np.int32))
    assert line.lengths.tolist() == [5, 2]
    assert line.length() == 7
    assert line.node_masses(2.0).tolist() == [5, 7, 2]
    for bad in (0.0, -1.0, np.array([1.0, 0.0]), np.array([1.0])):
        with pytest.raises(ValueError, match="density must"):
            line.node_masses(bad)
    with pytest.raises(ValueError, match=r"density must be finite, but \[1\] is nan"):
        line.node_masses(np.array([1.0, np.nan]))


def test_segment_meshes() -> None:
    # A ring of four, a line of two with an end of its own, three segments at one vertex, and a vertex alone.
    s = np.array([(0, 1), (1, 2), (3, 2), (3, 0), (4, 5), (6, 5), (7, 8), (7, 9), (10, 7)], np.int32)
    m = SegmentMesh(np.random.default_rng(1).random((12, 3)), s)
    assert m.edges.tolist() == edges_of(s)
    assert m.element_edges.ravel().tolist() == [m.edges.tolist().index(sorted(e)) for e in s.tolist()]
    assert m.boundary.tolist() == [4, 6, 8, 9, 10]
    assert m.components == 3
    assert m.component.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2]
    # Row s holds, beyond the vertex opposite of each end, the other segment there.
    assert m.neighbours.tolist() == [[1, 3], [2, 0], [1, 3], [0, 2], [5, -1], [4, -1], [-1, -1], [-1, -1], [-1, -1]]
    assert m.used_vertices.tolist() == list(range(11))
    assert m.one_rings.row(7).tolist() == [8, 9, 10]


def test_meshes_do_not_change(rng: np.random.Generator) -> None:
    b = tet_block(2, 2, 2)
    x, t = b.vertices.copy(), b.tets.copy()
    m = TetMesh(x, t)
    x[0] = 7
    t[0] = 1
    assert m == b
    for a in (
        m.vertices,
        m.tets,
        m.edges,
        m.faces,
        m.neighbours,
        m.volumes,
        m.component,
        m.element_edges,
        m.one_rings.values,
        m.boundary_faces,
    ):
        assert not a.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            a[...] = 0
    # What nobody can write to is shared, and views are always the same memory.
    assert np.shares_memory(TetMesh(m.vertices, m.tets).tets, m.tets)
    assert np.shares_memory(m.edges, m.edges)
    assert np.shares_memory(TriangleMesh(m.vertices, m.faces).triangles, m.faces)
    # A read-only view of memory that can be written to is not.
    view = x.view()
    view.flags.writeable = False
    assert not np.shares_memory(TetMesh(view, m.tets).vertices, x)
    edges = m.edges
    expected = edges.copy()
    del m
    assert (edges == expected).all()  # the view keeps its memory


def test_equality_hashes_and_pickles(mesh: TetMesh) -> None:
    for m in (mesh, mesh.boundary, SegmentMesh(mesh.vertices, mesh.edges)):
        copy = pickle.loads(pickle.dumps(m))
        assert type(copy) is type(m)
        assert copy == m
        assert hash(copy) == hash(m)
        assert not copy.vertices.flags.writeable
        assert m.moved(m.vertices + 1) != m
        assert m != "mesh"
    assert TetMesh(np.zeros((0, 3)), np.empty((0, 4), np.int32)) != TriangleMesh(np.zeros((0, 3)), np.empty((0, 3), np.int32))


def test_moved_meshes_share_what_is_known() -> None:
    m = tet_block(2, 3, 2)
    edges, volumes = m.edges, m.volumes
    far = m.moved(2 * m.vertices)
    assert np.shares_memory(far.edges, edges)
    assert np.shares_memory(far.tets, m.tets)
    assert far.volumes == pytest.approx(8 * volumes, rel=1e-14)
    with pytest.raises(ValueError, match=r"vertices must have shape \(36, 3\), not \(35, 3\)"):
        m.moved(m.vertices[1:])
    bad = m.vertices.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"vertices must be finite, but \[3, 1\] is nan"):
        m.moved(bad)


def test_parts_of_meshes() -> None:
    m = tet_block(2, 2, 2)
    part = m.submesh(np.array([5, 3]))
    assert part.tets.tolist() == [m.tets[5].tolist(), m.tets[3].tolist()]
    small, kept = part.compacted()
    assert (small.vertices == m.vertices[kept]).all()
    assert (kept[small.tets] == part.tets).all()
    assert m.compacted()[0] is m
    with pytest.raises(ValueError, match=r"indices of the 48 tets, but \[1\] is 48"):
        m.submesh(np.array([5, 48]))
    with pytest.raises(ValueError, match="elements must have shape"):
        m.submesh(np.zeros(3, bool))
    with pytest.raises(TypeError, match="indices or a mask"):
        m.submesh(np.array([0.5]))


def test_measures_of_moved_vertices(mesh: TetMesh, rng: np.random.Generator) -> None:
    x = rng.normal(size=mesh.vertices.shape)
    p = x[mesh.tets]
    expected = np.linalg.det(p[:, 1:] - p[:, :1]) / 6 if len(p) else np.empty(0)
    assert mesh.measures(x) == pytest.approx(expected, rel=1e-9, abs=1e-14)
    out = np.empty(len(mesh.tets))
    assert mesh.measures(x, out) is out
    with pytest.raises(ValueError, match="positions must have shape"):
        mesh.measures(x[1:])
    with pytest.raises(ValueError, match="out must have shape"):
        mesh.measures(x, np.empty(len(mesh.tets) + 1))
    with pytest.raises(TypeError, match="out must be a NumPy array of dtype float64"):
        mesh.measures(x, out.astype(np.float32))


def test_a_bcc_lattice() -> None:
    m = bcc(3)
    assert m.volumes == pytest.approx(np.full(len(m.tets), 1 / 12), rel=1e-13)
    lengths = np.linalg.norm(m.vertices[m.edges[:, 1]] - m.vertices[m.edges[:, 0]], axis=1)
    assert set(np.round(lengths, 12)) == {1.0, round(math.sqrt(3) / 2, 12)}
    assert len(m.tets) == 4 * 3 * 2 * 9


def test_the_same_on_any_number_of_threads(default_parallelism: None, rng: np.random.Generator) -> None:
    b = tet_block(24, 23, 22)
    tets = np.ascontiguousarray(rng.permutation(b.tets))
    x = b.vertices + rng.uniform(-0.01, 0.01, b.vertices.shape)

    def run() -> list[np.ndarray]:
        m = TetMesh(x, tets)
        s = m.boundary
        return [
            m.edges, m.element_edges, m.one_rings.values, m.faces, m.face_tets, m.neighbours, m.tet_faces, m.volumes, m.component,
            m.node_masses(1000.0), np.array([m.volume(), s.area(), s.volume()]), s.triangles, s.hinges, s.neighbours,
            *m.order("morton"), *m.order("rcm"),
        ]  # fmt: skip

    ms.set_num_threads(1)
    plain = run()
    for n in THREADS:
        ms.set_num_threads(n)
        assert same_bits(run(), plain), f"{n} threads"


def test_what_is_refused() -> None:
    x, t = np.eye(4, 3), np.array([[3, 0, 1, 2]], np.int32)
    for bad, error, text in [
        (x.astype(complex), TypeError, "vertices must hold numbers, not complex128"),
        (x[:, :2].copy(), ValueError, r"vertices must have shape \(n, 3\), not \(4, 2\)"),
        (None, TypeError, "vertices must hold numbers, not object"),
    ]:
        with pytest.raises(error, match=text):
            TetMesh(bad, t)
    for bad, error, text in [
        (t.astype(float), TypeError, "tets must hold integers, not float64"),
        (t[:, :3].copy(), ValueError, r"tets must have shape \(m, 4\), not \(1, 3\)"),
        ("abc", TypeError, "tets must hold integers"),
        (np.array([[0, 1, 2, 3], [0, 1, 4, 2]], np.int32), ValueError, r"tets must hold indices of the 4 vertices, but \[1, 2\] is 4"),
        (np.array([[-1, 1, 2, 3]], np.int32), ValueError, r"tets must hold indices of the 4 vertices, but \[0, 0\] is -1"),
        (np.array([[0, 1, 2, 3], [0, 3, 2, 3]], np.int32), ValueError, r"different corners, but tets\[1\] has vertex 3 twice"),
    ]:
        with pytest.raises(error, match=text):
            TetMesh(x, bad)
    with pytest.raises(ValueError, match=r"vertices must be finite, but \[2, 0\] is inf"):
        TetMesh(np.where(np.arange(12).reshape(4, 3) == 6, np.inf, x), t)
    with pytest.raises(ValueError, match=r"a segment must have different corners, but segments\[0\] has vertex 2 twice"):
        SegmentMesh(x, np.array([[2, 2]], np.int32))
    with pytest.raises(ValueError, match=r"triangles must hold indices of the 4 vertices, but \[0, 1\] is 9"):
        TriangleMesh(x, np.array([[2, 9, 0]], np.int32))
    for wrong in ((0, 1, 1), (1, 1, -2)):
        with pytest.raises(ValueError, match="at least 1"):
            tet_block(*wrong)
    with pytest.raises(ValueError, match=r"size\[1\] must be positive"):
        tet_block(1, 1, 1, (1.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="pattern must be one of 'six', 'five', not 'seven'"):
        tet_block(1, 1, 1, pattern="seven")


def test_repr(rng: np.random.Generator) -> None:
    assert repr(tet_block(2, 1, 1, (2.0, 1.0, 0.5))) == "<TetMesh: 12 vertices, 12 tets, 2 x 1 x 0.5 m>"
    assert repr(TetMesh(np.empty((0, 3)), np.empty((0, 4), np.int32))) == "<TetMesh: 0 vertices, 0 tets>"
