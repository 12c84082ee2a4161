"""Embeddings of points in meshes, from their positions at rest."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision.point_location.tet_locator import TetLocator
from meniscus.collision.proximity.queries import closest_point
from meniscus.mesh import Embedding, TetMesh, TriangleMesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.simplices import FLOAT64, Floats
from meniscus.mesh.surface_like import SurfaceLike

Outside = Literal["error", "nearest", "extrapolate"]


def embed(mesh: TetMesh | TriangleMesh | SurfaceLike, points: Floats, outside: Outside = "error", *, tolerance: float = 0.0) -> Embedding:
    """Embed points in a mesh at their positions at rest: in tetrahedra, or on triangles.

    A point in several tetrahedra belongs to the first of them. The error of the embedding is `embedding.positions(mesh.vertices) - points`.

    Args:
        mesh: at rest; also one of trimesh, meshio or PyVista.
        points: (n, 3) float64, C-contiguous, m.
        outside: treatment of points that are in no tetrahedron, or not on a triangle. "error": raise ValueError if one is farther away than
            `tolerance`, else take the nearest point of the mesh. "nearest": take the nearest point of the mesh. "extrapolate": weights
            outside of [0, 1] in the tetrahedron of the nearest face, so that the point stays where it is (not for triangle meshes).
        tolerance: m; for triangle meshes, points are never on a triangle to the last bit.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, positions that are not finite, points outside, a mesh without elements.

    Source: Lee 2018, section 2.3.1; Mueller et al., "Real time physics" course notes, 2008, section 3.6.
    """
    mesh = own_mesh(mesh)
    _checks.one_of_type("mesh", mesh, (TetMesh, TriangleMesh))
    _checks.require_finite("points", _checks.points("points", points, FLOAT64, 3))
    choice = _checks.choice("outside", outside, Outside)
    margin = _checks.number("tolerance", tolerance)
    if margin < 0:
        raise ValueError(f"tolerance must not be negative, but is {margin:g}")
    if len(mesh.elements) == 0 and len(points):
        raise ValueError("points cannot hang on a mesh without elements")
    if len(points) == 0:
        return Embedding(np.empty((0, mesh.elements.shape[1]), np.int32), np.empty((0, mesh.elements.shape[1])), len(mesh.vertices))
    if isinstance(mesh, TriangleMesh):
        if choice == "extrapolate":
            raise ValueError("points on a triangle mesh cannot be extrapolated")
        near = closest_point(mesh.vertices, mesh.elements, points)
        _require_near(near.distances, choice, margin, None)
        return Embedding(np.ascontiguousarray(mesh.elements[near.triangles]), near.barycentric, len(mesh.vertices))
    found = TetLocator(mesh.vertices, mesh.elements).locate(points)
    tets, weights = np.array(found.tets), np.array(found.barycentric)
    left = np.flatnonzero(tets < 0)
    if len(left):
        surface = mesh.boundary
        near = closest_point(mesh.vertices, surface.elements, np.ascontiguousarray(points[left]))
        _require_near(near.distances, choice, margin, left)
        owner = mesh.face_tets[mesh.boundary_faces[near.triangles], 0]
        tets[left] = owner
        corners = mesh.elements[owner]
        if choice == "extrapolate":
            weights[left] = _affine_weights(mesh.vertices[corners], points[left])
        else:
            face = surface.elements[near.triangles]
            weights[left] = ((corners[:, :, None] == face[:, None, :]) * near.barycentric[:, None, :]).sum(axis=2)
    return Embedding(np.ascontiguousarray(mesh.elements[tets]), weights, len(mesh.vertices))


def _require_near(distances: Floats, outside: str, tolerance: float, index: npt.NDArray[np.int64] | None) -> None:
    far = distances > tolerance
    if outside == "error" and far.any():
        first = int(np.argmax(far))
        number = first if index is None else int(index[first])
        raise ValueError(
            f"all points must lie in the mesh, but {int(far.sum())} do not; the first is point {number}, {distances[first]:.3g} m away"
        )


def _affine_weights(corners: Floats, x: Floats) -> Floats:
    """Return barycentric coordinates, anywhere in space."""
    sides = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    try:
        others = np.linalg.solve(sides, (x - corners[:, 0])[..., None])[..., 0]
    except np.linalg.LinAlgError:
        raise ValueError("points cannot be extrapolated from a tetrahedron without volume") from None
    weights: Floats = np.concatenate([1 - others.sum(axis=1, keepdims=True), others], axis=1)
    return weights
