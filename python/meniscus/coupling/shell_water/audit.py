"""Water on each side of closed shells, by counting crossings of meshes, without code of the step."""

from __future__ import annotations

import numpy as np

from meniscus.coupling.shells.parity import inside_cells, inside_points, is_closed
from meniscus.coupling.shells.reports import ClosedWaterAudit
from meniscus.coupling.shells.shells import Shells
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.particles.solver import ParticleLiquidSolver
from meniscus.grid.face_arrays import domain_images


def audit_water(solver: LiquidSolver | ParticleLiquidSolver, shells: Shells) -> list[ClosedWaterAudit]:
    """Return the water inside of and around every closed shell; cells in a solid are not counted."""
    grid, wet = solver.grid, solver.levelset.array <= 0
    solid = solver.sampled_solid.at(solver.time)
    open_cells = np.ones(grid.shape, bool) if solid is None else solid.outside_cells
    markers = drops = np.zeros((0, grid.dimension))
    if isinstance(solver, ParticleLiquidSolver):
        markers = np.array(solver.particles.positions, np.float64)
    elif (particles := solver.surface.particles) is not None:
        markers = np.array(particles.particles.positions[particles.particles["sign"] < 0], np.float64)
        drops = np.array(particles.spray.positions, np.float64)
    x = shells.positions
    x = x + shells.shifts(x)
    images = domain_images(grid)
    found = []
    for body, part in enumerate(shells.parts):
        if not is_closed(part.elements):
            continue
        vertices = x[shells.rows(body)][:, : grid.dimension]
        low = np.array(grid.origin, np.float64)
        # A cell whose centre lies in the thickness of the shell is on neither side.
        shifts = 2.0 * shells.thickness * np.concatenate([np.eye(grid.dimension), -np.eye(grid.dimension)])
        near = [
            np.logical_or.reduce([inside_cells(vertices + i, part.elements, low + shift, grid.spacing, tuple(grid.shape)) for i in images])
            for shift in shifts
        ]
        inside, outside = np.logical_and.reduce(near) & open_cells, ~np.logical_or.reduce(near) & open_cells
        marker_in, drop_in = (
            np.logical_or.reduce([inside_points(vertices + i, part.elements, points) for i in images]) for points in (markers, drops)
        )
        found.append(
            ClosedWaterAudit(
                body=body,
                cells=int(inside.sum()),
                wet=int((wet & inside).sum()),
                wet_outside=int((wet & outside).sum()),
                markers=int(marker_in.sum()),
                markers_outside=int((~marker_in).sum()),
                drops=int(drop_in.sum()),
                drops_outside=int((~drop_in).sum()),
            )
        )
    return found
