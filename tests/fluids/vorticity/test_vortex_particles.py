"""Vortex particles: state, motion, stretching, solids and sides."""

import gc
import math
from typing import Any

import numpy as np
import pytest
from support.build import grid_of, random_velocity, same_bits, scalar_types

import meniscus as ms
from meniscus.fluids import VortexInfo, VortexParticles, advance_vortices, curl_noise
from meniscus.numerics import FractalNoise
from meniscus.surface import Box, Sphere


def vortices(n: int, grid: ms.Grid, dtype: Any, rng: np.random.Generator, radius: float = 0.3, **columns: Any) -> VortexParticles:
    """Random particles in the domain."""
    x = (np.array(grid.origin) + rng.random((n, grid.dimension)) * grid.extent).astype(dtype)
    w = rng.normal(size=(n, 3) if grid.dimension == 3 else n).astype(dtype)
    return VortexParticles(x, w, radius, **columns)


def linear_flow(matrix: np.ndarray, grid: ms.Grid, dtype: Any = np.float64) -> ms.MacField:
    """u = matrix x, also beyond the sides."""
    velocity = ms.MacField(grid, dtype, ms.Prescribed(lambda x, t: x @ matrix.T))
    for d in range(grid.dimension):
        velocity.component(d)[...] = sum(matrix[d, b] * x for b, x in enumerate(grid.face_centers(d)))
    return velocity


def exponential(matrix: np.ndarray) -> np.ndarray:
    """The sum of matrix^n / n!."""
    term = result = np.eye(len(matrix))
    for n in range(1, 40):
        term = term @ matrix / n
        result = result + term
    return result


def sizes(p: VortexParticles) -> np.ndarray:
    return np.linalg.norm(p.vorticity.astype(float).reshape(len(p), -1), axis=1)


