"""Solids that meshes are made of: level sets, shapes, surfaces and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus.mesh import TriangleMesh, check_watertight, repair
from meniscus.mesh.surface_like import SurfaceLike, is_surface
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.surface.levelset import LevelSet
from meniscus.surface.shapes.constructive import Floats, Shape
from meniscus.surface.shapes.mesh_distance import MeshDistance
from meniscus.surface.shapes.sampled import checked_distances

Function = Callable[[Floats], Any]
Source = LevelSet | Shape | MeshDistance | TriangleMesh | Function | SurfaceLike


@dataclass(frozen=True)
class LevelSetSource:
    """Input of the core: a level set function, a box around the solid, and values."""

    core: Any
    lower: Floats
    upper: Floats
    values: Callable[[Floats], Floats]


def require_closed(surface: TriangleMesh, wanted: str) -> None:
    """Raise ValueError if a surface has holes, also where vertices with the same position are one: the sentence begins with `wanted`.

    What is closed but has triangles the wrong way round, copies, or parts that cross each other is no problem: the winding number decides.
    """
    report = check_watertight(surface)
    if report.watertight:
        return
    joined = repair(surface, weld=0.0, fill=False)[1].remaining
    if joined.boundary_edges:
        report = joined if joined.boundary_edges < report.boundary_edges else report
        hint = "mesh.repair closes holes, and a MeshDistance goes by the winding number"
        raise ValueError(f"{wanted}, but has {report.faults()}; {hint}")


def source_of(surface: Source, bounds: tuple[Sequence[float], Sequence[float]] | None, *, refuse_holes: bool = True) -> LevelSetSource:
    """Return what the core needs of a solid; a surface with holes raises ValueError, unless these are not refused."""
    if is_surface(surface) and not isinstance(surface, MeshDistance):
        surface = triangle_mesh(surface)
        if refuse_holes:
            require_closed(surface, "surface must be watertight")
        surface = MeshDistance(surface)
    box: tuple[Floats, Floats] | None = None
    core: Any
    values: Callable[[Floats], Any]
    if isinstance(surface, MeshDistance):
        x = surface.vertices[np.unique(surface.triangles)]
        box = (x.min(axis=0), x.max(axis=0))
        core, values = surface._core, surface.signed_distance
    elif isinstance(surface, Shape):
        if surface.dimension != 3:
            raise ValueError("surface must be 3-D, not 2-D")
        box = surface.bounds
        core, values = surface._core, surface.signed_distance
    elif isinstance(surface, LevelSet):
        if surface.grid.dimension != 3:
            raise ValueError("surface must be 3-D, not 2-D")
        origin = np.array(surface.grid.origin)
        box = (origin, origin + surface.grid.spacing * np.array(surface.grid.shape))
        level_set = surface
        dtype = level_set.dtype

        def sampled(p: Floats) -> Floats:
            return np.asarray(level_set.sample(p.astype(dtype)), np.float64)

        core, values = sampled, sampled
    elif callable(surface):
        function = surface

        def checked(p: Floats) -> Floats:
            return checked_distances("surface", function(p), len(p))

        core, values = checked, checked
    else:
        raise TypeError(f"surface must be a LevelSet, Shape, MeshDistance, surface mesh or function, not {type(surface).__name__}")
    if bounds is not None:
        if not isinstance(bounds, (Sequence, np.ndarray)) or len(bounds) != 2:
            raise TypeError(f"bounds must be the lower and the upper corner of a box, not {bounds!r}")
        lower = np.array(_checks.vector("bounds", bounds[0], 3))
        upper = np.array(_checks.vector("bounds", bounds[1], 3))
        if not (lower < upper).all():
            raise ValueError(f"bounds must have the lower corner first, not {bounds}")
        box = (lower, upper)
    if box is None:
        raise ValueError("a function needs bounds, the corners of a box around what is to be meshed")
    if not np.isfinite(box).all():
        raise ValueError("the surface is not bounded: give bounds")
    return LevelSetSource(core, *box, values)
