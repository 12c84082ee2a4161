"""Worlds in real time: bodies of position based dynamics, rigid bodies and reduced bodies that touch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core.advancing import OnStep
from meniscus.core.solver import OnStage
from meniscus.core.stateful import exclusively
from meniscus.solids.interaction.budget import Budget, part_of
from meniscus.solids.interaction.interactive_world import InteractiveWorld
from meniscus.solids.options import world_step
from meniscus.solids.position.node_planes import frame_planes
from meniscus.solids.position.position_constraints import AttachmentConstraints, ClosedVolumeConstraint, PositionConstraints
from meniscus.solids.position.shape_matching import ShapeMatching
from meniscus.solids.positions_world.positions_setup import PositionsSetup
from meniscus.solids.positions_world.surfaces import is_convex_form, joined
from meniscus.solids.rigid.rigid_options import RigidInfo, RigidOptions
from meniscus.solids.rigid.solid_points import points_in_solid

Floats = npt.NDArray[np.float64]

_LONGEST_FRAME = 1 / 60
"""s: frames that `advance` takes are at most that long."""
_REACH = 4.0
"""Pairs that have passed each other by more than this multiple of their thickness are left alone."""
_AHEAD = 6.0
"""Pairs are looked for along motion, relative to all others, of at most this multiple of the thickness, which bounds the work."""
_FAR = 2.0
"""Displacements of reduced bodies are at most this multiple of their size at rest."""
_NEWTON = 1e-6, 4
"""Tolerance and most iterations of the steps of reduced bodies."""


class FrameInfo(NamedTuple):
    """Report of a step of a world in real time.

    Attributes:
        dt: s.
        substeps: that were taken.
        searches: for pairs of surfaces near each other.
        pairs: of these, at the last search.
        rows: contacts of rigid and reduced bodies with other types and of reduced bodies with obstacles, in the last substep.
        pressing: of these, those that press.
        support: impulse (3,) of the obstacles on all bodies, N s.
        seconds: of the stages: rigid bodies; predictions; searches; constraints and contacts of nodes; contacts of bodies; ends.
        max_speed: m/s, of nodes and of centres of mass.
        rigid: report of the rigid bodies; None without any.
    """

    dt: float = 0.0
    substeps: int = 0
    searches: int = 0
    pairs: int = 0
    rows: int = 0
    pressing: int = 0
    support: tuple[float, float, float] = (0.0, 0.0, 0.0)
    seconds: tuple[float, ...] = ()
    max_speed: float = 0.0
    rigid: RigidInfo | None = None


class PositionsWorld(InteractiveWorld, PositionsSetup):
    """Bodies of position based dynamics, rigid bodies and reduced bodies that touch each other, in real time.

    A step is one frame: `begin_frame`, any number of `substep`, `end_frame`; or `step`, which
    calls these. Work is bounded: numbers of substeps and iterations are given, and nothing is iterated until it converges.

    Contacts between bodies of different types, and between nodes, are inequalities between positions (vertices and faces, edges and edges,
    a thickness apart, on the side on which they were), projected in every substep. A rigid or reduced body takes part with its generalised
    inverse mass at the point, and what moves it changes its momentum: linear momentum is conserved to rounding. Rigid bodies touch each
    other and obstacles as in a `RigidSystem`, whose contacts are found once a frame and solved every `rigid_every` substeps. Obstacles hold
    nodes by planes that are found once a frame.

    The state is that of the bodies, the time, contacts and joints of rigid bodies with their impulses, and which pairs of surfaces have
    passed each other. What the world consists of is the set-up, which copies and pickles have too. `step` is transactional.

    Args:
        gravity: m/s^2, of all bodies that are added; None: each has its own.
        substeps: of a frame.
        iterations: projections of all constraints and contacts in a substep.
        rigid: options of contact between rigid bodies, `iterations` (4) sweeps for each solve; they do not sleep.
        rigid_every: substeps from one solve of contacts between rigid bodies to the next.
        damping: 1/s; velocities of nodes decay with it.
        recovery: m/s: what is too close at the start of a substep comes apart at most so fast.
        max_speed: m/s: nothing moves freely faster than that.
        searches: most searches for pairs of surfaces in a frame after the first; each looks ahead by its part of the frame.
        margin: m: pairs within their thickness and this are found; None: a quarter of the mean thickness.
        edges: whether edges of nodes touch edges of nodes and of bodies that are not convex, besides vertices and faces, which section
            5.4.3 has alone: finding them takes
            several times as long, and where squares are not much larger than the thickness, vertices keep them apart.

    Attributes:
        substeps, iterations, rigid_every, damping, recovery, max_speed, searches: as above; assignable.
        report: `FrameInfo` of the last step.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Müller, Stam, James and Thürey 2008, chapters 5 to 7 and sections 1.1 and 1.3; Macklin et al., "Small steps in physics
    simulation", 2019; Müller, Macklin, Chentanez, Jeschke and Kim 2020.
    """

    report_type = FrameInfo
    settings: ClassVar[tuple[str, ...]] = (
        "substeps",
        "iterations",
        "rigid_every",
        "damping",
        "recovery",
        "max_speed",
        "searches",
        *PositionsSetup.settings,
    )

    def __init__(
        self,
        *,
        gravity: Sequence[float] | Floats | None = None,
        substeps: int = 8,
        iterations: int = 1,
        rigid: RigidOptions | None = None,
        rigid_every: int = 1,
        damping: float = 0.0,
        recovery: float = 1.0,
        max_speed: float = 100.0,
        searches: int = 1,
        margin: float | None = None,
        edges: bool = True,
    ) -> None:
        self.substeps = _checks.integer("substeps", substeps, at_least=1)
        self.iterations = _checks.integer("iterations", iterations, at_least=1)
        self.rigid_every = _checks.integer("rigid_every", rigid_every, at_least=1)
        self.searches = _checks.integer("searches", searches, at_least=0)
        self.damping = _checks.number("damping", damping)
        if self.damping < 0:
            raise ValueError(f"damping must not be negative, but is {damping:g}")
        self.recovery = _checks.positive("recovery", recovery)
        self.max_speed = _checks.positive("max_speed", max_speed)
        self._margin = None if margin is None else _checks.positive("margin", margin)
        self._edges = _checks.flag("edges", edges)
        self._core: Any = None
        self._contacts: Any = None
        self._system: Any = None
        self._no_rigid: Any = None
        self._shape: list[Any] = []
        self._targets: list[Any] = []
        self._slack = self._dt = 0.0
        self._left = 0
        self._cost = 0.0
        self._make_setup(gravity, rigid)
        self.passed = self.declare("passed", np.zeros((0, 3), np.int32), resizable=True)
        self.depth = self.declare("depth", _REACH)
        super().__init__()

    # --- steps ---------------------------------------------------------------------------------------------------------------

    def _take_step(
        self,
        dt: float,
        on_stage: OnStage | None = None,
        *,
        substeps: int | None = None,
        iterations: int | None = None,
        **others: Any,
    ) -> FrameInfo:
        """Take one frame of dt seconds; see `step`. With a budget, what substeps have cost decides their number."""
        if others or on_stage is not None:
            raise TypeError("a step of a world in real time takes substeps, iterations, budget and counts")
        meter, count = self.meter, self.substeps if substeps is None else _checks.integer("substeps", substeps, at_least=1)
        if meter is not None:
            count = meter.choose("substeps", count, self._cost)
        with self.transaction(("node_bodies", "reduced_bodies", "passed", "depth", "_time")):
            self.begin_frame(dt, substeps=count)
            try:
                self.substep(self._left, iterations=iterations)
                info = self.end_frame()
            finally:
                self._left = 0
        if meter is not None and meter.elapsed > 0:
            self._cost = meter.elapsed / count
        return info

    def advance(
        self,
        duration: float,
        on_step: OnStep | None = None,
        *,
        frame: float = _LONGEST_FRAME,
        budget: float | Budget | None = None,
    ) -> list[FrameInfo]:
        """Advance by a duration (s) in equal frames of at most `frame` seconds; return their reports. Arguments as for `World.advance`."""
        end = self.time + _checks.positive("duration", duration)
        count = max(1, math.ceil(duration / _checks.positive("frame", frame) - 1e-9))
        infos = []
        for _ in range(count):
            infos.append(self.step(duration / count, budget=part_of(budget, 1 / count)))
            if on_step is not None:
                on_step(self)
        self.arrive_at(end)
        return infos

    @exclusively
    def begin_frame(self, dt: float, *, substeps: int | None = None) -> int:
        """Begin a frame of dt seconds; return the number of its substeps, all of which `substep` must take before `end_frame`."""
        h = world_step(dt)
        if self._left:
            raise ValueError(f"the frame that has begun has {self._left} substeps left")
        if not self.bodies:
            raise ValueError("a world needs a body: call add")
        count = self.substeps if substeps is None else _checks.integer("substeps", substeps, at_least=1)
        core = self._built()
        self._require_finite()
        arrays, groups, points = self._begin_rigid(h)
        for i, body in enumerate(self.node_bodies):
            core.set_nodes(i, body.nodes, body.velocities, body.previous, body.gravity.tolist(), body.max_speed, self.damping)
            core.lead_nodes(i, *self._led(body, h))
            surface = self._surfaces[id(body)]
            x, v = body.nodes[surface.nodes, :3], body.velocities[surface.nodes]
            core.set_planes(i, *frame_planes(self._solids, x, v, body.gravity, self._slack, self.time, h))
        for i, other in enumerate(self.reduced_bodies):
            other.refresh()
            nodes = self._surfaces[id(other)].nodes
            planes = frame_planes(self._solids, other.positions[nodes], other.velocities[nodes], other.gravity, self._slack, self.time, h)
            core.set_reduced(i, other.gravity.tolist(), other.mass_damping, other.stiffness_damping, *planes)
        counts = count, self.iterations, self.rigid_every, self.searches
        core.begin_frame(h, counts, self.recovery, self.max_speed, arrays, groups, points, self.passed, self.depth)
        self._arrays = arrays
        self._left, self._dt = count, h
        return count

    @exclusively
    def substep(self, count: int = 1, *, iterations: int | None = None) -> None:
        """Take substeps of the frame that has begun, with `iterations` projections (default: those of the world) in each."""
        n = _checks.integer("count", count, at_least=1)
        if n > self._left:
            raise ValueError(f"the frame has {self._left} substeps left, not {n}: call begin_frame or end_frame")
        rounds = self.iterations if iterations is None else _checks.integer("iterations", iterations, at_least=1)
        self._core.run(self._arrays, n, rounds)
        self._left -= n

    @exclusively
    def end_frame(self) -> FrameInfo:
        """End the frame whose substeps were taken; return its report, also stored as `report`."""
        if self._left or not self._dt:
            raise ValueError(f"the frame has {self._left} substeps left: take them first" if self._left else "begin_frame comes first")
        h, core = self._dt, self._core
        rigid = self.rigid.end() if self.rigid.bodies else None
        passed, self.depth = core.end_frame()
        self.passed = passed
        for body in self.node_bodies:
            body.quiet = 0.0
        for other in self.reduced_bodies:
            other._store()
            other._core.positions(other._positions)
        self._require_finite()
        self._dt = 0.0
        self._time += h
        for moved in self._moved_bodies():
            moved.time = self._time
        found = core.report()
        support, seconds = tuple(found.pop("support")), tuple(found.pop("seconds"))
        self.report = FrameInfo(dt=h, support=support, seconds=seconds, max_speed=self._max_speed(), rigid=rigid, **found)
        return self.report

    def _begin_rigid(self, dt: float) -> tuple[Any, Any, Any]:
        if not self.rigid.bodies:
            none = np.zeros((0, 3))
            return (np.zeros((0, 13)), np.zeros((0, 6)), none, none, np.zeros(0)), np.zeros((0, 3), np.int32), np.zeros((0, 17))
        self.rigid.begin(dt)
        return self.rigid._arrays, *points_in_solid(self.rigid.parts, self.rigid._arrays[0], self.time, dt, self.rigid._slop())

    def _led(self, body: Any, dt: float) -> tuple[Any, Floats, Floats]:
        """Return the nodes on paths, and where they are as the frame begins and ends."""
        rows, ends = [np.zeros(0, np.int32)], [np.zeros((0, 3))]
        for own, path in body._paths:
            x = np.asarray(path(self.time + dt), np.float64)
            if x.shape != (len(own), 3) or not np.isfinite(x).all():
                raise ValueError(f"a path must return finite positions of shape ({len(own)}, 3), not {x.shape}")
            rows.append(own)
            ends.append(x)
        led = np.concatenate(rows)
        return led, np.ascontiguousarray(body.nodes[led, :3]), np.concatenate(ends)

    def _moved_bodies(self) -> list[Any]:
        return [*self.node_bodies, *self.reduced_bodies]

    def _require_finite(self) -> None:
        for kind, bodies, parts in (
            ("body of nodes", self.node_bodies, ("nodes", "velocities")),
            ("reduced body", self.reduced_bodies, ("coordinates", "rates", "frame")),
        ):
            for i, body in enumerate(bodies):
                if not all(np.isfinite(getattr(body, name)).all() for name in parts):
                    raise ValueError(f"the state of {kind} {i} of the world is not finite")

    def _max_speed(self) -> float:
        fastest = [math.sqrt(float(np.einsum("nd,nd->n", b.velocities, b.velocities).max(initial=0.0))) for b in self.node_bodies]
        fastest += [float(np.linalg.norm(b.momentum)) / b.mass for b in self.reduced_bodies]
        if self.rigid.bodies:
            momenta = self.rigid._arrays[0][:, 7:10]
            m = self.rigid._masses
            fastest.append(float(np.linalg.norm(momenta[m > 0] / m[m > 0, None], axis=1).max(initial=0.0)))
        return max(fastest)

    # --- the core ------------------------------------------------------------------------------------------------------------

    def _set_up_changed(self) -> None:
        self._core = None
        self.passed, self.depth = np.zeros((0, 3), np.int32), _REACH

    def named_bodies(self) -> list[tuple[str, Any, Any]]:
        """Return name and body of all bodies; contact sees their own surfaces."""
        lists: dict[str, Sequence[Any]] = {"nodes": self.node_bodies, "reduced": self.reduced_bodies, "rigid": self.rigid.bodies}
        return [(f"{name}[{k}]", body, None) for name, own in lists.items() for k, body in enumerate(own)]

    def _within_step(self) -> bool:
        return bool(self._left or self._dt)

    def _state_replaced(self) -> None:
        self._left, self._dt = 0, 0.0
        if self.removals != self._removals:
            raise ValueError(f"the state is that of a world that {self.removals} bodies were taken out of, not {self._removals}")

    def _built(self) -> Any:
        """Return the world of the core, made anew after changes of the set-up or of the rigid system's."""
        system = self._rigid_core()
        shape = [(tuple(body.constraints), body.nodes.ctypes.data) for body in self.node_bodies]
        if self._core is not None and self._system is system and self._shape == shape:
            self._refresh()
            return self._core
        order: list[Any] = [*self.node_bodies, *(b for b in self.rigid.bodies), *self.reduced_bodies]
        surfaces = [self._surfaces[id(b)] for b in order]
        j = joined(surfaces)
        margin = 0.25 * float(j.thickness.mean()) if self._margin is None and len(j.thickness) else self._margin or 0.0
        cores: Any = _solids
        self._contacts = cores.PositionContacts(
            j.edges, j.triangles, j.rest, j.thickness, j.friction, margin, _REACH, self.recovery, _AHEAD, self._edges
        )
        self._slack = margin + float(j.thickness.max(initial=0.0))
        core = cores.PositionsWorld(self._contacts, system)
        numbers = {id(p.body): i for i, p in enumerate(self.rigid.parts) if p.body is not None}
        self._targets = []
        for body, surface, first in zip(order, surfaces, j.first, strict=False):
            if id(body) in numbers:
                part = self.rigid.parts[numbers[id(body)]]
                convex = is_convex_form(body, part.form)
                core.add_rigid(numbers[id(body)], surface.rest, first, surface.closed, convex, surface.thickness, surface.friction)
            elif any(body is b for b in self.reduced_bodies):
                far = _FAR * float(np.ptp(body.model.rest_positions, axis=0).max())
                core.add_reduced(body._core, surface.nodes, first, far, *_NEWTON)
            else:
                core.add_nodes(surface.nodes, first)
        for i, body in enumerate(self.node_bodies):
            for constraint, projector in zip(body.constraints, body._projectors, strict=True):
                self._add_constraints(core, i, body, constraint, projector)
        core.finish_setup()
        self._core, self._system, self._shape = core, system, shape
        self._refresh()
        return core

    def _rigid_core(self) -> Any:
        if self.rigid.bodies:
            return self.rigid._made_core()
        if self._no_rigid is None:
            self._no_rigid = _solids.RigidSystem()
        return self._no_rigid

    def _add_constraints(self, core: Any, i: int, body: Any, constraint: Any, projector: Any) -> None:
        if isinstance(constraint, PositionConstraints):
            core.add_constraints(i, projector.core)
        elif isinstance(constraint, ShapeMatching):
            core.add_shapes(i, projector.core)
        elif isinstance(constraint, AttachmentConstraints):
            targets = np.array(constraint.targets)
            self._targets.append((constraint, targets))
            core.add_targets(i, constraint.nodes, targets, constraint.compliance)
        elif isinstance(constraint, ClosedVolumeConstraint):
            volume = constraint.pressure * constraint.rest_volume
            core.add_volume(i, constraint.triangles, constraint.nodes, volume, constraint.compliance, len(body))
        else:
            raise TypeError(f"a world in real time has no {type(constraint).__name__}")

    def _refresh(self) -> None:
        """Take over what may be assigned between frames."""
        for constraint, targets in self._targets:
            targets[...] = constraint.targets

    def __repr__(self) -> str:
        """One line: bodies, obstacles, time."""
        nodes = sum(map(len, self.node_bodies))
        kinds = f"{len(self.node_bodies)} bodies of {nodes} nodes, {len(self.rigid)} rigid and {len(self.reduced_bodies)} reduced ones"
        return f"<PositionsWorld of {kinds}, {len(self._solids)} obstacles, t = {self.time:g} s>"
