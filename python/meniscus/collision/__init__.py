"""Collision detection and proximity of triangle meshes."""

from meniscus.collision.continuous import edge_edge, time_of_impact_edge_edge, time_of_impact_vertex_face, vertex_face
from meniscus.collision.intersection import DegenerateContact, edge_triangle, point_in_tetrahedron, triangle_triangle
from meniscus.collision.queries import ClosestPoints, closest_point, winding_number
from meniscus.collision.thick_surface import INSIDE, OCCLUDED, VISIBLE, FaceVisibility, RayHits, ThickSurface

__all__ = [
    "INSIDE",
    "OCCLUDED",
    "VISIBLE",
    "ClosestPoints",
    "DegenerateContact",
    "FaceVisibility",
    "RayHits",
    "ThickSurface",
    "closest_point",
    "edge_edge",
    "edge_triangle",
    "point_in_tetrahedron",
    "time_of_impact_edge_edge",
    "time_of_impact_vertex_face",
    "triangle_triangle",
    "vertex_face",
    "winding_number",
]
