"""Meshes of quadratic tetrahedra: nodes on edges, pieces and boundary, masses, files, state."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from support.elements.quadratic_tets import EDGES, gauss_rule, shape_slopes, shapes
from support.simplices import delaunay

import meniscus as ms
from meniscus.mesh import QuadraticTetMesh, TetMesh, check_watertight, icosphere, quadratic_mesh, tet_block


def curved(rng: np.random.Generator) -> QuadraticTetMesh:
    mesh = quadratic_mesh(tet_block(3, 2, 2))
    x = mesh.vertices.copy()
    n = int(mesh.corners.used_vertices.size)
    x[n:] += 0.02 * rng.uniform(-1, 1, x[n:].shape)
    return mesh.moved(x)


def test_nodes_are_in_the_middles_of_edges(rng: np.random.Generator) -> None:
    for mesh in (tet_block(2, 3, 1), tet_block(2, 2, 2, pattern="five"), delaunay(40, rng)):
        q = quadratic_mesh(mesh)
        assert len(q.vertices) == len(mesh.vertices) + len(mesh.edges)
        assert np.array_equal(q.vertices[: len(mesh.vertices)], mesh.vertices)
        assert np.array_equal(q.elements[:, :4], mesh.tets)
        for k, (i, j) in enumerate(EDGES):
            middle = (mesh.vertices[mesh.tets[:, i]] + mesh.vertices[mesh.tets[:, j]]) / 2
            assert np.abs(q.vertices[q.elements[:, 4 + k]] - middle).max() <= 1e-15
        assert len(np.unique(q.elements)) == len(q.vertices) - (len(mesh.vertices) - len(mesh.used_vertices))


def test_pieces_fill_the_elements(rng: np.random.Generator) -> None:
    for mesh in (tet_block(2, 3, 1), tet_block(2, 2, 2, pattern="five"), delaunay(40, rng)):
        q = quadratic_mesh(mesh)
        pieces = q.pieces
        parts = pieces.volumes.reshape(-1, 8)
        assert (parts > 0).all()
        assert np.abs(parts - mesh.volumes[:, None] / 8).max() <= 1e-14 * mesh.volumes.max()
        assert np.shares_memory(pieces.vertices, q.vertices)
        # They fit together: between elements too, so that the only free faces are four for each of the mesh.
        assert len(pieces.flipped_faces) == 0
        assert len(q.boundary.triangles) == 4 * len(mesh.boundary.triangles)
        assert q.boundary.volume() == pytest.approx(mesh.volume(), rel=1e-12)
        for surface in (q.boundary, mesh.boundary):
            report = check_watertight(surface.vertices, surface.triangles)
            assert report.boundary_edges == len(report.flipped_edges) == len(report.degenerate) == 0
        # Of the three diagonals, the shortest is cut along.
        x = q.vertices[q.elements]
        lengths = np.stack([np.linalg.norm(x[:, a] - x[:, b], axis=1) for a, b in ((4, 9), (5, 7), (6, 8))])
        inner = pieces.tets.reshape(-1, 8, 4)[:, 4:]
        for e in range(len(q.elements)):
            common = set(inner[e, 0]) & set(inner[e, 1]) & set(inner[e, 2]) & set(inner[e, 3])
            assert len(common) == 2
            assert np.linalg.norm(np.subtract(*q.vertices[list(common)])) <= lengths[:, e].min() * (1 + 1e-12)


def test_volumes_and_masses(rng: np.random.Generator) -> None:
    q = curved(rng)
    rule = gauss_rule()
    exact = np.array([sum(w * np.linalg.det(q.vertices[e].T @ shape_slopes(at)) / 6 for at, w in rule) for e in q.elements])
    # Four points leave out a term of third order in the curvature.
    assert np.abs(q.measures() / exact - 1).max() <= 1e-3
    straight = quadratic_mesh(delaunay(30, rng))
    assert np.abs(straight.measures() - straight.corners.volumes).max() <= 1e-15
    assert straight.volume() == pytest.approx(straight.corners.volume(), rel=1e-13)
    m = straight.node_masses(3.0)
    assert m.min() > 0
    assert m.sum() == pytest.approx(3 * straight.volume(), rel=1e-13)
    # The centre of mass is right, and the shares are those of the integrals of the squares of the shape functions.
    centres = straight.vertices[straight.elements[:, :4]].mean(axis=1)
    assert np.abs(m @ straight.vertices - 3 * straight.measures() @ centres).max() <= 1e-13
    squares = sum(w * shapes(at) ** 2 for at, w in rule)
    one = QuadraticTetMesh(straight.vertices[straight.elements[0]], np.arange(10, dtype=np.int32)[None])
    assert np.abs(one.node_masses(1.0) / one.volume() - squares / squares.sum()).max() <= 1e-14
    rho = rng.uniform(1, 2, len(q.elements))
    out = np.empty(len(q.vertices))
    assert q.node_masses(rho, out=out) is out
    assert out.sum() == pytest.approx(float((rho * q.measures()).sum()), rel=1e-13)
    with pytest.raises(ValueError, match="density must be positive"):
        q.node_masses(-1.0)
    with pytest.raises(ValueError, match="but that of element 0 is -"):
        QuadraticTetMesh(np.ascontiguousarray(-q.vertices), q.elements).node_masses(1.0)


def test_a_ball_with_edges_on_the_sphere() -> None:
    """The volume of curved elements converges with fourth order to that of the ball, that of straight ones with second."""
    flat, round_ = [], []
    for level in (1, 2):
        surface = icosphere(level)
        n = len(surface.vertices)
        tets = np.concatenate([np.full((len(surface.triangles), 1), n), surface.triangles], axis=1).astype(np.int32)
        mesh = quadratic_mesh(TetMesh(np.concatenate([surface.vertices, np.zeros((1, 3))]), tets).oriented())
        x = mesh.vertices.copy()
        outside = np.unique(mesh.boundary.triangles)
        x[outside] /= np.linalg.norm(x[outside], axis=1, keepdims=True)
        flat.append(1 - mesh.volume() / (4 / 3 * np.pi))
        round_.append(abs(1 - mesh.moved(x).volume() / (4 / 3 * np.pi)))
    assert flat[0] / flat[1] == pytest.approx(4, rel=0.15)
    assert round_[0] / round_[1] > 10
    assert round_[1] <= 2e-4


@pytest.mark.parametrize("ending", ["vtk", "vtu", "msh"])
def test_files_come_back_bit_for_bit(ending: str, tmp_path: Path, rng: np.random.Generator) -> None:
    meshio = pytest.importorskip("meshio", reason="such mesh files need meshio")
    q = curved(rng)
    path = tmp_path / f"quadratic.{ending}"
    ms.mesh.write(path, q)
    assert QuadraticTetMesh.read(path) == q
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    cells = meshio.read(str(path)).cells
    assert [c.type for c in cells] == ["tetra10"]
    with pytest.raises(ValueError, match="holds no tetrahedra"):
        TetMesh.read(path)
    with pytest.raises(ValueError, match="the name must end in"):
        q.write(tmp_path / "quadratic.mesh")
    tet_block(1, 1, 1).write(tmp_path / "plain.vtu")
    with pytest.raises(ValueError, match="holds no ten-node tetrahedra"):
        QuadraticTetMesh.read(tmp_path / "plain.vtu")


def test_points_and_surfaces_follow(rng: np.random.Generator) -> None:
    q = quadratic_mesh(tet_block(2, 2, 2))
    points = rng.uniform(0, 1, (100, 3))
    hung = ms.collision.embed(q.pieces, points)
    assert np.abs(hung.positions(q.vertices) - points).max() <= 1e-14
    bend = np.eye(3) + 0.3 * rng.uniform(-1, 1, (3, 3))
    moved = np.ascontiguousarray(q.vertices @ bend.T)
    assert np.abs(hung.positions(moved) - points @ bend.T).max() <= 1e-13


def test_state_and_arguments(rng: np.random.Generator) -> None:
    q = curved(rng)
    for other in (pickle.loads(pickle.dumps(q)), q.moved(q.vertices.copy())):
        assert other == q
        assert hash(other) == hash(q)
    assert q != q.moved(q.vertices + 1)
    assert q != q.corners
    assert repr(quadratic_mesh(tet_block(1, 1, 1))) == "<QuadraticTetMesh: 27 vertices, 6 elements, 1 x 1 x 1 m>"
    for array in (q.vertices, q.elements):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0
    none = QuadraticTetMesh(np.empty((0, 3)), np.empty((0, 10), np.int32))
    assert repr(none) == "<QuadraticTetMesh: 0 vertices, 0 elements>"
    assert len(none.pieces.tets) == len(none.boundary.triangles) == 0
    bad = q.elements.copy()
    bad[2, 5] = len(q.vertices)
    with pytest.raises(ValueError, match=r"elements must hold indices of the \d+ vertices, but \[2, 5\] is \d+"):
        QuadraticTetMesh(q.vertices, bad)
    bad[2, 5] = bad[2, 1]
    with pytest.raises(ValueError, match="element 2 has a node twice"):
        QuadraticTetMesh(q.vertices, bad)
    with pytest.raises(ValueError, match=r"shape \(m, 10\)"):
        QuadraticTetMesh(q.vertices, q.corners.tets)
    with pytest.raises(TypeError, match="elements must hold integers"):
        QuadraticTetMesh(q.vertices, q.elements.astype(float))
    with pytest.raises(ValueError, match="is nan"):
        QuadraticTetMesh(np.where(q.vertices == q.vertices[3, 1], np.nan, q.vertices), q.elements)
    with pytest.raises(TypeError, match="mesh must be a TetMesh"):
        quadratic_mesh(q)  # type: ignore[arg-type]


def test_is_made_from_other_types_and_placed() -> None:
    q = quadratic_mesh(tet_block(2, 1, 1))
    wide = QuadraticTetMesh(q.vertices.astype(np.float32), q.elements.astype(np.int64))
    assert wide.elements.dtype == np.int32
    assert np.array_equal(wide.elements, q.elements)
    assert np.array_equal(wide.vertices, q.vertices.astype(np.float32))
    turned = q.translated((1, 2, 3)).scaled(2.0, about=(1, 2, 3)).rotated((np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)), about=(1, 2, 3))
    x, y, z = q.vertices.T
    np.testing.assert_allclose(turned.vertices, np.stack([1 - 2 * y, 2 + 2 * x, 3 + 2 * z], axis=1), atol=1e-14)
    low, high = turned.bounds
    assert np.array_equal(low, turned.vertices.min(axis=0))
    assert np.array_equal(high, turned.vertices.max(axis=0))
