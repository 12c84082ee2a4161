"""Collision detection, proximity and intersection of triangle meshes and their elements, closest points and winding numbers."""

from meniscus.collision.barrier.friction import BarrierFriction
from meniscus.collision.barrier.potential import Barrier, BarrierHessian, BarrierPairs, PairBarriers, barrier_of_pairs
from meniscus.collision.broad_phase.spatial_hash import BodyPoints, cell_buckets, overlapping_boxes, points_of_bodies, vertices_in_tets
from meniscus.collision.collision_mesh import CollisionMesh, CollisionPairs, MutualIntersections, MutualPairs
from meniscus.collision.contact.limited_motion import StillObstacles, limited_motion
from meniscus.collision.contact.nodes import ContactNodes
from meniscus.collision.contact.repulsion import NodeSupports, PairSearch, Repulsion, RepulsionPairs, RepulsionReport, SideMemory
from meniscus.collision.contact.resolution import ContactResolver, ResolveInfo, resolve
from meniscus.collision.contact.smooth_surface import SmoothSurface, smooth_surface
from meniscus.collision.continuous.comparison import (
    SpaceTimeContacts,
    cubic_edge_edge,
    cubic_vertex_face,
    space_time_edge_edge,
    space_time_point_segment,
    space_time_vertex_face,
)
from meniscus.collision.continuous.detection import edge_edge, time_of_impact_edge_edge, time_of_impact_vertex_face, vertex_face
from meniscus.collision.point_location.embedding import embed
from meniscus.collision.point_location.tet_locator import TetLocator
from meniscus.collision.proximity.elements import (
    ContactGeometry,
    ElementDistances,
    edge_edge_contact,
    edge_edge_distance,
    point_triangle_distance,
    vertex_face_contact,
)
from meniscus.collision.proximity.intersection import DegenerateContact, edge_triangle, point_in_tetrahedron, triangle_triangle
from meniscus.collision.proximity.queries import ClosestPoints, closest_point, winding_number
from meniscus.collision.ray_casting.thick_surface import INSIDE, OCCLUDED, VISIBLE, FaceVisibility, RayHits, ThickSurface
from meniscus.mesh.tet_locations import TetLocations

__all__ = [
    "INSIDE",
    "OCCLUDED",
    "VISIBLE",
    "Barrier",
    "BarrierFriction",
    "BarrierHessian",
    "BarrierPairs",
    "BodyPoints",
    "ClosestPoints",
    "CollisionMesh",
    "CollisionPairs",
    "ContactGeometry",
    "ContactNodes",
    "ContactResolver",
    "DegenerateContact",
    "ElementDistances",
    "FaceVisibility",
    "MutualIntersections",
    "MutualPairs",
    "NodeSupports",
    "PairBarriers",
    "PairSearch",
    "RayHits",
    "Repulsion",
    "RepulsionPairs",
    "RepulsionReport",
    "ResolveInfo",
    "SideMemory",
    "SmoothSurface",
    "SpaceTimeContacts",
    "StillObstacles",
    "TetLocations",
    "TetLocator",
    "ThickSurface",
    "barrier_of_pairs",
    "cell_buckets",
    "closest_point",
    "cubic_edge_edge",
    "cubic_vertex_face",
    "edge_edge",
    "edge_edge_contact",
    "edge_edge_distance",
    "edge_triangle",
    "embed",
    "limited_motion",
    "overlapping_boxes",
    "point_in_tetrahedron",
    "point_triangle_distance",
    "points_of_bodies",
    "resolve",
    "smooth_surface",
    "space_time_edge_edge",
    "space_time_point_segment",
    "space_time_vertex_face",
    "time_of_impact_edge_edge",
    "time_of_impact_vertex_face",
    "triangle_triangle",
    "vertex_face",
    "vertex_face_contact",
    "vertices_in_tets",
    "winding_number",
]
