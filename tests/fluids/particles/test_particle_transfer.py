"""Transfer of velocities between particles and a staggered grid: conservation, exactness, and invariants of the methods."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.build import components, grid_of, random_velocity, same_bits

import meniscus as ms
from meniscus.fluids import grid_to_particles, particle_density, particles_to_grid
from meniscus.grid import Particles, sample

EPS = {np.float32: 3e-6, np.float64: 1e-13}


def some_particles(grid: ms.Grid, dtype: Any, n: int = 300, *, affine: bool = False, mass: bool = False, margin: float = 0.0) -> Particles:
    """Particles anywhere in the domain, at most `margin` cells from its sides, with random columns."""
    rng = np.random.default_rng(5)
    dimension, h = grid.dimension, grid.spacing
    low, size = np.array(grid.origin) + margin * h, np.array(grid.extent) - 2 * margin * h
    columns = {"velocity": rng.normal(size=(n, dimension)).astype(dtype)}
    if affine:
        columns["affine"] = rng.normal(size=(n, dimension**2)).astype(dtype)
    if mass:
        columns["mass"] = rng.uniform(0.5, 2.0, n).astype(dtype)
    return Particles((low + size * rng.random((n, dimension))).astype(dtype), **columns)


def by_hand(p: Particles, grid: ms.Grid, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Mass and momentum at the faces across axis d, one particle and one corner after another."""
    shape = [n + (a == d) for a, n in enumerate(grid.shape)]
    mass, momentum = np.zeros(shape), np.zeros(shape)
    for i, x in enumerate(p.positions.astype(np.float64)):
        m = float(p["mass"][i]) if "mass" in p.columns else 1.0
        q = (x - grid.origin) / grid.spacing - [0.0 if a == d else 0.5 for a in range(grid.dimension)]
        for corner in product((0, 1), repeat=grid.dimension):
            at = np.floor(q).astype(int) + corner
            weight = float(np.prod(1 - np.abs(q - at)))
            inside = at.copy()
            value = float(p["velocity"][i, d])
            for a, n in enumerate(shape):
                if grid.periodic[a]:
                    inside[a] = at[a] % grid.shape[a]
                else:
                    at[a] = inside[a] = np.clip(at[a], 0, n - 1)
            if "affine" in p.columns:
                value += float(p["affine"][i].reshape(grid.dimension, -1)[d] @ ((at - q) * grid.spacing))
            mass[tuple(inside)] += m * weight
            momentum[tuple(inside)] += m * weight * value
    if grid.periodic[d]:
        ends = np.moveaxis(mass, d, 0), np.moveaxis(momentum, d, 0)
        for e in ends:
            e[-1] = e[0]
    return mass, momentum


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("periodic", [False, True])
def test_the_grid_gets_what_the_formula_says(affine: bool, periodic: bool, dimension: int, dtype: type) -> None:
    grid = grid_of(dimension, periodic=(periodic, False, periodic)[:dimension])
    p = some_particles(grid, dtype, 60, affine=affine, mass=True)
    velocity, mass = ms.MacField(grid, dtype), ms.MacField(grid, dtype)
    known = particles_to_grid(p, velocity, mass=mass)
    for d in range(dimension):
        m, momentum = by_hand(p, grid, d)
        assert np.array_equal(known[d], m > 0)
        np.testing.assert_allclose(mass.component(d), m, atol=EPS[dtype])
        expected = np.divide(momentum, m, out=np.zeros_like(m), where=m > 0)
        # Where hardly anything arrives, single precision knows little of the affine part.
        clear = m > 1e-3
        np.testing.assert_allclose(velocity.component(d)[clear], expected[clear], atol=300 * EPS[dtype])
        assert not velocity.component(d)[~known[d]].any()


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("periodic", [False, True])
def test_mass_and_momentum_are_conserved(affine: bool, periodic: bool, dimension: int, dtype: type) -> None:
    grid = grid_of(dimension, periodic=periodic)
    # Away from walls also with affine parts: at a wall the outermost face is not where the weight should be.
    p = some_particles(grid, dtype, affine=affine, mass=True, margin=0.5 if affine and not periodic else 0.0)
    velocity, mass = ms.MacField(grid, dtype), ms.MacField(grid, dtype)
    particles_to_grid(p, velocity, mass=mass)
    for d in range(dimension):
        owned = tuple(slice(1 if grid.periodic[d] and a == d else 0, None) for a in range(dimension))
        m = mass.component(d)[owned].astype(np.float64)
        v = velocity.component(d)[owned].astype(np.float64)
        total = float(p["mass"].sum(dtype=np.float64))
        assert m.sum() == pytest.approx(total, rel=EPS[dtype])
        momentum = p["mass"].astype(np.float64) @ p["velocity"][:, d]
        assert (m * v).sum() == pytest.approx(momentum, abs=10 * EPS[dtype] * total)


