"""Faces next to a particle liquid: values transferred from the particles, and their extension."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import grid as _grid
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.particles.transfer import particles_to_grid
from meniscus.fluids.stages import extend_into_solid
from meniscus.grid.fields import MacField, component_shapes
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.extrapolation import extrapolate
from meniscus.surface import LevelSet, SolidBoundary

Bools = npt.NDArray[np.bool_]

_LAYERS = 2  # of faces without particles nearby


class ParticleFaces(MemoryOwner):
    """Masks of the faces of one velocity, one array per axis."""

    def __init__(self, velocity: MacField) -> None:
        shapes = component_shapes(velocity.grid)
        self._given: list[Bools] = [np.zeros(s, bool) for s in shapes]
        self._liquid: list[Bools] = [np.zeros(s, bool) for s in shapes]

    def from_particles(
        self, particles: Particles, velocity: MacField, workspace: Workspace, levelset: LevelSet | None = None, shells: Any = None
    ) -> None:
        """Set the velocity to that of the particles, and extend it to liquid faces without particles nearby.

        `shells`: what does so beside thin walls, in the order of the level set.
        """
        particles_to_grid(particles, velocity, known=self._given, workspace=workspace)
        if shells is None:
            extrapolate(velocity, self._given, layers=_LAYERS, out=self._given, workspace=workspace)
            return
        assert levelset is not None
        shells.faces_from_particles(particles, velocity, self._given)
        for own, given in zip(self._liquid, self._given, strict=True):
            own[...] = given
        extrapolate(velocity, self._given, layers=_LAYERS, out=self._given, workspace=workspace)
        shells.extend(velocity, levelset, self._liquid, self._given, _LAYERS)
        shells.fill_blocked_faces(velocity, self._liquid)

    def extend(
        self,
        velocity: MacField,
        before: MacField | None,
        levelset: LevelSet,
        solid: SolidBoundary | None,
        band: int,
        workspace: Workspace,
        shells: Any = None,
    ) -> None:
        """Extend velocities from the liquid faces into `band` cells of air, then into the solid; elsewhere they become zero.

        Without free slip, faces in the solid get its velocity. `shells`: what extends beside thin walls; faces between cells that they
        keep apart stay as they are.
        """
        liquid = mark_open_faces(levelset, solid, self._liquid)
        for field in (velocity, before):
            if field is None:
                continue
            blocked = None if shells is None else shells.blocked_values(field)
            known = extrapolate(field, liquid, layers=band, out=self._given, workspace=workspace)
            if shells is not None:
                shells.extend(field, levelset, liquid, known, band)
            extend_into_solid(field, known, solid, workspace)
            if shells is not None:
                shells.set_blocked(field, blocked)
        if solid is not None:
            solid.set_solid_velocity(velocity)


def mark_open_faces(levelset: LevelSet, solid: SolidBoundary | None, out: list[Bools]) -> list[Bools]:
    """Set masks to the faces beside liquid that are not in a solid entirely, and return them."""
    _fluids.liquid_faces(levelset.field._core, out)
    if solid is not None:
        _grid.select_masks(out, solid.open_faces, True, out)
    return out
