"""Surface and velocity of a liquid belong to the same time: waves gain no energy, periods are of second order, what falls falls g t^2 / 2.

Energies are measured here, from samples of the level set, not by the solver.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver, ParticleLiquidOptions, ParticleLiquidSolver
from meniscus.surface import Box, HalfSpace, LevelSet

G, RHO, FINE = 9.81, 1000.0, 6
"""Gravity, density, and parts of a cell along each axis."""


Solver = LiquidSolver | ParticleLiquidSolver


def wet_samples(solver: Solver) -> npt.NDArray[np.float64]:
    """Return how much of the parts of each cell, on a lattice, is liquid by the level set, interpolated to their middles."""
    phi = np.asarray(solver.levelset.array, np.float64)
    for d, n in enumerate(phi.shape):
        x = np.clip((np.arange(FINE * n) + 0.5) / FINE - 0.5, 0, n - 1)
        low = np.minimum(x.astype(int), n - 2)
        part = (x - low).reshape([-1 if a == d else 1 for a in range(phi.ndim)])
        phi = np.take(phi, low, d) * (1 - part) + np.take(phi, low + 1, d) * part
    wet: npt.NDArray[np.float64] = np.clip(0.5 - phi * FINE / solver.grid.spacing, 0.0, 1.0)
    return wet


def energy(solver: Solver) -> tuple[float, float]:
    """Return the kinetic energy and the potential energy above that of the same volume at rest in a box of width 1, J (J/m in 2-D).

    A face represents the parts in half of each cell beside it.
    """
    wet = wet_samples(solver)
    grid = solver.grid
    sample = (grid.spacing / FINE) ** grid.dimension
    kinetic = 0.0
    for d in range(grid.dimension):
        u = np.asarray(solver.velocity.component(d), np.float64)
        halves = wet.reshape([v for a, n in enumerate(grid.shape) for v in ((n, 2, FINE // 2) if a == d else (n, 1, FINE))])
        halves = halves.sum(axis=tuple(3 * a + 2 for a in range(grid.dimension)))
        halves = np.moveaxis(halves, [2 * a + 1 for a in range(grid.dimension)], range(-grid.dimension, 0))
        lower, upper = (np.take(halves, [k], -grid.dimension + d).reshape(grid.shape) for k in (0, 1))
        around = np.zeros(u.shape)
        np.moveaxis(around, d, 0)[:-1] += np.moveaxis(lower, d, 0)
        np.moveaxis(around, d, 0)[1:] += np.moveaxis(upper, d, 0)
        kinetic += 0.5 * RHO * sample * float((around * u**2).sum())
    height = (np.arange(wet.shape[-1]) + 0.5) * grid.spacing / FINE
    volume = sample * wet.sum()
    return kinetic, RHO * G * (sample * float((wet * height).sum()) - 0.5 * volume**2)


def box(dimension: int, cells: int, start: str, **options: Any) -> LiquidSolver:
    """Return a closed box of 1 m with water that is about to slosh."""
    return filled(LiquidSolver(ms.Grid((cells,) * dimension, 1 / cells), LiquidOptions(**options)), start)


def filled(solver: Any, start: str) -> Any:
    """Fill a solver with a column at a wall, or up to a slope, and return it."""
    dimension = solver.grid.dimension
    if start == "column":
        solver.fill(Box((-1.0,) * dimension, (0.4,) + (2.0,) * (dimension - 2) + (0.8,)))
    else:
        slope = {"steep": 0.25, "gentle": 0.05}[start]
        normal = np.array([slope] + [0.0] * (dimension - 2) + [1.0])
        solver.fill(HalfSpace((0.5,) * (dimension - 1) + (0.4,), tuple(normal / np.linalg.norm(normal))))
    return solver


def largest_energy(solver: LiquidSolver, duration: float) -> float:
    """Return the largest energy on the way over that at the start, with steps of the length that the solver advises."""
    start, largest = sum(energy(solver)), 0.0
    while solver.time < duration:
        solver.step(solver.max_dt())
        largest = max(largest, sum(energy(solver)))
    return largest / start


@pytest.mark.parametrize("cfl", [1.0, 2.0])
def test_a_box_that_sloshes_gains_no_energy(cfl: float) -> None:
    """Where the surface moved with the velocity of the end of a step: 1.22 and 1.68 times what it had, and more with every wave, as the
    length of the steps follows the speed of the wave."""
    assert largest_energy(box(2, 32, "steep", cfl=cfl), 1.2) <= 1.01


@pytest.mark.slow
@pytest.mark.parametrize("cfl", [0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("start", ["steep", "gentle", "column"])
@pytest.mark.parametrize("tracking", ["particle-level-set", "level-set"])
def test_a_box_that_sloshes_for_long_gains_no_energy(start: str, cfl: float, tracking: Any, request: pytest.FixtureRequest) -> None:
    """2.6 times its energy after 16 s at the default of 1, 8.3 times at 2, once."""
    if (start, cfl, tracking) == ("steep", 3.0, "particle-level-set"):
        gained = "1.029 for a moment; from starts up to 3e-4 m away 0.998 to 1.008"
        request.applymarker(pytest.mark.xfail(strict=True, reason=gained))
    assert largest_energy(box(2, 32, start, cfl=cfl, tracking=tracking), 20.0) <= 1.01


@pytest.mark.slow
@pytest.mark.parametrize("cfl", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("start", ["steep", "column"])
def test_a_box_that_sloshes_gains_no_energy_in_three_dimensions(start: str, cfl: float) -> None:
    assert largest_energy(box(3, 16, start, cfl=cfl), 20.0 if cfl >= 1 else 8.0) <= 1.01


@pytest.mark.slow
@pytest.mark.parametrize("transfer", ["flip", "apic"])
@pytest.mark.parametrize("cfl", [0.5, 1.0])
def test_particles_keep_the_energy_of_a_box_that_sloshes(cfl: float, transfer: Any) -> None:
    """Forces for the length of each step alone took 30 % of it in 6 s at CFL 1. Kinetic energies at the peaks: those of particles belong
    to the middle of a step, so that energies of one time are known only where they hardly change."""
    solver = filled(ParticleLiquidSolver(ms.Grid((32, 32), 1 / 32), ParticleLiquidOptions(transfer=transfer, cfl=cfl)), "steep")
    start, late = sum(energy(solver)), 0.0
    while solver.time < 10.0:
        largest = energy(solver)[0]
        assert largest < 1.03 * start
        late = max(late, largest if solver.time > 8.0 else 0.0)
        solver.step(solver.max_dt())
    assert late > 0.9 * start


@pytest.mark.parametrize("parts", [(0.1, 1.0), (1e-6, 1.0)])
def test_steps_of_other_lengths_do_not_move_water_at_rest(parts: tuple[float, float]) -> None:
    """0.44 m/s, where the long steps went on with what the pressure had corrected in the short ones."""
    solver = LiquidSolver(ms.Grid((24, 24), 1 / 24))
    solver.fill(HalfSpace((0.5, 0.41), (0.0, 1.0)))
    for k in range(120):
        assert solver.step(solver.max_dt() * parts[k % 2]).max_speed < 1e-7


def test_no_step_is_too_long_for_the_shortest_wave() -> None:
    """A gentle wave gained eight times its energy in 10 s at CFL 3."""
    for cfl in (2.0, 3.0):
        assert box(2, 32, "gentle", cfl=cfl).max_dt() == pytest.approx(1.2 / math.sqrt(32 * G))


def wave(steps: int) -> float:
    """Return the amplitude of a standing wave, 0.02 m at first, after three eighths of its period in as many steps."""
    n = 32
    solver = LiquidSolver(ms.Grid((n, n), 1 / n), LiquidOptions(tracking="level-set"))
    solver.fill(LevelSet.from_function(solver.grid, lambda x, y: y - 0.5 - 0.02 * np.cos(math.pi * x), "cells"))
    duration = 0.75 * math.pi / math.sqrt(G * math.pi * math.tanh(0.5 * math.pi))
    for _ in range(steps):
        solver.step(duration / steps)
    phi, x = np.asarray(solver.levelset.array), (np.arange(n) + 0.5) / n
    last = (phi <= 0).sum(axis=1) - 1
    below, above = phi[np.arange(n), last], phi[np.arange(n), last + 1]
    height = x[last] + below / (below - above) / n
    return 2 * float(np.mean(height * np.cos(math.pi * x)))


def test_standing_waves_are_of_second_order_in_time() -> None:
    """Changes by 2.5e-4 and 6.4e-5 m with half the step; of first order, 1.4e-3 and 7.8e-4 m, before."""
    coarse, middle, fine = (wave(steps) for steps in (5, 10, 20))
    assert abs(coarse - middle) < 4e-4
    assert abs(coarse - middle) > 3.3 * abs(middle - fine)


def fallen(dimension: int, **options: Any) -> float:
    """Return the way of a block in 0.2 s over g t^2 / 2."""
    n = {2: 32, 3: 24}[dimension]
    solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(**options))
    solver.fill(Box((0.3,) * (dimension - 1) + (0.5,), (0.7,) * (dimension - 1) + (0.8,)))

    def middle() -> float:
        wet = wet_samples(solver)
        return float((wet * (np.arange(wet.shape[-1]) + 0.5)).sum() / wet.sum()) * solver.grid.spacing / FINE

    start = middle()
    solver.advance(0.2)
    assert solver.report is not None
    # At the corners of a block the air around it, which falls as well, is not quite as fast.
    assert solver.report.max_speed == pytest.approx(G * 0.2, rel=1e-3)
    return (start - middle()) / (0.5 * G * 0.2**2)


@pytest.mark.fast_cases("1.0-2")
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("cfl", [0.5, 1.0, 2.0])
def test_a_block_falls_by_half_g_t_squared(dimension: int, cfl: float) -> None:
    """To 1 %; moved by the velocities of the starts of the steps, by 0.93, 0.84 and 0.6 of that in 2-D."""
    assert fallen(dimension, cfl=cfl) == pytest.approx(1.0, abs=0.01)
