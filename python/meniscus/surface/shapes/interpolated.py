"""Interpolation of level sets of animated bodies between stored frames."""

from __future__ import annotations

from typing import Literal

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._options import CoreOption
from meniscus.grid import MacField
from meniscus.grid.transport.advection import INTERPOLATION, Interpolation
from meniscus.surface.levelset import LevelSet

BlendMethod = Literal["two-sided", "one-sided", "linear"]

BLEND_METHOD = CoreOption(BlendMethod, _surface.BlendMethod)


def interpolate_levelsets(
    phi0: LevelSet,
    phi1: LevelSet,
    velocity0: MacField | None,
    velocity1: MacField | None,
    dt: float,
    alpha: float,
    *,
    method: BlendMethod = "two-sided",
    interpolation: Interpolation = "linear",
    out: LevelSet | None = None,
) -> LevelSet:
    """Return the level set of a moving body at part `alpha` of the time from one stored frame to the next.

    With v the mean of both velocities at x, 'two-sided' is (1 - alpha) phi0(x - alpha dt v) + alpha phi1(x + (1 - alpha) dt v): exact for a
    body that moves without rotation, except for the interpolation on the grid; in error by O((omega dt)^2) for one that rotates; and equal
    to the stored frames in every bit at alpha 0 and 1. The velocities must be known around the body as far as it moves and beyond, so those
    of a deforming body have to be extended first.

    Args:
        phi0, phi1: level sets of the two frames on the same samples, m.
        velocity0, velocity1: of the body in each frame, on the grid of phi0, m/s; None for a velocity that the method does not use.
        dt: s, from frame to frame.
        alpha: from 0 (phi0) to 1 (phi1).
        method: 'two-sided', or for comparison: 'one-sided' phi0(x - alpha dt velocity0), which jumps when the next frame comes; 'linear'
            (1 - alpha) phi0 + alpha phi1, in which a body that moves farther than its size vanishes.
        interpolation: of the stored level sets, 'linear' or 'cubic'.
        out: a level set like phi0 to fill and return.

    Raises:
        TypeError, ValueError: level sets on different samples or of different dtypes, missing velocities, alpha outside of [0, 1].

    Source: Selle 2008, section 7.5.1; one-sided: Kim and Ko 2006 as described there.
    """
    for name, phi in {"phi0": phi0, "phi1": phi1, "out": out}.items():
        if phi is None:
            continue
        _checks.one_of_type(name, phi, LevelSet)
        if phi.dtype != phi0.dtype:
            raise TypeError(f"{name} must be of dtype {phi0.dtype}, not {phi.dtype}")
        if (phi.grid, phi.location) != (phi0.grid, phi0.location):
            raise ValueError(f"{name} must have the samples of phi0")
    blend = BLEND_METHOD("method", method)
    used = {"two-sided": 2, "one-sided": 1, "linear": 0}[method]
    velocities = [velocity0, velocity1]
    for name, velocity in list(zip(("velocity0", "velocity1"), velocities, strict=True))[:used]:
        v = _checks.one_of_type(name, velocity, MacField)
        if v.dtype != phi0.dtype:
            raise TypeError(f"{name} must be of dtype {phi0.dtype}, not {v.dtype}")
    first = None if used == 0 or velocity0 is None else velocity0._core
    second = velocity1._core if used == 2 and velocity1 is not None else first
    target = LevelSet(phi0.grid, phi0.location, phi0.dtype) if out is None else out
    _surface.blend_level_sets(
        phi0.field._core,
        phi1.field._core,
        first,
        second,
        _checks.positive("dt", dt),
        _checks.number("alpha", alpha),
        blend,
        INTERPOLATION("interpolation", interpolation),
        target.field._core,
    )
    return target
