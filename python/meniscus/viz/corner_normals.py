"""Normals for smooth shading of triangle meshes with edges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.viz.optics import Floats, dot, normalized

_EDGE = 0.8  # cosine of the angle from which on two triangles form an edge


def corner_normals(vertices: Floats, triangles: npt.NDArray[np.int32], across: Floats, given: Floats | None) -> Floats:
    """Return the normal (m, 3, 3) at each corner of each triangle: that of its vertex, or where the surface has an edge there, the mean
    over those triangles at the vertex that face the same way. `across` are normals as long as twice the areas."""
    at_vertex = np.zeros_like(vertices)
    for i in range(3):
        np.add.at(at_vertex, triangles[:, i], across)
    if given is not None:
        at_vertex[: len(given)] = given
    flat = normalized(across)
    result = normalized(at_vertex)[triangles]
    on_edge = np.zeros(len(vertices), bool)
    on_edge[triangles[np.einsum("ik,ijk->ij", flat, result) < _EDGE]] = True
    corner = np.flatnonzero(on_edge[triangles.ravel()])
    if not len(corner):
        return result
    # The stars of all vertices, then every pair of a corner at an edge and a triangle of its star.
    order = np.argsort(triangles.ravel(), kind="stable")
    counts = np.bincount(triangles.ravel(), minlength=len(vertices))
    starts = np.cumsum(counts) - counts
    vertex = triangles.ravel()[corner]
    sizes = counts[vertex]
    first = np.repeat(np.arange(len(corner)), sizes)
    place = np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    other = order[starts[vertex[first]] + place] // 3
    alike = dot(flat[corner[first] // 3], flat[other]) > _EDGE
    sums = np.zeros((len(corner), 3))
    np.add.at(sums, first[alike], across[other[alike]])
    result.reshape(-1, 3)[corner] = normalized(sums)
    return result
