"""Scene of smoke for the path tracer: a participating medium over a floor under a sun."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.viz.optics import Floats
from meniscus.viz.path_tracing.stage import Description, bounds, floor, mesh, plain, sensor, sky_light, studio_light
from meniscus.viz.smoke import Background, Camera, UpAxis
from meniscus.viz.view import View
from meniscus.viz.water_scene import Mesh


def smoke_scene(
    density: npt.NDArray[Any],
    *,
    box: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    solids: list[Mesh] | tuple[Mesh, ...] = (),
    size: tuple[int, int] = (480, 640),
    up: UpAxis = "z",
    camera: Camera | None = None,
    opacity: float = 40.0,
    albedo: float = 0.92,
    light: tuple[float, float, float] = (-0.8, 0.6, 0.1),
    background: Background = "dark",
    solid_color: tuple[float, float, float] = (0.75, 0.33, 0.16),
) -> Description:
    """Return the scene of smoke that is lit by a sun and its surroundings, with solids in it, on a floor.

    Args:
        density: (nx, ny, nz) on cells; values below 0 count as 0.
        box: lowest and highest corner of the grid, m; default: cells of edge 1 from the origin.
        solids: meshes (vertices, triangles) in the same coordinates.
        size: width and height, pixels.
        up: the axis that points upward.
        camera: default `Camera()`.
        opacity: optical depth of density 1 across the shortest edge of the box.
        albedo: share of the light that smoke scatters; the rest it absorbs (soot: 0.5, steam: 0.98).
        light: direction towards the sun as (right, up, towards the camera) of the picture.
        background: 'dark', a studio, or 'light', the open air.
        solid_color: red, green and blue of the solids in linear light.

    Raises:
        ValueError, TypeError: wrong shapes, values that are not finite, an unknown option.
    """
    rho = np.asarray(density)
    if rho.ndim != 3 or min(rho.shape) < 2:
        raise ValueError(f"density must have 3 axes of at least 2 cells, not the shape {rho.shape}")
    _checks.require_finite("density", rho)
    _checks.choice("background", background, Background)
    axis = "xyz".index(_checks.choice("up", up, UpAxis))
    low, high = bounds(((0.0, 0.0, 0.0), rho.shape) if box is None else box)
    view = View(low, high, axis, camera or Camera(), size)
    sun = view.direction(_checks.vector("light", light, 3))
    edge = float((high - low).min())
    rho, first, last = _cropped(np.clip(rho, 0, None), low, high)
    to_world, cube = np.eye(4), np.eye(4)
    to_world[:3] = np.column_stack([np.diag(last - first), first])
    cube[:3] = np.column_stack([np.diag((last - first) / 2), (last + first) / 2])
    medium = {
        "type": "heterogeneous",
        "albedo": _checks.positive("albedo", albedo),
        "scale": _checks.positive("opacity", opacity) / edge,
        # Mitsuba's grids have x fastest, and samples in the middle of their cells.
        "sigma_t": {
            "type": "gridvolume",
            "grid": np.ascontiguousarray(rho.transpose(2, 1, 0)[..., None], np.float32),
            "to_world": to_world,
            "raw": True,
        },
    }
    dark = background == "dark"
    # The floor stays clear of the medium's lower side.
    base = float(low[axis]) - 1e-3 * edge
    scene: Description = {
        "type": "scene",
        "integrator": {"type": "volpath", "max_depth": 32, "rr_depth": 8},
        "sensor": sensor(view),
        "light": studio_light(axis, sun) if dark else sky_light(axis, sun),
        "floor": floor(low, high, axis, base, color=(0.05, 0.055, 0.065) if dark else (0.55, 0.54, 0.52)),
        "smoke": {"type": "cube", "to_world": cube, "bsdf": {"type": "null"}, "interior": medium},
    }
    for i, (vertices, triangles) in enumerate(solids):
        scene[f"solid {i}"] = mesh(vertices, triangles, plain(solid_color, glossy=True))
    return scene


def _cropped(rho: npt.NDArray[Any], low: Floats, high: Floats) -> tuple[npt.NDArray[Any], Floats, Floats]:
    """Return the cells with smoke and a layer around them, and the corners of their box: steps through empty cells cost as much as
    others."""
    some = np.argwhere(rho > 1e-4 * rho.max()) if rho.any() else np.zeros((1, 3), np.intp)
    start = np.maximum(some.min(axis=0) - 1, 0)
    stop = np.minimum(some.max(axis=0) + 2, rho.shape)
    cell = (high - low) / rho.shape
    return rho[tuple(slice(a, b) for a, b in zip(start, stop, strict=True))], low + start * cell, low + stop * cell
