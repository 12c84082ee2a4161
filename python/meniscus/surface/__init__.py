"""Surfaces: analytic shapes, signed distances of meshes, level sets on grids, and kinematic solids as a fluid sees them."""

from meniscus.surface.deviation import HausdorffDistance, hausdorff_distance
from meniscus.surface.extraction import Components, components, curvature, extract, measure, volume_fractions
from meniscus.surface.interpolated import interpolate_levelsets
from meniscus.surface.kinematic import DeformingSolid, KinematicSolid
from meniscus.surface.levelset import LevelSet
from meniscus.surface.mesh_distance import MeshDistance, NotWatertightWarning
from meniscus.surface.meshing import bcc_mesh, enclosing_mesh, enclosing_offset, skin_morph
from meniscus.surface.particle_levelset import ParticleLevelSet
from meniscus.surface.particle_options import (
    Correction,
    MarkerMotion,
    ParticleOptions,
    ParticleReport,
    Reincorporation,
    Removal,
    Seeding,
    SprayFlight,
    Transfer,
)
from meniscus.surface.pose import Pose, Twist
from meniscus.surface.primitives import Box, Capsule, Cone, Cylinder, Ellipsoid, HalfSpace, Polygon, Sphere, Torus
from meniscus.surface.redistance import Extended, extend, extend_velocity, redistance
from meniscus.surface.shapes import Complement, Intersection, Offset, Shape, Shell, SmoothUnion, Transformed, Union
from meniscus.surface.solid import Solid, SolidGroup, SolidSample

__all__ = [
    "Box",
    "Capsule",
    "Complement",
    "Components",
    "Cone",
    "Correction",
    "Cylinder",
    "DeformingSolid",
    "Ellipsoid",
    "Extended",
    "HalfSpace",
    "HausdorffDistance",
    "Intersection",
    "KinematicSolid",
    "LevelSet",
    "MarkerMotion",
    "MeshDistance",
    "NotWatertightWarning",
    "Offset",
    "ParticleLevelSet",
    "ParticleOptions",
    "ParticleReport",
    "Polygon",
    "Pose",
    "Reincorporation",
    "Removal",
    "Seeding",
    "Shape",
    "Shell",
    "SmoothUnion",
    "Solid",
    "SolidGroup",
    "SolidSample",
    "Sphere",
    "SprayFlight",
    "Torus",
    "Transfer",
    "Transformed",
    "Twist",
    "Union",
    "bcc_mesh",
    "components",
    "curvature",
    "enclosing_mesh",
    "enclosing_offset",
    "extend",
    "extend_velocity",
    "extract",
    "hausdorff_distance",
    "interpolate_levelsets",
    "measure",
    "redistance",
    "skin_morph",
    "volume_fractions",
]
