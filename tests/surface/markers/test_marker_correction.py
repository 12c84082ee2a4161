"""Correction of level sets by marker particles, and the radii of markers."""

import itertools

import numpy as np
import pytest
from support.build import grid_of, random_scalar, same_bits
from support.particle_levelset import ball, swirl
from support.variants import SLOW_IN_SINGLE, SLOW_IN_SPACE

import meniscus as ms
from meniscus.surface import ParticleLevelSet, ParticleOptions, Sphere


def corrected(p: ParticleLevelSet, threshold: float) -> np.ndarray:
    """Enright et al. 2002, section 3.3, one marker after the other."""
    phi = p.levelset.array
    values = p.levelset.sample(p.particles.positions)
    plus, minus = phi.astype(np.float64), phi.astype(np.float64)
    h, on_side, n = p.grid.spacing, p.levelset.field.on_side, phi.shape
    shift = np.array([0.0 if s else 0.5 for s in on_side])
    for x, s, r, v in zip(p.particles.positions, p.particles["sign"], p.particles["radius"], values, strict=True):
        if not -s * v > phi.dtype.type(threshold) * r:
            continue
        c = (x.astype(np.float64) - p.grid.origin) / h - shift
        for corner in itertools.product((0, 1), repeat=len(n)):
            i = np.floor(c).astype(int) + corner
            distance = h * np.sqrt(((c - i) ** 2).sum())
            for d, periodic in enumerate(p.grid.periodic):
                if periodic:
                    i[d] %= p.grid.shape[d]
                    i[d] = p.grid.shape[d] if on_side[d] and i[d] == 0 else i[d]
            if ((i < 0) | (i >= n)).any():
                continue
            value = s * (float(r) - distance)
            if s > 0:
                plus[tuple(i)] = max(plus[tuple(i)], value)
            else:
                minus[tuple(i)] = min(minus[tuple(i)], value)
    return np.where(np.abs(plus) <= np.abs(minus), plus, minus)


@pytest.mark.parametrize("location", ["cells", "nodes"])
@pytest.mark.parametrize(("radii", "escape_distance"), [("flow", -0.9), ("levelset", 0.0), ("levelset", 1.0)])
def test_correction_against_brute_force(location, radii, escape_distance, dimension, dtype):
    grid = grid_of(dimension, periodic=(True, False, True)[:dimension])
    options = ParticleOptions(radii_from=radii, escape_distance=escape_distance)
    p = ParticleLevelSet(grid, location, dtype, options=options)
    rng = np.random.default_rng(4)
    p.levelset.array = (0.3 * random_scalar(location[:-1], grid, dtype, rng).array).astype(dtype)
    n = 300
    lower, extent = np.array(grid.origin), np.array(grid.shape) * grid.spacing
    x = (lower + rng.random((n, dimension)) * extent).astype(dtype)
    x[:4] = lower.astype(dtype)
    p.particles.append(x, sign=rng.choice(np.array([-1, 1], np.int8), n), radius=rng.uniform(0.02, 0.12, n).astype(dtype))
    before = p.levelset.array.copy()
    expected = corrected(p, escape_distance)
    report = p.correct()
    np.testing.assert_allclose(p.levelset.array, expected, rtol=0, atol=8 * np.finfo(dtype).eps)
    assert (p.levelset.array != before).any()
    assert report.outside > 10
    assert report.inside > 10


@SLOW_IN_SINGLE
def test_correction_does_not_depend_on_the_order(dimension, dtype):
    rng = np.random.default_rng(5)
    p = ball(dimension, dtype)
    p.levelset.array = (p.levelset.array + rng.uniform(-1, 1, p.levelset.array.shape) * p.grid.spacing).astype(dtype)
    q = p.copy()
    order = rng.permutation(len(p.particles))
    snapshot = q.particles.snapshot()
    q.particles.restore({n: a if n == "next id" else a[order] for n, a in snapshot.items()})
    assert p.correct() == q.correct()
    assert same_bits(p.levelset.array, q.levelset.array)


def test_a_lost_drop_comes_back():
    """Where the level set has lost a drop of two cells, markers of the inside bring it back, in place."""
    p = ball(2, cells=32, radius=0.07, radii_from="levelset", escape_distance=1.0)
    area = p.levelset.volume()
    p.levelset.array = np.abs(p.levelset.array) + 0.2 * p.grid.spacing
    assert p.levelset.volume() == 0
    p.correct()
    assert p.levelset.volume() == pytest.approx(area, rel=0.4)


