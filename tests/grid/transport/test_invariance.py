"""Symmetries of transport: shifted, mirrored and turned problems have shifted, mirrored and turned results."""

import itertools
from typing import Any

import numpy as np
import pytest
from support.build import components, grid_of, random_scalar, random_velocity, same_bits

import meniscus as ms
from meniscus.grid import advect

SCHEMES = [
    {"method": "upwind"},
    {"method": "semi-lagrangian", "interpolation": "cubic"},
    {"method": "bfecc"},
    {"method": "maccormack", "trace": "rk3"},
    {"method": "maccormack", "block": "upwind"},
]
SHAPES = {2: (9, 6), 3: (7, 6, 5)}


def name_of(options: dict) -> str:
    return "-".join(options.values())


def both(grid: ms.Grid, dtype: type, samples: np.ndarray, faces: list[np.ndarray], dt: float, scheme: dict) -> list[np.ndarray]:
    """A scalar, and the velocity itself, after a step."""
    f, v = ms.CellField(grid, dtype), ms.MacField(grid, dtype)
    f.array = np.ascontiguousarray(samples)
    for d, c in enumerate(faces):
        v.component(d)[...] = c
    advect(f, v, dt, **scheme)
    advect(v, v, dt, **scheme)
    return [f.array, *components(v)]


def rolled(samples: np.ndarray, grid: ms.Grid, shift: tuple[int, ...]) -> np.ndarray:
    """Periodic samples shifted by whole cells; the two copies of shared faces stay copies."""
    for d in range(grid.dimension):
        if samples.shape[d] == grid.shape[d] + 1:
            own = np.roll(np.delete(samples, 0, axis=d), shift[d], axis=d)
            samples = np.concatenate([np.take(own, [-1], axis=d), own], axis=d)
        else:
            samples = np.roll(samples, shift[d], axis=d)
    return samples


@pytest.mark.parametrize("scheme", SCHEMES, ids=name_of)
def test_shifts_on_a_periodic_grid_are_exact(scheme: dict, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True, shape=SHAPES[dimension])
    f, faces = random_scalar("cell", g, dtype, rng).array, components(random_velocity(g, dtype, rng))
    for cfl in (0.3, 5.2):
        plain = both(g, dtype, f, faces, cfl * g.spacing, scheme)
        for shift in ((1, 0, 0), (0, 2, 1), (-4, 3, 2)):
            moved = both(g, dtype, rolled(f, g, shift), [rolled(c, g, shift) for c in faces], cfl * g.spacing, scheme)
            assert same_bits(moved, [rolled(a, g, shift) for a in plain])


@pytest.mark.parametrize("scheme", SCHEMES, ids=name_of)
def test_the_origin_does_not_matter(scheme: dict, dimension: int, rng: np.random.Generator) -> None:
    g = ms.Grid(SHAPES[dimension], 0.1)
    far = ms.Grid(SHAPES[dimension], 0.1, (1e6, -3e5, 7.0)[:dimension])
    f, faces = random_scalar("cell", g, np.float64, rng).array, components(random_velocity(g, np.float64, rng))
    assert same_bits(both(g, np.float64, f, faces, 0.25, scheme), both(far, np.float64, f, faces, 0.25, scheme))


@pytest.mark.parametrize("scheme", SCHEMES, ids=name_of)
@pytest.mark.parametrize("periodic", [False, True])
def test_mirrored_problems(scheme: dict, periodic: bool, dimension: int, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=periodic, shape=SHAPES[dimension])
    f, faces = random_scalar("cell", g, np.float64, rng).array, components(random_velocity(g, np.float64, rng))
    for cfl in (0.3, 5.2):
        plain = both(g, np.float64, f, faces, cfl * g.spacing, scheme)
        for axis in range(dimension):

            def mirrored(a: list[np.ndarray], axis: int = axis) -> list[np.ndarray]:
                return [np.flip(x, axis) * (-1.0 if i == axis + 1 else 1.0) for i, x in enumerate(a)]

            seen = mirrored([f, *faces])
            result = both(g, np.float64, seen[0], seen[1:], cfl * g.spacing, scheme)
            for mine, its in zip(result, mirrored(plain), strict=True):
                np.testing.assert_allclose(mine, its, rtol=0, atol=1e-12 * (1 + cfl))


# A tensor product of limited cubics depends on the order of its axes, so cubic interpolation is left out.
@pytest.mark.parametrize("scheme", [s for s in SCHEMES if "cubic" not in s.values()], ids=name_of)
def test_turned_problems(scheme: dict, dimension: int, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=(False, True, False)[:dimension], shape=SHAPES[dimension])
    f, faces = random_scalar("cell", g, np.float64, rng).array, components(random_velocity(g, np.float64, rng))
    for cfl in (0.3, 5.2):
        plain = both(g, np.float64, f, faces, cfl * g.spacing, scheme)
        for order in itertools.permutations(range(dimension)):
            turned = ms.Grid([g.shape[a] for a in order], g.spacing, [g.origin[a] for a in order], [g.periodic[a] for a in order])

            def turn(a: list[np.ndarray], order: tuple[int, ...] = order) -> list[np.ndarray]:
                return [a[0].transpose(order), *(a[1 + d].transpose(order) for d in order)]

            seen = turn([f, *faces])
            result = both(turned, np.float64, seen[0], seen[1:], cfl * g.spacing, scheme)
            for mine, its in zip(result, turn(plain), strict=True):
                np.testing.assert_allclose(mine, its, rtol=0, atol=1e-12 * (1 + cfl))


@pytest.mark.parametrize("scheme", [s for s in SCHEMES if s["method"] != "maccormack"] + [{"limiter": "clamp"}], ids=name_of)
def test_single_precision_is_close_to_double(scheme: dict, rng: np.random.Generator) -> None:
    dimension = 3
    g = grid_of(dimension, periodic=(True, False, False), shape=SHAPES[dimension])
    single: Any = random_scalar("cell", g, np.float32, rng)
    wind = random_velocity(g, np.float32, rng)
    double, strong = ms.CellField(g), ms.MacField(g)
    double.array[...] = single.array
    for d in range(dimension):
        strong.component(d)[...] = wind.component(d)
    for _ in range(3):
        advect(single, wind, 0.8 * g.spacing, **scheme)
        advect(double, strong, 0.8 * g.spacing, **scheme)
    np.testing.assert_allclose(single.array, double.array, rtol=0, atol=2e-5)
