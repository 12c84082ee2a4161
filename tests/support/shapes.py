"""Examples of all primitive shapes, and points of their surfaces from their definition alone."""

from collections.abc import Callable
from typing import Any

import numpy as np

from meniscus.surface import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Polygon,
    Shape,
    Sphere,
    Torus,
)

L_SHAPE = [(0.0, 0.0), (1.0, 0.0), (1.0, 0.4), (0.3, 0.4), (0.3, 0.9), (0.0, 0.9)]
HOLE = [(0.05, 0.1), (0.2, 0.1), (0.2, 0.3)]

PRIMITIVES: dict[str, Callable[[], Shape]] = {
    "disc": lambda: Sphere((0.1, -0.2), 0.5),
    "ball": lambda: Sphere((0.1, -0.2, 0.3), 0.5),
    "rectangle": lambda: Box((-0.4, -0.1), (0.5, 0.6)),
    "box": lambda: Box((-0.4, -0.1, 0.0), (0.5, 0.6, 0.3)),
    "rounded rectangle": lambda: Box((-0.4, -0.1), (0.5, 0.6), 0.2),
    "rounded box": lambda: Box((-0.4, -0.1, 0.0), (0.5, 0.6, 0.3), 0.1),
    "half plane": lambda: HalfSpace((0.1, 0.1), (1.0, -2.0)),
    "half space": lambda: HalfSpace((0.1, 0.1, 0.0), (1.0, -2.0, 0.5)),
    "stadium": lambda: Capsule((-0.3, 0.1), (0.4, 0.3), 0.2),
    "capsule": lambda: Capsule((-0.3, 0.1, 0.0), (0.4, 0.3, -0.2), 0.2),
    "cylinder": lambda: Cylinder((-0.3, 0.1, 0.0), (0.4, 0.3, -0.2), 0.3),
    "cone": lambda: Cone((-0.3, 0.1, 0.0), (0.4, 0.3, -0.2), 0.4),
    "frustum": lambda: Cone((-0.3, 0.1, 0.0), (0.4, 0.3, -0.2), 0.2, 0.5),
    "torus": lambda: Torus((0.1, 0.0, -0.1), (1.0, 2.0, 0.5), 0.5, 0.2),
    "ellipse": lambda: Ellipsoid((0.1, 0.0), (0.6, 0.2)),
    "ellipsoid": lambda: Ellipsoid((0.1, 0.0, -0.1), (0.3, 0.7, 0.15)),
    "L": lambda: Polygon(L_SHAPE),
    "L with a hole": lambda: Polygon([L_SHAPE, HOLE]),
}
BOUNDED = [name for name in PRIMITIVES if not name.startswith("half")]


def cloud(dimension: int, n: int = 2000, seed: int = 3, size: float = 1.2) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-size, size, (n, dimension))


