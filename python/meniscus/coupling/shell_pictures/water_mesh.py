"""The surface of water beside thin shells, as a mesh on the side of the water."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import coupling as _coupling
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.surface.levelset import LevelSet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, kw_only=True)
class ShellWaterMesh:
    """The surface of water beside shells.

    Attributes:
        vertices: (n, dim), m.
        elements: triangles (m, 3) with normals out of the water; in 2-D segments (m, 2) with the water to their left.
        normals: (n, dim), unit, out of the water.
        wetted: (m,) bool, elements that lie on a shell; without these the mesh is that of the free surface, and of the sides of the domain.
        way, samples: (n, dim), m: the straight ways from each vertex to its `way`, and from there to its wet sample, meet no shell. Both
            are the same but at the line of contact.
    """

    vertices: Floats
    elements: Ints
    normals: Floats
    wetted: npt.NDArray[np.bool_]
    way: Floats
    samples: Floats


def water_surface(levelset: LevelSet, walls: ShellWalls, refine: int = 1, *, time: float = 0.0) -> ShellWaterMesh:
    """Return the surface phi = 0 of water beside shells: no vertex of it lies beyond a shell.

    Where no wall is near it is that of `LevelSet.to_mesh`, from samples that are `refine` times as dense. At a wall the mesh follows it, on
    the side of the water; what is wet on both sides has a surface on each. The mesh is closed: every side of a triangle is that of another
    one, the other way round (around the rim of a shell, of which a cell sees both sides, also of more). It follows the sides of the domain.

    Args:
        levelset: of the water, on the cells of the grid of the walls, m.
        walls: where the shells are.
        refine: samples per cell along each axis; between cell centres they are interpolated one-sidedly.
        time: s, for functions in the conditions of the level set.

    Raises:
        TypeError, ValueError: wrong types, another grid, samples on the nodes.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.4.1; Selle 2008, section 4.6.
    """
    _checks.one_of_type("levelset", levelset, LevelSet)
    _checks.one_of_type("walls", walls, ShellWalls)
    _checks.integer("refine", refine, 1, 8)
    if levelset.grid != walls.grid or any(levelset.field.on_side):
        raise ValueError("levelset must be on the cells of the grid of the walls")
    module: Any = _coupling
    vertices, elements, normals, wetted, way, samples = module.one_sided_surface(levelset.field._core, walls._core, refine, time)
    return ShellWaterMesh(vertices=vertices, elements=elements, normals=normals, wetted=wetted, way=way, samples=samples)
