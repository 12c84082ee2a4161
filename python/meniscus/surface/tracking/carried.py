"""Data of the elements of a surface, which follow its operations."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._options import CoreOption
from meniscus.collision import CollisionMesh
from meniscus.core.memory import MemoryOwner
from meniscus.surface.tracking.events import CARRY_ON, CarryOn, SurfaceEvents

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
CarryRule = Literal["interpolate", "inherit", "sum", "largest"]
CarryFunction = Callable[[Floats, Floats], npt.ArrayLike]

CARRY_RULE = CoreOption(CarryRule, _surface.CarryRule)


class SurfaceShape(NamedTuple):
    """Positions (n, 3), m, and triangles (m, 3) of a surface at one time."""

    vertices: Floats
    triangles: Ints

    def edges(self) -> Ints:
        """Return the edges (k, 2), ascending."""
        return CollisionMesh(None, np.array(self.triangles)).edges

    def count(self, on: CarryOn) -> int:
        """Return how many elements of a kind there are."""
        return len(self.vertices if on == "vertices" else self.triangles if on == "triangles" else self.edges())

    def copy(self) -> SurfaceShape:
        """Return the same with arrays of its own."""
        return SurfaceShape(np.array(self.vertices), np.array(self.triangles))


class SurfaceRule(ABC):
    """Rule for data whose values depend on the shape of the surface, too, as circulations of a vortex sheet do. It is pickled with them."""

    @abstractmethod
    def after(self, values: Floats, events: SurfaceEvents, before: SurfaceShape, now: SurfaceShape) -> Floats:
        """Return the values after events, and after the smoothing that is none, from those before them."""

    @abstractmethod
    def smoothed(self, values: Floats, before: SurfaceShape, now: SurfaceShape) -> Floats:
        """Return the values after vertices have moved within the surface."""


class CarriedData(MemoryOwner):
    """Numbers of the elements of a surface, which follow its operations.

    Attributes:
        on: what they belong to.
        rule: how new elements get theirs.
    """

    def __init__(self, array: Floats, on: CarryOn, rule: CarryRule | CarryFunction | SurfaceRule) -> None:
        self.on = on
        self.rule = rule
        self._array = array

    @property
    def array(self) -> Floats:
        """(n,) or (n, k) float64, in the order of the elements now; writable. A new one after operations: old ones stay as they were."""
        return self._array

    @array.setter
    def array(self, value: npt.ArrayLike) -> None:
        self._array[:] = value

    def replace(self, array: Floats) -> None:
        """Put another array in the place of this one, of elements that are others now."""
        self._array = array

    def after(self, events: SurfaceEvents, edges: Ints, new_edges: Ints) -> Floats:
        """Return what events make of the array; edges before and after are those of the surface, ascending."""
        rows = np.ascontiguousarray(self._array.reshape(len(self._array), -1))
        assert not isinstance(self.rule, SurfaceRule)
        if callable(self.rule):
            after = self._by_function(events, rows, edges, new_edges)
        else:
            after = events._core.carry(CARRY_ON("on", self.on), CARRY_RULE("rule", self.rule), rows, edges, new_edges)
        return np.asarray(after.reshape(len(after), *self._array.shape[1:]))

    def _by_function(self, events: SurfaceEvents, rows: Floats, edges: Ints, new_edges: Ints) -> Floats:
        """Return the rows by a function of the sources."""
        assert callable(self.rule)
        numbers, parts = events.vertex_numbers, events.transfers(self.on)
        if self.on == "edges":
            state = dict(zip(map(_key, edges), rows, strict=True))
            left = [_key(np.sort(numbers[e])) for e in new_edges]
        else:
            state = {(i,): row for i, row in enumerate(rows)}
            left = [(int(i),) for i in (numbers if self.on == "vertices" else events.triangle_numbers)]
        nothing = np.zeros(rows.shape[1])
        for begin, end in itertools.pairwise(parts.first):
            sources: dict[tuple[int, ...], list[int]] = {}
            for i in range(begin, end):
                sources.setdefault(_key(parts.targets[i]), []).append(i)
            pending = {}
            for key, chosen in sources.items():
                values = np.array([state.get(_key(parts.sources[i]), nothing) for i in chosen])
                found = np.asarray(self.rule(values, parts.weights[chosen]), np.float64)
                pending[key] = np.broadcast_to(found, nothing.shape).copy()
            state.update(pending)
        return np.array([state[key] for key in left]).reshape(len(left), rows.shape[1])


class CarriedList(MemoryOwner):
    """All data that follow one surface."""

    def __init__(self, data: Sequence[CarriedData] = ()) -> None:
        self._data = list(data)

    def __iter__(self) -> Iterator[CarriedData]:
        """The data, in the order in which they were added."""
        return iter(self._data)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._data)

    @property
    def may_fail(self) -> bool:
        """Whether a rule is a user's, which may raise."""
        return any(not isinstance(data.rule, str) for data in self._data)

    def add(self, values: npt.ArrayLike, on: CarryOn, rule: CarryRule | CarryFunction | SurfaceRule, shape: SurfaceShape) -> CarriedData:
        """Add data of the elements of a surface; arguments and errors are those of `TrackedSurface.carry`."""
        _checks.choice("on", on, CarryOn)
        if not callable(rule) and not isinstance(rule, SurfaceRule):
            _checks.choice("rule", rule, CarryRule)
        array, n = np.array(_checks.numbers("values", values)), shape.count(on)
        if array.ndim not in (1, 2) or len(array) != n:
            raise ValueError(f"values must have shape ({n},) or ({n}, k), not {array.shape}")
        if array.ndim == 2 and array.shape[1] == 0:
            raise ValueError("values must have a column")
        _checks.require_finite("values", array)
        self._data.append(CarriedData(array, on, rule))
        return self._data[-1]

    def remove(self, data: CarriedData) -> None:
        """Let data follow no more. Raises ValueError for data that do not."""
        if data not in self._data:
            raise ValueError("these data do not follow the surface")
        self._data.remove(data)

    def shape_before(self, shape: SurfaceShape) -> SurfaceShape | None:
        """Return a copy of a shape that is about to change, if a rule needs it."""
        return shape.copy() if any(isinstance(data.rule, SurfaceRule) for data in self._data) else None

    def edges_of(self, shape: SurfaceShape) -> Ints:
        """Return the edges (k, 2) of a shape, where data of edges follow; else none."""
        return shape.edges() if any(data.on == "edges" for data in self._data) else np.zeros((0, 2), np.int32)

    def follow(self, events: SurfaceEvents, edges: Ints, before: SurfaceShape | None, now: SurfaceShape) -> None:
        """Let all data follow events; if a rule raises, none has changed.

        Args:
            events: of an operation.
            edges: what `edges_of` returned before.
            before: what `shape_before` returned.
            now: the shape after the events.
        """
        if not len(events) and before is None:
            return
        new_edges = self.edges_of(now)
        arrays = []
        for data in self._data:
            if isinstance(data.rule, SurfaceRule):
                assert before is not None
                arrays.append(data.rule.after(data.array, events, before, now))
            else:
                arrays.append(data.after(events, edges, new_edges) if len(events) else data.array)
        self.replace(arrays)

    def smoothed(self, before: SurfaceShape | None, now: SurfaceShape) -> None:
        """Let data whose rule needs the shape follow vertices that moved within the surface."""
        if before is not None:
            rules = [(data, data.rule) for data in self._data if isinstance(data.rule, SurfaceRule)]
            arrays = [rule.smoothed(data.array, before, now) for data, rule in rules]
            for (data, _), array in zip(rules, arrays, strict=True):
                data.replace(array)

    def grow(self, part: SurfaceShape) -> None:
        """Add zeros for the elements of a part that comes after all others."""
        for data in self._data:
            data.replace(np.concatenate([data.array, np.zeros((part.count(data.on), *data.array.shape[1:]))]))

    def arrays(self) -> list[Floats]:
        """Return copies of the arrays."""
        return [np.array(data.array) for data in self._data]

    def require_arrays(self, arrays: Sequence[Floats], shape: SurfaceShape) -> None:
        """Raise ValueError unless arrays are some of these data on a shape."""
        if len(arrays) != len(self._data):
            raise ValueError(f"the snapshot has data of {len(arrays)} kinds, the surface of {len(self._data)}")
        for data, array in zip(self._data, arrays, strict=True):
            n = shape.count(data.on)
            if np.shape(array) != (n, *data.array.shape[1:]):
                raise ValueError(f"data of {n} {data.on} must have as many rows, not the shape {np.shape(array)}")

    def replace(self, arrays: Sequence[Floats]) -> None:
        """Put arrays in the place of those of all data."""
        for data, array in zip(self._data, arrays, strict=True):
            data.replace(array)


def _key(element: npt.NDArray[np.int32]) -> tuple[int, ...]:
    """Return an element, a number or two vertices, as a key."""
    return tuple(map(int, np.atleast_1d(element)))
