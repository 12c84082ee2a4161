"""Scenes of deformable bodies: expected behaviour, and runs that resume to the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs.resumed import run_whole_and_resumed

from meniscus import scenes

SMALL: dict[str, dict[str, Any]] = {
    "drape": {"resolution": 8, "end": 0.5},
    "flag": {"resolution": 6, "end": 0.5},
    "cantilever": {"resolution": 1, "end": 0.5},
    "reduced-beam": {"resolution": 1, "end": 0.5},
    "twist": {"resolution": 1, "end": 0.5, "duration": 0.2, "hold": 0.05},
    "recovery": {"resolution": 1, "end": 0.5},
}


@pytest.mark.fast_cases("twist", "reduced-beam", "cantilever", "recovery")
@pytest.mark.parametrize("name", SMALL)
def test_runs_resume_to_the_same_bits(name: str, tmp_path: Path) -> None:
    whole, resumed, _ = run_whole_and_resumed(lambda: scenes.SCENES[name](frames=8, **SMALL[name]), tmp_path, 3)
    np.testing.assert_array_equal(resumed.body.positions, whole.body.positions)
    np.testing.assert_array_equal(resumed.body.velocities, whole.body.velocities)
    assert np.abs(whole.body.positions - whole.mesh.vertices).max() > 1e-3


@pytest.mark.fast_cases("drape", "recovery")
@pytest.mark.parametrize("name", SMALL)
def test_frames_are_drawn(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("vtk")
    scenes.run(scenes.SCENES[name](frames=2, **{**SMALL[name], "end": 0.05}), tmp_path)
    pictures = {p: p.read_bytes() for p in tmp_path.glob("frame-*.png")}
    assert len(pictures) == 3
    assert len(set(pictures.values())) > 1
    for p in pictures:
        p.unlink()
    scenes.render(tmp_path)
    assert {p: p.read_bytes() for p in tmp_path.glob("frame-*.png")} == pictures


@pytest.mark.slow
def test_the_cloth_swings_through_and_loses_energy() -> None:
    totals, low = [], 0.0
    for frame in scenes.frames(scenes.Drape(resolution=10, end=2.0, frames=20)):
        totals.append(frame.diagnostics["total"])
        low = min(low, frame.diagnostics["mean y"])
    assert low < -0.4
    assert totals[-1] < totals[0] - 0.05
    assert max(totals) < 1e-3


def test_twisted_ends_turn_and_spring_back() -> None:
    scene = scenes.TwistedBar(resolution=2, end=1.5, duration=0.8, hold=0.1, frames=15)
    top = 0.0
    for frame in scenes.frames(scene):
        top = max(top, frame.diagnostics["elastic"])
    assert scene.mesh.measures(scene.body.positions).min() > 0
    # The left end has made its turn and is where it was.
    np.testing.assert_allclose(scene.body.positions[scene.left], scene.mesh.vertices[scene.left], rtol=0, atol=1e-12)
    assert len(scene.body.constrained) == len(scene.left)
    assert frame.diagnostics["elastic"] < 0.25 * top


@pytest.mark.parametrize("damage", ["flat", "scrambled"])
def test_damaged_blocks_recover(damage: str) -> None:
    """Selle 2008, figure 5.3: all volumes positive, and more than 95 % of the height."""
    last = scenes.run("recovery", resolution=3, damage=damage, end=4.0, frames=1)
    assert last.diagnostics["upright"] == 1.0
    if damage == "flat":
        assert last.diagnostics["height"] > 0.95
    assert last.diagnostics["elastic"] < 1e-2


@pytest.mark.slow
def test_a_beam_of_quadratic_elements_does_not_lock() -> None:
    """Linear elements let it droop by less than half of what it should."""
    droop = {}
    for kind, resolution in (("linear", 1), ("quadratic", 1), ("quadratic", 2)):
        beam = scenes.SCENES["cantilever"](elements=kind, resolution=resolution, end=0.5, frames=8)
        scenes.run(beam)
        droop[kind, resolution] = -float(beam.body.positions[beam.mesh.vertices[:, 0] == 1.0, 1].mean() - 0.1)
    assert droop["linear", 1] < 0.5 * droop["quadratic", 1]
    assert droop["quadratic", 1] == pytest.approx(droop["quadratic", 2], rel=0.05)
