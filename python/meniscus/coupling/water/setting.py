"""Fit of a mesh of tetrahedra, a body and a grid to each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meniscus.coupling.kdsm import KDSM
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.tetrahedra.vof import TetVOF
from meniscus.surface import DeformingSolid

_SAMPLE = 10000  # tetrahedra whose edges are measured
_MOST = 0.999  # part of the tetrahedra that pass no more edges than they should in a step
_COUNTS = 1e-3  # fill from which on the speed of a tetrahedron limits the step


def check_setting(vof: TetVOF, liquid: LiquidSolver) -> None:
    """Raise ValueError for a mesh that is outside of the grid, or has tetrahedra larger than its cells."""
    grid, x = liquid.grid, vof.positions
    low = np.array(grid.origin)
    if (x.max(axis=0) <= low).any() or (x.min(axis=0) >= low + np.array(grid.extent)).any():
        raise ValueError("the mesh must lie in the grid, but is outside of it")
    edge = edge_of(vof)
    if edge > grid.spacing * (1 + 1e-9):
        raise ValueError(
            f"tetrahedra must not be larger than the cells of the grid, but their edges are {edge:.3g} m, the cells {grid.spacing:.3g} m"
        )


def edge_of(vof: TetVOF) -> float:
    """Return the mean of the longest edges of tetrahedra, m."""
    some = vof.tets[:: max(len(vof.tets) // _SAMPLE, 1)]
    corners = vof.positions[some]
    longest = np.max([np.linalg.norm(corners[:, i] - corners[:, j], axis=1) for i in range(4) for j in range(i)], axis=0)
    return float(longest.mean())


def time_of_edges(vof: TetVOF, edges: float) -> float:
    """Return the time, s, in which nearly all water in tetrahedra passes so many of their edges, at its speed and what gravity adds."""
    wet = np.flatnonzero(vof.volume)
    squares = (vof.velocity[wet[vof.volume[wet] > _COUNTS * vof.capacity[wet]]] ** 2).sum(axis=1)
    if not len(squares):
        return math.inf
    # A few of many may pass more.
    rank, edge = int(_MOST * (len(squares) - 1)), edge_of(vof)
    speed = math.sqrt(float(np.partition(squares, rank)[rank])) + math.sqrt(edge * float(np.linalg.norm(vof.options.gravity)))
    return edges * edge / speed if speed > 0 else math.inf


def is_body_of(kdsm: KDSM, solid: Any) -> bool:
    """Return whether a solid is the creature of a mesh: its own, or one that has come out of a pickle beside it."""
    if solid is kdsm.solid:
        return True
    if not isinstance(solid, DeformingSolid):
        return False
    for time in (kdsm.times[0], kdsm.times[-1]):
        (mine, triangles), (its, others) = kdsm.solid.mesh_at(time), solid.mesh_at(time)
        if not (np.array_equal(triangles, others) and np.array_equal(mine, its)):
            return False
    return True
