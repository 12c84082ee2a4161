"""Volume of fluid on a moving tetrahedral mesh."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core.stateful import Stateful
from meniscus.fluids.liquid.sources import Drain, LiquidSource
from meniscus.fluids.staged_solver import checked_stage
from meniscus.fluids.tetrahedra.boundary import Boundary
from meniscus.fluids.tetrahedra.drops import WaitingWater, jittered, make_drops
from meniscus.fluids.tetrahedra.forces import adhere, force_band
from meniscus.fluids.tetrahedra.geometry import TetGeometry, require_moving
from meniscus.fluids.tetrahedra.ledger import MOMENTA, Accounts, TetLedger
from meniscus.fluids.tetrahedra.options import Adhesion, Outside, TetVOFOptions, TetVOFReport
from meniscus.fluids.tetrahedra.regions import drained_amounts, fill_fractions, source_amounts
from meniscus.grid.particles.storage import Particles
from meniscus.mesh.moving_tet_mesh import MovingTetMesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_TRANSPORT = ("request", "deliver", "forward")


class TetVOF(Stateful):
    """Water on a tetrahedral mesh that moves: one volume and one velocity per tetrahedron, no linear system.

    Water moves with its own velocity, whatever the mesh does; where both move alike nothing is exchanged. Volumes are multiples of one
    power of two, so that none is ever lost to rounding. Where a tetrahedron holds more than it has room for, it gives to its neighbours
    and outward from the solid; what leaves the mesh becomes drops. The water presses on the solid, which is felt by `force_on_body`.

    Args:
        moving_mesh: a `mesh.MovingTetMesh`, with or without finer levels; the finest holds the water.
        solid: obstacle or body, see `surface.SolidOnTets`; None: the mesh alone.
        outside: what is beyond the mesh: None: air, water that leaves becomes drops. 'wall': nothing, water stays. A function, see
            `Outside`: water that comes in.
        adhesion: a number, m/s^2, or an `Adhesion`; 0 or None: none.
        sources: regions that are filled with water.
        drains: regions that are emptied.
        options: see `TetVOFOptions`; its fields may also be given as keywords.
        **changes: fields of `options`.

    Attributes:
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

    stages: ClassVar[tuple[str, ...]] = ("move", *_TRANSPORT, "enter", "accelerate", "smear", "push_out", "project", "correct", "emit")
    """Stages of a step, in this order; each is a method that takes dt."""
    settings: ClassVar[tuple[str, ...]] = ("adhesion",)

    def __init__(
        self,
        moving_mesh: MovingTetMesh,
        solid: Any = None,
        *,
        outside: Outside | Literal["wall"] | None = None,
        adhesion: Adhesion | float | None = None,
        sources: Sequence[LiquidSource] = (),
        drains: Sequence[Drain] = (),
        options: TetVOFOptions | None = None,
        **changes: Any,
    ) -> None:
        self.mesh = require_moving(moving_mesh)
        self.options = TetVOFOptions(**changes) if options is None else _checks.changed("options", options, TetVOFOptions, changes)
        self._boundary = Boundary(outside)
        self._geometry = TetGeometry(self.mesh, solid, self._boundary.open, self.options.fraction)
        self.adhesion = adhesion
        self.sources = tuple(_checks.items("sources", sources, LiquidSource))
        self.drains = tuple(_checks.items("drains", drains, Drain))
        start = self.mesh.start if math.isfinite(self.mesh.start) else 0.0
        m = self.mesh.tet_count()
        self.time = self.declare("time", start)
        self.steps = self.declare("steps", 0)
        self.volume = self.declare("volume", np.zeros(m))
        self.velocity = self.declare("velocity", np.zeros((m, 3)))
        self.drops = self.declare("drops", Particles(np.empty((0, 3)), velocity=np.empty((0, 3)), volume=np.empty(0)))
        self.waiting = self.declare("waiting", WaitingWater())
        self._accounts = self.declare("_accounts", Accounts())
        self.report: TetVOFReport | None = None
        self.running_report = TetVOFReport()
        rest = self.mesh.positions(start)
        volumes = _tet_volumes(rest, self._geometry.tets)
        if not volumes.max() > 0:
            raise ValueError("moving_mesh must have tetrahedra with volume, but all are flat")
        self._stages = _fluids.TetWaterStages(self._geometry.graph, float(volumes.max()))
        self._drop_volumes = self._drop_bounds(float(volumes.mean()))
        self._reach = self.options.jitter * _longest_edge(rest, self._geometry.tets)
        self._step: Any = None
        self._transit = False
        self._projector: Any = None

    # --- what is there -------------------------------------------------------------------------------------------------------------

    @property
    def solid(self) -> Any:
        """The obstacle or body."""
        return self._geometry.solid

    @property
    def adhesion(self) -> Adhesion | None:
        """The force that holds water to the solid; may be set, also to a number. Raises TypeError or ValueError for anything else."""
        return self._adhesion

    @adhesion.setter
    def adhesion(self, value: Adhesion | float | None) -> None:
        if value is not None and not isinstance(value, Adhesion):
            strength = _checks.number("adhesion", value)
            value = Adhesion(strength=strength) if strength else None
        if value is not None and self._geometry.on_tets is None:
            raise ValueError("adhesion needs a solid, but there is none")
        self._adhesion: Adhesion | None = value

    @property
    def positions(self) -> Floats:
        """Positions (n, 3) of the vertices at the present time, m; a read-only view."""
        return _sealed(self._now().positions)

    @property
    def tets(self) -> Ints:
        """The tetrahedra (m, 4), read-only."""
        return self._geometry.tets

    @property
    def capacity(self) -> Floats:
        """Volume (m,) that each tetrahedron may hold, m^3; a read-only view."""
        return _sealed(self._now().capacity)

    @property
    def rank(self) -> Ints:
        """Steps (m,) across corners from the surface of the solid; -1 inside of it, -2 disabled. A read-only view.

        Parts without a solid are ranked from the tetrahedra that are farthest from the boundary of the mesh.
        """
        view = self._now().ranks.view()
        view.flags.writeable = False
        return view

    @property
    def fill(self) -> _Fill:
        """`fill(shape, velocity, level=1)` fills a region, see `fill_region`; `fill()` returns how full the tetrahedra are."""
        return _Fill(self)

    @property
    def quantum(self) -> float:
        """All volumes are multiples of this one, m^3."""
        return float(self._stages.quantum)

    @property
    def porosity(self) -> Floats | None:
        """Volume (m,) in each tetrahedron that something else takes up, m^3; may be set, None: nothing."""
        return None if self._geometry.porosity is None else self._geometry.porosity.copy()

    @porosity.setter
    def porosity(self, value: npt.ArrayLike | None) -> None:
        if value is not None:
            given = np.array(value, np.float64)
            if given.shape != self.volume.shape:
                raise ValueError(f"porosity must have shape {self.volume.shape}, not {given.shape}")
            _checks.require_finite("porosity", given)
            if (given < 0).any():
                raise ValueError(f"porosity must not be negative, but [{int(np.argmax(given < 0))}] is {given.min():g}")
            self._geometry.porosity = given
        else:
            self._geometry.porosity = None
        self._geometry.forget()

    def total_volume(self) -> float:
        """Return the volume of water in the mesh, summed exactly, m^3."""
        return float(self._stages.total_volume(self.volume))

    def way_out(self, tet: int) -> tuple[str, Ints]:
        """Return where water of a full tetrahedron goes that has no neighbour of a higher rank across a face.

        Returns:
            'higher_rank', 'boundary' or 'none', and the tetrahedra: the nearest ones in steps across faces.

        Raises:
            TypeError, ValueError: no such tetrahedron.
        """
        now = self._now()
        way, found = now.graph.way_out(now.ranks, _checks.integer("tet", tet, 0, len(self.volume)), now.open_boundary)
        return way.name, found

    def ledger(self) -> TetLedger:
        """Return where the water is, where it came from and where it went."""
        with self.exclusive():
            rho, a = self.options.density, self._accounts
            if not self._transit:
                self._book_changes()
            inside = self.total_volume()
            momentum = np.array(self._stages.total_momentum(self.volume, self.velocity))
            if self._transit:
                rest, rest_momentum = self._stages.remainder()
                inside += rest
                momentum += rest_momentum
            waiting, waiting_momentum = self.waiting.total()
            total = rho * (momentum + waiting_momentum)
            return TetLedger(
                in_tets=inside,
                waiting=waiting,
                filled=a.volume("filled"),
                inflow=a.volume("inflow"),
                sources=a.volume("sources"),
                absorbed=a.volume("absorbed"),
                emitted=a.volume("emitted"),
                drained=a.volume("drained"),
                momentum=total,
                impulses={name: a.momentum(name) for name in MOMENTA},
                volume_error=inside + waiting - a.expected_volume(),
                momentum_error=total - a.expected_momentum(),
                momentum_scale=a.turnover(),
            )

    def force_on_body(self) -> Floats:
        """Return the mean force (3,) of the water on the solid over the last step, N. Zero before the first."""
        if self.report is None or self.report.force_on_body is None:
            return np.zeros(3)
        return self.report.force_on_body.copy()

    # --- water put in --------------------------------------------------------------------------------------------------------------

    def fill_region(self, region: Any, velocity: Sequence[float] = (0.0, 0.0, 0.0), level: float = 1.0) -> float:
        """Fill a region with water up to a part of the room that there is; water that is there stays.

        Args:
            region: a `Shape`, a `LevelSet`, a closed surface, or a function phi(points (k, 3)) -> (k,), negative inside.
            velocity: of the new water, m/s.
            level: the part, 0 to 1.

        Returns:
            The volume that was added, m^3.

        Raises:
            TypeError, ValueError: other arguments.
        """
        u = _checks.vector("velocity", velocity, 3)
        part = _checks.number("level", level)
        if not 0 <= part <= 1:
            raise ValueError(f"level must be in [0, 1], so that no tetrahedron holds more than it has room for, not {part:g}")
        with self.exclusive():
            now = self._now()
            share = fill_fractions("region", region, now.positions, now.tets, None)
            self._book_changes()
            wanted = np.floor(part * share * now.capacity / self.quantum) * self.quantum - self.volume
            return self._add(np.flatnonzero(wanted > 0).astype(np.int32), wanted[wanted > 0], np.array(u), "filled")

    def absorb(self, tets: npt.ArrayLike, volumes: npt.ArrayLike, velocities: npt.ArrayLike) -> float:
        """Take in water that comes from elsewhere, such as drops: its volume and momentum are added to tetrahedra.

        Args:
            tets: (k,) numbers of tetrahedra.
            volumes: (k,) m^3, not negative; rounded to multiples of `quantum`.
            velocities: (k, 3) m/s.

        Returns:
            The volume that was added, m^3.

        Raises:
            TypeError, ValueError: other shapes, numbers out of range, values that are not finite, negative volumes.
        """
        t = np.ascontiguousarray(tets)
        if t.dtype.kind not in "iu" or t.ndim != 1:
            raise TypeError(f"tets must be whole numbers of shape (k,), not {t.dtype} of shape {t.shape}")
        v, u = np.ascontiguousarray(volumes, np.float64), np.ascontiguousarray(velocities, np.float64)
        if v.shape != t.shape or u.shape != (*t.shape, 3):
            raise ValueError(f"volumes and velocities must have shapes ({len(t)},) and ({len(t)}, 3), not {v.shape} and {u.shape}")
        if len(t) and not (t.min() >= 0 and t.max() < len(self.volume)):
            raise ValueError(f"tets must be numbers from 0 to {len(self.volume) - 1}")
        _checks.require_finite("volumes", v)
        _checks.require_finite("velocities", u)
        if (v < 0).any():
            raise ValueError(f"volumes must not be negative, but [{int(np.argmax(v < 0))}] is {v.min():g}")
        with self.exclusive():
            self._book_changes()
            return self._add(t.astype(np.int32), v, u, "absorbed")

    # --- a step --------------------------------------------------------------------------------------------------------------------

    def step(self, dt: float, on_stage: Callable[[str, Any], None] | None = None) -> TetVOFReport:
        """Advance by dt seconds; the mesh moves as is prescribed.

        Args:
            dt: seconds, positive; any length is stable, the mesh has to be there at its end.
            on_stage: called with the name of each stage and this solver, after the stage; it may change the state.

        Returns:
            The report of the step; also stored as `report`.

        Raises:
            ValueError: dt is not positive, the motion of the mesh ends before, a value is not finite; nothing has changed.
            ConvergenceError: a pressure solve failed; nothing has changed.
        """
        dt = _checks.positive("dt", dt)
        if on_stage is not None:
            _checks.function("on_stage", on_stage)
        self.running_report = report = TetVOFReport(dt=dt, force_on_body=np.zeros(3))
        try:
            with self.transaction():
                for name in self.stages:
                    getattr(self, name)(dt)
                    if on_stage is not None:
                        on_stage(name, self)
                self.time += dt
                self.steps += 1
                report.time, report.volume = self.time, self.total_volume()
                report.wet = int(np.count_nonzero(self.volume))
                _checks.require_finite("velocity", self.velocity)
        finally:
            self.running_report = TetVOFReport()
            self._step, self._transit = None, False
        self.report = report
        return report

    @checked_stage
    def move(self, dt: float) -> None:
        """Stage 1: move the mesh and the solid to the end of the step, with room, ranks, normals and velocities there."""
        self._book_changes()
        o, g = self.options, self._geometry
        g.move(self._stages, self.time, dt, self._band(dt))
        before, after = g.distances()
        self._step = _fluids.TransportStep(
            g.graph, g.before, g.positions, *g.locators, self.mesh.levels, g.ranks, before, after, dt,
            _fluids.TetTrace[o.trace], _fluids.TetSampling[o.samples], o.count, o.seed, self.steps % 2**32,
        )  # fmt: skip

    @checked_stage
    def request(self, dt: float) -> None:
        """Stage 2: trace tetrahedra back, and find from which of the old mesh they request water; changes no water."""
        self._stages.request(self._moved("request"), self.volume, self.velocity, self._boundary.wet)

    @checked_stage
    def deliver(self, dt: float) -> None:
        """Stage 3: give what was requested, less to all where a donor has less than that."""
        self._moved("deliver")
        self._stages.deliver(self.volume, self.velocity)
        self._transit = True

    @checked_stage
    def forward(self, dt: float) -> None:
        """Stage 4: carry what nobody has requested to where it flows; what leaves the mesh waits for `emit`."""
        self._stages.forward(self._moved("forward"), self.volume, self.velocity)
        self._collect_left()
        self._transit = False

    @checked_stage
    def enter(self, dt: float) -> None:
        """Stage 5: let in what is outside, fill sources, empty drains."""
        self._moved("enter")
        if self._boundary.wet:
            tets, volumes, velocities = self._boundary.inflow(*self._stages.outside_points(), self.time)
            self.running_report.inflow += self._add(tets, volumes, velocities, "inflow")
        g, time = self._geometry, self.time + dt
        for source in self.sources:
            if source.is_on(self.time):
                self._add(*source_amounts(source, g, self.volume, time), "sources")
        for drain in self.drains:
            if drain.is_on(self.time):
                taken = drained_amounts(drain, g, self.volume, time)
                volume, momentum = math.fsum(taken), (taken[:, None] * self.velocity).sum(axis=0)
                self.volume -= taken
                self.velocity[self.volume == 0] = 0
                self._accounts.book("drained", volume, self.options.density * momentum)

    @checked_stage
    def accelerate(self, dt: float) -> None:
        """Stage 6: add gravity and adhesion for dt."""
        rho = self.options.density
        change = dt * np.array(self.options.gravity)
        if change.any():
            impulse = self._stages.accelerate(self.volume, self.velocity, tuple(change))
            self._accounts.book("gravity", momentum=rho * np.array(impulse))
        if self._adhesion is not None:
            self._moved("accelerate")
            impulse = adhere(self._stages, self._geometry, self._adhesion, self.volume, self.velocity, self.time + dt, dt)
            self._accounts.book("adhesion", momentum=rho * impulse)
            self._feel(rho * impulse, dt)

    @checked_stage
    def smear(self, dt: float) -> None:
        """Stage 7: tetrahedra above capacity give the excess in equal parts to their neighbours, except at the boundary of the mesh."""
        if self.options.conservation != "projection":
            self._stages.smear(*self._room("smear"), self.options.smear)

    @checked_stage
    def push_out(self, dt: float) -> None:
        """Stage 8: push what is still above capacity into neighbours with room, and outward."""
        if self.options.conservation == "projection":
            return
        enclosed, volume = self._stages.push_out(*self._room("push_out"), self._geometry.highest)
        self.running_report.enclosed, self.running_report.enclosed_volume = enclosed, volume
        self._collect_left()

    @checked_stage
    def project(self, dt: float) -> None:
        """Stage 9: with a projection, make velocities divergence-free by pressures at the nodes; see `TetVOFOptions.conservation`."""
        if self.options.conservation == "push-out":
            return
        self._moved("project")
        if self._projector is None:
            from meniscus.fluids.tetrahedra.projection_stage import ProjectionOfWater

            self._projector = ProjectionOfWater(self._geometry)
        before = np.array(self._stages.total_momentum(self.volume, self.velocity))
        self.running_report.projection = self._projector.act(self.volume, self.velocity, dt, self.options)
        change = self.options.density * (np.array(self._stages.total_momentum(self.volume, self.velocity)) - before)
        self._accounts.book("pressure", momentum=change)
        self._feel(change, dt)

    @checked_stage
    def correct(self, dt: float) -> None:
        """Stage 10: water at the solid, and in full columns that end there, does not approach it faster than the solid moves away."""
        if self.options.conservation != "push-out" or self._geometry.on_tets is None:
            return
        g = self._geometry
        impulse = self._stages.correct(*self._room("correct", boundary=False), g.normal, g.velocity, g.highest)
        change = self.options.density * np.array(impulse)
        self._accounts.book("body", momentum=change)
        self._feel(change, dt)

    @checked_stage
    def emit(self, dt: float) -> None:
        """Stage 11: make drops of the water that has left the mesh."""
        g, (smallest, largest) = self._geometry, self._drop_volumes
        left, self._left = self._left_water(), []
        if not len(left[2]) and not len(self.waiting):
            return
        position, velocity, volume, tet = make_drops(left, self.waiting, smallest, largest, self.quantum)
        if not len(volume):
            return
        radius = np.cbrt(volume * (3 / (4 * np.pi)))
        position = jittered(
            position, tet, self._reach[tet], self.options.seed, self.steps % 2**32, lambda x: self._may_be_a_drop(x, radius)
        )
        self.drops.append(position, velocity=velocity, volume=volume)
        total = math.fsum(volume)
        self.running_report.emitted += total
        momentum = (volume[:, None] * velocity).sum(axis=0)
        self._accounts.book("emitted", total, self.options.density * momentum)
        static = g.open_boundary
        del static

    # --- inside --------------------------------------------------------------------------------------------------------------------

    _left: list[Any]

    def _now(self) -> TetGeometry:
        """Return the geometry at the present time; within a step, at its end."""
        if self._step is None:
            self._geometry.at(self._stages, self.time, self._band(0.0))
        return self._geometry

    def _band(self, dt: float) -> float:
        """Return how far from the solid distances are needed, m."""
        return force_band(self._adhesion)

    def _moved(self, stage: str) -> Any:
        if self._step is None:
            raise RuntimeError(f"{stage} needs the mesh at the end of the step: call move(dt) before, or step(dt)")
        return self._step

    def _room(self, stage: str, *, boundary: bool = True) -> tuple[Any, ...]:
        self._moved(stage)
        g = self._geometry
        room = (self.volume, self.velocity, g.positions, g.capacity, g.ranks)
        return (*room, g.open_boundary) if boundary else room

    def _add(self, tets: Ints, volumes: Floats, velocities: Floats, account: str) -> float:
        """Add water to tetrahedra, and book it. Returns the volume added."""
        if not len(tets):
            return 0.0
        v = np.rint(volumes / self.quantum) * self.quantum
        u = np.ascontiguousarray(np.broadcast_to(velocities, (len(tets), 3)))
        self._stages.add(self.volume, self.velocity, tets, v, u)
        total = math.fsum(v)
        self._accounts.book(account, total, self.options.density * (v[:, None] * u).sum(axis=0))
        return total

    def _collect_left(self) -> None:
        left = self._stages.take_left()
        if len(left[2]):
            self._left = [*getattr(self, "_left", []), left]

    def _left_water(self) -> tuple[Floats, Floats, Floats, Ints]:
        parts = getattr(self, "_left", [])
        if not parts:
            return np.empty((0, 3)), np.empty((0, 3)), np.empty(0), np.empty(0, np.int32)
        joined = [np.concatenate([p[i] for p in parts]) for i in range(4)]
        return joined[0], joined[1], joined[2], joined[3]

    def _may_be_a_drop(self, points: Floats, radius: Floats) -> npt.NDArray[np.bool_]:
        """Return where a drop may be: outside of the solid, and not in a tetrahedron with water."""
        found = np.empty(len(points), np.int32), np.empty((len(points), 4))
        self._geometry.locators[1].locate(points, None, self.mesh.levels, *found)
        free = (found[0] < 0) | (self.volume[found[0]] == 0)
        if self.solid is not None:
            from meniscus.surface.tetrahedra.solid_at_time import members_at, union_distance

            members = members_at(self.solid, float(self._geometry.time or 0.0), None)
            if members:
                free &= union_distance(members)(points) >= radius
        return free

    def _feel(self, change: Floats, dt: float) -> None:
        """Add the reaction of a change of the water's momentum (kg m/s) to the force on the solid."""
        if self.running_report.force_on_body is not None and dt > 0:
            self.running_report.force_on_body -= change / dt

    def _book_changes(self) -> None:
        """Round what was written to the views, and book it as filled."""
        self._stages.round_volumes(self.volume)
        rho, a = self.options.density, self._accounts
        waiting, waiting_momentum = self.waiting.total()
        volume = self.total_volume() + waiting - a.expected_volume()
        momentum = rho * (np.array(self._stages.total_momentum(self.volume, self.velocity)) + waiting_momentum) - a.expected_momentum()
        edited = abs(volume) > 1e-13 * max(a.expected_volume(), self.quantum)
        moved = np.abs(momentum).max() > 1e-13 * max(a.turnover(), 1e-300)
        if edited or moved:
            a.book("filled", volume, momentum)

    def _drop_bounds(self, mean: float) -> tuple[float, float]:
        radius = self.options.drop_radius
        if radius is None:
            return mean / 64, mean
        return tuple(4 / 3 * math.pi * r**3 for r in radius)  # type: ignore[return-value]

    def _state_replaced(self) -> None:
        self._geometry.forget()
        self._stages.take_left()
        self._left = []
        self._step, self._transit = None, False

    def __repr__(self) -> str:
        """One line: tetrahedra, wet ones, water, drops, time, memory."""
        return (
            f"<TetVOF {len(self.volume)} tetrahedra, {np.count_nonzero(self.volume)} wet, {self.total_volume():.4g} m^3, "
            f"{len(self.drops)} drops, t = {self.time:g} s, {self.nbytes / 1e6:.3g} MB>"
        )
