"""Volume conservation on tetrahedra: smear, push-out and velocity correction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from support.tet_vof.meshes import centroids, face_neighbours, lattice, momentum, overfull, rounded, still, turned

import meniscus as ms
from meniscus.fluids import TetVOF

REST = (0.0, 0.0, 0.0)


def overfilled(mesh: ms.mesh.MovingTetMesh, solid: Any = None, seed: int = 0, most: float = 2.5, **options: Any) -> TetVOF:
    """Water of random amounts, up to `most` times the room, with random velocities, after `move`."""
    vof = TetVOF(mesh, solid, **{"gravity": REST, "debris": 0.0, "smear": 0, **options})
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
    vof = TetVOF(still(mesh), gravity=REST, smear=1, debris=0.0)
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
    vof = TetVOF(still(mesh), gravity=REST, smear=3, debris=0.0)
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


def parts(neighbours: np.ndarray, enabled: np.ndarray) -> np.ndarray:
    """Numbers of the parts that hang together across faces of enabled tetrahedra."""
    t, k = np.nonzero((neighbours >= 0) & enabled[:, None])
    n = neighbours[t, k]
    both = enabled[n]
    graph = coo_matrix((np.ones(both.sum()), (t[both], n[both])), shape=(len(enabled), len(enabled)))
    return np.asarray(connected_components(graph, directed=False)[1])


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
    # Above capacity is only what is enclosed: no way to the boundary, and no room in all that can be reached across faces.
    above = np.flatnonzero((vof.volume > vof.capacity * (1 + 1e-12)) & (vof.volume - vof.capacity > 16 * vof.quantum) & (vof.rank >= 0))
    assert len(above) == 0 or vof.running_report.enclosed > 0
    neighbours = face_neighbours(vof.tets)
    label = parts(neighbours, vof.rank >= 0)
    for p in np.unique(label[above]):
        inside = label == p
        if vof._boundary.open:
            assert not (neighbours[inside] < 0).any()
        assert (vof.capacity[inside] - vof.volume[inside]).max() <= 64 * vof.quantum
    volume, velocity = vof.volume.copy(), vof.velocity.copy()
    vof.push_out(dt)
    assert np.array_equal(vof.volume, volume)
    assert np.array_equal(vof.velocity, velocity)
    assert out_of(vof)[0] == gone


@pytest.mark.parametrize("way_out", ["ranks", "room"])
@pytest.mark.parametrize("solid", SOLIDS.values(), ids=SOLIDS)
@pytest.mark.parametrize("outside", [None, "wall"])
@pytest.mark.parametrize("seed", range(3))
def test_push_out_leaves_nothing_above_capacity(solid: Any, outside: Any, seed: int, way_out: str) -> None:
    mesh = still(lattice(0.25, (5, 5, 5), seed, shear=0.2, stir=0.15))
    vof = overfilled(mesh, solid, seed, most=2.5 if outside is None else 0.9 + 0.9 * (seed == 1), outside=outside, way_out=way_out)
    check_push_out(vof)


@given(
    seed=st.integers(0, 10**6),
    holes=st.floats(0, 0.5),
    most=st.floats(0.5, 20),
    closed=st.booleans(),
    smear=st.integers(0, 2),
    room=st.booleans(),
)
def test_push_out_on_random_graphs(seed: int, holes: float, most: float, closed: bool, smear: int, room: bool) -> None:
    """Random parts are disabled, so that there are dead ends, islands and enclosed tetrahedra."""
    rng = np.random.default_rng(seed)
    rest = lattice(0.25, (3, 3, 3), seed, shear=0.3, stir=0.2)
    off = rng.random(len(rest.tets)) < holes
    mesh = still(rest, disabled=lambda t: off)
    solid = ms.surface.Sphere(tuple(rng.uniform(-0.3, 0.3, 3)), 0.2) if rng.random() < 0.5 else None
    options = {"smear": smear, "way_out": "room" if room else "ranks"}
    vof = overfilled(mesh, solid, seed, most=min(most, 12.0), outside="wall" if closed else None, **options)
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
    b = TetVOF(still(other), solid, gravity=REST, debris=0.0, smear=1)
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


# --- velocity correction -------------------------------------------------------------------------------------------------------------


def column(acceleration: float, seed: int | None = None, gap: bool = False) -> tuple[TetVOF, np.ndarray]:
    """Water at rest on a plate that moves up with half of the acceleration, m/s, in a mesh that stands; all may be turned."""
    turn = np.eye(3) if seed is None else turned(seed)
    up = turn[:, 2]
    plate = ms.surface.KinematicSolid(
        ms.surface.HalfSpace((0.0, 0.0, 0.0), tuple(up)), lambda t: tuple(0.5 * acceleration * ((t + 0.5) ** 2 - 0.25) * up)
    )
    vof = TetVOF(still(lattice(0.15, (6, 6, 10), seed)), plate, gravity=REST, debris=0.0)
    height = centroids(vof) @ up
    full = (vof.rank >= 0) & (height < 0.5)
    if gap:
        full &= ~((height > 0.15) & (height < 0.35))
    vof.volume[:] = rounded(vof, np.where(full, vof.capacity, 0))
    return vof, up


@pytest.mark.parametrize("seed", [None, 3, 4])
def test_a_column_on_a_plate_that_rises_moves_with_it(seed: int | None) -> None:
    vof, up = column(2.0, seed)
    vof.move(1e-6)
    vof.correct(1e-6)
    neighbours = face_neighbours(vof.tets)
    # Exposed: a column of full tetrahedra, down to the plate.
    full = vof.volume >= vof.capacity - 64 * vof.quantum
    found = (vof.rank == 0) & (vof.volume > 0)
    for _ in range(5 * vof.rank.max()):
        below = (neighbours >= 0) & (found & full)[neighbours] & (vof.rank[neighbours] <= vof.rank[:, None])
        found |= (vof.volume > 0) & below.any(axis=1)
    assert found.sum() > 0.9 * np.count_nonzero(vof.volume)
    np.testing.assert_allclose(vof.velocity[found] @ up, 1.0, rtol=1e-5)
    sideways = vof.velocity[found] - (vof.velocity[found] @ up)[:, None] * up
    assert np.abs(sideways).max() <= 1e-9
    impulse = vof.ledger().impulses["body"]
    assert impulse @ up == pytest.approx(1000 * momentum(vof) @ up, rel=1e-12)
    np.testing.assert_allclose(vof.running_report.force_on_body, -impulse / 1e-6, rtol=1e-12)


def test_a_column_on_a_plate_that_falls_is_not_touched() -> None:
    for seed in (None, 3):
        vof, _ = column(-2.0, seed)
        before = vof.volume.copy()
        vof.move(1e-6)
        vof.correct(1e-6)
        assert np.array_equal(vof.volume, before)
        assert not vof.velocity.any()
        assert not vof.ledger().impulses["body"].any()


@pytest.mark.parametrize("seed", [None, 3])
def test_a_gap_in_a_column_stops_the_correction(seed: int | None) -> None:
    vof, up = column(2.0, seed, gap=True)
    vof.move(1e-6)
    vof.correct(1e-6)
    height = centroids(vof) @ up
    assert (vof.velocity[(height < 0.05) & (vof.volume > 0)] @ up > 0.99).all()
    assert not vof.velocity[height > 0.4].any()


@pytest.mark.parametrize("seed", range(4))
def test_what_was_corrected_does_not_approach_the_solid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    solid = ms.surface.KinematicSolid(ms.surface.Sphere((0.0, 0.0, 0.0), 0.3), lambda t: tuple(t * turned(seed)[0]))
    vof = TetVOF(still(lattice(0.15, (8, 8, 8), seed)), solid, gravity=REST, debris=0.0)
    vof.volume[:] = rounded(vof, vof.capacity * rng.uniform(0, 1.0, len(vof.volume)) ** 0.3)
    wet = vof.volume > 0
    vof.velocity[wet] = rng.normal(size=(wet.sum(), 3))
    vof.move(1e-3)
    before = vof.velocity.copy()
    vof.correct(1e-3)
    normal, speed = vof._geometry.solid_motion(50)
    touched = ((vof.rank == 0) & wet) | (vof.velocity != before).any(axis=1)
    away = np.einsum("ij,ij->i", vof.velocity - speed, normal)
    assert touched.sum() > 50
    assert away[touched].min() >= -1e-14
    # Only along the normal, and only ever outward.
    change = vof.velocity - before
    along = np.einsum("ij,ij->i", change, normal)
    assert along.min() >= 0
    np.testing.assert_allclose(change, along[:, None] * normal, atol=1e-13)


# --- a column that is overfull -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [1.2, 1.6])
def test_the_level_of_an_overfull_column_rises_by_what_was_too_much(more: float) -> None:
    """In a tank: walls and a floor of solid, so that all goes up."""
    inside = ms.surface.Box((-0.4, -0.4, -0.5), (0.4, 0.4, 3.0))
    vof = TetVOF(still(lattice(0.1, (10, 10, 15))), around(inside), debris=0.0)
    vof.fill(ms.surface.Box((-2.0, -2.0, -2.0), (2.0, 2.0, 0.0)))
    low = centroids(vof)[:, 2] < -0.1
    vof.volume[low] = rounded(vof, more * vof.volume[low])
    total = math.fsum(vof.volume)
    vof.step(1 / 60)
    assert math.fsum(vof.volume) == pytest.approx(total, rel=1e-15)
    assert overfull(vof) <= 1e-12
    wet = vof.volume > 0.5 * vof.capacity
    level = total / 0.64 - 0.5
    top = centroids(vof)[wet & (vof.rank >= 0), 2].max()
    assert abs(top - level) <= 0.1
    # Full below, dry above.
    z = centroids(vof)[:, 2]
    deep = (z < level - 0.15) & (vof.capacity > 0) & (vof.rank >= 0)
    assert vof.volume[deep].sum() / vof.capacity[deep].sum() > 0.97


def around(inside: Any) -> Any:
    return ms.surface.KinematicSolid(lambda p: -inside.signed_distance(p), dimension=3)
