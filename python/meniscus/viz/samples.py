"""Arrays and meshes for pictures, from fields, level sets, surfaces and solids in any form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.grid import CellField, Grid, MacField, NodeField
from meniscus.grid.conversion import cell_means
from meniscus.mesh import TriangleMesh
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.surface import LevelSet
from meniscus.surface.shapes.sampled import as_shape

Values = npt.NDArray[Any]
Extent = tuple[float, float, float, float]


def grid_of(value: object) -> Grid | None:
    """Return the grid of a field or level set; None for anything else."""
    return value.grid if isinstance(value, (CellField, NodeField, MacField, LevelSet)) else None


def extent_of(value: object) -> Extent | None:
    """Return the range of x and of y, m, of a 2-D field; None for anything else."""
    grid = grid_of(value)
    if grid is None or grid.dimension != 2:
        return None
    (x, y), (width, height) = grid.origin, grid.extent
    return x, x + width, y, y + height


def values_of(value: Any) -> Values:
    """Return the samples of a scalar field or level set, or an array as it is."""
    return np.asarray(value.array if isinstance(value, LevelSet) else value)


def velocities_of(value: MacField | npt.ArrayLike) -> Values:
    """Return velocities at the cell centres (nx, ny(, nz), dimension), m/s, of a velocity field, or an array as it is."""
    return np.asarray(cell_means(value) if isinstance(value, MacField) else value)


def distance_of(solid: Any, grid: Grid | None) -> Values:
    """Return the signed distance of a solid on cells or nodes.

    Args:
        solid: values, a field or a `LevelSet`; or, where there is a grid, anything that `surface.KinematicSolid` takes.
        grid: of the field in the same picture.

    Raises:
        TypeError, ValueError: something else, or a shape without a grid.
    """
    if isinstance(solid, (LevelSet, CellField, NodeField, np.ndarray)):
        return values_of(solid)
    if grid is None:
        raise ValueError("solid must be an array or a level set where the rest of the picture is an array; a shape needs a field")
    phi = NodeField(grid)
    as_shape("solid", solid, grid.dimension).sample(phi)
    return phi.array


def mesh_of(surface: LevelSet | SurfaceLike, triangles: npt.ArrayLike | None = None) -> TriangleMesh:
    """Return the mesh of a surface in any form, a 3-D `LevelSet` among them."""
    if isinstance(surface, LevelSet):
        if surface.grid.dimension != 3:
            raise ValueError("surface must be a 3-D level set, not a 2-D one")
        surface, triangles = surface.to_mesh()
    return triangle_mesh(surface, triangles)
