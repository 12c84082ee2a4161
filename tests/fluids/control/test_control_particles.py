"""Attraction and cover of control particles against their formulas, and what is refused."""

import math
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.build import components, grid_of, scalar_types

import meniscus as ms
from meniscus.fluids import ControlForce, ControlParticles, ControlShape, LiquidSolver, SmokeSolver
from meniscus.surface import Box, KinematicSolid, Pose, Sphere

PERIODIC = {2: (True, False), 3: (False, True, True)}


def filled(grid: ms.Grid, control: Any, dtype: Any = np.float64, smoke: Any = 1.0, **more: Any) -> SmokeSolver:
    """Smoke of a density at rest, open to the sides."""
    sides = {side: ms.Open() for side in grid.sides}
    solver = SmokeSolver(grid, dtype=dtype, boundary=sides or None, controls=[control], **more)
    solver.density.array[...] = smoke
    return solver


def kernels(grid: ms.Grid, p: ControlParticles, cells: list[np.ndarray]) -> np.ndarray:
    """The kernel of each particle (n, *cells) at centres of cells, in NumPy; with all periodic images."""
    total, places = [], p.positions_at(0.0)
    radii, weights = (np.broadcast_to(np.asarray(values), len(places)) for values in (p.radius, p.weight))
    for x, radius, weight in zip(places, radii, weights, strict=True):
        w = np.zeros(np.broadcast_shapes(*(c.shape for c in cells)))
        for k in product(*(((-2, -1, 0, 1, 2) if periodic else (0,)) for periodic in grid.periodic)):
            squares = sum((c - a - i * e) ** 2 for c, a, i, e in zip(cells, x, k, grid.extent, strict=True))
            w = w + weight * np.maximum(1 - squares / radius**2, 0.0) ** 3
        total.append(w)
    return np.array(total)


def extended(grid: ms.Grid) -> list[np.ndarray]:
    """Coordinates of the centres of the cells and of one layer around them."""
    axes = [o + grid.spacing * (np.arange(-1, n + 1) + 0.5) for o, n in zip(grid.origin, grid.shape, strict=True)]
    return list(np.meshgrid(*axes, indexing="ij", sparse=True))


def faces(values: np.ndarray, axis: int, of: Any) -> np.ndarray:
    """A function of the two cells beside each face across an axis, of values with one layer around the grid."""
    inner = tuple(slice(None) if d == axis else slice(1, -1) for d in range(values.ndim))
    v = np.moveaxis(values[inner], axis, 0)
    result: np.ndarray = np.moveaxis(of(v[:-1], v[1:]), 0, axis)
    return result


def some_particles(grid: ms.Grid, rng: np.random.Generator, velocities: Any = None, **options: Any) -> ControlParticles:
    n, h = 5, grid.spacing
    x = np.array(grid.origin) + rng.uniform(-0.2, 1.2, (n, grid.dimension)) * grid.extent
    radius = np.array([h, 1.7 * h, 2.6 * h, 3.9 * h, max(grid.extent)])
    return ControlParticles(x, radius, ControlForce(**options), weight=rng.uniform(0.1, 2.0, n), velocities=velocities)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("attraction", [3.0, -2.0])
def test_attraction_is_the_gradient_of_the_kernels(dimension: int, attraction: float) -> None:
    """Of particles in and beyond the domain, with the images of those around periodic axes, some of which reach around it."""
    for dtype in scalar_types(dimension):
        grid = grid_of(dimension, periodic=PERIODIC[dimension])
        p = some_particles(grid, np.random.default_rng(3), attraction=attraction)
        solver = filled(grid, p, dtype)
        solver.add_forces(0.1)
        w = kernels(grid, p, extended(grid)).sum(axis=0)
        for d, u in enumerate(components(solver.velocity)):
            exact = 0.1 * attraction / grid.spacing * faces(w, d, lambda a, b: b - a)
            assert np.abs(exact).max() > 0.1
            np.testing.assert_allclose(u, exact, atol=1e-5 if dtype == np.float32 else 1e-13)


