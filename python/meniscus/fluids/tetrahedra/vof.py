"""Volume of fluid on a moving tetrahedral mesh."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core.solver import stage
from meniscus.fluids.liquid.closed_regions import ClosedRegions
from meniscus.fluids.liquid.sources import Drain, LiquidSource
from meniscus.fluids.tetrahedra.boundary import NOWHERE, in_pool, lacking
from meniscus.fluids.tetrahedra.drops import cleared, drop_volumes, jittered, make_drops
from meniscus.fluids.tetrahedra.forces import adhere, force_band, paint_of
from meniscus.fluids.tetrahedra.options import TET_TRACE, WATER_SAMPLING, Outside, TetVOFOptions, TetVOFReport, WallAdhesion, WaterRequests
from meniscus.fluids.tetrahedra.projection_stage import ProjectionOfWater
from meniscus.fluids.tetrahedra.regions import drained_amounts, source_amounts
from meniscus.fluids.tetrahedra.water import TetWater
from meniscus.mesh.moving_tet_mesh import MovingTetMesh
from meniscus.surface.tetrahedra.solid_at_time import members_at, union_distance

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class TetVOF(TetWater):
    """Water on a tetrahedral mesh that moves: one volume and one velocity per tetrahedron, no linear system.

    Water moves with its own velocity, whatever the mesh does; where both move alike nothing is exchanged. Volumes are multiples of one
    power of two, so that none is ever lost to rounding. Where a tetrahedron holds more than it has room for, it gives to its neighbours
    and outward from the solid; what leaves the mesh becomes drops. What the water does to the solid is felt by `force_on_body`.

    Args:
        moving_mesh: a `mesh.MovingTetMesh`, with or without finer levels; the finest holds the water.
        solid: obstacle or body, see `surface.SolidOnTets`; None: the mesh alone.
        outside: what is beyond the mesh: None: air, water that leaves becomes drops. 'wall': nothing, water stays. A function, see
            `Outside`: water that comes in.
        adhesion: a number, m/s^2, or a `WallAdhesion`; 0 or None: none.
        sources: regions that are filled with water.
        drains: regions that are emptied.
        options: see `TetVOFOptions`.
        **changes: fields of `options` that are to have other values, such as samples="exact".

    Attributes:
        mesh: the moving mesh.
        volume: (m,) water per tetrahedron, m^3; may be written to.
        velocity: (m, 3) m/s; may be written to.
        drops: `Particles` with the columns velocity and volume: water that has left the mesh. They stay until they are removed.
        waiting: water on its way out, too little for a drop.
        time: s; only a step changes it.
        steps: number of steps so far, which keys random numbers.
        report: of the last step; None before the first.

    Raises:
        TypeError, ValueError: other arguments.

    Source: Lee 2018, section 3.3.
    """

    stages = (
        "move",
        "request",
        "deliver",
        "forward",
        "enter",
        "accelerate",
        "smear",
        "push_out",
        "project",
        "correct",
        "emit",
    )
    """Stages of a step, in this order; each is a method that takes dt, s."""
    settings: ClassVar[tuple[str, ...]] = ("adhesion", "porosity", "excluded")

    def __init__(
        self,
        moving_mesh: MovingTetMesh,
        solid: Any = None,
        *,
        outside: Outside | Literal["wall"] | None = None,
        adhesion: WallAdhesion | float | None = None,
        sources: Sequence[LiquidSource] = (),
        drains: Sequence[Drain] = (),
        options: TetVOFOptions | None = None,
        **changes: Any,
    ) -> None:
        super().__init__(moving_mesh, solid, outside, options, changes)
        self.adhesion = adhesion
        self.sources = tuple(_checks.items("sources", sources, LiquidSource))
        if any(s.rate is not None for s in self.sources):
            raise ValueError("sources of tetrahedra fill their regions and have no rate")
        self.drains = tuple(_checks.items("drains", drains, Drain))
        self._projection: ProjectionOfWater | None = None
        self._beside = NOWHERE
        self._closed = ClosedRegions("ledger()", kept=True)

    @property
    def adhesion(self) -> WallAdhesion | None:
        """The force that holds water to the solid; may be set, also to a number. Raises TypeError or ValueError for anything else."""
        return self._adhesion

    @adhesion.setter
    def adhesion(self, value: WallAdhesion | float | None) -> None:
        if value is not None and not isinstance(value, WallAdhesion):
            strength = _checks.number("adhesion", value)
            value = WallAdhesion(strength=strength) if strength else None
        if value is not None and self.solid is None:
            raise ValueError("adhesion needs a solid, but there is none")
        self._paint = paint_of(value, self._geometry)
        self._adhesion: WallAdhesion | None = value

    def force_on_body(self) -> Floats:
        """Return the mean force (3,) of the water on the solid over the last step, N. Zero before the first."""
        return np.zeros(3) if self.report is None else self.report.force_on_body.copy()

    def _complete(self, report: TetVOFReport) -> None:
        report.time = _checks.number("time", self.time + report.dt)
        report.wet = int(np.count_nonzero(self.volume))
        _checks.require_finite("velocity", self.velocity)
        report.volume = self._require_balance()
        self._closed.warn(report.enclosed_volume, report.volume)
        self._moved_by, self._transit, self._phase = None, False, ""
        self.steps += 1

    def requests(self) -> WaterRequests:
        """Return which tetrahedra have requested how much from which in the step that is under way, see `request`.

        Raises:
            RuntimeError: before the stage `request`, or after the step.

        Source: Lee 2018, section 3.3.2, figure 3.5.
        """
        if self._phase not in ("request", "deliver", "forward"):
            raise RuntimeError("requests needs what tetrahedra ask for: call request(dt) before, or ask from on_stage")
        return WaterRequests(*self._stages.requests())

    # --- stages --------------------------------------------------------------------------------------------------------------------

    @stage(reads=("time", "steps", "volume", "velocity"), writes=("_accounts",))
    def move(self, dt: float) -> None:
        """Stage 1: move the mesh and the solid to the end of the step, and find room, ranks, normals and velocities there."""
        if self._phase == "deliver":
            raise RuntimeError("water is on its way: call forward(dt) before the mesh moves again")
        self._phase, self._beside = "", NOWHERE
        self._book_changes()
        o, g = self.options, self._geometry
        g.move(self._stages, self.time, dt, self._band())
        begin, end = g.distances()
        trace, samples = TET_TRACE("trace", o.trace), WATER_SAMPLING("samples", o.samples)
        parts = (g.before, g.positions, *g.locators, self.mesh.levels, g.ranks, begin, end, g.capacity)
        step = self.steps % 2**32
        self._phase = "move"
        self._moved_by = _fluids.TransportStep(g.graph, *parts, dt, trace, samples, o.count, o.seed, step, o.planes, g.open_boundary)

    @stage(reads=("volume", "velocity"), writes=("_accounts",))
    def request(self, dt: float) -> None:
        """Stage 2: trace tetrahedra back, and find from which of the old mesh they request water; changes no water."""
        step, g, wet = self._follow("request", "move"), self._geometry, self._boundary.wet
        _checks.require_finite("velocity", self.velocity)
        tets, velocities, _ = NOWHERE
        if wet:
            # Dry tetrahedra at the boundary ask for water, too, where there is some beyond it.
            tets, velocities, full = self._boundary.beside(g, self.time)
            self._beside = tets[full], velocities[full], np.zeros(len(tets))[full]
        self._book_changes(self._stages.request(step, self.volume, self.velocity, tets, velocities, wet))
        self._phase = "request"

    @stage(reads=("volume", "velocity"), writes=("volume", "velocity"))
    def deliver(self, dt: float) -> None:
        """Stage 3: give what was requested; all get less where a donor has less than that."""
        self._follow("deliver", "request")
        self._stages.deliver(self.volume, self.velocity)
        self._transit, self._phase = True, "deliver"

    @stage(reads=("volume", "velocity"), writes=("volume", "velocity", "_accounts"))
    def forward(self, dt: float) -> None:
        """Stage 4: carry what nobody has requested to where it flows."""
        report, step = self.running_report, self._follow("forward", "deliver")
        impulse, report.points, report.overlaps, left = self._stages.forward(step, self.volume, self.velocity)
        self._accounts.book("walls", momentum=self.options.density * np.array(impulse))
        self._transit, self._phase = False, "forward"
        self._collect(left)

    @stage(reads=("volume", "velocity", "time"), writes=("volume", "velocity", "_accounts"))
    def enter(self, dt: float) -> None:
        """Stage 5: let in what is outside, fill sources, empty drains."""
        self._after_move("enter")
        g, time = self._geometry, self.time + dt
        if self._boundary.wet:
            brought = self.volume[self._beside[0]]
            tets, volumes, velocities = self._boundary.inflow(*self._stages.outside_points(), self.time)
            self.running_report.inflow += self._add(tets, volumes, velocities, "inflow")
            self._beside = in_pool(self._beside, self.volume, self._stages.expected(self._moved_by, self._beside[0]) - brought, g.capacity)
        for source in self.sources:
            if source.is_on(self.time):
                tets, volumes, velocities = source_amounts(source, g, self.volume, time)
                if not g.open_boundary:  # no more than there is room for in all
                    room = max(float(g.capacity.sum()) - self.total_volume(), 0.0)
                    volumes = volumes * min(1.0, room / max(float(volumes.sum()), 1e-300))
                self._add(tets, volumes, velocities, "sources")
        for drain in self.drains:
            if drain.is_on(self.time):
                tets, taken = drained_amounts(drain, g, self.volume, time, self.quantum)
                momentum = (taken[:, None] * self.velocity[tets]).sum(axis=0)
                self.volume[tets] -= taken
                self.velocity[tets[self.volume[tets] == 0]] = 0
                self._accounts.book("drained", math.fsum(taken), self.options.density * momentum)

    @stage(reads=("volume", "velocity", "time"), writes=("velocity", "_accounts"))
    def accelerate(self, dt: float) -> None:
        """Stage 6: add gravity and adhesion for dt."""
        rho = self.options.density
        change = dt * np.array(self.options.gravity)
        impulse = np.array(self._stages.accelerate(self.volume, self.velocity, tuple(change)))
        self._accounts.book("gravity", momentum=rho * impulse)
        if self._adhesion is not None:
            self._after_move("accelerate")
            now = (self.volume, self.velocity, self.time + dt, dt)
            impulse = adhere(self._stages, self._geometry, self._adhesion, self._paint, *now)
            self._accounts.book("adhesion", momentum=rho * impulse)
            self._feel(rho * impulse, dt)

    @stage(reads=("volume", "velocity"), writes=("volume", "velocity"))
    def smear(self, dt: float) -> None:
        """Stage 7: join debris with fuller neighbours, then let tetrahedra above capacity give the excess in equal parts to all neighbours.

        Those at the boundary of the mesh do not; their excess is left to `push_out`.
        """
        o = self.options
        iterations = 0 if o.conservation == "projection" else o.smear
        self._stages.smear(*self._room("smear"), o.debris * self._mean_volume, self._geometry.open_boundary, iterations)

    @stage(reads=("volume", "velocity"), writes=("volume", "velocity", "_accounts"))
    def push_out(self, dt: float) -> None:
        """Stage 8: push what is still above capacity into neighbours with room, then outward; let in what lacks beside water outside."""
        if self._geometry.may_be_disabled and not self._geometry.open_boundary:
            self._stages.free_shut_in_water(*self._room("push_out"))
        g, report = self._geometry, self.running_report
        if self.options.conservation != "projection":
            parts = (g.open_boundary, g.closed, g.highest, self.options.way_out == "room", self._beside[0])
            report.enclosed, report.enclosed_volume, left = self._stages.push_out(*self._room("push_out"), *parts)
            self._collect(left)
        report.inflow += self._add(*lacking(self._beside, self.volume, self.quantum), "inflow")

    @stage(reads=("volume", "velocity"), writes=("velocity", "_accounts"))
    def project(self, dt: float) -> None:
        """Stage 9: where the options ask for it, make velocities divergence-free by pressures at the vertices."""
        if self.options.conservation == "push-out":
            return
        self._after_move("project")
        if self._projection is None:
            self._projection = ProjectionOfWater(self._geometry)
        before = np.array(self._stages.totals(self.volume, self.velocity)[1])
        self.running_report.projection = self._projection.act(self.volume, self.velocity, dt, self.options)
        change = self.options.density * (np.array(self._stages.totals(self.volume, self.velocity)[1]) - before)
        self._accounts.book("pressure", momentum=change)
        self._feel(change, dt)

    @stage(reads=("volume", "velocity"), writes=("volume", "velocity", "_accounts"))
    def correct(self, dt: float) -> None:
        """Stage 10: water at the solid, and in full columns that end there, does not come closer to it than the solid lets it."""
        self._after_move("correct")
        g = self._geometry
        if not g.open_boundary and dt > 0:
            impulse = self._stages.hold_at_walls(self.volume, self.velocity, g.before, g.positions, dt)
            self._accounts.book("walls", momentum=self.options.density * np.array(impulse))
        if g.on_tets is None:
            return
        motion = g.solid_motion(g.layers_of(self.volume), self.volume > 0)
        # What a pressure holds is left as the projection has made it.
        held = np.zeros(len(self.volume), bool) if self._projection is None else self._projection.holds(self.volume)
        kept = self.velocity[held].copy()
        gained = np.array(self._stages.correct(*self._room("correct"), *motion, g.highest, self.options.columns == "whole"))
        change = self.options.density * (gained - (self.volume[held, None] * (self.velocity[held] - kept)).sum(axis=0))
        self.velocity[held] = kept
        self._accounts.book("body", momentum=change)
        self._feel(change, dt)

    @stage(reads=("steps", "drops", "waiting"), writes=("drops", "waiting", "_accounts"))
    def emit(self, dt: float) -> None:
        """Stage 11: make drops of the water that has left the mesh."""
        self._after_move("emit")
        if not self._left:
            return
        joined = [np.concatenate([part[i] for part in self._left]) for i in range(4)]
        self._left = []
        smallest, largest = drop_volumes(self.options.drop_radius, self._mean_volume)
        position, velocity, volume, tet = make_drops(
            (joined[0], joined[1], joined[2], joined[3]), self.waiting, smallest, largest, self.quantum
        )
        radius = np.cbrt(volume * (3 / (4 * np.pi)))
        distance = self._distance_of_solid()
        if distance is not None:
            position = cleared(position, radius, distance)
        corners = self._geometry.positions[self._geometry.tets[tet]]
        edges = [np.linalg.norm(corners[:, i] - corners[:, j], axis=1) for i in range(4) for j in range(i)]
        reach = self.options.jitter * np.max(edges, axis=0, initial=0.0)
        seed, step = self.options.seed, self.steps % 2**32
        position = jittered(position, tet, reach, seed, step, lambda x: self._may_be_a_drop(x, radius))
        self.drops.append(position, velocity=velocity, volume=volume)
        total = math.fsum(volume)
        self.running_report.emitted += total
        self._accounts.book("emitted", total, self.options.density * (volume[:, None] * velocity).sum(axis=0))

    def release(self, which: npt.ArrayLike) -> float:
        """Make a drop of the water that waits at tetrahedra, however little; return the volume, m^3.

        Args:
            which: (m,) bool.

        Raises:
            TypeError, ValueError: no such mask.
        """
        mask = _checks.mask("which", np.asarray(which), self.volume.shape)
        with self.exclusive():
            position, velocity, volume = self.waiting.take(mask)
            if len(volume):
                self.drops.append(position, velocity=velocity, volume=volume)
                self._accounts.book("emitted", math.fsum(volume), self.options.density * (volume[:, None] * velocity).sum(axis=0))
            return math.fsum(volume)

    # --- inside --------------------------------------------------------------------------------------------------------------------

    def _band(self) -> float:
        return force_band(self._adhesion)

    def _after_move(self, stage: str) -> Any:
        if self._moved_by is None:
            raise RuntimeError(f"{stage} needs the mesh at the end of the step: call move(dt) before, or step(dt)")
        return self._moved_by

    def _follow(self, stage: str, last: str) -> Any:
        if self._phase != last:
            raise RuntimeError(f"{stage} follows {last}, and was called after {self._phase or 'the end of a step'}")
        return self._moved_by

    def _room(self, stage: str) -> tuple[Floats, Floats, Floats, Floats, Ints]:
        self._after_move(stage)
        g = self._geometry
        return self.volume, self.velocity, g.positions, g.capacity, g.ranks

    def _require_balance(self) -> float:
        """Refuse a step in which something has changed the water without the accounts, such as a hook that writes to the views.

        Returns:
            The volume in the mesh, m^3.
        """
        inside, waiting, _ = self._present()
        missing = inside + waiting - self._accounts.expected_volume()
        # Where much has come and gone, and little is left, the accounts are rounded more coarsely than that is large.
        if abs(missing) > 1e-11 * max(inside, self._accounts.expected_volume()) + 1e-14 * self._accounts.exchanged():
            raise RuntimeError(
                f"the step has changed the volume by {missing:g} m^3 that no account knows: on_stage must use fill and absorb"
            )
        return inside

    def _collect(self, left: tuple[Any, ...]) -> None:
        """Keep water that has left the mesh, until it becomes drops."""
        if len(left[2]):
            self._left.append(left)

    def _may_be_a_drop(self, points: Floats, radius: Floats) -> npt.NDArray[np.bool_]:
        """Return where a drop may be: outside of the solid, and not in a tetrahedron with water."""
        tets, weights = np.empty(len(points), np.int32), np.empty((len(points), 4))
        self._geometry.locators[1].locate(points, None, self.mesh.levels, tets, weights)
        free: npt.NDArray[np.bool_] = (tets < 0) | (self.volume[tets] == 0)
        distance = self._distance_of_solid()
        return free if distance is None else free & (distance(points) >= radius)

    def _distance_of_solid(self) -> Callable[[Floats], Floats] | None:
        members = members_at(self.solid, float(self._geometry.time or 0.0), None)
        return union_distance(members) if members else None

    def _feel(self, change: Floats, dt: float) -> None:
        """Add the reaction of a change of the water's momentum, kg m/s, to the force on the solid."""
        if dt > 0:
            self.running_report.force_on_body -= change / dt
