"""Fields as objects of xarray and PyVista: what the methods `to_xarray` and `to_pyvista` of fields do."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from meniscus.grid.uniform import AXES

_EXTRA = {"xarray": "xarray", "pyvista": "'meniscus[view]'"}


def scalar_to_xarray(field: Any, name: str | None) -> Any:
    """Return a DataArray that shares the memory of the field."""
    x = field.coordinates()
    axes = AXES[: field.grid.dimension]
    positions = {axis: values.ravel() for axis, values in zip(axes, x, strict=True)}
    made = library("xarray").DataArray(field.array, dims=list(axes), coords=positions, name=name)
    for axis in axes:
        made[axis].attrs["units"] = "m"
    return made


def velocity_to_xarray(velocity: Any) -> Any:
    """Return a Dataset of the components, which share the memory of the velocity."""
    xarray, grid = library("xarray"), velocity.grid
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
    grid = velocity.grid
    mean = np.zeros((*grid.local_shape, 3), velocity.dtype)
    for d in range(grid.dimension):
        u = velocity.component(d)
        mean[..., d] = 0.5 * (u.take(range(u.shape[d] - 1), d) + u.take(range(1, u.shape[d]), d))
    data = _image(grid)
    data.cell_data[name] = np.stack([mean[..., d].ravel(order="F") for d in range(3)], axis=1)
    return data


def _image(grid: Any) -> Any:
    flat = 3 - grid.dimension
    origin = [o + grid.spacing * f for o, f in zip(grid.origin, grid.first_cell, strict=True)] + [0.0] * flat
    return library("pyvista").ImageData(
        dimensions=[n + 1 for n in grid.local_shape] + [1] * flat, spacing=(grid.spacing,) * 3, origin=origin
    )


def library(name: str) -> Any:
    """Return a module that is not required. Raises ImportError with the way to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"this needs {name}; install it with: pip install {_EXTRA[name]}") from None
