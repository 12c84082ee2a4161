"""Shallow water: floods, rivers, waves on ground of any shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption
from meniscus.core.solver import Solver, stage
from meniscus.fluids.shallow.forces import FORCES, CellForce, Sponge, sponge_rates
from meniscus.fluids.shallow.options import ShallowOptions, ShallowReport, ShallowScheme
from meniscus.fluids.shallow.shoreline import polylines
from meniscus.fluids.shallow.sides import InflowSide, OpenSide, OutflowSide, ShallowSide, side_values
from meniscus.grid.fields import CellField
from meniscus.grid.uniform import AXES, Grid
from meniscus.surface.extraction.surfaces import extract

Floats = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]

SHALLOW_SCHEME = CoreOption(ShallowScheme, _fluids.ShallowScheme)
_ARRAY = _fluids.ShallowArray
_SIDES = ("x-", "x+", "y-", "y+")


class ShallowWater(Solver[ShallowReport]):
    """Water whose depth is small beside the length of its waves: one depth and one horizontal velocity per column.

    A step takes as many substeps as waves need. Work is done only where water is, and beside it.

    Args:
        grid: of two axes; cells are columns of water. A 1-D problem is a (n, 1) grid, periodic on the second axis.
        ground: height of the ground, m: a number, or an array of the shape of the grid.
        scheme: 'flux': finite volumes, second order, conserves mass and momentum, at rest over any ground, depth never negative.
            'staggered': first order on staggered faces, conserves mass, right speeds of shocks. 'printed': that of the class notes with its
            signs put right: smooth waves only.
        dtype: float64 or float32.
        sides: what is beyond the sides 'x-', 'x+', 'y-' and 'y+': 'wall' (default), an `OpenSide`, `InflowSide` or `OutflowSide`.
        options: constants, see `ShallowOptions`.
        **changes: fields of `options` that are to have other values, such as gravity=1.62.

    Attributes:
        grid: of all arrays.
        depth: (nx, ny) m; may be written to.
        velocity: two arrays, along x and y, m/s: in cells with 'flux', else on the faces across each axis; may be written to.
        ground: (nx, ny) height of the ground, m; may be written to.
        manning: coefficient of friction on the ground, s/m^(1/3): a number or (nx, ny); None: none.
        surface_pressure: on the surface, Pa: a number or (nx, ny); None: none. In water at rest p lowers the surface by p / (density g).
        downward: acceleration -a_n, m/s^2: (nx, ny), positive; None: gravity. With an acceleration that differs from place to place, what
            rests on flat ground has the same downward * depth^2 everywhere: it pulls at the whole column, unlike a pressure on it.
        push: horizontal force f_tau per volume, N/m^3: (2, nx, ny) or two numbers; None: none.
        wind_stress: of the wind on the surface, Pa: (2, nx, ny) or two numbers; None: none.
        sponge: rates (1/s) at which water comes to rest before sides across x and y, and the level (m) at which it does, (3, nx, ny);
            None: none. See `add_sponge`.
        wall_faces: two arrays, (nx + 1, ny) and (nx, ny + 1), of the faces that are walls; None: no face inside is one.
        time: s; only a step changes it.
        report: of the last step; None before the first.

    Raises:
        TypeError, ValueError: a grid of three axes or cut among ranks, ground of another shape or not finite, other arguments.

    Source: Mueller, Stam, James and Thuerey, "Real time physics class notes", chapter 11 and appendix A; 'flux': Audusse et al. 2004;
    'staggered': Stelling and Duinmeijer 2003.
    """

    stages = ("flow",)
    report_type: ClassVar[type[Any]] = ShallowReport
    settings: ClassVar[tuple[str, ...]] = ("ground", *FORCES, "wall_faces")
    manning = CellForce("manning", least=0.0)
    surface_pressure = CellForce("pressure")
    downward = CellForce("gravity_of", positive=True)
    push = CellForce("push_u", "push_v")
    wind_stress = CellForce("stress_u", "stress_v")
    sponge = Sponge()

    def __init__(
        self,
        grid: Grid,
        ground: npt.ArrayLike = 0.0,
        scheme: ShallowScheme = "flux",
        *,
        dtype: npt.DTypeLike = np.float64,
        sides: Mapping[str, ShallowSide] | None = None,
        options: ShallowOptions | None = None,
        **changes: object,
    ) -> None:
        self.grid = _checks.one_of_type("grid", grid, Grid)
        if grid.dimension != 2:
            raise ValueError(f"shallow water needs a grid of two axes, not {grid.dimension}")
        if grid.comm.size > 1:
            raise ValueError("shallow water runs on one rank; its grid is cut among several")
        self.options = _changed(options, changes)
        self.scheme = scheme
        member = SHALLOW_SCHEME("scheme", scheme)
        self._dtype = _checks.scalar_type(dtype)
        self.sides = _checked_sides(grid, sides)
        o, tiny = self.options, 1e-7 if self._dtype == np.float64 else 1e-5
        numbers = (o.gravity, tiny * grid.spacing if o.dry_depth is None else o.dry_depth, o.cfl_of(scheme), o.density)
        self.dry_depth = numbers[1]
        kind = _fluids.ShallowWater64 if self._dtype == np.float64 else _fluids.ShallowWater32
        kinds = [_kind_of(grid, self.sides, name) for name in _SIDES]
        self._has_walls = False
        self._core = kind(grid.shape, grid.spacing, grid.origin, numbers, kinds, member)
        self.depth: Floats = self.declare("depth", self._core.array(_ARRAY.depth))
        self.velocity: tuple[Floats, Floats] = self.declare("velocity", (self._core.array(_ARRAY.u), self._core.array(_ARRAY.v)))
        self.time = self.declare("time", 0.0)
        self._set_sides(0.0)
        self.ground = ground

    @property
    def ground(self) -> Floats:
        """Height of the ground, m, (nx, ny); may be set, and written to. Raises TypeError or ValueError for another shape."""
        return self._core.array(_ARRAY.ground)

    @ground.setter
    def ground(self, value: npt.ArrayLike) -> None:
        self._core.array(_ARRAY.ground)[...] = self._incoming("ground", value)

    @property
    def surface(self) -> Floats:
        """Height of the surface, m, (nx, ny): that of the ground where there is no water."""
        result: Floats = self.ground + self.depth
        return result

    @property
    def wall_faces(self) -> tuple[Bools, Bools] | None:
        """Faces that are walls. Raises TypeError or ValueError for other arrays than those of the faces across each axis."""
        return (self._core.walls(0).view(bool), self._core.walls(1).view(bool)) if self._has_walls else None

    @wall_faces.setter
    def wall_faces(self, value: tuple[Bools, Bools] | None) -> None:
        nx, ny = self.grid.shape
        masks = [np.zeros((nx + 1, ny), bool), np.zeros((nx, ny + 1), bool)]
        if value is not None:
            if not isinstance(value, (tuple, list)) or len(value) != 2:
                raise TypeError("wall_faces must be two arrays, of the faces across each axis")
            masks = [_checks.mask(f"wall_faces[{d}]", value[d], masks[d].shape) for d in range(2)]
        for axis, mask in enumerate(masks):
            if value is None and not self._has_walls:
                continue
            self._core.walls(axis)[...] = mask
            if not any(side.startswith(AXES[axis]) for side in self.grid.sides):  # joined: one face
                both = self._core.walls(axis)
                first, last = (both[0], both[-1]) if axis == 0 else (both[:, 0], both[:, -1])
                first |= last
                last[...] = first
        self._has_walls = self._has_walls or value is not None

    def add_sponge(self, side: str, width: float, level: float, *, wave_depth: float | None = None) -> None:
        """Let water come to rest at a level before a side, whatever the angle of the waves that run into it.

        The rate grows with the square of the way into the sponge, and depth and the velocity across the side are damped alike. Two waves
        wide and with an `OpenSide` behind it, it returns at most 1 % of waves that meet it at up to 60 degrees.

        Args:
            side: 'x-', 'x+', 'y-' or 'y+'.
            width: m.
            level: of the surface, m.
            wave_depth: m, that decides the speed of the waves; None: the deepest below the level.

        Raises:
            TypeError, ValueError: no such side, a width that is not positive, no water below the level.
        """
        if side not in self.grid.sides:
            raise ValueError(f"the grid has the sides {', '.join(self.grid.sides) or 'none'}, not {side!r}")
        width, level = _checks.positive("width", width), _checks.number("level", level)
        depth = float((level - self.ground).max()) if wave_depth is None else _checks.positive("wave_depth", wave_depth)
        if depth <= 0:
            raise ValueError(f"there is no water below the level of {level:g} m, so no wave for a sponge")
        rates = sponge_rates(self.grid, side, width, (self.options.gravity * depth) ** 0.5)
        parts = [np.zeros(self.grid.shape), np.zeros(self.grid.shape), np.full(self.grid.shape, level)]
        if self.sponge is not None:
            parts = [np.array(part, np.float64) for part in self.sponge]
        parts[2][rates > parts[0] + parts[1]] = level
        axis = "xy".index(side[0])
        np.maximum(parts[axis], rates, out=parts[axis])
        self.sponge = parts

    def fill(self, level: float) -> None:
        """Let water at rest fill the ground up to a level, m. Raises TypeError or ValueError for what is no number."""
        np.maximum(_checks.number("level", level) - self.ground, 0.0, out=self.depth)
        for component in self.velocity:
            component[...] = 0.0

    def fill_ratio(self, *, flat: float | None = None, film: float = 0.0) -> npt.NDArray[np.float64]:
        """Return which part of each cell water covers, (nx, ny) from 0 to 1, by the heights of the ground in the cells around it.

        Args:
            flat: range of heights that counts as even ground, m; None: 0.001 of the spacing.
            film: cells with less water than this in them and beside them, m, are dry: water does not spread into them.

        Raises:
            TypeError, ValueError: no such numbers.

        Source: "Real time physics class notes", (11.8) to (11.10), with the height of the ground in the bounds.
        """
        ratio = np.zeros(self.grid.shape)
        even = 1e-3 * self.grid.spacing if flat is None else _checks.positive("flat", flat)
        self._core.fill_ratio(even, _checks.number("film", film), ratio)
        return ratio

    def wet(self, *, film: float | None = None) -> Bools:
        """Return which cells hold water, (nx, ny): deeper than `film`, m; None: than `dry_depth`."""
        result: Bools = self.depth > (self.dry_depth if film is None else _checks.number("film", film))
        return result

    def shoreline(self) -> list[npt.NDArray[np.float64]]:
        """Return the edges of the water as polylines, each (n, 2), m, with the water to their left; a closed one ends where it begins.

        A vertex lies where the surface meets the line between the grounds of two cells, or half a cell from water that stands above dry
        ground. Lines end at sides of the domain.
        """
        height = CellField(self.grid)
        values = np.zeros(self.grid.shape)
        self._core.height_over_water(values)
        height.array[...] = values
        return polylines(*extract(height, sides="open"))

    def max_dt(self) -> float:
        """Return infinity: a step of any length takes the substeps that it needs, see `max_substep`."""
        return float("inf")

    def max_substep(self) -> float:
        """Return the longest substep that waves allow now, s; infinite without water."""
        return float(self._core.longest_substep())

    @stage(reads=("depth", "velocity", "time"), writes=("depth", "velocity"), positive=True)
    def flow(self, dt: float) -> None:
        """Let the water flow for dt, in substeps."""
        self._set_sides(self.time)
        sums = self._core.advance(dt)
        report, density = self.running_report, self.options.density
        report.substeps += sums.substeps
        report.volume = sums.volume
        report.left = {name: report.left.get(name, 0.0) + sums.left[_SIDES.index(name)] for name in self.sides}
        report.damped += sums.damped
        report.imbalance += sums.volume - sums.before + sum(sums.left) + sums.damped
        report.kinetic_energy, report.max_speed = density * sums.kinetic, sums.speed

    def __repr__(self) -> str:
        """One line: cells, scheme, time, memory."""
        cells = "x".join(map(str, self.grid.shape))
        return f"<ShallowWater {cells} cells, {self.scheme}, t = {self.time:g} s, {self.nbytes / 1e6:.3g} MB>"

    def _incoming(self, name: str, value: npt.ArrayLike) -> Any:
        array = _checks.numbers(name, value)
        if array.shape not in ((), self.grid.shape):
            raise ValueError(f"{name} must be a number or have the shape of the grid, {self.grid.shape}, not {array.shape}")
        _checks.require_finite(name, np.atleast_1d(array))
        return array

    def _set_sides(self, time: float) -> None:
        for name, side in self.sides.items():
            number = _SIDES.index(name)
            cells = self.grid.shape[1 - number // 2]
            values = {
                "level": getattr(side, "level", None) if not isinstance(side, InflowSide) else side.depth,
                "discharge": getattr(side, "discharge", None),
                "along": getattr(side, "along", None),
            }
            found = [side_values(f"{part} of side {name}", v, time, cells) for part, v in values.items()]
            if min(found[1]) < 0:
                raise ValueError(f"discharge of side {name} must not be negative, but is {min(found[1]):g}; an OutflowSide lets water out")
            self._core.set_side(number, *found)


def _changed(options: ShallowOptions | None, changes: dict[str, object]) -> ShallowOptions:
    from dataclasses import replace

    base = ShallowOptions() if options is None else _checks.one_of_type("options", options, ShallowOptions)
    return replace(base, **changes)  # type: ignore[arg-type]


def _checked_sides(grid: Grid, sides: Mapping[str, ShallowSide] | None) -> dict[str, ShallowSide]:
    """Return the sides that are no walls. Raises TypeError or ValueError for others than the grid has."""
    found: dict[str, ShallowSide] = {}
    for name, side in (sides or {}).items():
        if name not in grid.sides:
            raise ValueError(f"the grid has the sides {', '.join(grid.sides) or 'none'}, not {name!r}")
        if isinstance(side, str) and side == "wall":
            continue
        if not isinstance(side, (OpenSide, InflowSide, OutflowSide)):
            raise TypeError(f"side {name} must be 'wall', an OpenSide, InflowSide or OutflowSide, not {side!r}")
        found[name] = side
    return found


def _kind_of(grid: Grid, sides: Mapping[str, ShallowSide], name: str) -> Any:
    kinds = _fluids.ShallowSideKind
    if name not in grid.sides:
        return kinds.joined
    names = {OpenSide: kinds.open, InflowSide: kinds.inflow, OutflowSide: kinds.outflow}
    return names.get(type(sides.get(name)), kinds.wall)
