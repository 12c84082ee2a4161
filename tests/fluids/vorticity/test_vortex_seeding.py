"""Sources of vortex particles."""

import math
from typing import Any

import numpy as np
import pytest
from support.build import same_bits

import meniscus as ms
from meniscus.fluids import VortexParticles, seed_vortices
from meniscus.surface import Box, Cylinder, HalfSpace, Sphere


def none(dimension: int, dtype: Any = np.float64) -> VortexParticles:
    """No particles."""
    return VortexParticles(np.empty((0, dimension), dtype), np.empty((0, 3) if dimension == 3 else 0, dtype), 1.0)


SOURCE = {"rate": 20_000.0, "dt": 1.0, "strength": 2e-3, "radius": 0.1}


def test_densities_are_uniform(dimension: int, dtype: type) -> None:
    p = none(dimension, dtype)
    where = seed_vortices(p, Box((1.0, 2.0, 3.0)[:dimension], (2.0, 4.0, 6.0)[:dimension]), **SOURCE)
    assert where == slice(0, 20_000)
    assert (p.radius == dtype(0.1)).all()
    x = (p.positions.astype(float) - (1.0, 2.0, 3.0)[:dimension]) / (1.0, 2.0, 3.0)[:dimension]
    counts, _ = np.histogramdd(x, bins=(4,) * dimension, range=[(0, 1)] * dimension)
    assert counts.sum() == 20_000
    # Chi squared with 4^dim - 1 degrees of freedom, five standard deviations.
    freedom = counts.size - 1
    expected = 20_000 / counts.size
    assert ((counts - expected) ** 2 / expected).sum() < freedom + 5 * math.sqrt(2 * freedom)
    q = none(dimension, dtype)
    seed_vortices(q, Sphere((0.0,) * dimension, 2.0), **SOURCE)
    shells = np.linalg.norm(q.positions.astype(float), axis=1) / 2
    assert shells.max() <= 1 + 1e-6
    assert np.abs(np.histogram(shells**dimension, bins=10, range=(0, 1))[0] - 2000).max() < 5 * math.sqrt(2000)


