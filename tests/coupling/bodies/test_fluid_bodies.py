"""Rigid bodies in lattice Boltzmann flows, both ways."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids.lattice.options import LatticeOptions
from meniscus.grid import Grid, Wall

STILL = Wall(slip="no-slip")


def settling(cells: float, reynolds: float, *, storage: str = "float32") -> ms.coupling.FluidBodies:
    """The nylon sphere of ten Cate et al. 2002 in their box of silicon oil, `cells` across its diameter of 15 mm."""
    density, viscosity, top = {
        1.5: (970.0, 0.373, 0.038),
        4.1: (965.0, 0.212, 0.060),
        11.6: (962.0, 0.113, 0.091),
        31.9: (960.0, 0.058, 0.128),
    }[reynolds]
    h = 0.015 / cells
    shape = tuple(round(length / h) for length in (0.1, 0.1, 0.16))
    grid = Grid(shape, h)
    options = LatticeOptions(density=density, lattice_speed=0.04)
    fluid = ms.fluids.LatticeBoltzmann(grid, viscosity / density, top, boundary=STILL, storage=storage, options=options)
    world = ms.solids.World(gravity=(0.0, 0.0, -9.81))
    world.add(ms.solids.RigidBody.sphere(0.0075, 1120.0, pose=ms.surface.Pose((0.05, 0.05, 0.1275))))
    return ms.coupling.FluidBodies(fluid, world)


@pytest.mark.slow
@pytest.mark.parametrize(("reynolds", "fastest"), [(1.5, 0.947), (11.6, 0.959)])
def test_a_sphere_settles_as_in_the_experiment(reynolds: float, fastest: float) -> None:
    """Largest speed over the terminal speed u_infinity of ten Cate et al., table I and figure 5."""
    both = settling(15, reynolds)
    top = {1.5: 0.038, 11.6: 0.091}[reynolds]
    body = both.world.rigid.bodies[0]
    speed = 0.0
    while body.center[2] > 0.03 and both.time < 4.0:
        both.step()
        speed = max(speed, -float(body.velocity[2]))
    assert speed / top == pytest.approx(fastest, rel=0.05)


@pytest.mark.parametrize(("walls", "bar"), [("half-way", 1e-10), ("interpolated", 0.02)])
def test_what_the_fluid_gains_the_body_loses(walls: str, bar: float) -> None:
    """Momentum of both, with what the mean of two steps of loads still owes the body."""
    grid = Grid((24, 16, 16), 0.1, periodic=True)
    options = LatticeOptions(density=2.0, walls=walls)
    fluid = ms.fluids.LatticeBoltzmann(grid, 0.01, 1.0, storage="float64", options=options)
    world = ms.solids.World()
    start = ms.surface.Twist((0.5, 0.1, 0.0), (0.0, 0.0, 0.0))
    ball = ms.solids.RigidBody.sphere(0.32, 5.0, pose=ms.surface.Pose((0.83, 0.77, 0.81)), twist=start)
    world.add(ball)
    both = ms.coupling.FluidBodies(fluid, world)
    first = ball.momentum.copy()
    for _ in range(60):
        dt = both.step().dt
    # A uniform density has no momentum: that of cells is beyond the density of rest.
    owed = dt * (both.loads[0, :3] + 0.5 * both.last_loads[0, :3])
    assert np.linalg.norm(ball.momentum - first) > 0.02 * np.linalg.norm(first)
    assert np.linalg.norm(ball.momentum + fluid.momentum + owed - first) < bar * np.linalg.norm(first)


def test_a_body_falls_with_the_mass_that_it_drags_along() -> None:
    """At the first instants a sphere falls with half of the displaced mass beside its own."""
    grid = Grid((30, 30, 30), 0.1)
    fluid = ms.fluids.LatticeBoltzmann(grid, 1e-3, 1.0, boundary=STILL, storage="float64")
    world = ms.solids.World(gravity=(0.0, 0.0, -1.0))
    ball = ms.solids.RigidBody.sphere(0.5, 4.0, pose=ms.surface.Pose((1.5, 1.5, 1.5)))
    world.add(ball)
    both = ms.coupling.FluidBodies(fluid, world)
    while both.time < 0.25:  # sound has been around the body some times
        both.step()
    assert -float(ball.velocity[2]) / both.time == pytest.approx((4.0 - 1.0) / (4.0 + 0.5), rel=0.08)


def test_a_disc_falls_in_the_plane() -> None:
    grid = Grid((16, 24), 0.1)
    fluid = ms.fluids.LatticeBoltzmann(grid, 0.01, 1.0, boundary=STILL)
    world = ms.solids.World(gravity=(0.0, -1.0, 0.0))
    disc = ms.solids.RigidBody.sphere(0.3, 8.0, pose=ms.surface.Pose((0.8, 1.6, 0.0)))
    world.add(disc)
    both = ms.coupling.FluidBodies(fluid, world)
    for _ in range(60):
        both.step()
    assert disc.velocity[1] < -0.1
    assert abs(disc.velocity[0]) < 1e-9


def test_bodies_that_do_not_fit_are_refused() -> None:
    fluid = ms.fluids.LatticeBoltzmann(Grid((8, 8, 8), 0.1), 0.01, 1.0)
    with pytest.raises(TypeError, match="world must be a World"):
        ms.coupling.FluidBodies(fluid, fluid)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="fluid must be a LatticeBoltzmann"):
        ms.coupling.FluidBodies(ms.fluids.SmokeSolver(Grid((8, 8, 8), 0.1)), ms.solids.World())  # type: ignore[arg-type]
