"""Shallow water and rigid bodies that float in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core.solver import Solver, stage
from meniscus.coupling.bodies.reports import BodyForces
from meniscus.fluids.shallow.options import ShallowReport
from meniscus.fluids.shallow.solver import ShallowWater
from meniscus.mesh import TriangleMesh
from meniscus.solids import RigidBody, World, WorldInfo

Floats = npt.NDArray[np.float64]

_EXCESS = 1e-10  # of the spacing: change of the water under hulls in a sweep at which the solve ends
_SWEEPS = 4000


@dataclass(kw_only=True)
class ShallowBodiesReport:
    """Report of one step of `ShallowBodies`.

    Attributes:
        dt: s.
        fluid: that of the water.
        world: that of the world; None without bodies.
        bodies: what the water gave each body.
        columns: under hulls.
        sweeps: of the solve for the pressure on the hulls.
        excess: how much the water stood too high under a hull at most, when the solve ended, m.
    """

    dt: float = 0.0
    fluid: ShallowReport = field(default_factory=ShallowReport)
    world: WorldInfo | None = None
    bodies: BodyForces = field(default_factory=BodyForces)
    columns: int = 0
    sweeps: int = 0
    excess: float = 0.0


class ShallowBodies(Solver[ShallowBodiesReport]):
    """Shallow water and the rigid bodies of a world: they press it down and aside, and it carries them.

    Under a hull the water is as deep as there is room. The pressure that keeps it there is a constraint, solved together with the
    velocities of the bodies: the weight of what they displace, the water that moves with them, and the waves that they send out follow
    from it. Outside of hulls the water is shallow water as ever. A step:

    1. `flow`: that of the water, under the pressure of the last step;
    2. `press`: the change of the pressure, with what it does to the water;
    3. `move`: a step of the world with the forces of the water.

    A column belongs to a hull if its centre does. Horizontal forces act at the height of the centre of mass. Set the gravity of the world
    to that of the water. Steps longer than `max_dt` hold the pressure for too long.

    Args:
        fluid: a `ShallowWater` of scheme 'flux'. Its `surface_pressure` is that of the hulls from now on.
        world: whose rigid bodies float.

    Raises:
        TypeError, ValueError: others; a hull wider than the basin, a body without a closed surface.

    Source: Mueller, Stam, James and Thuerey, "Real time physics class notes", figure 11.5 and A.2, which leave the method open.
    """

    stages = ("flow", "press", "move")
    report_type = ShallowBodiesReport

    def __init__(self, fluid: ShallowWater, world: World) -> None:
        _checks.one_of_type("fluid", fluid, ShallowWater)
        if fluid.scheme != "flux":
            raise ValueError(f"bodies need shallow water of scheme 'flux', not {fluid.scheme!r}")
        if fluid.surface_pressure is None:
            fluid.surface_pressure = 0.0
        self.fluid = self.declare("fluid", fluid)
        self.world = self.declare("world", _checks.one_of_type("world", world, World))
        self.pressure = self.declare("pressure", fluid.surface_pressure)
        self._hulls = _fluids.HullCells(fluid.grid.shape, fluid.grid.spacing, fluid.grid.origin)
        self._impulses = np.zeros((0, 6))
        self._look()

    @property
    def time(self) -> float:
        """Of both, s."""
        return float(self.fluid.time)

    @property
    def bodies(self) -> list[RigidBody]:
        """The bodies that can float."""
        return list(self.world.rigid.bodies)

    def fill(self, level: float) -> None:
        """Let water at rest fill the ground up to a level, m, around and under the hulls, which it presses as deep water would."""
        _checks.number("level", level)
        self._look()
        self.fluid.fill(level)
        self.fluid._core.fill_under_hulls(self._hulls, level)

    def max_dt(self) -> float:
        """Return the longest step that waves allow, s."""
        return self.fluid.max_substep()

    @stage(writes=("fluid", "pressure"), positive=True)
    def flow(self, dt: float) -> None:
        """Let the water flow for dt under the pressure of the last step."""
        self._look()
        self.fluid._core.feel_pushes()
        self.running_report.fluid = self.fluid.step(dt)

    @stage(writes=("fluid", "pressure"), positive=True)
    def press(self, dt: float) -> None:
        """Find the pressure on the hulls, and let its change act on the water for dt."""
        gravity = np.asarray(self.world.gravity, np.float64)
        rows = np.zeros((len(self.bodies), 19))
        for row, body in zip(rows, self.bodies, strict=True):
            row[:3], row[3:6], row[6:9] = body.center, body.velocity, body.angular_velocity
            if body.is_dynamic:
                row[3:6] += dt * gravity
                r = body.rotation
                row[9], row[10:] = 1 / body.mass, (r @ body.properties.inverse_inertia() @ r.T).ravel()
        self._impulses = np.zeros((len(rows), 6))
        solved = self.fluid._core.press_under_hulls(self._hulls, rows, self._impulses, dt, _EXCESS, _SWEEPS)
        report = self.running_report
        report.columns, (report.sweeps, report.excess) = self._hulls.count, solved
        report.bodies = BodyForces(self.bodies, self._impulses, np.zeros(len(rows)), dt)

    @stage(writes=("world",), positive=True)
    def move(self, dt: float) -> None:
        """Let the world take its step, with the forces of the water."""
        with self._loaded(dt):
            self.running_report.world = self.world.step(dt) if self.bodies else None

    def _look(self) -> None:
        """Find the columns under the hulls where the bodies are now; others are free of pressure."""
        self._hulls.clear()
        extent = self.fluid.grid.extent
        for number, body in enumerate(self.bodies):
            if body.mesh is None or not isinstance(body.mesh, TriangleMesh):
                raise ValueError(f"body {number} has no closed surface of triangles, so no hull")
            vertices = np.ascontiguousarray(body.positions())
            size = np.ptp(vertices[:, :2], axis=0)
            for axis in range(2):
                if size[axis] > extent[axis] * (1 + 1e-9):
                    raise ValueError(f"the hull of body {number} is {size[axis]:g} m wide along {'xy'[axis]}, the basin {extent[axis]:g} m")
            self._hulls.add(number, vertices, body.mesh.triangles)
        self.fluid._core.release_pressure(self._hulls)

    @contextmanager
    def _loaded(self, dt: float) -> Iterator[None]:
        rigid = self.world.rigid
        places = {id(part.body): i for i, part in enumerate(rigid.parts) if part.body is not None}
        given: Any = rigid.forces.copy(), rigid.torques.copy()
        try:
            for body, impulse in zip(self.bodies, self._impulses, strict=True):
                rigid.forces[places[id(body)]] += impulse[:3] / dt
                rigid.torques[places[id(body)]] += impulse[3:] / dt
            yield
        finally:
            rigid.forces[...], rigid.torques[...] = given

    def _complete(self, report: ShallowBodiesReport) -> None:
        report.fluid.dt = report.dt

    def __repr__(self) -> str:
        """One line: water, world."""
        return f"<ShallowBodies: {self.fluid!r}, {self.world!r}>"
