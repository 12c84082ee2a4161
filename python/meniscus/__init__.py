"""Hybrid simulation of solids and fluids: a C++ core whose parts compose from Python.

The rooms of the library are subpackages (`core`, `numerics`, `grid`, `mesh`, `collision`, `surface`, `fluids`, `solids`), beside them
`scenes`, `io` and `viz`; what most scripts need is re-exported here. Arrays are C-ordered NumPy arrays and, wherever possible, views of the
library's own memory. Units are SI.
"""

from meniscus import collision, core, fluids, grid, io, mesh, numerics, scenes, solids, surface, viz
from meniscus._meniscus import __version__
from meniscus.core import Workspace, num_threads, set_num_threads
from meniscus.grid import (
    CellField,
    Grid,
    MacField,
    NodeField,
    Open,
    Particles,
    Prescribed,
    Wall,
    ZeroGradient,
)
from meniscus.numerics.solve import ConvergenceError, SolveInfo

__all__ = [
    "CellField",
    "ConvergenceError",
    "Grid",
    "MacField",
    "NodeField",
    "Open",
    "Particles",
    "Prescribed",
    "SolveInfo",
    "Wall",
    "Workspace",
    "ZeroGradient",
    "__version__",
    "collision",
    "core",
    "fluids",
    "grid",
    "io",
    "mesh",
    "num_threads",
    "numerics",
    "scenes",
    "set_num_threads",
    "solids",
    "surface",
    "viz",
]
