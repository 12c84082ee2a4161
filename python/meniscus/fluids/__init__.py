"""Fluids: transport (re-exported from `meniscus.grid`), pressure projection, vorticity, vortex particles and procedural flows."""

from meniscus.fluids.control.control import ControlForce
from meniscus.fluids.control.particles import ControlParticles
from meniscus.fluids.control.shape import ControlShape
from meniscus.fluids.exchange.open_liquid import OpenLiquid
from meniscus.fluids.exchange.reports import Drops, LiquidExchange
from meniscus.fluids.flows.body_force import add_acceleration
from meniscus.fluids.flows.emitter import Emitter
from meniscus.fluids.flows.given import given_flow
from meniscus.fluids.flows.inviscid import InviscidStepInfo, advance
from meniscus.fluids.flows.procedural import (
    Flow,
    curl_noise,
    deformation,
    point_source,
    rotation,
    single_vortex,
    uniform_flow,
    vortex_ring,
)
from meniscus.fluids.gas.buoyancy import add_buoyancy
from meniscus.fluids.gas.options import SmokeOptions, SmokeReport, VorticityOptions
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.lattice.options import LatticeOptions, LatticeReport
from meniscus.fluids.lattice.solver import LatticeBoltzmann
from meniscus.fluids.liquid.liquid_blocks import liquid_blocks
from meniscus.fluids.liquid.options import ComponentVolume, LiquidOptions, LiquidReport, VolumeReport
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.liquid.sources import Drain, LiquidSource
from meniscus.fluids.particles.options import LiquidParticles, ParticleLiquidOptions, ParticleLiquidReport
from meniscus.fluids.particles.solver import ParticleLiquidSolver
from meniscus.fluids.particles.surface import particle_levelset
from meniscus.fluids.particles.transfer import grid_to_particles, particle_density, particles_to_grid
from meniscus.fluids.pressure.options import PressureOptions
from meniscus.fluids.pressure.projection import PressureSolver, ProjectionInfo, Region, divergence, project
from meniscus.fluids.schemes import TransportOptions
from meniscus.fluids.shallow.options import ShallowOptions, ShallowReport
from meniscus.fluids.shallow.sides import InflowSide, OpenSide, OutflowSide
from meniscus.fluids.shallow.solver import ShallowWater
from meniscus.fluids.sheets.single_layer import SingleLayer
from meniscus.fluids.sheets.vortex_sheet import SheetReport, VortexSheet
from meniscus.fluids.tetrahedra.ledger import TetLedger
from meniscus.fluids.tetrahedra.options import TetVOFOptions, TetVOFReport, WallAdhesion, WaterRequests
from meniscus.fluids.tetrahedra.projection import TetPressureSolver, TetProjectionInfo, TetRegion, TetSolid
from meniscus.fluids.tetrahedra.vof import TetVOF
from meniscus.fluids.viscosity.free_surface import LiquidViscositySolver, diffuse_liquid
from meniscus.fluids.viscosity.viscosity import ViscositySolver, diffuse
from meniscus.fluids.voronoi.options import LiquidSampling, VoronoiLiquidOptions, VoronoiLiquidReport
from meniscus.fluids.voronoi.solver import VoronoiLiquid
from meniscus.fluids.voronoi.volumes import PartVolumes
from meniscus.fluids.vorticity.measures import add_vorticity_confinement, energy_spectrum, enstrophy, kinetic_energy, vorticity
from meniscus.fluids.vorticity.vortex_particles import VortexInfo, VortexParticles, add_vortex_forces, advance_vortices, seed_vortices
from meniscus.fluids.whitewater.options import WhitewaterOptions, WhitewaterReport, WhitewaterSources
from meniscus.fluids.whitewater.solver import Whitewater
from meniscus.grid.transport.advection import advect
from meniscus.grid.transport.nodes import advect_at_nodes

__all__ = [
    "ComponentVolume",
    "ControlForce",
    "ControlParticles",
    "ControlShape",
    "Drain",
    "Drops",
    "Emitter",
    "Flow",
    "InflowSide",
    "InviscidStepInfo",
    "LatticeBoltzmann",
    "LatticeOptions",
    "LatticeReport",
    "LiquidExchange",
    "LiquidOptions",
    "LiquidParticles",
    "LiquidReport",
    "LiquidSampling",
    "LiquidSolver",
    "LiquidSource",
    "LiquidViscositySolver",
    "OpenLiquid",
    "OpenSide",
    "OutflowSide",
    "PartVolumes",
    "ParticleLiquidOptions",
    "ParticleLiquidReport",
    "ParticleLiquidSolver",
    "PressureOptions",
    "PressureSolver",
    "ProjectionInfo",
    "Region",
    "ShallowOptions",
    "ShallowReport",
    "ShallowWater",
    "SheetReport",
    "SingleLayer",
    "SmokeOptions",
    "SmokeReport",
    "SmokeSolver",
    "TetLedger",
    "TetPressureSolver",
    "TetProjectionInfo",
    "TetRegion",
    "TetSolid",
    "TetVOF",
    "TetVOFOptions",
    "TetVOFReport",
    "TransportOptions",
    "ViscositySolver",
    "VolumeReport",
    "VoronoiLiquid",
    "VoronoiLiquidOptions",
    "VoronoiLiquidReport",
    "VortexInfo",
    "VortexParticles",
    "VortexSheet",
    "VorticityOptions",
    "WallAdhesion",
    "WaterRequests",
    "Whitewater",
    "WhitewaterOptions",
    "WhitewaterReport",
    "WhitewaterSources",
    "add_acceleration",
    "add_buoyancy",
    "add_vortex_forces",
    "add_vorticity_confinement",
    "advance",
    "advance_vortices",
    "advect",
    "advect_at_nodes",
    "curl_noise",
    "deformation",
    "diffuse",
    "diffuse_liquid",
    "divergence",
    "energy_spectrum",
    "enstrophy",
    "given_flow",
    "grid_to_particles",
    "kinetic_energy",
    "liquid_blocks",
    "particle_density",
    "particle_levelset",
    "particles_to_grid",
    "point_source",
    "project",
    "rotation",
    "seed_vortices",
    "single_vortex",
    "uniform_flow",
    "vortex_ring",
    "vorticity",
]
