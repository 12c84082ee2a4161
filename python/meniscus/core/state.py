"""State of objects that own memory; saving and restoring of parts of any kind.

A part is a `State`, an object with `snapshot` and `restore`, a random generator, an array, a plain value (number, string or None), or a
tuple, list or dict of these.
"""

from __future__ import annotations

import copy
import html
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from meniscus.core.known_names import KnownNames
from meniscus.core.memory import MemoryOwner

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_S = TypeVar("_S", bound="State")


@runtime_checkable
class Restorable(Protocol):
    """Objects with snapshots: every `State`, and classes of your own.

    A snapshot consists of arrays, numbers, strings and None, and of tuples, lists and dicts (with string keys) of these.
    """

    def snapshot(self) -> Any:
        """Return copies of everything that changes."""

    def restore(self, snapshot: Any) -> None:
        """Restore the state of a snapshot."""


_BUILT_IN = {type(None), bool, int, float, str, tuple, list, dict}
"""Types that are known to be no `Restorable`, which is a slow question."""


class State(KnownNames, ABC):
    """An object that owns memory: a field, particles, a level set, a body, or a solver that is made of these."""

    @abstractmethod
    def snapshot(self) -> Any:
        """Return copies of everything that changes, as arrays, numbers, strings and None in tuples, lists and dicts."""

    @abstractmethod
    def restore(self, snapshot: Any) -> None:
        """Restore the state of a snapshot, bit by bit. Raises ValueError or TypeError for one of another kind; then nothing is changed."""

    @abstractmethod
    def assign(self: _S, other: _S) -> None:
        """Copy another state of the same kind, bit by bit. Allocates memory only for more particles than ever before."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes held."""

    @abstractmethod
    def _arguments(self) -> Arguments:
        """Return the arguments, by position and by name, that make another state of the same kind."""

    def copy(self: _S) -> _S:
        """Return an independent copy."""
        arguments, named = self._arguments()
        other = type(self)(*arguments, **named)
        other.assign(self)
        return other

    def __copy__(self: _S) -> _S:
        """Same as `copy`: a state owns its memory."""
        return self.copy()

    def __deepcopy__(self: _S, memo: dict[int, Any]) -> _S:
        """Same as `copy`."""
        memo[id(self)] = other = self.copy()
        return other

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<code>{html.escape(repr(self))}</code>"

    def _backed_up(self, last: Any) -> Any:
        """Return a backup: `last`, an earlier one, made equal to this object, or a new one if that is None."""
        if last is None:
            return self.copy()
        last.assign(self)
        return last

    def _bring_back(self, backup: Any) -> None:
        """Restore the state of a copy that `_backed_up` has returned."""
        self.assign(backup)

    def _restore_within(self, snapshot: Any) -> None:
        """Same as `restore`, for callers that undo all changes after an error."""
        self.restore(snapshot)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments and a snapshot; functions among the arguments must be picklable (not lambdas)."""
        return _rebuild, (type(self), *self._arguments(), self.snapshot())


class BatchState(State):
    """A state of which many are assigned by one call."""

    @classmethod
    @abstractmethod
    def assign_each(cls, targets: Sequence[Any], sources: Sequence[Any]) -> None:
        """Assign to each of some states another one of the same kind."""


def _rebuild(kind: type[State], arguments: tuple[Any, ...], named: dict[str, Any], snapshot: Any) -> State:
    """Make a state from its pickle."""
    state = kind(*arguments, **named)
    state.restore(snapshot)
    return state


class Backup(MemoryOwner):
    """A value and its copy in memory that is reused."""

    borrowed = ("value",)

    def __init__(self) -> None:
        self.value: Any = None
        self.copy: Any = None

    def take(self, value: Any) -> None:
        """Copy a value, into the memory of the last copy if that is of the same object or of the same shape."""
        last = self.copy if value is self.value or isinstance(value, (np.ndarray, tuple, list, dict)) else None
        self.value, self.copy = value, None  # no copy, rather than a wrong one, where this is broken off
        self.copy = self._copied(value, last)

    def bring_back(self) -> Any:
        """Restore the value from the copy, and return it."""
        value, saved = self.value, self.copy
        if isinstance(value, State):
            value._bring_back(saved)
        elif isinstance(value, np.random.Generator):
            value.bit_generator.state = saved
        elif isinstance(value, np.ndarray):
            np.copyto(value, saved)
        elif isinstance(value, Restorable):
            value.restore(saved)
        elif isinstance(value, tuple):
            return tuple(backup.bring_back() for backup in saved)
        elif isinstance(value, list):
            value[:] = [backup.bring_back() for backup in saved]
        elif isinstance(value, dict):
            parts = {key: backup.bring_back() for key, backup in saved.items()}
            value.clear()
            value.update(parts)
        return value

    @staticmethod
    def _copied(value: Any, last: Any) -> Any:
        # The frequent kinds first: whether something is Restorable is a slow question.
        if isinstance(value, np.ndarray):
            if not isinstance(last, np.ndarray) or last.shape != value.shape or last.dtype != value.dtype:
                return value.copy()
            np.copyto(last, value)
            return last
        if value is None or isinstance(value, (bool, int, float, str)):
            return None
        if isinstance(value, State):
            return value._backed_up(last)
        if isinstance(value, dict):
            return backed_up(value, last)
        if isinstance(value, (tuple, list)):
            fits = isinstance(last, list) and len(last) == len(value)
            items: list[Backup] = last if fits else [Backup() for _ in value]
            for backup, item in zip(items, value, strict=True):
                backup.take(item)
            return items
        if isinstance(value, np.random.Generator):
            return copy.deepcopy(value.bit_generator.state)
        return value.snapshot() if isinstance(value, Restorable) else None


def backed_up(parts: Mapping[str, Any], last: Any) -> dict[str, Backup]:
    """Return the backups of parts by name; those in `last` are reused."""
    known = last if isinstance(last, dict) else {}
    backups = {name: known.get(name) or Backup() for name in parts}
    alike: dict[type[BatchState], list[Backup]] = {}
    for name, part in parts.items():
        backup = backups[name]
        if isinstance(part, BatchState) and backup.value is part and backup.copy is not None:
            alike.setdefault(type(part), []).append(backup)
        else:
            backup.take(part)
    for kind, group in alike.items():
        copies = [backup.copy for backup in group]
        for backup in group:
            backup.copy = None  # no copy, rather than a wrong one, where this is broken off
        kind.assign_each(copies, [backup.value for backup in group])
        for backup, made in zip(group, copies, strict=True):
            backup.copy = made
    return backups


def require_part(name: str, part: Any) -> None:
    """Raise TypeError for a part that could not be restored, before anything relies on it."""
    if isinstance(part, (tuple, list, dict)):
        for item in part.values() if isinstance(part, dict) else part:
            require_part(name, item)
    elif part is not None and not isinstance(part, (np.ndarray, np.random.Generator, bool, int, float, str, Restorable)):
        raise TypeError(
            f"{name} is a {type(part).__name__}; it must have snapshot() and restore(), or be an array, a random generator or a plain value"
        )


def holds_none(part: Any) -> bool:
    """Return whether a part is None, or a tuple, list or dict that holds such a part."""
    if isinstance(part, (tuple, list, dict)):
        return any(map(holds_none, part.values() if isinstance(part, dict) else part))
    return part is None


def snapshot_of(part: Any) -> Any:
    """Return copies of a part, as arrays, numbers, strings and None in tuples, lists and dicts."""
    if isinstance(part, np.random.Generator):
        return copy.deepcopy(part.bit_generator.state)
    if isinstance(part, np.ndarray):
        return part.copy()
    if type(part) not in _BUILT_IN and isinstance(part, Restorable):
        return part.snapshot()
    if isinstance(part, (tuple, list)):
        return type(part)(snapshot_of(item) for item in part)
    if isinstance(part, dict):
        return {key: snapshot_of(item) for key, item in part.items()}
    return part


@dataclass(frozen=True)
class Declaration:
    """What a snapshot may hold for a part: arrays of its dtype and shape and finite numbers, unless it is declared otherwise.

    Attributes:
        resizable: along how many axes, from the first on, an array may be replaced by one of another length.
        optional: None when it was declared, so that it may be None or a plain value.
        infinite: whether infinity is a value. NaN never is.
        rows_of: the part that has as many rows or items.
        samples_of: the grid whose samples on the own block an array, or a list of arrays, holds.
        on_grid: an object that knows its grid, which may be cut among ranks.
    """

    resizable: int = 0
    optional: bool = False
    infinite: bool = False
    rows_of: str | None = None
    samples_of: Any = None
    on_grid: bool = False


FIXED = Declaration()
"""Declaration of a part of fixed shape whose numbers are finite."""


def restored(name: str, part: Any, saved: Any, declared: Declaration = FIXED) -> Any:
    """Restore a part from a snapshot; return it, or its replacement. Raises TypeError or ValueError with the name of the part."""
    if isinstance(part, np.random.Generator):
        with _named(name):
            part.bit_generator.state = saved
    elif isinstance(part, np.ndarray):
        array = checked_array(name, part, saved, declared)
        if array.shape != part.shape:
            return array.copy()
        np.copyto(part, array)
    elif isinstance(part, State):
        with _named(name):
            part._restore_within(saved)
    elif type(part) not in _BUILT_IN and isinstance(part, Restorable):
        with _named(name):
            part.restore(saved)
    elif isinstance(part, (tuple, list)):
        if not isinstance(saved, (tuple, list)) or len(saved) != len(part):
            raise ValueError(f"{name} in the snapshot must have {len(part)} items")
        return type(part)(restored(f"{name}[{i}]", mine, its, declared) for i, (mine, its) in enumerate(zip(part, saved, strict=True)))
    elif isinstance(part, dict):
        if not isinstance(saved, Mapping) or set(saved) != set(part):
            raise ValueError(f"{name} in the snapshot must hold {', '.join(part)}")
        return {key: restored(f"{name}[{key!r}]", item, saved[key], declared) for key, item in part.items()}
    else:
        return _restored_value(name, part, saved, declared)
    return part


def restored_parts(
    owner: str, parts: Mapping[str, Any], snapshot: object, declared: Mapping[str, Declaration] | None = None
) -> dict[str, Any]:
    """Restore parts by name from a snapshot of an object; return them, or their replacements. Raises TypeError or ValueError."""
    if not isinstance(snapshot, Mapping):
        raise TypeError(f"a snapshot of {owner} must be a dict of parts by name, not a {type(snapshot).__name__}")
    if set(snapshot) != set(parts):
        expected, found = (", ".join(map(str, names)) or "nothing" for names in (parts, snapshot))
        raise ValueError(f"a snapshot of {owner} must hold {expected}, not {found}")
    rules = declared or {}
    result = {name: restored(name, part, snapshot[name], rules.get(name, FIXED)) for name, part in parts.items()}
    require_rows(result, rules)
    return result


def checked_array(name: str, part: npt.NDArray[Any], saved: Any, declared: Declaration = FIXED) -> npt.NDArray[Any]:
    """Return an array of a snapshot. Raises TypeError for one of another dtype than the part, ValueError for another shape or numbers."""
    with _named(name):
        array = np.asarray(saved)
    free = declared.resizable
    if array.dtype != part.dtype or array.ndim != part.ndim or array.shape[free:] != part.shape[free:]:
        kind = TypeError if array.dtype != part.dtype else ValueError
        raise kind(f"{name} in the snapshot must be {part.dtype} {part.shape}, not {array.dtype} {array.shape}")
    if array.dtype.kind == "f":
        right = ~np.isnan(array) if declared.infinite else np.isfinite(array)
        if not right.all():
            index = tuple(int(i) for i in np.argwhere(~right)[0])
            wanted = "numbers" if declared.infinite else "finite"
            raise ValueError(f"{name} in the snapshot must be {wanted}, but {list(index)} is {array[index]}")
    return array


def require_rows(parts: Mapping[str, Any], declared: Mapping[str, Declaration]) -> None:
    """Raise ValueError for the first restored part that has not as many rows as the one that its declaration names."""
    for name, declaration in declared.items():
        other = declaration.rows_of
        if other is not None and len(parts[name]) != len(parts[other]):
            raise ValueError(f"{name} in the snapshot must have as many rows as {other}, {len(parts[other])}, not {len(parts[name])}")


_PLAIN = {"a truth value": (bool, np.bool_), "a string": (str,), "an integer": (int, np.integer), "a number": (float, np.floating)}


def _kind(value: object) -> str | None:
    """Return what a plain value is in words; None for None and for what is no plain value."""
    return next((kind for kind, types in _PLAIN.items() if isinstance(value, types)), None)


def _restored_value(name: str, value: Any, saved: Any, declared: Declaration) -> Any:
    """Return a plain value of a snapshot if it is of the same kind as the one that it replaces; integers are numbers too."""
    kind, found = _kind(value), _kind(saved)
    numbers = {kind, found} <= {"an integer", "a number"}
    if declared.optional and (value is None or saved is None):
        if saved is not None and found is None:
            raise TypeError(f"{name} in the snapshot must be a plain value, not a {type(saved).__name__}")
    elif (found != kind and not (numbers and (declared.optional or kind == "a number"))) or (value is None and saved is not None):
        raise TypeError(f"{name} in the snapshot must be {kind}, not {saved!r}")
    endless = declared.infinite and saved in (math.inf, -math.inf)
    if found in ("an integer", "a number") and not endless and not -(2.0**1023) <= saved <= 2.0**1023:
        wanted = "a number" if declared.infinite else "finite"
        raise ValueError(f"{name} in the snapshot must be {wanted}, not {saved if found == 'a number' else 'an integer beyond that'}")
    return float(saved) if isinstance(value, float) and saved is not None else saved


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Return a context whose errors say which part of a snapshot does not fit."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} cannot be restored from the snapshot: {error}") from error


def assigned(part: Any, other: Any) -> Any:
    """Assign another part to a part; return it, or its replacement."""
    if isinstance(part, State) and isinstance(other, State):
        part.assign(other)
        return part
    if isinstance(part, np.ndarray) and isinstance(other, np.ndarray) and (part.shape, part.dtype) == (other.shape, other.dtype):
        np.copyto(part, other)
        return part
    if isinstance(part, (np.random.Generator, Restorable)):
        return restored("the other", part, snapshot_of(other))
    if isinstance(other, (tuple, list)) and isinstance(part, type(other)) and len(part) == len(other):
        return type(other)(assigned(mine, theirs) for mine, theirs in zip(part, other, strict=True))
    return copy.deepcopy(other)


def same_memory(a: Any, b: Any) -> bool:
    """Return whether these are two views of the same array, or sequences of such views."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        same = (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
        return same and (a.size == 0 or a.__array_interface__["data"][0] == b.__array_interface__["data"][0])
    if isinstance(a, (tuple, list)) and type(a) is type(b) and len(a) == len(b):
        return all(x is y or same_memory(x, y) for x, y in zip(a, b, strict=True))
    return False
