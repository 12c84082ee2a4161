"""Impulses of a fluid on bodies that a world moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.solids import PointLoads, RigidBody, World

Floats = npt.NDArray[np.float64]


def require_loadable(world: Any, mode: str) -> None:
    """Raise ValueError for a world whose bodies take no loads."""
    if not isinstance(world, World):
        raise ValueError(f'mode "{mode}" needs a World, whose bodies take loads, not {type(world).__name__}')


@contextmanager
def loads_on(world: World, pushed: Sequence[tuple[Any, Floats]], dt: float) -> Iterator[None]:
    """Let impulses (n, 3), N s, act on the nodes of some bodies of a world as constant forces while it advances by dt seconds."""
    rigid = world.rigid
    places = {id(part.body): i for i, part in enumerate(rigid.parts) if part.body is not None}
    given, added = (rigid.forces.copy(), rigid.torques.copy()), []
    try:
        for body, impulses in pushed:
            forces = impulses / dt
            if isinstance(body, RigidBody):
                i = places[id(body)]
                rigid.forces[i] += forces.sum(axis=0)
                rigid.torques[i] += np.cross(body.positions() - body.center, forces).sum(axis=0)
            else:
                load = PointLoads(np.arange(len(forces)), np.ascontiguousarray(forces))
                added.append((body, body.add(load)))
        yield
    finally:
        # What the caller has set stays.
        rigid.forces[...], rigid.torques[...] = given
        for body, load in added:
            body.remove(load)
