"""Small motions beside theory: a piston in a U-tube, the heave of a cylinder and the roll of a barge in linear potential flow."""

from __future__ import annotations

import numpy as np
import pytest
from support.fluids.floating import WATER, G, beam, cylinder, down, pool
from support.fluids.linear_floating import LinearFloat
from support.variants import slow_but

import meniscus as ms
from meniscus.coupling import FluidWorld
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.solids import World
from meniscus.surface import Box, HalfSpace


def zeros(times: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the times at which places pass zero."""
    k = np.flatnonzero(places[:-1] * places[1:] < 0)
    return times[k] + places[k] / (places[k] - places[k + 1]) * (times[k + 1] - times[k])


def test_the_reference_has_the_modes_of_a_tank_and_the_added_mass_of_a_cylinder() -> None:
    """Sloshing: omega^2 = g k tanh(k h). Half a cylinder in deep water: rho pi R^2 / 2 in heave, 4 / pi^2 of it in sway."""
    tank = LinearFloat(2.0, 1.0, [(0.01, 1.0), (0.01, 0.99), (-0.01, 0.99), (-0.01, 1.0)], 0.2, (0.0, 1.0), 1.0, [(1, 0, 0)], 0.04)
    k = 0.5 * np.pi * np.array([1, 3])
    found = tank.slosh()
    for wanted in np.sqrt(G * k * np.tanh(k)):
        assert np.abs(found / wanted - 1).min() < 2e-3
    assert tank.growth < 1e-3
    deep = LinearFloat(40.0, 20.0, half_circle(1.0, 20.0), 500 * np.pi, (0.0, 20.0), 1.0, [(1, 0, 0), (0, 1, 0)], 0.25)
    assert deep.added[1, 1] / (500 * np.pi) == pytest.approx(1.0, rel=0.01)
    assert deep.added[0, 0] / (500 * np.pi) == pytest.approx(4 / np.pi**2, rel=0.03)


def half_circle(radius: float, depth: float) -> list[tuple[float, float]]:
    """Return the wetted half of a cylinder."""
    return [(float(radius * np.cos(a)), float(depth + radius * np.sin(a))) for a in np.linspace(0.0, -np.pi, 65)]


@pytest.mark.parametrize("cells", slow_but([6, 12], 6))
def test_the_heave_of_a_cylinder_is_that_of_potential_theory(cells: int) -> None:
    """Half in water, lifted by a tenth of its radius; 12 and 24 cells across. It makes waves, which take most of its energy."""
    width, depth, lift = 12.0, 3.0, 0.1
    both = pool([cylinder(1.0, 500.0, (0.5 * width, depth + lift))], (int(width * cells), int((depth + 1.5) * cells)), 1 / cells, depth)
    times, places = [0.0], [lift]
    while both.time < 2.4:
        both.step(0.03 if cells == 6 else 0.015)
        times.append(both.time)
        places.append(float(both.bodies[0].center[1]) - depth)
    t, y = np.array(times), np.array(places)
    reference = LinearFloat(width, depth, half_circle(1.0, depth), 500 * np.pi, (0.0, depth), 1.0, [(0, 1, 0)], 0.1)
    wanted = reference.motion([lift], t)[:, 0]
    assert zeros(t, y)[:2] == pytest.approx(zeros(t, wanted)[:2], rel=0.015)
    assert np.sqrt(np.mean((y - wanted) ** 2)) < 0.03 * lift


@pytest.mark.slow
@pytest.mark.parametrize("density", [300.0, 500.0])
def test_the_roll_of_a_barge_is_that_of_potential_theory(density: float) -> None:
    """Twice as wide as high, free to sway, 24 cells across. At 12 cells its frequency is 4 to 7 % high.

    The inertia of the water that turns with its corners is too small there, at first order.
    """
    cells, width, depth, size, angle = 24, 8.0, 2.0, (1.0, 0.5), 0.05
    draft = density / WATER * size[1]
    middle = depth - draft + 0.5 * size[1]
    both = pool([beam(size, density, (0.5 * width, middle), angle)], (int(width * cells), int((depth + 0.8) * cells)), 1 / cells, depth)
    (barge,) = both.bodies
    times, angles = [0.0], [angle]
    while both.time < 3.0:
        both.step(0.01)
        times.append(both.time)
        angles.append(float(np.arctan2(barge.matrix[1, 0], barge.matrix[0, 0])))
    hull = [(0.5, depth), (0.5, depth - draft), (-0.5, depth - draft), (-0.5, depth)]
    inertia = barge.mass * (size[0] ** 2 + size[1] ** 2) / 12
    reference = LinearFloat(width, depth, hull, barge.mass, (0.0, middle), inertia, [(1, 0, 0), (0, 0, 1)], 0.04)
    t = np.array(times)
    found, wanted = zeros(t, np.array(angles)), zeros(t, reference.motion([0.0, angle], t)[:, 1])
    assert found[:3] == pytest.approx(wanted[:3], rel=0.03)


@pytest.mark.parametrize(("cells", "density", "bar"), slow_but([(8, 500.0, 0.02), (16, 500.0, 0.01), (16, 2000.0, 0.01)], (8, 500.0, 0.02)))
def test_a_piston_in_a_u_tube_swings_with_all_the_water(cells: int, density: float, bar: float) -> None:
    """omega^2 = 2 rho g A / (m + rho A L). Along each of two right angles water flows as along 1 - (2 / pi) ln 2 of a square.

    The divider is thicker than its cells by a hair: where its sides lie exactly on faces, its corners are open by a cell. The error falls
    with the cells: 0.7 % at 16, and 0.5 % needs 24.
    """
    wide, gap, thick, lift, level = 0.2, 0.2, 0.2, 0.02, 0.5
    h = wide / cells
    wall = Box((wide - 1e-6, wide - 1e-6), (wide + gap + 1e-6, 3.0))
    solver = LiquidSolver(ms.Grid((3 * cells, 6 * cells), h), LiquidOptions(tolerance=1e-10), solid=wall)
    # At rest, the water in the open arm is higher by what the piston displaces; lifted, lower.
    risen = density / WATER * thick
    solver.fill(HalfSpace((0.0, min(level + lift, level + risen - lift)), (0.0, 1.0)))
    solver.fill(Box((wide + 0.5 * gap, 0.0), (3.0, level + risen - lift)))
    world = World(gravity=down(2))
    # It reaches into the side of the domain.
    across = wide + 0.02
    piston = world.add(beam((across, thick), density * wide / across, (0.5 * wide - 0.01, level + lift + 0.5 * thick)))
    world.join(piston, None, "slider", point=tuple(piston.center.tolist()), axis=(0.0, 1.0, 0.0))
    both = FluidWorld(solver, world)
    times, places = [0.0], [lift]
    while both.time < 1.8:
        both.step(0.02 if cells == 8 else 0.01)
        times.append(both.time)
        places.append(float(piston.center[1]) - level - 0.5 * thick)
    z = zeros(np.array(times), np.array(places))
    length = (level - wide) + (level + risen - wide) + gap + 2 * wide * (1 - 2 / np.pi * np.log(2))
    wanted = np.sqrt(2 * WATER * G * wide / (piston.mass + WATER * wide * length))
    assert np.pi * (len(z) - 1) / (z[-1] - z[0]) == pytest.approx(wanted, rel=bar)
