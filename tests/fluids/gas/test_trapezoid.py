"""Smoke whose steps are split by the trapezoidal rule: order in time, energy, forces, viscosity, walls that move, stages."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.fluids.floating import cylinder
from support.fluids.rings import ring_solver
from support.same_bits import everywhere

import meniscus as ms
from meniscus.coupling import FluidWorld, KinematicShell, ShellCoupling, Shells
from meniscus.fluids import SmokeOptions, SmokeSolver, TransportOptions
from meniscus.solids import RigidBody, World

SMOOTH = TransportOptions(limiter="none")
CUBIC = TransportOptions(method="semi-lagrangian", interpolation="catmull-rom", trace="rk3")


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
    errors = [whirl(n, "trapezoid", wind) for n in (32, 64)]
    assert np.log2(errors[0] / errors[1]) > 1.9, errors
    assert errors[1] < 0.12 * whirl(64, "projection", wind)


def test_viscosity_is_of_second_order_too() -> None:
    """Vortices that decay as exp(-2 nu k^2 t), to a third in the run."""
    errors = [whirl(n, "trapezoid", (0.0, 0.0), 0.03) for n in (32, 64)]
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


@pytest.mark.parametrize(("splitting", "least", "most"), [("projection", 0.9, 1.4), ("trapezoid", 1.7, 2.3)])
def test_buoyancy_converges_with_grid_and_step(splitting: str, least: float, most: float) -> None:
    """Differences between three grids, of means over the cells of the coarser one."""
    runs = [heat(n, splitting) for n in (32, 64, 128)]
    first, second = (
        float(np.sqrt(np.mean((fine.reshape(n, 2, n, 2).mean(axis=(1, 3)) - coarse) ** 2)))
        for n, coarse, fine in ((32, runs[0], runs[1]), (64, runs[1], runs[2]))
    )
    assert least < np.log2(first / second) < most, (first, second)


@pytest.mark.slow
@pytest.mark.parametrize(("transport", "least"), [(TransportOptions(), 0.94), (SMOOTH, 0.96), (CUBIC, 0.97)])
def test_a_ring_keeps_its_energy(transport: TransportOptions, least: float) -> None:
    """A core of 2.4 cells goes on by 1.4 radii in steps of two cells; by projections it keeps 63 %."""
    kept = {}
    for splitting in ("projection", "trapezoid"):
        solver, measure = ring_solver(40, splitting=splitting, transport=transport)
        before = measure()
        solver.advance(0.25)
        kept[splitting] = measure()[0] / before[0]
    assert kept["projection"] < 0.75, kept
    assert least < kept["trapezoid"] < 1.0, kept


def test_a_piston_drives_air_through_a_duct() -> None:
    """Air before a plate that speeds up has its velocity at the end of each step."""
    grid = ms.Grid((40, 10), 1 / 10)
    plate = ms.surface.KinematicSolid(ms.surface.Box((-0.26, -1.0), (0.26, 2.0)), lambda t: ms.surface.Pose((0.75 + 0.4 * t * t, 0.5)))
    air = SmokeSolver(grid, SmokeOptions(splitting="trapezoid", tolerance=1e-9), boundary={"x-": ms.Open(), "x+": ms.Open()}, solid=plate)
    for _ in range(10):
        air.step(0.05)
    # The mean velocity of the plate over the last half of the last step.
    speed = 0.4 * (0.5**2 - 0.475**2) / 0.025
    assert np.abs(air.velocity.u[16:] - speed).max() < 1e-6
    assert np.abs(ms.fluids.divergence(air.velocity, plate.sample(grid, 0.5, -0.025)).array[15:]).max() < 1e-6


def test_stages_and_lengths_that_hooks_see() -> None:
    solver = SmokeSolver(ms.Grid((8, 8), 0.125), SmokeOptions(splitting="trapezoid"))
    seen: list[tuple[str, float]] = []
    solver.step(0.1, on_stage=lambda name, smoke: seen.append((name, smoke.stage_dt)))
    assert tuple(name for name, _ in seen) == solver.stages == SmokeSolver.stages_of_trapezoid
    assert [length for _, length in seen] == [0.1, 0.05, 0.1, 0.05, 0.1, 0.1]


def test_a_force_of_a_hook_acts_for_the_whole_step() -> None:
    """An acceleration in a periodic box, by the option and by a hook that uses the length of the stage."""

    def blow(name: str, smoke: Any) -> None:
        if name == "add_forces":
            smoke.velocity.u[...] += smoke.stage_dt * 3.0

    grid = ms.Grid((8, 8), 0.125, periodic=True)
    by_hook, by_option = (SmokeSolver(grid, SmokeOptions(splitting="trapezoid", **o)) for o in ({}, {"acceleration": (3.0, 0.0)}))
    by_hook.step(0.1, on_stage=blow)
    by_option.step(0.1)
    assert np.allclose(by_hook.velocity.u, 0.3, rtol=1e-12)
    assert np.allclose(by_option.velocity.u, 0.3, rtol=1e-12)


def test_steps_repeat_after_a_snapshot_and_an_error() -> None:
    solver = SmokeSolver(ms.Grid((16, 16), 1 / 16), SmokeOptions(splitting="trapezoid", temperature_weight=4.0))
    solver.temperature.set_from_function(lambda x, y: np.exp(-40 * ((x - 0.5) ** 2 + (y - 0.4) ** 2)))
    solver.step(0.05)
    before = solver.snapshot()

    def fail(name: str, _smoke: Any) -> None:
        if name == "diffuse":
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
    with pytest.raises(ValueError, match="nodes"):
        SmokeOptions(splitting="trapezoid", transport=TransportOptions(velocity_samples="nodes"))


def busy(dtype: Any = np.float64) -> SmokeSolver:
    """Smoke with what pressure, viscosity and forces act on: a ball that moves, an emitter, an open side."""
    grid = ms.Grid((14, 14, 14), 1 / 14)
    return SmokeSolver(
        grid,
        SmokeOptions(splitting="trapezoid", temperature_weight=3.0, viscosity=2e-3, slip="no-slip"),
        dtype=dtype,
        boundary={"z+": ms.Open()},
        solid=ms.surface.KinematicSolid(ms.surface.Sphere((0.5, 0.5, 0.5), 0.15), lambda t: (0.3 * t, 0.0, 0.0)),
        emitters=[ms.fluids.Emitter(ms.surface.Sphere((0.3, 0.3, 0.3), 0.2), density=1.0, temperature=1.0, velocity=(0.3, 0.3, 0.3))],
    )


def everything(smoke: SmokeSolver) -> list[np.ndarray]:
    return [np.array(smoke.velocity.component(d)) for d in range(3)] + [np.array(smoke.temperature), np.array(smoke.pressure)]


@pytest.mark.parametrize("name", ["emit", "add_forces", "transport", "diffuse", "project"])
def test_an_error_after_any_stage_leaves_no_trace(name: str) -> None:
    smoke, untouched = busy(), busy()
    for solver in (smoke, untouched):
        solver.step(0.05)
        solver.step(0.03)

    def fail(stage: str, _: Any) -> None:
        if stage == name:
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        smoke.step(0.04, on_stage=fail)
    for solver in (smoke, untouched):
        solver.step(0.05)
    assert all(np.array_equal(a, b) for a, b in zip(everything(smoke), everything(untouched), strict=True))


def test_the_same_bits_on_any_number_of_threads() -> None:
    def run() -> list[np.ndarray]:
        smoke = busy(np.float32)
        for _ in range(3):
            smoke.step(0.04)
        return everything(smoke)

    everywhere(run)


def test_a_velocity_that_was_set_from_outside_is_a_start() -> None:
    """What the last step has found belongs to another flow: the next one is that of a solver that has just been made."""
    used, fresh = (SmokeSolver(ms.Grid((16, 16), 1 / 16, periodic=True), SmokeOptions(splitting="trapezoid")) for _ in range(2))
    used.velocity.u, used.velocity.v = vortices(used, 0.0, (0.3, 0.0))
    used.step(0.05)
    for solver in (used, fresh):
        solver.velocity.u, solver.velocity.v = vortices(solver, 0.1, (0.0, 0.0), 0.5)
        solver.pressure.array[...] = 0.0
        solver.step(0.05)
    assert np.array_equal(used.velocity.u, fresh.velocity.u)


def test_steps_of_any_lengths_do_not_stir_a_gas() -> None:
    """Every other step ten times as long: noise of the pressure is not taken for an acceleration."""
    smoke = SmokeSolver(ms.Grid((24, 24), 1 / 24), SmokeOptions(splitting="trapezoid"))
    rng = np.random.default_rng(2)
    for d in range(2):
        smoke.velocity.component(d)[...] = rng.uniform(-1, 1, smoke.velocity.component(d).shape)
    smoke.step(1e-3)
    energy = [smoke.report.kinetic_energy]
    for k in range(60):
        smoke.step(0.02 if k % 2 else 0.002)
        energy.append(smoke.report.kinetic_energy)
    assert max(b / a for a, b in pairwise(energy)) < 1.0


def kept(make: Any, splitting: str) -> float:
    """Energy that vortices between walls keep for half a turn, in a coupling around the solver."""
    n = 32
    smoke = SmokeSolver(ms.Grid((n, n), 1 / n), SmokeOptions(splitting=splitting, transport=SMOOTH, tolerance=1e-8))  # type: ignore[arg-type]
    smoke.velocity.u, smoke.velocity.v = vortices(smoke, 0.0, (0.0, 0.0))
    stepper, before = make(smoke), ms.fluids.kinetic_energy(smoke.velocity)
    for _ in range(16):
        stepper.step(1 / n)
    return ms.fluids.kinetic_energy(smoke.velocity) / before


def beside_a_sheet(smoke: SmokeSolver) -> ShellCoupling:
    """A sheet along the line between the vortices, which they do not cross."""
    points = np.array([[0.5, 0.2], [0.5, 0.8]])
    return ShellCoupling(smoke, Shells(smoke.grid, [KinematicShell((points, np.array([[0, 1]])), lambda t: points)]), "one-way")


def with_a_body(smoke: SmokeSolver) -> FluidWorld:
    """A disc as heavy as the air that turns with a vortex, at its middle."""
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add(cylinder(0.08, 1.2, (0.25, 0.25)))
    return FluidWorld(smoke, world)


@pytest.mark.parametrize("make", [beside_a_sheet, with_a_body])
def test_couplings_carry_the_pressure_along_too(make: Any) -> None:
    lost = {kind: 1 - kept(make, kind) for kind in ("projection", "trapezoid")}
    assert 0 < lost["trapezoid"] < 0.35 * lost["projection"], lost


@pytest.mark.parametrize("transport", [TransportOptions(), TransportOptions(method="flow-map")])
def test_a_body_and_its_gas_keep_their_momentum(transport: TransportOptions) -> None:
    """What is carried of the pressure is taken off again within the transport, whose error the coupling gives back."""
    air = SmokeSolver(
        ms.Grid((16,) * 3, 1 / 16, periodic=(True,) * 3),
        SmokeOptions(tolerance=1e-10, splitting="trapezoid", transport=transport),
        dtype=np.float64,
    )
    world = World(gravity=(0.0, 0.0, 0.0))
    box = RigidBody.box((0.35, 0.25, 0.3), 3.0, pose=ms.surface.Pose((0.4, 0.5, 0.5)))
    box.momentum[...] = np.array((1.0, 0.3, 0.0)) * box.mass
    box.angular_momentum[...] = 0.0, 2e-3, 1e-3
    world.add(box)
    both = FluidWorld(air, world)
    both.step(0.01)
    start = np.array(both.ledger.momentum)
    for _ in range(8):
        both.step(0.01)
    assert np.abs(both.ledger.momentum - start).max() < 1e-7 * np.abs(start).max()
