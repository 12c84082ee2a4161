"""Solids as the pressure of a fluid sees them: sheets with nodes, and how impulses on these change velocities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import coupling as _coupling
from meniscus._meniscus import solids as _solids
from meniscus.solids import DeformableBody, RigidBody
from meniscus.solids.body import _force_core
from meniscus.solids.force import unchanged

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class SheetSolid:
    """A solid with a thin sheet, for one step: its nodes, the velocities that it would have without the fluid, and its inertia.

    Made by `kinematic`, `rigid`, `deformable` or `elastic`.

    Attributes:
        free: (n, 3) velocities of the nodes after the step without the fluid, m/s.
        velocities: (n, 3) at its start, m/s.
        lumped: (n, 3) the mass that each node has along each axis by itself, kg: with the diagonal of the implicit step.
        masses: (n,) of the nodes at rest, kg.
        linked: (n, 3) the same as `lumped`, for the preconditioner of the monolithic solve. Rigid bodies are walls there: what is missing
            are six velocities, and conjugate gradients need one or two iterations for each.
    """

    def __init__(self, core: Any, free: Floats, velocities: Floats, lumped: Floats, masses: Floats, linked: Floats | None = None) -> None:
        self._core = core
        self.free, self.velocities, self.lumped, self.masses = free, velocities, lumped, masses
        self.linked = lumped if linked is None else linked

    def __len__(self) -> int:
        """Return the number of nodes."""
        return int(self._core.nodes)

    def respond(self, impulses: Floats) -> Floats:
        """Return the change of velocities (n, 3) that impulses (n, 3), N s, on the nodes cause, with what fluid is attached to them."""
        out = np.zeros_like(impulses)
        self._core.respond(np.ascontiguousarray(impulses), out)
        return out

    @classmethod
    def kinematic(cls, velocities: npt.ArrayLike) -> SheetSolid:
        """Return a solid whose nodes have these velocities (n, 3), m/s, whatever the fluid does."""
        v = np.array(velocities, dtype=np.float64).reshape(-1, 3)
        infinite = np.full(v.shape, np.inf)
        return cls(_coupling.KinematicShell(len(v)), v, v, infinite, infinite[:, 0])

    @classmethod
    def rigid(
        cls, body: RigidBody, points: npt.ArrayLike, dt: float, *, masses: npt.ArrayLike | None = None, plane: bool = False
    ) -> SheetSolid:
        """Return a rigid body whose sheet has these corners.

        Args:
            body: dynamic, else it follows its path.
            points: (n, 3) corners of the sheet in space, m.
            dt: seconds.
            masses: (n,) of the corners, for the lumped coupling; default equal parts of that of the body.
            plane: a body of a 2-D grid: moves in the plane of the first two axes, and has its mass per metre.

        Raises:
            TypeError, ValueError: wrong types or shapes.
        """
        x = np.array(points, dtype=np.float64).reshape(-1, 3)
        dt = _checks.positive("dt", dt)
        if not body.is_dynamic:
            return cls.kinematic(body.velocities(x))
        arms = np.ascontiguousarray(x - body.center)
        inertia = body.rotation @ body.properties.inertia @ body.rotation.T
        free = np.ones(6)
        if plane:
            free[2:5] = 0.0
        core = _coupling.RigidShell(arms, float(body.mass), np.ascontiguousarray(inertia), free)
        velocities = np.ascontiguousarray(body.velocities(x))
        share = np.full(len(x), body.mass / len(x)) if masses is None else np.array(masses, dtype=np.float64)
        lumped = np.repeat(share[:, None], 3, axis=1)
        return cls(core, velocities + dt * np.array(body.gravity), velocities, lumped, share, np.full_like(lumped, np.inf))

    @classmethod
    def deformable(
        cls,
        body: DeformableBody,
        dt: float,
        *,
        elastic_dt: float | None = None,
        forces: npt.ArrayLike | None = None,
        kept: tuple[Ints, Floats] | None = None,
    ) -> SheetSolid:
        """Return a deformable body, with its implicit Euler step linearised at its present state as its inertia.

        A body without elements, and one whose forces reach further than two elements, shares the linearisation of its forces: solve before
        it steps, or anything else asks it for forces with damping.

        Args:
            body: its nodes are those of the sheet. Nodes that are held or follow a path keep their velocities.
            dt: seconds.
            elastic_dt: the step over which elasticity is implicit, s; default dt.
            forces: (n, 3) further forces, N.
            kept: nodes (k,) and directions (k, 3) along which they keep their velocities, as contact does; may name nodes several times.

        Raises:
            TypeError, ValueError: wrong types or shapes.
        """
        _checks.one_of_type("body", body, DeformableBody)
        dt = _checks.positive("dt", dt)
        ahead = dt if elastic_dt is None else _checks.positive("elastic_dt", elastic_dt)
        x, v = body.positions, body.velocities
        # First, because it linearises forces for itself.
        acting = body.forces_at_nodes()
        with unchanged(body.force_memory):
            cores = [_force_core(f) for f in body.forces]
            for core in cores:
                core.linearise(x, _solids.Tangent.definite)
            blocks = np.zeros((len(x), 3, 3))
            for core in cores:
                core.add_diagonal(-dt * ahead, -dt, blocks)
            held = np.array(body._core.constrained, dtype=np.int32)
            projections = np.ascontiguousarray(body._core.projections, dtype=np.float64)
            if kept is not None:
                held, projections = _with_kept(held, projections, *kept)
            solid = _coupling.NodalShell(np.ascontiguousarray(body.masses), cores, dt * ahead, dt, None, held, projections)
            if body.elements is not None:
                solid.couple(np.ascontiguousarray(body.elements, dtype=np.int32), body.elements.shape[1])
        if forces is not None:
            acting = acting + np.asarray(forces, dtype=np.float64)
        finite = np.isfinite(body.masses)
        push = dt * np.where(finite[:, None], acting + np.where(finite, body.masses, 0.0)[:, None] * np.array(body.gravity), 0.0)
        # (M - dt D - dt^2 K) (v' - v) = dt (f + M g) + dt^2 K v, where f has the damping at v.
        loaded = np.zeros_like(v)
        solid.multiply(np.ascontiguousarray(v), loaded)
        mass = np.where(finite, body.masses, 1.0)[:, None]
        pulled = loaded - mass * v
        for core in cores:
            core.add_damping(np.ascontiguousarray(v), dt, pulled)
        change = np.zeros_like(v)
        solid.respond(np.ascontiguousarray(push - pulled), change)
        lumped = body.masses[:, None] + np.diagonal(blocks, axis1=1, axis2=2)
        lumped[held] = np.where(np.diagonal(projections, axis1=1, axis2=2) == 0.0, np.inf, lumped[held])
        return cls(solid, v + change, v.copy(), lumped, body.masses.copy())

    @classmethod
    def elastic(
        cls,
        masses: npt.ArrayLike,
        matrix: Any,
        velocities: npt.ArrayLike,
        impulses: npt.ArrayLike | float = 0.0,
        *,
        held: npt.ArrayLike = (),
        directions: tuple[bool, bool, bool] = (True, True, True),
    ) -> SheetSolid:
        """Return a solid that is given by the matrix of its implicit step.

        Args:
            masses: (n,), kg.
            matrix: dt^2 times the stiffness plus dt times the damping, kg: a SciPy matrix of 3 n rows, symmetric and positive
                semi-definite; None for masses alone.
            velocities: (n, 3) at the start of the step, m/s.
            impulses: (n, 3) of all forces at the start of the step, with the change of the elastic ones under these velocities, N s.
            held: nodes that keep their velocities.
            directions: axes along which the nodes move at all.

        Raises:
            TypeError, ValueError: wrong types or shapes.
        """
        m = np.array(masses, dtype=np.float64)
        v = np.array(velocities, dtype=np.float64).reshape(-1, 3)
        parts, diagonal = None, np.zeros((len(m), 3))
        if matrix is not None:
            rows = matrix.tocsr()
            rows.sort_indices()
            parts = (rows.indptr.astype(np.int64), rows.indices.astype(np.int32), np.ascontiguousarray(rows.data, dtype=np.float64))
            diagonal = rows.diagonal().reshape(-1, 3)
        projections = np.repeat(np.diag(np.array(directions, dtype=np.float64))[None], len(m), axis=0)
        projections[np.array(held, dtype=int)] = 0.0
        core = _coupling.NodalShell(m, [], 0.0, 0.0, parts, np.arange(len(m), dtype=np.int32), np.ascontiguousarray(projections))
        core.couple(np.zeros(0, dtype=np.int32), 1)
        change = np.zeros_like(v)
        core.respond(np.ascontiguousarray(np.broadcast_to(np.asarray(impulses, dtype=np.float64), v.shape)), change)
        lumped = np.where(np.diagonal(projections, axis1=1, axis2=2) == 0.0, np.inf, m[:, None] + diagonal)
        return cls(core, v + change, v, lumped, m)


def _with_kept(held: Ints, projections: Floats, nodes: Ints, directions: Floats) -> tuple[Ints, Floats]:
    """Return held nodes and projections (k, 3, 3) with those of nodes that keep their velocities along directions as well."""
    left = {int(i): np.array(p) for i, p in zip(held, projections, strict=True)}
    for i, direction in zip(nodes.tolist(), directions, strict=True):
        p = left.setdefault(i, np.eye(3))
        along = p @ direction
        length = float(np.linalg.norm(along))
        if length > 1e-6:
            p -= np.outer(along, along) / length**2
            p[np.abs(p) < 1e-12] = 0.0
    numbers = np.array(sorted(left), dtype=np.int32)
    return numbers, np.ascontiguousarray(np.array([left[int(i)] for i in numbers]).reshape(-1, 3, 3))
