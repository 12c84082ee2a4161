"""Memory held by an object, where each array is counted once."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np


class MemoryOwner:
    """Base of objects whose `nbytes` follow from their attributes: arrays, fields, particles, scratch memory, solvers, other owners."""

    borrowed: ClassVar[tuple[str, ...]] = ()
    """Attributes whose memory belongs to another object."""

    @property
    def nbytes(self) -> int:
        """Bytes held, without borrowed attributes."""
        return held_bytes(self)


def held_bytes(thing: Any, counted: set[int] | None = None) -> int:
    """Return the bytes of an object, or of the items of a tuple, list or dict; memory that has been counted before counts as zero."""
    counted = set() if counted is None else counted
    if id(thing) in counted:
        return 0
    counted.add(id(thing))
    if isinstance(thing, MemoryOwner) and type(thing).nbytes is MemoryOwner.nbytes:
        return sum(held_bytes(value, counted) for name, value in vars(thing).items() if name not in thing.borrowed)
    if isinstance(thing, (tuple, list)):
        return sum(held_bytes(item, counted) for item in thing)
    if isinstance(thing, dict):
        return sum(held_bytes(item, counted) for item in thing.values())
    size = getattr(thing, "nbytes", 0)
    return int(size) if isinstance(size, (int, np.integer)) else 0
