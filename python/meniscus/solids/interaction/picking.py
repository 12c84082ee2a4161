"""Where rays meet the surfaces of bodies, and the points of these closest to others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from meniscus.collision import ThickSurface, closest_point
from meniscus.solids.interaction.grip import BodyTriangles, Floats, Grip, grip_type

# Rays are that much longer than the way to the farthest corner of everything.
_BEYOND = 1.01


class RayHit(NamedTuple):
    """Where a ray meets a body first.

    Attributes:
        name: of the body.
        grip: the point on it.
        position: (3,), m.
        distance: along the ray, m.
    """

    name: str
    grip: Grip
    position: Floats
    distance: float


def surface_of_body(body: Any, given: Any = None) -> BodyTriangles | None:
    """Return the surface of a body: the one that contact sees (`given`) where it hangs in nodes, else its own."""
    if given is None or not hasattr(given, "weights"):
        return grip_type(body).triangles(body)
    triangles = given.triangles
    if given.edges is not None:
        triangles = np.concatenate([triangles, given.edges[:, [0, 1, 1]]]).astype(np.int32)
    if not len(triangles):
        return None
    x = np.einsum("vc,vcd->vd", given.weights, np.asarray(body.positions, np.float64)[given.nodes])
    return BodyTriangles(np.ascontiguousarray(x), np.ascontiguousarray(triangles), given.nodes, given.weights, np.zeros((0, 3)))


def cast_ray(
    bodies: Mapping[str, tuple[Any, BodyTriangles | None]], origin: Floats, direction: Floats, longest: float, radius: float
) -> RayHit | None:
    """Return where a ray first comes within `radius` (m) of the triangles of bodies by name, or None."""
    named = [(name, body, surface) for name, (body, surface) in bodies.items() if surface is not None]
    if not named:
        return None
    starts = np.cumsum([0, *(len(s.vertices) for _, _, s in named)])
    counts = [len(s.triangles) for _, _, s in named]
    firsts = np.cumsum([0, *counts])
    x = np.ascontiguousarray(np.concatenate([s.vertices for _, _, s in named]))
    if not np.isfinite(x).all():
        raise ValueError("bodies with positions that are not finite cannot be picked")
    triangles = np.concatenate([s.triangles + start for (_, _, s), start in zip(named, starts, strict=False)]).astype(np.int32)
    owners = np.repeat(np.arange(len(named), dtype=np.int32), counts)
    unit = direction / math.sqrt(float((direction**2).sum()))
    reach = _BEYOND * math.hypot(*np.maximum(np.abs(x.min(axis=0) - origin), np.abs(x.max(axis=0) - origin)).tolist())
    length = min(longest, reach + radius)
    hits = ThickSurface(x, triangles, 2.0 * radius, owners).cast(origin[None], (origin + length * unit)[None])
    if hits.triangles[0] < 0:
        return None
    name, body, surface = named[int(hits.bodies[0])]
    own = np.array([int(hits.triangles[0]) - firsts[int(hits.bodies[0])]], np.int32)
    grip = grip_type(body).on(body, surface, own, _inside(hits.barycentric))
    return RayHit(name, grip, grip.positions[0], float(hits.fractions[0]) * length)


def nearest(body: Any, surface: BodyTriangles, points: Floats) -> Grip:
    """Return a grip of the points of the surface of a body that are closest to points (k, 3), m."""
    found = closest_point(surface.vertices, surface.triangles, points)
    return grip_type(body).on(body, surface, found.triangles, _inside(found.barycentric))


def _inside(barycentric: Floats) -> Floats:
    """Return barycentric coordinates whose sum is 1 up to rounding."""
    b = np.maximum(barycentric, 0.0)
    result: Floats = b / b.sum(axis=1, keepdims=True)
    return result
