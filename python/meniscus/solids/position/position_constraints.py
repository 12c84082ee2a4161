"""Constraints of position based dynamics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.arrays import index_rows, integers
from meniscus.solids.force import hinges_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
PositionConstraintKind = Literal["distance", "isometric-bending", "dihedral-angle", "printed-angle", "tet-volume", "neo-hookean"]
"""What a set of constraints says of its nodes."""
POSITION_CONSTRAINT_KIND = CoreOption(PositionConstraintKind, _solids.PositionConstraintKind)
BendingMeasure = Literal["isometric", "dihedral", "printed"]
"""What bending constraints measure."""

_KINDS: dict[str, PositionConstraintKind] = {
    "isometric": "isometric-bending",
    "dihedral": "dihedral-angle",
    "printed": "printed-angle",
}


class PositionConstraint(ABC):
    """Base of what `PositionBody.add` takes: something that corrects positions of nodes."""

    stiffness: float

    @abstractmethod
    def projector(self, body: Any) -> Projector:
        """Return what projects the constraints of a body of so many nodes, type and masses."""

    def settings(self) -> Floats:
        """Return numbers that may change between steps, and by that wake a body."""
        return np.array([float(getattr(self, "compliance", 0.0)), float(getattr(self, "pressure", 0.0)), self.stiffness])

    def __len__(self) -> int:
        """Return the number of constraints."""
        return 1


class Projector:
    """Projects constraints of one body; holds their multipliers.

    Args:
        core: compiled constraints with `project` and `clear_multipliers`.
        constraint: what is projected.

    Attributes:
        ordered: whether constraints are projected one after the other, so that their order matters.
    """

    ordered = True

    def __init__(self, core: Any, constraint: PositionConstraint) -> None:
        self.core, self.constraint = core, constraint

    def begin(self) -> None:
        """Begin a substep."""
        self.core.clear_multipliers()

    def project(self, nodes: Any, dt: float, part: float, times: int, averaged: bool, backward: bool) -> None:
        """Project all constraints, with a part of each correction; dt (s) is infinite where compliance has no effect.

        `backward` turns the order of colours around.
        """
        if averaged:
            self.core.project_averaged(nodes, dt, part, times, backward)
        else:
            self.core.project(nodes, dt, part, times, backward)


class PositionConstraints(PositionConstraint):
    """Base of sets of constraints: rows of nodes, and rows of values that say what holds between them.

    Args:
        kind: what the constraints are.
        nodes: (m, corners).
        values: (m, k), as the compiled core takes them.
        stiffness: of the printed method, from 0 to 1; compliances have no effect there.
    """

    def __init__(self, kind: PositionConstraintKind, nodes: Ints, values: Floats, stiffness: float = 1.0) -> None:
        self.kind = kind
        self.nodes = integers("nodes", nodes, 2)
        self.values = np.ascontiguousarray(_checks.numbers("values", values))
        self.stiffness = checked_stiffness(stiffness)

    def __len__(self) -> int:
        """Return their number."""
        return len(self.nodes)

    def projector(self, body: Any) -> Projector:
        """Return what projects them."""
        make: Any = _solids.PositionConstraintsFloat32 if body.dtype == np.float32 else _solids.PositionConstraintsFloat64
        values = np.ascontiguousarray(self.values, body.dtype)
        return Projector(make(POSITION_CONSTRAINT_KIND("kind", self.kind), self.nodes, values, np.zeros(len(body), np.uint8)), self)


class DistanceConstraints(PositionConstraints):
    """Edges that keep their lengths.

    Args:
        mesh: a mesh, whose edges are taken; or positions (n, 3), m, together with `edges`.
        edges: (m, 2), in place of those of the mesh.
        compliance: m/N of a stretched edge, 0: it does not stretch; a number or one per edge.
        compression: the same of a compressed edge; default `compliance`; infinite: it is slack.
        limits: the least and the greatest length, relative to that at rest, between which nothing happens.
        stiffness: of the printed method, from 0 to 1.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Müller, Stam, James and Thürey 2008, section 5.4.1; Macklin, Müller and Chentanez 2016 (compliance).
    """

    def __init__(
        self,
        mesh: Any,
        *,
        edges: Ints | None = None,
        compliance: float | Floats = 0.0,
        compression: float | Floats | None = None,
        limits: Sequence[float] = (1.0, 1.0),
        stiffness: float = 1.0,
    ) -> None:
        x, rows = _edges_of(mesh, edges)
        lengths = np.linalg.norm(x[rows[:, 0]] - x[rows[:, 1]], axis=1)
        low, high = _checks.vector("limits", limits, 2)
        if not 0 <= low <= high:
            raise ValueError(f"limits must be ascending and not negative, not {limits!r}")
        soft = _compliances("compliance", compliance, len(rows))
        pressed = soft if compression is None else _compliances("compression", compression, len(rows))
        super().__init__("distance", rows, np.stack([low * lengths, high * lengths, soft, pressed], axis=1), stiffness)


class BendingConstraints(PositionConstraints):
    """Pairs of triangles that keep their angle.

    Args:
        mesh: triangles at rest.
        compliance: 0: they do not bend; a number or one per pair. m^2/J for the measure "isometric", rad^2/J otherwise.
        measure: "isometric": the squared mean curvature vector at the edge, polynomial and cheap, for sheets that hardly stretch;
            "dihedral": the signed angle; "printed": the angle by its cosine, which cannot tell up from down, and in a flat sheet, where
            its gradient does not exist, does nothing.
        stiffness: of the printed method, from 0 to 1.

    Raises:
        TypeError, ValueError: wrong types or values, a triangle without area at an edge.

    Source: Müller, Stam, James and Thürey 2008, section 5.4.2; Bender et al. 2014 (isometric).
    """

    def __init__(
        self, mesh: Any, *, compliance: float | Floats = 0.0, measure: BendingMeasure = "isometric", stiffness: float = 1.0
    ) -> None:
        mesh = _checks.one_of_type("mesh", own_mesh(mesh), TriangleMesh)
        kind = _KINDS[_checks.choice("measure", measure, BendingMeasure)]
        rows = hinges_of(mesh)
        _require_areas(mesh, rows)
        soft = _compliances("compliance", compliance, len(rows))
        x = mesh.vertices[rows]
        values = np.concatenate([_isometric_rest(x), soft[:, None]], axis=1)
        if kind != "isometric-bending":
            values = np.stack([_signed_angles(x) if kind == "dihedral-angle" else _printed_angles(x), soft], axis=1)
        super().__init__(kind, rows, values, stiffness)


class VolumeConstraints(PositionConstraints):
    """Tetrahedra that keep their volumes, and turn back where they are inverted.

    The constraint is the volume over that at rest to the power of 2/3, a length, so that a compliance (m/N) means the same for
    tetrahedra of all sizes.

    Args:
        mesh: tetrahedra at rest.
        compliance: m/N, a number or one per tetrahedron.
        stiffness: of the printed method, from 0 to 1.

    Source: Müller, Stam, James and Thürey 2008, section 5.4.4.
    """

    def __init__(self, mesh: Any, *, compliance: float | Floats = 0.0, stiffness: float = 1.0) -> None:
        mesh = _checks.one_of_type("mesh", own_mesh(mesh), TetMesh)
        volumes = _rest_volumes(mesh)
        soft = _compliances("compliance", compliance, len(volumes))
        super().__init__("tet-volume", mesh.tets, np.stack([volumes, volumes ** (-2 / 3), soft], axis=1), stiffness)


class NeoHookeanConstraints(PositionConstraints):
    """Tetrahedra of the stable neo-Hookean material, which turn back where they are flat or inverted.

    Each keeps the forces it exerts and solves for its own end of a step of implicit Euler, so that stiff ones are stable. The energy is
    that of `TetElements(material="neo-hookean")`, to whose equilibria bodies settle.

    Args:
        mesh: tetrahedra at rest.
        youngs_modulus: Pa, positive; a number or one per tetrahedron.
        poissons_ratio: above -1 and below 1/2; a number or one per tetrahedron.

    Raises:
        TypeError, ValueError: wrong types or values, a tetrahedron without positive volume at rest. The printed method, which knows no
            compliance, has no such constraints: steps of it raise ValueError.

    Source: Macklin and Müller, "A constraint-based formulation of stable neo-Hookean materials", 2021; Smith, de Goes and Kim, "Stable
    neo-Hookean flesh simulation", 2018.
    """

    def __init__(self, mesh: Any, *, youngs_modulus: float | Floats, poissons_ratio: float | Floats = 0.3) -> None:
        mesh = _checks.one_of_type("mesh", own_mesh(mesh), TetMesh)
        volumes = _rest_volumes(mesh)
        n = len(volumes)
        young, poisson = (np.asarray(a, np.float64) for a in (youngs_modulus, poissons_ratio))
        if young.shape not in ((), (n,)) or not ((young > 0) & np.isfinite(young)).all():
            raise ValueError(f"youngs_modulus must be one positive number, or one for each of the {n} tetrahedra")
        if poisson.shape not in ((), (n,)) or not ((poisson > -1) & (poisson < 0.5)).all():
            raise ValueError(f"poissons_ratio must be above -1 and below 1/2, one number or one for each of the {n} tetrahedra")
        shear, lame = young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))
        m, bulk = 4 / 3 * shear, lame + 5 / 6 * shear
        x = mesh.vertices[mesh.tets]
        inverse = np.linalg.inv(np.swapaxes(x[:, 1:] - x[:, :1], 1, 2)).reshape(n, 9)
        rest = 1 + m / bulk - m / (4 * bulk)
        values = np.stack([np.broadcast_to(a, (n,)) for a in (1 / (m * volumes), 1 / (bulk * volumes), rest)], axis=1)
        super().__init__("neo-hookean", mesh.tets, np.concatenate([inverse, values], axis=1))


class ClosedVolumeConstraint(PositionConstraint):
    """The inside of a closed surface keeps its volume, as air in a balloon does.

    Args:
        mesh: a closed surface at rest.
        pressure: the volume that it is to have, over that at rest.
        compliance: m^6/J: the volume over the pressure above that of the surroundings.
        stiffness: of the printed method, from 0 to 1.

    Raises:
        TypeError, ValueError: wrong types or values; a surface that is not closed, or inside out.

    Source: Müller, Heidelberger, Hennix and Ratcliff, "Position based dynamics", 2006, section 4.4.
    """

    def __init__(self, mesh: Any, *, pressure: float = 1.0, compliance: float = 0.0, stiffness: float = 1.0) -> None:
        mesh = _checks.one_of_type("mesh", own_mesh(mesh), TriangleMesh)
        faults = mesh.check_watertight()
        if not faults.watertight:
            raise ValueError(f"a surface that holds a volume must be closed, but has {faults.faults()}")
        rest = mesh.volume()
        if not rest > 0:
            raise ValueError("the surface is inside out: its triangles must be counter-clockwise as seen from outside")
        self.triangles = np.ascontiguousarray(mesh.triangles)
        self.nodes = np.unique(mesh.triangles).astype(np.int32)
        self.rest_volume = rest
        self.pressure = _checks.positive("pressure", pressure)
        self.compliance = _checks.number("compliance", compliance)
        self.stiffness = checked_stiffness(stiffness)
        if self.compliance < 0:
            raise ValueError("compliance must not be negative")

    def projector(self, body: Any) -> Projector:
        """Return what projects the volume."""
        return _VolumeProjector(self, body)


class AttachmentConstraints(PositionConstraint):
    """Nodes that are pulled to places.

    Args:
        nodes: (k,), each once.
        targets: (k, 3), m; writable and assignable, which wakes the body.
        compliance: m/N; 0: they are at their places at the end of each step.
        stiffness: of the printed method, from 0 to 1.
    """

    def __init__(self, nodes: npt.ArrayLike, targets: npt.ArrayLike, *, compliance: float = 0.0, stiffness: float = 1.0) -> None:
        self.nodes = integers("nodes", nodes, 1)
        if self.nodes.ndim != 1 or len(np.unique(self.nodes)) != len(self.nodes):
            raise ValueError("nodes must be a list of different nodes")
        self.targets = targets
        self.compliance = _checks.number("compliance", compliance)
        self.stiffness = checked_stiffness(stiffness)
        if self.compliance < 0:
            raise ValueError("compliance must not be negative")

    @property
    def targets(self) -> Floats:
        """Places (k, 3), m."""
        return self._targets

    @targets.setter
    def targets(self, value: npt.ArrayLike) -> None:
        given = np.array(_checks.numbers("targets", value))
        if given.shape != (len(self.nodes), 3):
            raise ValueError(f"targets must have shape (k, 3) for k different nodes, not {given.shape}")
        _checks.require_finite("targets", given)
        self._targets = given

    def settings(self) -> Floats:
        """Return what may change: the places."""
        return self._targets

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    def projector(self, body: Any) -> Projector:
        """Return what projects them."""
        return _TargetProjector(self, body)


class _VolumeProjector(Projector):
    ordered = False

    def __init__(self, constraint: ClosedVolumeConstraint, body: Any) -> None:
        require_nodes(constraint.nodes, len(body))
        super().__init__(_solids.PositionConstraintsFloat32 if body.dtype == np.float32 else _solids.PositionConstraintsFloat64, constraint)
        self._of, self._gradient, self._multiplier = constraint, np.zeros((len(body), 3)), 0.0

    def begin(self) -> None:
        self._multiplier = 0.0

    def project(self, nodes: Any, dt: float, part: float, times: int, averaged: bool, backward: bool) -> None:
        c = self._of
        for _ in range(times):
            self._multiplier = self.core.project_closed_volume(
                c.triangles, c.nodes, c.pressure * c.rest_volume, c.compliance, self._multiplier, nodes, self._gradient, dt, part
            )


class _TargetProjector(Projector):
    ordered = False

    def __init__(self, constraint: AttachmentConstraints, body: Any) -> None:
        require_nodes(constraint.nodes, len(body))
        super().__init__(_solids, constraint)
        self._of, self._multipliers = constraint, np.zeros((len(constraint.nodes), 3))

    def begin(self) -> None:
        self._multipliers[...] = 0

    def project(self, nodes: Any, dt: float, part: float, times: int, averaged: bool, backward: bool) -> None:
        c = self._of
        for _ in range(times):
            _solids.project_targets(nodes, c.nodes, c.targets, self._multipliers, c.compliance, dt, part)


def checked_stiffness(value: float) -> float:
    """Return a stiffness of the printed method; ValueError for one that is not from 0 to 1."""
    stiffness = _checks.number("stiffness", value)
    if not 0 <= stiffness <= 1:
        raise ValueError(f"stiffness must be from 0 to 1, not {value!r}")
    return stiffness


def require_nodes(nodes: Ints, size: int) -> None:
    """Raise ValueError for nodes that a body of so many does not have."""
    if len(nodes) and not 0 <= nodes.min() <= nodes.max() < size:
        raise ValueError(f"the constraint names nodes beyond the {size} of the body")


def _rest_volumes(mesh: TetMesh) -> Floats:
    volumes = mesh.volumes
    if not (volumes > 0).all():
        raise ValueError(f"tetrahedron {int(np.argmin(volumes))} has no positive volume at rest")
    return volumes


def _compliances(name: str, value: float | Floats, n: int) -> Floats:
    a = np.asarray(value, np.float64)
    if a.shape not in ((), (n,)) or np.isnan(a).any() or (a < 0).any():
        raise ValueError(f"{name} must be one number that is not negative, or one for each of the {n} constraints")
    return np.ascontiguousarray(np.broadcast_to(a, (n,)))


def _edges_of(mesh: Any, edges: Ints | None) -> tuple[Floats, Ints]:
    if edges is not None:
        x = np.asarray(getattr(mesh, "vertices", mesh), np.float64)
        rows = index_rows("edges", edges, 2)
        if rows.size and not 0 <= rows.min() <= rows.max() < len(x):
            raise ValueError(f"edges must have shape (m, 2) and name the {len(x)} positions")
        return x, rows
    own = _checks.one_of_type("mesh", own_mesh(mesh), (TriangleMesh, TetMesh, SegmentMesh))
    return own.vertices, np.asarray(own.segments if isinstance(own, SegmentMesh) else own.edges, np.int32)


def _require_areas(mesh: TriangleMesh, hinges: Ints) -> None:
    """Raise ValueError that names a triangle at a hinge that has no area at rest, and therefore no angle with the next one."""
    for k in (2, 3):
        corners = mesh.vertices[hinges[:, [0, 1, k]]]
        longest = np.square(corners - corners[:, [1, 2, 0]]).sum(axis=2).max(axis=1, initial=0.0)
        flat = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) <= 1e-14 * longest
        if flat.any():
            found = np.sort(hinges[int(np.argmax(flat)), [0, 1, k]])
            t = int(np.argmax((np.sort(mesh.triangles, axis=1) == found).all(axis=1)))
            raise ValueError(f"triangle {t} has no area at rest and therefore no angle with the next one; mesh.repair takes it out")


def _isometric_rest(x: Floats) -> Floats:
    """Return the coefficients k (m, 4) and the value of C at rest."""
    a, b, c, d = (x[:, k] for k in range(4))
    e = b - a

    def cot(u: Floats, v: Floats) -> Floats:
        result: Floats = np.einsum("md,md->m", u, v) / np.linalg.norm(np.cross(u, v), axis=1)
        return result

    areas = 0.5 * (np.linalg.norm(np.cross(e, c - a), axis=1) + np.linalg.norm(np.cross(e, d - a), axis=1))
    c01, c02 = cot(e, c - a), cot(e, d - a)
    c03, c04 = cot(-e, c - b), cot(-e, d - b)
    k = np.stack([c03 + c04, c01 + c02, -c01 - c03, -c02 - c04], axis=1) * np.sqrt(3 / areas)[:, None]
    s = np.einsum("mk,mkd->md", k, x)
    return np.concatenate([k, 0.5 * (s * s).sum(axis=1, keepdims=True)], axis=1)


def _signed_angles(x: Floats) -> Floats:
    a, b, c, d = (x[:, k] for k in range(4))
    e = b - a
    n1, n2 = np.cross(e, c - a), np.cross(d - a, e)
    sine = np.linalg.norm(e, axis=1) * np.einsum("md,md->m", n1, d - a)
    result: Floats = np.arctan2(sine, np.einsum("md,md->m", n1, n2))
    return result


def _printed_angles(x: Floats) -> Floats:
    a, b, c, d = (x[:, k] for k in range(4))
    n1, n2 = np.cross(b - a, c - a), np.cross(b - a, d - a)
    cosine = np.einsum("md,md->m", n1, n2) / (np.linalg.norm(n1, axis=1) * np.linalg.norm(n2, axis=1))
    result: Floats = np.arccos(np.clip(cosine, -1, 1))
    return result
