"""Steps of a world whose surfaces answer to contact with a barrier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meniscus._meniscus import solids as _solids
from meniscus.collision import Barrier, CollisionPairs, edge_edge_distance, point_triangle_distance
from meniscus.core import Workspace
from meniscus.numerics.solve import ConvergenceError, SolveInfo
from meniscus.solids.contact.barrier_options import BarrierOptions
from meniscus.solids.contact.contact_surface import ContactSurface, Floats
from meniscus.solids.contact.loop import ContactLoop
from meniscus.solids.contact.reports import ContactError, WorldInfo

BARRIER_STAGES = ("meet", "approach", "minimise", "rub_again")


class BarrierStages(ContactLoop):
    """Base of a world: its stages with `response="barrier"`. Every step is a loop of its own.

    1. `meet`: pairs, friction and stiffness of the barrier at the start;
    2. `approach`: obstacles and moved nodes go to the ends of their paths, in moves that the time of impact limits;
    3. `minimise`: Newton's method finds the positions at the end;
    4. `rub_again`: it goes on with the friction of the forces found.

    All go from positions to positions on straight ways that the exact test has found free of contact.

    Attributes:
        on_iterate: called with the positions (n, 3) of all nodes after each move, m; None for nothing.
    """

    _core: Any
    _workspace: Workspace
    running_report: WorldInfo
    on_iterate: Callable[[Floats], None] | None = None
    _barrier_options: BarrierOptions | None = None
    _barrier: Barrier | None = None

    def _make_barrier(self, options: BarrierOptions) -> None:
        self._barrier_options = options
        self.barrier_stiffness = self.declare("barrier_stiffness", 0.0)

    def find_pairs(self) -> int:
        """Store pairs near each other, see `ContactLoop.find_pairs`; a barrier finds its own."""
        if self._barrier_options is None:
            return super().find_pairs()
        self._found = True
        return 0

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
        core, options = self._in_step(), self._options_of_barrier()
        if not core.minimise(options.max_iterations) and options.raise_on_failure:
            raise ConvergenceError(
                f"Newton's method did not meet its tolerance of {core.tolerance:.1e} m/s in {core.iterations} iterations; "
                "nothing has changed",
                SolveInfo(core.iterations, np.inf, False, "iterations", 0.0, 0.0, ()),
            )

    def rub_again(self, dt: float) -> None:
        """Go on with the friction of the forces at the end, as often as `friction_solves` says."""
        for _ in range(self._options_of_barrier().friction_solves - 1):
            if self._in_step().lag_friction() == 0:
                break
            self.minimise(dt)

    # --- within a step -------------------------------------------------------------------------------------------------------

    def _begin_barrier(self, dt: float, motions: list[Any]) -> None:
        surface = self.surface
        end = np.array(self.x_free)
        surface.move_obstacles(end, self.time + dt)
        if surface.can_touch and not surface.thickness.all():
            raise ValueError('with response="barrier" the thickness of a surface is its activation distance and must be positive')
        if self._barrier is None:
            self._barrier = barrier_of(surface, surface.thickness, self._options_of_barrier().rest_part)
        self._core = _solids.BarrierStep(
            [body._core for body in self.bodies],
            motions,
            dt,
            self._workspace,
            surfaces_of(surface, self._barrier),
            list(self.solids),
            np.array(self.x_free),
            end,
            self.time,
            False,
            self._core_options(dt),
        )
        self._core.watch(self.on_iterate)

    def _core_options(self, dt: float) -> Any:
        options, core = self._options_of_barrier(), _solids.BarrierStepOptions()
        core.fixed_stiffness, core.tolerance = options.stiffness or 0.0, options.tolerance or 0.0
        for name in ("least_part", "slip_speed", "linear_tolerance", "max_linear_iterations", "increments"):
            setattr(core, name, getattr(options, name))
        core.activation = self._distance_of_solids()
        # Forces are only right where positions are to a small part of the distances within which barriers act.
        thickness = self.surface.thickness[self.surface.thickness > 0]
        core.most = 0.01 * min(float(thickness.min(initial=np.inf)), core.activation if self.solids else np.inf) / dt
        return core

    def _end_barrier(self, info: WorldInfo) -> None:
        core, contact, x = self._in_step(), info.contact, np.empty_like(self.x_free)
        core.positions(x)
        contact.pairs = len(self._barrier_of_step()) + core.near_solids
        contact.min_distance = core.closest
        contact.newton_iterations, contact.linear_iterations = core.iterations, core.linear_iterations
        contact.increments, contact.barrier_stiffness = core.increments, core.stiffness
        contact.certified = contact.loop_ended = True
        info.max_speed = core.commit()
        self.barrier_stiffness = core.stiffness
        self._core = None
        self._stepped(info.dt)
        self.x_free = x
        self.inner_steps, self.loop_time, self._found = 0, 0.0, False

    def _nearest_pairs(self) -> CollisionPairs:
        """Return the pairs within a tenth of their activation distance, at most 1000 of each kind."""
        barrier, at = self._barrier_of_step(), np.empty_like(self.x_free)
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

    def _options_of_barrier(self) -> BarrierOptions:
        if self._barrier_options is None:
            raise RuntimeError('this stage is one of a world with response="barrier"')
        return self._barrier_options

    def _distance_of_solids(self) -> float:
        given = self._options_of_barrier().distance
        if given is not None:
            return given
        first = len(self.surface) - sum(len(o.rest) for o in self.meshes)
        own = self.surface.thickness[:first]
        return float(own.mean()) if len(own) and own.mean() > 0 else 0.01

    def _surface_replaced(self) -> None:
        super()._surface_replaced()
        self._barrier = None


def barrier_of(surface: ContactSurface, thickness: Floats, rest_part: float) -> Barrier:
    """Return the barrier of a surface with the activation distances (v,), m, of its vertices."""
    group = np.searchsorted(surface._vertex_starts, np.arange(len(surface)), side="right").astype(np.int32)
    nodes = surface.contact_nodes
    return Barrier(surface.mesh, surface.rest, thickness, nodes=nodes, normalized=True, rest_part=rest_part, groups=group)


def surfaces_of(surface: ContactSurface, barrier: Barrier) -> Any:
    """Return what a barrier acts between, for a step."""
    return _solids.ContactSurfaces(surface.mesh._core, surface.contact_nodes._core, barrier.core, surface.friction)
