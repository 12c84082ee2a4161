"""Surfaces of particle liquids from the density of their particles, and the volumes that liquids keep by them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.build import grid_of
from support.particle_liquid import FAR, TRANSFERS

import meniscus as ms
from meniscus.core import Workspace
from meniscus.fluids import LiquidParticles, ParticleLiquidOptions, ParticleLiquidSolver, particle_levelset
from meniscus.fluids.particles.surface import density_levelset
from meniscus.grid import Particles
from meniscus.surface import Box, Complement, Cylinder, HalfSpace, Intersection, KinematicSolid, LevelSet, Pose, Sphere, Union
from meniscus.surface.shapes.solid_boundary import SolidLike


def told(density: np.ndarray) -> np.ndarray:
    """Signed distance in cells to a plane across an axis, below which a box of two cells around a point is filled with hats."""
    r = np.clip(density, 0, 1)
    return np.where(r > 0.5, np.sqrt(2 * (1 - r)) - 1, 1 - np.sqrt(2 * r))


def around(grid: ms.Grid, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sums of weights times hat functions around the centres of cells, with images behind closed sides."""
    total = np.zeros(grid.shape)
    centers = [np.arange(n) + 0.5 for n in grid.shape]
    at = (x - grid.origin) / grid.spacing
    for shift in np.ndindex(*(3,) * grid.dimension):
        hats = []
        for d, s in enumerate(shift):
            n = grid.shape[d]
            image = at[:, d] if s == 1 else (at[:, d] + (s - 1) * n if grid.periodic[d] else (-at[:, d] if s == 0 else 2 * n - at[:, d]))
            hats.append(np.maximum(1 - np.abs(image[:, None] - centers[d]), 0))
        letters = "abc"[: grid.dimension]
        total += np.einsum(",".join("i" + c for c in letters) + ",i->" + letters, *hats, weights)
    return total


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("count", [1, 9, 40])
def test_densities_by_brute_force(count: int, periodic: bool, dimension: int, dtype: type) -> None:
    grid = grid_of(dimension, periodic=(periodic, False, periodic)[:dimension])
    x = (np.array(grid.origin) + grid.extent * np.random.default_rng(count).random((count, dimension))).astype(dtype)
    density = around(grid, x.astype(float), np.ones(count)) / 1.5
    found = particle_levelset(x, grid, method="density", per_cell=1.5).array / grid.spacing
    # Where there are particles in all cells around, the deepest value stands for all.
    some = (density > 1e-6) & (found > -1)
    np.testing.assert_allclose(found[some], told(density)[some], atol=5e-4 if dtype == np.float32 else 1e-7)
    assert some.any()
    assert (found[density <= 1e-6] > 0.99).all()


def test_planes_in_all_directions(dimension: int) -> None:
    """The surface of even particles below a plane lies on it to a twentieth of a cell, whatever its direction."""
    rng = np.random.default_rng(2)
    n, parts = 12, 8
    grid = ms.Grid((n,) * dimension, 1 / n)
    lattice = np.stack(np.meshgrid(*(np.arange(n * parts),) * dimension, indexing="ij"), -1).reshape(-1, dimension)
    x = (lattice + 0.5) / (n * parts)
    for _ in range(8):
        normal = rng.normal(size=dimension)
        normal /= np.linalg.norm(normal)
        signed = (x - 0.5 - 0.02 * rng.random(dimension)) @ normal
        phi = particle_levelset(x[signed < 0], grid, method="density", per_cell=parts**dimension)
        middle = (np.abs(x - 0.5) < 0.3).all(axis=1)
        assert np.abs(signed[middle & (np.abs(phi.sample(x)) < 0.02 / n)]).max() * n < 0.15
        assert phi.volume() == pytest.approx((signed < 0).mean(), abs=0.05 / n)


def test_the_space_that_a_solid_leaves(dimension: int) -> None:
    """Full up to a slanted wall, all cells with their centre in the open are full; without the wall those beside it are not."""
    n, parts = 12, 8
    grid = ms.Grid((n,) * dimension, 1 / n)
    lattice = np.stack(np.meshgrid(*(np.arange(n * parts),) * dimension, indexing="ij"), -1).reshape(-1, dimension)
    x = (lattice + 0.5) / (n * parts)
    wall = HalfSpace((0.47,) * dimension, (0.6, 0.8, 0.3)[:dimension])
    outside = wall.signed_distance(x) > 0
    nodes = LevelSet.from_shape(grid, wall, "nodes")
    centers = np.stack(np.meshgrid(*((np.arange(n) + 0.5) / n,) * dimension, indexing="ij"), -1)
    open_cells = wall.signed_distance(centers.reshape(-1, dimension)).reshape(grid.shape) > 0
    beside = open_cells & (wall.signed_distance(centers.reshape(-1, dimension)).reshape(grid.shape) < 0.5 / n)
    how: Any = {"method": "density", "per_cell": parts**dimension}
    seen = LevelSet(grid, "cells")
    density_levelset(Particles(x[outside]), seen, parts**dimension, nodes.field, Workspace())
    assert seen.array[open_cells].max() * n < -0.45
    assert particle_levelset(x[outside], grid, **how).array[beside].max() * n > -0.2


