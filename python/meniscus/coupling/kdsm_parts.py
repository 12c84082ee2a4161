"""Parts of a KDSM: the plan of a build, and the mesh of air around a creature with its bindings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision.point_location.tet_locator import TetLocator
from meniscus.coupling.interior_morph import InteriorMorph, MorphStart
from meniscus.coupling.skinning import Bindings
from meniscus.mesh import TetMesh, TriangleMesh
from meniscus.surface import MeshDistance, enclosing_mesh, enclosing_offset
from meniscus.surface.meshing.sources import require_closed

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Start = Literal["rest", "first-frame"]


Edit = Callable[[int, Floats], "Floats | None"]


@dataclass(frozen=True, kw_only=True)
class AirMesh:
    """Which space around a creature its mesh fills, and where the skin is bound to it.

    Attributes:
        enclose: (k, 3) points at rest that the mesh must hold, such as hairs; it becomes thick enough for them.
        custom: geometry that the mesh encloses too, as for `surface.enclosing_mesh`.
        offset: m, thickness of the air, instead of layers.
        depth: m; tetrahedra deeper than this below the skin are left out; at least, and by default, two cells.
        bind: (b,) vertices of the skin that are bound to the mesh, where hairs will stand; default: all.
    """

    enclose: npt.ArrayLike | None = field(default=None, compare=False)
    custom: Any = field(default=None, compare=False)
    offset: float | None = None
    depth: float | None = None
    bind: npt.ArrayLike | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Check the lengths. Raises TypeError or ValueError."""
        _checks.options(self)


@dataclass(frozen=True, kw_only=True)
class Following:
    """How a mesh is taken along from frame to frame.

    Attributes:
        morph: of the inside: since the "rest" pose, or from the "previous-frame", which drifts (`KDSM.report`).
        start: "rest": the mesh is made around the surface at rest, and if the first frame is another pose, an animation is generated;
            "first-frame": it is made around the first frame.
        in_between: s, length of the animation from rest.
        hold: s, for which the first frame is then held.
        repair: rounds in which inverted and collapsed elements of a frame are repaired.
        register: whether frames with other triangles are registered to the surface at rest instead of refused.
        edit: called with each frame's number and a copy of the positions (n, 3) before it is stored; what it returns, unless None,
            takes their place. A build that goes on does not compare it.
    """

    morph: MorphStart = "rest"
    start: Start = "rest"
    in_between: float = 1.25
    hold: float = 0.4
    repair: int = 5
    register: bool = field(default=False, compare=False)
    edit: Edit | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Check all values."""
        for name in ("in_between", "hold"):
            if _checks.number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must be at least 0 s, not {getattr(self, name):g}")
        _checks.choice("morph", self.morph, MorphStart)
        _checks.choice("start", self.start, Start)
        _checks.integer("repair", self.repair, at_least=0)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be built; see `KDSM.build`."""

    cell_size: float
    layers: int = 3
    subdivisions: int = 0
    air: AirMesh = field(default_factory=AirMesh)
    following: Following = field(default_factory=Following)

    def __post_init__(self) -> None:
        """Check all values."""
        _checks.positive("cell_size", self.cell_size)
        _checks.integer("layers", self.layers, at_least=0)
        _checks.integer("subdivisions", self.subdivisions, at_least=0, below=10)
        _checks.one_of_type("air", self.air, AirMesh)
        _checks.one_of_type("following", self.following, Following)


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
    """Refuse a surface with holes, and one around nothing. Raises ValueError."""
    require_closed(rest, "the surface at rest must be closed")


def make_parts(rest: TriangleMesh, plan: Plan) -> tuple[Parts, InteriorMorph]:
    """Make the mesh around a surface at rest. Raises ValueError, as `enclosing_mesh` and where a point of the skin has no element."""
    a, air = plan.cell_size, plan.air
    enclose = np.empty((0, 3)) if air.enclose is None else np.asarray(air.enclose, np.float64)
    # Without a layer the lattice would not hold the skin everywhere.
    offset = max(plan.layers, 0.25) * a if air.offset is None else air.offset
    if len(enclose) and air.offset is None:
        offset = max(offset, enclosing_offset(rest, enclose, 0.5 * a))
    mesh = enclosing_mesh(
        rest, np.ascontiguousarray(enclose), a, offset=offset, custom=air.custom, depth=2.0 * a if air.depth is None else air.depth
    )
    distance = MeshDistance(rest).signed_distance(mesh.vertices)
    inside = np.flatnonzero(distance < 0).astype(np.int32)
    morph = InteriorMorph(rest, mesh.vertices[inside], a, plan.following.morph)
    given = np.ascontiguousarray(inside[morph.covered])
    bound = rest.used_vertices if air.bind is None else _vertices_of(rest, np.asarray(air.bind))
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
