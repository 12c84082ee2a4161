"""Bodies that deform in fluids: they start, float and exchange momentum like rigid ones if stiff, and yield as their material says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.fluids.floating import G, in_air, jelly, pool, tet_ball, tet_cube
from support.same_bits import everywhere
from support.variants import slow, slow_but

from meniscus.coupling import FluidWorld
from meniscus.mesh import cloth_mesh
from meniscus.solids import DeformableBody, PositionBody, ReducedBody, RigidBody, World
from meniscus.surface import Pose

AIR = 1.2
H = 1 / 32


@pytest.mark.parametrize("ratio", slow_but([0.1, 0.5, 2.0], 0.5))
def test_a_stiff_ball_starts_with_half_the_mass_of_its_air_as_well(ratio: float) -> None:
    h = 1 / 48
    body = jelly(tet_ball(6, 6 * h, (0.5 + 0.2 * h, 0.5, 0.5 + 0.4 * h)), ratio * AIR, 1e6)
    both = in_air([body], 48, 3)
    both.step(1e-3)
    part = 4 / 3 * np.pi * 216 / 48**3
    expected = -G * (ratio - 1) / (ratio + (1 - part) / (2 + part))
    assert both.forms[0].motion[2] / 1e-3 == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("density", slow_but([200.0, 500.0, 2000.0], 500.0))
def test_a_stiff_ball_starts_under_water_like_a_rigid_one(density: float) -> None:
    starts = []
    for soft in (True, False):
        body: Any = jelly(tet_ball(6, 4 * H, (0.5, 0.5, 0.5)), density, 1e10)
        if not soft:
            body = RigidBody.sphere(4 * H, density, pose=Pose((0.5, 0.5, 0.5)))
        both = pool([body], (32, 32, 32), H, 0.95, tolerance=1e-10)
        both.step(1e-3)
        starts.append(both.forms[0].motion[2])
    assert starts[0] == pytest.approx(starts[1], rel=0.02)


@pytest.mark.parametrize("density", slow_but([200.0, 500.0, 900.0], 500.0))
def test_a_stiff_cube_is_carried_as_a_rigid_one_at_its_draft(density: float) -> None:
    """A force that is wrong by 1 % of the weight would be one draft off by 1 %."""
    size = 12 * H
    height = 0.51 + size / 2 - density / 1000 * size
    body = jelly(tet_cube(4, size, (0.51, 0.51, height)), density, 1e10)
    both = pool([body], (32, 32, 32), H, 0.51, tolerance=1e-9)
    report = both.step(1e-3)
    # What it displaces would carry it but for what it begins to move by.
    lifted = report.forces[body].force[2] / (body.masses.sum() * G)
    assert lifted == pytest.approx(1.0, abs=0.005)


def test_the_told_force_is_mass_times_acceleration_less_weight() -> None:
    body = jelly(tet_cube(3, 0.3, (0.5, 0.52, 0.4)), 600.0, 3e4)
    both = pool([body], (16, 16, 16), 1 / 16, 0.6, tolerance=1e-10)
    both.step(0.004)
    momenta = {}

    def remember(name: str, world: FluidWorld) -> None:
        momenta[name] = world.world.bodies[0].momentum()

    told = both.step(0.004, on_stage=remember).forces[body].force
    weight = body.masses.sum() * np.array([0.0, 0.0, -G])
    # The solve is of the whole step, of whose effect half has come when the step ends.
    change = 2 * (momenta["project"] - momenta["diffuse"]) / 0.004
    assert change - weight == pytest.approx(told, abs=1e-9 * np.abs(weight).max())


@pytest.mark.parametrize("steps", [8, slow(120)])
def test_momentum_of_air_and_jellies_in_a_closed_box_stays(steps: int) -> None:
    bodies = [jelly(tet_cube(3, 0.3, (0.25, 0.3, 0.4)), 0.6, 30.0), jelly(tet_cube(3, 0.25, (0.7, 0.7, 0.6)), 20.0, 100.0)]
    bodies[0].velocities[...] = (0.4, 0.1, -0.2)
    bodies[1].velocities[:, 0] = 0.5 * (bodies[1].positions[:, 1] - 0.7)
    both = in_air(bodies, 20, 3, gravity=(0.0, 0.0, 0.0))
    both.step(0.01)
    before = both.ledger
    scale = float(sum((b.masses[:, None] * np.abs(b.velocities)).sum() for b in bodies))
    start = before.fluid_energy + before.body_energy + before.elastic_energy
    for _ in range(steps):
        both.step(0.01)
        now = both.ledger
        assert now.momentum == pytest.approx(before.momentum, abs=1e-10 * scale)
        assert now.fluid_energy + now.body_energy + now.elastic_energy <= 1.01 * start


@pytest.mark.slow
def test_a_soft_cube_at_depth_is_compressed_as_its_material_says() -> None:
    young, depth = 5e4, 0.35
    body = jelly(tet_cube(4, 0.25, (0.5, 0.5, 0.35)), 1000.0, young, damping=0.02)
    both = pool([body], (20, 20, 20), 1 / 20, 0.7)
    before = both.forms[0].volume
    for _ in range(60):
        both.step(0.01)
    form = both.forms[0]
    form.bounds()
    depth = 0.7 - form.center[2]
    strain = 1000 * G * depth * 3 * (1 - 2 * 0.3) / young
    assert 1 - form.volume / before == pytest.approx(strain, rel=0.15)


def test_iterations_are_few_beside_those_at_walls() -> None:
    counts = []
    for soft in (True, False):
        bodies: list[Any] = [jelly(tet_cube(3, 0.3, (0.3, 0.5, 0.62)), 300.0, 2e4), jelly(tet_cube(3, 0.3, (0.7, 0.5, 0.5)), 700.0, 2e5)]
        if not soft:
            bodies = [RigidBody.box((0.3,) * 3, 500.0, motion="fixed", pose=Pose((x, 0.5, z))) for x, z in ((0.3, 0.62), (0.7, 0.5))]
        both = pool(bodies, (24, 24, 24), 1 / 24, 0.5)
        counts.append(max(both.step(0.005).fluid.projection.iterations for _ in range(4)))
    assert counts[0] <= 2.5 * counts[1]


def everything(both: FluidWorld) -> list[np.ndarray]:
    nodes = [a.copy() for b in both.world.bodies for a in (b.positions, b.velocities)]
    return [both.fluid.velocity.w.copy(), both.loads.copy(), both.rates.copy(), *nodes]


def jellies() -> FluidWorld:
    return pool([jelly(tet_cube(2, 0.3, (0.5, 0.5, 0.45)), 800.0, 1e4)], (12, 12, 12), 1 / 12, 0.5, floor=True)


def test_snapshots_and_copies_go_on_with_the_same_bits() -> None:
    both = jellies()
    for _ in range(3):
        both.step(0.01)
    saved, copied = both.snapshot(), both.copy()
    both.step(0.01)
    expected = everything(both)
    copied.step(0.01)
    both.restore(saved)
    both.step(0.01)
    for found in (copied, both):
        assert all(np.array_equal(a, b) for a, b in zip(expected, everything(found), strict=True))


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    def run() -> list[np.ndarray]:
        both = jellies()
        for _ in range(3):
            both.step(0.01)
        return everything(both)

    everywhere(run)


def test_a_heavy_jelly_sinks_and_rests_on_the_floor() -> None:
    """It loses the weight of the water that it displaces, compressed as it is there."""
    body = jelly(tet_cube(2, 0.3, (0.5, 0.5, 0.17)), 1500.0, 1e5, damping=0.02)
    both = pool([body], (12, 12, 12), 1 / 12, 0.7, floor=True)
    for _ in range(40):
        both.step(0.015)
    assert body.positions[:, 2].min() > -1e-6
    assert np.abs(both.forms[0].motion[:3]).max() < 0.01
    both.forms[0].bounds()
    assert both.forms[0].volume < 0.0267
    assert both.report.forces[body].force[2] == pytest.approx(1000 * G * both.forms[0].volume, rel=0.05)


def test_rigid_bodies_and_jellies_float_together() -> None:
    crate = RigidBody.box((0.25,) * 3, 300.0, pose=Pose((0.3, 0.5, 0.55)))
    both = pool([crate, jelly(tet_cube(3, 0.25, (0.7, 0.5, 0.55)), 300.0, 1e5)], (20, 20, 20), 1 / 20, 0.5)
    for _ in range(10):
        both.step(0.01)
    rigid, soft = both.forms
    assert soft.motion[2] == pytest.approx(rigid.motion[2], abs=0.1)
    assert soft.center[2] == pytest.approx(rigid.center[2], abs=0.004)


def test_what_does_not_go_together_is_refused() -> None:
    for body, words in (
        (DeformableBody(cloth_mesh(3, 3), density=0.2), "tetrahedra"),
        (PositionBody(tet_cube(2, 0.2, (0.5, 0.5, 0.5))), "position based"),
    ):
        with pytest.raises(ValueError, match=words):
            pool([body], (8, 8, 8), 1 / 8, 0.5)
    with pytest.raises(ValueError, match="three dimensions"):
        pool([jelly(tet_cube(2, 0.2, (0.5, 0.5, 0.0)), 500.0, 1e4)], (8, 8), 1 / 8, 0.5)
    world = World(response="barrier")
    world.add(jelly(tet_cube(2, 0.2, (0.5, 0.5, 0.5)), 500.0, 1e4))
    with pytest.raises(ValueError, match="impulses"):
        FluidWorld(pool([], (8, 8, 8), 1 / 8, 0.5).fluid, world)


def test_a_reduced_ball_starts_with_half_the_mass_of_its_air_as_well() -> None:
    h = 1 / 48
    mesh = tet_ball(6, 6 * h, (0.5 + 0.2 * h, 0.5, 0.5 + 0.4 * h))
    body = ReducedBody(mesh, modes=6, size=6, density=0.5 * AIR, youngs_modulus=1e6, poissons_ratio=0.3)
    both = in_air([body], 48, 3)
    report = both.step(1e-3)
    part = 4 / 3 * np.pi * 216 / 48**3
    expected = G * 0.5 / (0.5 + (1 - part) / (2 + part))
    assert both.forms[0].motion[2] / 1e-3 == pytest.approx(expected, rel=0.03)
    told = report.forces[body].force - body.mass * np.array([0.0, 0.0, G])
    assert body.momentum / 1e-3 == pytest.approx(told, abs=1e-9 * body.mass * G)


def test_a_reduced_cube_floats_like_a_deformable_one() -> None:
    heights = []
    for reduced in (True, False):
        mesh = tet_cube(3, 0.3, (0.5, 0.5, 0.6))
        body: Any = jelly(mesh, 400.0, 1e6)
        if reduced:
            body = ReducedBody(mesh, modes=6, size=6, density=400.0, youngs_modulus=1e6, poissons_ratio=0.3)
        both = pool([body], (16, 16, 16), 1 / 16, 0.5)
        for _ in range(10):
            both.step(0.01)
        heights.append(both.forms[0].center[2])
        assert both.forms[0].is_free
    assert heights[0] == pytest.approx(heights[1], abs=2e-3)
