"""Stages of the Newmark step, for code between them: collisions, friction, strain limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.numerics.solve import ConvergenceError, SolveInfo, facts
from meniscus.solids.body import DeformableBody
from meniscus.solids.force import Tangent, unchanged
from meniscus.solids.options import Preconditioner, step_options

Floats = npt.NDArray[np.float64]


def solve_velocity(
    body: DeformableBody,
    dt: float,
    positions: Floats | None = None,
    velocities: Floats | None = None,
    *,
    elastic_dt: float = 0.0,
    tangent: Tangent = "definite",
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
    preconditioner: Preconditioner | bool = "auto",
    raise_on_failure: bool = True,
) -> tuple[Floats, SolveInfo]:
    """Return the velocities after dt seconds of backward Euler in velocities, with elastic forces at given positions.

    Solves M (v - v0) = dt (M gravity + elastic forces at x + elastic_dt K v + D v), where K is the derivative of the elastic forces and D
    the damping. Pinned nodes have no velocity, moved nodes keep the given one.

    Args:
        body: gives masses, forces and constraints; unchanged.
        dt: seconds; half a step for the stages of Newmark.
        positions: x (n, 3), m, float64; default those of the body.
        velocities: v0 (n, 3), m/s, float64; default those of the body.
        elastic_dt: time over which elastic forces are implicit, linearised, s; 0: explicit.
        tangent, tolerance, max_iterations, preconditioner, raise_on_failure: as in `DeformableBody.step`.

    Returns:
        The new velocities (n, 3), and the report of the solve.

    Raises:
        ConvergenceError: the tolerance was not met.
        TypeError, ValueError: wrong types, shapes or values.

    Source: Selle 2008, section 5.4, steps 1 and 3.
    """
    _checks.one_of_type("body", body, DeformableBody)
    options = step_options(tangent=tangent, tolerance=tolerance, max_iterations=max_iterations, preconditioner=preconditioner)
    ahead = 0.0 if elastic_dt == 0 else _checks.positive("elastic_dt", elastic_dt)
    x, v0 = _rows(body, "positions", positions), _rows(body, "velocities", velocities)
    v = np.empty_like(v0)
    with unchanged(body.force_memory):
        raw = body._core.solve_velocity(_checks.positive("dt", dt), ahead, x, v0, v, options, body._workspace)
    info = SolveInfo(**facts(raw, 0.0))
    if raise_on_failure and not info.converged:
        raise ConvergenceError(
            f"the velocity solve reached a residual of {info.residual:.1e} in {info.iterations} iterations and ended because {info.reason}",
            info,
        )
    return v, info


def advance_positions(body: DeformableBody, dt: float, velocities: Floats) -> Floats:
    """Return the positions of the body after dt seconds at given velocities (n, 3), m/s; pinned nodes stay, bit by bit.

    Raises TypeError or ValueError for wrong types, shapes or values.

    Source: Selle 2008, section 5.4, step 2.
    """
    _checks.one_of_type("body", body, DeformableBody)
    v = _rows(body, "velocities", velocities)
    x: Floats = body.positions + _checks.positive("dt", dt) * v
    stay = np.setdiff1d(body.constrained[np.abs(body._core.projections).max(axis=(1, 2), initial=0.0) == 0], body._core.moved)
    x[stay] = body.positions[stay]
    return x


def extrapolate_velocity(half: Floats, start: Floats) -> Floats:
    """Return 2 half - start: the velocities at the end of a step from those in its middle and at its start.

    Source: Selle 2008, section 5.4, step 4.
    """
    middle, first = _checks.numbers("half", half), _checks.numbers("start", start)
    if middle.shape != first.shape:
        raise ValueError(f"start must have the shape of half, {middle.shape}, not {first.shape}")
    v: Floats = 2.0 * middle - first
    return v


def commit(body: DeformableBody, dt: float, positions: Floats, velocities: Floats) -> float:
    """Make positions and velocities (n, 3) the state of the body, dt seconds later; returns the largest speed, m/s.

    Raises TypeError or ValueError for wrong types or shapes, and for values that are not finite, naming the first; then nothing has
    changed.
    """
    _checks.one_of_type("body", body, DeformableBody)
    x, v = _rows(body, "positions", positions), _rows(body, "velocities", velocities)
    speed: float = body._core.commit(_checks.positive("dt", dt), x, v, body._workspace)
    return speed


def _rows(body: DeformableBody, name: str, value: Any) -> Floats:
    if value is None:
        found: Floats = getattr(body, name)
        return found
    a = _checks.points(name, value, np.dtype(np.float64), 3)
    if len(a) != len(body):
        raise ValueError(f"{name} must have {len(body)} rows, one per node, not {len(a)}")
    return np.asarray(a, dtype=np.float64)
