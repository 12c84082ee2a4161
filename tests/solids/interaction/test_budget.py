"""Steps with a budget, by a clock that follows a script."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import Budget, RigidOptions
from meniscus.solids.interaction.recorder import digest
from tests.support.interaction.playground import DT, playground, rigid_world


class Script:
    """A clock that goes on by the next of some lengths at each call."""

    def __init__(self, *lengths: float) -> None:
        self.now, self.lengths, self.calls = 0.0, lengths, 0

    def __call__(self) -> float:
        self.now += self.lengths[self.calls % len(self.lengths)]
        self.calls += 1
        return self.now


def test_a_budgeted_run_is_that_of_as_many_iterations() -> None:
    a, b = rigid_world(5), rigid_world(5)
    a.clock = Script(1e-3, 2e-3, 0.5e-3)
    for k in range(20):
        info = a.step(0.01, budget=Budget(0.02 + 0.005 * (k % 3), least=3, most=40))
        (n,) = info.counts["rigid"]
        assert info.rigid is not None
        assert info.rigid.iterations == n
        b.step(0.01, counts=info.counts)
        assert digest(a) == digest(b)
    assert np.isfinite(b.rigid.momentum).all()


@pytest.mark.parametrize("iterations", [1, 7, 20])
@pytest.mark.parametrize("joined", [False, True])
def test_counted_steps_have_the_bits_of_plain_ones(iterations: int, joined: bool) -> None:
    plain, counted = (rigid_world(4, rigid=RigidOptions(iterations=n)) for n in (iterations, 20))
    for world in (plain, counted):
        if joined:
            world.join(world.rigid.bodies[2], world.rigid.bodies[3], "hinge", point=(0.15, 0, 0.9), axis=(0, 1, 0), limits=(-0.2, 0.2))
        world.rigid.bodies[1].momentum[0] = 3.0
    for _ in range(30):
        plain.step(0.01)
        counted.step(0.01, counts={"rigid": [iterations]})
        for one, other in zip(plain.rigid.bodies, counted.rigid.bodies, strict=True):
            np.testing.assert_array_equal(one.state_row, other.state_row)


def test_never_fewer_than_the_least_and_never_more_than_the_most() -> None:
    world = rigid_world()
    world.clock = Script(1.0)
    assert world.step(0.01, budget=1e-9).counts == {"rigid": (4,)}
    assert world.step(0.01, budget=Budget(0.0, least=7)).counts == {"rigid": (7,)}
    world = rigid_world()
    world.clock = Script(1e-12)
    assert world.step(0.01, budget=Budget(1.0, most=33)).counts == {"rigid": (33,)}


def test_the_time_is_divided_among_substeps() -> None:
    world = rigid_world(rigid=RigidOptions(substeps=4))
    world.clock = Script(1e-3)
    info = world.step(0.01, budget=Budget(0.04, least=2))
    counts = info.counts["rigid"]
    assert len(counts) == 4
    assert max(counts) - min(counts) <= 3
    # One reading of the clock for each iteration beyond the least.
    assert 30 <= sum(counts) - 4 * 2 <= 41


def test_what_comes_after_the_iterations_is_part_of_the_budget() -> None:
    """The clock goes on by a long while after the last iteration: the next step leaves room for it."""
    world = rigid_world()
    world.clock = Script(1e-3)
    first = world.step(0.01, budget=Budget(0.03, least=1)).counts["rigid"][0]
    world._tail = 0.02
    second = world.step(0.01, budget=Budget(0.03, least=1)).counts["rigid"][0]
    assert first - second in (19, 20, 21)


def test_a_world_of_all_kinds_has_budgets() -> None:
    a, b = playground(), playground()
    a.clock = Script(1e-4)
    counts = [a.step(DT, budget=Budget(2e-3, least=2)).counts for _ in range(8)]
    for one in counts:
        b.step(DT, counts=one)
    assert digest(a) == digest(b)
    infos = a.advance(0.02, budget=0.01)
    assert all(info.counts["rigid"][0] >= 4 for info in infos)


def test_sweeps_that_converge_end_early() -> None:
    world = rigid_world(1, rigid=RigidOptions(tolerance=1e-9))
    for _ in range(5):
        info = world.step(0.01, budget=10.0)
    assert info.counts["rigid"][0] < 1000


def test_wrong_budgets_are_refused() -> None:
    world = rigid_world()
    for budget in (-1.0, "soon"):
        with pytest.raises((ValueError, TypeError)):
            world.step(0.01, budget=budget)
    with pytest.raises(ValueError, match="either a budget or counts"):
        world.step(0.01, budget=1.0, counts={"rigid": [1]})
    with pytest.raises(ValueError, match="more often than the 0 times"):
        world.step(0.01, counts={})
    with pytest.raises(ValueError, match="most must be at least"):
        Budget(1.0, least=5, most=3)
    before: Any = world.copy()
    assert digest(before) == digest(world)
    assert ms.solids.World().interaction.steps == 0