def angular(grid: ms.Grid, mass: list[np.ndarray], velocity: ms.MacField) -> np.ndarray:
    """The matrix of sums of m x_a v_d over the faces; its antisymmetric part is the angular momentum."""
    dimension = grid.dimension
    result = np.zeros((dimension, dimension))
    for d in range(dimension):
        for a, x in enumerate(grid.face_centers(d)):
            result[a, d] = np.sum(mass[d] * x * velocity.component(d))
    return result


def of_particles(p: Particles, grid: ms.Grid) -> np.ndarray:
    """The same for affine particles: the affine part counts with the second moments of the weights at each component."""
    dimension, h = grid.dimension, grid.spacing
    x, m = p.positions, p["mass"]
    result = np.einsum("i,ia,id->ad", m, x, p["velocity"])
    c = p["affine"].reshape(-1, dimension, dimension)
    for d in range(dimension):
        for a in range(dimension):
            q = (x[:, a] - grid.origin[a]) / h - (0.0 if a == d else 0.5)
            f = q - np.floor(q)
            result[a, d] += np.sum(m * c[:, d, a] * h**2 * f * (1 - f))
    return result


def test_affine_transfers_conserve_angular_momentum(dimension: int) -> None:
    grid = grid_of(dimension, shape=(8, 7, 6)[:dimension])
    p = some_particles(grid, np.float64, affine=True, mass=True, margin=1.0)
    velocity, mass = ms.MacField(grid), ms.MacField(grid)
    particles_to_grid(p, velocity, mass=mass)
    masses = components(mass)
    start = of_particles(p, grid)
    scale = np.abs(start).max()
    there = angular(grid, masses, velocity)
    np.testing.assert_allclose(there - there.T, start - start.T, atol=1e-13 * scale)
    # And back, with the masses as they were: what the grid has then is that of the particles.
    grid_to_particles(velocity, p)
    again = of_particles(p, grid)
    np.testing.assert_allclose(again - again.T, start - start.T, atol=1e-13 * scale)
    # PIC loses what affine particles keep.
    plain = np.einsum("i,ia,id->ad", p["mass"], p.positions, p["velocity"])
    assert np.abs((plain - plain.T) - (start - start.T)).max() > 1e-3 * scale


@pytest.mark.parametrize("flip_ratio", [None, 0.95, 1.0])
def test_constants_stay(flip_ratio: float | None, dimension: int, dtype: type) -> None:
    grid = grid_of(dimension, periodic=(True, False, False)[:dimension])
    p = some_particles(grid, dtype)
    constant = np.array([0.5, -1.25, 3.0][:dimension], dtype)
    p["velocity"][...] = constant
    velocity = ms.MacField(grid, dtype, ms.ZeroGradient())
    known = particles_to_grid(p, velocity)
    for d in range(dimension):
        np.testing.assert_allclose(velocity.component(d)[known[d]], constant[d], rtol=EPS[dtype])
        velocity.component(d)[...] = constant[d]
    before = None if flip_ratio is None else velocity.copy()
    grid_to_particles(velocity, p, before=before, flip_ratio=flip_ratio or 0.0)
    np.testing.assert_allclose(p["velocity"], np.broadcast_to(constant, p["velocity"].shape), rtol=EPS[dtype])


def linear_velocity(grid: ms.Grid, dtype: Any, matrix: np.ndarray, shift: np.ndarray) -> ms.MacField:
    velocity = ms.MacField(grid, dtype, ms.ZeroGradient())
    for d in range(grid.dimension):
        x = np.stack(np.broadcast_arrays(*grid.face_centers(d)), axis=-1)
        velocity.component(d)[...] = x @ matrix[d] + shift[d]
    return velocity


