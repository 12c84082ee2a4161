"""A fluid and a world of solids that push each other, in one step."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.solver import Solver, stage
from meniscus.coupling.bodies.bodies_solid import BodiesSolid
from meniscus.coupling.bodies.body_forms import keep_in_plane
from meniscus.coupling.bodies.contact_rows import holding_rows, joint_rows
from meniscus.coupling.bodies.fitting import fitting_forms
from meniscus.coupling.bodies.ledger import ledger_of
from meniscus.coupling.bodies.momentum import MomentumKeeper
from meniscus.coupling.bodies.pushed_form import PushedForm
from meniscus.coupling.bodies.reports import BodyForces, FluidWorldLedger, FluidWorldReport
from meniscus.coupling.bodies.soft_forms import NodeForm, SoftSteps, weightless
from meniscus.coupling.bodies.solve_bodies import bodies_of_solve
from meniscus.fluids.fluid_solver import FluidSolver
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.pushed_bodies import PushedBodies
from meniscus.fluids.stages import ProjectionStage, ViscosityStage
from meniscus.grid.face_arrays import closing_axes
from meniscus.solids import World

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
# Of the volume of a cell: what bodies may press out of sealed fluid in a step before they are warned of.
_SEALED = 0.1
_GAS_STAGES = ("move_bodies", *SmokeSolver.stages)
_LIQUID_STAGES = (LiquidSolver.stages[0], "move_bodies", *LiquidSolver.stages[1:])


class FluidWorld(Solver[FluidWorldReport]):
    """A fluid and the bodies of a world, rigid ones and those that deform: they displace it, and its pressure moves them.

    The pressure and the velocities of the bodies are one solve, in which a body is its fractions of faces, its inertia and what holds
    it: the weight of what it displaces and the fluid that it drags along follow from it. Of a body that deforms, inertia is its own step
    of implicit Euler, linearised: its forces act in that solve. A step has these stages, public methods:

    1. `to_middle` (liquids): that of the solver: its velocity in the middle of the step;
    2. `move_bodies`: a step of the world, with gravity and the force of the fluid but without forces within bodies: contact, and the
       places at the end of the step;
    3. `emit`, `transport`, `spray`, `correct_volume`, `add_forces`, `diffuse`: those of the solver, around the bodies;
    4. `project`: that of the solver, with the bodies where they are now; what touches and is pressed together does not yield;
    5. `extend`, `to_end` (liquids): those of the solver.

    `step` is transactional: an error or Ctrl-C leaves fluid and world unchanged. Between steps both are at the same time; the state is
    that of both, and what the fluid gave the bodies last. The solver and the world belong to this from now on: step them by it.

    In liquids with gravity, bodies and surface move with velocities of the middle of the step, and those at its end are exact to second
    order; in smoke they move with those of its beginning. Smoke has no weight: bodies in it lose that of the air that they displace.

    Args:
        fluid: a `SmokeSolver`, or a `LiquidSolver` without viscosity; it may have a solid of its own, whose motion is given.
        world: of rigid bodies, joined or not, each with a shape or a closed surface, and of deformable ones of tetrahedra, in 3-D, around
            which gas has no viscosity either. Options of steps of the world do not matter to these. In two dimensions, bodies are those
            of the plane z = 0, with their masses per metre; gravity is in the plane.

    Attributes:
        fluid, world: as given.
        loads: (n, 6) force and torque of the fluid on each body in the last solve, N and N m; state.
        rates: (n, 6) acceleration of each body, of a deformable one as a whole, in the last solve, m/s^2 and rad/s^2; state.
        attached: (n, 6, 6) inertia of the fluid that moves with each body; state.
        report: of the last step; `report.forces[body]` is what the fluid gave a body.

    Raises:
        TypeError, ValueError: wrong types; what this does not go with.

    Warns:
        RuntimeWarning: in the first step in which bodies press on fluid that has no outlet, as below a lid: its volume is not kept.

    Source: Batty, Bertails and Bridson 2007, section 4; Guendelman et al. 2005, section 5.1; Selle 2008, section 4.4.2.
    """

    report_type = FluidWorldReport
    stages: tuple[str, ...] = _GAS_STAGES

    def __init__(self, fluid: SmokeSolver | LiquidSolver, world: World) -> None:
        self.fluid: Any = self.declare("fluid", _checks.one_of_type("fluid", fluid, (SmokeSolver, LiquidSolver)))
        self.world = self.declare("world", _checks.one_of_type("world", world, World))
        self._forms: list[PushedForm] = []
        self._require_fitting()
        n = len(self._forms)
        self.loads = self.declare("loads", np.zeros((n, 6)), resizable=True)
        if isinstance(fluid, LiquidSolver):
            self.stages = _LIQUID_STAGES
        own = fluid.sampled_solid
        own = own.obstacle if isinstance(own, BodiesSolid) else own
        self._solid = BodiesSolid(own, fluid.velocity, fluid.options.slip, lambda: self._forms)
        fluid.sampled_solid = self._solid
        self._before, self._carried, self._stresses = np.zeros((n, 3)), np.zeros((n, 6)), np.zeros((n, 6))
        keeps = isinstance(fluid, SmokeSolver) and bool(closing_axes(fluid.grid))
        self._warned = False
        self._momentum = MomentumKeeper(fluid.velocity, fluid.options.air_density) if keeps else None
        self.rates = self.declare("rates", np.zeros((n, 6)), resizable=True)
        self.attached = self.declare("attached", np.zeros((n, 6, 6)), resizable=True)
        if isinstance(fluid, LiquidSolver) and (fluid.levelset.array < 0).any():
            fluid.set_surface()

    @property
    def time(self) -> float:
        """Seconds."""
        return float(self.fluid.time)

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the world: rigid ones, deformable ones, reduced ones."""
        return [*self.world.rigid.bodies, *self.world.bodies, *(other.body for other in self.world.others)]

    @property
    def forms(self) -> Sequence[PushedForm]:
        """The bodies as the fluid sees them: centres, motions, surfaces; in the order of `bodies`."""
        self._require_fitting()
        return tuple(self._forms)

    def max_dt(self) -> float:
        """Return the step (s) that the fluid advises; bodies count with their speed."""
        self._require_fitting()
        return float(self.fluid.max_dt())

    def begin(self, dt: float) -> None:
        """Begin a step of dt seconds whose stages somebody else calls."""
        self._require_fitting()
        super().begin(dt)
        if len(self.loads) != len(self._forms):
            n = len(self._forms)
            self.loads, self.rates, self.attached = np.zeros((n, 6)), np.zeros((n, 6)), np.zeros((n, 6, 6))
        self.fluid.begin(dt)
        self._solid.begin(self.fluid.time)

    def _complete(self, report: FluidWorldReport) -> None:
        report.fluid = self.fluid.end()
        for i, form in enumerate(self._forms):
            if not (np.isfinite(form.state).all() and np.isfinite(form.motion).all()):
                raise ValueError(f"the state of body {i} must be finite after a step")
        self._solid.end()

    # --- stages ----------------------------------------------------------------------------------------------------------------------

    @stage()
    def to_middle(self, dt: float) -> None:
        """Take the velocity of the liquid to the middle of the step; what is not known of its acceleration, nor is that of bodies."""
        fluid = self.fluid
        half = fluid.half_step
        if half is None or half.is_known(fluid.gravity, fluid.control_stage.count(fluid.time), dt):
            fluid.to_middle(dt)
            return
        # Velocities of this solve are accelerations, and bodies begin without.
        rest = np.zeros((len(self._forms), 6))
        soft = SoftSteps(_soft(self._forms), dt)
        soft.accelerate()
        core = bodies_of_solve(fluid, self._forms, 1.0, rest, rest, joint_rows(self.world.rigid), soft)
        with _handed_to(fluid.projection_stage, PushedBodies(core, self._solid.before.owners, self._solid.before.films)):
            fluid.to_middle(dt)
        if fluid.gravity.any():
            self.loads[...], self.rates[...] = core.impulses, core.velocities

    @stage()
    def move_bodies(self, dt: float) -> None:
        """Let the world take its step: contact, and the way of the bodies, with the velocities that the pressure has given them.

        Where these belong to the end of the last step, gravity and the force of the fluid take them to the middle of this one.
        """
        self._before = np.array([form.center for form in self._forms]).reshape(-1, 3)
        # The fluid at the surface of bodies has this velocity, whatever contact makes of theirs.
        self._carried = _motions(self._forms)
        if _staggered(self.fluid):
            self._carried += 0.5 * dt * self.rates
            for form, load, rate in zip(self._forms, self.loads, self.rates, strict=True):
                form.go_on(load, rate, 0.5 * dt)
        # The pressure has their weight already.
        with weightless(self.world):
            if self.bodies:
                self.running_report.world = self.world.step(dt)
            else:
                self.world.setup.time = self.world.time + dt
        if self.fluid.grid.dimension == 2:
            for body in self.world.rigid.bodies:
                keep_in_plane(body)
        self._solid.moved(self.fluid.time + dt, dt)

    @stage()
    def emit(self, dt: float) -> None:
        """Call that of the solver."""
        self.fluid.emit(dt)

    @stage()
    def transport(self, dt: float) -> None:
        """Call that of the solver; gas gets back the momentum that this costs, see `MomentumKeeper`."""
        keeper = self._momentum if _nothing_held(self._forms, self.world, self._solid) else None
        if keeper is not None:
            keeper.before_transport(self._solid.before)
        self.fluid.transport(dt)
        if keeper is not None:
            keeper.after_transport(self._solid.now)

    @stage()
    def spray(self, dt: float) -> None:
        """Call that of the solver."""
        self.fluid.spray(dt)

    @stage()
    def correct_volume(self, dt: float) -> None:
        """Call that of the solver."""
        self.fluid.correct_volume(dt)

    @stage()
    def add_forces(self, dt: float) -> None:
        """Call that of the solver."""
        self.fluid.add_forces(dt)

    @stage()
    def diffuse(self, dt: float) -> None:
        """Call that of the solver; stresses of gas without slip move the bodies within its solve."""
        self._stresses = np.zeros((len(self._forms), 6))
        if not (isinstance(self.fluid, SmokeSolver) and self.fluid.options.viscosity and self._forms):
            self.fluid.diffuse(dt)
            return
        # The solve has gradients of single components for stresses. Their transposes add nothing in the fluid, and to what a rigid body
        # feels the torque -2 mu V w, whatever its form.
        o, motions = self.fluid.options, _motions(self._forms)
        drag = np.zeros((len(motions), 6))
        drag[:, 3:] = np.array([2 * o.viscosity * o.air_density * form.volume * dt for form in self._forms])[:, None]
        predicted = dt * self.rates
        added = self.attached + np.einsum("bi,ij->bij", drag, np.eye(6))
        given = -drag * (motions + predicted)
        held, none = _holding(self.world, self._forms, self._before, motions, dt), SoftSteps([], dt)
        core = bodies_of_solve(self.fluid, self._forms, 0.0, motions, motions, held, none, predicted, added, given)
        with _handed_to(self.fluid.viscosity_stage, PushedBodies(core, self._solid.now.owners, self._solid.now.films)):
            self.fluid.diffuse(dt)
        after = np.asarray(core.velocities)
        _move(self._forms, after - motions)
        # What moves with the bodies goes along.
        self._carried += after - motions
        self._stresses = np.asarray(core.impulses) - drag * (after + predicted)

    @stage()
    def project(self, dt: float) -> None:
        """Find the pressure, and the velocities of the bodies with it."""
        motions = _motions(self._forms)
        held = _holding(self.world, self._forms, self._before, motions, dt)
        soft = SoftSteps(_soft(self._forms), dt)
        kept = soft.hold(self.world, self.loads[len(self.loads) - len(soft.forms) :])
        core = bodies_of_solve(self.fluid, self._forms, dt, motions, self._carried, held, soft)
        with _handed_to(self.fluid.projection_stage, PushedBodies(core, self._solid.now.owners, self._solid.now.films)):
            self.fluid.project(dt)
        self._warned = self._warned or _seals_fluid_off(self.fluid, dt)
        after, impulses = np.asarray(core.velocities), np.asarray(core.impulses)
        work = np.einsum("bk,bk->b", impulses, 0.5 * (motions + after))
        self.loads[...], self.rates[...] = impulses / dt, (after - motions) / dt
        part = 0.5 if _staggered(self.fluid) else 1.0
        first = len(self._forms) - len(soft.forms)
        _move(self._forms, part * (after - motions)[:first])
        work[first:] = soft.finish((part - 1.0) * (after - motions)[first:])
        attached = np.asarray(core.attached)
        if self._momentum is not None and _nothing_held(self._forms, self.world, self._solid):
            known = self.attached if self.attached.any() else attached
            grown = np.einsum("bij,bj->bi", attached - known, self._carried).sum(axis=0)[:3]
            mass = np.einsum("bii->bi", attached).sum(axis=0)[:3]
            self._momentum.settle(self._solid.now, self._forms, grown, mass)
        self.attached[...] = attached
        told = self.running_report
        work += np.einsum("bk,bk->b", self._stresses, motions)
        told.forces, told.held = BodyForces(self.bodies, impulses + self._stresses, work, dt), len(held[0]) + kept

    @stage()
    def extend(self, dt: float) -> None:
        """Call that of the solver."""
        self.fluid.extend(dt)

    @stage()
    def to_end(self, dt: float) -> None:
        """Call that of the solver."""
        self.fluid.to_end(dt)

    # --- parts -----------------------------------------------------------------------------------------------------------------------

    def _require_fitting(self) -> None:
        """Raise ValueError for what does not go together; see that all bodies have forms."""
        self._forms = fitting_forms(self.fluid, self.world, self._forms)

    # --- what is ---------------------------------------------------------------------------------------------------------------------

    @property
    def ledger(self) -> FluidWorldLedger:
        """Momentum and energy of fluid and bodies now."""
        return ledger_of(self.fluid, self._solid.seen(self.fluid.time), self._forms, self.attached)

    def __repr__(self) -> str:
        """One line: fluid, world."""
        return f"<FluidWorld: {self.fluid!r}, {self.world!r}>"

    def _members(self) -> tuple[FluidSolver[Any]]:
        return (self.fluid,)

    def _leave_step(self) -> None:
        super()._leave_step()
        self._solid.end()

    def _state_replaced(self) -> None:
        self._solid.forget()


