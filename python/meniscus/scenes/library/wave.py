"""Scene of a wave carried around a periodic line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

import meniscus.grid as mg
from meniscus import _checks
from meniscus.core import Workspace
from meniscus.grid.transport.advection import Limiter, Method, TransportBlock
from meniscus.io.frames import FrameData
from meniscus.scenes.global_measures import mean, total
from meniscus.scenes.scene import Scene, parameter
from meniscus.scenes.stepper import TimeStepper

Profile = Literal["sine", "square"]


@dataclass(kw_only=True)
class Wave(Scene):
    """u_t + u_x = 0 on [0, 1], periodic: sin(4 pi x) or a square wave on [1/4, 3/4].

    The line has `nodes` nodes with both ends counted, so nodes - 1 unknowns, dx = 1 / (nodes - 1), dt = cfl * dx with the last step
    shortened; the error is the mean of |u - exact| over the unknowns.

    Source: Selle 2008, sections 2.6 (Tables 2.2 and 2.3) and 2.7 (Figure 2.5).
    """

    name: ClassVar[str] = "wave"
    summary: ClassVar[str] = "a sine or square wave carried around a periodic line"
    shows: ClassVar[Mapping[str, str]] = {"wave": "wave"}

    nodes: int = parameter(201, "nodes of the line, both ends counted")
    cfl: float = parameter(0.75, "dt / dx")
    end: float = parameter(0.5, "final time, s")
    profile: Profile = parameter("sine", "initial data")
    method: Method = parameter("maccormack", "scheme")
    block: TransportBlock = parameter("semi-lagrangian", "first-order block of the scheme")
    limiter: Limiter = parameter("none", "limiter")
    frames: int = parameter(1, "frames to write")

    def clock(self) -> TimeStepper:
        """Return a clock of full steps and a last one of what is left, for which the tables are."""
        return TimeStepper(self.end, self.frames, even=False)

    def setup(self) -> None:
        """Create the line."""
        _checks.choice("profile", self.profile, Profile)
        n = _checks.integer("nodes", self.nodes, 2) - 1
        # Cell centres stand for the nodes: the first lies at x = 0.
        grid = mg.Grid((n, 1), 1.0 / n, origin=(-0.5 / n, 0.0), periodic=True)
        self.velocity = mg.MacField(grid)
        self.velocity.u = 1.0
        self.wave = self.declare("wave", mg.CellField(grid))
        self.wave.array[...] = self._own_exact(0.0)
        self.workspace = Workspace()

    def exact(self, time: float) -> Any:
        """Return the exact solution at `time`, shape (nodes - 1, 1)."""
        return self._profile(np.arange(self.nodes - 1), time)

    def _profile(self, index: Any, time: float) -> Any:
        """Return the exact solution at nodes (n,), shape (n, 1)."""
        x = np.mod(index / (self.nodes - 1) - time, 1.0)[:, None]
        if self.profile == "sine":
            return np.sin(4.0 * np.pi * x)
        return ((x >= 0.25) & (x <= 0.75)).astype(float)

    def max_dt(self) -> float:
        """Return cfl * dx."""
        return self.cfl / (self.nodes - 1)

    def advance(self, time: float, dt: float) -> None:
        """Advect the wave."""
        scheme = self.values("method", "block", "limiter")
        mg.advect(self.wave, self.velocity, dt, trace="euler", workspace=self.workspace, **scheme)

    def report(self, time: float) -> dict[str, float]:
        """Mean error, extremes and total variation."""
        self.wave.fill_ghosts()
        first, n = mg.GHOST_WIDTH, len(self.wave.array)
        following = self.wave.with_ghosts[first + 1 : first + 1 + n, first : first + 1]
        return {
            "error": mean(np.abs(self.wave - self._own_exact(time)), self.wave),
            "min": self.wave.min(),
            "max": self.wave.max(),
            "variation": total(np.abs(following - self.wave.array), self.wave),
        }

    def _own_exact(self, time: float) -> Any:
        """Return the exact solution at the nodes of the own block, shape (n, 1)."""
        first = self.wave.grid.first_cell[0]
        return self._profile(np.arange(first, first + len(self.wave.array)), time)

    def draw(self, frame: FrameData) -> Any:
        """Plot the wave over the exact one."""
        from meniscus import viz

        x = np.arange(self.nodes - 1) / (self.nodes - 1)
        return viz.lines(
            x,
            {"exact": self.exact(frame.time)[:, 0], self.method: frame["wave"][:, 0]},
            xlabel="x",
            ylabel="u",
            title=f"t = {frame.time:.3f} s",
        )
