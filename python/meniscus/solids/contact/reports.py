"""Reports of steps of a world, and the errors of contact."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from meniscus.collision import CollisionPairs
from meniscus.numerics.solve import SolveInfo
from meniscus.solids.contact.solid_contacts import NO_CONTACTS, Floats, SolidContacts
from meniscus.solids.interaction.pull import PullReport
from meniscus.solids.rigid.rigid_options import RigidInfo


class ContactError(RuntimeError):
    """Contacts that nothing resolves, as of cloth that is pinched between obstacles on given paths; nothing has changed.

    Attributes:
        pairs: the pairs in contact, with a barrier those within a tenth of their thickness, at most 1000 of each kind, by the vertices of
            the joined surface (`World.surface`).
    """

    def __init__(self, message: str, pairs: CollisionPairs) -> None:
        super().__init__(message)
        self.pairs = pairs

    def __reduce__(self) -> tuple[type[ContactError], tuple[str, CollisionPairs]]:
        """Pickle with the pairs."""
        return type(self), (str(self), self.pairs)


@dataclass
class ContactInfo:
    """Contacts of a step.

    Attributes:
        solids: contacts of nodes with solids.
        impulses_of_solids: (k, 3), what they have given to the nodes in the step, N s.
        impulse_of_others: (3,), the sum of what solids have given to reduced bodies and those of position based dynamics in the step, N s.
        pairs: number of pairs of elements near each other in this loop, or coming near each other.
        approaching: of these, those that were farther apart than their thickness as the loop began.
        active: of these, those within their thickness.
        inverted: of these, those on the wrong side, which are pulled back.
        repulsions: number of impulses between them.
        clamped: number of vertices whose thickness is limited by their edges.
        rewound: 1 if something collided at the end of a loop and the state went back to its start (`loop="rewind"`), else 0.
        loop_ended: whether the step ended a loop. What follows is of such steps only.
        contacts: number of pairs in contact on the paths of the loop before they were resolved.
        impulses: number of impulses that resolved them.
        zone_vertices, rigid_vertices: number of nodes in impact zones, and of those in rigid ones.
        cuts: 1 if the loop was ended before the last contact, else 0.
        fraction: the part of the loop that was taken.
        blocked: bodies with steps of their own that were kept where they had come to at last, as those they met gave way alone.
        off_path: after a cut, how far nodes on given paths are from these at most, m. 0 unless something is in their way there.
        deactivated: number of pairs that may pass through each other, since nothing resolved their contact.
        certified: whether by the exact test nothing touches anywhere on the path of the loop, deactivated pairs excepted.
        min_distance: with a barrier, as all that follows: the least distance within the activation distance, m.
        newton_iterations, linear_iterations: of the step.
        increments: moves in which obstacles and moved nodes have reached the ends of their paths.
        barrier_stiffness: J.
    """

    solids: SolidContacts = NO_CONTACTS
    impulses_of_solids: Floats = field(default_factory=lambda: NO_CONTACTS.normals)
    impulse_of_others: Floats = field(default_factory=lambda: np.zeros(3))
    pairs: int = 0
    approaching: int = 0
    active: int = 0
    inverted: int = 0
    repulsions: int = 0
    clamped: int = 0
    rewound: int = 0
    loop_ended: bool = False
    contacts: int = 0
    impulses: int = 0
    zone_vertices: int = 0
    rigid_vertices: int = 0
    cuts: int = 0
    fraction: float = 1.0
    blocked: int = 0
    off_path: float = 0.0
    deactivated: int = 0
    certified: bool = False
    min_distance: float = math.inf
    newton_iterations: int = 0
    linear_iterations: int = 0
    increments: int = 0
    barrier_stiffness: float = 0.0


@dataclass
class WorldInfo:
    """Report of a step of a world.

    Attributes:
        dt: s.
        solves: the velocity solves, in order.
        used_definite_tangent: a tangent was indefinite, and the definite one was used instead.
        max_speed: of the nodes at the end, m/s.
        contact: of the step.
        rigid: of rigid bodies; None where there are none.
        pulls: of handles, attachments and pose targets.
        counts: of a step with a budget or given counts, the iterations of each solve, by what iterates.
    """

    dt: float = 0.0
    solves: tuple[SolveInfo, ...] = ()
    used_definite_tangent: bool = False
    max_speed: float = 0.0
    contact: ContactInfo = field(default_factory=ContactInfo)
    rigid: RigidInfo | None = None
    pulls: PullReport = field(default_factory=PullReport)
    counts: dict[str, tuple[int, ...]] = field(default_factory=dict)
