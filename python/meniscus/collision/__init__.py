"""Collision detection and proximity of triangle meshes."""

from meniscus.collision.collision_mesh import CollisionMesh, CollisionPairs, MutualPairs
from meniscus.collision.continuous import edge_edge, time_of_impact_edge_edge, time_of_impact_vertex_face, vertex_face
from meniscus.collision.queries import ClosestPoints, closest_point, winding_number

__all__ = [
    "ClosestPoints",
    "CollisionMesh",
    "CollisionPairs",
    "MutualPairs",
    "closest_point",
    "edge_edge",
    "time_of_impact_edge_edge",
    "time_of_impact_vertex_face",
    "vertex_face",
    "winding_number",
]