def test_differences_approach_the_gradient_to_second_order() -> None:
    errors = []
    for n in (32, 64, 128):
        grid = ms.Grid((n, n), 1 / n)
        p = ControlParticles([(0.43, 0.51)], 0.3, ControlForce(attraction=1.0))
        solver = filled(grid, p)
        solver.add_forces(1.0)
        x, y = (c - a for c, a in zip(np.broadcast_arrays(*grid.face_centers(0)), (0.43, 0.51), strict=True))
        q = np.maximum(1 - (x**2 + y**2) / 0.09, 0.0)
        errors.append(np.abs(solver.velocity.u - -6 * x / 0.09 * q**2).max())
    assert errors[0] > 3.5 * errors[1] > 12 * errors[2]


@pytest.mark.parametrize("dimension", [2, 3])
def test_particles_that_the_fluid_covers_attract_less(dimension: int) -> None:
    """By the part of the room in their kernels that is filled; what lies in a solid or beyond walls is no room."""
    rng = np.random.default_rng(4)
    grid = grid_of(dimension, periodic=PERIODIC[dimension])
    smoke = rng.uniform(-0.5, 2.5, grid.shape)
    middle = np.array(grid.origin) + 0.4 * np.array(grid.extent)
    solid = KinematicSolid(Sphere(middle, 0.4))
    p = some_particles(grid, rng, attraction=2.0, limited=True, full_density=2.0)
    solver = filled(grid, p, smoke=smoke, solid=solid)
    solver.add_forces(0.1)
    cells = extended(grid)
    w = kernels(grid, p, cells)
    inner = (slice(None), *(slice(1, -1),) * dimension)
    boundary = solver.sampled_solid.at(0.0)
    assert boundary is not None
    room = boundary.outside_cells
    amount = np.clip(smoke / 2.0, 0.0, 1.0)
    alpha = [1 - (amount * v * room).sum() / (v * room).sum() for v in w[inner]]
    assert max(alpha) - min(alpha) > 0.2
    potential = sum(a * v for a, v in zip(alpha, w, strict=True))
    ghosts = solver.density.copy()
    ghosts.fill_ghosts()
    layer = (slice(2, -2),) * dimension
    around = np.clip(ghosts.with_ghosts[layer] / 2.0, 0.0, 1.0)
    for d, u in enumerate(components(solver.velocity)):
        part = faces(around, d, lambda a, b: 0.5 * (a + b)) * boundary.open_faces[d]
        np.testing.assert_allclose(u, 0.2 * part * faces(potential, d, lambda a, b: (b - a) / grid.spacing), atol=1e-9)


def test_a_covered_particle_does_not_attract() -> None:
    grid = ms.Grid((16, 16), 1 / 16)
    solver = filled(grid, ControlParticles([(0.1, 0.5), (0.53, 0.47)], 0.3, ControlForce(attraction=5.0, limited=True)))
    solver.add_forces(0.1)
    assert not np.any(solver.velocity.u)
    solver.density.array[...] = 0.0
    solver.add_forces(0.1)  # there is no smoke to be drawn
    assert not np.any(solver.velocity.u)


@pytest.mark.parametrize("dimension", [2, 3])
def test_cells_take_the_mean_velocity_of_the_particles_around(dimension: int) -> None:
    rng = np.random.default_rng(5)
    grid = grid_of(dimension, periodic=PERIODIC[dimension])
    v = rng.normal(size=(5, dimension))
    p = some_particles(grid, rng, rate=7.0, velocities=v)
    solver = filled(grid, p)
    solver.add_forces(0.05)
    w = kernels(grid, p, extended(grid))
    cover = np.minimum(w.sum(axis=0), 1.0)
    for d, u in enumerate(components(solver.velocity)):
        momentum = cover * np.tensordot(v[:, d], w, axes=1) / np.maximum(w.sum(axis=0), 1e-300)
        part, mean = (faces(f, d, lambda a, b: 0.5 * (a + b)) for f in (cover, momentum))
        np.testing.assert_allclose(u, -np.expm1(-7.0 * part * 0.05) * mean / np.maximum(part, 1e-300), atol=1e-13)


@pytest.mark.parametrize("dimension", [2, 3])
def test_particles_from_a_shape_fill_it_evenly(dimension: int) -> None:
    shape = Box((0.2,) * dimension, (0.8,) * dimension)
    p = ControlParticles.from_shape(shape, 0.05, ControlForce(attraction=1.0))
    assert len(p.positions) == 12**dimension
    assert float(shape.signed_distance(p.positions).max()) == pytest.approx(-0.025)
    grid = ms.Grid((20,) * dimension, 0.05)
    w = kernels(grid, p, list(grid.cell_centers())).sum(axis=0)
    inside = (slice(7, 13),) * dimension
    assert np.abs(w[inside] - 1).max() < 0.03
    assert w[(0,) * dimension] == 0


