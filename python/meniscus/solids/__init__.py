"""Deformable solids: forces between nodes and the bodies that they move."""

from meniscus.solids.force import Force
from meniscus.solids.springs import EdgeSprings

__all__ = ["EdgeSprings", "Force"]
