"""Handles: the implicit spring in closed form, limits, accounts of momentum, and stiffness without bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.surface import Pose
from tests.support.interaction.playground import DT, empty_world, playground


def ball() -> Any:
    return ms.solids.RigidBody.sphere(0.1, density=500)


def held_ball(**options: Any) -> tuple[Any, Any, Any]:
    body = ball()
    world = empty_world(body)
    handle = world.interaction.pick((0, 0, 1), (0, 0, -1), **options)
    assert handle is not None
    return world, body, handle


@pytest.mark.parametrize(("stiffness", "damping"), [(100.0, 0.0), (300.0, 5.0), (2000.0, 80.0), (1e12, 0.0), (1e9, 1e5), (0.0, 3.0)])
def test_a_handle_is_the_implicit_damped_oscillator(stiffness: float, damping: float) -> None:
    """Along the line through the centre a ball is a mass on a spring: both eigenvalues of the scheme, power by power."""
    world, body, handle = held_ball(stiffness=stiffness, damping=damping, max_force=np.inf, max_speed=np.inf)
    handle.target = (0, 0, 0.15)
    m, dt = body.mass, 0.004
    body.momentum[2] = 0.3 * m
    a = 1 / (1 + (dt**2 * stiffness + dt * damping) / m)
    step = np.array([[1 - dt * a * dt * stiffness / m, dt * a], [-a * dt * stiffness / m, a]])
    state = np.array([body.center[2] - 0.05, 0.3])
    scale = max(1.0, 0.05 / dt)
    for _ in range(60):
        world.step(dt)
        state = step @ state
        assert abs(body.center[2] - 0.05 - state[0]) < 1e-12
        assert abs(body.velocity[2] - state[1]) < 1e-11 * scale


@pytest.mark.slow
def test_a_critically_damped_handle_converges_within_its_time_constant() -> None:
    """The default follows with the time constant of 0.1 s: what is left of the way is (1 + t/T) exp(-t/T), to first order."""
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        world, body, handle = held_ball()
        handle.target = (0, 0, 0.2)
        for _ in range(round(0.5 / dt)):
            world.step(dt)
        left = (0.1 - body.center[2]) / 0.1
        errors.append(abs(left - 6 * np.exp(-5)))
    assert errors[2] < 0.003
    assert 1.8 < errors[0] / errors[1] < 2.2
    assert 1.8 < errors[1] / errors[2] < 2.2


def test_a_stiff_handle_is_there_after_one_step() -> None:
    for options in ({"kind": "attachment"}, {"stiffness": 1e15, "damping": 0.0}):
        world, body, handle = held_ball(max_force=np.inf, **options)
        handle.target = (0, 0, 0.12)
        world.step(0.01)
        np.testing.assert_allclose(handle.position, (0, 0, 0.12), atol=1e-10)
        world.step(0.01)
        np.testing.assert_allclose(body.velocity, 0, atol=1e-8)


def test_the_force_is_at_most_the_largest() -> None:
    world, body, handle = held_ball(max_force=3.0, stiffness=1e12)
    handle.target = (0.3, 0.4, 10)
    for _ in range(20):
        before = body.momentum.copy()
        world.step(0.01)
        assert np.linalg.norm(handle.force) <= 3.0 * (1 + 1e-14)
        assert abs(np.linalg.norm(body.momentum - before) - 0.03) < 1e-12
    assert world.report.pulls.largest_force <= 3.0 * (1 + 1e-14)


@pytest.mark.parametrize("stiffness", slow_but([None, 1e9, 1e12], None, 1e12))
def test_the_account_of_momentum_has_the_handles(stiffness: float | None) -> None:
    """Without gravity and obstacles, what all bodies have is what they had and what the hands gave, to rounding."""
    block = ms.mesh.tet_block(2, 2, 2, (0.3, 0.3, 0.3), origin=(0, 0, 0.5))
    jelly = ms.solids.DeformableBody(block, density=300)
    jelly.add(ms.solids.TetElements(block, youngs_modulus=1e4, poissons_ratio=0.3, damping=0.01))
    box = ms.solids.RigidBody.box((0.2, 0.2, 0.2), density=300, pose=Pose((0.15, 0.15, 0.2)))
    world = empty_world(jelly, box, elasticity="full-step", tolerance=1e-13)
    damping = None if stiffness is None else 0.0
    handles = [world.interaction.pick((0.1, 0.1, z), (0, 0, s), stiffness=stiffness, damping=damping) for z, s in ((2.0, -1), (-2.0, 1))]
    assert [h.name for h in handles if h is not None] == ["bodies[0]", "rigid[0]"]
    world.interaction.attach(box, jelly, (0.15, 0.15, 0.4))
    rng = np.random.default_rng(2)
    most = 0.0
    for k in range(60):
        for handle in handles:
            assert handle is not None
            handle.target = rng.uniform(-0.1, 0.1, 3) + handle.position
        world.step(2e-3)
        if k == 30:
            assert handles[0] is not None
            handles[0].release()
            handles = handles[1:]
        total = jelly.momentum() + box.momentum
        most = max(most, np.abs(world.interaction.impulse).max())
        assert np.abs(total - world.interaction.impulse).max() < 1e-12 * max(1.0, most)
    assert most > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("stiffness", [1e9, 1e12, 1e300])
def test_no_stiffness_and_no_target_is_too_much(stiffness: float) -> None:
    world = playground()
    rng = np.random.default_rng(4)
    handles = [
        world.interaction.pick((x, 0.03, 2), (0, 0, -1), body=body, stiffness=stiffness, damping=0.0, max_force=1e4)
        for x, body in ((0.1, world.bodies[1]), (0.11, world.rigid.bodies[1]), (-0.28, world.bodies[0]))
    ]
    for k in range(60):
        for handle in handles:
            assert handle is not None
            if k % 10 == 0:
                handle.target = rng.uniform(-0.4, 0.4, 3) + np.array([0, 0, 0.5])
        world.step(DT)
        assert world.interaction.sanity(speed_limit=400.0).bounded


def test_released_handles_let_go() -> None:
    world, body, handle = held_ball()
    handle.target = (0, 0, 1)
    world.step(0.01)
    given = handle.impulse.copy()
    handle.release()
    handle.release()
    v = body.velocity
    world.step(0.01)
    np.testing.assert_array_equal(body.velocity, v)
    np.testing.assert_array_equal(handle.impulse, given)
    assert repr(handle) == "<Handle, released>"


def test_what_is_fixed_stays() -> None:
    body = ms.solids.RigidBody.sphere(0.1, motion="fixed")
    world = empty_world(body, ball_far())
    for kind in ("spring", "attachment"):
        handle = world.interaction.pick((0, 0, 1), (0, 0, -1), kind=kind)
        assert handle is not None
        handle.target = (0, 0, 1)
        world.step(0.01)
        np.testing.assert_array_equal(body.center, 0)
    assert np.isfinite(world.interaction.impulse).all()


def ball_far() -> Any:
    body = ball()
    body.pose = Pose((3, 0, 0))
    return body


def test_sleeping_bodies_wake_when_they_are_pulled() -> None:
    from tests.support.interaction.playground import rigid_world

    world = rigid_world(2, rigid=ms.solids.RigidOptions(sleep_after=0.1))
    for _ in range(60):
        info = world.step(0.01)
    assert info.rigid is not None
    assert info.rigid.asleep == 2
    handle = world.interaction.pick((0, 0, 2), (0, 0, -1))
    assert handle is not None
    handle.target = (0, 0, 1.0)
    for _ in range(60):
        world.step(0.01)
    assert world.rigid.bodies[1].center[2] > 0.7


def test_a_failed_step_undoes_what_hands_did() -> None:
    world = playground()
    handle = world.interaction.pick((0.1, 0.0, 2), (0, 0, -1))
    assert handle is not None
    handle.target = (0.1, 0.0, 0.6)
    world.step(DT)
    before = world.snapshot()

    def breaks(name: str, _: Any) -> None:
        if name == "rub":
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        world.step(DT, breaks)
    from meniscus.solids.interaction.recorder import digest

    after = world.copy()
    after.restore(before)
    assert digest(after) == digest(world)
    rigid = empty_world(ball())
    grip = rigid.interaction.pick((0, 0, 1), (0, 0, -1))
    assert grip is not None
    grip.target = (0, 0, 1)
    with pytest.raises(RuntimeError, match="no"):
        rigid.step(0.01, lambda name, _: breaks("rub", _))
    assert not rigid.rigid.bodies[0].momentum.any()
    assert not grip.impulse.any()


def test_accounts_keep_the_part_of_a_loop_that_was_taken() -> None:
    world, _, handle = held_ball()
    handle.target = (0, 0, 1)
    world.step(0.01)
    acting = world.interaction
    given, total = handle.impulse, acting.impulse
    acting.mark()
    world.step(0.01)
    more = handle.impulse - given
    # The second step was a loop of its own, with a mark: by hand, of a loop of two.
    acting._mark = {str(handle.number): given, "all": total}
    acting.take_back(0.25)
    np.testing.assert_allclose(handle.impulse, given + 0.25 * more, rtol=1e-14)
    np.testing.assert_allclose(acting.impulse, total + 0.25 * more, rtol=1e-14)


def test_targets_are_numbers() -> None:
    _, _, handle = held_ball()
    with pytest.raises(ValueError, match="target"):
        handle.target = (0, 0, np.nan)
    with pytest.raises((ValueError, TypeError)):
        handle.target = (0, 0)
