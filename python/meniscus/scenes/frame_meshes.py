"""Box and meshes of a frame, for pictures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.io.frames import FrameData
from meniscus.surface import LevelSet

Mesh = tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]


def box_of(frame: FrameData) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the lowest and the highest corner of the grid of a frame, m."""
    assert frame.grid is not None
    low = np.asarray(frame.grid.origin, np.float64)
    return low, low + np.asarray(frame.grid.extent)


def solid_meshes(frame: FrameData) -> list[Mesh]:
    """Return the solid of a frame, whose signed distance on the nodes is its field `solid`, as meshes: one, or none."""
    distance = frame.nodes.get("solid")
    if distance is None:
        return []
    assert frame.grid is not None
    solid = LevelSet(frame.grid, "nodes")
    solid.array = distance.astype(np.float64)
    return [solid.to_mesh()]
