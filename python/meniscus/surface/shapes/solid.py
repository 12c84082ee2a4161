"""Interface of moving solids for fluid solvers: a level set and a velocity on the grid."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.core.known_names import KnownNames
from meniscus.core.memory import MemoryOwner
from meniscus.grid import Grid, MacField, NodeField, ZeroGradient
from meniscus.surface.shapes.constructive import checked_band
from meniscus.surface.shapes.normals import difference_normals

Floats = npt.NDArray[np.float64]


class SolidSample(MemoryOwner):
    """A solid on a grid: the reusable target of `Solid.sample`.

    Args:
        grid: the grid.
        dtype: of the velocity, float64 (default), or float32 in three dimensions; the level set is float64.
    """

    def __init__(self, grid: Grid, dtype: npt.DTypeLike = np.float64) -> None:
        self._levelset = NodeField(grid, np.float64, ZeroGradient())
        self._velocity = MacField(grid, dtype, ZeroGradient())
        self._time = math.nan
        self._workspace = Workspace()
        self._scratch: SolidSample | None = None

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self._levelset.grid

    @property
    def levelset(self) -> NodeField:
        """Signed distance (m) at the nodes, <= 0 in the solid: exact up to the band of the sampling, of the right sign beyond."""
        return self._levelset

    @property
    def velocity(self) -> MacField:
        """Velocity of the solid (m/s) at the faces; meaningful within the band around the solid, and in it."""
        return self._velocity

    @property
    def time(self) -> float:
        """Time of the sample, s; NaN before the first sampling and after one that failed."""
        return self._time

    @contextmanager
    def filling(self, time: float) -> Iterator[None]:
        """Return the context in which the samples of a time (s) and their ghosts are set; after it the time is that."""
        self._time = math.nan
        yield
        self._time = time

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields and the time."""
        return type(self), (self.grid, self._velocity.dtype), (self._levelset, self._velocity, self._time)

    def __setstate__(self, state: tuple[NodeField, MacField, float]) -> None:
        """Take over the fields and the time of a pickle."""
        self._levelset, self._velocity, self._time = state

    def __repr__(self) -> str:
        """Grid, time and range."""
        return f"<SolidSample at time {self._time:g} s: {self._levelset!r}, {self._velocity!r}>"

    def _scratch_sample(self) -> SolidSample:
        """A second sample of the same kind, kept, for groups."""
        if self._scratch is None:
            self._scratch = SolidSample(self.grid, self._velocity.dtype)
        return self._scratch


@dataclass(frozen=True)
class Sampling:
    """Arguments of a sampling: time (s), step (s) or None, band (m), and whether periodic axes repeat the solid."""

    time: float
    dt: float | None
    band: float
    periodic_images: bool


class Solid(KnownNames, ABC):
    """A solid whose motion is given: stationary, moving rigidly, deforming, or a group of such."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """2 or 3."""

    @property
    @abstractmethod
    def moves(self) -> bool:
        """Whether its position or velocity may change with time."""

    @abstractmethod
    def signed_distance(self, points: Floats, time: float = 0.0) -> Floats:
        """Return phi (n,), m, at points (n, dim), m, float64, at a time in seconds."""

    def normals(self, points: Floats, time: float = 0.0) -> Floats:
        """Return the outward unit normals (n, dim), the gradients of phi, at points (n, dim), m, float64, at a time in seconds.

        Where phi has no gradient, such as at edges and centres, any direction is returned.
        """
        return difference_normals(lambda x: self.signed_distance(x, time), self._points(points))

    @abstractmethod
    def velocity(self, points: Floats, time: float = 0.0, dt: float | None = None) -> Floats:
        """Return the solid's velocity (n, dim), m/s, at points (n, dim), m; with `dt` (s) as for `sample`."""

    @abstractmethod
    def bounds(self, time: float = 0.0) -> tuple[Floats, Floats]:
        """Return the lower and upper corner, m, of a box around the solid at a time; infinite where it is not bounded or not known."""

    def core_at(self, time: float, dt: float | None) -> _surface.SolidAt:
        """Return the 3-D solid at a time (s) as the core asks it, with velocities as `velocity` has them."""
        lower, upper = self.bounds(time)
        return _surface.called_solid_at(
            lambda x: self.signed_distance(x, time),
            lambda x: self.normals(x, time),
            (lambda x: np.ascontiguousarray(self.velocity(x, time, dt))) if self.moves else None,
            lower.tolist(),
            upper.tolist(),
        )

    @abstractmethod
    def _sample_into(self, target: SolidSample, sampling: Sampling) -> None:
        """Set both fields, with their ghosts."""

    def sample(
        self,
        grid: Grid,
        time: float = 0.0,
        dt: float | None = None,
        *,
        dtype: npt.DTypeLike | None = None,
        band: float | None = None,
        periodic_images: bool = True,
        out: SolidSample | None = None,
    ) -> SolidSample:
        """Sample the solid on the nodes and faces of a grid.

        Args:
            grid: of the solid's dimension.
            time: s, of the level set.
            dt: None: the velocity at `time`. A number of either sign, s: the mean velocity between `time` and `time + dt`; for a rigid
                motion the constant twist that carries the body from one pose to the other. For the end of a step that began at t0, pass
                `time=t0 + dt, dt=-dt`.
            dtype: of the velocity; default float64, or that of `out`.
            band: m; default 4 cells. Closer to the surface than this, the level set has the solid's own values; beyond, a bound of the same
                sign, at least `band` in size and not above the distance. `math.inf` for the values everywhere.
            periodic_images: repeat the solid along periodic axes of the grid (those on which its extent is finite and known).
            out: target of an earlier call, to be filled again.

        Raises:
            TypeError, ValueError: wrong dimension, grid or dtype; values of the functions of the solid that are not finite or of a wrong
                shape.
        """
        _checks.one_of_type("grid", grid, Grid)
        if grid.dimension != self.dimension:
            raise ValueError(f"grid must be {self.dimension}-D like the solid, not {grid.dimension}-D")
        step = None if dt is None else checked_step(dt)
        width = 4.0 * grid.spacing if band is None else checked_band(band)
        if out is None:
            out = SolidSample(grid, np.float64 if dtype is None else dtype)
        else:
            _checks.one_of_type("out", out, SolidSample)
            if out.grid != grid:
                raise ValueError(f"out must be a sample on {grid!r}, not on {out.grid!r}")
            if dtype is not None and out.velocity.dtype != _checks.scalar_type(dtype, grid.dimension):
                raise TypeError(f"out must have a velocity of dtype {np.dtype(dtype)}, not {out.velocity.dtype}")
        when = _checks.number("time", time)
        sampling = Sampling(when, step, width, _checks.flag("periodic_images", periodic_images))
        with out.filling(when):
            self._sample_into(out, sampling)
        return out

    def _points(self, points: Floats) -> Floats:
        _checks.points("points", points, np.dtype(np.float64), self.dimension)
        _checks.require_finite("points", points)
        return points


