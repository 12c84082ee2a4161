"""Friction of nodes on solids within the velocity solve: which nodes stick, and which slip against it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.solids.contact.solid_contacts import NO_CONTACTS, Bools, Floats, Ints, SolidContacts, stopped

# Part of the contacts for whose change no solve is taken once more.
_FEW = 0.02


class SolveFriction:
    """Sticking and slipping nodes of one step.

    Friction after the solve stops a node, but not what hangs on it: where many nodes are stiffly bound to few on a solid, the node would be
    dragged on in the next solve, and friction lost. So the solve holds nodes that stick in all directions. Those that friction cannot stop
    slip: the solve is taken once more, with friction on them as a force of the size that the normal impulse allows. Nodes that slide
    freely have their friction after the solve, as in the source. Nodes that are pulled away from the solid are held until the next step,
    which does not find them in contact.

    Attributes:
        contacts: all contacts of the step.
        sticking: (k,), contacts that the solve holds in all directions.
        rubbed: (k,), contacts with friction within the solve.
        change: (k, 3), that of the velocity by this friction, m/s.

    Source: own, on Selle 2008, section 6.5.
    """

    def __init__(self, contacts: SolidContacts = NO_CONTACTS) -> None:
        self.contacts = contacts
        self.sticking: Bools = contacts.sticking
        self.rubbed: Bools = np.zeros(len(contacts), np.bool_)
        self.change: Floats = np.zeros((len(contacts), 3))
        self._shared = contacts.shared()
        self._given_up: Bools = np.zeros(len(contacts), np.bool_)

    def holds(self) -> tuple[Ints, Floats]:
        """Return nodes and directions in which the solve holds them, ordered by node: normals, and all directions where they stick."""
        c, k = self.contacts, self.sticking
        normals = c.normals[k]
        least = np.eye(3)[np.abs(normals).argmin(axis=1)]
        first = np.cross(normals, least)
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        nodes = np.concatenate([c.nodes, np.repeat(c.nodes[k], 2)])
        along = np.stack([first, np.cross(normals, first)], axis=1).reshape(-1, 3)
        order = np.argsort(nodes, kind="stable")
        return np.ascontiguousarray(nodes[order]), np.ascontiguousarray(np.concatenate([c.normals, along])[order])

    def held_velocities(self, velocities: Floats) -> Floats:
        """Return velocities (n, 3), m/s, with those along the surface replaced, where nodes stick, by that of the solid."""
        c, k = self.contacts, self.sticking
        held: Floats = velocities.copy()
        relative = velocities[c.nodes[k]] - c.velocities[k]
        held[c.nodes[k]] = c.velocities[k] + _along(relative, c.normals[k])[:, None] * c.normals[k]
        return held

    def start(self, velocities: Floats) -> Floats:
        """Return the velocities (n, 3), m/s, from which the solve starts, with friction on slipping nodes."""
        if not self.rubbed.any():
            return velocities
        result: Floats = velocities.copy()
        result[self.contacts.nodes[self.rubbed]] += self.change[self.rubbed]
        return result

    def revise(self, solved: Floats, loose: Floats, end: Floats) -> bool:
        """Look at a solve; return whether it must be taken once more, since nodes slip or stick after all.

        Args:
            solved: (n, 3), the velocities found, m/s.
            loose: (n, 3), without the forces of contact.
            end: (n, 3), the latter at the end of the step.
        """
        c = self.contacts
        back = self.rubbed & (np.einsum("kd,kd->k", (solved[c.nodes] - c.velocities), self.change) > 0)
        pressed = _along(solved[c.nodes] - loose[c.nodes], c.normals)
        stops = stopped(end[c.nodes], c.normals, c.velocities, c.friction)
        slips = self.sticking & ~self._given_up & ~stops
        # What stops after the solve, with friction to spare, should stick within it.
        back |= ~self.sticking & ~self.rubbed & ~self._given_up & ~self._shared & stops
        if np.count_nonzero(back | slips) <= _FEW * len(c):
            return False
        k = slips
        along = loose[c.nodes[k]] - c.velocities[k]
        along -= _along(along, c.normals[k])[:, None] * c.normals[k]
        size = np.linalg.norm(along, axis=1)
        self.change[k] = -(c.friction[k] * np.maximum(pressed[k], 0.0) / np.where(size > 0, size, 1.0))[:, None] * along
        self.change[back] = 0.0
        # A node that friction would turn around sticks, and is not asked again.
        self._given_up = self._given_up | (back & self.rubbed)
        self.rubbed = (self.rubbed | slips) & ~back
        self.sticking = (self.sticking & ~slips) | back
        return True

    def finish(self, velocities: Floats) -> None:
        """Let contact act on velocities at the end of the step (n, 3), m/s, in place; slipping nodes have had their friction."""
        c, k = self.contacts, self.rubbed
        if not len(c):
            return
        c.apply(velocities, np.where(k, 0.0, c.friction))
        rows = c.nodes[k]
        relative = velocities[rows] - c.velocities[k]
        turned = np.einsum("kd,kd->k", relative, self.change[k]) > 0
        up = _along(relative, c.normals[k])[:, None] * c.normals[k]
        velocities[rows[turned]] = (c.velocities[k] + up)[turned]


def _along(vectors: Floats, normals: Floats) -> npt.NDArray[np.float64]:
    result: Floats = np.einsum("kd,kd->k", vectors, normals)
    return result
