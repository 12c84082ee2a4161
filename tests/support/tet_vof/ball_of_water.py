"""Balls of water in lattices of tetrahedra, and on grids."""

from __future__ import annotations

import math

import numpy as np

from meniscus import grid, mesh, surface

CELL = 1 / 24
FINE = CELL / 2


def lattice(edge: float, low=(0.05, 0.05, 0.05), size=(0.9, 0.9, 0.9)):
    """Return vertices, tetrahedra and their volumes."""
    block = mesh.bcc_lattice(low, edge, [int(s / edge) for s in size])
    return block.vertices, block.tets, np.abs(block.measures(block.vertices))


def ball_in(tets, centre, radius: float, velocity=(0.0, 0.0, 0.0)) -> surface.WaterInTets:
    """Return the part of a ball of water in each tetrahedron."""
    x, elements, room = tets
    distance = np.linalg.norm(x - np.asarray(centre), axis=1) - radius
    share = mesh.fractions_below(np.ascontiguousarray(distance[elements]))
    return surface.WaterInTets(x, elements, share * room, room, np.tile(np.asarray(velocity, float), (len(elements), 1)))


def ball_on_grid(centre, radius: float, cells: int = 24) -> surface.LevelSet:
    """Return the level set of a ball on the grid of the unit cube."""
    a, b, c = centre
    unit = grid.Grid((cells,) * 3, 1 / cells)
    return surface.LevelSet.from_function(unit, lambda x, y, z: np.sqrt((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2) - radius, "cells")


def ball_volume(radius: float) -> float:
    """Return the volume of a ball, m^3."""
    return 4 / 3 * math.pi * radius**3


def thrown(time: float):
    """Return centre and velocity of a ball that flies through the unit cube."""
    start, speed, fall = np.array([0.3, 0.32, 0.7]), np.array([0.9, 0.7, 0.2]), np.array([0.0, 0.0, -5.0])
    return start + time * speed + 0.5 * time**2 * fall, speed + time * fall
