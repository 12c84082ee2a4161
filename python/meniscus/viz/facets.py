"""Shaded triangles as seen from far away, the nearest over the others, through matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.viz.picture import figure as figure_of_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]


class Sight:
    """A direction of sight, and the plane of the picture.

    Args:
        eye: direction from what is seen towards the eye.
        up: direction that points up in the picture.

    Raises:
        TypeError, ValueError: no vectors, or no two directions.
    """

    def __init__(self, eye: Sequence[float], up: Sequence[float]) -> None:
        towards, upward = np.array(_checks.vector("eye", eye, 3)), np.array(_checks.vector("up", up, 3))
        right = np.cross(upward, towards)
        if not np.linalg.norm(right) > 0:
            raise ValueError(f"eye and up must be two directions, not {eye!r} and {up!r}")
        self.toward: Floats = towards / np.linalg.norm(towards)
        right /= np.linalg.norm(right)
        above = np.cross(self.toward, right)
        self.screen: Floats = np.stack([right, above], axis=1)
        light = self.toward + 0.6 * above - 0.4 * right
        self.light: Floats = light / np.linalg.norm(light)

    def normals(self, corners: Floats) -> Floats:
        """Return the unit normals (n, 3) of triangles (n, 3, 3), zero for those without area."""
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        result: Floats = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0)
        return result


def draw(
    sight: Sight,
    corners: Floats,
    colors: Floats,
    edges: Floats,
    shown: Floats,
    *,
    ambient: float,
    title: str,
    size: tuple[float, float],
    dots: Floats | None = None,
) -> Figure:
    """Return a figure of triangles in the light from above the eye.

    Args:
        sight: from where they are seen.
        corners: (n, 3, 3), m.
        colors: (n, 3), red, green and blue from 0 to 1, in full light.
        edges: (n,), brightness of the edges of each triangle beside that of the triangle; 1: no edges are seen.
        shown: (k, 3), m, points that the picture holds.
        ambient: share of the light that comes from everywhere.
        title: above the picture.
        size: width and height of the figure, inches.
        dots: (d, 3), m, over the triangles.
    """
    from matplotlib.collections import PolyCollection

    shade = ambient + (1.0 - ambient) * np.abs(sight.normals(corners) @ sight.light)
    order = np.argsort(corners.mean(axis=1) @ sight.toward, kind="stable")
    fill = np.clip((colors * shade[:, None])[order], 0.0, 1.0)
    figure = figure_of_size(*_checks.vector("size", size, 2))
    axes = figure.add_subplot()
    lines = edges[order, None] * fill
    axes.add_collection(PolyCollection(list((corners @ sight.screen)[order]), facecolors=fill, edgecolors=lines, linewidths=0.3))
    if dots is not None:
        at = dots @ sight.screen
        axes.scatter(at[:, 0], at[:, 1], s=1.5, c="k", linewidths=0, zorder=2)
    frame = shown @ sight.screen
    low, high = frame.min(axis=0), frame.max(axis=0)
    margin = 0.04 * max(float((high - low).max()), 1e-9)
    axes.set_xlim(low[0] - margin, high[0] + margin)
    axes.set_ylim(low[1] - margin, high[1] + margin)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title)
    return figure


def corners_of(box: object) -> Floats:
    """Return the eight corners of a box given as its lowest and highest corner. Raises TypeError or ValueError for something else."""
    if not isinstance(box, (Sequence, np.ndarray)) or np.shape(box) != (2, 3):
        raise TypeError(f"box must be the lowest and the highest corner of a box, not {box!r}")
    ends = [_checks.vector("box", corner, 3) for corner in box]
    corners: Floats = np.array(np.meshgrid(*zip(*ends, strict=True))).reshape(3, -1).T
    return corners
