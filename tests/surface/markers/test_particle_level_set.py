"""Marker particles: seeding, correction, radii, reseeding, motion, and the state of a particle level set."""

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from support.build import grid_of, random_scalar, random_velocity, same_bits

import meniscus as ms
from meniscus.fluids import rotation, single_vortex
from meniscus.grid import advect, sample
from meniscus.surface import ParticleLevelSet, ParticleOptions, Sphere


def ball(dimension: int, dtype: Any = np.float64, cells: int = 24, radius: float = 0.3, location: Any = "cells", **options: Any):
    """A ball in the unit box, seeded."""
    p = ParticleLevelSet(ms.Grid((cells,) * dimension, 1 / cells), location, dtype, options=ParticleOptions(**options))
    p.levelset.array = (np.sqrt(sum((c - 0.5) ** 2 for c in p.levelset.field.coordinates())) - radius).astype(dtype)
    p.seed()
    return p


def state(p: ParticleLevelSet) -> list[np.ndarray]:
    sets = [p.particles, p.spray, p.bubbles]
    return [p.levelset.array.copy(), *(a.copy() for s in sets for a in (s.positions, s.ids, *(s[c] for c in s.columns)))]


def swirl(grid: ms.Grid, dtype: Any) -> ms.MacField:
    velocity = ms.MacField(grid, dtype)
    center = (0.5,) * grid.dimension
    rotation(center, 1.5 if grid.dimension == 2 else (0.5, -1.0, 1.5)).sample(velocity)
    return velocity


# --- seeding --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("location", ["cells", "nodes"])
def test_seeds_are_in_the_band_on_their_side(location, dimension, dtype):
    p = ball(dimension, dtype, location=location)
    h = p.grid.spacing
    phi = p.levelset.sample(p.particles.positions)
    own = phi * p.particles["sign"]
    assert set(np.unique(p.particles["sign"])) == {-1, 1}
    slack = 1e-5 * h
    assert own.min() >= 0.1 * h - slack
    assert own.max() <= 3 * h + slack
    np.testing.assert_allclose(p.particles["radius"], np.clip(own, 0.1 * h, 0.5 * h), atol=slack)


def test_cells_have_their_number(dimension):
    p = ball(dimension, per_cell=8)
    p.particles.sort_by_cell(p.grid)
    counts = np.zeros(np.prod(p.grid.shape), int)
    counts[p.particles.cells] = np.diff(p.particles.cell_starts)
    phi = p.levelset.array.ravel() / p.grid.spacing
    # Seeds stay in or beside their cell, so that the mean is right and no cell of the band is empty or crowded.
    inner = np.abs(phi) < 2.5
    assert counts[inner].mean() == pytest.approx(8, rel=0.05)
    assert counts[np.abs(phi) > 4.5].max() == 0
    assert counts[inner & (np.abs(phi) > 0.5)].min() > 0
    assert p.options.particles_per_cell(dimension) == 8
    assert ParticleOptions().particles_per_cell(2) == 16
    assert ParticleOptions().particles_per_cell(3) == 64


def test_seeding_is_keyed_by_cell_and_seed(dimension, dtype):
    p, q, other = ball(dimension, dtype), ball(dimension, dtype), ball(dimension, dtype, seed=1)
    assert same_bits(state(p), state(q))
    assert not np.array_equal(p.particles.positions, other.particles.positions)
    # What is far away does not matter: another ball in a corner leaves the seeds of the first where they are, but beside itself.
    small = Sphere((0.0,) * dimension, 0.08).signed_distance
    x = np.stack([c.ravel() for c in np.meshgrid(*[c.ravel() for c in q.levelset.field.coordinates()], indexing="ij")], axis=1)
    q.levelset.array = np.minimum(q.levelset.array, small(x).reshape(q.levelset.array.shape).astype(dtype))
    q.seed()
    mine = {tuple(v) for v in p.particles.positions if np.linalg.norm(v) > 0.4}
    both = {tuple(v) for v in q.particles.positions}
    assert mine < both


def test_no_seed_is_in_a_solid(dimension):
    p = ball(dimension)
    solid = ms.surface.KinematicSolid(Sphere((0.2,) * dimension, 0.25))
    p.seed(solid=solid)
    inside = sample(solid.sample(p.grid).levelset, p.particles.positions)
    assert inside.min() > 0
    assert 0 < len(p.particles) < len(ball(dimension).particles)


