"""Markers that a particle level set has removed: droplets in the air and bubbles in the liquid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.grid import Grid, MacField, Particles
from meniscus.grid.boundary import side_names
from meniscus.surface.levelset import LevelSet
from meniscus.surface.markers.options import ParticleOptions, Removal, SprayFlight, Transfer


def none_removed(positions: npt.NDArray[Any]) -> Particles:
    """Return droplets or bubbles of the dimension and dtype of an empty array of positions."""
    return Particles(positions, velocity=np.empty_like(positions), radius=np.empty(0, positions.dtype))


def remove_escaped(
    levelset: LevelSet,
    particles: Particles,
    options: ParticleOptions,
    far_radii: tuple[float, float] | None,
    velocity: MacField,
    spray: Particles,
    bubbles: Particles,
    time: float,
    workspace: Workspace,
) -> Removal:
    """Turn markers that have escaped too far into droplets and bubbles; see `ParticleLevelSet.remove_escaped`.

    With `far_radii` the same reading of the level set gives markers that are far from the surface radii within these bounds.
    """
    o, h = options, levelset.grid.spacing
    rules = _surface.EscapeRules(
        distance=o.escaped.removal_distance,
        inside=o.escaped.spray,
        outside=o.escaped.escaped_outside != "keep",
        depth=None if o.escaped.escaped_outside != "delete" or o.escaped.max_outside_depth is None else o.escaped.max_outside_depth * h,
        removed_radius=o.removed_radius(levelset.grid.dimension) * h,
        far_radii=far_radii,
    )
    bubble_list = bubbles._core if o.escaped.escaped_outside == "bubbles" else None
    args = levelset.field._core, particles._core, rules, velocity._core, spray._core, bubble_list
    gone = _surface.remove_escaped(*args, time, workspace)
    return Removal(Transfer(*gone[:2]), Transfer(*gone[2:]))


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
