"""Rigid bodies in lattice Boltzmann flows, both ways."""

from __future__ import annotations

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
@pytest.mark.parametrize(("reynolds", "fastest"), [(1.5, 0.947), (11.6, 0.955)])
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
