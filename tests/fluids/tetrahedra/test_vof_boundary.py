"""The boundary of a mesh with water: pools it moves through, drops that leave, shrinking."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.tet_vof.audit import Audit
from support.tet_vof.meshes import centroids, inner, lattice, momentum, overfull, rounded, sizes, still, turned

import meniscus as ms
from meniscus.fluids import TetVOF

REST = (0.0, 0.0, 0.0)


def everywhere(points: np.ndarray) -> np.ndarray:
    return np.full(len(points), -1.0)


def block(seed: int | None = None) -> ms.mesh.TetMesh:
    """A convex mesh, whose boundary sweeps what its faces do; with a seed turned and stirred."""
    mesh = ms.mesh.tet_block(6, 5, 4)
    x = mesh.vertices - mesh.vertices.mean(axis=0)
    x = x / np.ptp(x, axis=0) * [1.2, 1.0, 0.8]
    if seed is not None:
        x = (x + inner(mesh)[:, None] * np.random.default_rng(seed).uniform(-0.03, 0.03, x.shape)) @ turned(seed).T
    return ms.mesh.TetMesh(np.ascontiguousarray(x), mesh.tets)


def wet(points: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    return np.ones(len(points)), np.zeros_like(points)


def dry(points: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(len(points)), np.zeros_like(points)


@pytest.mark.parametrize("samples", ["random", "exact", "adaptive"])
def test_a_mesh_that_moves_through_a_pool_stays_full(samples: Any) -> None:
    rest = block(2)
    u = np.array([0.6, 0.2, -0.1])
    mesh = ms.mesh.MovingTetMesh(rest, lambda t: rest.vertices + t * u)
    vof = TetVOF(mesh, outside=wet, samples=samples, count=35, gravity=REST)
    vof.fill(everywhere)
    full = vof.capacity.sum()
    audit = Audit()
    # A box that has moved by d shares a box with its former place.
    extent = np.array([1.2, 1.0, 0.8])
    swept = extent.prod() - (extent - np.abs(turned(2).T @ u * 0.1)).prod()
    inflow = emitted = 0.0
    for _ in range(8):
        report = vof.step(0.1, audit)
        inflow, emitted = inflow + report.inflow, emitted + report.emitted
        assert vof.total_volume() == pytest.approx(full, rel=1e-6 if samples == "exact" else 2e-3)
        assert vof.saturation.min() > (0.999999 if samples == "exact" else 0.5)
    tolerance = {"exact": 1e-6, "random": 0.02, "adaptive": 0.02}[samples]
    assert inflow == pytest.approx(8 * swept, rel=tolerance)
    assert inflow - emitted == pytest.approx(vof.total_volume() - full + vof.ledger().waiting, abs=1e-12)


def glide(x: np.ndarray, time: float) -> np.ndarray:
    return x + time * np.array([0.6, 0.2, -0.1])


def creep(x: np.ndarray, time: float) -> np.ndarray:
    return x + time * np.array([0.06, 0.02, -0.01])


def swing(x: np.ndarray, time: float) -> np.ndarray:
    return x + 0.1 * math.sin(6 * time) * np.array([1.0, 0, 0])


def spin(x: np.ndarray, time: float) -> np.ndarray:
    c, s = math.cos(time), math.sin(time)
    return x @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1.0]])


@pytest.mark.fast_cases("glide")
@pytest.mark.parametrize("motion", [glide, creep, swing, spin])
def test_a_mesh_in_a_pool_is_full_by_default(motion: Any) -> None:
    """What points bring too much to some finds what they bring too little to others, and does not leave into the pool."""
    rest = block(2)
    vof = TetVOF(ms.mesh.MovingTetMesh(rest, lambda t: motion(rest.vertices, t)), outside=wet, gravity=REST)
    vof.fill(everywhere)
    parts = []
    for _ in range(40):
        vof.step(0.05)
        parts.append(math.fsum(vof.volume) / math.fsum(sizes(vof.positions, vof.tets)))
    assert np.mean(parts) > 0.999
    assert min(parts) > 0.997
    assert max(parts) <= 1 + 1e-12
    assert abs(vof.ledger().volume_error) <= 1e-15


@pytest.mark.parametrize("samples", ["random", "adaptive", "exact"])
def test_a_pool_fills_a_dry_mesh_that_enters_it_as_far_as_it_has_come(samples: Any) -> None:
    rest = block()
    x = rest.vertices - [rest.vertices[:, 0].max(), 0, 0]
    mesh = ms.mesh.MovingTetMesh(ms.mesh.TetMesh(np.ascontiguousarray(x), rest.tets), lambda t: x + np.array([t, 0, 0]))
    vof = TetVOF(
        mesh, outside=lambda p, t: ((p[:, 0] > 0).astype(float), np.zeros_like(p)), samples=samples, gravity=REST, count=35, seed=4
    )
    audit = Audit()
    for _ in range(20):
        vof.step(0.025, audit)
    area = np.ptp(x[:, 1]) * np.ptp(x[:, 2])
    assert vof.total_volume() == pytest.approx(0.5 * area, rel=1e-9 if samples == "exact" else 0.05)
    assert np.abs(vof.velocity).max() <= 1e-12


def test_nothing_comes_in_from_dry_surroundings() -> None:
    for outside in (dry, None, "wall"):
        rest = lattice(0.25, (5, 4, 4), 2)
        mesh = ms.mesh.MovingTetMesh(rest, lambda t, rest=rest: rest.vertices + t * np.array([0.6, 0.2, -0.1]))
        vof = TetVOF(mesh, outside=outside)
        vof.fill(ms.surface.Sphere((0.0, 0.0, 0.0), 0.3))
        for _ in range(5):
            assert vof.step(0.1).inflow == 0.0
        assert vof.ledger().inflow == 0.0
        assert vof.ledger().impulses["inflow"].tolist() == [0.0, 0.0, 0.0]


def test_inflow_brings_its_momentum() -> None:
    def stream(points: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        return np.full(len(points), 0.25), np.tile([0.0, 3.0, 0.0], (len(points), 1))

    rest = lattice(0.25, (4, 4, 4), 2)
    mesh = ms.mesh.MovingTetMesh(rest, lambda t: rest.vertices + t * np.array([0.6, 0.2, -0.1]))
    vof = TetVOF(mesh, outside=stream, gravity=REST)
    vof.fill(everywhere)
    vof.step(0.05)
    book = vof.ledger()
    assert book.inflow > 0
    np.testing.assert_allclose(book.impulses["inflow"], 1000 * book.inflow * np.array([0, 3.0, 0]), rtol=1e-12, atol=1e-9)


# --- capacity shrinks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solid", [None, ms.surface.Sphere((0.05, 0.0, 0.0), 0.2)], ids=["mesh alone", "ball"])
@pytest.mark.parametrize("stages", ["conservation alone", "all"])
@pytest.mark.parametrize("seed", range(2))
def test_a_mesh_that_shrinks_gives_off_what_it_has_no_room_for(solid: Any, stages: str, seed: int) -> None:
    rest = lattice(0.2, (6, 6, 6), seed, shear=0.2, stir=0.15)
    mesh = ms.mesh.MovingTetMesh(rest, lambda t: rest.vertices * (1 - 0.01 * t))
    vof = TetVOF(mesh, solid, gravity=REST, samples="exact")
    vof.volume[:] = rounded(vof, vof.capacity)
    before, room = math.fsum(vof.volume), vof.capacity.sum()
    if stages == "all":
        vof.step(1.0)
    else:
        vof.move(1.0)
        vof.smear(1.0)
        vof.push_out(1.0)
        vof.emit(1.0)
    lost = room - vof.capacity.sum()
    assert lost > 0.02 * room
    out = math.fsum([*vof.drops["volume"], *vof.waiting.volume])
    assert math.fsum([*vof.volume, *vof.drops["volume"], *vof.waiting.volume]) == before
    # Around the solid, cut tetrahedra of the contracting mesh change places with the water.
    assert out == pytest.approx(lost, rel=1e-3 if solid is not None and stages == "all" else 1e-9)
    assert overfull(vof) <= 1e-12


# --- drops ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.fast_cases("1", "2")
@pytest.mark.parametrize("seed", range(4))
def test_drops_have_radii_within_bounds_and_the_exact_volume(seed: int) -> None:
    solid = ms.surface.Sphere((0.0, 0.0, -0.1), 0.3)
    vof = TetVOF(still(lattice(0.15, (6, 6, 6), seed)), solid, drop_radius=(0.004, 0.02), seed=seed, jitter=1.0)
    vof.fill(everywhere, (0.0, 1.0, -1.0))
    audit = Audit()
    for _ in range(12):
        vof.step(1 / 30, audit)
        # Those that wait are too little for a drop.
        assert (vof.waiting.volume < 4 / 3 * math.pi * 0.004**3).all()
    assert len(vof.drops) > 300
    radius = np.cbrt(vof.drops["volume"] * 3 / (4 * math.pi))
    assert radius.min() >= 0.004 * (1 - 1e-12)
    assert radius.max() <= 0.02 * (1 + 1e-12)
    assert math.fsum([*vof.volume, *vof.drops["volume"], *vof.waiting.volume]) == pytest.approx(vof.ledger().filled, rel=1e-15)
    distance = np.linalg.norm(vof.drops.positions - [0, 0, -0.1], axis=1) - 0.3
    assert (distance >= radius).all()


@pytest.mark.parametrize("jitter", [0.1, 0.5, 1.0])
def test_jitter_has_no_direction_and_stays_within_its_bound(jitter: float) -> None:
    found = []
    for amount in (0.0, jitter):
        mesh = lattice(0.25, (6, 6, 6), 4)
        vof = TetVOF(still(mesh), jitter=amount, gravity=REST, drop_radius=(0.01, 0.03))
        edge = (centroids(vof) * 0 + 1).all(axis=1) & (vof.rank == vof.rank.max())
        vof.volume[edge] = rounded(vof, vof.capacity[edge])
        vof.move(1e-9)
        vof.volume[:] *= 4
        vof.push_out(1e-9)
        vof.volume[:] = 0  # so that every place is free
        vof.emit(1e-9)
        found.append(vof.drops.positions.copy())
    move = found[1] - found[0]
    length = np.linalg.norm(move, axis=1)
    assert len(move) > 500
    assert length.max() <= jitter * 0.25 * (1 + 1e-9)
    assert length.max() > 0.9 * jitter * 0.25
    assert np.abs(move.mean(axis=0)).max() <= 4 * move.std() / math.sqrt(len(move))


def pattern(positions: np.ndarray, axes: np.ndarray, edge: float) -> float:
    """The largest intensity of the positions at the frequencies of the lattice, per drop; 1 for random positions."""
    peak = 0.0
    for axis in axes:
        for n in (1, 2):
            peak = max(peak, float(np.abs(np.exp(2j * np.pi * n * (positions @ axis) / edge).sum()) ** 2 / len(positions)))
    return peak


def test_jitter_hides_the_lattice() -> None:
    """Figure 3.10: emitted without it, drops stand where the mesh has its faces."""
    edge = 0.25
    peaks = []
    for jitter in (0.0, 1.0):
        vof = TetVOF(still(lattice(edge, (8, 8, 8))), jitter=jitter, gravity=REST, drop_radius=(0.02, 0.05), seed=1)
        top = centroids(vof)[:, 2] > 4 * edge - 0.3 * edge
        for _ in range(3):
            vof.volume[:] = rounded(vof, vof.capacity * top)
            vof.velocity[top] = (0.0, 0.0, 4.0)
            vof.step(0.12)
            vof.volume[:] = 0
        peaks.append(pattern(vof.drops.positions, np.eye(3)[:2], edge))
    assert peaks[1] <= 0.1 * peaks[0], peaks


def test_drops_carry_the_momentum_that_leaves() -> None:
    vof = TetVOF(still(lattice(0.2, (5, 5, 5), 3)), gravity=REST)
    vof.fill(everywhere, (2.0, -1.0, 0.5))
    before = momentum(vof)
    for _ in range(4):
        vof.step(0.1)
    drops = (vof.drops["volume"][:, None] * vof.drops["velocity"]).sum(axis=0)
    np.testing.assert_allclose(momentum(vof) + drops + vof.waiting.total()[1], before, rtol=1e-12)
    np.testing.assert_allclose(vof.drops["velocity"], np.tile([2.0, -1.0, 0.5], (len(vof.drops), 1)), rtol=1e-9)


def test_drops_are_not_put_where_there_is_water_or_solid() -> None:
    solid = ms.surface.HalfSpace((0.0, 0.0, -0.3), (0.0, 0.0, 1.0))
    vof = TetVOF(still(lattice(0.2, (6, 6, 6), 1)), solid, jitter=1.0)
    vof.fill(everywhere, (1.0, 0.0, 0.0))
    seen = 0
    for _ in range(6):
        vof.step(1 / 30)
        new = vof.drops.positions[seen:]
        seen = len(vof.drops)
        assert (new[:, 2] > -0.3).all()
    assert seen > 100


def test_sizes_of_shrunk_meshes_are_those_of_their_positions() -> None:
    rest = lattice(0.25, (4, 4, 4), 6, stir=0.2)
    free = inner(rest)
    mesh = ms.mesh.MovingTetMesh(rest, lambda t: rest.vertices * (1 - 0.2 * t) + t * 0.3 * free[:, None] * turned(1)[0])
    vof = TetVOF(mesh)
    for _ in range(3):
        vof.step(0.2)
        np.testing.assert_allclose(vof.capacity, sizes(vof.positions, vof.tets), rtol=1e-12, atol=1e-16)
