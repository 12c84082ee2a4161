"""Water that hits solids: no faster than five times the speed of fall, and never with more energy than it was given."""

import math
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.fluids import LiquidOptions, LiquidSolver, project
from meniscus.grid import CellField, MacField
from meniscus.surface import Box, HalfSpace, KinematicSolid, LevelSet, Shape, SolidBoundary, Sphere

G = 9.81
WIDTH, HEIGHT = 0.3, 0.7


def obstacles(spacing: float) -> dict[str, Shape]:
    half = 0.25 * spacing
    return {
        "ball": Sphere((0.6, 0.1), 0.2),
        "smaller ball": Sphere((0.6, 0.1), 0.19),
        "wedge": HalfSpace((0.5, 0.0), (-0.64, 0.768)) & HalfSpace((0.75, 0.0), (0.555, 0.832)),
        "ramp": HalfSpace((0.45, 0.0), (-0.507, 0.862)),
        "slit": Box((0.45, -1), (0.6 - half, 0.2)) | Box((0.6 + half, -1), (0.75, 0.2)),
    }


def collapse(name: str, cells: int, **options: Any) -> tuple[float, float]:
    """Return the top speed of a collapsing column over sqrt(2 g H), and the largest kinetic energy over the potential energy at first."""
    solver = LiquidSolver(ms.Grid((cells, cells), 1 / cells), LiquidOptions(**options), solid=obstacles(1 / cells)[name])
    solver.fill(Box((-1, -1), (WIDTH, HEIGHT)))
    speed = energy = 0.0
    while solver.time < 0.6:
        report = solver.step(min(solver.max_dt(), 0.01))
        speed, energy = max(speed, report.max_speed), max(energy, report.kinetic_energy)
    return speed / math.sqrt(2 * G * HEIGHT), energy / (1000 * G * WIDTH * HEIGHT * HEIGHT / 2)


@pytest.mark.parametrize("name", ["ball", "smaller ball", "wedge", "ramp", "slit"])
@pytest.mark.parametrize(("tracking", "cells"), [("level-set", 48), ("particle-level-set", 96)])
def test_a_column_that_hits_a_solid_keeps_its_energy(name: str, tracking: Any, cells: int) -> None:
    """With air that is pressed out of narrow gaps at any speed: up to 12 times the speed of fall, and all of the energy again."""
    speed, energy = collapse(name, cells, tracking=tracking)
    assert speed < 5
    assert energy < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ball", "smaller ball", "wedge", "ramp", "slit"])
@pytest.mark.parametrize("cells", [96, 128])
@pytest.mark.parametrize("cfl", [1.0, 3.0])
def test_a_column_that_hits_a_solid_keeps_its_energy_on_fine_grids(name: str, cells: int, cfl: float) -> None:
    speed, energy = collapse(name, cells, cfl=cfl)
    assert speed < 5
    assert energy < 0.6


