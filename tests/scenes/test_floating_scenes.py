"""Scenes of bodies that float: runs that resume to the same bits, what floats and what sinks, and pictures."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs.resumed import run_whole_and_resumed

from meniscus import scenes
from meniscus.mesh import write
from meniscus.scenes.library.floating.sinking import Sinking
from meniscus.scenes.shapes import star

SMALL: dict[str, dict[str, Any]] = {
    "buoy": {"resolution": 14, "links": 2, "end": 0.1},
    "ducks": {"resolution": 10, "bodies": 1, "rocks": 1, "size": 0.35, "end": 0.1},
    "floating-crates": {"resolution": 12, "bodies": 3, "size": 0.3, "end": 0.1},
    "jelly-in-tank": {"resolution": 12, "bodies": 1, "elements": 2, "size": 0.4, "end": 0.1},
    "sinking": {"resolution": 16, "bodies": 2, "end": 0.15},
    "water-wheel": {"resolution": 16, "thickness": 0.055, "end": 0.1},
    "windmill": {"resolution": 16, "thickness": 0.08, "end": 0.1},
}


@pytest.mark.parametrize("name", SMALL)
def test_runs_resume_to_the_same_bits(name: str, tmp_path: Path) -> None:
    whole, resumed, last = run_whole_and_resumed(lambda: scenes.SCENES[name](frames=3, **SMALL[name]), tmp_path, 2)
    field = "density" if name == "windmill" else "levelset"
    np.testing.assert_array_equal(getattr(resumed.solver, field).array, getattr(whole.solver, field).array)
    for one, other in zip(resumed.both.forms, whole.both.forms, strict=True):
        np.testing.assert_array_equal(one.state, other.state)
        np.testing.assert_array_equal(one.motion, other.motion)
    if name == "windmill":
        # The first sail turns away from the wind.
        assert last.diagnostics["turns per second"] < -0.1
    else:
        # The stream has not reached the wheel yet, which stays on its hinge.
        assert (last.diagnostics["fastest body"] > 0.1) == (name != "water-wheel")


def test_light_balls_float_and_heavy_ones_sink() -> None:
    scene = Sinking(resolution=20, bodies=2, lightest=300.0, heaviest=4000.0, end=0.8, frames=1)
    scenes.run(scene)
    light, heavy = scene.both.bodies
    assert light.center[2] > 0.33
    assert heavy.center[2] == pytest.approx(0.08, abs=0.02)


def test_any_closed_mesh_floats(tmp_path: Path) -> None:
    file = tmp_path / "star.obj"
    write(file, star(5, 0.2, 0.48, 0.3))
    scene = scenes.SCENES["floating-crates"](resolution=12, bodies=1, size=0.4, mesh=str(file), end=0.05, frames=1)
    scenes.run(scene)
    assert len(scene.both.bodies[0].mesh.vertices) > 8


def test_a_rope_holds_its_buoy() -> None:
    """Its knots stay closed, the anchor lies where it lay, and the buoy floats upright."""
    scene = scenes.SCENES["buoy"](resolution=16, links=2, end=0.5, frames=1)
    scenes.run(scene)
    parts = [scene.anchor, *scene._rope, scene.buoy]
    told = scene.report(0.5)
    assert told["anchor moved"] < 0.01
    assert told["buoy tilt"] < 30.0
    assert 0.4 < told["buoy height"] < 0.65
    length = np.linalg.norm(scene._knots[1] - scene._knots[0])
    for one, other in pairwise(parts[1:-1]):
        ends = one.center + 0.5 * length * one.rotation[:, 2], other.center - 0.5 * length * other.rotation[:, 2]
        assert np.linalg.norm(ends[0] - ends[1]) < 0.02 * length


def test_ducks_go_with_the_river() -> None:
    scene = scenes.SCENES["ducks"](resolution=10, bodies=2, rocks=1, size=0.35, end=0.4, frames=1)
    scene.setup()
    before = np.array([duck.center for duck in scene.both.bodies])
    while scene.both.time < 0.4:
        scene.both.step(0.02)
    way = np.array([duck.center for duck in scene.both.bodies]) - before
    assert (way[:, 0] > 0.5 * 0.8 * 0.4).all()
    assert (way[:, 0] < 1.5 * 0.8 * 0.4).all()
    assert scene.report(0.4)["upright"] > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_frames_are_drawn(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    scenes.run(scenes.SCENES[name](frames=1, **SMALL[name]), tmp_path)
    pictures = [p.read_bytes() for p in tmp_path.glob("frame-*.png")]
    assert len(pictures) == len(set(pictures)) == 2
