"""Parts of a KDSM: the plan of a build, and the mesh of air around a creature with its bindings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import CollisionMesh
from meniscus.collision.point_location.tet_locator import TetLocator
from meniscus.coupling.interior_morph import InteriorMorph, MorphStart
from meniscus.coupling.skinning import Bindings
from meniscus.mesh import TetMesh, TriangleMesh, check_watertight
from meniscus.surface import MeshDistance, enclosing_mesh, enclosing_offset

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Start = Literal["rest", "first-frame"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be built; see `KDSM.build`."""

    cell_size: float
    layers: int = 3
    subdivisions: int = 0
    offset: float | None = None
    depth: float | None = None
    morph: MorphStart = "rest"
    start: Start = "rest"
    in_between: float = 1.25
    hold: float = 0.4
    repair: int = 5

    def __post_init__(self) -> None:
        """Check all values."""
        _checks.positive("cell_size", self.cell_size)
        _checks.integer("layers", self.layers, at_least=0)
        _checks.integer("subdivisions", self.subdivisions, at_least=0, below=10)
        for name in ("in_between", "hold"):
            if _checks.number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must be at least 0 s, not {getattr(self, name):g}")
        _checks.choice("morph", self.morph, MorphStart)
        _checks.choice("start", self.start, Start)
        _checks.integer("repair", self.repair, at_least=0)


@dataclass(frozen=True, eq=False)
class Parts:
    """What belongs to no frame.

    Attributes:
        mesh: of air, at rest.
        skin: of the creature, at rest.
        given: (k,) nodes that the inside of the creature moves.
        distance: (n,) signed distance of the nodes from the skin at rest, m.
        layers: (m,) of the elements: 0 where a node is inside, otherwise one more than the lowest neighbour's.
        bindings: of the skin.
    """

    mesh: TetMesh
    skin: TriangleMesh
    given: Ints
    distance: Floats
    layers: Ints
    bindings: Bindings

    def arrays(self, times: Floats) -> dict[str, npt.NDArray[Any]]:
        """Return all as arrays for a store."""
        b = self.bindings
        return {
            "vertices": self.mesh.vertices,
            "tets": self.mesh.tets,
            "skin vertices": self.skin.vertices,
            "skin triangles": self.skin.triangles,
            "given": self.given,
            "rest distance": self.distance,
            "layers": self.layers,
            "parents": b.parents,
            "weights": b.weights,
            "bound": b.vertices,
            "times": times,
        }

    @classmethod
    def of(cls, fixed: dict[str, npt.NDArray[Any]]) -> Parts:
        """Return the parts from the arrays of a store."""
        return cls(
            TetMesh(fixed["vertices"], fixed["tets"]),
            TriangleMesh(fixed["skin vertices"], fixed["skin triangles"]),
            fixed["given"],
            fixed["rest distance"],
            fixed["layers"],
            Bindings(fixed["parents"], fixed["weights"], fixed["bound"]),
        )


def check_skin(rest: TriangleMesh) -> None:
    """Refuse a surface that is open or crosses itself. Raises ValueError."""
    report = check_watertight(rest)
    if not report.watertight:
        raise ValueError(f"the surface at rest must be closed, but has {report.faults()}")
    crossings = CollisionMesh(None, rest.triangles).self_intersections(rest.vertices)
    if len(crossings):
        raise ValueError(
            f"the surface at rest must not cross itself, but does so in {len(crossings)} places, the first at triangle {crossings[0, 1]}"
        )


def make_parts(rest: TriangleMesh, plan: Plan, enclose: Floats, custom: Any, bind: npt.NDArray[Any] | None) -> tuple[Parts, InteriorMorph]:
    """Make the mesh around a surface at rest. Raises ValueError, as `enclosing_mesh` and where a point of the skin has no element."""
    a = plan.cell_size
    # Without a layer the lattice would not hold the skin everywhere.
    offset = max(plan.layers, 0.25) * a if plan.offset is None else _checks.number("offset", plan.offset)
    if len(enclose) and plan.offset is None:
        offset = max(offset, enclosing_offset(rest, enclose, 0.5 * a))
    mesh = enclosing_mesh(
        rest, np.ascontiguousarray(enclose), a, offset=offset, custom=custom, depth=2.0 * a if plan.depth is None else plan.depth
    )
    distance = MeshDistance(rest).signed_distance(mesh.vertices)
    inside = np.flatnonzero(distance < 0).astype(np.int32)
    morph = InteriorMorph(rest, mesh.vertices[inside], a, plan.morph)
    given = np.ascontiguousarray(inside[morph.covered])
    bound = rest.used_vertices if bind is None else _vertices_of(rest, bind)
    found = TetLocator(mesh).locate(np.ascontiguousarray(rest.vertices[bound]))
    if (found.tets < 0).any():
        lost = int(bound[int(np.argmax(found.tets < 0))])
        raise ValueError(f"the mesh must hold the surface, but not vertex {lost}; give layers=1, or smaller cells")
    bindings = Bindings(
        np.ascontiguousarray(mesh.tets[found.tets]),
        found.barycentric,
        bound.astype(np.int32),
    )
    return Parts(mesh, rest, given, distance, _layers(mesh, distance < 0), bindings), morph


def _vertices_of(rest: TriangleMesh, bind: npt.NDArray[Any]) -> npt.NDArray[Any]:
    nodes = np.asarray(bind)
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise TypeError(f"bind must hold vertices of the surface, integers (b,), not {nodes.dtype} of shape {nodes.shape}")
    if len(nodes) and (nodes.min() < 0 or nodes.max() >= len(rest.vertices)):
        raise ValueError(f"bind must hold vertices of the surface, 0 to {len(rest.vertices) - 1}, not {nodes.min()} to {nodes.max()}")
    if not np.isin(nodes, rest.used_vertices).all():
        raise ValueError(f"bind must hold vertices of triangles, but {nodes[~np.isin(nodes, rest.used_vertices)][0]} is none")
    return np.unique(nodes)


def _layers(mesh: TetMesh, inside: Bools) -> Ints:
    """Return the layer of each element: how many elements away from the skin it is, by common nodes."""
    result = np.full(len(mesh.tets), -1, np.int32)
    reached = inside.copy()
    layer = 0
    while (result < 0).any():
        now = (result < 0) & reached[mesh.tets].any(axis=1)
        if not now.any():
            break  # a part without a creature
        result[now] = layer
        reached[mesh.tets[now]] = True
        layer += 1
    return result
