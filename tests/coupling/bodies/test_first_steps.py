"""How bodies in a fluid start: their own inertia, that of the fluid around, and the weight of what they displace."""

from __future__ import annotations

import numpy as np
import pytest
from support.fluids.floating import G, beam, cylinder, down, in_air, pool
from support.variants import slow_but

from meniscus.solids import RigidBody
from meniscus.surface import Pose

AIR = 1.2
RATIOS = (0.001, 0.1, 0.5, 2.0, 20.0)


def added(dimension: int, part: float) -> float:
    """Return the added mass of a cylinder or ball among its images, of whose box it fills a part, over that of the displaced air.

    Each is in the field of the others, as dipoles of a square lattice are in that of Lorentz, while the mean of the flow's potential
    gradient is zero: (1 - part) / (d - 1 + part), of first order in the part.
    """
    return (1 - part) / (dimension - 1 + part)


@pytest.mark.parametrize("ratio", slow_but(RATIOS, 0.001, 0.5, 20.0))
def test_a_long_cylinder_starts_with_the_mass_of_its_air_as_well(ratio: float) -> None:
    h = 1 / 96
    body = cylinder(6 * h, ratio * AIR, (0.5 + 0.3 * h, 0.5 + 0.1 * h))
    both = in_air([body], 96, 2)
    both.step(1e-3)
    part = np.pi * 36 / 96**2
    expected = -G * (ratio - 1) / (ratio + added(2, part))
    assert body.velocity[1] / 1e-3 == pytest.approx(expected, rel=0.03)
    assert abs(body.velocity[0]) < 1e-3 * abs(body.velocity[1])


@pytest.mark.parametrize("ratio", slow_but(RATIOS, 0.1))
def test_a_ball_starts_with_half_the_mass_of_its_air_as_well(ratio: float) -> None:
    h = 1 / 48
    body = RigidBody.sphere(6 * h, ratio * AIR, pose=Pose((0.5 + 0.2 * h, 0.5, 0.5 + 0.4 * h)))
    both = in_air([body], 48, 3)
    both.step(1e-3)
    assert body.velocity[2] / 1e-3 == pytest.approx(-G * (ratio - 1) / (ratio + added(3, 4 / 3 * np.pi * 216 / 48**3)), rel=0.03)


def start_under_water(ratio: float, cells: int) -> float:
    """Return the acceleration of a cylinder of 1/8 m in a tank of 1 m, by its way in the first step."""
    h = 1 / cells
    body = cylinder(1 / 16, 1000 * ratio, (0.5, 0.5))
    both = pool([body], (cells, cells), h, 0.93, tolerance=1e-10)
    both.step(1e-3)
    way = float(body.center[1]) - 0.5
    assert body.velocity[1] / 1e-3 == pytest.approx(way / 0.5e-6, rel=0.01)
    return way / 0.5e-6


@pytest.mark.parametrize("ratio", slow_but(RATIOS, 0.001, 2.0))
def test_a_cylinder_starts_under_water_with_the_mass_of_its_water_as_well(ratio: float) -> None:
    coarse, fine = start_under_water(ratio, 96), start_under_water(ratio, 192)
    assert coarse == pytest.approx(fine, rel=0.03)
    # Walls at four diameters add a few percent to the mass of the water.
    assert fine == pytest.approx(-G * (ratio - 1) / (ratio + 1), rel=0.04)


def test_turning_bodies_take_along_what_their_form_asks_for() -> None:
    """A disc turns without the fluid; a plate of length l has the added inertia pi rho l^4 / 128 of the fluid."""
    h = 1 / 96
    torque = np.array([0.0, 0.0, 1e-3])
    for body, fluid in (
        (cylinder(6 * h, AIR, (0.5, 0.5)), 0.0),
        (beam((24 * h, 3 * h), 0.01 * AIR, (0.5, 0.5)), np.pi * AIR * (24 * h) ** 4 / 128),
    ):
        both = in_air([body], 96, 2, gravity=(0.0, 0.0, 0.0))
        both.world.rigid.torques[0] = torque
        both.step(1e-3)
        own = body.properties.inertia[2, 2]
        # The impulse of the step is shared with the fluid in its pressure.
        expected = 1e-3 * torque[2] / (own + fluid)
        assert body.angular_velocity[2] == pytest.approx(expected, rel=0.15 if fluid else 0.02)


def test_bodies_without_a_fluid_around_fall_freely() -> None:
    body = RigidBody.box((0.2, 0.2, 0.2), 300.0, pose=Pose((0.5, 0.5, 0.7)))
    both = pool([body], (16, 16, 16), 1 / 16, 0.2)
    for _ in range(5):
        both.step(0.01)
    assert body.velocity == pytest.approx(np.array(down(3)) * 0.05, rel=1e-9)
    assert body.center[2] == pytest.approx(0.7 - 0.5 * G * 0.05**2, rel=1e-9)
