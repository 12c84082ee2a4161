"""Velocity of controls: exact relaxation, the part that a filter lets through, momentum, and stability."""

import math
from typing import Any

import numpy as np
import pytest
from support.build import components, random_velocity, scalar_types

import meniscus as ms
from meniscus.core.solver import SolverWarning
from meniscus.fluids import ControlForce, ControlParticles, ControlShape, LiquidOptions, LiquidSolver, ParticleLiquidSolver, SmokeSolver
from meniscus.surface import Box, KinematicSolid, Pose, Sphere, Twist


def everywhere(grid: ms.Grid, velocity: Any, rate: float, **options: Any) -> ControlParticles:
    """One particle that controls all cells wholly."""
    return ControlParticles(
        [0.5 * np.array(grid.extent)], max(grid.extent), ControlForce(rate=rate, **options), weight=1e6, velocities=[velocity]
    )


def passed(cells: int, wave: float) -> float:
    """The part of a sine of a wavelength (in cells) that means over tents of some cells keep: Fejér's kernel."""
    angle = math.pi / wave
    return 1.0 if math.isinf(wave) else (math.sin(cells * angle) / (cells * math.sin(angle))) ** 2


@pytest.mark.parametrize("detail", [None, 0.3])
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_uniform_velocity_relaxes_exactly(dimension: int, detail: float | None) -> None:
    """By 1 - exp(-rate t), whatever the steps."""
    for dtype in scalar_types(dimension):
        grid = ms.Grid((10,) * dimension, 0.1, periodic=True)
        wanted = np.array((1.0, -2.0, 0.5)[:dimension])
        solver = SmokeSolver(grid, dtype=dtype, controls=[everywhere(grid, wanted, 3.0, detail=detail)])
        time = 0.0
        for dt in (0.01, 0.5, 0.2, 0.003):
            solver.step(dt)
            time += dt
            for d, u in enumerate(components(solver.velocity)):
                np.testing.assert_allclose(u, wanted[d] * -math.expm1(-3.0 * time), rtol=1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("dt", [0.01, 0.05, 0.25, 0.5])
def test_a_control_that_begins_and_ends_within_steps_works_that_long(dt: float) -> None:
    solver = SmokeSolver(
        ms.Grid((10, 10), 0.1, periodic=True), controls=[everywhere(ms.Grid((10, 10), 0.1), (1.0, 0.0), 3.0, start=0.105, end=0.333)]
    )
    while solver.time < 0.5 - 1e-9:
        solver.step(dt)
    np.testing.assert_allclose(solver.velocity.u, -math.expm1(-3.0 * (0.333 - 0.105)), rtol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("cells", [1, 4, 6])
def test_the_filter_lets_through_what_its_kernel_does(cells: int, axis: int) -> None:
    """Sines along and across a component: the part of each that relaxes is that of Fejér's kernel, and the mean relaxes wholly."""
    n = 24
    shape = [4, 4, 4]
    shape[axis] = n
    if cells > 4:
        shape = [max(s, cells) for s in shape]
    grid = ms.Grid(tuple(shape), 0.1, periodic=True)
    for wave in (24, 12, 8, 6, 4, 3, 2):
        solver = SmokeSolver(grid, dtype=np.float64, controls=[everywhere(grid, (0.3, 0.3, 0.3), 5.0, detail=0.1 * cells)])
        sine = {d: np.cos(2 * np.pi * grid.face_centers(d)[axis] / (0.1 * wave)) for d in range(3)}
        for d in range(3):
            solver.velocity.component(d)[...] = 1.0 + sine[d]
        solver.add_forces(0.2)
        factor = -math.expm1(-1.0)
        for d, u in enumerate(components(solver.velocity)):
            exact = 1.0 + factor * (0.3 - 1.0) + (1 - factor * passed(cells, wave)) * sine[d]
            np.testing.assert_allclose(u, np.broadcast_to(exact, u.shape), atol=1e-13)


def test_vortices_smaller_than_the_width_live_on_while_the_mean_is_driven() -> None:
    """Over a second of control: those of a half and of 0.7 of the width keep 0.9 of their amplitude; without `detail` nothing is left."""
    grid = ms.Grid((48, 48), 1 / 48, periodic=True)
    x, y = grid.face_centers(0)
    for waves, kept in ((6, 0.999), (4, 0.9)):
        left = {}
        for detail in (16 / 48, None):
            solver = SmokeSolver(grid, controls=[everywhere(grid, (1.0, 0.0), 4.0, detail=detail)])
            k = 2 * np.pi * waves
            solver.velocity.u[...] = np.sin(k * x) * np.cos(k * y)
            solver.velocity.v[...] = -np.cos(k * grid.face_centers(1)[0]) * np.sin(k * grid.face_centers(1)[1])
            before = solver.velocity.u.std()
            for _ in range(20):
                solver.add_forces(0.05)
            assert solver.velocity.u.mean() == pytest.approx(-math.expm1(-4.0), abs=1e-12)
            left[detail] = solver.velocity.u.std() / before
        assert left[16 / 48] > kept
        assert left[None] == pytest.approx(math.exp(-4.0), rel=1e-9)


@pytest.mark.parametrize("kind", ["smoke", "liquid", "particles"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_uniform_velocity_stays_uniform_beside_walls_solids_and_surfaces(dimension: int, kind: str) -> None:
    """What is not fluid does not count in the means: a flow that goes along with the control feels nothing."""
    for dtype in scalar_types(dimension):
        grid = ms.Grid((12,) * dimension, 1 / 12, periodic=(False, True, False)[:dimension])
        wanted = (0.7, -0.4, 0.2)[:dimension]
        ball = KinematicSolid(Sphere((0.7,) * dimension, 0.2))
        controls = [everywhere(grid, wanted, 50.0, detail=0.34)]
        solver: Any
        if kind == "smoke":
            solver = SmokeSolver(grid, dtype=dtype, solid=ball, controls=controls)
        else:
            make: Any = LiquidSolver if kind == "liquid" else ParticleLiquidSolver
            solver = make(grid, dtype=dtype, solid=ball, controls=controls)
            solver.gravity = (0.0,) * dimension
            solver.fill(Sphere((0.4,) * dimension, 0.3))
            solver.fill(Box((0.8,) * dimension, (0.95,) * dimension))
            if kind == "particles":
                solver.transfer_to_grid(0.1)
        for d in range(dimension):
            solver.velocity.component(d)[...] = wanted[d]
        solver.add_forces(0.1)
        for d, u in enumerate(components(solver.velocity)):
            np.testing.assert_allclose(u, wanted[d], rtol=2e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_shape_draws_by_its_distance_and_carries_what_is_inside(dimension: int) -> None:
    """A half-space: accelerations of 2 w / reach at its surface that fade to zero, and the velocity of a turning body inside."""
    grid = ms.Grid((20,) * dimension, 0.05, periodic=(False, True, True)[:dimension])
    wall = Box((-9.0,) * dimension, (0.3, *(9.0,) * (dimension - 1)))
    angular: Any = 2.0 if dimension == 2 else (0.0, 0.0, 2.0)
    turning = KinematicSolid(wall, velocity=Twist((0.5,) + (0.0,) * (dimension - 1), angular))
    solver = SmokeSolver(grid, dtype=np.float64, controls=[ControlShape(turning, 0.4, ControlForce(attraction=3.0, rate=4.0))])
    solver.density.array[...] = 1.0
    solver.add_forces(0.1)
    x = grid.face_centers(0)[0]
    outside = np.broadcast_to((x > 0.36) & (x < 0.99), solver.velocity.u.shape)
    d = np.clip([x - 0.025 - 0.3, x + 0.025 - 0.3], 0.0, 0.4) / 0.4
    exact = np.broadcast_to(0.1 * 3.0 * ((1 - d[1]) ** 2 - (1 - d[0]) ** 2) / 0.05, solver.velocity.u.shape)
    assert exact.min() == pytest.approx(-0.1 * 2 * 3.0 / 0.4 * (1 - 0.05 / 0.4), rel=1e-9)  # at the first face outside
    np.testing.assert_allclose(solver.velocity.u[outside], exact[outside], atol=1e-12)
    at = grid.face_centers(1)[0]
    inside = np.broadcast_to(at < 0.27, solver.velocity.v.shape)
    turned = np.broadcast_to(-math.expm1(-0.4) * 2.0 * at, solver.velocity.v.shape)
    np.testing.assert_allclose(solver.velocity.v[inside], turned[inside], atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_impulse_of_a_report_is_the_momentum_that_the_fluid_gains(dimension: int) -> None:
    rng = np.random.default_rng(8)
    grid = ms.Grid((14,) * dimension, 1 / 14, periodic=(True, False, False)[:dimension])
    middle = (0.5,) * dimension
    controls = [
        ControlParticles.from_shape(
            Sphere(middle, 0.3), 0.1, ControlForce(attraction=4.0, rate=8.0, detail=0.3, limited=True), motion=lambda t: (t,) * dimension
        ),
        ControlShape(Sphere(middle, 0.2), 0.4, ControlForce(attraction=-2.0, rate=3.0, max_acceleration=2.0)),
    ]
    water = LiquidSolver(grid, LiquidOptions(density=900.0), controls=controls, solid=KinematicSolid(Sphere((0.2,) * dimension, 0.15)))
    water.gravity = (0.0,) * dimension
    water.fill(Box((0.0,) * dimension, (1.0, *(0.6,) * (dimension - 1))))
    water.velocity.assign(random_velocity(grid, np.float64, rng))
    before = np.array(water.momentum())
    water.add_forces(0.02)
    impulse = water.running_report.control_impulse
    assert min(np.abs(impulse)) > 0.01
    np.testing.assert_allclose(impulse, 900.0 * (np.array(water.momentum()) - before), rtol=1e-9)
    smoke = SmokeSolver(grid, dtype=np.float64, controls=controls)
    smoke.density.array[...] = rng.uniform(0, 1, grid.shape)
    smoke.velocity.assign(random_velocity(grid, np.float64, rng))
    old = components(smoke.velocity)
    smoke.add_forces(0.02)
    for d, (a, b) in enumerate(zip(old, components(smoke.velocity), strict=True)):
        change = np.moveaxis(b - a, d, 0)
        whole = change[1:].sum() if grid.periodic[d] else change.sum()  # faces on walls do not change
        assert smoke.running_report.control_impulse[d] == pytest.approx(1.2 * whole / 14**dimension, rel=1e-9)
    still = SmokeSolver(grid)
    assert still.step(0.01).control_impulse == ()


@pytest.mark.parametrize("dt", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("detail", [None, 0.25])
def test_any_rate_and_step_is_stable(detail: float | None, dt: float) -> None:
    """Velocities beside a solid and a surface do not grow, whatever is asked for."""
    rng = np.random.default_rng(9)
    grid = ms.Grid((24, 20), 1 / 20, periodic=(True, False))
    control = ControlParticles(rng.uniform(0, 1, (30, 2)), 0.3, ControlForce(rate=1e12, detail=detail))
    solver = LiquidSolver(grid, controls=[control], solid=KinematicSolid(Sphere((0.4, 0.3), 0.15)))
    solver.gravity = (0.0, 0.0)
    solver.fill(Box((0.0, 0.0), (0.9, 0.5)))
    solver.velocity.assign(random_velocity(grid, np.float64, rng))
    start = np.linalg.norm(np.concatenate([u.ravel() for u in components(solver.velocity)]))
    for _ in range(60):
        solver.add_forces(dt)
        assert np.linalg.norm(np.concatenate([u.ravel() for u in components(solver.velocity)])) <= 1.1 * start


def test_no_component_gains_more_than_the_largest_acceleration() -> None:
    rng = np.random.default_rng(10)
    grid = ms.Grid((16, 16), 1 / 16)
    huge = ControlParticles(
        rng.uniform(0, 1, (9, 2)),
        0.3,
        ControlForce(attraction=1e30, rate=1e30, max_acceleration=3.0),
        velocities=1e30 * rng.normal(size=(9, 2)),
    )
    solver = SmokeSolver(grid, controls=[huge])
    solver.density.array[...] = 1.0
    solver.add_forces(0.1)
    gains = np.concatenate([np.abs(u).ravel() for u in components(solver.velocity)])
    assert gains.max() == pytest.approx(0.3)
    with pytest.warns(SolverWarning, match="times as long as"):
        reports = [solver.step(5.0) for _ in range(20)]
    report = reports[-1]
    assert math.isfinite(report.kinetic_energy)
    assert report.max_speed < 20 * 5.0 * 3.0 * 2


def test_a_pose_that_jumps_gives_a_finite_velocity() -> None:
    """A kinematic target that teleports asks for a large velocity; the acceleration is limited."""
    grid = ms.Grid((16, 16), 1 / 16)
    jump = ControlShape(
        Sphere((0.3, 0.5), 0.15),
        0.3,
        ControlForce(rate=1e6, attraction=1e6, max_acceleration=50.0),
        motion=lambda t: Pose((0.4 if t > 0.05 else 0.0, 0.0)),
    )
    solver = LiquidSolver(grid, controls=[jump])
    solver.fill(Sphere((0.3, 0.5), 0.15))
    for _ in range(10):
        report = solver.step(0.01)
        assert report.max_speed < 50.0 * 0.1 * 3 + 10
