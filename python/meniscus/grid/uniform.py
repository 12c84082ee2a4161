"""Uniform Cartesian grids."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._types import AnyFieldExchange
from meniscus.parallel.communicator import Communicator, one_rank, resolve
from meniscus.parallel.cuts import LEAST_CELLS, balanced_blocks, even_cells

Blocks = tuple[tuple[int, ...], ...]

AXES = "xyz"


class Grid:
    """A box of cubic cells in 2-D or 3-D; cell [i, j, k] fills origin + spacing * ([i, i+1] x [j, j+1] x [k, k+1]).

    Args:
        shape: cells per axis, 2 or 3 numbers; decides the dimension. A 1-D problem is a (n, 1) grid, periodic on the second axis.
        spacing: edge length of a cell, m. A tuple is accepted if all its values are equal.
        origin: lower corner, m; default zeros.
        periodic: per axis; default none.
        comm: the ranks among which the domain is cut: a communicator of mpi4py, or what `parallel.ranks` returns; default: that of the
            innermost `with parallel.ranks(comm):`, else one rank. With more than one rank, making a grid is collective.
        blocks: per axis the number of blocks, or their cells one by one; default: nearly equal blocks with the least surface, see
            `parallel.balanced_blocks`. Blocks belong to the ranks in C order.

    Raises:
        TypeError, ValueError: not 2 or 3 axes, an axis without cells, unequal, non-positive or non-finite spacing, non-finite origin;
            blocks that do not make up the domain, are not as many as ranks, or have fewer than 4 cells along an axis that is cut;
            another grid on another rank; a communicator that was freed.
        ImportError: there is no module for mpi4py's MPI.
    """

    __slots__ = ("_blocks", "_comm", "_core", "_origin", "_periodic", "_plans", "_shape", "_spacing")

    def __init__(
        self,
        shape: Sequence[int],
        spacing: float | Sequence[float],
        origin: Sequence[float] | None = None,
        periodic: Sequence[bool] | bool = False,
        comm: Any = None,
        blocks: Sequence[int | Sequence[int]] | None = None,
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
        self._comm = resolve(comm)
        self._blocks = self._cut(blocks)
        self._core = _grid.new_grid(self._shape, self._spacing, self._origin, self._periodic, self._comm._core, self._blocks)
        self._plans: dict[Any, AnyFieldExchange] = {}

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
    def comm(self) -> Communicator:
        """The ranks that the domain is cut among."""
        return self._comm

    @property
    def blocks(self) -> Blocks:
        """Cells of the blocks along each axis; with one block, those of the domain."""
        return self._blocks

    def alone(self) -> Grid:
        """Return the same domain as a grid of one rank."""
        return Grid(self._shape, self._spacing, self._origin, self._periodic, comm=one_rank())

    def agreement(self) -> AbstractContextManager[None]:
        """Return a context that all ranks leave by an error if one of them does; see `parallel.Communicator.agreement`."""
        return nullcontext() if self._comm.size == 1 else self._comm.agreement()

    def exchange_plan(self, places: tuple[tuple[tuple[int, ...], int], ...], width: int) -> AnyFieldExchange:
        """Return the plan that fills ghosts of arrays with these positions and item sizes; made once, collectively."""
        key = places, width
        if key not in self._plans:
            self._plans[key] = _grid.new_field_exchange(self._core, places, width)
        return self._plans[key]

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

    def nearest(self, points: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the points of the domain that are nearest to points (n, dim), m, of the same dtype; a periodic axis has no end."""
        low = np.where(self._periodic, -np.inf, self._origin)
        high = np.where(self._periodic, np.inf, np.add(self._origin, self.extent))
        return np.ascontiguousarray(np.clip(points, low, high).astype(points.dtype))

    def __eq__(self, other: object) -> bool:
        """Grids are equal if they have the same cells at the same place, the same periodic axes, and the same blocks on the same ranks."""
        return isinstance(other, Grid) and self._key() == other._key() and self._comm is other._comm

    def __hash__(self) -> int:
        """Hash of what equality compares."""
        return hash(self._key())

    def __copy__(self) -> Grid:
        """Return the grid itself, which never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Grid:
        """Return the grid itself, which never changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by constructor arguments, and where it is cut, the blocks and the rank."""
        if self._comm.size == 1:
            return Grid, self._key()[:4]
        return _grid_of_rank, (self._key(), self._comm.rank, self._comm.size)

    def __repr__(self) -> str:
        """Constructor call, and where the domain is cut, the own block."""
        call = f"Grid(shape={self._shape}, spacing={self._spacing}, origin={self._origin}, periodic={self._periodic}"
        if self._comm.size == 1:
            return f"{call})"
        return f"{call}, blocks={self._blocks}), rank {self._comm.rank} of {self._comm.size}"

    def _key(self) -> tuple[tuple[int, ...], float, tuple[float, ...], tuple[bool, ...], Blocks]:
        return self._shape, self._spacing, self._origin, self._periodic, self._blocks

    def _cut(self, blocks: Sequence[int | Sequence[int]] | None) -> Blocks:
        """Return the cells of the blocks per axis; with several ranks, compare them with those of the others."""
        size = self._comm.size
        error: Exception | None = None
        cells: Blocks = tuple((n,) for n in self._shape)
        try:
            if blocks is not None:
                cells = _cells_of(blocks, self._shape, size)
            elif size > 1:
                cells = balanced_blocks(self._shape, size, self._periodic)
        except (TypeError, ValueError) as refused:
            error = refused
        if size > 1:
            own = (self._shape, self._spacing, self._origin, self._periodic, cells, None if error is None else str(error))
            for rank, other in enumerate(self._comm.gather(own)):
                if other != own:
                    raise ValueError(
                        f"all ranks must make the same grid, but rank {rank} makes one with {other}, and rank "
                        f"{self._comm.rank} one with {own}"
                    )
        if error is not None:
            raise error
        return cells


def _cells_of(blocks: object, shape: tuple[int, ...], ranks: int) -> Blocks:
    """Return the cells of blocks that are given by their numbers or by their cells."""
    if not isinstance(blocks, (Sequence, np.ndarray)) or isinstance(blocks, (str, bytes)) or len(blocks) != len(shape):
        raise ValueError(f"blocks must hold the number of blocks, or their cells, for each of {len(shape)} axes, not {blocks!r}")
    cells = []
    for axis, (n, given) in enumerate(zip(shape, blocks, strict=True)):
        if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, (str, bytes)):
            parts = tuple(_checks.integer(f"blocks[{axis}]", c, at_least=1) for c in given)
        else:
            count = _checks.integer(f"blocks[{axis}]", given, 1, n + 1)
            parts = even_cells(n, count)
        if sum(parts) != n:
            raise ValueError(f"the blocks along axis {axis} have {sum(parts)} cells together, the domain has {n}")
        if len(parts) > 1 and min(parts) < LEAST_CELLS:
            raise ValueError(
                f"a block of {min(parts)} cells along axis {axis} is thinner than the ghosts of its neighbours; "
                f"it needs at least {LEAST_CELLS}"
            )
        cells.append(parts)
    count = int(np.prod([len(parts) for parts in cells]))
    if count != ranks:
        raise ValueError(f"{count} blocks need as many ranks, not {ranks}; pass comm= or use parallel.ranks")
    return tuple(cells)


def _grid_of_rank(key: tuple[Any, ...], rank: int, size: int) -> Grid:
    """Return a grid from its pickle, on the rank that has pickled it."""
    comm = resolve(None)
    if (comm.rank, comm.size) != (rank, size):
        raise ValueError(
            f"this was pickled on rank {rank} of {size} and belongs there, not on rank {comm.rank} of {comm.size}; "
            "checkpoints can be read by any number of ranks"
        )
    shape, spacing, origin, periodic, blocks = key
    return Grid(shape, spacing, origin, periodic, comm, blocks)
