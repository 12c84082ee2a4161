"""Memory of forces as state of the body: failed steps and restored snapshots bring it back, copies and pickles have their own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from meniscus.numerics.solve import ConvergenceError
from meniscus.solids import FORCES, DeformableBody, Drag, EdgeSprings, Force, PointLoads, SpringOptions, WindDrag

TIGHT: dict[str, Any] = {"tolerance": 1e-15, "max_iterations": 1}
"""A solve that does not converge."""


def pair(stiffness: float = 50.0) -> DeformableBody:
    """Two nodes at one place between springs that keep their direction; they fly apart, across that direction."""
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    body = DeformableBody(x, masses=1.0, gravity=(0.0, -9.8, 0.0))
    body.add(EdgeSprings(np.array([[0, 1], [1, 2]], np.int32), SpringOptions(stiffness=stiffness, damping=0.3), x, zero_length="last"))
    body.add(Drag(0.2, nodes=3, wind=lambda at, t: np.stack([0 * at[:, 0], 3 * at[:, 0], 1 + t + at[:, 2]], axis=1), quadratic=True))
    body.positions[1] = body.positions[0]
    body.velocities[1] = (0.0, 3.0, 1.0)
    return body


def everything(body: DeformableBody) -> list[np.ndarray]:
    """Positions, velocities, and all that depends on what the forces remember."""
    return [a.copy() for a in (body.positions, body.velocities, *body.force_memory, body.forces_at_nodes())]


def assert_same(a: list[np.ndarray], b: list[np.ndarray]) -> None:
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"elasticity": "full-step", **TIGHT}, ConvergenceError),
        ({"integrator": "implicit-euler", "max_newton": 1, "newton_tolerance": 1e-15}, ConvergenceError),
        ({"integrator": "rk4"}, ValueError),
    ],
)
def test_a_failed_step_changes_nothing(options: dict[str, Any], error: type[Exception]) -> None:
    body, undisturbed = pair(), pair()
    for b in (body, undisturbed):
        b.step(0.01)
        b.positions[1] = b.positions[0]
    before = everything(body)
    if error is ValueError:
        # A step so long that velocities overflow, with stages in between that turn the springs.
        body.velocities[1] *= 1e150
        undisturbed.velocities[1] *= 1e150
        before = everything(body)
        with pytest.raises(error, match="finite"):
            body.step(1e160, **options)
        undisturbed.forces_at_nodes()
    else:
        with pytest.raises(error):
            body.step(0.05, **options)
        undisturbed.forces_at_nodes()
    memory = [m.copy() for m in body.force_memory]
    assert_same(memory, before[2:-1])
    assert_same(everything(body), before)
    if error is not ValueError:
        for b in (body, undisturbed):
            b.step(0.01)
        assert_same(everything(body), everything(undisturbed))


def test_an_error_of_the_wind_changes_nothing() -> None:
    body = pair()
    body.step(0.01)
    calls = 0

    def gusty(at: np.ndarray, time: float) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise RuntimeError("calm")
        return np.ones_like(at)

    body.forces[1].set_wind(gusty)
    body.add(WindDrag(np.array([[0, 1, 2]], np.int32), coefficient=1.0, wind=gusty))
    before = everything(body)
    with pytest.raises(RuntimeError, match="calm"):
        body.step(0.01)
    assert_same(everything(body), before)


def test_a_restored_snapshot_brings_it_back() -> None:
    body = pair()
    body.step(0.01)
    body.positions[1] = body.positions[0]
    body.forces_at_nodes()
    saved, before = body.snapshot(), everything(body)
    body.step(0.05, elasticity="full-step")
    after = everything(body)
    assert any((a != b).any() for a, b in zip(before[2:-1], after[2:-1], strict=True)), "the springs have turned"
    body.restore(saved)
    assert_same(everything(body), before)
    body.step(0.05, elasticity="full-step")
    assert_same(everything(body), after)
    other = pair()
    other.restore(saved)
    other.step(0.05, elasticity="full-step")
    assert_same(everything(other), after)


@pytest.mark.parametrize("copied", [DeformableBody.copy, copy.copy, copy.deepcopy])
def test_copies_remember_for_themselves(copied: Callable[[DeformableBody], DeformableBody]) -> None:
    body = pair()
    body.step(0.01)
    other = copied(body)
    before = everything(body)
    assert_same(everything(other), before)
    other.step(0.05)
    assert_same(everything(body), before)
    body.step(0.05)
    assert_same(everything(other), everything(body))
    assert not any(a is b for a, b in zip(body.forces, other.forces, strict=True))


def test_forces_are_pickled_with_their_memory() -> None:
    body = pair()
    body.step(0.01)
    spring = body.forces[0]
    again = pickle.loads(pickle.dumps(spring))
    assert spring.memory.size == 6
    np.testing.assert_array_equal(again.memory, spring.memory)
    assert not np.shares_memory(again.memory, spring.memory)
    again.memory[...] = 0.0
    assert (spring.memory != 0).any()


def test_most_forces_remember_nothing() -> None:
    loads = PointLoads(np.array([0], np.int32), np.ones((1, 3)))
    assert loads.memory.size == 0
    body = pair()
    saved = body.snapshot()
    body.add(loads)
    body.restore(saved)
    assert len(body.force_memory) == 2


def test_a_snapshot_of_other_forces_is_refused() -> None:
    body = pair()
    saved, before = body.snapshot(), everything(body)
    body.remove(body.forces[1])
    before = everything(body)
    with pytest.raises(ValueError, match="force_memory in the snapshot must have 1 items"):
        body.restore(saved)
    assert_same(everything(body), before)


def test_forces_register_themselves() -> None:
    assert {"EdgeSprings", "TetElements", "WindDrag", "Pressure"} <= FORCES.keys()
    assert all(issubclass(kind, Force) for kind in FORCES.values())

    class Magnet(Force):
        """Of a user: no force of the package."""

    assert "Magnet" not in FORCES


class Ratchet(PointLoads):
    """Of a user: a load on node 0 that grows with the farthest way that the node has fallen, which it remembers."""

    def __init__(self) -> None:
        super().__init__(np.array([0], np.int32), np.zeros((1, 3)))
        self.farthest = np.zeros(1)

    @property
    def memory(self) -> np.ndarray:
        return self.farthest

    def prepare(self, x: np.ndarray, v: np.ndarray, time: float) -> None:
        self.farthest[0] = max(self.farthest[0], -float(x[0, 1]))
        self.loads[0] = (1.0 + 5.0 * self.farthest[0], 0.0, 0.0)


def ratchet() -> DeformableBody:
    body = pair()
    body.add(Ratchet())
    return body


def test_forces_written_in_python_remember_too() -> None:
    body = ratchet()
    for _ in range(3):
        body.step(0.05, elasticity="full-step")
    assert body.forces[2].memory[0] > 0
    saved, before = body.snapshot(), everything(body)[:-1]
    with pytest.raises(ConvergenceError):
        body.step(0.05, elasticity="full-step", **TIGHT)
    assert_same(everything(body)[:-1], before)
    for _ in range(4):
        body.step(0.05, elasticity="full-step")
    after = everything(body)
    body.restore(saved)
    assert body.forces[2].memory[0] == before[4][0] < after[4][0]
    other = ratchet()
    other.restore(saved)
    copied = body.copy()
    for b in (body, other, copied):
        for _ in range(4):
            b.step(0.05, elasticity="full-step")
        assert_same(everything(b), after)


def test_questions_change_nothing_that_is_remembered() -> None:
    from meniscus.solids import solve_velocity

    body = pair()
    body.step(0.01)
    elsewhere = np.ascontiguousarray(np.random.default_rng(3).normal(size=(3, 3)))
    memory = [m.copy() for m in body.force_memory]
    spring = body.forces[0]
    spring.differentials(elsewhere, elsewhere)
    spring.damping_forces(elsewhere, elsewhere)
    spring.diagonal(elsewhere, 1.0, 1.0)
    solve_velocity(body, 0.01, elsewhere, elastic_dt=0.01)
    body.positions[1] = (0.3, 0.4, 0.5)
    body.forces_at_nodes()
    body.limits("rk4")
    assert_same(body.force_memory, memory)


@pytest.mark.parametrize("elasticity", ["half-step", "first-half-step"])
def test_a_step_that_is_retaken_starts_from_what_was_remembered(elasticity: Any) -> None:
    """Whatever the first attempt did with it: the step is that of implicit Euler alone, to the bit."""
    body, other = pair(1e7), pair(1e7)
    for b in (body, other):
        b.remove(b.forces[1])
        b.velocities[2] = (0.0, 60.0, -20.0)
        b.step(1e-4)
        b.positions[1] = b.positions[0]
    info = body.step(0.5, elasticity=elasticity)
    assert info.retaken
    other.step(0.5, "implicit-euler", newton_tolerance=1e-4)
    assert_same(everything(body), everything(other))


@pytest.mark.parametrize("options", [{}, {"form": "velocities"}])
def test_verlet_goes_on_after_failures_and_snapshots(options: dict[str, Any]) -> None:
    body, whole = pair(), pair()
    for b in (body, whole):
        for _ in range(5):
            b.step(0.01, "verlet", **options)
    with pytest.raises(ValueError, match="finite"):
        body.step(1e200, "verlet", **options)
    with pytest.raises(ConvergenceError):
        body.step(0.01, elasticity="full-step", **TIGHT)
    saved = body.snapshot()
    body.step(0.3, "implicit-euler", newton=False)
    body.restore(saved)
    fresh = pair()
    fresh.restore(saved)
    for b in (body, whole, fresh):
        for _ in range(5):
            b.step(0.01, "verlet", **options)
    assert_same(everything(body), everything(whole))
    assert_same(everything(fresh), everything(whole))
