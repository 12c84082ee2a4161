"""Liquids on Voronoi cells: pressure samples where the tracked surface is."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core.solver import Solver, stage
from meniscus.fluids.voronoi.cells import CellPhysics, LiquidCells, OfPoints
from meniscus.fluids.voronoi.options import SAMPLE_STATE, SampleState, VoronoiLiquidOptions, VoronoiLiquidReport
from meniscus.fluids.voronoi.volumes import PartVolumes, followed_targets, measured, part_of_vertices
from meniscus.mesh.triangulation.voronoi import VoronoiMesh
from meniscus.numerics.solve import ConvergenceError, SolveInfo, facts, solve_options
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.solid import Solid
from meniscus.surface.tracking.tracked_surface import TrackedSurface

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_BEYOND = 1e-3  # cells that the surface may get beyond a wall
_MOST_CUTS = 20  # of a motion, where contacts end it early
_MOST_MOTIONS = 16  # of a step, where parts touch
_APPROACH = 0.08  # cells that the surface moves by in each of them, or more
_CORRECTION = 0.02  # cells that the correction of volumes moves the surface by in a step, at most


class VoronoiLiquid(Solver[VoronoiLiquidReport]):
    """A liquid with a tracked surface, and pressure samples that are placed anew in every step so that they see all of it.

    Beside each vertex of the surface there is a sample in the liquid and one in the air; away from it they form a body-centred lattice.
    Pressures live at the samples, velocities on the faces of their Voronoi cells. So films much thinner than a cell move, drops do not feel
    a pool before they touch it, and surface tension acts with the curvature of the mesh. The liquid has no viscosity; the air has a
    pressure and no mass.

    The walls of the box are solid and slippery. The surface encloses the liquid; where this is at a wall, it ends there or goes through it
    (which keeps its corners out of the flow). What is outside of the box is carried along and does not count.

    Args:
        box: lower and upper corner, m.
        cell_size: length that samples are spaced by, m; edges of the surface should be about as long.
        surface: closed, a `TrackedSurface`, which the liquid moves from now on.
        gravity: m/s^2.
        surface_tension: N/m.
        solid: a shape or a `Solid` in the box; the surface may go through it as through walls.
        density: kg/m^3.
        air_pressure: Pa.
        options: schemes and numbers.

    Attributes:
        surface: the surface.
        density: kg/m^3.
        gravity: (3,), m/s^2; may be set.
        face_velocity: (f, 2) m/s, along the normals of the faces of `cells`, as their first and their second cell sees it: different
            where there is air between both.
        pressure: (n,) Pa, of the samples; zero in the air.

    Raises:
        TypeError, ValueError: wrong types or values; a surface with holes, inside out, or with nothing in the box.

    Source: Brochu 2012, chapter 7; linear fits, increments, parts with velocities of their own, and exact rest are ours.
    """

    stages: tuple[str, ...] = ("track", "remesh", "advect", "project", "reconstruct")
    settings = ("gravity", "solid")
    report_type = VoronoiLiquidReport

    def __init__(
        self,
        box: npt.ArrayLike,
        cell_size: float,
        surface: TrackedSurface,
        gravity: Sequence[float] = (0.0, -9.81, 0.0),
        surface_tension: float = 0.0,
        solid: Shape | Solid | None = None,
        *,
        density: float = 1000.0,
        air_pressure: float = 0.0,
        options: VoronoiLiquidOptions | None = None,
    ) -> None:
        corners = _checks.numbers("box", box)
        if corners.shape != (2, 3) or not (corners[0] < corners[1]).all():
            raise ValueError("box must have a lower and an upper corner of three numbers each")
        given = _checks.one_of_type("surface", surface, TrackedSurface)
        o = VoronoiLiquidOptions() if options is None else _checks.one_of_type("options", options, VoronoiLiquidOptions)
        tension = _checks.number("surface_tension", surface_tension)
        if tension < 0:
            raise ValueError(f"surface_tension must not be negative, not {tension:g}")
        if solid is not None and not isinstance(solid, (Shape, Solid)):
            raise TypeError(f"solid must be a shape or a Solid, not a {type(solid).__name__}")
        ends = np.array(corners[0]), np.array(corners[1])
        self._physics = CellPhysics(
            ends, _checks.positive("cell_size", cell_size), tension, _checks.number("air_pressure", air_pressure), o
        )
        self._walls = ends[0] - _BEYOND * self.cell_size, ends[1] + _BEYOND * self.cell_size
        self.density = _checks.positive("density", density)
        self.gravity = np.array(_checks.vector("gravity", gravity, 3))
        self.solid = solid
        self._solve = solve_options(o.tolerance, o.max_iterations, "multigrid")
        self._projection = _fluids.CellProjection()
        if boundary := given.mesh.check_watertight().boundary_edges:
            raise ValueError(f"surface must be closed, but {boundary} of its edges have one triangle")
        _, rows = measured(given, ends)
        if not rows[:, 0].sum() > 0:
            raise ValueError(f"surface must enclose liquid in the box, with normals out of it, but the volume is {rows[:, 0].sum():g} m^3")
        self.surface = self.declare("surface", given)
        self.time = self.declare("time", 0.0)
        self.targets = self.declare("targets", rows[:, 0].copy(), resizable=True)
        self._given = self.declare("_given", float(rows[:, 0].sum()))
        self._cells: LiquidCells | None = LiquidCells(self._physics, self._arrays(), None, *self._solid_at(0.0))
        self._field: _fluids.CellVelocity | None = None
        self._old: tuple[_fluids.CellVelocity, Floats] | None = None
        self._sites = self.declare("_sites", self._cells.sites, resizable=True)
        self.face_velocity = self.declare("face_velocity", np.zeros((len(self._cells.mesh.faces), 2)), resizable=True)
        self.pressure = self.declare("pressure", np.zeros(len(self._sites)), resizable=True, rows_of="_sites")

    @property
    def box(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Lower and upper corner, m."""
        return tuple(self._physics.box[0].tolist()), tuple(self._physics.box[1].tolist())

    @property
    def cell_size(self) -> float:
        """m."""
        return self._physics.cell

    @property
    def surface_tension(self) -> float:
        """N/m."""
        return self._physics.tension

    @property
    def options(self) -> VoronoiLiquidOptions:
        """Schemes and numbers, which do not change."""
        return self._physics.options

    @property
    def cells(self) -> VoronoiMesh:
        """The Voronoi cells of the samples, as they are now."""
        return VoronoiMesh.of_core(self._now().mesh, self._physics.box)

    @property
    def liquid(self) -> npt.NDArray[np.bool_]:
        """(n,), which samples are in the liquid: a copy."""
        return self._now().core.liquid

    @property
    def parts(self) -> Ints:
        """(n,), the connected part of the liquid that each sample is in, as the pressure sees it; -1 in the air: a copy."""
        return self._now().core.part

    @property
    def sides(self) -> tuple[npt.NDArray[np.int8], Floats, Floats]:
        """Of each face as its two cells see it, (f, 2): 0 nothing, 1 liquid, 2 air, 3 wall beyond; distance to air, m; its pressure, Pa."""
        beyond, reach, pressure = self._now().core.sides
        return beyond, reach, pressure

    def velocity(self, points: npt.ArrayLike) -> Floats:
        """Return the velocities (n, 3), m/s, at points (n, 3), m: of the liquid there or closest, zero far from all."""
        x = np.ascontiguousarray(_checks.points("points", np.asarray(points, np.float64), np.dtype(np.float64), 3))
        _checks.require_finite("points", x)
        return self._velocity_field().at(x, None)

    def set_velocity(
        self,
        velocity: Sequence[float] | Callable[[Floats], npt.ArrayLike],
        *,
        samples: npt.NDArray[np.bool_] | None = None,
        project: bool = True,
    ) -> None:
        """Set the velocity of the liquid: three numbers, m/s, or a function of points (n, 3) that returns (n, 3).

        Args:
            velocity: at the faces of the cells.
            samples: (n,), those whose cells get it; None: all.
            project: whether to make it free of divergence.
        """
        with self.exclusive():
            cells = self._now()
            x = np.array(cells.mesh.centroids)
            u = np.asarray(velocity(x), np.float64) if callable(velocity) else np.tile(_checks.vector("velocity", velocity, 3), (len(x), 1))
            if u.shape != x.shape:
                raise ValueError(f"velocity must return an array of shape {x.shape}, not {u.shape}")
            _checks.require_finite("velocity", u)
            along = np.einsum("ij,ij->i", u, np.asarray(cells.mesh.normals))
            along[np.asarray(cells.mesh.faces)[:, 1] < 0] = 0.0
            known = cells.core.sides[0] != 0
            if samples is not None:
                chosen = _checks.mask("samples", samples, (len(self._sites),))
                known &= chosen[np.asarray(cells.mesh.faces)]
            self.face_velocity = np.where(known, along[:, None], self.face_velocity)
            if project:
                self._project(np.zeros(3), 1.0, with_surface=False)
            self._field = None

    def sample_log(self) -> dict[str, dict[SampleState, Ints]]:
        """Return which vertices of the surface have a sample of their own, and why others lack it, in the 'liquid' and the 'air'."""
        cells = LiquidCells(self._physics, self._arrays(), None, *self._solid_at(self.time))
        assert cells.states is not None
        log: dict[str, dict[SampleState, Ints]] = {}
        for side, states in zip(("liquid", "air"), cells.states, strict=True):
            log[side] = {}
            for name in get_args(SampleState):
                log[side][name] = np.flatnonzero(states == SAMPLE_STATE("state", name).value).astype(np.int32)
        return log

    def volume_report(self) -> PartVolumes:
        """Return the volumes of the parts of the surface, and what they should be."""
        _, rows = measured(self.surface, self._physics.box)
        with np.errstate(invalid="ignore", divide="ignore"):
            centroids = rows[:, 1:4] / rows[:, :1]
        return PartVolumes(rows[:, 0].copy(), self.targets.copy(), rows[:, 4].copy(), centroids, self._given)

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds that each stage of the last step has taken."""
        return dict(self.stage_seconds)

    def begin(self, dt: float) -> None:
        """Begin a step of dt seconds. Raises ValueError for one that is beyond what an explicit surface tension allows."""
        if self._capillary_step() < dt:
            raise ValueError(f"dt must be at most {self._capillary_step():g} s, which surface tension allows, not {dt:g} s")
        super().begin(dt)

    def energy(self) -> tuple[float, float, float]:
        """Return the kinetic energy, that in the gravity (zero at the origin), and that of the free surface, J."""
        cells = self._now()
        beyond, reach, _ = cells.core.sides
        length = np.where(beyond == 2, 2.0 * reach, np.asarray(cells.mesh.distances)[:, None])
        area = (np.asarray(cells.mesh.areas) * cells.core.open)[:, None]
        inner = (beyond == 1) | (beyond == 2)
        kinetic = 0.25 * self.density * float((area * length * self.face_velocity**2)[inner].sum())
        _, rows = measured(self.surface, self._physics.box)
        potential = -self.density * float(rows[:, 1:4].sum(axis=0) @ self.gravity)
        return kinetic, potential, self.surface_tension * float(rows[:, 4].sum())

    def max_dt(self) -> float:
        """Return the step (s) in which the liquid passes as many cells as `step_numbers` say, and that surface tension allows.

        An explicit surface tension is stable where the shortest capillary wave passes less than a cell: the second of `step_numbers` times
        sqrt(rho cell^3 / (2 pi sigma)).
        """
        (courant, capillary), h = self.options.step_numbers, self.cell_size
        speed = self._velocity_field().greatest_speed
        pull = float(np.linalg.norm(self.gravity))
        limits = [math.inf]
        if speed > 0 or pull > 0:
            # With the speed at the end of the step: speed dt + pull dt^2 is the way.
            limits.append(2 * courant * h / (speed + math.sqrt(speed**2 + 4 * pull * courant * h)))
        limits.append(capillary * self._capillary_step())
        return min(limits)

    def _capillary_step(self) -> float:
        """Return the longest step (s) at which explicit surface tension is stable: the shortest capillary wave passes less than a cell."""
        if not self.surface_tension:
            return math.inf
        return math.sqrt(self.density * self.cell_size**3 / (2 * math.pi * self.surface_tension))

    @stage(positive=True)
    def track(self, dt: float) -> None:
        """Improve the mesh of the surface and move it with the liquid."""
        field, report = self._velocity_field(), self.running_report
        report.operations = self._improve()
        if self.options.volume_correction:
            self._restore_volumes()
        before = self.surface.snapshot()
        longest, pushed = self._follow(field, dt)
        report.motions = 1
        if not pushed:
            return
        # Sheets that would touch stop each other where they are at the beginning: short motions let them get close, and merge.
        self.surface.restore(before)
        report.motions = min(max(math.ceil(longest / (_APPROACH * self.cell_size)), 2), _MOST_MOTIONS)
        for k in range(report.motions):
            if k:
                report.operations += self._improve()
            self._follow(field, dt / report.motions)

    def _follow(self, field: _fluids.CellVelocity, dt: float) -> tuple[float, bool]:
        """Move the surface with a velocity; return the longest way (m), and whether something was in the way."""
        left, pushed, longest = dt, False, 0.0
        for _ in range(_MOST_CUTS):
            x = np.array(self.surface.vertices)
            anchors = field.anchors(x)
            way = field.carried(x + 0.5 * left * field.carried(x, anchors), anchors)
            way *= left
            longest = max(longest, float(np.linalg.norm(way, axis=1).max(initial=0.0)))
            # What strikes a wall stops there; what has been beyond it comes no farther.
            low, high = np.minimum(x, self._walls[0]), np.maximum(x, self._walls[1])
            motion = self.surface.move(np.clip(x + way, low, high), left)
            pushed |= bool(motion.pushed or motion.zone_vertices or motion.fraction < 1.0)
            left *= 1.0 - motion.fraction
            if motion.fraction == 1.0:
                return longest, pushed
        raise RuntimeError(f"the surface is stuck: {left:g} s of a motion of {dt:g} s are left; a shorter step helps")

    @stage()
    def remesh(self, dt: float) -> None:
        """Place samples where the surface is now, and build their cells."""
        if not len(self.surface.triangles):
            raise ValueError("the surface has no triangles left")
        self._old = self._velocity_field(), self.face_velocity
        self._cells = LiquidCells(self._physics, self._arrays(), None, *self._solid_at(self.time + dt))
        self._sites = self._cells.sites
        self.face_velocity = np.zeros((len(self._cells.mesh.faces), 2))
        self.pressure = np.zeros(len(self._sites))
        self._field = None

    @stage()
    def advect(self, dt: float) -> None:
        """Give the faces of the new cells their velocities."""
        if self._old is None:
            raise RuntimeError("advect follows remesh")
        cells = self._now()
        printed = self.options.advection == "semi-lagrangian"
        _fluids.advect_faces(*self._old, cells.mesh, cells.core, dt, printed, self.face_velocity)
        self._old = None

    @stage(positive=True)
    def project(self, dt: float) -> None:
        """Let gravity, surface tension and pressure act together, which make the velocity free of divergence."""
        self._project(self.gravity, dt)

    @stage()
    def reconstruct(self, dt: float) -> None:
        """Fit the continuous velocity to that of the faces."""
        self._field = None
        field = self._velocity_field()
        self.running_report.speed = field.greatest_speed

    def _project(self, gravity: Floats, dt: float, with_surface: bool = True) -> None:
        cells = self._now()
        scale = dt / self.density if with_surface else 1e-30
        found, unknowns, parts, _, divergence = self._projection.project(
            cells.mesh, cells.core, self.face_velocity, self.pressure, None, scale, self.density * gravity, self._solve
        )
        if not found.converged:
            info = SolveInfo(**facts(found, 0.0))
            raise ConvergenceError(f"the pressure was not found: {info.reason}; {info.remedy}", info)
        report = self.running_report
        report.unknowns, report.parts, report.iterations, report.divergence = unknowns, parts, found.iterations, divergence
        report.samples = len(self._sites)
        if not with_surface:
            self.pressure[:] = 0.0

    def _improve(self) -> int:
        """Improve the mesh of the surface, with targets of volumes that follow merges and splits; return the operations."""
        surface = self.surface
        before = part_of_vertices(surface, np.ascontiguousarray(surface.components(), np.int32))
        carried = surface.carry(before.astype(np.float64), rule="inherit")
        try:
            count = len(surface.improve())
            old = np.round(carried.array).astype(np.int32).reshape(-1)
        finally:
            surface.drop(carried)
        part, rows = measured(surface, self._physics.box)
        self.targets = followed_targets(self.targets, old, part_of_vertices(surface, part), rows[:, 0])
        return count

    def _restore_volumes(self) -> None:
        """Move parts along their normals towards the volumes that they should have."""
        part, rows = measured(self.surface, self._physics.box)
        most = _CORRECTION * self.cell_size
        with np.errstate(invalid="ignore", divide="ignore"):
            offset = np.nan_to_num((self.targets - rows[:, 0]) / rows[:, 4]).clip(-most, most)
        normals = _fluids.vertex_normals(self.surface.vertices, self.surface.triangles)
        time = self.surface.time
        self.surface.move(self.surface.vertices + offset[part_of_vertices(self.surface, part)][:, None] * normals)
        self.surface.time = time

    def _now(self) -> LiquidCells:
        """Return the cells, which follow from the samples and the surface."""
        if self._cells is None:
            self._cells = LiquidCells(self._physics, self._arrays(), np.array(self._sites), *self._solid_at(self.time))
        return self._cells

    def _velocity_field(self) -> _fluids.CellVelocity:
        cells = self._now()
        if self._field is None:
            self._field = cells.field(self._physics, self.face_velocity)
        return self._field

    def _arrays(self) -> tuple[Floats, Ints]:
        return self.surface.vertices, self.surface.triangles

    def _solid_at(self, time: float) -> tuple[OfPoints | None, OfPoints | None]:
        """Return the distance and the velocity of the solid as functions of points."""
        solid = self.solid
        if solid is None:
            return None, None
        if isinstance(solid, Shape):
            return solid.signed_distance, None
        return (lambda x: solid.signed_distance(x, time)), (lambda x: solid.velocity(x, time)) if solid.moves else None

    def _complete(self, report: VoronoiLiquidReport) -> None:
        if not np.isfinite(self.face_velocity).all():
            raise ValueError("a velocity is no longer finite; a shorter step helps")
        report.triangles = len(self.surface.triangles)
        report.volume = float(measured(self.surface, self._physics.box)[1][:, 0].sum())

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a copy, which owns its surface."""
        arguments, named = self._made_with
        if "surface" in named:
            return arguments, {**named, "surface": copy.deepcopy(self.surface)}
        return (*arguments[:2], copy.deepcopy(self.surface), *arguments[3:]), named

    def _settings(self) -> dict[str, Any]:
        return {"gravity": self.gravity.copy(), "solid": self.solid}

    def _state_replaced(self) -> None:
        self._cells = self._field = self._old = None

    def __repr__(self) -> str:
        """One line with the counts."""
        return f"<VoronoiLiquid: {len(self._sites)} samples, {len(self.surface.triangles)} triangles, time {self.time:g} s>"
