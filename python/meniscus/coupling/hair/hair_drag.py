"""Hair in water on a grid: its volume, direction and velocity in cells, and the drag between both."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import coupling as _coupling
from meniscus.grid import CellField, Grid, MacField
from meniscus.solids import Groom

Floats = npt.NDArray[np.float64]

_LARGEST_FRACTION = 0.9  # of a cell: hair does not fill cells, and arrays of cylinders end there


class HairVolume:
    """Hair in the cells of a three-dimensional grid, by exact clipping of all segments, as cylinders, with all cells.

    Args:
        grid: of the water.

    Attributes:
        volume: (nx, ny, nz), m^3.
        velocity: (nx, ny, nz, 3) of the hair, m/s; 0 where there is none.
        direction: (nx, ny, nz, 3, 3), the mean of t t^T for unit vectors t along the hair: a third of the unit matrix where there is no
            order.
        outside: volume of the hair that is in no cell, m^3.

    Raises:
        TypeError, ValueError: no grid of three dimensions.

    Source: Lee 2018, sections 2.3.4 and 3.5.
    """

    def __init__(self, grid: Grid) -> None:
        _checks.one_of_type("grid", grid, Grid)
        if grid.dimension != 3:
            raise ValueError(f"hair needs a grid of three dimensions, not {grid.dimension}")
        self.grid = grid
        self._cells = np.zeros((*grid.shape, 10))
        self.outside = 0.0

    def set(self, groom: Groom, points: Floats, velocities: Floats | None = None) -> None:
        """Take the strands of a groom at `points` (n, 3), m, with `velocities` (n, 3), m/s; default at rest.

        Raises ValueError for others.
        """
        x = np.ascontiguousarray(points, np.float64)
        v = np.zeros_like(x) if velocities is None else np.ascontiguousarray(velocities, np.float64)
        if x.shape != groom.points.shape or v.shape != x.shape:
            raise ValueError(f"points and velocities must have shape {groom.points.shape}, not {x.shape} and {v.shape}")
        self._cells[...] = 0.0
        parts = groom.offsets, x, v, groom.radius
        self.outside = float(_coupling.add_hair(*parts, self.grid._core, self._cells))  # type: ignore[arg-type]

    @property
    def volume(self) -> Floats:
        """See the class."""
        part: Floats = self._cells[..., 0]
        return part

    @property
    def velocity(self) -> Floats:
        """See the class."""
        mean: Floats = self._cells[..., 1:4] / np.maximum(self.volume, 1e-300)[..., None]
        return mean

    @property
    def direction(self) -> Floats:
        """See the class."""
        d = self._cells[..., 4:] / np.maximum(self.volume, 1e-300)[..., None]
        out: Floats = d[..., [[0, 3, 5], [3, 1, 4], [5, 4, 2]]]
        return np.where(self.volume[..., None, None] > 0, out, np.eye(3) / 3)

    @property
    def fraction(self) -> Floats:
        """Part of each cell that is hair, at most 0.9."""
        return np.minimum(self.volume / self.grid.spacing**3, _LARGEST_FRACTION)


def cylinder_drag(fraction: npt.ArrayLike, radius: float, viscosity: float = 1e-6) -> tuple[Floats, Floats]:
    """Return the rates (1/s) at which arrays of parallel cylinders stop a slow flow along them, and across.

    Args:
        fraction: of the volume that the cylinders fill, within [0, 0.9]; 0 gives 0.
        radius: of the cylinders, m.
        viscosity: kinematic, m^2/s; default: water.

    Raises:
        ValueError: fractions beyond [0, 0.9], numbers that are not positive.

    Source: Happel, "Viscous flow relative to arrays of cylinders", 1959: the velocity of Darcy's law is the permeability over the viscosity
    times the force per mass, and the rate is viscosity / permeability.
    """
    f = np.asarray(fraction, np.float64)
    if f.size and not (f.min() >= 0 and f.max() <= _LARGEST_FRACTION):
        raise ValueError(f"fraction must be within [0, {_LARGEST_FRACTION}]")
    r, nu = _checks.positive("radius", radius), _checks.positive("viscosity", viscosity)
    s = np.where(f > 0, f, 0.5)
    along = r**2 / (4 * s) * (-np.log(s) - 1.5 + 2 * s - 0.5 * s**2)
    across = r**2 / (8 * s) * (-np.log(s) + (s**2 - 1) / (s**2 + 1))
    return np.where(f > 0, nu / along, 0.0), np.where(f > 0, nu / across, 0.0)


class HairDrag:
    """Drag between hair and water: velocities relax towards each other at a rate k per cell, and the pressure acts through the hair.

    With v the velocity of the hair, water that feels the force f per mass and the pressure p follows u' = -k (u - v) + f - grad p /
    density. Its exact solution over dt has the factor c = (1 - exp(-k dt)) / (k dt) before f and grad p. So `relax` comes after the forces,
    and `project` takes `density(...)`, which is larger by 1 / c: strong drag then obeys Darcy's law. Drag that is relaxed before a
    projection with the plain density is never stronger than 1 / dt.

    Args:
        grid: of the water, three-dimensional.

    Attributes:
        rate: (nx, ny, nz), 1/s; writable.
        hair_velocity: (nx, ny, nz, 3), m/s; writable.

    Source: Lee 2018, sections 2.3.4 and 3.5; factor of the pressure: own.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = _checks.one_of_type("grid", grid, Grid)
        self.rate: Floats = np.zeros(grid.shape)
        self.hair_velocity: Floats = np.zeros((*grid.shape, grid.dimension))

    def set(self, hair: HairVolume, per_fraction: float) -> None:
        """Take the rate `per_fraction` (1/s) times the part of each cell that is hair, and the velocity of the hair."""
        strength = _checks.number("per_fraction", per_fraction)
        if strength < 0:
            raise ValueError(f"per_fraction must not be negative, not {strength:g}")
        self.rate[...] = strength * hair.fraction
        self.hair_velocity[...] = hair.velocity

    def density(self, density: float, dt: float) -> CellField:
        """Return the density (kg/m^3) with which the pressure acts over dt seconds: larger than the true one in hair."""
        field = CellField(self.grid)
        field.array[...] = _checks.positive("density", density) / _part(self.rate * _checks.positive("dt", dt))
        return field

    def relax(self, velocity: MacField, acceleration: tuple[float, ...], dt: float) -> Floats:
        """Let a velocity that has followed a uniform acceleration (m/s^2) for dt seconds feel the drag, in place.

        Returns the momentum (3,) over density that the hair took, m^4/s.
        """
        h, took = _checks.positive("dt", dt), []
        for axis in range(self.grid.dimension):
            u = velocity.component(axis)
            k, v = _on_faces(self.rate, axis), _on_faces(self.hair_velocity[..., axis], axis)
            before, force = np.array(u), acceleration[axis] * h
            felt = v + (before - force - v) * np.exp(-k * h) + _part(k * h) * force
            u[...] = np.where(k > 0, felt, before)  # without hair: the same bits
            took.append(float((before - u)[_inner(u.ndim, axis)].sum()) * self.grid.spacing**self.grid.dimension)
        return np.array(took)


