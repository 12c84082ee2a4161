"""Ends of loops whose contacts would store more elastic energy than they take from motion."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meniscus._meniscus import solids as _solids
from meniscus.core import Workspace
from meniscus.solids.body import DeformableBody, _force_core
from meniscus.solids.contact.barrier_surfaces import barrier_of, surfaces_of
from meniscus.solids.contact.contact_surface import ContactSurface, Floats, Ints
from meniscus.solids.contact.energies import elastic_energy, shared_masses_of, stores_too_much, without_speed
from meniscus.solids.contact.held_by_solids import pressed_into_solids
from meniscus.solids.contact.loop.coupled_ends import cut_short, resolved
from meniscus.solids.contact.loop.loop_state import LoopState
from meniscus.solids.contact.reports import ContactError, ContactInfo
from meniscus.solids.force import unchanged

# Inertia of what coordinates of a body cannot do, relative to that of its nodes.
_STIFF = 1e4
# Of Newton's method, at most.
_ITERATIONS = 50
# Of nodes, at most: for more it takes too long.
_NODES = 100_000
# Of the change of velocities: what Newton's method may leave of the momentum, as a velocity of the nodes that move alone.
_LEFT = 0.1
# How often more nodes are kept out of solids.
_STOPS = 10


class LoopEnd(NamedTuple):
    """Where nodes are at the end of a loop, and what contact changes in their velocities.

    Attributes:
        positions: (n, 3), of all nodes, m.
        change: (n, 3), of the velocities of nodes, m/s. None: that of their ways.
    """

    positions: Floats
    change: Floats | None = None


class SoftEnds:
    """The end of a loop at which bodies give way as a whole.

    Impulses at the end of a loop move single nodes. Stiff elements between these and their neighbours then store far more energy than the
    impulses have taken from motion. Where that is so, the way is found anew, as the minimum of the potential of implicit Euler over the
    whole loop: inertia about the places without contact, elements, damping, and a barrier between surfaces. Rigid and reduced bodies are
    nodes with few coordinates (`CoordinateForce`), those of position based dynamics are their nodes alone. Newton's method goes there from
    the start of the loop on ways that are free of contact by the exact test. Bodies with few coordinates take the impulses of the barrier,
    all other nodes the velocities of their ways, so that momentum is kept to rounding errors, and what contact stores it takes from motion.

    Source: Li et al., "Incremental Potential Contact", 2020, for barriers; the rest is ours.

    Args:
        loop: at its end.
    """

    def __init__(self, loop: LoopState) -> None:
        self.loop = loop
        self.surface, self.bodies = loop.surface, loop.bodies

    def softened(self, here: Floats, ends: Floats, info: ContactInfo) -> LoopEnd:
        """Return the end of the loop with bodies that yield as a whole, where contact stores too much.

        Where none is found, the loop ends before the contact: against what it takes from motion, what contact stores grows with the square
        of the time that it acts over, and repulsion of the next loop knows what is near as that begins. In the first half step, and where
        contact stores little, `ends` stays.

        Args:
            here: (n, 3), positions of all nodes without contact, m.
            ends: (n, 3), those with impulses between single nodes, m.
            info: report to fill.
        """
        stored = stores_too_much(self.surface, self.bodies, self.loop.x_free, here, ends, self.loop.loop_time) if self.bodies else None
        if stored is None:
            return LoopEnd(ends)
        trials = [other.trial for other, _ in self.surface.others]
        softer = self._soft_end(here, stored)
        if softer is not None:
            return softer
        self._try_again(trials)
        if self.loop.cut:
            before = info.fraction, info.cuts, info.certified, self.loop.cut_vertices
            earlier = cut_short(self.loop, here, info)
            if earlier is not None and info.fraction >= 0.5 / max(self.loop.inner_steps, 1):
                return LoopEnd(earlier)
            info.fraction, info.cuts, info.certified, self.loop.cut_vertices = before
            self._try_again(trials)
        return LoopEnd(ends)

    def _try_again(self, trials: list[tuple[Any, ...]]) -> None:
        """Let bodies with steps of their own forget what `closest` has come to since these trials."""
        for (other, _), trial in zip(self.surface.others, trials, strict=True):
            other.trial = trial

    def _soft_end(self, here: Floats, stored: float) -> LoopEnd | None:
        """Return such an end; None where none is found with less elastic energy than `stored`, J."""
        surface, length = self.surface, self.loop.loop_time
        if surface.size > _NODES:
            return None
        memory = [m for body in self.bodies for m in body.force_memory]
        stopped = np.zeros(0, np.int32)
        for _ in range(_STOPS):
            with unchanged(memory):
                found = self._least_potential(here, stopped)
            if found is None:
                return None
            x, residual, barrier = found
            there = self._at_possible_places(x)
            if there is None or elastic_energy(surface, self.bodies, there) >= stored:
                return None
            # What would be pressed into solids stays where it is, and the others give way.
            setup, others = self.loop.setup, np.setdiff1d(surface.movable, stopped)
            deeper = pressed_into_solids(setup.solid_obstacles, here, there, setup.time, others)
            if not len(deeper):
                break
            stopped = np.union1d(stopped, deeper).astype(np.int32)
        else:
            return None
        masses, change, moving = self._yielding_masses(stopped), np.zeros_like(here), surface.moving_as_one()
        alone = masses > 0
        for nodes, response in moving:
            alone[nodes] = False
            change[nodes] = response @ np.einsum("nid,ni->d", response, length * barrier[nodes])
        change[alone] = (x[alone] - here[alone]) / length
        if alone.any():
            # What Newton's method has left of the momentum equation, as one velocity of the nodes that move alone; where that is much, it
            # has found no minimum.
            left = length * residual[alone[: len(residual)]].sum(axis=0) / float(masses[alone].sum())
            if np.abs(left).max() > _LEFT * np.abs(change).max():
                return None
            change[alone] -= left
        part = self._inelastic_part(np.where(alone, masses, 0.0), here, there, change)
        velocities, one = surface.velocities_of(self.bodies), np.zeros(len(change), np.int32)
        parts, missing = without_speed(velocities, part * change, masses, one, alone, np.full(len(change), self._may_not_gain(here)))
        return LoopEnd(there, part * parts[:, None] * change + missing)

    def _yielding_masses(self, stopped: Ints) -> Floats:
        """Return the masses (n,) of all nodes, kg, 0 for those that contact does not move and those that are `stopped`."""
        masses = shared_masses_of(self.surface)
        masses[self.surface.contact_nodes.inverse_masses == 0] = 0.0
        masses[stopped] = 0.0
        return masses

    def _may_not_gain(self, here: Floats) -> bool:
        """Return whether nothing goes a given path, which may give energy and speed."""
        return not (here != self.loop.x_free)[self.surface.inverse_masses == 0].any()

    def _inelastic_part(self, masses: Floats, here: Floats, there: Floats, change: Floats) -> float:
        """Return the part of changes (n, 3) of velocities, m/s, that contact gives.

        All, unless motion and elements then had more energy than without contact, as where position based bodies have gone other ways than
        their velocities say: then that with the least energy.
        """
        surface = self.surface
        if not self._may_not_gain(here):
            return 1.0
        velocities = surface.velocities_of(self.bodies)
        now, size = (float(masses @ (change * v).sum(axis=1)) for v in (velocities, change))
        for nodes, response in surface.moving_as_one():
            z, taken = (_coordinates(response, v[nodes]) for v in (velocities, change))
            now, size = now + float(z @ taken), size + float(taken @ taken)
        stored = elastic_energy(surface, self.bodies, there) - elastic_energy(surface, self.bodies, here)
        if now + 0.5 * size + stored <= 0.0:
            return 1.0
        return float(np.clip(-now / max(size, 1e-300), 0.0, 1.0))

    def _least_potential(self, here: Floats, stopped: Ints) -> tuple[Floats, Floats, Floats] | None:
        """Return positions (n, 3) of all nodes, m, free of contact and of least potential, and the forces there, N.

        These are what is left of the sums of all forces and inertia on the nodes of bodies (k, 3), and those of the barrier (n, 3). Nodes
        that are `stopped` go their ways whatever touches them.
        """
        surface, length, start = self.surface, self.loop.loop_time, self.loop.x_free
        cores: list[Any] = [self._body_in_loop(body, int(first), stopped) for first, body in zip(surface.starts, self.bodies, strict=False)]
        own, masses = surface.body_nodes, self._yielding_masses(stopped)
        w = np.where(masses > 0, 1.0 / np.where(masses > 0, masses, 1.0), 0.0)
        if surface.others:
            cores.append(self._others_in_loop(here, w))
            own = surface.others[-1][1].stop
        velocities = (here - start) / length
        first = 0
        for core in cores:
            core.velocities[...] = velocities[first : first + core.size]
            first += core.size
        thickness = _activation(surface)
        barrier, options = barrier_of(surface, thickness, 0.9), _solids.BarrierStepOptions()
        options.increments, options.most = 20, 0.01 * float(thickness.min()) / length
        # Without contact the bodies would be where they are now: there is the minimum of inertia and elements.
        step = _solids.BarrierStep(
            cores,
            [None] * len(cores),
            length,
            Workspace(),
            surfaces_of(surface, barrier),
            [],
            np.array(start),
            np.array(here),
            self.loop.setup.time - length,
            True,
            options,
        )
        if not step.begin():
            return None
        h = float(thickness.mean())
        step.set_stiffness(float((1.0 / w[:own][w[:own] > 0]).mean()) * (h / length) ** 2)
        if not step.approach():
            return None
        step.minimise(_ITERATIONS)
        x, residual = np.empty_like(here), np.zeros((own, 3))
        step.positions(x)
        step.evaluate(np.ascontiguousarray(x[:own]), residual)
        barrier_forces = np.zeros_like(x)
        step.add_barrier_forces(step.stiffness, barrier_forces)
        return x, residual, barrier_forces

    def _body_in_loop(self, body: DeformableBody, first: int, stopped: Ints) -> Any:
        """Return the core of a body with the same forces and constraints, at the start of the loop."""
        core = body._core
        made = _solids.DeformableBody(np.ascontiguousarray(self.loop.x_free[first : first + len(body)]), np.array(core.masses))
        for force in body.forces:
            made.add(_force_core(force))
        sliding, normals = core.sliding()
        made.fix(np.setdiff1d(core.constrained, sliding).astype(np.int32))
        made.restore_sliding(sliding, normals)
        made.fix(stopped[(stopped >= first) & (stopped < first + len(body))] - np.int32(first))
        return made

    def _others_in_loop(self, here: Floats, inverse_masses: Floats) -> Any:
        """Return a body of the nodes of those with steps of their own, at the start of the loop."""
        surface, others = self.surface, self.surface.others
        first, last = others[0][1].start, others[-1][1].stop
        w = inverse_masses[first:last]
        held = w == 0
        masses = 1.0 / np.where(held, 1.0, w)
        made = _solids.DeformableBody(np.ascontiguousarray(self.loop.x_free[first:last]), masses)
        made.fix(np.flatnonzero(held).astype(np.int32))
        for nodes, response in surface.moving_as_one():
            own = nodes - np.int32(first)
            if not held[own].all():
                made.add(_solids.CoordinateForce(own, masses[own], response, here[nodes], self.loop.loop_time, _STIFF))
        return made

    def _at_possible_places(self, x: Floats) -> Floats | None:
        """Return positions (n, 3) near others, m, at which all bodies can be, on whose way from there nothing touches; None without."""
        aim = np.array(x)
        for other, rows in self.surface.others:
            aim[rows] = other.closest(x[rows])
        start, info = self.loop.x_free, ContactInfo()
        self.loop.x_free = x
        try:
            ends = resolved(self.loop, aim, info)
        except (ContactError, RuntimeError):
            return None
        finally:
            self.loop.x_free = start
        return None if info.fraction < 1.0 else ends


def _coordinates(response: Floats, velocities: Floats) -> Floats:
    """Return the generalised velocities (d,) closest to velocities (n, 3) of nodes, m/s, for their response (n, 3, d) to impulses."""
    found = np.linalg.lstsq(response.reshape(-1, response.shape[2]), velocities.ravel(), rcond=1e-12)[0]
    return np.asarray(found, np.float64)


def _activation(surface: ContactSurface) -> Floats:
    """Return the distances (v,) at which vertices begin to keep others off, m."""
    given = surface.thickness
    least = float(given[given > 0].min(initial=np.inf))
    if not np.isfinite(least):
        edges, at = surface.mesh.edges, surface.rest
        least = 0.01 * float(np.linalg.norm(at[edges[:, 0]] - at[edges[:, 1]], axis=1).mean())
    result: Floats = np.maximum(given, least)
    return result