def test_random_directions_are_uniform(dtype: type) -> None:
    p = none(3, dtype)
    seed_vortices(p, Sphere((0.0, 0.0, 0.0), 1.0), **SOURCE)
    w = p.vorticity.astype(float) / 2e-3
    np.testing.assert_allclose(np.linalg.norm(w, axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(w.mean(axis=0), 0.0, atol=5 / math.sqrt(3 * 20_000))
    np.testing.assert_allclose(w.T @ w / 20_000, np.eye(3) / 3, atol=0.012)
    # Independent of where they are.
    assert np.abs(w.T @ p.positions.astype(float)).max() / 20_000 < 0.012
    q = none(2, np.float64)
    seed_vortices(q, Sphere((0.0, 0.0), 1.0), **SOURCE)
    assert (np.abs(q.vorticity) == 2e-3).all()
    assert abs((q.vorticity > 0).mean() - 0.5) < 0.02


def test_tangents_and_axes(dtype: type) -> None:
    p = none(3, dtype)
    seed_vortices(p, Cylinder((1.0, 2.0, 0.0), (1.0, 2.0, 3.0), 0.5), direction="tangent", **SOURCE)
    x, y = (p.positions.astype(float)[:, :2] - (1.0, 2.0)).T
    r = np.hypot(x, y)
    expected = 2e-3 * np.stack([-y / r, x / r, 0 * r], axis=1)
    np.testing.assert_allclose(p.vorticity, expected, atol=2e-3 * (1e-12 if dtype is np.float64 else 1e-3))
    q = none(3, dtype)
    seed_vortices(q, Sphere((0.0, 0.0, 0.0), 1.0), direction="tangent", axis=(2.0, 0.0, 0.0), center=(0.0, 5.0, 0.0), **SOURCE)
    w = q.vorticity.astype(float)
    assert np.abs(w[:, 0]).max() < 1e-9
    offset = q.positions.astype(float) - (0.0, 5.0, 0.0)
    assert np.abs((w * offset).sum(axis=1)).max() < 1e-8
    # Right-handed about +x: for y < 5 the circles go down in z.
    assert (w[:, 2] < 0).all()
    up = none(3, dtype)
    seed_vortices(up, Sphere((0.0, 0.0, 0.0), 1.0), direction="axis", axis=(0.0, 3.0, 0.0), **SOURCE)
    assert (np.abs(up.vorticity) == np.array([0, 2e-3, 0], dtype)).all()
    assert abs((up.vorticity[:, 1] > 0).mean() - 0.5) < 0.02


def test_steps_lose_none() -> None:
    p = none(2)
    time, dt, counts = 0.0, 0.013, []
    for step in range(100):
        where = seed_vortices(p, Box((0.0, 0.0), (1.0, 1.0)), rate=123.4, dt=dt, strength=1.0, radius=0.1, time=time, step=step)
        counts.append(where.stop - where.start)
        time = time + dt
    assert sum(counts) == len(p) == math.floor(123.4 * time)
    assert set(counts) == {1, 2}
    assert len(np.unique(p.positions, axis=0)) == len(p)


def test_random_numbers_belong_to_the_particle() -> None:
    def seeded(seed: int, step: int, before: int = 0, rate: float = 100.0) -> VortexParticles:
        p = none(3)
        if before:
            p.append(np.zeros((before, 3)), vorticity=(1.0, 0.0, 0.0), radius=1.0)
        seed_vortices(p, Sphere((0.0, 0.0, 0.0), 1.0), rate=rate, dt=1.0, strength=1.0, radius=0.1, seed=seed, step=step)
        return p

    p = seeded(1, 2)
    assert same_bits(seeded(1, 2).positions, p.positions)
    # More particles, or other ones before, change nothing for the same id.
    assert same_bits(seeded(1, 2, rate=150.0).positions[:100], p.positions)
    assert same_bits(seeded(1, 2, before=40).positions[40:100], p.positions[40:])
    assert same_bits(seeded(1, 2, before=40).vorticity[40:100], p.vorticity[40:])
    for other in (seeded(2, 2), seeded(1, 3)):
        assert not (other.positions == p.positions).any()


def test_sources_that_are_refused(dimension: int) -> None:
    p = none(dimension)
    region = Sphere((0.0,) * dimension, 1.0)
    good: dict[str, Any] = {"rate": 10.0, "dt": 1.0, "strength": 1.0, "radius": 0.1}
    point = HalfSpace((0.0,) * dimension, (1.0, 0.0, 0.0)[:dimension])
    far = Sphere((9.0,) * dimension, 1e-9) | Sphere((-9.0,) * dimension, 1e-9)
    bad: list[tuple[Any, dict, type[Exception], str]] = [
        (point, {}, ValueError, "region must be bounded"),
        (Sphere((0.0,) * (5 - dimension), 1.0), {}, ValueError, f"region must be {dimension}-D"),
        ((0, 1), {}, TypeError, "region must be a Shape"),
        (region, {"rate": -1.0}, ValueError, "rate must not be negative"),
        (region, {"dt": 0.0}, ValueError, "dt must be positive"),
        (region, {"radius": 0.0}, ValueError, "radius must be positive"),
        (region, {"strength": math.nan}, ValueError, "strength must be finite"),
        (region, {"direction": "up"}, ValueError, "direction must be one of 'random', 'tangent', 'axis'"),
        (region, {"axis": (0.0, 0.0, 0.0)}, ValueError, "axis must not be zero"),
        (region, {"seed": -1}, ValueError, "seed must be at least 0"),
        (region, {"step": 2**32}, ValueError, "step must be below"),
        (far, {}, ValueError, "region fills too little of its bounds"),
    ]
    if dimension == 2:
        bad.append((region, {"direction": "tangent"}, ValueError, "in 2-D direction must be 'random'"))
    for shape, change, error, words in bad:
        with pytest.raises(error, match=words):
            seed_vortices(p, shape, **{**good, **change})
        assert len(p) == 0
    with pytest.raises(TypeError, match="particles must be a VortexParticles"):
        seed_vortices(ms.Particles(np.zeros((1, dimension))), region, **good)
