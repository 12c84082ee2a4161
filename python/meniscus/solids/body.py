"""Deformable bodies."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core import Workspace
from meniscus.core.advancing import LONGEST, OnStep, advance_in_steps
from meniscus.core.memory import held_bytes
from meniscus.core.state import Arguments
from meniscus.core.stateful import Stateful, exclusively
from meniscus.mesh.any_mesh import own_mesh
from meniscus.numerics.solve import ConvergenceError
from meniscus.solids.constraints import NodeConstraints, Path
from meniscus.solids.force import Force, unchanged
from meniscus.solids.options import (
    IMPLICIT_ELASTICITY,
    NEWMARK_FINISH,
    ImplicitElasticity,
    Integrator,
    NewmarkFinish,
    StepInfo,
    TimeStepLimits,
    integrator_of,
    step_info,
    step_options,
)
from meniscus.solids.previous_positions import PreviousPositions
from meniscus.solids.remeshing import BodyRemesher

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_Self = TypeVar("_Self", bound="DeformableBody")
_Force = TypeVar("_Force", bound=Force)


class DeformableBody(NodeConstraints, Stateful):
    """Nodes with positions, velocities and masses, the forces between them, and their constraints.

    `step` is transactional: an error, a failed solve or Ctrl-C leaves the body and the memory of its forces unchanged. A node of infinite
    mass keeps its velocity, whatever acts on it.

    The state is positions, velocities, time, the previous positions of Verlet's method, and the memory of forces: the directions that
    springs keep, and the wind of the last step. Masses, gravity, forces and constraints are the set-up: copies and pickles have them,
    snapshots do not. A copy has forces of its own.

    Args:
        mesh: a mesh, also one of trimesh, meshio or PyVista; or anything with `vertices` and, unless `masses` are given,
            `node_masses(density)`; or positions (n, 3), m, float64. Copied.
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
        mesh = own_mesh(mesh)
        x = mesh if isinstance(mesh, np.ndarray) else getattr(mesh, "vertices", None)
        if x is None:
            raise TypeError(f"mesh must be a mesh or an array of positions, not {type(mesh).__name__}")
        x = np.ascontiguousarray(_checks.points("mesh", np.asarray(x), np.dtype(np.float64), 3))
        if masses is not None:
            if density is not None:
                raise ValueError("give either density or masses, not both")
            m = np.asarray(masses)
            if m.ndim == 0:
                m = np.full(len(x), math.inf if masses == math.inf else _checks.positive("masses", masses))
            if m.dtype != np.float64:
                raise TypeError(f"masses must be of dtype float64, not {m.dtype}")
            if m.shape != (len(x),):
                raise ValueError(f"masses must have shape ({len(x)},), not {m.shape}")
        else:
            if not hasattr(mesh, "node_masses"):
                raise ValueError("an array of positions has no density; give masses")
            m = mesh.node_masses(1000.0 if density is None else density)
        self._core = _solids.DeformableBody(x, np.ascontiguousarray(m, dtype=np.float64))
        self._elements = elements_of(mesh)
        self._workspace = Workspace()
        self._forces: list[Any] = []
        self._paths: list[tuple[npt.NDArray[np.int32], Path]] = []
        self._targets: dict[int, Floats] = {}
        self.report: StepInfo | None = None
        self._made_with = ((), {})  # a copy is made of positions and masses, so that the mesh need not be kept
        for name in ("positions", "velocities", "time", "force_memory"):
            self.declare(name, getattr(self, name))
        self.previous = self.declare("previous", PreviousPositions(self._core))
        if gravity is not None:
            self.gravity = gravity

    generation = 0
    """How often the mesh of the body has become another one."""

    remesher: BodyRemesher | None = None
    """What changes the mesh of the body between loops of its world; None for most bodies."""

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
        """Seconds; assignable between steps."""
        return self._core.time

    @time.setter
    def time(self, value: float) -> None:
        self._core.time = _checks.number("time", value)

    @property
    def force_memory(self) -> list[Floats]:
        """The memory of forces from step to step, of those that have any: writable views."""
        return [memory for memory in (_memory(force) for force in self._forces) if memory.size]

    @property
    def nbytes(self) -> int:
        """Bytes of the state and of scratch memory; without the forces."""
        return int(self._core.nbytes) + int(self._workspace.nbytes) + held_bytes(self._backups)

    @property
    def elements(self) -> Ints | None:
        """The segments, triangles or tetrahedra of the mesh (m, 2 | 3 | 4), if the body was made from one with these; the mesh's array."""
        return self._elements

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
    def forces(self) -> tuple[Force, ...]:
        """The forces, in the order in which they were added."""
        return tuple(self._forces)

    @exclusively
    def add(self, force: _Force) -> _Force:
        """Let a force act on the nodes; returns it.

        Raises:
            TypeError: no force.
            ValueError: it acts on nodes outside of the body, or was added before.
        """
        self._core.add(_force_core(force))
        self._forces.append(force)
        return force

    @exclusively
    def remove(self, force: Force) -> None:
        """Remove a force. Raises ValueError for one that was not added."""
        self._core.remove(_force_core(force))
        self._forces = [f for f in self._forces if f is not force]

    @exclusively
    def forces_at_nodes(self) -> Floats:
        """Return the sum of all forces except gravity on the nodes (n, 3), N."""
        out = np.empty((len(self), 3))
        with unchanged(self.force_memory):
            self._core.forces_at(self.positions, self.velocities, out)
        return out

    # --- time ----------------------------------------------------------------------------------------------------------------

    def step(self, dt: float, integrator: Integrator = "newmark", **options: Any) -> StepInfo:
        """Advance by dt seconds.

        Args:
            dt: seconds, positive.
            integrator: "newmark": elastic forces explicit, damping implicit, second order, stable for frequencies below 2 / dt, and refused
                beyond; with `elasticity` linearised elastic forces are implicit too. "implicit-euler": first order, damps, stable for any
                step. "explicit-euler", "rk2" (neither is stable without damping), "symplectic-euler": order 1, 2 and 1. "rk4":
                Runge-Kutta of order 4. "verlet": from two positions, order 2 in positions; the velocities are those in the middle of the
                last step. "velocity-verlet": order 2 in both. `limits` has the longest stable steps of these, with damping.
            **options: as listed below.

        Options of all linear solves are `tolerance`, relative to the right-hand side, in velocities weighted by mass (1e-6),
        `max_iterations` (1000), `preconditioner`, and `raise_on_failure`: raise if a tolerance is not met, else accept the result (True).
        The preconditioner is "blocks", the 3 x 3 diagonal blocks; "multigrid", for bodies of springs, with the diagonal blocks of all
        other forces; "none"; or "auto": multigrid for systems of Newmark's method with 2000 nodes and more, where springs join any, else
        blocks. `budget` is the wall-clock time for the solves of the step, s (None: no limit):
        once it is used up they end where they are, which is accepted and reported as `out_of_time`; a budget that is not used up changes
        no bit.

        `tangent` is the linearisation of implicit elastic forces: "definite", "exact" (with "definite" where that is indefinite), or
        "frozen": directions and rotations stay, as printed; forces across springs, such as the tension of a hanging body, are then
        explicit. The default is "exact" for Newton's method, which then converges quadratically, and "definite" for a single linear solve.

        Options of Newmark: `elasticity`: "explicit" (default); "full-step": implicit over dt, which damps most and is the one for long
        steps; "half-step": implicit over dt / 2; "first-half-step": only in the solve for positions, over dt / 2, which is the trapezoidal
        rule and keeps the energy of linear systems; "first-full-step": likewise over dt, which keeps another quantity than the energy.
        `finish`: "trapezoid" (default) or "backward-euler".

        `safeguard` (True): these variants are stable for linear systems (see `docs/steps_of_bodies.md`), but a spring that turns by an
        angle a in a step is stretched by a^2 / 2 against its whole stiffness. A step with implicit elasticity that gained energy beyond the
        work of gravity, moved nodes and other forces is therefore taken once more, by implicit Euler with up to 20 times `max_newton`
        iterations (`max_newton` without `raise_on_failure`), and reported as `retaken`; the two variants that keep energy first give back
        gains of up to 1 %. With all variants and tangents, steps of any length are stable then. Explicit elasticity, and "first-half-step"
        that ends with backward Euler, are refused beyond their limit. False: the bare methods.

        Option of Verlet: `form`: "positions" (default), or "velocities", the printed start, which is of first order.

        Options of implicit Euler: `newton`: solve the nonlinear equations (default), or linearise once; `newton_tolerance` of the residual,
        relative to dt times the forces (1e-8; rounding errors of positions end the iteration as well); `max_newton` iterations (200).
        Newton's method minimises the potential of the step, of which damping, normals in the wind, the weights of bending by Bridson et
        al. and the ends of altitude springs are those at the start of the step; drag is that of the new velocities. Its linear solves
        are looser than `tolerance` while far from the solution. Energy does not grow, unless wind or moved nodes do work, inverted or
        buckling elements snap, or altitude springs change from one altitude to another.

        Returns:
            The report of the step; also stored as `report`.

        Raises:
            ConvergenceError: a solve failed; nothing has changed.
            TypeError, ValueError: dt not positive, or beyond the stability limit of explicit elasticity; unknown options, or a value that
                is not finite, before or after the step; nothing has changed.

        Source: Selle 2008, sections 5.4 and 5.5; Müller et al. 2008, chapter 3.
        """
        dt = _checks.positive("dt", dt)
        kind = integrator_of(integrator)
        chosen = step_options(**options)
        with self.transaction(("force_memory",)):
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

    @exclusively
    def limits(
        self,
        integrator: Integrator = "newmark",
        *,
        elasticity: ImplicitElasticity = "explicit",
        finish: NewmarkFinish = "trapezoid",
        cfl: float = 0.9,
        max_strain: float = 0.1,
        max_motion: float = math.inf,
    ) -> TimeStepLimits:
        """Return the limits of the step at the present positions and velocities, and the cause of the smallest.

        The limit of stability is that of x'' = -K x - D x', with bounds w of the highest frequency and c of the greatest rate of damping
        (the force per mass and velocity): dt^2 w^2 + 2 dt c = 4 for symplectic Euler and both forms of Verlet (of velocity Verlet with its
        predicted velocities too); dt w = 2 for Newmark's method with explicit elasticity and implicit damping, or 2^0.5 if it ends with
        backward Euler; the region of stability, which reaches to dt w = 8^0.5 without damping and to dt c = 2.785 without elasticity, for
        rk4. Explicit Euler and rk2 are never stable without damping: their limit is 0 unless every oscillation is damped, and for damping
        c = b w^2 in proportion to the stiffness it is near b for explicit Euler, 2 / c at most. Tension damps nothing across a spring, so
        that a stretched net has no stable step with these two.

        Args:
            integrator: integrator whose stability counts; implicit Euler has no limit.
            elasticity: of Newmark, as in `step`; only "explicit", and "first-half-step" with `finish` "backward-euler", have a limit.
            finish: of Newmark, as in `step`.
            cfl: fraction of the stability limit; frequencies and rates are upper bounds, so 1 is safe for linear springs.
            max_strain: largest change of a length in one step, relative to its rest length.
            max_motion: largest motion of moved nodes in one step, m, at their present speed.

        Raises:
            TypeError, ValueError: wrong types or values.

        Source: Selle 2008, section 7.6; limits of the integrators: own, see `docs/steps_of_bodies.md`.
        """
        kind = integrator_of(integrator)
        of_newmark = _solids.newmark_stability(IMPLICIT_ELASTICITY("elasticity", elasticity), NEWMARK_FINISH("finish", finish))
        cfl, strain = _checks.positive("cfl", cfl), _checks.positive("max_strain", max_strain)
        stable, rate = self._core.time_step_limits(kind, self._workspace)
        if integrator == "newmark":
            stable *= 0.5 * of_newmark
        limits = {"frequency": cfl * stable, "strain": strain / rate if rate > 0 else math.inf, "motion": math.inf}
        if not (isinstance(max_motion, float) and max_motion == math.inf):
            speed = np.linalg.norm(self._moved_velocities(), axis=1).max(initial=0.0)
            limits["motion"] = _checks.positive("max_motion", max_motion) / speed if speed > 0 else math.inf
        cause = min(limits, key=lambda name: limits[name])
        dt = limits[cause]
        return TimeStepLimits(dt, cause if dt < math.inf else "none", **limits)

    def max_dt(self, integrator: Integrator = "newmark", **options: Any) -> float:
        """Return the longest step (s) that `limits` allows; infinite where there is no limit, 0 where no step is stable.

        Options and errors as there.
        """
        return self.limits(integrator, **options).dt

    def advance(self, duration: float, on_step: OnStep | None = None, *, longest: float = LONGEST, **options: Any) -> list[StepInfo]:
        """Advance by a duration (s) in equal steps of at most `longest` and `max_dt`, with options of `step`; return their reports."""
        limiting, most = (
            {k: options[k] for k in ("integrator", "elasticity", "finish") if k in options},
            _checks.positive("longest", longest),
        )
        return advance_in_steps(self, duration, on_step, lambda: min(most, self.max_dt(**limiting)), lambda h: self.step(h, **options))

    # --- snapshots and copies ------------------------------------------------------------------------------------------------

    def copy(self: _Self) -> _Self:
        """Return an independent body in the same state, with copies of the forces and the same constraints."""
        arguments, named = self._arguments()
        setup = {**self._setup, "forces": [copy.copy(force) for force in self._forces]}
        return self._duplicate(arguments, named, {"gravity": self.gravity, "_setup": setup})

    def __repr__(self) -> str:
        """One line: nodes, forces, constraints, time."""
        names = ", ".join(type(f).__name__ for f in self._forces) or "no forces"
        return f"<{type(self).__name__} {len(self)} nodes, {len(self.constrained)} constrained, {names}, t = {self.time:g} s>"

    # --- internals -----------------------------------------------------------------------------------------------------------

    settings = ("gravity", "_setup")

    def _arguments(self) -> Arguments:
        return (self.positions.copy(),), {"masses": self.masses.copy()}

    @property
    def _setup(self) -> dict[str, Any]:
        """Forces and constraints."""
        sliding, normals = self._core.sliding()
        holds = {"constrained": self._core.constrained, "moved": self._core.moved, "sliding": sliding, "normals": normals}
        own = {"forces": list(self._forces), "paths": list(self._paths), "targets": dict(self._targets)}
        return {**own, **holds, "elements": self._elements}

    @_setup.setter
    def _setup(self, setup: Mapping[str, Any]) -> None:
        for force in setup["forces"]:
            self.add(force)
        self._elements = setup["elements"]
        self._paths, self._targets = setup["paths"], setup["targets"]
        self._core.fix(np.setdiff1d(setup["constrained"], np.union1d(setup["moved"], setup["sliding"])).astype(np.int32))
        self._core.move(setup["moved"])
        self._core.restore_sliding(setup["sliding"], setup["normals"])


def elements_of(mesh: Any) -> Ints | None:
    """Return the segments, triangles or tetrahedra of a mesh; None for what has none, or others."""
    elements = getattr(mesh, "elements", None)
    simple = isinstance(elements, np.ndarray) and elements.ndim == 2 and elements.shape[1] in (2, 3, 4)
    return elements if simple else None


def _memory(force: Any) -> Floats:
    """Return what a force remembers; forces written in Python may have more than the compiled one."""
    memory: Floats = force.memory if isinstance(force, Force) else _force_core(force).memory
    return memory


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
