"""Surfaces of bodies, as contact sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import embed
from meniscus.mesh.embedding.embedding import Embedding
from meniscus.mesh.segment_mesh import SegmentMesh
from meniscus.mesh.surface_like import is_surface, surface_arrays
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import TriangleMesh
from meniscus.solids.body import DeformableBody

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class BodySurface:
    """Surface of a body.

    Attributes:
        edges: (e, 2), vertices of the surface; None for those of the triangles.
        triangles: (m, 3).
        nodes, weights: (v, k): each vertex is a weighted sum of nodes of the body.
        rest: (v, 3), where the vertices were when the body was added, m.
        thickness: m; None: a quarter of the mean edge.
        friction: coefficient.
    """

    edges: Ints | None
    triangles: Ints
    nodes: Ints
    weights: Floats
    rest: Floats
    thickness: float | None
    friction: float


def surface_of(body: DeformableBody, given: Any, thickness: float | None, friction: float) -> BodySurface | None:
    """Return the surface of a body, or None where it has none; arguments and errors as for `World.add`."""
    mu = _checks.number("friction", friction)
    h = None if thickness is None else _checks.number("thickness", thickness)
    if mu < 0 or (h is not None and h < 0):
        raise ValueError(f"thickness and friction must not be negative, but are {h} and {mu:g}")
    if given is None:
        return _own_surface(body, h, mu)
    embedding = None
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Embedding):
        given, embedding = given
    if isinstance(given, SegmentMesh):
        vertices, edges, triangles = np.asarray(given.vertices), given.segments, np.empty((0, 3), np.int32)
    elif is_surface(given):
        vertices, triangles = surface_arrays(given)
        edges = None
    else:
        raise TypeError(f"surface must be a mesh of triangles or segments, alone or with its Embedding, not {type(given).__name__}")
    if embedding is None and vertices.shape == body.positions.shape and np.array_equal(vertices, body.positions):
        return surface_of_nodes(body, edges, triangles, h, mu)
    if embedding is None:
        embedding = _embedded(body, vertices)
    if len(embedding.parents) != len(vertices) or embedding.parents.max(initial=0) >= len(body):
        raise ValueError(f"the embedding must have {len(vertices)} points in the {len(body)} nodes of the body")
    parents, weights = np.array(embedding.parents), np.array(embedding.weights, np.float64)
    rest = np.einsum("vk,vkd->vd", weights, body.positions[parents])
    return BodySurface(edges, triangles, parents, weights, rest, h, mu)


def _own_surface(body: DeformableBody, thickness: float | None, friction: float) -> BodySurface | None:
    elements = body.elements
    if elements is None:
        return None
    if elements.shape[1] == 2:
        return surface_of_nodes(body, elements, np.empty((0, 3), np.int32), thickness, friction)
    triangles = elements if elements.shape[1] == 3 else TetMesh(body.positions, elements).boundary.triangles
    return surface_of_nodes(body, None, triangles, thickness, friction)


def surface_of_nodes(body: Any, edges: Ints | None, triangles: Ints, thickness: float | None, friction: float) -> BodySurface:
    """Return a surface of nodes of a body with `positions`, numbered without those that are in no element."""
    used = np.unique(triangles if edges is None else np.concatenate([edges.ravel(), triangles.ravel()])).astype(np.int32)

    def numbered(elements: Ints) -> Ints:
        return np.searchsorted(used, elements).astype(np.int32)

    own = None if edges is None else numbered(edges)
    rest = body.positions[used]
    return BodySurface(own, numbered(triangles), used[:, None], np.ones((len(used), 1)), rest, thickness, friction)


def _embedded(body: DeformableBody, vertices: Floats) -> Embedding:
    elements = body.elements
    if elements is None or elements.shape[1] == 2:
        raise ValueError("a surface hangs in a body of triangles or tetrahedra; for others give (surface, Embedding)")
    mesh = TetMesh(body.positions, elements) if elements.shape[1] == 4 else TriangleMesh(body.positions, elements)
    return embed(mesh, np.ascontiguousarray(vertices), "nearest")
