"""Uniform Cartesian grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid

AXES = "xyz"


class Grid:
    """A box of cubic cells in 2-D or 3-D; cell [i, j, k] fills origin + spacing * ([i, i+1] x [j, j+1] x [k, k+1]).

    Args:
        shape: cells per axis, 2 or 3 numbers; decides the dimension. A 1-D problem is a (n, 1) grid, periodic on the second axis.
        spacing: edge length of a cell, m. A tuple is accepted if all its values are equal.
        origin: lower corner, m; default zeros.
        periodic: per axis; default none.

    Raises:
        TypeError, ValueError: not 2 or 3 axes, an axis without cells, unequal, non-positive or non-finite spacing, non-finite origin.
    """

    __slots__ = ("_core", "_origin", "_periodic", "_shape", "_spacing")

    def __init__(
        self,
        shape: Sequence[int],
        spacing: float | Sequence[float],
        origin: Sequence[float] | None = None,
        periodic: Sequence[bool] | bool = False,
    ) -> None:
        if isinstance(shape, (str, bytes)) or not isinstance(shape, (Sequence, np.ndarray)):
            raise TypeError(f"shape must be a sequence of 2 or 3 integers, not {shape!r}")
        if len(shape) not in (2, 3):
            raise ValueError(f"shape must have 2 or 3 axes, not {len(shape)}; a 1-D problem is a (n, 1) grid")
        self._shape = tuple(_checks.integer(f"shape[{i}]", n, at_least=1) for i, n in enumerate(shape))
        dimension = len(self._shape)
        if isinstance(spacing, (Sequence, np.ndarray)) and not isinstance(spacing, (str, bytes)):
            if len(spacing) != dimension:
                raise ValueError(f"spacing must be a number or {dimension} equal ones, not {tuple(spacing)}")
            if len(set(spacing)) != 1:
                raise ValueError(f"spacing must be the same on every axis (cells are cubes), not {tuple(spacing)}")
            spacing = spacing[0]
        self._spacing = _checks.positive("spacing", spacing)
        if not 1e-100 <= self._spacing <= 1e100:  # its powers up to the third are numbers too
            raise ValueError(f"spacing must be from 1e-100 to 1e100 m, not {self._spacing}")
        self._origin = _checks.vector("origin", (0.0,) * dimension if origin is None else origin, dimension)
        if isinstance(periodic, (bool, np.bool_)):
            periodic = (bool(periodic),) * dimension
        is_list = isinstance(periodic, (Sequence, np.ndarray)) and len(periodic) == dimension
        if not is_list or not all(isinstance(p, (bool, np.bool_)) for p in periodic):
            raise ValueError(f"periodic must be a bool or {dimension} of them, not {periodic!r}")
        self._periodic = tuple(bool(p) for p in periodic)
        core = _grid.Grid2 if dimension == 2 else _grid.Grid3
        self._core: Any = core(self._shape, self._spacing, self._origin, self._periodic)

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return len(self._shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per axis of the whole domain."""
        return self._shape

    @property
    def local_shape(self) -> tuple[int, ...]:
        """Cells per axis of the block that this process owns; with one block, all."""
        return tuple(self._core.local_shape)

    @property
    def first_cell(self) -> tuple[int, ...]:
        """Place of the own block's first cell in the domain."""
        return tuple(self._core.first_cell)

    @property
    def spacing(self) -> float:
        """Edge length of a cell, m."""
        return self._spacing

    @property
    def origin(self) -> tuple[float, ...]:
        """Lower corner of the domain, m."""
        return self._origin

    @property
    def periodic(self) -> tuple[bool, ...]:
        """Per axis."""
        return self._periodic

    @property
    def sides(self) -> tuple[str, ...]:
        """Names of the sides of the domain: 'x-', 'x+', ... A periodic axis has none."""
        return tuple(axis + end for axis, closes in zip(AXES, self._periodic, strict=False) if not closes for end in "-+")

    @property
    def extent(self) -> tuple[float, ...]:
        """Edge lengths of the domain, m."""
        return tuple(n * self._spacing for n in self._shape)

    def coordinates(self, on_side: Sequence[int]) -> tuple[npt.NDArray[np.float64], ...]:
        """Return one array of positions (m) per axis, shaped to broadcast, of samples at centres (0) or on sides (1) per axis.

        The samples are those of the own block.
        """
        if not isinstance(on_side, (Sequence, np.ndarray)) or np.shape(on_side) != (self.dimension,):
            raise ValueError(f"on_side must hold {self.dimension} numbers, 0 or 1, not {on_side!r}")
        if not all(isinstance(s, (int, np.integer)) and s in (0, 1) for s in on_side):
            raise ValueError(f"on_side must hold 0 or 1 per axis, not {on_side!r}")
        arrays = []
        for d, (first, n) in enumerate(zip(self.first_cell, self.local_shape, strict=True)):
            i = np.arange(first, first + n + on_side[d], dtype=np.float64) + 0.5 * (1 - on_side[d])
            shape = [1] * self.dimension
            shape[d] = -1
            arrays.append((self._origin[d] + self._spacing * i).reshape(shape))
        return tuple(arrays)

    def cell_centers(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Return x, y[, z] of the cell centres, m, shaped to broadcast."""
        return self.coordinates((0,) * self.dimension)

    def nodes(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Return x, y[, z] of the nodes, m, shaped to broadcast."""
        return self.coordinates((1,) * self.dimension)

    def face_centers(self, axis: int) -> tuple[npt.NDArray[np.float64], ...]:
        """Return x, y[, z] of the centres of the faces across an axis, m, shaped to broadcast. Raises ValueError for other axes."""
        if _checks.integer("axis", axis, 0) >= self.dimension:
            raise ValueError(f"axis must be below {self.dimension}, not {axis}")
        return self.coordinates(tuple(int(d == axis) for d in range(self.dimension)))

    def __eq__(self, other: object) -> bool:
        """Grids are equal if they have the same cells at the same place and the same periodic axes."""
        return isinstance(other, Grid) and self._key() == other._key()

    def __hash__(self) -> int:
        """Hash of what equality compares."""
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by constructor arguments."""
        return Grid, self._key()

    def __repr__(self) -> str:
        """Constructor call."""
        return f"Grid(shape={self._shape}, spacing={self._spacing}, origin={self._origin}, periodic={self._periodic})"

    def _key(self) -> tuple[tuple[int, ...], float, tuple[float, ...], tuple[bool, ...]]:
        return self._shape, self._spacing, self._origin, self._periodic
