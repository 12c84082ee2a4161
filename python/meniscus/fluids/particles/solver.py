"""Particle liquid solver: FLIP, PIC and APIC."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core.solver import stage
from meniscus.core.stateful import exclusively
from meniscus.fluids.control.control import Control
from meniscus.fluids.flows.body_force import add_acceleration
from meniscus.fluids.flows.region import warn_if_nothing
from meniscus.fluids.fluid_solver import Acceleration, FluidSolver
from meniscus.fluids.liquid.options import VolumeReport
from meniscus.fluids.liquid.sources import Drain, LiquidSource
from meniscus.fluids.particles.distance import CarriedDistance
from meniscus.fluids.particles.faces import ParticleFaces
from meniscus.fluids.particles.inflow import ParticleInflow
from meniscus.fluids.particles.options import ParticleLiquidOptions, ParticleLiquidReport
from meniscus.fluids.particles.sources import ParticleSources
from meniscus.fluids.particles.spacing import ParticleSpacing
from meniscus.fluids.particles.transfer import grid_to_particles
from meniscus.fluids.particles.volume import ParticleVolume
from meniscus.fluids.stages import ProjectionStage, ViscosityStage
from meniscus.grid.boundary import BoundarySpec, Open, Prescribed, ZeroGradient
from meniscus.grid.fields import CellField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.advection import max_speed
from meniscus.grid.transport.points import trace
from meniscus.grid.transport.walls import ThinWalls
from meniscus.grid.uniform import Grid
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.surface import LevelSet, Shape, SolidBoundary
from meniscus.surface.shapes.solid_boundary import SolidLike

Bools = npt.NDArray[np.bool_]

_VISCOUS_TOLERANCE = 1e-6


class ParticleLiquidSolver(FluidSolver[ParticleLiquidReport]):
    """An incompressible liquid that particles carry through a grid, below air of constant pressure, around moving solids.

    A step emits, transfers the velocities of the particles to the grid, adds forces, applies viscosity, projects, extends the velocity into
    the air, transfers it back to the particles and moves them. Each stage is a public method that a script may call by itself, in another
    order, or with its own work in between. `step` is transactional: an error or Ctrl-C leaves everything unchanged.

    The liquid is where the particles are. Add some with `fill`; after changes to `particles` by hand, call `set_particles`. They move by
    velocities of the middle of a step, so that they fall g t^2 / 2, and keep these: forces act from the middle of the last step, or from
    the start, to that of this one.

    Args:
        grid: 2-D or 3-D.
        options: coefficients and schemes.
        dtype: of all fields and particles, float64 (default), or float32 in three dimensions.
        boundary: of the velocity; default closed walls at rest. Particles leave through all sides but walls, and
            enter beside liquid through those whose normal velocity is given.
        solid: obstacle: anything that `project` takes; it may move.
        sources: regions in which liquid is emitted.
        drains: regions in which it vanishes.
        controls: what draws the liquid to places and gives it a velocity there: `ControlParticles`, `ControlShape`.

    Attributes:
        particles: with the columns 'velocity', m/s, and for APIC 'affine', 1/s. All have the same volume. On ranks, those of the own block.
        velocity: of the grid, extended into the air around the liquid, m/s; zero farther away.
        pressure: of the last projection, Pa, float64.
        volume: counts of added and removed particles.
        emission: sources with a rate: what they owe and emit under water; None: there are none.
        inflow: what has come through the faces of sides, in particles; None if no side lets any in.
        time: seconds.
        last_dt: length of the last step, s; zero: they begin.
        report: of the last step.
        shells: what particles and faces do beside thin shells, in a `ShellCoupling`; else None.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Zhu and Bridson 2005; Jiang et al. 2015; Brochu 2012, section 5.4.1; Lee 2018, chapter 3 (as the baseline).
    """

    given_once = ("options",)

    stages = (
        "emit",
        "transfer_to_grid",
        "add_forces",
        "diffuse",
        "project",
        "extend",
        "transfer_to_particles",
        "move",
        "resample",
    )
    settings = ("solid", "gravity", "controls")
    far_beyond = 4.0
    has_surface = True
    """As of other fluids. Particles that fall a long straight way pile up: of a column in a box at least 0.94 are left at 4 times,
    0.88 at 5 times, 0.85 at 6 times."""
    gravity = Acceleration()
    report_type = ParticleLiquidReport

    def __init__(
        self,
        grid: Grid,
        options: ParticleLiquidOptions | None = None,
        *,
        dtype: npt.DTypeLike = np.float64,
        boundary: BoundarySpec = None,
        solid: SolidLike | None = None,
        sources: Sequence[LiquidSource] = (),
        drains: Sequence[Drain] = (),
        controls: Sequence[Control] = (),
    ) -> None:
        self.options = o = ParticleLiquidOptions() if options is None else _checks.one_of_type("options", options, ParticleLiquidOptions)
        super().__init__(grid, dtype, boundary, solid, o.slip, controls)
        dimension, kind = grid.dimension, self.velocity.dtype
        down = (0.0,) * (dimension - 1) + (-9.81,)
        self.gravity = down if o.gravity is None else o.gravity
        columns: dict[str, Any] = {"velocity": np.empty((0, dimension), kind), "distance": np.empty(0, kind)}
        if o.transfer == "apic":
            columns["affine"] = np.empty((0, dimension**2), kind)
        self.particles = self.declare("particles", Particles(np.empty((0, dimension), kind), **columns))
        self._per_cell = 2**dimension if o.particles.per_cell is None else o.particles.per_cell
        self.volume = self.declare("volume", ParticleVolume(grid, self._per_cell))
        self._entrance = ParticleInflow(self.velocity, self._per_cell, o.particles)
        self.inflow = self.declare("inflow", self._entrance.new_counts(), optional=False)
        self._supply = ParticleSources(self.velocity, self._per_cell, o.particles, sources, drains)
        self.emission = self.declare("emission", self._supply.emission, optional=False)
        self.last_dt: float = self.declare("last_dt", 0.0)
        self._levelset = LevelSet(grid, "cells", kind)
        self._stale = True
        self.shells: Any = None
        self._distance = CarriedDistance(self.velocity, self._per_cell)
        self._faces = ParticleFaces(self.velocity)
        self._spacing = ParticleSpacing(self.velocity) if o.particles.density_correction else None
        self._before = self.velocity.copy()
        # Slivers of liquid around single particles converge slowly, and what they do beyond this is noise.
        self._viscosity = ViscosityStage(grid, o.viscosity, _VISCOUS_TOLERANCE, free_surface=True)
        self._projection = ProjectionStage(grid, o.density, o.pressure.tolerance, o.pressure.max_iterations)
        sides = self.velocity.boundary
        self._open = [
            axis + sign in grid.sides and isinstance(sides[axis + sign], (Open, Prescribed, ZeroGradient))
            for axis in "xyz"[:dimension]
            for sign in "-+"
        ]

    @property
    def levelset(self) -> LevelSet:
        """The surface of the particles, m, on cells: liquid where <= 0; close to a distance near the surface. Do not write to it."""
        if self._stale:
            self._find_surface(self.sampled_solid.at(self.time))
        return self._levelset

    @property
    def particle_volume(self) -> float:
        """The volume of a particle, m^dim."""
        return self.volume.each

    @exclusively
    def fill(self, region: Shape | LevelSet | SurfaceLike, velocity: Sequence[float] | None = None) -> int:
        """Fill a region outside of the solid with particles; they count as present from the start.

        Args:
            region: a Shape, a closed surface mesh, or a LevelSet on the cells of this grid.
            velocity: of the new particles, m/s; default zero.

        Returns:
            The number of new particles.

        Raises:
            TypeError, ValueError: wrong types, dimensions or values.
        """
        count = self.fill_where(region, velocity)
        warn_if_nothing(count == 0 and self.grid.shape == self.grid.local_shape)
        return count

    def fill_where(
        self, region: Shape | LevelSet, velocity: Sequence[float] | None, here: Callable[[npt.NDArray[Any]], Bools] | None = None
    ) -> int:
        """Fill a region. Beside thin shells, `here` tells which of some positions (n, dim), m, are to be filled; other particles stay as
        they are."""
        solid = self._outside(self.sampled_solid.at(self.time))
        before = self.levelset if self._count() else None
        old = np.array(self.particles["distance"])
        added, phi = self._supply.fill(self.particles, region, velocity, solid)
        if here is None:
            self._distance.set_region(self.particles, phi, before)
        else:
            inside = here(self.particles.positions)
            self._distance.set_region(self.particles, phi, None)
            distances = self.particles["distance"]
            distances[: len(old)] = np.where(inside[: len(old)], distances[: len(old)], old)
            if before is not None:
                # What the walls hide is no liquid of this side.
                levels = self.shells.levels(before, self.particles.positions[len(old) :])
                distances[len(old) :] = np.fmin(distances[len(old) :], levels)
            inside[: len(old)] = True
            added -= int((~inside).sum())
            self.particles.remove(~inside, workspace=self._workspace)
        self._distance.update(self.particles, solid, 0.0, self.time, self._workspace, self.shells)
        self._stale = True
        self.volume.totals["initial"] += added
        self.particles.sort_by_cell(self.grid, workspace=self._workspace)
        return added

    def particles_changed(self) -> None:
        """Let the surface be found anew when it is asked for."""
        self._stale = True

    def set_particles(self) -> None:
        """Restart from the present particles: recompute the surface, and count volumes from now on.

        Raises:
            ValueError: positions or velocities are not finite.
        """
        with self.grid.agreement():
            _checks.require_finite("positions", self.particles.positions)
            _checks.require_finite("velocities", self.particles["velocity"])
        self.particles.migrate(self.grid, workspace=self._workspace)
        self._stale = True
        self.particles["distance"] = 0.0
        self._distance.update(self.particles, self._outside(self.sampled_solid.at(self.time)), 0.0, self.time, self._workspace, self.shells)
        if self.emission is not None:
            self.emission.clear()
        self.last_dt = 0.0
        self.volume.reset(self._count())

    def max_dt(self) -> float:
        """Return the step (s) in which particles pass `cfl` cells, at their speed or at the one that gravity gives them on the way; that of
        solids, sources and controls counts."""
        h, o = self.grid.spacing, self.options
        pull, driven = self.control_stage.limits(self.time)
        speed = self._speed() + math.sqrt(h * (float(np.linalg.norm(self.gravity)) + pull))
        speed = max(speed, driven, self._supply.speed(self.time), self.sampled_solid.max_speed(self.time))
        return o.cfl * h / speed if speed > 0 else math.inf

    @stage(reads=("particles", "volume", "emission", "time"), writes=("particles", "volume", "emission"), positive=True)
    def emit(self, dt: float) -> None:
        """Fill the regions of sources and empty those of drains."""
        solid = self._outside(self.sampled_solid.at(self.time))
        levelset = None if self.emission is None else self.levelset
        added = self._supply.emit(self.particles, dt, self.time, levelset, solid, self.shells)
        removed = self._supply.drain(self.particles, self.time, self.shells)
        self.volume.totals["emitted"] += added
        self.volume.totals["drained"] += removed
        if added:
            self._distance.update(self.particles, solid, 0.0, self.time, self._workspace, self.shells)
        self._stale = self._stale or added + removed > 0

    @stage(reads=("particles", "time"), writes=("velocity",), positive=True)
    def transfer_to_grid(self, dt: float) -> None:
        """Transfer the velocities of the particles to the faces around them, and compute the surface."""
        if self._stale:
            self._find_surface(self.sampled_solid.at(self.time))
        self._faces.from_particles(self.particles, self.velocity, self._workspace, self._levelset, self.shells)
        self._before.assign(self.velocity)

    @stage(reads=("velocity", "particles", "last_dt", "time"), writes=("velocity",), positive=True)
    def add_forces(self, dt: float) -> None:
        """Add gravity, from the middle of the last step to that of this one, and the forces of controls for dt."""
        add_acceleration(self.velocity, self.gravity.tolist(), _between_middles(self.last_dt, dt))
        parts = dt, self.time, self.sampled_solid, self._workspace
        self.running_report.control_impulse = self.control_stage.act(*parts, density=self.options.density, liquid=self._levelset)

    @stage(reads=("velocity", "pressure", "particles", "last_dt", "time"), writes=("velocity", "pressure"), positive=True)
    def diffuse(self, dt: float) -> None:
        """Apply viscosity for dt."""
        parts = self.velocity, dt, self.sampled_solid, self.time + dt, self._levelset
        self.running_report.viscosity = self._viscosity.act(*parts, lambda: self._project(dt))

    @stage(
        reads=("velocity", "pressure", "particles", "volume", "emission", "last_dt", "time"),
        writes=("velocity", "pressure", "volume", "emission"),
        positive=True,
    )
    def project(self, dt: float) -> None:
        """Make the velocity of the liquid divergence-free around the solid at the end of the step."""
        solid = self._outside(self.sampled_solid.at(self.time + dt, dt))
        emission = self.emission
        self._project(dt, None if emission is None else emission.flow_of_step(dt, self.time, self._levelset, solid, self.walls))
        self.volume.subtract_incompatible(self.running_report.projection.regions, dt, self._count)

    def _project(self, dt: float, target_divergence: CellField | None = None) -> None:
        o = self.options
        solid = self.sampled_solid.at(self.time + dt, dt)
        if self.sampled_solid.moves:
            self._extend_into_solid(solid)
        self.running_report.projection = self._projection.act(
            self.velocity,
            dt,
            self.sampled_solid,
            self.time + dt,
            self.pressure,
            target_divergence=target_divergence,
            liquid=self._levelset,
            air_pressure=o.air_pressure,
            walls=self.walls,
            gravity=self.gravity.tolist(),
            forced=_between_middles(self.last_dt, dt),
        )

    @stage(reads=("velocity", "particles", "time"), writes=("velocity",))
    def extend(self, dt: float) -> None:
        """Extend the velocity of the liquid, and the one from before, into the air around it, and into solids; beyond, they are zero.

        Both are extended from the same faces, so that particles beyond these get the change of the liquid next to them.
        """
        o, time = self.options, self.time + dt
        solid = self.sampled_solid.at(time, dt or None, needs_velocity=True)
        before = self._before if o.transfer == "flip" else None
        # As far as any particle may get, and the samples around it there.
        speed = self._speed() + dt * float(np.abs(self.gravity).max())
        speed = max(speed, max_speed(self.velocity)) if self.controls else speed
        band = max(o.band, math.ceil(speed * dt / self.grid.spacing) + 1)
        self._faces.extend(self.velocity, before, self._levelset, solid, band, self._workspace, self.shells)

    @stage(reads=("velocity", "particles", "time"), writes=("particles",), positive=True)
    def transfer_to_particles(self, dt: float) -> None:
        """Transfer the velocity of the grid, or its change, to the particles."""
        o = self.options
        how: dict[str, Any] = {"before": self._before if o.transfer == "flip" else None, "flip_ratio": o.flip_ratio, "time": self.time + dt}
        near = None if self.shells is None else self.shells.particles_near(self.particles)
        grid_to_particles(self.velocity, self.particles, **how, workspace=self._workspace)
        if near is not None:
            self.shells.faces_to_particles(self.velocity, self.particles, near, **how)

    @stage(
        reads=("velocity", "particles", "volume", "emission", "inflow", "time"),
        writes=("particles", "volume", "emission", "inflow", "last_dt"),
        positive=True,
    )
    def move(self, dt: float) -> None:
        """Advect the particles along the velocity of the grid for dt, and let others enter; those beyond open sides are removed, those in
        solids are pushed out."""
        near = None if self.shells is None else self.shells.ways(self.particles, self.velocity, dt, self.time + dt)
        inflow = self.inflow
        before = None if inflow is None and self.emission is None else self.levelset
        how: dict[str, Any] = {"time": self.time + dt, "workspace": self._workspace}
        trace(self.particles, self.velocity, dt, method=self.options.particles.trace, outside="keep", **how)
        if near is not None:
            self.shells.go(self.particles, near)
        if inflow is not None and before is not None:
            self.volume.totals["inflow"] += self._entrance.add(self.particles, self.velocity, inflow, before, dt, **how)
        if self.emission is not None and before is not None:
            solid = self._outside(self.sampled_solid.at(self.time + dt, dt))
            self.emission.move(self.particles, self.velocity, dt, self.time + dt, before, solid, self.walls, self.volume.totals)
        self._apply_boundary(dt)
        self.last_dt = dt

    @stage(reads=("velocity", "particles", "volume", "time"), writes=("particles", "volume"), positive=True)
    def resample(self, dt: float) -> None:
        """Let the distances that particles carry follow the flow, move particles towards the wanted number per cell, if the options ask for
        it, and sort them."""
        if self._count():
            solid = self._outside(self.sampled_solid.at(self.time + dt, dt))
            self._distance.update(self.particles, solid, dt, self.time + dt, self._workspace, self.shells)
            self._stale = True
        if self._spacing is not None and self._count():
            self._correct_density(self._spacing, dt)
        self.particles.sort_by_cell(self.grid, workspace=self._workspace)

    def volume_report(self) -> VolumeReport:
        """Return the volume inside of the surface, and of each connected component of it, with that of the particles there."""
        levelset, solid = self.levelset, self.sampled_solid.at(self.time)
        waiting = 0.0 if self.emission is None else self.emission.waiting
        return self.volume.report(levelset, self._outside(solid), self.particles, self.shells, waiting)

    @property
    def walls(self) -> ThinWalls | None:
        """Thin walls that the stages see, of the `shells`; None: there are none."""
        walls: ThinWalls | None = None if self.shells is None else self.shells.walls
        return walls

    def _count(self) -> int:
        """Return the number of particles, on all ranks together."""
        return self.grid.comm.total(len(self.particles))

    def _speed(self) -> float:
        """Return the largest velocity component of a particle, m/s."""
        return float(_fluids.largest_value(self.grid.comm._core, self.particles._core, "velocity"))

    def _outside(self, solid: SolidBoundary | None) -> Any:
        """Return the level set of the solid on nodes, or None."""
        return None if solid is None else solid.levelset

    def _find_surface(self, solid: SolidBoundary | None) -> None:
        self._distance.fit(self.particles, self._outside(solid), self._levelset, self._workspace, self.walls)
        self._stale = False
        self._extend_into_solid(solid)

    def _extend_into_solid(self, solid: SolidBoundary | None) -> None:
        """Continue the level set into the solid at the angle at which it meets the wall."""
        if solid is not None:
            solid.extend_level_set(self._levelset.field, self._workspace)

    def _correct_density(self, spacing: ParticleSpacing, dt: float) -> None:
        o, rate = self.options, self.options.particles.correction_rate
        solid = self.sampled_solid.at(self.time + dt, dt)
        levelset = self._distance.positions
        if solid is not None:
            solid.extend_level_set(levelset.field, self._workspace)
        self._distance.shift(self.particles, levelset, -1.0, self._workspace, self.shells)
        flow = self.velocity._core, dt, self.time + dt, rate
        parts = self._per_cell, levelset, solid, o.band, o.pressure.max_iterations, flow, self._workspace, self.shells
        self.running_report.correction = spacing.correct(self.particles, *parts)
        self._apply_boundary(dt)
        self._distance.shift(self.particles, levelset, 1.0, self._workspace, self.shells)

    def _apply_boundary(self, dt: float) -> None:
        solid = self.sampled_solid.at(self.time + dt, dt)
        levelset = None if solid is None else solid.levelset._core
        if self.inflow is not None:
            self._entrance.keep(self.particles, self.velocity)
        gone, stuck, _ = _fluids.apply_boundary_and_remove(self.particles._core, self.velocity._core, self._open, levelset, self._workspace)
        self.volume.totals["outflow"] += gone
        self.running_report.left += gone
        self.running_report.in_solid = stuck
        self._stale = True

    def _state_replaced(self) -> None:
        super()._state_replaced()
        self._stale = True

    def _complete(self, report: ParticleLiquidReport) -> None:
        squares = float(_fluids.sum_of_squares(self.grid.comm._core, self.particles._core, "velocity"))
        report.particles = self._count()
        report.volume = report.particles * self.particle_volume
        report.kinetic_energy = 0.5 * self.options.density * self.particle_volume * squares
        report.max_speed = self._speed()
        if not math.isfinite(report.kinetic_energy):
            raise ValueError("the velocities of the particles must be finite after a step")


def _between_middles(last_dt: float, dt: float) -> float:
    """Return the time from the middle of the last step (of zero seconds: from the start) to that of one of dt seconds.

    Forces for dt alone let the particles, which move afterwards, fall too far, and waves lose energy as dt follows their speed.
    """
    return 0.5 * (last_dt + dt)
