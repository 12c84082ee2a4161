"""Fluids without a linear solve and the rigid bodies of a world, both ways."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.solver import OnStage, Solver, stage
from meniscus.coupling.bodies.body_forms import BodyForm
from meniscus.coupling.bodies.lattice_bodies import LatticeBodies
from meniscus.fluids.lattice.solver import LatticeBoltzmann
from meniscus.solids import World

Floats = npt.NDArray[np.float64]


class BodiesInFluid(Protocol):
    """What a kind of fluid does with bodies."""

    @property
    def dt(self) -> float:
        """Length of a step that the fluid advises, s."""

    def advance(self, dt: float) -> object:
        """Advance the fluid by dt (s) around the bodies, which are at the end of the step already; return its report."""

    def loads(self) -> Floats:
        """Return force and torque (n, 6) about the centres of the bodies, N and N m, of the fluid during its last step."""


@dataclass(kw_only=True)
class FluidBodiesReport:
    """Report of a step of `FluidBodies`.

    Attributes:
        dt: s.
        fluid: report of the fluid.
        world: report of the world.
        loads: (n, 6) force and torque of the fluid on each body, N and N m (N/m and N in 2-D).
    """

    dt: float = 0.0
    fluid: object = None
    world: object = None
    loads: Floats = field(default_factory=lambda: np.zeros((0, 6)))


class FluidBodies(Solver[FluidBodiesReport]):
    """A fluid without a linear solve and the rigid bodies of a world: they displace it, and it pushes them.

    A step moves the world with the mean of the loads of the last two steps of the fluid, then the fluid around the bodies. Force and
    motion are of first order in time, and a body that weighs much less than the fluid that it displaces cannot be held so: below about a
    third of it, bodies shake.

    An error of the world leaves both as they were. The fluid works in place: after an error about its speed, it is one step ahead.

    Args:
        fluid: a `LatticeBoltzmann`.
        world: of rigid bodies, each with a shape or a closed surface. In two dimensions, bodies are those of the plane z = 0, with their
            masses per metre.

    Attributes:
        fluid, world: as given.
        loads: (n, 6) force and torque of the fluid on each body during the last step, N and N m; state.
        last_loads: likewise, of the step before; state.

    Raises:
        TypeError, ValueError: wrong types; bodies that deform, or have no closed surface.

    Source: Müller et al. 2008, section 10.4; Ladd 1994, J. Fluid Mech. 271, 285 (momentum exchange, mean of two steps).
    """

    report_type = FluidBodiesReport
    stages = ("move_bodies", "move_fluid")
    step_writes = ()

    def __init__(self, fluid: LatticeBoltzmann, world: World) -> None:
        _checks.one_of_type("fluid", fluid, LatticeBoltzmann)
        # The world first: a fluid that is restored looks where the bodies are.
        self.world = self.declare("world", _checks.one_of_type("world", world, World))
        self.fluid = self.declare("fluid", fluid)
        if world.bodies or world.others:
            raise ValueError("world must have rigid bodies alone")
        forms = [BodyForm(body, fluid.grid.dimension, f"body {i}") for i, body in enumerate(world.rigid.bodies)]
        self._places = {id(part.body): i for i, part in enumerate(world.rigid.parts) if part.body is not None}
        self._bodies = [form.body for form in forms]
        self.sides: BodiesInFluid = LatticeBodies(fluid, forms)
        self.loads = self.declare("loads", np.zeros((len(forms), 6)))
        self.last_loads = self.declare("last_loads", np.zeros((len(forms), 6)))

    @property
    def time(self) -> float:
        """Seconds."""
        return float(self.fluid.time)

    def max_dt(self) -> float:
        """Return the step (s) that the fluid advises."""
        return self.fluid.max_dt()

    def step(self, dt: float | None = None, on_stage: OnStage | None = None, **options: object) -> FluidBodiesReport:
        """Advance by one step of dt seconds, by default that of the fluid. Raises as the fluid and the world."""
        return super().step(self.sides.dt if dt is None else dt, on_stage, **options)

    @stage(reads=("world", "loads", "last_loads"), writes=("world",), positive=True)
    def move_bodies(self, dt: float) -> None:
        """Step the world under the loads of the fluid."""
        with self._loaded(0.5 * (self.loads + self.last_loads)):
            self.running_report.world = self.world.step(dt)

    @stage(reads=("fluid", "world"), writes=("loads", "last_loads"), positive=True)
    def move_fluid(self, dt: float) -> None:
        """Step the fluid around the bodies where they are now."""
        self.running_report.fluid = self.sides.advance(dt)
        np.copyto(self.last_loads, self.loads)
        np.copyto(self.loads, self.sides.loads())
        self.running_report.loads = self.loads.copy()

    @contextmanager
    def _loaded(self, loads: Floats) -> Iterator[None]:
        """Let loads (n, 6) act on the bodies while the world steps."""
        rigid = self.world.rigid
        forces, torques = rigid.forces.copy(), rigid.torques.copy()
        try:
            for body, load in zip(self._bodies, loads, strict=True):
                rigid.forces[self._places[id(body)]] += load[:3]
                rigid.torques[self._places[id(body)]] += load[3:]
            yield
        finally:
            rigid.forces[...], rigid.torques[...] = forces, torques
