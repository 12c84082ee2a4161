"""Scene of a jet of smoke and a curtain that swings in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.coupling.shell_pictures.smooth_shells import smooth_shells
from meniscus.coupling.shells.shell_coupling import ShellCoupling
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.coupling.shells.shells import THICKNESS, Shells
from meniscus.fluids import VorticityOptions
from meniscus.fluids.flows.emitter import Emitter
from meniscus.fluids.gas.options import SmokeOptions
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.grid import CellField, Grid, Open
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.cloths import sprung
from meniscus.scenes.gas import GasScene
from meniscus.scenes.scene import parameter
from meniscus.solids import DeformableBody
from meniscus.surface import Sphere

LENGTH, WIDTH, HEIGHT = 1.5, 1.0, 1.0
PLACE = 0.75
"""Of the curtain's rod, m along the jet."""


@dataclass(kw_only=True)
class SmokeCurtain(GasScene):
    """A jet of smoke along x that hits a curtain of cloth, which swings from the raised position it is released from.

    The cloth moves the air and nothing passes through it; the air does not move the cloth. Smoke gets behind the curtain around its edges
    alone.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, figure 2; Selle 2008, sections 4.3 and 4.4, Figure 4.7.
    """

    name: ClassVar[str] = "smoke-curtain"
    summary: ClassVar[str] = "a jet of smoke and a curtain of cloth that swings in it"
    frames_per_second: ClassVar[float] = 16.0
    on_ranks: ClassVar[bool] = False
    stages: ClassVar[tuple[str, ...]] = ("seed", *ShellCoupling.stages)
    stepped: ClassVar[str] = "coupling"

    resolution: int = parameter(40, "cells across the box, 1 m")
    quads: int = parameter(16, "quads along a side of the curtain")
    frames: int = parameter(40, "frames to write")
    end: float = parameter(2.5, "length of the run, s")
    cfl: float = parameter(2.0, "cells that the fastest air, or the curtain, passes in a step")
    speed: float = parameter(1.2, "of the jet, m/s")
    confinement: float = parameter(0.3, "epsilon of vorticity confinement")
    raised: float = parameter(35.0, "angle from the vertical at which the curtain is released, degrees")
    stiffness: float = parameter(30.0, "of the edges of the cloth, N")
    bending: float = parameter(0.05, "stiffness of the springs across edges, N")
    damping: float = parameter(0.3, "fraction of the critical damping of an edge")
    smooth: int = parameter(1, "levels of subdivision of the curtain in pictures")
    azimuth: float = parameter(-32.0, "of the camera, degrees")

    def setup(self) -> None:
        """Create the air, the jet and the curtain."""
        n = _checks.integer("resolution", self.resolution, 8)
        grid = Grid((round(n * LENGTH), n, n), WIDTH / n)
        jet = Emitter(region=Sphere((0.16, 0.5 * WIDTH, 0.45 * HEIGHT), 0.11), density=1.0, velocity=(self.speed, 0.0, 0.0))
        sides = {name: Open() for name in ("x-", "x+", "z+")}
        options = SmokeOptions(vorticity=VorticityOptions(confinement=self.confinement), density_weight=0.1, cfl=self.cfl)
        self.use(SmokeSolver(grid, options, boundary=sides, emitters=[jet]))
        self.curtain = self.declare("curtain", self.make_curtain())
        self.coupling = ShellCoupling(self.solver, Shells(grid, [self.curtain]), "one-way")

    def make_curtain(self) -> DeformableBody:
        """Return the curtain, raised, with folds, and pinned at its rod."""
        m = _checks.integer("quads", self.quads, 2)
        flat = cloth_mesh(m, m, (0.7, 0.6))
        s, down = flat.vertices[:, 0], 0.6 - flat.vertices[:, 1]
        angle = np.radians(self.raised)
        fold = 0.02 * np.sin(2 * np.pi * 3 * s / 0.7)
        x = np.stack(
            [PLACE - np.sin(angle) * down + fold * np.cos(angle), 0.15 + s, 0.9 - np.cos(angle) * down - fold * np.sin(angle)], axis=1
        )
        mesh = TriangleMesh(x, flat.triangles)
        springs = (self.stiffness, self.damping), (self.bending, self.damping)
        body = sprung(mesh, *springs, density=0.2, gravity=(0.0, 0.0, -9.8))
        body.pin(np.flatnonzero(down == 0.0))
        return body

    def report(self, time: float) -> dict[str, float]:
        """As for all gases; with the smoke, that behind the curtain's rod, and how far the curtain's hem is from below the rod."""
        volume = self.solver.grid.spacing**3
        density = self.solver.density.array
        behind = density[round(PLACE / self.solver.grid.spacing) :]
        last = self.coupling.report
        return {
            **super().report(time),
            "smoke": float(density.sum(dtype=np.float64)) * volume,
            "smoke behind": float(behind.sum(dtype=np.float64)) * volume,
            "hem": float(self.curtain.positions[:, 0].min()) - PLACE,
            "swept cells": 0.0 if last is None else float(last.swept["density"]),
            "marked cells": float(self.coupling.walls.marked_cells),
        }

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The smoke and the curtain."""
        elements = self.curtain.elements
        assert elements is not None
        return {"smoke": self.solver.density, "curtain": FrameMesh(self.curtain.positions, elements, {})}

    def draw(self, frame: FrameData) -> Any:
        """Show the smoke, lit by a sun, and the curtain; each side of it is seen by itself."""
        from meniscus import viz

        grid, curtain = frame.grid, frame.meshes["curtain"]
        assert grid is not None
        smoke = CellField(grid, np.dtype(np.float32))
        smoke.array[...] = frame["smoke"]
        vertices, elements = np.ascontiguousarray(curtain.vertices, np.float64), np.ascontiguousarray(curtain.elements, np.int32)
        walls, seen = smooth_shells(ShellWalls(grid, vertices, elements, THICKNESS * grid.spacing), smoke, self.smooth)
        return viz.smoke(
            seen,
            walls=walls,
            size=(640, 480),
            camera=viz.Camera(azimuth=self.azimuth, elevation=12.0),
            opacity=30.0,
        )
