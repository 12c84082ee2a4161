"""Forces built from meshes in place of arrays of nodes and positions."""

import numpy as np
from support.build import same_bits
from support.forces.meshes import edges_of, herring_bone, hinges, sphere, tet_block

import meniscus as ms
from meniscus.solids import (
    AltitudeSprings,
    BendingSprings,
    DihedralBending,
    EdgeSprings,
    Pressure,
    ShellAltitudeSprings,
    SpringOptions,
    WindDrag,
)


def test_forces_of_triangle_meshes(rng: np.random.Generator) -> None:
    v, t = herring_bone(4, 3, rng)
    mesh = ms.mesh.TriangleMesh(v, t)
    x = v + 0.2 * rng.uniform(-1, 1, v.shape)
    wind = {"wind": (1.0, 2.0, 3.0)}
    for of_mesh, of_arrays in (
        (EdgeSprings(mesh, SpringOptions(stiffness=2.0)), EdgeSprings(edges_of(t), SpringOptions(stiffness=2.0), v)),
        (BendingSprings(mesh, SpringOptions(stiffness=2.0)), BendingSprings(hinges(t), SpringOptions(stiffness=2.0), v)),
        (DihedralBending(mesh, SpringOptions(stiffness=2.0)), DihedralBending(hinges(t), SpringOptions(stiffness=2.0), v)),
        (ShellAltitudeSprings(mesh, SpringOptions(stiffness=2.0)), ShellAltitudeSprings(hinges(t), SpringOptions(stiffness=2.0), v)),
        (WindDrag(mesh, per_area=2.0, **wind), WindDrag(t, v, per_area=2.0, **wind)),
        (Pressure(mesh, 2.0), Pressure(t, 2.0)),
    ):
        assert np.abs(of_mesh.forces(x)).max() > 0
        assert same_bits(of_mesh.forces(x), of_arrays.forces(x))


def test_forces_of_tetrahedral_meshes(rng: np.random.Generator) -> None:
    v, t = tet_block(2, rng)
    mesh = ms.mesh.TetMesh(v, t)
    x = v + 0.2 * rng.uniform(-1, 1, v.shape)
    for of_mesh, of_arrays in (
        (EdgeSprings(mesh, SpringOptions(stiffness=2.0)), EdgeSprings(edges_of(t), SpringOptions(stiffness=2.0), v)),
        (AltitudeSprings(mesh, SpringOptions(stiffness=2.0)), AltitudeSprings(t, SpringOptions(stiffness=2.0), v)),
    ):
        assert np.abs(of_mesh.forces(x)).max() > 0
        assert same_bits(of_mesh.forces(x), of_arrays.forces(x))


def test_rest_positions_may_differ_from_those_of_the_mesh() -> None:
    v, t = sphere()
    springs = EdgeSprings(ms.mesh.TriangleMesh(v, t), SpringOptions(stiffness=1.0), 2 * v)
    assert same_bits(springs.forces(2 * v), np.zeros_like(v))
    assert springs.energy(v) > 0


def test_every_force_of_elements_has_one_line() -> None:
    block, cloth = ms.mesh.tet_block(1, 1, 1), ms.mesh.cloth_mesh(3, 3)
    forces = [
        ms.solids.TetElements(block, youngs_modulus=1.0),
        ms.solids.QuadraticTetElements(ms.mesh.quadratic_mesh(block), youngs_modulus=1.0),
        ms.solids.TriangleMembrane(cloth, youngs_modulus=1.0, thickness=1.0),
        ms.solids.EdgeSprings(block, ms.solids.SpringOptions(stiffness=1.0)),
    ]
    for force in forces:
        line = repr(force)
        assert line.startswith(f"<{type(force).__name__}: ")
        assert "\n" not in line
        assert " elements, nodes below " in line
