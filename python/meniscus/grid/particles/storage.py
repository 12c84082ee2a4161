"""Particles as a struct of arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus.core import Workspace
from meniscus.core.state import Arguments, BatchState, Declaration, checked_array, require_rows
from meniscus.grid.uniform import Grid
from meniscus.parallel.communicator import Communicator, default

_TYPES = {np.dtype(t): getattr(_grid.ColumnType, t) for t in ("float32", "float64", "int8", "int32", "int64", "uint8")}

_Self = TypeVar("_Self", bound="Particles")

_COLUMN = Declaration(resizable=1, rows_of="id")


def _scratch(workspace: Workspace | None) -> Workspace:
    return Workspace() if workspace is None else _checks.one_of_type("workspace", workspace, Workspace)


class Particles(BatchState):
    """Positions, unique ids and any further columns, one contiguous array each.

    Columns are exposed as views. When particles are appended beyond the capacity, the columns move to new memory: old views stay valid
    but stale, and `generation` goes up. Ids are never reused, so they key random numbers (`meniscus.core.uniform`) for life.

    On ranks each holds the particles of its block, once they have been handed out (`migrate`); lengths and arrays are those of the rank.

    Args:
        positions: (n, 2), float64, or (n, 3), float32 or float64, m; copied.
        replicated: as for `append`.
        grid: as for `append`.
        **columns: further values per particle, (n,) or (n, width); copied.

    Raises:
        TypeError, ValueError: wrong dtype or shape; positions or columns that are not finite.
    """

    def __init__(self, positions: npt.ArrayLike, *, replicated: bool = False, grid: Grid | None = None, **columns: npt.ArrayLike) -> None:
        x = np.asarray(positions)
        if x.ndim != 2 or x.shape[1] not in (2, 3):
            raise ValueError(f"positions must have shape (n, 2) or (n, 3), not {x.shape}")
        _checks.scalar_type(x.dtype, x.shape[1])
        self._core = _grid.ParticleSet(x.shape[1], _TYPES[x.dtype])
        for name, values in columns.items():
            c = np.asarray(values)
            self.add_column(name, c.dtype, 1 if c.ndim < 2 else c.shape[1])
        self.append(x, replicated=replicated, grid=grid, **columns)

    def __len__(self) -> int:
        """Return the number of particles."""
        return self._core.size

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return int(self._core.dimension)

    @property
    def positions(self) -> npt.NDArray[Any]:
        """Writable view (n, dim), m."""
        return self._core.column("position")

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """View (n,) of the unique ids."""
        return self._view("id", writable=False)

    @property
    def capacity(self) -> int:
        """Particles that fit before the columns move."""
        return self._core.capacity

    @property
    def nbytes(self) -> int:
        """Bytes of all columns, at their capacity."""
        arrays = [self.positions, self.ids, *(self[name] for name in self.columns)]
        return self.capacity * sum(a.itemsize * int(np.prod(a.shape[1:])) for a in arrays)

    @property
    def generation(self) -> int:
        """Number of times that the columns have moved to new memory."""
        return self._core.generation

    @property
    def columns(self) -> list[str]:
        """Names of the added columns."""
        return self._core.column_names()[2:]

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return a writable view of an added column; KeyError for an unknown name."""
        if name not in self.columns:
            raise KeyError(f"particles have no column {name!r}; there are: {', '.join(self.columns) or 'none'}")
        return self._core.column(name)

    def __setitem__(self, name: str, value: npt.ArrayLike) -> None:
        """Copy a number or an array of the dtype and shape of a column into it. Raises TypeError or ValueError, as `append`."""
        target = self[name]
        if isinstance(value, (bool, int, float, np.integer, np.floating)):
            target[...] = self._number(name, value, target.dtype)
        else:
            target[...] = self._checked(name, value, target.shape)

    def add_column(self, name: str, dtype: npt.DTypeLike = np.float64, width: int = 1) -> npt.NDArray[Any]:
        """Add a column of zeros, `width` values per particle, and return its view. Raises TypeError or ValueError."""
        try:
            t = np.dtype(dtype)
        except (TypeError, ValueError):
            t = np.dtype(object)
        if t not in _TYPES or dtype is None:
            raise TypeError(f"the dtype of a column is one of {', '.join(k.name for k in _TYPES)}, not {dtype!r}")
        _checks.one_of_type("name", name, str)
        self._core.add_column(name, _TYPES[t], _checks.integer("width", width, 1, 2**63))
        return self._core.column(name)

    def append(self, positions: npt.ArrayLike, *, replicated: bool = False, grid: Grid | None = None, **columns: npt.ArrayLike) -> slice:
        """Add particles at positions (n, dim); columns that are not given are zero. Returns the indices of those that this rank keeps.

        On ranks, each adds what it hands in; ids become different ones when the particles migrate. With `replicated`, all ranks hand in the
        same particles, as a script does that knows nothing of ranks, and each particle is kept once, with the id that it has on one rank:
        by the rank in whose block of `grid` it lies; without a grid by any of the ranks in use, until they migrate.

        Args:
            positions: m.
            replicated: whether all ranks add the same particles; collective. On one rank it changes nothing.
            grid: the grid whose blocks decide where replicated particles are kept.
            **columns: values by name, one for each particle or one for all.

        Raises:
            TypeError, ValueError: wrong dtypes or shapes, unknown columns, values that are not finite; with `replicated`, other particles
                on other ranks. Then nothing is added.
        """
        x, checked = self._checked_rows(positions, columns)
        kept = self._share(x, grid, checked) if _checks.flag("replicated", replicated) else None
        if kept is None:
            return self._set_rows(self._core.append(len(x)), x, checked)
        first = self._core.append_shared(kept, len(x))
        return self._set_rows(first, x[kept], {name: c if c.ndim == 0 else c[kept] for name, c in checked.items()})

    def append_back(self, positions: npt.ArrayLike, ids: npt.ArrayLike, **columns: npt.ArrayLike) -> slice:
        """Add particles that were removed from this set before, with the ids that they had. Returns their indices.

        Args:
            positions: (n, dim), m.
            ids: (n,) int64, of particles that are not in the set now.
            **columns: values by name, as for `append`.

        Raises:
            TypeError, ValueError: as `append`; ids that no particle of this set has had. Then nothing is added.
        """
        numbers = np.ascontiguousarray(ids)
        if numbers.dtype != np.int64:
            raise TypeError(f"ids must be of dtype int64, not {numbers.dtype}")
        x, checked = self._checked_rows(positions, columns)
        if numbers.shape != (len(x),):
            raise ValueError(f"ids must have shape {(len(x),)}, not {numbers.shape}")
        return self._set_rows(self._core.append_back(numbers), x, checked)

    def reserve(self, capacity: int) -> None:
        """Reserve memory, so that appending up to `capacity` particles moves nothing."""
        self._core.reserve(_checks.integer("capacity", capacity, 0, 2**63))

    def remove(self, mask: npt.ArrayLike, *, workspace: Workspace | None = None) -> int:
        """Remove the particles where the bool mask (n,) is true; the others keep their order. Returns their number."""
        return self._core.remove(_checks.mask("mask", mask, (len(self),)), _scratch(workspace))

    def sort_by_cell(self, grid: Grid, *, workspace: Workspace | None = None) -> None:
        """Order the particles by cell, those of one cell by id. See `cells` and `cell_starts`.

        Particles outside of the domain belong to the nearest cell, on periodic axes to that of their image. Raises ValueError for a grid of
        another dimension or positions that are not finite.
        """
        _checks.one_of_type("grid", grid, Grid)
        if grid.dimension != self.dimension:
            raise ValueError(f"grid must be {self.dimension}-D like the particles, not {grid.dimension}-D")
        self._core.sort_by_cell(grid._core, _scratch(workspace))

    def migrate(self, grid: Grid, *, workspace: Workspace | None = None) -> int:
        """Hand every particle to the rank in whose block of the grid it lies, however far that is; collective. Returns how many have left.

        Each rank then has its particles in the order of (global cell, id), which does not depend on the ranks. Ids and all
        columns go along. With one rank it sorts.

        Raises TypeError or ValueError, on all ranks, for a grid of another dimension, positions that are not finite, and other columns on
        other ranks.
        """
        _checks.one_of_type("grid", grid, Grid)
        if grid.dimension != self.dimension:
            raise ValueError(f"grid must be {self.dimension}-D like the particles, not {grid.dimension}-D")
        return int(_grid.migrate_particles(self._core, grid._core, _scratch(workspace)))

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """Occupied cells after `sort_by_cell`: linear C-ordered indices, ascending; empty after particles were added or removed."""
        return self._core.cell_keys()

    @property
    def cell_starts(self) -> npt.NDArray[np.int64]:
        """Particles cell_starts[i] to cell_starts[i + 1] - 1 lie in cells[i]."""
        return self._core.cell_starts()

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all columns and the next id, for `restore`."""
        data = {n: self._core.column(n).copy() for n in self._core.column_names()}
        data["next id"] = np.array(self._core.next_id)
        return data

    def restore(self, snapshot: dict[str, npt.NDArray[Any]]) -> None:
        """Restore the state of a snapshot, including ids.

        Raises ValueError or TypeError if its columns are not those of these particles; then nothing is changed.
        """
        names = self._core.column_names()
        given = snapshot if isinstance(snapshot, dict) else {}
        if set(given) != {*names, "next id"}:
            raise ValueError(f"snapshot must have the columns {', '.join(names)}, not {', '.join(given) or 'none'}")
        mine = {n: self._core.column(n) for n in names}
        checked = {n: checked_array(n, a, snapshot[n], _COLUMN) for n, a in mine.items()}
        ids = checked["id"]
        n_ids = len(ids)
        require_rows(checked, dict.fromkeys(names, _COLUMN))
        next_id = _checks.integer("next id in the snapshot", np.asarray(snapshot["next id"])[()], 0, 2**62)
        if n_ids and not (ids.min() >= 0 and ids.max() < next_id and len(np.unique(ids)) == n_ids):
            raise ValueError(f"id in the snapshot must hold different numbers from 0 to {next_id - 1}, of which none is twice")
        self._core.remove(np.ones(len(self), bool), Workspace())
        self._core.append(n_ids)
        for n in names:
            self._core.column(n)[...] = checked[n]
        self._core.next_id = next_id

    def assign(self: _Self, other: _Self) -> None:
        """Copy other particles with the same columns, with ids and the order of cells; grows only if the capacity is too small.

        Raises TypeError or ValueError for another kind of particles or other columns; then nothing is changed.
        """
        if type(other) is not type(self):
            raise TypeError(f"only {type(self).__name__} can be assigned, not {other!r}")
        self.assign_each([self], [other])

    @classmethod
    def assign_each(cls, targets: Sequence[Any], sources: Sequence[Any]) -> None:
        """Assign to each of some particles other ones with the same columns, see `assign`."""
        _grid.assign_particles([t._core for t in targets], [s._core for s in sources])

    def __repr__(self) -> str:
        """One line: number, dimension, dtype, columns."""
        extra = f", columns {', '.join(self.columns)}" if self.columns else ""
        return f"<{type(self).__name__} {len(self)} in {self.dimension}-D, {self.positions.dtype}{extra}>"

    def _arguments(self) -> Arguments:
        columns = {name: np.empty((0, *self[name].shape[1:]), self[name].dtype) for name in self.columns}
        return (np.empty((0, self.dimension), self.positions.dtype),), columns

    def _checked_rows(
        self, positions: npt.ArrayLike, columns: Mapping[str, npt.ArrayLike]
    ) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
        x = np.asarray(positions)
        mine = self.positions
        if x.dtype != mine.dtype:
            raise TypeError(f"positions must be of dtype {mine.dtype}, not {x.dtype}")
        if x.ndim != 2 or x.shape[1] != mine.shape[1]:
            raise ValueError(f"positions must have shape (n, {mine.shape[1]}), not {x.shape}")
        _checks.require_finite("positions", x)
        checked = {}
        for name, values in columns.items():
            target = self[name]
            one = np.ndim(values) == 0
            checked[name] = self._checked(name, values, () if one else (len(x), *target.shape[1:]))
        return x, checked

    def _set_rows(self, first: int, x: npt.NDArray[Any], columns: Mapping[str, npt.NDArray[Any]]) -> slice:
        where = slice(first, first + len(x))
        self.positions[where] = x
        for name, c in columns.items():
            self[name][where] = c
        return where

    def _share(self, x: npt.NDArray[Any], grid: Grid | None, columns: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.int64] | None:
        """Return which of the particles that all ranks add this one keeps; None: all."""
        comm = default() if grid is None else _checks.one_of_type("grid", grid, Grid).comm
        if comm.size == 1:
            return None
        if grid is not None and grid.dimension != self.dimension:
            raise ValueError(f"grid must be {self.dimension}-D like the particles, not {grid.dimension}-D")
        self._require_same(comm, x, columns)
        if grid is None:
            return np.arange(len(x) * comm.rank // comm.size, len(x) * (comm.rank + 1) // comm.size)
        own: npt.NDArray[np.int64] = _grid.points_in_block(grid._core, np.ascontiguousarray(x))
        return own

    @staticmethod
    def _require_same(comm: Communicator, positions: npt.NDArray[Any], columns: dict[str, npt.NDArray[Any]]) -> None:
        """Raise ValueError, on all ranks, if they are about to add different particles."""
        content = hashlib.blake2b(positions.tobytes(), digest_size=16)
        for name in sorted(columns):
            content.update(name.encode() + columns[name].tobytes())
        everywhere = comm.gather((len(positions), content.hexdigest()))
        for rank, theirs in enumerate(everywhere):
            if theirs != everywhere[0]:
                what = "numbers of particles" if theirs[0] != everywhere[0][0] else "particles"
                raise ValueError(f"with replicated=True all ranks must add the same, but rank {rank} and rank 0 have different {what}")

    def _checked(self, name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Check values for a column: of its dtype, of the given shape (or with one more axis of length 1), finite."""
        c, dtype = np.asarray(values), self[name].dtype
        if c.dtype != dtype:
            raise TypeError(f"column {name!r} must be of dtype {dtype}, not {c.dtype}")
        if c.shape not in (shape, (*shape, 1)):
            raise ValueError(f"column {name!r} must have shape {shape}, not {c.shape}")
        _checks.require_finite(f"column {name!r}", c)
        return c.reshape(shape)

    @staticmethod
    def _number(name: str, value: object, dtype: np.dtype[Any]) -> float | int:
        """Check a number for a column; integer columns take integers in their range."""
        if dtype.kind == "f":
            return _checks.number(f"column {name!r}", value)
        n, limits = _checks.integer(f"column {name!r}", value), np.iinfo(dtype)
        if not limits.min <= n <= limits.max:
            raise ValueError(f"column {name!r} takes integers from {limits.min} to {limits.max}, not {n}")
        return n

    def _view(self, name: str, *, writable: bool) -> npt.NDArray[Any]:
        v = self._core.column(name)
        v.flags.writeable = writable
        return v
