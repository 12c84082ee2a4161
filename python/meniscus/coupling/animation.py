"""Animated surfaces: the positions of a skin at the frames of an animation, from a function, an array or numbered files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.coupling.registration import registered
from meniscus.mesh import TriangleMesh

Floats = npt.NDArray[np.float64]
Frames = Callable[[float], npt.ArrayLike] | npt.NDArray[np.floating[Any]] | str | os.PathLike[str] | Sequence[Any]


class Animation:
    """The positions of a surface at given times. Frames are read or evaluated one at a time, when they are asked for.

    Args:
        rest: the surface at rest.
        frames: a function of time (s) that returns positions (n, 3), m; an array (f, n, 3); a pattern such as 'walk-*.ply' or a list of
            paths, one mesh file per frame in the order of the numbers in their names.
        times: (f,) of the frames, s, ascending.
        register: whether frames whose triangles differ from those at rest are registered to it instead of refused.

    Raises:
        TypeError, ValueError: other arguments, another number of frames than of times, no files.
    """

    def __init__(self, rest: TriangleMesh, frames: Frames, times: npt.ArrayLike, *, register: bool = False) -> None:
        self.rest = _checks.one_of_type("rest", rest, TriangleMesh)
        t = np.array(times, np.float64)
        if t.ndim != 1 or len(t) < 1:
            raise ValueError(f"times must have shape (f,) with at least one frame, not {t.shape}")
        _checks.require_finite("times", t)
        if len(t) > 1 and not (np.diff(t) > 0).all():
            bad = int(np.argmin(np.diff(t) > 0))
            raise ValueError(f"times must ascend, but [{bad + 1}] is {t[bad + 1]:g} s after {t[bad]:g} s")
        self.times: Floats = t
        self._register = _checks.one_of_type("register", register, bool)
        self._read = self._reader(frames)
        self._last: tuple[int, Floats] | None = None

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.times)

    def frame(self, k: int) -> Floats:
        """Return the positions of frame k, (n, 3), m. Raises ValueError or OSError that names the frame."""
        x = self._read(k)
        shape = self.rest.vertices.shape
        if x.shape != shape:
            raise ValueError(f"frame {k} of the animation must have shape {shape} like the surface at rest, not {x.shape}")
        if x.dtype.kind not in "fiu":
            raise TypeError(f"frame {k} of the animation must hold numbers, not {x.dtype}")
        finite = np.isfinite(x).all(axis=1)
        if not finite.all():
            raise ValueError(f"frame {k} of the animation has a position that is not finite, of vertex {int(np.argmin(finite))}")
        # A copy: a function may use the memory of its result again.
        return np.array(x, np.float64, order="C")

    def _reader(self, frames: Any) -> Callable[[int], npt.NDArray[Any]]:
        if callable(frames):
            return lambda k: np.asarray(frames(float(self.times[k])))
        if isinstance(frames, (str, os.PathLike)):
            found = sorted(glob.glob(os.fspath(frames)), key=_by_number)
            if not found:
                raise ValueError(f"there is no file {os.fspath(frames)!r}")
            frames = found
        if isinstance(frames, Sequence) and all(isinstance(f, (str, os.PathLike)) for f in frames):
            self._require_count(len(frames), "files")
            paths = [Path(f) for f in frames]
            return lambda k: self._from_file(k, paths[k])
        array = np.asarray(frames)
        if array.ndim != 3 or array.dtype.kind not in "fiu":
            raise TypeError(
                "an animation must be a function of time, an array (frames, n, 3), or the names of mesh files, "
                f"not {type(frames).__name__} of shape {array.shape}"
            )
        self._require_count(len(array), "frames")
        return lambda k: array[k]

    def _require_count(self, count: int, what: str) -> None:
        if count != len(self.times):
            raise ValueError(f"times must have one value per frame, but there are {count} {what} and {len(self.times)} times")

    def _from_file(self, k: int, path: Path) -> Floats:
        mesh = TriangleMesh.read(path)
        if np.array_equal(mesh.triangles, self.rest.triangles) and len(mesh.vertices) == len(self.rest.vertices):
            x = mesh.vertices
        elif self._register:
            if k == 0:
                start = self.rest.vertices
            elif self._last is not None and self._last[0] == k - 1:
                start = self._last[1]
            else:
                start = self.frame(k - 1)  # each frame starts from the one before, in whatever order they are asked for
            x = registered(self.rest, start, mesh)
        else:
            raise ValueError(
                f"frame {k} of the animation, {str(path)!r}, has other triangles than the surface at rest; "
                "register=True fits the surface to it"
            )
        self._last = (k, x)
        return x


def _by_number(path: str) -> list[tuple[int, int | str]]:
    """Return a key that puts 'walk-9' before 'walk-10'."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", path) if part]
