"""Upwind transport against a plain reference, its limit, and substeps beyond it."""

import numpy as np
import pytest
from support.build import grid_of, random_scalar, random_velocity, same_bits
from support.reference import linear, stencil, upwind, wide_component, wide_scalar

import meniscus as ms
from meniscus.grid import advect

BOUNDARIES = {"walls": None, "open": ms.Open(), "function": ms.Prescribed(lambda x, t: np.cos(x[:, 0]) + t)}


def speeds_at(velocity: ms.MacField, on_side: tuple[int, ...], shape: tuple[int, ...]) -> list[np.ndarray]:
    """The velocity at the samples: means of the nearest faces."""
    result = []
    for d in range(velocity.grid.dimension):
        wide = wide_component(velocity, d, 0.0, 4)
        shift = [np.full(shape, 0.5 * (wide.on_side[a] - on_side[a])) for a in range(len(shape))]
        result.append(linear(*stencil(wide, shape, shift, range(2))))
    return result


def limit(velocity: ms.MacField, on_side: tuple[int, ...], shape: tuple[int, ...]) -> float:
    """Largest dt that one pass takes."""
    return velocity.grid.spacing / float(sum(abs(s) for s in speeds_at(velocity, on_side, shape)).max())


@pytest.mark.parametrize("name", BOUNDARIES)
@pytest.mark.parametrize("kind", ["cell", "node"])
@pytest.mark.parametrize("periodic", [False, True])
def test_against_reference(periodic: bool, kind: str, name: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=periodic)
    f = random_scalar(kind, g, dtype, rng, BOUNDARIES[name])
    v = random_velocity(g, dtype, rng)
    v.v[...] = np.where(rng.random(v.v.shape) < 0.3, 0.0, v.v)
    v.fill_ghosts()
    speeds = speeds_at(v, f.on_side, f.shape)
    dt = 0.9 * limit(v, f.on_side, f.shape)
    out, low, high = (f.copy() for _ in range(3))
    for step in (dt, -dt):
        ms.grid.upwind(f, v, step, out=out, lower=low, upper=high)
        value, smallest, largest = upwind(wide_scalar(f, 0.0, 3), speeds, step / g.spacing)
        atol = 16 * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(out.array, value, rtol=0, atol=atol)
        np.testing.assert_allclose(low.array, smallest, rtol=0, atol=atol)
        np.testing.assert_allclose(high.array, largest, rtol=0, atol=atol)
    ms.grid.upwind(f, v, dt, out=out)
    info = advect(f, v, dt, method="upwind")
    assert info.substeps == 1
    assert same_bits(f.array, out.array)


def test_the_limit_is_the_sum_over_the_axes(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True)
    f, v = random_scalar("cell", g, dtype, rng), ms.MacField(g, dtype)
    for d in range(dimension):
        v.component(d)[...] = (-1.0) ** d
    out = f.copy()
    before = out.array.copy()
    at_limit = g.spacing / dimension
    for dt in (1.01 * at_limit, -1.01 * at_limit):
        with pytest.raises(ValueError, match=r"upwind pass needs dt \* sum \|V_d\| / h <= 1"):
            ms.grid.upwind(f, v, dt, out=out)
        assert same_bits(out.array, before)
    ms.grid.upwind(f, v, at_limit, out=out)
    assert not same_bits(out.array, before)
    for factor, substeps in ((0.99, 1), (1.0, 1), (1.01, 2), (3.0, 3), (4.5, 5)):
        assert advect(f.copy(), v, factor * at_limit, method="upwind").substeps == substeps


@pytest.mark.parametrize("method", ["upwind", "bfecc", "maccormack"])
def test_substeps_are_steps(method: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True)
    v = ms.MacField(g, dtype)
    for d in range(dimension):
        v.component(d)[...] = 0.5
    f = random_scalar("cell", g, dtype, rng)
    dt = 4 * g.spacing / (0.5 * dimension)
    many, few = f.copy(), f.copy()
    for _ in range(4):
        assert advect(many, v, dt / 4, method=method, block="upwind").substeps == 1
    assert advect(few, v, dt, method=method, block="upwind").substeps == 4
    np.testing.assert_allclose(few.array, many.array, rtol=0, atol=64 * np.finfo(dtype).eps)


def test_substeps_take_inflow_at_their_own_time(rng: np.random.Generator) -> None:
    """u = 1 carries the inflow f(t) in, one cell a substep."""
    g = ms.Grid((6, 1), 1.0, periodic=(False, True))
    f = ms.CellField(g, boundary={"x-": ms.Prescribed(lambda x, t: t), "x+": ms.Open()})
    v = ms.MacField(g, boundary=ms.ZeroGradient())
    v.u = 1.0
    info = advect(f, v, 4.0, method="upwind", time=10.0)
    assert info.substeps == 4
    np.testing.assert_allclose(f.array[:, 0], [13, 12, 11, 10, 0, 0], rtol=0, atol=1e-12)
    assert info.cfl == 4.0


def test_1d_upwind_is_semi_lagrangian_below_cfl_1(rng: np.random.Generator) -> None:
    g = ms.Grid((40, 1), 0.1, periodic=True)
    f, v = random_scalar("cell", g, np.float64, rng), ms.MacField(g, np.float64)
    for speed in (0.7, -0.7, 1.0, -1.0):
        v.u = speed
        a, b = f.copy(), f.copy()
        advect(a, v, 0.1, method="upwind")
        advect(b, v, 0.1, method="semi-lagrangian")
        np.testing.assert_allclose(a.array, b.array, rtol=0, atol=8 * np.finfo(np.float64).eps)
        if abs(speed) == 1:
            np.testing.assert_allclose(a.array, np.roll(f.array, int(speed), axis=0), rtol=0, atol=8 * np.finfo(np.float64).eps)


def test_monotone_and_total_variation_does_not_grow(rng: np.random.Generator) -> None:
    g = ms.Grid((50, 1), 1.0, periodic=True)
    f, v = random_scalar("cell", g, np.float64, rng), ms.MacField(g, np.float64)
    v.u = 0.8
    low, high = f.array.min(), f.array.max()
    variation = np.abs(f.array - np.roll(f.array, 1, axis=0)).sum()
    for _ in range(20):
        advect(f, v, 1.0, method="upwind")
        assert f.array.min() >= low
        assert f.array.max() <= high
        now = np.abs(f.array - np.roll(f.array, 1, axis=0)).sum()
        assert now <= variation * (1 + 8 * np.finfo(np.float64).eps)
        variation = now
