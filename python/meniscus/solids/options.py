"""Options and reports of steps of deformable bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.numerics.solve import SolveInfo, facts
from meniscus.solids.force import TANGENT, Tangent

Integrator = Literal["explicit-euler", "symplectic-euler", "rk2", "rk4", "verlet", "velocity-verlet", "newmark", "implicit-euler"]
"""Integrator of a step."""
NewmarkFinish = Literal["trapezoid", "backward-euler"]
"""Last stage of a Newmark step."""
ImplicitElasticity = Literal["explicit", "half-step", "full-step", "first-half-step", "first-full-step"]
"""Solves of a Newmark step with implicit elastic forces, and their part of the step."""
VerletForm = Literal["positions", "velocities"]
"""Form of Verlet's method."""
Preconditioner = Literal["auto", "multigrid", "blocks", "none"]
"""Preconditioner of the linear solves; True and False mean "blocks" and "none"."""

INTEGRATOR = CoreOption(Integrator, _solids.Integrator)
NEWMARK_FINISH = CoreOption(NewmarkFinish, _solids.NewmarkFinish)
IMPLICIT_ELASTICITY = CoreOption(ImplicitElasticity, _solids.ImplicitElasticity)
PRECONDITIONER = CoreOption(Preconditioner, _solids.Preconditioner)
VERLET_FORM = CoreOption(VerletForm, _solids.VerletForm)


@dataclass(frozen=True, kw_only=True)
class FrictionOptions:
    """How velocity solves of a `World` look for the friction of nodes on solids. What they find is Coulomb's law, whatever these are.

    Attributes:
        few: part of the contacts that may break the law after the last solve of a stage.
        tolerance: relative error of friction of a node that slips, above which it breaks the law.
        slack: relative force beyond the cone with which a node still sticks, so that what slips ever more slowly comes to rest.
        response: stiffness of a node that lets go, relative to that of a rigid body of what hangs together with it: a guess of its speed.
        least_speed: speed of a slipping node in the next step, relative to that in this one, at least. Speeds go on as they have changed.
        carries: mass of what hangs together, relative to that of its nodes on a solid, above which it stands on these.

    Raises:
        ValueError: a number that is not positive.

    Source: own, see `cpp/meniscus/solids/contact/row_friction.hpp`.
    """

    few: float = 0.02
    tolerance: float = 0.05
    slack: float = 0.01
    response: float = 10.0
    least_speed: float = 1 / 3
    carries: float = 1.5

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, value in vars(self).items():
            _checks.positive(name, value)


@dataclass(frozen=True)
class NewtonInfo:
    """Report of Newton's method.

    Attributes:
        iterations: linear solves.
        linear_iterations: of conjugate gradients, all together.
        halvings: number of further trials by the line search, shorter or longer.
        residual: of the momentum equation, relative to dt times the size of the forces.
        converged: whether the residual is within the tolerance, or as small as rounding errors allow.
        round_off: whether it is the latter.
    """

    iterations: int
    linear_iterations: int
    halvings: int
    residual: float
    converged: bool
    round_off: bool


@dataclass(frozen=True)
class StepInfo:
    """Report of a step.

    Attributes:
        dt: seconds.
        integrator: its name.
        solves: reports of the linear solves, in order; for Newton's method only the last one.
        newton: report of Newton's method, if it was used.
        used_definite_tangent: a tangent was indefinite, and the definite one was used instead.
        retaken: linearised forces would have gained energy in a step of Newmark's method, so that implicit Euler took it instead.
        out_of_time: the budget was used up before the tolerances were met.
        converged: whether all of this met its tolerances.
        max_speed: of the nodes at the end, m/s.
    """

    dt: float
    integrator: str
    solves: tuple[SolveInfo, ...]
    newton: NewtonInfo | None
    used_definite_tangent: bool
    retaken: bool
    out_of_time: bool
    converged: bool
    max_speed: float


@dataclass(frozen=True)
class TimeStepLimits:
    """Limits of the time step, s; infinite without a limit.

    Attributes:
        dt: the least of the others.
        cause: which one that is: "frequency", "strain", "motion" or "none".
        frequency: from the stability of the integrator with bounds of the frequencies and of the rates of damping; 0 where no step is
            stable.
        strain: from the largest change of a length in one step.
        motion: from the largest motion of moved nodes in one step.
    """

    dt: float
    cause: str
    frequency: float
    strain: float
    motion: float


def step_options(
    *,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
    preconditioner: Preconditioner | bool = "auto",
    tangent: Tangent | None = None,
    elasticity: ImplicitElasticity = "explicit",
    finish: NewmarkFinish = "trapezoid",
    form: VerletForm = "positions",
    safeguard: bool = True,
    budget: float | None = None,
    newton: bool = True,
    newton_tolerance: float = 1e-8,
    max_newton: int = 200,
    raise_on_failure: bool = True,
) -> Any:
    """Check and translate the options of a step."""
    o = _solids.StepOptions()
    o.tolerance = _checks.positive("tolerance", tolerance)
    if o.tolerance >= 1:
        raise ValueError(f"tolerance must be below 1, because it is relative to the right-hand side, not {tolerance:g}")
    o.max_iterations = _checks.integer("max_iterations", max_iterations, 1)
    if isinstance(preconditioner, bool):
        preconditioner = "blocks" if preconditioner else "none"
    o.preconditioner = PRECONDITIONER("preconditioner", preconditioner)
    if tangent is not None:
        o.tangent = o.newton_tangent = TANGENT("tangent", tangent)
    o.elasticity = IMPLICIT_ELASTICITY("elasticity", elasticity)
    o.finish = NEWMARK_FINISH("finish", finish)
    if budget is not None:
        o.budget = _checks.positive("budget", budget)
    o.safeguard = _checks.one_of_type("safeguard", safeguard, bool)
    o.verlet = VERLET_FORM("form", form)
    o.newton = _checks.one_of_type("newton", newton, bool)
    o.newton_tolerance = _checks.positive("newton_tolerance", newton_tolerance)
    o.max_newton = _checks.integer("max_newton", max_newton, 1)
    o.accept_unconverged = not _checks.one_of_type("raise_on_failure", raise_on_failure, bool)
    return o


_SHORTEST, _LONGEST = 1e-100, 1e4


def world_step(dt: float) -> float:
    """Return the length of a step of a world, s; TypeError or ValueError for one that is not positive and finite, or absurd."""
    dt = _checks.positive("dt", dt)
    if not _SHORTEST <= dt <= _LONGEST:
        raise ValueError(f"dt must be from {_SHORTEST:g} to {_LONGEST:g} s, but is {dt:g}: no contact can be solved in such steps")
    return dt


def integrator_of(name: object) -> Any:
    """Check and translate the name of an integrator."""
    return INTEGRATOR("integrator", name)


def step_info(dt: float, integrator: str, raw: Any) -> StepInfo:
    """Copy the report of a step."""
    n = raw.newton
    newton = None if n is None else NewtonInfo(n.iterations, n.linear_iterations, n.halvings, n.residual, n.converged, n.round_off)
    solves = tuple(SolveInfo(**facts(s, 0.0)) for s in raw.solves)
    return StepInfo(dt, integrator, solves, newton, raw.used_definite_tangent, raw.retaken, raw.out_of_time, raw.converged, raw.max_speed)


INTEGRATORS: tuple[str, ...] = get_args(Integrator)
