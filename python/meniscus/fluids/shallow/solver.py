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
from meniscus.fluids.shallow.options import ShallowOptions, ShallowReport, ShallowScheme
from meniscus.fluids.shallow.sides import InflowSide, OpenSide, OutflowSide, ShallowSide, side_values
from meniscus.grid.uniform import Grid

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
        time: s; only a step changes it.
        report: of the last step; None before the first.

    Raises:
        TypeError, ValueError: a grid of three axes or cut among ranks, ground of another shape or not finite, other arguments.

    Source: Mueller, Stam, James and Thuerey, "Real time physics class notes", chapter 11 and appendix A; 'flux': Audusse et al. 2004;
    'staggered': Stelling and Duinmeijer 2003.
    """

    stages = ("flow",)
    report_type: ClassVar[type[Any]] = ShallowReport
    settings: ClassVar[tuple[str, ...]] = (
        "ground",
        "manning",
        "surface_pressure",
        "downward",
        "push",
        "wind_stress",
        "sponge",
        "walls",
    )

    def __init__(
        self,
        grid: Grid,
        ground: npt.ArrayLike = 0.0,
        scheme: ShallowScheme = "flux",
        *,
        dtype: npt.DTypeLike = np.float64,
        sides: Mapping[str, ShallowSide] | None = None,
        options: ShallowOptions | None = None,
        **changes: Any,
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
        self._core = kind(grid.shape, grid.spacing, numbers, kinds, member)
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

    def fill(self, level: float) -> None:
        """Let water at rest fill the ground up to a level, m. Raises TypeError or ValueError for what is no number."""
        np.maximum(_checks.number("level", level) - self.ground, 0.0, out=self.depth)
        for component in self.velocity:
            component[...] = 0.0

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
            self._core.set_side(number, *(side_values(f"{part} of side {name}", v, time, cells) for part, v in values.items()))


def _changed(options: ShallowOptions | None, changes: dict[str, Any]) -> ShallowOptions:
    from dataclasses import replace

    base = ShallowOptions() if options is None else _checks.one_of_type("options", options, ShallowOptions)
    return replace(base, **changes)


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
        return kinds.periodic
    names = {OpenSide: kinds.open, InflowSide: kinds.inflow, OutflowSide: kinds.outflow}
    return names.get(type(sides.get(name)), kinds.wall)
