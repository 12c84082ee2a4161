"""Fields as objects of xarray and PyVista: what the methods `to_xarray` and `to_pyvista` of fields do."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._extras import require
from meniscus.grid.uniform import AXES


def scalar_to_xarray(field: Any, name: str | None) -> Any:
    """Return a DataArray that shares the memory of the field."""
    x = field.coordinates()
    axes = AXES[: field.grid.dimension]
    positions = {axis: values.ravel() for axis, values in zip(axes, x, strict=True)}
    made = require("xarray", "this needs").DataArray(field.array, dims=list(axes), coords=positions, name=name)
    for axis in axes:
        made[axis].attrs["units"] = "m"
    return made


def velocity_to_xarray(velocity: Any) -> Any:
    """Return a Dataset of the components, which share the memory of the velocity."""
    xarray, grid = require("xarray", "this needs"), velocity.grid
    axes = AXES[: grid.dimension]
    arrays = {}
    for d, component in enumerate("uvw"[: grid.dimension]):
        on_side = tuple(int(a == d) for a in range(grid.dimension))
        names = [f"{axis}_face" if a == d else axis for a, axis in enumerate(axes)]
        positions = {name: values.ravel() for name, values in zip(names, grid.coordinates(on_side), strict=True)}
        arrays[component] = xarray.DataArray(velocity.component(d), dims=names, coords=positions, attrs={"units": "m/s"})
    made = xarray.Dataset(arrays)
    for name in made.coords:
        made[name].attrs["units"] = "m"
    return made


def scalar_to_pyvista(field: Any, name: str) -> Any:
    """Return a `pyvista.ImageData` with a copy of the samples, on its cells or on its points."""
    data = _image(field.grid)
    (data.point_data if all(field.on_side) else data.cell_data)[name] = field.array.ravel(order="F")
    return data


def velocity_to_pyvista(velocity: Any, name: str) -> Any:
    """Return a `pyvista.ImageData` with the means of opposite faces on its cells."""
    mean = cell_means(velocity)
    vectors = np.zeros((mean[..., 0].size, 3), velocity.dtype)
    for d in range(velocity.grid.dimension):
        vectors[:, d] = mean[..., d].ravel(order="F")
    data = _image(velocity.grid)
    data.cell_data[name] = vectors
    return data


def cell_means(velocity: Any) -> npt.NDArray[Any]:
    """Return the mean of the two faces of each cell, (nx, ny(, nz), dimension), m/s."""
    grid = velocity.grid
    result = np.empty((*grid.local_shape, grid.dimension), velocity.dtype)
    for d in range(grid.dimension):
        u = velocity.component(d)
        n = u.shape[d]
        np.add(u.take(range(n - 1), d), u.take(range(1, n), d), out=result[..., d])
    result *= velocity.dtype.type(0.5)
    return result


def _image(grid: Any) -> Any:
    flat = 3 - grid.dimension
    origin = [o + grid.spacing * f for o, f in zip(grid.origin, grid.first_cell, strict=True)] + [0.0] * flat
    return require("pyvista", "this needs").ImageData(
        dimensions=[n + 1 for n in grid.local_shape] + [1] * flat, spacing=(grid.spacing,) * 3, origin=origin
    )
