"""Base of the scenes of rigid bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from meniscus import _checks
from meniscus.io.frames import FrameItem, FrameMesh
from meniscus.scenes.bodies.base import Bodies, Color, Painted
from meniscus.scenes.scene import parameter
from meniscus.solids import RigidBody, RigidInfo, RigidOptions, World

COLORS: tuple[Color, ...] = (
    (0.35, 0.55, 0.80),
    (0.85, 0.55, 0.30),
    (0.40, 0.65, 0.45),
    (0.72, 0.42, 0.55),
    (0.75, 0.68, 0.35),
    (0.55, 0.50, 0.75),
)


class Piece(NamedTuple):
    """A body of a scene: what `World.add` takes with it, and its colour."""

    body: RigidBody
    options: dict[str, Any]
    color: Color


@dataclass(kw_only=True)
class Rigid(Bodies):
    """Rigid bodies in one `World`; y is up. The diagnostics have the columns

    - `energy`: kinetic energy and that in gravity, J;
    - `max speed`: of centres, m/s; `highest`: the largest height of a centre, m;
    - `contacts`: points, in the last step; `deepest`: the largest overlap in it, m; `residual` of its solve, m/s;
    - `intersections`: pairs of bodies whose meshes intersect now, by the exact test, where `counts_intersections`;
    - `cut`: bodies so far that went only a part of their way in a step.
    """

    stepped: ClassVar[str] = "world"
    drawn: ClassVar[str] = "bodies"
    gravity: ClassVar[tuple[float, float, float]] = (0.0, -9.81, 0.0)
    counts_intersections: ClassVar[bool] = False
    guarantee: ClassVar[bool] = False

    dt: float = parameter(0.005, "longest step, s")
    iterations: int = parameter(20, "sweeps over the contacts in a substep")
    substeps: int = parameter(1, "of a step")

    def make_pieces(self) -> Sequence[Piece]:
        """Return the bodies at time 0, from the parameters alone."""
        raise TypeError(f"scene {type(self).__name__} has no make_pieces()")

    def prepare(self, world: World) -> None:
        """Add obstacles and joints."""

    def setup(self) -> None:
        """Create the world."""
        _checks.positive("dt", self.dt)
        options = RigidOptions(**self.values("iterations", "substeps"))
        self.world = self.declare("world", World(gravity=self.gravity, rigid=options))
        for piece in self.make_pieces():
            self.world.add(piece.body, **piece.options)
        self.prepare(self.world)
        self.cut = self.declare("cut", 0)
        self.last_report = None

    def max_dt(self) -> float:
        """Return an equal part of a frame."""
        return self.equal_dt(self.dt)

    def step_options(self) -> dict[str, Any]:
        """Return whether meshes must not intersect."""
        return {"guarantee": self.guarantee}

    def advance(self, time: float, dt: float) -> None:
        """Take one step."""
        super().advance(time, dt)
        self.cut += self.last_report.rigid.cut

    def report(self, time: float) -> dict[str, float]:
        """Energy, speed, height, contacts."""
        rigid = self.world.rigid
        last = RigidInfo() if self.last_report is None else self.last_report.rigid
        moving = [b for b in rigid.bodies if b.inverse_mass(b.center[None]).any()]
        return {
            "energy": rigid.energy,
            "max speed": max((float(np.linalg.norm(b.velocity)) for b in moving), default=0.0),
            "highest": max((float(b.center[1]) for b in moving), default=0.0),
            "contacts": float(last.contacts),
            "deepest": last.deepest,
            "residual": last.residual,
            "intersections": float(len(rigid.audit())) if self.counts_intersections else 0.0,
            "cut": float(self.cut),
        }

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The surfaces of all bodies as one mesh."""
        vertices = np.concatenate([b.positions() for b in self.world.rigid.bodies])
        return {"bodies": FrameMesh(vertices, self.drawn_triangles(), {})}

    def painted(self) -> list[Painted]:
        """Return the bodies in their colours."""
        result = []
        for piece in self.make_pieces():
            r, g, b = (0.6 * c for c in piece.color)
            result.append(Painted(piece.body.mesh, piece.color, piece.color, (r, g, b)))
        return result
