"""Surfaces of the bodies of a world in real time, as contact sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.reduced.reduced_body import ReducedBody
from meniscus.solids.rigid.forms import ContactForm
from meniscus.solids.rigid.rigid_body import RigidBody

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_THICKNESS = 0.25
"""Thickness where none is given, relative to the mean edge."""


class WorldSurface(NamedTuple):
    """Surface of a body.

    Attributes:
        nodes: (n,), nodes of the vertices in the body.
        rest: (n, 3), m.
        edges: (e, 2), over the vertices.
        triangles: (m, 3), over the vertices.
        thickness: m.
        friction: coefficient.
        closed: whether it has an outside.
    """

    nodes: Ints
    rest: Floats
    edges: Ints
    triangles: Ints
    thickness: float
    friction: float
    closed: bool


def surface_of(body: Any, thickness: float | None, friction: float) -> WorldSurface:
    """Return the surface of a body; one without vertices for a rigid body without a mesh."""
    mesh: Any
    if isinstance(body, ReducedBody):
        mesh = TetMesh(body.model.rest_positions, body.model.tets)
        positions = body.model.rest_positions
    elif isinstance(body, RigidBody):
        mesh = body.mesh
        positions = np.empty((0, 3)) if mesh is None else mesh.vertices - body.properties.center
    else:
        mesh = body.mesh
        positions = np.asarray(mesh if isinstance(mesh, np.ndarray) else mesh.vertices, np.float64)
    own = mesh.boundary if isinstance(mesh, TetMesh) else mesh
    if isinstance(own, TriangleMesh):
        edges, triangles = np.asarray(own.edges), np.asarray(own.triangles)
    elif isinstance(own, SegmentMesh):
        edges, triangles = np.asarray(own.segments), np.empty((0, 3), np.int32)
    else:
        edges, triangles = np.empty((0, 2), np.int32), np.empty((0, 3), np.int32)
    alone = isinstance(body, PositionBody) and not len(edges)
    nodes = np.arange(len(positions)) if alone else np.unique(np.concatenate([edges.ravel(), triangles.ravel()]))
    rest = np.ascontiguousarray(positions[nodes], np.float64)
    edges, triangles = np.searchsorted(nodes, edges).astype(np.int32), np.searchsorted(nodes, triangles).astype(np.int32)
    lengths = np.linalg.norm(rest[edges[:, 1]] - rest[edges[:, 0]], axis=1)
    rigid = isinstance(body, RigidBody)
    closed = isinstance(own, TriangleMesh) and own.check_watertight().watertight and own.volume() > 0
    usual = 0.0 if rigid or not len(lengths) else _THICKNESS * float(lengths.mean())
    return WorldSurface(nodes.astype(np.int32), rest, edges, triangles, usual if thickness is None else thickness, friction, closed)


def is_convex_form(body: RigidBody, form: ContactForm | None) -> bool:
    """Return whether the form of a rigid body is convex, and that of its surface: not the hull of a body that has hollows."""
    if form is None or form.kind not in ("rounded", "convex"):
        return False
    mesh = body.mesh.boundary if isinstance(body.mesh, TetMesh) else body.mesh
    if body.shape is not None or not isinstance(mesh, TriangleMesh):
        return True
    own = TriangleMesh(form.vertices, form.triangles).volume()
    return abs(own - mesh.volume()) <= 1e-6 * own


class JoinedSurfaces(NamedTuple):
    """Surfaces of several bodies as one: as the core takes them."""

    edges: Ints
    triangles: Ints
    rest: Floats
    thickness: Floats
    friction: Floats
    first: list[int]


def joined(surfaces: Sequence[WorldSurface]) -> JoinedSurfaces:
    """Return surfaces as one, one after the other."""
    sizes = [len(s.nodes) for s in surfaces]
    first = [0, *np.cumsum(sizes).tolist()]
    return JoinedSurfaces(
        np.concatenate([np.empty((0, 2), np.int32), *(s.edges + a for s, a in zip(surfaces, first, strict=False))]).astype(np.int32),
        np.concatenate([np.empty((0, 3), np.int32), *(s.triangles + a for s, a in zip(surfaces, first, strict=False))]).astype(np.int32),
        np.concatenate([np.empty((0, 3)), *(s.rest for s in surfaces)]),
        np.repeat([s.thickness for s in surfaces], sizes).astype(np.float64),
        np.repeat([s.friction for s in surfaces], sizes).astype(np.float64),
        first,
    )
