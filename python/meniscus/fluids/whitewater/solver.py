"""Spray, foam and bubbles that follow a liquid."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption
from meniscus.core import Workspace
from meniscus.core.solver import Solver, stage
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.particles.solver import ParticleLiquidSolver
from meniscus.fluids.whitewater.options import WhitewaterOptions, WhitewaterReport
from meniscus.grid.boundary import Open, Prescribed, ZeroGradient
from meniscus.grid.particles.storage import Particles

WhitewaterKind = Literal["spray", "foam", "bubble"]
WHITEWATER_KIND = CoreOption(WhitewaterKind, _fluids.WhitewaterKind)
_SORTED_EVERY = 8  # steps; in the order of their cells particles find what is around them in the cache


class Whitewater(Solver[WhitewaterReport]):
    """Particles of spray, foam and bubbles where a liquid takes in air. The liquid carries them and does not feel them.

    A step follows one of the liquid:

        white = ms.fluids.Whitewater(liquid)
        report = liquid.step(liquid.max_dt())
        white.step(report.dt)

    Cells at the surface send out particles where liquid strikes liquid and at crests, if the liquid is fast enough. Above the surface they
    are spray, which flies freely; in it foam, which the liquid carries and which grows old; below bubbles, which rise. In closed walls and
    solids they stay outside; beyond open sides they are gone. All that ever came is there, was too old, or has left.

    Args:
        liquid: a `LiquidSolver` or a `ParticleLiquidSolver`, in 2-D or 3-D; with bodies or shells in it, too.
        options: default `WhitewaterOptions()`.

    Attributes:
        liquid: the solver.
        options: as given.
        particles: `Particles` of the dtype of the liquid's velocity, with the columns 'velocity' (m/s), 'radius' (m), 'lifetime' (s that
            are left) and 'kind' (0 spray, 1 foam, 2 bubble).
        time: s since the start.
        totals: particles since the start that were 'emitted', 'expired' and 'left', of the rank.

    Raises:
        TypeError: another solver or other options.

    Source: Ihmsen, Akinci, Akinci and Teschner 2012, "Unified spray, foam and bubbles for particle-based fluids".
    """

    stages: tuple[str, ...] = ("emit", "move", "bound")
    report_type = WhitewaterReport
    step_writes = ("time", "steps")

    def __init__(self, liquid: LiquidSolver | ParticleLiquidSolver, options: WhitewaterOptions | None = None) -> None:
        _checks.one_of_type("liquid", liquid, (LiquidSolver, ParticleLiquidSolver))
        self.liquid = liquid
        self.options = WhitewaterOptions() if options is None else _checks.one_of_type("options", options, WhitewaterOptions)
        grid, dtype = liquid.grid, liquid.velocity.dtype
        self.particles: Particles = self.declare("particles", Particles(np.empty((0, grid.dimension), dtype)))
        for name, width in (("velocity", grid.dimension), ("radius", 1), ("lifetime", 1)):
            self.particles.add_column(name, dtype, width)
        self.particles.add_column("kind", np.uint8)
        self.totals: dict[str, int] = self.declare("totals", dict.fromkeys(("emitted", "expired", "left"), 0))
        self.steps: int = self.declare("steps", 0)
        self.time: float = self.declare("time", 0.0)
        self._sources, self._motion = self.options.core_sources(grid.spacing), self.options.core_motion(grid.spacing)
        self._layer = self.options.layer_of(grid.spacing)
        self._workspace = Workspace()
        sides = liquid.velocity.boundary
        self._open = [
            axis + sign in grid.sides and isinstance(sides[axis + sign], (Open, Prescribed, ZeroGradient))
            for axis in "xyz"[: grid.dimension]
            for sign in "-+"
        ]

    def of_kind(self, kind: WhitewaterKind) -> npt.NDArray[np.intp]:
        """Return the indices (k,) of the particles of a kind, ascending. Raises ValueError for an unknown kind."""
        found: npt.NDArray[np.intp] = np.flatnonzero(self.particles["kind"] == int(WHITEWATER_KIND("kind", kind)))
        return found

    @stage(reads=("particles", "totals", "steps"), writes=("particles", "totals"), positive=True)
    def emit(self, dt: float) -> None:
        """Let the liquid send out particles for dt."""
        parts = self.particles._core, self.liquid.velocity._core, self.liquid.levelset.field._core, self._solid()
        key = dt, self.liquid.time, self.steps % 2**32
        report = self.running_report
        report.emitted, report.wanted = _fluids.emit_whitewater(*parts, self._sources, self._layer, *key, self._workspace)
        self.totals["emitted"] += report.emitted

    @stage(reads=("particles", "totals", "steps"), writes=("particles", "totals"), positive=True)
    def move(self, dt: float) -> None:
        """Move all particles for dt by their kind, and remove the foam that is too old."""
        liquid = self.liquid
        if self.steps % _SORTED_EVERY == 0:
            self.particles.sort_by_cell(liquid.grid, workspace=self._workspace)
        parts = self.particles._core, liquid.velocity._core, liquid.levelset.field._core, self._solid(), liquid.gravity.tolist()
        expired = _fluids.move_whitewater(*parts, self._motion, dt, liquid.time, self._workspace)
        self.running_report.expired = expired
        self.totals["expired"] += expired

    @stage(reads=("particles", "totals"), writes=("particles", "totals"))
    def bound(self, dt: float) -> None:
        """Keep the particles out of solids and within closed sides, remove those beyond open sides, and sort all by kind."""
        core, velocity = self.particles._core, self.liquid.velocity._core
        left, stuck, _ = _fluids.apply_boundary_and_remove(core, velocity, self._open, self._solid(), self._workspace)
        _fluids.sort_whitewater(core, self.liquid.levelset.field._core, self._layer, self.liquid.time, self._workspace)
        self.running_report.left, self.running_report.in_solid = left, stuck
        self.totals["left"] += left

    def max_dt(self) -> float:
        """Return the step (s) that the liquid advises."""
        return self.liquid.max_dt()

    def __repr__(self) -> str:
        """One line with the counts of each kind."""
        counts = ", ".join(f"{len(self.of_kind(kind))} of {kind}" for kind in get_args(WhitewaterKind))
        return f"<Whitewater: {counts}, time {self.time:g} s>"

    def _complete(self, report: WhitewaterReport) -> None:
        self.steps += 1

    def _solid(self) -> Any:
        solid = self.liquid.sampled_solid.at(self.liquid.time)
        return None if solid is None else solid.levelset._core
