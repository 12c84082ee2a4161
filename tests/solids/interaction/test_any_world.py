"""Interaction is a base class: a world of one's own, of bodies that take their steps side by side, has all of it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

import meniscus as ms
from meniscus.solids import Attractor, Budget, Recorder, RigidSystem, Wind, replay
from meniscus.solids.interaction.interactive_world import InteractiveWorld
from meniscus.solids.interaction.recorder import digest
from tests.support.interaction.playground import body_of


class SideBySide(InteractiveWorld):
    """Bodies of nodes and reduced ones that do not touch. Substeps are chosen by what they have cost."""

    def __init__(self, nodes: Any, reduced: Any) -> None:
        self.rigid = RigidSystem()
        self.node_bodies = self.declare("node_bodies", [nodes])
        self.reduced_bodies = self.declare("reduced_bodies", [reduced])
        self.time = self.declare("time", 0.0)
        super().__init__()
        self._cost = self.worked = 0.0

    def named_bodies(self) -> Any:
        return [("nodes[0]", self.node_bodies[0], None), ("reduced[0]", self.reduced_bodies[0], None)]

    def _take_step(self, dt: float, on_stage: Any = None, **options: Any) -> Any:
        with self.transaction():
            substeps = 5 if self.meter is None else self.meter.choose("substeps", 5, self._cost)
            for body in self.node_bodies:
                body.step(dt, substeps=substeps)
            for body in self.reduced_bodies:
                body.step(dt, method="implicit-euler")
            self.time += dt
        # What a substep takes, by a clock of our own.
        self.worked += substeps * 1e-4 * (2 + np.sin(50 * self.time))
        if self.meter is not None:
            self._cost = self.meter.elapsed / substeps
        return substeps


def made() -> SideBySide:
    soft = body_of("position")
    soft.add(ms.solids.NeoHookeanConstraints(soft.mesh, youngs_modulus=1e5))
    return SideBySide(soft, body_of("reduced", (0.5, 0, 0)))


def play(world: Any) -> list[int]:
    world.clock = lambda: world.worked
    hand = world.interaction.pick((0.1, 0.1, 2), (0, 0, -1))
    other = world.interaction.pick((0.5, 0.0, 2), (0, 0, -1))
    assert (hand.name, other.name) == ("nodes[0]", "reduced[0]")
    world.interaction.attach(hand.body, other.body, (0.35, 0.1, 0.1))
    world.interaction.add_field(Attractor((0.2, 0, 0.5)))
    world.interaction.add_field(Wind((1, 0, 0)))
    counts = []
    for k in range(20):
        hand.target = (0.1, 0.1 + 0.01 * k, 0.4)
        other.target = (0.5 + 0.01 * k, 0, 0.2)
        counts.append(world.step(0.01, budget=Budget(4e-3, least=2, most=30) if k % 2 else None))
    assert world.interaction.sanity().bounded
    return counts


def test_it_has_logs_and_budgets() -> None:
    world = made()
    start = pickle.dumps(world)
    with Recorder(world) as recorder:
        counts = play(world)
    assert counts[::2] == [5] * 10
    assert counts[1] == 2
    assert len(set(counts[3::2])) > 3
    assert all(2 <= n <= 30 for n in counts)
    for again in (pickle.loads(start), made()):
        assert replay(again, recorder) == 20
        assert digest(again) == digest(world)
    assert world.interaction.counts == {"substeps": (counts[-1],)}


def test_momentum_is_what_hands_and_fields_gave() -> None:
    world = made()
    before = world.node_bodies[0].momentum + world.reduced_bodies[0].momentum
    play(world)
    after = world.node_bodies[0].momentum + world.reduced_bodies[0].momentum
    moved = np.abs(after).max() + np.abs(before).max()
    assert np.abs(after - before - world.interaction.impulse).max() < 1e-11 * moved
