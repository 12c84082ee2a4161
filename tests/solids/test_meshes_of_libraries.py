"""Bodies and forces take meshes of trimesh, meshio and PyVista: the same bits as with ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from meniscus import mesh, solids

FLAT = mesh.cloth_mesh(5, 4, (1.3, 0.8))
SURFACE = FLAT.moved(FLAT.vertices + 0.3 * np.sin(3 * FLAT.vertices[:, [2, 2, 0]])).rotated((0.8, 0.0, 0.6, 0.0))
SOLID = mesh.tet_block(3, 2, 2, (1.1, 0.9, 0.7), pattern="five").rotated((0.6, 0.8, 0.0, 0.0))
SPRINGS = solids.SpringOptions(stiffness=7.0, damping=0.1)

ON_SURFACES: dict[str, Callable[[Any], solids.Force]] = {
    "EdgeSprings": lambda m: solids.EdgeSprings(m, SPRINGS),
    "BendingSprings": lambda m: solids.BendingSprings(m, SPRINGS),
    "DihedralBending": lambda m: solids.DihedralBending(m, SPRINGS),
    "ShellAltitudeSprings": lambda m: solids.ShellAltitudeSprings(m, SPRINGS),
    "TriangleMembrane": lambda m: solids.TriangleMembrane(m, youngs_modulus=1e4, thickness=1e-3),
    "WindDrag": lambda m: solids.WindDrag(m, per_area=0.3, wind=(1.0, 2.0, 3.0)),
    "Pressure": lambda m: solids.Pressure(m, 20.0),
}
ON_SOLIDS: dict[str, Callable[[Any], solids.Force]] = {
    "EdgeSprings": lambda m: solids.EdgeSprings(m, SPRINGS),
    "AltitudeSprings": lambda m: solids.AltitudeSprings(m, SPRINGS),
    "TetElements": lambda m: solids.TetElements(m, youngs_modulus=1e4),
}


def foreign(library: str, ours: Any) -> Any:
    pytest.importorskip(library)
    return getattr(ours, f"to_{library}")()


def require_equal(make: Callable[[Any], solids.Force], theirs: Any, ours: Any) -> None:
    given, expected = make(theirs), make(ours)
    rng = np.random.default_rng(5)
    x = ours.vertices + 0.05 * rng.standard_normal(ours.vertices.shape)
    v = rng.standard_normal(x.shape)
    given.prepare(x, v, 0.0)
    expected.prepare(x, v, 0.0)
    total = np.abs(expected.forces(x)).sum() + np.abs(expected.damping_forces(x, v)).sum()
    assert total > 0
    np.testing.assert_array_equal(given.forces(x), expected.forces(x))
    np.testing.assert_array_equal(given.damping_forces(x, v), expected.damping_forces(x, v))


@pytest.mark.parametrize("library", ["trimesh", "meshio", "pyvista"])
@pytest.mark.parametrize("force", ON_SURFACES)
def test_forces_on_surfaces(force: str, library: str) -> None:
    require_equal(ON_SURFACES[force], foreign(library, SURFACE), SURFACE)


@pytest.mark.parametrize("library", ["meshio", "pyvista"])
@pytest.mark.parametrize("force", ON_SOLIDS)
def test_forces_in_solids(force: str, library: str) -> None:
    require_equal(ON_SOLIDS[force], foreign(library, SOLID), SOLID)


def test_vertices_and_triangles_are_a_surface() -> None:
    require_equal(ON_SURFACES["EdgeSprings"], (SURFACE.vertices, SURFACE.triangles.astype(np.int64)), SURFACE)


@pytest.mark.parametrize(("ours", "library"), [(SURFACE, "trimesh"), (SURFACE, "pyvista"), (SOLID, "meshio"), (SOLID, "pyvista")])
def test_bodies(ours: Any, library: str) -> None:
    body, expected = solids.DeformableBody(foreign(library, ours), density=3.0), solids.DeformableBody(ours, density=3.0)
    np.testing.assert_array_equal(body.masses, expected.masses)
    np.testing.assert_array_equal(body.positions, expected.positions)


@pytest.mark.parametrize(
    ("make", "wrong", "what"),
    [
        (ON_SOLIDS["TetElements"], SURFACE, "tets, which a TriangleMesh"),
        (ON_SOLIDS["AltitudeSprings"], SURFACE, "tets, which a TriangleMesh"),
        (ON_SURFACES["TriangleMembrane"], SOLID, "triangles, which a TetMesh"),
        (ON_SURFACES["WindDrag"], SOLID, "triangles, which a TetMesh"),
        (ON_SURFACES["DihedralBending"], SOLID, "hinges, which a TetMesh"),
    ],
)
def test_a_mesh_of_the_wrong_kind_is_named(make: Callable[[Any], solids.Force], wrong: Any, what: str) -> None:
    with pytest.raises(TypeError, match=f"mesh must have {what} does not have"):
        make(wrong)
