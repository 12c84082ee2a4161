"""Springs between strands that stick together."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import meniscus as ms
from meniscus.solids import Groom, HairBody, Stiction

Floats = npt.NDArray[np.float64]


def parallel(gap: float, count: int = 2, points: int = 9) -> Groom:
    """Strands of 0.08 m along z, side by side along x."""
    z = np.linspace(0, 0.08, points)
    x = np.concatenate([np.stack([np.full(points, gap * k), np.zeros(points), z], axis=1) for k in range(count)])
    return Groom(x, np.arange(count + 1) * points, radius=5e-5)


def body(groom: Groom, **options: Any) -> HairBody:
    return HairBody(groom, **{"EI": 1e-8, "GJ": 1e-8, "EA": 1.0, "model": "altitude", "sag_free": False, **options})


def brute(hair: HairBody, s: Stiction, near: float) -> dict[tuple[int, int], float]:
    """Pairs of segments of different strands that are near, with their distances, by sampling and refinement."""
    out = {}
    x, segments = hair.positions, s.segments
    of = np.repeat(np.arange(len(hair.groom)), np.diff(hair.groom.offsets) - 1)
    part = np.linspace(0, 1, 61)
    for i in range(len(segments)):
        for j in range(i + 1, len(segments)):
            if of[i] == of[j]:
                continue
            p = x[segments[i, 0]] + part[:, None] * (x[segments[i, 1]] - x[segments[i, 0]])
            q = x[segments[j, 0]] + part[:, None] * (x[segments[j, 1]] - x[segments[j, 0]])
            d = float(np.linalg.norm(p[:, None] - q[None], axis=2).min())
            if d < near:
                out[i, j] = d
    return out


def test_near_segments_are_joined_as_by_brute_force() -> None:
    rng = np.random.default_rng(4)
    points = np.cumsum(rng.normal(scale=0.01, size=(5, 7, 3)), axis=1) * np.array([1.0, 1.0, 0.2])
    groom = Groom(points.reshape(-1, 3), np.arange(6) * 7, radius=5e-5)
    hair = body(groom)
    near = 0.004
    everything = Stiction(hair, near=near, most=50, exclude_near=False)
    everything.prepare(hair.positions, hair.velocities, 0.0)
    found = {(int(a), int(b)) for a, b in everything.pairs}
    expected = brute(hair, everything, near)
    clear = {pair for pair, d in expected.items() if d < 0.98 * near}
    assert len(clear) > 5
    assert clear <= found <= set(brute(hair, everything, 1.02 * near))
    few = Stiction(hair, near=near, most=2, exclude_near=False)
    few.prepare(hair.positions, hair.velocities, 0.0)
    assert np.bincount(few.pairs.ravel()).max() <= 2
    shortest = min(expected, key=lambda pair: expected[pair])
    assert shortest in {(int(a), int(b)) for a, b in few.pairs}
    assert Stiction(hair, near=near).springs == 0
    none = Stiction(hair, near=near)
    none.prepare(hair.positions, hair.velocities, 0.0)
    assert none.springs == 0  # near at the start


def test_springs_break_at_their_length_at_once() -> None:
    hair = body(parallel(1e-3))
    s = hair.add(Stiction(hair, near=2e-3, apart=5e-3, exclude_near=False))
    s.prepare(hair.positions, hair.velocities, 0.0)
    assert s.springs > 0
    x = hair.positions.copy()
    second = np.arange(len(x)) >= len(x) // 2
    for gap, stays in ((2.5e-3, True), (4.99e-3, True), (5.01e-3, False), (2.5e-3, False), (1.9e-3, True)):
        x[second, 0] += gap - (x[second, 0] - x[~second, 0]).mean()
        s.prepare(x, hair.velocities, 0.0)
        assert (s.springs > 0) == stays


def test_forces_are_a_derivative_and_conserve_momentum() -> None:
    hair = body(parallel(1e-3, 4))
    s = Stiction(hair, near=2e-3, exclude_near=False, stiffness=0.01)
    s.prepare(hair.positions, hair.velocities, 0.0)
    rng = np.random.default_rng(0)
    x = hair.positions + 2e-4 * rng.standard_normal(hair.positions.shape)
    d = rng.standard_normal(x.shape)
    f = s.forces(x)
    assert np.abs(f.sum(axis=0)).max() < 1e-14 * np.abs(f).sum()
    assert np.abs(np.cross(x, f).sum(axis=0)).max() < 1e-12 * np.abs(f).sum()
    h = 1e-8
    assert -np.sum(f * d) == pytest.approx((s.energy(x + h * d) - s.energy(x - h * d)) / (2 * h), rel=1e-6)
    change = (s.forces(x + h * d) - s.forces(x - h * d)) / (2 * h)
    assert s.differentials(x, d) == pytest.approx(change, abs=1e-5 * np.abs(change).max())


def test_hair_that_sticks_swings_together_and_gains_no_energy() -> None:
    def swing(sticky: bool) -> tuple[float, Floats]:
        hair = body(parallel(1e-3), gravity=(0.0, 0.0, 0.0))
        if sticky:
            s = hair.add(Stiction(hair, near=1.5e-3, rest_length=1e-3, stiffness=0.01, exclude_near=False))
            s.prepare(hair.positions, hair.velocities, 0.0)
        half = len(hair) // 2
        hair.velocities[half:, 0] = 2.0 * np.clip(hair.positions[half:, 2], 0, None)
        hair.velocities[hair.constrained] = 0
        energies = []
        for _ in range(30):
            hair.step(1e-3, "implicit-euler")
            energies.append(hair.energy()["total"])
        gap = hair.positions[hair.nodes].reshape(2, -1, 3)
        return float(np.abs(gap[1] - gap[0])[:, 0].max()), np.array(energies)

    loose, _ = swing(False)
    tied, energies = swing(True)
    assert loose > 1.5e-3
    assert tied < 0.7 * loose
    assert (np.diff(energies) < 1e-9 * energies[0]).all()


def test_momentum_of_free_strands_that_stick() -> None:
    hair = body(parallel(1.2e-3), clamped=False)
    hair.release()
    hair.add(Stiction(hair, near=1.5e-3, rest_length=1e-3, stiffness=0.01, exclude_near=False))
    half = len(hair) // 2
    hair.velocities[half:, 0] = 0.3
    before = hair.momentum()
    for _ in range(10):
        hair.step(1e-3, "implicit-euler", tolerance=1e-12)
    assert hair.momentum() == pytest.approx(before, abs=1e-10 * np.abs(before).max())


def test_bits_copies_and_what_is_refused() -> None:
    groom = Groom.grow(ms.mesh.icosphere(1, 0.05), 150, 0.05, noise=0.4, segments=8, seed=3)
    hair = body(groom)
    tables = []
    before = ms.num_threads()
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            s = Stiction(hair, near=1e-3, exclude_near=False)
            s.prepare(hair.positions, hair.velocities, 0.0)
            tables.append(np.hstack([s.pairs, s.parts]))
    finally:
        ms.set_num_threads(before)
    assert len(tables[0]) > 10
    for other in tables[1:]:
        assert np.array_equal(tables[0], other)
    twin = copy.copy(s)
    assert np.array_equal(twin.pairs, s.pairs)
    with pytest.raises(ValueError, match="not below"):
        Stiction(hair, near=2e-3, apart=1e-3)
    with pytest.raises(ValueError, match="near must be positive"):
        Stiction(hair, near=0.0)
