"""Stresses of gas without slip on bodies: torque between cylinders, what spins down, a sphere that settles."""

from __future__ import annotations

import numpy as np
import pytest
from support.fluids.floating import cylinder
from support.same_bits import everywhere

import meniscus as ms
from meniscus.coupling import FluidWorld
from meniscus.coupling.bodies.body_forms import inertia_of
from meniscus.fluids import SmokeOptions, SmokeSolver
from meniscus.solids import RigidBody, World
from meniscus.surface import Pose, Sphere

DENSITY, VISCOSITY = 1.2, 0.02


def between_cylinders(cells: int, density: float, spin: float) -> FluidWorld:
    """Return a cylinder of 0.15 m that spins in one of 0.4 m."""
    grid = ms.Grid((cells, cells), 1 / cells)
    options = SmokeOptions(viscosity=VISCOSITY, air_density=DENSITY, slip="no-slip", tolerance=1e-10)
    fluid = SmokeSolver(grid, options, dtype=np.float64, solid=~Sphere((0.503, 0.496), 0.4))
    world = World(gravity=(0.0, 0.0, 0.0))
    body = world.add(cylinder(0.15, density, (0.503, 0.496)))
    body.angular_momentum[2] = inertia_of(body)[2, 2] * spin
    return FluidWorld(fluid, world)


@pytest.mark.parametrize(("cells", "bar"), [(40, 0.02), (64, 0.01)])
def test_torque_between_cylinders(cells: int, bar: float) -> None:
    """A heavy cylinder keeps its spin; 10 and 16 cells to the outer one. 4 pi mu w / (1/a^2 - 1/b^2) per metre."""
    both = between_cylinders(cells, 1e6, 0.5)
    body = both.bodies[0]
    for _ in range(30):
        both.step(0.2)
    exact = -4 * np.pi * VISCOSITY * DENSITY * body.angular_velocity[2] / (1 / 0.15**2 - 1 / 0.4**2)
    assert both.report.forces[body].torque[2] == pytest.approx(exact, rel=bar)
    assert np.abs(both.report.forces[body].force).max() * 0.15 < 0.01 * abs(exact)


def test_a_light_cylinder_spins_down_in_one_solve() -> None:
    """A thousandth of the gas: a solve that took the stress of its first motion would throw it back many times as fast."""
    both = between_cylinders(40, 1e-3 * DENSITY, 0.5)
    body, seen = both.bodies[0], [0.5]
    for _ in range(10):
        both.step(0.05)
        seen.append(float(body.angular_velocity[2]))
    assert (np.diff(seen) < 0).all()
    assert 0 <= seen[-1] < 0.1


def test_same_bits_on_threads() -> None:
    def run() -> list[np.ndarray]:
        both = between_cylinders(24, 3.0, 2.0)
        for _ in range(3):
            both.step(0.05)
        return [both.fluid.velocity.u.copy(), both.bodies[0].state_row.copy()]

    everywhere(run)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("density", "viscosity", "speed", "ratio"),
    [(970.0, 0.373, 0.038, 0.947), (965.0, 0.212, 0.060, 0.953), (962.0, 0.113, 0.091, 0.959), (960.0, 0.058, 0.128, 0.955)],
    ids=["1.5", "4.1", "11.6", "31.9"],
)
def test_a_sphere_settles_as_measured(density: float, viscosity: float, speed: float, ratio: float) -> None:
    """A sphere of 15 mm in a box of 100 x 100 x 160 mm of oil, four Reynolds numbers (ten Cate et al. 2002, table II): 10 cells across."""
    h = 0.0015
    grid = ms.Grid((67, 67, 107), h)
    options = SmokeOptions(viscosity=viscosity / density, air_density=density, slip="no-slip", tolerance=1e-6, cfl=0.7)
    world = World(gravity=(0.0, 0.0, -9.81))
    ball = world.add(RigidBody.sphere(0.0075, 1120.0, pose=Pose((0.05, 0.05, 0.1275))))
    both = FluidWorld(SmokeSolver(grid, options, dtype=np.float64), world)
    fastest = 0.0
    while ball.center[2] > 0.05:
        both.step(min(both.max_dt(), 0.3 * h / speed))
        fastest = max(fastest, -float(ball.velocity[2]))
    assert fastest == pytest.approx(ratio * speed, rel=0.06)
