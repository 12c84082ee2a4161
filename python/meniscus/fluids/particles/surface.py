"""Surface of a particle liquid."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption
from meniscus.core import Workspace
from meniscus.fluids.particles.transfer import require_cells
from meniscus.grid.fields import NodeField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.advection import workspace_or_new
from meniscus.grid.transport.walls import ThinWalls
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet

ParticleSurface = Literal["spheres", "average", "density", "anisotropic"]

PARTICLE_SURFACE = CoreOption(ParticleSurface, _fluids.ParticleSurface)

SPHERE = {2: 1.02 * math.sqrt(2) / 2, 3: 1.02 * math.sqrt(3) / 2}
"""Radius in cells of spheres that cover the cell of their particle."""
HALF_SPACE = {2: 256 / (315 * math.pi), 3: 63 / 256}
"""Distance, in supports, from a point on the side of a half space to the weighted mean of the particles in it."""


def particle_levelset(
    particles: Particles | npt.NDArray[Any],
    grid: Grid,
    *,
    method: ParticleSurface = "average",
    radius: float | None = None,
    support: float | None = None,
    band: float | None = None,
    cover: bool = False,
    carried: bool = False,
    out: LevelSet | None = None,
    workspace: Workspace | None = None,
    walls: ThinWalls | None = None,
    per_cell: float | None = None,
) -> LevelSet:
    """Return the level set, on cells, of the liquid that particles represent; negative in the liquid.

    'spheres' is the union of spheres around the particles: bumpy, and larger than the liquid by about their radius. 'average' is the
    distance to the weighted mean position of the particles around, minus a radius: smooth, and flat for particles below a plane; it may
    bridge a gap that is narrower than the support. 'density' is where particles are half as dense as in a full cell, so that the volume
    inside is theirs. 'anisotropic' is the surface on which a sum of kernels is 1/2, each stretched like the
    neighbourhood of its particle: smooth along the surface and sharp across it.

    Only what is near the surface is computed. Spheres give the distance outside; the others are close to it near the surface. Deep in the
    liquid the level set is constant. Call `redistance` for distances everywhere. Sides that are not periodic act as mirrors.

    Args:
        particles: `Particles`, which are sorted by cell; or positions (n, dim), m, which are copied.
        grid: of their dimension.
        method: 'spheres', 'average', 'density' or 'anisotropic'.
        radius: m. Of the spheres: default 0.51 sqrt(dim) cells, so that each covers its cell. Of the average: default what puts the surface
            of uniform particles below a plane onto the plane.
        support: m, of the weights of 'average', or of the neighbourhoods of 'anisotropic' (twice the smoothing length); default 2 cells,
            which are four distances of particles at 2^dim per cell.
        band: m, limit of the magnitude of the level set; default 2 cells.
        cover: cells that contain a particle, and neither are nor touch liquid, become liquid, so that no drop is lost; with 'density' of no
            volume.
        carried: where enough particles are around, fit a linear function to the distances that they carry in a column 'distance', m,
            instead.
        out: a level set on the cells of the grid to write to; default a new one of the dtype of the particles.
        workspace: scratch memory to reuse.
        walls: thin walls: a cell sees the particles on the side of its centre alone; with 'density', or 'average' and a support
            below 4 cells.
        per_cell: with 'density', the number of particles of a full cell; default 2^dim.

    Raises:
        TypeError, ValueError: wrong types, dtypes or dimensions, unknown method, lengths that are not positive or above 8 cells, positions
            that are not finite; `out` is unchanged.

    Source: Zhu and Bridson 2005, section 4; Yu and Turk, "Reconstructing surfaces of particle-based fluids using anisotropic kernels",
        2013.
    """
    if isinstance(particles, np.ndarray):
        particles = Particles(particles)
    _checks.one_of_type("particles", particles, Particles)
    h, dimension = _checks.one_of_type("grid", grid, Grid).spacing, grid.dimension
    result = LevelSet(grid, "cells", particles.positions.dtype) if out is None else _checks.one_of_type("out", out, LevelSet)
    target: Any = result.field
    if result.location != "cells":
        raise ValueError("out must be a level set on cells, not on nodes")
    require_cells(particles, target, grid)
    reach = 2.0 * h if support is None else _checks.positive("support", support)
    if radius is None:
        radius = SPHERE[dimension] * h if method == "spheres" else HALF_SPACE[dimension] * reach
    options = _fluids.ParticleSurfaceOptions(
        PARTICLE_SURFACE("method", method),
        _checks.positive("radius", radius),
        reach,
        2.0 * h if band is None else _checks.positive("band", band),
        _checks.flag("cover", cover),
        _checks.flag("carried", carried),
        2.0**dimension if per_cell is None else _checks.positive("per_cell", per_cell),
    )
    seen = None if walls is None else _checks.one_of_type("walls", walls, ThinWalls)._core
    _fluids.particle_levelset(particles._core, target._core, options, workspace_or_new(workspace), seen)
    return result


def density_levelset(
    particles: Particles,
    out: LevelSet,
    per_cell: float,
    solid: NodeField | None,
    workspace: Workspace,
    walls: ThinWalls | None = None,
    *,
    band: float = 2.0,
    carried: bool = False,
) -> None:
    """Set the level set of a liquid of particles as with 'density' and `cover`, in what a solid leaves of the space; band in cells."""
    h = out.grid.spacing
    options = _fluids.ParticleSurfaceOptions(PARTICLE_SURFACE("method", "density"), h, 2.0 * h, band * h, True, carried, per_cell)
    around, seen = None if solid is None else solid._core, None if walls is None else walls._core
    _fluids.particle_levelset(particles._core, out.field._core, options, workspace, seen, around)
