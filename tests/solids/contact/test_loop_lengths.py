"""Loops whose number of steps follows from what the loops before had to resolve."""

import pickle
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import DeformableBody, EdgeSprings, SpringOptions, World
from meniscus.solids.contact.loop.loop_lengths import next_length, whole_loops
from meniscus.solids.contact.reports import ContactInfo


def test_the_rule_halves_where_much_is_resolved_and_doubles_after_two_calm_loops() -> None:
    for trouble in ({"cuts": 1}, {"rigid_vertices": 1}, {"zone_vertices": 11}, {"impulses": 51}):
        info = ContactInfo(**trouble)  # type: ignore[arg-type]
        assert next_length(16, 1, info, 1000) == (8, 0)
        assert next_length(4, 1, info, 1000) == (4, 0)
    between = ContactInfo(impulses=20)
    assert next_length(8, 1, between, 1000) == (8, 0)
    assert next_length(8, 1, ContactInfo(zone_vertices=1), 1000) == (8, 0)
    calm = ContactInfo(impulses=4)
    assert next_length(8, 0, calm, 1000) == (8, 1)
    assert next_length(8, 1, calm, 1000) == (16, 0)
    assert next_length(16, 1, calm, 1000) == (16, 0)


@pytest.mark.parametrize("steps", [4, 7, 16])
@pytest.mark.parametrize("left", [1e-3, 1 / 24, 0.1001])
def test_whole_loops_fill_the_time_with_as_few_steps_as_the_longest_allows(left: float, steps: int) -> None:
    longest, count = 1 / 400, 0
    rest = left
    while rest > 1e-12:
        dt, n = whole_loops(rest, longest, steps)
        assert n <= steps
        assert dt <= longest * (1 + 1e-12)
        rest -= n * dt
        count += n
    assert count == int(np.ceil(left / longest - 1e-9))
    assert whole_loops(left, np.inf, steps) == (left / steps, steps)


def falling(steps_per_loop: Any = "auto") -> World:
    """Three loose sheets that fall onto each other and the ground."""
    world = World(gravity=(0, 0, -9.8), elasticity="full-step", steps_per_loop=steps_per_loop, tolerance=1e-6)
    for k in range(3):
        sheet = ms.mesh.cloth_mesh(7, 7, (0.4, 0.4), origin=(0.05 * k, 0.03 * k, 0.02 + 0.06 * k))
        body = DeformableBody(sheet, density=0.2)
        body.add(EdgeSprings(sheet, SpringOptions(stiffness=10.0, damping_fraction=0.5, masses=body.masses)))
        body.velocities[:, 2] = -2.0 * k
        world.add(body, thickness=0.005)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.4)
    return world


def test_loops_shorten_in_collisions_and_a_copy_goes_on_with_the_same_bits() -> None:
    world = falling()
    assert world.loop.loop_steps == 16
    lengths, state = [], b""
    for k in range(100):
        if k == 37:
            state = pickle.dumps(world.snapshot())
        lengths.append(world.loop.loop_steps)
        info = world.step(1 / 500)
        assert info.contact.loop_ended == (world.loop.inner_steps == 0)
    assert min(lengths) < 16
    assert len(world.audit()) == 0
    other = falling()
    for _ in range(3):
        other.step(1 / 300)
    other.restore(pickle.loads(state))
    for k in range(37, 100):
        assert other.loop.loop_steps == lengths[k]
        other.step(1 / 500)
    for a, b in zip(world.bodies, other.bodies, strict=True):
        assert np.array_equal(a.positions, b.positions)
        assert np.array_equal(a.velocities, b.velocities)


@pytest.mark.slow
@pytest.mark.parametrize("frames", [1, 6])
def test_advance_ends_exactly_and_with_a_whole_loop(frames: int) -> None:
    world = falling()
    for k in range(frames):
        infos = world.advance(0.25 / frames)
        assert world.time == pytest.approx(0.25 * (k + 1) / frames, abs=1e-15)
        assert world.loop.inner_steps == 0
        assert infos[-1].contact.loop_ended
        assert infos[-1].contact.certified


@pytest.mark.slow
def test_advance_finishes_a_loop_that_has_begun() -> None:
    world = falling()
    world.step(1e-3)
    world.step(1e-3)
    world.advance(0.1)
    assert world.time == pytest.approx(0.102, abs=1e-15)
    assert world.loop.inner_steps == 0


def test_a_number_of_steps_stays_and_other_words_are_refused() -> None:
    world = falling(4)
    for _ in range(8):
        assert world.loop.loop_steps == 4
        world.step(1 / 500)
    with pytest.raises(TypeError, match="steps_per_loop"):
        falling("many")
