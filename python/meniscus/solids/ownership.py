"""Ownership of bodies by the world or system that moves them, of which there is one."""

from __future__ import annotations

import weakref
from typing import Any, Protocol


class Owner(Protocol):
    """A world, or a system of rigid bodies."""

    def has(self, body: Any) -> bool:
        """Return whether it moves a body."""


# Which has moved a body last.
_OWNERS: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = weakref.WeakKeyDictionary()


def require_free(body: Any, owner: Owner, kind: str) -> None:
    """Raise ValueError if a body belongs to this owner, or to another one of a kind that lives."""
    if owner.has(body):
        raise ValueError(f"the {kind} has this body already")
    other = _OWNERS.get(body, lambda: None)()
    if other is not None and other is not owner and other.has(body):
        raise ValueError(f"another {kind} has this body, and two cannot move it: add a copy")


def claim(body: Any, owner: Owner) -> None:
    """Note whose a body is from now on."""
    _OWNERS[body] = weakref.ref(owner)
