"""Scene of cloth, solids and other surfaces for the path tracer: meshes on a floor under a clear sky."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.viz.path_tracing.stage import Description, bounds, floor, mesh, plain, sensor, sky_light
from meniscus.viz.smoke import Camera, UpAxis
from meniscus.viz.view import View


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A triangle mesh and its appearance.

    Attributes:
        vertices: (n, 3) float64, m.
        triangles: (m, 3) int32, counter-clockwise as seen from outside.
        color: red, green and blue from 0 to 1, of the front and, without `back`, of both sides.
        back: colour of the other side.
        triangle_colors: (m, 3), instead of `color`.
        glossy: whether it shines, as cloth does not.
    """

    vertices: npt.NDArray[np.float64]
    triangles: npt.NDArray[np.int32]
    color: Sequence[float] = (0.25, 0.42, 0.70)
    back: Sequence[float] | None = None
    triangle_colors: npt.NDArray[Any] | None = None
    glossy: bool = False


def surface_scene(
    surfaces: Sequence[Surface],
    *,
    box: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    size: tuple[int, int] = (640, 480),
    up: UpAxis = "y",
    camera: Camera | None = None,
    light: tuple[float, float, float] = (-0.55, 0.75, 0.45),
    ground: float | None = None,
) -> Description:
    """Return the scene of surfaces under a clear sky, on a floor.

    Args:
        surfaces: what is shown.
        box: lowest and highest corner, m, of what the picture contains; default: the bounds of the surfaces.
        size: width and height, pixels.
        up: the axis that points upward.
        camera: as for `smoke_scene`.
        light: direction towards the sun as (right, up, towards the camera) of the picture.
        ground: height of the floor, m; default: the lower side of the box.

    Raises:
        TypeError, ValueError: wrong shapes or dtypes, values that are not finite, an unknown option, nothing to show.
    """
    axis = "xyz".index(_checks.choice("up", up, UpAxis))
    if not surfaces:
        raise ValueError("a picture of surfaces needs at least one")
    for i, s in enumerate(surfaces):
        _checks.require_finite(f"surfaces[{i}].vertices", _checks.points(f"surfaces[{i}].vertices", s.vertices, np.dtype(np.float64), 3))
        _checks.triangles(f"surfaces[{i}].triangles", s.triangles)
    if box is None:
        x = np.concatenate([s.vertices for s in surfaces])
        margin = 1e-3 * float(np.ptp(x, axis=0).max())
        box = x.min(axis=0) - margin, x.max(axis=0) + margin
    low, high = bounds(box)
    view = View(low, high, axis, camera or Camera(), size)
    base = float(low[axis]) if ground is None else _checks.number("ground", ground)
    scene: Description = {
        "type": "scene",
        "integrator": {"type": "path", "max_depth": 8},
        "sensor": sensor(view),
        "light": sky_light(axis, view.direction(_checks.vector("light", light, 3))),
        "floor": floor(low, high, axis, base, color=(0.36, 0.335, 0.30)),
    }
    for i, s in enumerate(surfaces):
        scene[f"surface {i}"] = mesh(s.vertices, s.triangles, _material(s), colors=s.triangle_colors)
    return scene


def _material(surface: Surface) -> Description:
    material = plain(surface.color, glossy=surface.glossy)
    if surface.triangle_colors is not None:
        key = "base_color" if surface.glossy else "reflectance"
        material["front"][key] = {"type": "mesh_attribute", "name": "face_color"}
    if surface.back is not None:
        material["back"] = plain(surface.back, glossy=surface.glossy)["front"]
    return material
