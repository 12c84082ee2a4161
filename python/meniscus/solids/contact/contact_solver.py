"""Solvers of contact in the steps of a world, and their stages."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from meniscus.core import Workspace
from meniscus.core.stateful import Stateful
from meniscus.solids.body import DeformableBody
from meniscus.solids.contact.contact_surface import ContactSurface, Ints
from meniscus.solids.contact.loop.contact_loop import ContactLoop
from meniscus.solids.contact.obstacles import SolidObstacle
from meniscus.solids.contact.reports import WorldInfo
from meniscus.solids.contact.solid_contacts import NO_CONTACTS, SolidContacts
from meniscus.solids.contact.world_setup import WorldSetup


class ContactSolver(Stateful):
    """Base of the solvers of a world. A stage is a method that takes the length of the step, s; it may be replaced on the object.

    Args:
        setup: of the world.
        loop: of the world.

    Attributes:
        contacts: contacts with solids of the last step, or of the one that goes on.
    """

    stages: tuple[str, ...] = ()
    """Names of the stages, in their order."""
    running_report: WorldInfo

    def __init__(self, setup: WorldSetup, loop: ContactLoop) -> None:
        self.setup, self.loop = setup, loop
        self.contacts: SolidContacts = NO_CONTACTS
        self._workspace = Workspace()
        self._core: Any = None

    @property
    def surface(self) -> ContactSurface:
        """All surfaces of the world as one."""
        return self.loop.surface

    @property
    def bodies(self) -> list[DeformableBody]:
        """Deformable bodies of the world."""
        return self.setup.bodies

    @property
    def time(self) -> float:
        """Seconds; that of the world."""
        return self.setup.time

    @property
    def _solids(self) -> list[SolidObstacle]:
        return self.setup.solid_obstacles

    @property
    def in_step(self) -> bool:
        """Whether a step has begun and not ended."""
        return self._core is not None

    def begin(self, dt: float, report: WorldInfo) -> None:
        """Begin a step of dt seconds with its report."""
        self.leave()
        self.setup.require_finite()
        for other, _ in self.surface.others:
            other.begin()
        self.running_report = report
        self.loop.enter(dt)
        motions: list[Any] = []
        for body in self.bodies:
            for force in body.forces:
                # Some forces, such as wind, ask for the state at the start of the step.
                if hasattr(force, "prepare"):
                    force.prepare(body.positions, body.velocities, body.time)
            motions.append(body._motion(dt))
        self.contacts = NO_CONTACTS
        self._begin(dt, motions)
        self.setup.stepping = True

    @abstractmethod
    def _begin(self, dt: float, motions: list[Any]) -> None:
        """Begin a step of bodies that move so."""

    @abstractmethod
    def complete(self, report: WorldInfo) -> None:
        """End the step, and the loop if it was its last."""

    def leave(self) -> None:
        """Drop what belongs to one step alone, after its end or after an error."""
        self._core = None
        self.setup.stepping = False

    @abstractmethod
    def longest_step(self) -> float:
        """Return the longest step (s) that the bodies allow; infinite where nothing limits it."""

    def nodes_renumbered(self, numbers: Ints) -> None:
        """Number anew what is remembered: the node i is `numbers[i]` now, or has left if that is negative."""

    def _state_replaced(self) -> None:
        # Also of a step that somebody else had begun, and that failed.
        self.leave()