@pytest.mark.parametrize("cells", [32, 48])
def test_a_disk_thrown_into_a_pool_presses_nothing_out_at_its_rim(cells: int) -> None:
    """At 6 m/s; with outlets in cut cells and with air that cannot yield, water leaves its rim at up to 70 m/s."""
    start, way = np.array((0.8, 0.75)), np.array((-0.4, -0.45))
    duration = float(np.linalg.norm(way)) / 6.0
    disk = KinematicSolid(Sphere((0.0, 0.0), 0.15), lambda t: tuple(start + way * min(max(t / duration, 0.0), 1.0)))
    solver = LiquidSolver(ms.Grid((cells, cells), 1 / cells), solid=disk)
    solver.fill(Box((-1, -1), (2, 0.4)))
    speed = 0.0
    while solver.time < 0.4:
        speed = max(speed, solver.step(min(solver.max_dt(), 0.01)).max_speed)
        assert abs(solver.volume_report().relative_error) < 0.06
    assert speed < 5 * math.sqrt(6.0**2 + 2 * G * 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("resolution", [16, 24, 32])
def test_a_ball_thrown_into_a_pool(resolution: int) -> None:
    """In 3-D: the kinetic energy is that of the water that the ball sets moving, at any resolution; once it was ten times as much."""
    scene = ms.scenes.find("ball-splash")(resolution=resolution)
    scene.setup()
    speed = energy = 0.0
    while scene.solver.time < 0.5:
        report = scene.solver.step(min(scene.solver.max_dt(), 0.01))
        speed, energy = max(speed, report.max_speed), max(energy, report.kinetic_energy)
    assert speed < 20
    assert 1000 < energy < 1400
    assert abs(scene.solver.volume_report().relative_error) < 0.02


def test_a_solid_that_moves_in_water_presses_nothing_through_cut_cells() -> None:
    """A disk is pushed down into the surface at 1 m/s, in sixty places: the water rises at most 6 times as fast. With an outlet at the
    pressure of the air in every cut cell, 13 times."""
    grid = ms.Grid((24, 24), 1 / 24)
    rng = np.random.default_rng(3)
    core: Any = _fluids
    fastest = 0.0
    for _ in range(60):
        centre = 0.5 + rng.uniform(-1, 1, 2) / 24
        disk = KinematicSolid(Sphere((0.0, 0.0), 0.2), lambda t, c=centre: tuple(c - np.array((0.0, t))))
        levelset = LevelSet.from_function(grid, lambda x, y: y - 0.4 + 0 * x, "cells")
        sampled = disk.sample(grid, 0.0)
        boundary = SolidBoundary(sampled.levelset, sampled.velocity, "free")
        boundary.extend_level_set(levelset.field, Workspace())
        velocity = MacField(grid)
        project(velocity, 0.01, boundary, liquid=levelset)
        for d in range(2):
            wet = np.zeros(velocity.component(d).shape, bool)
            core.liquid_faces(levelset.field._core, d, wet)
            fastest = max(fastest, float(np.abs(velocity.component(d)[wet]).max()))
    assert fastest < 8


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_air_is_no_faster_than_the_given_faces_around_it(dimension: int, dtype: type) -> None:
    """Against brute force; faces that are given, beside no air or far from given ones keep their velocity."""
    rng = np.random.default_rng(5)
    grid = ms.Grid((9, 7, 8)[:dimension], 0.1)
    velocity = MacField(grid, dtype)
    air = rng.random(grid.shape) < 0.5
    given = []
    for d in range(dimension):
        velocity.component(d)[...] = rng.normal(size=velocity.component(d).shape)
        given.append(rng.random(velocity.component(d).shape) < 0.02)
    before = [np.array(velocity.component(d)) for d in range(dimension)]
    fastest = np.zeros(grid.shape, dtype)
    for c in np.ndindex(grid.shape):
        for d in range(dimension):
            for face in (c, tuple(np.add(c, np.eye(dimension, dtype=int)[d]))):
                if given[d][face]:
                    fastest[c] = max(fastest[c], abs(before[d][face]))
    bound = np.zeros(grid.shape, dtype)
    for c in np.argwhere(air):
        bound[tuple(c)] = fastest[tuple(slice(max(0, i - 2), i + 3) for i in c)].max()
    core: Any = _fluids
    core.limit_air_speed(velocity._core, air, given, CellField(grid, dtype)._core)
    limited = 0
    for d in range(dimension):
        for face in np.ndindex(before[d].shape):
            beside = [tuple(face), tuple(np.subtract(face, np.eye(dimension, dtype=int)[d]))]
            b = max(bound[c] for c in beside if 0 <= c[d] < grid.shape[d])
            expected = before[d][face] if given[d][face] or b == 0 else np.clip(before[d][face], -b, b)
            limited += expected != before[d][face]
            assert velocity.component(d)[face] == expected
    assert limited > 10
