"""Surfaces: analytic shapes, signed distances of meshes, level sets on grids, and kinematic solids for fluid solvers."""

from meniscus.surface.evolution.evolution import evolve
from meniscus.surface.extraction.deviation import HausdorffDistance, hausdorff_distance
from meniscus.surface.extraction.filled_tets import FilledSurface, filled_surface, saturation_at_vertices
from meniscus.surface.extraction.surfaces import (
    Components,
    ExtractedMesh,
    components,
    curvature,
    extract,
    measure,
    symmetric_difference,
    volume_fractions,
)
from meniscus.surface.levelset import LevelSet
from meniscus.surface.markers.options import (
    Correction,
    EscapedMarkers,
    MarkerMotion,
    MarkerTransport,
    ParticleOptions,
    ParticleReport,
    Reincorporation,
    Removal,
    Seeding,
    SprayFlight,
    Transfer,
)
from meniscus.surface.markers.particle_levelset import ParticleLevelSet
from meniscus.surface.meshing.scattered import delaunay_mesh
from meniscus.surface.meshing.tetrahedra import DeviationWarning, bcc_mesh, enclosing_mesh, enclosing_offset, skin_morph
from meniscus.surface.reconstruction.inputs import WaterInDrops, WaterInTets, WaterMesh
from meniscus.surface.reconstruction.options import WaterSurfaceOptions
from meniscus.surface.reconstruction.points import water_points
from meniscus.surface.reconstruction.quality import bumpiness, flicker
from meniscus.surface.reconstruction.water_surface import WaterSurface
from meniscus.surface.redistancing.redistance import Extended, extend, extend_velocity, redistance
from meniscus.surface.shapes.constructive import Complement, Intersection, Offset, Shape, Shell, SmoothUnion, Transformed, Union
from meniscus.surface.shapes.interpolated import interpolate_levelsets
from meniscus.surface.shapes.kinematic import DeformingSolid, KinematicSolid
from meniscus.surface.shapes.mesh_distance import MeshDistance, NotWatertightWarning
from meniscus.surface.shapes.pose import Pose, Twist
from meniscus.surface.shapes.primitives import Box, Capsule, Cone, Cylinder, Ellipsoid, HalfSpace, Polygon, Sphere, Torus
from meniscus.surface.shapes.sampled import FunctionShape, LevelSetShape, MeshShape
from meniscus.surface.shapes.solid import Solid, SolidGroup, SolidSample
from meniscus.surface.shapes.solid_boundary import SolidBoundary
from meniscus.surface.shapes.stored import StoredSolid
from meniscus.surface.tetrahedra.solid_on_tets import SolidOnTets
from meniscus.surface.tetrahedra.touched import touched_tets
from meniscus.surface.tracking.carried import CarriedData
from meniscus.surface.tracking.events import SurfaceEvents, TrackingCounts
from meniscus.surface.tracking.motions import mean_curvature_motion, normal_motion
from meniscus.surface.tracking.options import TrackingOptions
from meniscus.surface.tracking.remeshing import remesh
from meniscus.surface.tracking.reports import SurfaceAudit
from meniscus.surface.tracking.tracked_surface import TrackedSurface
from meniscus.surface.volume_of_fluid import FractionTransport, VolumeOfFluid

__all__ = [
    "Box",
    "Capsule",
    "CarriedData",
    "Complement",
    "Components",
    "Cone",
    "Correction",
    "Cylinder",
    "DeformingSolid",
    "DeviationWarning",
    "Ellipsoid",
    "EscapedMarkers",
    "Extended",
    "ExtractedMesh",
    "FilledSurface",
    "FractionTransport",
    "FunctionShape",
    "HalfSpace",
    "HausdorffDistance",
    "Intersection",
    "KinematicSolid",
    "LevelSet",
    "LevelSetShape",
    "MarkerMotion",
    "MarkerTransport",
    "MeshDistance",
    "MeshShape",
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
    "SolidBoundary",
    "SolidGroup",
    "SolidOnTets",
    "SolidSample",
    "Sphere",
    "SprayFlight",
    "StoredSolid",
    "SurfaceAudit",
    "SurfaceEvents",
    "Torus",
    "TrackedSurface",
    "TrackingCounts",
    "TrackingOptions",
    "Transfer",
    "Transformed",
    "Twist",
    "Union",
    "VolumeOfFluid",
    "WaterInDrops",
    "WaterInTets",
    "WaterMesh",
    "WaterSurface",
    "WaterSurfaceOptions",
    "bcc_mesh",
    "bumpiness",
    "components",
    "curvature",
    "delaunay_mesh",
    "enclosing_mesh",
    "enclosing_offset",
    "evolve",
    "extend",
    "extend_velocity",
    "extract",
    "filled_surface",
    "flicker",
    "hausdorff_distance",
    "interpolate_levelsets",
    "mean_curvature_motion",
    "measure",
    "normal_motion",
    "redistance",
    "remesh",
    "saturation_at_vertices",
    "skin_morph",
    "symmetric_difference",
    "touched_tets",
    "volume_fractions",
    "water_points",
]
