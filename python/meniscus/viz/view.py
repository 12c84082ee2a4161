"""Camera of the ray tracers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meniscus import _checks
from meniscus.viz.optics import Floats, normalized
from meniscus.viz.smoke import Camera


class View:
    """Eye, axes and scale of a camera that contains a box, in metres."""

    def __init__(self, low: Floats, high: Floats, axis: int, camera: Camera, size: tuple[int, int]) -> None:
        if abs(camera.elevation) > 89:
            raise ValueError(f"elevation must be from -89 to 89 degrees, not {camera.elevation:g}")
        azimuth, elevation = np.radians(camera.azimuth), np.radians(camera.elevation)
        self.up = np.eye(3)[axis]
        side = np.eye(3)[1 if axis == 0 else 0]
        front = np.cross(side, self.up)
        self.right = np.cos(azimuth) * side - np.sin(azimuth) * front
        level = np.sin(azimuth) * side + np.cos(azimuth) * front
        self.back = np.cos(elevation) * level + np.sin(elevation) * self.up
        self.level = level
        self.above = np.cross(self.back, self.right)
        self.width, self.height = (_checks.integer("size", n, 16) for n in size)
        diagonal = float(np.linalg.norm(high - low)) or 1.0
        self.eye = (low + high) / 2 + max(_checks.positive("distance", camera.distance), 0.75) * diagonal * self.back
        ends = np.stack([low, high])
        corners = np.array([[ends[i >> d & 1, d] for d in range(3)] for i in range(8)])
        seen, _ = self.project(corners, unit=True)
        first, last = seen.min(axis=0), seen.max(axis=0)
        span = np.maximum(last - first, 1e-9)
        self.scale = 0.9 * _checks.positive("zoom", camera.zoom) * min(self.width / span[0], self.height / span[1])
        self.middle = (first + last) / 2

    def direction(self, parts: Sequence[float]) -> Floats:
        """Return a direction given as (right, up, towards the camera), level with the horizon."""
        result: Floats = normalized((parts[0] * self.right + parts[1] * self.up + parts[2] * self.level)[None])[0]
        return result

    def project(self, points: Floats, *, unit: bool = False) -> tuple[Floats, Floats]:
        """Return pixels (n, 2) from the upper left corner (or places on the plane at distance 1) and the depth of points."""
        x = points - self.eye
        depth = -(x @ self.back)
        place = np.stack([x @ self.right, x @ self.above], axis=1) / np.maximum(depth, 1e-9)[:, None]
        if unit:
            return place, depth
        place = (place - self.middle) * self.scale
        return np.stack([self.width / 2 + place[:, 0], self.height / 2 - place[:, 1]], axis=1), depth

    def rays(self, samples: int) -> Floats:
        """Return unit directions (n, 3), row by row."""
        x = (np.arange(self.width * samples) + 0.5) / samples
        y = (np.arange(self.height * samples) + 0.5) / samples
        px = (x - self.width / 2) / self.scale + self.middle[0]
        py = (self.height / 2 - y) / self.scale + self.middle[1]
        d = px[None, :, None] * self.right + py[:, None, None] * self.above - self.back
        return normalized(d.reshape(-1, 3))
