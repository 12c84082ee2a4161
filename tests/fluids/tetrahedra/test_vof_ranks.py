"""Ranks of tetrahedra around solids, and ways out: slots, chambers, jaws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tet_vof.audit import Audit
from support.tet_vof.meshes import centroids, face_neighbours, lattice, overfull, rounded, still, turned

import meniscus as ms
from meniscus.fluids import TetVOF

REST = (0.0, 0.0, 0.0)
Box, Sphere = ms.surface.Box, ms.surface.Sphere


def brute_ranks(vof: TetVOF) -> np.ndarray:
    """Steps across vertices from the cut tetrahedra; -1 and -2 as given; -9 where none leads."""
    rank = np.where(vof.rank < 0, vof.rank, np.where(vof.rank == 0, 0, -9))
    around: dict[int, list[int]] = {}
    for t, corners in enumerate(vof.tets):
        for v in corners:
            around.setdefault(int(v), []).append(t)
    front, at = list(np.flatnonzero(rank == 0)), 0
    while front:
        at += 1
        found = {n for t in front for v in vof.tets[t] for n in around[int(v)] if rank[n] == -9}
        for n in found:
            rank[n] = at
        front = sorted(found)
    return rank


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("disable", [0.0, 0.1])
def test_ranks_count_steps_across_vertices(seed: int, disable: float) -> None:
    rest = lattice(0.25, (5, 5, 5), seed, shear=0.2, stir=0.1)
    off = np.random.default_rng(seed).random(len(rest.tets)) < disable
    vof = TetVOF(still(rest, disabled=lambda t: off), Sphere((0.05, 0.0, 0.1), 0.3))
    assert (vof.rank == 0).any()
    assert (vof.rank == -1).any()
    assert np.array_equal(vof.rank == -2, off)
    want = brute_ranks(vof)
    known = want != -9
    assert known.mean() > 0.99
    np.testing.assert_array_equal(vof.rank[known], want[known])


def test_ranks_around_a_ball_grow_with_the_distance() -> None:
    vof = TetVOF(still(lattice(0.125, (12, 12, 12), 3)), Sphere((0.0, 0.0, 0.0), 0.3))
    r = np.linalg.norm(centroids(vof), axis=1)
    means = np.array([r[vof.rank == k].mean() for k in range(vof.rank.max() + 1)])
    assert (np.diff(means) > 0).all()
    # One rank is at least half and at most one and a half edges.
    assert (np.diff(means[:-1]) > 0.06).all()
    assert (np.diff(means[:-1]) < 0.19).all()


def reference_way(vof: TetVOF, t: int, neighbours: np.ndarray, outlet: bool) -> tuple[str, list[int]]:
    """Breadth first across faces, not through solids or what is disabled."""
    own = vof.rank[t]
    ring, seen = [t], {t}
    while ring:
        higher = sorted(n for n in ring if vof.rank[n] > own)
        if higher:
            return "higher_rank", higher
        edge = sorted(n for n in ring if (neighbours[n] < 0).any())
        if outlet and edge:
            return "boundary", edge
        new = {int(n) for s in ring for n in neighbours[s] if n >= 0 and vof.rank[n] >= 0} - seen
        seen |= new
        ring = sorted(new)
    return "none", []


@given(seed=st.integers(0, 10**6), holes=st.floats(0, 0.4), closed=st.booleans())
def test_ways_out_of_random_meshes(seed: int, holes: float, closed: bool) -> None:
    rng = np.random.default_rng(seed)
    rest = lattice(0.25, (3, 3, 2), seed)
    off = rng.random(len(rest.tets)) < holes
    solid = Sphere(tuple(rng.uniform(-0.3, 0.3, 3)), 0.15) if rng.random() < 0.7 else None
    vof = TetVOF(still(rest, disabled=lambda t: off), solid, outside="wall" if closed else None)
    neighbours = face_neighbours(rest.tets)
    for t in np.flatnonzero(vof.rank >= 0)[:: max(1, len(off) // 40)]:
        way, found = vof.way_out(int(t))
        assert (way, sorted(int(n) for n in found)) == reference_way(vof, int(t), neighbours, not closed)


# --- slot, chambers, jaw -----------------------------------------------------------------------------------------------------------


def slot() -> tuple[TetVOF, np.ndarray]:
    """A narrow slot between two blocks, open on top: figure 3.6. Water in it has no higher rank across a face."""
    width = 0.3
    blocks = Box((-2.0, -2.0, -2.0), (-width / 2, 2.0, 0.4)) | Box((width / 2, -2.0, -2.0), (2.0, 2.0, 0.4))
    floor = Box((-2.0, -2.0, -2.0), (2.0, 2.0, -0.5))
    vof = TetVOF(still(lattice(0.2, (6, 6, 8), None)), blocks | floor, gravity=REST, debris=0.0)
    c = centroids(vof)
    inside = (np.abs(c[:, 0]) < width / 2) & (c[:, 2] < 0.1) & (c[:, 2] > -0.5) & (vof.rank >= 0)
    return vof, inside


def test_a_slot_drains_through_its_nearest_outward_tetrahedra() -> None:
    vof, inside = slot()
    neighbours = face_neighbours(vof.tets)
    higher = ((neighbours >= 0) & (vof.rank[neighbours] > vof.rank[:, None])).any(axis=1)
    stuck = inside & ~higher & (vof.rank >= 0)
    assert stuck.sum() > 20  # without a list of others these have nowhere to go
    for t in np.flatnonzero(stuck)[::7]:
        assert vof.way_out(int(t))[0] != "none"
    # Filled to the brim and above: the excess leaves the slot.
    vof.volume[:] = rounded(vof, np.where(vof.rank >= 0, vof.capacity, 0) * (centroids(vof)[:, 2] < 0.4) * (1 + 0.6 * inside))
    total = math.fsum(vof.volume)
    vof.move(1e-3)
    vof.push_out(1e-3)
    assert vof.running_report.enclosed == 0
    assert overfull(vof) <= 1e-12
    assert math.fsum(vof.volume) + vof.ledger().waiting == pytest.approx(total, rel=1e-15)


@pytest.mark.fast_cases("random-0", "exact-0", "adaptive-1")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("samples", ["random", "exact", "adaptive"])
def test_water_does_not_cross_a_wall(samples: Any, seed: int) -> None:
    """Two chambers and a slab of two to three tetrahedra between them; water is thrown about."""
    turn = turned(seed)
    rest = lattice(0.2, (10, 5, 5), seed)
    slab = ms.surface.Transformed(Box((-0.25, -3.0, -3.0), (0.25, 3.0, 3.0)), turn, (0.0, 0.0, 0.0))
    vof = TetVOF(still(rest), slab, samples=samples, gravity=REST, seed=seed)
    along = centroids(vof) @ turn[:, 0]
    rng = np.random.default_rng(seed)
    left = (along < 0) & (vof.rank >= 0)
    vof.volume[:] = rounded(vof, vof.capacity * rng.random(len(along)) * left)
    audit = Audit()
    for _ in range(15):
        wet = vof.volume > 0
        vof.velocity[wet] = rng.normal(size=(np.count_nonzero(wet), 3)) * 2 + 3 * turn[:, 0]
        vof.step(0.1 * rng.random() + 0.01, audit)
        assert vof.volume[along > 0.2].sum() == 0
        assert vof.volume[along < 0].sum() > 0
    # Drops too are on the side from which they have left.
    assert (vof.drops.positions @ turn[:, 0] < 0.25 + 0.2).all()


def jaw(t: float) -> float:
    """Half of the gap between two plates: closes in 0.3 s, waits, opens again."""
    return 0.45 - 0.45 * min(max(t / 0.3, 0), 1) + 0.45 * min(max((t - 0.6) / 0.3, 0), 1)


@pytest.mark.slow
def test_a_jaw_that_closes_gives_all_back_when_it_opens() -> None:
    """A box of solid walls whose lid comes down on the water in it until there is no room left."""
    wall = 0.5
    sides = [
        Box((-2.0, -2.0, -2.0), (-wall, 2.0, 2.0)),
        Box((wall, -2.0, -2.0), (2.0, 2.0, 2.0)),
        Box((-2.0, -2.0, -2.0), (2.0, -wall, 2.0)),
        Box((-2.0, wall, -2.0), (2.0, 2.0, 2.0)),
        Box((-2.0, -2.0, -2.0), (2.0, 2.0, -wall)),
    ]
    shell = sides[0] | sides[1] | sides[2] | sides[3] | sides[4]
    lid = ms.surface.KinematicSolid(Box((-2.0, -2.0, 0.0), (2.0, 2.0, 2.0)), lambda t: (0.0, 0.0, -wall + 2 * jaw(t)))
    vof = TetVOF(still(lattice(0.15, (9, 9, 9))), ms.surface.SolidGroup([ms.surface.KinematicSolid(shell), lid]), debris=0.0)
    vof.fill(Box((-wall, -wall, -wall), (wall, wall, 0.0)))
    total = vof.total_volume()
    audit = Audit()
    most = 0
    for _ in range(80):
        report = vof.step(0.0125, audit)
        most = max(most, report.enclosed)
        assert np.isfinite(vof.velocity).all()
    book = vof.ledger()
    assert most > 0  # it was shut in
    assert book.emitted + book.waiting == 0
    # Exact but where more than 256 volumes meet in one tetrahedron.
    assert math.fsum(vof.volume) == pytest.approx(total, rel=1e-15)
    assert report.enclosed == 0
    assert overfull(vof) <= 1e-12
