"""Measurement, accounting and correction of liquid volumes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.core import Workspace
from meniscus.fluids.liquid.options import ComponentVolume, VolumeReport
from meniscus.fluids.liquid.volume_budget import VolumeBudget
from meniscus.grid.boundary import Open, Prescribed, ZeroGradient
from meniscus.grid.fields import MacField, NodeField
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet

Floats = npt.NDArray[np.float64]

LARGEST_MOVE = 0.3
"""Cells that a correction moves the surface by in a step, at most."""
PASSES = 8
ACCURACY = 1e-9
"""Relative, of a corrected volume, within the largest move."""


class LiquidVolume:
    """Measured and expected volumes of the liquid outside of solids, by component.

    Attributes:
        ledger: of the components.
    """

    def __init__(self, grid: Grid, velocity: MacField) -> None:
        self._grid = grid
        self.ledger = VolumeBudget(grid)
        self._clipped = LevelSet(grid, "cells", velocity.dtype)
        self._labels = np.zeros(grid.shape, np.int32)
        self._fractions: Any = None
        self._workspace = Workspace()
        self._cell = grid.spacing**grid.dimension
        sides = velocity.boundary
        self._sides = [
            (d, sign)
            for d in range(grid.dimension)
            for sign in "-+"
            if not grid.periodic[d] and isinstance(sides["xyz"[d] + sign], (Open, Prescribed, ZeroGradient))
        ]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        fractions = 0 if self._fractions is None else self._fractions.with_ghosts.nbytes
        return self.ledger.nbytes + self._clipped.field.with_ghosts.nbytes + self._labels.nbytes + fractions + self._workspace.bytes

    def measure(self, levelset: LevelSet, solid: NodeField | None) -> tuple[npt.NDArray[np.int32], Floats]:
        """Return the labels of the components and their volumes outside of the solid."""
        if solid is None:
            found = levelset.components(out=self._labels, workspace=self._workspace)
            return found.labels, found.volumes
        phi = solid.array
        for d in range(phi.ndim):
            n = phi.shape[d]
            phi = 0.5 * (phi.take(range(n - 1), axis=d) + phi.take(range(1, n), axis=d))
        np.maximum(levelset.array, -phi, out=self._clipped.array, casting="same_kind")
        found = self._clipped.components(out=self._labels, workspace=self._workspace)
        return found.labels, found.volumes

    def reset(self, levelset: LevelSet, solid: NodeField | None) -> None:
        """Start from a surface that was set."""
        self.ledger.reset(*self.measure(levelset, solid))

    def follow(self, velocity: MacField, dt: float, levelset: LevelSet, solid: NodeField | None) -> None:
        """Update the volumes after the surface has moved along a velocity for dt."""
        self.ledger.follow(velocity, dt, *self.measure(levelset, solid))

    def change(self, total: str, levelset: LevelSet, solid: NodeField | None) -> None:
        """Update the volumes after sources ('emitted') or drains ('drained') have changed the surface."""
        self.ledger.change(total, *self.measure(levelset, solid))

    def cross_sides(self, levelset: LevelSet, velocity: MacField, dt: float) -> None:
        """Account for the flow through the sides of the domain in dt; the liquid part of a face is that of the cell next to it."""
        if not self._sides:
            return
        self._fractions = levelset.volume_fractions(out=self._fractions, workspace=self._workspace)
        fractions = self._fractions.array
        for d, sign in self._sides:
            end = 0 if sign == "-" else -1
            outward = velocity.component(d).take(end, axis=d) * (-1.0 if sign == "-" else 1.0)
            wet = self._at_side(fractions, d, end)
            amounts = (outward * wet).ravel().astype(np.float64) * (dt * self._cell / self._grid.spacing)
            labels = self.ledger.labels.take(end, axis=d).ravel()
            for total, part in (("outflow", amounts > 0), ("inflow", amounts < 0)):
                if part.any():
                    self.ledger.cross(total, np.abs(amounts[part]), labels[part])

    @staticmethod
    def _at_side(fractions: npt.NDArray[Any], axis: int, end: int) -> npt.NDArray[Any]:
        """Return the liquid part of the faces on a side, extrapolated linearly from the cells before it."""
        last: npt.NDArray[Any] = fractions.take(end, axis=axis)
        if fractions.shape[axis] == 1:
            return last
        at_side: npt.NDArray[Any] = np.clip(1.5 * last - 0.5 * fractions.take(1 if end == 0 else -2, axis=axis), 0.0, 1.0)
        return at_side

    def exchange(self, drops: Any, around: npt.NDArray[np.int32]) -> None:
        """Account for drops that have left the liquid, joined it, or left the domain."""
        for positions, volumes, sign in ((drops.left, drops.left_volumes, -1.0), (drops.joined, drops.joined_volumes, 1.0)):
            if len(positions):
                index = np.floor((positions - np.asarray(self._grid.origin)) / self._grid.spacing).astype(np.int64)
                index = np.clip(index, 0, np.array(self._grid.shape) - 1)
                self.ledger.move(sign * volumes, around[tuple(index.T)])
        self.ledger.totals["outflow"] += drops.lost_volume

    def correct(self, levelset: LevelSet, solid: NodeField | None, workspace: Workspace) -> float:
        """Move the surface of each component so that it has its expected volume; return the largest distance, m.

        The surface moves along its normal by the missing volume per area, repeated a few times. Components of less than a cell are left
        alone, as their surface is not resolved.
        """
        h = self._grid.spacing
        moved = np.zeros(len(self.ledger.volumes))
        limit = LARGEST_MOVE * h
        farthest = 0.0
        before = levelset.array.copy()
        around = self.ledger.around(workspace)
        for _ in range(PASSES):
            missing = self.ledger.expected - self.ledger.volumes
            large = self.ledger.expected > self._cell
            if not np.any(np.abs(missing[large]) > ACCURACY * self.ledger.expected[large]):
                break
            # The area by a smoothed delta function of the distance.
            near = np.abs(levelset.array) < 1.5 * h
            weight = (1.0 + np.cos(np.pi / (1.5 * h) * levelset.array[near])) / (3.0 * h) * self._cell
            area = np.bincount(around[near], weight, len(moved))
            step = np.where(large & (area > 0), missing / np.where(area > 0, area, 1.0), 0.0)
            step[0] = 0.0
            moved = np.clip(moved + step, -limit, limit)
            np.subtract(before, moved[around], out=levelset.array, casting="same_kind")
            labels, volumes = self.measure(levelset, solid)
            if len(volumes) + 1 != len(moved):  # a thin part broke off or closed: go on from there
                farthest += float(np.abs(moved).max())
                limit = LARGEST_MOVE * h - farthest
                self.ledger.change(None, labels, volumes)
                self.ledger.share()
                moved = np.zeros(len(self.ledger.volumes))
                before = levelset.array.copy()
                around = self.ledger.around(workspace)
                continue
            self.ledger.volumes = np.concatenate(([0.0], volumes))
        return farthest + float(np.abs(moved).max())

    def report(self, levelset: LevelSet, solid: NodeField | None, spray: float) -> VolumeReport:
        """Return the volumes as they are."""
        labels, volumes = self.measure(levelset, solid)
        components: tuple[ComponentVolume, ...] = ()
        if len(volumes) + 1 == len(self.ledger.expected):
            flat = labels.ravel()
            cells = np.bincount(flat, minlength=len(volumes) + 1)
            first = np.full(len(volumes) + 1, flat.size, np.int64)
            wet = np.flatnonzero(flat)
            np.minimum.at(first, flat[wet], wet)
            components = tuple(
                ComponentVolume(float(v), float(e), int(c), tuple(int(i) for i in np.unravel_index(f, labels.shape)))
                for v, e, c, f in zip(volumes, self.ledger.expected[1:], cells[1:], first[1:], strict=True)
            )
        return VolumeReport(liquid=float(volumes.sum()), spray=spray, components=components, **self.ledger.totals)

    def snapshot(self) -> dict[str, Any]:
        """Return copies, for `restore`."""
        return self.ledger.snapshot()

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state of a snapshot."""
        self.ledger.restore(snapshot)
