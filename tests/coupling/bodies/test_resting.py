"""Bodies that touch under water: what they weigh there, and that they rest."""

from __future__ import annotations

import numpy as np
import pytest
from support.fluids.floating import G, beam, pool
from support.variants import slow_but

from meniscus.coupling import FluidWorld
from meniscus.solids import RigidBody
from meniscus.surface import Pose

H = 1 / 32
SIZE = 8 * H


def force_on_floor(both: FluidWorld, dt: float) -> float:
    """Return the force that the floor holds up, N, by the impulses of contact: those of half a step, in which bodies are at its middle."""
    rigid = both.world.rigid
    contacts = rigid.contacts
    floor = [i for i, part in enumerate(rigid.parts) if part.body is None]
    up = np.where(np.isin(contacts.bodies[:, 1], floor), 1.0, 0.0) - np.where(np.isin(contacts.bodies[:, 0], floor), 1.0, 0.0)
    return float((up[:, None] * contacts.impulses).sum(axis=0).max()) / (0.5 * dt)


@pytest.mark.parametrize(("count", "density"), slow_but([(1, 2000.0), (2, 2000.0), (3, 1100.0)], (1, 2000.0), (2, 2000.0)))
def test_a_stack_on_the_floor_weighs_less_by_what_it_displaces_and_rests(count: int, density: float) -> None:
    bodies = [beam((SIZE, SIZE), density, (0.5 + 0.3 * H, (k + 0.5) * SIZE)) for k in range(count)]
    both = pool(bodies, (32, 32), H, 0.85, floor=True)
    start = [b.center for b in bodies]
    for _ in range(100):
        both.step(0.01)
    weight = sum(b.mass * G for b in bodies)
    # The lift of a stack is that of all of it; the share of each depends on the film between, half a cell of its height.
    expected = weight * (1 - 1000 / density)
    assert force_on_floor(both, 0.01) == pytest.approx(expected, abs=0.01 * weight * 1000 / density)
    for body, before in zip(bodies, start, strict=True):
        assert np.abs(body.center - before).max() < 1e-3 * H
        assert np.abs(body.velocity).max() < 1e-6
    assert both.report is not None
    assert both.report.fluid.max_speed < 1e-3


def test_a_box_sinks_to_the_floor_and_a_light_one_leaves_it() -> None:
    heavy = beam((SIZE, SIZE), 2000.0, (0.3, 0.5 * SIZE + 1.1 * H))
    light = beam((SIZE, SIZE), 500.0, (0.72, 0.5 * SIZE))
    both = pool([heavy, light], (32, 32), H, 0.7, floor=True)
    while both.time < 0.9:
        both.advance(0.05)
    assert heavy.center[1] == pytest.approx(0.5 * SIZE, abs=0.1 * H)
    assert np.abs(heavy.velocity).max() < 0.05
    assert light.center[1] > 0.5 * SIZE + 4 * H


@pytest.mark.slow
def test_crates_stack_in_space_and_rest() -> None:
    bodies = [RigidBody.box((SIZE,) * 3, 1800.0, pose=Pose((0.5 + 0.3 * H, 0.5, (k + 0.5) * SIZE))) for k in range(2)]
    both = pool(bodies, (32, 32, 32), H, 0.85, floor=True)
    for _ in range(60):
        both.step(0.01)
    assert max(np.abs(b.velocity).max() for b in bodies) < 1e-3
    weight = sum(b.mass * G for b in bodies)
    assert force_on_floor(both, 0.01) == pytest.approx(weight * (1 - 1 / 1.8), rel=0.02)
