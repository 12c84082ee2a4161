"""Obstacles of tracked surfaces: meshes, shapes, and solids that move."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus.mesh.surface_like import SurfaceLike, is_surface, surface_arrays
from meniscus.surface.extraction.surfaces import extract
from meniscus.surface.levelset import LevelSet
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.kinematic import DeformingSolid, KinematicSolid
from meniscus.surface.shapes.solid import Solid, SolidGroup
from meniscus.surface.tracking.meshes_of_shapes import shape_mesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class Obstacle(NamedTuple):
    """A mesh that a surface must not touch, and where its vertices are at a time, s, if it moves by itself."""

    vertices: Floats
    triangles: Ints
    places: Callable[[float], Floats] | None = None


def obstacles_of(obstacle: SurfaceLike | Shape | Solid, edge_length: float, time: float) -> list[Obstacle]:
    """Return the meshes of an obstacle at a time, s; those of shapes have about this edge length, m.

    Raises:
        TypeError, ValueError: what is no surface; solids that are no mesh, shape or level set with a motion, or a group of such.
    """
    if isinstance(obstacle, SolidGroup):
        return [part for solid in obstacle.solids for part in obstacles_of(solid, edge_length, time)]
    if isinstance(obstacle, DeformingSolid):
        moving = obstacle
        return [Obstacle(*moving.mesh_at(time), lambda t: moving.mesh_at(t)[0])]
    if isinstance(obstacle, KinematicSolid):
        rigid = obstacle
        x, t = _arrays_at_rest(rigid.shape, edge_length)
        return [Obstacle(rigid.pose(time).apply(x), t, (lambda now: rigid.pose(now).apply(x)) if rigid.moves else None)]
    if isinstance(obstacle, Solid):
        raise TypeError(f"a {type(obstacle).__name__} has no mesh that moves along; give its surface as a mesh, or a DeformingSolid")
    return [Obstacle(*_arrays_at_rest(obstacle, edge_length))]


def _arrays_at_rest(shape: object, edge_length: float) -> tuple[Floats, Ints]:
    """Return the vertices and triangles of a shape, a level set or a surface."""
    if isinstance(shape, Shape):
        return shape_mesh(shape, edge_length)
    if isinstance(shape, LevelSet):
        return extract(shape)
    if is_surface(shape):
        x, t = surface_arrays(shape, name="obstacle")
        return np.ascontiguousarray(x, np.float64), np.ascontiguousarray(t, np.int32)
    raise TypeError(f"an obstacle must be a mesh, a shape or a level set, or a solid made of one, not {type(shape).__name__}")
