"""Exchange between tetrahedra, drops and a grid: ledgers at every stage, what is taken is given, and nothing where nothing is wet."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.tet_vof.coupled import air, ball, momentum, run

import meniscus as ms
from meniscus.coupling import DropSource, KDSMWater
from meniscus.coupling.water.ledger import WAYS
from meniscus.fluids import Drain, LiquidOptions, LiquidSolver, LiquidSource
from meniscus.surface import Box, Pose, Sphere


def swing(time: float) -> Pose:
    """Return a body that goes to and fro, up and down, and turns."""
    return Pose((0.2 * math.sin(5 * time), 0.0, 0.35 * math.sin(3 * time)), np.array(Pose((0.0, 0.0, 0.0)).rotation))


def closed(sim: KDSMWater) -> None:
    """Check that everything is there, summed from the arrays alone."""
    report, budget = sim.liquid.volume_report(), sim.liquid.volume.budget
    held = math.fsum(budget["unassigned"]) + math.fsum(budget["expected"][1:]) + report.waiting
    radius = sim.liquid.particles.spray["radius"]  # type: ignore[union-attr]
    held += math.fsum(4 / 3 * math.pi * radius**3) + math.fsum(sim.vof.volume) + math.fsum(sim.vof.waiting.volume)
    ledger = sim.ledger()
    came = ledger.initial + ledger.injected + ledger.inflow + ledger.copied
    went = ledger.drained + ledger.left
    # In the middle of a step water is on its way in and out of the tetrahedra; the ledger counts it there.
    on_way = ledger.tets - math.fsum(sim.vof.volume) - math.fsum(sim.vof.waiting.volume)
    assert abs(held + on_way + ledger.rounding - (came - went)) <= 1e-12 * came
    assert abs(ledger.error) <= 1e-12 * came
    assert abs(ledger.rounding) <= 1e-12 * came
    scale = max(float(np.abs([m for way in WAYS for m in ledger.transfers[way][1]]).max()), 1e-300)
    for way in WAYS:
        _, taken, given = ledger.transfers[way]
        if way == "momentum of tetrahedra to grid" and sim.options.exchange == "literal":
            continue  # there the document takes nothing from the tetrahedra
        assert np.abs(taken - given).max() <= 1e-12 * scale, way


@pytest.mark.fast_cases("2-owned")
@pytest.mark.parametrize("exchange", ["owned", "literal"])
@pytest.mark.parametrize("seed", [1, 2])
def test_everything_is_there_after_every_stage(exchange: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sources = [
        LiquidSource(Sphere((1.0, 1.0, 1.35), 0.1), velocity=(0.0, 0.0, -1.0)),
        DropSource(region=Sphere((1.3, 1.0, 1.7), 0.1), rate=0.02, velocity=(0.3, 0.0, -1.0), radius=0.02),
    ]
    drains = [Drain(Sphere((0.75, 1.0, 0.9), 0.15), start=0.1)]
    stream = [LiquidSource(Sphere((1.0, 0.9, 1.75), 0.17), velocity=(0.0, 0.0, -1.5))]
    coupling: dict[str, Any] = {"exchange": exchange, "sources": sources, "drains": drains, "vof_to_grid": 0.5, "seed": seed}
    sim = ball(14, pose=swing, level=0.6, thickness=0.35, grid_sources=stream, **coupling)
    for k in range(16):
        if k % 5 == 3:
            x = rng.uniform(0.2, 1.8, (40, 3))
            outside = np.linalg.norm(x - np.array((1.0, 1.0, 1.0)), axis=1) > 0.9
            sim.liquid.add_drops(x[outside], rng.normal(0.0, 2.0, (int(outside.sum()), 3)), np.full(int(outside.sum()), 2e-5))
        before = sim.liquid.volume.totals["received"]
        sim.step(float(rng.uniform(0.004, 0.03)), on_stage=lambda name, s: closed(s))
        assert sim.liquid.volume.totals["received"] >= before
        closed(sim)
    ways = {way: sim.ledger().transfers[way][0] for way in WAYS}
    used = ["tetrahedra to drops", "drops to tetrahedra", "drops to grid", "source to drops"]
    used += ["grid to tetrahedra"] if exchange == "owned" else ["copied to tetrahedra", "overwritten in tetrahedra"]
    assert all(ways[way] > 0 for way in used), ways
    # Literal exchange makes water, as the document says of it, and the ledger shows it.
    assert (sim.ledger().copied > 0.05) == (exchange == "literal")


def test_drops_pass_into_tetrahedra_with_all_they_have() -> None:
    sim = air(16)
    sim.vof.fill(Box((0.7, 0.7, 0.9), (1.3, 1.3, 1.1)))
    rng = np.random.default_rng(3)
    x, v, volumes = rng.uniform((0.75, 0.75, 0.95), (1.25, 1.25, 1.05), (30, 3)), rng.normal(0, 2, (30, 3)), rng.uniform(1e-6, 1e-4, 30)
    added = sim.liquid.add_drops(x, v, volumes)
    before, here = sim.vof.total_volume(), momentum(sim)
    sim.begin(1e-9)
    sim.drops_to_tets(1e-9)
    after = momentum(sim)
    assert len(sim.liquid.particles.spray) == 0  # type: ignore[union-attr]
    assert abs(sim.vof.total_volume() - before - added.volume) <= 30 * sim.vof.quantum
    np.testing.assert_allclose(after["tets"] - here["tets"], here["drops"], rtol=0, atol=1e-12 * np.abs(volumes[:, None] * v).sum())


def test_water_that_the_grid_hands_over_takes_its_momentum_along() -> None:
    sim = air(16, resolved=1000.0)
    sim.liquid.fill(Sphere((1.0, 1.0, 1.0), 0.3), (0.3, -0.2, 0.5))
    held, here = sim.liquid.volume_report().liquid, momentum(sim)
    sim.begin(1e-9)
    sim.own(1e-9)
    sim.grid_to_tets(1e-9)
    there = momentum(sim)
    ledger = sim.ledger()
    assert ledger.transfers["grid to tetrahedra"][0] > 0.6 * held
    moved = there["tets"] + ledger.kept_momentum
    # Redistancing moves the surface that is left by a little, as the measure of the grid shows; the rest is exact.
    np.testing.assert_allclose(moved, here["grid"] - there["grid"], atol=0.03 * held)
    np.testing.assert_allclose(ledger.transfers["grid to tetrahedra"][1], there["tets"], atol=1e-12)
    assert abs(sim.vof.total_volume() - ledger.transfers["grid to tetrahedra"][0]) <= 1e-12
    # Where the water was at rest or moved as one, that in the tetrahedra does too.
    wet = sim.vof.volume > 0
    np.testing.assert_allclose(sim.vof.velocity[wet].mean(axis=0), (0.3, -0.2, 0.5), atol=0.05)


@pytest.mark.parametrize("share", [0.2, 1.0, 50.0])
def test_momentum_that_tetrahedra_lose_is_what_the_grid_gains(share: float) -> None:
    sim = ball(16, level=1.0)
    sim.vof.fill(Sphere((1.0, 1.0, 1.0), 0.42), (1.0, 0.5, -0.3))
    sim.vof.excluded = None
    sim.vof.fill(Sphere((1.0, 1.0, 1.0), 0.42), (1.0, 0.5, -0.3))
    here = momentum(sim)
    sim.vof_to_grid = share
    sim.begin(1e-9)
    sim.tets_to_grid(1e-9)
    there = momentum(sim)
    gained, lost = there["grid"] - here["grid"], here["tets"] - there["tets"]
    assert np.linalg.norm(gained) > 1e-4
    np.testing.assert_allclose(gained, lost, rtol=0, atol=1e-12 * np.linalg.norm(gained))


def test_a_multiplier_of_zero_changes_no_bit() -> None:
    stream = [LiquidSource(Sphere((1.0, 1.0, 1.35), 0.1), velocity=(0, 0, -1.0))]
    runs = []
    for share in (0.0, lambda t: 0.0):
        sim = ball(
            14, level=0.9, pose=swing, vof_to_grid=share, sources=[LiquidSource(Sphere((1.0, 1.0, 1.35), 0.1), velocity=(0, 0, -1.0))]
        )
        run(sim, 0.15)
        runs.append(sim)
    state: list[Any] = [(s.vof.volume, s.vof.velocity, s.liquid.levelset.array, s.liquid.velocity.component(2)) for s in runs]
    assert all(np.array_equal(a, b) for a, b in zip(*state, strict=True))
    wet = ball(14, level=0.9, pose=swing, vof_to_grid=2.0, sources=stream)
    run(wet, 0.15)
    assert not np.array_equal(wet.vof.velocity, state[0][1])


@pytest.mark.slow
def test_a_mesh_that_stays_dry_leaves_the_bits_of_the_plain_solver() -> None:
    def dam(solver: LiquidSolver) -> None:
        solver.fill(Box((-1.0, -1.0, -1.0), (0.5, 3.0, 0.5)))

    n = 14
    sim = air(n, box=((0.7, 0.7, 1.5), (1.3, 1.3, 1.75)))
    plain = LiquidSolver(ms.Grid((n,) * 3, 2.0 / n), LiquidOptions(expansion=True, gather=True))
    for solver in (sim.liquid, plain):
        dam(solver)
        rng = np.random.default_rng(4)
        # They fly through the mesh, which is dry.
        x = rng.uniform((0.7, 0.7, 1.8), (1.3, 1.3, 1.9), (60, 3))
        solver.add_drops(x, np.tile((0.0, 0.0, -0.5), (60, 1)), np.full(60, 3e-5))
    through = 0
    for _ in range(200):
        dt = min(plain.max_dt(), 0.03)
        plain.step(dt)
        sim.step(dt)
        spray = sim.liquid.particles.spray  # type: ignore[union-attr]
        through += int((sim.vof.mesh.locate(np.ascontiguousarray(spray.positions), sim.time).tets >= 0).sum())
    assert through > 100
    assert not sim.vof.volume.any()
    for d in range(3):
        assert np.array_equal(sim.liquid.velocity.component(d), plain.velocity.component(d))
    assert np.array_equal(sim.liquid.levelset.array, plain.levelset.array)
    mine, its = sim.liquid.particles, plain.particles
    # The same particles, in whatever order they are stored.
    for own, other in ((mine.particles, its.particles), (mine.spray, its.spray)):  # type: ignore[union-attr]
        assert np.array_equal(np.unique(own.positions, axis=0), np.unique(other.positions, axis=0))
        assert len(own) == len(other)


def test_owned_exchange_keeps_the_measured_volume_of_a_stream() -> None:
    source = LiquidSource(Sphere((1.0, 1.0, 1.38), 0.08), velocity=(0.0, 0.0, -1.5))
    sim = ball(16, level=0.62, sources=[source], drop_radius=(0.01, 0.03))
    for _ in sim.frames(20, per_second=24):
        ledger = sim.ledger()
        assert abs(ledger.error) <= 1e-12
        # What the level set measures follows what it is to hold with the error of a step.
        assert abs(ledger.measured_error) <= 1e-3 * ledger.injected + 3e-5 * ledger.grid
    assert ledger.injected > 0.01
    assert ledger.transfers["drops to grid"][0] > 0.1 * ledger.injected


def test_sources_of_drops_are_exact_and_lie_in_their_region() -> None:
    source = DropSource(region=Sphere((1.0, 1.0, 1.0), 0.2), rate=0.5, velocity=(1.0, 0.0, 0.0), radius=0.02, start=0.1, end=0.35)
    assert source.volume(0.0, 0.2) == pytest.approx(0.05)
    assert source.volume(0.3, 0.2) == pytest.approx(0.025)
    assert source.volume(0.4, 0.2) == 0
    x, v, volumes = source.drops(0.05, 7)
    assert math.fsum(volumes) == pytest.approx(0.05, rel=1e-14)
    assert (np.linalg.norm(x - 1.0, axis=1) <= 0.2).all()
    assert (np.cbrt(0.75 / math.pi * volumes) <= 0.02 * (1 + 1e-9)).all()
    assert (v == (1.0, 0.0, 0.0)).all()
    # Uniform in the ball: the mean of r^2 is 3/5 R^2.
    assert np.mean(np.linalg.norm(x - 1.0, axis=1) ** 2) == pytest.approx(0.6 * 0.04, rel=0.06)


def test_what_is_put_in_and_taken_by_hand_counts_as_initial() -> None:
    sources = [DropSource(region=Sphere((1.0, 1.0, 1.7), 0.1), rate=0.02, velocity=(0.0, 0.0, -1.0), radius=0.02)]
    sim = ball(12, level=0.4, sources=sources)
    pool = sim.ledger().initial
    sim.step(0.02)
    added = sim.liquid.add_drops([(0.3, 0.3, 1.5)], [(0.0, 0.0, 0.0)], [3e-4]).volume
    given = sim.liquid.hand_over(Sphere((0.5, 0.5, 0.3), 0.2)).volume
    sim.vof.fill(Sphere((1.0, 1.0, 1.4), 0.08))
    tets = sim.vof.total_volume()
    for _ in range(2):
        ledger = sim.ledger()
        assert ledger.initial == pytest.approx(pool + added - given + tets, rel=1e-12)
        assert ledger.injected == pytest.approx(0.02 * sim.time, rel=1e-12)
        assert abs(ledger.error) <= 1e-12
        sim.step(0.02)
    before = sim.ledger().injected
    sim.liquid.fill(Sphere((0.5, 0.5, 1.0), 0.2))  # the liquid counts anew
    assert sim.ledger().injected == before
    sim.step(0.02)
    ledger = sim.ledger()
    assert ledger.injected == pytest.approx(0.02 * sim.time, rel=1e-12)
    assert abs(ledger.error) <= 1e-12


def test_large_multipliers_bring_both_to_one_velocity() -> None:
    sources = [DropSource(region=Sphere((1.0, 1.0, 1.6), 0.1), rate=0.02, velocity=(0.0, 0.0, -1.5), radius=0.02)]
    sim = ball(14, level=0.2, sources=sources, vof_to_grid=1e6)
    run(sim, 0.6)
    wet = sim.vof.volume > 1e-3 * sim.vof.capacity
    assert wet.any()
    assert np.abs(sim.vof.velocity[wet]).max() < 6.0
    assert sim.liquid.report is not None
    assert sim.liquid.report.max_speed < 2.0


def test_a_mesh_beyond_a_closed_floor_loses_no_water_there() -> None:
    # The ball stands near the floor, so that its mesh goes through it.
    sim = ball(14, level=0.3, middle=(0.5, 0.5, 0.2), thickness=0.3)
    low = sim.vof.positions.min(axis=0)[2]
    assert low < -0.05
    sim.vof.fill(Sphere((1.0, 1.0, 0.9), 0.15))
    before = sim.ledger()
    run(sim, 0.5)
    ledger = sim.ledger()
    assert ledger.left == 0
    assert abs(ledger.error) <= 1e-12
    below = sim.vof.positions[sim.vof.tets].mean(axis=1)[:, 2] < 0
    assert below.any()
    assert not sim.vof.volume[below].any()
    assert ledger.tets < before.tets


def test_small_balls_of_water_leave_nothing_behind_as_rounding() -> None:
    # Of one to three cells, which the grid hardly measures.
    for cells in (1.0, 2.0, 3.0):
        sim = air(16, resolved=1000.0)
        sim.liquid.fill(Sphere((1.02, 0.99, 1.01), 0.5 * cells / 8))
        run(sim, 0.1)
        ledger = sim.ledger()
        assert abs(ledger.rounding) <= 1e-6 * max(ledger.initial, 1e-9)
        assert abs(ledger.error) <= 1e-12


@pytest.mark.slow
def test_what_is_left_above_a_pool_comes_to_rest_in_it() -> None:
    # Drops fall on a ball in a pool for a while; debris that they leave must not hang over the pool, nor wait for ever.
    sources = [DropSource(region=Sphere((1.0, 1.0, 1.7), 0.1), rate=0.02, velocity=(0.0, 0.0, -1.0), radius=0.02, end=0.3)]
    sim = ball(12, level=0.95, sources=sources)
    run(sim, 2.5)
    ledger = sim.ledger()
    assert ledger.tets < 0.02 * ledger.injected
    assert np.abs(sim.vof.velocity).max() < 5.0
    assert len(sim.vof.waiting) < 20
