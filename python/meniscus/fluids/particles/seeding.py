"""Regions of liquid particles: seeding, giving velocities, removal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus._types import AnyLiquidRegion
from meniscus.core import Workspace
from meniscus.grid.fields import CellField, NodeField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.uniform import Grid
from meniscus.surface import Pose, Shape


def liquid_region(region: Shape, grid: Grid, pose: Pose | None = None) -> AnyLiquidRegion:
    """Return a shape under a pose, with its images on periodic axes, as the core wants it."""
    where = Pose((0.0,) * grid.dimension) if pose is None else pose
    return _fluids.new_liquid_region(region._core, where.rotation, where.translation, grid._core)


def append_of_all_ranks(particles: Particles, new: Particles, names: npt.NDArray[np.int64], grid: Grid) -> int:
    """Append particles that each rank has made, with the same columns, in the order of their names, however ranks share them; return the
    number of all. Collective."""
    rows = {name: np.array(new[name]) for name in particles.columns}
    everywhere = grid.comm.gather((names, np.array(new.positions), rows))
    order = np.argsort(np.concatenate([k for k, _, _ in everywhere]), kind="stable")
    if len(order):
        values = {name: np.concatenate([c[name] for _, _, c in everywhere])[order] for name in particles.columns}
        particles.append(np.concatenate([x for _, x, _ in everywhere])[order], replicated=True, grid=grid, **values)
    return len(order)


class ParticleSeeder:
    """Fills regions with a given number of particles per cell, one in each part of a cell.

    The cells are those of the grid, moved by an offset. If the offset moves with the liquid of a source, new particles line up with those
    emitted before, and their number matches those that the flow has carried away. The position of a particle in its part depends on the
    cell alone.

    Args:
        grid: of the solver.
        per_cell: particles in a full cell.
        jitter: how far a particle may be from the middle of its part, relative; where cells have no even parts, particles are anywhere.
        seed: of the random numbers.
    """

    def __init__(self, grid: Grid, per_cell: int, jitter: float, seed: int) -> None:
        self._zero = (0.0,) * grid.dimension
        self._pattern = (per_cell, jitter, seed)

    def fill(
        self,
        particles: Particles,
        phi: CellField,
        region: AnyLiquidRegion | None,
        solid: NodeField | None,
        workspace: Workspace,
        *,
        offset: Sequence[float] | None = None,
        velocity: Sequence[float] | None = None,
    ) -> int:
        """Fill a region outside of a solid with particles; return the number of new ones.

        Args:
            particles: get the new ones.
            phi: the region, <= 0 inside, a distance near its surface or a bound of it.
            region: the same exactly, as `liquid_region` has it; None: phi itself, interpolated linearly.
            solid: level set on nodes; none are put where it is <= 0.
            workspace: scratch memory to reuse.
            offset: of the cells to fill, m; default none.
            velocity: of the new particles, m/s; default zero.
        """
        core = _fluids.seed_liquid if region is None else region.seed
        moved, speed = (self._zero if v is None else tuple(v) for v in (offset, velocity))
        return int(core(particles._core, phi._core, *self._pattern, moved, speed, None if solid is None else solid._core, workspace))
