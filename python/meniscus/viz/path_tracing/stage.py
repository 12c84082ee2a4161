"""Camera, light, floor and meshes shared by all path-traced pictures, as entries of a scene dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.viz.corner_normals import corner_normals
from meniscus.viz.optics import Floats, clear_sky, dot, normalized
from meniscus.viz.view import View

Description = dict[str, Any]
"""A scene of Mitsuba as a dictionary of numbers, strings and arrays."""

_SUNLIGHT = np.array([1.0, 0.93, 0.82])
_MAP_HEIGHT = 256  # of the picture of the sky, pixels
_STUDIO = np.array([[0.012, 0.016, 0.024], [0.055, 0.062, 0.075]])  # above and at the horizon


def bounds(box: tuple[npt.ArrayLike, npt.ArrayLike]) -> tuple[Floats, Floats]:
    """Return the lowest and the highest corner of a box. Raises TypeError, ValueError."""
    low, high = (np.asarray(_checks.vector(f"box[{i}]", b, 3)) for i, b in enumerate(box))
    if not (low < high).all():
        raise ValueError("box must be its lowest and its highest corner")
    return low, high


def sensor(view: View) -> Description:
    """Return the camera of a view."""
    to_world = np.eye(4)
    # Mitsuba's cameras look along their third axis, and their first one points to the left.
    to_world[:3] = np.stack([-view.right, view.above, -view.back, view.eye], axis=1)
    shift = view.middle * view.scale / (view.width, view.height)
    return {
        "type": "perspective",
        "fov": float(np.degrees(2 * np.arctan(0.5 * view.width / view.scale))),
        "fov_axis": "x",
        "near_clip": 1e-3 * float(np.linalg.norm(view.eye)) + 1e-6,
        "far_clip": 1e6,
        "principal_point_offset_x": float(shift[0]),
        "principal_point_offset_y": float(-shift[1]),
        "to_world": to_world,
        "film": {
            "type": "hdrfilm",
            "width": view.width,
            "height": view.height,
            "pixel_format": "rgb",
            "component_format": "float32",
            # The samples of a pixel count for it alone, so that no sum depends on the order in which blocks are finished.
            "rfilter": {"type": "box"},
        },
        "sampler": {"type": "independent"},
    }


def sky_light(axis: int, sun: Floats, *, sunlight: float = 2.6, sun_radius: float = 2.5, brightness: float = 0.55) -> Description:
    """Return a clear sky with a sun.

    Args:
        axis: the one that points upward.
        sun: (3,), unit direction towards the sun.
        sunlight: irradiance of the sun on a surface that faces it; that of the sky on a level surface is about 1.
        sun_radius: of the sun's disc, degrees; a large sun casts soft shadows, and gives less noise behind a surface that refracts.
        brightness: factor of the sky.
    """
    directions, to_world = _directions(axis)
    light = brightness * clear_sky(directions, axis)
    return _environment(light + _disc(directions, sun, sunlight, sun_radius), to_world)


def studio_light(axis: int, sun: Floats, *, sunlight: float = 3.0, sun_radius: float = 6.0) -> Description:
    """Return a dark background with a lamp, and a dimmer, bluish one across from it. The arguments are those of `sky_light`."""
    directions, to_world = _directions(axis)
    height = np.clip(directions[:, axis], 0, 1)[:, None] ** 0.5
    light = _STUDIO[1] + (_STUDIO[0] - _STUDIO[1]) * height
    rim = -sun
    rim[axis] = abs(sun[axis])
    light += _disc(directions, sun, sunlight, sun_radius) + np.array([0.55, 0.72, 1.0]) * _disc(directions, rim, 0.25 * sunlight, 20.0)
    return _environment(light, to_world)


def floor(low: Floats, high: Floats, axis: int, height: float, *, color: Sequence[float], tiles: float | None = None) -> Description:
    """Return a level floor that reaches to the horizon.

    Args:
        low, high: corners of the box of the objects on it.
        axis: the one that points upward.
        height: m.
        color: red, green and blue from 0 to 1.
        tiles: their edge, m; default: one plain colour.
    """
    reach = 600.0 * float(np.linalg.norm(high - low))
    center = (low + high) / 2
    center[axis] = height
    across = _axes(axis)[:, [0, 2, 1]] * (1, -1, 1)
    to_world = np.eye(4)
    to_world[:3, :3] = across * (reach, reach, 1.0)
    to_world[:3, 3] = center
    pigment: Description = {"type": "rgb", "value": [float(c) for c in color]}
    if tiles is not None:
        scale = np.eye(4)
        scale[0, 0] = scale[1, 1] = reach / tiles  # two tiles to a unit, as long as the floor is wide
        darker = {"type": "rgb", "value": [0.74 * float(c) for c in color]}
        pigment = {"type": "checkerboard", "color0": pigment, "color1": darker, "to_uv": scale}
    return {"type": "rectangle", "to_world": to_world, "bsdf": {"type": "diffuse", "reflectance": pigment}}


def mesh(
    vertices: npt.NDArray[np.float64],
    triangles: npt.NDArray[np.int32],
    bsdf: Description,
    *,
    normals: npt.NDArray[np.float64] | None = None,
    colors: npt.NDArray[Any] | None = None,
    **more: Any,
) -> Description:
    """Return a triangle mesh that is smooth but for its edges.

    Args:
        vertices, triangles: (n, 3) float64, m, and (m, 3) int32.
        bsdf: scattering of light at the surface.
        normals: (n, 3) at the vertices; without, those of the triangles are averaged.
        colors: (m, 3) of the triangles, for a `bsdf` that reads the attribute `face_color`.
        **more: further entries, such as `interior`.
    """
    x = vertices[triangles]
    across = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    if not across.any(axis=1).all():
        solid = across.any(axis=1)
        triangles, x, across = triangles[solid], x[solid], across[solid]
        colors = None if colors is None else np.asarray(colors)[solid]
    shape: Description = {
        "type": "mesh",
        "vertices": np.ascontiguousarray(x.reshape(-1, 3), np.float32),
        "triangles": np.arange(x.shape[0] * 3, dtype=np.uint32).reshape(-1, 3),
        "normals": np.ascontiguousarray(corner_normals(vertices, triangles, across, normals).reshape(-1, 3), np.float32),
        "bsdf": bsdf,
        **more,
    }
    if colors is not None:
        shape["face_color"] = np.ascontiguousarray(colors, np.float32)
    return shape


def plain(color: Sequence[float], *, glossy: bool = False) -> Description:
    """Return a diffuse material seen from both sides, or a glossy one."""
    pigment = {"type": "rgb", "value": [float(c) for c in color]}
    if glossy:
        return {"type": "twosided", "front": {"type": "principled", "base_color": pigment, "roughness": 0.35, "specular": 0.5}}
    return {"type": "twosided", "front": {"type": "diffuse", "reflectance": pigment}}


def _axes(axis: int) -> Floats:
    """Return the columns of a right-handed system whose second axis points upward."""
    side = np.eye(3)[1 if axis == 0 else 0]
    up = np.eye(3)[axis]
    return np.stack([side, up, np.cross(side, up)], axis=1)


def _directions(axis: int) -> tuple[Floats, Floats]:
    """Return unit directions (n, 3) of the pixels of a picture of the sky, row by row, and the matrix that places it."""
    theta = np.pi * (np.arange(_MAP_HEIGHT) + 0.5) / _MAP_HEIGHT
    phi = np.pi * (np.arange(2 * _MAP_HEIGHT) + 0.5) / _MAP_HEIGHT
    s, c = np.sin(theta)[:, None], np.cos(theta)[:, None]
    local = np.stack([s * np.sin(phi), c + 0 * phi, -s * np.cos(phi)], axis=-1).reshape(-1, 3)
    to_world = np.eye(4)
    to_world[:3, :3] = _axes(axis)
    return local @ _axes(axis).T, to_world


def _disc(directions: Floats, center: Floats, irradiance: float, radius: float) -> Floats:
    """Return the light (n, 3) of a disc in the sky, with an edge a pixel wide."""
    angle = np.degrees(np.arccos(np.clip(dot(directions, normalized(center[None])[0]), -1, 1)))
    inside = np.clip(0.5 + (radius - angle) / (180.0 / _MAP_HEIGHT), 0, 1)[:, None]
    result: Floats = inside * _SUNLIGHT * (irradiance / (np.pi * np.sin(np.radians(radius)) ** 2))
    return result


def _environment(light: Floats, to_world: Floats) -> Description:
    picture = np.ascontiguousarray(light.reshape(_MAP_HEIGHT, 2 * _MAP_HEIGHT, 3), np.float32)
    return {"type": "envmap", "bitmap": picture, "to_world": to_world}
