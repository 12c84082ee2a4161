"""Vorticity, its confinement, and the energies of a flow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.transport.advection import workspace_or_new
from meniscus.grid.transport.walls import ThinWalls
from meniscus.grid.uniform import Grid
from meniscus.surface.shapes.solid_boundary import SolidLike, solid_core

Floats = npt.NDArray[np.float64]
Vorticity = CellField | tuple[CellField, CellField, CellField]


def vorticity(velocity: MacField, *, time: float = 0.0, out: Vorticity | None = None) -> Vorticity:
    """Return curl u at the cell centres, 1/s, by central differences: exact for linear velocities, else second order.

    Beyond the sides, the boundary conditions of the velocity give the values: the tangential velocity has no gradient at a free-slip wall.

    Args:
        velocity: m/s.
        time: s, passed to boundary functions.
        out: takes the result; default new fields of the velocity's dtype.

    Returns:
        In 2-D a cell field, in 3-D the three components.

    Raises:
        TypeError, ValueError: wrong types, dtypes or grids.

    Source: Selle 2008, section 3.2.1; Guendelman et al. 2005, section 4.1.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    t, n = _checks.number("time", time), 1 if velocity.grid.dimension == 2 else 3
    if out is None:
        fields = tuple(CellField(velocity.grid, velocity.dtype) for _ in range(n))
    else:
        fields = out if isinstance(out, tuple) else (out,)
        if len(fields) != n:
            raise ValueError(f"out must be {'one cell field' if n == 1 else 'a tuple of 3 cell fields'}, not {len(fields)}")
        for f in fields:
            _checks.one_of_type("out", f, CellField)
            if f.grid != velocity.grid:
                raise ValueError(f"out must have the grid of the velocity, {velocity.grid}, not {f.grid}")
            if f.dtype != velocity.dtype:
                raise TypeError(f"out must be of dtype {velocity.dtype}, not {f.dtype}")
    _fluids.vorticity(velocity._core, t, [f._core for f in fields])
    return fields[0] if n == 1 else (fields[0], fields[1], fields[2])


def enstrophy(velocity: MacField, *, time: float = 0.0) -> float:
    """Return half the integral of |curl u|^2 over the domain, m^dim/s^2, with the vorticity of `vorticity`.

    Raises TypeError or ValueError for a wrong velocity or time. Source: Selle 2008, section 3.3.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    return float(_fluids.enstrophy(velocity._core, _checks.number("time", time)))


def kinetic_energy(velocity: MacField) -> float:
    """Return half the integral of |u|^2 over the domain, per density: m^(dim + 2)/s^2.

    Each component is summed over its own faces, those on sides that are not periodic with half a cell each. A projection on the whole grid
    never increases this energy. Raises TypeError for a wrong type. Source: Selle 2008, section 3.2.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    return float(_fluids.kinetic_energy(velocity._core))


def energy_spectrum(velocity: MacField) -> tuple[Floats, Floats]:
    """Return the kinetic energy by wave number: k, rad/m, and E(k), m^3/s^2, so that sum(E) * (k[1] - k[0]) is the mean of |u|^2 / 2.

    Energies of all Fourier modes are added up in shells as wide as the lowest wave number of the longest side. On a domain that is
    periodic along all axes each component is taken at its own faces, which loses nothing. Otherwise the components are averaged to the
    cell centres and weighted by a Hann window of mean square one along the axes that are not periodic; the energy is then that of the
    weighted flow, and lines are about three shells wide. Collective on ranks, of which the first transforms the whole domain.

    Args:
        velocity: m/s.

    Raises:
        TypeError: what is no velocity.

    Source: Selle 2008, section 3.5.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    grid = velocity.grid
    whole = velocity.gather()
    with grid.agreement():
        found = None if whole is None else _spectrum(grid, whole)
    told: tuple[Floats, Floats] = grid.comm.gather(found)[0]
    return told


def _spectrum(grid: Grid, velocity: Sequence[npt.NDArray[Any]]) -> tuple[Floats, Floats]:
    """Return the spectrum of the components of the whole domain."""
    window = np.ones((1,) * grid.dimension)
    for d, n in enumerate(grid.shape):
        if "xyz"[d] + "-" in grid.sides and n > 1:
            hann = 1 - np.cos(2 * math.pi * (np.arange(n) + 0.5) / n)
            shape = [1] * grid.dimension
            shape[d] = n
            window = window * (hann / math.sqrt(float(np.mean(hann**2)))).reshape(shape)
    squared: Any = 0.0
    for d in range(grid.dimension):
        u = velocity[d].astype(np.float64)
        upper = np.delete(u, 0, d)
        sampled = upper if not grid.sides else 0.5 * (np.delete(u, -1, d) + upper)
        squared = squared + np.abs(np.fft.fftn(window * sampled)) ** 2
    modes = 0.5 * squared / math.prod(grid.shape) ** 2
    axes = [2 * math.pi * np.fft.fftfreq(n, grid.spacing) for n in grid.shape]
    wave_numbers = np.sqrt(sum(k**2 for k in np.meshgrid(*axes, indexing="ij", sparse=True)))
    width = 2 * math.pi / max(grid.extent)
    shells = np.rint(wave_numbers / width).astype(np.int64)
    energies: Floats = np.bincount(shells.ravel(), modes.ravel()) / width
    numbers: Floats = width * np.arange(len(energies), dtype=np.float64)
    return numbers, energies


def add_vorticity_confinement(
    velocity: MacField,
    dt: float,
    epsilon: float,
    *,
    solid: SolidLike | None = None,
    walls: ThinWalls | None = None,
    time: float = 0.0,
    workspace: Workspace | None = None,
) -> None:
    """Add dt * epsilon * h * (N x omega), N = grad|omega| / |grad|omega||, to a velocity, in place.

    The force spins up the vorticity that the grid still has; the spacing h makes it vanish under refinement. It is made at the cell
    centres and averaged to the faces. Faces whose normal velocity is given (walls, prescribed sides) keep it. Where |omega| is flat,
    which is where |grad|omega|| is not above the larger of 1e-6 max|omega| / h and 16 rounding units of max|u| / h^2, N is zero: so a
    rigid rotation feels no force. Too large an epsilon is unstable.

    Args:
        velocity: m/s.
        dt: s.
        epsilon: without unit; of the order of 0.1 to 1.
        solid: as in `project`. Cells whose centre is inside exert no force, and stand in |omega| for the cell that looks at them; faces
            between such a cell and a free one take the force of the free one.
        walls: thin walls, across which no cell looks: hidden velocities are those of the wall, hidden |omega| that of the cell itself.
            Faces that they block must hold the velocity of the wall (`hold_faces`), and lose it.
        time: s, passed to boundary functions and to the motion of the solid.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: wrong types or dtypes, values that are not finite; the velocity is unchanged.

    Source: Selle 2008, section 3.2.1; Guendelman et al. 2005, section 4.1.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    t = _checks.number("time", time)
    _fluids.add_vorticity_confinement(
        velocity._core,
        _checks.number("dt", dt),
        _checks.number("epsilon", epsilon),
        solid_core(solid, velocity.grid, velocity.dtype, t),
        t,
        workspace_or_new(workspace),
        None if walls is None else _checks.one_of_type("walls", walls, ThinWalls)._core,
    )
