"""Volume conservation on tetrahedra: smear, push-out and velocity correction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tet_vof.meshes import centroids, face_neighbours, inner, lattice, momentum, overfull, rounded, sizes, still

import meniscus as ms
from meniscus.fluids import TetVOF

REST = (0.0, 0.0, 0.0)


def overfilled(mesh: ms.mesh.MovingTetMesh, solid: Any = None, seed: int = 0, most: float = 2.5, **options: Any) -> TetVOF:
    """Water of random amounts, up to `most` times the room, with random velocities, after `move`."""
    vof = TetVOF(mesh, solid, **{"gravity": REST, "crumb": 0.0, "smear": 0, **options})
    rng = np.random.default_rng(seed)
    vof.volume[:] = rounded(vof, vof.capacity * rng.uniform(0, most, len(vof.volume)))
    wet = vof.volume > 0
    vof.velocity[wet] = rng.normal(size=(np.count_nonzero(wet), 3))
    vof.move(1e-3)
    return vof


def out_of(vof: TetVOF) -> tuple[float, np.ndarray]:
    """What has left the mesh since `move`: volume and momentum over density."""
    volume = math.fsum(v for part in vof._left for v in part[2])
    return volume, sum(((part[2][:, None] * part[1]).sum(axis=0) for part in vof._left), np.zeros(3))


# --- smear -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_one_tetrahedron_smears_equal_parts(seed: int) -> None:
    mesh = lattice(0.25, (4, 4, 4), seed, shear=0.2, stir=0.1)
    vof = TetVOF(still(mesh), gravity=REST, smear=1, crumb=0.0)
    neighbours = face_neighbours(mesh.tets)
    t = np.flatnonzero((neighbours >= 0).all(axis=1))[seed * 17 + 3]
    vof.volume[t] = rounded(vof, np.array([3.2 * vof.capacity[t]]))[0]
    vof.velocity[t] = (1.0, -2.0, 0.5)
    excess = vof.volume[t] - vof.capacity[t]
    before = vof.volume.sum()
    vof.move(1e-3)
    vof.smear(1e-3)
    assert vof.volume.sum() == before
    assert vof.volume[t] == pytest.approx(vof.capacity[t], rel=1e-12)
    for n in neighbours[t]:
        assert vof.volume[n] == pytest.approx(excess / 4, rel=1e-12)
        np.testing.assert_allclose(vof.velocity[n], (1.0, -2.0, 0.5), rtol=1e-15)
    assert np.count_nonzero(vof.volume) == 5


@pytest.mark.parametrize("smear", [1, 2, 5])
def test_smear_conserves_volume_and_momentum_and_leaves_the_boundary(smear: int) -> None:
    mesh = lattice(0.25, (5, 4, 4), 3, shear=0.2, stir=0.1)
    vof = overfilled(still(mesh), seed=smear, smear=smear)
    before, old, total = vof.volume.copy(), momentum(vof), math.fsum(vof.volume)
    vof.smear(1e-3)
    assert math.fsum(vof.volume) == total
    assert np.abs(momentum(vof) - old).max() <= 1e-14 * (vof.volume[:, None] * np.abs(vof.velocity)).sum()
    edge = (face_neighbours(mesh.tets) < 0).any(axis=1)
    assert (vof.volume[edge] >= before[edge]).all()


def test_smear_keeps_a_symmetric_blob_symmetric() -> None:
    mesh = lattice(0.25, (6, 6, 6))
    vof = TetVOF(still(mesh), gravity=REST, smear=3, crumb=0.0)
    c = centroids(vof)
    vof.volume[:] = rounded(vof, 3.1 * vof.capacity * (np.abs(c).sum(axis=1) < 0.45))
    vof.move(1e-3)
    vof.smear(1e-3)
    for turn in (np.diag([-1.0, 1, 1]), np.diag([1.0, 1, -1]), np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]])):
        order = np.lexsort(np.round(c, 6).T)
        image = np.lexsort(np.round(c @ turn.T, 6).T)
        np.testing.assert_array_equal(np.round(c[order], 6), np.round((c @ turn.T)[image], 6))
        assert np.abs(vof.volume[order] - vof.volume[image]).max() <= 16 * vof.quantum


# --- push-out ----------------------------------------------------------------------------------------------------------------------

SOLIDS: dict[str, Any] = {
    "mesh alone": None,
    "ball": ms.surface.Sphere((0.1, 0.05, -0.1), 0.3),
    "plate": ms.surface.HalfSpace((0.0, 0.0, -0.2), (0.3, 0.2, 1.0)),
    "two balls": ms.surface.Sphere((0.25, 0.05, 0.0), 0.2) | ms.surface.Sphere((-0.25, 0.0, 0.1), 0.21),
}


def check_push_out(vof: TetVOF, dt: float = 1e-3) -> None:
    """Nothing above capacity, exact balance, and a second sweep that changes no bit."""
    total, old = math.fsum(vof.volume), momentum(vof)
    scale = (vof.volume[:, None] * np.abs(vof.velocity)).sum()
    vof.push_out(dt)
    gone, gone_momentum = out_of(vof)
    assert math.fsum([*vof.volume, *(v for part in vof._left for v in part[2])]) == total
    assert np.abs(momentum(vof) + gone_momentum - old).max() <= 1e-13 * scale
    if vof.running_report.enclosed == 0:
        assert overfull(vof) <= 1e-12
    # A tetrahedron above capacity is enclosed: nothing leads out of it.
    some = np.flatnonzero(vof.volume > vof.capacity * (1 + 1e-12))
    assert len(some) == 0 or vof.running_report.enclosed > 0
    for t in some[vof.rank[some] >= 0]:
        assert vof.way_out(int(t))[0] == "none"
    volume, velocity = vof.volume.copy(), vof.velocity.copy()
    vof.push_out(dt)
    assert np.array_equal(vof.volume, volume)
    assert np.array_equal(vof.velocity, velocity)
    assert out_of(vof)[0] == gone


@pytest.mark.parametrize("solid", SOLIDS.values(), ids=SOLIDS)
@pytest.mark.parametrize("outside", [None, "wall"])
@pytest.mark.parametrize("seed", range(3))
def test_push_out_leaves_nothing_above_capacity(solid: Any, outside: Any, seed: int) -> None:
    mesh = still(lattice(0.25, (5, 5, 5), seed, shear=0.2, stir=0.15))
    vof = overfilled(mesh, solid, seed, most=2.5 if outside is None else 0.9 + 0.9 * (seed == 1), outside=outside)
    check_push_out(vof)


@given(seed=st.integers(0, 10**6), holes=st.floats(0, 0.5), most=st.floats(0.5, 20), closed=st.booleans(), smear=st.integers(0, 2))
def test_push_out_on_random_graphs(seed: int, holes: float, most: float, closed: bool, smear: int) -> None:
    """Random parts are disabled, so that there are dead ends, islands and enclosed tetrahedra."""
    rng = np.random.default_rng(seed)
    rest = lattice(0.25, (3, 3, 3), seed, shear=0.3, stir=0.2)
    off = rng.random(len(rest.tets)) < holes
    mesh = still(rest, disabled=lambda t: off)
    solid = ms.surface.Sphere(tuple(rng.uniform(-0.3, 0.3, 3)), 0.2) if rng.random() < 0.5 else None
    vof = overfilled(mesh, solid, seed, most=min(most, 12.0), outside="wall" if closed else None, smear=smear)
    vof.smear(1e-3)
    check_push_out(vof)


@given(seed=st.integers(0, 10**6), most=st.floats(0.5, 5))
def test_push_out_of_a_soup_of_tetrahedra(seed: int, most: float) -> None:
    """Graphs that no mesh in space has: tetrahedra that share faces at random, with ranks of their own."""
    rng = np.random.default_rng(seed)
    mesh = lattice(0.25, (3, 2, 2), seed)
    keep = np.sort(rng.permutation(len(mesh.tets))[: rng.integers(5, len(mesh.tets))])
    loose = ms.mesh.TetMesh(mesh.vertices, np.ascontiguousarray(mesh.tets[keep][rng.permutation(len(keep))]))
    check_push_out(overfilled(still(loose), None, seed, most))


@pytest.mark.parametrize("solid", [None, SOLIDS["ball"], SOLIDS["plate"]], ids=["mesh alone", "ball", "plate"])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_tetrahedra_and_vertices_do_not_matter(solid: Any, seed: int) -> None:
    mesh = lattice(0.25, (5, 5, 4), seed, shear=0.2, stir=0.15)
    rng = np.random.default_rng(seed)
    tets, vertices = rng.permutation(len(mesh.tets)), rng.permutation(len(mesh.vertices))
    to = np.argsort(vertices)
    corners = np.ascontiguousarray(to[mesh.tets[tets]].astype(np.int32))
    other = ms.mesh.TetMesh(np.ascontiguousarray(mesh.vertices[vertices]), corners)
    a = overfilled(still(mesh), solid, seed, smear=1)
    b = TetVOF(still(other), solid, gravity=REST, crumb=0.0, smear=1)
    b.volume[:], b.velocity[:] = a.volume[tets], a.velocity[tets]
    b.move(1e-3)
    for stage in ("smear", "push_out", "correct"):
        getattr(a, stage)(1e-3)
        getattr(b, stage)(1e-3)
    np.testing.assert_array_equal(a.rank[tets], b.rank)
    assert np.abs(a.volume[tets] - b.volume).max() <= 1e-13 * a.capacity.max()
    scale = np.abs(a.velocity).max()
    some = b.volume > 1e-6 * b.capacity.max()
    assert np.abs(a.velocity[tets] - b.velocity)[some].max() <= 1e-13 * scale * 100
    assert out_of(a)[0] == pytest.approx(out_of(b)[0], rel=1e-13, abs=1e-13 * a.capacity.max())
