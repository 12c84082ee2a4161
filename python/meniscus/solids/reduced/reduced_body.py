"""Reduced bodies: deformable bodies with few coordinates, held or flying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.core.advancing import LONGEST, OnStep, advance_in_steps
from meniscus.core.state import Arguments
from meniscus.core.stateful import Stateful, exclusively
from meniscus.mesh import TetMesh
from meniscus.numerics.solve import ConvergenceError, SolveInfo
from meniscus.solids.force import FLOAT64, Floats, Ints
from meniscus.solids.reduced.reduced_contact import TouchingNodes
from meniscus.solids.reduced.reduced_model import ReducedModel
from meniscus.surface import Pose, Solid, Twist

ReducedMethod = Literal["newmark", "implicit-euler", "recurrence"]
"""Integrators of reduced bodies."""
REDUCED_METHOD = CoreOption(ReducedMethod, _solids.ReducedMethod)

Loads = tuple[Sequence[int] | Ints, npt.ArrayLike]
"""Nodes (k,) and forces (k, 3) on them, N."""


class ReducedStepInfo(NamedTuple):
    """Report of a step of a reduced body.

    Attributes:
        iterations: of Newton's method.
        residual: of its equations, in velocities of the coordinates.
        touching: nodes on which obstacles may have pressed.
    """

    iterations: int
    residual: float
    touching: int = 0


class ReducedBody(Stateful):
    """A body of tetrahedra whose displacements are sums of a few vectors, in a frame that is held or flies.

    The state is the time, the coordinates q (r,), their rates, and the frame (13,): centre of mass (m), orientation (a unit quaternion
    w, x, y, z), momentum (kg m/s) and angular momentum about the centre (kg m^2/s). Nodes are at c + R (X + U q). A frame that flies turns
    with the angular momentum and the deformed inertia; loads and impulses alone change its momenta. A body with fixed nodes is held.

    Args:
        mesh: a `ReducedModel`, which bodies may share, or what one is made from, with its options.
        modes, size: number of modes, and of vectors with modal derivatives, as for `ReducedModel`; not with a model.
        pose: of the frame; default the rest pose.
        twist: the velocity of a body that flies; default at rest.
        gravity: m/s^2, default none.
        mass_damping, stiffness_damping: 1/s and s: damping a M + b K with the stiffness at rest, of deformations alone.
        **options: of `ReducedModel`.

    Raises:
        TypeError, ValueError: see `ReducedModel`; a twist of a body that is held.

    Source: Müller, Stam, James and Thürey 2008, chapter 7; Barbic and James 2005; Terzopoulos and Witkin 1988.
    """

    settings = ("gravity", "mass_damping", "stiffness_damping")

    def __init__(
        self,
        mesh: Any,
        *,
        modes: int | None = None,
        size: int | None = None,
        pose: Pose | None = None,
        twist: Twist | None = None,
        gravity: Sequence[float] | Floats | None = None,
        mass_damping: float = 0.0,
        stiffness_damping: float = 0.0,
        **options: Any,
    ) -> None:
        if isinstance(mesh, ReducedModel):
            if options or modes is not None or size is not None:
                raise TypeError("a body made from a ReducedModel takes no options of models")
            self.model = mesh
        else:
            number = 8 if modes is None else modes
            self.model = ReducedModel(mesh, modes=number, size=20 if size is None and modes is None else size, **options)
        self.gravity = np.zeros(3) if gravity is None else np.array(_checks.vector("gravity", gravity, 3))
        self.mass_damping = _checks.number("mass_damping", mass_damping)
        self.stiffness_damping = _checks.number("stiffness_damping", stiffness_damping)
        if min(self.mass_damping, self.stiffness_damping) < 0:
            raise ValueError("mass_damping and stiffness_damping must not be negative")
        self._core = _solids.ReducedMotion(self.model._core, self.model.make_forces())
        self._contacts = _solids.ReducedContacts()
        self._touching: TouchingNodes | None = None
        self._positions = np.empty_like(self.model.rest_positions)
        self._dt: float | None = None
        self.time = self.declare("time", 0.0)
        self.coordinates = self.declare("coordinates", np.zeros(self.model.size))
        self.rates = self.declare("rates", np.zeros(self.model.size))
        self.frame = self.declare("frame", np.zeros(13))
        self.frame[3] = 1.0
        self.pose = Pose((0.0, 0.0, 0.0)) if pose is None else pose
        if twist is not None:
            self.twist = twist

    def _arguments(self) -> Arguments:
        return (self.model,), {}

    def refresh(self) -> None:
        """Update what follows from coordinates, rates and frame, after these were written to."""
        self._dt = None
        self._moved()

    def _state_replaced(self) -> None:
        self.refresh()

    def _load(self) -> None:
        self._core.load(self.coordinates, self.rates, self.frame)

    def _store(self) -> None:
        self._core.store(self.coordinates, self.rates, self.frame)

    def _moved(self) -> None:
        self._load()
        self._core.positions(self._positions)

    # --- state ---------------------------------------------------------------------------------------------------------------

    @property
    def positions(self) -> Floats:
        """Positions of the nodes (n, 3), m: always the same memory, read-only, up to date after each step."""
        view: Floats = self._positions.view()
        view.flags.writeable = False
        return view

    @property
    def velocities(self) -> Floats:
        """Velocities of the nodes (n, 3), m/s: a new array."""
        out = np.empty_like(self._positions)
        if self._dt is None:
            self._load()
        self._core.velocities(out)
        return out

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return self.model.mass

    @property
    def clamped(self) -> bool:
        """Whether nodes are fixed in the frame, which then does not move."""
        return self.model.clamped

    @property
    def rotation(self) -> Floats:
        """Rotation (3, 3) of the frame from the rest pose."""
        w, v = self.frame[3], self.frame[4:7]
        skew = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
        result: Floats = (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * skew
        return result

    @property
    def pose(self) -> Pose:
        """The pose of the frame: where the rest pose is carried to; assignable, which keeps momentum and angular momentum."""
        r = self.rotation
        return Pose(tuple((self.frame[:3] - r @ self.model.center).tolist()), r.tolist())

    @pose.setter
    def pose(self, value: Pose) -> None:
        p = _checks.one_of_type("pose", value, Pose)
        if p.dimension != 3:
            raise ValueError(f"pose must be 3-D, not {p.dimension}-D")
        self.frame[:3] = p.apply(self.model.center[None])[0]
        self.frame[3:7] = _quaternion(np.array(p.rotation))
        self._moved()

    @property
    def twist(self) -> Twist:
        """The velocity of the frame, at the point that was the origin in the rest pose, m/s, and rad/s; assignable if the body flies."""
        self._load()
        omega = self.rotation @ self._core.angular_velocity()
        arm = np.array(self.pose.translation) - self.frame[:3]
        return Twist(tuple((self.frame[7:10] / self.mass + np.cross(omega, arm)).tolist()), tuple(omega.tolist()))

    @twist.setter
    def twist(self, value: Twist) -> None:
        t = _checks.one_of_type("twist", value, Twist)
        if self.clamped or t.dimension != 3:
            raise ValueError("only a body that flies has a velocity, in three dimensions")
        self._load()
        omega = np.array(t.angular)
        linear = np.array(t.linear) + np.cross(omega, self.frame[:3] - np.array(self.pose.translation))
        self._core.set_velocity(linear.tolist(), omega.tolist())
        self._store()

    @property
    def momentum(self) -> Floats:
        """Momentum (3,) of a body that flies, kg m/s; writable view."""
        return self.frame[7:10]

    @property
    def angular_momentum(self) -> Floats:
        """Angular momentum (3,) of a body that flies, about its centre of mass, kg m^2/s; writable view."""
        return self.frame[10:]

    def energy(self) -> dict[str, float]:
        """Return the kinetic, elastic and gravitational energy and their sum, J; no gravity with all nodes at the origin."""
        if self._dt is None:
            self._load()
        kinetic, elastic = self._core.energy()
        gravity = -float(self.model.masses @ (self._positions @ self.gravity))
        return {"kinetic": kinetic, "elastic": elastic, "gravity": gravity, "total": kinetic + elastic + gravity}

    # --- stages --------------------------------------------------------------------------------------------------------------

    def max_dt(self) -> float:
        """Return the step (s) that is advised: 1/60, for nothing limits it."""
        return LONGEST

    def advance(self, duration: float, on_step: OnStep | None = None, *, longest: float = LONGEST, **options: Any) -> list[ReducedStepInfo]:
        """Advance by a duration (s) in equal steps of at most `longest`, with options of `step`; return their reports."""
        most = _checks.positive("longest", longest)
        return advance_in_steps(self, duration, on_step, lambda: most, lambda h: self.step(h, **options))

    @exclusively
    def predict(
        self,
        dt: float,
        *,
        loads: Loads | None = None,
        method: ReducedMethod = "newmark",
        tolerance: float = 1e-10,
        max_iterations: int = 50,
    ) -> ReducedStepInfo:
        """Find the velocities at the end of a step of dt seconds; `apply_impulses` may change them, and `finish` moves the body.

        Until then positions are those at the start of the step, and nothing else has changed. Arguments as for `step`.
        """
        h = _checks.positive("dt", dt)
        kind = REDUCED_METHOD("method", method)
        most = _checks.integer("max_iterations", max_iterations, at_least=1, below=2**31)
        if method == "recurrence" and self.model.material != "linear":
            raise ValueError(f'"recurrence" needs the material "linear", not "{self.model.material}"')
        self._dt = None
        self._load()
        self._core.clear_loads()
        if loads is not None:
            if not isinstance(loads, (tuple, list)) or len(loads) != 2:
                raise TypeError(f"loads must be a pair of nodes (k,) and forces (k, 3), not {loads!r}")
            nodes, forces = self._nodes(loads[0]), np.ascontiguousarray(_checks.numbers("loads", loads[1]))
            _checks.require_finite("loads", forces)
            self._core.add_loads(nodes, forces)
        damping = self.mass_damping, self.stiffness_damping
        limit = _checks.positive("tolerance", tolerance)
        iterations, residual, converged = self._core.predict(h, kind, *damping, self.gravity.tolist(), limit, most)
        if not converged:
            info = SolveInfo(iterations, residual, False, "the iterations did not converge", 0.0, 0.0, ())
            raise ConvergenceError(f"the step of {h:g} s was not solved in {iterations} iterations; nothing has changed", info)
        self._dt = h
        return ReducedStepInfo(iterations, residual)

    def inverse_mass(self, nodes: Ints, weights: Floats | None = None) -> Floats:
        """Return matrices (k, 3, 3), 1/kg: what an impulse at a node, or a point between nodes, changes of its velocity.

        Between `predict` and `finish` the impulse acts during the step: stiffness and damping resist it as well as mass.

        Args:
            nodes: (k,), or (k, c) with `weights` (k, c) of points between nodes.
            weights: default one.
        """
        points = self._points(nodes, weights)
        self._prepare()
        result: Floats = self._contacts.inverse_masses(self._core, *points)
        return result

    @exclusively
    def apply_impulses(self, nodes: Ints, impulses: Floats, weights: Floats | None = None) -> None:
        """Let impulses (k, 3), kg m/s, act at nodes or points, as in `inverse_mass`; at once, or between `predict` and `finish`."""
        points = self._points(nodes, weights)
        p = _checks.points("impulses", impulses, FLOAT64, 3)
        _checks.require_finite("impulses", p)
        self._prepare()
        self._core.apply_impulses(*points, p)
        if self._dt is None:
            self._store()

    def impulse_root(self, dt: float) -> Floats:
        """Return R (3 n, k): impulses p (3 n,) on all nodes, which stiffness resists for dt seconds, change velocities by R R^T p."""
        root = np.ascontiguousarray(_solids.ReducedResponse().set(self._core, self._prepare_for(dt)))
        return root.reshape(-1, root.shape[-1])

    @exclusively
    def take_impulses(self, impulses: Floats, dt: float) -> None:
        """Let impulses (n, 3), kg m/s, act on all nodes for dt seconds (s), as in `impulse_root`."""
        numbers = self._prepare_for(dt)[:, None]
        self._core.apply_impulses(numbers, np.ones((len(numbers), 1)), impulses)
        self._store()

    @exclusively
    def finish(self) -> None:
        """Move the body to the end of the step that `predict` began."""
        if self._dt is None:
            raise ValueError("finish must follow predict")
        self._core.finish()
        self._store()
        self._core.positions(self._positions)
        self.time += self._dt
        self._dt = None

    @exclusively
    def step(
        self,
        dt: float,
        *,
        obstacles: Solid | Sequence[Solid] = (),
        friction: float = 0.0,
        contact_iterations: int = 100,
        **options: Any,
    ) -> ReducedStepInfo:
        """Advance by dt seconds.

        Args:
            dt: s, positive.
            obstacles: solids that nodes of the surface do not enter, and that the body does not move. With "implicit-euler", nodes rest on
                them; with "newmark", they may bounce at the frequency of steps.
            friction: coefficient of friction with obstacles.
            contact_iterations: most sweeps over the contacts.
            loads: nodes (k,) and forces (k, 3) on them, N, during the step.
            method: "newmark": average acceleration, second order, keeps the energy of linear systems; "implicit-euler": first order, damps;
                "recurrence": for the material "linear", the exact solution for constant loads, whatever the step.
            tolerance: of the residual, relative to velocities and what forces change of them (1e-10).
            max_iterations: of Newton's method (50).

        Raises:
            ConvergenceError: Newton's method did not converge; nothing has changed.
            TypeError, ValueError: other arguments.

        Source: Müller, Stam, James and Thürey 2008, chapter 7; Barbic and James 2005, section 5.
        """
        solids = [obstacles] if isinstance(obstacles, Solid) else _checks.items("obstacles", obstacles, Solid)  # type: ignore[type-abstract]
        coefficient = _checks.number("friction", friction)
        if coefficient < 0:
            raise ValueError(f"friction must not be negative, but is {coefficient:g}")
        most = _checks.integer("contact_iterations", contact_iterations, at_least=1, below=2**31)
        info = self.predict(dt, **options)
        touching = 0
        if solids:
            if self._touching is None:
                self._touching = TouchingNodes(self.model)
            found = self._touching.find(self._core, self._positions, solids, self.time, dt)
            if found is not None:
                touching = len(found.nodes)
                found.solve(self._contacts, self._core, coefficient, most)
        self.finish()
        return info._replace(touching=touching)

    def _prepare(self) -> None:
        if self._dt is None:
            self._load()
            self._core.prepare_impulses()

    def _prepare_for(self, dt: float) -> Ints:
        self._load()
        self._core.prepare_impulses(dt, self.mass_damping, self.stiffness_damping)
        return np.arange(len(self._positions), dtype=np.int32)

    def _nodes(self, nodes: Any) -> Ints:
        n = np.asarray(nodes)
        if n.size and n.dtype.kind not in "iu":
            raise TypeError(f"nodes must be integers, not of dtype {n.dtype}")
        if n.size and not 0 <= n.min() <= n.max() < len(self._positions):
            raise ValueError(f"nodes must be those of the body, from 0 to {len(self._positions) - 1}")
        return np.ascontiguousarray(n, np.int32)

    def _points(self, nodes: Ints, weights: Floats | None) -> tuple[Ints, Floats]:
        n = self._nodes(nodes)
        if n.ndim == 1:
            n = n[:, None]
        w = np.ones(n.shape) if weights is None else np.ascontiguousarray(_checks.numbers("weights", weights))
        if n.ndim != 2 or w.shape != n.shape:
            raise ValueError(f"weights must have the shape {n.shape} of the nodes, not {w.shape}")
        return n, w

    def deformed_mesh(self) -> TetMesh:
        """Return the deformed mesh; its surface is the `boundary` of that."""
        return TetMesh(self._positions.copy(), self.model.tets)

    def __repr__(self) -> str:
        """One line: coordinates, nodes, time."""
        kind = "clamped" if self.clamped else "flying"
        return (
            f"<ReducedBody, {kind}, {self.model.size} coordinates of {len(self._positions)} nodes, {self.mass:.3g} kg, t = {self.time:g} s>"
        )


def _quaternion(r: Floats) -> Floats:
    """Return the unit quaternion (w, x, y, z), w >= 0, of a rotation (3, 3)."""
    t = r.trace()
    k = np.empty((4, 4))
    k[0, 0] = t
    k[0, 1:] = k[1:, 0] = [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]
    k[1:, 1:] = r + r.T - t * np.eye(3)
    q: Floats = np.linalg.eigh(k)[1][:, -1]
    return q if q[0] >= 0 else -q
