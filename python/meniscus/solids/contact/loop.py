"""The outer loop of a world: sides of surfaces at its start, repulsion within, resolution of contacts at its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus.collision import CollisionPairs, ContactResolver, Repulsion, RepulsionReport
from meniscus.core.stateful import exclusively
from meniscus.solids.contact.contact_surface import ContactSurface, Floats, Ints
from meniscus.solids.contact.held_by_solids import hold_out_of_solids
from meniscus.solids.contact.reports import ContactError, ContactInfo
from meniscus.solids.contact.world_setup import WorldSetup

_NO_PAIRS = np.zeros((0, 2), np.int32)
_HOLDS = 5  # times that nodes pressed into solids are held
_RELEASES = 20  # times that pinched pairs are set aside in one loop


class ContactLoop(WorldSetup):
    """Base of a world: its loop.

    Attributes:
        steps_per_loop: steps from one certified state to the next.
        inner_steps: steps of the present loop so far.
        loop_time: their length, s.
        x_free, v_free: positions and velocities of all nodes at its start, m and m/s.
    """

    def _make_loop(self, steps_per_loop: int, release: bool, cut: bool, history: bool) -> None:
        self.steps_per_loop = steps_per_loop
        self._release, self._cut, self._history = release, cut, history
        self._surfaces, self._solids, self._meshes = [], [], []
        self._joined: ContactSurface | None = None
        self._resolver: ContactResolver | None = None
        self._repulsion: Repulsion | None = None
        self._found = False
        self.bodies = self.declare("bodies", [])
        self.friction_of_solids = self.declare("friction_of_solids", np.zeros(0), resizable=True)
        self._time = self.declare("_time", 0.0)
        self.inner_steps = self.declare("inner_steps", 0)
        self.loop_time = self.declare("loop_time", 0.0)
        self.x_free = self.declare("x_free", np.zeros((0, 3)), resizable=True)
        self.v_free = self.declare("v_free", np.zeros((0, 3)), resizable=True)
        self.aside_vertex_face = self.declare("aside_vertex_face", _NO_PAIRS, resizable=True)
        self.aside_edge_edge = self.declare("aside_edge_edge", _NO_PAIRS, resizable=True)

    @property
    def loop_steps(self) -> int:
        """How many steps the present loop has, or the next one between loops."""
        return self.steps_per_loop

    # --- stages of the loop --------------------------------------------------------------------------------------------------

    def find_pairs(self) -> int:
        """Store which elements are near each other at the positions at which the loop began, and on which side; return their number.

        Source: Selle 2008, section 6.4.
        """
        surface = self.surface
        self._found = True
        if not surface.can_touch:
            return 0
        if self._repulsion is None:
            options: dict[str, Any] = {"thickness": surface.thickness, "friction": surface.friction, "history": self._history}
            self._repulsion = Repulsion(surface.mesh, surface.rest, surface.contact_nodes, **options)
        return self._repulsion.find(surface.at_vertices(self.x_free))

    @exclusively
    def finish_loop(self) -> ContactInfo:
        """End the loop now: resolve the contacts on the way from the positions at which it began; return the report.

        Raises:
            ContactError: contacts that nothing resolves; nothing has changed.

        Source: Selle 2008, section 6.3.
        """
        info = ContactInfo()
        if self.inner_steps:
            with self.transaction():
                self._end_loop(info)
        return info

    def resolve(self, end: Floats, info: ContactInfo) -> Floats:
        """Return positions (n, 3) of all nodes at the end of the loop, m, on whose way from `x_free` nothing touches.

        Args:
            end: (n, 3), where they would be without contact, m.
            info: report to fill.

        Raises:
            ContactError: contacts that nothing resolves.
        """
        surface = self.surface
        if not surface.can_touch:
            return end
        if self._resolver is None:
            self._resolver = ContactResolver(surface.mesh, surface.contact_nodes)
        options: dict[str, Any] = {"cut": self._cut, "inner_steps": float(max(self.inner_steps, 1)), "thickness": self._thickness()}
        for _ in range(_RELEASES):
            ends, found = self._resolver.resolve(self.x_free, end, aside=self._aside, **options)
            info.contacts += found.contacts
            info.impulses += found.impulses
            info.zone_vertices += found.zone_nodes
            info.rigid_vertices += found.rigid_nodes
            if found.certified:
                info.fraction = found.fraction
                info.cuts = int(found.end == "cut")
                info.certified = True
                break
            pairs = found.unresolved
            if not self._release:
                raise ContactError(_pinched(pairs, surface), pairs)
            self._set_aside(pairs)
        else:
            raise ContactError(_pinched(found.unresolved, surface), found.unresolved)
        info.set_aside = len(self._aside.vertex_face) + len(self._aside.edge_edge)
        return ends

    # --- within a step -------------------------------------------------------------------------------------------------------

    def _enter_loop(self) -> None:
        """Begin a loop, or go on with one whose pairs were lost."""
        if self.inner_steps == 0:
            self._begin_loop()
        elif not self._found:
            self.find_pairs()

    def _begin_loop(self) -> None:
        surface = self.surface
        own = surface.body_nodes
        here = surface.gather([body.positions for body in self.bodies], self.time)
        # After a cut, obstacles go on from where they were.
        known = self.x_free.shape == here.shape and np.array_equal(self.x_free[:own], here[:own])
        if not known:
            self.x_free = here
            self._refuse_intersections()
        elif len(self._aside.vertex_face) or len(self._aside.edge_edge):
            self._take_back()
        velocities = np.zeros((surface.size, 3))
        for first, body in zip(surface.starts, self.bodies, strict=False):
            velocities[first : first + len(body)] = body.velocities
        self.v_free = velocities
        self.loop_time = 0.0
        self.find_pairs()

    def _stepped(self, dt: float) -> None:
        self.inner_steps += 1
        self.loop_time += dt
        self._time += dt

    def _end_loop(self, info: ContactInfo) -> None:
        surface, length = self.surface, self.loop_time
        here = surface.gather([body.positions for body in self.bodies], self.time)
        ends = self._out_of_solids(here, self.resolve(here, info), info)
        part = info.fraction
        whole = ends if part == 1.0 else self.x_free + (ends - self.x_free) / part
        for first, body in zip(surface.starts, self.bodies, strict=False):
            rows = slice(int(first), int(first) + len(body))
            changed = np.any(whole[rows] != here[rows], axis=1)
            body.velocities[changed] += (whole[rows][changed] - here[rows][changed]) / length
            if part < 1.0:
                v = self.v_free[rows]
                body.velocities[...] = v + part * (body.velocities - v)
            body.positions[...] = ends[rows]
        if part < 1.0:
            self.time = self._time - (1.0 - part) * length
        self.x_free = np.array(ends)
        self.inner_steps = 0
        self.loop_time = 0.0
        self._found = False
        info.loop_ended = True

    def _out_of_solids(self, here: Floats, ends: Floats, info: ContactInfo) -> Floats:
        """Resolve once more, with nodes that were pressed into solids moving only along these, as long as that succeeds."""
        surface, guides = self.surface, self.surface.guides
        if not self._solids or self._resolver is None or info.cuts or not info.contacts:
            return ends
        nodes = surface.contact_nodes
        try:
            for _ in range(_HOLDS):
                held = hold_out_of_solids(self._solids, here, ends, self.time, surface.movable, guides)
                if held is None:
                    break
                guides = held
                nodes.guide(*guides)
                options: dict[str, Any] = {"inner_steps": float(max(self.inner_steps, 1)), "thickness": self._thickness()}
                others, found = self._resolver.resolve(self.x_free, here, aside=self._aside, cut=False, **options)
                if not found.certified:
                    break
                ends = others
                info.impulses += found.impulses
        finally:
            nodes.guide(*surface.guides)
        return ends

    def _push(self, positions: Floats, velocities: Floats, dt: float, info: ContactInfo) -> bool:
        """Apply inelastic and elastic repulsion to velocities of nodes; return whether anything changed."""
        repulsion = self._repulsion
        return repulsion is not None and self._count(repulsion.push(self.surface.at_vertices(positions), velocities, dt), info)

    def _rub(self, positions: Floats, velocities: Floats, info: ContactInfo) -> bool:
        """Apply inelastic repulsion and friction to velocities of nodes; return whether anything changed."""
        repulsion = self._repulsion
        return repulsion is not None and self._count(repulsion.rub(self.surface.at_vertices(positions), velocities), info)

    def _count(self, report: RepulsionReport, info: ContactInfo) -> bool:
        info.pairs, info.active, info.inverted = report.pairs, report.active, report.inverted
        info.repulsions += report.impulses
        info.clamped = 0 if self._repulsion is None else self._repulsion.clamped
        return report.impulses > 0

    # --- intersections and pairs set aside -----------------------------------------------------------------------------------

    @property
    def _aside(self) -> CollisionPairs:
        return CollisionPairs(self.aside_vertex_face, self.aside_edge_edge)

    def _intersections(self) -> Ints:
        surface = self.surface
        at = surface.at_vertices(surface.gather([body.positions for body in self.bodies], self.time))
        return surface.mesh.self_intersections(np.ascontiguousarray(at))

    def _refuse_intersections(self) -> None:
        found = self._intersections()
        if not len(found) or len(self._aside.vertex_face) or len(self._aside.edge_edge):
            return
        edge, triangle = (
            elements[k].tolist() for elements, k in zip((self.surface.mesh.edges, self.surface.mesh.triangles), found[0], strict=True)
        )
        raise ValueError(
            f"surfaces must not intersect at the start, but {len(found)} pairs of an edge and a triangle do, the first the edge "
            f"{tuple(edge)} and the triangle {tuple(triangle)} of world.surface"
        )

    def _set_aside(self, pairs: CollisionPairs) -> None:
        both = [np.concatenate([old, new]).astype(np.int32) for old, new in zip(self._aside, pairs, strict=True)]
        self.aside_vertex_face, self.aside_edge_edge = (np.unique(p, axis=0).reshape(-1, 2) for p in both)

    def _take_back(self) -> None:
        """Take pairs back of which no element intersects anything."""
        mesh = self.surface.mesh
        edges, triangles = mesh.edges, mesh.triangles
        found = self._intersections()
        caught = np.union1d(edges[found[:, 0]].ravel(), triangles[found[:, 1]].ravel())
        vertex, face = self.aside_vertex_face.T
        self.aside_vertex_face = self.aside_vertex_face[np.isin(vertex, caught) | np.isin(triangles[face], caught).any(axis=1)]
        self.aside_edge_edge = self.aside_edge_edge[np.isin(edges[self.aside_edge_edge].reshape(-1, 4), caught).any(axis=1)]

    def _thickness(self) -> Floats | None:
        return None if self._repulsion is None else self._repulsion.thickness

    def _surface_replaced(self) -> None:
        self._resolver = self._repulsion = None
        self._found = False

    def _state_replaced(self) -> None:
        super()._state_replaced()
        self._found = False


def _pinched(pairs: CollisionPairs, surface: ContactSurface) -> str:
    count = len(pairs.vertex_face) + len(pairs.edge_edge)
    if len(pairs.vertex_face):
        v, t = pairs.vertex_face[0].tolist()
        first = f"vertex {v} and triangle {tuple(surface.mesh.triangles[t].tolist())}"
    else:
        e, f = (tuple(surface.mesh.edges[k].tolist()) for k in pairs.edge_edge[0])
        first = f"edges {e} and {f}"
    return f"nothing resolves {count} contacts, the first of {first} of world.surface; nothing has changed (see on_pinch)"
