"""Lattice Boltzmann solver."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core.solver import OnStage, Solver, stage
from meniscus.fluids.lattice.options import (
    EDDY_FORM,
    LATTICE_COLLISION,
    SLOWEST_ODD,
    SPEED_LIMIT,
    WALL_MAGIC,
    LatticeCollision,
    LatticeOptions,
    LatticeReport,
    LatticeSet,
    LatticeStorage,
)
from meniscus.fluids.lattice.populations import LatticePopulations
from meniscus.fluids.lattice.sides import LatticeSides, checked_sides
from meniscus.fluids.lattice.walls import LatticeSolid
from meniscus.grid.boundary import BoundarySpec, resolve
from meniscus.grid.fields import CellField
from meniscus.grid.uniform import Grid
from meniscus.surface import Shape, Solid

Floats = npt.NDArray[np.float64]

# Of the length of a step: below this, two steps count as equally long, as the last one before a frame and those before it do.
_SAME_STEP = 1e-9


class LatticeBoltzmann(Solver[LatticeReport]):
    """A fluid as populations that stream from cell to cell and collide: one pass over memory for each step, and no linear solve.

    Steps have the length at which fluid of the greatest speed passes `lattice_speed` cells. The flow is slightly compressible: pressures
    are those of a gas whose sound passes a cell in 1.73 steps.

    A step works in place and cannot be undone; after an error about speeds, the state is that after the step. An interruption comes
    between steps.

    Args:
        grid: of the cells.
        viscosity: kinematic, m^2/s.
        max_speed: the greatest speed that is expected, m/s.
        lattice: set of velocities: 'D2Q9'; 'D3Q15', 'D3Q19', 'D3Q27'. Default: 'D2Q9' or 'D3Q19'.
        collision: 'trt' (two relaxation times), or 'bgk' (one).
        storage: type of the stored populations: 'float64' (default in 2-D), 'float32' (default in 3-D), or 'int16' (multiples of a unit).
        boundary: conditions of the sides. `Wall` (with slip='no-slip' perhaps with a velocity), `Prescribed` for a given velocity,
            `Open` for a given pressure, `ZeroGradient` for an outflow that lets waves out.
        solid: the obstacle.
        options: numbers and schemes.

    Attributes:
        grid: of the cells.
        time: s.
        viscosity: kinematic, m^2/s.
        max_speed: m/s.
        options: as given.
        tau: relaxation time of the symmetric populations, in steps.
        directions: velocities of the lattice (q, dimension), in cells per step; those of `populations`, in their order.
        weights: of the lattice (q,).

    Raises:
        TypeError, ValueError: wrong types or values; a viscosity that is too small for the storage.

    Source: Müller et al. 2008, chapter 10.
    """

    stages = ("collide_and_stream",)
    settings = ("solid",)
    given_once = ("viscosity", "max_speed", "options")
    report_type = LatticeReport

    def __init__(
        self,
        grid: Grid,
        viscosity: float,
        max_speed: float,
        *,
        lattice: LatticeSet | None = None,
        collision: LatticeCollision = "trt",
        storage: LatticeStorage | None = None,
        boundary: BoundarySpec = None,
        solid: Solid | Shape | None = None,
        options: LatticeOptions | None = None,
    ) -> None:
        self.grid = _checks.one_of_type("grid", grid, Grid)
        if grid.comm.size > 1:
            raise ValueError("a lattice needs a grid that is not cut among ranks")
        self.options = o = LatticeOptions() if options is None else _checks.one_of_type("options", options, LatticeOptions)
        self.viscosity = _checks.positive("viscosity", viscosity)
        self.max_speed = _checks.positive("max_speed", max_speed)
        flat = grid.dimension == 2
        self.lattice = ("D2Q9" if flat else "D3Q19") if lattice is None else _checks.choice("lattice", lattice, LatticeSet)
        if self.lattice.startswith("D2") != flat:
            raise ValueError(f"lattice must be one of {grid.dimension} dimensions, not {self.lattice!r}")
        self._kind = LATTICE_COLLISION("collision", collision)
        if collision == "cumulant" and self.lattice != "D3Q27":
            raise ValueError(f"collision 'cumulant' needs lattice 'D3Q27', not {self.lattice!r}")
        storage_name = ("float64" if flat else "float32") if storage is None else _checks.choice("storage", storage, LatticeStorage)
        push = None if o.acceleration is None else _checks.vector("acceleration", o.acceleration, grid.dimension)
        self._acceleration = (0.0,) * grid.dimension if push is None else push
        self._sides = LatticeSides(grid, checked_sides(grid, resolve(grid, boundary)), o.outflow_relaxation)
        self.flow = self.declare("flow", LatticePopulations(grid.shape, self.lattice, storage_name, o.streaming, o.lattice_speed))
        self.time = self.declare("time", 0.0)
        self.directions = np.array(self.flow.core.velocities)[:, : grid.dimension]
        self.weights = np.array(self.flow.core.weights)
        self.step_length = self.declare("step_length", self.max_dt())
        self._use_step(self.step_length)
        self._walls = LatticeSolid(grid, self.flow.core, o.walls == "interpolated", solid)
        self._walls.place(self.time, self.step_length, moving=False)
        self._known = False
        self._density: Floats = np.empty(grid.shape)
        self._velocity: Floats = np.empty((grid.dimension, *grid.shape))

    @property
    def dt(self) -> float:
        """Length of a step, s. Setting it scales the populations, so that velocity, pressure and stress stay as they are.

        Raises:
            ValueError: not positive, or so long that the greatest speed would pass 1/3 of a cell.
        """
        return self.step_length

    @dt.setter
    def dt(self, value: float) -> None:
        length = _checks.positive("dt", value)
        if length * self.max_speed > SPEED_LIMIT * self.grid.spacing:
            raise ValueError(
                f"dt must be at most {SPEED_LIMIT * self.grid.spacing / self.max_speed:g} s at this max_speed, not {length:g} s"
            )
        with self.exclusive():
            before, ratio = self._rule, length / self.step_length
            self._use_step(length)
            self.flow.core.rescale(before, self._rule, ratio)

    @property
    def populations(self) -> Floats:
        """Copy of the populations (q, *shape), as they have arrived before the next step. May be set."""
        result: Floats = self.flow.core.read()
        result += self.weights.reshape((-1,) + (1,) * self.grid.dimension)
        return result

    @populations.setter
    def populations(self, value: npt.ArrayLike) -> None:
        shape = (self.flow.core.directions, *self.grid.shape)
        values = np.array(_checks.incoming("populations", value, np.dtype(np.float64), shape), np.float64)
        values = np.broadcast_to(values, shape) - self.weights.reshape((-1,) + (1,) * self.grid.dimension)
        with self.exclusive():
            self.flow.core.write(np.ascontiguousarray(values))
            self._known = False

    @property
    def density(self) -> Floats:
        """Density of the cells, kg/m^3; see `pressure` for what it means."""
        result: Floats = self.options.density * (1.0 + self._moments()[0])
        return result

    @property
    def pressure(self) -> Floats:
        """Pressure of the cells, Pa, 0 at the density of rest."""
        result: Floats = self.options.density / 3.0 * (self.grid.spacing / self.step_length) ** 2 * self._moments()[0]
        return result

    @property
    def velocity(self) -> Floats:
        """Velocity of the cells (dimension, *shape), m/s; 0 in solids. Read-only; the next call after a step overwrites it."""
        view: Floats = self._moments()[1][...]
        view.flags.writeable = False
        return view

    @property
    def strain_rate(self) -> Floats:
        """Norm of the strain rate of the cells, sqrt(S_ab S_ab), 1/s, from the populations alone."""
        result: Floats = self.flow.core.strain(self._rule)[0]
        result /= self.step_length
        return result

    @property
    def total_viscosity(self) -> Floats:
        """Viscosity of the cells with that of eddies, m^2/s."""
        result: Floats = self.flow.core.strain(self._rule)[1]
        result *= self.grid.spacing**2 / self.step_length
        return result

    @property
    def mass(self) -> float:
        """Mass of the fluid above that at the density of rest, kg (kg/m in 2-D): what a closed box keeps."""
        return float(self.flow.core.totals[0]) * self.options.density * self.grid.spacing**self.grid.dimension

    @property
    def momentum(self) -> Floats:
        """Momentum of the fluid, kg m/s (kg/s in 2-D)."""
        scale = self.options.density * self.grid.spacing ** (self.grid.dimension + 1) / self.step_length
        return np.array(self.flow.core.totals[1 : 1 + self.grid.dimension]) * scale

    @property
    def solid(self) -> Solid | None:
        """The obstacle; may be set. Raises TypeError or ValueError for what is no solid, or has another dimension."""
        return self._walls.solid

    @solid.setter
    def solid(self, value: Solid | Shape | None) -> None:
        with self.exclusive():
            self._walls.solid = value
            self._walls.place(self.time, self.step_length, moving=False)
            self._known = False

    def force_on(self, solid: Solid | Shape) -> Floats:
        """Return the mean force (dimension,), N (N/m in 2-D), of the fluid on a solid during the last step, by momentum exchange.

        It is that of stresses and of pressures above `pressure` 0: buoyancy in a fluid at rest is not part of it.

        Args:
            solid: that of this flow, or a member of its `SolidGroup`.

        Raises:
            ValueError: another solid.
        """
        return self.loads_on(solid, np.zeros(self.grid.dimension))[0]

    def loads_on(self, solid: Solid | Shape, about: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return the mean force as `force_on`, and the mean torque about a point (m), N m (one number in 2-D, N)."""
        place = np.array(_checks.vector("about", np.asarray(about), self.grid.dimension))
        force, torque = self._walls.force_and_torque(solid, place)
        scale = self.options.density * self.grid.spacing ** (self.grid.dimension + 1) / self.step_length**2
        return force * scale, torque * scale

    def set_flow(self, velocity: npt.ArrayLike, pressure: npt.ArrayLike = 0.0) -> None:
        """Set the populations to those of a velocity (dimension, *shape), m/s, and a pressure (shape), Pa, with the stress of its strain.

        Raises:
            TypeError, ValueError: wrong shapes, or values that are not finite or too fast.
        """
        n = self.grid.dimension
        u = np.ascontiguousarray(np.broadcast_to(_checks.numbers("velocity", velocity), (n, *self.grid.shape)))
        p = np.ascontiguousarray(np.broadcast_to(_checks.numbers("pressure", pressure), self.grid.shape))
        _checks.require_finite("velocity", u)
        _checks.require_finite("pressure", p)
        scale = self.step_length / self.grid.spacing
        fastest = float(np.sqrt((u**2).sum(axis=0).max())) * scale
        if fastest > SPEED_LIMIT:
            raise ValueError(f"velocity must be below 1/3 of a cell per step, {SPEED_LIMIT / scale:g} m/s, not {fastest / scale:g} m/s")
        gradients = np.empty((n, n, *self.grid.shape))
        for a in range(n):
            field = CellField(self.grid)
            field.array = u[a] * scale
            field.fill_ghosts()
            ghosts = field.with_ghosts
            for b in range(n):
                cut = [slice(3, -3)] * n
                above, below = list(cut), list(cut)
                above[b], below[b] = slice(4, -2), slice(2, -4)
                gradients[a, b] = 0.5 * (ghosts[tuple(above)] - ghosts[tuple(below)])
        with self.exclusive():
            density = p * (3.0 * scale * scale / self.options.density)
            self.flow.core.set_moments(self._rule, density, u * scale, gradients)
            self._known = False

    def max_dt(self) -> float:
        """Return the step (s) in which fluid of the greatest speed passes `lattice_speed` cells."""
        return self.options.lattice_speed * self.grid.spacing / self.max_speed

    def step(self, dt: float | None = None, on_stage: OnStage | None = None, **options: object) -> LatticeReport:
        """Advance by one step.

        Args:
            dt: s; default `dt`. Another length than that is set first.
            on_stage: as in `Solver.step`.
            **options: none.

        Raises:
            ValueError: the flow was too fast, or no longer finite; the state is that after the step.
        """
        report = super().step(self.step_length if dt is None else dt, on_stage, **options)
        limit = SPEED_LIMIT * self.grid.spacing / self.step_length
        if not report.max_speed <= limit:
            raise ValueError(f"the flow was faster than the lattice allows, {limit:g} m/s, before the step that ended at {self.time:g} s")
        return report

    # What the sweep overwrites is nowhere else, so no copy is kept: it comes last, and nothing breaks it off.
    @stage(reads=("flow", "time", "step_length"), writes=(), positive=True)
    def collide_and_stream(self, dt: float) -> None:
        """Let the populations collide and stream once, for dt seconds."""
        if abs(dt - self.step_length) > _SAME_STEP * self.step_length:
            self.dt = dt
        if self._sides.varies:
            self._sides.set(self.flow.core, self.time, self.step_length, self.options.density)
        self._known = False
        self._walls.place(self.time + dt, dt, moving=True)
        scale = self.options.density * self.grid.spacing**self.grid.dimension
        self.running_report.covered, self.running_report.uncovered = self._walls.covered * scale, self._walls.uncovered * scale
        speed, refused = self.flow.core.step(self._rule)
        self.running_report.max_speed = math.nan if refused and speed <= SPEED_LIMIT else speed * self.grid.spacing / self.step_length

    def _use_step(self, dt: float) -> None:
        """Use steps of dt seconds from now on."""
        h, o = self.grid.spacing, self.options
        viscosity = self.viscosity * dt / (h * h)
        kind = np.float64 if self.flow.storage == "float64" else np.float32
        if not kind(3.0 * viscosity + 0.5) > kind(0.5):
            raise ValueError(f"viscosity must give a relaxation time above 1/2, but {self.viscosity:g} m^2/s is too small for this grid")
        push = [a * dt * dt / h for a in self._acceleration]
        form = EDDY_FORM("eddy_viscosity", o.eddy_viscosity)
        magic = min(WALL_MAGIC, SLOWEST_ODD * 3.0 * viscosity) if o.magic is None else o.magic
        self._rule = _fluids.CollisionRule(self._kind, viscosity, magic, push, o.smagorinsky, form, SPEED_LIMIT)
        self.step_length, self.tau, self._known = dt, float(self._rule.tau), False
        self._sides.set(self.flow.core, self.time, dt, o.density)

    def _moments(self) -> tuple[Floats, Floats]:
        """Return density less 1, and velocity (m/s), of the present state."""
        if not self._known:
            self.flow.core.moments(self._rule, self._density, self._velocity)
            self._velocity *= self.grid.spacing / self.step_length
            self._known = True
        return self._density, self._velocity

    def _state_replaced(self) -> None:
        self._use_step(self.step_length)
        self._walls.forget()
        self._walls.place(self.time, self.step_length, moving=False, fill=False)

    def __repr__(self) -> str:
        """One line: cells, set of velocities, time, relaxation time, memory."""
        cells = "x".join(map(str, self.grid.shape))
        return f"<LatticeBoltzmann {cells} cells, {self.lattice}, t = {self.time:g} s, tau = {self.tau:.4g}, {self.nbytes / 1e6:.3g} MB>"
