"""Volume budget: how much liquid there should be, in total and in each connected part."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.grid.fields import MacField
from meniscus.grid.uniform import Grid

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

SPREAD = 4
"""Cells around a component that count to it: where its surface is moved, and where drops leave and join it."""

RESOLVED = {2: 12, 3: 40}
"""Cells' worth of liquid, about two cells in radius, from which on a component is resolved."""

TOTALS = ("initial", "emitted", "drained", "inflow", "outflow")


class VolumeBudget:
    """Expected volumes of the components of a liquid through motion, mergers and break-ups.

    When a component breaks up, its pieces share its expected volume by the number of their cells that come from it; when components merge,
    their expected volumes add up. A component without origin (drops of spray that meet) is expected to keep its first volume. A component
    too small to be resolved is always expected to have its present volume. The rest (of components that have vanished, or drops without
    origin) is shared by the resolved components in proportion, so that the expected volumes of all components and the spray add up to the
    totals.

    Attributes:
        labels: of the cells, 0 in air, else the number of the component from 1.
        volumes: measured; entry 0 is unused.
        expected: entry 0 is unused.
        unassigned: expected volume that belongs to no component until `share`.
        totals: volumes by kind since the surface was set.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self.labels: Labels = np.zeros(grid.shape, np.int32)
        self._origin: Labels = np.zeros(grid.shape, np.int32)
        self._around: Labels = np.zeros(grid.shape, np.int32)
        self.volumes: Floats = np.zeros(1)
        self.expected: Floats = np.zeros(1)
        self.unassigned = 0.0
        self.totals = dict.fromkeys(TOTALS, 0.0)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.labels.nbytes + self._origin.nbytes + self._around.nbytes + self.volumes.nbytes + self.expected.nbytes

    def reset(self, labels: Labels, volumes: Floats) -> None:
        """Start from a surface that was set; `volumes` of components 1, 2, ..."""
        self._take(labels, volumes)
        self.expected = self.volumes.copy()
        self.unassigned = 0.0
        self.totals = {**dict.fromkeys(TOTALS, 0.0), "initial": float(self.volumes.sum())}

    def follow(self, velocity: MacField, dt: float, labels: Labels, volumes: Floats) -> None:
        """Update the components after they have moved along a velocity for dt."""
        expected, known = self._handed_on(self.expected, velocity, dt, labels, len(volumes) + 1)
        before = float(self.expected.sum())
        self._take(labels, volumes)
        self.expected = np.where(known, expected, self.volumes)
        self.unassigned += before - float(self.expected.sum())

    def change(self, total: str | None, labels: Labels, volumes: Floats) -> float:
        """Update the components after sources or drains have changed them in place; return the change of volume."""
        before, all_expected = float(self.volumes.sum()), float(self.expected.sum())
        excess, _ = self._handed_on(self.expected - self.volumes, None, 0.0, labels, len(volumes) + 1)
        self._take(labels, volumes)
        self.expected = self.volumes + excess
        change = float(self.volumes.sum()) - before
        if total is None:
            change = 0.0
        else:
            self.totals[total] += abs(change)
        self.unassigned += all_expected + change - float(self.expected.sum())
        return change

    def cross(self, total: str, amounts: Floats, labels: Labels) -> None:
        """Account for amounts of liquid (n,) that leave ('outflow') or enter ('inflow') the components with the labels (n,); 0: no
        component."""
        sign = -1.0 if total == "outflow" else 1.0
        self.totals[total] += float(amounts.sum())
        self.move(sign * amounts, labels)

    def move(self, amounts: Floats, labels: Labels) -> None:
        """Add amounts (n,) to the expected volumes of the components with the labels (n,)."""
        before = float(self.expected.sum())
        self.expected += np.bincount(labels, amounts, len(self.expected))
        self.expected[0] = 0.0
        np.maximum(self.expected, 0.0, out=self.expected)
        self.unassigned += before + float(amounts.sum()) - float(self.expected.sum())

    def share(self) -> None:
        """Distribute the unassigned volume over the components. Those too small to be resolved are expected to stay as they are."""
        small = self.volumes < RESOLVED[self._grid.dimension] * self._grid.spacing**self._grid.dimension
        if not small[1:].all():
            self.unassigned += float((self.expected - self.volumes)[small].sum())
            self.expected[small] = 0.0
        total = float(self.expected.sum())
        if total > 0 and self.unassigned:
            given = max(total + self.unassigned, 0.0)
            self.unassigned += total - given
            self.expected *= given / total
        if not small[1:].all():
            self.expected[small] = self.volumes[small]

    def around(self, workspace: Workspace) -> Labels:
        """Return the labels, extended into the air around; overwritten by the next call."""
        np.copyto(self._around, self.labels)
        core: Any = _fluids
        core.spread_labels(self._grid._core, self._around, SPREAD, workspace)
        return self._around

    def snapshot(self) -> dict[str, Any]:
        """Return copies, for `restore`."""
        arrays = {"labels": self.labels.copy(), "volumes": self.volumes.copy(), "expected": self.expected.copy()}
        return {**arrays, "unassigned": self.unassigned, "totals": [self.totals[k] for k in TOTALS]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state of a snapshot."""
        self.labels[...] = snapshot["labels"]
        self.volumes, self.expected = (np.array(snapshot[k], np.float64) for k in ("volumes", "expected"))
        self.unassigned = float(snapshot["unassigned"])
        self.totals = dict(zip(TOTALS, (float(t) for t in snapshot["totals"]), strict=True))

    def _handed_on(
        self, amounts: Floats, velocity: MacField | None, dt: float, labels: Labels, count: int
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return the shares of the new components in amounts of the present ones, and which of them come from any."""
        if len(amounts) == 2 and count == 2:
            return amounts, np.ones(2, bool)  # one component that stays one
        if velocity is None:
            np.copyto(self._origin, self.labels)
        else:
            core: Any = _fluids  # overloaded over dimension and scalar
            core.component_origins(velocity._core, dt, self.labels, labels, self._origin)
        both = (self._origin > 0) & (labels > 0)
        pairs, cells = np.unique(self._origin[both].astype(np.int64) * count + labels[both], return_counts=True)
        origin, label = pairs // count, pairs % count
        shares = cells / np.bincount(origin, cells, len(amounts))[origin]
        handed_on = np.bincount(label, amounts[origin] * shares, count).astype(np.float64)
        return handed_on, np.bincount(label, minlength=count) > 0

    def _take(self, labels: Labels, volumes: Floats) -> None:
        np.copyto(self.labels, labels)
        self.volumes = np.concatenate(([0.0], volumes))
