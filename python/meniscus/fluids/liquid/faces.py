"""Faces of the grid next to liquid, and the velocity around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.fluids.pressure.projection import PressureSolver, project
from meniscus.grid.fields import MacField, component_shapes
from meniscus.grid.transport.extrapolation import extrapolate
from meniscus.surface import LevelSet, SolidBoundary, extend_velocity

Bools = npt.NDArray[np.bool_]
_BALANCED = 2.5  # cells of air that are made divergence-free
_BALANCE_TOLERANCE = 1e-4
_LAYERS = 4  # as far into a solid as stencils and short traces reach


class LiquidFaces:
    """Masks of the faces of one velocity, one array per axis.

    Attributes:
        known: faces with a valid velocity: next to liquid, or extended from there.
    """

    def __init__(self, velocity: MacField, balanced: bool) -> None:
        self._solver = PressureSolver(velocity.grid) if balanced else None
        self._air: Bools = np.zeros(velocity.grid.shape, bool)
        shapes = component_shapes(velocity.grid)
        self.known: list[Bools] = [np.zeros(s, bool) for s in shapes]
        self._wet: list[Bools] = [np.zeros(s, bool) for s in shapes]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        solver = 0 if self._solver is None else self._solver.nbytes
        return 2 * sum(m.nbytes for m in self.known) + self._air.nbytes + solver

    def wet(self, levelset: LevelSet) -> list[Bools]:
        """Return the faces next to liquid; overwritten by the next call."""
        core: Any = _fluids  # overloaded over dimension and scalar
        for d, mask in enumerate(self._wet):
            core.liquid_faces(levelset.field._core, d, mask)
        return self._wet

    def extend(
        self,
        velocity: MacField,
        levelset: LevelSet,
        solid: SolidBoundary | None,
        band: int,
        workspace: Workspace,
        time: float = 0.0,
    ) -> None:
        """Extend the velocity from the liquid faces into `band` cells of air, then into the solid; elsewhere it becomes zero.

        Without free slip, faces in the solid get its velocity.
        """
        wet = self.wet(levelset)
        for d, known in enumerate(self.known):
            if solid is None:
                np.copyto(known, wet[d])
            else:
                # A face that is mostly closed may let out at any speed what a solid displaces; the flow beside it is what carries.
                np.greater(wet[d], solid.inside_faces[d], out=known)
        extend_velocity(velocity, levelset, self.known, band=band * velocity.grid.spacing, out=self.known, workspace=workspace)
        if solid is not None:
            self.known = extrapolate(velocity, self.known, layers=_LAYERS, workspace=workspace)
            solid.stick(velocity)
        for d, known in enumerate(self.known):
            np.copyto(velocity.component(d), 0.0, where=~known)
        if self._solver is not None:
            self._balance(velocity, levelset, solid, time)

    def _balance(self, velocity: MacField, levelset: LevelSet, solid: Any, time: float) -> None:
        """Make the velocity in the air around the liquid divergence-free without changing that of the liquid.

        Constant extension creates volume where the liquid stretches along its normal: half a cell of it, wherever the surface lies beyond
        the last liquid face.
        """
        h = levelset.grid.spacing
        np.less(levelset.array, _BALANCED * h, out=self._air)
        self._air &= levelset.array > 0
        project(
            velocity,
            1.0,
            solid,
            liquid=self._air,
            given_faces=self.wet(levelset),
            tolerance=_BALANCE_TOLERANCE,
            time=time,
            raise_on_failure=False,
            solver=self._solver,
        )

    def near_surface(self, levelset: LevelSet, distance: float) -> list[Bools]:
        """Return the faces closer to the surface than a distance, m."""
        near = np.abs(levelset.array) < distance
        result = []
        for d in range(near.ndim):
            pad = [(0, 0)] * near.ndim
            pad[d] = (1, 1)
            wide = np.pad(near, pad, mode="wrap" if levelset.grid.periodic[d] else "edge")
            n = wide.shape[d]
            result.append(np.ascontiguousarray(wide.take(range(n - 1), axis=d) | wide.take(range(1, n), axis=d)))
        return result

    def max_speed(self, velocity: MacField, levelset: LevelSet) -> float:
        """Return the largest component on liquid faces, m/s."""
        return max(float(np.abs(velocity.component(d)).max(initial=0.0, where=mask)) for d, mask in enumerate(self.wet(levelset)))

    def energy(self, velocity: MacField, levelset: LevelSet) -> float:
        """Return the kinetic energy of the liquid per density, m^(dim + 2)/s^2; a face represents half of each cell next to it."""
        total = 0.0
        wet = levelset.array <= 0
        for d in range(wet.ndim):
            squares = velocity.component(d) ** 2
            n = squares.shape[d]
            lower, upper = squares.take(range(n - 1), axis=d), squares.take(range(1, n), axis=d)
            total += 0.25 * float(np.sum(lower + upper, dtype=np.float64, where=wet))
        return total * velocity.grid.spacing**wet.ndim
