"""Particle liquids at rest beside solids at any angle, position and curvature of the wall, and the distances that particles carry."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.at_rest import G, filled_to, solids, unit
from support.particle_liquid import FAR, TRANSFERS, below

import meniscus as ms
from meniscus.fluids import LiquidParticles, LiquidSource, ParticleLiquidOptions, ParticleLiquidSolver, PressureOptions, particle_levelset
from meniscus.grid import Particles
from meniscus.surface import Box, Complement, Sphere


def still(n: int, solid: Any, down: np.ndarray, level: float, **options: Any) -> ParticleLiquidSolver:
    """Particles at random places of their cells, up to a plane across gravity at a height above the middle."""
    grid = ms.Grid((n,) * len(down), 1 / n)
    s = ParticleLiquidSolver(
        grid, ParticleLiquidOptions(gravity=tuple(G * down), pressure=PressureOptions(tolerance=1e-10), **options), solid=solid
    )
    s.fill(filled_to(grid, down, level))
    return s


@pytest.mark.fast_cases("2d-0", "2d-1", "2d-2", "2d-3", "3d-3")
@pytest.mark.parametrize("seed", range(6))
def test_particles_rest_beside_any_solid(dimension: int, seed: int) -> None:
    """With a surface from positions alone, speeds are 0.05 to 2.4 m/s; g dt is 0.098 m/s."""
    rng = np.random.default_rng(seed)
    n = (16, 23, 40)[seed // 2] if dimension == 2 else 13
    down = -np.eye(dimension)[-1]
    for name, solid in solids(dimension, rng).items():
        level = 0.05 * rng.uniform(-1, 1)
        s = still(n, solid, down, level, transfer=TRANSFERS[seed % 3], particles=LiquidParticles(seed=seed))
        speed = max(s.step(0.01).max_speed for _ in range(40 if dimension == 2 else 8))
        assert speed < 1e-6, name


@pytest.mark.slow
@pytest.mark.parametrize("transfer", [pytest.param(t, marks=() if t == "apic" else pytest.mark.slow) for t in TRANSFERS])
def test_particles_rest_for_a_thousand_steps(transfer: str) -> None:
    rng = np.random.default_rng(7)
    down = np.array([0.0, -1.0])
    for name, solid in solids(2, rng).items():
        s = still(20, solid, down, 0.03, transfer=transfer)
        start = s.particles.positions[np.argsort(s.particles.ids)].copy()
        assert max(s.step(0.01).max_speed for _ in range(1000)) < 1e-4, name
        np.testing.assert_allclose(s.particles.positions[np.argsort(s.particles.ids)], start, atol=1e-4)


def test_particles_rest_under_tilted_gravity(dimension: int) -> None:
    """In a bowl, where no side of the box touches the water."""
    for seed in range(3):
        rng = np.random.default_rng(10 + seed)
        bowl = Complement(Sphere((0.5 + 0.01 * seed,) * dimension, 0.41))
        s = still(
            24 if dimension == 2 else 14,
            bowl,
            -unit(rng.normal(size=dimension)),
            0.07 * rng.uniform(-1, 1),
            particles=LiquidParticles(seed=seed),
        )
        assert max(s.step(0.01).max_speed for _ in range(10)) < 1e-6


def test_the_density_correction_leaves_velocities_small() -> None:
    """It moves particles towards an even spacing; their distances go with them."""
    s = still(24, Sphere((0.47, 0.55), 0.2), np.array([0.0, -1.0]), 0.02, particles=LiquidParticles(density_correction=True))
    assert max(s.step(0.01).max_speed for _ in range(50)) < 0.1 * G * 0.01


def fit_by_brute_force(x: np.ndarray, distance: np.ndarray, cell: np.ndarray, reach: int) -> tuple[bool, float]:
    """Whether a linear fit is trusted in full, and its value at the centre of a cell: lengths in cells, weights by cell."""
    offset = np.floor(x) - cell
    near = (np.abs(offset) <= reach).all(axis=1)
    weight = ((1 - (offset[near] / (reach + 0.1)) ** 2) ** 3).prod(axis=1)
    if len(weight) <= x.shape[1] + 1:
        return False, 0.0
    columns = np.column_stack([np.ones(len(weight)), x[near] - cell - 0.5])
    root = np.sqrt(weight)
    found = np.linalg.lstsq(columns * root[:, None], distance[near] * root, rcond=None)[0]
    deviation = np.sqrt(np.average((columns @ found - distance[near]) ** 2, weights=weight))
    return bool(deviation < 0.049 and abs(np.linalg.norm(found[1:]) - 1) < 0.099), float(found[0])


@pytest.mark.parametrize("periodic", [False, True])
def test_fits_by_brute_force(periodic: bool) -> None:
    """Of distances that are not linear."""
    n, dimension = 9, 3
    grid = ms.Grid((n,) * dimension, 1.0, periodic=periodic)
    x = n * np.random.default_rng(4).random((8 * n**dimension, dimension))
    y = x - 0.5 * n
    distance = y @ unit(np.arange(1.0, dimension + 1)) + 0.01 * y[:, 0] ** 2
    x, distance = x[distance < 0], distance[distance < 0]
    found = particle_levelset(Particles(x, distance=distance), grid, carried=True, band=9.0).array
    around = np.concatenate([x + n * np.array(o) for o in product((-1, 0, 1), repeat=dimension)]) if periodic else x
    distances = np.tile(distance, len(around) // len(x))
    compared = 0
    for cell in np.ndindex(found.shape):
        trusted, value = fit_by_brute_force(around, distances, np.array(cell, float), 2)
        if trusted and value < 0 and found[cell] > -9:  # deep in the liquid the band stands for all
            assert found[cell] == pytest.approx(value, abs=1e-9)
            compared += 1
    assert compared > 2**dimension


def test_distances_are_fitted_exactly_on_one_side(dimension: int, dtype: type) -> None:
    """A plane at any angle, from particles in a part of its lower side: as far as particles are around, and three cells beyond."""
    rng = np.random.default_rng(1)
    n = 20
    grid = ms.Grid((n,) * dimension, 1 / n)
    normal = unit(rng.normal(size=dimension))
    x = rng.random((8 * n**dimension, dimension))
    # Not at the sides, and not where a solid would be.
    x = x[((x - 0.5) @ normal < 0) & (x[:, 0] > 0.3) & (np.abs(x - 0.5).max(axis=1) < 0.4)].astype(dtype)
    particles = Particles(x, distance=((x - 0.5) @ normal).astype(dtype))
    phi = particle_levelset(particles, grid, carried=True, band=5 / n).array
    centers = np.moveaxis(np.stack(np.meshgrid(*[(np.arange(n) + 0.5) / n] * dimension, indexing="ij")), 0, -1)
    exact = (centers - 0.5) @ normal
    near = (np.abs(exact) < 1.5 / n) & (centers[..., 0] > 0.3) & (np.abs(centers - 0.5).max(axis=-1) < 0.35)
    assert near.sum() > n ** (dimension - 1) / 4
    np.testing.assert_allclose(phi[near], exact[near], atol=1e-12 if dtype is np.float64 else 1e-6)


def test_a_surface_moves_with_its_particles() -> None:
    """A pond that passes uniformly through a periodic tank: positions in the cells change, the surface keeps its place exactly."""
    n = 32
    s = ParticleLiquidSolver(
        ms.Grid((n, n), 1 / n, periodic=(True, False)), ParticleLiquidOptions(pressure=PressureOptions(tolerance=1e-12))
    )
    s.fill(below(2, 0.513), velocity=(0.73, 0.0))
    for _ in range(40):
        s.step(0.01)
    np.testing.assert_allclose(s.particles["velocity"], np.broadcast_to([0.73, 0.0], s.particles["velocity"].shape), atol=1e-8)
    row = s.levelset.array[:, int(0.513 * n)]
    np.testing.assert_allclose(row, (int(0.513 * n) + 0.5) / n - 0.513, atol=1e-9)


def test_regions_that_touch_have_no_surface_between_them(dimension: int) -> None:
    n = 16
    s = ParticleLiquidSolver(ms.Grid((n,) * dimension, 1 / n), ParticleLiquidOptions(pressure=PressureOptions(tolerance=1e-10)))
    s.fill(below(dimension, 0.513) & Box((-FAR,) * dimension, (0.52,) + (FAR,) * (dimension - 1)))
    s.fill(below(dimension, 0.513) & Box((0.52,) + (-FAR,) * (dimension - 1), (FAR,) * dimension))
    assert (s.levelset.array[..., : n // 2] < 0).all()
    assert (s.levelset.array[..., n // 2 + 1 :] > 0).all()


def test_new_particles_get_their_distance_from_positions() -> None:
    """Those of a source, and those appended by hand."""
    n = 16
    nozzle = LiquidSource(region=Box((0.25, 0.5), (0.5, 0.75)), velocity=(0.0, -1.0))
    s = ParticleLiquidSolver(ms.Grid((n, n), 1 / n), sources=[nozzle])
    s.step(0.01)
    assert s.particles["distance"].min() < -0.3 / n
    x = np.random.default_rng(0).random((200, 2)) * 0.2
    s.particles.append(x)
    s.set_particles()
    assert (s.particles["distance"] != 0).all()
    assert s.levelset.array[1, 1] < 0


def test_a_flow_that_strains_makes_distances_follow_positions() -> None:
    """A drop of particles that believe to be deep below the surface: after strains of some units the surface is where they are."""
    n = 32
    s = ParticleLiquidSolver(
        ms.Grid((n, n), 1 / n), ParticleLiquidOptions(gravity=(0.0, 0.0), transfer="apic", particles=LiquidParticles(jitter=0.0))
    )
    s.fill(Sphere((0.5, 0.5), 0.2))
    s.particles["distance"] = -0.1
    x = s.particles.positions - 0.5
    s.particles["velocity"][...] = 4.0 * x * [1, -1]
    s.particles["affine"][...] = [4.0, 0.0, 0.0, -4.0]
    for _ in range(20):
        s.step(0.005)
    assert abs(s.volume_report().relative_error) < 0.1
    # The nearest particles to the surface know it.
    assert s.particles["distance"].max() > -1.0 / n


def test_a_fit_needs_distances() -> None:
    with pytest.raises(ValueError, match="distance"):
        particle_levelset(np.full((3, 2), 0.5), ms.Grid((4, 4), 0.25), carried=True)
