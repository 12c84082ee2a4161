"""Seeding and reseeding of marker particles."""

import numpy as np
import pytest
from support.build import same_bits
from support.particle_levelset import ball, state
from support.variants import SLOW_IN_SINGLE, SLOW_IN_SPACE

import meniscus as ms
from meniscus.grid import sample
from meniscus.surface import ParticleOptions, Sphere


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


@SLOW_IN_SINGLE
def test_seeding_is_keyed_by_cell_and_seed(dimension, dtype):
    p, q, other = ball(dimension, dtype), ball(dimension, dtype), ball(dimension, dtype, seed=1)
    assert same_bits(state(p), state(q))
    assert not np.array_equal(p.particles.positions, other.particles.positions)
    # What is far away does not matter: another ball in a corner leaves the seeds of the first where they are, but beside itself.
    small = Sphere((0.0,) * dimension, 0.08).signed_distance
    x = np.stack([c.ravel() for c in np.meshgrid(*[c.ravel() for c in q.levelset.field.coordinates()], indexing="ij")], axis=1)
    q.levelset.array = np.minimum(q.levelset.array, small(x).reshape(q.levelset.array.shape).astype(dtype))
    q.seed()
    mine = {v.tobytes() for v in p.particles.positions[np.linalg.norm(p.particles.positions, axis=1) > 0.4]}
    both = {v.tobytes() for v in q.particles.positions}
    assert mine < both


def test_no_seed_is_in_a_solid(dimension):
    p = ball(dimension)
    solid = ms.surface.KinematicSolid(Sphere((0.2,) * dimension, 0.25))
    p.seed(solid=solid)
    inside = sample(solid.sample(p.grid).levelset, p.particles.positions)
    assert inside.min() > 0
    assert 0 < len(p.particles) < len(ball(dimension).particles)


@SLOW_IN_SPACE
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
