"""Friction of nodes on solids within the velocity solve: which nodes stick, and which slip against it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.solids.contact.solid_contacts import NO_CONTACTS, Bools, Floats, Ints, SolidContacts

# Part of the contacts for whose change no solve is taken once more.
_FEW = 0.02
# Drag below which friction may as well come after the solve.
_SMALL = 0.02
# Speed of a node that begins to slip, relative to that which it would have if nothing were bound to it.
_ONSET = 0.2
# The greatest part of its friction that a node may lack, for the speed with which it begins to slip.
_EXCESS = 3.0
# Factors by which speeds of slipping nodes may change within a step, if much is bound to them, and if not.
_CHANGE = 3.0
_STARTS = 10.0
# Mean speed of what a node belongs to, above which nodes that come to a solid slip at first, relative to that which gravity adds in a step.
_MOVING = 0.3
# Least speed for which a node of what slides has its drag, relative to the mean one: it bounds the force while nodes shiver.
_SHARE = 0.3
# Mass of what hangs together, relative to that of its nodes on a solid, above which all their friction is part of the solve.
_CARRIES = 1.5
# Speed below which nodes that slip against a drag stick, relative to that which gravity adds in a step.
_SLOW = 3e-3


class NodeGroups:
    """Nodes that hang together.

    Args:
        numbers: (n,), of each node that of its group.
        inverse_masses: (n,), 1/kg.
        solid: (n,), whether it is part of a tetrahedron; None: all are.

    Attributes:
        numbers: as given.
        solid: whether a group is of tetrahedra, so that what is above a node presses on it.
        masses: (n,), kg; 0 for nodes that nothing moves.
        totals: of each group, kg.
        single: whether a group is a single node.
    """

    def __init__(self, numbers: Ints, inverse_masses: Floats, solid: Bools | None = None) -> None:
        self.numbers = numbers
        self.solid: Bools = np.bincount(numbers, None if solid is None else solid.astype(np.float64)) > 0
        self.masses: Floats = np.where(inverse_masses > 0, 1.0 / np.where(inverse_masses > 0, inverse_masses, 1.0), 0.0)
        self.totals: Floats = np.bincount(numbers, self.masses).astype(np.float64)
        self.single: Bools = np.bincount(numbers) == 1

    def stand_on(self, nodes: Ints) -> Bools:
        """Return for each group whether much more than these nodes (k,) of it, each named once, stands on them."""
        own = np.bincount(self.numbers[nodes], self.masses[nodes], minlength=len(self.totals))
        result: Bools = ~self.single & (own > 0) & (self.totals > _CARRIES * own)
        return result


class SolveFriction:
    """Sticking and slipping nodes of one solve.

    Friction after the solve stops a node, but not what hangs on it: where much is stiffly bound to few nodes on a solid, the node would
    be dragged on in the next solve, and friction lost. So the solve knows friction, in one of three ways:

    - nodes that stick are held in all directions;
    - nodes that friction cannot hold slip against a drag: with the normal impulse N and the speed u of the solve before, mu N / u,
      so that force and speed agree as the solves go on. A drag takes energy whatever it is, and never turns a node around;
    - nodes on which friction of a step is small against what they move with have it after the solve, as in the source.

    What is stiffly bound holds each of its nodes: where few nodes stick, these hold all of it, and the others, which do not move, stick
    again. So the nodes of a body on a solid are looked at together too: if friction needs a greater force on all of them than it has, all
    slip; and where a body slides, a node that comes to the solid slips at first. Where much stands on few nodes, all friction of these is
    in the solve: after it, it would stop light nodes again and again, and stiff elements would ring with that and hop. Nodes that come
    back to the solid while others slip against a drag, whether friction would stop them or not, have none in their first step.

    `judge` looks at a solve and says what the next one should begin with, be it one of the same step or of the next. A node that is
    pulled off its solid is held in this solve only.

    Attributes:
        contacts: all contacts.
        fall: m/s: speed that gravity adds in a step.
        slow: m/s: nodes that slip slower than this against a drag stick.
        sticking: (k,), contacts that the solve holds in all directions.
        drag: (k,), of slipping contacts, relative to their mass and the length of the solve; 0 for others.
        before: (k,), speeds with which nodes slipped in the step before, m/s; NaN where there was no contact.
        speed: (k,), with which they slip in this solve, m/s.
        pulled: (k,), contacts that `judge` has found to hold nodes down.

    Source: own, on Selle 2008, section 6.5.
    """

    def __init__(
        self, contacts: SolidContacts = NO_CONTACTS, fall: float = 0.0, drag: Floats | None = None, before: Floats | None = None
    ) -> None:
        self.contacts = contacts
        self.fall = fall
        self.slow = _SLOW * fall
        self.sticking: Bools = contacts.sticking
        n = len(contacts)
        self.drag: Floats = np.zeros(n) if drag is None else drag
        self.before: Floats = np.full(n, np.nan) if before is None else before
        self.speed: Floats = np.zeros(n)
        self.pulled: Bools = np.zeros(n, np.bool_)
        self._shared = contacts.shared()
        self._returns: Bools = np.zeros(n, np.bool_)
        self._next = self._following = (self.sticking, self.drag)

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

    def held_velocities(self, velocities: Floats, stopped: bool = False) -> Floats:
        """Return velocities (n, 3), m/s, with those along the surface replaced, where nodes stick, by that of the solid.

        `stopped`: those along normals, too: a node that is held while it goes up would lift what presses on it, and give it energy.
        """
        c, k = self.contacts, self.sticking
        held: Floats = velocities.copy()
        relative = velocities[c.nodes[k]] - c.velocities[k]
        held[c.nodes[k]] = c.velocities[k] + _along(relative, c.normals[k])[:, None] * c.normals[k]
        if stopped:
            k = ~self._shared
            held[c.nodes[k]] -= _along(held[c.nodes[k]] - c.velocities[k], c.normals[k])[:, None] * c.normals[k]
        return held

    def start(self, velocities: Floats) -> Floats:
        """Return the velocities (n, 3), m/s, from which the solve starts, with what drags nodes along with a solid that moves."""
        c, k = self.contacts, self.drag > 0
        moving = k & (c.velocities != 0).any(axis=1)
        if not moving.any():
            return velocities
        result: Floats = velocities.copy()
        result[c.nodes[moving]] += self.drag[moving, None] * _flat(c.velocities[moving], c.normals[moving])
        return result

    def drags(self) -> tuple[Ints, Floats]:
        """Return nodes and their drags."""
        k = self.drag > 0
        return np.ascontiguousarray(self.contacts.nodes[k]), np.ascontiguousarray(self.drag[k])

    def judge(self, solved: Floats, loose: Floats, end: Floats, groups: NodeGroups) -> bool:
        """Look at a solve, and store what the next one begins with; return whether many contacts change.

        Args:
            solved: (n, 3), the velocities found, m/s.
            loose: (n, 3), without the forces of contact.
            end: (n, 3), the latter at the end of the step.
            groups: nodes that hang together.
        """
        c, dragged = self.contacts, self.drag > 0
        pressed = _along(solved[c.nodes] - loose[c.nodes], c.normals)
        self.pulled = ~(pressed > 0)
        allowed = c.friction * np.maximum(pressed, 0.0)
        speed = self.speed = np.linalg.norm(_flat(solved[c.nodes] - c.velocities, c.normals), axis=1)
        along = np.linalg.norm(_flat(end[c.nodes] - c.velocities, c.normals), axis=1)
        into = c.friction * np.maximum(-_along(end[c.nodes] - c.velocities, c.normals), 0.0)
        over, whole, sliding, bound, goes_on = self._together(solved, loose, allowed, groups)
        slips = self.sticking & ((along > into) | over)
        moving = sliding > _MOVING * self.fall
        comes = ~self.sticking & ~dragged & (into > 0) & (along <= into)
        starts = comes & ~self._shared & (moving | over)
        sticks = ~self.sticking & ~self._shared & ~over & np.where(dragged, speed <= self.slow, comes & ~moving)
        sticking = (self.sticking & ~slips) | sticks
        # How fast a node will be that sticks no more. What little is bound to moves as its own mass says; of others nothing is known but
        # how much friction lacks.
        alone = allowed < self.fall
        excess = along / np.where(into > 0, into, np.inf)
        onset = np.where(alone, np.clip(_ONSET * (along - into), self.slow, self.fall), self.slow * np.clip(excess, 1.0, _EXCESS) ** 4)
        onset = np.where(over, np.maximum(whole, self.slow), np.maximum(onset, sliding))
        slips |= starts
        moves = np.where(slips, onset, np.maximum(np.maximum(speed, _SHARE * sliding), self.slow))
        # Where nodes are light and stiffly bound, velocities at the end of the step swing about those that they move with.
        by_step = np.linalg.norm(_flat(2 * end[c.nodes] - solved[c.nodes] - c.velocities, c.normals), axis=1)
        by_steps = 2 * speed - np.where(np.isnan(self.before), speed, self.before)
        further = np.clip(np.where(alone, by_step, by_steps), speed / _CHANGE, np.where(alone, _STARTS, _CHANGE) * speed)
        further = np.where(slips, onset, np.maximum(np.maximum(further, _SHARE * sliding), self.slow))
        slides = ~self.sticking & ~self._shared & (into > 0) & (along > into) & bound
        self._returns = (slides | starts) & goes_on & ~dragged
        drags = (slips | dragged | slides) & ~sticks & (self.slow > 0)
        self._next, self._following = (
            (sticking, np.where(drags & (slips | bound | (allowed > _SMALL * u)), allowed / np.where(drags, u, 1.0), 0.0))
            for u in (moves, further)
        )
        return bool(np.count_nonzero(sticks | slips) > _FEW * len(c))

    def _together(self, solved: Floats, loose: Floats, allowed: Floats, groups: NodeGroups) -> tuple[Bools, Floats, Floats, Bools, Bools]:
        """Look at the contacts of each group with each solid together.

        Returns:
            Whether friction needs more than it has, the speed (m/s) that the group then has, the mean speed with which its contacts
            slide, 0 for single nodes, whether much stands on these nodes, and whether some of them slip against a drag already, too.
        """
        c, n = self.contacts, len(self.contacts)
        if not n:
            return np.zeros(0, np.bool_), np.zeros(0), np.zeros(0), np.zeros(0, np.bool_), np.zeros(0, np.bool_)
        group = groups.numbers[c.nodes]
        pairs = group.astype(np.int64) * (int(c.obstacles.max()) + 2) + c.obstacles + 1
        _, place = np.unique(pairs, return_inverse=True)
        masses = groups.masses[c.nodes]
        ways = _flat(solved[c.nodes] - c.velocities, c.normals)
        held = np.where(self.sticking[:, None], _flat(solved[c.nodes] - loose[c.nodes], c.normals), 0.0)
        held -= self.drag[:, None] * ways
        needed = np.linalg.norm([np.bincount(place, masses * held[:, k]) for k in range(3)], axis=0)
        available = np.bincount(place, masses * allowed)
        several = ~groups.single[group]
        over = several & (needed > available)[place]
        total = np.where(groups.totals[group] > 0, groups.totals[group], 1.0)
        weight = np.bincount(place, masses)
        means = np.stack([np.bincount(place, masses * ways[:, k]) for k in range(3)], axis=1) / np.where(weight > 0, weight, 1.0)[:, None]
        sliding = np.where(several, np.linalg.norm(means, axis=1)[place], 0.0)
        whole = np.maximum((needed - available)[place] / total, 0.0) + sliding
        goes_on = np.bincount(place, self.drag > 0) > 0
        bound: Bools = several & (groups.totals[group] > _CARRIES * weight[place])
        return over, whole, sliding, bound, bound & goes_on[place]

    def go_on(self) -> None:
        """Begin the next solve with what `judge` has found."""
        self.sticking, self.drag = self._next

    def finish(self, velocities: Floats) -> None:
        """Let contact act on velocities (n, 3), m/s, in place, that know no contact; sticking nodes keep to the solid."""
        c = self.contacts
        if not len(c):
            return
        c.apply(velocities, np.where((self.drag > 0) | self._returns, 0.0, c.friction))
        k = self.sticking & ~self._shared
        relative = velocities[c.nodes[k]] - c.velocities[k]
        velocities[c.nodes[k]] = c.velocities[k] + _along(relative, c.normals[k])[:, None] * c.normals[k]

    @property
    def here(self) -> tuple[Bools, Floats]:
        """Sticking contacts, and drags, that another solve of the same step begins with."""
        return self._next

    @property
    def following(self) -> tuple[Bools, Floats]:
        """Sticking contacts, and drags, that the first solve of the next step begins with."""
        return self._following


def _along(vectors: Floats, normals: Floats) -> npt.NDArray[np.float64]:
    result: Floats = np.einsum("kd,kd->k", vectors, normals)
    return result


def _flat(vectors: Floats, normals: Floats) -> Floats:
    """Return the parts along the surface."""
    result: Floats = vectors - _along(vectors, normals)[:, None] * normals
    return result
