"""Shells subdivided for a picture, and a fluid that goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision.contact.smooth_surface import SmoothSurface
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.grid import CellField
from meniscus.surface.levelset import LevelSet

Floats = npt.NDArray[np.float64]


def smooth_shells(
    walls: ShellWalls, fluid: CellField | LevelSet, levels: int = 1, *, points: Sequence[Floats] = ()
) -> tuple[ShellWalls, Any]:
    """Return walls of shells after Loop subdivision that lets nothing intersect, and the fluid beside them, for pictures.

    The shells go from their linear subdivision to the smooth one (`SmoothSurface`), and stop before they touch themselves or one of the
    points. Samples of the fluid that they pass, or cover, get new values from neighbours on their new side, as in a step: so no fluid is
    beyond a smooth shell that is not beyond the shell itself.

    Args:
        walls: where the shells are, on a 3-D grid.
        fluid: a level set of water, m, or a scalar such as the density of smoke; it stays as it is.
        levels: of subdivision.
        points: arrays (k, 3), m, that keep their side, such as drops.

    Returns:
        Walls, and a copy of the fluid.

    Raises:
        TypeError, ValueError: wrong types or shapes, a 2-D grid, another grid; shells that intersect themselves, or points on them.

    Source: Selle 2008, section 4.6 (samples that a subdivided surface crosses become invalid, and get new values).
    """
    _checks.one_of_type("walls", walls, ShellWalls)
    _checks.one_of_type("fluid", fluid, (CellField, LevelSet))
    grid = walls.grid
    if grid.dimension != 3 or fluid.grid != grid:
        raise ValueError("walls and fluid must have one grid of three dimensions")
    vertices, elements = walls.mesh
    made = SmoothSurface(elements, len(vertices), levels)
    start = ShellWalls(grid, made.flat(vertices), made.triangles, walls.thickness)
    end = ShellWalls(grid, made.at(vertices, points), made.triangles, walls.thickness)
    swept = start.swept(end, (0, 0, 0))
    moved = fluid.copy()
    if isinstance(moved, LevelSet):
        end.continue_level(moved.field, ~swept, grid.spacing)
    else:
        end.revalidate_cells(moved, swept, 0.0)
    return end, moved
