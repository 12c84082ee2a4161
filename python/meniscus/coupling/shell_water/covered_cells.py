"""Cells whose centre a wall covers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.grid.face_arrays import cells_beside_faces


def settle_covered(levels: npt.NDArray[Any], walls: ShellWalls) -> None:
    """Give the level set in cells whose centre a wall covers what their side says, in place.

    Nothing is visible from there; but faces tell which neighbours a cell belongs to: it takes the mean of those that are not covered,
    then of those that have a value by now.
    """
    grid = walls.grid
    waiting = walls.swept(walls, (0,) * grid.dimension)
    for _ in range(max(grid.shape)):
        cells = np.argwhere(waiting)
        if len(cells) == 0:
            return
        total, count = np.zeros(len(cells)), np.zeros(len(cells), int)
        for d in range(grid.dimension):
            for step in (-1, 1):
                face = cells.copy()
                face[:, d] += step > 0
                beside = cells_beside_faces(grid, np.full(len(cells), d), face, np.full(len(cells), step > 0))
                there = (beside >= 0) & ~walls.blocked_faces[d][tuple(face.T)]
                there &= ~waiting.ravel()[beside]
                total[there] += levels.ravel()[beside[there]]
                count[there] += 1
        known = count > 0
        if not known.any():
            return
        found = tuple(cells[known].T)
        levels[found] = total[known] / count[known]
        waiting[found] = False
