"""Motions of the vertices of a mesh: positions as a function of time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._checks import Bools
from meniscus.mesh.arrays import owned
from meniscus.mesh.simplices import Floats


@runtime_checkable
class VertexMotion(Protocol):
    """A source of positions, for example a file of frames of which only two are in memory.

    Attributes:
        start: first time, s; -inf if there is none.
        end: last time, s; inf if there is none.
    """

    @property
    def start(self) -> float:
        """First time, s."""

    @property
    def end(self) -> float:
        """Last time, s."""

    def coarse_positions(self, t: float, out: Floats) -> None:
        """Write the positions at t to `out` (n, 3) float64, C-contiguous, m. The same t always gives the same bits."""


class FunctionMotion:
    """A function of time that returns positions (n, 3)."""

    def __init__(self, function: Callable[[float], npt.ArrayLike], interval: tuple[float, float] | None) -> None:
        self.function = function
        self.start, self.end = interval if interval is not None else (-math.inf, math.inf)

    def coarse_positions(self, t: float, out: Floats) -> None:
        """See `VertexMotion`."""
        x = np.asarray(self.function(t))
        if x.dtype.kind not in "fiu":
            raise TypeError(f"motion must return numbers, not {x.dtype}, as at time {t:g} s")
        if x.shape != out.shape:
            raise ValueError(f"motion must return an array of shape {out.shape}, not {x.shape}, as at time {t:g} s")
        out[:] = x

    @property
    def nbytes(self) -> int:
        """A function holds nothing that is known here."""
        return 0


class FrameMotion:
    """Frames (f, n, 3) at increasing times (f,), and linear motion between them."""

    def __init__(self, frames: npt.ArrayLike, times: npt.ArrayLike, vertices: int) -> None:
        x = np.asarray(frames)
        if x.dtype.kind not in "fiu":
            raise TypeError(f"frames must hold numbers, not {x.dtype}")
        if x.ndim != 3 or x.shape[1:] != (vertices, 3):
            raise ValueError(f"frames must have shape (f, {vertices}, 3), not {x.shape}")
        scalar = x.dtype if x.dtype == np.float32 else np.dtype(np.float64)
        self.times = _increasing_times(times, len(x))
        self.frames = owned(np.ascontiguousarray(x, dtype=scalar), frames)
        for frame, t in zip(self.frames, self.times, strict=True):
            require_finite_positions(frame, float(t))

    @property
    def start(self) -> float:
        """Time of the first frame, s."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """Time of the last frame, s."""
        return float(self.times[-1])

    def coarse_positions(self, t: float, out: Floats) -> None:
        """See `VertexMotion`; exactly a frame at its time."""
        first, last, part = interval_at(self.times, t)
        if part == 0:
            out[:] = self.frames[first]
            return
        np.multiply(self.frames[first], 1 - part, out=out, dtype=np.float64)
        out += np.multiply(self.frames[last], part, dtype=np.float64)

    @property
    def nbytes(self) -> int:
        """Memory of frames and times, bytes."""
        return int(self.frames.nbytes + self.times.nbytes)


class FrameFlags:
    """Flags (f, m) of elements at the times of frames; between two frames those of either hold."""

    def __init__(self, flags: Any, times: npt.NDArray[np.float64], elements: int) -> None:
        self.flags = owned(_checks.mask("disabled", flags, (len(times), elements)), flags)
        self.times = times

    def __call__(self, t: float) -> Bools:
        """Return the flags (m,) at t: at the time of a frame those of this frame."""
        first, last, part = interval_at(self.times, t)
        flags: Bools = self.flags[first] if part == 0 else self.flags[first] | self.flags[last]
        return flags


def interval_at(times: npt.NDArray[np.float64], t: float) -> tuple[int, int, float]:
    """Return the two frames around t and the part of the interval that has passed, in [0, 1)."""
    first = max(int(np.searchsorted(times, t, side="right")) - 1, 0)
    if first + 1 >= len(times) or t <= times[first]:
        return first, first, 0.0
    part = float((t - times[first]) / (times[first + 1] - times[first]))
    return (first, first + 1, part) if part < 1 else (first + 1, first + 1, 0.0)


def vertex_motion(motion: Any, times: npt.ArrayLike | None, vertices: int) -> VertexMotion:
    """Return the motion that is meant by what a user gave. Raises TypeError or ValueError for what is none."""
    if isinstance(motion, VertexMotion):
        if times is not None:
            raise ValueError("times must not be given beside a motion that has its own start and end")
        return motion
    if callable(motion):
        return FunctionMotion(motion, None if times is None else _interval(times))
    if times is None:
        raise ValueError("times must be given with frames, one of each frame")
    return FrameMotion(motion, times, vertices)


def require_finite_positions(x: npt.NDArray[np.floating[Any]], t: float) -> None:
    """Raise ValueError that names the first vertex whose position is not finite, and the time."""
    finite = np.isfinite(x)
    if not finite.all():
        vertex = int(np.argmin(finite.all(axis=1)))
        value = x[vertex][~finite[vertex]][0]
        raise ValueError(f"positions must be finite, but that of vertex {vertex} at time {t:g} s has the value {value}")


def _increasing_times(times: npt.ArrayLike, count: int) -> npt.NDArray[np.float64]:
    t = np.asarray(times)
    if t.dtype.kind not in "fiu":
        raise TypeError(f"times must hold numbers, not {t.dtype}")
    if count == 0:
        raise ValueError("there must be at least one frame")
    if t.shape != (count,):
        raise ValueError(f"times must have shape ({count},), one of each frame, not {t.shape}")
    _checks.require_finite("times", t)
    wrong = np.flatnonzero(~(np.diff(t) > 0))
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(f"times must increase, but {t[i]:g} s is followed by {t[i + 1]:g} s at frame {i + 1}")
    result: npt.NDArray[np.float64] = owned(np.ascontiguousarray(t, dtype=np.float64), times)
    return result


def _interval(times: npt.ArrayLike) -> tuple[float, float]:
    t = np.asarray(times)
    if t.dtype.kind not in "fiu" or t.shape != (2,):
        raise ValueError("times of a function must be two numbers, its start and its end")
    start, end = _checks.vector("times", tuple(float(x) for x in t), 2)
    if not start < end:
        raise ValueError(f"times must increase, but the start {start:g} s is not before the end {end:g} s")
    return start, end
