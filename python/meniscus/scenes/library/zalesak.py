"""Scene of Zalesak's slotted disc in a rigid rotation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

import meniscus.grid as mg
from meniscus import _checks
from meniscus.core import Workspace
from meniscus.fluids.flows.procedural import rotation
from meniscus.grid.transport.advection import Limiter, Method, Trace, TransportBlock
from meniscus.io.frames import FrameData
from meniscus.scenes.global_measures import mean, total
from meniscus.scenes.scene import Scene, parameter
from meniscus.scenes.stepper import TimeStepper

CENTER = (50.0, 75.0)
RADIUS = 15.0
SLOT_WIDTH = 5.0
SLOT_DEPTH = 25.0
DOMAIN = 100.0
RATE = np.pi / 314.0
PERIOD = 628.0

Floats = npt.NDArray[np.float64]


def slotted_disc_distance(x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
    """Return the exact signed distance to the slotted disc, negative inside, at points of any shape.

    The disc has its centre at (50, 75) and radius 15; the slot is 5 wide and reaches 25 up from its lowest point (Selle 2008, section 2.8).
    """
    px, py = np.asarray(x, float) - CENTER[0], np.asarray(y, float) - CENTER[1]
    half = 0.5 * SLOT_WIDTH
    top = SLOT_DEPTH - RADIUS
    mouth = -np.sqrt(RADIUS**2 - half**2)
    r = np.hypot(px, py)
    # The arc ends at the mouth: radial projections that would fall into it go to its ends, which the slot walls contain.
    with np.errstate(invalid="ignore", divide="ignore"):
        into_mouth = (py < 0) & (np.abs(px) * RADIUS < half * r)
    arc = np.where(into_mouth, np.inf, np.abs(r - RADIUS))
    side = np.hypot(np.abs(px) - half, py - np.clip(py, mouth, top))
    ceiling = np.hypot(px - np.clip(px, -half, half), py - top)
    distance = np.minimum(arc, np.minimum(side, ceiling))
    inside = (r < RADIUS) & ~((np.abs(px) < half) & (py < top))
    return np.where(inside, -distance, distance)


@dataclass(kw_only=True)
class Zalesak(Scene):
    """One turn of the slotted disc, advected as a signed distance on nodes, without redistancing.

    Inflow has the exact rotated distance; dt = cfl * dx / (max |u| + max |v|), the last step shortened; the error is the mean of |phi -
    exact| over all nodes. These settings, which the thesis leaves open, reproduce its columns.

    Source: Selle 2008, section 2.8, Figures 2.6 to 2.8.
    """

    name: ClassVar[str] = "zalesak"
    summary: ClassVar[str] = "Zalesak's slotted disc after one rigid turn"
    frames_per_second: ClassVar[float] = 4.0
    shows: ClassVar[Mapping[str, str]] = {"phi": "phi"}

    nodes: int = parameter(201, "nodes per axis, both ends counted")
    cfl: float = parameter(1.75, "dt (max |u| + max |v|) / dx")
    turns: float = parameter(1.0, "turns to make")
    method: Method = parameter("maccormack", "scheme")
    block: TransportBlock = parameter("semi-lagrangian", "first-order block of the scheme")
    limiter: Limiter = parameter("none", "limiter")
    trace: Trace = parameter("euler", "how characteristics are integrated")
    frames: int = parameter(8, "frames to write")

    def clock(self) -> TimeStepper:
        """Return the clock of the turns."""
        return TimeStepper(self.turns * PERIOD, self.frames)

    def setup(self) -> None:
        """Create the disc and the rotation."""
        n = _checks.integer("nodes", self.nodes, 3) - 1
        grid = mg.Grid((n, n), DOMAIN / n)
        flow = rotation((DOMAIN / 2, DOMAIN / 2), RATE)
        # Nodes on the sides average over faces beyond them: the rotation goes on there.
        self.velocity = mg.MacField(grid, boundary=mg.Prescribed(flow))
        flow.sample(self.velocity, sampling="pointwise")
        self.phi = self.declare("phi", mg.NodeField(grid, boundary=mg.Prescribed(lambda x, t: self.exact(x[:, 0], x[:, 1], t))))
        x, y = self.phi.coordinates()
        self.phi.array[...] = self.exact(x, y, 0.0)
        self.workspace = Workspace()

    def exact(self, x: npt.ArrayLike, y: npt.ArrayLike, time: float) -> Floats:
        """Return the exact signed distance at `time`."""
        c, s = np.cos(RATE * time), np.sin(RATE * time)
        dx, dy = np.asarray(x, float) - DOMAIN / 2, np.asarray(y, float) - DOMAIN / 2
        return slotted_disc_distance(DOMAIN / 2 + c * dx + s * dy, DOMAIN / 2 - s * dx + c * dy)

    def max_dt(self) -> float:
        """Return the step of the given CFL number."""
        return self.cfl * self.phi.grid.spacing / (RATE * DOMAIN)

    def advance(self, time: float, dt: float) -> None:
        """Advect the distance."""
        scheme = self.values("method", "block", "trace", "limiter")
        mg.advect(self.phi, self.velocity, dt, first_order_near="nothing", time=time, workspace=self.workspace, **scheme)

    def error_field(self, time: float) -> Floats:
        """Return |phi - exact| on the nodes of the own block."""
        x, y = self.phi.coordinates()
        error: Floats = np.abs(self.phi.array - self.exact(x, y, time))
        return error

    def report(self, time: float) -> dict[str, float]:
        """Mean error over the whole domain and area of the disc by counting nodes."""
        area = total(self.phi.array <= 0, self.phi) * self.phi.grid.spacing**2
        return {"error": mean(self.error_field(time), self.phi), "area": area}

    def draw(self, frame: FrameData) -> Any:
        """Draw the zero contour over the exact one."""
        from meniscus import viz

        assert frame.grid is not None
        x, y = (c.ravel() for c in frame.grid.nodes())
        return viz.contours(
            x,
            y,
            {"exact": self.exact(x[:, None], y[None, :], frame.time), self.method: frame["phi"]},
            title=f"{self.nodes}$^2$, {self.method}, t = {frame.time:.0f} s",
        )
