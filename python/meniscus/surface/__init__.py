"""Surfaces of solids: analytic shapes, and kinematic solids that a fluid sees as a level set and a velocity on its grid."""

from meniscus.surface.kinematic import DeformingSolid, KinematicSolid
from meniscus.surface.pose import Pose, Twist
from meniscus.surface.shapes import (
    Box,
    Capsule,
    Complement,
    Cone,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Intersection,
    Offset,
    Polygon,
    Shape,
    Shell,
    SmoothUnion,
    Sphere,
    Torus,
    Transformed,
    Union,
)
from meniscus.surface.solid import Solid, SolidGroup, SolidSample

__all__ = [
    "Box",
    "Capsule",
    "Complement",
    "Cone",
    "Cylinder",
    "DeformingSolid",
    "Ellipsoid",
    "HalfSpace",
    "Intersection",
    "KinematicSolid",
    "Offset",
    "Polygon",
    "Pose",
    "Shape",
    "Shell",
    "SmoothUnion",
    "Solid",
    "SolidGroup",
    "SolidSample",
    "Sphere",
    "Torus",
    "Transformed",
    "Twist",
    "Union",
]
