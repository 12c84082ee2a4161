"""Base of the scenes of position based dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.io.frames import FrameItem, FrameMesh
from meniscus.scenes.bodies.many_bodies import ManyBodies
from meniscus.scenes.scene import parameter
from meniscus.solids import PositionBody, PositionContacts


@dataclass(kw_only=True)
class Positioned(ManyBodies):
    """Bodies of position based dynamics, in a step of fixed length, with contacts or without.

    A subclass makes the meshes at rest, the bodies, and perhaps contacts between them.
    """

    gravity: ClassVar[tuple[float, float, float]] = (0.0, -9.81, 0.0)

    end: float = parameter(3.0, "length of the run, s")
    frames: int = parameter(72, "frames to write")
    substeps: int = parameter(10, "parts of a step of 1/60 s")
    iterations: int = parameter(1, "projections of all constraints in each")
    damping: float = parameter(0.5, "decay of velocities, 1/s")

    def make_bodies(self, meshes: Sequence[Any]) -> list[PositionBody]:
        """Return the bodies of these meshes."""
        raise TypeError(f"scene {type(self).__name__} has no make_bodies()")

    def make_contacts(self, bodies: Sequence[PositionBody]) -> PositionContacts | None:
        """Return contacts of all bodies, or None."""
        return None

    def setup(self) -> None:
        """Create bodies and contacts."""
        self.meshes = self.split_meshes()
        self.mesh = self.meshes[0]
        self.bodies = self.declare("bodies", self.make_bodies(self.meshes))
        self.contacts = self.make_contacts(self.bodies)
        if self.contacts is not None:
            self.declare("contacts", self.contacts)

    def max_dt(self) -> float:
        """Return the longest step."""
        return 1.0 / 60.0

    def advance(self, time: float, dt: float) -> None:
        """Take one step of all bodies."""
        with self.stage("step"):
            options: dict[str, Any] = {"substeps": self.substeps, "iterations": self.iterations, "damping": self.damping}
            if self.contacts is not None:
                self.contacts.step(dt, **options)
            else:
                for body in self.bodies:
                    body.step(dt, **options, method=self.method_of_steps())

    def method_of_steps(self) -> Any:
        """Return how constraints are projected without contacts."""
        return "compliant"

    def report(self, time: float) -> dict[str, float]:
        """The largest speed (m/s), the mean height (m), and contacts: pairs, those that touch, and their least distance over thickness."""
        heights = np.concatenate([body.positions[:, 1] for body in self.bodies])
        speeds = [float(np.linalg.norm(body.velocities, axis=1).max()) for body in self.bodies]
        found = {"max speed": max(speeds), "mean y": float(heights.mean())}
        if self.contacts is not None:
            r = self.contacts.report()
            found |= {"pairs": float(r.pairs), "touching": float(r.active), "passed": float(r.passed), "least distance": float(r.least)}
        return found

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The surfaces of all bodies as one mesh, with the velocities of the nodes."""
        positions = np.concatenate([body.positions for body in self.bodies]).astype(np.float64)
        velocities = np.concatenate([body.velocities for body in self.bodies]).astype(np.float64)
        return {"body": FrameMesh(positions, self.drawn_triangles(), {"velocity": velocities})}