def test_reseeding_fills_and_thins_out(dimension):
    p = ball(dimension)
    full = len(p.particles)
    assert p.reseed().added < 0.2 * full, "what is there is enough, but for chance"
    p.particles.remove(p.particles.positions[:, 0] > 0.5)
    p.reseed()
    assert len(p.particles) == pytest.approx(full, rel=0.1)
    # Nine times as many as there should be: what stays in a cell is what is nearest to the surface.
    x, sign, radius = (np.repeat(a, 9, axis=0) for a in (p.particles.positions, p.particles["sign"], p.particles["radius"]))
    rng = np.random.default_rng(3)
    x = np.clip(x + rng.uniform(-0.2, 0.2, x.shape) * p.grid.spacing, 0, 1)
    keep = p.levelset.sample(x) * sign > 0
    p.particles.append(x[keep], sign=sign[keep], radius=radius[keep])
    before = p.particles.copy()
    report = p.reseed()
    assert report.surplus > 4 * full
    cell = np.ravel_multi_index(tuple(np.minimum((before.positions / p.grid.spacing).astype(int), 23).T), p.grid.shape)
    key = before["sign"] * p.levelset.sample(before.positions) - before["radius"]
    kept = np.isin(before.ids, p.particles.ids)
    per_cell = 4**dimension
    far = np.abs(p.levelset.sample(before.positions)) > 3 * p.grid.spacing
    assert not kept[far].any()
    for group in sorted(set(cell))[:: 7 if dimension == 2 else 101]:
        for s in (-1, 1):
            mine = (cell == group) & (before["sign"] == s) & ~far
            if mine.sum() <= per_cell:
                assert kept[mine].all()
                continue
            assert kept[mine].sum() == per_cell
            assert key[mine & kept].max() <= key[mine & ~kept].min()


def test_escaped_markers_survive_reseeding_and_keep_seeds_away(dimension):
    p = ball(dimension)
    lost = np.full((40, dimension), 0.5)
    lost += np.random.default_rng(1).uniform(-0.01, 0.01, lost.shape)
    corner = np.full((1, dimension), 0.06)
    at = p.particles.append(np.vstack([lost, corner]), sign=np.r_[np.ones(40), -1].astype(np.int8), radius=np.full(41, 0.02))
    ids = p.particles.ids[at].copy()
    p.particles.remove(p.particles.positions[:, 0] < 0.5)
    p.particles.remove(np.zeros(len(p.particles), bool))
    p.reseed()
    right = lost[:, 0] >= 0.5
    assert np.isin(ids[:40][right], p.particles.ids).all()
    # An escaped marker beside the surface: no seed comes near it, unless asked for.
    for spare in (True, False):
        q = ball(dimension, avoid_escaped=spare, per_cell=16)
        h = q.grid.spacing
        x = np.full((1, dimension), 0.5)
        x[0, 0] = 0.5 + 0.3 + 1.2 * h
        q.particles.append(x, sign=np.array([-1], np.int8), radius=np.array([0.1 * h]))
        near = np.abs(q.particles.positions - x).max(axis=1) < 0.5 * h
        q.particles.remove(near & (q.particles["sign"] > 0))
        q.reseed()
        near = np.abs(q.particles.positions - x).max(axis=1) < 0.5 * h
        assert ((near & (q.particles["sign"] > 0)).sum() == 0) == spare


# --- correction and radii -------------------------------------------------------------------------------------------------------


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


# --- motion ---------------------------------------------------------------------------------------------------------------------