def test_columns(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    p = vortices(10, g, dtype, rng, age=np.arange(10))
    assert p.columns == ["vorticity", "radius", "age"]
    assert p.vorticity.shape == ((10, 3) if dimension == 3 else (10,))
    assert p.vorticity.dtype == p.radius.dtype == dtype
    assert (p.radius == dtype(0.3)).all()
    p.vorticity[3] = 7
    assert (p["vorticity"][3] == 7).all()
    one = (1.0, 2.0, 3.0) if dimension == 3 else 4.0
    q = VortexParticles(p.positions, one, np.linspace(0.1, 1, 10).astype(dtype))
    assert (q.vorticity == np.array(one, dtype)).all()
    where = p.append(np.ones((2, dimension), dtype), vorticity=one, radius=0.5)
    assert where == slice(10, 12)
    assert (p.vorticity[where] == np.array(one, dtype)).all()
    assert (p.radius[where] == 0.5).all()
    assert repr(p) == f"<VortexParticles 12 in {dimension}-D, {np.dtype(dtype)}, columns vorticity, radius, age>"


def test_snapshots_and_views_that_become_stale(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    p = vortices(20, g, dtype, rng)
    view, saved, old = p.vorticity, p.snapshot(), p.vorticity.copy()
    generation = p.generation
    more = vortices(500, g, dtype, rng)
    p.append(more.positions, vorticity=more.vorticity, radius=more.radius)
    assert p.generation == generation + 1
    p.vorticity[...] = 0
    assert same_bits(view, old)
    p.restore(saved)
    assert same_bits(p.vorticity, old)
    del p
    gc.collect()
    assert same_bits(view, old)


def test_states_that_are_refused(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    x = np.zeros((4, dimension), dtype)
    one = np.ones((4, 3) if dimension == 3 else 4, dtype)
    other = np.float32 if dtype is np.float64 else np.float64
    nan = one.copy()
    nan[2] = np.nan
    bad: list[tuple[tuple, type[Exception], str]] = [
        ((x.astype(np.int64), one, 1.0), TypeError, "dtype must be float32 or float64"),
        ((x[0], one, 1.0), ValueError, "positions must have shape"),
        ((x, one.astype(other), 1.0), TypeError, "vorticity must be of dtype"),
        ((x, one[:3], 1.0), ValueError, "vorticity must have shape"),
        ((x, nan, 1.0), ValueError, "vorticity must be finite"),
        ((x, one, 0.0), ValueError, "radius must be positive"),
        ((x, one, np.array([1, 1, -2, 1], dtype)), ValueError, r"radius must be positive, but \[2\] is -2"),
        ((x, one, np.ones(3, dtype)), ValueError, "radius must have shape"),
        ((x, one, np.ones(4, other)), TypeError, "radius must be of dtype"),
        ((x, one, math.inf), ValueError, "radius must be finite"),
    ]
    p = VortexParticles(x, one, 1.0)
    for arguments, error, words in bad:
        with pytest.raises(error, match=words):
            VortexParticles(*arguments)
        with pytest.raises(error):
            p.append(arguments[0], vorticity=arguments[1], radius=arguments[2])
        assert len(p) == 4
    with pytest.raises(ValueError, match="vortex particles need a vorticity"):
        p.append(x, radius=1.0)
    with pytest.raises(ValueError, match="vortex particles need a radius"):
        p.append(x, vorticity=one)


@pytest.mark.parametrize("method", ["euler", "midpoint", "rk3"])
def test_they_move_like_points(method: Any, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True)
    v = random_velocity(g, dtype, rng)
    p = vortices(300, g, dtype, rng)
    expected = p.positions.copy()
    ms.grid.trace(expected, v, 0.17, method=method)
    assert advance_vortices(p, v, 0.17, method=method) == VortexInfo(0, 0, 0)
    assert same_bits(p.positions, expected)


def test_vorticities_do_not_turn_in_2d(rng: np.random.Generator) -> None:
    g = grid_of(2, periodic=True)
    p = vortices(100, g, np.float64, rng)
    before = p.vorticity.copy()
    for stretching in ("renormalize", "clamp", "free"):
        advance_vortices(p, random_velocity(g, np.float64, rng), 0.3, stretching=stretching)
    assert same_bits(p.vorticity, before)


def test_the_strength_is_kept(dtype: type, rng: np.random.Generator) -> None:
    g = ms.Grid((16, 16, 16), 1 / 16, periodic=True)
    v = ms.MacField(g, dtype)
    curl_noise(3, FractalNoise(3, 0.25, 1.0, 3)).sample(v, 0.0)
    v.fill_ghosts()
    p = vortices(200, g, dtype, rng)
    before, start = sizes(p), p.vorticity.copy()
    for _ in range(1000):
        advance_vortices(p, v, 0.01)
    # Each step rounds the components once: a random walk of 1000 steps.
    np.testing.assert_allclose(sizes(p), before, rtol=100 * np.finfo(dtype).eps)
    cosine = (p.vorticity * start).sum(axis=1) / before**2
    assert np.median(np.abs(cosine)) < 0.95


@pytest.mark.parametrize(("method", "order"), [("euler", 2), ("midpoint", 3), ("rk3", 3)])
def test_the_direction_follows_the_exponential_of_the_gradient(method: Any, order: int, rng: np.random.Generator) -> None:
    """Local errors, of which the printed scheme has O(dt^2)."""
    m = rng.uniform(-1, 1, (3, 3))
    m -= np.eye(3) * np.trace(m) / 3
    v = linear_flow(m, ms.Grid((8, 8, 8), 0.25, (-1.0, -1.0, -1.0)))
    w = rng.normal(size=3)
    for stretching in ("free", "renormalize"):
        errors = []
        for dt in (0.2, 0.1, 0.05):
            p = VortexParticles(np.array([[0.1, -0.2, 0.15]]), tuple(w), 0.3)
            advance_vortices(p, v, dt, method=method, stretching=stretching)
            exact = exponential(dt * m) @ w
            if stretching == "renormalize":
                exact *= np.linalg.norm(w) / np.linalg.norm(exact)
            errors.append(np.linalg.norm(p.vorticity[0] - exact))
        orders = np.log2(np.array(errors[:-1]) / errors[1:])
        assert (np.abs(orders - order) < 0.25).all(), stretching
        # The first term that is left out.
        size = np.linalg.norm(np.linalg.matrix_power(m, order) @ w) / math.factorial(order)
        assert errors[-1] < 1.2 * 0.05**order * size


def test_gradients_are_interpolated(dtype: type, rng: np.random.Generator) -> None:
    """Quadratic velocities have linear gradients, which differences and interpolation give exactly."""
    a = rng.uniform(-1, 1, (3, 3, 3))
    a = a + a.transpose(0, 2, 1)

    def f(x: np.ndarray, t: float = 0.0) -> np.ndarray:
        return np.einsum("dij,ni,nj->nd", a, x, x)

    g = ms.Grid((6, 5, 7), 0.25)
    v = ms.MacField(g, dtype, ms.Prescribed(f))
    for d in range(3):
        x = np.stack(np.broadcast_arrays(*g.face_centers(d)), axis=-1)
        v.component(d)[...] = f(x.reshape(-1, 3))[:, d].reshape(x.shape[:-1])
    p = vortices(100, g, dtype, rng)
    x, w = p.positions.astype(float), p.vorticity.astype(float)
    expected = w + 0.01 * 2 * np.einsum("dij,ni,nj->nd", a, x, w)
    kept = p.copy()
    advance_vortices(p, v, 0.01, method="euler", stretching="free", leaving="clamp")
    np.testing.assert_allclose(p.vorticity, expected, atol=1e-12 if dtype is np.float64 else 2e-5)
    assert np.abs(p.vorticity - kept.vorticity).max() > 1e-2


@pytest.mark.parametrize(("speed", "seen"), [(2.0, 1.55), (9.0, 1.625), (-27.0, 0.1), (-31.0, -0.1), (-50.0, -0.125)])
def test_gradients_beyond_a_side_are_those_half_a_cell_out(speed: float, seen: float) -> None:
    """A step of 0.1 s carries the particle from x = 1.45 m past a side, at 0 or 1.5 m; half of it decides on the gradient."""

    def f(x: np.ndarray, t: float = 0.0) -> np.ndarray:
        return np.stack([np.full(len(x), speed), x[:, 0] ** 2, np.zeros(len(x))], axis=-1)

    g = ms.Grid((6, 5, 7), 0.25)
    v = ms.MacField(g, boundary=ms.Prescribed(f))
    for d in range(3):
        x = np.stack(np.broadcast_arrays(*g.face_centers(d)), axis=-1)
        v.component(d)[...] = f(x.reshape(-1, 3))[:, d].reshape(x.shape[:-1])
    p = VortexParticles(np.array([[1.45, 0.6, 0.9]]), np.array([[1.0, 0.0, 0.0]]), 0.1)
    advance_vortices(p, v, 0.1, stretching="free", leaving="clamp")
    np.testing.assert_allclose(p.vorticity, [[1.0, 0.1 * 2 * seen, 0.0]], rtol=0, atol=1e-13)


def test_stretching_and_its_limits(dtype: type) -> None:
    m = np.diag([1.0, -1.0, 0.0])
    v = linear_flow(m, ms.Grid((8, 8, 8), 0.25, (-1.0, -1.0, -1.0)), dtype)
    factor = {"free": (1.1, 0.9), "clamp": (1.0, 0.9), "renormalize": (1.0, 1.0)}
    for stretching, (growing, shrinking) in factor.items():
        p = VortexParticles(np.zeros((2, 3), dtype), np.array([[3, 0, 0], [0, 2, 0]], dtype), 0.2)
        advance_vortices(p, v, 0.1, method="euler", stretching=stretching)
        np.testing.assert_allclose(p.vorticity, [[3 * growing, 0, 0], [0, 2 * shrinking, 0]], rtol=4 * np.finfo(dtype).eps, atol=1e-7)


def test_a_vorticity_that_is_flattened_to_nothing_stays(dtype: type) -> None:
    m = np.diag([0.5, 0.5, -1.0])
    v = linear_flow(m, ms.Grid((4, 4, 4), 0.5, (-1.0, -1.0, -1.0)), dtype)
    p = VortexParticles(np.zeros((2, 3), dtype), np.array([[0, 0, 2], [0, 0, 0]], dtype), 0.2)
    advance_vortices(p, v, 1.0, method="euler")
    np.testing.assert_array_equal(p.vorticity, [[0, 0, 2], [0, 0, 0]])


def test_particles_in_solids_are_removed_or_projected(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = ms.Grid((20,) * dimension, 0.1)
    v = ms.MacField(g, dtype)
    solid = Sphere((1.0,) * dimension, 0.5)
    phi = ms.NodeField(g)
    solid.sample(phi)
    p = vortices(2000, g, dtype, rng)
    q, before = p.copy(), p.positions.astype(float)
    inside = ms.grid.sample(phi, np.ascontiguousarray(before)) <= 0
    assert 100 < inside.sum() < 1900
    assert advance_vortices(p, v, 0.1, solid=solid) == VortexInfo(0, int(inside.sum()), 0)
    assert same_bits(p.ids, np.flatnonzero(~inside))
    assert (ms.grid.sample(phi, p.positions.astype(float)) > 0).all()
    info = advance_vortices(q, v, 0.1, solid=phi, in_solid="push-out")
    # In the very middle the level set has no slope to follow.
    assert info.pushed + info.in_solid == inside.sum()
    assert info.in_solid <= 0.01 * inside.sum()
    assert len(q) == 2000 - info.in_solid
    distance = np.linalg.norm(q.positions.astype(float) - 1.0, axis=1) - 0.5
    moved = inside[q.ids]
    assert (ms.grid.sample(phi, q.positions.astype(float)) > 0).all()
    assert np.abs(distance[moved]).max() < 0.01
    assert same_bits(q.positions[~moved], before[q.ids[~moved]].astype(dtype))


def test_leaving_particles_are_removed_or_held(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=(False, True, False)[:dimension])
    v = ms.MacField(g, dtype, ms.ZeroGradient())
    v.u, v.v = 1.0, -1.0
    p = vortices(500, g, dtype, rng)
    q, x = p.copy(), p.positions.copy()
    end = g.origin[0] + g.extent[0]
    gone = x[:, 0] + dtype(0.3) > end
    assert 10 < gone.sum() < 490
    assert advance_vortices(p, v, 0.3) == VortexInfo(int(gone.sum()), 0, 0)
    assert same_bits(p.ids, np.flatnonzero(~gone))
    low, high = g.origin[1], g.origin[1] + g.extent[1]
    assert ((p.positions[:, 1] >= low) & (p.positions[:, 1] <= high)).all()
    assert advance_vortices(q, v, 0.3, leaving="clamp") == VortexInfo(0, 0, 0)
    assert len(q) == 500
    assert (q.positions[gone, 0] == dtype(end)).all()


def test_failing_steps_change_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    v, p = random_velocity(g, dtype, rng), vortices(20, g, dtype, rng)
    before = p.snapshot()

    def refused(error: type[Exception], words: str, velocity: Any = v, dt: float = 0.1, **options: Any) -> None:
        with pytest.raises(error, match=words):
            advance_vortices(p, velocity, dt, **options)
        assert all(same_bits(p.snapshot()[n], a) for n, a in before.items())

    refused(ValueError, "dt must be finite", dt=math.nan)
    refused(ValueError, "method must be one of 'euler', 'midpoint', 'rk3'", method="rk4")
    refused(ValueError, "stretching must be one of 'renormalize', 'clamp', 'free'", stretching="none")
    refused(ValueError, "in_solid must be one of 'remove', 'push-out'", in_solid="keep")
    refused(ValueError, "leaving must be one of 'remove', 'clamp'", leaving="keep")
    refused(TypeError, "velocity must be a MacField", velocity=v.u)
    for other in (t for t in scalar_types(dimension) if t is not dtype):
        refused(TypeError, "particles must be of dtype", velocity=ms.MacField(g, other))
    refused(ValueError, f"particles must be {5 - dimension}-D", velocity=ms.MacField(grid_of(5 - dimension)))
    refused(ValueError, "solid must have the grid of the velocity", solid=ms.NodeField(grid_of(dimension, periodic=True)))
    with pytest.raises(TypeError, match="particles must be a VortexParticles"):
        advance_vortices(ms.Particles(p.positions), v, 0.1)
    v.u[2, 1] = np.nan
    refused(ValueError, "must be finite")
    v.u[2, 1] = 0.0
    p.positions[7, 1] = np.inf
    before = p.snapshot()
    refused(ValueError, "component 1 of point 7 is not")


def test_repeated_steps_allocate_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True)
    v, p = random_velocity(g, dtype, rng), vortices(100, g, dtype, rng)
    phi = ms.NodeField(g)
    Box((0.5,) * dimension, (1.0,) * dimension).sample(phi)
    workspace = ms.core.Workspace()
    advance_vortices(p, v, 0.1, solid=phi, workspace=workspace)
    allocations = ms.core.block_allocations()
    advance_vortices(p, v, 0.1, solid=phi, workspace=workspace)
    assert ms.core.block_allocations() == allocations
