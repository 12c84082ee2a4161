"""Seeding of liquid particles: their number, their positions, and the effect of regions on existing ones."""

import itertools
from typing import Any

import numpy as np
import pytest
from support.build import same_bits

import meniscus as ms
from meniscus.core import Workspace
from meniscus.fluids.particles.seeding import ParticleSeeder, liquid_region
from meniscus.surface import Box, Pose, Shape, Sphere

N = 12


def nothing(dimension: int, dtype: type = np.float64, **columns: int) -> ms.Particles:
    none = np.empty((0, dimension), dtype)
    return ms.Particles(none, velocity=none.copy(), **{k: np.empty((0, w), dtype) for k, w in columns.items()})


def fill(
    particles: ms.Particles,
    grid: ms.Grid,
    region: Shape,
    per_cell: int,
    jitter: float = 0.0,
    solid: ms.NodeField | None = None,
    pose: Pose | None = None,
    **options: Any,
) -> int:
    phi = ms.CellField(grid, particles.positions.dtype)
    region.sample(phi, pose=pose)
    seeder = ParticleSeeder(grid, per_cell, jitter, seed=3)
    return seeder.fill(particles, phi, liquid_region(region, grid, pose), solid, Workspace(), **options)


def everywhere(dimension: int) -> Box:
    return Box((-9.0,) * dimension, (9.0,) * dimension)


@pytest.mark.parametrize("per_cell", [1, 5])
@pytest.mark.parametrize("periodic", [False, True])
def test_a_full_domain_has_its_number_in_each_cell(per_cell: int, periodic: bool, dimension: int, dtype: type) -> None:
    grid = ms.Grid((N,) * dimension, 1 / N, periodic=periodic)
    particles = nothing(dimension, dtype)
    assert fill(particles, grid, everywhere(dimension), per_cell, jitter=0.9) == per_cell * N**dimension
    cells = np.floor(particles.positions.astype(np.float64) * N).astype(int)
    assert (np.bincount(np.ravel_multi_index(tuple(cells.T), grid.shape)) == per_cell).all()
    assert fill(particles, grid, everywhere(dimension), per_cell, jitter=0.9) == 0


def test_without_jitter_particles_are_in_the_middle_of_their_parts(dimension: int) -> None:
    grid = ms.Grid((N,) * dimension, 1 / N)
    particles = nothing(dimension)
    fill(particles, grid, everywhere(dimension), 2**dimension)
    axis = (np.arange(2 * N) + 0.5) / (2 * N)
    expected = np.array(sorted(itertools.product(axis, repeat=dimension)))
    np.testing.assert_allclose(particles.positions[np.lexsort(particles.positions.T[::-1])], expected, atol=1e-15)


def test_only_what_is_in_the_region_and_outside_of_the_solid(dimension: int, dtype: type) -> None:
    grid = ms.Grid((N,) * dimension, 1 / N)
    ball, wall = Sphere((0.5,) * dimension, 0.3), Box((0.5,) * dimension, (2.0,) * dimension)
    solid = ms.NodeField(grid)
    wall.sample(solid)
    particles, free = nothing(dimension, dtype), nothing(dimension, dtype)
    count = fill(particles, grid, ball, 2**dimension, 0.5, solid, velocity=(1.0, 2.0, 3.0)[:dimension])
    assert count == len(particles) < fill(free, grid, ball, 2**dimension, 0.5)
    x = particles.positions.astype(np.float64)
    assert (ball.signed_distance(x) <= 1e-6).all()
    assert (wall.signed_distance(x) > -1e-6).all()
    assert (particles["velocity"] == np.arange(1, dimension + 1)).all()


def test_empty_parts_are_filled_first(dimension: int) -> None:
    grid = ms.Grid((N,) * dimension, 1 / N)
    particles = nothing(dimension)
    fill(particles, grid, everywhere(dimension), 2**dimension)
    every = particles.positions.copy()
    gone = np.random.default_rng(4).random(len(particles)) < 0.4
    particles.remove(gone)
    assert fill(particles, grid, everywhere(dimension), 2**dimension) == gone.sum()
    for x in (every, particles.positions):
        x[...] = x[np.lexsort(x.T)]
    np.testing.assert_allclose(particles.positions, every, atol=1e-15)


@pytest.mark.fast_cases("2d-*", "3d-True")
@pytest.mark.parametrize("periodic", [False, True])
def test_cells_that_move_line_up(periodic: bool, dimension: int) -> None:
    """What a source has emitted before and what it emits later is one lattice that moves with the flow."""
    grid = ms.Grid((N,) * dimension, 1 / N, periodic=periodic)
    offset = np.array((0.37, -1.61, 2.2)[:dimension]) / N
    rest, moved = nothing(dimension), nothing(dimension)
    inner = Box((0.35,) * dimension, (0.65,) * dimension)
    fill(rest, grid, inner, 2**dimension, 0.8)
    fill(moved, grid, everywhere(dimension), 2**dimension, 0.8, offset=offset)
    x = rest.positions + offset
    nearest = np.abs(moved.positions[None] - x[:, None]).max(axis=-1).min(axis=1)
    assert nearest.max() < 1e-12


def test_periodic_images_belong_to_a_region(dimension: int) -> None:
    grid = ms.Grid((N,) * dimension, 1 / N, periodic=True)
    inside, seam = nothing(dimension), nothing(dimension)
    ball = Sphere((0.5,) * dimension, 0.3)
    assert fill(inside, grid, ball, 2**dimension) == fill(seam, grid, ball, 2**dimension, pose=Pose((0.5,) * dimension))
    np.testing.assert_allclose(
        np.unique(np.round((seam.positions + 0.5) % 1.0, 9), axis=0), np.unique(np.round(inside.positions, 9), axis=0)
    )


def test_regions_set_velocities_and_remove(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = ms.Grid((N,) * dimension, 1 / N)
    x = rng.random((400, dimension)).astype(dtype)
    v, affine = (rng.random((400, w)).astype(dtype) for w in (dimension, dimension**2))
    particles = ms.Particles(x, velocity=v, affine=affine)
    ball = Sphere((0.5,) * dimension, 0.3)
    inside = ball.signed_distance(x.astype(np.float64)) <= 0
    region = liquid_region(ball, grid)
    region.set_velocity(particles._core, (7.0,) * dimension, Workspace())
    assert same_bits(particles["velocity"], np.where(inside[:, None], dtype(7), v))
    assert same_bits(particles["affine"], np.where(inside[:, None], dtype(0), affine))
    assert region.remove(particles._core, Workspace()) == inside.sum()
    assert same_bits(particles.positions, x[~inside])
