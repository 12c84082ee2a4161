"""Worlds: bodies and obstacles that touch, in one step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from meniscus import _checks
from meniscus.core.advancing import OnStep
from meniscus.core.solver import OnStage
from meniscus.core.stateful import exclusively
from meniscus.solids.contact.barrier_options import BarrierOptions
from meniscus.solids.contact.barrier_solver import BarrierSolver
from meniscus.solids.contact.contact_solver import ContactSolver
from meniscus.solids.contact.contact_surface import ContactSurface, Floats, Ints
from meniscus.solids.contact.impulse_solver import ImpulseOptions, ImpulseSolver, Rest
from meniscus.solids.contact.loop.contact_loop import ContactLoop
from meniscus.solids.contact.loop.deactivated_pairs import renumbered
from meniscus.solids.contact.loop.loop_lengths import StepsPerLoop
from meniscus.solids.contact.loop.rewinding import OuterLoop, RewindingLoop
from meniscus.solids.contact.obstacles import MeshMotion, Sides
from meniscus.solids.contact.reports import ContactInfo, WorldInfo
from meniscus.solids.contact.solid_contacts import SolidResponse
from meniscus.solids.contact.world_setup import WorldSetup
from meniscus.solids.interaction.budget import Budget, part_of
from meniscus.solids.interaction.interactive_world import InteractiveWorld
from meniscus.solids.options import FrictionOptions, world_step
from meniscus.solids.rigid.joints import RigidJoint
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rigid_options import JointKind, RigidOptions

Response = Literal["impulses", "barrier"]
"""How surfaces answer to contact with each other."""
OnPinch = Literal["error", "release"]
"""What happens to contacts that nothing resolves."""

_MOST_CUTS = 100  # in a row, before `advance` gives up
_STEP_OPTIONS = frozenset(
    ("elasticity", "finish", "tangent", "tolerance", "max_iterations", "preconditioner", "safeguard", "raise_on_failure")
)


class World(InteractiveWorld):
    """Deformable bodies and obstacles that touch each other and themselves, as one system.

    A step is one Newmark step of all bodies. Its stages are methods, called in this order, of which each may be replaced or be followed by
    code of your own (`on_stage`):

    1. `predict`: velocities in the middle of the step, for the positions;
    2. `repel`: repulsion between surfaces changes these;
    3. `advance_positions`: positions at the end;
    4. `collide`: contact with solids changes them, and the velocities that the rest of the step starts from;
    5. `solve`: velocities in the middle of the step; those along normals of contacts are given;
    6. `extrapolate`: velocities at the end, without the forces of contact;
    7. `slide`: contact and friction with solids;
    8. `rub`: repulsion and friction between surfaces.

    After every `steps_per_loop` steps, `loop.end` looks at the straight way from the positions at which the loop began, and changes it
    until by the exact test nothing touches on it. So surfaces that do not intersect at the start never do at the end of a loop. As a loop
    begins, `loop.find_pairs` stores which side of each other surfaces are on. `step` calls both.

    `step` is transactional: an error or Ctrl-C leaves everything as after the last completed step. The state is that of the set-up (bodies
    and time), of the loop (the number of its steps, its length so far, positions and velocities at its start, deactivated pairs), of the
    solver and of the interaction. What the world consists of copies and pickles have too.

    Attributes:
        setup: what it consists of (`WorldSetup`); `bodies` (deformable ones), `others` (with steps of their own) and `rigid` (the system of
            the rigid ones) are its lists.
        loop: the steps from one certified state to the next (`ContactLoop`).
        solver: what answers to contact and has the stages, an `ImpulseSolver` or a `BarrierSolver`.
        interaction: picks, attachments, aims, fields of force (`Interaction`).

    Args:
        gravity: m/s^2, of all bodies that are added; None: each has its own.
        steps_per_loop: steps from one certified state to the next; "auto": 4 to 16, fewer where much is to be resolved, found from the
            counts of the loops before (`loop.loop_steps` of the present one).
        response: "impulses"; "barrier" or `BarrierOptions`: an energy that keeps surfaces apart, in steps of implicit Euler with
            stages of their own (`BarrierSolver`), for stiff stacks and steps of a whole frame, up to about 100,000 triangles. Every step
            is a loop then. Only `gravity` goes with it.
        solid_response: "path": nodes that meet a solid turn along it there, and friction is that of the forces that the solid holds
            against; "projection": the older method, for comparison, which loses friction in the solve.
        on_pinch: "error": contacts that nothing resolves, such as of cloth between obstacles that meet, raise ContactError; "release":
            they are deactivated, and taken back once they are apart.
        rest: "held": what rests stays where it is. Contacts with solids that hold nodes up last from step to step, hold these in
            `predict` too, and their friction is part of the solves (see `SolveFriction`); friction between surfaces acts on the velocities
            that positions go with too. "literal": as printed. Then friction acts on velocities at the end of the step only: what rests
            on a slope creeps by half of what it would fall along it in each step, from rest.
        cut: whether a loop may be ended before a contact that only this resolves; the rest is taken anew.
        sweeps: how often repulsion goes over all pairs of surfaces and then over the contacts of nodes with solids in a stage, so that
            what is pressed onto nodes on solids goes into these. None: twice, or once for `rest` "literal". Stacks that should not sink
            into their thickness take about three for each layer.
        friction_solves: how often a velocity solve is taken once more at most, until nodes on solids stick and slip as friction says. None:
            4 times, or 0 for `rest` "literal". What one solve has found, the next begins with, so that few are taken once more.
        loop: "fixed", or, for comparison, "rewind" (Bridson et al. 2002): surfaces repel each other once per loop; where something
            collides, the state goes back to the start of the loop, which is taken again with half as many steps, down to 1. Loops grow
            again.
        rigid: options of contact between rigid bodies.
        history: False, for comparison: repulsion takes the sides of surfaces from where they are now, not from the start of the loop.
        **options: `friction`: `FrictionOptions`; `elasticity`, `finish`, `tangent`, `tolerance`, `max_iterations`, `preconditioner`,
            `safeguard`, `raise_on_failure` as in `DeformableBody.step` with "newmark". `safeguard` refuses steps beyond the limit of
            stability; no step is taken once more.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Selle 2008, section 6.2.
    """

    report_type = WorldInfo
    settings = ("contents",)

    def __init__(
        self,
        *,
        gravity: Sequence[float] | Floats | None = None,
        steps_per_loop: StepsPerLoop = 16,
        response: Response | BarrierOptions = "impulses",
        solid_response: SolidResponse = "path",
        on_pinch: OnPinch = "error",
        rest: Rest = "held",
        sweeps: int | None = None,
        friction_solves: int | None = None,
        cut: bool = True,
        loop: OuterLoop = "fixed",
        history: bool = True,
        rigid: RigidOptions | None = None,
        **options: Any,
    ) -> None:
        barrier = response if isinstance(response, BarrierOptions) else None
        kind = "barrier" if barrier is not None else _checks.choice("response", response, Response)
        friction = _checks.one_of_type("friction", options.pop("friction", FrictionOptions()), FrictionOptions)
        refused = set(options) - _STEP_OPTIONS
        if refused:
            raise TypeError(f"a world has no option {sorted(refused)[0]!r}")
        others = (solid_response, on_pinch, rest, sweeps, friction_solves, cut, loop, history)
        if kind == "barrier" and (options or others != ("path", "error", "held", None, None, True, "fixed", True)):
            raise ValueError('with response="barrier", `gravity` is the only other option')
        rewinds = _checks.choice("loop", loop, OuterLoop) == "rewind"
        steps: StepsPerLoop = steps_per_loop if steps_per_loop == "auto" else _checks.integer("steps_per_loop", steps_per_loop, 1)
        held: Any = _checks.choice("rest", rest, Rest)
        self.gravity = None if gravity is None else np.array(_checks.vector("gravity", gravity, 3))
        self.setup = WorldSetup(
            self.gravity, rigid, couples=kind == "impulses" and not rewinds, steps_in_loop=lambda: self.loop.inner_steps
        )
        self.loop: ContactLoop = (RewindingLoop if rewinds else ContactLoop)(
            self.setup,
            1 if kind == "barrier" else steps,
            release=_checks.choice("on_pinch", on_pinch, OnPinch) == "release",
            cut=_checks.flag("cut", cut),
            history=_checks.flag("history", history),
            repels=kind == "impulses",
        )
        self.solver: ContactSolver
        if kind == "barrier":
            self.solver = BarrierSolver(self.setup, self.loop, BarrierOptions() if barrier is None else barrier)
        else:
            sweeps_of_rest = 2 if held == "held" else 1
            chosen = ImpulseOptions(
                solid_response=_checks.choice("solid_response", solid_response, SolidResponse),  # type: ignore[arg-type]
                rest=held,
                sweeps=sweeps_of_rest if sweeps is None else _checks.integer("sweeps", sweeps, 1),
                friction_solves=None if friction_solves is None else _checks.integer("friction_solves", friction_solves, 0),
                friction=friction,
                step=options,
            )
            self.solver = ImpulseSolver(self.setup, self.loop, chosen)
        if isinstance(self.loop, RewindingLoop):
            self.loop.remember(self.solver)
        self.stages = self.solver.stages
        for name in self.stages:
            setattr(self, name, getattr(self.solver, name))
        for name in ("setup", "loop", "solver"):
            part = self.declare(name, getattr(self, name))
            part.exclusive = self.exclusive  # who changes a part changes the world
        self.bodies, self.others, self.rigid = self.setup.bodies, self.setup.others, self.setup.rigid
        super().__init__()

    # --- set-up --------------------------------------------------------------------------------------------------------------

    @exclusively
    def add(self, body: Any, surface: Any = None, thickness: float | None = None, friction: Any = 0.4, **options: Any) -> Any:
        """Add a body and return it. Its time becomes that of the world, and its gravity too, if the world has one.

        Args:
            body: steps of the world change it. Between steps its state, forces and constraints may be changed. A
                `DeformableBody`, `RigidBody`, `PositionBody` (of float64, with a mesh) or `ReducedBody`.
            surface: the surface that contact sees. None: that of the body's own mesh: its triangles, the boundary of its tetrahedra, its
                segments; none for a body without a mesh. Or a mesh of triangles or segments, which hangs in the body as it is now, or as
                a pair (mesh, `Embedding`) says. Contact with solids is that of the nodes. For deformable bodies.
            thickness: distance from other surfaces at which repulsion begins, m; None: a quarter of the mean edge. At each vertex at most
                0.9 of its shortest edge. Of rigid bodies as in `RigidSystem.add`.
            friction: coefficient, against other surfaces; of rigid bodies also a `RigidFriction`.
            **options: of a rigid body `form` and `restitution`, as in `RigidSystem.add`; of a PositionBody `iterations` (10), `method`,
                `damping` and `rigid_damping`, as in `PositionBody.step`, of which a step of the world is one substep; of a ReducedBody
                `method` (default "implicit-euler"), `tolerance` and `max_iterations`, as in `ReducedBody.step`.

        Raises:
            TypeError, ValueError: no body, or one that the world has; no such surface or option; negative values; in the middle of a loop;
                bodies of different kinds in a world with a barrier or with loops that rewind; a first rigid body where an obstacle is a
                mesh on a path.
        """
        return self.setup.add(body, surface, thickness, friction, **options)

    @exclusively
    def remove(self, body: Any) -> None:
        """Take a body of any type out, with its joints, handles, attachments and pose targets.

        It stays as it is, and belongs to nobody. The state of all others stays the same to the last bit: what is remembered by numbers is
        numbered anew. Snapshots of before do not fit any more: to restore one raises ValueError.

        Args:
            body: of the world.

        Raises:
            ValueError: the world has not this body; in the middle of a loop.
        """
        if not self.setup.has(body):
            raise ValueError("the world has not this body")
        self.setup.require_between_loops("bodies are removed")
        name, names = self.interaction.name_of(body), {known: id(own) for known, own in self.interaction.bodies.items()}
        before, (nodes, vertices) = self.surface, self.setup.place_of(body)
        self.setup.remove(body)
        self.solver.nodes_renumbered(renumbered(np.arange(before.size, dtype=np.int32), nodes))
        self.loop.left(nodes, vertices, before)
        self.interaction.body_left(name, names)

    @exclusively
    def add_obstacle(
        self,
        obstacle: Any,
        thickness: float | None = None,
        friction: Any = 0.4,
        sides: Sides = "outside",
        motion: MeshMotion | None = None,
        *,
        restitution: float = 0.0,
    ) -> None:
        """Add an obstacle, whose motion is given.

        Args:
            obstacle: with `sides` "outside", a `surface.Solid`, or what a `KinematicSolid` is made from: a shape, a `LevelSet`, a closed
                mesh; nodes stay out of it. With "both", a mesh of triangles, also an open one, a `DeformingSolid`, or a mesh of segments
                (for which this is always so): surfaces stay on their side of it.
            thickness: m: distance that nodes keep from a solid, default 0; of a mesh as in `add`.
            friction: coefficient: that of nodes on this solid, or a `RigidFriction`, of which nodes take the dynamic one; of a mesh as in
                `add`.
            sides: see above.
            motion: of a mesh with two sides: a function of time (s) that returns its vertices (n, 3), m, or a `Pose`; None: it is at rest.
                Rigid bodies take meshes on paths as a `RigidBody`.
            restitution: of rigid bodies on it, from 0 to 1.

        Raises:
            TypeError, ValueError: no such obstacle, negative values; in the middle of a loop.
        """
        self.setup.add_obstacle(obstacle, thickness, friction, sides, motion, restitution)

    def join(self, first: RigidBody, second: RigidBody | None, kind: JointKind, **options: Any) -> RigidJoint:
        """Join two rigid bodies; arguments and errors are those of `RigidSystem.join`."""
        return self.rigid.join(first, second, kind, **options)

    # --- steps ---------------------------------------------------------------------------------------------------------------

    def _take_step(self, dt: float, on_stage: OnStage | None = None, *, guarantee: bool = False, **others: Any) -> WorldInfo:
        """Advance by dt seconds; see `step`."""
        if others:
            raise TypeError(f"a step has no option {sorted(others)[0]!r}")
        if self.loop.inner_steps == 0:
            for body in self.bodies:
                if body.remesher is not None:
                    body.remesher.before_loop(self)
        if self.setup.only_rigid:
            with self.transaction(()):
                moved = self.rigid.step(dt, guarantee=guarantee, on_stage=None if on_stage is None else lambda n, _: on_stage(n, self))
                self.setup.follow_rigid()
                speed = max((float((b.velocity @ b.velocity) ** 0.5) for b in self.rigid.bodies), default=0.0)
            self.report = WorldInfo(dt=moved.dt, max_speed=speed, rigid=moved)
            return self.report
        if guarantee and self.rigid.bodies:
            raise ValueError("guarantee=True is for rigid bodies alone: where deformable ones push them, it does not hold")
        report: WorldInfo = super()._take_step(dt, on_stage)
        for body in self.bodies:
            body._targets.clear()
        return report

    def begin(self, dt: float) -> None:
        """Begin a step of dt seconds whose stages somebody else calls; `end` ends it, and whoever calls undoes it after an error."""
        self.solver.leave()
        self.running_report = WorldInfo(dt=world_step(dt))
        if self.loop.inner_steps == 0:
            self.interaction.mark()
        self.solver.begin(dt, self.running_report)

    def _complete(self, report: WorldInfo) -> None:
        self.solver.complete(report)

    def _leave_step(self) -> None:
        super()._leave_step()
        self.solver.leave()

    def _within_step(self) -> bool:
        return self.solver.in_step

    @exclusively
    def finish_loop(self) -> ContactInfo:
        """End the loop now: resolve the contacts on the way from the positions at which it began; return the report.

        Raises:
            ContactError: contacts that nothing resolves; nothing has changed.

        Source: Selle 2008, section 6.3.
        """
        info = ContactInfo()
        if self.loop.inner_steps:
            with self.transaction():
                self.loop.end(info)
        return info

    def advance(self, duration: float, on_step: OnStep | None = None, *, budget: float | Budget | None = None) -> list[WorldInfo]:
        """Advance by a duration (s) in whole loops of steps of at most `max_dt`; return the reports of the steps.

        A `budget` as for `step` is divided among the steps by their lengths; `on_step` is called with this world after each.

        A loop that has begun is finished. Where a loop was cut, another one follows. Errors are those of `step`; then the state is that
        after the last completed step.
        """
        loop = self.loop
        end = self.time + _checks.positive("duration", duration)
        if on_step is not None:
            _checks.function("on_step", on_step)
        infos: list[WorldInfo] = []
        cuts, planned = 0, 0.0
        while True:
            left = end - self.time
            if loop.inner_steps == 0 and left <= 1e-12 * max(abs(end), duration):
                break
            longest = self.max_dt()
            if not longest > 0:
                raise ValueError("no step is stable: the limit of the time step is 0")
            # Steps of a loop are equal, unless the limit falls below them: then another loop takes what is left.
            if loop.inner_steps == 0 or planned == 0.0:
                planned = left / max(1, math.ceil(left / longest - 1e-9)) if self.setup.only_rigid else loop.plan(left, longest)
            h = min(planned, longest)
            infos.append(self.step(h, budget=part_of(budget, h / duration)))
            if on_step is not None:
                on_step(self)
            cuts = cuts + infos[-1].contact.cuts if infos[-1].contact.loop_ended else cuts
            if infos[-1].contact.loop_ended and not infos[-1].contact.cuts:
                cuts = 0
            if cuts > _MOST_CUTS:
                raise RuntimeError(
                    f"{cuts} loops in a row were cut at contacts; the last took {infos[-1].contact.fraction:.1e} of its length"
                )
        self.arrive_at(end)
        return infos

    def max_dt(self) -> float:
        """Return the longest step (s) that the limits of all bodies allow: without one infinite, 0.01 s where some have their own steps."""
        return self.solver.longest_step()

    # --- what is -------------------------------------------------------------------------------------------------------------

    @property
    def surface(self) -> ContactSurface:
        """All surfaces as one, with the nodes behind their vertices as they are held now, or were as the present step began."""
        return self.loop.surface

    @property
    def time(self) -> float:
        """Seconds; that of all bodies."""
        return self.setup.time

    @time.setter
    def time(self, value: float) -> None:
        self.setup.time = value

    def audit(self) -> Ints:
        """Return the pairs (k, 2) of an edge and a triangle of `surface.mesh` that intersect now, by the exact test."""
        return self.loop.intersections()

    def energy(self) -> dict[str, float]:
        """Return the energies (J) of all bodies of all types: "kinetic", "elastic", "gravity" and their sum, "total".

        Elastic energy is that of the forces of deformable bodies and of reduced ones; what constraints of position based dynamics and
        springs of joints store is not counted, as it has no part in their steps. Gravity is 0 at the origin. Nodes and rigid bodies that
        forces do not move (of infinite mass, fixed, on paths) count nothing.
        """
        return self.setup.energy()

    def named_bodies(self) -> list[tuple[str, Any, Any]]:
        """Return name, body, and surface that contact sees (if it is not the body's own) of all bodies."""
        return self.setup.named_bodies()

    def __repr__(self) -> str:
        """One line: bodies, obstacles, time."""
        nodes, setup = sum(map(len, self.bodies)), self.setup
        if setup.only_rigid:
            return f"<World of {len(self.rigid)} rigid bodies, {len(self.rigid.joints)} joints, t = {self.time:g} s>"
        obstacles = len(setup.solid_obstacles) + len(setup.mesh_obstacles)
        rigid = f"{len(self.rigid)} rigid bodies, " if self.rigid.bodies else ""
        others = f"{len(self.others)} with steps of their own, " if self.others else ""
        return f"<World of {len(self.bodies)} bodies with {nodes} nodes, {rigid}{others}{obstacles} obstacles, t = {self.time:g} s>"

    # --- copies --------------------------------------------------------------------------------------------------------------

    def copy(self) -> World:
        """Return an independent world in the same state, with copies of the bodies; obstacles are shared."""
        arguments, named = self._arguments()
        made: World = self._duplicate(arguments, named, {"contents": self.setup.copied_contents()})
        return made

    @property
    def contents(self) -> dict[str, Any]:
        """Bodies, surfaces, obstacles: what a copy or a pickle of the world is made of before its state is restored."""
        return self.setup.contents

    @contents.setter
    def contents(self, given: Mapping[str, Any]) -> None:
        self.setup.contents = given