def _motions(forms: Sequence[PushedForm]) -> Floats:
    """Return the velocities (n, 6) of bodies."""
    return np.array([form.motion for form in forms]).reshape(-1, 6)


def _holding(world: World, forms: Sequence[PushedForm], before: Floats, motions: Floats, dt: float) -> tuple[Ints, Floats]:
    """Return what holds the rigid bodies in a step, see `holding_rows`."""
    fastest = max((float(np.linalg.norm(form.gravity)) for form in forms), default=0.0)
    return holding_rows(world.rigid, before, motions, fastest * dt)


def _move(forms: Sequence[PushedForm], changes: Floats) -> None:
    """Change the velocities of the first bodies, which are rigid."""
    for form, change in zip(forms, changes, strict=False):
        if form.is_dynamic:
            form.add_motion(change)


def _soft(forms: Sequence[PushedForm]) -> list[NodeForm]:
    """Return the forms of deformable bodies, which are the last."""
    return [form for form in forms if isinstance(form, NodeForm)]


def _staggered(fluid: SmokeSolver | LiquidSolver) -> bool:
    """Return whether velocities are those of the middle of steps."""
    return isinstance(fluid, LiquidSolver) and fluid.half_step is not None and bool(fluid.gravity.any())


def _seals_fluid_off(fluid: SmokeSolver | LiquidSolver, dt: float) -> bool:
    """Warn where bodies press on fluid without an outlet, which cannot keep its volume; return whether they do."""
    grid = fluid.grid
    pressed = sum(abs(r.flux) for r in fluid.running_report.projection.regions if r.closed and np.isfinite(r.flux))
    if not pressed * dt > _SEALED * grid.spacing**grid.dimension:
        return False
    warnings.warn(
        f"bodies seal off fluid without an outlet at {fluid.time:.4g} s, and press {pressed:.2g} m^{grid.dimension}/s out of it: its "
        "volume is not kept; leave gaps of half a cell or more, or take a finer grid",
        RuntimeWarning,
        stacklevel=2,
    )
    return True


def _nothing_held(forms: Sequence[PushedForm], world: World, solid: BodiesSolid) -> bool:
    """Return whether nothing but fluid and bodies that move takes momentum."""
    joined = [world.rigid.parts[part].body for joint in world.rigid.joints for part in joint.bodies]
    free = all(form.is_free for form in forms) and all(body is not None and body.is_dynamic for body in joined)
    return free and solid.solid is None


@contextmanager
def _handed_to(stage: ProjectionStage | ViscosityStage, bodies: PushedBodies) -> Iterator[None]:
    """Let a stage of the fluid move the bodies."""
    stage.bodies = bodies if bodies.core.count else None
    try:
        yield
    finally:
        stage.bodies = None
