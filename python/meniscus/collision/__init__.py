"""Proximity and intersection of triangle meshes and their elements, closest points and winding numbers."""

from meniscus.collision.intersection import DegenerateContact, edge_triangle, point_in_tetrahedron, triangle_triangle
from meniscus.collision.queries import ClosestPoints, closest_point, winding_number

__all__ = [
    "ClosestPoints",
    "DegenerateContact",
    "closest_point",
    "edge_triangle",
    "point_in_tetrahedron",
    "triangle_triangle",
    "winding_number",
]
