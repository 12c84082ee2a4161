"""Solid of a fluid solver, sampled on the grid again whenever it has moved."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.core.memory import MemoryOwner
from meniscus.grid.boundary import Slip
from meniscus.grid.uniform import Grid
from meniscus.surface import KinematicSolid, Shape, Solid, SolidBoundary, SolidSample
from meniscus.surface.shapes.solid_boundary import SolidLike, solid_boundary


class SampledSolid(MemoryOwner):
    """Boundary of a solid, or of none, for the stages of a solver; its sample is reused as long as it is valid.

    Args:
        grid: of the solver.
        dtype: of its velocity.
        solid: anything that `project` takes, or None.
        slip: condition of the flow at the solid.
    """

    borrowed: ClassVar[tuple[str, ...]] = ("_solid", "_sampled", "_described")

    def __init__(self, grid: Grid, dtype: npt.DTypeLike, solid: SolidLike | None, slip: Slip) -> None:
        self._grid = grid
        self._dtype = np.dtype(dtype)
        self._slip: Slip = slip
        self._sample: SolidSample | None = None
        self._sampled: tuple[Solid, float, float | None] | None = None
        self._boundary: SolidBoundary | None = None
        self._described: SolidLike | None = None
        self.solid = solid

    @property
    def solid(self) -> SolidLike | None:
        """The solid; may be set. Raises TypeError or ValueError for what is no solid, and for one on another grid; nothing changes."""
        return self._solid

    @solid.setter
    def solid(self, value: SolidLike | None) -> None:
        if not isinstance(value, (Shape, Solid)):
            self._describe(value, 0.0)
        self._solid = value

    @property
    def moves(self) -> bool:
        """Whether the solid may move."""
        return isinstance(self.solid, Solid) and self.solid.moves

    def at(self, time: float, dt: float | None = None, needs_velocity: bool = False) -> SolidBoundary | None:
        """Return the boundary at a time; with `dt`, its velocity is the mean over the step that ends then. It is the same object each time.

        The stored sample is reused if it is equivalent, so that a step does not depend on earlier calls; without `dt`, and if no velocity
        is needed, that is one of any step.
        """
        solid = self._solid
        if isinstance(solid, Shape):
            solid = self._solid = KinematicSolid(solid)
        if not isinstance(solid, Solid):
            return self._describe(solid, time)
        moves = solid.moves
        if self._sample is None:
            self._sample = SolidSample(self._grid, self._dtype)
        known = self._sampled
        fits = known is not None and known[0] is solid
        if fits and moves and known is not None:
            fits = known[1] == time and (known[2] == dt or (dt is None and not needs_velocity))
        if not fits:
            self._sampled = None
            solid.sample(self._grid, time, None if dt is None or not moves else -dt, out=self._sample)
            self._sampled = (solid, time, dt)
            if self._boundary is not None:
                self._boundary.levelset_changed()
        return self._described_sample()

    def max_speed(self, time: float) -> float:
        """Return the largest velocity component of a moving solid on its faces, m/s."""
        boundary = self.at(time, needs_velocity=True) if self.moves else None
        return 0.0 if boundary is None else boundary.max_speed()

    def forget(self) -> None:
        """Drop the sample, so that the next call makes a new one."""
        self._sampled = None
        if self._boundary is not None:
            self._boundary.levelset_changed()

    def _described_sample(self) -> SolidBoundary | None:
        if self._described is not self._sample:
            self._boundary, self._described = solid_boundary(self._sample, self._grid, self._dtype, 0.0, self._slip), self._sample
        return self._boundary

    def _describe(self, solid: SolidLike | None, time: float) -> SolidBoundary | None:
        """Describe a solid whose fields somebody else owns and may have changed."""
        # The copy of a velocity of another dtype is renewed, as its owner may have changed it.
        copied = isinstance(solid, (SolidSample, SolidBoundary)) and solid.velocity is not None and solid.velocity.dtype != self._dtype
        if self._described is not solid or copied:
            self._boundary, self._described = solid_boundary(solid, self._grid, self._dtype, time, self._slip), solid
        if self._boundary is not None:
            self._boundary.levelset_changed()
        return self._boundary
