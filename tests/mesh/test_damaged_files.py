"""Damaged mesh files: refused with one sentence, whatever the damage. See `damaged_files.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms

meshio = pytest.importorskip("meshio", reason="mesh files need meshio")
pytest.importorskip("trimesh", reason="mesh files need trimesh")

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("seed", slow_but([1, 2], 1))
def test_random_damage(seed: int, tmp_path: Path) -> None:
    command = [sys.executable, str(FOLDER / "damaged_files.py"), str(seed), "1800"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stderr


BALL, BLOCK = ms.mesh.icosphere(1), ms.mesh.tet_block(2, 1, 1)
FORMATS = {
    "off": ("off", {}),
    "obj": ("obj", {}),
    "ply": ("ply", {"binary": True}),
    "ply text": ("ply", {"binary": False}),
    "vtk": ("vtk", {}),
    "vtk text": ("vtk", {"binary": False}),
    "vtk 4.2": ("vtk", {"fmt_version": "4.2"}),
    "vtu": ("vtu", {}),
    "vtu text": ("vtu", {"binary": False}),
    "msh": ("gmsh", {"fmt_version": "4.1", "binary": True}),
    "msh text": ("gmsh", {"fmt_version": "4.1", "binary": False}),
    "msh 2.2": ("gmsh", {"fmt_version": "2.2", "binary": True}),
    "msh 2.2 text": ("gmsh", {"fmt_version": "2.2", "binary": False}),
    "mesh": ("medit", {}),
    "meshb": ("medit", {}),
    "ele": ("tetgen", {}),
}
IN_32_BITS = {"ply", "ply text", "vtk 4.2", "msh 2.2"}  # what is written does not hold more
FROM_ONE = {"obj"}  # where numbers below zero count from the last vertex


@pytest.mark.parametrize("index", [-1, -1000, 42, 10**6, 2**31 - 2, 2**32 + 3, 2**62])
@pytest.mark.parametrize("kind", ["triangle", "tetra"])
@pytest.mark.parametrize("format", list(FORMATS))
def test_indices_out_of_range(format: str, kind: str, index: int, tmp_path: Path) -> None:
    """The largest ones come back into range where 64 bits are cut to 32."""
    mesh, read = (BALL, ms.mesh.TriangleMesh.read) if kind == "triangle" else (BLOCK, ms.mesh.TetMesh.read)
    module, options = FORMATS[format]
    ending = {"gmsh": "msh", "medit": format, "tetgen": "ele"}.get(module, module)
    if (kind == "tetra") == (ending in ("obj", "ply", "off")) and (kind == "tetra" or ending == "ele"):
        pytest.skip("a format for other elements")
    if abs(index) >= 2**31 and format in IN_32_BITS:
        pytest.skip("a format of 32-bit integers")
    elements = mesh.elements.astype(np.int64)
    elements[3, 1] = index
    path = tmp_path / f"wrong.{ending}"
    getattr(meshio, module).write(str(path), meshio.Mesh(np.array(mesh.vertices), [(kind, elements)]), **options)
    with pytest.raises(ValueError, match=r"could not be read as a mesh|holds no valid mesh") as error:
        read(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("ending", ["off", "ply", "stl", "vtk", "vtu", "msh", "mesh", "meshb"])
def test_files_that_end_too_early(ending: str, tmp_path: Path) -> None:
    """Formats that say how much they hold; the last bytes may be a comment, an end mark or half of a number."""
    whole, cut = tmp_path / f"whole.{ending}", tmp_path / f"cut.{ending}"
    BALL.write(whole)
    content, expected = whole.read_bytes(), ms.mesh.TriangleMesh.read(whole)
    for size in np.linspace(0, len(content) - 8, 60).astype(int):
        cut.write_bytes(content[:size])
        try:
            mesh = ms.mesh.TriangleMesh.read(cut)
        except ValueError:
            continue
        assert mesh == expected, size


@pytest.mark.parametrize("version", ["2.2", "4.1"])
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("kind", ["triangle", "tetra", "tetra10"])
def test_gmsh_files_with_nodes_of_any_numbers(kind: str, binary: bool, version: str, tmp_path: Path) -> None:
    """As meshio reads them, with the nodes where they are in the file."""
    quadratic = ms.mesh.quadratic_mesh(BLOCK)
    mesh, read = {
        "triangle": (BALL, ms.mesh.TriangleMesh.read),
        "tetra": (BLOCK, ms.mesh.TetMesh.read),
        "tetra10": (quadratic, ms.mesh.QuadraticTetMesh.read),
    }[kind]
    path = tmp_path / "a.msh"
    lines = np.array([[0, 1], [1, 2]])
    cells = [(kind, np.array(mesh.elements))]
    if version == "2.2":
        cells = [("line", lines), *cells, ("vertex", np.array([[0]]))]
    meshio.gmsh.write(str(path), meshio.Mesh(np.array(mesh.vertices), cells), fmt_version=version, binary=binary)
    found = read(path)
    assert np.array_equal(found.vertices, mesh.vertices)
    assert np.array_equal(found.elements, mesh.elements)
    if not binary and version == "2.2":
        text = path.read_text().split("$Nodes\n")
        head, nodes = text[0], text[1].split("$EndNodes")
        rows = nodes[0].splitlines()
        renumber = {str(i + 1): str(7 * i + 100) for i in range(len(mesh.vertices))}
        rows[1:] = [" ".join([renumber[r.split()[0]], *r.split()[1:]]) for r in rows[1:]]
        elements = [r.split() for r in nodes[1].split("$Elements\n")[1].split("$End")[0].splitlines()]
        elements[1:] = [[*e[: 3 + int(e[2])], *(renumber[k] for k in e[3 + int(e[2]) :])] for e in elements[1:]]
        body = "\n".join(" ".join(e) for e in elements)
        path.write_text(f"{head}$Nodes\n" + "\n".join(rows) + f"\n$EndNodes\n$Elements\n{body}\n$EndElements\n")
        assert read(path) == found
