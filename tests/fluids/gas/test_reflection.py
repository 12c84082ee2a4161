"""Smoke whose steps are split by reflection: order in time, energy, forces, viscosity, walls that move, stages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import SmokeOptions, SmokeSolver, TransportOptions

SMOOTH = TransportOptions(limiter="none")


def vortices(solver: SmokeSolver, time: float, wind: tuple[float, float], decay: float = 1.0) -> list[np.ndarray]:
    """Velocity of the vortices of Taylor and Green in a frame that moves with the wind, times `decay`: u = sin X cos Y."""
    n = solver.grid.shape[0]
    sides, centres = np.arange(n + 1) / n, (np.arange(n) + 0.5) / n

    def phase(x: np.ndarray, axis: int) -> np.ndarray:
        return 2 * np.pi * (x - wind[axis] * time)

    u = wind[0] + decay * np.sin(phase(sides, 0))[:, None] * np.cos(phase(centres, 1))[None, :]
    v = wind[1] - decay * np.cos(phase(centres, 0))[:, None] * np.sin(phase(sides, 1))[None, :]
    return [u, v]


def whirl(n: int, splitting: str, wind: tuple[float, float], viscosity: float = 0.0, end: float = 0.5) -> float:
    """Root mean square of the error of both components at the end, of n steps of half a cell."""
    options = SmokeOptions(splitting=splitting, viscosity=viscosity, transport=SMOOTH, tolerance=1e-9)  # type: ignore[arg-type]
    solver = SmokeSolver(ms.Grid((n, n), 1 / n, periodic=True), options)
    solver.velocity.u, solver.velocity.v = vortices(solver, 0.0, wind)
    for _ in range(n):
        solver.step(end / n)
    exact = vortices(solver, end, wind, np.exp(-8 * np.pi**2 * viscosity * end))
    return float(np.sqrt(np.mean((solver.velocity.u - exact[0]) ** 2) + np.mean((solver.velocity.v - exact[1]) ** 2)))


@pytest.mark.parametrize("wind", [(0.0, 0.0), (0.7, 0.4)])
def test_second_order_at_a_fixed_cfl_number(wind: tuple[float, float]) -> None:
    """Steps as long as the cells are wide; by projections the carried vortices are of first order."""
    errors = [whirl(n, "reflection", wind) for n in (32, 64)]
    assert np.log2(errors[0] / errors[1]) > 1.9, errors
    assert errors[1] < 0.12 * whirl(64, "projection", wind)


def test_viscosity_is_of_second_order_too() -> None:
    """Vortices that decay as exp(-2 nu k^2 t), to a third in the run."""
    errors = [whirl(n, "reflection", (0.0, 0.0), 0.03) for n in (32, 64)]
    assert np.log2(errors[0] / errors[1]) > 1.9, errors
    assert errors[1] < 0.4 * whirl(64, "projection", (0.0, 0.0), 0.03)


def heat(n: int, splitting: str) -> np.ndarray:
    """Temperature of a warm disc that has risen between walls, in steps of a length like the spacing."""
    options = SmokeOptions(temperature_weight=6.0, splitting=splitting, transport=SMOOTH, tolerance=1e-8)  # type: ignore[arg-type]
    solver = SmokeSolver(ms.Grid((n, n), 1 / n), options)
    solver.temperature.set_from_function(lambda x, y: np.exp(-60 * ((x - 0.45) ** 2 + (y - 0.35) ** 2)))
    for _ in range(n // 4):
        solver.step(0.32 / (n // 4))
    return np.array(solver.temperature)


@pytest.mark.parametrize(("splitting", "least", "most"), [("projection", 0.9, 1.4), ("reflection", 1.7, 2.3)])
def test_buoyancy_converges_with_grid_and_step(splitting: str, least: float, most: float) -> None:
    """Differences between three grids, of means over the cells of the coarser one."""
    runs = [heat(n, splitting) for n in (32, 64, 128)]
    first, second = (
        float(np.sqrt(np.mean((fine.reshape(n, 2, n, 2).mean(axis=(1, 3)) - coarse) ** 2)))
        for n, coarse, fine in ((32, runs[0], runs[1]), (64, runs[1], runs[2]))
    )
    assert least < np.log2(first / second) < most, (first, second)


def ring(splitting: str, n: int = 24) -> float:
    """Energy that a vortex ring keeps while it goes on by its radius."""
    grid = ms.Grid((n, n, n), 1 / n, periodic=(True,) * 3)
    solver = SmokeSolver(grid, SmokeOptions(splitting=splitting, cfl=1.0, transport=SMOOTH), dtype=np.float64)  # type: ignore[arg-type]
    # The curl of a potential on the edges is free of divergence.
    corners = np.arange(n) / n
    x, y, z = np.meshgrid(corners, corners, corners, indexing="ij")
    half = 0.5 / n

    def potential(axis: int, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        r = np.hypot(x - 0.5, y - 0.5)
        size = np.exp(-((r - 0.2) ** 2 + (z - 0.5) ** 2) / 0.1**2) * 0.05 / np.maximum(r, 1e-9)
        return np.asarray((-(y - 0.5) if axis == 0 else x - 0.5) * size)

    a, b = potential(0, x + half, y, z), potential(1, x, y + half, z)
    back = np.roll
    parts = [
        -(back(b, -1, 2) - b) * n,
        (back(a, -1, 2) - a) * n,
        (back(b, -1, 0) - b - back(a, -1, 1) + a) * n,
    ]
    for d, part in enumerate(parts):
        solver.velocity.component(d)[...] = np.concatenate([part, part.take([0], axis=d)], axis=d)
    before = ms.fluids.kinetic_energy(solver.velocity)
    solver.advance(0.2)
    return ms.fluids.kinetic_energy(solver.velocity) / before


@pytest.mark.slow
def test_a_ring_keeps_its_energy() -> None:
    """Eight cells across the core; by projections it loses five times as much."""
    lost = {kind: 1 - ring(kind) for kind in ("projection", "reflection")}
    assert 0 < lost["reflection"] < 0.2 * lost["projection"], lost


def test_a_piston_drives_air_through_a_duct() -> None:
    """Air before a plate that speeds up has its velocity at the end of each step."""
    grid = ms.Grid((40, 10), 1 / 10)
    plate = ms.surface.KinematicSolid(ms.surface.Box((-0.26, -1.0), (0.26, 2.0)), lambda t: ms.surface.Pose((0.75 + 0.4 * t * t, 0.5)))
    air = SmokeSolver(grid, SmokeOptions(splitting="reflection", tolerance=1e-9), boundary={"x-": ms.Open(), "x+": ms.Open()}, solid=plate)
    for _ in range(10):
        air.step(0.05)
    # The mean velocity of the plate over the last half of the last step.
    speed = 0.4 * (0.5**2 - 0.475**2) / 0.025
    assert np.abs(air.velocity.u[16:] - speed).max() < 1e-6
    assert np.abs(ms.fluids.divergence(air.velocity, plate.sample(grid, 0.5, -0.025)).array[15:]).max() < 1e-6


def test_stages_and_lengths_that_hooks_see() -> None:
    solver = SmokeSolver(ms.Grid((8, 8), 0.125), SmokeOptions(splitting="reflection"))
    seen: list[tuple[str, float]] = []
    solver.step(0.1, on_stage=lambda name, smoke: seen.append((name, smoke.stage_dt)))
    assert tuple(name for name, _ in seen) == solver.stages == SmokeSolver.stages_of_reflection
    assert [length for _, length in seen] == [0.1] + [0.05] * 8


def test_a_force_of_a_hook_acts_for_the_whole_step() -> None:
    """An acceleration in a periodic box, by the option and by a hook that uses the length of the stage."""

    def blow(name: str, smoke: Any) -> None:
        if name == "add_forces":
            smoke.velocity.u[...] += smoke.stage_dt * 3.0

    grid = ms.Grid((8, 8), 0.125, periodic=True)
    by_hook, by_option = (SmokeSolver(grid, SmokeOptions(splitting="reflection", **o)) for o in ({}, {"acceleration": (3.0, 0.0)}))
    by_hook.step(0.1, on_stage=blow)
    by_option.step(0.1)
    assert np.allclose(by_hook.velocity.u, 0.3, rtol=1e-12)
    assert np.allclose(by_option.velocity.u, 0.3, rtol=1e-12)


def test_steps_repeat_after_a_snapshot_and_an_error() -> None:
    solver = SmokeSolver(ms.Grid((16, 16), 1 / 16), SmokeOptions(splitting="reflection", temperature_weight=4.0))
    solver.temperature.set_from_function(lambda x, y: np.exp(-40 * ((x - 0.5) ** 2 + (y - 0.4) ** 2)))
    solver.step(0.05)
    before = solver.snapshot()

    def fail(name: str, _smoke: Any) -> None:
        if name == "reflect":
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        solver.step(0.05, on_stage=fail)
    assert solver.time == 0.05
    solver.step(0.05)
    after = np.array(solver.velocity.v)
    solver.restore(before)
    solver.step(0.05)
    assert np.array_equal(solver.velocity.v, after)


def test_what_does_not_go_with_it_is_refused() -> None:
    with pytest.raises(ValueError, match="reflect needs"):
        SmokeSolver(ms.Grid((8, 8), 0.125)).reflect(0.1)
    with pytest.raises(ValueError, match="nodes"):
        SmokeOptions(splitting="reflection", transport=TransportOptions(velocity_samples="nodes"))