def test_heaps_are_liquid(dimension: int) -> None:
    """Particles of full cells that all lie on the floor."""
    n = 8
    grid = ms.Grid((n,) * dimension, 1 / n)
    s = ParticleLiquidSolver(grid)
    s.fill(Box((-FAR,) * dimension, (FAR,) * (dimension - 1) + (0.5,)))
    heaped = s.particles.positions.copy()
    heaped[:, -1] = np.where(heaped[:, -1] < 1 / n, 0.04 * heaped[:, -1], heaped[:, -1])
    assert particle_levelset(heaped, grid, method="density").array[..., 0].max() < -0.3 / n


def test_drops_are_spray(dimension: int) -> None:
    n = 8
    s = ParticleLiquidSolver(ms.Grid((n,) * dimension, 1 / n))
    s.fill(Box((-FAR,) * dimension, (FAR,) * (dimension - 1) + (0.25,)))
    x = np.full((3, dimension), 0.8)
    x[:, 0] = 0.1, 0.5, 0.9
    s.particles.append(x, velocity=np.zeros_like(x), distance=np.zeros(3))
    s.set_particles()
    v = s.volume_report()
    assert v.spray == pytest.approx(3 * s.particle_volume)
    assert v.liquid == pytest.approx(0.25, rel=0.01)
    assert v.relative_error == pytest.approx(0, abs=0.01)


def test_the_surface_layer_of_a_ball_is_no_spray(dimension: int) -> None:
    """Particles in cells whose centres are in the air belong to the liquid beside them, whose surface encloses them."""
    s = ParticleLiquidSolver(ms.Grid((16,) * dimension, 1 / 16), ParticleLiquidOptions(gravity=(0.0,) * dimension))
    s.fill(Sphere((0.5,) * dimension, 0.3))
    outside = s.levelset.array[tuple((16 * s.particles.positions).astype(int).T)] > 0
    assert outside.mean() > 0.05
    assert s.volume_report().spray == 0.0


def plate_with_holes(n: int) -> SolidLike:
    holes = Union([Cylinder((x, y, 0), (x, y, 1), 0.08) for x in (0.25, 0.5, 0.75) for y in (0.25, 0.5, 0.75)])
    return KinematicSolid(Intersection([Box((-1, -1, 0.5), (2, 2, 0.5 + 2 / n)), Complement(holes)]))


def paddle(n: int) -> SolidLike:
    return KinematicSolid(
        Box((-0.3, -0.06, -0.2), (0.3, 0.06, 0.2)), lambda t: Pose((0.5, 0.5, 0.25), (np.cos(3 * t), 0.0, 0.0, np.sin(3 * t)))
    )


def ball(n: int) -> SolidLike:
    return Sphere((0.6, 0.5, 0.2), 0.15)


BLOCK = Box((-1, -1, -1), (0.4, 2, 0.8))
FILM = 10  # cells right above the plate
CASES: dict[str, tuple[Callable[[int], SolidLike] | None, Box]] = {
    "block": (None, BLOCK),
    "block on a ball": (ball, BLOCK),
    "holes": (plate_with_holes, Box((-1, -1, 0.5 + 2 / 16), (2, 2, 0.9))),
    "paddle": (paddle, Box((-1, -1, -1), (2, 2, 0.4))),
}


def kept(solver: ParticleLiquidSolver, end: float) -> tuple[list[float], float]:
    """Volume of the surface and of drops by that of the particles, ten times until the end; and particles a wet cell at the end.

    Films that stay on a plate, thinner than half a cell, are counted by their particles: the measure of the surface beside solids misses
    them.
    """
    found, n = [], solver.grid.shape[0]
    for k in range(10):
        while solver.time < (k + 1) * end / 10 - 1e-9:
            solver.step(min(0.02, solver.max_dt(), (k + 1) * end / 10 - solver.time))
        v = solver.volume_report()
        cell = np.minimum((n * solver.particles.positions).astype(int), n - 1)
        film = (cell[:, 2] == FILM) & (solver.levelset.array[tuple(cell.T)] > 0) if solver.solid is not None else np.zeros(0, bool)
        found.append((v.liquid + v.spray + film.sum() * solver.particle_volume) / v.expected)
    counts = np.histogramdd(np.asarray(solver.particles.positions), bins=[n] * 3, range=[(0, 1)] * 3)[0]
    return found, float(counts[counts > 0].mean())


@pytest.mark.fast_cases("flip-block", "apic-holes")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("transfer", TRANSFERS)
def test_splashes_keep_their_volume(transfer: Any, case: str) -> None:
    """With the surface from mean positions, a block had 13 % of its volume after 3 s, and 36 particles a cell."""
    n = 16
    solid, region = CASES[case]
    s = ParticleLiquidSolver(
        ms.Grid((n,) * 3, 1 / n), ParticleLiquidOptions(transfer=transfer), solid=None if solid is None else solid(n), dtype=np.float32
    )
    s.fill(region)
    volumes, each = kept(s, 5.0)
    # Beside the rims of holes of 2.5 cells the measure misses some water too: 0.953 to 0.957.
    assert (0.95 if case == "holes" else 0.97) < volumes[-1] < 1.03
    assert 6 < each < 10
    # While it splashes, films and jets are missed in the same way: 0.89 with holes and PIC.
    assert min(volumes) > (0.88 if case == "holes" else 0.9)
    assert max(volumes) < 1.05


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="correction_rate must be positive, not 0"):
        LiquidParticles(correction_rate=0.0)
    with pytest.raises(ValueError, match="per_cell"):
        particle_levelset(np.zeros((1, 2)), ms.Grid((4, 4), 1.0), method="density", per_cell=0.0)
