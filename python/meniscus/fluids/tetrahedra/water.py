"""Water on a moving tetrahedral mesh: its state, its room, its accounts, and how more of it is put in."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core.solver import Solver
from meniscus.core.sparse_backup import SparseBackup
from meniscus.fluids.tetrahedra.boundary import Boundary
from meniscus.fluids.tetrahedra.drops import WaitingWater, drop_volumes
from meniscus.fluids.tetrahedra.geometry import TetGeometry, require_moving
from meniscus.fluids.tetrahedra.ledger import MOMENTA, Accounts, TetLedger, beyond_room
from meniscus.fluids.tetrahedra.options import Outside, TetVOFOptions, TetVOFReport
from meniscus.fluids.tetrahedra.regions import fill_fractions
from meniscus.grid.particles.storage import Particles
from meniscus.mesh.moving_tet_mesh import MovingTetMesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_T = TypeVar("_T", bound=np.generic)
Left = tuple[Floats, Floats, Floats, Ints]
Totals = tuple[float, Sequence[float]]
"""Volume of water, m^3, and its momentum over density, m^4/s."""


class TetWater(Solver[TetVOFReport]):
    """Water on a moving tetrahedral mesh, without the stages that move it; see `TetVOF`."""

    report_type = TetVOFReport
    step_writes = ("time", "steps")

    def __init__(
        self,
        moving_mesh: MovingTetMesh,
        solid: Any,
        outside: Outside | Literal["wall"] | None,
        options: TetVOFOptions | None,
        changes: dict[str, Any],
    ) -> None:
        self.mesh = require_moving(moving_mesh)
        self.options = _options(options, changes)
        self._boundary = Boundary(outside)
        self._geometry = TetGeometry(self.mesh, solid, self._boundary.open, self.options.fraction)
        start = self.mesh.start if math.isfinite(self.mesh.start) else 0.0
        rest = self.mesh.positions(start)
        largest, mean = _fluids.tet_volumes(rest, self._geometry.tets)
        if not largest > 0:
            raise ValueError("moving_mesh must have tetrahedra with volume, but all are flat")
        m = self.mesh.tet_count()
        self.time = self.declare("time", start)
        self.steps = self.declare("steps", 0)
        self._volume = np.zeros(m)
        self._velocity = np.zeros((m, 3))
        self.declare("volume", self._volume)
        self.declare("velocity", self._velocity)
        self._backups |= {"volume": SparseBackup(), "velocity": SparseBackup()}  # few tetrahedra of a large mesh are wet
        self.drops = self.declare("drops", Particles(np.empty((0, 3)), velocity=np.empty((0, 3)), volume=np.empty(0)))
        self.waiting = self.declare("waiting", WaitingWater())
        self._accounts = self.declare("_accounts", Accounts())
        self._stages = _fluids.TetWaterStages(self._geometry.graph, largest)
        self._mean_volume = mean
        drop_volumes(self.options.drop_radius, mean)  # refuses what is too small
        self._left: list[Left] = []
        self._moved_by: Any = None
        self._transit = False
        self._phase = ""

    # --- the mesh and its room -----------------------------------------------------------------------------------------------------

    @property
    def volume(self) -> Floats:
        """Water (m,) per tetrahedron, m^3; may be written to. Raises ValueError for another shape."""
        return self._volume

    @volume.setter
    def volume(self, value: npt.ArrayLike) -> None:
        self._volume[...] = _row_values("volume", value, self._volume.shape)

    @property
    def velocity(self) -> Floats:
        """Velocity (m, 3) of the water, m/s; may be written to. Raises ValueError for another shape."""
        return self._velocity

    @velocity.setter
    def velocity(self, value: npt.ArrayLike) -> None:
        self._velocity[...] = _row_values("velocity", value, self._velocity.shape)

    @property
    def solid(self) -> Any:
        """The obstacle or body."""
        return self._geometry.solid

    @property
    def tets(self) -> Ints:
        """The tetrahedra (m, 4), read-only."""
        return self._geometry.tets

    @property
    def neighbours(self) -> Ints:
        """The tetrahedra (m, 4) across the face opposite each corner, -1 where there is none; read-only."""
        return _sealed(np.asarray(self._geometry.graph.neighbours))

    @property
    def positions(self) -> Floats:
        """Positions (n, 3) of the vertices at the present time, m; a read-only view. Within a step, at its end."""
        return _sealed(self._now().positions)

    @property
    def capacity(self) -> Floats:
        """Volume (m,) that each tetrahedron may hold, m^3; a read-only view."""
        return _sealed(self._now().capacity)

    @property
    def saturation(self) -> Floats:
        """How full (m,) the tetrahedra are: volume over capacity; 0 where there is no room."""
        room = self._now().capacity
        return np.divide(self.volume, room, out=np.zeros_like(room), where=room > 0)

    @property
    def rank(self) -> Ints:
        """Steps (m,) across corners from the surface of the solid; -1 inside of it, -2 disabled. A read-only view.

        Parts without a solid are ranked from the tetrahedra that are farthest from the boundary of the mesh.
        """
        return _sealed(self._now().ranks)

    @property
    def cut(self) -> npt.NDArray[np.bool_]:
        """Which tetrahedra (m,) the surface of the solid crosses or touches, and that hold water; a read-only view."""
        return _sealed(self._now().cut)

    @property
    def porosity(self) -> Floats | None:
        """Volume (m,) in each tetrahedron that something else takes up, m^3; may be set; None: nothing."""
        return None if self._geometry.porosity is None else self._geometry.porosity.copy()

    @porosity.setter
    def porosity(self, value: npt.ArrayLike | None) -> None:
        given = None
        if value is not None:
            given = np.array(value, np.float64)
            if given.shape != self.volume.shape:
                raise ValueError(f"porosity must have shape {self.volume.shape}, not {given.shape}")
            _checks.require_finite("porosity", given)
            if (given < 0).any():
                raise ValueError(f"porosity must not be negative, but [{int(np.argmax(given < 0))}] is {given.min():g}")
        with self.exclusive():
            self._geometry.porosity = given
            self._geometry.forget()

    @property
    def excluded(self) -> npt.NDArray[np.bool_] | None:
        """Which tetrahedra (m,) hold no water because it is another's, as if they were disabled; may be set; None: none.

        Water that they hold is left to `give`; what is there at the next step leaves as drops.
        """
        mask = self._geometry.excluded
        return None if mask is None else mask.copy()

    @excluded.setter
    def excluded(self, value: npt.ArrayLike | None) -> None:
        mask = None if value is None else _checks.mask("excluded", np.array(value), self.volume.shape)
        with self.exclusive():
            self._geometry.exclude(self._stages, mask if mask is not None and mask.any() else None)

    def way_out(self, tet: int) -> tuple[str, Ints]:
        """Return where water of a full tetrahedron goes that has no neighbour of a higher rank across a face.

        Returns:
            'higher_rank', 'boundary' or 'none', and the tetrahedra: the nearest ones in steps across faces.

        Raises:
            TypeError, ValueError: no such tetrahedron.

        Source: Lee 2018, section 3.3.1, figure 3.6.
        """
        now = self._now()
        way, found = now.graph.way_out(now.ranks, _checks.integer("tet", tet, 0, len(self.volume)), now.open_boundary)
        return way.name, found

    # --- accounts ------------------------------------------------------------------------------------------------------------------

    @property
    def quantum(self) -> float:
        """All volumes are multiples of this one, m^3."""
        return float(self._stages.quantum)

    def total_volume(self) -> float:
        """Return the volume of water in the mesh, summed exactly, m^3."""
        return float(self._stages.total_volume(self.volume))

    def ledger(self) -> TetLedger:
        """Return where the water is, where it came from and where it went, since the solver was made."""
        with self.exclusive():
            inside, waiting, momentum = self._book_changes() if self._phase in ("", "move") else self._present()
            a = self._accounts
            return TetLedger(
                in_tets=inside,
                waiting=waiting,
                filled=a.volume("filled"),
                inflow=a.volume("inflow"),
                sources=a.volume("sources"),
                absorbed=a.volume("absorbed"),
                emitted=a.volume("emitted"),
                drained=a.volume("drained"),
                given=a.volume("given"),
                incompatible=beyond_room(self.volume, self._now().capacity, self.quantum),
                momentum=momentum,
                impulses={name: a.momentum(name) for name in MOMENTA},
                volume_error=inside + waiting - a.expected_volume(),
                momentum_error=momentum - a.expected_momentum(),
                momentum_scale=a.turnover(),
            )

    def _present(self, totals: Totals | None = None) -> tuple[float, float, Floats]:
        """Return the volume in the mesh, and on its way out, m^3, and the momentum of both, kg m/s; `totals`: of the water in the mesh."""
        inside, carried = totals or self._stages.totals(self.volume, self.velocity)
        waiting, moving = self.waiting.total()
        momentum = np.array(carried) + moving
        if self._transit:
            rest, rest_momentum = self._stages.remainder()
            inside += rest
            momentum = momentum + rest_momentum
        for _, velocity, volume, _ in self._left:
            waiting += math.fsum(volume)
            momentum = momentum + (volume[:, None] * velocity).sum(axis=0)
        return inside, waiting, self.options.density * momentum

    def _book_changes(self, totals: Totals | None = None) -> tuple[float, float, Floats]:
        """Round what was written to the views, and book it as filled; return what is `_present`.

        Args:
            totals: of the water in the mesh, where it was rounded already.
        """
        a = self._accounts
        present = inside, waiting, momentum = self._present(totals or self._stages.round_water(self.volume, self.velocity))
        volume, change = inside + waiting - a.expected_volume(), momentum - a.expected_momentum()
        if abs(volume) > 1e-13 * max(inside, self.quantum) or np.abs(change).max() > 1e-12 * max(a.turnover(), 1e-300):
            a.book("filled", volume, change)
        return present

    # --- water put in --------------------------------------------------------------------------------------------------------------

    def fill(self, region: Any, velocity: Sequence[float] = (0.0, 0.0, 0.0), level: float = 1.0) -> float:
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
            self._require_no_transport()
            now = self._now()
            tets, share = fill_fractions("region", region, now.positions, now.tets, None)
            if self._phase in ("", "move"):
                self._book_changes()
            lacking = np.floor(part * share * now.capacity[tets] / self.quantum) * self.quantum - self.volume[tets]
            some = lacking > 0
            return self._add(tets[some], lacking[some], np.array(u), "filled")

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
        if v.max(initial=0.0) > 2.0**70 * self.quantum or np.abs(u).max(initial=0.0) > 1e100:
            raise ValueError(f"volumes and velocities must not be beyond all measure, as {v.max():g} m^3 or {np.abs(u).max():g} m/s")
        with self.exclusive():
            self._require_no_transport()
            if self._phase in ("", "move"):
                self._book_changes()
            return self._add(t.astype(np.int32), v, u, "absorbed")

    def give(self, which: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Give the water of tetrahedra away, to another representation of it: return volumes (k,), m^3, and velocities (k, 3), m/s.

        Args:
            which: (m,) bool.

        Raises:
            TypeError, ValueError: no such mask.
            RuntimeError: between the stages request and forward.
        """
        mask = _checks.mask("which", np.asarray(which), self.volume.shape)
        with self.exclusive():
            self._require_no_transport()
            if self._phase in ("", "move"):
                self._book_changes()
            volumes, velocities = self.volume[mask], self.velocity[mask]
            self.volume[mask] = 0
            self.velocity[mask] = 0
            momentum = (volumes[:, None] * velocities).sum(axis=0)
            self._accounts.book("given", math.fsum(volumes), self.options.density * momentum)
            return volumes, velocities

    def push(self, velocities: npt.ArrayLike, account: Literal["shared", "pressure"] = "shared") -> Floats:
        """Change the velocities of the water by (m, 3), m/s, for a force from elsewhere; return the change of momentum, kg m/s (3,).

        Raises:
            TypeError, ValueError: another shape, values that are not finite where there is water.
        """
        change = np.where(self.volume[:, None] > 0, _row_values("velocities", velocities, self._velocity.shape), 0.0)
        _checks.require_finite("velocities", change)
        with self.exclusive():
            if self._phase in ("", "move"):
                self._book_changes()
            before = np.array(self._stages.totals(self.volume, self.velocity)[1])
            self.velocity += change
            gained: Floats = self.options.density * (np.array(self._stages.totals(self.volume, self.velocity)[1]) - before)
            self._accounts.book(account, momentum=gained)
            return gained

    def snapshot(self) -> dict[str, Any]:
        """Return copies of all parts by name.

        Raises:
            BusyError: another thread changes them.
            RuntimeError: between the stages deliver and emit, when water is on its way.
        """
        self._require_settled("a snapshot")
        return super().snapshot()

    def assign(self, other: Any) -> None:
        """Copy the state of another object made with the same arguments, bit by bit. Raises RuntimeError as `snapshot`."""
        if isinstance(other, TetWater):
            other._require_settled("a copy")
        super().assign(other)

    def _require_settled(self, what: str) -> None:
        if self._transit or self._left:
            raise RuntimeError(f"{what} between the stages deliver and emit would lose the water on its way; take it before or after")

    def _require_no_transport(self) -> None:
        if self._phase in ("request", "deliver"):
            raise RuntimeError("water cannot be added between the stages request and forward, when that of the mesh is on its way")

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

    # --- inside --------------------------------------------------------------------------------------------------------------------

    def _now(self) -> TetGeometry:
        """Return the geometry at the present time; within a step, at its end."""
        if self._moved_by is None:
            self._geometry.at(self._stages, self.time, self._band())
        return self._geometry

    def _band(self) -> float:
        """Return how far from the solid distances are needed, m."""
        return 0.0

    def _state_replaced(self) -> None:
        self._geometry.forget()
        self._stages.forget_left()
        self._left = []
        self._moved_by, self._transit, self._phase = None, False, ""

    def __repr__(self) -> str:
        """One line: tetrahedra, wet ones, water, drops, time, memory."""
        return (
            f"<{type(self).__name__} {len(self.volume)} tetrahedra, {np.count_nonzero(self.volume)} wet, {self.total_volume():.4g} m^3, "
            f"{len(self.drops)} drops, t = {self.time:g} s, {self.nbytes / 1e6:.3g} MB>"
        )


def _options(options: TetVOFOptions | None, changes: dict[str, Any]) -> TetVOFOptions:
    base = TetVOFOptions() if options is None else _checks.one_of_type("options", options, TetVOFOptions)
    known = [f.name for f in dataclasses.fields(TetVOFOptions)]
    for name in changes:
        if name not in known:
            raise TypeError(f"TetVOF has no option {name!r}; there are: {', '.join(known)}")
    return dataclasses.replace(base, **changes)


def _row_values(name: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = _checks.numbers(name, value)
    if array.shape not in ((), shape):
        raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    return array


def _sealed(array: npt.NDArray[_T]) -> npt.NDArray[_T]:
    view: npt.NDArray[_T] = array.view()
    view.flags.writeable = False
    return view
