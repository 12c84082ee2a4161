"""Ray-traced pictures of water: reflection, refraction, absorption and caustics; no display needed.

The surface is a closed mesh, as `LevelSet.to_mesh` returns it. Rays are traced with the exact casts of `ThickSurface`, so none leaks
through an edge. Light that falls through the water onto the floor is traced from the sun, which gives caustics and shadows.

Source: Whitted 1980 (recursive rays); Born and Wolf 1999, section 1.5.2 (Fresnel); Arvo 1986 (light maps).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.surface import LevelSet
from meniscus.viz.optics import WATER, Floats, developed, fresnel, normalized, sky
from meniscus.viz.picture import Picture
from meniscus.viz.smoke import Camera, UpAxis
from meniscus.viz.view import View
from meniscus.viz.water_light import Tracer
from meniscus.viz.water_scene import Scene

_AT_ONCE = 200_000  # samples of drops


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
    """

    clarity: float | None = None
    light: tuple[float, float, float] = (-0.55, 0.75, 0.30)
    caustics: bool = True
    floor: float | None = None
    solid_color: tuple[float, float, float] = (0.72, 0.30, 0.13)
    samples: int = 2

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
    size: tuple[int, int] = (640, 480),
    up: UpAxis = "z",
    camera: Camera | None = None,
    box: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    edges: bool = True,
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
        size: width and height, pixels.
        up: the axis that points upward.
        camera: as for `smoke`; azimuth 0 looks along the last horizontal axis.
        box: lowest and highest corner, m, of what the picture contains and is framed by; default: the bounds of the meshes, no frame.
        edges: whether the edges of the box are drawn; they throw shadows.
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
    scene = Scene(surface, triangles, normals, solids, box, edges=_checks.flag("edges", edges))
    axis = "xyz".index(_checks.choice("up", up, UpAxis))
    look = WaterLook() if look is None else _checks.one_of_type("look", look, WaterLook)
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
    picture, depth = color.reshape(*shape, 3), depth.reshape(shape)
    if spray is not None and len(spray):
        _draw_spray(picture, depth, view, count, spray, spray_radius, tracer)
    picture = picture.reshape(view.height, count, view.width, count, 3).mean(axis=(1, 3))
    return developed(picture)


def _draw_spray(
    picture: Floats, depth: Floats, view: View, samples: int, spray: Any, radius: float | npt.NDArray[Any] | None, tracer: Tracer
) -> None:
    """Draw drops as small balls that mirror the sky, in front of farther objects; drops smaller than a sample cover a part of it."""
    centers = np.asarray(spray, dtype=np.float64)
    if centers.ndim != 2 or centers.shape[1] != 3:
        raise ValueError(f"spray must have shape (k, 3), not {centers.shape}")
    _checks.require_finite("spray", centers)
    radii = np.broadcast_to(np.asarray(1e-3 * tracer.scene.diagonal if radius is None else radius, float), (len(centers),))
    place, far = view.project(centers)
    size = radii / np.maximum(far, 1e-9) * view.scale * samples
    distance = np.linalg.norm(centers - view.eye, axis=1)
    order = np.argsort(-far, kind="stable")
    order = order[far[order] > 0]
    discs = _Discs(samples * place[order], size[order], distance[order], depth.shape)
    for part in discs.parts():
        _draw_discs(picture, depth, view, tracer, discs, part)


class _Discs:
    """Drops as discs of samples, the farthest first."""

    def __init__(self, place: Floats, size: Floats, distance: Floats, shape: tuple[int, int]) -> None:
        self.place, self.distance, self.shape = place, distance, shape
        self.radius = np.maximum(size, 0.5)
        self.cover = np.minimum(1.0, (size / self.radius) ** 2)
        ends = np.array(shape[::-1])
        # Within a million samples around the picture, so that they are numbers of samples.
        inside = np.clip(place, -1e6, 1e6)
        reach = np.minimum(self.radius, 2e6)[:, None]
        self.low = np.clip(np.floor(inside - reach).astype(np.int64), 0, ends)
        self.count = np.maximum(np.clip(np.floor(inside + reach).astype(np.int64) + 1, 0, ends) - self.low, 0)

    def parts(self) -> list[slice]:
        """Return slices of drops with a limited number of samples in all."""
        before = np.concatenate([[0], np.cumsum(self.count.prod(axis=1))])
        cuts = [0]
        while cuts[-1] < len(self.cover):
            cuts.append(max(int(np.searchsorted(before, before[cuts[-1]] + _AT_ONCE, side="right")) - 1, cuts[-1] + 1))
        return [slice(a, b) for a, b in itertools.pairwise(cuts)]


def _draw_discs(picture: Floats, depth: Floats, view: View, tracer: Tracer, discs: _Discs, part: slice) -> None:
    """Draw some drops over the picture."""
    samples = discs.count[part].prod(axis=1)
    of = np.repeat(np.arange(part.start, part.start + len(samples)), samples)
    number = np.arange(len(of)) - np.repeat(np.cumsum(samples) - samples, samples)
    wide = discs.count[of, 0]
    x, y = discs.low[of, 0] + number % np.maximum(wide, 1), discs.low[of, 1] + number // np.maximum(wide, 1)
    u, v = (x + 0.5 - discs.place[of, 0]) / discs.radius[of], (discs.place[of, 1] - y - 0.5) / discs.radius[of]
    seen = (u * u + v * v <= 1) & (depth[y, x] > discs.distance[of])
    if not seen.any():
        return
    x, y, u, v, of = x[seen], y[seen], u[seen], v[seen], of[seen]
    w = np.sqrt(1 - u * u - v * v)
    normal = u[:, None] * view.right + v[:, None] * view.above + w[:, None] * view.back
    share = fresnel(np.maximum(w, 1e-3), np.full(len(w), 1 / WATER))[:, None]
    mirrored = normalized(2 * w[:, None] * normal - view.back)
    # A ball of water shows what is behind it upside down.
    bent = normalized(-view.back - 1.2 * (u[:, None] * view.right + v[:, None] * view.above))
    bent[:, tracer.axis] = np.maximum(bent[:, tracer.axis], 0.02)  # the floor is about as bright as the horizon
    light = share * sky(mirrored, tracer.axis, tracer.sun) + (1 - share) * sky(bent, tracer.axis, tracer.sun)
    # Drops over the same sample one after the other: first the farthest of each sample, then the next ones.
    pixel = y * depth.shape[1] + x
    sorting = np.argsort(pixel, kind="stable")
    begins = np.flatnonzero(np.diff(pixel[sorting], prepend=-1))
    turn = np.arange(len(pixel)) - np.repeat(begins, np.diff(begins, append=len(pixel)))
    by_turn = np.argsort(turn, kind="stable")
    for chosen in np.split(sorting[by_turn], np.cumsum(np.bincount(turn))[:-1]):
        cover = discs.cover[of[chosen], None]
        at = y[chosen], x[chosen]
        picture[at] = (1 - cover) * picture[at] + cover * light[chosen]
