"""Options of water that is shared between tetrahedra, drops and a grid, and the report of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from meniscus import _checks
from meniscus.fluids.liquid.options import LiquidReport
from meniscus.fluids.tetrahedra.options import TetVOFReport

WaterExchange = Literal["owned", "literal"]
"""Whether water belongs to one representation at a time, or is copied from the grid into tetrahedra as in the source."""


@dataclass(frozen=True, kw_only=True)
class KDSMWaterOptions:
    """Options of `KDSMWater`.

    Attributes:
        exchange: 'owned': every litre belongs to tetrahedra, drops or grid, and passes from one to another. 'literal': the document's;
            tetrahedra copy water from the grid, which keeps it, so that bodies that leave a pool make water.
        resolved: cells; the grid owns the water that a ball of this radius fits in, as far as two radii from such balls. What is thinner
            passes to tetrahedra where there are some. 0: the grid keeps all of its water; 1000: none of what is in the mesh.
        vof_to_grid: multiplier of the momentum that the water in tetrahedra has in the mean with that of the grid; 0: none is passed; above
            1 with literal exchange alone; also a function of the time, s.
        protect_rank: with literal exchange, tetrahedra up to this rank are not overwritten; 0: those that the body cuts; also a function
            of the time.
        buoyancy: whether water in tetrahedra that is within that of the grid feels the grid's pressure; the document leaves it out.
        expansion: whether the grid makes room for drops that it takes up; else they become markers, see `LiquidSolver.rejoin`.
        gather: whether drops that fill a cell of air become water of the grid; single cells are not resolved, and measure less.
        edges: of tetrahedra that water in them passes in a step, which limits `max_dt`.
        least: drops pass into tetrahedra that are at least as full as this, and into those that the body cuts.

    Raises:
        TypeError, ValueError: other values.

    Source: Lee 2018, section 3.4; `resolved` is ours.
    """

    exchange: WaterExchange = "owned"
    resolved: float = 1.5
    vof_to_grid: float | Callable[[float], float] = 0.0
    protect_rank: int | Callable[[float], int] = 0
    buoyancy: bool = True
    expansion: bool = True
    gather: bool = False
    edges: float = 2.0
    least: float = 1e-6

    def __post_init__(self) -> None:
        """Check the values."""
        _checks.options(self)
        if self.resolved < 0:
            raise ValueError(f"resolved must not be negative, not {self.resolved:g}")
        _checks.positive("edges", self.edges)
        if not 0 <= self.least <= 1:
            raise ValueError(f"least must be in [0, 1], not {self.least:g}")
        multiplier("vof_to_grid", self.vof_to_grid, 0.0)
        rank("protect_rank", self.protect_rank, 0.0)


@dataclass(kw_only=True)
class KDSMWaterReport:
    """Report of one step of `KDSMWater`.

    Attributes:
        dt: s.
        tets: report of the tetrahedra.
        grid: report of the grid.
    """

    dt: float = 0.0
    tets: TetVOFReport = field(default_factory=TetVOFReport)
    grid: LiquidReport = field(default_factory=LiquidReport)


def multiplier(name: str, value: float | Callable[[float], float], time: float) -> float:
    """Return a number at a time, s. Raises TypeError or ValueError for what is negative or not finite."""
    now = _checks.number(name, value(time) if callable(value) else value)
    if now < 0:
        raise ValueError(f"{name} must not be negative, not {now:g}")
    return now


def rank(name: str, value: int | Callable[[float], int], time: float) -> int:
    """Return a rank at a time, s. Raises TypeError or ValueError for what is no integer from -1 on."""
    return _checks.integer(name, value(time) if callable(value) else value, at_least=-1)
