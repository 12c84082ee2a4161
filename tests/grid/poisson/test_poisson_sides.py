"""Iterations of multigrid to 1e-8 for every kind of sides of a box and of what is inside it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.variants import slow

import meniscus as ms
from meniscus.grid import PoissonSolver

CEILING = 10
# Coefficient on the sides: the value zero one cell beyond them, or on them; walls; walls and an open last side.
SIDES = {"far": 1.0, "on faces": 2.0, "closed": 0.0, "open top": 0.0, "periodic": 1.0}
INSIDES = ("nothing", "ball", "liquid")
LEAST_THETA = 0.01


def _part(axis: int, begin: int | None, end: int | None) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, slice(begin, end))


def _open_part(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Of an edge with these distances from a solid at its ends."""
    with np.errstate(invalid="ignore", divide="ignore"):
        cut = np.where(lower > upper, lower, upper) / np.abs(lower - upper)
    return np.where((lower > 0) & (upper > 0), 1.0, np.where((lower <= 0) & (upper <= 0), 0.0, cut))


def _around_ball(shape: tuple[int, ...]) -> list[np.ndarray]:
    """Open parts of the faces around a ball beside the middle: in three dimensions the mean over the edges of a face."""
    n = shape[0]
    nodes = np.meshgrid(*[np.arange(m + 1) / n for m in shape], indexing="ij", sparse=True)
    phi = np.sqrt(sum((x - c) ** 2 for x, c in zip(nodes, (0.47, 0.55, 0.41), strict=False))) - 0.23
    faces = []
    for axis in range(len(shape)):
        others = [d for d in range(len(shape)) if d != axis]
        along = [_open_part(phi[_part(d, None, -1)], phi[_part(d, 1, None)]) for d in others]
        if len(others) == 2:
            a, b = others
            along = [(w[_part(d, None, -1)] + w[_part(d, 1, None)]) / 2 for w, d in zip(along, (b, a), strict=True)]
        faces.append(sum(along) / len(along))
    return faces


def _below_waves(shape: tuple[int, ...]) -> tuple[list[np.ndarray], np.ndarray]:
    """Ghost-fluid coefficients of a liquid below a slanted wave."""
    n = shape[0]
    x = np.meshgrid(*[(np.arange(m) + 0.5) / n for m in shape], indexing="ij", sparse=True)
    phi = x[-1] - 0.513 * shape[-1] / n - 0.09 * np.cos(2 * np.pi * x[0]) * (np.cos(4 * np.pi * x[1]) if len(shape) == 3 else 1)
    faces = []
    for axis in range(len(shape)):
        wrapped = np.concatenate([phi[_part(axis, -1, None)], phi, phi[_part(axis, 0, 1)]], axis)
        a, b = wrapped[_part(axis, None, -1)], wrapped[_part(axis, 1, None)]
        with np.errstate(invalid="ignore", divide="ignore"):
            theta = np.maximum(np.minimum(a, b) / (np.minimum(a, b) - np.maximum(a, b)), LEAST_THETA)
        faces.append(np.where((a <= 0) & (b <= 0), 1.0, np.where((a <= 0) | (b <= 0), 1 / theta, 0.0)))
    return faces, phi <= 0


def _coefficients(sides: str, inside: str, shape: tuple[int, ...]) -> tuple[list[np.ndarray], np.ndarray | None]:
    active = None
    if inside == "liquid":
        faces, active = _below_waves(shape)
    elif inside == "ball":
        faces = _around_ball(shape)
    else:
        faces = [np.ones([m + (k == d) for k, m in enumerate(shape)]) for d in range(len(shape))]
    last = len(shape) - 1
    for axis, upper in itertools.product(range(len(shape)), (False, True)):
        part = _part(axis, -1, None) if upper else _part(axis, 0, 1)
        if sides != "periodic":
            value = 2.0 if sides == "open top" and axis == last and upper else SIDES[sides]
            faces[axis][part] = value * (1.0 if active is None else active[part])
        elif inside == "liquid" and axis == last:
            faces[axis][part] = 0.0
    return faces, active


def iterations(sides: str, inside: str, shape: tuple[int, ...]) -> int:
    faces, active = _coefficients(sides, inside, shape)
    solver = PoissonSolver(ms.Grid(shape, 1.0, periodic=sides == "periodic"))
    solver.set_coefficients(faces, active=active)
    rhs = np.random.default_rng(3).normal(size=shape) if sides in ("closed", "periodic") and inside != "liquid" else np.ones(shape)
    return solver.solve(rhs, tolerance=1e-8)[1].iterations


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("inside", INSIDES)
@pytest.mark.parametrize("shape", [slow((700, 640)), (96, 333), (48, 48, 48), (40, 52, 67)], ids=str)
def test_ceiling(sides: str, inside: str, shape: tuple[int, ...]) -> None:
    if sides == "periodic":
        shape = tuple(n - n % 4 for n in shape)
    assert iterations(sides, inside, shape) <= CEILING


def _moved(array: np.ndarray, axis: int) -> np.ndarray:
    """By a cell along an axis, but not on the sides."""
    moved = array.copy()
    inner = (slice(2, -2),) * array.ndim
    moved[inner] = np.roll(array, 1, axis)[inner]
    return moved


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("inside", INSIDES[1:])
@pytest.mark.parametrize("shape", [(96, 80), (24, 28, 36)], ids=str)
def test_a_change_of_some_rows_gives_the_bits_of_a_new_solver(sides: str, inside: str, shape: tuple[int, ...]) -> None:
    faces, active = _coefficients(sides, inside, shape)
    grid = ms.Grid(shape, 1.0, periodic=sides == "periodic")
    rhs = np.random.default_rng(4).normal(size=shape)
    solver = PoissonSolver(grid)
    solver.set_coefficients(faces, active=active)
    first = solver.solve(rhs)[0]
    for axis in range(len(shape)):
        fresh, others = PoissonSolver(grid), [_moved(f, axis) for f in faces]
        mask = None if active is None else _moved(active, axis)
        fresh.set_coefficients(others, active=mask)
        solver.set_coefficients(others, active=mask)
        np.testing.assert_array_equal(solver.solve(rhs)[0], fresh.solve(rhs)[0])
    # What is refused changes nothing.
    wrong = [f.copy() for f in faces]
    wrong[-1][(shape[0] // 2,) * len(shape)] = np.nan
    with pytest.raises(ValueError, match="finite"):
        solver.set_coefficients(wrong, active=active)
    np.testing.assert_array_equal(solver.solve(rhs)[0], fresh.solve(rhs)[0])
    solver.set_coefficients(faces, active=active)
    np.testing.assert_array_equal(solver.solve(rhs)[0], first)


@pytest.mark.slow
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("inside", INSIDES)
@pytest.mark.parametrize("n", [128, 256])
def test_no_growth_in_three_dimensions(sides: str, inside: str, n: int) -> None:
    assert iterations(sides, inside, (n, n, n)) <= CEILING
