"""Scenes of hair: strands that move with their skin, and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import meniscus as ms
from meniscus import scenes
from meniscus.io.frames import FrameData

SMALL = {"curl-sweep": {"strands": 3, "segments": 30}, "head-of-hair": {"strands": 20, "segments": 8, "curl": 0.004}}


@pytest.mark.parametrize("name", SMALL)
def test_roots_stay_on_the_skin_and_strands_keep_their_length(name: str) -> None:
    scene = scenes.SCENES[name](**SMALL[name])
    scene.setup()
    groom, time = scene.groom, 0.0
    for _ in range(40):
        scene.advance(time, scene.max_dt())
        time += scene.max_dt()
    hair = scene.body
    assert hair.positions[groom.offsets[:-1]] == pytest.approx(groom.roots_on(scene.skin_at(time)), abs=1e-14)
    assert np.abs(hair.positions - groom.points).max() > 1e-3
    first = groom.mesh.segments
    lengths = np.linalg.norm(np.diff(hair.positions[first], axis=1)[:, 0], axis=1)
    assert lengths == pytest.approx(groom.mesh.lengths, rel=1e-3)
    assert scene.draw(FrameData(0, time, meshes=scene.frame_data())) is not None


@pytest.mark.parametrize("style", ["dry", "wetting"])
def test_fur_is_carried_by_the_mesh_of_air(style: str, tmp_path: Path) -> None:
    ball = tmp_path / "ball.ply"
    ms.mesh.icosphere(2, 0.5).write(ball)
    scene = scenes.SCENES["fur"](mesh=str(ball), frames=2, strands=60, clumps=5, cell_size=0.2, style=style)
    scene.setup()
    for k in range(2):
        scene.advance(k / 24, 1 / 24)
    groom = scene.coat.groom
    assert scene.points[groom.offsets[:-1]] == pytest.approx(groom.roots_on(scene.kdsm.skin_at(2 / 24)), abs=1e-12)
    assert scene.report(2 / 24)["longest segment"] < 1.2
    if style == "wetting":
        assert scene.coat.wetness.max() == 1.0
    assert scene.draw(FrameData(0, 2 / 24, meshes=scene.frame_data())) is not None