def test_rotation_of_markers_is_second_order(dimension):
    """A staggered velocity represents a rigid rotation exactly, so RK2 alone is seen."""
    errors = []
    for steps in (40, 80, 160):
        p = ball(dimension, per_cell=2, radii_from="levelset")
        velocity = swirl(p.grid, np.float64)
        start = p.particles.positions.copy()
        turn = 2 * np.pi / (1.5 if dimension == 2 else np.sqrt(0.25 + 1.0 + 2.25))
        inside = np.linalg.norm(start - 0.5, axis=1) < 0.45
        for _ in range(steps):
            ms._meniscus.surface.advance_markers(
                p.particles._core, velocity._core, turn / steps, ms._meniscus.grid.Trace.midpoint, None, 0.0, 0.0, ms.core.Workspace()
            )
        errors.append(np.abs(p.particles.positions - start)[inside].max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 1.9).all()
    assert (orders < 2.2).all()


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize("location", ["cells", "nodes"])
def test_the_band_is_carried_like_the_whole(interpolation, location, dimension, dtype):
    p = ball(dimension, dtype, location=location, interpolation=interpolation, radii_from="levelset")
    velocity = random_velocity(p.grid, dtype, np.random.default_rng(6), speed=0.5)
    whole = p.levelset.field.copy()
    advect(whole, velocity, 0.1, method="semi-lagrangian", interpolation=interpolation)
    before = p.levelset.array.copy()
    advected, _ = p.advect(velocity, 0.1)
    changed = p.levelset.array != before
    reach = (3 + np.sqrt(dimension) * 0.1 * ms.grid.max_speed(velocity) / p.grid.spacing + 1) * p.grid.spacing
    assert not changed[np.abs(before) >= reach].any()
    assert advected == (np.abs(before) < dtype(reach)).sum()
    inside = np.abs(before) < 0.99 * reach
    np.testing.assert_allclose(p.levelset.array[inside], whole.array[inside], atol=(1e-12 if dtype == np.float64 else 2e-6))


@pytest.mark.parametrize("method", ["maccormack", "bfecc"])
def test_other_transport(method):
    p = ball(2, method=method)
    report = p.advance(swirl(p.grid, np.float64), 0.05)
    assert report.advected == (np.abs(ball(2).levelset.array) < 10).sum() or report.advected > 0
    assert p.levelset.volume() == pytest.approx(np.pi * 0.09, rel=0.01)


