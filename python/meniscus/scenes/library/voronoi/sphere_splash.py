"""Scene of a ball of liquid that splashes into a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meniscus.scenes.library.voronoi.drop_on_pool import DropOnPool
from meniscus.scenes.scene import parameter


@dataclass(kw_only=True)
class SphereSplash(DropOnPool):
    """A large ball of liquid falls into a pool and throws up a crown.

    Source: Brochu 2012, section 7.7, Figure 7.1.
    """

    name: ClassVar[str] = "sphere-splash"
    summary: ClassVar[str] = "a ball of liquid splashes into a pool, on Voronoi cells"

    level: float = parameter(0.25, "of the pool, m")
    radius: float = parameter(0.15, "of the ball, m")
    height: float = parameter(0.5, "of the centre of the ball, m")
    speed: float = parameter(2.0, "of the ball downwards, m/s")
    end: float = parameter(1.0, "end, s")
    frames: int = parameter(20, "frames to write")
