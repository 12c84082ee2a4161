"""Films on frictionless slopes slide as far as bodies do, with the drift correction on: it holds nothing in place."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.surface import HalfSpace, LevelSet

G = 9.81


def slid(cells: int, thickness: float, degrees: float, side: int, dimension: int, seconds: float, **options: bool) -> float:
    """How far a film of some cells has slid, over g sin(a) t^2 / 2; by its level set at points eight to a cell, or four in 3-D."""
    h, a = 1 / cells, np.deg2rad(degrees)
    normal, along = np.zeros(dimension), np.zeros(dimension)
    normal[[0, -1]] = side * np.sin(a), np.cos(a)
    along[[0, -1]] = np.cos(a) * side, -np.sin(a)
    corner = np.zeros(dimension)
    corner[[0, -1]] = 0.0 if side > 0 else 1.0, 0.25 + 0.5 * np.tan(a)
    shape = (cells, cells) if dimension == 2 else (cells, 4, cells)
    grid = ms.Grid(shape, h, periodic=(False, False) if dimension == 2 else (False, True, False))
    solver = LiquidSolver(grid, LiquidOptions(**options), solid=HalfSpace(tuple(corner), tuple(normal)))

    def distance(*x: np.ndarray) -> np.ndarray:
        above = sum((c - p) * n for c, p, n in zip(x, corner, normal, strict=True))
        way = sum((c - p) * t for c, p, t in zip(x, corner, along, strict=True))
        return np.maximum(above - thickness * h, np.abs(way - 0.35) - 0.2)

    solver.fill(LevelSet.from_function(grid, distance, "cells"))
    fine = 8 if dimension == 2 else 4
    axes = [(np.arange(n * fine) + 0.5) * h / fine for n in shape]
    points = np.stack([x.ravel() for x in np.meshgrid(*axes, indexing="ij")], 1)
    outside = (points - corner) @ normal > 0

    def place() -> float:
        liquid = (solver.levelset.sample(points) < 0) & outside
        return float(((points[liquid] - corner) @ along).mean())

    start = place()
    while solver.time < seconds - 1e-9:
        solver.step(0.0025)
    return (place() - start) / (0.5 * G * np.sin(a) * solver.time**2)


FLAT = pytest.mark.xfail(
    strict=True, reason="cells with their centre in the solid have no pressure: films on slopes of few degrees are slowed"
)


@pytest.mark.fast_cases("1.0-23-1", "1.3-45--1")
@pytest.mark.parametrize(("degrees", "side"), [(23, 1), (23, -1), (45, -1), pytest.param(10, 1, marks=FLAT), (33, 1)])
@pytest.mark.parametrize("thickness", [1.0, 1.3])
def test_films_slide(thickness: float, degrees: float, side: int) -> None:
    ratio = slid(64, thickness, degrees, side, 2, 0.15)
    print(f"{thickness} cells, {degrees} degrees, side {side}: {ratio:.3f} of the exact way")
    assert 0.7 < ratio < 1.1


@pytest.mark.slow
@pytest.mark.parametrize(("degrees", "side"), [(23, 1), (45, -1), (10, 1), (33, 1)])
@pytest.mark.parametrize("thickness", [1.0, 1.3])
def test_the_correction_of_drift_holds_no_film(thickness: float, degrees: float, side: int) -> None:
    """It slides as far as without, but for what the volume that it restores lies behind the middle."""
    with_it, without = (slid(64, thickness, degrees, side, 2, 0.15, drift_correction=on) for on in (True, False))
    assert with_it > 0.93 * without


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [23, 33])
def test_films_slide_in_three_dimensions(degrees: int) -> None:
    ratio = slid(32, 1.0, degrees, 1, 3, 0.15)
    print(f"3-D, {degrees} degrees: {ratio:.3f} of the exact way")
    assert 0.8 < ratio < 1.1
