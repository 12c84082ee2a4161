"""Bending angles, the published forces, and the droop of strips."""

from typing import Any

import numpy as np
import pytest
from support.forces.meshes import edges_of, herring_bone, hinges
from support.motion import symplectic
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import (
    BendingConstraints,
    BendingSprings,
    DihedralBending,
    EdgeSprings,
    ShellAltitudeSprings,
    SpringOptions,
    dihedral_angles,
)

HINGE = np.array([[0, 1, 2, 3]], np.int32)


def hinge(angle: float) -> np.ndarray:
    """An edge along x and two triangles, the second folded towards the side of their normals (z) by an angle."""
    return np.array([(0.0, 0, 0), (2.0, 0, 0), (0.5, 1.0, 0), (1.2, -1.5 * np.cos(angle), 1.5 * np.sin(angle))])


def modes(x: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The bending mode of the four nodes, the length of the edge and the sum of twice the areas, as printed by Bridson et al."""
    x3, x4, x1, x2 = x
    e = x4 - x3
    length = np.linalg.norm(e)
    n1, n2 = np.cross(x1 - x3, x1 - x4), np.cross(x2 - x4, x2 - x3)
    m1, m2 = n1 / (n1 @ n1), n2 / (n2 @ n2)
    u1, u2 = length * m1, length * m2
    u3 = (x1 - x4) @ e / length * m1 + (x2 - x4) @ e / length * m2
    u4 = -((x1 - x3) @ e) / length * m1 - (x2 - x3) @ e / length * m2
    return np.array([u3, u4, u1, u2]), float(length), float(np.linalg.norm(n1) + np.linalg.norm(n2))


@pytest.mark.parametrize("angle", [-3.1, -2.0, -0.5, -1e-9, 0.0, 1e-3, 1.0, 2.5, 3.1])
def test_angles(angle: float) -> None:
    assert dihedral_angles(HINGE, hinge(angle))[0] == pytest.approx(angle, rel=1e-13, abs=1e-15)
    # Seen from the other triangle, and from the other side of the surface.
    assert dihedral_angles(np.array([[1, 0, 3, 2]], np.int32), hinge(angle))[0] == pytest.approx(angle, rel=1e-13, abs=1e-15)
    assert dihedral_angles(np.array([[1, 0, 2, 3]], np.int32), hinge(angle))[0] == pytest.approx(-angle, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("law", ["shell", "sine", "bridson"])
def test_forces_are_those_that_are_printed(law: str, rng: np.random.Generator) -> None:
    for _ in range(20):
        rest = hinge(0.4) + 0.2 * rng.uniform(-1, 1, (4, 3))
        x, v = hinge(-0.9) + 0.2 * rng.uniform(-1, 1, (4, 3)), rng.standard_normal((4, 3))
        bending = DihedralBending(HINGE, SpringOptions(stiffness=3.0, damping=0.7), rest, law=law)  # type: ignore[arg-type]
        u, length, areas = modes(x)
        _, rest_length, rest_areas = modes(rest)
        a, a0 = bending.angles(x)[0], bending.rest_angles[0]
        assert a0 == dihedral_angles(HINGE, rest)[0]
        weight = length**2 / areas if law == "bridson" else rest_length**2 / rest_areas
        moment = 3.0 * weight * (a - a0 if law == "shell" else np.sin(a / 2) - np.sin(a0 / 2))
        assert np.abs(bending.forces(x) + moment * u).max() <= 1e-13 * np.abs(moment * u).max()
        # The mode is the gradient of the angle, and damping takes energy out of its rate.
        rate = (u * v).sum()
        h = 1e-6
        assert (dihedral_angles(HINGE, x + h * v)[0] - dihedral_angles(HINGE, x - h * v)[0]) / (2 * h) == pytest.approx(rate, rel=1e-7)
        expected = -0.7 * length * rate * u
        found = bending.damping_forces(x, v)
        assert np.abs(found - expected).max() <= 1e-13 * np.abs(expected).max()
        assert np.vdot(found, v) < 0
        assert bending.strain_rate(x, v) == pytest.approx(abs(rate), rel=1e-12)


def test_stretching_in_the_plane_does_not_bend() -> None:
    x = hinge(0.0)
    bending = DihedralBending(HINGE, SpringOptions(stiffness=3.0), x)
    squeezed = x * [0.7, 1.3, 1]
    assert not bending.forces(squeezed).any()
    assert bending.energy(squeezed) == 0


@pytest.mark.parametrize("law", ["shell", "sine"])
def test_a_hinge_alone_is_critically_damped_at_the_fraction_one(law: str) -> None:
    m = np.array([1.0, 2, 3, 4])
    rest = hinge(0.6)
    bending = DihedralBending(HINGE, SpringOptions(stiffness=3.0, damping_fraction=1.0, masses=m), rest, law=law)  # type: ignore[arg-type]
    u, _, _ = modes(rest)
    inertia = 1 / ((u**2).sum(axis=1) / m).sum()
    # Along the mode, each node moves by its gradient over its mass.
    motion = u / m[:, None] * inertia
    stiffness = -np.vdot(bending.differentials(rest, motion), motion)
    damping = -np.vdot(bending.damping_forces(rest, motion), motion)
    assert damping == pytest.approx(2 * np.sqrt(stiffness * inertia), rel=1e-12)


def test_triangles_that_collapse_lose_their_angle_and_get_it_back() -> None:
    rest = hinge(0.5)
    for law in ("shell", "sine", "bridson"):
        bending = DihedralBending(HINGE, SpringOptions(stiffness=3.0, damping=1.0), rest, law=law)  # type: ignore[arg-type]
        v = np.ones((4, 3)) * np.arange(4)[:, None]
        for node, place in ((2, (0.7, 0, 0)), (3, (2.0, 0, 0)), (1, (0.0, 0, 0))):
            x = rest.copy()
            x[node] = place
            for answer in (bending.forces(x), bending.damping_forces(x, v), bending.differentials(x, v), bending.stiffness_bounds(x)):
                assert not answer.any()
        thin = hinge(0.9)
        thin[2, 1] = 1e-3
        assert bending.forces(thin).any()
    # A triangle without area at rest never has an angle.
    flat = rest.copy()
    flat[2] = (1.0, 0, 0)
    assert not DihedralBending(HINGE, SpringOptions(stiffness=3.0), flat, rest_angles=[0.0]).forces(rest).any()


def test_given_rest_angles() -> None:
    x = hinge(0.3)
    bending = DihedralBending(HINGE, SpringOptions(stiffness=2.0), x, rest_angles=[0.8])
    _, length, areas = modes(x)
    assert bending.energy(x) == pytest.approx(0.5 * 2.0 * length**2 / areas * 0.25, rel=1e-13)
    assert not DihedralBending(HINGE, SpringOptions(stiffness=2.0), x, rest_angles=[0.3]).forces(hinge(0.3)).round(14).any()


def strip() -> tuple[Any, ...]:
    """Vertices of a strip, its clamped end, its hinges, and springs of its edges."""
    v, t = herring_bone(6, 1)
    edges = EdgeSprings(edges_of(t), SpringOptions(stiffness=200.0, damping_fraction=0.2, masses=0.1), v)
    return v, np.flatnonzero(v[:, 0] <= 1), hinges(t), edges


@pytest.mark.parametrize("kind", slow_but(["shell", "sine", "bridson", "springs"], "shell"))
def test_stiffer_strips_droop_less(kind: Any) -> None:
    v, fixed, pairs, edges = strip()
    droop = []
    for k in (1.0, 4.0, 16.0):
        force = (
            BendingSprings(pairs, SpringOptions(stiffness=10 * k, damping_fraction=0.5, masses=0.1), v)
            if kind == "springs"
            else DihedralBending(pairs, SpringOptions(stiffness=k, damping_fraction=0.2, masses=0.1), v, law=kind)
        )
        x = symplectic([edges, force], v, 0.1, 0.01, 3000, gravity=1.0, ether=0.03, fixed=fixed)
        droop.append(-x[-2:, 2].mean())
    assert droop[0] > droop[1] > droop[2] > 0


@pytest.mark.slow
def test_small_deflections_are_inversely_proportional_to_the_stiffness() -> None:
    v, fixed, pairs, edges = strip()
    small = []
    for k in (200.0, 400.0):
        stiff = DihedralBending(pairs, SpringOptions(stiffness=k, damping_fraction=0.3, masses=0.1), v)
        x = symplectic([edges, stiff], v, 0.1, 0.003, 6000, gravity=0.5, ether=0.2, fixed=fixed)
        small.append(-x[-2:, 2].mean())
    assert small[0] / small[1] == pytest.approx(2, rel=0.02)


def test_what_bending_refuses() -> None:
    x = hinge(0.3)
    with pytest.raises(ValueError, match="law must be one of 'shell', 'sine', 'bridson'"):
        DihedralBending(HINGE, SpringOptions(stiffness=1.0), x, law="cosine")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^law must be one of 'shell', 'sine', 'bridson', not 'x'$"):  # before what else is wrong
        DihedralBending(HINGE, SpringOptions(spring_constant=np.ones(5)), law="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="hinge 0 has the node 2 twice"):
        DihedralBending(np.array([[0, 1, 2, 2]], np.int32), SpringOptions(stiffness=1.0), x)
    with pytest.raises(ValueError, match=r"shape \(m, 4\)"):
        DihedralBending(np.array([[0, 1, 2]], np.int32), SpringOptions(stiffness=1.0), x)
    assert DihedralBending(HINGE[:0], SpringOptions(stiffness=1.0), x).energy(x) == 0


def test_triangles_that_are_there_twice_are_named() -> None:
    """Not the spring that joins a node to itself."""
    sheet = ms.mesh.cloth_mesh(3, 3, (1.0, 1.0))
    # All edges of this triangle but one are on the rim, so that an edge has it twice and no other.
    corner = next(t for t in sheet.triangles.tolist() if sum(v in sheet.boundary.segments for v in t) == 3)
    twice = ms.mesh.TriangleMesh(sheet.vertices, [*sheet.triangles.tolist(), corner[1:] + corner[:1]])
    first = sheet.triangles.tolist().index(corner)
    said = (
        rf"triangles {first} and {len(sheet.triangles)} of mesh have the same corners, {', '.join(map(str, sorted(corner)))}; mesh.repair"
    )
    for kind in (BendingSprings, ShellAltitudeSprings, DihedralBending):
        with pytest.raises(ValueError, match=said):
            kind(twice, SpringOptions(stiffness=1.0) if kind is not DihedralBending else SpringOptions(spring_constant=1.0))
    with pytest.raises(ValueError, match=said):
        BendingConstraints(twice)
    with pytest.raises(ValueError, match="hinge 0 has the node 2 twice: its triangles are the same"):
        BendingSprings(np.array([[0, 1, 2, 2]], np.int32), SpringOptions(stiffness=1.0), np.eye(3))
    assert len(ms.mesh.repair(twice)[0].triangles) == len(sheet.triangles)


@pytest.mark.parametrize("measure", ["isometric", "dihedral", "printed"])
def test_flat_triangles_of_bending_constraints_are_named(measure: Any) -> None:
    """Not the constraint whose value is no number."""
    x = np.array([(0.0, 0, 0), (1.0, 0, 0), (0.3, 1.0, 0), (0.4, 0.0, 0)])
    flat = ms.mesh.TriangleMesh(x, [[0, 1, 2], [1, 0, 3]])
    with pytest.raises(ValueError, match=r"triangle 1 has no area at rest .*; mesh.repair takes it out"):
        BendingConstraints(flat, measure=measure)
