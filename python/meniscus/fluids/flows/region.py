"""Regions of emitters, sources and drains."""

from __future__ import annotations

from typing import Any

from meniscus.surface import Shape
from meniscus.surface.shapes.sampled import as_shape


def set_region(owner: Any) -> int | None:
    """Replace the region of a frozen dataclass by a shape; return its dimension, or None for a function, which has that of the grid.

    Raises TypeError or ValueError for what is no solid.
    """
    if callable(owner.region) and not isinstance(owner.region, Shape):
        return None
    shape = as_shape("region", owner.region)
    object.__setattr__(owner, "region", shape)
    return shape.dimension
