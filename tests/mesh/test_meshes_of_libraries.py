"""What takes a mesh takes those of trimesh, meshio and PyVista, with the same results as with ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meniscus as ms

BALL = ms.mesh.icosphere(2, 0.8).rotated((0.8, 0.6, 0.0, 0.0)).scaled((1.0, 0.7, 1.2)).translated((0.2, -0.4, 0.1))
BLOCK = ms.mesh.tet_block(3, 2, 2, (1.2, 0.8, 0.7)).rotated((0.6, 0.0, 0.8, 0.0))
POINTS = np.random.default_rng(3).uniform(-0.3, 0.3, (20, 3)) + BALL.vertices.mean(axis=0)


def arrays(result: Any) -> list[np.ndarray]:
    if isinstance(result, (ms.mesh.TetMesh, ms.mesh.TriangleMesh, ms.mesh.QuadraticTetMesh)):
        return [np.asarray(result.vertices), np.asarray(result.elements)]
    if isinstance(result, ms.mesh.Embedding):
        return [np.asarray(result.parents), np.asarray(result.weights)]
    if isinstance(result, ms.mesh.SubdivisionHierarchy):
        return arrays(result.mesh(result.levels))
    if isinstance(result, ms.surface.HausdorffDistance):
        return [np.array([result.forward, result.backward])]
    return [np.asarray(result)]


def skin_morph(skin: Any) -> Any:
    mesh = ms.surface.bcc_mesh(BALL, 0.5, compress=True)
    return ms.surface.skin_morph(mesh, skin, 0.1 * BALL.vertices[:, [1, 2, 0]].copy(), off_skin=0.3)


OF_SURFACES: dict[str, Callable[[Any], Any]] = {
    "bcc_mesh": lambda s: ms.surface.bcc_mesh(s, 0.5),
    "bcc_mesh, sharp": lambda s: ms.surface.bcc_mesh(s, 0.5, compress=True, sharp_angle=0.6, deviation=0.5),
    "enclosing_mesh": lambda s: ms.surface.enclosing_mesh(s, POINTS, 0.5),
    "enclosing_offset": lambda s: ms.surface.enclosing_offset(s, POINTS + 1.0, 0.1),
    "skin_morph": skin_morph,
    "hausdorff_distance": lambda s: ms.surface.hausdorff_distance(s, BLOCK, 0.2),
    "hausdorff_distance, second": lambda s: ms.surface.hausdorff_distance(BLOCK.boundary, s, 0.2),
    "embed": lambda s: ms.collision.embed(s, np.array(BALL.vertices[5:9]), tolerance=1e-9),
    "SubdivisionHierarchy": lambda s: ms.mesh.SubdivisionHierarchy(s, 2),
}
OF_SOLIDS: dict[str, Callable[[Any], Any]] = {
    "TetMesh": ms.mesh.TetMesh,
    "quadratic_mesh": ms.mesh.quadratic_mesh,
    "red_green": lambda m: ms.mesh.red_green(m, lambda x: np.full(len(x), 0.3)),
    "embed": lambda m: ms.collision.embed(m, BLOCK.vertices[BLOCK.tets[2:6]].mean(axis=1)),
    "SubdivisionHierarchy": lambda m: ms.mesh.SubdivisionHierarchy(m, 1),
}


def foreign(library: str, ours: Any) -> Any:
    pytest.importorskip(library)
    return getattr(ours, f"to_{library}")()


def require_same(function: Callable[[Any], Any], theirs: Any, ours: Any) -> None:
    expected = arrays(function(ours))
    assert sum(a.size for a in expected)
    for a, b in zip(arrays(function(theirs)), expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings("ignore::meniscus.surface.DeviationWarning")
@pytest.mark.parametrize("library", ["trimesh", "meshio", "pyvista"])
@pytest.mark.parametrize("name", OF_SURFACES)
def test_functions_of_surfaces(name: str, library: str) -> None:
    require_same(OF_SURFACES[name], foreign(library, BALL), BALL)


@pytest.mark.parametrize("library", ["meshio", "pyvista"])
@pytest.mark.parametrize("name", OF_SOLIDS)
def test_functions_of_solids(name: str, library: str) -> None:
    require_same(OF_SOLIDS[name], foreign(library, BLOCK), BLOCK)


def test_a_surface_with_holes_is_refused_in_any_form() -> None:
    trimesh = pytest.importorskip("trimesh")
    open_ball = trimesh.Trimesh(BALL.vertices, BALL.triangles[3:], process=False)
    with pytest.raises(ValueError, match="surface must be watertight, but has 2 holes"):
        ms.surface.bcc_mesh(open_ball, 0.5)


def test_frames_of_meshes_of_libraries(tmp_path: Path) -> None:
    for library in ("trimesh", "meshio", "vtk"):
        pytest.importorskip(library)
    with ms.io.FrameWriter(tmp_path) as frames:
        frames.write(0.0, ball=BALL.to_trimesh(), block=BLOCK.to_meshio())
    ((_, files),) = ms.io.read_series(tmp_path / "frames.pvd")
    frame = ms.io.read_frame(files, 0)
    np.testing.assert_array_equal(frame.meshes["ball"].elements, BALL.triangles)
    np.testing.assert_array_equal(frame.meshes["block"].elements, BLOCK.tets)


def test_what_is_no_mesh_is_refused() -> None:
    with pytest.raises(TypeError, match="mesh must be a mesh of meshio or an unstructured grid of PyVista, not a str"):
        ms.mesh.TetMesh("mesh")
    with pytest.raises(TypeError, match="mesh must be a TetMesh"):
        ms.mesh.quadratic_mesh(BALL)
    with pytest.raises(TypeError, match="surface must be a LevelSet, Shape, MeshDistance, surface mesh or function, not int"):
        ms.surface.bcc_mesh(3, 0.5)
    with pytest.raises(TypeError, match="sharp_angle needs a surface, such as a TriangleMesh, or a MeshDistance, not Sphere"):
        ms.surface.bcc_mesh(ms.surface.Sphere((0, 0, 0), 1.0), 0.5, compress=True, sharp_angle=0.6)
    with pytest.raises(TypeError, match="first must be a TriangleMesh"):
        ms.surface.hausdorff_distance(3, BALL, 0.1)
