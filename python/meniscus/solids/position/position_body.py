"""Bodies of position based dynamics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core.advancing import LONGEST, OnStep, advance_in_steps
from meniscus.core.stateful import Stateful
from meniscus.mesh.any_mesh import own_mesh
from meniscus.solids.position.position_constraints import (
    AttachmentConstraints,
    NeoHookeanConstraints,
    PositionConstraint,
    PositionConstraints,
    Projector,
)
from meniscus.solids.position.position_step import PositionMethod, StepPlan, step_bodies

Floats = npt.NDArray[np.floating[Any]]

_C = TypeVar("_C", bound=PositionConstraint)


class PositionBody(Stateful):
    """Nodes whose positions are corrected until constraints hold between them; velocities follow from positions.

    Bodies at rest stay there, whatever the step, and corrections are bounded. A step consists of substeps: nodes move freely, constraints
    are projected one after the other (Gauss-Seidel, in parallel over colours, with the bits of a serial order), and velocities are the ways
    over the time.

    The state is positions, velocities, time, and for how long the body has been quiet. Masses, constraints and what holds nodes are the
    set-up. `step` consists of the stages `predict`, `project` and `finish`, which may be called one by one.

    Args:
        mesh: a mesh, or positions (n, 3), m. Copied.
        density: kg/m^3 for tetrahedra, kg/m^2 for triangles, kg/m for segments.
        masses: (n,), kg, in place of the density; infinite for nodes that nothing moves.
        gravity: m/s^2, default none.
        dtype: float64 or float32 of positions and velocities.
        sleep: (speed in m/s, time in s): a body no node of which has been faster for so long goes to sleep: it stands still, and steps cost
            nothing, until velocities, positions, constraints, gravity or what touches it change. None: it never sleeps.
        max_speed: m/s: nodes move freely at most so fast; constraints may move them farther. Steps that change their length at random,
            nodes that jump and soft constraints can pump energy, which this bounds.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Müller, Stam, James and Thürey 2008, chapter 5.
    """

    settings = ("gravity", "sleep", "max_speed", "setup")

    def __init__(
        self,
        mesh: Any,
        *,
        density: float = 1000.0,
        masses: npt.ArrayLike | None = None,
        gravity: Sequence[float] | None = None,
        dtype: npt.DTypeLike = np.float64,
        sleep: tuple[float, float] | None = None,
        max_speed: float = math.inf,
    ) -> None:
        own = own_mesh(mesh)
        x = np.asarray(own if isinstance(own, (np.ndarray, list)) else own.vertices, np.float64)
        if x.ndim != 2 or x.shape[1] != 3:
            raise ValueError(f"positions must have shape (n, 3), not {x.shape}")
        _checks.require_finite("positions", x)
        if masses is not None:
            given = np.asarray(masses, np.float64)
            if given.shape not in ((), (len(x),)):
                raise ValueError(f"masses must be one number, or one for each of the {len(x)} nodes, not of shape {given.shape}")
            m = np.broadcast_to(given, (len(x),))
        elif isinstance(own, (np.ndarray, list)):
            raise ValueError("an array of positions has no density; give masses")
        else:
            m = own.node_masses(_checks.positive("density", density))
        if not (m > 0).all():
            raise ValueError(f"masses must be positive, but node {int(np.flatnonzero(~(m > 0))[0])} has {m[~(m > 0)][0]:g} kg")
        self.dtype = _checks.scalar_type(dtype)
        self._core: Any = _solids.PositionConstraintsFloat32 if self.dtype == np.float32 else _solids.PositionConstraintsFloat64
        self.masses = np.array(m)
        self._gravity = np.zeros(3) if gravity is None else np.array(_checks.vector("gravity", gravity, 3))
        self.sleep = sleep
        if isinstance(max_speed, bool) or not isinstance(max_speed, (int, float, np.number)) or not max_speed > 0:
            raise ValueError(f"max_speed must be a positive number, not {max_speed!r}")
        self.max_speed = float(max_speed)
        self.mesh: Any = np.array(x) if isinstance(own, (np.ndarray, list)) else own
        self.constraints: list[PositionConstraint] = []
        self._projectors: list[Projector] = []
        self._fast: Any = None
        self._fixed = np.zeros(len(x), np.bool_)
        self._paths: list[tuple[npt.NDArray[np.int32], Callable[[float], Any]]] = []
        self.nodes = self.declare("nodes", np.empty((len(x), 4), self.dtype))
        self.nodes[:, :3] = x
        self.nodes[:, 3] = 1 / m
        self.velocities = self.declare("velocities", np.zeros((len(x), 3), self.dtype))
        self.time = self.declare("time", 0.0)
        self.quiet = self.declare("quiet", 0.0)
        self.previous, self._entered = np.empty_like(self.velocities), np.empty_like(self.velocities)
        self._slept: list[npt.NDArray[Any]] | None = None

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    @property
    def positions(self) -> Floats:
        """Writable view (n, 3), m."""
        return self.nodes[:, :3]

    @property
    def gravity(self) -> npt.NDArray[np.float64]:
        """Acceleration (3,), m/s^2; assignable."""
        result: npt.NDArray[np.float64] = self._gravity.view()
        result.flags.writeable = False
        return result

    @gravity.setter
    def gravity(self, value: Sequence[float] | npt.NDArray[np.float64]) -> None:
        self._gravity = np.array(_checks.vector("gravity", value, 3))
        self.wake()

    @property
    def sleep(self) -> tuple[float, float] | None:
        """Speed (m/s) and time (s) after which the body goes to sleep, or None; assignable."""
        return self._sleep

    @sleep.setter
    def sleep(self, value: tuple[float, float] | None) -> None:
        if value is not None:
            if not isinstance(value, (tuple, list)) or len(value) != 2:
                raise ValueError(f"sleep must be a speed (m/s) and a time (s), or None, not {value!r}")
            speed, time = value
            value = _checks.positive("the speed of sleep", speed), _checks.positive("the time of sleep", time)
        self._sleep = value

    @property
    def asleep(self) -> bool:
        """Whether the body sleeps."""
        return self._sleep is not None and self.quiet >= self._sleep[1]

    def wake(self) -> None:
        """Wake the body, which may go to sleep again."""
        self.quiet = 0.0
        self._slept = None

    @property
    def momentum(self) -> npt.NDArray[np.float64]:
        """Momentum (3,) of all nodes of finite mass, kg m/s."""
        m = np.where(np.isfinite(self.masses), self.masses, 0.0)
        result: npt.NDArray[np.float64] = m @ self.velocities.astype(np.float64)
        return result

    @property
    def setup(self) -> tuple[Any, ...]:
        """Constraints, held nodes and paths, which copies and pickles take over."""
        return list(self.constraints), self._fixed.copy(), list(self._paths)

    @setup.setter
    def setup(self, value: tuple[Any, ...]) -> None:
        constraints, fixed, self._paths = value
        self.constraints, self._projectors = [], []
        for c in constraints:
            self.add(c)
        self._fixed[...] = fixed

    def add(self, constraints: _C) -> _C:
        """Add constraints, which are projected after those that were added before; return them."""
        if not isinstance(constraints, PositionConstraint):
            raise TypeError(f"constraints must be a set of constraints, not {type(constraints).__name__}")
        projector = constraints.projector(self)
        self.constraints.append(constraints)
        self._projectors.append(projector)
        self._fast = None
        self.wake()
        return constraints

    def pin(self, nodes: npt.ArrayLike) -> None:
        """Hold nodes where they are."""
        rows = self._rows(nodes)
        self._fixed[rows] = True
        self.nodes[rows, 3] = 0
        self.velocities[rows] = 0
        self.wake()

    def move(self, nodes: npt.ArrayLike, path: Callable[[float], npt.ArrayLike]) -> None:
        """Move nodes along a path: a function of time (s) that returns their positions (k, 3), m."""
        rows = self._rows(nodes)
        _checks.function("path", path)
        self.pin(rows)
        self._paths.append((rows, path))

    def release(self, nodes: npt.ArrayLike) -> None:
        """Let nodes go that were held or moved."""
        rows = self._rows(nodes)
        self.wake()
        self._fixed[rows] = False
        self.nodes[rows, 3] = (1 / self.masses[rows]).astype(self.dtype)
        kept = []
        for own, path in self._paths:
            gone = np.isin(own, rows)
            if not gone.any():
                kept.append((own, path))
            elif not gone.all():
                kept.append((own[~gone], _Part(path, ~gone)))
        self._paths = kept

    def step(
        self,
        dt: float,
        *,
        substeps: int = 10,
        iterations: int = 1,
        method: PositionMethod = "compliant",
        damping: float = 0.0,
        rigid_damping: float = 0.0,
        contacts: Any = None,
    ) -> None:
        """Advance by dt seconds.

        Args:
            dt: s, positive.
            substeps: parts of the step that are taken one after the other.
            iterations: projections of all constraints in each: a sweep from the last to the first and one back. With little compliance,
                more substeps do better than more iterations.
            method: "compliant": constraints have a compliance, which does not depend on the step (XPBD); "printed": a part k' of each
                correction is applied, so that stiffness depends on the step; "averaged": constraints of a set are projected from the same
                positions, and their corrections are averaged (Jacobi), which needs more iterations; "fast-projection": sets of rows are
                solved at once by Newton's method, whose rounds are the iterations, a slow reference.
            damping: 1/s; velocities decay with it.
            rigid_damping: from 0 to 1: the part of the velocities against those of the body as a rigid one that goes in each substep.
            contacts: `PositionContacts` of this body alone, or None. Several bodies step together by `PositionContacts.step`.

        Raises:
            TypeError, ValueError: other arguments, paths that return something else; positions, velocities or targets that are not finite,
                before or after the step. Nothing has changed.

        Source: Müller, Stam, James and Thürey 2008, section 5.1; Macklin, Müller and Chentanez 2016; Macklin et al., "Small steps in
        physics simulation", 2019; Müller, Heidelberger, Hennix and Ratcliff 2006, section 3.5 (rigid damping); Goldenthal et al. 2007
        (fast projection).
        """
        plan = StepPlan.checked(dt, substeps, iterations, method, damping, rigid_damping)
        if contacts is not None and not hasattr(contacts, "note_start"):
            raise TypeError(f"contacts must be PositionContacts or None, not {type(contacts).__name__}")
        if contacts is not None and tuple(contacts.bodies) != (self,):
            raise ValueError("the contacts must be those of this body alone; several bodies step together by the step of their contacts")
        step_bodies([self], plan, contacts)

    def max_dt(self) -> float:
        """Return the step (s) that is advised: 1/60, for nothing limits it."""
        return LONGEST

    def advance(self, duration: float, on_step: OnStep | None = None, *, longest: float = LONGEST, **options: Any) -> list[None]:
        """Advance by a duration (s) in equal steps of at most `longest`, with options of `step`; return None for each."""
        most = _checks.positive("longest", longest)
        return advance_in_steps(self, duration, on_step, lambda: most, lambda h: self.step(h, **options))

    def predict(self, dt: float, *, rigid_damping: float = 0.0, time: float | None = None) -> None:
        """First stage of a substep: nodes move freely, and along their paths to where they are at `time` (s, default: dt from now)."""
        if rigid_damping:
            self._damp(rigid_damping)
        self._core.predict_positions(self.nodes, self.velocities, self.previous, tuple(self._gravity.tolist()), dt, self.max_speed)
        self._follow(self.time + dt if time is None else time, dt)
        for p in self._projectors:
            p.begin()

    def project(self, dt: float, *, iterations: int = 1, method: PositionMethod = "compliant", rounds: int | None = None) -> None:
        """Second stage, any number of times: project all constraints.

        An iteration takes all constraints from the last to the first, then from the first to the last. Such a pair of sweeps is a
        symmetric map in the metric of masses, with eigenvalues p from 0 to 1: steps (x' = P (2 x - x before)) multiply each mode by
        sqrt(p) at most, so that bodies at rest stay there. Of a body that nothing holds, what all corrections together turn it by is
        taken out: internal forces have no torque.

        `rounds` is the number of iterations in all, for the printed k'.
        """
        printed, averaged = method == "printed", method == "averaged"
        total = iterations if rounds is None else rounds
        if printed and any(isinstance(c, NeoHookeanConstraints) for c in self.constraints):
            raise ValueError("the printed method has no compliance, which neo-Hookean tetrahedra are made of")
        # Without compliance, as printed: an infinite step.
        length = math.inf if printed else dt
        at_once = method == "fast-projection"
        swept = [p for p in self._projectors if not (at_once and _has_rows(p))]
        # Where both sweeps meet, what has no order is projected once.
        once = bool(swept) and (averaged or not swept[0].ordered)
        orders = [(p, True) for p in swept[:0:-1]] + [(p, True) for p in swept[:1] if not once] + [(p, False) for p in swept]
        times = dict.fromkeys(swept, 2 * total) | ({swept[0]: total} if once else {})
        free = self.turns_freely()
        if free:
            self._entered[...] = self.positions
        for _ in range(iterations):
            if at_once:
                self._solve_rows(dt, iterations if not swept else 1)
                if not swept:
                    break
            for p, backward in orders:
                part = printed_part(p.constraint.stiffness, times[p]) if printed else 1.0
                p.project(self.nodes, length, part, 1, averaged, backward)
        if free:
            self._core.remove_turn(self.nodes, self._entered)

    def finish(self, dt: float, *, damping: float = 0.0) -> None:
        """Last stage: velocities are the ways over the time, and decay at `damping` (1/s). The time is that of the caller."""
        self._core.update_velocities(self.nodes, self.previous, self.velocities, dt, math.exp(-damping * dt))

    def _velocity_response(self, dt: float, method: PositionMethod) -> Callable[[Floats], Floats]:
        """Return a function of velocities (n, 3), m/s, of which constraints leave what it returns, over the next dt seconds."""
        x = self.positions.copy()
        zero = np.zeros_like(x)

        def ends(velocities: Floats) -> Floats:
            self.positions[...] = x + dt * velocities * (self.nodes[:, 3:] > 0)
            for p in self._projectors:
                p.begin()
            self.project(dt, method=method)
            result: Floats = self.positions.copy()
            self.positions[...] = x
            return result

        rest = ends(zero)

        def respond(velocities: Floats) -> Floats:
            result: Floats = (ends(velocities) - rest) / dt
            return result

        return respond

    def turns_freely(self) -> bool:
        """Return whether all constraints are internal, so that they exert no torque on the body."""
        inside = not any(isinstance(c, AttachmentConstraints) for c in self.constraints)
        return inside and bool(self.constraints) and bool(self.nodes[:, 3].all())

    def _solve_rows(self, dt: float, rounds: int) -> None:
        if self._fast is None:
            make: Any = _solids.FastProjectionFloat32 if self.dtype == np.float32 else _solids.FastProjectionFloat64
            self._fast = make([p.core for p in self._projectors if _has_rows(p)])
        self._fast.project(self.nodes, dt, 1.0, rounds, 0.0)

    def _state_replaced(self) -> None:
        self._slept = None
        super()._state_replaced()

    def is_disturbed(self) -> bool:
        """Return whether something has changed a sleeping body since it fell asleep."""
        if self._slept is None:
            self._note_sleep()
        assert self._slept is not None
        nodes, *settings = self._slept
        changed = len(settings) != len(self.constraints) or any(
            not np.array_equal(a, c.settings()) for a, c in zip(settings, self.constraints, strict=True)
        )
        return changed or bool(self._paths) or bool(self.velocities.any()) or not np.array_equal(nodes, self.nodes)

    def _note_sleep(self) -> None:
        """Note what a sleeping body is like: what changes of it wakes the body."""
        self._slept = [self.nodes.copy(), *(c.settings().copy() for c in self.constraints)]

    def _require_numbers(self, when: str = "before the step", why: str = "give numbers") -> None:
        """Raise ValueError for positions, velocities or targets that are not finite."""
        for name, rows in (("positions", self.positions), ("velocities", self.velocities)):
            # A sum is finite where all are, but for overflow, which rows tell.
            if not np.isfinite(rows.sum()) and not np.isfinite(rows).all():
                node = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
                raise ValueError(f"{name} must be finite, but node {node} has {rows[node].tolist()} {when}; {why}")
        for c in self.constraints:
            if isinstance(c, AttachmentConstraints) and not np.isfinite(c.targets).all():
                row = int(np.flatnonzero(~np.isfinite(c.targets).all(axis=1))[0])
                raise ValueError(f"targets must be finite, but that of node {int(c.nodes[row])} is {c.targets[row].tolist()}")

    def _fastest(self) -> float:
        return float(np.sqrt(np.einsum("nd,nd->n", self.velocities, self.velocities).max(initial=0.0)))

    def _follow(self, time: float, h: float) -> None:
        for rows, path in self._paths:
            x = np.asarray(path(time), np.float64)
            if x.shape != (len(rows), 3) or not np.isfinite(x).all():
                raise ValueError(f"a path must return finite positions of shape ({len(rows)}, 3), not {x.shape}")
            self.velocities[rows] = (x - self.nodes[rows, :3]) / h
            self.nodes[rows, :3] = x

    def _damp(self, part: float) -> None:
        """Bring velocities nearer to those of a rigid body with the same momenta."""
        free = self.nodes[:, 3] > 0
        m = self.masses[free]
        x, v = self.nodes[free, :3].astype(np.float64), self.velocities[free].astype(np.float64)
        total = m.sum()
        if not len(m):
            return
        center, mean = m @ x / total, m @ v / total
        r = x - center
        spin = np.cross(r, m[:, None] * (v - mean)).sum(axis=0)
        inertia = (m * (r * r).sum(axis=1)).sum() * np.eye(3) - np.einsum("n,ni,nj->ij", m, r, r)
        omega = np.linalg.pinv(inertia, rcond=1e-10, hermitian=True) @ spin
        self.velocities[free] += (part * (mean + np.cross(omega, r) - v)).astype(self.dtype)

    def _rows(self, nodes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        rows = np.atleast_1d(np.asarray(nodes))
        if rows.dtype == np.bool_:
            if rows.shape != (len(self),):
                raise ValueError(f"a mask of nodes must have shape ({len(self)},), not {rows.shape}")
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or (len(rows) and not 0 <= rows.min() <= rows.max() < len(self)):
            raise ValueError(f"nodes must be numbers from 0 to {len(self) - 1}")
        return rows.astype(np.int32)

    def __repr__(self) -> str:
        """One line: nodes, constraints, time."""
        count = sum(len(c) for c in self.constraints)
        return f"<PositionBody of {len(self)} nodes, {count} constraints, {self.dtype}, t = {self.time:g} s>"


def printed_part(stiffness: float, iterations: int) -> float:
    """Return k' = 1 - (1 - k)^(1/n), the part of a correction that n iterations apply each.

    Source: Müller, Stam, James and Thürey 2008, section 5.3.
    """
    return 1.0 - math.pow(1.0 - stiffness, 1.0 / iterations)


def _has_rows(projector: Projector) -> bool:
    """Return whether constraints are rows that fast projection can solve at once; neo-Hookean elements are more than that."""
    return isinstance(projector.constraint, PositionConstraints) and not isinstance(projector.constraint, NeoHookeanConstraints)


class _Part:
    """Some rows of a path."""

    def __init__(self, path: Callable[[float], npt.ArrayLike], rows: npt.NDArray[np.bool_]) -> None:
        self.path, self.rows = path, rows

    def __call__(self, time: float) -> npt.ArrayLike:
        return np.asarray(self.path(time))[self.rows]
