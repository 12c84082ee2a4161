"""Particles near thin walls, taken out of their set for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import coupling as _coupling
from meniscus.core import Workspace
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.grid import Particles

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

BEGIN = "begin"
"""Column of particles that are followed through a step; others have none."""


def near_walls(walls: ShellWalls, positions: npt.NDArray[Any], reach: int) -> Bools:
    """Return which points (n, dim), m, lie in cells no more than `reach` cells from a wall; outside of the domain, in the nearest cell."""
    core: Any = _coupling
    near: Bools = core.mark_near_walls(walls._core, positions, reach)
    return near


@dataclass
class NearParticles:
    """Particles that were taken out of a set.

    Attributes:
        positions: (n, dim), m, float64.
        ids: (n,), which they keep.
        columns: the others of the set, by name.
    """

    positions: Floats
    ids: npt.NDArray[np.int64]
    columns: dict[str, npt.NDArray[Any]]

    @classmethod
    def taken(cls, particles: Particles, mask: Bools, workspace: Workspace) -> NearParticles:
        """Take the particles of a mask out of their set."""
        columns = {name: np.array(particles[name][mask]) for name in particles.columns}
        result = cls(np.array(particles.positions[mask], np.float64), np.array(particles.ids[mask]), columns)
        if mask.any():
            particles.remove(mask, workspace=workspace)
        return result

    def __len__(self) -> int:
        """Return their number."""
        return len(self.positions)

    def kept(self, mask: Bools) -> NearParticles:
        """Return those of a mask."""
        return NearParticles(self.positions[mask], self.ids[mask], {name: values[mask] for name, values in self.columns.items()})

    @property
    def followed(self) -> dict[str, Any]:
        """The column that tells where particles come from, if there is one."""
        return {BEGIN: self.columns[BEGIN]} if BEGIN in self.columns else {}

    def joined(self, others: NearParticles) -> NearParticles:
        """Return these and others of the same set."""
        columns = {name: np.concatenate([values, others.columns[name]]) for name, values in self.columns.items()}
        ids = np.concatenate([self.ids, others.ids])
        return NearParticles(np.concatenate([self.positions, others.positions]), ids, columns)

    def put_back(self, particles: Particles) -> None:
        """Append them to the set from which they were taken, with the ids that they had."""
        if len(self):
            columns: dict[str, Any] = self.columns
            particles.append_back(self.positions.astype(particles.positions.dtype), self.ids, **columns)
