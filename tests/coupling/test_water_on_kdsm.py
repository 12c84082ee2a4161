"""Water on the mesh around a creature: ledgers, room, what is inside of the body, copies, elements that come and go."""

from __future__ import annotations

import math
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.creatures import BALL, TIMES, built
from support.same_bits import everywhere
from support.tet_vof.audit import Audit
from support.tet_vof.meshes import centroids, overfull

import meniscus as ms
from meniscus.coupling import KDSM, Following
from meniscus.fluids import TetVOF, WallAdhesion

DT = 1 / 48
MIDDLE = BALL.vertices.mean(axis=0)
REST = (0.0, 0.0, 0.0)


def writhe(t: float) -> np.ndarray:
    """The ball is bent to and fro while it goes its way."""
    x = BALL.vertices - MIDDLE
    s = np.sin(14.0 * t)
    bent = x + np.stack([0.5 * s * x[:, 2] ** 2, 0.3 * s * x[:, 0], 0.25 * s * x[:, 2]], axis=1)
    return MIDDLE + bent + np.array([0.5, -0.3, 0.2]) * t


@cache
def creature(**options: Any) -> KDSM:
    return built(writhe, **{"layers": 2, "subdivisions": 1, **options})


def crushed(k: int, positions: np.ndarray) -> np.ndarray | None:
    """In some frames, a layer of the air is pressed flat on one side."""
    if k % 3 != 1:
        return None
    c = positions.mean(axis=0)
    far = (np.linalg.norm(positions - c, axis=1) > 0.8) & (positions[:, 2] > c[2] + 0.1)
    positions[far, 0] = c[0]
    return positions


@cache
def coming_and_going() -> KDSM:
    return built(writhe, layers=2, subdivisions=1, following=Following(edit=crushed, repair=0))


def wetted(kdsm: KDSM, **options: Any) -> TetVOF:
    """A cap of water on top of the creature."""
    vof = TetVOF(kdsm.moving(), kdsm.solid, **options)
    vof.fill(ms.surface.Sphere(tuple(MIDDLE + np.array([0.1, 0.0, 0.6])), 0.4), (0.2, 0.1, -0.5))
    assert np.count_nonzero(vof.volume) > 500
    return vof


def steps(vof: TetVOF) -> int:
    return round((TIMES[-1] - vof.time) / DT)


@pytest.mark.fast_cases("random-wall")
@pytest.mark.parametrize("outside", [None, "wall"])
@pytest.mark.parametrize("samples", ["random", "exact", "adaptive"])
def test_ledgers_and_room_around_a_creature(samples: Any, outside: Any) -> None:
    kdsm = creature()
    vof = wetted(kdsm, samples=samples, outside=outside, adhesion=4.0)
    audit = Audit()
    seen = 0

    def check(stage: str, at: TetVOF) -> None:
        audit(stage, at)
        if stage == "push_out":
            assert at.running_report.enclosed == 0
            inside = at.rank == -1
            assert inside.sum() > 100
            assert not at.volume[inside].any()
            assert overfull(at) <= 1e-12

    count = steps(vof)
    assert count >= 9
    for _ in range(count):
        vof.step(DT, check)
        new = vof.drops.positions[seen:]
        seen = len(vof.drops)
        if len(new):
            assert kdsm.solid.signed_distance(np.ascontiguousarray(new), vof.time).min() > 0
        # A tetrahedron with water has a part outside of the body.
        wet = vof.volume > 0
        corners = kdsm.solid.signed_distance(vof.positions, vof.time)[vof.tets]
        assert (corners.max(axis=1) > -1e-12)[wet].all()
    assert audit.calls == count * len(TetVOF.stages)
    assert audit.worst_overfill <= 1e-12
    if outside == "wall":
        assert len(vof.drops) == 0
        assert math.fsum(vof.volume) == vof.ledger().filled
    assert np.linalg.norm(vof.force_on_body()) > 0


@pytest.mark.slow
def test_elements_come_and_go() -> None:
    """Water of elements that the KDSM disables is handed on; in a closed mesh none leaves."""
    kdsm = coming_and_going()
    counts = [int(np.count_nonzero(kdsm.disabled(t))) for t in kdsm.times]
    assert max(counts) > 20
    assert min(counts) == 0
    lost = 0.0
    for outside in (None, "wall"):
        vof = TetVOF(kdsm.moving(), kdsm.solid, outside=outside)
        vof.volume[:] = 0.5 * vof.capacity
        audit = Audit()
        for _ in range(steps(vof)):
            before = vof.volume.copy()
            vof.step(DT, audit)
            off = vof.rank == -2
            assert np.array_equal(off, np.repeat(kdsm.disabled(vof.time), 8))
            assert not vof.volume[off].any()
            assert not vof.capacity[off].any()
            lost += before[off].sum()
        assert audit.worst_overfill <= 1e-12
        if outside == "wall":
            assert len(vof.drops) == 0
            assert math.fsum(vof.volume) == vof.ledger().filled
    assert lost > 0, "no water was in an element that was disabled"


