"""Bodies of any type side by side, with pulls and fields, in the place of a world."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus.solids.interaction.attachment import Attachment
from meniscus.solids.interaction.handle import Handle
from meniscus.solids.interaction.interaction import Interaction
from meniscus.solids.interaction.picking import nearest, surface_of_body


class Bench:
    """Bodies side by side, each with steps of its own: in the place of a world."""

    def __init__(self, *bodies: Any) -> None:
        self.bodies = bodies
        self.interaction = Interaction(self)
        self.time = 0.0
        self.options: dict[str, Any] = {}

    def named_bodies(self) -> list[tuple[str, Any, Any]]:
        """Return name and body of all bodies."""
        return [(f"bodies[{k}]", body, None) for k, body in enumerate(self.bodies)]

    def hold(self, point: Any, **numbers: Any) -> Any:
        """Return a handle on the first body."""
        body = self.bodies[0]
        surface = surface_of_body(body)
        assert surface is not None
        values = {"stiffness": None, "damping": None, "max_force": None, "max_speed": None, "kind": "spring"} | numbers
        grip = nearest(body, surface, np.array([point]))
        return self.interaction.add(Handle.made(self.interaction, "bodies[0]", grip, **values))

    def attach(self, points: Any, **numbers: float) -> Any:
        """Return an attachment of the first body to the second one, or to the world."""
        ends = []
        for k, body in enumerate(self.bodies[:2]):
            surface = surface_of_body(body)
            assert surface is not None
            ends.append((f"bodies[{k}]", nearest(body, surface, points)))
        values = {"compliance": 0.0, "damping": 0.0, "max_force": np.inf, "max_speed": 20.0} | numbers
        made = Attachment.made(self.interaction, ends[0], ends[1] if len(ends) > 1 else None, **values)
        return self.interaction.add(made)

    def step(self, dt: float) -> None:
        """Let pulls and fields act, and take a step of each body."""
        self.interaction.act(self.time, dt, lambda body: None)
        for body in self.bodies:
            body.step(dt, **self.options)
        self.time += dt
