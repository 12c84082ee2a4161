"""Markers that a particle level set has removed: droplets in the air and bubbles in the liquid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.grid import Grid, Particles
from meniscus.grid.boundary import side_names
from meniscus.surface.levelset import LevelSet
from meniscus.surface.markers.options import ParticleOptions, SprayFlight, Transfer


def none_removed(positions: npt.NDArray[Any]) -> Particles:
    """Return droplets or bubbles of the dimension and dtype of an empty array of positions."""
    return Particles(positions, velocity=np.empty_like(positions), radius=np.empty(0, positions.dtype))


def escape_rules(options: ParticleOptions, grid: Grid, far_radii: tuple[float, float] | None) -> _surface.EscapeRules:
    """Return which markers escape, as the core takes it; with `far_radii`, m, the others that are far get radii within these bounds."""
    escaped, h = options.escaped, grid.spacing
    return _surface.EscapeRules(
        distance=escaped.removal_distance,
        inside=escaped.spray,
        outside=escaped.escaped_outside != "keep",
        depth=None if escaped.escaped_outside != "delete" or escaped.max_outside_depth is None else escaped.max_outside_depth * h,
        removed_radius=options.removed_radius(grid.dimension) * h,
        far_radii=far_radii,
    )


def fly(
    spray: Particles,
    grid: Grid,
    dt: float,
    gravity: Sequence[float],
    solid: Any,
    drag_and_restitution: tuple[float, float],
    open_sides: Sequence[str],
    end: float,
    workspace: Workspace,
) -> SprayFlight:
    """Move droplets around a solid of the core; see `ParticleLevelSet.advance_spray`."""
    sides = side_names(grid.dimension)
    for side in open_sides:
        if side not in sides:
            raise ValueError(f"open_sides must be of {', '.join(map(repr, sides))}, not {side!r}")
    is_open = [side in open_sides for side in sides]
    fall = _checks.vector("gravity", gravity, grid.dimension)
    drag, restitution = (_checks.number(name, value) for name, value in zip(("drag", "restitution"), drag_and_restitution, strict=True))
    left, left_volume, lost, lost_volume, hits = _surface.advance_spray(
        grid._core, spray._core, dt, fall, drag, restitution, is_open, solid, spray.positions.dtype, end, workspace
    )
    return SprayFlight(Transfer(left, left_volume), Transfer(lost, lost_volume), hits)


def rejoin(
    levelset: LevelSet,
    removed: Particles,
    sign: int,
    particles: Particles,
    velocity: Any,
    fraction: float,
    radii: tuple[float, float],
    scale: float,
    deposit: Any,
    time: float,
    workspace: Workspace,
) -> Any:
    """Turn droplets (sign -1) or bubbles (1) into markers again; return their number, volume and momentum."""
    args = levelset.field._core, removed._core, sign, particles._core, fraction, radii, velocity, scale
    return _surface.reincorporate(*args, deposit, time, workspace)
