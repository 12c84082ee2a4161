"""Bodies of a world that take steps of their own, as contact between surfaces sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus.solids.contact.body_surface import BodySurface

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class RigidRows(NamedTuple):
    """Nodes that move as rigid bodies, as `ContactNodes.set_rigid` takes them.

    Attributes:
        nodes: (k, 4).
        arms: (k, 4, 3), from the centres of mass, m.
        inverse_masses: (k,), 1/kg.
        inverse_inertias: (k, 3, 3), in axes of the world, 1/(kg m^2).
    """

    nodes: Ints
    arms: Floats
    inverse_masses: Floats
    inverse_inertias: Floats


NO_RIGID = RigidRows(np.zeros((0, 4), np.int32), np.zeros((0, 4, 3)), np.zeros(0), np.zeros((0, 3, 3)))


class CoupledRows(NamedTuple):
    """All nodes of a body with few coordinates, as `ContactNodes.set_coupled` takes them.

    Attributes:
        lead: a node that yields, of which all vertices have a share.
        response: (n, 3, d), kg^-1/2.
    """

    lead: int
    response: Floats


class SelfStepping(ABC):
    """Bodies whose motion is not that of the velocity solves of a world.

    A world knows their nodes: rows of its arrays of positions and velocities. Within a step it asks for the velocities that positions will
    go with (`predict`), lets surfaces repel each other, hands the changes over (`advance`), and at the end lets contact change the
    velocities (`take`); what obstacles of their own take from these in between, `hold` says. At the end of a loop they go to places
    without contact on the way (`finish`).
    """

    exact = False
    """Whether bodies that `finish` has moved are at the places given to the last digit."""
    unrestricted = False
    """Whether nodes can be anywhere, so that `closest` changes nothing."""
    trial: tuple[Any, ...] = ()
    """What `closest` has come to, from where it goes on and which `finish` takes."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of nodes."""

    @property
    @abstractmethod
    def surfaces(self) -> Sequence[BodySurface]:
        """Surfaces; their nodes are numbers from 0 to the number of all nodes."""

    @property
    @abstractmethod
    def inverse_masses(self) -> Floats:
        """Inverse masses (n,) of the nodes, 1/kg; 0 for those on given paths."""

    @property
    def mass(self) -> float:
        """Mass of bodies with `coupled_rows`, kg."""
        return 0.0

    @abstractmethod
    def place(self, out: Floats) -> None:
        """Write the positions (n, 3) of the nodes, m."""

    @abstractmethod
    def velocities(self, out: Floats) -> None:
        """Write the velocities (n, 3) of the nodes, m/s."""

    @abstractmethod
    def predict(self, dt: float, out: Floats) -> None:
        """Write the velocities (n, 3) that positions go with in a step of dt seconds, if nothing touches, m/s."""

    @abstractmethod
    def advance(self, dt: float, pushed: Floats, sprung: Floats) -> None:
        """Take a step of dt seconds; positions, not velocities, go by `pushed` (n, 3), m/s, more than they would.

        Of that, elastic repulsion has given `sprung` (n, 3), m/s, which is no speed.
        """

    @abstractmethod
    def hold(self, velocities: Floats) -> None:
        """Change velocities (n, 3), m/s, at the end of a step as obstacles do whose contact is left to the bodies."""

    @abstractmethod
    def take(self, change: Floats) -> None:
        """Change velocities by those of the nodes (n, 3), m/s."""

    @abstractmethod
    def closest(self, ends: Floats) -> Floats:
        """Return the positions (n, 3) closest to others, m, that the bodies can have."""

    @abstractmethod
    def finish(self, here: Floats, whole: Floats, ends: Floats, v_free: Floats, part: float, over: Floats) -> None:
        """Go from `here` to `ends`, (n, 3), m, in a loop that began with velocities `v_free` (m/s).

        Velocities change by the way to `whole` in place of `here` over times `over` (n,), s, infinite where they stay, the same for all
        nodes of a body that moves as one; of a loop of which only a part was taken, `ends` are the places then, and velocities lie between
        those at its start and its end.
        """

    def rigid_rows(self) -> RigidRows:
        """Return what moves as rigid bodies now: all nodes that yield, or none."""
        return NO_RIGID

    def coupled_rows(self, over: float) -> CoupledRows | None:
        """Return how an impulse on one node that acts for `over` seconds moves all of them; None: each moves on its own, or rigidly."""
        return None

    def pressed(self) -> Floats:
        """Return the impulse (3,) that solids among the obstacles of the world have given to the bodies in the last step, N s."""
        return np.zeros(3)

    @abstractmethod
    def begin(self) -> None:
        """Begin a step; ValueError with the name of the body if its state is not finite."""

    def begin_loop(self) -> None:
        """Begin a loop: forget what `closest` has come to, and note what `finish` has to know of the state."""
        self.trial = ()

    @abstractmethod
    def start_at(self, time: float) -> None:
        """Set the time (s)."""
