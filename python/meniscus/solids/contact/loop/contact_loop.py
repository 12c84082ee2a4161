"""The outer loop of a world: sides of surfaces at its start, repulsion within, resolution of contacts at its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus.collision import NodeSupports, PairSearch, Repulsion, RepulsionReport, SideMemory
from meniscus.solids.contact.contact_surface import Floats
from meniscus.solids.contact.energies import inelastic_times
from meniscus.solids.contact.held_by_solids import hold_out_of_solids
from meniscus.solids.contact.loop.coupled_ends import resolved
from meniscus.solids.contact.loop.held_rigid import rigid_held
from meniscus.solids.contact.loop.loop_lengths import next_length
from meniscus.solids.contact.loop.loop_state import LoopState
from meniscus.solids.contact.loop.soft_ends import LoopEnd, SoftEnds
from meniscus.solids.contact.reports import ContactInfo

_HOLDS = 5  # times that nodes pressed into solids are held
_ZONE = 2000  # nodes of a zone that is still solved for that
_FARTHEST = 10.0  # change by a resolution that holds them, relative to the one before


class ContactLoop(LoopState):
    """The steps of a world from one certified state to the next. Arguments and attributes are those of `LoopState`."""

    def find_pairs(self) -> int:
        """Store which elements are near each other at the positions at which the loop began, and on which side; return their number.

        Elements that come near each other within the loop, at the velocities at which it began, count too.

        Source: Selle 2008, section 6.4.
        """
        surface = self.surface
        self.found = True
        if not surface.can_touch or not self.repels:
            return 0
        if self.repulsion is None:
            numbers: dict[str, Any] = {"thickness": surface.thickness, "friction": surface.friction}
            sides = SideMemory(history=self.history)
            # Bodies whose nodes can be anywhere are easily torn over what they fall through.
            search = PairSearch(bare_motion=any(other.unrestricted for other, _ in surface.others))
            self.repulsion = Repulsion(surface.mesh, surface.rest, surface.contact_nodes, **numbers, sides=sides, search=search)
        motion = surface.at_vertices(np.ascontiguousarray(self.planned_time * self.v_free))
        return self.repulsion.find(surface.at_vertices(self.x_free), motion)

    def enter(self, dt: float) -> None:
        """Begin a loop of steps of dt seconds, or go on with one whose pairs were lost."""
        if self.inner_steps == 0:
            self._begin(dt)
        elif not self.found:
            self.find_pairs()

    def _begin(self, dt: float) -> None:
        surface = self.surface
        here = surface.gather([body.positions for body in self.bodies], self.setup.time)
        # After a cut, obstacles that something held off their path go on from where they were.
        known = self.x_free.shape == here.shape and all(np.array_equal(self.x_free[rows], here[rows]) for rows in surface.exact)
        if not known:
            self.x_free = here
            self.forget_cuts()
            self._refuse_intersections()
        if len(self.deactivated):
            self.deactivated.take_back(surface.mesh, surface.movable_pairs(self.intersections()))
        velocities = surface.velocities_of(self.bodies)
        surface.set_obstacle_velocities(velocities, self.setup.time, dt)
        self.v_free = velocities
        for other, _ in surface.others:
            other.begin_loop()
        self.loop_time = 0.0
        self.planned_time = self.loop_steps * dt
        self.find_pairs()

    def stepped(self, dt: float) -> None:
        """Count a step of dt seconds that has ended."""
        self.inner_steps += 1
        self.loop_time += dt
        self.setup.count_time(dt)

    def end(self, info: ContactInfo) -> None:
        """End the loop: bodies go to places without contact on the way; fill the report.

        Raises:
            ContactError: contacts that nothing resolves.

        Source: Selle 2008, section 6.3.
        """
        surface, length = self.surface, self.loop_time
        here = surface.gather([body.positions for body in self.bodies], self.setup.time)
        ends = resolved(self, here, info)
        soft = LoopEnd(ends)
        with rigid_held(self, here, ends) as held:
            if held:
                ends = resolved(self, here, info)
            ends = self._out_of_solids(here, ends, info)
            if info.impulses and info.certified and info.fraction == 1.0:
                soft = SoftEnds(self).softened(here, ends, info)
                ends = soft.positions
        part = info.fraction
        if part < 1.0:
            ends = self._onto_paths(ends, info)
            self.cuts += 1
            self.cut_time = part * length
        else:
            self.forget_cuts()
        whole = ends if part == 1.0 else self.x_free + (ends - self.x_free) / part
        change, besides = soft.change, None
        over = np.full(surface.size, length if change is None else np.inf)
        if change is None and self.resolver is not None and info.contacts:
            groups = self.resolver.take_groups()
            velocities = surface.velocities_of(self.bodies)
            over, besides = inelastic_times(surface, self.x_free, here, whole, velocities, groups, length, held, part == 1.0)
        for first, body in zip(surface.starts, self.bodies, strict=False):
            rows = slice(int(first), int(first) + len(body))
            changed = np.any(whole[rows] != here[rows], axis=1)
            if change is not None:
                body.velocities += change[rows]
            else:
                body.velocities[changed] += (whole[rows][changed] - here[rows][changed]) / over[rows][changed, None]
            if besides is not None:
                body.velocities += besides[rows]
            if part < 1.0:
                v = self.v_free[rows]
                body.velocities[...] = v + part * (body.velocities - v)
            body.positions[...] = ends[rows]
        for other, rows in surface.others:
            if change is not None:
                other.take(change[rows])
            if besides is not None:
                other.take(besides[rows])
            other.finish(here[rows], whole[rows], ends[rows], self.v_free[rows], part, over[rows])
        if part < 1.0:
            self.setup.time = self.setup.time - (1.0 - part) * length
        self.x_free = np.array(ends)
        self.inner_steps = 0
        self.loop_time = 0.0
        self.found = False
        info.loop_ended = True
        self.auto_steps, self._calm_loops = next_length(self.auto_steps, self._calm_loops, info, surface.body_nodes)
        self.auto_loop = self.auto_steps

    def ended_at(self, ends: Floats, dt: float) -> None:
        """Count a step of dt seconds that was a whole loop, whose ends (n, 3), m, are free of contact already."""
        self.stepped(dt)
        self.x_free = ends
        self.inner_steps, self.loop_time, self.found = 0, 0.0, False

    def _onto_paths(self, ends: Floats, info: ContactInfo) -> Floats:
        """Return positions at a cut where nodes on given paths are where these are then, not on the straight way through the loop.

        Where that is not free of contact, the straight way stays.
        """
        surface, resolver = self.surface, self.resolver
        time = self.setup.time - (1.0 - info.fraction) * self.loop_time
        there = surface.gather([ends[int(f) : int(f) + len(b)] for f, b in zip(surface.starts, self.bodies, strict=False)], time)
        for first, body in zip(surface.starts, self.bodies, strict=False):
            for nodes, positions in body._on_paths(time):
                there[int(first) + nodes] = positions
        for _, rows in surface.others:
            there[rows] = ends[rows]
        off = float(np.sqrt(np.max(np.sum((there - ends) ** 2, axis=1), initial=0.0)))
        if off == 0.0 or resolver is None:
            return ends
        options: dict[str, Any] = {"inner_steps": float(max(self.inner_steps, 1)), "thickness": self.thickness()}
        others, found = resolver.resolve(self.x_free, there, deactivated=self.deactivated.pairs, cut=False, **options)
        if found.certified and self.are_where(others, there):
            info.impulses += found.impulses
            return others
        info.off_path = off
        return ends

    def _out_of_solids(self, here: Floats, ends: Floats, info: ContactInfo) -> Floats:
        """Resolve once more, with nodes that were pressed into solids moving only along these, as long as that succeeds."""
        surface, projectors = self.surface, self.surface.projectors
        if not self.setup.solid_obstacles or self.resolver is None or info.cuts or not info.contacts:
            return ends
        nodes = surface.contact_nodes
        try:
            for _ in range(_HOLDS):
                held = hold_out_of_solids(self.setup.solid_obstacles, here, ends, self.setup.time, surface.movable, projectors)
                if held is None:
                    break
                projectors = held
                nodes.guide(*projectors)
                options: dict[str, Any] = {"inner_steps": float(max(self.inner_steps, 1)), "thickness": self.thickness()}
                options |= {"largest_zone": _ZONE, "rigid_zones": False, "cut": False}
                others, found = self.resolver.resolve(self.x_free, here, deactivated=self.deactivated.pairs, **options)
                # Where elements lie almost along a solid, nodes that may only slide would be thrown far to move their contact.
                if (
                    not found.certified
                    or not self.are_where(others, ends)
                    or np.abs(others - here).max() > _FARTHEST * np.abs(ends - here).max()
                ):
                    break
                ends = others
                info.impulses += found.impulses
        finally:
            nodes.guide(*surface.projectors)
        return ends

    def supports(self, positions: Floats, velocities: Floats) -> NodeSupports | None:
        """Return what nodes stand on of meshes, for positions and velocities of all nodes; None without meshes."""
        repulsion = self.repulsion
        if repulsion is None or not self.setup.mesh_obstacles:
            return None
        found = repulsion.supports(self.surface.at_vertices(positions), velocities)
        own = found.nodes < self.surface.body_nodes
        parts: Any = [part[own] for part in found]
        return found if own.all() else NodeSupports(*parts)

    def push(self, positions: Floats, velocities: Floats, dt: float, info: ContactInfo) -> bool:
        """Apply inelastic and elastic repulsion to velocities of nodes; return whether anything changed."""
        repulsion = self.repulsion
        return repulsion is not None and self._count(repulsion.push(self.surface.at_vertices(positions), velocities, dt), info)

    def rub(self, positions: Floats, velocities: Floats, info: ContactInfo) -> bool:
        """Apply inelastic repulsion and friction to velocities of nodes; return whether anything changed."""
        repulsion = self.repulsion
        return repulsion is not None and self._count(repulsion.rub(self.surface.at_vertices(positions), velocities), info)

    def _count(self, report: RepulsionReport, info: ContactInfo) -> bool:
        info.pairs, info.active, info.inverted = report.pairs, report.active, report.inverted
        info.repulsions += report.impulses
        if self.repulsion is not None:
            info.clamped, info.approaching = self.repulsion.clamped, self.repulsion.approaching
        return report.impulses > 0

    def _refuse_intersections(self) -> None:
        """Refuse intersections of what can move, except those through deactivated pairs."""
        found = self.surface.movable_pairs(self.intersections())
        found = found[~self.deactivated.passed(self.surface.mesh, found)]
        if not len(found):
            return
        edge, triangle = (
            elements[k].tolist() for elements, k in zip((self.surface.mesh.edges, self.surface.mesh.triangles), found[0], strict=True)
        )
        raise ValueError(
            f"surfaces must not intersect at the start, but {len(found)} pairs of an edge and a triangle do, the first the edge "
            f"{tuple(edge)} and the triangle {tuple(triangle)} of world.surface"
        )
