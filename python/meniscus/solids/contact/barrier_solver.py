"""Steps of a world whose surfaces answer to contact with a barrier."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from meniscus._meniscus import solids as _solids
from meniscus.collision import Barrier, CollisionPairs, edge_edge_distance, point_triangle_distance
from meniscus.numerics.solve import ConvergenceError, SolveInfo
from meniscus.solids.contact.barrier_options import BarrierOptions
from meniscus.solids.contact.barrier_surfaces import barrier_of, surfaces_of
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

    def meet(self, dt: float) -> None:
        """Find the pairs within their activation distance, their friction and the stiffness of the barrier at the start."""
        core = self._in_step()
        if not core.begin():
            raise ValueError("surfaces must not touch, and nodes must be outside of solids, where a barrier is to keep them apart")
        core.meet(self.barrier_stiffness)

    def approach(self, dt: float) -> None:
        """Bring obstacles and moved nodes to the ends of their paths.

        Raises:
            ContactError: something is in their way that does not yield.
        """
        core = self._in_step()
        if not core.approach():
            raise ContactError(
                f"obstacles and moved nodes have made {core.fraction:.3g} of their way in {core.increments} moves, because "
                "something is pinched between them; nothing has changed",
                self._nearest_pairs(),
            )

    def minimise(self, dt: float) -> None:
        """Find the positions at the end of the step by Newton's method.

        Raises:
            ConvergenceError: it does not meet its tolerance.
        """
        core, options = self._in_step(), self.options
        if not core.minimise(options.max_iterations) and options.raise_on_failure:
            raise ConvergenceError(
                f"Newton's method did not meet its tolerance of {core.tolerance:.1e} m/s in {core.iterations} iterations; "
                "nothing has changed",
                SolveInfo(core.iterations, np.inf, False, "iterations", 0.0, 0.0, ()),
            )

    def rub_again(self, dt: float) -> None:
        """Go on with the friction of the forces at the end, as often as `friction_solves` says."""
        for _ in range(self.options.friction_solves - 1):
            if self._in_step().lag_friction() == 0:
                break
            self.minimise(dt)

    # --- within a step -------------------------------------------------------------------------------------------------------

    def _begin(self, dt: float, motions: list[Any]) -> None:
        surface = self.surface
        end = np.array(self.loop.x_free)
        surface.move_obstacles(end, self.time + dt)
        if surface.can_touch and not surface.thickness.all():
            raise ValueError('with response="barrier" the thickness of a surface is its activation distance and must be positive')
        if self._barrier is None or self._of is not surface:
            self._barrier, self._of = barrier_of(surface, surface.thickness, self.options.rest_part), surface
        self._core = _solids.BarrierStep(
            [body._core for body in self.bodies],
            motions,
            dt,
            self._workspace,
            surfaces_of(surface, self._barrier),
            list(self._solids),
            np.array(self.loop.x_free),
            end,
            self.time,
            False,
            self._core_options(dt),
        )
        self._core.watch(self.on_iterate)

    def _core_options(self, dt: float) -> Any:
        options, core = self.options, _solids.BarrierStepOptions()
        core.fixed_stiffness, core.tolerance = options.stiffness or 0.0, options.tolerance or 0.0
        for name in ("least_part", "slip_speed", "linear_tolerance", "max_linear_iterations", "increments"):
            setattr(core, name, getattr(options, name))
        core.activation = self._distance_of_solids()
        # Forces are only right where positions are to a small part of the distances within which barriers act.
        thickness = self.surface.thickness[self.surface.thickness > 0]
        core.most = 0.01 * min(float(thickness.min(initial=np.inf)), core.activation if self._solids else np.inf) / dt
        return core

    def complete(self, info: WorldInfo) -> None:
        """End the step, which is a loop."""
        core, contact, x = self._in_step(), info.contact, np.empty_like(self.loop.x_free)
        core.positions(x)
        contact.pairs = len(self._barrier_of_step()) + core.near_solids
        contact.min_distance = core.closest
        contact.newton_iterations, contact.linear_iterations = core.iterations, core.linear_iterations
        contact.increments, contact.barrier_stiffness = core.increments, core.stiffness
        contact.certified = contact.loop_ended = True
        info.max_speed = core.commit()
        self.barrier_stiffness = core.stiffness
        self.leave()
        self.loop.ended_at(x, info.dt)

    def longest_step(self) -> float:
        """Return infinity: no step is too long."""
        return math.inf

    def _nearest_pairs(self) -> CollisionPairs:
        """Return the pairs within a tenth of their activation distance, at most 1000 of each kind."""
        barrier, at = self._barrier_of_step(), np.empty_like(self.loop.x_free)
        self._in_step().positions(at)
        x = self.surface.at_vertices(at)
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

    def _in_step(self) -> Any:
        if self._core is None:
            raise RuntimeError("a stage is part of a step: call begin first")
        return self._core

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
