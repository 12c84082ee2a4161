"""What fluids and bodies exchange: momentum closes, in a solve and over steps; energy does not grow."""

from __future__ import annotations

import numpy as np
import pytest
from support.fluids.floating import G, beam, cylinder, in_air, pool
from support.variants import slow

from meniscus.coupling import FluidWorld
from meniscus.coupling.bodies.body_forms import motion_of
from meniscus.coupling.bodies.momentum import open_parts
from meniscus.grid.face_arrays import each_face_once
from meniscus.solids import RigidBody
from meniscus.surface import Pose

AIR = 1.2


def some_bodies(count: int, dimension: int = 2) -> list[RigidBody]:
    """Bodies of very different weights, apart from each other, that move and turn."""
    rng = np.random.default_rng(3)
    across = int(np.ceil(np.sqrt(count)))
    made = []
    for k in range(count):
        density = AIR * 10 ** rng.uniform(-3, 3)
        place = ((k % across + 0.5) / across, (k // across + 0.5) / across)
        size = 0.5 / across
        if dimension == 3:
            body = RigidBody.box((size, 0.8 * size, 0.6 * size), density, pose=Pose((*place, 0.5)))
        elif k % 2:
            body = cylinder(0.5 * size, density, place)
        else:
            body = beam((size, 0.6 * size), density, place, 0.3 * k)
        body.momentum[:dimension] = body.mass * rng.uniform(-0.5, 0.5, dimension)
        body.angular_momentum[2] = body.properties.inertia[2, 2] * rng.uniform(-1, 1)
        made.append(body)
    return made


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_pressure_gives_bodies_what_it_takes_from_the_fluid(dimension: int) -> None:
    both = in_air(some_bodies(4, dimension), 24, dimension, gravity=(0.0, 0.0, 0.0))
    # What transport costs is given back elsewhere.
    both._momentum = None
    both.step(0.01)
    momenta = {}

    def remember(name: str, world: FluidWorld) -> None:
        parts = [open_parts(world._solid.now, d) for d in range(dimension)]
        faces = [each_face_once(world.fluid.grid, p * world.fluid.velocity.component(d), d).sum() for d, p in enumerate(parts)]
        momenta[name] = AIR * world.fluid.grid.spacing**dimension * np.array([*faces, 0.0][:3])

    report = both.step(0.01, on_stage=remember)
    given = sum(report.forces[b].force for b in both.bodies) * 0.01
    # Air at the surface of bodies begins with the velocities that they had, and ends with those that they have.
    change = np.array([motion_of(b) for b in both.bodies]) - both._carried
    moved = np.einsum("bij,bj->i", both.attached, change)[:3]
    scale = np.abs([report.forces[b].force for b in both.bodies]).sum() * 0.01
    assert momenta["project"] - momenta["diffuse"] + given + moved == pytest.approx(0.0, abs=1e-12 * scale)


@pytest.mark.parametrize("end", [0.5, slow(8.0)])
def test_momentum_of_air_and_bodies_in_a_closed_box_stays(end: float) -> None:
    both = in_air(some_bodies(9), 48, 2, gravity=(0.0, 0.0, 0.0))
    # The air at their surface begins to move with them in the first step.
    both.step(0.01)
    before, scale = both.ledger, sum(float(np.abs(b.momentum).sum()) for b in both.bodies)
    energy = before.fluid_energy + before.body_energy
    while both.time < end:
        both.advance(0.05)
        now = both.ledger
        assert now.momentum == pytest.approx(before.momentum, abs=1e-10 * scale)
        assert now.fluid_energy + now.body_energy < energy * (1 + 1e-9)


def test_bodies_that_fall_give_the_air_what_gravity_gives_them() -> None:
    both = in_air([cylinder(0.1, 2 * AIR, (0.4, 0.5)), beam((0.2, 0.1), 20 * AIR, (0.75, 0.5))], 32, 2)
    both.step(0.01)
    before = both.ledger.momentum
    for _ in range(20):
        both.step(0.01)
    lost = AIR * (np.pi * 0.01 + 0.02)
    weight = (sum(b.mass for b in both.bodies) - lost) * G
    assert both.ledger.momentum - before == pytest.approx([0.0, -0.2 * weight, 0.0], rel=0.01, abs=1e-10)


@pytest.mark.parametrize("cfl", [0.5, slow(1.0), slow(3.0)])
def test_a_crate_that_falls_into_water_gains_no_energy(cfl: float) -> None:
    body = beam((0.25, 0.25), 500.0, (0.52, 0.72), 0.3)
    both = pool([body], (32, 32), 1 / 32, 0.5, cfl=cfl)
    bed = both.fluid.grid.spacing

    def energy() -> float:
        ledger = both.ledger
        phi = both.fluid.levelset
        inside = both._solid.at(both.time).outside_cells
        y = phi.field.coordinates()[1]
        wet = phi.volume_fractions().array * inside
        return float(ledger.fluid_energy + ledger.body_energy + ledger.gravity + 1000 * G * (wet * y).sum() * bed**2)

    start = energy()
    scale = body.mass * G * 0.3
    most = -np.inf
    while both.time < 1.5:
        both.advance(0.05)
        most = max(most, energy())
    assert most - start < 0.25 * scale
    assert np.isfinite(body.state_row).all()
    assert 0.2 < body.center[1] < 0.8
