"""Creatures and scripted motions: closed skins whose limbs turn as far as their motions say."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.scenes.creatures import CREATURES, MOTIONS, creature, motion


@pytest.mark.parametrize("name", list(CREATURES))
def test_the_skin_is_closed_and_does_not_cross_itself(name: str) -> None:
    being = creature(name)
    assert being.rest.check_watertight().watertight
    assert being.rest.components == 1
    assert being.rest.volume() > 0
    crossings = ms.collision.CollisionMesh(None, being.rest.triangles).self_intersections(being.rest.vertices)
    assert len(crossings) == 0
    np.testing.assert_allclose(being.vertices(0.0), being.rest.vertices, atol=1e-9)


@pytest.mark.fast_cases("whale-*", "bear-swim")
@pytest.mark.parametrize(("name", "what"), [(name, what) for name in CREATURES for what in CREATURES[name].motions])
def test_motions_are_smooth_and_keep_the_size(name: str, what: str) -> None:
    being = creature(name, what)
    times = np.linspace(0.0, being.duration, 25)
    volume = being.rest.volume()
    for t in times:
        assert being.rest.volume(being.vertices(float(t))) == pytest.approx(volume, rel=0.15)
    h = 1e-3
    for t in times[1:-1:4]:
        second = (being.vertices(t + h) - 2.0 * being.vertices(t) + being.vertices(t - h)) / h**2
        assert np.abs(second).max() < 2000.0


def test_the_whale_bends_by_60_degrees_and_turns_its_flippers_by_45() -> None:
    whale = creature("whale")
    names = [bone.name for bone in whale._skeleton.bones]
    head, tail = names.index("head"), names.index("spine 5")
    bent = 0.0
    for t in np.linspace(0.0, whale.duration, 401):
        turns, _ = whale._turns(float(t))
        rotations, _ = whale._skeleton.pose(turns)
        between = rotations[head].T @ rotations[tail]
        bent = max(bent, np.degrees(np.arccos(0.5 * (np.trace(between) - 1.0))))
    assert bent == pytest.approx(60.0, rel=1e-3)
    # The skin follows: with the nose in the direction of the head and the flukes in that of the tail, the chord shortens.
    nose, flukes = int(np.argmax(whale.rest.vertices[:, 0])), int(np.argmin(whale.rest.vertices[:, 0]))
    lengths = [np.linalg.norm(whale.vertices(float(t))[nose] - whale.vertices(float(t))[flukes]) for t in (0.0, 1.0)]
    assert 0.85 < lengths[1] / lengths[0] < 0.97
    turned = max(whale._turns(float(t))[0]["left flipper"][1] for t in np.linspace(0.0, whale.duration, 401))
    assert np.degrees(turned) == pytest.approx(45.0 * np.hypot(1.0, 0.3), rel=1e-3)


def test_scripted_motions_turn_by_their_angles() -> None:
    rod = ms.mesh.icosphere(3).scaled((0.3, 0.3, 2.0), about=(0.0, 0.0, 0.0))
    for name in MOTIONS:
        moved = motion(name, rod, duration=0.5)
        np.testing.assert_allclose(moved.vertices(0.0), rod.vertices, atol=1e-9)
        assert rod.volume(moved.vertices(0.5)) == pytest.approx(rod.volume(), rel=0.05)
    ends = int(np.argmax(rod.vertices[:, 2])), int(np.argmin(rod.vertices[:, 2]))
    rings = [np.flatnonzero(np.abs(rod.vertices[:, 2] - rod.vertices[e, 2]) < 0.1) for e in ends]
    twisted = motion("twist", rod, angle=115.0).vertices(1.0)
    angles = []
    for ring in rings:
        a, b = rod.vertices[ring], twisted[ring]
        keep = np.hypot(a[:, 0], a[:, 1]) > 0.01
        turn = np.arctan2(b[keep, 1], b[keep, 0]) - np.arctan2(a[keep, 1], a[keep, 0])
        angles.append(np.degrees(np.angle(np.exp(1j * turn).mean())))
    assert abs(angles[0] - angles[1]) == pytest.approx(115.0, abs=4.0)
    bent = motion("bend", rod, angle=86.0).vertices(1.0)
    directions = []
    for sign in (1.0, -1.0):
        part = np.flatnonzero(sign * rod.vertices[:, 2] > 1.5)
        _, _, axes = np.linalg.svd(bent[part] - bent[part].mean(axis=0))
        directions.append(axes[0])
    assert 55.0 < np.degrees(np.arccos(abs(directions[0] @ directions[1]))) < 90.0
    high = max(motion("hop", rod).vertices(t)[:, 1].mean() for t in np.linspace(0.0, 1.0, 41))
    assert high == pytest.approx(0.5 * 4.0, rel=0.1)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no creature 'shark'; choose from bear, whale"):
        creature("shark")
    with pytest.raises(ValueError, match="a whale has no motion 'fly'; choose from breach, swim, walk"):
        creature("whale", "fly")
    with pytest.raises(ValueError, match="there is no motion 'jump'"):
        motion("jump", ms.mesh.icosphere(1))
