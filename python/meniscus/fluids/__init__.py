"""Fluids: transport (re-exported from `meniscus.grid`) and procedural flows."""

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
from meniscus.grid.transport import advect

__all__ = [
    "Flow",
    "advect",
    "curl_noise",
    "deformation",
    "point_source",
    "rotation",
    "single_vortex",
    "uniform_flow",
    "vortex_ring",
]
