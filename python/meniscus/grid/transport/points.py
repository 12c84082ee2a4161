"""Interpolation of fields at scattered points, and advection of points by a velocity."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._options import CoreOption
from meniscus.core import Workspace
from meniscus.grid.fields import MacField, ScalarField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.advection import INTERPOLATION, TRACE, Interpolation, Trace, workspace_or_new

OutsidePoints = Literal["keep", "clamp"]

OUTSIDE_POINTS = CoreOption(OutsidePoints, _grid.OutsidePoints)


def sample(
    field: ScalarField | MacField,
    points: npt.NDArray[Any],
    *,
    interpolation: Interpolation = "linear",
    time: float = 0.0,
    out: npt.NDArray[Any] | None = None,
) -> npt.NDArray[Any]:
    """Return the values of a field at points; beyond the domain, those of the boundary conditions.

    Args:
        field: scalar field, or velocity (linear only).
        points: (n, dim), m, C-contiguous, of the dtype of the field.
        interpolation: 'linear' or 'cubic' (monotone).
        time: s, passed to boundary functions.
        out: (n,) or, for a velocity, (n, dim) to write to.

    Raises:
        TypeError, ValueError: wrong type, dtype, shape or order; points that are not finite; cubic interpolation of a velocity.
    """
    _checks.one_of_type("field", field, (ScalarField, MacField))
    x = _checks.points("points", points, field.dtype, field.grid.dimension)
    _checks.choice("interpolation", interpolation, Interpolation)
    t = _checks.number("time", time)
    shape = x.shape if isinstance(field, MacField) else x.shape[:1]
    if out is None:
        out = np.empty(shape, field.dtype)
    elif not isinstance(out, np.ndarray) or out.dtype != field.dtype or out.shape != shape or not out.flags.c_contiguous:
        raise TypeError(f"out must be a C-contiguous {field.dtype} array of shape {shape}")
    if isinstance(field, MacField):
        if interpolation != "linear":
            raise ValueError("a velocity is sampled with interpolation='linear'")
        _grid.sample_velocity(field._core, x, t, out)
    else:
        _grid.sample(field._core, x, INTERPOLATION("interpolation", interpolation), t, out)
    return out


def trace(
    points: npt.NDArray[Any] | Particles,
    velocity: MacField,
    dt: float,
    *,
    method: Trace = "rk3",
    outside: OutsidePoints = "clamp",
    time: float = 0.0,
    workspace: Workspace | None = None,
) -> None:
    """Move points along a velocity for dt seconds (of either sign), in place.

    On periodic axes the points are wrapped into the domain. Nothing moves if anything is raised.

    Args:
        points: (n, dim), m, C-contiguous, of the dtype of the velocity; or `Particles`.
        velocity: frozen during the step.
        dt: seconds.
        method: 'euler', 'midpoint' (RK2) or 'rk3' (Ralston's).
        outside: 'clamp' points to the domain, or 'keep' them where they go.
        time: s, passed to boundary functions.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: wrong type, dtype, shape or order; unknown option; points or velocities that are not finite.

    Source: Selle 2008, section 2.3; Ralston, "Runge-Kutta methods with minimum error bounds", 1962.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    positions = points.positions if isinstance(points, Particles) else points
    x = _checks.points("points", positions, velocity.dtype, velocity.grid.dimension, writable=True)
    _grid.advance_points(
        velocity._core,
        x,
        _checks.number("dt", dt),
        TRACE("method", method),
        OUTSIDE_POINTS("outside", outside),
        _checks.number("time", time),
        workspace_or_new(workspace),
    )
