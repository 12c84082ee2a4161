"""Faces that a wall covers and that it does not block: those along it, where water slides."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.grid.face_arrays import close_faces, faces_within
from meniscus.grid.fields import MacField
from meniscus.grid.uniform import Grid

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def settle_covered_faces(velocity: MacField, axis: int, walls: ShellWalls) -> None:
    """Give faces across an axis whose centre a wall covers the velocity of the fluid on their side, in place.

    Nothing is visible from there, so they would take the velocity of the wall, also what of it is along the wall: a plate that moves in its
    plane would drag the water. They lie between two cells that no wall parts, and take the mean (m/s) of the faces around these.

    Source: own; Guendelman et al. 2005, section 4.1, takes the velocity of the shell.
    """
    grid, component = velocity.grid, velocity.component(axis)
    unit = np.eye(grid.dimension, dtype=np.int64)
    covered = walls.swept(walls, tuple(int(d) for d in unit[axis])) & ~walls.blocked_faces[axis]
    faces = np.argwhere(covered)
    if len(faces) == 0:
        return
    total, count = np.zeros(len(faces)), np.zeros(len(faces), int)
    for other in range(grid.dimension):
        for step in (-1, 1):
            beside, there = faces_within(grid, axis, faces + step * unit[other])
            near = tuple(np.where(there[:, None], beside, 0).T)
            there &= ~covered[near] & ~walls.blocked_faces[axis][near]
            if other != axis:
                for cells in (faces - unit[axis], faces):
                    there &= ~_blocked(grid, walls, other, cells + (unit[other] if step > 0 else 0))
            total += np.where(there, component[near], 0.0)
            count += there
    found = count > 0
    component[tuple(faces[found].T)] = total[found] / count[found]
    close_faces(grid, component, axis)


def _blocked(grid: Grid, walls: ShellWalls, axis: int, faces: Ints) -> Bools:
    """Return which faces (n, dimension) across an axis are blocked; none is beyond sides of the domain."""
    folded, within = faces_within(grid, axis, faces)
    blocked: Bools = walls.blocked_faces[axis][tuple(np.where(within[:, None], folded, 0).T)] & within
    return blocked
