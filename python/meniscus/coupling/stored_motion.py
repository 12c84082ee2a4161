"""The motion of a mesh whose frames lie in a store: two of them are read at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.coupling.frame_store import FrameStore
from meniscus.mesh.vertex_motion import interval_at

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class StoredMotion:
    """Positions that a store holds under a name, linear in time between its frames; a `mesh.VertexMotion`."""

    def __init__(self, store: FrameStore, name: str, times: Floats) -> None:
        self._store, self._name, self._times = store, name, times

    @property
    def start(self) -> float:
        """Time of the first frame, s."""
        return float(self._times[0])

    @property
    def end(self) -> float:
        """Time of the last frame, s."""
        return float(self._times[-1])

    def coarse_positions(self, t: float, out: Floats) -> None:
        """Write the positions at t (s) to `out` (n, 3), m."""
        first, last, part = interval_at(self._times, t)
        if part == 0:
            out[:] = self._store.read(first, self._name)
            return
        np.multiply(self._store.read(first, self._name), 1 - part, out=out)
        out += self._store.read(last, self._name) * part


class StoredFlags:
    """Elements that are disabled; between two frames those of either."""

    def __init__(self, store: FrameStore, times: Floats) -> None:
        self._store, self._times = store, times

    def __call__(self, t: float) -> Bools:
        """Return the flags (m,) at a time (s)."""
        first, last, part = interval_at(self._times, t)
        flags: Bools = self._store.read(first, "flags") > 0
        return flags if part == 0 else flags | (self._store.read(last, "flags") > 0)