def exchange_momentum(water: Floats, hair: Floats, masses: tuple[npt.ArrayLike, npt.ArrayLike], rate: npt.ArrayLike, dt: float) -> None:
    """Let velocities of water (..., d) and loose hair (..., d), m/s, relax towards each other in place, with all momentum kept.

    Args:
        water, hair: velocities in the same cells.
        masses: of water and of hair in these, (...), kg.
        rate: k (...), 1/s: water beside fixed hair slows down at this rate; the difference falls at k (1 + m_water / m_hair).
        dt: seconds.
    """
    m, n = (np.asarray(x, np.float64)[..., None] for x in masses)
    k = np.asarray(rate, np.float64)[..., None]
    if not ((m > 0) & (n > 0)).all():
        raise ValueError("masses must be positive")
    mean = (m * water + n * hair) / (m + n)
    left = np.exp(-k * (1 + m / n) * _checks.positive("dt", dt)) * (water - hair)
    water[...] = mean + n / (m + n) * left
    hair[...] = mean - m / (m + n) * left


def _part(x: Floats) -> Floats:
    """(1 - exp(-x)) / x."""
    return np.where(x > 1e-12, -np.expm1(-x) / np.maximum(x, 1e-12), 1.0)


def _on_faces(cells: Floats, axis: int) -> Floats:
    """Means of the two cells of each face; at the sides, of the one."""
    pad = [(1, 1) if a == axis else (0, 0) for a in range(cells.ndim)]
    wide = np.pad(cells, pad, mode="edge")
    low, high = np.delete(wide, -1, axis), np.delete(wide, 0, axis)
    return 0.5 * (low + high)


def _inner(dimension: int, axis: int) -> tuple[slice, ...]:
    return tuple(slice(1, -1) if a == axis else slice(None) for a in range(dimension))
