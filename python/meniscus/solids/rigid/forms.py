"""What contact sees of rigid bodies and of obstacles: exact forms, convex polyhedra, meshes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import solids as _solids
from meniscus.mesh import TetMesh, TriangleMesh
from meniscus.solids.rigid.rigid_body import RigidBody, hull_of
from meniscus.solids.rigid.rigid_options import RigidFormKind
from meniscus.surface import Box, Capsule, HalfSpace, Shape, Sphere

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# Relative to the size of a mesh: it counts as convex where no vertex is farther above the plane of a triangle.
_CONVEX = 1e-9
# Of the mean edge: the thickness of a mesh where none is given.
_THICKNESS = 0.1
# Sides of a box by its corners, which are numbered by the signs of x, y and z: bits 0, 1 and 2.
_SIDES = np.array([[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]])


@dataclass(frozen=True)
class ContactForm:
    """What contact sees of a body, around the centre of mass, in axes of the rest pose. Pickles what it was made from.

    Attributes:
        kind: "rounded": all points within `radius` of one or two points; "half_space"; "convex": a polyhedron; "mesh".
        vertices: (n, 3), points that contact with solids takes, m; of a half-space a point of its plane.
        triangles: (m, 3) of a polyhedron or mesh; empty otherwise.
        radius: m.
        thickness: m.
        closed: whether a mesh has an inside.
        normal: of a half-space.
    """

    kind: Literal["rounded", "half_space", "convex", "mesh"]
    vertices: Floats
    triangles: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    radius: float = 0.0
    thickness: float = 0.0
    closed: bool = True
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        """Make the forms of the core."""
        made, x, t = _solids.RigidForm, self.vertices, self.triangles
        surface: Any = None
        if self.kind == "rounded":
            core = made.rounded(x, self.radius)
        elif self.kind == "half_space":
            core = made.half_space(tuple(x[0].tolist()), self.normal)
        elif self.kind == "convex":
            core, surface = made.polyhedron(x, t), made.surface(x, t, True)
        else:
            core = made.surface(x, t, self.closed)
        object.__setattr__(self, "core", core)
        object.__setattr__(self, "surface", surface)

    core: Any = field(init=False, repr=False, compare=False)
    """The form of the core."""
    surface: Any = field(init=False, repr=False, compare=False)
    """A polyhedron's surface, for contact with meshes."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the forms of the core."""
        return ContactForm, (self.kind, self.vertices, self.triangles, self.radius, self.thickness, self.closed, self.normal)


def box_mesh(lower: npt.ArrayLike, upper: npt.ArrayLike) -> tuple[Floats, Ints]:
    """Return vertices (8, 3) and triangles (12, 3) of a box."""
    a, b = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    signs = np.array([[(k >> d) & 1 for d in range(3)] for k in range(8)])
    triangles = np.array([t for p, q, r, s in _SIDES for t in ((p, q, r), (p, r, s))], np.int32)
    return a + signs * (b - a), triangles


def form_of_shape(shape: Shape | None, center: Floats, thickness: float) -> ContactForm | None:
    """Return the exact form of a shape, or None where it has none."""
    if isinstance(shape, Sphere) and len(shape.center) == 3:
        return ContactForm("rounded", np.array([shape.center], np.float64) - center, radius=shape.radius, thickness=thickness)
    if isinstance(shape, Capsule) and len(shape.start) == 3:
        ends = np.array([shape.start, shape.end], np.float64) - center
        return ContactForm("rounded", ends, radius=shape.radius, thickness=thickness)
    if isinstance(shape, Box) and len(shape.lower) == 3 and shape.rounding == 0:
        vertices, triangles = box_mesh(shape.lower, shape.upper)
        return ContactForm("convex", vertices - center, triangles, thickness=thickness)
    if isinstance(shape, HalfSpace) and len(shape.point) == 3:
        x, y, z = map(float, shape.normal)
        return ContactForm("half_space", np.array([shape.point], np.float64) - center, thickness=thickness, normal=(x, y, z))
    return None


def form_of_mesh(mesh: TriangleMesh, center: Floats, thickness: float | None, kind: RigidFormKind, what: str) -> ContactForm:
    """Return the form of a surface; `what` names it in errors."""
    x, t = np.ascontiguousarray(mesh.vertices - center), np.ascontiguousarray(mesh.triangles, np.int32)
    closed = mesh.check_watertight().watertight
    size = float(np.linalg.norm(np.ptp(x, axis=0)))
    convex = closed and len(t) <= 5000 and _solids.RigidForm.is_convex(x, t, _CONVEX * size)
    if kind == "convex" and not convex:
        raise ValueError(f'{what} has no closed convex surface, which form="convex" asks for')
    if convex and kind != "mesh":
        try:
            return ContactForm("convex", x, t, thickness=0.0 if thickness is None else thickness)
        except ValueError:
            # A face with very many corners.
            if kind == "convex":
                raise
    if thickness is None:
        ends = x[t[:, [0, 1, 2]]] - x[t[:, [1, 2, 0]]]
        thickness = _THICKNESS * float(np.linalg.norm(ends, axis=2).mean())
    if not thickness > 0:
        raise ValueError(f"{what} touches as a mesh, which needs a positive thickness")
    return ContactForm("mesh", x, t, thickness=thickness, closed=closed)


def form_of_body(body: RigidBody, kind: RigidFormKind, thickness: float | None) -> ContactForm:
    """Return what contact sees of a body. Raises ValueError for a body without a shape or surface."""
    center = body.properties.center
    if kind not in ("mesh", "hull"):
        exact = form_of_shape(body.shape, center, 0.0 if thickness is None else thickness)
        if exact is not None:
            return exact
    mesh = body.mesh.boundary if isinstance(body.mesh, TetMesh) else body.mesh
    if kind == "hull" and body.mesh is not None:
        return form_of_mesh(hull_of(body.mesh.vertices), center, thickness, "convex", "the hull of the body")
    if not isinstance(mesh, TriangleMesh):
        raise ValueError("contact of a rigid body needs a shape or a mesh of triangles or tetrahedra, which the body has not")
    return form_of_mesh(mesh, center, thickness, kind, "the body")
