"""State of the outer loop of a world, and ways without contact from its start."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meniscus.collision import CollisionPairs, ContactResolver, Repulsion
from meniscus.core.stateful import Stateful
from meniscus.solids.body import DeformableBody
from meniscus.solids.contact.contact_surface import ContactSurface, Floats, Ints
from meniscus.solids.contact.loop.deactivated_pairs import DeactivatedPairs, renumbered
from meniscus.solids.contact.loop.loop_lengths import LONGEST, StepsPerLoop, whole_loops
from meniscus.solids.contact.reports import ContactError, ContactInfo
from meniscus.solids.contact.world_setup import WorldSetup

_RELEASES = 20  # times that pinched pairs are deactivated in one loop
_CUTS = 2  # cuts in a row after which another one must take at least _PROGRESS of the time that the one before took
_PROGRESS = 0.5


class LoopState(Stateful):
    """Base of a loop: its state, and ways without contact from its start.

    Args:
        setup: of the world.
        steps: of a loop, or "auto".
        release: whether contacts that nothing resolves are deactivated.
        cut: whether a loop may end before a contact that only this resolves.
        history: whether repulsion takes the sides of surfaces from the start of the loop.
        repels: whether surfaces repel each other; a barrier finds its own pairs.

    Attributes:
        steps_per_loop: steps from one certified state to the next, or "auto".
        loop_steps: how many the present loop has.
        inner_steps: steps of the present loop so far.
        loop_time: their length, s.
        planned_time: length that it was expected to have as it began, s.
        x_free, v_free: positions and velocities of all nodes at its start, m and m/s.
        cuts: number of loops before it that were cut, one after the other; cut_time: the time that the last of them took, s;
            cut_vertices: vertices of the contacts before which it was cut, ascending.
        deactivated: pairs that may pass through each other.
        resolver: finds and resolves contacts on the way of a loop; None before the first.
        repulsion: of the surfaces; None before the first pairs.
    """

    rewinds = False
    """Whether a loop in which something collides is taken again."""
    auto_loop: int
    auto_steps: int

    def __init__(self, setup: WorldSetup, steps: StepsPerLoop, *, release: bool, cut: bool, history: bool, repels: bool) -> None:
        self.setup, self.steps_per_loop = setup, steps
        self._release, self.cut, self.history, self.repels = release, cut, history, repels
        self._known: ContactSurface | None = None
        self.resolver: ContactResolver | None = None
        self.repulsion: Repulsion | None = None
        self.found = False
        self.inner_steps = self.declare("inner_steps", 0)
        self.loop_time = self.declare("loop_time", 0.0)
        self.planned_time = self.declare("planned_time", 0.0)
        self.cuts = self.declare("cuts", 0)
        self.cut_time = self.declare("cut_time", 0.0)
        self.cut_vertices = self.declare("cut_vertices", np.zeros(0, np.int32), resizable=True)
        # With "auto": the steps of the present loop, those that the rule has found, and calm loops in a row.
        self.auto_loop = self.declare("auto_loop", LONGEST)
        self.auto_steps = self.declare("auto_steps", LONGEST)
        self._calm_loops = self.declare("_calm_loops", 0)
        self.x_free = self.declare("x_free", np.zeros((0, 3)), resizable=True)
        self.v_free = self.declare("v_free", np.zeros((0, 3)), resizable=True)
        self.deactivated = self.declare("deactivated", DeactivatedPairs())

    @property
    def surface(self) -> ContactSurface:
        """All surfaces of the world as one; what belonged to another one before is discarded."""
        surface = self.setup.surface
        if surface is not self._known:
            self._known, self.resolver, self.repulsion, self.found = surface, None, None, False
        return surface

    @property
    def bodies(self) -> list[DeformableBody]:
        """Deformable bodies of the world."""
        return self.setup.bodies

    @property
    def loop_steps(self) -> int:
        """How many steps the present loop has, or the next one between loops."""
        return self.auto_loop if self.steps_per_loop == "auto" else self.steps_per_loop

    def plan(self, left: float, longest: float) -> float:
        """Return the length of the equal steps (s) of at most `longest` of whole loops that fill a time, and count those of an "auto" loop.

        Where a loop has begun, it is finished first.
        """
        if self.steps_per_loop == "auto":
            if self.inner_steps:
                return left / max(self.loop_steps - self.inner_steps, math.ceil(left / longest - 1e-9))
            dt, self.auto_loop = whole_loops(left, longest, self.auto_steps)
            return dt
        loops = max(1, math.ceil((left / longest + self.inner_steps) / self.loop_steps - 1e-9)) if longest < math.inf else 1
        return left / (loops * self.loop_steps - self.inner_steps)

    # --- ways ----------------------------------------------------------------------------------------------------------------

    def resolve_once(self, end: Floats, info: ContactInfo) -> Floats:
        """Return positions (n, 3) of all nodes at the end of the loop, m, on whose way from `x_free` nothing touches.

        Nodes of bodies with steps of their own go where these perhaps cannot be; see `resolved`.

        Args:
            end: (n, 3), where they would be without contact, m.
            info: report to fill.

        Raises:
            ContactError: contacts that nothing resolves.
        """
        surface = self.surface
        if not surface.can_touch:
            return end
        if self.resolver is None:
            self.resolver = ContactResolver(surface.mesh, surface.contact_nodes)
        options: dict[str, Any] = {"cut": self.cut, "inner_steps": float(max(self.inner_steps, 1)), "thickness": self.thickness()}
        for _ in range(_RELEASES):
            ends, found = self.resolver.resolve(self.x_free, end, deactivated=self.deactivated.pairs, **options)
            info.contacts += found.contacts
            info.impulses += found.impulses
            info.zone_vertices += found.zone_nodes
            info.rigid_vertices += found.rigid_nodes
            pairs = found.unresolved
            stalled = found.end == "cut" and self._is_stalled(pairs, found.fraction * self.loop_time)
            if found.certified and not stalled:
                if found.end == "cut":
                    self.cut_vertices = self._vertices_of(pairs)
                info.fraction = found.fraction
                info.cuts = int(found.end == "cut")
                info.certified = True
                break
            if not self._release:
                raise ContactError(_pinched(pairs, surface), pairs)
            self.deactivated.add(self._known_before(pairs) if stalled else pairs)
        else:
            raise ContactError(_pinched(pairs, surface), pairs)
        info.deactivated = len(self.deactivated)
        return ends

    def are_where(self, ends: Floats, known: Floats) -> bool:
        """Return whether bodies with steps of their own are at known places, at which they can be, or can be anywhere."""
        return all(other.unrestricted or np.array_equal(ends[rows], known[rows]) for other, rows in self.surface.others)

    def intersections(self) -> Ints:
        """Return the pairs (k, 2) of an edge and a triangle that intersect now, by the exact test."""
        surface = self.surface
        at = surface.at_vertices(surface.gather([body.positions for body in self.bodies], self.setup.time))
        return surface.mesh.self_intersections(np.ascontiguousarray(at))

    def thickness(self) -> Floats | None:
        """Return the distances (v,) at which vertices repel others, m; None before the first pairs."""
        return None if self.repulsion is None else self.repulsion.thickness

    # --- cuts ----------------------------------------------------------------------------------------------------------------

    def _is_stalled(self, pairs: CollisionPairs, taken: float) -> bool:
        """Return whether a cut leads nowhere: it takes ever less time (s), and contacts are those of the cut before.

        A gap between surfaces on given paths falls to a fifth with each cut; without this, tens of loops would follow.
        """
        if self.cuts < _CUTS or taken >= _PROGRESS * self.cut_time:
            return False
        return bool(np.isin(self._vertices_of(pairs), self.cut_vertices).any())

    def _known_before(self, pairs: CollisionPairs) -> CollisionPairs:
        """Return the pairs with a vertex of the contacts before which the last loop was cut."""
        mesh, known = self.surface.mesh, self.cut_vertices
        vertex, face = pairs.vertex_face.T
        faces = np.isin(vertex, known) | np.isin(mesh.triangles[face], known).any(axis=1)
        edges = np.isin(mesh.edges[pairs.edge_edge].reshape(-1, 4), known).any(axis=1)
        return CollisionPairs(pairs.vertex_face[faces], pairs.edge_edge[edges])

    def _vertices_of(self, pairs: CollisionPairs) -> Ints:
        """Return the vertices of pairs that can move, ascending."""
        mesh = self.surface.mesh
        vertex, face = pairs.vertex_face.T
        all_vertices = np.concatenate([vertex, mesh.triangles[face].ravel(), mesh.edges[pairs.edge_edge].ravel()])
        vertices: Ints = np.unique(all_vertices).astype(np.int32)
        return vertices[self.surface.yields[vertices]]

    def forget_cuts(self) -> None:
        """Begin to count cuts anew."""
        self.cuts, self.cut_time = 0, 0.0
        self.cut_vertices = np.zeros(0, np.int32)

    # --- what is remembered --------------------------------------------------------------------------------------------------

    def left(self, nodes: slice, vertices: slice, before: ContactSurface) -> None:
        """Number anew what is remembered, after a body with these nodes and vertices of a surface has left the world."""
        if len(self.x_free) == before.size:
            self.x_free, self.v_free = (np.delete(part, nodes, axis=0) for part in (self.x_free, self.v_free))
        cut = renumbered(self.cut_vertices, vertices)
        self.cut_vertices = cut[cut >= 0]
        if len(self.deactivated):
            self.deactivated.renumber(vertices, before.mesh, self.surface.mesh)

    def _state_replaced(self) -> None:
        self.found = False


def _pinched(pairs: CollisionPairs, surface: ContactSurface) -> str:
    count = len(pairs.vertex_face) + len(pairs.edge_edge)
    if len(pairs.vertex_face):
        v, t = pairs.vertex_face[0].tolist()
        first = f"vertex {v} and triangle {tuple(surface.mesh.triangles[t].tolist())}"
    else:
        e, f = (tuple(surface.mesh.edges[k].tolist()) for k in pairs.edge_edge[0])
        first = f"edges {e} and {f}"
    return f"nothing resolves {count} contacts, the first of {first} of world.surface; nothing has changed (see on_pinch)"
