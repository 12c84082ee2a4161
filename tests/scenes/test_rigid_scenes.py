"""Scenes of rigid bodies. Source: Müller et al. 2008, chapter 6."""

from __future__ import annotations

import math

import numpy as np
import pytest

from meniscus import scenes
from meniscus.scenes.shapes import cup, hexahedron, ring, star


def history(name, **parameters):
    scene = scenes.SCENES[name](**parameters)
    return scene, [f.diagnostics for f in scenes.frames(scene)]


def test_shapes_are_closed_and_right_side_out():
    for mesh in (
        ring(0.3, 0.1),
        cup(0.4, 0.45, 0.08),
        star(5, 0.2, 0.5, 0.2),
        hexahedron(np.indices((2, 2, 2)).reshape(3, 8).T[[0, 1, 3, 2, 4, 5, 7, 6]]),
    ):
        assert mesh.check_watertight().watertight
        assert mesh.volume() > 0


def test_billiards_spread_and_stay_on_the_table():
    scene, h = history("billiards", end=1.5, frames=6)
    places = np.array([b.center for b in scene.world.rigid.bodies[:16]])
    assert np.abs(places[:, 0]).max() < 1.3
    assert np.abs(places[:, 2]).max() < 0.65
    assert np.ptp(places[1:, 2]) > 0.5
    assert h[-1]["energy"] < h[0]["energy"]
    np.testing.assert_allclose(places[:, 1], 0.0286, atol=0.01)


@pytest.mark.parametrize("raised", [1, 2])
def test_a_cradle_passes_its_swing_on(raised):
    # A quarter of a swing of 50 degrees takes 0.471 s; a half later, as many balls on the other side are as high.
    scene, _ = history("cradle", raised=raised, end=0.94, frames=4)
    heights = [b.center[1] for b in scene.world.rigid.bodies[:5]]
    top = -0.8 * math.cos(math.radians(50))
    np.testing.assert_allclose(heights[5 - raised :], top, atol=0.03)
    np.testing.assert_allclose(heights[: 5 - raised], -0.8, atol=0.01)


def test_a_pyramid_stands_until_it_is_hit():
    _, h = history("pyramid", rows=5, end=0.8, frames=4)
    assert h[-1]["contacts"] > 40
    scene, h = history("pyramid", rows=5, end=2.0, frames=4)
    assert scene.world.rigid.bodies[14].center[1] < 0.4


def test_arches():
    _, falls = history("arch", end=1.5, frames=3)
    _, stands = history("arch", thickness=0.115, end=1.0, frames=2)
    assert falls[-1]["highest"] < 0.6
    assert stands[-1]["highest"] > 0.985
    assert stands[-1]["max speed"] < 1e-4


def test_a_heap_never_intersects():
    _, h = history("heap", bodies=8, end=1.6, frames=8)
    assert all(d["intersections"] == 0 for d in h)
    assert h[-1]["contacts"] > 10
    assert h[-1]["highest"] < 1.5


def test_a_tumbling_plate_turns_over():
    _, h = history("tumbling", end=6.0, frames=60)
    along = [d["middle axis"] for d in h]
    assert along[0] > 0.99
    assert min(along) < -0.99
    energies = [d["energy"] for d in h]
    np.testing.assert_allclose(energies, energies[0], rtol=1e-4)