def test_sides_of_the_domain():
    """Markers stop at walls, leave through open sides, and come back on periodic axes."""
    out = ms.Grid((16, 16), 1 / 16, periodic=(False, True))
    p = ParticleLevelSet(out)
    p.levelset.array = np.full((16, 16), 1.0)
    velocity = ms.MacField(out, boundary={"x+": ms.Open(), "x-": ms.Wall((-1.0, 0.0))})
    velocity.u[...] = np.linspace(-1, 1, 17)[:, None]
    velocity.v[...] = 1.0
    x = np.array([[0.97, 0.5], [0.01, 0.5], [0.5, 0.99]])
    p.particles.append(x, sign=np.ones(3, np.int8), radius=np.full(3, 0.01))
    _, motion = p.advect(velocity, 0.1)
    assert (motion.left, motion.in_solid, motion.pushed) == (1, 0, 0)
    np.testing.assert_allclose(p.particles.positions[0, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(p.particles.positions[1, 1], 0.09, atol=1e-12)


def test_markers_of_both_signs_stay_out_of_solids(dimension, dtype):
    p = ball(dimension, dtype, cells=32)
    # A plate that the flow blows the ball against.
    plate = ms.surface.HalfSpace((0.8, *(0.5,) * (dimension - 1)), (-1.0, *(0.0,) * (dimension - 1)))
    velocity = ms.MacField(p.grid, dtype)
    velocity.u[...] = 1.0
    pushed = 0
    for _ in range(6):
        report = p.advance(velocity, 0.02, solid=plate)
        pushed += report.markers.pushed
        assert p.particles.positions[:, 0].max() <= 0.8
        assert report.markers.in_solid == 0
    assert pushed > 100
    close = p.particles.positions[:, 0] > 0.79
    assert set(np.unique(p.particles["sign"][close])) == {-1, 1}


# --- state ----------------------------------------------------------------------------------------------------------------------


def steps(p: ParticleLevelSet, n: int, velocity: ms.MacField) -> None:
    for _ in range(n):
        p.advance(velocity, 0.4 * p.grid.spacing)


def vortex(grid: ms.Grid, dtype: Any) -> ms.MacField:
    velocity = ms.MacField(grid, dtype)
    single_vortex().sample(velocity)
    # Noise, so that markers get lost.
    velocity.u[...] += np.random.default_rng(2).uniform(-0.7, 0.7, velocity.u.shape)
    return velocity


@pytest.mark.parametrize("way", ["restore", "copy", "pickle"])
def test_continuing_gives_the_same_bits(way, dtype):
    options: dict[str, Any] = {"reseed_every": 3, "spray": True, "escaped_outside": "bubbles", "removal_distance": 0.1}
    p = ball(2, dtype, **options)
    velocity = vortex(p.grid, dtype)
    steps(p, 4, velocity)
    if way == "restore":
        q = ball(2, dtype, **options)
        q.restore(p.snapshot())
    else:
        q = p.copy() if way == "copy" else pickle.loads(pickle.dumps(p))
    assert same_bits(state(p), state(q))
    steps(p, 5, velocity)
    steps(q, 5, velocity)
    assert same_bits(state(p), state(q))
    assert len(p.spray) + len(p.bubbles) > 0


def test_a_wrong_snapshot_changes_nothing():
    p = ball(2)
    good = state(p)
    bad = p.snapshot()
    bad["spray"] = {**bad["spray"], "radius": np.zeros(5)}
    with pytest.raises((ValueError, TypeError)):
        p.restore(bad)
    assert same_bits(state(p), good)
    with pytest.raises(ValueError, match="a snapshot of ParticleLevelSet must hold levelset, particles"):
        p.restore({"levelset": ()})


def test_memory():
    widths = {(2, np.float32): 21, (2, np.float64): 33, (3, np.float32): 25, (3, np.float64): 41}
    for (dimension, dtype), width in widths.items():
        p = ball(dimension, dtype, cells=12)
        assert p.bytes_per_particle == width
        assert p.nbytes >= width * len(p.particles) + p.levelset.field.with_ghosts.nbytes
    p = ball(2, reseed_every=None)
    velocity = vortex(p.grid, np.float64)
    steps(p, 3, velocity)
    held = p._workspace.nbytes
    steps(p, 3, velocity)
    assert p._workspace.nbytes == held, "a repeated step finds its scratch memory"


def test_nothing_to_do():
    """No surface, no particles: all stages run."""
    p = ParticleLevelSet(ms.Grid((5, 4), 0.1), options=ParticleOptions(spray=True, escaped_outside="bubbles", reseed_every=1))
    p.levelset.array = np.full((5, 4), 0.3)
    p.seed()
    p.levelset.array = np.full((5, 4), 1.0)
    assert p.seed().added == 0
    p.advance(ms.MacField(p.grid), 0.1)
    assert p.reincorporate().spray.count == 0
    assert p.advance_spray(0.1, (0.0, -9.8)).hits == 0
    assert "0 markers" in repr(p)


def test_errors():
    p = ball(2)
    velocity = swirl(p.grid, np.float64)
    before = state(p)
    other = ms.MacField(ms.Grid((5, 5), 0.1))
    with pytest.raises(ValueError, match="velocity must have the grid"):
        p.advance(other, 0.1)
    with pytest.raises(TypeError, match="dtype"):
        p.advance(ms.MacField(p.grid, np.float32), 0.1)
    with pytest.raises(ValueError, match="dt must be positive"):
        p.advance(velocity, 0.0)
    with pytest.raises(TypeError, match="solid must be"):
        p.advance(velocity, 0.1, solid=3)
    with pytest.raises(TypeError, match="level set of the solid must be of dtype float64, not float32"):
        p.advance(velocity, 0.1, solid=ms.NodeField(p.grid, np.float32))
    with pytest.raises(ValueError, match="solid must have the grid"):
        p.advance(velocity, 0.1, solid=ms.NodeField(other.grid))
    velocity.u[3, 3] = np.nan
    with pytest.raises(ValueError, match="finite"):
        p.advance(velocity, 0.1)
    assert same_bits(state(p), before)
    p.levelset.array[1, 2] = np.inf
    for stage in (p.seed, p.reseed):
        with pytest.raises(ValueError, match=r"finite"):
            stage()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"per_cell": 0}, "per_cell"),
        ({"band": 0.4}, "band must be wider"),
        ({"radii": (0.5, 0.1)}, "radii must be"),
        ({"escape_distance": -2.0}, "escape_distance must be at least -1"),
        ({"escape_distance": -0.5, "radii_from": "levelset"}, "escape_distance must be at least 0"),
        ({"radii_from": "guess"}, "radii_from must be one of"),
        ({"escaped_outside": "pop"}, "escaped_outside must be one of"),
        ({"removed_radii_from": "big"}, "removed_radii_from must be one of"),
        ({"method": "magic"}, "method must be one of"),
        ({"marker_trace": "rk4"}, "marker_trace must be one of"),
        ({"removal_distance": 0.0}, "removal_distance must be positive"),
        ({"reseed_every": 0}, "reseed_every"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_options(wrong, message):
    with pytest.raises(ValueError, match=message):
        ParticleOptions(**wrong)
