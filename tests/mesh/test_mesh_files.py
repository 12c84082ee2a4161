"""Files of triangle and tetrahedral meshes: complete contents, atomic writing, and errors."""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.meshes import mesh_file
from support.simplices import delaunay

import meniscus as ms
from meniscus.mesh import TetMesh, TriangleMesh, icosphere, tet_block

pytest.importorskip("meshio", reason="such mesh files need meshio")


@pytest.mark.parametrize("ending", ["vtk", "vtu", "msh", "mesh", "meshb", "VTK"])
def test_tetrahedra_come_back_bit_for_bit(ending: str, tmp_path: Path, rng: np.random.Generator) -> None:
    m = delaunay(50, rng)
    path = tmp_path / f"tets.{ending}"
    ms.mesh.write(path, m)
    assert TetMesh.read(path) == m
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ["obj", "ply", "off", "vtk", "vtu", "msh", "mesh"])
def test_triangles_come_back_bit_for_bit(ending: str, tmp_path: Path, rng: np.random.Generator) -> None:
    if ending in ("obj", "ply", "off"):
        pytest.importorskip("trimesh", reason="such mesh files need trimesh")
    s = icosphere(1)
    m = TriangleMesh(s.vertices + rng.uniform(-0.01, 0.01, s.vertices.shape), s.triangles)
    path = tmp_path / f"surface.{ending}"
    m.write(str(path))
    assert TriangleMesh.read(str(path)) == m
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_only_the_cells_that_are_asked_for_are_read(tmp_path: Path) -> None:
    import meshio

    m = tet_block(2, 1, 1)
    cells = [("tetra", m.tets[:5]), ("triangle", m.boundary.triangles), ("tetra", m.tets[5:]), ("line", m.edges)]
    meshio.vtu.write(str(tmp_path / "mixed.vtu"), meshio.Mesh(m.vertices, cells))
    assert TetMesh.read(tmp_path / "mixed.vtu") == m
    assert TriangleMesh.read(tmp_path / "mixed.vtu") == m.boundary
    (tmp_path / "flat.vtk").write_text(
        "# vtk DataFile Version 3.0\nflat\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\n"
        "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n5\n"
    )
    flat = TriangleMesh.read(tmp_path / "flat.vtk")
    assert flat.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    with pytest.raises(ValueError, match=r"flat\.vtk' holds no tetrahedra"):
        TetMesh.read(tmp_path / "flat.vtk")


def test_tetgen_files(tmp_path: Path) -> None:
    m = tet_block(1, 1, 1)
    nodes = "\n".join(f"{i} {x!r} {y!r} {z!r}" for i, (x, y, z) in enumerate(m.vertices.tolist()))
    tets = "\n".join(f"{i} {' '.join(map(str, t))}" for i, t in enumerate(m.tets.tolist()))
    (tmp_path / "a.node").write_text(f"{len(m.vertices)} 3 0 0\n{nodes}\n")
    (tmp_path / "a.ele").write_text(f"{len(m.tets)} 4 0\n{tets}\n")
    assert TetMesh.read(tmp_path / "a.ele") == m


def test_what_trimesh_reads_becomes_a_mesh() -> None:
    path = mesh_file("spot")
    m = TriangleMesh.read(path)
    v, t = ms.mesh.read(path)
    assert (m.vertices == v).all()
    assert (m.triangles == t).all()
    assert m.check_watertight().watertight
    assert m.euler_characteristic == 2


def test_gltf_keeps_order_and_places(tmp_path: Path) -> None:
    ball = ms.mesh.icosphere(2, 0.5, (1, 2, 3))
    ball.write(tmp_path / "ball.glb")
    back = TriangleMesh.read(tmp_path / "ball.glb")
    assert (back.triangles == ball.triangles).all()
    assert (back.vertices == ball.vertices.astype(np.float32)).all()


@pytest.mark.parametrize("ending", ["stl", "glb"])
def test_single_precision_that_moves_vertices_is_told(tmp_path: Path, ending: str) -> None:
    near, far = ms.mesh.icosphere(2, 0.5, (30, 10, 0)), ms.mesh.icosphere(2, 0.5, (3e6, 1e6, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near.write(tmp_path / f"near.{ending}")
        far.write(tmp_path / "far.ply")
    with pytest.warns(
        UserWarning, match=rf"\.{ending} files have single precision, which moves vertices by up to 0\.12 m, with edges of 0\.14 m"
    ):
        far.write(tmp_path / f"far.{ending}")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import meshio

    m = tet_block(1, 1, 1)
    for ending, module in (("vtk", meshio.vtk), ("mesh", meshio.medit)):
        path = tmp_path / f"a.{ending}"
        m.write(path)
        before = path.read_bytes()

        def fail(name: str, *arguments: Any, **options: Any) -> None:
            Path(name).write_text("half of")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(module, "write", fail)
        with pytest.raises(OSError, match="No space left"):
            m.write(path)
        assert path.read_bytes() == before
        path.unlink()
        assert list(tmp_path.iterdir()) == []


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m = tet_block(1, 1, 1)
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*missing\.vtk'"):
        TetMesh.read(tmp_path / "missing.vtk")
    for name in ("a.obj", "a.step", "a"):
        with pytest.raises(ValueError, match=r"cannot write '.*a.*': the name must end in \.vtk, \.vtu, \.msh, \.mesh, \.meshb"):
            m.write(tmp_path / name)
    for ending in ("vtk", "vtu", "msh", "mesh", "meshb", "ele"):
        path = tmp_path / f"bad.{ending}"
        path.write_text("no mesh at all\n")
        with pytest.raises(ValueError, match="could not be read as a mesh"):
            TetMesh.read(path)
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(ValueError, match=r"cannot read '.*a\.txt': the name must end in"):
        TetMesh.read(tmp_path / "a.txt")
    with pytest.raises(TypeError, match="mesh must be a TriangleMesh, TetMesh or QuadraticTetMesh, not int"):
        ms.mesh.write(tmp_path / "a.vtk", 3)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(ImportError, match=r"writing such mesh files needs meshio; install it with: pip install 'meniscus-sim\[mesh\]'"):
        m.write(tmp_path / "a.vtk")
