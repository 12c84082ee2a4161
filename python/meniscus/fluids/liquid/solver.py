"""Liquid solver: water with a free surface."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus.core.solver import stage
from meniscus.core.stateful import exclusively
from meniscus.fluids.control.control import Control
from meniscus.fluids.exchange.expansion import Expansion
from meniscus.fluids.exchange.open_liquid import OpenLiquid
from meniscus.fluids.flows.body_force import add_acceleration
from meniscus.fluids.flows.emitter import set_face_velocity
from meniscus.fluids.flows.region import RegionCells, warn_if_nothing
from meniscus.fluids.fluid_solver import Acceleration
from meniscus.fluids.liquid.air_flow import AirFlow
from meniscus.fluids.liquid.emission import Emission
from meniscus.fluids.liquid.faces import LiquidFaces
from meniscus.fluids.liquid.half_step import HalfStep
from meniscus.fluids.liquid.options import LiquidOptions, LiquidReport, VolumeReport
from meniscus.fluids.liquid.pockets import AirPockets
from meniscus.fluids.liquid.sources import Drain, LiquidSource
from meniscus.fluids.liquid.surface import LiquidSurface
from meniscus.fluids.liquid.volume import LiquidVolume
from meniscus.fluids.schemes import carry_velocity
from meniscus.fluids.stages import ProjectionStage, ViscosityStage, add_forces_of_vortices, hand_out
from meniscus.fluids.vorticity.vortex_particles import VortexParticles, advance_vortices
from meniscus.grid.boundary import BoundarySpec
from meniscus.grid.fields import CellField
from meniscus.grid.transport.visibility import Visibility
from meniscus.grid.transport.walls import ThinWalls
from meniscus.grid.uniform import Grid
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.surface import LevelSet, Shape, SolidBoundary
from meniscus.surface.shapes.sampled import as_shape
from meniscus.surface.shapes.solid_boundary import SolidLike

_SHORTEST_WAVE = 1.2
# Of two cells' length. Its frequency is sqrt(c gravity / spacing), with c from 0.8 to 2.8 by where in the cells the surface lies, and the
# leapfrog scheme is stable below 2 over that: 1.19 at worst. A gentle wave gained eight times its energy in 10 s at CFL 3.


class LiquidSolver(OpenLiquid):
    """An incompressible liquid with a free surface, below air of constant pressure, around moving solids.

    A step takes the velocity to the middle of the step, emits, advects the surface and the velocity, moves spray, adds forces, applies
    viscosity, projects with the right pressure at the surface, extends the velocity into the air, and takes it to the time of the surface,
    the end of the step. Each stage is a public method that a script may call by itself, in another order, or with its own work in between.
    `step` is transactional: an error or Ctrl-C leaves everything unchanged.

    The liquid is where `levelset` is negative. Set it with `fill`, or write to `levelset.array` and call `set_surface`.

    Args:
        grid: 2-D or 3-D.
        options: coefficients and schemes.
        dtype: of all fields, float64 (default), or float32 in three dimensions.
        boundary: of the velocity; default closed walls at rest.
        solid: obstacle: anything that `project` takes; it may move.
        sources: regions in which liquid is emitted.
        drains: regions in which it vanishes.
        vortices: vortex particles that move with the liquid; they may be seeded between steps. Outside of the liquid they are removed. On
            ranks, each has those of its block, or any others that no other rank has.
        controls: what draws the liquid to places and gives it a velocity there: `ControlParticles`, `ControlShape`.

    Attributes:
        velocity: of the liquid, extended into the air around it, m/s; zero farther away.
        pressure: of the last projection, Pa, float64.
        surface: the level set, its particles, and the drops.
        volume: measured and expected volumes of the components of the liquid.
        pockets: air that the liquid encloses, as of the last projection, or None.
        air: its flow, if it is a fluid, or None.
        faces: which of them the liquid touches.
        half_step: takes the velocity to the middle of a step and back, or None where the air is a fluid.
        expansion: volumes that wait for the liquid to make room for them.
        emission: sources with a rate: what they owe and emit under water; None: there are none.
        vortices: vortex particles, or None.
        time: seconds.
        projection_stage: makes the velocity divergence-free, with the bodies that a `FluidWorld` hands to it.
        walls: thin walls that the stages see, within a step of a `ShellCoupling`; else None.
        report: of the last step.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Selle 2008, sections 2.9, 3.2 and 4.4.3; Guendelman et al. 2005, section 4.4; Lee 2018, sections 2.4 and 3.4.
    """

    given_once = ("options",)

    stages = ("to_middle", "emit", "transport", "spray", "correct_volume", "add_forces", "diffuse", "project", "extend", "to_end")
    settings = ("solid", "gravity", "vortices", "controls")
    gravity = Acceleration()
    report_type = LiquidReport

    def __init__(
        self,
        grid: Grid,
        options: LiquidOptions | None = None,
        *,
        dtype: npt.DTypeLike = np.float64,
        boundary: BoundarySpec = None,
        solid: SolidLike | None = None,
        sources: Sequence[LiquidSource] = (),
        drains: Sequence[Drain] = (),
        vortices: VortexParticles | None = None,
        controls: Sequence[Control] = (),
    ) -> None:
        self.options = o = LiquidOptions() if options is None else _checks.one_of_type("options", options, LiquidOptions)
        super().__init__(grid, dtype, boundary, solid, o.slip, controls)
        down = (0.0,) * (grid.dimension - 1) + (-9.81,)
        self.gravity = down if o.gravity is None else o.gravity
        self.surface = self.declare("surface", LiquidSurface(grid, o, self.velocity))
        self.volume = self.declare("volume", LiquidVolume(grid, self.velocity))
        self.expansion = self.declare("expansion", Expansion(grid, dtype, o.expansion_limit))
        pockets = AirPockets(self.velocity) if o.air == "pockets" else None
        self.pockets = self.declare("pockets", pockets, optional=False)
        self.faces = self.declare("faces", LiquidFaces(self.velocity, o.balanced_extension, o.air == "fluid", o.tolerance))
        half_step = None if o.air == "fluid" else HalfStep(self.velocity)
        self.half_step = self.declare("half_step", half_step, optional=False)
        given = None if vortices is None else _checks.one_of_type("vortices", vortices, VortexParticles)
        self.vortices = self.declare("vortices", given, optional=False)
        hand_out(self.vortices, grid, self._workspace)
        reach = (o.band + 1) * grid.spacing
        given_sources = _checks.items("sources", sources, LiquidSource)
        rated = [s for s in given_sources if s.rate is not None]
        self.emission = self.declare("emission", Emission(self.velocity, rated, reach) if rated else None, optional=False)
        self._filled = [RegionCells(s, CellField(grid, dtype), reach) for s in given_sources if s.rate is None]
        self._sources = self._filled + ([] if self.emission is None else self.emission.regions)
        self._drains = [RegionCells(d, CellField(grid, dtype), reach) for d in _checks.items("drains", drains, Drain)]
        self._curvature = CellField(grid, dtype) if o.surface_tension else None
        fluid = AirFlow(self.velocity, o) if o.air == "fluid" else None
        self.air = self.declare("air", fluid, optional=False)
        air = None if fluid is None else (o.air_viscosity, o.air_density / o.density)
        self._viscosity = ViscosityStage(grid, o.viscosity, o.tolerance, free_surface=True, air=air)
        self.projection_stage = ProjectionStage(grid, o.density, o.tolerance, o.max_iterations)
        self.walls: ThinWalls | None = None

    @exclusively
    def fill(self, region: Shape | LevelSet | SurfaceLike, velocity: Sequence[float] | None = None) -> None:
        """Add liquid, and restart with the resulting surface.

        Args:
            region: a Shape, a closed surface mesh, or a LevelSet on the cells of this grid.
            velocity: of the new liquid, m/s; default: as it is.

        Raises:
            TypeError, ValueError: wrong types, dimensions or values.
        """
        given = None if velocity is None else _checks.vector("velocity", velocity, self.grid.dimension)
        before = self.levelset.array > 0
        self.levelset.unite(region if isinstance(region, LevelSet) else as_shape("region", region, self.grid.dimension))
        warn_if_nothing(self.grid.shape == self.grid.local_shape and not (before & (self.levelset.array <= 0)).any())
        if given is not None:
            new = CellField(self.grid, self.velocity.dtype)
            new.array[...] = np.where((self.levelset.array <= 0) & before, -1, 1)
            set_face_velocity(self.velocity, new, given)
        self.set_surface()

    def set_surface(self) -> None:
        """Restart from the present level set: redistance it, seed particles, remove spray, and count volumes from now on.

        Raises:
            ValueError: the level set is not finite.
        """
        with self.grid.agreement():
            _checks.require_finite("levelset", self.levelset.array)
        solid = self.sampled_solid.at(self.time)
        self._extend_into_solid(solid)
        self.surface.reset(solid, self.time)
        self.expansion.clear()
        if self.emission is not None:
            self.emission.clear()
        self.volume.reset(self.levelset, self._outside(solid))
        if self.pockets is not None:
            self.pockets.clear()
        if self.half_step is not None:
            self.half_step.forget()
        self.extend(0.0)

    def max_dt(self) -> float:
        """Return the step (s) in which liquid passes `cfl` cells, at its speed or at the one that gravity gives it on the way.

        Solids, sources and controls count with their speed. The step also stays below the one in which the shortest wave on the grid turns
        from crest to trough, sqrt(spacing / gravity) times 1.2, as it would grow in longer ones, and with surface tension below the one
        in which the shortest capillary wave passes half a cell.
        """
        h, o = self.grid.spacing, self.options
        pull, driven = self.control_stage.limits(self.time)
        speed = self.faces.max_speed(self.velocity, self.levelset) + math.sqrt(h * (float(np.linalg.norm(self.gravity)) + pull))
        speed = max(speed, driven)
        if self.air is not None:
            speed = max(speed, self.air.limiting_speed)
        if self.emission is not None:
            speed = max(speed, self.emission.speed(self.time))
        for source in (r.owner for r in self._sources):
            if isinstance(source, LiquidSource) and source.velocity is not None and source.is_on(self.time):
                speed = max(speed, float(np.abs(source.velocity).max()))
        speed = max(speed, self.sampled_solid.max_speed(self.time))
        dt = o.cfl * h / speed if speed > 0 else math.inf
        if self.half_step is not None and self.gravity.any():
            dt = min(dt, _SHORTEST_WAVE * math.sqrt(h / float(np.linalg.norm(self.gravity))))
        if o.surface_tension:
            density = o.density + (0.0 if self.air is None else o.air_density)
            dt = min(dt, math.sqrt(density * h**3 / (2 * math.pi * o.surface_tension)))
        return dt

    @stage(
        reads=("velocity", "half_step", "surface", "pockets", "time"),
        writes=("velocity", "half_step", "surface", "pockets", "faces"),
        positive=True,
    )
    def to_middle(self, dt: float) -> None:
        """Take the velocity half a step ahead, by the acceleration of the last step or, for a new surface, that of gravity and pressure."""
        half = self.half_step
        if half is None:
            return
        if not self.gravity.any():
            half.forget()
            return
        if not half.is_known(self.gravity, self.control_stage.count(self.time), dt):
            solid = self.sampled_solid.at(self.time)
            self._extend_into_solid(solid)
            given = half.begin(self.gravity.tolist())
            gravity, o = self.gravity.tolist(), self.options
            air = _solved_air(self, solid)
            self.projection_stage.balance(given, solid, self.levelset, solved_air=air, air_density=o.air_density, gravity=gravity)
            half.settle(self.options.tolerance * float(np.linalg.norm(self.gravity)))
            self.faces.extend_acceleration(given, self.levelset, solid, self.options.band, self._workspace)
        half.go_ahead(self.velocity, dt)

    @stage(reads=("surface", "volume", "velocity", "emission", "time"), writes=("surface", "volume", "velocity", "emission"), positive=True)
    def emit(self, dt: float) -> None:
        """Fill the regions of sources and empty those of drains."""
        if self.emission is not None:
            self.volume.totals["emitted"] += self.emission.accrue(dt, self.time)
            self.emission.fill_air(dt, self.time, self.surface, self.volume, self.sampled_solid.at(self.time), self.walls)
        for group, total in ((self._filled, "emitted"), (self._drains, "drained")):
            active = [(r.owner, r.at(self.time, self._workspace, self.walls)) for r in group if r.owner.is_on(self.time)]
            # Where a source is full already, or a drain is dry, nothing is done at all: redistancing changes volumes a little, too.
            fills = total == "emitted"
            changing = [phi for _, phi in active if self.surface.would_change(phi, filled=fills)]
            if changing:
                self.surface.change_regions(changing, total, self.sampled_solid.at(self.time), self.volume)
            for owner, phi in active:
                if isinstance(owner, Drain):
                    self.volume.totals["drained"] += self.surface.drain_drops(phi)
        for region in self._sources:
            owner = region.owner
            if owner.velocity is not None and owner.is_on(self.time):
                set_face_velocity(self.velocity, region.at(self.time, self._workspace, self.walls), owner.velocity)

    @stage(
        reads=("velocity", "surface", "volume", "expansion", "emission", "faces", "air", "vortices", "time"),
        writes=("velocity", "surface", "volume", "expansion", "emission", "air", "vortices"),
        positive=True,
    )
    def transport(self, dt: float) -> None:
        """Advect the surface with its particles, vortex particles and the velocity itself for dt."""
        o = self.options
        solid = self.sampled_solid.at(self.time, needs_velocity=o.slip == "no-slip")
        self.volume.account_outflow(self.levelset, self.velocity, dt, self._outside(solid))
        self.volume.account_inflow(self.levelset, self.velocity, 0.5 * dt, self._outside(solid))
        self.expansion.make_room(dt, self.volume, self._outside(solid))
        if self.emission is not None:
            self.emission.make_room(dt, self.time, self.volume, self.levelset, self._outside(solid), self.walls)
        self._extend_into_solid(solid)
        self.surface.advance(self.velocity, dt, self.time, self.sampled_solid.at(self.time + dt, dt))
        self.volume.account_inflow(self.levelset, self.velocity, 0.5 * dt, self._outside(self.sampled_solid.at(self.time + dt, dt)))
        if self.vortices is not None:
            # They may have been seeded since the last step.
            hand_out(self.vortices, self.grid, self._workspace)
            self.running_report.vortices = advance_vortices(
                self.vortices, self.velocity, dt, method=o.transport.trace, solid=solid, time=self.time, workspace=self._workspace
            )
            hand_out(self.vortices, self.grid, self._workspace)
            self.surface.remove_outside(self.vortices)
        near = self.faces.max_speed(self.velocity, self.levelset) * dt if o.surface_order == "first" else None
        end = self.sampled_solid.at(self.time + dt, dt)
        self.volume.update_after_motion(self.velocity, dt, self.levelset, self._outside(end))
        self.surface.account_new_drops(end, self.volume)
        seen = Visibility(active=self.faces.known, first_order=None if near is None else self.faces.near_surface(self.levelset, near))
        carry = partial(carry_velocity, self.velocity, dt, o.transport, visibility=seen, time=self.time, workspace=self._workspace)
        if self.surface.shells is None:
            carry()
        elif o.transport.velocity_samples == "nodes":
            carry(visibility=replace(seen, walls=self.walls), hidden_nodes="mean")
        else:
            self.surface.shells.carry_velocity(self.velocity, carry, self.faces.known, dt, self.time)
        if self.air is not None:
            self.air.advect(dt, self.time, self._workspace)

    @stage(reads=("surface", "volume", "time"), writes=("surface", "volume"), positive=True)
    def correct_volume(self, dt: float) -> None:
        """Move the surface so that every component has its expected volume, if the options ask for it."""
        if not self.options.drift_correction:
            self.volume.distribute_unassigned()
            return
        outside = self._outside(self.sampled_solid.at(self.time + dt, dt))
        self.running_report.correction = self.volume.correct(self.levelset, outside)
        self.surface.surface_moved(self.running_report.correction)

    @stage(
        reads=("velocity", "surface", "volume", "expansion", "time"), writes=("velocity", "surface", "volume", "expansion"), positive=True
    )
    def spray(self, dt: float) -> None:
        """Move drops, which may hit solids, and let those that meet the liquid join it: `fly`, `rejoin` and, by the options, `gather`."""
        if self.surface.drops:
            self.fly(dt)
            self.rejoin(dt)
            if self.options.gather:
                self.gather(dt)

    @stage(reads=("velocity", "surface", "air", "vortices", "half_step", "time"), writes=("velocity", "air", "half_step"), positive=True)
    def add_forces(self, dt: float) -> None:
        """Add gravity and the forces of vortex particles and controls for dt."""
        o = self.options
        if self.half_step is not None:
            self.half_step.see_forces_begin(self.velocity, self.gravity, self.control_stage.count(self.time))
        add_acceleration(self.velocity, self.gravity.tolist(), dt)
        if self.air is not None:
            add_acceleration(self.air.velocity, self.gravity.tolist(), dt)
        of_vortices = o.vortex_strength, o.vortex_kernel, self.time, self._workspace, self.walls
        add_forces_of_vortices(self.velocity, self.vortices, dt, *of_vortices)
        parts = dt, self.time, self.sampled_solid, self._workspace
        self.running_report.control_impulse = self.control_stage.act(*parts, density=o.density, liquid=self.levelset)

    @stage(
        reads=("velocity", "pressure", "surface", "pockets", "faces", "air", "time"),
        writes=("velocity", "pressure", "surface", "pockets", "faces"),
        positive=True,
    )
    def diffuse(self, dt: float) -> None:
        """Apply viscosity for dt. Where the air is a fluid, its velocity and that of the liquid become one before."""
        if self.air is not None:
            self.air.unite_with(self.velocity, self.levelset)

        def balance() -> None:
            # Pressure balances the forces that viscosity must not feel, also on faces beside the liquid that the projection leaves out.
            self._project(dt, with_tension=False)
            if self.air is None:
                self.extend(dt)

        parts = self.velocity, dt, self.sampled_solid, self.time + dt, self.levelset
        self.running_report.viscosity = self._viscosity.act(*parts, balance)

    @stage(
        reads=("velocity", "pressure", "surface", "volume", "expansion", "emission", "pockets", "air", "time"),
        writes=("velocity", "pressure", "surface", "volume", "expansion", "emission", "pockets"),
        positive=True,
    )
    def project(self, dt: float) -> None:
        """Make the velocity of the liquid divergence-free around the solid at the end of the step."""
        self._project(dt, with_tension=True)
        mixed = self.air is not None or (self.pockets is not None and self.pockets.count > 0)
        outside = self._outside(self.sampled_solid.at(self.time + dt, dt))
        self.volume.subtract_incompatible(self.running_report.projection.regions, dt, outside, mixed=mixed)

    def _project(self, dt: float, *, with_tension: bool) -> None:
        o = self.options
        solid = self.sampled_solid.at(self.time + dt, dt)
        self._extend_into_solid(solid)
        fall = math.sqrt(self.grid.spacing / float(np.linalg.norm(self.gravity))) if self.gravity.any() else 0.0
        room = self.expansion.divergence(dt, self.levelset, self._outside(solid), fall) if with_tension else None
        if self.emission is not None and with_tension:
            seen = dt, self.time + dt, self.levelset, self._outside(solid), self.walls
            flow = self.emission.spread(self.emission.wanted(self.emission.due(*seen[:2]), self.emission.owed, *seen), *seen)
            if room is not None and flow is not None:
                room.array[...] += flow.array
            room = flow if room is None else room
        tension = self._curvature if with_tension else None
        if tension is not None:
            self.levelset.curvature(out=tension)
            _grid.scale(tension._core, o.surface_tension)
        self.running_report.projection = self.projection_stage.act(
            self.velocity,
            dt,
            self.sampled_solid,
            self.time + dt,
            self.pressure,
            target_divergence=room,
            liquid=self.levelset,
            air_pressure=o.air_pressure,
            solved_air=_solved_air(self, solid),
            air_density=o.air_density,
            surface_pressure=tension,
            walls=self.walls,
            gravity=self.gravity.tolist(),
        )

    @stage(reads=("velocity", "surface", "faces", "air", "time"), writes=("velocity", "faces", "air"))
    def extend(self, dt: float) -> None:
        """Extend the velocity of the liquid into the air around it, and into solids; beyond, it becomes zero."""
        o = self.options
        time = self.time + dt
        solid = self.sampled_solid.at(time, dt or None, needs_velocity=True)
        if self.air is not None:
            self.air.separate_from(self.velocity, solid, self._workspace)
        self.faces.extend(self.velocity, self.levelset, solid, o.band, self._workspace, time, self.walls)

    @stage(reads=("velocity", "half_step", "faces", "time"), writes=("velocity", "half_step"), positive=True)
    def to_end(self, dt: float) -> None:
        """Take the velocity back by half of what forces and pressure have done since `add_forces`, if `to_middle` has begun the step."""
        if self.half_step is not None:
            solid = self.sampled_solid.at(self.time + dt, dt)
            self.half_step.go_back(self.velocity, dt, self.faces.known, solid, float(np.linalg.norm(self.gravity)))

    def volume_report(self) -> VolumeReport:
        """Return the volumes of the liquid, and inflow and outflow since the surface was set."""
        waiting = self.expansion.waiting + (0.0 if self.emission is None else self.emission.waiting)
        return self.volume.report(self.levelset, self._outside(self.sampled_solid.at(self.time)), self.surface.spray_volume, waiting)

    def _extend_into_solid(self, solid: SolidBoundary | None) -> None:
        """Continue the level set into the solid at the angle at which it meets the wall."""
        if solid is not None:
            self.surface.extend_into(solid, self._workspace)

    def _air_with_pressure(self) -> npt.NDArray[np.bool_] | None:
        return super()._air_with_pressure() if self.air is None else self.air.cells

    def _complete(self, report: LiquidReport) -> None:
        energy, speed = self.faces.motion(self.velocity, self.levelset, self.sampled_solid.at(self.time + report.dt, report.dt))
        if not math.isfinite(energy):
            raise ValueError("the velocity must be finite after a step")
        report.kinetic_energy, report.max_speed = self.options.density * energy, speed
        report.volume, report.drops = self.volume.total, self.surface.drops


def _solved_air(solver: LiquidSolver, solid: SolidBoundary | None) -> npt.NDArray[np.bool_] | None:
    """Return the mask of the air whose pressure is solved for, or None."""
    if solver.air is not None:
        return solver.air.cells
    return None if solver.pockets is None else solver.pockets.find(solver.levelset, solid)
