"""Constraints on the nodes of a body: pins, paths and planes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids

Floats = npt.NDArray[np.float64]
Path = Callable[[float], Any]
"""Positions (k, 3) of k moved nodes at a time (s), or a pair of their positions and velocities."""


class NodeConstraints:
    """Base of a body: constraints on its nodes."""

    _core: _solids.DeformableBody
    _paths: list[tuple[npt.NDArray[np.int32], Path]]
    _targets: dict[int, Floats]

    def pin(self, nodes: npt.ArrayLike) -> None:
        """Fix nodes (indices, or a mask (n,)) at their positions. Raises TypeError or ValueError for nodes outside of the body."""
        where = self._nodes(nodes)
        self._forget(where)
        self._core.fix(where)

    def move(self, nodes: npt.ArrayLike, path: npt.ArrayLike | Path) -> None:
        """Move nodes along a path.

        Args:
            nodes: indices, or a mask (n,).
            path: positions (k, 3), m, float64, that the nodes reach at the end of the next step on straight lines, and where they then stay
                until they are moved again; or a function of time (s) that returns positions (k, 3), or a pair of positions and velocities.
                The function is evaluated at the start, the middle and the end of each step; if it returns no velocities, they are those of
                the parabola through the three positions.

        Raises:
            TypeError, ValueError: no nodes of the body, wrong dtype or shape, positions that are not finite.
        """
        where = self._nodes(nodes)
        if callable(path):
            self._forget(where)
            self._core.move(where)
            self._paths.append((where, path))
            return
        to = _checks.incoming("path", path, np.dtype(np.float64), (len(where), 3))
        to = np.broadcast_to(to, (len(where), 3))
        self._forget(where)
        self._core.move(where)
        self._targets.update(zip(where.tolist(), to.copy(), strict=True))

    def slide(self, nodes: npt.ArrayLike, normals: npt.ArrayLike) -> None:
        """Constrain nodes to slide: their velocity along the normal is zero. Further calls add directions, up to three.

        Args:
            nodes: indices, or a mask (n,); those that are pinned or moved stay so.
            normals: (3,) or (k, 3), of any length but zero.

        Raises:
            TypeError, ValueError: no nodes of the body; normals that are zero or not finite.
        """
        where = self._nodes(nodes)
        n = _checks.numbers("normals", normals)
        if n.shape not in ((3,), (len(where), 3)):
            raise ValueError(f"normals must have shape (3,) or ({len(where)}, 3), not {n.shape}")
        n = np.ascontiguousarray(np.broadcast_to(n, (len(where), 3)))
        self._core.slide(where, n)

    def release(self, nodes: npt.ArrayLike | None = None) -> None:
        """Free nodes (indices, or a mask (n,); None: all) from all constraints."""
        where = np.arange(self._core.size, dtype=np.int32) if nodes is None else self._nodes(nodes)
        self._forget(where)
        self._core.release(where)

    @property
    def constrained(self) -> npt.NDArray[np.int32]:
        """The nodes that are pinned, moved or sliding, ascending."""
        return self._core.constrained

    def _nodes(self, nodes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Return indices or a mask as int32; the body checks their range."""
        a = np.asarray(nodes)
        if a.dtype == np.bool_:
            return np.flatnonzero(_checks.mask("nodes", a, (self._core.size,))).astype(np.int32)
        a = np.atleast_1d(a)
        if a.size == 0:
            return np.empty(0, np.int32)
        if a.dtype.kind not in "iu" or a.ndim != 1:
            raise TypeError(f"nodes must be a list of integers or a mask, not {a.dtype} of shape {a.shape}")
        if a.min() < 0 or a.max() >= self._core.size:
            raise ValueError(f"the body has {self._core.size} nodes, so there is no node {a.min() if a.min() < 0 else a.max()}")
        if len(np.unique(a)) != len(a):
            raise ValueError("nodes must not name a node twice")
        return a.astype(np.int32)

    def _forget(self, nodes: npt.NDArray[np.int32]) -> None:
        """Remove nodes from all paths."""
        gone = set(nodes.tolist())
        for node in gone:
            self._targets.pop(node, None)
        kept = []
        for where, path in self._paths:
            if gone.isdisjoint(where.tolist()):
                kept.append((where, path))
            elif not set(where.tolist()) <= gone:
                kept.append(_without(where, path, gone))
        self._paths = kept

    def _moved_velocities(self) -> Floats:
        """Return the present velocities of the moved nodes."""
        v: Floats = self._core.velocities[self._core.moved]
        return v

    def _on_paths(self, time: float) -> list[tuple[npt.NDArray[np.int32], Floats]]:
        """Return the nodes that follow functions of time, and their positions at a time (s)."""
        return [(where, _on_path(path, time, len(where))[0]) for where, path in self._paths]

    def _motion(self, dt: float) -> list[Floats] | None:
        """Return middle and end positions, and velocities at start, middle and end, of the moved nodes."""
        moved = self._core.moved
        if len(moved) == 0:
            return None
        here = self._core.positions[moved]
        middle, end = here.copy(), here.copy()
        velocities = [np.zeros_like(here) for _ in range(3)]
        if self._targets:
            rows = np.searchsorted(moved, np.fromiter(self._targets, np.int64, len(self._targets)))
            to = np.stack(list(self._targets.values()))
            end[rows] = to
            middle[rows] = 0.5 * (here[rows] + to)
            for v in velocities:
                v[rows] = (to - here[rows]) / dt
        for where, path in self._paths:
            rows = np.searchsorted(moved, where)
            times = (self._core.time, self._core.time + 0.5 * dt, self._core.time + dt)
            (x0, v0), (x1, v1), (x2, v2) = (_on_path(path, t, len(where)) for t in times)
            middle[rows], end[rows] = x1, x2
            if v0 is None or v1 is None or v2 is None:
                v0, v1, v2 = (4 * x1 - 3 * x0 - x2) / dt, (x2 - x0) / dt, (3 * x2 - 4 * x1 + x0) / dt
            for v, value in zip(velocities, (v0, v1, v2), strict=True):
                v[rows] = value
        return [middle, end, *velocities]


class _Part:
    """Some of the nodes of a path (a class, so that it pickles)."""

    def __init__(self, path: Path, rows: npt.NDArray[np.int64]) -> None:
        self.path, self.rows = path, rows

    def __call__(self, time: float) -> Any:
        at = self.path(time)
        if isinstance(at, tuple):
            return tuple(np.asarray(a)[self.rows] for a in at)
        return np.asarray(at)[self.rows]


def _without(where: npt.NDArray[np.int32], path: Path, gone: set[int]) -> tuple[npt.NDArray[np.int32], Path]:
    rows = np.array([k for k, node in enumerate(where.tolist()) if node not in gone])
    return where[rows], _Part(path, rows)


def _on_path(path: Path, time: float, count: int) -> tuple[Floats, Floats | None]:
    at = path(time)
    x, v = at if isinstance(at, tuple) and len(at) == 2 else (at, None)
    double, shape = np.dtype(np.float64), (count, 3)
    x = np.broadcast_to(_checks.incoming("the positions of a path", x, double, shape), shape)
    return x, None if v is None else np.broadcast_to(_checks.incoming("the velocities of a path", v, double, shape), shape)