def frame(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An orthonormal frame around an axis."""
    w = axis / np.linalg.norm(axis)
    u = np.cross(w, [0.3, -0.5, 0.9])
    u /= np.linalg.norm(u)
    return u, np.cross(w, u), w


def circles(center: np.ndarray, axis: np.ndarray, radius: np.ndarray, height: np.ndarray, n: int = 400) -> np.ndarray:
    """Points on circles around an axis, one for each (radius, height)."""
    u, v, w = frame(axis)
    a = np.linspace(0, 2 * np.pi, n, endpoint=False)
    ring = np.cos(a)[:, None] * u + np.sin(a)[:, None] * v
    return (center + radius[:, None, None] * ring + height[:, None, None] * w).reshape(-1, 3)


def loop_points(loops: Any, n: int = 3000) -> np.ndarray:
    """Points along the edges of a polygon."""
    t = np.linspace(0, 1, n)[:, None]
    points = []
    for loop in loops:
        a = np.array(loop)
        points += [p + t * (q - p) for p, q in zip(a, np.roll(a, -1, axis=0), strict=True)]
    return np.concatenate(points)


def surface_points(name: str) -> np.ndarray:
    """A dense set of points of the surface, from its definition alone."""
    shape: Any = PRIMITIVES[name]()
    if name in ("ellipse", "ellipsoid", "disc", "ball"):
        radii = np.array(shape.radii if "ellips" in name else (shape.radius,) * shape.dimension)
        if shape.dimension == 2:
            a = np.linspace(0, 2 * np.pi, 20000)
            unit = np.stack([np.cos(a), np.sin(a)], axis=1)
        else:
            a, b = np.meshgrid(np.linspace(0, 2 * np.pi, 800), np.linspace(0, np.pi, 400))
            unit = np.stack([np.cos(a) * np.sin(b), np.sin(a) * np.sin(b), np.cos(b)], axis=-1).reshape(-1, 3)
        return np.array(shape.center) + radii * unit
    if name == "torus":
        a = np.linspace(0, 2 * np.pi, 400)
        return circles(
            np.array(shape.center),
            np.array(shape.axis),
            shape.major_radius + shape.minor_radius * np.cos(a),
            shape.minor_radius * np.sin(a),
            800,
        )
    if name in ("cylinder", "cone", "frustum"):
        a, b = np.array(shape.start), np.array(shape.end)
        length = np.linalg.norm(b - a)
        r0, r1 = (shape.radius, shape.radius) if name == "cylinder" else (shape.start_radius, shape.end_radius)
        t = np.linspace(0, 1, 300)
        radius = np.concatenate([r0 * t, r0 + (r1 - r0) * t, r1 * t])
        return circles(a, b - a, radius, np.concatenate([0 * t, length * t, 0 * t + length]), 800)
    if name in ("stadium", "capsule"):
        a, b = np.array(shape.start), np.array(shape.end)
        if name == "stadium":
            angle = np.linspace(0, 2 * np.pi, 8000)
            ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
            t = np.linspace(0, 1, 4000)[:, None]
            along = (b - a) / np.linalg.norm(b - a)
            side = shape.radius * np.array([-along[1], along[0]])
            points = np.concatenate([a + shape.radius * ring, b + shape.radius * ring, a + t * (b - a) + side, a + t * (b - a) - side])
            reach = np.clip((points - a) @ along, 0, np.linalg.norm(b - a))
            # The half circles that lie in the other parts are no surface.
            return points[np.linalg.norm(points - a - reach[:, None] * along, axis=1) > shape.radius - 1e-14]
        length = np.linalg.norm(b - a)
        t = np.linspace(0, np.pi / 2, 200)
        radius = np.concatenate([shape.radius * np.sin(t), np.full(200, shape.radius), shape.radius * np.cos(t)])
        height = np.concatenate([-shape.radius * np.cos(t), np.linspace(0, length, 200), length + shape.radius * np.sin(t)])
        return circles(a, b - a, radius, height, 800)
    if name in ("L", "L with a hole"):
        return loop_points([L_SHAPE] if name == "L" else [L_SHAPE, HOLE])
    lower, upper = np.array(shape.lower), np.array(shape.upper)
    core_low, core_high = lower + shape.rounding, upper - shape.rounding
    side = np.linspace(0, 1, 20001 if shape.dimension == 2 else 301)
    points = []
    for d in range(shape.dimension):
        others = np.stack([x.ravel() for x in np.meshgrid(*[side] * (shape.dimension - 1))], axis=1)
        for value in (0.0, 1.0):
            x = lower + (upper - lower) * np.insert(others, d, value, axis=1)
            # Rounding pulls the faces of the sharp box along the normals of the inner one.
            inner = np.clip(x, core_low, core_high)
            if shape.rounding:
                x = inner + shape.rounding * (x - inner) / np.linalg.norm(x - inner, axis=1, keepdims=True)
            points.append(x)
    return np.concatenate(points)
