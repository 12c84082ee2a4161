"""Scenes of hair: strands that move with their skin, and pictures."""

from __future__ import annotations

import numpy as np
import pytest

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
