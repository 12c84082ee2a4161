"""Snapshots of the state of a scene: taking and restoring."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from meniscus.grid import Grid


@runtime_checkable
class Restorable(Protocol):
    """Object with snapshots that can be restored: fields, particles, level sets, solvers, and classes of your own.

    A snapshot consists of arrays, numbers, strings, None, and tuples, lists and dicts (with string keys) of them.
    """

    def snapshot(self) -> Any:
        """Return copies of everything that changes."""

    def restore(self, snapshot: Any) -> None:
        """Restore the state of a snapshot."""


State: TypeAlias = Restorable | np.random.Generator | npt.NDArray[Any] | float | int | str | None
"""Objects that `Scene.state` may name: those with snapshots, random generators, arrays of fixed shape, and plain values.

A plain value must be an attribute of the scene by the same name, which is set when a run is resumed.
"""


def take_snapshot(state: Mapping[str, State]) -> dict[str, Any]:
    """Return copies of all the named state."""
    return {name: _snapshot(name, item) for name, item in state.items()}


def bring_back(owner: object, state: Mapping[str, State], snapshot: Mapping[str, Any]) -> None:
    """Restore the state of `owner` (a scene) from a snapshot.

    Raises:
        ValueError: the snapshot names other state, or contains arrays of another shape.
    """
    if set(state) != set(snapshot):
        raise ValueError(f"the checkpoint holds the state {_names(snapshot)}, but the scene names {_names(state)}")
    for name, item in state.items():
        saved = snapshot[name]
        if isinstance(item, np.random.Generator):
            item.bit_generator.state = saved
        elif isinstance(item, np.ndarray):
            if item.shape != saved.shape or item.dtype != saved.dtype:
                raise ValueError(
                    f"the checkpoint holds {name!r} as {saved.dtype} {saved.shape}, but the scene has {item.dtype} {item.shape}"
                )
            item[...] = saved
        elif isinstance(item, Restorable):
            item.restore(saved)
        else:
            setattr(owner, name, saved)


def grids_of(state: Mapping[str, State]) -> dict[str, Grid]:
    """Return the grids of those states that have one."""
    found = {name: getattr(item, "grid", None) for name, item in state.items()}
    return {name: grid for name, grid in found.items() if isinstance(grid, Grid)}


def check_state(owner: object, state: Mapping[str, State]) -> None:
    """Refuse state that cannot be restored, before a long run relies on it. Raises TypeError."""
    for name, item in state.items():
        if isinstance(item, (np.random.Generator, np.ndarray, Restorable)):
            continue
        if item is not None and not isinstance(item, (bool, int, float, str)):
            raise TypeError(
                f"state {name!r} of scene {type(owner).__name__} is a {type(item).__name__}; "
                "it must have snapshot() and restore(), or be an array, a random generator or a plain value"
            )
        if not hasattr(owner, name):
            raise TypeError(f"state {name!r} of scene {type(owner).__name__} is a plain value, so it must be an attribute of that name")


def _snapshot(name: str, item: State) -> Any:
    if isinstance(item, np.random.Generator):
        return copy.deepcopy(item.bit_generator.state)
    if isinstance(item, np.ndarray):
        return item.copy()
    if isinstance(item, Restorable):
        return item.snapshot()
    return item


def _names(items: Mapping[str, Any]) -> str:
    return ", ".join(items) or "nothing"
