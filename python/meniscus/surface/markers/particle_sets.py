"""Checked inputs of a particle level set: its sets of particles, the velocity, the solid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.grid import MacField, NodeField, Particles
from meniscus.surface.levelset import LevelSet
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.kinematic import KinematicSolid
from meniscus.surface.shapes.solid import Solid, SolidSample

SolidOnGrid = Solid | SolidSample | Shape | NodeField | LevelSet


def no_markers(positions: npt.NDArray[Any]) -> Particles:
    """Return markers of the dimension and dtype of an empty array of positions."""
    return Particles(positions, sign=np.empty(0, np.int8), radius=np.empty(0, positions.dtype))


def none_removed(positions: npt.NDArray[Any]) -> Particles:
    """Return droplets or bubbles, likewise."""
    return Particles(positions, velocity=np.empty_like(positions), radius=np.empty(0, positions.dtype))


def columns_of(particles: Particles) -> list[npt.NDArray[Any]]:
    """Return all columns."""
    return [particles.positions, particles.ids, *(particles[n] for n in particles.columns)]


def require_velocity(velocity: MacField, levelset: LevelSet) -> None:
    """Raise TypeError or ValueError unless the velocity has the grid and dtype of the level set."""
    _checks.one_of_type("velocity", velocity, MacField)
    if velocity.grid != levelset.grid:
        raise ValueError(f"velocity must have the grid of the level set, {levelset.grid}, not {velocity.grid}")
    if velocity.dtype != levelset.dtype:
        raise TypeError(f"velocity must be of dtype {levelset.dtype} like the level set, not {velocity.dtype}")


def solid_on_grid(solid: SolidOnGrid | None, levelset: LevelSet, time: float, scratch: SolidSample | None) -> tuple[Any, Any]:
    """Return the native level set and velocity of a solid, each None where there is none; `scratch` takes the sampling of a `Solid`."""
    if solid is None:
        return None, None
    _checks.one_of_type("solid", solid, (Solid, SolidSample, Shape, NodeField, LevelSet))
    if isinstance(solid, Shape):
        solid = KinematicSolid(solid)
    if isinstance(solid, Solid):
        solid = solid.sample(levelset.grid, time, out=scratch)
    velocity = solid.velocity if isinstance(solid, SolidSample) else None
    field = solid.levelset if isinstance(solid, SolidSample) else solid.field if isinstance(solid, LevelSet) else solid
    if not isinstance(field, NodeField) or field.dtype != np.float64:
        raise TypeError("the level set of a solid must be float64 and at the nodes")
    if field.grid != levelset.grid:
        raise ValueError(f"solid must have the grid of the level set, {levelset.grid}, not {field.grid}")
    if velocity is not None and velocity.dtype != levelset.dtype:
        raise TypeError(f"the velocity of the solid must be of dtype {levelset.dtype} like the level set, not {velocity.dtype}")
    return field._core, None if velocity is None else velocity._core
