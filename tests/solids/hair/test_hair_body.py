"""Bodies of hair: steps, rest shapes, twist, copies."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import meniscus as ms
from meniscus.solids import Groom, HairBody, RodForce

Floats = npt.NDArray[np.float64]
GRAVITY = (0.0, 0.0, -9.81)


def head(count: int = 40, **options: Any) -> Groom:
    """Strands of unequal length on a ball."""
    return Groom.grow(ms.mesh.icosphere(2, 0.1), count, 0.12, noise=0.2, seed=7, **options)


def unequal(groom: Groom) -> Groom:
    """The same strands, each cut to another number of points."""
    counts = np.diff(groom.offsets) - np.arange(len(groom)) % 9
    rows = np.concatenate([np.arange(c) + o for c, o in zip(counts, groom.offsets[:-1], strict=True)])
    return Groom(groom.points[rows], np.append(0, np.cumsum(counts)), radius=groom.radius)


def human(groom: Groom, **options: Any) -> HairBody:
    return HairBody(groom, **{"EI": 8e-9, "GJ": 6e-9, "gravity": GRAVITY, **options})


@pytest.mark.parametrize("curl", [0.0, 0.006])
def test_sag_free_styles_stay(curl: float) -> None:
    hair = human(unequal(head(curl_radius=curl)))
    assert hair.sag is not None
    assert len(hair.sag.impossible) == 0
    start = hair.positions.copy()
    for _ in range(250):
        hair.advance_strands(0.02)
    assert np.abs(hair.positions - start).max() < 1e-6 * 0.12  # 5 s
    # Without it they sag.
    bare = human(unequal(head(curl_radius=curl)), sag_free=False)
    bare.advance_strands(math.inf)
    assert np.abs(bare.positions - start).max() > 1e-3


def test_styles_that_cannot_rest_are_listed() -> None:
    groom = head(6)
    heavy = human(groom, EI=np.array([8e-9, 1e-30, 8e-9, 8e-9, 1e-30, 8e-9]), EA=1.0)
    assert heavy.sag is not None
    assert heavy.sag.impossible.tolist() == [1, 4]


def test_free_fall_is_exact_and_rigid() -> None:
    hair = human(head(5), sag_free=False, clamped=False)
    hair.release()
    start = hair.positions.copy()
    for _ in range(10):
        hair.advance_strands(0.01, "midpoint")
    assert hair.positions == pytest.approx(start + 0.5 * np.array(GRAVITY) * 0.1**2, abs=1e-12)


def swing(dt: float, rule: Any, time: float = 0.2) -> tuple[Floats, Floats]:
    """Positions, and energies of a strand that falls from the side, EI of a thick fibre."""
    groom = Groom(np.linspace(0, 0.1, 21)[:, None] * np.array([1.0, 0, 0]), [0, 21], radius=1e-3)
    hair = HairBody(groom, EI=1e-6, GJ=1e-6, EA=1e2, sag_free=False, gravity=GRAVITY)
    energies = [hair.energy()["total"]]
    for _ in range(round(time / dt)):
        hair.advance_strands(dt, rule, tolerance=1e-10)
        energies.append(hair.energy()["total"])
    return hair.positions.copy(), np.array(energies)


def test_orders_and_energies_of_the_rules() -> None:
    exact = swing(1.25e-5, "midpoint", 0.02)[0]
    for rule, order in (("implicit-euler", 1), ("midpoint", 2)):
        error = [np.abs(swing(dt, rule, 0.02)[0] - exact).max() for dt in (4e-4, 2e-4)]
        assert math.log2(error[0] / error[1]) == pytest.approx(order, abs=0.35), (rule, error)
    assert (np.diff(swing(2e-3, "implicit-euler")[1]) <= 1e-12).all()


def writhe(x: Floats) -> float:
    """Of a closed polygon, by the solid angles of all pairs of segments (Klenin and Langowski 2000, method 1a)."""
    a, b = x, np.roll(x, -1, axis=0)
    total = 0.0
    n = len(x)
    i, j = np.triu_indices(n, 2)
    keep = ~((i == 0) & (j == n - 1))
    i, j = i[keep], j[keep]

    def unit(v: Floats) -> Floats:
        norm = np.linalg.norm(v, axis=1)
        return v / np.where(norm > 0, norm, 1)[:, None]

    r13, r14, r23, r24 = a[j] - a[i], b[j] - a[i], a[j] - b[i], b[j] - b[i]
    normals = [unit(np.cross(p, q)) for p, q in ((r13, r14), (r14, r24), (r24, r23), (r23, r13))]
    area = sum(np.arcsin(np.clip(np.einsum("ij,ij->i", normals[k], normals[(k + 1) % 4]), -1, 1)) for k in range(4))
    sign = np.sign(np.einsum("ij,ij->i", np.cross(b[j] - a[j], b[i] - a[i]), r13))
    total = float((area * sign).sum())
    return total / (2 * math.pi)


def wound(points: int, turns: float) -> tuple[HairBody, float]:
    """A rod turned at its tip, whose ends are then brought to 0.6 of its length; the twist that it has."""
    x = np.linspace(0, 1, points)[:, None] * np.array([0.0, 0, 1.0])
    groom = Groom(x, [0, points], radius=0.01, directors=[[1.0, 0, 0]])
    hair = HairBody(groom, EI=1e-3, GJ=1e-3, EA=1e2, sag_free=False, density=1000.0, tips=True)
    z = np.array([[0.0, 0, 1]])
    for a in np.linspace(0, 2 * math.pi * turns, int(8 * turns) + 1)[1:]:
        hair.rods.set_frames(z, np.array([[math.cos(a), math.sin(a), 0]]), tips=True)
        hair.rods.strands.carry(hair.positions)
    return hair, float(hair.rods.twists.sum()) / (2 * math.pi)


def test_turned_rod_winds_up_and_keeps_its_link() -> None:
    """Twist plus writhe stays the turns given, but for two turns each time that the rod passes through itself: nothing keeps it apart."""
    hair, link = wound(101, 20)
    assert link == pytest.approx(20, abs=1e-10)
    n = len(hair)
    hair.pin([0, n - 1])
    hair.positions[1:-1] += 1e-4 * np.random.default_rng(0).standard_normal((n - 2, 3))
    passed = []
    for k in range(100):
        hair.targets[n - 1, 2] = 1 - 0.4 * min(1, (k + 1) / 80)
        hair.advance_strands(0.01, drag=2.0)
        if k % 10 == 9:
            twist = float(hair.rods.twists.sum()) / (2 * math.pi)
            # Closed far away, in the plane of the ends, by segments that no part of the rod reaches.
            closed = np.concatenate([hair.positions, [[0, 0, 50.0], [50.0, 0, 50.0], [50.0, 0, -50.0], [0, 0, -50.0]]])
            passed.append((20 - twist - writhe(closed)) / 2)
    assert passed == pytest.approx(np.round(passed), abs=1e-8)
    assert abs(writhe(closed)) > 0.3


def test_bits_do_not_depend_on_threads() -> None:
    def run() -> Floats:
        hair = human(unequal(head(100, curl_radius=0.004)))
        hair.velocities[...] = 0.3 * np.sin(40 * hair.positions[:, ::-1])
        for _ in range(5):
            hair.advance_strands(2e-3)
        return np.concatenate([hair.positions, hair.velocities])

    before = ms.num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            results.append(run())
    finally:
        ms.set_num_threads(before)
    assert all(np.array_equal(results[0], r) for r in results[1:])


def test_strands_do_not_depend_on_each_other() -> None:
    groom = unequal(head(20, curl_radius=0.004))
    order = np.random.default_rng(5).permutation(20)
    rows = np.concatenate([np.arange(groom.offsets[s], groom.offsets[s + 1]) for s in order])
    counts = np.diff(groom.offsets)[order]
    other = Groom(groom.points[rows], np.append(0, np.cumsum(counts)), directors=groom.directors[order])
    bodies = [human(Groom(groom.points, groom.offsets, directors=groom.directors)), human(other)]
    for body in bodies:
        body.velocities[...] = 0.3 * np.sin(40 * body.positions[:, ::-1])
    for _ in range(5):
        for body in bodies:
            body.advance_strands(1e-3, max_newton=3, tolerance=1e-300)
        assert np.array_equal(bodies[1].positions, bodies[0].positions[rows])


def test_copies_pickles_and_snapshots_go_on_with_the_same_bits() -> None:
    hair = human(head(12, curl_radius=0.004))
    hair.velocities[...] = 0.3
    hair.velocities[hair.groom.offsets[:-1]] = 0
    hair.advance_strands(2e-3)
    others = [hair.copy(), pickle.loads(pickle.dumps(hair)), copy.deepcopy(hair)]
    snapshot = hair.snapshot()
    hair.advance_strands(2e-3)
    end = hair.positions.copy()
    for other in others:
        other.advance_strands(2e-3)
        assert np.array_equal(other.positions, end)
        assert np.array_equal(other.rods.natural_shape, hair.rods.natural_shape)
    hair.restore(snapshot)
    hair.advance_strands(2e-3)
    assert np.array_equal(hair.positions, end)


def test_a_failed_step_changes_nothing() -> None:
    hair = human(head(3))
    before = hair.snapshot()
    hair.velocities[4] = 1e300
    hair.positions[7] = 1e200
    broken = hair.positions.copy()
    with pytest.raises(ValueError, match="positions"):
        hair.advance_strands(1e200)
    assert np.array_equal(hair.positions, broken)
    hair.restore(before)
    for wrong in ({"dt": 0.0}, {"dt": 1e-3, "drag": -1.0}, {"dt": 1e-3, "rule": "rk4"}):
        with pytest.raises(ValueError, match=next(iter(set(wrong) - {"dt"}), "dt")):
            hair.advance_strands(**wrong)  # type: ignore[arg-type]


def test_roots_follow_the_skin_and_hair_goes_along() -> None:
    groom = head(20)
    hair = human(groom, gravity=None)
    assert groom.skin is not None
    for k in range(1, 201):
        a = 0.005 * k
        turn = np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])
        hair.follow(groom.skin.vertices @ turn.T)
        hair.advance_strands(0.05, drag=200.0)
    assert hair.positions[groom.offsets[:-1]] == pytest.approx(groom.roots @ turn.T, abs=1e-15)
    assert np.abs(hair.positions - groom.points @ turn.T).max() > 1e-4
    assert hair.advance_strands(math.inf).unfinished == 0
    assert hair.positions == pytest.approx(groom.points @ turn.T, abs=1e-6)


def test_step_and_world_take_the_same_force() -> None:
    """Implicit Euler of bodies, by conjugate gradients, meets the direct solve."""
    groom = head(3, segments=6, curl_radius=0.01)
    hair = human(groom, EI=1e-6, GJ=1e-6, EA=10.0, sag_free=False)
    other = hair.copy()
    for _ in range(3):
        hair.advance_strands(1e-3, tolerance=1e-12)
        other.step(1e-3, "implicit-euler", tolerance=1e-10, newton_tolerance=1e-10)
    assert other.positions == pytest.approx(hair.positions, abs=1e-8)
    assert np.abs(hair.positions - groom.points).max() > 1e-6
    force = hair.rods
    assert isinstance(force, RodForce)