@pytest.mark.fast_cases("random")
@pytest.mark.parametrize("samples", ["random", "exact"])
def test_water_that_moves_with_the_mesh_of_a_creature_is_not_touched(samples: Any) -> None:
    """The creature and its air are carried along at one velocity."""
    u = np.array([0.7, -0.4, 0.3])
    x: list[np.ndarray] = []

    def carried(k: int, positions: np.ndarray) -> np.ndarray:
        x[:] = x or [positions.copy() - TIMES[k] * u]
        return np.asarray(x[0] + TIMES[k] * u)

    kdsm = built(lambda t: BALL.vertices + t * u, layers=2, subdivisions=1, following=Following(edit=carried))
    vof = TetVOF(kdsm.moving(), kdsm.solid, samples=samples, gravity=REST, debris=0.0)
    rng = np.random.default_rng(1)
    # Not at the boundary, which a change of the last bit may cross; not where the solid's own rounding is felt.
    blob = (np.linalg.norm(centroids(vof) - MIDDLE, axis=1) < 0.75) & (vof.rank > 1)
    assert blob.sum() > 1000
    vof.volume[:] = np.where(blob, vof.capacity * rng.random(len(blob)), 0.0)
    vof.velocity[blob] = u
    vof.ledger()
    before, largest = vof.volume.copy(), vof.capacity.max()
    for dt in (DT, 0.3 * DT, 3 * DT):
        vof.step(dt)
        assert np.abs(vof.volume - before).max() <= 1e-12 * largest
        assert np.abs(vof.velocity[vof.volume > 1e-10 * largest] - u).max() <= 1e-12
        assert math.fsum(vof.volume) == math.fsum(before)


def test_adhesion_painted_on_the_skin_acts_where_the_skin_has_gone() -> None:
    kdsm = creature()
    side = kdsm.skin.vertices[:, 0] > MIDDLE[0]
    vof = wetted(kdsm, adhesion=WallAdhesion(strength=np.where(side, 30.0, 0.0), reach=0.3), gravity=REST)
    vof.volume[:] = np.where(vof.rank >= 0, 0.5 * vof.capacity, 0.0)
    vof.velocity[:] = 0.0
    audit = Audit()
    for _ in range(3):
        vof.step(DT, audit)
    before = vof.velocity.copy()
    vof.move(DT)
    before = vof.velocity.copy()
    vof.accelerate(DT)
    change = np.linalg.norm(vof.velocity - before, axis=1) / DT
    skin = kdsm.skin_at(vof.time + DT)
    nearest = np.array([np.argmin(((skin - c) ** 2).sum(axis=1)) for c in centroids(vof)])
    distance = np.linalg.norm(centroids(vof) - skin[nearest], axis=1)
    # Not at the line between both, nor where the skin is far away.
    beside = np.array([side[kdsm.skin.triangles[(kdsm.skin.triangles == v).any(axis=1)]].mean() for v in range(len(side))])
    close = (vof.volume > 0) & (distance < 0.15) & (vof.rank >= 0)
    assert (close & (beside[nearest] == 1)).sum() > 300
    assert (close & (beside[nearest] == 0)).sum() > 300
    assert change[close & (beside[nearest] == 1)].min() > 5.0
    assert not change[close & (beside[nearest] == 0)].any()


def test_same_bits_on_any_number_of_threads(default_parallelism: None) -> None:
    kdsm = coming_and_going()

    def run() -> list[np.ndarray]:
        vof = wetted(kdsm, adhesion=4.0)
        for _ in range(3):
            vof.step(DT)
        return [vof.volume.copy(), vof.velocity.copy(), vof.drops.positions.copy(), vof.ledger().momentum, vof.force_on_body()]

    everywhere(run)


def test_snapshots_go_on_alike(tmp_path: Path) -> None:
    """Also on a mesh that was read again, as by a run that is resumed."""
    pytest.importorskip("h5py")
    kdsm = built(writhe, layers=2, subdivisions=1, out=tmp_path / "ball.h5")
    vof = wetted(kdsm, adhesion=4.0)
    for _ in range(4):
        vof.step(DT)
    stored = pickle.dumps(vof.snapshot())
    again = KDSM.load(tmp_path / "ball.h5")
    other = TetVOF(again.moving(), again.solid, adhesion=4.0)
    other.restore(pickle.loads(stored))
    for _ in range(4):
        vof.step(DT)
        other.step(DT)
    assert np.array_equal(vof.volume, other.volume)
    assert np.array_equal(vof.velocity, other.velocity)
    assert np.array_equal(vof.drops.positions, other.drops.positions)
    assert vof.ledger().volume_error == other.ledger().volume_error
    for one, two in zip(vof.ledger().impulses.values(), other.ledger().impulses.values(), strict=True):
        assert np.array_equal(one, two)
    assert np.array_equal(vof.force_on_body(), other.force_on_body())
