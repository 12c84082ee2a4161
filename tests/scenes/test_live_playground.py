"""The scene of cloth on boxes on jelly in real time, small."""

from __future__ import annotations

import numpy as np

from meniscus import scenes


def test_cloth_lies_on_boxes_and_boxes_on_jelly() -> None:
    scene = scenes.SCENES["live-playground"](squares=20, bodies=5, resolution=1, end=1.0, frames=4)
    for frame in scenes.frames(scene):
        assert all(np.isfinite(value) for value in frame.diagnostics.values())
    world = scene.world
    jelly = world.reduced_bodies[0].positions[:, 1]
    boxes = [b.positions()[:, 1] for b in world.rigid.bodies]
    # Boxes lie about on the upper side of the jelly, which was at 0.2 m, and nothing is below the ground.
    assert min(float(y.min()) for y in boxes) > jelly.max() - 0.04
    assert max(float(y.mean()) for y in boxes) < 0.3
    assert jelly.min() > -5e-3
    assert world.node_bodies[0].positions[:, 1].min() > -1e-3
    assert frame.diagnostics["max speed"] < 3.0
