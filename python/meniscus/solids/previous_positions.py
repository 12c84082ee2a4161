"""Previous positions of nodes: state of the position form of Verlet's method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core.state import checked_array


class PreviousPositions:
    """State of the position form of Verlet's method: the positions before the last step, and its length."""

    def __init__(self, core: _solids.DeformableBody) -> None:
        self._core = core

    def snapshot(self) -> dict[str, Any] | None:
        """Return copies; None where there are none."""
        dt = self._core.previous_dt
        return {"dt": dt, "positions": self._core.previous_positions()} if dt > 0 else None

    def restore(self, snapshot: Mapping[str, Any] | None) -> None:
        """Restore the state of a snapshot. Raises TypeError or ValueError; then nothing is changed."""
        if snapshot is None:
            self._core.forget_previous()
            return
        if not isinstance(snapshot, Mapping) or set(snapshot) != {"dt", "positions"}:
            raise ValueError("the previous positions in a snapshot are None, or hold dt and positions")
        dt = _checks.positive("previous dt in the snapshot", snapshot["dt"])
        x = checked_array("positions", self._core.positions, snapshot["positions"])
        self._core.set_previous(dt, np.ascontiguousarray(x))
