"""Solids in lattice Boltzmann flows: drag, walls at their true distance, motion, mass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids.lattice.options import LatticeOptions
from meniscus.grid import Grid, Wall
from meniscus.surface import Box, KinematicSolid, SolidGroup, Sphere

STILL = Wall(slip="no-slip")

# Drag of simple cubic arrays of spheres over Stokes' drag at the superficial velocity:
# Zick and Homsy 1982, J. Fluid Mech. 115, 13, table 2.
ZICK_AND_HOMSY = {0.125: 4.292, 0.216: 7.442}


def array_drag(fraction: float, cells: int, tau: float, **named: Any) -> float:
    """Drag of one sphere of a cubic array over 6 pi mu a U, with U the mean velocity over the whole box."""
    nu = (tau - 0.5) / 3.0
    radius = cells * (3 * fraction / (4 * math.pi)) ** (1 / 3)
    push = 1e-6 * nu / 0.1
    grid = Grid((cells,) * 3, 1.0, periodic=True)
    ball = KinematicSolid(Sphere((0.5 * cells,) * 3, radius))
    options = LatticeOptions(acceleration=(push, 0.0, 0.0), walls=named.pop("walls", "interpolated"))
    flow = ms.fluids.LatticeBoltzmann(grid, nu, 0.1, solid=ball, storage="float64", options=options, **named)
    last = math.inf
    for _ in range(400):
        for _ in range(25):
            flow.step()
        mean = float(flow.velocity[0].sum()) / cells**3
        if abs(mean - last) < 2e-9 * mean:
            break
        last = mean
    drag = float(flow.force_on(ball)[0])
    # The push acts on the fluid alone; a pressure gradient would push the sphere's place as well.
    assert drag == pytest.approx(push * np.count_nonzero(flow.velocity.any(axis=0)), rel=1e-4)
    return push * cells**3 / (6 * math.pi * nu * radius * mean)


@pytest.mark.parametrize("fraction", [0.125, 0.216])
def test_drag_of_an_array_of_spheres(fraction: float) -> None:
    assert array_drag(fraction, 16, 0.8) == pytest.approx(ZICK_AND_HOMSY[fraction], rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [32, 48])
@pytest.mark.parametrize("fraction", [0.125, 0.216])
def test_drag_of_an_array_of_spheres_on_finer_grids(fraction: float, cells: int) -> None:
    assert array_drag(fraction, cells, 1.5) == pytest.approx(ZICK_AND_HOMSY[fraction], rel=0.01)


@pytest.mark.parametrize("walls", ["half-way", "interpolated"])
def test_drag_does_not_depend_on_the_relaxation_time(walls: str) -> None:
    thin, thick = array_drag(0.216, 12, 0.6, walls=walls), array_drag(0.216, 12, 1.5, walls=walls)
    assert thin == pytest.approx(thick, rel=1e-6)


@pytest.mark.parametrize(("low", "high"), [(1.0, 9.0), (1.3, 8.55), (1.75, 8.1)])
def test_flow_between_plates_at_their_true_distance(low: float, high: float) -> None:
    """A plate at any distance that pulls the fluid along gives the linear profile exactly."""
    grid = Grid((3, 10), 1.0, periodic=(True, False))
    lower = KinematicSolid(Box((-50.0, -9.0), (50.0, low)))
    plates = SolidGroup([lower, KinematicSolid(Box((-50.0, high), (50.0, 19.0)), velocity=(0.05, 0.0))])
    flow = ms.fluids.LatticeBoltzmann(grid, 0.3, 0.1, solid=plates, boundary=STILL)
    y = np.broadcast_to(np.arange(10) + 0.5, (3, 10))
    flow.set_flow(np.stack([0.05 * (y - low) / (high - low), np.zeros((3, 10))]))
    for _ in range(150):
        flow.step()
    y = np.arange(10) + 0.5
    inside = (y > low) & (y < high)
    exact = 0.05 * (y - low) / (high - low)
    assert np.abs(flow.velocity[0, 0] - exact)[inside].max() < 1e-6
    shear = 0.3 * 0.05 / (high - low) * 3  # N per m of depth
    assert flow.force_on(plates.solids[0])[0] == pytest.approx(shear, rel=1e-4)
    assert flow.force_on(plates.solids[1])[0] == pytest.approx(-shear, rel=1e-4)


def test_a_wheel_turns_the_fluid_and_feels_its_torque() -> None:
    """Flow between a cylinder that turns and one at rest; torque 4 pi mu omega / (1/a^2 - 1/b^2). The radius has five cells."""
    a, b, omega, nu, n = 5.3, 14.6, 0.01, 0.2, 32
    grid = Grid((n, n), 1.0)
    middle = np.array([16.1, 15.8])
    wheel = KinematicSolid(Sphere(tuple(middle), a), velocity=ms.surface.Twist((omega * middle[1], -omega * middle[0]), omega))
    outside = KinematicSolid(lambda x: b - np.linalg.norm(x - middle, axis=1), dimension=2)
    flow = ms.fluids.LatticeBoltzmann(grid, nu, 0.1, solid=SolidGroup([wheel, outside]), boundary=STILL)
    for _ in range(600):
        flow.step()
    torque = 4 * math.pi * nu * omega / (1 / a**2 - 1 / b**2)
    x, y = (c - m for c, m in zip(np.broadcast_arrays(*grid.cell_centers()), middle, strict=True))
    r = np.hypot(x, y)
    exact = omega / (1 / a**2 - 1 / b**2) * (r / -(b**2) + 1 / r)
    along = (flow.velocity[1] * x - flow.velocity[0] * y) / r
    fluid = (r > a) & (r < b)
    assert np.abs(along - exact)[fluid].max() < 0.03 * omega * a
    assert flow.loads_on(wheel, middle)[1][0] == pytest.approx(-torque, rel=0.02)


def box_with_ball(streaming: str = "in-place", speed: float = 0.35, **named: Any) -> tuple[ms.fluids.LatticeBoltzmann, KinematicSolid]:
    """A ball that moves through a closed box."""
    grid = Grid((22, 15, 17), 0.1)
    ball = KinematicSolid(Sphere((0.6, 0.72, 0.85), 0.32), lambda t: (speed * t, 0.1 * speed * t, 0.0))
    options = LatticeOptions(streaming=streaming, walls=named.pop("walls", "interpolated"))
    flow = ms.fluids.LatticeBoltzmann(grid, 0.004, 1.0, boundary=STILL, solid=ball, options=options, **named)
    return flow, ball


@pytest.mark.parametrize("storage", ["float64", "float32", "int16"])
@pytest.mark.parametrize("walls", ["half-way", "interpolated"])
def test_moving_solids_give_the_same_bits_in_place_and_on_two_lattices(storage: str, walls: str) -> None:
    (one, ball), (two, other) = (box_with_ball(s, storage=storage, walls=walls) for s in ("in-place", "two-lattices"))
    for _ in range(60):
        a, b = one.step(), two.step()
        assert a == b
    assert np.array_equal(one.populations, two.populations)
    assert np.array_equal(one.force_on(ball), two.force_on(other))


def test_mass_of_covered_and_uncovered_cells_is_accounted() -> None:
    flow, ball = box_with_ball(storage="float64", walls="half-way")
    points = np.stack([c.ravel() for c in np.broadcast_arrays(*flow.grid.cell_centers())], axis=1)

    def mass() -> float:
        """Of all fluid cells, with the density of rest."""
        return flow.mass + np.count_nonzero(ball.signed_distance(points, flow.time) > 0) * 0.1**3

    before, ledger, changes = mass(), 0.0, 0
    for _ in range(80):
        report = flow.step()
        ledger += report.uncovered - report.covered
        changes += report.covered > 0
    # What half-way walls add to the links, 6 w e.u, cancels over a closed surface.
    assert changes > 5
    assert mass() - before == pytest.approx(ledger, abs=1e-12)


def test_a_ball_that_moves_steadily_has_the_drag_of_one_in_a_stream() -> None:
    """Galilean invariance: force and its fluctuations."""
    n, nu, u = 20, 0.05, 0.03
    radius = 4.2
    drags = []
    for moving in (False, True):
        grid = Grid((2 * n, n, n), 1.0, periodic=True)
        motion = (lambda t: (u * t, 0.0, 0.0)) if moving else None
        ball = KinematicSolid(Sphere((n, 0.5 * n, 0.5 * n), radius), motion)
        flow = ms.fluids.LatticeBoltzmann(grid, nu, 0.1, solid=ball, storage="float64")
        if not moving:
            velocity = np.zeros((3, *grid.shape))
            velocity[0] = -u
            flow.set_flow(velocity)
        forces = []
        for i in range(200):
            flow.step()
            if i >= 100:
                forces.append(flow.force_on(ball)[0])
        drags.append(np.mean(forces))
    assert drags[0] < 0
    assert drags[1] == pytest.approx(drags[0], rel=0.03)


def test_solids_may_be_set_and_taken_away() -> None:
    flow, ball = box_with_ball(storage="float64")
    for _ in range(10):
        flow.step()
    flow.solid = None
    for _ in range(15):
        flow.step()
    assert flow.velocity[:, 6, 7, 8].any()
    assert np.isfinite(flow.velocity).all()
    flow.solid = ball
    assert not flow.velocity[:, 6, 7, 8].any()
    with pytest.raises(ValueError, match="one of its members"):
        flow.force_on(KinematicSolid(Sphere((0.0, 0.0, 0.0), 1.0)))
    with pytest.raises(ValueError, match="3-D like the grid"):
        flow.solid = Sphere((0.0, 0.0), 1.0)


@pytest.mark.parametrize("periods", [0, 1, 2, -3])
def test_a_solid_that_has_left_a_periodic_box_is_the_one_within(periods: int) -> None:
    """However many times it has gone around: beyond one period it had no cells and no drag."""
    grid = Grid((12, 12, 12), 1 / 12, periodic=(True, True, True))
    found = []
    for x in (0.5, 0.5 + periods):
        ball = KinematicSolid(Sphere((x, 0.5, 0.5), 0.2))
        push = LatticeOptions(acceleration=(1.0, 0.0, 0.0))
        flow = ms.fluids.LatticeBoltzmann(grid, 0.05, 0.5, storage="float64", solid=ball, options=push)
        for _ in range(20):
            flow.step()
        found.append(flow.force_on(ball)[0])
    assert found[0] > 0
    assert found[1] == pytest.approx(found[0], rel=1e-9)
