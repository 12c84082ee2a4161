"""Steps of a world whose surfaces answer to contact with a barrier."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from meniscus._meniscus import solids as _solids
from meniscus.collision import Barrier, CollisionPairs, edge_edge_distance, point_triangle_distance
from meniscus.numerics.solve import ConvergenceError, SolveInfo
from meniscus.solids.contact.barrier_newton import BarrierProblem
from meniscus.solids.contact.barrier_options import BarrierOptions
from meniscus.solids.contact.barrier_solids import BarrierSolids
from meniscus.solids.contact.contact_solver import ContactSolver
from meniscus.solids.contact.contact_surface import ContactSurface, Floats
from meniscus.solids.contact.loop.contact_loop import ContactLoop
from meniscus.solids.contact.reports import ContactError, WorldInfo
from meniscus.solids.contact.world_setup import WorldSetup


class BarrierSolver(ContactSolver):
    """Steps of a world with `response="barrier"`. Every step is a loop of its own.

    1. `meet`: pairs, friction and stiffness of the barrier at the start;
    2. `approach`: obstacles and moved nodes go to the ends of their paths, in moves that the time of impact limits;
    3. `minimise`: Newton's method finds the positions at the end;
    4. `rub_again`: it goes on with the friction of the forces found.

    All go from positions to positions on straight ways that the exact test has found free of contact.

    Attributes:
        options: of the barrier.
        on_iterate: called with the positions (n, 3) of all nodes after each move, m; None for nothing.
        barrier_stiffness: of the last step, J; 0 before the first.
    """

    stages = ("meet", "approach", "minimise", "rub_again")

    def __init__(self, setup: WorldSetup, loop: ContactLoop, options: BarrierOptions) -> None:
        super().__init__(setup, loop)
        self.options = options
        self.on_iterate: Callable[[Floats], None] | None = None
        self.barrier_stiffness = self.declare("barrier_stiffness", 0.0)
        self._barrier: Barrier | None = None
        self._of: ContactSurface | None = None
        self._problem: BarrierProblem | None = None

    def meet(self, dt: float) -> None:
        """Find the pairs within their activation distance, their friction and the stiffness of the barrier at the start."""
        problem, options = self._in_step(), self.options
        if not np.isfinite(problem.evaluate(problem.x, 0.0)[0]):
            raise ValueError("surfaces must not touch, and nodes must be outside of solids, where a barrier is to keep them apart")
        if self.barrier_stiffness > 0:
            problem.lag_friction(self.barrier_stiffness)
        least = self._least_stiffness(dt)
        problem.least_stiffness = least
        if options.stiffness is not None:
            problem.stiffness = options.stiffness
        else:
            balance = 0.0 if self.barrier_stiffness > 0 else min(problem.balance(), 1e3 * least)
            # A larger one would throw apart what already touches, as after a change to shorter steps.
            kept = self.barrier_stiffness > 0 and problem.closest()[0] < np.inf
            problem.stiffness = self.barrier_stiffness if kept else max(self.barrier_stiffness, least, balance)
        if self.barrier_stiffness == 0:
            problem.lag_friction(problem.stiffness)

    def approach(self, dt: float) -> None:
        """Bring obstacles and moved nodes to the ends of their paths.

        Raises:
            ContactError: something is in their way that does not yield.
        """
        problem = self._in_step()
        if not problem.approach():
            raise ContactError(
                f"obstacles and moved nodes have made {problem.fraction:.3g} of their way in {problem.counts.increments} moves, because "
                "something is pinched between them; nothing has changed",
                self._nearest_pairs(),
            )

    def minimise(self, dt: float) -> None:
        """Find the positions at the end of the step by Newton's method.

        Raises:
            ConvergenceError: it does not meet its tolerance.
        """
        problem, options = self._in_step(), self.options
        if not problem.minimise(options.max_iterations) and options.raise_on_failure:
            raise ConvergenceError(
                f"Newton's method did not meet its tolerance of {problem.tolerance:.1e} m/s in {problem.counts.iterations} iterations; "
                "nothing has changed",
                SolveInfo(problem.counts.iterations, np.inf, False, "iterations", 0.0, 0.0, ()),
            )

    def rub_again(self, dt: float) -> None:
        """Go on with the friction of the forces at the end, as often as `friction_solves` says."""
        problem = self._in_step()
        for _ in range(self.options.friction_solves - 1):
            if problem.lag_friction(problem.stiffness) == 0:
                break
            self.minimise(dt)

    # --- within a step -------------------------------------------------------------------------------------------------------

    def _begin(self, dt: float, motions: list[Any]) -> None:
        surface, options = self.surface, self.options
        own = surface.body_nodes
        self._core = _solids.BarrierStep([body._core for body in self.bodies], motions, dt, self._workspace)
        start, target = np.array(self.loop.x_free), np.array(self.loop.x_free)
        velocities = np.zeros((own, 3))
        self._core.begin(start[:own], velocities, target[:own])
        surface.move_obstacles(target, self.time + dt)
        tolerance, most = options.tolerance, 0.0
        if tolerance is None:
            gravity = max((float(np.linalg.norm(body.gravity)) for body in self.bodies), default=0.0)
            fastest = float(np.sqrt((velocities * velocities).sum(axis=1).max(initial=0.0)))
            way = float(np.abs(target - start).max(initial=0.0)) / dt
            # Forces are only right where positions are to a small part of the distances within which barriers act.
            thickness = surface.thickness[surface.thickness > 0]
            near = min(float(thickness.min(initial=np.inf)), self._distance_of_solids() if self._solids else np.inf)
            most = 0.01 * near / dt
            tolerance = 1e-3 * (gravity * dt + max(fastest, way))
        if self._barrier is None or self._of is not surface:
            self._of = surface
            if surface.can_touch and not surface.thickness.all():
                raise ValueError('with response="barrier" the thickness of a surface is its activation distance and must be positive')
            group = np.searchsorted(surface.vertex_starts, np.arange(len(surface)), side="right").astype(np.int32)
            self._barrier = Barrier(
                surface.mesh,
                surface.rest,
                surface.thickness,
                nodes=surface.contact_nodes,
                normalized=True,
                rest_part=options.rest_part,
                groups=group,
            )
        self._problem = BarrierProblem(
            surface,
            self._core,
            self._barrier,
            BarrierSolids(self._solids, surface.movable, self._distance_of_solids()),
            options,
            start=start,
            target=target,
            time=self.time,
            dt=dt,
            tolerance=tolerance,
            most=most,
            on_iterate=self.on_iterate,
        )

    def complete(self, info: WorldInfo) -> None:
        """End the step, which is a loop."""
        problem = self._in_step()
        x = problem.x
        own = self.surface.body_nodes
        contact, counts = info.contact, problem.counts
        contact.pairs = len(self._barrier_of_step()) + sum(len(n.nodes) for n in problem._near)
        contact.min_distance = problem.closest()[0]
        contact.newton_iterations, contact.linear_iterations = counts.iterations, counts.linear_iterations
        contact.increments, contact.barrier_stiffness = counts.increments, problem.stiffness
        contact.certified = contact.loop_ended = True
        info.max_speed = self._core.commit(x[:own], np.zeros((own, 3)))
        self.barrier_stiffness = problem.stiffness
        self.leave()
        self.loop.ended_at(np.array(x), info.dt)

    def leave(self) -> None:
        """Drop what belongs to one step alone."""
        super().leave()
        self._problem = None

    def longest_step(self) -> float:
        """Return infinity: no step is too long."""
        return math.inf

    def _nearest_pairs(self) -> CollisionPairs:
        """Return the pairs within a tenth of their activation distance, at most 1000 of each kind."""
        problem, barrier = self._in_step(), self._barrier_of_step()
        x = self.surface.at_vertices(problem.x)
        barrier.find(x)
        pairs = barrier.pairs()
        kinds = []
        for edges, distances in ((False, point_triangle_distance), (True, edge_edge_distance)):
            rows = np.flatnonzero(pairs.edges == edges)
            corners = x[pairs.vertices[rows]]
            parts = (corners[:, :2], corners[:, 2:]) if edges else (corners[:, 0], corners[:, 1:])
            near = distances(*(np.ascontiguousarray(p) for p in parts)).distances < 0.1 * pairs.distance[rows]
            kinds.append(np.ascontiguousarray(pairs.elements[rows[near][:1000]]))
        return CollisionPairs(*kinds)

    def _in_step(self) -> BarrierProblem:
        if self._core is None or self._problem is None:
            raise RuntimeError("a stage is part of a step: call begin first")
        return self._problem

    def _barrier_of_step(self) -> Barrier:
        assert self._barrier is not None
        return self._barrier

    def _distance_of_solids(self) -> float:
        given = self.options.distance
        if given is not None:
            return given
        first = len(self.surface) - sum(len(o.rest) for o in self.setup.mesh_obstacles)
        own = self.surface.thickness[:first]
        return float(own.mean()) if len(own) and own.mean() > 0 else 0.01

    def _least_stiffness(self, dt: float) -> float:
        """The mean mass of a node times its way under gravity and inertia within the activation distance, J."""
        w = self.surface.inverse_masses[self.surface.movable]
        if not len(w):
            return 1.0
        gravity = max(float(np.linalg.norm(body.gravity)) for body in self.bodies)
        h = self._distance_of_solids()
        return float((1.0 / w).mean()) * (gravity + h / dt**2) * h
