"""Deformable bodies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core import Workspace
from meniscus.numerics.solve import ConvergenceError
from meniscus.solids.options import (
    STABILITY,
    Elasticity,
    IntegratorName,
    StepInfo,
    TimeStepLimits,
    integrator_of,
    step_info,
    step_options,
)

Floats = npt.NDArray[np.float64]
Path = Callable[[float], Any]
"""Positions (k, 3) of k moved nodes at a time (s), or a pair of their positions and velocities."""

_Self = TypeVar("_Self", bound="DeformableBody")


class DeformableBody:
    """Nodes with positions, velocities and masses, the forces between them, and what holds them.

    `step` is transactional: after an error, a failed solve or Ctrl-C the body is as it was. A node of infinite mass keeps its velocity,
    whatever acts on it.

    Args:
        mesh: anything with `vertices` and, unless `masses` are given, `node_masses(density)`; or positions (n, 3), m, float64. Copied.
        density: kg/m^3 for tetrahedra, kg/m^2 for triangles, kg/m for segments; a number or one per element; default 1000.
        masses: (n,), kg, instead of the density; or one number for all nodes.
        gravity: m/s^2; None: no gravity.

    Raises:
        TypeError, ValueError: wrong types or values; positions that are not finite; masses that are not above zero, naming the first (a
            vertex of no element has no mass).
    """

    def __init__(
        self,
        mesh: Any,
        *,
        density: float | Floats | None = None,
        masses: npt.ArrayLike | None = None,
        gravity: Sequence[float] | Floats | None = None,
    ) -> None:
        x = mesh if isinstance(mesh, np.ndarray) else getattr(mesh, "vertices", None)
        if x is None:
            raise TypeError(f"mesh must be a mesh or an array of positions, not {type(mesh).__name__}")
        x = np.ascontiguousarray(_checks.points("mesh", np.asarray(x), np.dtype(np.float64), 3))
        if masses is not None:
            if density is not None:
                raise ValueError("give either density or masses, not both")
            m = np.asarray(masses)
            if m.ndim == 0:
                m = np.full(len(x), float(m))
            if m.dtype != np.float64:
                raise TypeError(f"masses must be of dtype float64, not {m.dtype}")
            if m.shape != (len(x),):
                raise ValueError(f"masses must have shape ({len(x)},), not {m.shape}")
        else:
            if not hasattr(mesh, "node_masses"):
                raise ValueError("an array of positions has no density; give masses")
            m = mesh.node_masses(1000.0 if density is None else density)
        self._core = _solids.DeformableBody(x, np.ascontiguousarray(m, dtype=np.float64))
        self._workspace = Workspace()
        self._forces: list[Any] = []
        self._paths: list[tuple[npt.NDArray[np.int32], Path]] = []
        self._targets: dict[int, Floats] = {}
        self.report: StepInfo | None = None
        if gravity is not None:
            self.gravity = gravity

    # --- state ---------------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of nodes."""
        return self._core.size

    @property
    def positions(self) -> Floats:
        """Writable view (n, 3), m; assignment copies into it."""
        return self._core.positions

    @positions.setter
    def positions(self, value: npt.ArrayLike) -> None:
        self._core.positions[...] = _checks.incoming("positions", value, np.dtype(np.float64), (len(self), 3))

    @property
    def velocities(self) -> Floats:
        """Writable view (n, 3), m/s; assignment copies into it."""
        return self._core.velocities

    @velocities.setter
    def velocities(self, value: npt.ArrayLike) -> None:
        self._core.velocities[...] = _checks.incoming("velocities", value, np.dtype(np.float64), (len(self), 3))

    @property
    def masses(self) -> Floats:
        """Writable view (n,), kg; infinite for nodes whose velocity nothing changes."""
        return self._core.masses

    @property
    def gravity(self) -> Floats:
        """Acceleration of all nodes, m/s^2; assignable."""
        return np.array(self._core.gravity)

    @gravity.setter
    def gravity(self, value: Sequence[float] | Floats) -> None:
        self._core.gravity = list(_checks.vector("gravity", value, 3))

    @property
    def time(self) -> float:
        """Seconds; assignable."""
        return self._core.time

    @time.setter
    def time(self, value: float) -> None:
        self._core.time = _checks.number("time", value)

    @property
    def nbytes(self) -> int:
        """Bytes of the state and of scratch memory; without the forces."""
        return int(self._core.nbytes) + self._workspace.bytes

    def energy(self) -> dict[str, float]:
        """Return the energies in J: "kinetic", "elastic", "gravity" (0 for nodes at the origin) and their sum, "total"."""
        kinetic, elastic, gravity = self._core.energy()
        return {"kinetic": kinetic, "elastic": elastic, "gravity": gravity, "total": kinetic + elastic + gravity}

    def momentum(self) -> Floats:
        """Return the sum of mass times velocity (3,), kg m/s, without infinite masses."""
        return np.array(self._core.momentum())

    def angular_momentum(self, about: Sequence[float] | Floats = (0.0, 0.0, 0.0)) -> Floats:
        """Return the angular momentum (3,) about a point (m), kg m^2/s, without infinite masses."""
        return np.array(self._core.angular_momentum(list(_checks.vector("about", about, 3))))

    # --- forces --------------------------------------------------------------------------------------------------------------

    @property
    def forces(self) -> tuple[Any, ...]:
        """The forces, in the order in which they were added."""
        return tuple(self._forces)

    def add(self, force: Any) -> Any:
        """Let a force act on the nodes; returns it.

        Raises:
            TypeError: no force.
            ValueError: it acts on nodes that the body has not, or was added before.
        """
        self._core.add(_force_core(force))
        self._forces.append(force)
        return force

    def remove(self, force: Any) -> None:
        """Take a force away. Raises ValueError for one that was not added."""
        self._core.remove(_force_core(force))
        self._forces = [f for f in self._forces if f is not force]

    def forces_at_nodes(self) -> Floats:
        """Return what all forces but gravity do to the nodes now (n, 3), N."""
        out = np.empty((len(self), 3))
        self._core.forces_at(self.positions, self.velocities, out)
        return out

    # --- what holds nodes ----------------------------------------------------------------------------------------------------

    def pin(self, nodes: npt.ArrayLike) -> None:
        """Fix nodes (indices, or a mask (n,)) where they are. Raises TypeError or ValueError for what are no nodes of the body."""
        where = self._nodes(nodes)
        self._forget(where)
        self._core.fix(where)

    def move(self, nodes: npt.ArrayLike, path: npt.ArrayLike | Path) -> None:
        """Move nodes along a path.

        Args:
            nodes: indices, or a mask (n,).
            path: positions (k, 3), m, float64, that the nodes reach at the end of the next step on straight lines, and where they then
                stay until they are moved again; or a function of time (s) that returns positions (k, 3), or a pair of positions and
                velocities. The function is asked for the start, the middle and the end of each step; where it gives no velocities,
                they are those of the parabola through the three positions.

        Raises:
            TypeError, ValueError: no nodes of the body, wrong dtype or shape, positions that are not finite.
        """
        where = self._nodes(nodes)
        if callable(path):
            self._forget(where)
            self._core.move(where)
            self._paths.append((where, path))
            return
        to = _checks.incoming("path", path, np.dtype(np.float64), (len(where), 3))
        to = np.broadcast_to(to, (len(where), 3))
        self._forget(where)
        self._core.move(where)
        self._targets.update(zip(where.tolist(), to.copy(), strict=True))

    def slide(self, nodes: npt.ArrayLike, normals: npt.ArrayLike) -> None:
        """Let nodes slide: their velocity along the normal is zero. Called again, it takes further directions, up to three.

        Args:
            nodes: indices, or a mask (n,); those that are pinned or moved stay so.
            normals: (3,) or (k, 3), of any length but zero.

        Raises:
            TypeError, ValueError: no nodes of the body; normals that are zero or not finite.
        """
        where = self._nodes(nodes)
        n = np.ascontiguousarray(np.broadcast_to(np.asarray(normals, dtype=np.float64), (len(where), 3)))
        self._core.slide(where, n)

    def release(self, nodes: npt.ArrayLike | None = None) -> None:
        """Free nodes (indices, or a mask (n,); None: all) from whatever holds them."""
        where = np.arange(len(self), dtype=np.int32) if nodes is None else self._nodes(nodes)
        self._forget(where)
        self._core.release(where)

    @property
    def held(self) -> npt.NDArray[np.int32]:
        """The nodes that are pinned, moved or sliding, ascending."""
        return self._core.held

    # --- time ----------------------------------------------------------------------------------------------------------------

    def step(self, dt: float, integrator: IntegratorName = "newmark", **options: Any) -> StepInfo:
        """Advance by dt seconds.

        Args:
            dt: seconds, positive.
            integrator:
                "newmark": elastic forces explicit, damping implicit, second order, stable for frequencies below 2 / dt; with
                    `elasticity` linearised elastic forces are implicit too, and steps of any length are stable;
                "implicit-euler": first order, damps, stable for any step;
                "explicit-euler" (never stable without damping), "symplectic-euler": first order;
                "rk2", "rk4": Runge-Kutta, order 2 (midpoint) and 4;
                "verlet": from two positions, order 2 in positions; the velocities are those in the middle of the last step;
                "velocity-verlet": order 2 in both.
            **options:
                tolerance: of linear solves, relative to the right-hand side, in velocities weighted by mass (1e-6).
                max_iterations: of a linear solve (1000).
                preconditioner: whether to use the 3 x 3 diagonal blocks (True).
                raise_on_failure: raise where a tolerance is not met; else take what was reached (True).
                tangent: how implicit elastic forces are linearised: "definite" (default), "exact" (with "definite" where that is
                    indefinite), or "frozen": directions and rotations stay, as printed; forces across springs, such as the tension
                    of what hangs, are then explicit and limit the step.
                elasticity: of Newmark: "explicit" (default); "half-step", "full-step": implicit over dt / 2 or dt, of which the latter
                    stays bounded also where large steps turn everything; "first-half-step", "first-full-step": only in the solve for
                    positions, which loses no energy.
                finish: of Newmark: "trapezoid" (default) or "backward-euler".
                form: of Verlet: "positions" (default), or "velocities", the printed start, which is of first order.
                newton: of implicit Euler: solve the nonlinear equations (default), or linearise once.
                newton_tolerance: of the residual, relative to dt times the forces (1e-8).
                max_newton: iterations (200).

        Returns:
            What the step did; also kept as `report`.

        Raises:
            ConvergenceError: a solve failed; nothing has changed.
            TypeError, ValueError: dt not positive, unknown options, or a value that is not finite, before or after the step; nothing has
                changed.

        Source: Selle 2008, sections 5.4 and 5.5; Müller et al. 2008, chapter 3.
        """
        dt = _checks.positive("dt", dt)
        kind = integrator_of(integrator)
        chosen = step_options(**options)
        for force in self._forces:
            # Some forces, such as wind, ask for the state at the start of the step.
            if hasattr(force, "prepare"):
                force.prepare(self.positions, self.velocities, self.time)
        raw = _solids.StepReport()
        done = self._core.step(kind, dt, self._motion(dt), chosen, self._workspace, raw)
        info = step_info(dt, integrator, raw)
        if not done:
            raise ConvergenceError(_failure(info), info.solves[-1])
        self._targets.clear()
        self.report = info
        return info

    def limits(
        self,
        integrator: IntegratorName = "newmark",
        *,
        elasticity: Elasticity = "explicit",
        cfl: float = 0.9,
        max_strain: float = 0.1,
        max_motion: float = math.inf,
    ) -> TimeStepLimits:
        """Return how long a step may be, and why.

        Args:
            integrator: whose stability is asked for; implicit Euler, and Newmark with implicit elasticity, have no limit.
            elasticity: of Newmark, as in `step`.
            cfl: fraction of the stability limit; the frequency is an upper bound, so 1 is safe for linear springs.
            max_strain: how much of its rest length a part may gain or lose in one step.
            max_motion: how far moved nodes may go in one step, m, at their present speed.

        Raises:
            TypeError, ValueError: wrong types or values.

        Source: Selle 2008, section 7.6.
        """
        integrator_of(integrator)
        implicit = integrator == "implicit-euler" or (
            integrator == "newmark" and _checks.choice("elasticity", elasticity, Elasticity) != "explicit"
        )
        cfl, strain = _checks.positive("cfl", cfl), _checks.positive("max_strain", max_strain)
        frequency, whole = self._core.time_step_limits(self._workspace)
        limits = {
            "frequency": math.inf if implicit else cfl * frequency * STABILITY[integrator] / 2.0,
            "strain": strain * whole,
            "motion": math.inf,
        }
        if max_motion != math.inf:
            speed = np.linalg.norm(self._moved_velocities(), axis=1).max(initial=0.0)
            limits["motion"] = _checks.positive("max_motion", max_motion) / speed if speed > 0 else math.inf
        cause = min(limits, key=lambda name: limits[name])
        dt = limits[cause]
        return TimeStepLimits(dt, cause if dt < math.inf else "none", **limits)

    def max_dt(self, integrator: IntegratorName = "newmark", **options: Any) -> float:
        """Return the longest step (s) that `limits` allows; infinite where there is no limit. Options and errors as there."""
        return self.limits(integrator, **options).dt

    # --- snapshots -----------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return copies of positions, velocities, time and what Verlet remembers, for `restore`.

        Masses, gravity, forces and what holds the nodes are the set-up and not part of it.
        """
        saved: dict[str, Any] = {"positions": self.positions.copy(), "velocities": self.velocities.copy(), "time": self.time}
        if self._core.previous_dt > 0:
            saved["previous positions"] = self._core.previous_positions()
            saved["previous dt"] = self._core.previous_dt
        return saved

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to what `snapshot` saw, bit by bit.

        Raises TypeError or ValueError if it is not that of a body with as many nodes; then nothing is changed.
        """
        known = {"positions", "velocities", "time", "previous positions", "previous dt"}
        if not {"positions", "velocities", "time"} <= set(snapshot) <= known:
            raise ValueError(f"snapshot must hold positions, velocities and time, not {', '.join(snapshot) or 'nothing'}")
        shape, double = (len(self), 3), np.dtype(np.float64)
        arrays = {n: _checks.incoming(f"{n} in the snapshot", snapshot[n], double, shape) for n in snapshot if n.endswith("s")}
        time = _checks.number("time in the snapshot", snapshot["time"])
        before = _checks.positive("previous dt in the snapshot", snapshot["previous dt"]) if "previous dt" in snapshot else 0.0
        self.positions[...] = arrays["positions"]
        self.velocities[...] = arrays["velocities"]
        self._core.time = time
        if before:
            self._core.set_previous(before, np.ascontiguousarray(arrays["previous positions"]))
        else:
            self._core.forget_previous()

    def copy(self: _Self) -> _Self:
        """Return an independent body in the same state with the same forces (shared), held in the same way."""
        other = type(self).__new__(type(self))
        other._set_up(self._parts(), list(self._forces), list(self._paths), dict(self._targets))
        return other

    def __copy__(self: _Self) -> _Self:
        """Same as `copy`."""
        return self.copy()

    def __deepcopy__(self: _Self, memo: dict[int, Any]) -> _Self:
        """Same as `copy`."""
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle state, set-up and forces; forces and functions of time must be picklable."""
        return _rebuild, (type(self), self._parts(), list(self._forces), list(self._paths), dict(self._targets))

    def __repr__(self) -> str:
        """One line: nodes, forces, what is held, time."""
        names = ", ".join(type(f).__name__ for f in self._forces) or "no forces"
        return f"<{type(self).__name__} {len(self)} nodes, {len(self.held)} held, {names}, t = {self.time:g} s>"

    # --- internals -----------------------------------------------------------------------------------------------------------

    def _parts(self) -> dict[str, Any]:
        free = {"masses": self.masses.copy(), "gravity": tuple(self.gravity), "moved": self._core.moved}
        return {**free, "held": self._core.held, "projections": self._core.projections, "state": self.snapshot()}

    def _set_up(self, parts: dict[str, Any], forces: list[Any], paths: list[Any], targets: dict[int, Floats]) -> None:
        state = parts["state"]
        self._core = _solids.DeformableBody(state["positions"], parts["masses"])
        self._workspace = Workspace()
        self._forces, self._paths, self._targets, self.report = [], paths, targets, None
        self.gravity = parts["gravity"]
        for f in forces:
            self.add(f)
        held, projections = parts["held"], parts["projections"]
        rank = np.rint(np.trace(projections, axis1=1, axis2=2)).astype(int)
        self._core.fix(held[rank == 0])
        self._core.move(parts["moved"])
        for node, p in zip(held[rank > 0], projections[rank > 0], strict=True):
            # The directions that are held are those that the projection takes to zero.
            normals = np.linalg.eigh(np.eye(3) - p)[1][:, int(np.rint(np.trace(p))) :].T
            for n in normals:
                self._core.slide(np.array([node], np.int32), np.ascontiguousarray(n[None, :]))
        self.restore(state)

    def _nodes(self, nodes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Indices or a mask as int32; the body checks their range."""
        a = np.asarray(nodes)
        if a.dtype == np.bool_:
            return np.flatnonzero(_checks.mask("nodes", a, (len(self),))).astype(np.int32)
        a = np.atleast_1d(a)
        if a.size == 0:
            return np.empty(0, np.int32)
        if a.dtype.kind not in "iu" or a.ndim != 1:
            raise TypeError(f"nodes must be a list of integers or a mask, not {a.dtype} of shape {a.shape}")
        if a.min() < 0 or a.max() >= len(self):
            raise ValueError(f"the body has {len(self)} nodes, so there is no node {a.min() if a.min() < 0 else a.max()}")
        if len(np.unique(a)) != len(a):
            raise ValueError("nodes must not name a node twice")
        return a.astype(np.int32)

    def _forget(self, nodes: npt.NDArray[np.int32]) -> None:
        """Take nodes out of all paths."""
        gone = set(nodes.tolist())
        for node in gone:
            self._targets.pop(node, None)
        kept = []
        for where, path in self._paths:
            if gone.isdisjoint(where.tolist()):
                kept.append((where, path))
            elif not set(where.tolist()) <= gone:
                kept.append(_without(where, path, gone))
        self._paths = kept

    def _moved_velocities(self) -> Floats:
        """Velocities of the moved nodes now."""
        v: Floats = self.velocities[self._core.moved]
        return v

    def _motion(self, dt: float) -> list[Floats] | None:
        """Middle and end positions, and velocities at start, middle and end, of the moved nodes."""
        moved = self._core.moved
        if len(moved) == 0:
            return None
        here = self.positions[moved]
        middle, end = here.copy(), here.copy()
        velocities = [np.zeros_like(here) for _ in range(3)]
        if self._targets:
            rows = np.searchsorted(moved, np.fromiter(self._targets, np.int64, len(self._targets)))
            to = np.stack(list(self._targets.values()))
            end[rows] = to
            middle[rows] = 0.5 * (here[rows] + to)
            for v in velocities:
                v[rows] = (to - here[rows]) / dt
        for where, path in self._paths:
            rows = np.searchsorted(moved, where)
            times = (self.time, self.time + 0.5 * dt, self.time + dt)
            (x0, v0), (x1, v1), (x2, v2) = (_on_path(path, t, len(where)) for t in times)
            middle[rows], end[rows] = x1, x2
            if v0 is None or v1 is None or v2 is None:
                v0, v1, v2 = (4 * x1 - 3 * x0 - x2) / dt, (x2 - x0) / dt, (3 * x2 - 4 * x1 + x0) / dt
            for v, value in zip(velocities, (v0, v1, v2), strict=True):
                v[rows] = value
        return [middle, end, *velocities]


