"""Proximity of triangle meshes: closest points and winding numbers; lines of sight past thickened surfaces."""

from meniscus.collision.queries import ClosestPoints, closest_point, winding_number
from meniscus.collision.thick_surface import INSIDE, OCCLUDED, VISIBLE, FaceVisibility, RayHits, ThickSurface

__all__ = [
    "INSIDE",
    "OCCLUDED",
    "VISIBLE",
    "ClosestPoints",
    "FaceVisibility",
    "RayHits",
    "ThickSurface",
    "closest_point",
    "winding_number",
]
