"""Declared state of objects: snapshots, copies, pickles, transactions and memory follow from one declaration per part.

A `Stateful` declares each part in one line,

    self.density = self.declare("density", CellField(grid, dtype))

and everything else follows from the declarations. `meniscus.core.state` says what a part may be.
"""

from __future__ import annotations

import copy
import html
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np

from meniscus.core.memory import MemoryOwner
from meniscus.core.state import (
    Arguments,
    Backup,
    Declaration,
    State,
    assigned,
    backed_up,
    holds_none,
    require_part,
    restored_parts,
    same_memory,
    snapshot_of,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")
_F = TypeVar("_F", bound="Stateful")


class BusyError(RuntimeError):
    """A call in the middle of a step of the same object, from another thread or from within the step; it has changed nothing."""


class Stateful(MemoryOwner, State):
    """Base of objects that declare their state, part by part; snapshots, copies, pickles, transactions and the memory held follow.

    The parts are attributes. Whatever else an object holds is not state: options, caches, scratch memory. A copy is made with the
    arguments of the constructor, takes over the `settings`, and is assigned the parts.
    """

    settings: ClassVar[tuple[str, ...]] = ()
    """Attributes that are not state but may be set after construction; copies and pickles have them too."""
    rows_of_cells: ClassVar[str | None] = None
    """The part, if there is one, whose array names the cells (C-ordered in the domain, ascending) of the rows of all other parts; on ranks
    each has those of its block."""
    borrowed = ("_made_with",)

    _declared: dict[str, Declaration]
    _backups: dict[str, Backup]
    _made_with: Arguments
    _stepping: threading.Lock
    _user: int | None
    _in_transaction: bool

    def __new__(cls: type[_F], *arguments: Any, **named: Any) -> _F:
        """Make an object and store the arguments, for copies and pickles."""
        self = super().__new__(cls)
        self._made_with = arguments, named
        self._declared = {}
        self._backups = {}
        self._stepping = threading.Lock()
        self._user = None
        self._in_transaction = False
        return self

    def declare(
        self,
        name: str,
        part: _T,
        *,
        resizable: int = 0,
        optional: bool = True,
        infinite: bool = False,
        rows_of: str | None = None,
        samples_of: Any = None,
    ) -> _T:
        """Declare the attribute `name` as state, and return the part to assign to it.

        Snapshots are checked against the declaration: their arrays have the dtype and shape of those now, and their numbers are finite,
        unless it says otherwise.

        Args:
            name: of the attribute.
            part: see the module.
            resizable: along how many axes, from the first on, an array may be replaced by one of another length; True is one.
            optional: whether what is None in it now may be a plain value later.
            infinite: whether infinity is a value of it. NaN never is.
            rows_of: the part that has as many rows or items as an array.
            samples_of: the grid whose samples on the own block an array, or each array of a list, holds. Needed for arrays alone, where the
                grid is cut among ranks: what else is declared knows its grid or is the same on all ranks.

        Raises:
            TypeError: the part cannot be restored.
        """
        if not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f"state is declared under the name of an attribute, not {name!r}")
        require_part(f"state {name!r} of {type(self).__name__}", part)
        on_grid = isinstance(part, Stateful) or hasattr(part, "grid")
        self._declared[name] = Declaration(resizable, optional and holds_none(part), infinite, rows_of, samples_of, on_grid)
        return part

    def declared(self, name: str) -> Declaration:
        """Return how a part was declared; KeyError for what is no part."""
        return self._declared[name]

    @property
    def state(self) -> dict[str, Any]:
        """The parts by name, in the order of their declaration."""
        try:
            return {name: getattr(self, name) for name in self._declared}
        except AttributeError as error:
            raise TypeError(f"state {error.name!r} of {type(self).__name__} must be an attribute of that name") from error

    def snapshot(self) -> dict[str, Any]:
        """Return copies of all parts by name. Raises BusyError while another thread changes them."""
        with self.exclusive():
            return {name: snapshot_of(part) for name, part in self.state.items()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of a snapshot, bit by bit. Raises ValueError or TypeError for one of another kind; then nothing is changed."""
        with self.exclusive(), self._guarded(self._declared, {}):
            self._restore_within(snapshot)

    def assign(self: _F, other: _F) -> None:
        """Copy the state of another object made with the same arguments, bit by bit."""
        if type(other) is not type(self) or other._declared.keys() != self._declared.keys():
            raise TypeError(f"only a {type(self).__name__} with the same state can be assigned, not {other!r}")
        with self.exclusive(), other.exclusive():
            for name, part in self.state.items():
                self._put(name, assigned(part, getattr(other, name)))
            self._state_replaced()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other threads out of the object; this one may enter again.

        Raises:
            BusyError: another thread is in a step, a stage or a change of this object.
        """
        me = threading.get_ident()
        if self._user == me:
            yield
            return
        if not self._stepping.acquire(blocking=False):
            raise BusyError(f"a step of this {type(self).__name__} is going on; give each thread a copy of its own")
        self._user = me
        try:
            yield
        finally:
            self._user = None
            self._stepping.release()

    def transaction(self, parts: Iterable[str] | None = None) -> AbstractContextManager[None]:
        """Return a context that restores the parts if it is left by an exception; on ranks, by an exception on any of them.

        Copies are made in memory that is reused by the next transaction, so that a repeated one allocates nothing.

        Args:
            parts: names of those that may change; default: all.

        Raises:
            BusyError: another transaction of this object is going on, as when two threads step one solver.
        """
        return self._alone(self._declared if parts is None else parts)

    def copy(self: _F) -> _F:
        """Return an independent copy, made with the same arguments; parts among these are copied too."""
        own = {id(part): part for part in self.state.values() if isinstance(part, State)}
        arguments, named = self._arguments()
        return self._duplicate(
            tuple(own[id(a)].copy() if id(a) in own else a for a in arguments),
            {name: own[id(a)].copy() if id(a) in own else a for name, a in named.items()},
            {name: own[id(value)].copy() if id(value) in own else value for name, value in self._settings().items()},
        )

    def __deepcopy__(self: _F, memo: dict[int, Any]) -> _F:
        """Return an independent copy with copies of the arguments and settings."""
        arguments, named = copy.deepcopy(self._arguments(), memo)
        settings = copy.deepcopy(self._settings(), memo)
        memo[id(self)] = other = self._duplicate(arguments, named, settings)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle arguments, settings and a snapshot; functions among them must be picklable (not lambdas)."""
        settings = self._settings()
        return _rebuild_parts, (type(self), *self._arguments(), self.snapshot(), settings)

    def __repr__(self) -> str:
        """One line: what the state is made of, and how much memory is held."""
        return f"<{type(self).__name__} of {', '.join(self._declared) or 'nothing'}, {self.nbytes / 1e6:.3g} MB>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the line of `repr`, and a row for each part."""
        rows = "".join(
            f'<tr><th style="text-align:left">{html.escape(name)}</th><td style="text-align:left">{html.escape(_short(part))}</td></tr>'
            for name, part in self.state.items()
        )
        return f"<code>{html.escape(repr(self))}</code><table>{rows}</table>"

    def _arguments(self) -> Arguments:
        return self._made_with

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.settings}

    def _make_parts(self) -> None:
        """Make and declare the parts, where the constructor does not do so."""

    def _state_replaced(self) -> None:
        """Discard what was derived from the state; called whenever parts were restored."""

    def _duplicate(self: _F, arguments: tuple[Any, ...], named: dict[str, Any], settings: dict[str, Any]) -> _F:
        other = _made(type(self), arguments, named, settings, bool(self._declared))
        other.assign(self)
        return other

    @contextmanager
    def _alone(self, parts: Iterable[str]) -> Iterator[None]:
        with self.exclusive():
            if self._in_transaction:
                raise BusyError(f"a step of this {type(self).__name__} is going on; give each thread a copy of its own")
            self._in_transaction = True
            try:
                with self._guarded(parts, self._backups), self._agreement():
                    yield
            finally:
                self._in_transaction = False

    def _agreement(self) -> AbstractContextManager[None]:
        """Return the context that all ranks leave alike, of the first part whose grid is cut among ranks."""
        for part in (getattr(self, name) for name, declared in self._declared.items() if declared.on_grid):
            own = part._agreement() if isinstance(part, Stateful) else getattr(getattr(part, "grid", None), "agreement", nullcontext)()
            if not isinstance(own, nullcontext):
                return own
        return nullcontext()

    @contextmanager
    def _guarded(self, parts: Iterable[str], backups: dict[str, Backup]) -> Iterator[None]:
        used = {name: backups.setdefault(name, Backup()) for name in parts}
        for name, backup in used.items():
            backup.take(getattr(self, name))
        try:
            yield
        except BaseException:
            self._bring_back(used)
            raise

    def _backed_up(self, last: Any) -> Any:
        return backed_up(self.state, last)

    def _bring_back(self, backup: Mapping[str, Backup]) -> None:
        for name, saved in backup.items():
            self._put(name, saved.bring_back())
        self._state_replaced()

    def _restore_within(self, snapshot: Mapping[str, Any]) -> None:
        for name, part in restored_parts(type(self).__name__, self.state, snapshot, self._declared).items():
            self._put(name, part)
        self._state_replaced()

    def _put(self, name: str, value: Any) -> None:
        """Set an attribute, unless it has the value already (it may be read-only)."""
        present = getattr(self, name)
        if present is not value and not same_memory(present, value):
            setattr(self, name, value)


def exclusively(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a method of a `Stateful` that keeps other threads out, see `Stateful.exclusive`."""

    @wraps(method)
    def alone(*arguments: _P.args, **named: _P.kwargs) -> _T:
        owner: Any = arguments[0]
        with owner.exclusive():
            return method(*arguments, **named)

    return alone


def _short(part: Any) -> str:
    """Return a part in one line: an array by its shape."""
    if isinstance(part, np.ndarray):
        return f"{part.dtype} {part.shape}"
    line = repr(part).replace("\n", " ")
    return line if len(line) <= 160 else line[:157] + "..."


def _made(kind: type[_F], arguments: tuple[Any, ...], named: dict[str, Any], settings: Mapping[str, Any], has_parts: bool) -> _F:
    """Return an object with the parts of another one, which are about to be restored."""
    made = kind(*arguments, **named)
    if has_parts and not made._declared:
        made._make_parts()
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def _rebuild_parts(kind: type[_F], arguments: tuple[Any, ...], named: dict[str, Any], snapshot: Any, settings: Mapping[str, Any]) -> _F:
    """Make an object from its pickle."""
    made = _made(kind, arguments, named, settings, bool(snapshot))
    made.restore(snapshot)
    return made
