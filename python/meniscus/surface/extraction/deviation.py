"""Deviation of two surfaces from each other."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus.mesh.surface_like import SurfaceLike, surface_arrays
from meniscus.surface.shapes.constructive import Floats
from meniscus.surface.shapes.mesh_distance import MeshDistance, NotWatertightWarning

_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class HausdorffDistance:
    """Largest distance from one surface to the other, in both directions, m, measured at samples.

    Attributes:
        forward: from samples of the first surface to the second.
        backward: from samples of the second surface to the first.
        spacing: m; neighbouring samples on a triangle are at most this far apart, so that the true distances are at most
            spacing / sqrt(3) larger.
    """

    forward: float
    backward: float
    spacing: float

    @property
    def distance(self) -> float:
        """The larger of both, m."""
        return max(self.forward, self.backward)


def hausdorff_distance(first: SurfaceLike | MeshDistance, second: SurfaceLike | MeshDistance, spacing: float) -> HausdorffDistance:
    """Return the Hausdorff distance of two triangle meshes, measured at dense samples.

    Args:
        first: a `TriangleMesh` or what it is made from, or a `MeshDistance`, such as the `boundary` of a tetrahedral mesh. It need not be
            watertight.
        second: such as the surface that was meshed.
        spacing: m, between samples on triangles; corners are always samples.

    Raises:
        TypeError, ValueError: other arguments, a mesh without triangles.
    """
    h = _checks.positive("spacing", spacing)
    a, b = _queries("first", first), _queries("second", second)
    return HausdorffDistance(_one_sided(a, b, h), _one_sided(b, a, h), h)


def _queries(name: str, surface: SurfaceLike | MeshDistance) -> MeshDistance:
    if isinstance(surface, MeshDistance):
        return surface
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotWatertightWarning)
        return MeshDistance(*surface_arrays(surface, name=name))


def _one_sided(source: MeshDistance, target: MeshDistance, spacing: float) -> float:
    corners: Any = source.vertices[source.triangles]
    longest = np.max([np.linalg.norm(corners[:, k] - corners[:, k - 1], axis=1) for k in range(3)], axis=0)
    # Triangles whose edges are cut into 1, 2, 4, ... parts.
    levels = np.ceil(np.log2(np.maximum(longest / spacing, 1))).astype(int)
    result = 0.0
    for level in np.unique(levels):
        n = 2 ** int(level)
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        kept = i + j <= n
        weights = np.stack([n - i[kept] - j[kept], i[kept], j[kept]], axis=1) / n
        of_level = np.flatnonzero(levels == level)
        for low in range(0, len(of_level), max(1, _AT_ONCE // len(weights))):
            part = corners[of_level[low : low + max(1, _AT_ONCE // len(weights))]]
            points: Floats = np.ascontiguousarray(np.einsum("sk,tkd->tsd", weights, part).reshape(-1, 3))
            result = max(result, float(target.closest(points).distances.max()))
    return result
