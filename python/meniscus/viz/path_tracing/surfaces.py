"""Scene of cloth, solids and other surfaces for the path tracer: meshes on a floor under a clear sky."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.viz.path_tracing.stage import Description, bounds, floor, mesh, plain, sensor, sky_light
from meniscus.viz.smoke import Camera, UpAxis
from meniscus.viz.view import View


@dataclass(frozen=True)
class Surface:
    """A triangle mesh and its appearance.

    Attributes:
        vertices: (n, 3), m.
        triangles: (m, 3), counter-clockwise as seen from outside.
        color: red, green and blue from 0 to 1, of the front and, without `back`, of both sides.
        back: colour of the other side.
        triangle_colors: (m, 3), instead of `color`.
        glossy: whether it shines, as cloth does not.
    """

    vertices: npt.ArrayLike
    triangles: npt.ArrayLike
    color: Sequence[float] = (0.25, 0.42, 0.70)
    back: Sequence[float] | None = None
    triangle_colors: npt.NDArray[Any] | None = None
    glossy: bool = False


def surface_scene(
    surfaces: Sequence[Surface | SurfaceLike],
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
        surfaces: what is shown, each with its appearance, or as a `TriangleMesh` or what it is made from.
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
    shown = [s if isinstance(s, Surface) else Surface(*triangle_mesh(s)) for s in surfaces]
    meshes = [triangle_mesh(s.vertices, s.triangles) for s in shown]
    if box is None:
        x = np.concatenate([m.vertices for m in meshes])
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
    for i, (s, m) in enumerate(zip(shown, meshes, strict=True)):
        scene[f"surface {i}"] = mesh(m.vertices, m.triangles, _material(s), colors=s.triangle_colors)
    return scene


def _material(surface: Surface) -> Description:
    material = plain(surface.color, glossy=surface.glossy)
    if surface.triangle_colors is not None:
        key = "base_color" if surface.glossy else "reflectance"
        material["front"][key] = {"type": "mesh_attribute", "name": "face_color"}
    if surface.back is not None:
        material["back"] = plain(surface.back, glossy=surface.glossy)["front"]
    return material
