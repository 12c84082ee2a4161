"""Scenes of water and thin shells: runs that resume to the same bits, and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs.resumed import run_whole_and_resumed

from meniscus import scenes
from meniscus.scenes.library.shells.boat import Boat

SMALL: dict[str, dict[str, Any]] = {
    "cup": {"resolution": 12, "end": 0.15},
    "boat": {"resolution": 12, "end": 0.05},
    "water-bag": {"resolution": 12, "quads": 6, "end": 0.05},
    "dipped-cup": {"resolution": 12, "end": 0.3},
    "stream-on-curtain": {"resolution": 15, "quads": 5, "end": 0.06},
    "cloth-boat": {"resolution": 12, "around": 10, "rings": 3, "end": 0.1},
}


@pytest.mark.fast_cases("cloth-boat", "dipped-cup", "water-bag", "stream-on-curtain")
@pytest.mark.parametrize("name", SMALL)
def test_runs_resume_to_the_same_bits(name: str, tmp_path: Path) -> None:
    whole, resumed, last = run_whole_and_resumed(lambda: scenes.SCENES[name](frames=3, **SMALL[name]), tmp_path, 2)
    np.testing.assert_array_equal(resumed.solver.levelset.array, whole.solver.levelset.array)
    np.testing.assert_array_equal(resumed.coupling.shells.positions, whole.coupling.shells.positions)
    assert 0 < last.diagnostics["pressure iterations"] <= 25
    assert last.diagnostics["max speed"] > 0.01


def test_a_boat_that_has_sunk_lies_on_the_floor() -> None:
    boat = Boat(resolution=8, frames=1, end=1.0, level=0.25, draft=0.199, depth=0.1)
    boat.setup()
    for k in range(25):
        boat.advance(0.02 * k, 0.02)
    assert -2e-5 < boat.report(0.5)["keel"] < 0.05
    assert np.abs(boat.boat.velocity).max() < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_frames_are_drawn(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    scenes.run(scenes.SCENES[name](frames=1, **SMALL[name]), tmp_path)
    pictures = [p.read_bytes() for p in tmp_path.glob("frame-*.png")]
    assert len(pictures) == len(set(pictures)) == 2
