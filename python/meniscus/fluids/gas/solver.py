"""Gas solver: smoke, heat, and the air that carries them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus.core.solver import SolverWarning, stage
from meniscus.fluids.control.control import Control
from meniscus.fluids.flows.body_force import add_acceleration
from meniscus.fluids.flows.emitter import Emitter, EmitterCells
from meniscus.fluids.flows.flow_map import FlowMap
from meniscus.fluids.flows.trapezoid import Trapezoid
from meniscus.fluids.fluid_solver import FluidSolver
from meniscus.fluids.gas.buoyancy import add_buoyancy
from meniscus.fluids.gas.options import SmokeOptions, SmokeReport
from meniscus.fluids.schemes import carry_velocity, transport_schemes
from meniscus.fluids.stages import ProjectionStage, ViscosityStage, add_forces_of_vortices, hand_out
from meniscus.fluids.vorticity.measures import add_vorticity_confinement, kinetic_energy
from meniscus.fluids.vorticity.vortex_particles import VortexParticles, advance_vortices
from meniscus.grid.boundary import BoundarySpec
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.transport.advection import advect, max_speed
from meniscus.grid.transport.visibility import Visibility
from meniscus.grid.transport.walls import ThinWalls
from meniscus.grid.uniform import Grid
from meniscus.surface import SolidBoundary
from meniscus.surface.shapes.solid_boundary import SolidLike


class SmokeSolver(FluidSolver[SmokeReport]):
    """Smoke and heat carried by incompressible air around moving solids.

    A step emits, advects all fields by the velocity, adds forces, diffuses and projects. With `splitting="trapezoid"`, forces act for half
    a step before the transport and for half a step after it: `stages_of_trapezoid`.
    Each stage is a public method that a script may call by itself, in another order, or with its own work in between. `step` is
    transactional: an error or Ctrl-C leaves everything unchanged.

    Args:
        grid: 2-D or 3-D.
        options: coefficients and schemes.
        dtype: of all fields; default: float32 in three dimensions, float64 in two.
        boundary: of the velocity; default closed walls at rest.
        solid: obstacle: anything that `project` takes; it may move.
        emitters: sources.
        vortices: vortex particles that move with the air; they may be seeded between steps. On ranks, each has those of its block, or any
            others that no other rank has.
        controls: what draws the smoke to places and gives the air a velocity there: `ControlParticles`, `ControlShape`.

    Attributes:
        velocity: of the air, m/s.
        density: of the smoke, in any unit.
        temperature: in the unit of `ambient`.
        pressure: of the last projection, Pa, float64.
        time: seconds.
        viscosity_stage: lets viscosity act, likewise.
        projection_stage: makes the velocity divergence-free, with the bodies that a `FluidWorld` hands to it.
        walls: thin walls that the stages see, within a step of a `ShellCoupling`; else None.
        source_divergence: of the emitters of the step that goes on, 1/s; None: no emitter has one.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Selle 2008, chapters 2 and 3, section 4.4.1; Müller et al. 2008, section 10.1; Staniforth and Côté 1991 (trapezoidal rule).
    """

    stages: tuple[str, ...] = ("emit", "transport", "add_forces", "diffuse", "project")
    stages_of_trapezoid = ("emit", "add_forces", "transport", "add_forces", "diffuse", "project")
    """Stages of a step that is split by the trapezoidal rule; forces act for half of it, twice."""
    settings = ("solid", "vortices", "controls")
    report_type = SmokeReport

    def __init__(
        self,
        grid: Grid,
        options: SmokeOptions | None = None,
        *,
        dtype: npt.DTypeLike | None = None,
        boundary: BoundarySpec = None,
        solid: SolidLike | None = None,
        emitters: Sequence[Emitter] = (),
        vortices: VortexParticles | None = None,
        controls: Sequence[Control] = (),
    ) -> None:
        self.options = o = SmokeOptions() if options is None else _checks.one_of_type("options", options, SmokeOptions)
        dtype = _checks.compact_scalar_type(dtype, _checks.one_of_type("grid", grid, Grid).dimension)
        super().__init__(grid, dtype, boundary, solid, o.slip, controls)
        self.density = self.declare("density", CellField(grid, dtype))
        self.temperature = self.declare("temperature", CellField(grid, dtype))
        self.temperature.array[...] = self.options.ambient
        given = None if vortices is None else _checks.one_of_type("vortices", vortices, VortexParticles)
        self.vortices = self.declare("vortices", given, optional=False)
        hand_out(self.vortices, self.grid, self._workspace)
        emitters = _checks.items("emitters", emitters, Emitter)
        self._emitters = [EmitterCells(e, CellField(grid, dtype)) for e in emitters]
        if o.temperature_weight == 0.0 and any(e.temperature not in (None, o.ambient) for e in emitters):
            warnings.warn(
                "emitters set a temperature, but heat has no lift: SmokeOptions(temperature_weight=...) makes hot smoke rise",
                SolverWarning,
                stacklevel=2,
            )
        self.source_divergence = CellField(grid, dtype) if any(e.divergence for e in emitters) else None
        self.viscosity_stage = ViscosityStage(grid, o.viscosity, o.tolerance, density=o.air_density)
        self.projection_stage = ProjectionStage(grid, o.air_density, o.tolerance, o.max_iterations)
        self.walls: ThinWalls | None = None
        halves = Trapezoid(self.velocity, o.viscosity > 0) if o.splitting == "trapezoid" else None
        self.trapezoid: Trapezoid | None = self.declare("trapezoid", halves)
        if halves is not None:
            self.stages = self.stages_of_trapezoid
        mapped = o.transport.method == "flow-map"
        if mapped and grid.comm.size > 1:
            raise ValueError("method='flow-map' follows paths of several steps, which need a grid that is not cut among ranks")
        self.flow_map: FlowMap | None = self.declare("flow_map", FlowMap(self.velocity, o.transport.map_steps) if mapped else None)
        # Of the step that goes on: seconds of transport that have passed, and whether forces and viscosity act in halves.
        self._passed, self._in_halves = 0.0, False

    @property
    def _now(self) -> float:
        """Time at which forces act, s."""
        return self.time + self._passed

    def max_dt(self) -> float:
        """Return the step (s) in which air passes `cfl` cells: at the present speed, or at the one that buoyancy gives it on the way.

        Solids, emitters and controls count with their speed, because the air takes it from them.
        """
        h, o = self.grid.spacing, self.options
        lift = abs(o.density_weight) * _grid.largest_deviation(self.density._core, 0.0, None)
        lift += abs(o.temperature_weight) * _grid.largest_deviation(self.temperature._core, o.ambient, None)
        lift += 0.0 if o.acceleration is None else float(np.linalg.norm(o.acceleration))
        pull, driven = self.control_stage.limits(self.time)
        speed = max(max_speed(self.velocity) + math.sqrt(h * (lift + pull)), driven)
        for emitter in (e.emitter for e in self._emitters):
            if emitter.velocity is not None and emitter.is_on(self.time):
                speed = max(speed, float(np.abs(emitter.velocity).max()))
        speed = max(speed, self.sampled_solid.max_speed(self.time))
        return o.cfl * h / speed if speed > 0 else math.inf

    @stage(reads=("density", "temperature", "velocity", "time"), writes=("density", "temperature", "velocity"), positive=True)
    def emit(self, dt: float) -> None:
        """Apply the emitters that are on for dt."""
        solid = self.sampled_solid.at(self.time)
        before = self.smoke(solid)
        if self.source_divergence is not None:
            _grid.assign(self.source_divergence._core, 0.0, None)
        for cells in self._emitters:
            cells.emit(
                dt,
                self.time,
                density=self.density,
                temperature=self.temperature,
                divergence=self.source_divergence,
                velocity=self.velocity,
                workspace=self._workspace,
                walls=self.walls,
            )
        self.running_report.emitted = self.smoke(solid) - before

    @stage(
        reads=("density", "temperature", "velocity", "vortices", "time"),
        writes=("density", "temperature", "velocity", "vortices", "trapezoid", "flow_map"),
        positive=True,
    )
    def transport(self, dt: float) -> None:
        """Advect smoke, heat, vortex particles and the velocity itself for dt."""
        o = self.options
        velocities = [self.velocity] if self.trapezoid is None else [self.velocity, self._depart(self.trapezoid, dt)]
        by = velocities[-1]
        solid = self.sampled_solid.at(self.time, needs_velocity=o.slip == "no-slip")
        if solid is not None:
            for moving in velocities:
                solid.extend(moving, self._workspace)
            for carried in (self.density, self.temperature):
                solid.extend(carried, self._workspace)
            if self.walls is not None:
                self.walls.extend_cells_into(solid.outside_cells, self.density, 0.0)
                self.walls.extend_cells_into(solid.outside_cells, self.temperature, o.ambient)
                if o.slip == "free":
                    for moving in velocities:
                        self.walls.extend_faces_into(solid.open_faces, moving)
        schemes = {**transport_schemes(o.transport), "time": self.time, "workspace": self._workspace}
        before = self.smoke(solid)
        replacements = {} if self.walls is None else self.walls.replacements
        for name in ("density", "temperature"):
            seen = Visibility(walls=self.walls, replacement=replacements.get(name))
            advect(getattr(self, name), by, dt, visibility=seen, **schemes)
        self.running_report.smoke = self.smoke(solid)
        self.running_report.transport_change += self.running_report.smoke - before
        if self.vortices is not None:
            # They may have been seeded since the last step.
            hand_out(self.vortices, self.grid, self._workspace)
            self.running_report.vortices = advance_vortices(
                self.vortices, by, dt, method=o.transport.trace, solid=solid, time=self.time, workspace=self._workspace
            )
            hand_out(self.vortices, self.grid, self._workspace)
        if self.flow_map is not None:
            self.flow_map.carry(self.velocity, by, dt, self.time, solid)
        else:
            seen = Visibility(walls=self.walls)
            carry_velocity(self.velocity, dt, o.transport, by=by, visibility=seen, time=self.time, workspace=self._workspace)
        if self.trapezoid is not None:
            self.trapezoid.press(self.velocity, -1.0)
            self._passed = dt if self._in_halves else 0.0

    @stage(reads=("density", "temperature", "velocity", "vortices", "time"), writes=("velocity", "trapezoid"), positive=True)
    def add_forces(self, dt: float) -> None:
        """Add buoyancy, given accelerations, vorticity confinement and the forces of vortex particles and controls for dt."""
        o = self.options
        if self.trapezoid is not None and self._in_halves and not self._passed:
            self.trapezoid.look_ahead(self.velocity, 2 * dt)
        if o.density_weight or o.temperature_weight:
            add_buoyancy(
                self.velocity,
                dt,
                density=self.density if o.density_weight else None,
                temperature=self.temperature if o.temperature_weight else None,
                density_weight=o.density_weight,
                temperature_weight=o.temperature_weight,
                ambient=o.ambient,
                up=o.up,
                time=self._now,
            )
        if o.acceleration is not None:
            add_acceleration(self.velocity, o.acceleration, dt)
        solid = self.sampled_solid.at(self._now)
        if self.walls is not None:
            self.walls.hold_faces(self.velocity)
        if o.vorticity.confinement:
            add_vorticity_confinement(
                self.velocity, dt, o.vorticity.confinement, solid=solid, walls=self.walls, time=self._now, workspace=self._workspace
            )
        of_vortices = o.vorticity.vortex_strength, o.vorticity.vortex_kernel, self._now, self._workspace, self.walls
        add_forces_of_vortices(self.velocity, self.vortices, dt, *of_vortices)
        parts = dt, self._now, self.sampled_solid, self._workspace
        given = self.control_stage.act(*parts, density=o.air_density, smoke=self.density)
        told = self.running_report.control_impulse or (0.0,) * len(given)
        self.running_report.control_impulse = tuple(a + b for a, b in zip(told, given, strict=True))

    @stage(reads=("velocity", "pressure", "time"), writes=("velocity", "trapezoid"), positive=True)
    def diffuse(self, dt: float) -> None:
        """Apply viscosity for dt."""
        rule = self.trapezoid if self._in_halves and self.options.viscosity else None
        if rule is not None:
            # What it does in the other half was carried; pressure does as much as is carried of it.
            rule.press(self.velocity, 1.0)
            rule.see(self.velocity)
        self.running_report.viscosity = self.viscosity_stage.act(
            self.velocity, dt if rule is None else 0.5 * dt, self.sampled_solid, self.time + dt, pressure=self.pressure
        )
        if rule is not None:
            rule.keep_shear(self.velocity)
            rule.press(self.velocity, -1.0)

    @stage(reads=("velocity", "pressure", "time"), writes=("velocity", "pressure", "trapezoid"), positive=True)
    def project(self, dt: float) -> None:
        """Make the velocity divergence-free, except for the inflow of emitters, around the solid at the end of the step."""
        if self.trapezoid is not None:
            if self.walls is not None:
                self.walls.hold_faces(self.velocity)
            self.trapezoid.see(self.velocity)
        # A solid has the velocity of the end of the step, as nearly as its motion tells.
        lately = 0.5 * dt if self._in_halves else dt
        self.running_report.projection = self.projection_stage.act(
            self.velocity,
            lately,
            self.sampled_solid,
            self.time + dt,
            self.pressure,
            target_divergence=self.source_divergence,
            walls=self.walls,
            forced=dt,
        )
        if self.trapezoid is not None:
            self.trapezoid.keep_pressure(self.velocity, self.sampled_solid.at(self.time + dt, lately), dt)

    def _depart(self, rule: Trapezoid, dt: float) -> MacField:
        """Add to the velocity what it carries with it, in place; return the velocity in the middle of the step.

        Where nothing is known, that is the result of a step to there, whose pressure and viscosity are those carried.
        """
        middle = rule.look_ahead(self.velocity, dt)
        if not rule.last_dt and self._in_halves:
            half, end = 0.5 * dt, self.time + 0.5 * dt
            middle.assign(self.velocity)
            solid = self.sampled_solid.at(self.time, needs_velocity=self.options.slip == "no-slip")
            if solid is not None:
                solid.extend(middle, self._workspace)
            carry_velocity(middle, half, self.options.transport, time=self.time, workspace=self._workspace)
            rule.predict(middle, True)
            self.viscosity_stage.act(middle, half, self.sampled_solid, end)
            rule.predict(middle, False)
            self.projection_stage.act(middle, half, self.sampled_solid, end, None, target_divergence=self.source_divergence)
            rule.keep_prediction(middle, self.sampled_solid.at(end))
        rule.depart(self.velocity)
        return middle

    def begin(self, dt: float) -> None:
        """Begin a step of dt seconds whose stages somebody else calls."""
        super().begin(dt)
        self._passed = 0.0
        if self.trapezoid is not None:
            self.trapezoid.begin(self.velocity, dt)

    def smoke(self, solid: SolidBoundary | None = None) -> float:
        """Return the integral of the density, outside of a solid."""
        where = None if solid is None else solid.outside_cells
        return float(_grid.sum_samples(self.density._core, where)) * self.grid.spacing**self.grid.dimension

    def _schedule(self, dt: float) -> Iterator[tuple[str, float]]:
        self._in_halves = self.trapezoid is not None
        for name in self.stages:
            yield name, 0.5 * dt if self._in_halves and name == "add_forces" else dt

    def _leave_step(self) -> None:
        super()._leave_step()
        self._passed, self._in_halves = 0.0, False

    def _complete(self, report: SmokeReport) -> None:
        smoke = self.smoke(self.sampled_solid.at(self.time + report.dt))
        report.uncovered = 0.0 if math.isnan(report.smoke) else smoke - report.smoke
        report.smoke, report.kinetic_energy, report.max_speed = smoke, kinetic_energy(self.velocity), max_speed(self.velocity)
        if self.trapezoid is not None:
            self.trapezoid.end(report.kinetic_energy)
        heat = float(_grid.sum_samples(self.temperature._core, None))
        self._require_finite(self.density, "density", smoke)
        self._require_finite(self.temperature, "temperature", heat)
        self._require_finite(self.velocity, "velocity", report.kinetic_energy)