@SLOW_IN_SINGLE
def test_radii_from_the_level_set(dimension, dtype):
    p = ball(dimension, dtype, radii_from="levelset")
    h = p.grid.spacing
    p.levelset.array = (p.levelset.array * 0.7 + 0.3 * h).astype(dtype)
    p.adjust_radii()
    own = p.levelset.sample(p.particles.positions) * p.particles["sign"]
    assert same_bits(p.particles["radius"], np.clip(own, dtype(0.1 * h), dtype(0.5 * h)))
    for _ in range(5):
        p.advance(swirl(p.grid, dtype), 0.02)
        assert p.particles["radius"].min() >= dtype(0.1 * h)
        assert p.particles["radius"].max() <= dtype(0.5 * h)


def test_radii_that_follow_the_flow():
    """In the flow (a x, -a y) a flat surface y = 0 comes closer as exp(-a t), and so do the radii; rotation leaves them alone."""
    a, n = 0.8, 32
    grid = ms.Grid((n, n), 1 / n, (-0.5, -0.5))
    p = ParticleLevelSet(grid)
    p.levelset.array = np.broadcast_to(p.levelset.field.coordinates()[1], (n, n)).copy()
    p.seed()
    velocity = ms.MacField(grid, boundary=ms.ZeroGradient())
    velocity.u[...] = a * (np.arange(n + 1) / n - 0.5)[:, None]
    velocity.v[...] = -a * (np.arange(n + 1) / n - 0.5)[None, :]
    middle = (np.abs(p.particles.positions) < 0.35).all(axis=1)
    p.particles.remove(~middle)
    start, y, ids = p.particles["radius"].copy(), np.abs(p.particles.positions[:, 1]), p.particles.ids.copy()
    touching = y < 0.5 / n
    p.advect(velocity, 0.05)
    assert same_bits(p.particles.ids, ids)
    np.testing.assert_allclose(p.particles["radius"][touching], start[touching] * np.exp(-a * 0.05), rtol=1e-12)
    # Who comes closer than the largest radius takes the distance from the level set.
    coming = ~touching & (y < 0.5 / n * np.exp(a * 0.05))
    np.testing.assert_allclose(p.particles["radius"][coming], y[coming] * np.exp(-a * 0.05), rtol=1e-12)
    assert coming.sum() > 10
    far = y > 0.51 / n * np.exp(a * 0.05)
    assert same_bits(p.particles["radius"][far], start[far])
    p = ball(2)
    start = p.particles["radius"].copy()
    p.advect(swirl(p.grid, np.float64), 0.05)
    # Round-off, but for those that look across the kink in the middle of the ball.
    np.testing.assert_allclose(p.particles["radius"], start, rtol=1e-9)


def test_changes_from_outside_are_accepted(dimension, dtype):
    """A second ball is poured in: without a word to the markers they take it out again, as far as they reach into it."""
    options = {"reseed_every": None}
    p = ball(dimension, dtype, radius=0.2, **options)
    h = p.grid.spacing
    second = Sphere((0.5 + 0.2 + h, *(0.5,) * (dimension - 1)), 0.1).signed_distance
    x = np.stack(np.broadcast_arrays(*p.levelset.field.coordinates()), axis=-1).reshape(-1, dimension)
    union = np.minimum(p.levelset.array, second(x).reshape(p.levelset.array.shape).astype(dtype))
    p.levelset.array = union
    volume, q = p.levelset.volume(), p.copy()
    p.correct()
    assert p.levelset.volume() < 0.99 * volume
    wrong = (q.levelset.sample(q.particles.positions) * q.particles["sign"] < 0).sum()
    assert q.accept_levelset() == wrong > 0
    own = q.levelset.sample(q.particles.positions) * q.particles["sign"]
    np.testing.assert_array_equal(q.particles["radius"], np.clip(own, dtype(0.1 * h), dtype(0.5 * h)))
    q.correct()
    assert q.levelset.volume() == pytest.approx(volume, rel=3e-3)


@SLOW_IN_SPACE
def test_a_surface_at_rest_stays_where_it_is(dimension):
    """Nothing moves: neither the level set nor the markers, and no radius makes them correct anything for long."""
    p = ball(dimension)
    p.redistance()
    p.seed()
    velocity = ms.MacField(p.grid)
    start, x = p.levelset.array.copy(), p.particles.positions.copy()
    for _ in range(9):
        p.advance(velocity, 0.1)
    assert same_bits(p.particles.positions, x)
    near = np.abs(start) < p.grid.spacing
    assert np.abs(p.levelset.array - start)[near].max() < 0.02 * p.grid.spacing
