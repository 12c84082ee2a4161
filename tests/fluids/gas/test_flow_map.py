"""Velocities carried along a flow map of several steps: order, rings, vortices that leap, solids, sides, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.fluids.rings import ring_solver

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.fluids import LiquidOptions, SmokeOptions, SmokeSolver, TransportOptions

MAP = TransportOptions(method="flow-map")


def solver_of(n: int, dimension: int = 2, **options: Any) -> SmokeSolver:
    grid = ms.Grid((n, n, 6)[:dimension], 1 / n, periodic=True)
    return SmokeSolver(grid, SmokeOptions(**{"splitting": "trapezoid", "transport": MAP, "tolerance": 1e-9, **options}), dtype=np.float64)


def cells(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n + 1) / n, (np.arange(n) + 0.5) / n


def vortices(n: int, time: float, wind: tuple[float, float]) -> list[np.ndarray]:
    """Velocity of the vortices of Taylor and Green in a frame that moves with the wind."""
    sides, centres = cells(n)
    x, y = (lambda c: 2 * np.pi * (c - wind[0] * time)), (lambda c: 2 * np.pi * (c - wind[1] * time))
    u = wind[0] + np.sin(x(sides))[:, None] * np.cos(y(centres))[None, :]
    return [u, wind[1] - np.cos(x(centres))[:, None] * np.sin(y(sides))[None, :]]


def whirl(n: int, dimension: int, **options: Any) -> float:
    """Largest error of the carried vortices after 0.5 s, in n steps of half a cell."""
    wind = (0.7, 0.4)
    solver = solver_of(n, dimension, **options)
    more = (None,) * (dimension - 2)
    start = vortices(n, 0.0, wind)
    for d in range(2):
        solver.velocity.component(d)[...] = start[d][(..., *more)]
    for _ in range(n):
        solver.step(0.5 / n)
    exact = vortices(n, 0.5, wind)
    return max(float(np.abs(solver.velocity.component(d) - exact[d][(..., *more)]).max()) for d in range(2))


@pytest.mark.parametrize("dimension", [2, 3])
def test_carried_vortices_are_of_second_order(dimension: int) -> None:
    ns = (24, 48) if dimension == 2 else (16, 32)
    errors = [whirl(n, dimension) for n in ns]
    assert np.log2(errors[0] / errors[1]) > 1.9, errors


def test_it_loses_less_than_the_scheme_of_single_steps() -> None:
    """Where the grid, not the step, limits: 16 cells a vortex, short steps."""
    assert whirl(32, 2) < 0.6 * whirl(32, 2, transport=TransportOptions(limiter="none"))


def test_a_map_of_one_step_is_a_semi_lagrangian_step() -> None:
    """But for paths of two halves, an error of third order in the step."""
    rng = np.random.default_rng(1)
    noise = [rng.uniform(-1, 1, (17, 16)), rng.uniform(-1, 1, (16, 17))]
    noise[0][-1], noise[1][:, -1] = noise[0][0], noise[1][:, 0]
    found = []
    for transport in (
        TransportOptions(method="flow-map", map_steps=1),
        TransportOptions(method="semi-lagrangian", interpolation="catmull-rom"),
    ):
        solver = solver_of(16, transport=transport, splitting="projection")
        solver.velocity.u, solver.velocity.v = noise
        solver.project(0.01)
        start = np.array(solver.velocity.u)
        for _ in range(3):
            solver.step(0.001)
        found.append(np.array(solver.velocity.u) - start)
    assert np.abs(found[0] - found[1]).max() < 1e-3 * np.abs(found[0]).max()


@pytest.mark.slow
def test_a_ring_keeps_its_energy_and_its_peak() -> None:
    """A core of 2.4 cells, 40 cells across the box, steps of two cells, while it goes on by four radii."""
    solver, measure = ring_solver(40, splitting="trapezoid", transport=MAP)
    before = measure()
    for _ in range(3):
        solver.advance(0.25)
        after = measure()
        assert 0.98 < after[0] / before[0] < 1.0
        assert abs(after[1] / before[1] - 1) < 0.08


@pytest.mark.slow
def test_rings_leap_through_each_other() -> None:
    """Two rings on one axis: the one behind shrinks, goes through the one ahead, which widens, and energy and impulse stay."""
    solver, measure = ring_solver(40, heights=(0.3, 0.5), splitting="trapezoid", transport=MAP)
    before = measure()
    solver.advance(0.3)
    after = measure()
    assert 0.96 < after[0] / before[0] < 1.0
    assert after[2] == pytest.approx(before[2], rel=0.02)


def test_forces_and_sources_are_added_at_the_beginning_of_the_map() -> None:
    """A hot disc rises as by the scheme of single steps, whatever the length of the maps."""

    def rise(**options: Any) -> np.ndarray:
        solver = SmokeSolver(ms.Grid((48, 48), 1 / 48), SmokeOptions(splitting="trapezoid", temperature_weight=6.0, **options))
        solver.temperature.set_from_function(lambda x, y: np.exp(-60 * ((x - 0.45) ** 2 + (y - 0.35) ** 2)))
        for _ in range(12):
            solver.step(0.02)
        return np.array(solver.velocity.v)

    usual = rise(transport=TransportOptions(limiter="none"))
    for steps in (2, 3, 6):
        assert np.abs(rise(transport=TransportOptions(method="flow-map", map_steps=steps)) - usual).max() < 0.03 * np.abs(usual).max()


def test_flow_past_a_solid_and_through_sides() -> None:
    """A wind around a pillar between an inlet and an outlet: as fast as by single steps, free of divergence, at rest in the solid."""
    grid = ms.Grid((60, 24), 1 / 24)
    pillar = ms.surface.KinematicSolid(ms.surface.Sphere((0.6, 0.5), 0.15))
    found = []
    for transport in (MAP, TransportOptions()):
        solver = SmokeSolver(
            grid,
            SmokeOptions(splitting="trapezoid", transport=transport, tolerance=1e-9),
            boundary={"x-": ms.Prescribed((1.0, 0.0)), "x+": ms.Open()},
            solid=pillar,
        )
        solver.velocity.u = 1.0
        for _ in range(30):
            solver.step(0.02)
        assert np.abs(ms.fluids.divergence(solver.velocity, pillar.sample(grid, 0.0)).array).max() < 1e-6
        found.append(ms.fluids.kinetic_energy(solver.velocity))
    assert found[0] == pytest.approx(found[1], rel=0.03)


def test_a_gas_at_rest_in_a_moving_frame_stays_so_to_rounding() -> None:
    solver = solver_of(16)
    solver.velocity.u, solver.velocity.v = 0.7, -0.3
    for _ in range(7):
        solver.step(0.05)
    assert np.abs(solver.velocity.u - 0.7).max() < 1e-13
    assert np.abs(solver.velocity.v + 0.3).max() < 1e-13


def test_snapshots_and_changes_from_outside() -> None:
    """A restored state goes on with the same bits; a velocity that was set anew is carried, not the old one."""
    solver = solver_of(24)
    solver.velocity.u, solver.velocity.v = vortices(24, 0.0, (0.0, 0.0))
    for _ in range(4):
        solver.step(0.01)
    saved = solver.snapshot()
    solver.step(0.01)
    expected = np.array(solver.velocity.u)
    solver.restore(saved)
    solver.step(0.01)
    assert np.array_equal(solver.velocity.u, expected)
    solver.velocity.u, solver.velocity.v = 0.5, 0.25
    solver.step(0.01)
    assert np.abs(solver.velocity.u - 0.5).max() < 0.02


def test_what_does_not_go_with_it_is_refused() -> None:
    with pytest.raises(ValueError, match="surface"):
        LiquidOptions(transport=MAP)
    with pytest.raises(ValueError, match="map_steps"):
        TransportOptions(map_steps=0)
    with pytest.raises(ValueError, match="nodes"):
        TransportOptions(method="flow-map", velocity_samples="nodes")
    smoke = SmokeSolver(ms.Grid((16, 16), 1 / 16), SmokeOptions(transport=MAP))
    points = np.array([[0.3, 0.5], [0.7, 0.5]])
    sheet = KinematicShell((points, np.array([[0, 1]])), lambda t: points)
    with pytest.raises(ValueError, match="flow maps"):
        ShellCoupling(smoke, Shells(smoke.grid, [sheet]), "one-way")
