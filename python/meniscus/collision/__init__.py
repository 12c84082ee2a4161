"""Proximity of triangle meshes: closest points and winding numbers."""

from meniscus.collision.queries import ClosestPoints, closest_point, winding_number

__all__ = ["ClosestPoints", "closest_point", "winding_number"]
