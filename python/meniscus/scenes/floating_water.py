"""Base of the scenes of bodies that water moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.coupling.bodies.fluid_world import FluidWorld
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.liquid.sources import LiquidSource
from meniscus.grid import Grid
from meniscus.grid.boundary import BoundarySpec
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import TriangleMesh
from meniscus.scenes.scene import parameter
from meniscus.scenes.water import Water
from meniscus.solids import DeformableBody, RigidBody, World
from meniscus.surface import HalfSpace
from meniscus.surface.shapes.solid_boundary import SolidLike

_LIQUID_STAGES = ("seed", "to_middle", "move_bodies", *LiquidSolver.stages[1:])


@dataclass(kw_only=True)
class FloatingWater(Water):
    """A scene that steps one `FluidWorld` of water, its attribute `both`, which `float_bodies` makes."""

    on_ranks: ClassVar[bool] = False
    stages: ClassVar[tuple[str, ...]] = _LIQUID_STAGES
    stepped: ClassVar[str] = "both"

    friction: float = parameter(0.3, "of bodies and walls")

    def float_bodies(
        self,
        grid: Grid,
        level: float,
        bodies: Sequence[RigidBody | DeformableBody],
        sources: Sequence[LiquidSource] = (),
        boundary: BoundarySpec = None,
        solid: SolidLike | None = None,
    ) -> None:
        """Create a tank of water up to a level (m) along the last axis, its walls, the bodies in it, sources, and a solid in it."""
        self.use(LiquidSolver(grid, self.liquid_options(), dtype=np.float32, sources=sources, boundary=boundary, solid=solid))
        self.world = self.declare("world", World(gravity=(0.0, 0.0, -9.81)))
        upper = np.array(grid.origin) + grid.spacing * np.array(grid.shape)
        for axis in range(3):
            normal = np.eye(3)[axis]
            self.world.add_obstacle(HalfSpace(tuple(grid.origin), tuple(normal.tolist())), friction=self.friction)
            if axis < 2:
                self.world.add_obstacle(HalfSpace(tuple(upper.tolist()), tuple((-normal).tolist())), friction=self.friction)
        for body in bodies:
            self.world.add(body, friction=self.friction)
        self.solver.fill(HalfSpace((0.0, 0.0, level), (0.0, 0.0, 1.0)))
        self.both = FluidWorld(self.solver, self.world)
        for name in ("loads", "rates", "attached"):
            setattr(self, name, self.declare(name, getattr(self.both, name)))

    def report(self, time: float) -> dict[str, float]:
        """As for all water; with the fastest body, m/s, and what holds bodies, rows of contact."""
        forms, last = self.both.forms, self.both.report
        return {
            **super().report(time),
            "fastest body": max((float(np.linalg.norm(form.motion[:3])) for form in forms), default=0.0),
            "lowest body": min((float(form.center[2]) for form in forms), default=0.0),
            "held": 0.0 if last is None else float(last.held),
        }

    def frame_data(self) -> Mapping[str, FrameItem]:
        """As for all water, and the bodies as one mesh."""
        meshes = [form.mesh for form in self.both.forms]
        counts = np.cumsum([0, *(len(x) for x, _ in meshes)])
        triangles = np.concatenate([t + first for (_, t), first in zip(meshes, counts, strict=False)])
        return {**super().frame_data(), "bodies": FrameMesh(np.concatenate([x for x, _ in meshes]), triangles.astype(np.int32), {})}

    def _shown(self, frame: FrameData) -> dict[str, Any]:
        """Return the arguments of both renderers."""
        bodies = frame.meshes["bodies"]
        mesh = TriangleMesh(np.ascontiguousarray(bodies.vertices, np.float64), np.ascontiguousarray(bodies.elements, np.int32))
        shown = super()._shown(frame)
        return {**shown, "solids": [*shown["solids"], mesh]}


def turn_at_random(rng: np.random.Generator) -> Any:
    """Return a rotation (3, 3) at random."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))
