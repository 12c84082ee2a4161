"""Everything that takes a surface takes it in every form in which users have one, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.meshes import torus

import meniscus as ms
from meniscus.mesh import TetMesh, TriangleMesh, tet_block

VERTICES, TRIANGLES = torus(1.0, 0.4, 24, 16)


def as_trimesh() -> Any:
    return pytest.importorskip("trimesh").Trimesh(VERTICES, TRIANGLES, process=False)


def as_meshio() -> Any:
    return pytest.importorskip("meshio").Mesh(VERTICES, [("triangle", TRIANGLES)])


def as_pyvista() -> Any:
    return pytest.importorskip("pyvista").PolyData.from_regular_faces(VERTICES, TRIANGLES)


FORMS: dict[str, Callable[[], Any]] = {
    "TriangleMesh": lambda: TriangleMesh(VERTICES, TRIANGLES),
    "arrays": lambda: (VERTICES, TRIANGLES),
    "lists": lambda: (VERTICES.tolist(), TRIANGLES.tolist()),
    "int64 and Fortran order": lambda: (np.asfortranarray(VERTICES), np.asfortranarray(TRIANGLES.astype(np.int64))),
    "trimesh": as_trimesh,
    "meshio": as_meshio,
    "pyvista": as_pyvista,
}
POINTS = np.random.default_rng(5).uniform(-1.6, 1.6, (200, 3))


def solid_distances(surface: Any) -> Any:
    return ms.surface.KinematicSolid(surface, motion=lambda t: (t, 0.0, 0.0)).signed_distance(POINTS, 0.25)


def level_set(surface: Any) -> Any:
    return ms.surface.LevelSet.from_mesh(ms.Grid((9, 8, 7), 0.5, (-2.2, -2.0, -1.7)), surface).array.copy()


def emitted(surface: Any) -> Any:
    grid = ms.Grid((12, 12, 8), 0.25, (-1.5, -1.5, -1.0))
    gas = ms.fluids.SmokeSolver(grid, emitters=[ms.fluids.Emitter(region=surface, density=1.0)])
    gas.step(0.01)
    return gas.density.array.copy()


def filled(surface: Any) -> Any:
    liquid = ms.fluids.ParticleLiquidSolver(ms.Grid((12, 12, 8), 0.25, (-1.5, -1.5, -1.0)))
    liquid.fill(surface)
    return np.sort(liquid.particles.positions, axis=0)


USES: dict[str, Callable[[Any], Any]] = {
    "TriangleMesh": lambda s: TriangleMesh(s).vertices,
    "check_watertight": lambda s: str(ms.mesh.check_watertight(s)),
    "MeshDistance": lambda s: ms.surface.MeshDistance(s).signed_distance(POINTS),
    "LevelSet.from_mesh": level_set,
    "KinematicSolid": solid_distances,
    "MeshShape": lambda s: (ms.surface.MeshShape(s) - ms.surface.Sphere((1, 0, 0), 0.5)).signed_distance(POINTS),
    "CollisionMesh": lambda s: ms.collision.CollisionMesh(s).edges,
    "ThickSurface": lambda s: ms.collision.ThickSurface(s, thickness=1e-3).classify(POINTS[:100], POINTS[100:]),
    "ThickSurface, in order": lambda s: ms.collision.ThickSurface(s, 1e-3).classify(POINTS[:100], POINTS[100:]),
    "closest_point": lambda s: ms.collision.closest_point(s, POINTS).distances,
    "winding_number": lambda s: ms.collision.winding_number(s, POINTS),
    "Emitter": emitted,
    "ParticleLiquidSolver.fill": filled,
}


@pytest.mark.parametrize("use", USES)
def test_every_form_of_a_surface_gives_the_bits_of_the_arrays(use: str) -> None:
    expected = USES[use]((VERTICES, TRIANGLES))
    for name, form in FORMS.items():
        if name in ("trimesh", "meshio", "pyvista"):
            pytest.importorskip(name)
        result = USES[use](form())
        assert np.array_equal(result, expected), name


def test_two_arguments_are_as_good_as_one() -> None:
    mesh = TriangleMesh(VERTICES, TRIANGLES)
    assert np.array_equal(ms.collision.closest_point(*mesh, POINTS).distances, ms.collision.closest_point(mesh, POINTS).distances)
    assert np.array_equal(ms.collision.winding_number(*mesh, POINTS), ms.collision.winding_number(mesh, POINTS))
    a = ms.collision.ThickSurface(VERTICES, TRIANGLES, 1e-3).classify(POINTS[:100], POINTS[100:])
    assert np.array_equal(a, ms.collision.ThickSurface(mesh, 1e-3).classify(POINTS[:100], POINTS[100:]))


def test_polygons_of_other_libraries_are_cut_into_triangles() -> None:
    x = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0.5, 0], [0.5, 2, 0.0]])
    expected = [[0, 1, 2], [0, 2, 3], [1, 4, 2], [2, 5, 3]]
    meshio, pyvista = pytest.importorskip("meshio"), pytest.importorskip("pyvista")
    assert TriangleMesh(meshio.Mesh(x, [("quad", [[0, 1, 2, 3]]), ("triangle", expected[2:])])).triangles.tolist() == expected
    polygons = pyvista.PolyData(x, np.array([4, 0, 1, 2, 3, 3, 1, 4, 2, 3, 2, 5, 3]))
    assert TriangleMesh(polygons).triangles.tolist() == expected
    five = pyvista.PolyData(x, np.array([5, 0, 1, 4, 2, 3]))
    assert TriangleMesh.from_pyvista(five).triangles.tolist() == [[0, 1, 4], [0, 4, 2], [0, 2, 3]]


def test_meshes_go_to_other_libraries_and_come_back() -> None:
    mesh = TriangleMesh(VERTICES, TRIANGLES)
    moved = np.ascontiguousarray(2.0 * VERTICES)
    for there, back in (("to_trimesh", "from_trimesh"), ("to_meshio", "from_meshio"), ("to_pyvista", "from_pyvista")):
        pytest.importorskip(there[3:])
        assert getattr(TriangleMesh, back)(getattr(mesh, there)()) == mesh
        assert getattr(TriangleMesh, back)(getattr(mesh, there)(moved)) == mesh.moved(moved)
    block = tet_block(2, 3, 1)
    for there, back in (("to_meshio", "from_meshio"), ("to_pyvista", "from_pyvista")):
        pytest.importorskip(there[3:])
        assert getattr(TetMesh, back)(getattr(block, there)()) == block
    assert TriangleMesh(block) == block.boundary
    other = pytest.importorskip("trimesh")
    mesh.to_trimesh().vertices[0] = 7.0
    assert mesh.vertices[0, 0] != 7.0
    assert isinstance(mesh.to_trimesh(), other.Trimesh)


def test_constructors_convert_and_keep_nothing_that_can_change() -> None:
    x, t = VERTICES.copy(), TRIANGLES.astype(np.int64)
    mesh = TriangleMesh(x, t)
    x += 1.0
    t[:] = 0
    assert np.array_equal(mesh.vertices, VERTICES)
    assert np.array_equal(mesh.triangles, TRIANGLES)
    single = TriangleMesh(VERTICES.astype(np.float32), TRIANGLES)
    assert single.vertices.dtype == np.float64
    assert np.array_equal(single.vertices, VERTICES.astype(np.float32))
    vertices, triangles = mesh
    assert vertices is mesh.vertices
    assert triangles is mesh.triangles
    assert not vertices.flags.writeable


@pytest.mark.parametrize(
    ("surface", "error", "words"),
    [
        (None, TypeError, "must be a TriangleMesh, .* not None"),
        (VERTICES, TypeError, "not an array alone"),
        (object(), TypeError, "not a object"),
        ((VERTICES,), ValueError, "not a sequence of 1"),
        ((VERTICES, TRIANGLES.astype(float)), TypeError, "triangles must hold integers, not float64"),
        ((VERTICES.astype(complex), TRIANGLES), TypeError, "vertices must hold numbers, not complex128"),
        ((VERTICES[:, :2], TRIANGLES), ValueError, r"vertices must have shape \(n, 3\)"),
        ((VERTICES, TRIANGLES[:, :2]), ValueError, r"triangles must have shape \(m, 3\)"),
        ((VERTICES, TRIANGLES + np.int64(2**40)), ValueError, r"triangles must hold indices from 0 to 2\^31 - 1, but \[0, 0\] is"),
        ((VERTICES, TRIANGLES + 10**6), ValueError, "triangles must hold indices of the 384 vertices"),
        ((VERTICES * np.nan, TRIANGLES), ValueError, r"vertices must be finite, but \[0, 0\] is nan"),
    ],
)
def test_what_is_no_surface_is_refused_in_one_sentence(surface: Any, error: type[Exception], words: str) -> None:
    for use in (TriangleMesh, ms.surface.MeshDistance, ms.collision.CollisionMesh):
        with pytest.raises(error, match=words):
            use(surface)


def test_meshes_move_scale_and_turn_about_points() -> None:
    block = tet_block(2, 1, 1).translated((1.0, 2.0, 3.0))
    low, high = block.bounds
    assert low.tolist() == [1, 2, 3]
    assert high.tolist() == [2, 3, 4]
    half = block.scaled(0.5, about=low)
    assert np.allclose(half.bounds[1], [1.5, 2.5, 3.5], rtol=0, atol=1e-15)
    assert half.volume() == pytest.approx(block.volume() / 8, rel=1e-14)
    flat = block.scaled((1.0, 2.0, 0.25))
    assert flat.volume() == pytest.approx(block.volume() / 2, rel=1e-14)
    s = np.sqrt(0.5)
    turned = block.rotated((s, 0.0, 0.0, s), about=low)  # a right angle about z
    assert np.allclose(turned.bounds[0], [0, 2, 3], rtol=0, atol=1e-15)
    assert turned.volume() == pytest.approx(block.volume(), rel=1e-14)
    for bad in (0.0, -1.0, (1.0, 0.0, 1.0)):
        with pytest.raises(ValueError, match="factor must be positive"):
            block.scaled(bad)
    with pytest.raises(ValueError, match="rotation must be an orthogonal matrix"):
        block.rotated(2 * np.eye(3))
