"""Runs of scenes that end early and go on from their checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meniscus import scenes


def run_whole_and_resumed(make: Callable[[], Any], folder: Path, after: int) -> tuple[Any, Any, Any]:
    """Run a scene, and once more with an end after a frame from which it resumes; both end with the same diagnostics.

    Args:
        make: returns the scene.
        folder: for its files.
        after: the number of the frame.

    Returns:
        Both scenes at their end, and the last frame.
    """
    pytest.importorskip("h5py")
    whole = make()
    last = scenes.run(whole)
    for frame in scenes.frames(make(), folder, pictures=False, checkpoint_every=0.0):
        if frame.number == after:
            break
    resumed = make()
    again = scenes.run(resumed, folder, pictures=False, resume=True)
    assert again.diagnostics == last.diagnostics
    return whole, resumed, last
