"""Buoyancy: the accelerations are those of the formula, on every face."""

from typing import Any

import numpy as np
import pytest
from support.build import components, grid_of, random_scalar, random_velocity, same_bits

import meniscus as ms
from meniscus.fluids import add_buoyancy

ALPHA, BETA, AMBIENT, DT = 0.75, 0.125, 20.0, 0.5


def constant(grid: ms.Grid, value: float, dtype: Any) -> ms.CellField:
    field = ms.CellField(grid, dtype)
    field.array = value
    return field


def gain(velocity: ms.MacField, **options: Any) -> list[np.ndarray]:
    """Return the velocity that a fluid at rest gets."""
    for d in range(velocity.grid.dimension):
        velocity.component(d)[...] = 0
    add_buoyancy(velocity, DT, **options)
    return components(velocity)


@pytest.mark.parametrize("periodic", [False, True])
def test_initial_accelerations_are_exact(periodic: bool, dimension: int, dtype: type) -> None:
    """All numbers are powers of two or small: nothing may be lost to rounding."""
    grid = grid_of(dimension, periodic=periodic)
    v = ms.MacField(grid, dtype)
    hot, dense = constant(grid, AMBIENT + 8.0, dtype), constant(grid, 2.0, dtype)
    *across, up = gain(v, temperature=hot, temperature_weight=BETA, ambient=AMBIENT)
    assert (up == DT * BETA * 8.0).all()
    assert all((c == 0).all() for c in across)
    *across, up = gain(v, density=dense, density_weight=ALPHA)
    assert (up == -DT * ALPHA * 2.0).all()
    assert all((c == 0).all() for c in across)
    up = gain(v, density=dense, temperature=hot, density_weight=ALPHA, temperature_weight=BETA, ambient=AMBIENT)[-1]
    assert (up == DT * (BETA * 8.0 - ALPHA * 2.0)).all()


@pytest.mark.parametrize("ambient", [0.0, 293.15, -0.1, 1e6 / 3])
def test_ambient_air_without_smoke_feels_nothing(ambient: float, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = grid_of(dimension)
    v = random_velocity(grid, dtype, rng)
    before = components(v)
    air = constant(grid, float(dtype(ambient)), dtype)
    smoke = constant(grid, 0.0, dtype)
    add_buoyancy(
        v, 0.3, density=smoke, temperature=air, density_weight=2.0, temperature_weight=3.0, ambient=ambient, up=(1, 2, 3)[:dimension]
    )
    assert same_bits(components(v), before)


@pytest.mark.parametrize("periodic", [False, True])
def test_every_face_takes_the_mean_of_its_cells(periodic: bool, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    """Any direction; at sides the conditions of the scalars answer; the force is added to what is there."""
    grid = grid_of(dimension, periodic=(periodic, False, periodic)[:dimension])
    sides = {"y-": ms.Prescribed(0.5), "y+": ms.Open()}
    rho, heat = (random_scalar("cell", grid, dtype, rng, sides) for _ in range(2))
    v = random_velocity(grid, dtype, rng, ms.ZeroGradient())
    before, up = components(v), (0.5, -1.5, 2.0)[:dimension]
    options = {"density_weight": ALPHA, "temperature_weight": BETA, "ambient": 0.25, "up": up}
    add_buoyancy(v, DT, density=rho, temperature=heat, **options)
    force = BETA * (padded(heat, 0.5) - 0.25) - ALPHA * padded(rho, 0.5)
    for d in range(dimension):
        inner = tuple(slice(None) if k == d else slice(1, -1) for k in range(dimension))
        mean = 0.5 * (np.delete(force[inner], 0, d) + np.delete(force[inner], -1, d))
        error = np.abs(v.component(d) - (before[d] + DT * up[d] * mean)).max()
        assert error < 8 * np.finfo(dtype).eps
    if periodic:
        assert (v.component(0)[0] == v.component(0)[-1]).all()


def padded(field: ms.CellField, below: float) -> np.ndarray:
    """One layer of ghosts, by hand: `below` at the lower y side, as inside at the upper one; periodic or as inside along the others."""
    a = field.array.astype(np.float64)
    for k in range(a.ndim):
        width = [(int(j == k),) * 2 for j in range(a.ndim)]
        a = np.pad(a, width, mode="wrap" if field.grid.periodic[k] else "edge")
    a[:, 0] = below
    return a


def test_default_direction_is_the_last_axis(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = grid_of(dimension)
    rho = random_scalar("cell", grid, dtype, rng)
    v, w = random_velocity(grid, dtype, rng), ms.MacField(grid, dtype)
    w.restore(v.snapshot())
    add_buoyancy(v, 0.3, density=rho, density_weight=1.3)
    add_buoyancy(w, 0.3, density=rho, density_weight=1.3, up=(0.0,) * (dimension - 1) + (1.0,))
    assert same_bits(components(v), components(w))


def test_nothing_given_does_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(grid_of(dimension), dtype, rng)
    before = components(v)
    add_buoyancy(v, 0.3, density_weight=1.0, temperature_weight=1.0)
    assert same_bits(components(v), before)


def test_errors(rng: np.random.Generator) -> None:
    grid, space = grid_of(2), grid_of(3)
    v = random_velocity(grid, np.float64, rng)
    rho, before = ms.CellField(grid), components(v)
    other = ms.CellField(ms.Grid((7, 5), 0.5))
    cases: list[tuple[type[Exception], str, Any, dict]] = [
        (TypeError, "velocity must be a MacField", rho, {}),
        (TypeError, "density must be a CellField", v, {"density": ms.NodeField(grid)}),
        (TypeError, "temperature must be a CellField", v, {"temperature": rho.array}),
        (TypeError, "density must be of dtype float64", ms.MacField(space), {"density": ms.CellField(space, np.float32)}),
        (ValueError, "temperature must have the grid of the velocity", v, {"temperature": other}),
        (ValueError, "up must hold 2 numbers", v, {"up": (0, 0, 1)}),
        (ValueError, "density_weight must be finite", v, {"density_weight": np.nan}),
        (TypeError, "ambient must be a number", v, {"ambient": "warm"}),
    ]
    for kind, message, target, options in cases:
        with pytest.raises(kind, match=message):
            add_buoyancy(target, 0.1, **options)
    with pytest.raises(ValueError, match="dt must be finite"):
        add_buoyancy(v, np.inf, density=rho)
    assert same_bits(components(v), before)
