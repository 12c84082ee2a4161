"""Fields: samples on a grid with ghost layers, exposed as NumPy views."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._types import AnyField
from meniscus.core.state import Arguments, State, checked_array
from meniscus.grid import conversion
from meniscus.grid.arithmetic import FieldArithmetic
from meniscus.grid.boundary import BoundarySpec, SideCondition, resolve, to_core
from meniscus.grid.uniform import AXES, Grid

GHOST_WIDTH: int = _grid.GHOST_WIDTH

_Self = TypeVar("_Self", bound="_Field")


@runtime_checkable
class SampledFlow(Protocol):
    """Flows that set the faces of a velocity themselves: `fluids.Flow`."""

    def sample(self, velocity: MacField, time: float) -> None:
        """Set a staggered velocity to the flow at `time` (s)."""


class _Field(State):
    """Base of scalar and vector fields."""

    _core: Any

    def __init__(self, grid: Grid, dtype: npt.DTypeLike, boundary: BoundarySpec) -> None:
        self._grid = _checks.one_of_type("grid", grid, Grid)
        self._dtype = _checks.scalar_type(dtype, grid.dimension)
        self._boundary = resolve(grid, boundary)

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self._grid

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._dtype

    @property
    def boundary(self) -> dict[str, SideCondition]:
        """The condition of every side, by name ('x-', 'x+', ...)."""
        return dict(self._boundary)

    def fill_ghosts(self, time: float = 0.0) -> None:
        """Fill the ghost layers from the samples, with boundary values at `time` (s). Operators do this themselves."""
        self._core.fill_ghosts(_checks.number("time", time))

    def snapshot(self) -> tuple[npt.NDArray[Any], ...]:
        """Return copies of all samples, for `restore`."""
        return tuple(a.copy() for a in self._arrays())

    def restore(self, snapshot: tuple[npt.NDArray[Any], ...]) -> None:
        """Set all samples from a snapshot of a field of the same kind. Raises ValueError or TypeError; then nothing is changed."""
        arrays = self._arrays()
        if not isinstance(snapshot, tuple) or len(snapshot) != len(arrays):
            raise ValueError(f"snapshot must be a tuple of {len(arrays)} arrays as returned by snapshot()")
        checked = [checked_array(f"array {i}", a, s) for i, (s, a) in enumerate(zip(snapshot, arrays, strict=True))]
        for a, s in zip(arrays, checked, strict=True):
            a[...] = s

    def assign(self: _Self, other: _Self) -> None:
        """Copy all samples, with ghosts, from a field of the same kind and dtype on the same grid. Raises TypeError or ValueError for
        others."""
        if type(other) is not type(self) or other._dtype != self._dtype:
            raise TypeError(f"only a {type(self).__name__} of dtype {self._dtype} can be assigned, not {other!r}")
        if other._grid != self._grid:
            raise ValueError(f"only a field on {self._grid} can be assigned, not one on {other._grid}")
        for mine, its in zip(self._blocks(), other._blocks(), strict=True):
            np.copyto(mine, its)

    @property
    def nbytes(self) -> int:
        """Bytes of the samples with their ghosts."""
        return sum(int(block.nbytes) for block in self._blocks())

    def exchanged_arrays(self) -> list[tuple[tuple[int, ...], npt.NDArray[Any]]]:
        """Return position (per axis 0 in cells, 1 on sides) and samples of every array, for `parallel.exchange`."""
        raise TypeError("not a concrete field")

    def __repr__(self) -> str:
        """One line: kind, shape, dtype, range."""
        parts = ", ".join(f"{n} in [{a.min():.4g}, {a.max():.4g}]" for n, a in zip(self._names(), self._arrays(), strict=True))
        return f"<{type(self).__name__} {'x'.join(map(str, self._grid.shape))} cells, {self._dtype.name}, {parts}>"

    def _arrays(self) -> list[npt.NDArray[Any]]:
        raise TypeError("not a concrete field")

    def _blocks(self) -> list[npt.NDArray[Any]]:
        raise TypeError("not a concrete field")

    def _names(self) -> list[str]:
        raise TypeError("not a concrete field")

    def _arguments(self) -> Arguments:
        return (), {"grid": self._grid, "dtype": self._dtype.name, "boundary": self._boundary}


class ScalarField(FieldArithmetic, _Field):
    """One number per sample. `array` is the interior; the memory never moves, so views always show the current values.

    Fields are arrays to NumPy, in arithmetic and with indices: `np.max(field)`, `field - other`, `field *= 0.5`, `field[i, j] = 0`.
    """

    def __init__(self, grid: Grid, on_side: tuple[int, ...], dtype: npt.DTypeLike, boundary: BoundarySpec) -> None:
        super().__init__(grid, dtype, boundary)
        self._on_side = on_side
        self._core = _grid.new_field(grid._core, on_side, to_core(grid, self._boundary, 1), self._dtype)
        # The memory never moves, so one view of it serves all.
        self._interior: npt.NDArray[Any] = self._core.array()
        self._block: npt.NDArray[Any] = self._core.with_ghosts()

    def set_from_function(self, function: Callable[..., npt.ArrayLike]) -> None:
        """Set the samples to function(x, y[, z]), where the coordinates (m) are arrays that broadcast.

        Raises:
            TypeError: `function` cannot be called.
            ValueError: values that are not finite or do not broadcast to the samples; then nothing changes.
        """
        values = np.asarray(_checks.function("function", function)(*self.coordinates()), dtype=self._dtype)
        try:
            values = np.broadcast_to(values, self.shape)
        except ValueError:
            raise ValueError(f"function must return values that broadcast to {self.shape}, not {values.shape}") from None
        _checks.require_finite("the values of function", values)
        self.array = values

    @property
    def array(self) -> npt.NDArray[Any]:
        """Writable view of the samples, indexed [i, j(, k)]. Assigning copies into it and refuses NaN and infinity."""
        return self._interior[...]

    @array.setter
    def array(self, value: npt.ArrayLike) -> None:
        target = self.array
        target[...] = _checks.incoming("array", value, self._dtype, target.shape)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """`array`, so that NumPy takes the field as one: `np.asarray(field)` is the writable view, `np.max(field)` a number."""
        return np.array(self.array, dtype=dtype, copy=copy) if copy or dtype is not None else self.array

    def __dlpack__(self, **options: Any) -> Any:
        """The memory of `array` for other libraries: `torch.from_dlpack(field)`, `jax.dlpack.from_dlpack(field)`. Nothing is copied."""
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The processor's memory."""
        return self.array.__dlpack_device__()

    def to_xarray(self, name: str | None = None) -> Any:
        """Return an `xarray.DataArray` over the memory of the field, with positions (m) of the samples; ImportError without xarray."""
        return conversion.scalar_to_xarray(self, name)

    def to_pyvista(self, name: str = "values") -> Any:
        """Return a `pyvista.ImageData` with a copy of the samples on its cells or points; ImportError without PyVista."""
        return conversion.scalar_to_pyvista(self, name)

    @property
    def with_ghosts(self) -> npt.NDArray[Any]:
        """Writable view of the whole contiguous block: 3 ghost layers on every side around `array`."""
        return self._block[...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of `array`."""
        return tuple(n + s for n, s in zip(self._grid.local_shape, self._on_side, strict=True))

    @property
    def on_side(self) -> tuple[int, ...]:
        """Position of the samples, per axis: 0 at the centre of a cell, 1 on its sides."""
        return self._on_side

    def coordinates(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Return x, y[, z] of the samples, m, shaped to broadcast with `array`."""
        return self._grid.coordinates(self._on_side)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sum of the samples of the whole domain; collective.

        It is exact but for one rounding at the end, so that it does not depend on the blocks. A sample that several blocks see, or that is
        on both sides of a periodic axis, counts once. With arguments of NumPy's `sum` it is that of `array`.
        """
        if axis is dtype is out is None:
            return float(_grid.global_sum(self._core))
        return np.sum(self.array, axis=axis, dtype=dtype, out=out)

    def max(self, axis: Any = None, out: Any = None) -> Any:
        """Return the largest sample of the whole domain (NaN if one is NaN); collective. With NumPy's arguments that of `array`."""
        return float(_grid.global_range(self._core)[1]) if axis is out is None else np.max(self.array, axis=axis, out=out)

    def min(self, axis: Any = None, out: Any = None) -> Any:
        """Return the smallest sample of the whole domain (NaN if one is NaN); collective. With NumPy's arguments that of `array`."""
        return float(_grid.global_range(self._core)[0]) if axis is out is None else np.min(self.array, axis=axis, out=out)

    def mean(self, axis: int | tuple[int, ...] | None = None, dtype: npt.DTypeLike | None = None, out: None = None) -> Any:
        """Return the mean of the samples of the whole domain, each counted once; collective. With NumPy's arguments that of `array`."""
        if axis is dtype is out is None:
            counts = (n + (s and not p) for n, s, p in zip(self._grid.shape, self._on_side, self._grid.periodic, strict=True))
            return self.sum() / math.prod(counts)
        return np.mean(self.array, axis=axis, dtype=dtype, out=out)

    def gather(self, root: int = 0) -> npt.NDArray[Any] | None:
        """Return the samples of the whole domain on rank `root`, None on others; collective. Raises ValueError for other ranks."""
        return _gathered(self._grid, self._core, self._on_side, self._dtype, root)

    def exchanged_arrays(self) -> list[tuple[tuple[int, ...], npt.NDArray[Any]]]:
        """Return position (per axis 0 in cells, 1 on sides) and samples, for `parallel.exchange`."""
        return [(self._on_side, self.array)]

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [self._interior]

    def _blocks(self) -> list[npt.NDArray[Any]]:
        return [self._block]

    def _names(self) -> list[str]:
        return ["values"]


class CellField(ScalarField):
    """A scalar at the cell centres.

    Args:
        grid: the grid.
        dtype: float64 (default), or float32 in three dimensions.
        boundary: one condition for all sides, or a dict by side name ('x-', 'x+', ...); default `Wall()`, across which a scalar has no
            gradient. Ignored on periodic axes.
    """

    def __init__(self, grid: Grid, dtype: npt.DTypeLike = np.float64, boundary: BoundarySpec = None) -> None:
        _checks.one_of_type("grid", grid, Grid)
        super().__init__(grid, (0,) * grid.dimension, dtype, boundary)

    @classmethod
    def from_function(
        cls, grid: Grid, function: Callable[..., npt.ArrayLike], *, dtype: npt.DTypeLike = np.float64, boundary: BoundarySpec = None
    ) -> CellField:
        """Return a field with the values function(x, y[, z]); see `set_from_function`."""
        field = cls(grid, dtype, boundary)
        field.set_from_function(function)
        return field


class NodeField(ScalarField):
    """A scalar at the nodes (corners of cells): shape + 1 samples per axis. Arguments as for `CellField`.

    On a periodic axis the first and the last node are the same unknown; the last one is its owner.
    """

    def __init__(self, grid: Grid, dtype: npt.DTypeLike = np.float64, boundary: BoundarySpec = None) -> None:
        _checks.one_of_type("grid", grid, Grid)
        super().__init__(grid, (1,) * grid.dimension, dtype, boundary)

    @classmethod
    def from_function(
        cls, grid: Grid, function: Callable[..., npt.ArrayLike], *, dtype: npt.DTypeLike = np.float64, boundary: BoundarySpec = None
    ) -> NodeField:
        """Return a field with the values function(x, y[, z]); see `set_from_function`."""
        field = cls(grid, dtype, boundary)
        field.set_from_function(function)
        return field


class MacField(_Field):
    """A staggered velocity (m/s): component d at the centres of the faces across axis d.

    `u` has shape (nx+1, ny[, nz]), `v` (nx, ny+1[, nz]), `w` (nx, ny, nz+1). On a periodic axis the first and the last face are the same
    unknown; the last one is its owner.

    Args:
        grid: the grid.
        dtype: float64 (default), or float32 in three dimensions.
        boundary: one condition for all sides, or a dict by side name; default: closed walls at rest, free slip.

    Source: Harlow and Welch 1965; Selle 2008, section 2.3 (averages to other sample points).
    """

    def __init__(self, grid: Grid, dtype: npt.DTypeLike = np.float64, boundary: BoundarySpec = None) -> None:
        super().__init__(grid, dtype, boundary)
        self._core = _grid.new_velocity(grid._core, to_core(grid, self._boundary, grid.dimension), self._dtype)
        axes = range(grid.dimension)
        # The memory never moves, so one view of each component serves all.
        self._interiors: list[npt.NDArray[Any]] = [self._core.array(d) for d in axes]
        self._padded: list[npt.NDArray[Any]] = [self._core.with_ghosts(d) for d in axes]

    @classmethod
    def from_function(
        cls,
        grid: Grid,
        function: Callable[..., npt.ArrayLike],
        time: float = 0.0,
        *,
        dtype: npt.DTypeLike = np.float64,
        boundary: BoundarySpec = None,
    ) -> MacField:
        """Return the velocity that a function, or a `fluids.Flow`, has at the centres of the faces.

        Args:
            grid: the grid.
            function: f(positions (n, dim) in metres, time in seconds) -> (n, dim), m/s, as boundary conditions take it; or a `Flow`, which
                is sampled without divergence where it has a potential.
            time: s.
            dtype: float64 (default), or float32 in three dimensions.
            boundary: as for the constructor. Faces on walls are set too; see `enforce_boundary`.

        Raises:
            TypeError: what cannot be called.
            ValueError: values of another shape, or that are not finite.
        """
        field = cls(grid, dtype, boundary)
        field.set_from_function(function, time)
        return field

    def set_from_function(self, function: Callable[..., npt.ArrayLike], time: float = 0.0) -> None:
        """Set the faces to a function or a `fluids.Flow` at `time` (s); arguments and errors as for `from_function`."""
        t = _checks.number("time", time)
        if isinstance(function, SampledFlow):
            function.sample(self, t)
            return
        _checks.function("function", function)
        values = [self._function_values(function, d, t) for d in range(self._grid.dimension)]
        for d, value in enumerate(values):
            self._assign(d, value)

    def _function_values(self, function: Callable[..., npt.ArrayLike], axis: int, time: float) -> npt.NDArray[Any]:
        """Return the component along an axis at its faces."""
        on_side = tuple(int(d == axis) for d in range(self._grid.dimension))
        shape = self.component(axis).shape
        x = np.stack([np.broadcast_to(c, shape).ravel() for c in self._grid.coordinates(on_side)], axis=1)
        value = np.asarray(function(x, time))
        if value.shape != x.shape:
            raise ValueError(f"function must return velocities of shape {x.shape} for as many positions, not {value.shape}")
        _checks.require_finite("the values of function", value)
        return value[:, axis].reshape(shape).astype(self._dtype)

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset` of u, v[, w] over the memory of the velocity, with positions (m); ImportError without xarray."""
        return conversion.velocity_to_xarray(self)

    def to_pyvista(self, name: str = "velocity") -> Any:
        """Return a `pyvista.ImageData` with the means of opposite faces on its cells; ImportError without PyVista."""
        return conversion.velocity_to_pyvista(self, name)

    def component(self, axis: int) -> npt.NDArray[Any]:
        """Return a writable view of the component along `axis`."""
        if _checks.integer("axis", axis, 0) >= self._grid.dimension:
            raise ValueError(f"axis must be below {self._grid.dimension}, not {axis}")
        return self._interiors[axis][...]

    def component_with_ghosts(self, axis: int) -> npt.NDArray[Any]:
        """Return a writable view of the whole contiguous block of the component along `axis`."""
        self.component(axis)
        return self._padded[axis][...]

    @property
    def u(self) -> npt.NDArray[Any]:
        """Writable view of the x component."""
        return self.component(0)

    @u.setter
    def u(self, value: npt.ArrayLike) -> None:
        self._assign(0, value)

    @property
    def v(self) -> npt.NDArray[Any]:
        """Writable view of the y component."""
        return self.component(1)

    @v.setter
    def v(self, value: npt.ArrayLike) -> None:
        self._assign(1, value)

    @property
    def w(self) -> npt.NDArray[Any]:
        """Writable view of the z component; AttributeError in 2-D."""
        self._require_w()
        return self.component(2)

    @w.setter
    def w(self, value: npt.ArrayLike) -> None:
        self._require_w()
        self._assign(2, value)

    def gather(self, root: int = 0) -> tuple[npt.NDArray[Any], ...] | None:
        """Return u, v[, w] of the whole domain on rank `root`, None on others; collective. Raises ValueError for other ranks."""
        places = [place for place, _ in self.exchanged_arrays()]
        parts = [_gathered(self._grid, self._core.component(d), place, self._dtype, root) for d, place in enumerate(places)]
        return None if any(a is None for a in parts) else tuple(a for a in parts if a is not None)

    def exchanged_arrays(self) -> list[tuple[tuple[int, ...], npt.NDArray[Any]]]:
        """Return position (per axis 0 in cells, 1 on sides) and samples of each component, for `parallel.exchange`."""
        axes = range(self._grid.dimension)
        return [(tuple(int(a == d) for a in axes), self.component(d)) for d in axes]

    def enforce_boundary(self, time: float = 0.0) -> None:
        """Set the faces on walls and on prescribed sides to their given normal velocity at `time` (s)."""
        self._core.enforce_boundary(_checks.number("time", time))

    def _require_w(self) -> None:
        if self._grid.dimension != 3:
            raise AttributeError("a 2-D MacField has components u and v only")

    def _assign(self, axis: int, value: npt.ArrayLike) -> None:
        target = self.component(axis)
        target[...] = _checks.incoming("uvw"[axis], value, self._dtype, target.shape)

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return self._interiors

    def _blocks(self) -> list[npt.NDArray[Any]]:
        return self._padded

    def _names(self) -> list[str]:
        return [f"{c}" for c in "uvw"[: self._grid.dimension]]


def _gathered(grid: Grid, core: AnyField, on_side: tuple[int, ...], dtype: np.dtype[Any], root: int) -> npt.NDArray[Any] | None:
    """Return the samples of the whole domain on one rank."""
    if _checks.integer("root", root, 0) >= grid.comm.size:
        raise ValueError(f"root must be one of the ranks 0 to {grid.comm.size - 1}, not {root}")
    shape = tuple(n + s for n, s in zip(grid.shape, on_side, strict=True))
    whole = np.empty(shape, dtype) if grid.comm.rank == root else None
    _grid.collect(core, root, whole)
    return whole


def component_shapes(grid: Grid) -> list[tuple[int, ...]]:
    """Return the shapes of u, v[, w] on a grid."""
    return [tuple(n + (a == d) for a, n in enumerate(grid.local_shape)) for d in range(len(AXES[: grid.dimension]))]
