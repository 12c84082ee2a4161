"""Solid of a fluid solver, sampled on the grid again whenever it has moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.fluids.pressure.projection import SolidLike, on_grid
from meniscus.fluids.pressure.solid_masks import SolidMasks
from meniscus.grid.fields import MacField
from meniscus.grid.uniform import Grid
from meniscus.surface import KinematicSolid, Shape, Solid, SolidSample


class SampledSolid:
    """What solvers need to know of a solid, or of none, during their steps; a kept sample serves as long as it says the same.

    Args:
        grid: of the solver.
        dtype: of its velocity.
        solid: anything that `project` takes, or None.
    """

    def __init__(self, grid: Grid, dtype: npt.DTypeLike, solid: SolidLike | None) -> None:
        self._grid = grid
        self._dtype = np.dtype(dtype)
        self.solid: SolidLike | None = solid
        self._sample: SolidSample | None = None
        self._sampled: tuple[Solid, float, float | None] | None = None
        self._masks: SolidMasks | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the kept sample."""
        if self._sample is None:
            return 0
        velocity = self._sample.velocity
        return self._sample.levelset.with_ghosts.nbytes + sum(velocity.component_with_ghosts(d).nbytes for d in range(self._grid.dimension))

    @property
    def moves(self) -> bool:
        """Whether it may be elsewhere at another time."""
        return isinstance(self.solid, Solid) and self.solid.moves

    def at(self, time: float, dt: float | None = None, needs_velocity: bool = False) -> Any:
        """Return the solid on the grid at a time; with `dt`, its velocity is the mean over the step that ends then.

        A kept sample serves where it says the same, so that a step does not depend on what was done before it; without `dt` and the
        need for a velocity that is one for any step.
        """
        solid = self.solid
        if isinstance(solid, Shape):
            solid = self.solid = KinematicSolid(solid)
        if not isinstance(solid, Solid):
            self._masks = None  # the owner of a level set may have changed it
            return solid
        moves = solid.moves
        if self._sample is None:
            self._sample = SolidSample(self._grid, self._dtype)
        known = self._sampled
        fits = known is not None and known[0] is solid
        if fits and moves and known is not None:
            fits = known[1] == time and (known[2] == dt or (dt is None and not needs_velocity))
        if not fits:
            self._sampled = self._masks = None
            solid.sample(self._grid, time, None if dt is None or not moves else -dt, out=self._sample)
            self._sampled = (solid, time, dt)
        return self._sample

    def speed(self, velocity: MacField, time: float) -> float:
        """Return the largest velocity component of a moving solid on its faces, m/s."""
        if not self.moves:
            return 0.0
        sample = self.at(time, needs_velocity=True)
        inside = self.masks(sample, velocity, time).inside_faces
        return max(float(np.abs(sample.velocity.component(d)).max(initial=0.0, where=where)) for d, where in enumerate(inside))

    def masks(self, solid: SolidLike, velocity: MacField, time: float) -> SolidMasks:
        """Return the masks of the solid as it was sampled last."""
        if self._masks is None:
            self._masks = SolidMasks(on_grid(solid, velocity, time)[0])
        return self._masks

    def forget(self) -> None:
        """Sample anew at the next call."""
        self._sampled = self._masks = None
