"""Animated solids from stored level sets, between whose frames they are interpolated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.grid import MacField
from meniscus.grid.transport.points import sample
from meniscus.surface.levelset import LevelSet
from meniscus.surface.shapes.interpolated import BLEND_METHOD, BlendMethod, interpolate_levelsets
from meniscus.surface.shapes.kinematic import KinematicSolid
from meniscus.surface.shapes.sampled import LevelSetShape
from meniscus.surface.shapes.solid import Sampling, Solid, SolidSample

Floats = npt.NDArray[np.float64]


class StoredSolid(Solid):
    """A solid whose level sets and velocities are stored at some times; before the first and after the last it stays as it is there.

    Args:
        times: of the frames, s, ascending.
        levelsets: signed distances, m, on the same samples.
        velocities: of the solid, m/s, on the same grid, known around it as far as it moves from frame to frame.
        method: as for `interpolate_levelsets`.

    Raises:
        TypeError, ValueError: fewer than two frames, times that do not ascend, different numbers of each, different samples.

    Source: Selle 2008, section 7.5.1.
    """

    def __init__(
        self,
        times: Sequence[float],
        levelsets: Sequence[LevelSet],
        velocities: Sequence[MacField],
        *,
        method: BlendMethod = "two-sided",
    ) -> None:
        self._times = [_checks.number("times", t) for t in times]
        if len(self._times) < 2 or any(a >= b for a, b in zip(self._times, self._times[1:], strict=False)):
            raise ValueError("times must ascend, and there must be two at least")
        if len(levelsets) != len(self._times) or len(velocities) != len(self._times):
            raise ValueError(f"there must be {len(self._times)} level sets and velocities, not {len(levelsets)} and {len(velocities)}")
        for phi, v in zip(levelsets, velocities, strict=True):
            _checks.one_of_type("levelsets", phi, LevelSet)
            _checks.one_of_type("velocities", v, MacField)
            if (phi.grid, phi.location, phi.dtype) != (levelsets[0].grid, levelsets[0].location, levelsets[0].dtype) or v.grid != phi.grid:
                raise ValueError("the frames must have the same samples")
        BLEND_METHOD("method", method)
        self._levelsets, self._velocities, self._method = list(levelsets), list(velocities), method
        self._time = math.nan  # that `_now` is of
        self._now: KinematicSolid | None = None

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return int(self._levelsets[0].grid.dimension)

    @property
    def moves(self) -> bool:
        """True: it has several frames."""
        return True

    def signed_distance(self, points: Floats, time: float = 0.0) -> Floats:
        """Return phi (n,), m, at points (n, dim), m, float64, at a time in seconds."""
        return self._at(_checks.number("time", time)).signed_distance(points)

    def normals(self, points: Floats, time: float = 0.0) -> Floats:
        """Return the outward unit normals (n, dim) at points (n, dim), m, float64, at a time in seconds."""
        return self._at(_checks.number("time", time)).normals(points)

    def core_at(self, time: float = 0.0) -> Any:
        """Return the core of the interpolated level set at a time (s)."""
        return self._at(_checks.number("time", time)).core_at()

    def velocity(self, points: Floats, time: float = 0.0, dt: float | None = None) -> Floats:
        """Return the velocity (n, dim), m/s, at points (n, dim), m: the frames' in proportion; with `dt` (s), in the middle of the step."""
        x = self._points(points)
        k, alpha, inside = self._frame(_checks.number("time", time) + (0.0 if dt is None else 0.5 * dt))
        if not inside or not len(x):
            return np.zeros_like(x)
        first, second = (np.asarray(sample(v, x.astype(v.dtype)), np.float64) for v in self._velocities[k : k + 2])
        result: Floats = (1 - alpha) * first + alpha * second
        return result

    def bounds(self, time: float = 0.0) -> tuple[Floats, Floats]:
        """Return infinite corners: the solid is wherever its level set says."""
        return np.full(self.dimension, -math.inf), np.full(self.dimension, math.inf)

    def _frame(self, time: float) -> tuple[int, float, bool]:
        """Return the frame before a time, the part of the way to the next, and whether the time is between frames."""
        t = self._times
        k = min(max(int(np.searchsorted(t, time, side="right")) - 1, 0), len(t) - 2)
        alpha = (time - t[k]) / (t[k + 1] - t[k])
        return k, min(max(alpha, 0.0), 1.0), 0.0 <= alpha <= 1.0

    def _at(self, time: float) -> KinematicSolid:
        if self._now is None or time != self._time:
            k, alpha, _ = self._frame(time)
            (phi0, phi1), (v0, v1) = self._levelsets[k : k + 2], self._velocities[k : k + 2]
            dt = self._times[k + 1] - self._times[k]
            phi = interpolate_levelsets(phi0, phi1, v0, v1, dt, alpha, method=self._method)
            self._now, self._time = KinematicSolid(LevelSetShape(phi)), time
        return self._now

    def _sample_into(self, target: SolidSample, sampling: Sampling) -> None:
        self._at(sampling.time)._sample_into(target, sampling)
        when = sampling.time + (0.0 if sampling.dt is None else 0.5 * sampling.dt)
        for d in range(self.dimension):
            faces: Any = target.velocity.component(d)
            x = np.stack([c.ravel() for c in np.broadcast_arrays(*target.grid.face_centers(d))], axis=1)
            faces[...] = self.velocity(np.ascontiguousarray(x), when)[:, d].reshape(faces.shape)
        target.velocity.fill_ghosts(sampling.time)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the frames."""
        return _rebuild, (self._times, self._levelsets, self._velocities, self._method)

    def __repr__(self) -> str:
        """One line: frames and times."""
        return f"StoredSolid({len(self._times)} frames from {self._times[0]:g} to {self._times[-1]:g} s, method={self._method!r})"


def _rebuild(times: Any, levelsets: Any, velocities: Any, method: Any) -> StoredSolid:
    return StoredSolid(times, levelsets, velocities, method=method)
