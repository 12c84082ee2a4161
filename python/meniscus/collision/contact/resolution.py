"""Resolution of contacts within a step, so that no pair of elements touches anywhere on the path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus._options import CoreOption
from meniscus.collision.collision_mesh import CollisionMesh, CollisionPairs
from meniscus.collision.contact.nodes import ContactNodes
from meniscus.mesh.arrays import index_rows
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.triangle_mesh import triangle_mesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
ResolveEnd = Literal["free", "cut", "pinched"]

RESOLVE_END = CoreOption(ResolveEnd, _collision.ResolveEnd)
_FLOAT64 = np.dtype(np.float64)
_NO_PAIRS = np.zeros((0, 2), np.int32)


@dataclass(frozen=True)
class ResolveInfo:
    """Report of a resolution of contacts.

    Attributes:
        end: "free", no contact on the path; "cut", none up to `fraction` of the step, where the positions are; "pinched", contacts that
            nothing resolves: `unresolved`.
        fraction: the part of the step that was taken.
        contacts: number of pairs that were in contact on the path as given.
        impulses: number of impulses applied.
        passes: number of detections, of which the last found no contact unless `end` is "pinched".
        zones, zone_nodes, largest_zone: number of impact zones, of nodes in them, and of nodes in the largest.
        rigid_zones, rigid_nodes: those of them that moved as rigid bodies.
        zone_iterations, failed_solves: iterations of conjugate gradients in zones, and solves that did not meet their constraints.
        unresolved: pairs left in contact unless `end` is "free": those before which the step was cut, or which nothing resolves; at most
            1000 of each kind.
    """

    end: ResolveEnd
    fraction: float
    contacts: int
    impulses: int
    passes: int
    zones: int
    zone_nodes: int
    largest_zone: int
    rigid_zones: int
    rigid_nodes: int
    zone_iterations: int
    failed_solves: int
    unresolved: CollisionPairs

    @property
    def certified(self) -> bool:
        """Whether by the exact test no pair touches anywhere on the path to the positions at the end, deactivated ones excepted."""
        return self.end != "pinched"


class ContactResolver:
    """Resolution of contacts from step to step of the same surfaces; it keeps its memory.

    Args:
        mesh: all surfaces in one `CollisionMesh`.
        nodes: the nodes of its vertices.

    Source: Selle 2008, sections 6.2 and 6.3; Brochu 2012, section 3.2.7.
    """

    def __init__(self, mesh: CollisionMesh, nodes: ContactNodes) -> None:
        _checks.one_of_type("mesh", mesh, CollisionMesh)
        self._nodes = _checks.one_of_type("nodes", nodes, ContactNodes)
        self._core: Any = _collision.ContactResolver(mesh._core, nodes._core)

    @property
    def nbytes(self) -> int:
        """Bytes kept between calls."""
        return int(self._core.nbytes)

    def take_groups(self) -> Ints:
        """Return for each node (n,) the lowest one of those that contacts since the last call have moved together; itself if none did."""
        groups: Ints = self._core.take_groups()
        return groups

    def resolve(
        self,
        start: Floats,
        end: Floats,
        *,
        impulse_passes: int = 400,
        inelastic_solves: int = 20,
        rigid_zones: bool = True,
        largest_zone: int | None = None,
        cut: bool = True,
        thickness: npt.ArrayLike | None = None,
        push: float = 0.1,
        inner_steps: float = 1.0,
        deactivated: CollisionPairs | None = None,
    ) -> tuple[Floats, ResolveInfo]:
        """Return positions (n, 3) of the nodes at the end of the step, on whose straight paths nothing touches, and a report.

        Where the surfaces do not intersect at the start, they do not intersect at the end.

        Args:
            start, end: (n, 3) float64, positions of the nodes, m.
            impulse_passes: passes of impulses before zones are built, which are fewer where 32 of them leave no fewer contacts than those
                before; 0: none.
            inelastic_solves: solves of an inelastic zone before it becomes rigid; 0: all zones are rigid.
            rigid_zones: whether zones may become rigid.
            largest_zone: number of nodes above which zones are not solved as inelastic ones, which takes long; None: no limit.
            cut: whether the step may be ended before a contact that nothing else resolves.
            thickness: (v,) m, the distance that vertices should keep from other elements: pairs in contact are pushed towards it, a pair
                towards the mean of its elements, and keep a fiftieth of it at least. None: no push.
            push: the part of the missing distance that one inner time step may add.
            inner_steps: number of inner time steps in the step.
            deactivated: pairs that may pass through each other.

        Raises:
            TypeError, ValueError: wrong shapes, positions that are not finite, thickness or push that is negative or not finite, pairs
                deactivated that do not exist or have a vertex in common (the first is named).

        Source: Selle 2008, section 6.3 and eq. 6.1; Bridson et al. 2002, section 7; Brochu 2012, section 3.2.7.
        """
        shape = (self._nodes.nodes, 3)
        x = _checks.incoming("start", start, _FLOAT64, shape)
        y = _checks.incoming("end", end, _FLOAT64, shape)
        out = np.empty(shape)
        h = None if thickness is None else _thicknesses(thickness, self._nodes.vertices)
        part = _checks.number("push", push)
        if part < 0:
            raise ValueError(f"push must not be negative, but is {part:g}")
        kept = (_NO_PAIRS, _NO_PAIRS) if deactivated is None else tuple(index_rows("deactivated", pairs, 2) for pairs in deactivated)
        report = self._core.resolve(
            x,
            y,
            *kept,
            _checks.integer("impulse_passes", impulse_passes, 0),
            _checks.integer("inelastic_solves", inelastic_solves, 0),
            _checks.flag("rigid_zones", rigid_zones),
            2**62 if largest_zone is None else _checks.integer("largest_zone", largest_zone, 0),
            _checks.flag("cut", cut),
            h,
            part,
            _checks.positive("inner_steps", inner_steps),
            out,
        )
        return out, _info(report)


def resolve(
    mesh: CollisionMesh | SurfaceLike,
    start: Floats,
    end: Floats,
    inverse_masses: npt.ArrayLike | ContactNodes,
    **options: Any,
) -> tuple[Floats, ResolveInfo]:
    """Resolve the contacts of a single step: return positions at its end and a report.

    Args:
        mesh: a `CollisionMesh` of all surfaces, or a triangle mesh.
        start, end: (n, 3) float64, positions at both ends of the step, m.
        inverse_masses: (n,) 1/kg, 0 for vertices on given paths; or `ContactNodes`, where start and end are positions of nodes.
        **options: those of `ContactResolver.resolve`.

    Raises:
        TypeError, ValueError: wrong shapes, positions or masses that are not finite.

    Source: Selle 2008, sections 6.2 and 6.3; Brochu 2012, section 3.2.7.
    """
    surfaces = mesh if isinstance(mesh, CollisionMesh) else CollisionMesh(triangle_mesh(mesh))
    nodes = inverse_masses if isinstance(inverse_masses, ContactNodes) else ContactNodes(inverse_masses)
    return ContactResolver(surfaces, nodes).resolve(start, end, **options)


def _thicknesses(value: npt.ArrayLike, vertices: int) -> Floats:
    h = _checks.numbers("thickness", value)
    if h.shape not in ((), (vertices,)):
        raise ValueError(f"thickness must be a number or have shape ({vertices},), not {h.shape}")
    h = np.ascontiguousarray(np.broadcast_to(h, (vertices,)))
    _checks.require_finite("thickness", h)
    if (h < 0).any():
        raise ValueError(f"thickness must not be negative, but is {h.min():g}")
    return h


def _info(report: Any) -> ResolveInfo:
    names = [name for name in ResolveInfo.__dataclass_fields__ if name not in ("end", "unresolved")]
    end: ResolveEnd = report.end.name
    pairs = CollisionPairs(report.vertex_face, report.edge_edge)
    return ResolveInfo(end=end, unresolved=pairs, **{name: getattr(report, name) for name in names})
