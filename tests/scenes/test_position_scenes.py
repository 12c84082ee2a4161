"""Scenes of position based dynamics: expected behaviour, and runs that resume to the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs.resumed import run_whole_and_resumed

from meniscus import scenes

SMALL: dict[str, dict[str, Any]] = {
    "panels": {"resolution": 4, "end": 0.4},
    "sheets": {"resolution": 6, "sheets": 2, "end": 0.4, "thickness": 0.03},
    "balloons": {"resolution": 1, "end": 0.4},
    "modes": {"resolution": 2, "end": 0.4},
}


@pytest.mark.fast_cases("panels")
@pytest.mark.parametrize("name", SMALL)
def test_runs_resume_to_the_same_bits(name: str, tmp_path: Path) -> None:
    whole, resumed, _ = run_whole_and_resumed(lambda: scenes.SCENES[name](frames=8, **SMALL[name]), tmp_path, 3)
    for a, b in zip(resumed.bodies, whole.bodies, strict=True):
        np.testing.assert_array_equal(a.nodes, b.nodes)
        np.testing.assert_array_equal(a.velocities, b.velocities)
    assert max(np.abs(b.positions - b.mesh.vertices).max() for b in whole.bodies) > 1e-3


@pytest.mark.parametrize("name", SMALL)
def test_frames_are_drawn(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("vtk")
    scenes.run(scenes.SCENES[name](frames=2, **{**SMALL[name], "end": 0.05}), tmp_path)
    assert len({p.read_bytes() for p in tmp_path.glob("frame-*.png")}) > 1


def test_panels_stretch_in_order() -> None:
    """Figure 5.5: with little stretch stiffness, cloths are longer, the more so without bending stiffness."""
    last = scenes.run(scenes.SCENES["panels"](resolution=8, end=3.0, frames=1))
    lengths = [last.diagnostics[f"length {k}"] for k in range(1, 7)]
    for row in (lengths[:3], lengths[3:]):
        assert row[2] > max(row[:2]) + 0.005
        assert max(row[:2]) < 1.01


@pytest.mark.slow
def test_sheets_lie_on_each_other() -> None:
    scene = scenes.SCENES["sheets"](resolution=10, sheets=2, end=1.5, frames=1, thickness=0.02, damping=2.0)
    last = scenes.run(scene)
    assert last.diagnostics["passed"] == 0
    assert last.diagnostics["touching"] > 5
    assert last.diagnostics["least distance"] > 0.9


@pytest.mark.slow
def test_modes_swing_with_their_period() -> None:
    """After half a period each is its mirror image, but for a turn; six of the linear ones are turns in part, which do not come back."""
    scene = scenes.SCENES["modes"](resolution=2, end=0.5, frames=1, substeps=100)
    scenes.run(scene)
    swung = 0
    for body, other, mesh in zip(scene.bodies, scene.make_bodies(scene.meshes), scene.meshes, strict=True):
        u, start = body.positions - mesh.vertices, other.positions - mesh.vertices
        swung += abs((u * start).sum() / (start * start).sum() + 1) < 0.01
    assert swung == 21
