"""Single hairs of a coat: columns, activation, return, contact."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from support.creatures import BALL, built

import meniscus as ms
from meniscus.coupling import HairCoat, HairColumns, HairPost, HairSimulation, SimulatedHairs
from meniscus.coupling.hair.columns import column
from meniscus.solids import Groom

Floats = npt.NDArray[np.float64]


def test_columns_fill_boxes_and_their_diagonals_agree() -> None:
    a = np.linspace(0, 6 * np.pi, 60)
    hair = np.stack([0.01 * np.cos(a), 0.01 * np.sin(a), 0.005 * a], axis=1)
    for boxes in (1, 2, 3, 4):
        x, tets = column(hair, boxes, 2e-3)
        mesh = ms.mesh.TetMesh(x, tets)
        low, high = x.min(axis=0), x.max(axis=0)
        assert mesh.volumes.min() > 0
        each = mesh.volumes.reshape(boxes, 5)
        box = each.sum(axis=1)
        assert each[:, 4] == pytest.approx(box / 3, rel=1e-9)
        assert each[:, :4] == pytest.approx(np.tile(box[:, None] / 6, 4), rel=1e-9)
        # Only the outside is boundary: two triangles a side of each box, and two at each end.
        assert len(mesh.boundary.triangles) == 8 * boxes + 4
        assert (ms.collision.TetLocator(mesh).locate(hair).tets >= 0).all()
        assert (high > low).all()


def moving(t: float) -> Floats:
    return BALL.vertices + np.array([0.5 * np.sin(8 * t), 0.0, 0.0])


def coat_of(frames=moving, count: int = 30) -> HairCoat:
    groom = Groom.grow(BALL, count, 0.15, segments=8, noise=0.2, seed=5, radius=2e-4)
    return HairCoat(built(frames, times=np.arange(25) / 48), groom, post=HairPost(pushout="none"))


def test_inactive_hairs_have_the_kinematic_bits() -> None:
    coat = coat_of()
    hairs = SimulatedHairs(coat, HairSimulation(gravity=(0, 0, 0)))
    hairs.activate([3, 7])
    of = np.repeat(np.arange(30), 9)
    for k in range(1, 5):
        hairs.step(1 / 96)
        x = coat.positions(k / 96)
        still = ~np.isin(of, [3, 7])
        assert np.array_equal(hairs.positions[still], x[still])
    assert np.abs(hairs.positions - x).max() > 1e-4


def test_an_active_hair_without_loads_stays_and_stiff_bindings_follow() -> None:
    coat = coat_of(lambda t: BALL.vertices)
    hairs = SimulatedHairs(coat, HairSimulation(gravity=(0, 0, 0)))
    hairs.activate([0, 1])
    for _ in range(5):
        hairs.step(1 / 96)
    assert np.abs(hairs.positions - coat.positions(0.0)).max() < 1e-6
    far = []
    for binding in (0.1, 1.0, 10.0, 1e6):
        swung = SimulatedHairs(coat_of(), HairSimulation(gravity=(0, 0, 0), binding=binding, columns=HairColumns(binding=0)))
        swung.activate(np.ones(30, bool))
        worst = 0.0
        for k in range(1, 9):
            swung.step(1 / 96)
            worst = max(worst, float(np.abs(swung.positions - swung.coat.positions(k / 96)).max()))
        far.append(worst)
    assert (np.diff(far) < 0).all()
    assert far[-1] < 1e-5


def test_hairs_return_as_a_critically_damped_spring() -> None:
    coat = coat_of(lambda t: BALL.vertices)
    o = HairSimulation(return_time=0.2, gravity=(0, -30, 0), columns=HairColumns(binding=0), binding=0.01)
    hairs = SimulatedHairs(coat, o)
    hairs.activate([4])
    for _ in range(6):
        hairs.step(1 / 96)
    before, speed, rest = hairs.positions.copy(), hairs._velocities.copy(), coat.positions(0.0)
    hairs.release([4])
    assert np.array_equal(hairs.positions, before)
    start, w = hairs.time, 5 / 0.2
    e0 = before - rest
    for k in range(1, 5):
        hairs.step(1 / 96)
        age = hairs.time - start
        expected = rest + (e0 + (speed + w * e0) * age) * np.exp(-w * age)
        assert hairs.positions == pytest.approx(expected, abs=1e-10)
        if k == 1:
            # Continuous in position and velocity: the first step goes on with the old speed.
            assert np.abs(hairs.positions - before - speed / 96).max() < 0.5 * np.abs(speed).max() / 96 + w**2 * np.abs(e0).max() / 96**2
    for _ in range(150):
        hairs.step(1 / 384)
    assert not hairs.returning.any()
    assert np.array_equal(hairs.positions, coat.positions(hairs.time))


def test_hairs_near_a_solid_are_activated_and_kept_out() -> None:
    coat = coat_of(lambda t: BALL.vertices, count=200)
    top = coat.groom.points[np.argmax(coat.groom.points[:, 1])]
    solid = ms.surface.KinematicSolid(ms.surface.Sphere(tuple(top - np.array([0, 0.03, 0])), 0.06))
    hairs = SimulatedHairs(coat, HairSimulation(gravity=(0, 0, 0), columns=HairColumns(binding=0)))
    distance = solid.signed_distance(coat.positions(0.0), 0.0).reshape(200, -1).min(axis=1)
    hairs.activate_near(solid, 0.01)
    assert np.array_equal(hairs.active, distance < 0.01)
    assert 0 < hairs.active.sum() < 50
    for _ in range(5):
        hairs.step(1 / 96, (solid,))
    moving = np.ones((200, 9), bool)
    moving[:, 0] = False
    inside = solid.signed_distance(hairs.positions, hairs.time).reshape(200, 9)[hairs.active][:, 1:]
    assert inside.min() > -1e-9