def test_particles_move_with_a_motion_and_between_keyframes() -> None:
    turn = ControlParticles.from_shape(Sphere((0.3, 0.0), 0.1), 0.05, ControlForce(), motion=lambda t: Pose((t, 0.0), 2 * t))
    x = turn.positions_at(0.2)
    np.testing.assert_allclose(x.mean(axis=0), (0.2 + 0.3 * math.cos(0.4), 0.3 * math.sin(0.4)), atol=1e-12)
    exact = np.array((1.0, 0.0)) + 2 * (x - (0.2, 0.0)) @ np.array(((0.0, 1.0), (-1.0, 0.0)))
    np.testing.assert_allclose(turn.velocities_at(0.2, 1e-6), exact, atol=1e-5)
    frames = ControlParticles.from_keyframes([1.0, 2.0, 4.0], [[(0.0, 0.0)], [(1.0, 2.0)], [(1.0, 0.0)]], 0.1, ControlForce())
    for t, at, v in ((0.0, (0, 0), (0, 0)), (1.25, (0.25, 0.5), (1, 2)), (3.0, (1, 1), (0, -1)), (9.0, (1, 0), (0, 0))):
        np.testing.assert_allclose(frames.positions_at(t), [at], atol=1e-14)
        np.testing.assert_allclose(frames.velocities_at(t, 0.125), [v], atol=1e-13)
    again = pickle.loads(pickle.dumps(frames))
    np.testing.assert_array_equal(again.positions_at(1.7), frames.positions_at(1.7))
    given = ControlParticles([(0.0, 0.0)], 0.1, ControlForce(), velocities=lambda t: [(t, 2 * t)])
    np.testing.assert_array_equal(given.velocities_at(3.0, 0.1), [(3.0, 6.0)])


def test_a_control_works_from_start_to_end() -> None:
    p = ControlParticles([(0.5, 0.5)], 0.3, ControlForce(attraction=5.0, start=0.05, end=0.1))
    solver = filled(ms.Grid((8, 8), 1 / 8), p)
    for acts in (False, True, False):
        before = solver.velocity.copy()
        solver.add_forces(0.05)
        assert bool(np.any(solver.velocity.u != before.u)) == acts
        solver.time += 0.05


def test_limits_of_the_step() -> None:
    grid = ms.Grid((32, 32), 1 / 32)
    still = LiquidSolver(grid)
    pulled = LiquidSolver(grid, controls=[ControlParticles([(0.5, 0.5)], 0.2, ControlForce(attraction=4.0))])
    steepest = max(6 * s / 0.2 * (1 - s * s) ** 2 * 4.0 for s in np.linspace(0, 1, 1001))
    assert pulled.max_dt() == pytest.approx(still.max_dt() * math.sqrt(9.81 / (9.81 + steepest)), rel=1e-5)
    limited = LiquidSolver(grid, controls=[ControlParticles([(0.5, 0.5)], 0.2, ControlForce(attraction=4.0, max_acceleration=1.0))])
    assert limited.max_dt() == pytest.approx(still.max_dt() * math.sqrt(9.81 / 10.81))
    body = KinematicSolid(Sphere((0.5, 0.5), 0.2), lambda t: (3.0 * t, 0.0))
    for moving in (
        ControlParticles.from_shape(Sphere((0.5, 0.5), 0.2), 0.05, ControlForce(rate=1.0), motion=lambda t: (3.0 * t, 0.0)),
        ControlShape(body, 0.2, ControlForce(rate=1.0)),
    ):
        driven = LiquidSolver(grid, controls=[moving])
        assert driven.max_dt() == pytest.approx(driven.options.cfl / 32 / 3.0, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([(0.0, np.nan)], 0.1), {}, r"positions must be finite, but \[0, 1\] is nan"),
        (([(0.0, 0.0, 0.0, 0.0)], 0.1), {}, r"positions must have shape \(n, dim\)"),
        ((np.zeros((0, 2)), 0.1), {}, r"positions must have shape \(n, dim\), with n > 0"),
        (([(0.0, 0.0)], 0.0), {}, "radius must be positive, but is 0"),
        (([(0.0, 0.0)], [0.1, 0.2]), {}, r"radius must be a number or have shape \(1,\)"),
        (([(0.0, 0.0)], np.inf), {}, "radius must be finite"),
        (([(0.0, 0.0)], 0.1), {"weight": -1.0}, "weight must be positive"),
        (([(0.0, 0.0)], 0.1), {"velocities": [(0.0, 0.0), (0.0, 0.0)]}, r"velocities must have shape \(1, 2\)"),
        (([(0.0, 0.0)], 0.1), {"velocities": lambda t: [(t, np.nan)]}, "what velocities returns must be finite"),
        ((lambda t: [t], 0.1), {}, "what positions returns must have shape"),
        (([(0.0, 0.0)], 0.1), {"rate": -1.0}, "rate must not be negative"),
        (([(0.0, 0.0)], 0.1), {"detail": 0.0}, "detail must be positive"),
        (([(0.0, 0.0)], 0.1), {"max_acceleration": -1.0}, "max_acceleration must be positive"),
        (([(0.0, 0.0)], 0.1), {"attraction": np.inf}, "attraction must be finite"),
        (([(0.0, 0.0)], 0.1), {"full_density": 0.0}, "full_density must be positive"),
        (([(0.0, 0.0)], 0.1), {"start": 2.0, "end": 1.0}, "start"),
    ],
)
def test_wrong_particles_are_refused(arguments: Any, options: Any, message: str) -> None:
    places = {name: value for name, value in options.items() if name in ("weight", "velocities")}
    with pytest.raises(ValueError, match=message):  # noqa: PT012
        force = ControlForce(**{name: value for name, value in options.items() if name not in places})
        ControlParticles(*arguments, force, **places)


