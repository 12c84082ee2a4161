"""One measure of liquid in cells that the surface and a solid cut together: volumes, parts, momentum and energy of films."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver, ParticleLiquidOptions, ParticleLiquidSolver
from meniscus.fluids.liquid.volume import measure_components
from meniscus.surface import HalfSpace, LevelSet

N = 32
H = 1 / N
THICKNESS = (0.3, 0.5, 0.7, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0)  # cells
OFFSETS = (0.0, 0.13, 0.37, 0.49, 0.5, 0.51, 0.77, 0.93)
Function = Callable[..., np.ndarray]


def volumes(grid: ms.Grid, liquid: Function, solid: Function, dtype: type = np.float64) -> np.ndarray:
    """Of the parts of a liquid outside of a solid, both given by distances."""
    nodes = LevelSet.from_function(grid, solid, "nodes").field
    nodes.fill_ghosts()
    return measure_components(LevelSet.from_function(grid, liquid, "cells", dtype=dtype), nodes)[1][1:]


def flat(dimension: int) -> ms.Grid:
    """Periodic but for the last axis."""
    return ms.Grid((*(N, 4)[: dimension - 1], 24), H, periodic=(True,) * (dimension - 1) + (False,))


@pytest.mark.parametrize("offset", OFFSETS)
def test_flat_films_have_their_volume(offset: float, dimension: int) -> None:
    grid, floor = flat(dimension), (6 + offset) * H
    area = np.prod(grid.extent[:-1])
    for cells in THICKNESS:
        found = volumes(grid, lambda *x, c=cells: x[-1] - floor - c * H + 0 * sum(x), lambda *x: x[-1] - floor + 0 * sum(x))
        assert found == pytest.approx([cells * H * area], rel=1e-5), cells


@pytest.mark.parametrize("degrees", [7, 23, 41, 45, 71])
def test_films_on_slopes_have_their_volume(degrees: float, dimension: int) -> None:
    """Across the domain, from side to side: what the sides take at one end they give at the other."""
    a = math.radians(degrees)
    up, across = (-1, 0) if degrees <= 45 else (0, -1)
    normal = np.zeros(dimension)
    normal[[0, -1]] = math.sin(a), math.cos(a)
    grid = ms.Grid((N, 4, 48) if dimension == 3 else (N, 48), H, periodic=(False, True, False) if dimension == 3 else False)
    for cells in THICKNESS:
        for shift in (0.0, 0.21, 0.5):

            def above(*x: np.ndarray, shift: float = shift) -> np.ndarray:
                return sum((c - p) * n for c, p, n in zip(x, np.multiply(0.5, grid.extent), normal, strict=True)) - shift * H + 0 * sum(x)

            found = volumes(grid, lambda *x, c=cells, f=above: f(*x) - c * H, above)
            exact = cells * H / normal[up] * grid.extent[across] * (grid.extent[1] if dimension == 3 else 1)
            assert found == pytest.approx([exact], rel=5e-4), (cells, shift)


def ball(centre: float, radius: float) -> Function:
    return lambda *x: np.sqrt(sum((c - p) ** 2 for c, p in zip(x, (centre, 0.47, 0.52), strict=False))) - radius


@pytest.mark.parametrize("thin", [False, True])
def test_a_ball_of_liquid_cut_by_one_of_solid_converges(thin: bool, dimension: int) -> None:
    """Or a shell of 0.4 cells of the coarsest grid around it."""
    liquid, solid = (ball(0.43, 0.2625), ball(0.43, 0.25)) if thin else (ball(0.35, 0.22), ball(0.6, 0.18))
    if thin:
        measure = (lambda r: math.pi * r**2) if dimension == 2 else (lambda r: 4 / 3 * math.pi * r**3)
        exact = measure(0.2625) - measure(0.25)
    else:
        r, s, d = 0.22, 0.18, 0.25
        if dimension == 2:
            first, second = (d * d + r * r - s * s) / (2 * d * r), (d * d + s * s - r * r) / (2 * d * s)
            area = (-d + r + s) * (d + r - s) * (d - r + s) * (d + r + s)
            common = r * r * math.acos(first) + s * s * math.acos(second) - 0.5 * math.sqrt(area)
            exact = math.pi * r * r - common
        else:
            lens = math.pi * (r + s - d) ** 2 * (d * d + 2 * d * (r + s) - 3 * (r - s) ** 2) / (12 * d)
            exact = 4 / 3 * math.pi * r**3 - lens
    errors = []
    for n in (32, 64) if dimension == 3 else (32, 64, 128):
        found = volumes(ms.Grid((n,) * dimension, 1 / n), liquid, solid)
        assert len(found) == 1
        errors.append(abs(found[0] / exact - 1))
    print(errors, "relative")
    assert errors[0] < 0.01
    if thin:  # in proportion to the shell, whose thickness in cells is another on each grid
        assert max(errors) < 0.004
    else:
        assert errors[-1] < errors[0] / 2 ** (1.6 * (len(errors) - 1))


def test_a_ball_cut_by_a_ball_is_as_densely_sampled(dimension: int) -> None:
    n, fine = 32, 8 if dimension == 3 else 64
    grid, liquid, solid = ms.Grid((n,) * dimension, 1 / n), ball(0.35, 0.22), ball(0.6, 0.18)
    x = np.meshgrid(*[(np.arange(n * fine) + 0.5) / (n * fine)] * dimension, indexing="ij", sparse=True)
    dense = np.count_nonzero((liquid(*x) <= 0) & (solid(*x) > 0)) / float(n * fine) ** dimension
    assert volumes(grid, liquid, solid).sum() == pytest.approx(dense, rel=0.01)


@pytest.mark.parametrize("degrees", [0, 23, 45])
def test_the_volume_rises_with_the_surface_without_jumps(degrees: float, dtype: type, dimension: int) -> None:
    """So that the drift correction finds the offset for any volume."""
    a = math.radians(degrees)
    normal = np.zeros(dimension)
    normal[[0, -1]] = math.sin(a), math.cos(a)
    grid = ms.Grid((N, 4, N) if dimension == 3 else (N, N), H, periodic=(False, True, False) if dimension == 3 else False)
    nodes = LevelSet.from_function(grid, lambda *x: sum((c - 0.51) * n for c, n in zip(x, normal, strict=True)) + 0 * sum(x), "nodes").field
    nodes.fill_ghosts()
    levelset = LevelSet.from_function(
        grid, lambda *x: sum((c - 0.51) * n for c, n in zip(x, normal, strict=True)) + 0 * sum(x), "cells", dtype=dtype
    )
    start, steps = levelset.array.copy(), 120
    found = []
    for k in range(steps + 1):
        levelset.array[...] = start - dtype(1.5 * H * (k + 1) / steps)
        found.append(measure_components(levelset, nodes)[1].sum())
    rise = np.diff(found) / (1.5 * H / steps) / (found[-1] / (1.5 * H * (steps + 1) / steps))
    assert rise.min() > 0.9
    assert rise.max() < 1.1


def test_the_volume_follows_a_solid_that_moves_through_cells(dimension: int) -> None:
    """A ball rises through water at rest: what is outside of it stays the same but for the second order."""
    grid = ms.Grid((24,) * dimension, 1 / 24)
    found = [
        volumes(grid, lambda *x: x[-1] - 0.5 + 0 * sum(x), lambda *x, s=s: ball(0.5, 0.2)(*x[:-1], x[-1] - s / 24 + 0.05)).sum()
        for s in np.linspace(0.0, 2.0, 41)
    ]
    change = np.diff(found)
    assert np.abs(np.diff(change)).max() < 2e-3 * (0.5 - found[0])
    assert np.all(change > -1e-6) or np.all(change < 1e-6)


def test_films_on_both_sides_of_a_plate_are_parts_of_their_own(dimension: int) -> None:
    """Though cells of both share faces, in the plate; and a film that passes from cells to cells is one part."""
    grid = flat(dimension)
    middle, half = 9.0 * H, 0.6 * H

    def films(*x: np.ndarray) -> np.ndarray:
        return np.abs(x[-1] - middle) - half - 0.3 * H + 0 * sum(x)

    def plate(*x: np.ndarray) -> np.ndarray:
        return np.abs(x[-1] - middle) - half + 0 * sum(x)

    found = volumes(grid, films, plate)
    area = np.prod(grid.extent[:-1])
    assert found == pytest.approx([0.3 * H * area] * 2, rel=1e-9)
    slope = math.radians(3)

    def above(*x: np.ndarray) -> np.ndarray:
        return (x[-1] - 0.3) * math.cos(slope) + (x[0] - 0.5) * math.sin(slope) + 0 * sum(x)

    grid = ms.Grid((N, 4, N) if dimension == 3 else (N, N), H)
    assert len(volumes(grid, lambda *x: above(*x) - 0.3 * H, above)) == 1


@pytest.mark.parametrize("slip", ["free", "no-slip"])
@pytest.mark.parametrize("offset", [0.0, 0.37, 0.49, 0.51, 0.9])
def test_momentum_and_energy_of_a_slab_do_not_depend_on_the_floor(offset: float, slip: Any, dimension: int, dtype: type) -> None:
    grid, floor = flat(dimension), (6 + offset) * H
    normal = (0.0,) * (dimension - 1) + (1.0,)
    for cells in (0.6, 3.0):
        solver = LiquidSolver(
            grid,
            LiquidOptions(gravity=(0.0,) * dimension, slip=slip),
            solid=HalfSpace(tuple(floor * n for n in normal), normal),
            dtype=dtype,
        )
        solver.fill(LevelSet.from_function(grid, lambda *x, c=cells: x[-1] - floor - c * H + 0 * sum(x), "cells", dtype=dtype))
        solver.velocity.component(0)[...] = 1.0
        exact = cells * H * np.prod(grid.extent[:-1])
        assert solver.volume_report().liquid == pytest.approx(exact, rel=0.01)
        assert solver.momentum()[0] == pytest.approx(exact, rel=0.01)
        assert solver.face_volumes()[0][:-1].sum() == pytest.approx(exact, rel=0.01)
        energy, _ = solver.faces.motion(solver.velocity, solver.levelset, solver.sampled_solid.at(0.0))
        assert energy == pytest.approx(0.5 * exact, rel=0.01)
        if slip == "free" and cells > 1:
            solver.step(1e-5)
            assert solver.report.kinetic_energy == pytest.approx(0.5 * solver.options.density * exact, rel=0.01)
            assert solver.momentum()[0] == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("offset", [0.1, 0.6])
def test_particles_that_are_a_film_count_to_the_liquid(offset: float) -> None:
    """A film of 0.37 cells of FLIP on a plate: the volume inside of the surface is that of its particles, and none is spray."""
    grid, floor = flat(2), (6 + offset) * H
    solver = ParticleLiquidSolver(grid, ParticleLiquidOptions(), solid=HalfSpace((0.0, floor), (0.0, 1.0)))
    solver.fill(LevelSet.from_function(grid, lambda x, y: y - floor - 0.7 * H + 0 * x, "cells"))
    report = solver.volume_report()
    assert len(report.components) == 1
    assert report.spray == 0.0
    assert report.liquid == pytest.approx(len(solver.particles) * solver.particle_volume, rel=0.35)
