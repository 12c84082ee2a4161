"""The outer loop of a world: sides of surfaces at its start, repulsion within, resolution of contacts at its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus.collision import CollisionPairs, ContactResolver, NodeSupports, Repulsion, RepulsionReport, SideMemory
from meniscus.core.stateful import exclusively
from meniscus.solids.contact.contact_surface import Bools, ContactSurface, Floats, Ints
from meniscus.solids.contact.energies import inelastic_times
from meniscus.solids.contact.held_by_solids import hold_out_of_solids
from meniscus.solids.contact.loop_lengths import LONGEST, StepsPerLoop, next_length
from meniscus.solids.contact.reports import ContactError, ContactInfo
from meniscus.solids.contact.world_setup import WorldSetup

_NO_PAIRS = np.zeros((0, 2), np.int32)
_HOLDS = 5  # times that nodes pressed into solids are held
_ZONE = 2000  # nodes of a zone that is still solved for that
_FARTHEST = 10.0  # change by a resolution that holds them, relative to the one before
_RELEASES = 20  # times that pinched pairs are deactivated in one loop
_CUTS = 2  # cuts in a row after which another one must take at least _PROGRESS of the time that the one before took
_PROGRESS = 0.5


class ContactLoop(WorldSetup):
    """Base of a world: its loop.

    Attributes:
        steps_per_loop: steps from one certified state to the next, or "auto".
        loop_steps: how many the present loop has.
        inner_steps: steps of the present loop so far.
        loop_time: their length, s.
        planned_time: length that it was expected to have as it began, s.
        x_free, v_free: positions and velocities of all nodes at its start, m and m/s.
        cuts: number of loops before it that were cut, one after the other; cut_time: the time that the last of them took, s;
            cut_vertices: vertices of the contacts before which it was cut, ascending.
    """

    def _make_loop(self, steps_per_loop: StepsPerLoop, release: bool, cut: bool, history: bool) -> None:
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
        self.planned_time = self.declare("planned_time", 0.0)
        self.cuts = self.declare("cuts", 0)
        self.cut_time = self.declare("cut_time", 0.0)
        self.cut_vertices = self.declare("cut_vertices", np.zeros(0, np.int32), resizable=True)
        # With "auto": the steps of the present loop, those that the rule has found, and calm loops in a row.
        self._auto_loop = self.declare("_auto_loop", LONGEST)
        self._auto_steps = self.declare("_auto_steps", LONGEST)
        self._calm_loops = self.declare("_calm_loops", 0)
        self.x_free = self.declare("x_free", np.zeros((0, 3)), resizable=True)
        self.v_free = self.declare("v_free", np.zeros((0, 3)), resizable=True)
        self.deactivated_vertex_face = self.declare("deactivated_vertex_face", _NO_PAIRS, resizable=True)
        self.deactivated_edge_edge = self.declare("deactivated_edge_edge", _NO_PAIRS, resizable=True)

    @property
    def loop_steps(self) -> int:
        """How many steps the present loop has, or the next one between loops."""
        return self._auto_loop if self.steps_per_loop == "auto" else self.steps_per_loop

    # --- stages of the loop --------------------------------------------------------------------------------------------------

    def find_pairs(self) -> int:
        """Store which elements are near each other at the positions at which the loop began, and on which side; return their number.

        Elements that come near each other within the loop, at the velocities at which it began, count too.

        Source: Selle 2008, section 6.4.
        """
        surface = self.surface
        self._found = True
        if not surface.can_touch:
            return 0
        if self._repulsion is None:
            numbers: dict[str, Any] = {"thickness": surface.thickness, "friction": surface.friction}
            sides = SideMemory(history=self._history)
            self._repulsion = Repulsion(surface.mesh, surface.rest, surface.contact_nodes, **numbers, sides=sides)
        motion = surface.at_vertices(np.ascontiguousarray(self.planned_time * self.v_free))
        return self._repulsion.find(surface.at_vertices(self.x_free), motion)

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
            ends, found = self._resolver.resolve(self.x_free, end, deactivated=self._deactivated, **options)
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
            self._deactivate(self._known_before(pairs) if stalled else pairs)
        else:
            raise ContactError(_pinched(pairs, surface), pairs)
        info.deactivated = len(self._deactivated.vertex_face) + len(self._deactivated.edge_edge)
        return ends

    # --- within a step -------------------------------------------------------------------------------------------------------

    def _enter_loop(self, dt: float) -> None:
        """Begin a loop of steps of dt seconds, or go on with one whose pairs were lost."""
        if self.inner_steps == 0:
            self._begin_loop(dt)
        elif not self._found:
            self.find_pairs()

    def _begin_loop(self, dt: float) -> None:
        surface = self.surface
        here = surface.gather([body.positions for body in self.bodies], self.time)
        # After a cut, obstacles that something held off their path go on from where they were.
        known = self.x_free.shape == here.shape and all(np.array_equal(self.x_free[rows], here[rows]) for rows in surface.exact)
        if not known:
            self.x_free = here
            self._forget_cuts()
            self._refuse_intersections()
        if len(self._deactivated.vertex_face) or len(self._deactivated.edge_edge):
            self._take_back()
        velocities = surface.velocities_of(self.bodies)
        surface.set_obstacle_velocities(velocities, self.time, dt)
        self.v_free = velocities
        for other, _ in surface.others:
            other.begin_loop()
        self.loop_time = 0.0
        self.planned_time = self.loop_steps * dt
        self.find_pairs()

    def _stepped(self, dt: float) -> None:
        self.inner_steps += 1
        self.loop_time += dt
        self._time += dt

    def _end_loop(self, info: ContactInfo) -> None:
        surface, length = self.surface, self.loop_time
        here = surface.gather([body.positions for body in self.bodies], self.time)
        ends = self._out_of_solids(here, self.resolve(here, info), info)
        change = None
        if info.impulses and info.certified and info.fraction == 1.0:
            ends, change = self._softened(here, ends, info)
        part = info.fraction
        if part < 1.0:
            ends = self._onto_paths(ends, info)
            self.cuts += 1
            self.cut_time = part * length
        else:
            self._forget_cuts()
        whole = ends if part == 1.0 else self.x_free + (ends - self.x_free) / part
        over = np.full(surface.size, length)
        if change is None and self._resolver is not None and info.contacts:
            groups = self._resolver.take_groups()
            over = inelastic_times(surface, self.x_free, here, whole, surface.velocities_of(self.bodies), groups, length)
        for first, body in zip(surface.starts, self.bodies, strict=False):
            rows = slice(int(first), int(first) + len(body))
            changed = np.any(whole[rows] != here[rows], axis=1)
            if change is not None:
                body.velocities += change[rows]
            else:
                body.velocities[changed] += (whole[rows][changed] - here[rows][changed]) / over[rows][changed, None]
            if part < 1.0:
                v = self.v_free[rows]
                body.velocities[...] = v + part * (body.velocities - v)
            body.positions[...] = ends[rows]
        for other, rows in surface.others:
            other.finish(here[rows], whole[rows], ends[rows], self.v_free[rows], part, over[rows])
        if part < 1.0:
            self.time = self._time - (1.0 - part) * length
        self.x_free = np.array(ends)
        self.inner_steps = 0
        self.loop_time = 0.0
        self._found = False
        info.loop_ended = True
        self._auto_steps, self._calm_loops = next_length(self._auto_steps, self._calm_loops, info, surface.body_nodes)
        self._auto_loop = self._auto_steps

    def _softened(self, here: Floats, ends: Floats, info: ContactInfo) -> tuple[Floats, Floats | None]:
        """Return the ends of the loop and changes of velocities, see `SoftLoop`; None for those that impulses between nodes lead to."""
        return ends, None

    # --- cuts ----------------------------------------------------------------------------------------------------------------

    def _onto_paths(self, ends: Floats, info: ContactInfo) -> Floats:
        """Return positions at a cut where nodes on given paths are where these are then, not on the straight way through the loop.

        Where that is not free of contact, the straight way stays.
        """
        surface, resolver = self.surface, self._resolver
        time = self._time - (1.0 - info.fraction) * self.loop_time
        there = surface.gather([ends[int(f) : int(f) + len(b)] for f, b in zip(surface.starts, self.bodies, strict=False)], time)
        for first, body in zip(surface.starts, self.bodies, strict=False):
            for nodes, positions in body._on_paths(time):
                there[int(first) + nodes] = positions
        for _, rows in surface.others:
            there[rows] = ends[rows]
        off = float(np.sqrt(np.max(np.sum((there - ends) ** 2, axis=1), initial=0.0)))
        if off == 0.0 or resolver is None:
            return ends
        options: dict[str, Any] = {"inner_steps": float(max(self.inner_steps, 1)), "thickness": self._thickness()}
        others, found = resolver.resolve(self.x_free, there, deactivated=self._deactivated, cut=False, **options)
        if found.certified and self._are_where(others, there):
            info.impulses += found.impulses
            return others
        info.off_path = off
        return ends

    def _are_where(self, ends: Floats, known: Floats) -> bool:
        """Return whether bodies with steps of their own are at known places, at which they can be, or can be anywhere."""
        return all(other.unrestricted or np.array_equal(ends[rows], known[rows]) for other, rows in self.surface.others)

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

    def _forget_cuts(self) -> None:
        self.cuts, self.cut_time = 0, 0.0
        self.cut_vertices = np.zeros(0, np.int32)

    def _out_of_solids(self, here: Floats, ends: Floats, info: ContactInfo) -> Floats:
        """Resolve once more, with nodes that were pressed into solids moving only along these, as long as that succeeds."""
        surface, projectors = self.surface, self.surface.projectors
        if not self._solids or self._resolver is None or info.cuts or not info.contacts:
            return ends
        nodes = surface.contact_nodes
        try:
            for _ in range(_HOLDS):
                held = hold_out_of_solids(self._solids, here, ends, self.time, surface.movable, projectors)
                if held is None:
                    break
                projectors = held
                nodes.guide(*projectors)
                options: dict[str, Any] = {"inner_steps": float(max(self.inner_steps, 1)), "thickness": self._thickness()}
                options |= {"largest_zone": _ZONE, "rigid_zones": False, "cut": False}
                others, found = self._resolver.resolve(self.x_free, here, deactivated=self._deactivated, **options)
                # Where elements lie almost along a solid, nodes that may only slide would be thrown far to move their contact.
                if (
                    not found.certified
                    or not self._are_where(others, ends)
                    or np.abs(others - here).max() > _FARTHEST * np.abs(ends - here).max()
                ):
                    break
                ends = others
                info.impulses += found.impulses
        finally:
            nodes.guide(*surface.projectors)
        return ends

    def _supports(self, positions: Floats, velocities: Floats) -> NodeSupports | None:
        """Return what nodes stand on of meshes, for positions and velocities of all nodes; None without meshes."""
        repulsion = self._repulsion
        if repulsion is None or not self._meshes:
            return None
        found = repulsion.supports(self.surface.at_vertices(positions), velocities)
        own = found.nodes < self.surface.body_nodes
        parts: Any = [part[own] for part in found]
        return found if own.all() else NodeSupports(*parts)

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
        if self._repulsion is not None:
            info.clamped, info.approaching = self._repulsion.clamped, self._repulsion.approaching
        return report.impulses > 0

    # --- intersections and deactivated pairs -----------------------------------------------------------------------------------

    @property
    def _deactivated(self) -> CollisionPairs:
        return CollisionPairs(self.deactivated_vertex_face, self.deactivated_edge_edge)

    def _intersections(self) -> Ints:
        surface = self.surface
        at = surface.at_vertices(surface.gather([body.positions for body in self.bodies], self.time))
        return surface.mesh.self_intersections(np.ascontiguousarray(at))

    def _refuse_intersections(self) -> None:
        """Refuse intersections of what can move, except those through deactivated pairs."""
        found = self.surface.movable_pairs(self._intersections())
        found = found[~self._passed_deactivated(found)]
        if not len(found):
            return
        edge, triangle = (
            elements[k].tolist() for elements, k in zip((self.surface.mesh.edges, self.surface.mesh.triangles), found[0], strict=True)
        )
        raise ValueError(
            f"surfaces must not intersect at the start, but {len(found)} pairs of an edge and a triangle do, the first the edge "
            f"{tuple(edge)} and the triangle {tuple(triangle)} of world.surface"
        )

    def _passed_deactivated(self, found: Ints) -> Bools:
        """Return which pairs (k, 2) of an edge and a triangle can intersect since a pair of their vertices and edges is deactivated."""
        mesh, pairs = self.surface.mesh, self._deactivated
        edges, triangles = np.asarray(mesh.edges, np.int64), mesh.triangles
        of_ends = np.int64(len(triangles)) * edges[found[:, 0]] + found[:, 1:]
        through_faces = np.isin(of_ends, np.int64(len(triangles)) * pairs.vertex_face[:, 0] + pairs.vertex_face[:, 1]).any(axis=1)
        # Sides of the triangles by the vertices of edges.
        size = np.int64(edges.max(initial=0) + 1)
        keys = size * edges.min(axis=1, initial=size) + edges.max(axis=1, initial=0)
        order = np.argsort(keys, kind="stable")
        corners = np.asarray(triangles, np.int64)[found[:, 1]]
        others = corners[:, [2, 0, 1]]
        low, high = np.minimum(corners, others), np.maximum(corners, others)
        sides = order[np.minimum(np.searchsorted(keys, size * low + high, sorter=order), len(keys) - 1)] if len(keys) else low
        first, second = np.minimum(found[:, :1], sides), np.maximum(found[:, :1], sides)
        through_edges = np.isin(np.int64(len(edges)) * first + second, np.int64(len(edges)) * pairs.edge_edge[:, 0] + pairs.edge_edge[:, 1])
        result: Bools = np.logical_or(through_faces, through_edges.any(axis=1))
        return result

    def _deactivate(self, pairs: CollisionPairs) -> None:
        both = [np.concatenate([old, new]).astype(np.int32) for old, new in zip(self._deactivated, pairs, strict=True)]
        self.deactivated_vertex_face, self.deactivated_edge_edge = (np.unique(p, axis=0).reshape(-1, 2) for p in both)

    def _take_back(self) -> None:
        """Take pairs back of which no element intersects anything."""
        mesh = self.surface.mesh
        edges, triangles = mesh.edges, mesh.triangles
        found = self.surface.movable_pairs(self._intersections())
        caught = np.union1d(edges[found[:, 0]].ravel(), triangles[found[:, 1]].ravel())
        vertex, face = self.deactivated_vertex_face.T
        self.deactivated_vertex_face = self.deactivated_vertex_face[np.isin(vertex, caught) | np.isin(triangles[face], caught).any(axis=1)]
        self.deactivated_edge_edge = self.deactivated_edge_edge[
            np.isin(edges[self.deactivated_edge_edge].reshape(-1, 4), caught).any(axis=1)
        ]

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