def test_controls_that_do_not_fit_a_solver_are_refused() -> None:
    grid = ms.Grid((8, 16), 0.125)
    solver = LiquidSolver(grid, controls=[ControlParticles([(0.5, 0.5)], 0.2, ControlForce())])
    kept = solver.controls
    for control, message in (
        (ControlParticles([(0.5, 0.5, 0.5)], 0.2, ControlForce()), "controls must be 2-D like the grid, not 3-D"),
        (ControlParticles([(0.5, 0.5)], 0.1, ControlForce()), "radius must be from the spacing, 0.125 m, to the longest side"),
        (ControlParticles([(0.5, 0.5)], 2.1, ControlForce()), "but that of particle 0 is 2.1 m"),
        (ControlParticles([(0.5, 0.5)], 0.2, ControlForce(detail=1.1)), "detail must be from the spacing, 0.125 m, to the shortest side"),
        (ControlShape(Sphere((0.5, 0.5), 0.2), 0.1, ControlForce()), "reach must be at least the spacing, 0.125 m, but is 0.1 m"),
    ):
        with pytest.raises(ValueError, match=message):
            solver.controls = [control]
        assert solver.controls is kept
    with pytest.raises(TypeError, match="controls"):
        solver.controls = [Sphere((0.5, 0.5), 0.2)]  # type: ignore[list-item]
    with pytest.raises(ValueError, match="must be bounded"):
        ControlParticles.from_shape(~Sphere((0.5, 0.5), 0.2), 0.05, ControlForce())
    with pytest.raises(ValueError, match=r"none of \d+ is inside"):
        ControlParticles.from_shape(Sphere((0.5, 0.5), 0.2).shell(0.001), 0.39, ControlForce())
    with pytest.raises(ValueError, match="times must increase"):
        ControlParticles.from_keyframes([0.0, 0.0], [[(0.0, 0.0)]] * 2, 0.2, ControlForce())
    with pytest.raises(ValueError, match="motion must be left out where the target is a Solid"):
        ControlShape(KinematicSolid(Sphere((0.5, 0.5), 0.2)), 0.2, ControlForce(), motion=lambda t: (t, t))


def test_a_function_that_fails_undoes_the_step() -> None:
    def places(t: float) -> Any:
        return [(0.5, 0.5)] if t < 0.1 else [(np.nan, 0.5)]

    solver = filled(ms.Grid((8, 8), 0.125), ControlParticles(places, 0.3, ControlForce(attraction=1.0)))
    solver.step(0.05)
    before = components(solver.velocity)
    with pytest.raises(ValueError, match="what positions returns must be finite"):
        solver.step(0.06)
    assert all(np.array_equal(a, b) for a, b in zip(before, components(solver.velocity), strict=True))
