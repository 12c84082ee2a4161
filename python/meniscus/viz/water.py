"""Ray-traced pictures of water: reflection, refraction, absorption and caustics; no display needed.

The surface is a closed mesh, as `LevelSet.to_mesh` returns it. Rays are traced with the exact casts of `ThickSurface`, so none leaks
through an edge. Light that falls through the water onto the floor is traced from the sun, which gives caustics and shadows.

Source: Whitted 1980 (recursive rays); Born and Wolf 1999, section 1.5.2 (Fresnel); Arvo 1986 (light maps).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.surface import LevelSet
from meniscus.viz.discs import Canvas, WhitewaterLike, draw_drops, draw_whitewater, require_balls
from meniscus.viz.optics import developed
from meniscus.viz.picture import Picture
from meniscus.viz.smoke import Camera, UpAxis
from meniscus.viz.view import View
from meniscus.viz.water_light import Tracer
from meniscus.viz.water_scene import Scene


@dataclass(frozen=True, kw_only=True)
class WaterLook:
    """Light, colours and fineness of a picture of water.

    Attributes:
        clarity: m of water that take most of the red light and half of the green; default: two thirds of the diagonal of the box.
        light: direction towards the sun as (right, up, towards the camera) of the picture.
        caustics: whether light is followed through the water onto the floor.
        floor: height, m; default: the lowest point of the box.
        solid_color: red, green and blue from 0 to 1.
        samples: rays per pixel along each axis.
        edges: whether the edges of the box are drawn; they throw shadows.
    """

    clarity: float | None = None
    light: tuple[float, float, float] = (-0.55, 0.75, 0.30)
    caustics: bool = True
    floor: float | None = None
    solid_color: tuple[float, float, float] = (0.72, 0.30, 0.13)
    samples: int = 2
    edges: bool = True

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        if self.clarity is not None:
            _checks.positive("clarity", self.clarity)
        for name in ("light", "solid_color"):
            _checks.vector(name, getattr(self, name), 3)
        _checks.integer("samples", self.samples, 1, 9)


def water(
    surface: LevelSet | SurfaceLike,
    triangles: npt.ArrayLike | None = None,
    *,
    normals: npt.NDArray[np.float64] | None = None,
    solids: Sequence[SurfaceLike] = (),
    spray: npt.NDArray[Any] | None = None,
    spray_radius: float | npt.NDArray[Any] | None = None,
    whitewater: WhitewaterLike | None = None,
    size: tuple[int, int] = (640, 480),
    up: UpAxis = "z",
    camera: Camera | None = None,
    box: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    look: WaterLook | None = None,
) -> Picture:
    """Return a picture of water under a clear sky, on a tiled floor, with solids in it and drops around it.

    Args:
        surface: a `TriangleMesh` or what it is made from (a mesh of trimesh, meshio or PyVista, a tuple of arrays), or a 3-D
            `LevelSet`; with `triangles`, the vertices (n, 3) alone, m. Closed, or empty.
        triangles: (m, 3), with normals out of the water.
        normals: (n, 3) at the vertices, as `to_mesh(normals=True)` gives them; without, those of the triangles are averaged.
        solids: surfaces, opaque.
        spray: positions (k, 3) of drops, m.
        spray_radius: of the drops, m: one number or (k,); without, a thousandth of the diagonal of the picture's box.
        whitewater: white spray, foam and bubbles: the particles of `fluids.Whitewater`, or arrays by the names 'position' (k, 3),
            'radius' (k,) and 'kind' (k,).
        size: width and height, pixels.
        up: the axis that points upward.
        camera: as for `smoke`; azimuth 0 looks along the last horizontal axis.
        box: lowest and highest corner, m, of what the picture contains and is framed by; default: the bounds of the meshes, no frame.
        look: default `WaterLook()`.

    Returns:
        (height, width, 3) uint8, an array that notebooks show as a picture.

    Raises:
        TypeError, ValueError: wrong shapes or dtypes, values that are not finite, an unknown option.
    """
    if isinstance(surface, LevelSet):
        if surface.grid.dimension != 3:
            raise ValueError("surface must be a 3-D level set, not a 2-D one; liquid2d draws that")
        surface, triangles, normals = surface.to_mesh(normals=True)
    look = WaterLook() if look is None else _checks.one_of_type("look", look, WaterLook)
    scene = Scene(surface, triangles, normals, solids, box, edges=look.edges)
    axis = "xyz".index(_checks.choice("up", up, UpAxis))
    count = look.samples
    view = View(scene.low, scene.high, axis, camera or Camera(azimuth=28, elevation=22), size)
    base = float(scene.low[axis]) if look.floor is None else look.floor
    tint = 0.66 * scene.diagonal if look.clarity is None else look.clarity
    sun = view.direction(look.light)
    if sun[axis] <= 0.05:
        raise ValueError("light must come from above")
    tracer = Tracer(scene, axis, base, tint, sun, np.asarray(look.solid_color))
    if look.caustics and scene.has_water:
        tracer.light_floor()
    directions = view.rays(count)
    color, depth = tracer.trace(np.broadcast_to(view.eye, directions.shape), directions)
    shape = (view.height * count, view.width * count)
    tracer.in_water = tracer.in_water.reshape(shape)
    picture, depth = color.reshape(*shape, 3), depth.reshape(shape)
    canvas = Canvas(picture, depth, view, count, tracer)
    if whitewater is not None:
        draw_whitewater(canvas, whitewater)
    if spray is not None and len(spray):
        draw_drops(canvas, *require_balls("spray", spray, 1e-3 * scene.diagonal if spray_radius is None else spray_radius))
    picture = picture.reshape(view.height, count, view.width, count, 3).mean(axis=(1, 3))
    return developed(picture)
