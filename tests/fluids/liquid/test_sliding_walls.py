"""Frictionless walls that move along themselves beside water with a free surface: it stays at rest."""

import math
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver, ParticleLiquidOptions, ParticleLiquidSolver, SmokeOptions, SmokeSolver
from meniscus.surface import Complement, HalfSpace, KinematicSolid, LevelSet, Pose, Shape, Solid, Sphere, Twist

LEVEL = 0.47


def spinning(shape: Shape, centre: tuple[float, ...], spin: float) -> KinematicSolid:
    twist = Twist((0.0, 0.0), spin) if len(centre) == 2 else Twist((0.0,) * 3, tuple(spin * np.array([0.6, 0.0, 0.8])))
    return KinematicSolid(shape, lambda t: Pose(centre), velocity=twist)


def belt(degrees: float) -> KinematicSolid:
    a = math.radians(degrees)
    return KinematicSolid(HalfSpace((0.3, 0.3), (math.sin(a), math.cos(a))), velocity=(1.5 * math.cos(a), -1.5 * math.sin(a)))


# Solid, its speed (m/s) and the time of one turn (s).
WALLS = {
    "drum": (spinning(Complement(Sphere((0.0, 0.0), 0.43)), (0.5, 0.5), 4.0), 1.72, 1.57),
    "drum off centre": (spinning(Complement(Sphere((0.0, 0.0), 0.39)), (0.487, 0.513), -4.0), 1.56, 1.57),
    "ball under water": (spinning(Sphere((0.0, 0.0), 0.15), (0.5, 0.25), 10.0), 1.5, 0.63),
    "ball half under water": (spinning(Sphere((0.0, 0.0), 0.15), (0.513, 0.47), 10.0), 1.5, 0.63),
    "belt": (belt(23), 1.5, 0.7),
    "steep belt": (belt(61), 1.5, 0.7),
}


def dragged(solver: Any, solid: Solid, seconds: float, *, surface: bool = True) -> float:
    """Largest speed of the fluid in cells two cells and more from the solid and 1.5 from the surface, after a run."""
    grid = solver.grid
    if surface:
        solver.fill(LevelSet.from_function(grid, lambda *x: x[-1] - LEVEL + 0 * x[0], "cells", dtype=solver.velocity.dtype))
    while solver.time < seconds:
        solver.step(0.01)
    axes = [(np.arange(n) + 0.5) * grid.spacing for n in grid.shape]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    far = solid.signed_distance(x.reshape(-1, len(axes)), solver.time).reshape(grid.shape) > 2 * grid.spacing
    if surface:
        far &= solver.levelset.array < -1.5 * grid.spacing
    assert far.any()
    square = np.zeros(grid.shape)
    for d in range(grid.dimension):
        lower, upper = (np.take(solver.velocity.component(d), range(k, k + grid.shape[d]), d) for k in (0, 1))
        square += (0.5 * (lower + upper)) ** 2
    return float(np.sqrt(square[far].max()))


@pytest.mark.parametrize("name", WALLS)
@pytest.mark.parametrize(("n", "most"), [(64, 0.002), (128, 0.001)])
def test_sliding_walls_leave_water_at_rest(name: str, n: int, most: float) -> None:
    """After one turn; before, the drum moved the water with a quarter of its speed."""
    solid, speed, seconds = WALLS[name]
    solver = LiquidSolver(ms.Grid((n, n), 1 / n), LiquidOptions(), solid=solid)
    assert dragged(solver, solid, seconds) <= most * speed


@pytest.mark.parametrize("transfer", ["flip", "apic"])
@pytest.mark.parametrize("name", ["drum", "ball under water", "belt"])
def test_sliding_walls_leave_particles_at_rest(name: str, transfer: Any) -> None:
    solid, speed, seconds = WALLS[name]
    solver = ParticleLiquidSolver(ms.Grid((64, 64), 1 / 64), ParticleLiquidOptions(transfer=transfer), solid=solid)
    assert dragged(solver, solid, seconds) <= 0.01 * speed


@pytest.mark.parametrize("name", ["drum", "ball under water"])
def test_sliding_walls_leave_air_at_rest(name: str) -> None:
    solid, speed, seconds = WALLS[name]
    solver = SmokeSolver(ms.Grid((64, 64), 1 / 64), SmokeOptions(), solid=solid)
    assert dragged(solver, solid, seconds, surface=False) <= 0.002 * speed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("hollow", [False, True])
def test_a_spinning_sphere_leaves_water_at_rest(hollow: bool, dtype: type) -> None:
    radius, n = (0.43 if hollow else 0.2), 24
    sphere: Any = Sphere((0.0, 0.0, 0.0), radius)
    solid = spinning(Complement(sphere) if hollow else sphere, (0.5, 0.49, 0.5 if hollow else 0.4), 5.0)
    solver = LiquidSolver(ms.Grid((n,) * 3, 1 / n), LiquidOptions(), solid=solid, dtype=dtype)
    assert dragged(solver, solid, 0.2) <= 0.01 * 5.0 * radius
