"""Mesh files: reading, unchanged vertices, and errors."""

import sys
from pathlib import Path

import numpy as np
import pytest
from support.meshes import box, mesh_file

import meniscus as ms

pytest.importorskip("trimesh", reason="mesh files need trimesh")


def write_obj(path: Path, vertices: np.ndarray, faces: list[str], extra: str = "") -> Path:
    lines = [f"v {' '.join(repr(float(x)) for x in v)}" for v in vertices]
    path.write_text("\n".join([*lines, extra, *(f"f {f}" for f in faces)]) + "\n")
    return path


def test_an_obj_file_keeps_vertices_and_triangles(tmp_path: Path, rng: np.random.Generator) -> None:
    _, t = box()
    # Vertices 3 and 8 share a position but are two in the file; vertex 9 belongs to no triangle.
    v = rng.random((10, 3))
    v[8] = v[3]
    t = t.copy()
    t[5, 0] = 8
    x, y = ms.mesh.read(write_obj(tmp_path / "a.obj", v, [" ".join(str(k + 1) for k in f) for f in t]))
    assert x.dtype == np.float64
    assert y.dtype == np.int32
    assert x.flags.c_contiguous
    assert y.flags.c_contiguous
    assert (x == v).all()
    assert (y == t).all()


def test_polygons_are_cut_into_triangles(tmp_path: Path) -> None:
    v, t = box()
    quads = [" ".join(str(k + 1) for k in (*t[i], t[i + 1, 2])) for i in range(0, 12, 2)]
    x, y = ms.mesh.read(write_obj(tmp_path / "a.obj", v, quads))
    assert (x == v).all()
    assert len(y) == 12
    assert ms.mesh.check_watertight(x, y).watertight


def test_parts_that_share_positions_become_one_mesh(tmp_path: Path) -> None:
    import trimesh

    v, t = box()
    parts = {f"part{i}": trimesh.Trimesh(v, t[6 * i : 6 * i + 6], process=False) for i in range(2)}
    trimesh.Scene(parts).export(tmp_path / "box.glb")
    x, y = ms.mesh.read(tmp_path / "box.glb")
    assert len(x) == 8
    assert len(y) == 12
    assert ms.mesh.check_watertight(x, y).watertight


def test_texture_coordinates_do_not_split_vertices(tmp_path: Path) -> None:
    v, t = box()
    texture = "\n".join(f"vt {k / 36!r} 0.5" for k in range(36))
    faces = [" ".join(f"{k + 1}/{3 * i + j + 1}" for j, k in enumerate(f)) for i, f in enumerate(t)]
    x, y = ms.mesh.read(str(write_obj(tmp_path / "a.obj", v, faces, texture)))
    assert (x == v).all()
    assert (y == t).all()
    assert ms.mesh.check_watertight(x, y).watertight


def test_stl_triangles_share_vertices_at_the_same_position(tmp_path: Path) -> None:
    v, t = box()
    facets = [
        "\n".join(["facet normal 0 0 0", "outer loop", *(f"vertex {a} {b} {c}" for a, b, c in v[f]), "endloop", "endfacet"]) for f in t
    ]
    path = tmp_path / "box.STL"
    path.write_text("\n".join(["solid box", *facets, "endsolid box", ""]))
    x, y = ms.mesh.read(path)
    assert len(x) == 8
    assert (x[y] == v[t]).all()
    assert ms.mesh.check_watertight(x, y).watertight


@pytest.mark.parametrize("name", ["spot", "stanford-bunny"])
def test_real_files_line_by_line(name: str) -> None:
    path = mesh_file(name)
    lines = [line.split() for line in path.read_text().splitlines()]
    v, t = ms.mesh.read(path)
    assert (v == np.array([[float(x) for x in p[1:4]] for p in lines if p[:1] == ["v"]])).all()
    assert (t == np.array([[int(x.split("/")[0]) - 1 for x in p[1:]] for p in lines if p[:1] == ["f"]])).all()


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*missing\.obj'"):
        ms.mesh.read(tmp_path / "missing.obj")
    points = write_obj(tmp_path / "points.obj", box()[0], [])
    with pytest.raises(ValueError, match=r"points\.obj' holds no triangle mesh"):
        ms.mesh.read(points)
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    with pytest.raises(ValueError, match=r"notes\.txt' could not be read as a mesh"):
        ms.mesh.read(text)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(ImportError, match=r"needs trimesh; install it with: pip install 'meniscus-sim\[mesh\]'"):
        ms.mesh.read(points)
