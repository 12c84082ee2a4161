"""Scene of an explosion of smoke."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from meniscus import _checks
from meniscus.fluids import VorticityOptions
from meniscus.fluids.flows.emitter import Emitter
from meniscus.fluids.gas.options import SmokeOptions
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.grid import Open
from meniscus.scenes.gas import VORTICITY, WIDTH, BoxOfSmoke
from meniscus.scenes.scene import parameter
from meniscus.surface import Sphere


@dataclass(kw_only=True)
class SmokeExplosion(BoxOfSmoke):
    """Hot gas that flows from a source for half a second, above the floor of a box that is open elsewhere.

    The expansion is driven by a given divergence in a ball. While it lasts, vortex particles are seeded in the ball with vorticities along
    the circles around its vertical axis, oriented so that the middle is driven upward.

    Source: Selle 2008, section 3.5, Figure 3.4; there on 180 x 260 x 180 cells.
    """

    name: ClassVar[str] = "explosion"
    summary: ClassVar[str] = "an expanding ball of hot smoke with vortex particles"
    HEIGHT: ClassVar[float] = 13 / 9

    resolution: int = parameter(54, "cells across the width of the box, 1 m")
    end: float = parameter(1.2, "length of the run, s")
    expansion: float = parameter(0.5, "how long gas comes out, s")
    divergence: float = parameter(100.0, "gas that comes out, volumes of the source per second")
    source_radius: float = parameter(0.08, "radius of the source, m")
    source_height: float = parameter(0.3, "of the middle of the source, m")
    buoyancy: float = parameter(3.0, "upward acceleration of the hot smoke at the source, m/s^2")
    confinement: float = parameter(0.5, "epsilon of vorticity confinement")
    particles: int = parameter(6000, "vortex particles that are seeded in all")
    vortex_radius: float = parameter(2.0, "reach of a vortex particle, cells")
    vortex_force: float = parameter(0.5, "acceleration of the air beside a vortex particle, m/s^2")

    def setup(self) -> None:
        """Create the solver, with the first smoke in the source."""
        self.nozzle = Sphere((0.5 * WIDTH, 0.5 * WIDTH, self.source_height), self.source_radius)
        _checks.integer("particles", self.particles, 0)
        options = SmokeOptions(
            temperature_weight=self.buoyancy,
            vorticity=VorticityOptions(confinement=self.confinement, vortex_strength=self.vortex_strength),
            cfl=self.cfl,
        )
        burst = Emitter(
            region=self.nozzle, density=1.0, temperature=1.0, divergence=self.divergence, end=_checks.positive("expansion", self.expansion)
        )
        open_sides = dict.fromkeys(("x-", "x+", "y-", "y+", "z+"), Open())
        self.use(SmokeSolver(self.make_grid(), options, boundary=open_sides, emitters=[burst], vortices=self.make_particles()))
        self.solver.emit(self.clock().time_of(1))

    def max_dt(self) -> float:
        """Return the limit of the solver, or that of the gas about to flow in, if it is smaller."""
        # From rest the solver cannot know how fast the surface of the source is going to move: divergence times a third of the radius.
        dt = self.solver.max_dt()
        speed = self.divergence * self.source_radius / 3
        return min(dt, self.cfl * self.solver.grid.spacing / speed) if speed > 0 else dt

    def vortex_source(self, time: float, dt: float) -> dict[str, Any] | None:
        """Return the source of vortex particles while that of the smoke is on."""
        if time >= self.expansion:
            return None
        return {
            "region": self.nozzle,
            "rate": self.particles / self.expansion,
            "dt": min(dt, self.expansion - time),  # the last step may reach beyond the end of the expansion
            "strength": VORTICITY,
            "radius": self.reach,
            "direction": "tangent",
            "axis": (0.0, 0.0, 1.0),
            "seed": self.seed,
        }
