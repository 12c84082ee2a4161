"""Water on meshes with tetrahedra of very different sizes, and in closed meshes whose elements come and go."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.tet_vof.audit import Audit
from support.tet_vof.meshes import centre, centroids, inner, lattice, rounded, sizes, still, turned

import meniscus as ms
from meniscus.fluids import TetVOF

REST = (0.0, 0.0, 0.0)
TRANSPORT = ("move", "request", "deliver", "forward")


def graded(seed: int | None = None, counts: tuple[int, int, int] = (4, 4, 4), finest: float = 0.12) -> ms.mesh.TetMesh:
    """A lattice of cells of 0.5 m about the origin, refined by red-green cuts around a point; with a seed turned."""
    coarse = lattice(0.5, counts)
    mesh = ms.mesh.red_green(coarse, lambda x: finest + 0.5 * np.linalg.norm(x - [-0.2, 0.1, 0.0], axis=1))
    if seed is None:
        return mesh
    return ms.mesh.TetMesh(np.ascontiguousarray(mesh.vertices @ turned(seed).T), mesh.tets)


def test_the_mesh_is_graded() -> None:
    mesh = graded()
    v = sizes(mesh.vertices, mesh.tets)
    assert v.max() >= 64 * v.min()
    assert len(np.unique(np.round(np.log2(v.max() / v)))) >= 5  # green tetrahedra, too


@pytest.mark.parametrize("samples", ["random", "independent", "fixed", "exact", "adaptive"])
@pytest.mark.parametrize("edges", [0.1, 3.0])
def test_water_that_moves_with_a_graded_mesh_is_not_touched(samples: Any, edges: float) -> None:
    rest = graded(5)
    u = turned(3) @ np.array([0.7, -0.3, 0.2])
    vof = TetVOF(ms.mesh.MovingTetMesh(rest, lambda t: rest.vertices + t * u), samples=samples, gravity=REST, debris=0.0)
    blob = np.linalg.norm(centroids(vof), axis=1) < 0.6
    vof.volume[:] = rounded(vof, vof.capacity * np.random.default_rng(2).random(len(blob)) * blob)
    vof.velocity[vof.volume > 0] = u
    before, largest = vof.volume.copy(), vof.capacity.max()
    for _ in range(3):
        vof.step(edges * 0.12 / np.linalg.norm(u))
        assert np.abs(vof.volume - before).max() <= 1e-13 * largest
        assert np.abs(vof.velocity[vof.volume > 1e-10 * largest] - u).max() <= 1e-12
        assert math.fsum(vof.volume) == math.fsum(before)


@pytest.mark.fast_cases("0", "3")
@pytest.mark.parametrize("seed", range(6))
def test_ledgers_hold_on_graded_meshes(seed: int) -> None:
    """In motion that inverts the smallest elements, around a body that crosses all sizes."""
    rest = graded(seed, (3, 3, 3))
    rng = np.random.default_rng(seed)
    free = inner(rest)[:, None] * rng.normal(size=rest.vertices.shape)
    mesh = ms.mesh.MovingTetMesh(
        rest,
        lambda t: np.ascontiguousarray(rest.vertices * (1 + 0.1 * np.sin(7 * t)) + 0.03 * np.sin(11 * t) * free),
        disabled=(lambda t: np.random.default_rng([seed, round(20 * t)]).random(len(rest.tets)) < 0.1) if seed % 2 else None,
    )
    solid = ms.surface.KinematicSolid(ms.surface.Sphere(REST, 0.2), lambda t: (-0.3 + 1.5 * t, 0.1, 0.0))
    samples: Any = ("random", "exact", "adaptive")[seed % 3]
    vof = TetVOF(mesh, solid, samples=samples, outside=(None, "wall")[seed // 3], adhesion=3.0)
    vof.volume[:] = vof.capacity * rng.random(len(vof.volume)) * (rng.random(len(vof.volume)) < 0.6)
    audit = Audit()
    for _ in range(8):
        if rng.random() < 0.5:
            vof.velocity[:] = rng.normal(size=vof.velocity.shape) * rng.choice([0.1, 1.0, 5.0])
        vof.step(0.05, audit)
    assert audit.calls == 8 * len(TetVOF.stages)
    assert audit.worst_overfill <= 1e-12


def transport(vof: TetVOF, dt: float) -> None:
    for stage in TRANSPORT:
        getattr(vof, stage)(dt)
    vof.time, vof.steps, vof._moved_by = vof.time + dt, vof.steps + 1, None


@pytest.mark.fast_cases("2.0-*", "*-direction2")
@pytest.mark.parametrize("direction", [(0.9, 0.3, 0.2), (-0.9, -0.3, -0.2), (0.0, 0.0, 1.0)])
@pytest.mark.parametrize(("edges", "steps"), [(0.05, 8), (0.5, 6), (2.0, 2)])
def test_a_blob_drifts_across_all_sizes(edges: float, steps: int, direction: tuple[float, float, float]) -> None:
    """With exact overlaps; edges are those of the finest tetrahedra.

    Within 4 %, where lattices of one size are within 0.5 %: water that has come into a tetrahedron is everywhere in it, so that it spreads
    farther where these are larger, and its centre moves there.
    """
    vof = TetVOF(still(graded(None, (6, 5, 5))), samples="exact", gravity=REST, debris=0.0)
    u = np.array(direction) / np.linalg.norm(direction)
    blob = np.linalg.norm(centroids(vof) - [-0.3, 0.0, 0.0], axis=1) < 0.4
    assert sizes(vof.positions, vof.tets)[blob].max() >= 8 * sizes(vof.positions, vof.tets)[blob].min()
    vof.volume[:] = rounded(vof, vof.capacity * blob)
    vof.velocity[blob] = u
    before = centre(vof)
    for _ in range(steps):
        transport(vof, edges * 0.12)
    book = vof.ledger()
    assert book.volume_error == 0
    assert book.waiting == 0
    np.testing.assert_allclose(vof.velocity[vof.volume > 0], np.tile(u, (np.count_nonzero(vof.volume), 1)), rtol=0, atol=1e-12)
    assert (centre(vof) - before) @ u == pytest.approx(steps * edges * 0.12, rel=0.04)


def test_full_tetrahedra_of_all_sizes_stay_full_in_uniform_flow() -> None:
    vof = TetVOF(still(graded(4)), samples="exact", gravity=REST, debris=0.0)
    vof.volume[:] = rounded(vof, vof.capacity)
    vof.velocity[:] = turned(1)[0]
    transport(vof, 0.2)
    core = np.linalg.norm(centroids(vof), axis=1) < 0.5
    assert core.sum() > 1000
    np.testing.assert_allclose(vof.saturation[core], 1.0, rtol=0, atol=1e-10)


# --- closed meshes whose elements come and go ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("conservation", ["push-out", "projection", "push-out and projection"])
@pytest.mark.parametrize("samples", ["random", "exact"])
def test_water_of_disabled_elements_stays_in_a_closed_mesh(samples: Any, conservation: Any) -> None:
    rest = lattice(0.25, (4, 4, 4), 3)

    def off(t: float) -> np.ndarray:
        return np.random.default_rng(round(50 * t)).random(len(rest.tets)) < 0.4

    vof = TetVOF(still(rest, disabled=off), outside="wall", samples=samples, conservation=conservation)
    vof.fill(lambda p: p[:, 2])
    total, audit = vof.total_volume(), Audit()
    moved = 0.0
    for _ in range(20):
        before = vof.volume.copy()
        vof.step(0.02, audit)
        moved += before[vof.rank == -2].sum()
        assert math.fsum(vof.volume) == total
        assert not vof.volume[vof.rank == -2].any()
    assert moved > total
    assert len(vof.drops) == len(vof.waiting) == 0


def test_water_of_a_disabled_element_goes_to_the_nearest_ones() -> None:
    """In equal parts, with its momentum; from a part without any enabled element to the nearest elsewhere."""
    rest = lattice(0.25, (4, 4, 4), 3)
    second = ms.mesh.TetMesh(
        np.vstack([rest.vertices, rest.vertices[rest.tets[0]] + 3.0]),
        np.vstack([rest.tets, [[len(rest.vertices) + k for k in range(4)]]]).astype(np.int32),
    )
    t = int(np.argmin(np.linalg.norm(rest.vertices[rest.tets].mean(axis=1), axis=1)))
    lone = len(rest.tets)
    flags = np.zeros(len(second.tets), bool)
    vof = TetVOF(still(second, disabled=lambda time: flags & (time > 0)), outside="wall", gravity=REST, debris=0.0)
    neighbours = vof._geometry.graph.neighbours[t]
    assert (neighbours >= 0).all()
    flags[[t, lone, neighbours[0]]] = True
    vof.volume[[t, lone]] = rounded(vof, 0.3 * vof.capacity[[t, lone]])
    vof.velocity[[t, lone]] = (1e-9, 0.0, 0.0)
    held = vof.volume.copy()
    vof.step(1e-6)
    for n in neighbours[1:]:
        assert vof.volume[n] == pytest.approx(held[t] / 3, rel=1e-4)
    rest_of_it = np.setdiff1d(np.flatnonzero(vof.volume), neighbours)
    assert len(rest_of_it) == 1
    nearest = np.argmin(np.linalg.norm(centroids(vof)[:lone] - centroids(vof)[lone], axis=1))
    assert rest_of_it[0] == nearest
    assert vof.volume[nearest] == pytest.approx(held[lone], rel=1e-12)
    assert math.fsum(vof.volume) == math.fsum(held)
    np.testing.assert_allclose(vof.velocity[neighbours[1:]], np.tile([1e-9, 0, 0], (3, 1)), rtol=1e-9)
