"""Bodies whose mesh changes between loops of their world."""

from __future__ import annotations

from typing import Any, Protocol

SomeWorld = Any
"""A `World`."""


class BodyRemesher(Protocol):
    """What changes the mesh of a body between loops of its world."""

    def thickness_for(self, surface: object, thickness: float | None, **options: object) -> float:
        """Check what `World.add` was given, and return the thickness, m; further options are those of the body."""

    def before_loop(self, world: SomeWorld) -> None:
        """Change the mesh if that is due."""
