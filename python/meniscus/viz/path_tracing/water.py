"""Scene of a liquid for the path tracer: a closed surface that reflects, refracts and absorbs light, on a floor under a clear sky."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.viz.discs import WhitewaterLike, require_balls, whitewater_arrays
from meniscus.viz.optics import WATER
from meniscus.viz.path_tracing.stage import Description, bounds, floor, mesh, plain, sensor, sky_light
from meniscus.viz.smoke import Camera, UpAxis
from meniscus.viz.view import View
from meniscus.viz.water_scene import frame

_ABSORPTION = (1.0, 0.24, 0.14)  # relative to that of red light
_BUBBLE = 2  # kind of whitewater
_FOAM = (0.88, 0.9, 0.92)
_DROP = 2.0  # largest radius of a drop of spray in the picture, thousandths of the diagonal of its box


def water_scene(
    surface: SurfaceLike,
    triangles: npt.ArrayLike | None = None,
    *,
    box: tuple[npt.ArrayLike, npt.ArrayLike],
    normals: npt.NDArray[np.float64] | None = None,
    solids: Sequence[SurfaceLike] = (),
    solid_color: tuple[float, float, float] = (0.72, 0.30, 0.13),
    spray: npt.NDArray[Any] | None = None,
    spray_radius: float | npt.NDArray[Any] | None = None,
    whitewater: WhitewaterLike | None = None,
    size: tuple[int, int] = (640, 480),
    up: UpAxis = "z",
    camera: Camera | None = None,
    clarity: float | None = None,
    light: tuple[float, float, float] = (-0.55, 0.75, 0.30),
    sun_radius: float = 9.0,
) -> Description:
    """Return the scene of a liquid under a clear sky, on a tiled floor at the bottom of its box, with solids in it and drops around it.

    Args:
        surface: a `TriangleMesh` or what it is made from (a mesh of trimesh, meshio or PyVista, a tuple of arrays); with `triangles`, the
            vertices (n, 3) alone, m. Closed, or empty.
        triangles: (m, 3), with normals out of the liquid.
        box: lowest and highest corner, m, of what the picture contains.
        normals: (n, 3) at the vertices, as `to_mesh(normals=True)` gives them; without, those of the triangles are averaged.
        solids: surfaces, opaque.
        solid_color: red, green and blue from 0 to 1.
        spray: positions (k, 3) of drops, m.
        spray_radius: of the drops, m: one number or (k,); default: a thousandth of the diagonal of the box.
        whitewater: spray and foam, white; and bubbles of air: as for `viz.water`.
        size: width and height, pixels.
        up: the axis that points upward.
        camera: as for `smoke_scene`.
        clarity: m of water that take most of the red light and half of the green; default: two thirds of the diagonal of the box.
        light: direction towards the sun as (right, up, towards the camera) of the picture.
        sun_radius: of the sun's disc, degrees; the light of a small one takes many samples to find its way through the surface.

    Raises:
        TypeError, ValueError: wrong shapes or dtypes, values that are not finite, an unknown option.
    """
    axis = "xyz".index(_checks.choice("up", up, UpAxis))
    low, high = bounds(box)
    diagonal = float(np.linalg.norm(high - low))
    view = View(low, high, axis, camera or Camera(azimuth=28, elevation=22), size)
    sun = view.direction(_checks.vector("light", light, 3))
    if sun[axis] <= 0.05:
        raise ValueError("light must come from above")
    length = 0.66 * diagonal if clarity is None else _checks.positive("clarity", clarity)
    water = triangle_mesh(surface, triangles)
    interface: Description = {"type": "dielectric", "int_ior": WATER, "ext_ior": 1.0}
    # The floor lies in the water: a film of air between them would mirror.
    base = float(low[axis]) + 2e-3 * diagonal
    scene: Description = {
        "type": "scene",
        "integrator": {"type": "volpath", "max_depth": 24, "rr_depth": 12},
        "sensor": sensor(view),
        "light": sky_light(axis, sun, sun_radius=_checks.positive("sun_radius", sun_radius)),
        "floor": floor(low, high, axis, base, color=(0.52, 0.45, 0.37), tiles=diagonal / 10),
        "frame": mesh(*frame(low, high, 1.2e-3 * diagonal), plain((0.12, 0.12, 0.13))),
    }
    if len(water.triangles):
        absorbing = {"type": "homogeneous", "albedo": 0.0, "sigma_t": {"type": "rgb", "value": list(_ABSORPTION)}, "scale": 2.6 / length}
        scene["water"] = mesh(water.vertices, water.triangles, interface, normals=normals, interior=absorbing)
    for i, solid in enumerate(map(triangle_mesh, solids)):
        scene[f"solid {i}"] = mesh(solid.vertices, solid.triangles, plain(solid_color, glossy=True))
    most = 1e-3 * _DROP * diagonal
    if spray is not None and len(spray):
        centers, radii = require_balls("spray", spray, 1e-3 * diagonal if spray_radius is None else spray_radius)
        scene["spray"] = _drops(centers, np.minimum(radii, most), interface, fine=True)
    if whitewater is not None:
        centers, radii, kind = whitewater_arrays(whitewater)
        for name, chosen in (("foam", kind != _BUBBLE), ("bubbles", kind == _BUBBLE)):
            if chosen.any():
                look = plain(_FOAM) if name == "foam" else {**interface, "int_ior": 1.0, "ext_ior": WATER}
                scene[name] = _drops(centers[chosen], np.minimum(radii[chosen], most), look, fine=False)
    return scene


def _drops(centers: npt.NDArray[np.float64], radii: npt.NDArray[Any], bsdf: Description, *, fine: bool) -> Description:
    """Return all drops as one mesh of balls with the normals of spheres; coarse ones have 8 triangles."""
    directions, faces = _ball(2 if fine else 0)
    points = centers[:, None] + np.asarray(radii, np.float64)[:, None, None] * directions
    triangles = faces[None] + len(directions) * np.arange(len(centers))[:, None, None]
    return {
        "type": "mesh",
        "vertices": np.ascontiguousarray(points.reshape(-1, 3), np.float32),
        "triangles": np.ascontiguousarray(triangles.reshape(-1, 3), np.uint32),
        "normals": np.tile(directions, (len(centers), 1)).astype(np.float32),
        "bsdf": bsdf,
    }


def _ball(divisions: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return an octahedron, divided some times, with its corners on the unit sphere; after two, 66 points and 128 triangles."""
    points = [np.array(p, float) for p in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]
    faces = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    for _ in range(divisions):
        middles: dict[tuple[int, int], int] = {}

        def middle(a: int, b: int, middles: dict[tuple[int, int], int] = middles) -> int:
            key = (min(a, b), max(a, b))
            if key not in middles:
                middles[key] = len(points)
                x = points[a] + points[b]
                points.append(x / np.linalg.norm(x))
            return middles[key]

        finer = []
        for a, b, c in faces:
            p, q, r = middle(a, b), middle(b, c), middle(c, a)
            finer += [(a, p, r), (p, b, q), (r, q, c), (p, q, r)]
        faces = finer
    return np.array(points), np.array(faces)
