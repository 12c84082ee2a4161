"""Bitwise reproducibility of grid operators, whatever the number of threads and the vector width."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.build import components, random_scalar, share_periodic
from support.same_bits import MANY_CELLS, everywhere, inflow, problem

import meniscus as ms
from meniscus.grid import Visibility, advect, extrapolate, sample, semi_lagrangian, trace, upwind

SCHEMES = [
    {"method": "upwind"},
    {"method": "semi-lagrangian", "trace": "euler"},
    {"method": "semi-lagrangian", "interpolation": "cubic", "trace": "rk3"},
    {"method": "bfecc", "limiter": "clamp"},
    {"method": "bfecc", "block": "upwind", "limiter": "none"},
    {"method": "maccormack"},
    {"method": "maccormack", "interpolation": "cubic", "first_order_near": "walls"},
    {"method": "maccormack", "block": "upwind"},
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: "-".join(s.values()))
def test_scalars(scheme: dict, dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        field, velocity = problem(dimension, dtype, periodic)
        for cfl in (0.45, 3.3):

            def run(f: Any = field, v: Any = velocity, cfl: float = cfl) -> np.ndarray:
                out = f.copy()
                advect(out, v, cfl * 0.1, time=0.3, **scheme)
                return out.array.copy()

            everywhere(run)


@pytest.mark.parametrize("method", ["upwind", "semi-lagrangian", "bfecc", "maccormack"])
def test_velocities(method: str, dimension: int, dtype: type) -> None:
    _, velocity = problem(dimension, dtype, True)

    def run() -> list[np.ndarray]:
        v = velocity.copy()
        advect(v, v, 0.22, method=method)
        return components(v)

    everywhere(run)


@pytest.mark.parametrize("method", ["upwind", "semi-lagrangian", "maccormack"])
@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_masks(method: str, interpolation: str, dimension: int, dtype: type) -> None:
    field, velocity = problem(dimension, dtype, True)
    rng = np.random.default_rng(32)
    seen = Visibility(
        visible=rng.random(field.shape) < 0.98,
        active=rng.random(field.shape) < 0.7,
        first_order=rng.random(field.shape) < 0.3,
    )

    def run() -> np.ndarray:
        out = field.copy()
        advect(out, velocity, 0.12, method=method, interpolation=interpolation, visibility=seen)
        return out.array.copy()

    everywhere(run)


@pytest.mark.parametrize("block", [semi_lagrangian, upwind])
def test_bare_passes(block: Callable, dimension: int, dtype: type) -> None:
    field, velocity = problem(dimension, dtype, False)

    def run() -> list[np.ndarray]:
        out, low, high = (field.copy() for _ in range(3))
        block(field, velocity, -0.03, out=out, lower=low, upper=high)
        return [out.array.copy(), low.array.copy(), high.array.copy()]

    everywhere(run)


def test_checks_and_reductions(dimension: int, dtype: type) -> None:
    field, velocity = problem(dimension, dtype, False)
    everywhere(lambda: np.array(ms.grid.max_speed(velocity)))
    rng = np.random.default_rng(33)
    for at in rng.integers(0, field.shape, (5, dimension)):
        field.array[tuple(at)] = np.nan

    def message() -> np.ndarray:
        with pytest.raises(ValueError, match="must be finite") as error:
            advect(field, velocity, 0.1)
        return np.array(str(error.value))

    everywhere(message)


def test_ghosts(dimension: int, dtype: type) -> None:
    field, velocity = problem(dimension, dtype, True)

    def run() -> list[np.ndarray]:
        f, v = field.copy(), velocity.copy()
        f.fill_ghosts(0.3)
        v.fill_ghosts(0.3)
        return [f.with_ghosts.copy(), *(v.component_with_ghosts(d).copy() for d in range(dimension))]

    everywhere(run)


@pytest.mark.parametrize("layers", [2, None])
def test_extrapolation(layers: int | None, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(34)
    g = ms.Grid(MANY_CELLS[dimension], 0.1, periodic=(True, False, False)[:dimension])
    field = random_scalar("node", g, dtype, rng)
    known = rng.random(field.shape) < 0.01
    share_periodic(known, g, field.on_side)

    def run() -> list[np.ndarray]:
        f = field.copy()
        mask = extrapolate(f, known, layers=layers)
        return [f.array.copy(), mask]

    everywhere(run)


def test_points(dimension: int, dtype: type) -> None:
    field, velocity = problem(dimension, dtype, True)
    rng = np.random.default_rng(35)
    points = ((1.4 * rng.random((20_003, dimension)) - 0.2) * velocity.grid.extent).astype(dtype)
    everywhere(lambda: sample(field, points, time=0.2))
    everywhere(lambda: sample(field, points, interpolation="cubic"))
    everywhere(lambda: sample(velocity, points))
    for method in ("euler", "midpoint", "rk3"):

        def run(method: str = method) -> np.ndarray:
            x = points.copy()
            trace(x, velocity, -0.35, method=method)
            return x

        everywhere(run)


def test_particle_sorting(dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(36)
    g = ms.Grid(MANY_CELLS[dimension], 0.1)
    points = (rng.random((50_003, dimension)) * g.extent).astype(dtype)

    def run() -> list[np.ndarray]:
        p = ms.Particles(points, tag=np.arange(len(points)))
        p.sort_by_cell(g)
        p.remove(p.ids % 3 == 0)
        return [p.positions.copy(), p["tag"].copy(), p.ids.copy()]

    everywhere(run)


def test_boundary_functions_of_far_traces(dimension: int, dtype: type) -> None:
    """Functions are asked from many threads, one position at a time."""
    g = ms.Grid((700, 7) if dimension == 2 else (30, 24, 7), 0.1)
    field = random_scalar("cell", g, dtype, np.random.default_rng(38), ms.Prescribed(inflow))
    velocity = ms.MacField(g, dtype, ms.ZeroGradient())
    velocity.u = 0.25
    velocity.component(dimension - 1)[...] = 1

    def run() -> np.ndarray:
        out = field.copy()
        semi_lagrangian(field, velocity, 0.47, trace="euler", out=out)
        return out.array.copy()

    everywhere(run, threads=(1, 2))
