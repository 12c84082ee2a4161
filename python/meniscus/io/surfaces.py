"""Surfaces, curves and points of a frame, for formats of pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.io.frames import FrameData
from meniscus.mesh import QuadraticTetMesh, TetMesh
from meniscus.surface import LevelSet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
VELOCITIES = ("velocity", "velocities")
"""Names of the column with the velocities of vertices or particles, m/s."""


def surfaces(frame: FrameData) -> Iterator[tuple[str, Floats, Ints]]:
    """Yield name, vertices (n, 3) and triangles (m, 3) of the meshes of a frame, of tetrahedra the boundary, and of its level sets."""
    for name, mesh in frame.meshes.items():
        corners = mesh.elements.shape[1]
        if corners == 3:
            yield name, mesh.vertices, mesh.elements
        elif corners == 4:
            yield name, mesh.vertices, TetMesh(mesh.vertices, mesh.elements).boundary.triangles
        elif corners == 10:
            yield name, mesh.vertices, QuadraticTetMesh(mesh.vertices, mesh.elements).boundary.triangles
    for name, levelset in _levelsets(frame, 3):
        yield name, *levelset.to_mesh()


def curves(frame: FrameData) -> Iterator[tuple[str, Floats, Ints]]:
    """Yield name, vertices (n, 3) and segments (m, 2) of the meshes of segments, and of 2-D level sets, which lie in z = 0."""
    for name, mesh in frame.meshes.items():
        if mesh.elements.shape[1] == 2:
            yield name, mesh.vertices, mesh.elements
    for name, levelset in _levelsets(frame, 2):
        vertices, segments = levelset.to_mesh()
        yield name, np.pad(vertices, ((0, 0), (0, 1))), segments


def clouds(frame: FrameData) -> Iterator[tuple[str, Floats, npt.NDArray[Any] | None]]:
    """Yield name, positions (n, 3) and radii (n,), if there are any, of the particles of a frame; 2-D ones lie in z = 0."""
    for name, columns in frame.particles.items():
        x = np.asarray(columns["position"], np.float64)
        yield name, np.pad(x, ((0, 0), (0, 3 - x.shape[1]))), columns.get("radius")


def _levelsets(frame: FrameData, dimension: int) -> Iterator[tuple[str, LevelSet]]:
    for name in frame.levelsets:
        assert frame.grid is not None
        if frame.grid.dimension == dimension:
            levelset = LevelSet(frame.grid, "nodes" if name in frame.nodes else "cells", frame[name].dtype)
            levelset.array = frame[name]
            yield name, levelset
