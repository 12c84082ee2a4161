"""Base of solvers that are cached from step to step."""

from __future__ import annotations

from typing import Any

from meniscus import _checks
from meniscus._types import AnyGrid
from meniscus.grid.uniform import Grid


class CachedSolver:
    """Matrices and scratch memory on one grid, derived from what each call is given.

    Args:
        grid: 2-D or 3-D.

    Raises:
        TypeError: no grid.
    """

    _core: Any

    def __init__(self, grid: Grid) -> None:
        self._grid = _checks.one_of_type("grid", grid, Grid)
        self._core = self._new_core(grid._core)

    @staticmethod
    def _new_core(grid: AnyGrid) -> Any:
        raise TypeError("not a concrete solver")

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self._grid

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self._core.bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as an empty solver on the same grid: everything else is derived."""
        return type(self), (self._grid,)
