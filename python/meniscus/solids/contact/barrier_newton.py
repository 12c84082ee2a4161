"""Newton's method for a step of implicit Euler with barriers, on paths that are free of contact by the exact test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import collision as _collision
from meniscus._meniscus import solids as _solids
from meniscus.collision import Barrier
from meniscus.solids.contact.barrier_options import BarrierOptions
from meniscus.solids.contact.barrier_solids import BarrierSolids, NearNodes, Rubbing, rubbing_curvature, rubbing_energy
from meniscus.solids.contact.contact_surface import ContactSurface

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# Part of the certified way to the first contact that a step takes.
_WAY = 0.9
# The potential must fall by this part of what its slope promises.
_FALL = 1e-4
# Rounding errors of the potential, relative.
_NOISE = 1e-11
# Where a step promises less than this part of the potential, the latter may not tell a step down from one up (damping of stiff bodies that
# move fast is a sum of large terms): a step is good where the slope along it has become smaller, and so many of them are enough.
_FLAT = 1e-8
_FLAT_ITERATIONS = 8
_HALVINGS = 60
# Tolerance of linear solves far from the minimum.
_LOOSEST = 0.1
# Iterations between two moves of obstacles.
_BETWEEN = 3
# Largest stiffness that doubling leads to, relative to the smallest.
_STIFFEST = 2.0**20


@dataclass
class NewtonCounts:
    """Work of a step.

    Attributes:
        iterations: of Newton's method.
        linear_iterations: of its linear solves.
        halvings: of the line search.
        increments: moves of obstacles and moved nodes.
        limited: iterations that the certified time of impact has cut.
    """

    iterations: int = 0
    linear_iterations: int = 0
    halvings: int = 0
    increments: int = 0
    limited: int = 0


class BarrierProblem:
    """A step: the potential of positions of all nodes, and its minimum.

    Attributes:
        x: (n, 3) positions, m: those of bodies first, then of obstacles. On the way here from the start nothing has touched.
        fraction: the part of their motion that obstacles and moved nodes have made.
        stiffness: of the barrier, J.

    Without a tolerance in the options, `tolerance` (m/s) is that of the start, which grows with the speed of nodes up to `most`.
    """

    def __init__(
        self,
        surface: ContactSurface,
        core: Any,
        barrier: Barrier,
        solids: BarrierSolids,
        options: BarrierOptions,
        *,
        start: Floats,
        target: Floats,
        time: float,
        dt: float,
        tolerance: float,
        most: float,
        on_iterate: Callable[[Floats], None] | None,
    ) -> None:
        self.surface, self.core, self.barrier, self.solids, self.options = surface, core, barrier, solids, options
        self.x, self.start = start.copy(), start
        self.target = target
        self.time, self.dt = time, dt
        self._tolerance, self._most = tolerance, most
        self.fixed = surface.inverse_masses == 0
        self.fraction = 0.0
        self.stiffness = self.least_stiffness = 0.0
        self.friction = _collision.BarrierFriction()
        self.rubbing: list[Rubbing] = []
        self.counts = NewtonCounts()
        self._on_iterate = on_iterate
        self._slip = options.slip_speed * dt
        self._near: list[NearNodes] = []
        self._vertices0 = surface.at_vertices(start)
        # Only pairs of which a vertex can move are tested.
        self._yielding = np.zeros(len(surface), np.bool_)
        self.test_all_but(self.fixed)
        self._closest = np.inf

    def test_all_but(self, fixed: npt.NDArray[np.bool_]) -> None:
        """Leave only pairs out of the exact test all of whose nodes are `fixed` (n,): others on given ways may meet too."""
        used = np.nonzero(self.surface.weights)
        np.logical_or.at(self._yielding, used[0], ~fixed[self.surface.nodes[used]])

    # --- the potential -------------------------------------------------------------------------------------------------------

    def when(self, fraction: float) -> float:
        """Return the time (s) that obstacles have reached at a part of their motion."""
        return self.time + fraction * self.dt

    def evaluate(self, x: Floats, fraction: float) -> tuple[float, Floats]:
        """Return the potential at positions of all nodes, J, infinite where something touches, and its derivative (n, 3), N."""
        gradient = np.zeros_like(x)
        near = self.solids.near(x, self.when(fraction))
        if near is None:
            return np.inf, gradient
        self._near = near
        vertices = self.surface.at_vertices(x)
        try:
            self.barrier.find(vertices)
        except ValueError:
            return np.inf, gradient
        own = self.surface.body_nodes
        energy = float(self.core.evaluate(x[:own], gradient[:own]))
        energy += self.stiffness * float(self.barrier.core.energy(vertices)) + self.stiffness * self.solids.energy(near)
        of_vertices = np.zeros_like(vertices)
        self.barrier.core.add_gradient(vertices, self.stiffness, of_vertices)
        moved = vertices - self._vertices0
        if self.friction.size:
            energy += float(self.friction.energy(moved, self._slip))
            self.friction.add_gradient(moved, self._slip, of_vertices)
        _solids.add_to_nodes(self.surface.contact_nodes._core, of_vertices, gradient)
        self.solids.add_gradient(near, self.stiffness, gradient)
        energy += rubbing_energy(self.rubbing, x - self.start, self._slip, gradient)
        gradient[self.fixed] = 0.0
        return energy, gradient

    def balance(self) -> float:
        """Return the stiffness (J) at which the barrier balances the other forces best at the start, 0 without pairs."""
        own = self.surface.body_nodes
        others, unit = np.zeros_like(self.x), np.zeros_like(self.x)
        self.core.evaluate(self.x[:own], others[:own])
        vertices = self.surface.at_vertices(self.x)
        of_vertices = np.zeros_like(vertices)
        self.barrier.core.add_gradient(vertices, 1.0, of_vertices)
        _solids.add_to_nodes(self.surface.contact_nodes._core, of_vertices, unit)
        self.solids.add_gradient(self._near, 1.0, unit)
        unit[self.fixed] = 0.0
        size = _dot(unit, unit)
        return max(0.0, -_dot(others, unit) / size) if size > 0 else 0.0

    def lag_friction(self, stiffness: float) -> int:
        """Take the friction of the pairs at x for what follows, with the forces of a stiffness (J); return the number of pairs."""
        vertices = self.surface.at_vertices(self.x)
        self.barrier.find(vertices)
        self.friction.lag(self.barrier.core, vertices, stiffness, self.surface.friction)
        time = self.when(1.0)
        near = self.solids.near(self.x, self.when(self.fraction)) or []
        self.rubbing = self.solids.lag(near, stiffness, self.x, time, self.dt)
        return int(self.friction.size) + sum(len(r.nodes) for r in self.rubbing)

    @property
    def tolerance(self) -> float:
        """Newton's method ends when no node would move faster by this, m/s."""
        return self._relative_tolerance(self._most)

    def _relative_tolerance(self, most: float) -> float:
        """Return the tolerance given or, where none was, 1e-3 of the speed of gravity and of the fastest node, limited to `most`, m/s."""
        if self.options.tolerance is not None:
            return self._tolerance
        moved = self.x - self.start
        fastest = float(np.sqrt((moved * moved).sum(axis=1).max(initial=0.0))) / self.dt
        return max(min(max(self._tolerance, 1e-3 * fastest), most), 1e-12)

    def closest(self) -> tuple[float, float]:
        """Return the least distance at x, m, and the least relative to the activation distance."""
        of_solids = min((float(n.distance.min()) for n in self._near), default=np.inf)
        pairs = self.barrier
        return min(of_solids, pairs.min_distance), min(of_solids / self.solids.activation, pairs.min_part)

    # --- steps towards the minimum -------------------------------------------------------------------------------------------

    def direction(self, gradient: Floats, given: Floats | None = None, tolerance: float | None = None) -> Floats:
        """Return Newton's direction (n, 3), m, from x, whose potential was evaluated last.

        With `given` (n, 3), nodes on paths go these ways, and solids what is left of theirs, to both of which the others answer.
        `tolerance` is that of the linear solve, None: that of the options.
        """
        own = self.surface.body_nodes
        p: Floats = np.zeros_like(self.x)
        if given is not None:
            p[self.fixed] = given[self.fixed]
        self.core.linearise(np.ascontiguousarray(self.x[:own]))
        vertices = self.surface.at_vertices(self.x)
        self.barrier.core.linearise(vertices, _collision.Curvature.definite)
        self.friction.linearise(vertices - self._vertices0, self._slip)
        blocks = np.zeros((len(self.x), 3, 3))
        self.solids.curvature(self._near, self.stiffness, blocks)
        if given is not None:
            gradient = gradient.copy()
            for n, carried in zip(self._near, self.solids.carried(self._near, self.x, self.when(1.0), self.dt), strict=True):
                gradient[n.nodes] -= (1.0 - self.fraction) * np.einsum("kij,kj->ki", blocks[n.nodes], carried)
            gradient[self.fixed] = 0.0
        rubbing_curvature(self.rubbing, self.x - self.start, self._slip, blocks)
        single = np.flatnonzero(blocks.any(axis=(1, 2))).astype(np.int32)
        single = single[~self.fixed[single]]
        info = self.core.solve(
            self.surface.contact_nodes._core,
            self.barrier.core,
            self.stiffness,
            self.friction,
            single,
            np.ascontiguousarray(blocks[single]),
            gradient,
            p,
            self.options.linear_tolerance if tolerance is None else tolerance,
            self.options.max_linear_iterations,
        )
        self.counts.linear_iterations += int(info.iterations)
        return p

    def limit(self, p: Floats, end: float) -> float:
        """Return how far x may go along p, from 0 to 1, while obstacles go from `fraction` to `end`, before anything touches."""
        alpha = 1.0
        for _ in range(_HALVINGS):
            shorter = self._outside(p, end, alpha)
            if shorter == alpha:
                break
            alpha = shorter
        if not self.surface.can_touch:
            return alpha
        here = self.surface.at_vertices(self.x)
        for _ in range(4):
            there = self.surface.at_vertices(self.x + alpha * p)
            impact = self.surface.mesh.time_of_impact(here, there, changed=self._yielding)
            if impact == np.inf:
                return alpha
            self.counts.limited += 1
            if impact > 0:
                return alpha * _WAY * impact
            # A way so long that the first contact is within the tolerance of its start.
            alpha *= 1e-4
        return 0.0

    def _outside(self, p: Floats, end: float, alpha: float) -> float:
        """Return `alpha`, or less where nodes would be in a solid: 0.9 of the way to its surface, as if that was a plane.

        Where they would only pass through one, return the way to a place within it.
        """
        at, now = self.x + alpha * p, self.when(self.fraction)
        then = now + alpha * (self.when(end) - now)
        for k in range(len(self.solids.obstacles)):
            nodes, after = self.solids.distances(k, at, then)
            bad = after <= 0
            if bad.any():
                before = self.solids.obstacles[k].distance(np.ascontiguousarray(self.x[nodes[bad]]), now)
                part = np.maximum(before, 0.0) / np.maximum(before - after[bad], 1e-300)
                return alpha * _WAY * float(part.min())
        return alpha * self.solids.outside_until(self.x, alpha * p, now, then)

    def free_of_contact(self, there: Floats) -> bool:
        """Return whether by the exact test nothing touches on the straight way from x to other positions of all nodes."""
        if not self.surface.can_touch:
            return True
        ends = self.surface.at_vertices(self.x), self.surface.at_vertices(there)
        return not self.surface.mesh.collides(*ends, changed=self._yielding)

    def _accept(self, x: Floats, fraction: float) -> None:
        self.x, self.fraction = x, fraction
        if self._on_iterate is not None:
            self._on_iterate(x)

    def approach(self) -> bool:
        """Bring obstacles and moved nodes to the ends of their paths, others giving way; return whether they are there."""
        moving = bool(np.any(self.target[self.fixed] != self.x[self.fixed])) or any(o.solid.moves for o in self.solids.obstacles)
        if not moving:
            self.fraction = 1.0
            return True
        for _ in range(self.options.increments):
            _, gradient = self.evaluate(self.x, self.fraction)
            p = self.direction(gradient, self.target - self.x)
            alpha = self.limit(p, 1.0)
            for _ in range(_HALVINGS):
                end = 1.0 if alpha == 1.0 else self.fraction + alpha * (1.0 - self.fraction)
                there = self.x + alpha * p
                if alpha == 1.0:
                    there[self.fixed] = self.target[self.fixed]
                if self.free_of_contact(there) and np.isfinite(self.evaluate(there, end)[0]):
                    break
                alpha *= 0.5
            else:
                return False
            self.counts.increments += 1
            self._accept(there, end)
            if self.fraction == 1.0:
                return True
            self.minimise(_BETWEEN)
        return False

    def minimise(self, most: int) -> bool:
        """Go to the minimum of the potential with at most so many iterations; return whether the tolerance was met."""
        energy, gradient = self.evaluate(self.x, self.fraction)
        forcing, before, tight = _LOOSEST, 0.0, False
        flat_iterations, longest = 0, np.inf
        for _ in range(most):
            size = _dot(gradient, gradient) ** 0.5
            if before > 0:
                # Loose far from the minimum (Eisenstat and Walker 1996), and not much tighter than the last one at once.
                forcing = min(max(0.9 * (size / before) ** 2, 0.9 * forcing**2 if forcing**2 > 0.1 else 0.0), _LOOSEST)
            before = size
            linear = self.options.linear_tolerance if tight else max(forcing, self.options.linear_tolerance)
            p = self.direction(gradient, tolerance=linear)
            self.counts.iterations += 1
            longest = float(np.sqrt((p * p).sum(axis=1).max(initial=0.0)))
            # A loose solve says little about slow motions: the last one is tight.
            small = longest <= self.tolerance * self.dt
            ends, tight = small and linear <= self.options.linear_tolerance, tight or small
            if longest <= 1e-13 * (1.0 + float(np.abs(self.x).max(initial=0.0))):
                return True
            slope = _dot(gradient, p)
            flat = -slope <= _FLAT * abs(energy)
            found = self._search(p, energy, slope, flat)
            if found is None:
                self.evaluate(self.x, self.fraction)
                # No step down is left above rounding errors: then the limit for the sake of forces is dropped.
                return ends or flat or longest <= self._relative_tolerance(np.inf) * self.dt
            there, energy, gradient = found
            self._accept(there, self.fraction)
            if self._stiffen():
                energy, gradient = self.evaluate(self.x, self.fraction)
            elif ends:
                return True
            flat_iterations += flat
            if flat_iterations == _FLAT_ITERATIONS:
                return True
        return longest <= self._relative_tolerance(np.inf) * self.dt

    def _search(self, p: Floats, energy: float, slope: float, flat: bool) -> tuple[Floats, float, Floats] | None:
        alpha = self.limit(p, self.fraction)
        for _ in range(_HALVINGS):
            there = self.x + alpha * p
            value, gradient = self.evaluate(there, self.fraction)
            if np.array_equal(there, self.x):
                break
            good = value <= energy + _FALL * alpha * slope + _NOISE * abs(energy)
            if flat and value <= energy + _FLAT * abs(energy):
                good = good or _dot(gradient, p) <= -(1.0 - 2.0 * _FALL) * slope
            if good and self.free_of_contact(there):
                return there, value, gradient
            self.counts.halvings += 1
            alpha *= 0.5
            if alpha < 1e-12:
                break
        return None

    def _stiffen(self) -> bool:
        """Double the stiffness where surfaces are very near each other and still come nearer; return whether it was."""
        before, self._closest = self._closest, self.closest()[1]
        if self.options.stiffness is not None or not self._closest < min(before, self.options.least_part):
            return False
        if before >= self.options.least_part or self.stiffness >= _STIFFEST * self.least_stiffness:
            return False
        self.stiffness *= 2.0
        return True


def _dot(a: Floats, b: Floats) -> float:
    """Return the scalar product, without the libraries of linear algebra, whose sums depend on their threads."""
    return float((a * b).sum())
