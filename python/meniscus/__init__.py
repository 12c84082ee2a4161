"""Hybrid simulation of solids and fluids: a C++ core whose parts compose from Python.

The rooms of the library are subpackages (`core`, `numerics`, `parallel`, `grid`, `mesh`, `collision`, `surface`, `fluids`, `solids`,
`coupling`), beside them `scenes`, `io` and `viz`; what most scripts need is re-exported here. Arrays are C-ordered NumPy arrays and,
wherever possible, views of the library's own memory. Units are SI. A room is loaded when it is first used.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from meniscus import core, grid, numerics, parallel
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

if TYPE_CHECKING:
    from meniscus import collision, coupling, fluids, io, mesh, scenes, solids, surface, viz

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
    "coupling",
    "fluids",
    "grid",
    "io",
    "mesh",
    "num_threads",
    "numerics",
    "parallel",
    "scenes",
    "set_num_threads",
    "solids",
    "surface",
    "viz",
]

_LATE = ("collision", "coupling", "fluids", "io", "mesh", "scenes", "solids", "surface", "viz")


def __getattr__(name: str) -> ModuleType:
    """Load a room. Raises AttributeError for other names, and says in which room they are."""
    if name in _LATE:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_where(name)}")


def _where(name: str) -> str:
    """Return in which room a public name is, as the end of a sentence."""
    if name[0] == "_":
        return ""
    for room in (*_LATE, "core", "grid", "numerics", "parallel"):
        if name in importlib.import_module(f"{__name__}.{room}").__all__:
            return f"; it is {__name__}.{room}.{name}"
    return ""


def __dir__() -> list[str]:
    """Return the public names, also of rooms that are not loaded yet."""
    return __all__
