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
from meniscus.io.frames import FrameData, FrameItem
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

    nodes: int = parameter(201, "nodes of the line, both ends counted")
    cfl: float = parameter(0.75, "dt / dx")
    end: float = parameter(0.5, "final time, s")
    profile: Profile = parameter("sine", "initial data")
    method: Method = parameter("maccormack", "scheme")
    block: TransportBlock = parameter("semi-lagrangian", "first-order block of the scheme")
    limiter: Limiter = parameter("none", "limiter")
    frames: int = parameter(1, "frames to write")

    def setup(self) -> TimeStepper:
        """Create the line."""
        _checks.choice("profile", self.profile, Profile)
        n = _checks.integer("nodes", self.nodes, 2) - 1
        # Cell centres stand for the nodes: the first lies at x = 0.
        grid = mg.Grid((n, 1), 1.0 / n, origin=(-0.5 / n, 0.0), periodic=True)
        self.velocity = mg.MacField(grid)
        self.velocity.u = 1.0
        self.wave = self.declare("wave", mg.CellField(grid))
        self.wave.array[...] = self.exact(0.0)
        self.workspace = Workspace()
        # The tables are for full steps and a last one of what is left.
        return TimeStepper(self.end, self.frames, even=False)

    def exact(self, time: float) -> Any:
        """Return the exact solution at `time`, shape (nodes - 1, 1)."""
        x = np.mod(np.arange(self.nodes - 1) / (self.nodes - 1) - time, 1.0)[:, None]
        if self.profile == "sine":
            return np.sin(4.0 * np.pi * x)
        return ((x >= 0.25) & (x <= 0.75)).astype(float)

    def max_dt(self) -> float:
        """Return cfl * dx."""
        return self.cfl / (self.nodes - 1)

    def advance(self, time: float, dt: float) -> None:
        """Advect the wave."""
        mg.advect(
            self.wave,
            self.velocity,
            dt,
            method=self.method,
            block=self.block,
            trace="euler",
            limiter=self.limiter,
            workspace=self.workspace,
        )

    def report(self, time: float) -> dict[str, float]:
        """Mean error, extremes and total variation."""
        u = self.wave.array[:, 0]
        return {
            "error": float(np.abs(u[:, None] - self.exact(time)).mean()),
            "min": float(u.min()),
            "max": float(u.max()),
            "variation": float(np.abs(np.diff(u, append=u[0])).sum()),
        }

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The wave."""
        return {"wave": self.wave}

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
