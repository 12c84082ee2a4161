"""Water on moving tetrahedra where it is easily lost: hooks, stages by hand, copies, tanks, doubled elements, moving bodies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.tet_vof.meshes import centroids, lattice, still, turned

import meniscus as ms
from meniscus.fluids import TetVOF

Box = ms.surface.Box
DT = 0.02


def half_full(**options: Any) -> TetVOF:
    vof = TetVOF(still(lattice(0.2, (4, 4, 5), 3)), outside="wall", **options)
    vof.fill(Box((-3.0, -3.0, -3.0), (3.0, 3.0, 0.05)), (0.3, -0.2, 0.4))
    return vof


def tank(cell: float, wall: float, **options: Any) -> tuple[TetVOF, float]:
    """Water at rest in an open tank of solid, with air around."""
    n = round(1 / cell)
    mesh = still(ms.mesh.bcc_lattice((0.0, 0.0, 0.0), cell, (n, n, n)))
    vof = TetVOF(mesh, ms.surface.Complement(Box((wall, wall, wall), (1 - wall, 1 - wall, 2.0))), **options)
    return vof, vof.fill(Box((-1.0, -1.0, -1.0), (2.0, 2.0, 0.5)))


@pytest.mark.parametrize(
    ("stages", "sentence"),
    [
        (("move", "request", "forward"), "forward follows deliver, and was called after request"),
        (("move", "deliver"), "deliver follows request, and was called after move"),
        (("move", "request", "deliver", "deliver"), "deliver follows request, and was called after deliver"),
        (("move", "request", "deliver", "move"), r"water is on its way: call forward\(dt\)"),
        (("deliver",), "deliver follows request, and was called after the end of a step"),
        (("push_out",), r"call move\(dt\) before"),
    ],
)
def test_stages_in_another_order_are_refused(stages: tuple[str, ...], sentence: str) -> None:
    vof = half_full()
    for name in stages[:-1]:
        getattr(vof, name)(DT)
    before = vof.total_volume()
    with pytest.raises(RuntimeError, match=sentence):
        getattr(vof, stages[-1])(DT)
    assert vof.total_volume() == before


def test_a_hook_cannot_lose_water() -> None:
    for stage in TetVOF.stages:
        vof = half_full()
        filled = vof.ledger().filled

        def pour(name: str, at: TetVOF, wanted: str = stage) -> None:
            if name == wanted:
                at.absorb([3], [1e-3], [[0.0, 0.0, 0.0]])

        if stage in ("request", "deliver"):
            with pytest.raises(RuntimeError, match="water cannot be added between the stages request and forward"):
                vof.step(DT, pour)
            assert vof.ledger().in_tets == filled
            continue
        vof.step(DT, pour)
        book = vof.ledger()
        assert book.absorbed == pytest.approx(1e-3, rel=1e-9)
        assert book.in_tets == pytest.approx(filled + book.absorbed, rel=1e-14)
        assert abs(book.volume_error) <= 1e-15


@pytest.mark.parametrize("stage", ["request", "deliver", "smear", "correct", "emit"])
def test_a_hook_that_writes_to_the_views_in_mid_step_is_refused(stage: str) -> None:
    vof = half_full()
    before = vof.volume.copy()

    def spoil(name: str, at: TetVOF) -> None:
        if name == stage:
            at.volume[np.argmax(at.volume)] *= 1.5

    with pytest.raises((RuntimeError, ValueError), match=r"changed"):
        vof.step(DT, spoil)
    assert np.array_equal(vof.volume, before)


def test_no_copy_is_made_of_water_on_its_way() -> None:
    vof = half_full()
    vof.move(DT)
    vof.request(DT)
    vof.deliver(DT)
    for way in (vof.copy, vof.snapshot):
        with pytest.raises(RuntimeError, match="would lose the water on its way"):
            way()
    vof.forward(DT)
    assert vof.copy().total_volume() == vof.total_volume()


@pytest.mark.fast_cases("0.1-0.25-exact", "0.1-0.25-random", "0.1-0.17-random")
@pytest.mark.parametrize("samples", ["random", "exact"])
@pytest.mark.parametrize(("cell", "wall"), [(0.1, 0.17), (0.1, 0.25), (1 / 16, 0.2)])
def test_a_tank_keeps_its_water(samples: Any, cell: float, wall: float) -> None:
    vof, total = tank(cell, wall, samples=samples)
    for _ in range(30):
        vof.step(DT)
    assert len(vof.drops) == 0
    assert vof.total_volume() == total


def test_a_pool_on_a_plate_presses_with_its_weight() -> None:
    """Level and wide: the water stands on the plate, and the walls of the mesh hold it."""
    vof = TetVOF(still(lattice(0.15, (6, 6, 6))), Box((-3.0, -3.0, -3.0), (3.0, 3.0, -0.2)), outside="wall", samples="exact")
    total = vof.fill(Box((-3.0, -3.0, -3.0), (3.0, 3.0, 0.1)))
    for _ in range(5):
        vof.step(0.01)
    np.testing.assert_allclose(vof.force_on_body(), [0.0, 0.0, -9810 * total], atol=0.05 * 9810 * total)


def test_doubled_tetrahedra_make_no_water() -> None:
    mesh = lattice(0.25, (3, 3, 3))
    doubled = ms.mesh.TetMesh(mesh.vertices, np.vstack([mesh.tets, mesh.tets]))
    vof = TetVOF(still(doubled), outside="wall", debris=0.0)
    vof.fill(Box((-3.0, -3.0, -3.0), (3.0, 3.0, 0.1)))
    total = vof.total_volume()
    for _ in range(20):
        vof.step(DT)
        assert abs(vof.ledger().volume_error) == 0
    assert vof.total_volume() == pytest.approx(total, rel=1e-15)


def test_regions_smaller_than_a_tetrahedron_are_filled() -> None:
    mesh = still(lattice(0.5, (3, 3, 3)))
    for region in (ms.surface.Sphere((0.03, 0.02, 0.01), 0.05), Box((-0.2, -0.2, 0.1), (0.2, 0.2, 0.16))):
        vof = TetVOF(mesh)
        lower, upper = region.bounds
        want = 4 / 3 * math.pi * 0.05**3 if isinstance(region, ms.surface.Sphere) else float(np.prod(upper - lower))
        assert vof.fill(region) == pytest.approx(want, rel=0.6)


def test_a_source_in_a_closed_mesh_stops_when_it_is_full() -> None:
    source = ms.fluids.LiquidSource(Box((-0.3, -0.3, -0.3), (0.3, 0.3, 0.3)))
    vof = TetVOF(still(lattice(0.2, (3, 3, 3))), outside="wall", sources=[source])
    for _ in range(60):
        vof.step(DT)
    assert vof.total_volume() <= vof.capacity.sum() * (1 + 1e-12)


@pytest.mark.parametrize("conservation", ["push-out and projection", "projection"])
def test_a_body_that_moves_gives_the_water_no_more_than_its_speed(conservation: Any) -> None:
    """Its velocity is continued into it: a jump at the surface would count as a flow through it."""
    ball = ms.surface.KinematicSolid(ms.surface.Sphere((0.0, 0.0, 0.0), 0.25), lambda t: (0.2 * math.sin(9 * t), 0.0, -0.1))
    vof = TetVOF(still(lattice(0.2, (6, 6, 6), 1)), ball, outside="wall", conservation=conservation, gravity=(0.0, 0.0, 0.0))
    vof.fill(Box((-3.0, -3.0, -3.0), (3.0, 3.0, 0.2)))
    for _ in range(6):
        vof.step(0.01)
        assert np.linalg.norm(vof.velocity, axis=1).max() < 3 * 1.8


def test_exact_transport_does_not_depend_on_numbers() -> None:
    mesh = lattice(0.2, (5, 5, 5), 2)
    order = np.random.default_rng(1).permutation(len(mesh.tets))
    results = []
    for tets in (mesh.tets, np.ascontiguousarray(mesh.tets[order])):
        vof = TetVOF(still(ms.mesh.TetMesh(mesh.vertices, tets)), ms.surface.Sphere((0.1, 0.0, -0.3), 0.2), samples="exact", debris=0.0)
        vof.fill(ms.surface.Sphere((0.0, 0.1, 0.2), 0.25), (0.5, 0.0, -1.0))
        for _ in range(2):
            vof.step(DT)
        results.append(vof.volume.copy())
    assert np.abs(results[0][order] - results[1]).max() <= 1e-10 * results[0].max()


def test_fast_water_does_not_pass_a_wall_on_its_way() -> None:
    turn = turned(1)
    wall = ms.surface.Transformed(Box((-0.3, -3.0, -3.0), (0.3, 3.0, 3.0)), turn, (0.0, 0.0, 0.0))
    vof = TetVOF(still(lattice(0.2, (11, 5, 5), 1)), wall, gravity=(0.0, 0.0, 0.0))
    along = centroids(vof) @ turn[:, 0]
    vof.volume[:] = np.where((along < -0.4) & (vof.rank >= 0), vof.capacity, 0.0)
    vof.velocity[vof.volume > 0] = 30 * turn[:, 0]
    for _ in range(5):
        vof.step(0.02)
    assert vof.volume[along > 0.25].sum() == 0


def test_sources_of_tetrahedra_have_no_rate() -> None:
    source = ms.fluids.LiquidSource(Box((-0.3, -0.3, -0.3), (0.3, 0.3, 0.3)), rate=0.1)
    with pytest.raises(ValueError, match="have no rate"):
        TetVOF(still(lattice(0.2, (4, 4, 5), 3)), outside="wall", sources=[source])
