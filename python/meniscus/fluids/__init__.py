"""Fluids: transport (re-exported from `meniscus.grid`), pressure projection and procedural flows."""

from meniscus.fluids.flows import (
    Flow,
    curl_noise,
    deformation,
    point_source,
    rotation,
    single_vortex,
    uniform_flow,
    vortex_ring,
)
from meniscus.fluids.forces import ViscositySolver, add_buoyancy, diffuse
from meniscus.fluids.inviscid import StepInfo, advance
from meniscus.fluids.projection import PressureSolver, ProjectionInfo, Region, divergence, project
from meniscus.grid.transport import advect

__all__ = [
    "Flow",
    "PressureSolver",
    "ProjectionInfo",
    "Region",
    "StepInfo",
    "ViscositySolver",
    "add_buoyancy",
    "advance",
    "advect",
    "curl_noise",
    "deformation",
    "diffuse",
    "divergence",
    "point_source",
    "project",
    "rotation",
    "single_vortex",
    "uniform_flow",
    "vortex_ring",
]