def test_affine_particles_carry_linear_fields_there_and_back(dimension: int, dtype: type) -> None:
    grid = grid_of(dimension, shape=(9, 8, 7)[:dimension])
    rng = np.random.default_rng(6)
    matrix, shift = rng.normal(size=(dimension, dimension)), rng.normal(size=dimension)
    # Half a cell from the sides the interpolation needs no samples beyond them.
    p = some_particles(grid, dtype, affine=True, margin=0.5)
    velocity = linear_velocity(grid, dtype, matrix, shift)
    exact = components(velocity)
    grid_to_particles(velocity, p)
    np.testing.assert_allclose(p["velocity"], p.positions @ matrix.T + shift, atol=40 * EPS[dtype])
    np.testing.assert_allclose(p["affine"], np.broadcast_to(matrix.ravel(), p["affine"].shape), atol=100 * EPS[dtype])
    known = particles_to_grid(p, velocity)
    for d in range(dimension):
        np.testing.assert_allclose(velocity.component(d)[known[d]], exact[d][known[d]], atol=100 * EPS[dtype])


def test_linear_interpolation_is_that_of_sample(dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        grid = grid_of(dimension, periodic=periodic)
        rng = np.random.default_rng(7)
        walls = {"x-": ms.Wall((0.5, 0.25, 0.0)[:dimension], "no-slip"), "y+": ms.Open()}
        velocity = random_velocity(grid, dtype, rng, walls)
        p = some_particles(grid, dtype)
        grid_to_particles(velocity, p)
        np.testing.assert_allclose(p["velocity"], sample(velocity, p.positions), atol=10 * EPS[dtype])


def test_flip_adds_the_change_and_pic_forgets(dimension: int, dtype: type) -> None:
    grid = grid_of(dimension)
    rng = np.random.default_rng(8)
    new, old = (random_velocity(grid, dtype, rng, ms.ZeroGradient()) for _ in range(2))
    for ratio in (0.0, 0.3, 0.95, 1.0):
        p = some_particles(grid, dtype)
        own, x = p["velocity"].copy(), p.positions
        grid_to_particles(new, p, before=old, flip_ratio=ratio)
        expected = ratio * (own + sample(new, x) - sample(old, x)) + (1 - ratio) * sample(new, x)
        np.testing.assert_allclose(p["velocity"], expected, atol=10 * EPS[dtype])


def test_the_density_counts_every_particle(dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        grid = grid_of(dimension, periodic=periodic)
        p = some_particles(grid, dtype)
        density = particle_density(p, grid)
        assert density.array.sum(dtype=np.float64) == pytest.approx(len(p), rel=EPS[dtype])
        assert density.array.min() >= 0
    # Regular particles are uniform, also at walls.
    grid = grid_of(dimension)
    at = [np.arange(2 * n) for n in grid.shape]
    x = np.stack(np.meshgrid(*at, indexing="ij"), -1).reshape(-1, dimension)
    p = Particles((np.array(grid.origin) + grid.spacing * (x + 0.5) / 2).astype(dtype))
    np.testing.assert_allclose(particle_density(p, grid).array, 2**dimension, rtol=EPS[dtype])


@pytest.mark.parametrize("periodic", [False, True])
def test_axes_of_one_cell_and_particles_outside(periodic: bool, dimension: int, dtype: type) -> None:
    grid = ms.Grid((1, 3, 1)[:dimension], 0.5, periodic=periodic)
    inside = np.array([[0.2, 0.7, 0.4][:dimension]], dtype)
    extent = np.array(grid.extent)
    outside = (inside + extent if periodic else np.where(np.arange(dimension) == 0, -3.0, inside)).astype(dtype)
    brought = inside if periodic else np.where(np.arange(dimension) == 0, 0.0, inside).astype(dtype)
    results = []
    for x in (outside, brought):
        p = Particles(x, velocity=np.ones_like(x))
        velocity, mass = ms.MacField(grid, dtype), ms.MacField(grid, dtype)
        known = particles_to_grid(p, velocity, mass=mass)
        for d in range(dimension):
            np.testing.assert_allclose(velocity.component(d)[known[d]], 1.0, rtol=EPS[dtype])
        results.append(components(mass))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, atol=EPS[dtype])


def test_no_particles(dimension: int, dtype: type) -> None:
    grid = grid_of(dimension)
    p = Particles(np.empty((0, dimension), dtype), velocity=np.empty((0, dimension), dtype))
    velocity = random_velocity(grid, dtype, np.random.default_rng(0))
    assert not any(k.any() for k in particles_to_grid(p, velocity))
    assert not any(c.any() for c in components(velocity))
    grid_to_particles(velocity, p)
    assert not particle_density(p, grid).array.any()


def test_the_order_of_particles_is_kept_where_it_is_one_of_cells(dimension: int) -> None:
    grid = grid_of(dimension)
    p = some_particles(grid, np.float64)
    p.sort_by_cell(grid)
    ids = p.ids.copy()
    particles_to_grid(p, ms.MacField(grid))
    assert np.array_equal(p.ids, ids)
    q = p.copy()
    q.positions[...] = q.positions[::-1].copy()
    particles_to_grid(q, ms.MacField(grid))
    assert sorted(q.ids) == sorted(ids)
    assert not np.array_equal(q.ids, ids)


def test_repeated_calls_allocate_nothing(dimension: int) -> None:
    grid = grid_of(dimension)
    p = some_particles(grid, np.float64, affine=True)
    velocity, space = ms.MacField(grid), ms.core.Workspace()
    known = particles_to_grid(p, velocity, workspace=space)
    grid_to_particles(velocity, p, before=velocity, workspace=space)
    before = ms.core.block_allocations()
    for _ in range(3):
        particles_to_grid(p, velocity, known=known, workspace=space)
        grid_to_particles(velocity, p, before=velocity, workspace=space)
    assert ms.core.block_allocations() == before


@pytest.mark.parametrize(
    ("break_it", "match"),
    [
        (lambda p: p.positions.__setitem__((3, 0), np.nan), "positions .*must be finite|positions must be finite"),
        (lambda p: p["velocity"].__setitem__((7, 1), np.inf), "velocities of particles must be finite, but that of particle"),
        (lambda p: p["affine"].__setitem__((2, 1), np.nan), "affine velocities"),
        (lambda p: p["mass"].__setitem__(4, 0.0), "masses of particles must be positive"),
        (lambda p: p["mass"].__setitem__(4, np.nan), "masses of particles must be positive"),
    ],
)
def test_bad_particles_change_nothing(break_it: Any, match: str) -> None:
    grid = grid_of(2)
    p = some_particles(grid, np.float64, affine=True, mass=True)
    velocity = random_velocity(grid, np.float64, np.random.default_rng(1))
    before = components(velocity)
    break_it(p)
    with pytest.raises(ValueError, match=match):
        particles_to_grid(p, velocity)
    assert same_bits(components(velocity), before)
    with pytest.raises(ValueError, match=match):
        grid_to_particles(velocity, p)


def test_a_velocity_that_is_not_finite_changes_nothing() -> None:
    grid = grid_of(2)
    p = some_particles(grid, np.float64)
    velocity = ms.MacField(grid)
    velocity.v[1, 1] = np.nan
    before = p["velocity"].copy()
    with pytest.raises(ValueError, match="finite"):
        grid_to_particles(velocity, p)
    assert same_bits(p["velocity"], before)


def test_wrong_arguments() -> None:
    grid, p = grid_of(2), some_particles(grid_of(2), np.float64)
    velocity = ms.MacField(grid)
    with pytest.raises(TypeError, match="Particles"):
        particles_to_grid(p.positions, velocity)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dtype float32"):
        particles_to_grid(some_particles(grid_of(3), np.float64), ms.MacField(grid_of(3), np.float32))
    with pytest.raises(ValueError, match="3-D"):
        particles_to_grid(p, ms.MacField(grid_of(3)))
    with pytest.raises(ValueError, match="column 'velocity'"):
        particles_to_grid(Particles(p.positions), velocity)
    with pytest.raises(TypeError, match="column 'velocity' must have 2 values"):
        particles_to_grid(Particles(p.positions, velocity=np.ones(len(p))), velocity)
    with pytest.raises(ValueError, match="grid"):
        particles_to_grid(p, velocity, mass=ms.MacField(grid_of(2, spacing=1.0)))
    with pytest.raises(ValueError, match="known"):
        particles_to_grid(p, velocity, known=[np.zeros((2, 2), bool)] * 2)
    with pytest.raises(ValueError, match="from 0 to 1"):
        grid_to_particles(velocity, p, before=velocity, flip_ratio=1.5)
    with pytest.raises(ValueError, match="grid"):
        grid_to_particles(velocity, p, before=ms.MacField(grid_of(2, spacing=1.0)))
    with pytest.raises(TypeError, match="dtype"):
        particle_density(some_particles(grid_of(3), np.float64), grid_of(3), out=ms.CellField(grid_of(3), np.float32))