class _Part:
    """Some of the nodes of a path (a class, so that it pickles)."""

    def __init__(self, path: Path, rows: npt.NDArray[np.int64]) -> None:
        self.path, self.rows = path, rows

    def __call__(self, time: float) -> Any:
        at = self.path(time)
        if isinstance(at, tuple):
            return tuple(np.asarray(a)[self.rows] for a in at)
        return np.asarray(at)[self.rows]


def _without(where: npt.NDArray[np.int32], path: Path, gone: set[int]) -> tuple[npt.NDArray[np.int32], Path]:
    rows = np.array([k for k, node in enumerate(where.tolist()) if node not in gone])
    return where[rows], _Part(path, rows)


def _on_path(path: Path, time: float, count: int) -> tuple[Floats, Floats | None]:
    at = path(time)
    x, v = at if isinstance(at, tuple) and len(at) == 2 else (at, None)
    double, shape = np.dtype(np.float64), (count, 3)
    x = np.broadcast_to(_checks.incoming("the positions of a path", x, double, shape), shape)
    return x, None if v is None else np.broadcast_to(_checks.incoming("the velocities of a path", v, double, shape), shape)


def _force_core(force: Any) -> Any:
    core = force if isinstance(force, _solids.Force) else getattr(force, "_core", None)
    if not isinstance(core, _solids.Force):
        raise TypeError(f"force must be a force, not {type(force).__name__}")
    return core


def _failure(info: StepInfo) -> str:
    n = info.newton
    if n is not None:
        return (
            f"Newton's method reached a residual of {n.residual:.1e} in {n.iterations} iterations ({n.linear_iterations} of conjugate "
            f"gradients); its last linear solve ended because {info.solves[-1].reason}; the body is as before"
        )
    failed = next(s for s in info.solves if not s.converged)
    return (
        f"the velocity solve reached a residual of {failed.residual:.1e} in {failed.iterations} iterations and ended because "
        f"{failed.reason}; the body is as before"
    )


def _rebuild(kind: type[_Self], parts: dict[str, Any], forces: list[Any], paths: list[Any], targets: dict[int, Floats]) -> _Self:
    body = kind.__new__(kind)
    body._set_up(parts, forces, paths, targets)
    return body
