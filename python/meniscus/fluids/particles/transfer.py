"""Transfer of velocities from particles to a staggered grid, and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.grid.fields import CellField, MacField, component_shapes
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.advection import workspace_or_new
from meniscus.grid.uniform import Grid

Bools = npt.NDArray[np.bool_]


def particles_to_grid(
    particles: Particles,
    velocity: MacField,
    *,
    mass: MacField | None = None,
    known: list[Bools] | None = None,
    workspace: Workspace | None = None,
) -> list[Bools]:
    """Set the faces of a grid to the mean velocity of the particles around them, and return masks of faces with particles.

    The mean is weighted by linear interpolation and by the masses of the particles. Faces without particles become zero. In the half cell
    beside a side that is not periodic, the outermost face has the whole weight, so that the grid has all of the mass and the momentum.

    Args:
        particles: with a column 'velocity' (n, dim), m/s. With a column 'affine' (n, dim * dim), 1/s, row by row the gradients of the
            components, each particle contributes an affine velocity (APIC); with a column 'mass' (n,), kg, the mean is weighted by mass.
            The particles are sorted by cell.
        velocity: takes the result, m/s.
        mass: takes the mass at the faces, kg.
        known: bool arrays to write the result to; default: new ones.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: wrong types, dtypes or dimensions, values that are not finite, masses that are not positive; the velocity is
            unchanged.

    Source: Zhu and Bridson 2005; Jiang et al., "The affine particle-in-cell method", 2015.
    """
    _fits(particles, velocity)
    if mass is not None:
        _same_kind("mass", mass, velocity)
    shapes = component_shapes(velocity.grid)
    if known is None:
        known = [np.zeros(s, bool) for s in shapes]
    if len(known) != len(shapes) or any(not isinstance(k, np.ndarray) or k.shape != s for k, s in zip(known, shapes, strict=True)):
        raise ValueError(f"known must be bool arrays of the shapes {', '.join(map(str, shapes))}")
    _fluids.particles_to_grid(particles._core, velocity._core, known, None if mass is None else mass._core, workspace_or_new(workspace))
    return known


def grid_to_particles(
    velocity: MacField,
    particles: Particles,
    *,
    before: MacField | None = None,
    flip_ratio: float = 0.95,
    time: float = 0.0,
    workspace: Workspace | None = None,
) -> None:
    """Set the velocities of particles from those of a grid.

    Without `before`, a particle gets the velocity of the grid at its position (PIC), and a column 'affine' gets the gradient of the
    interpolation (APIC). With `before`, the velocity that was transferred to the grid, it keeps the fraction `flip_ratio` of the difference
    between its own velocity and that one (FLIP).

    Args:
        velocity: m/s.
        particles: with a column 'velocity', and any 'affine'.
        before: m/s.
        flip_ratio: from 0 (PIC) to 1 (FLIP); unused without `before`.
        time: s, passed to boundary functions.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: wrong types, dtypes or dimensions, values that are not finite, a ratio out of range; nothing changes.

    Source: Zhu and Bridson 2005; Jiang et al., "The affine particle-in-cell method", 2015.
    """
    _fits(particles, velocity)
    ratio = _checks.number("flip_ratio", flip_ratio)
    if not 0.0 <= ratio <= 1.0:
        raise ValueError(f"flip_ratio must be from 0 to 1, not {ratio:g}")
    if before is not None:
        _same_kind("before", before, velocity)
    _fluids.grid_to_particles(
        velocity._core,
        None if before is None else before._core,
        0.0 if before is None else ratio,
        _checks.number("time", time),
        particles._core,
        workspace_or_new(workspace),
    )


def particle_density(particles: Particles, grid: Grid, *, out: CellField | None = None, workspace: Workspace | None = None) -> CellField:
    """Return the number of particles per cell, distributed by linear interpolation between the centres of cells.

    The sum over all cells is the number of particles, up to round-off.

    Args:
        particles: of the dimension of the grid; they are sorted by cell.
        grid: 2-D or 3-D.
        out: takes the result, of the dtype of the positions; default a new field.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: wrong types, dtypes or dimensions, positions that are not finite.
    """
    _checks.one_of_type("particles", particles, Particles)
    _checks.one_of_type("grid", grid, Grid)
    result = CellField(grid, particles.positions.dtype) if out is None else _checks.one_of_type("out", out, CellField)
    require_cells(particles, result, grid)
    _fluids.particle_density(particles._core, result._core, workspace_or_new(workspace))
    return result


def require_cells(particles: Particles, out: CellField, grid: Grid) -> None:
    """Check a target field on the cells of a grid."""
    if particles.dimension != grid.dimension:
        raise ValueError(f"particles must be {grid.dimension}-D like the grid, not {particles.dimension}-D")
    if out.grid != grid:
        raise ValueError(f"out must have the grid {grid}, not {out.grid}")
    if out.dtype != particles.positions.dtype:
        raise TypeError(f"out must be of dtype {particles.positions.dtype} like the particles, not {out.dtype}")


def _fits(particles: Particles, velocity: MacField) -> None:
    _checks.one_of_type("particles", particles, Particles)
    _checks.one_of_type("velocity", velocity, MacField)
    if particles.dimension != velocity.grid.dimension:
        raise ValueError(f"particles must be {velocity.grid.dimension}-D like the velocity, not {particles.dimension}-D")
    if particles.positions.dtype != velocity.dtype:
        raise TypeError(f"particles must be of dtype {velocity.dtype} like the velocity, not {particles.positions.dtype}")
    if "velocity" not in particles.columns:
        raise ValueError("particles must have a column 'velocity'")


def _same_kind(name: str, field: MacField, velocity: MacField) -> None:
    _checks.one_of_type(name, field, MacField)
    if field.grid != velocity.grid:
        raise ValueError(f"{name} must have the grid {velocity.grid}, not {field.grid}")
    if field.dtype != velocity.dtype:
        raise TypeError(f"{name} must be of dtype {velocity.dtype}, not {field.dtype}")