def checked_step(dt: object) -> float:
    """Return a finite step that is not zero."""
    step = _checks.number("dt", dt)
    if step == 0.0:
        raise ValueError("dt must not be zero; leave it out for the velocity at `time`")
    return step


class SolidGroup(Solid):
    """Several solids as one: their union, each point with the velocity of the nearest solid (the first of equally near ones).

    Raises:
        TypeError, ValueError: no solids, something else, or different dimensions.
    """

    def __init__(self, solids: Sequence[Solid]) -> None:
        if not isinstance(solids, (tuple, list)) or not solids:
            raise TypeError(f"solids must be a sequence of at least one solid, not {solids!r}")
        for i, solid in enumerate(solids):
            _checks.one_of_type(f"solids[{i}]", solid, Solid)
            if solid.dimension != solids[0].dimension:
                raise ValueError(f"solids[{i}] must be {solids[0].dimension}-D like solids[0], not {solid.dimension}-D")
        self._solids = tuple(solids)

    @property
    def moves(self) -> bool:
        """Whether any of them moves."""
        return any(s.moves for s in self._solids)

    @property
    def solids(self) -> tuple[Solid, ...]:
        """The members."""
        return self._solids

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return int(self._solids[0].dimension)

    def signed_distance(self, points: Floats, time: float = 0.0) -> Floats:
        """Return the smallest phi (n,), m, at points (n, dim), m, float64, at a time in seconds."""
        result: Floats = np.min([s.signed_distance(points, time) for s in self._solids], axis=0)
        return result

    def normals(self, points: Floats, time: float = 0.0) -> Floats:
        """Return the normals (n, dim) of the nearest solid at points (n, dim), m."""
        return self._of_nearest(points, time, lambda solid, x: solid.normals(x, time))

    def velocity(self, points: Floats, time: float = 0.0, dt: float | None = None) -> Floats:
        """Return the velocity (n, dim), m/s, of the nearest solid at points (n, dim), m; with `dt` (s) as for `sample`."""
        return self._of_nearest(points, time, lambda solid, x: solid.velocity(x, time, dt))

    def _of_nearest(self, points: Floats, time: float, values: Callable[[Solid, Floats], Floats]) -> Floats:
        nearest = np.argmin([s.signed_distance(points, time) for s in self._solids], axis=0)
        out = np.empty(points.shape)
        for i, solid in enumerate(self._solids):
            mine = nearest == i
            if mine.any():
                out[mine] = values(solid, points[mine])
        return out

    def bounds(self, time: float = 0.0) -> tuple[Floats, Floats]:
        """Return the corners, m, of a box around all solids."""
        boxes = [s.bounds(time) for s in self._solids]
        return np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)

    def _sample_into(self, target: SolidSample, sampling: Sampling) -> None:
        self._solids[0]._sample_into(target, sampling)
        for solid in self._solids[1:]:
            other = target._scratch_sample()
            solid._sample_into(other, sampling)
            _surface.merge_solid(other.levelset._core, other.velocity._core, target.levelset._core, target.velocity._core)

    def __repr__(self) -> str:
        """Constructor call."""
        return f"SolidGroup({list(self._solids)!r})"
