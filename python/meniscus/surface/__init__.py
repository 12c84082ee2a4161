"""Surfaces of solids: analytic shapes, and kinematic solids that a fluid sees as a level set and a velocity on its grid."""

from meniscus.surface.kinematic import DeformingSolid, KinematicSolid
from meniscus.surface.pose import Pose, Twist
from meniscus.surface.primitives import Box, Capsule, Cone, Cylinder, Ellipsoid, HalfSpace, Polygon, Sphere, Torus
from meniscus.surface.shapes import Complement, Intersection, Offset, Shape, Shell, SmoothUnion, Transformed, Union
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
