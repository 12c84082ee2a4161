"""Uniform grids, fields with ghost layers, boundary conditions, transport, extrapolation, particles and Poisson problems."""

from meniscus._meniscus.grid import AdvectInfo
from meniscus.grid.boundary import Open, Prescribed, Wall, ZeroGradient
from meniscus.grid.fields import GHOST_WIDTH, CellField, MacField, NodeField, ScalarField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.poisson.solver import PoissonRegion, PoissonSolver
from meniscus.grid.transport.advection import advect, max_speed, semi_lagrangian, upwind
from meniscus.grid.transport.extrapolation import extrapolate
from meniscus.grid.transport.nodes import advect_at_nodes
from meniscus.grid.transport.points import sample, trace
from meniscus.grid.transport.visibility import Visibility
from meniscus.grid.uniform import Grid

__all__ = [
    "GHOST_WIDTH",
    "AdvectInfo",
    "CellField",
    "Grid",
    "MacField",
    "NodeField",
    "Open",
    "Particles",
    "PoissonRegion",
    "PoissonSolver",
    "Prescribed",
    "ScalarField",
    "Visibility",
    "Wall",
    "ZeroGradient",
    "advect",
    "advect_at_nodes",
    "extrapolate",
    "max_speed",
    "sample",
    "semi_lagrangian",
    "trace",
    "upwind",
]
