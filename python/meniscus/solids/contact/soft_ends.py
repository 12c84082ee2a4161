"""Ends of loops whose contacts would store more elastic energy than they take from motion."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meniscus._meniscus import solids as _solids
from meniscus.collision import Barrier
from meniscus.core import Workspace
from meniscus.solids.body import _force_core
from meniscus.solids.contact.barrier_newton import BarrierProblem
from meniscus.solids.contact.barrier_options import BarrierOptions
from meniscus.solids.contact.barrier_solids import BarrierSolids
from meniscus.solids.contact.contact_surface import ContactSurface, Floats
from meniscus.solids.contact.coupled_loop import CoupledLoop
from meniscus.solids.contact.coupling.coupled_body import CoupledBody
from meniscus.solids.contact.energies import elastic_energy, masses_of, stores_too_much
from meniscus.solids.contact.reports import ContactError, ContactInfo
from meniscus.solids.force import unchanged
from meniscus.solids.springs.edge_springs import EdgeSprings
from meniscus.solids.springs.options import SpringOptions

# Inverse of the squared time in which the corners of a rigid body swing about each other, in loops.
_STIFF = 1e4
# Of Newton's method, at most.
_ITERATIONS = 100


class SoftEnd(NamedTuple):
    """How bodies end a loop.

    Attributes:
        ends: (n, 3), positions of all nodes, m.
        change: (k, 3), of the velocities of the nodes of deformable bodies, m/s.
    """

    ends: Floats
    change: Floats


class _Corrected:
    """The incremental potential of a loop less its slope where the bodies would be without contact: there is its minimum."""

    def __init__(self, core: Any, at: Floats) -> None:
        self._core = core
        self._slope = np.zeros_like(at)
        core.evaluate(at, self._slope)
        self._at = at

    def evaluate(self, x: Floats, gradient: Floats) -> float:
        value = float(self._core.evaluate(x, gradient))
        gradient -= self._slope
        return value - float((self._slope * (x - self._at)).sum())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)


class _WithOthers:
    """A surface of which nodes of bodies with steps of their own count among those of deformable bodies."""

    def __init__(self, surface: ContactSurface, nodes: int) -> None:
        self._surface = surface
        self.body_nodes = nodes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._surface, name)

    def __len__(self) -> int:
        return len(self._surface)


class SoftLoop(CoupledLoop):
    """Loop at whose end deformable bodies give way as their elements let them."""

    def _softened(self, here: Floats, ends: Floats) -> SoftEnd | None:
        """Return the end of the loop with deformable bodies that yield as a whole; None where what contact moves stores little, or too much.

        Args:
            here: (n, 3), positions of all nodes without contact, m.
            ends: (n, 3), those with impulses between single nodes, m.
        """
        surface, length = self.surface, self.loop_time
        if not self.bodies or not all(self._has_masses(other) for other, _ in surface.others):
            return None
        stored = stores_too_much(surface, self.bodies, here, ends, length)
        if stored is None:
            return None
        memory = [m for body in self.bodies for m in body.force_memory]
        with unchanged(memory):
            found = self._least_potential(here)
        if found is None:
            return None
        x, residual = found
        ends = self._at_possible_places(x)
        if ends is None or elastic_energy(surface, self.bodies, ends) >= stored:
            return None
        nodes, masses = surface.body_nodes, masses_of(surface, surface.body_nodes)
        change = (ends[:nodes] - here[:nodes]) / length
        if masses.any():
            # What Newton's method has left of the momentum equation.
            change[masses > 0] -= length * residual / float(masses.sum())
        return SoftEnd(ends, change)

    def _least_potential(self, here: Floats) -> tuple[Floats, Floats] | None:
        """Return positions (n, 3) of all nodes, m, free of contact and of least potential, and the sum (3,) of what is left of forces, N."""
        surface, length, start = self.surface, self.loop_time, self.x_free
        cores = [self._body_in_loop(body._core, body.forces, int(first), len(body)) for first, body in zip(surface.starts, self.bodies, strict=False)]
        own = surface.body_nodes
        if surface.others:
            cores.append(self._others_in_loop())
            own = surface.others[-1][1].stop
        velocities = (here - start) / length
        first = 0
        for core in cores:
            core.velocities[...] = velocities[first : first + core.size]
            first += core.size
        step = _solids.BarrierStep(cores, [None] * len(cores), length, Workspace())
        thickness = self._activation()
        group = np.searchsorted(surface._vertex_starts, np.arange(len(surface)), side="right").astype(np.int32)
        barrier = Barrier(surface.mesh, surface.rest, thickness, nodes=surface.contact_nodes, normalized=True, rest_part=0.9, groups=group)
        problem = BarrierProblem(
            _WithOthers(surface, own),  # type: ignore[arg-type]
            _Corrected(step, np.ascontiguousarray(here[:own])),
            barrier,
            BarrierSolids((), surface.movable, 1.0),
            BarrierOptions(linear_tolerance=1e-4),
            start=start,
            target=here,
            time=self._time - length,
            dt=length,
            tolerance=0.0,
            most=0.01 * float(thickness.min()) / length,
            on_iterate=None,
        )
        if not np.isfinite(problem.evaluate(problem.x, 0.0)[0]):
            return None
        w = surface.inverse_masses[:own]
        h = float(thickness.mean())
        problem.stiffness = problem.least_stiffness = float((1.0 / w[w > 0]).mean()) * (h / length) ** 2
        if not problem.approach():
            return None
        problem.minimise(_ITERATIONS)
        _, gradient = problem.evaluate(problem.x, 1.0)
        self._counts = problem.counts
        return problem.x, gradient.sum(axis=0)

    def _body_in_loop(self, core: Any, forces: Any, first: int, count: int) -> Any:
        """Return a body with the same forces and constraints, at the start of the loop."""
        made = _solids.DeformableBody(np.ascontiguousarray(self.x_free[first : first + count]), np.array(core.masses))
        for force in forces:
            made.add(_force_core(force))
        sliding, normals = core.sliding()
        made.fix(np.setdiff1d(core.constrained, sliding).astype(np.int32))
        made.restore_sliding(sliding, normals)
        return made

    def _others_in_loop(self) -> Any:
        """Return a body of the nodes of those with steps of their own, at the start of the loop; rigid ones are held by stiff springs."""
        others = self.surface.others
        first, last = others[0][1].start, others[-1][1].stop
        at = np.ascontiguousarray(self.x_free[first:last])
        w = self.surface.inverse_masses[first:last]
        held = w == 0
        masses = 1.0 / np.where(held, 1.0, w)
        made = _solids.DeformableBody(at, masses)
        made.fix(np.flatnonzero(held).astype(np.int32))
        corners = [r.nodes + rows.start - first for o, rows in others if (r := o.rigid_rows()).nodes.size]
        if corners:
            four = np.concatenate(corners)
            pairs = np.concatenate([four[:, [a, b]] for a in range(4) for b in range(a + 1, 4)]).astype(np.int32)
            stiffness = _STIFF * masses[pairs[:, 0]] / self.loop_time**2
            self._struts = EdgeSprings(np.ascontiguousarray(pairs), SpringOptions(spring_constant=stiffness), at)
            made.add(_force_core(self._struts))
        return made

    def _at_possible_places(self, x: Floats) -> Floats | None:
        """Return positions (n, 3) near others, m, at which all bodies can be, on whose way from there nothing touches; None without."""
        aim = np.array(x)
        for other, rows in self.surface.others:
            aim[rows] = other.closest(x[rows])
        start, info = self.x_free, ContactInfo()
        self.x_free = x
        try:
            ends = self.resolve(aim, info)
        except (ContactError, RuntimeError):
            return None
        finally:
            self.x_free = start
        return None if info.fraction < 1.0 else ends

    def _has_masses(self, other: Any) -> bool:
        """Return whether the nodes of a body with steps of its own have masses that tell how they yield."""
        return other.loose or not isinstance(other, CoupledBody)

    def _activation(self) -> Floats:
        """Return the distances (v,) at which vertices begin to keep others off, m."""
        given = self.surface.thickness
        least = float(given[given > 0].min(initial=np.inf))
        if not np.isfinite(least):
            edges = self.surface.mesh.edges
            at = self.surface.rest
            least = 0.01 * float(np.linalg.norm(at[edges[:, 0]] - at[edges[:, 1]], axis=1).mean())
        return np.maximum(given, least)
