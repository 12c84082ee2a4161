"""Base of the scenes of position based dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.scenes.bodies.base import Bodies
from meniscus.scenes.scene import parameter
from meniscus.solids import PositionBody, PositionContacts


@dataclass(kw_only=True)
class Positioned(Bodies):
    """Bodies of position based dynamics, in a step of fixed length, with contacts or without.

    A subclass makes the meshes at rest, the bodies, and perhaps contacts between them.
    """

    gravity: ClassVar[tuple[float, float, float]] = (0.0, -9.81, 0.0)

    end: float = parameter(3.0, "length of the run, s")
    frames: int = parameter(72, "frames to write")
    substeps: int = parameter(10, "parts of a step of 1/60 s")
    iterations: int = parameter(1, "projections of all constraints in each")
    damping: float = parameter(0.5, "decay of velocities, 1/s")

    def make_contacts(self, bodies: Sequence[PositionBody]) -> PositionContacts | None:
        """Return contacts of all bodies, or None."""
        return None

    def declare_bodies(self, bodies: list[PositionBody]) -> None:
        """Declare bodies and contacts."""
        self.bodies = self.declare("bodies", bodies)
        self.contacts = self.make_contacts(bodies)
        if self.contacts is not None:
            self.declare("contacts", self.contacts)

    def all_bodies(self) -> list[PositionBody]:
        """Return the bodies."""
        return self.bodies

    def max_dt(self) -> float:
        """Return the longest step."""
        return 1.0 / 60.0

    def step_options(self) -> dict[str, Any]:
        """Return the parts of a step and the damping."""
        return self.values("substeps", "iterations", "damping")

    def advance(self, time: float, dt: float) -> None:
        """Take one step of all bodies."""
        with self.stage("step"):
            for stepped in self.bodies if self.contacts is None else [self.contacts]:
                stepped.step(dt, **self.step_options())

    def report(self, time: float) -> dict[str, float]:
        """The largest speed (m/s), the mean height (m), and contacts: pairs, those that touch, and their least distance over thickness."""
        heights = np.concatenate([body.positions[:, 1] for body in self.bodies])
        speeds = [float(np.linalg.norm(body.velocities, axis=1).max()) for body in self.bodies]
        found = {"max speed": max(speeds), "mean y": float(heights.mean())}
        if self.contacts is not None:
            r = self.contacts.report()
            found |= {"pairs": float(r.pairs), "touching": float(r.active), "passed": float(r.passed), "least distance": float(r.least)}
        return found
