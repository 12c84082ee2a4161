"""Systems of rigid bodies: state, threads, sleep, errors. Source: Müller et al. 2008, section 6.6."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from support.motion import random_rotation
from support.same_bits import everywhere
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import MassProperties, RigidBody, RigidFriction, RigidOptions, RigidSystem
from meniscus.surface import Box, HalfSpace, KinematicSolid, Pose, Twist


def heap(kind=RigidSystem, count=60, **options):
    """Boxes, balls and a joint that fall on each other."""
    rng = np.random.default_rng(4)
    o = RigidOptions(**options)
    system = kind(o, gravity=(0, 0, -9.81)) if kind is RigidSystem else kind(gravity=(0, 0, -9.81), rigid=o)
    system.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    bodies = []
    for k in range(count):
        place = Pose((*(0.4 * rng.uniform(-1, 1, 2)), 0.3 + 0.22 * k), random_rotation(rng))
        if k % 3 == 2:
            bodies.append(RigidBody.sphere(0.15, pose=place))
        else:
            bodies.append(RigidBody.box((0.3, 0.25, 0.2), pose=place))
        system.add(bodies[-1], friction=0.5, restitution=0.2)
    system.join(bodies[0], bodies[1], "ball", point=0.5 * (bodies[0].center + bodies[1].center))
    return system


def rows(system):
    bodies = (system.rigid if hasattr(system, "rigid") else system).bodies
    return np.array([b.state_row for b in bodies])


@pytest.mark.parametrize("substeps", slow_but([1, 3], 1))
def test_threads_and_vectors_give_the_same_bits(substeps):
    def run():
        system = heap(count=150, substeps=substeps, sleep_after=0.2)
        for _ in range(60):
            system.step(0.01)
        return [rows(system), system.contact_points]

    before = ms.num_threads()
    try:
        everywhere(run)
    finally:
        ms.set_num_threads(before)


@pytest.mark.parametrize("kind", [RigidSystem, ms.solids.World])
def test_resumed_copied_and_pickled_systems_go_on_bit_by_bit(kind):
    system = heap(kind)
    for _ in range(60):
        system.step(0.01)
    kept, other, packed = system.snapshot(), system.copy(), pickle.dumps(system)
    assert len((system.rigid if kind is not RigidSystem else system).contacts) > 20
    for _ in range(20):
        system.step(0.01)
    end = rows(system)
    for again in (other, pickle.loads(packed)):
        for _ in range(20):
            again.step(0.01)
        np.testing.assert_array_equal(rows(again), end)
    system.restore(kept)
    assert system.time == pytest.approx(0.6)
    for _ in range(20):
        system.step(0.01)
    np.testing.assert_array_equal(rows(system), end)


def test_stages_called_one_by_one_are_a_step():
    a, b = heap(), heap()
    names = []
    for _ in range(30):
        a.step(0.01, on_stage=lambda name, _: names.append(name))
        b.begin(0.01)
        b.find_contacts(0.01)
        for stage in (b.bounce, b.predict, b.solve, b.move):
            stage(0.01)
        b.end()
    assert names[:5] == ["find_contacts", "bounce", "predict", "solve", "move"]
    np.testing.assert_array_equal(rows(a), rows(b))


def test_flight_is_that_of_a_single_body():
    system = RigidSystem()
    made = [RigidBody.box((1, 2, 3), twist=Twist((1, 2, 3), (3, 0.1, 2)), gravity=(0, 0, -9.81)) for _ in range(2)]
    system.add(made[0])
    for _ in range(100):
        system.step(0.01)
        made[1].step(0.01)
    np.testing.assert_allclose(made[0].state_row, made[1].state_row, rtol=1e-11, atol=1e-9)
    np.testing.assert_array_equal(made[0].angular_momentum, made[1].angular_momentum)


def test_a_heap_keeps_its_sideways_momentum_without_ground():
    system = RigidSystem()
    rng = np.random.default_rng(2)
    for k in range(30):
        place = rng.normal(0, 0.3, 3)
        system.add(RigidBody.box((0.4, 0.3, 0.2), 100 * (k + 1), pose=Pose(tuple(place), random_rotation(rng))), restitution=0.3)
    for b in system.bodies:
        b.twist = Twist(tuple(-2 * b.center + rng.normal(size=3)), tuple(rng.normal(size=3)))

    def spin():
        return sum(np.cross(b.center, b.momentum) + b.angular_momentum for b in system.bodies)

    before, turning = system.momentum, spin()
    size = sum(np.linalg.norm(b.momentum) for b in system.bodies)
    for _ in range(20):
        info = system.step(0.005)
    assert info.contacts > 5
    np.testing.assert_allclose(system.momentum, before, rtol=0, atol=1e-13 * size)
    # Pseudo-velocities move bodies without momentum, and with them its arm.
    np.testing.assert_allclose(spin(), turning, rtol=0, atol=0.02 * size)


def test_islands_sleep_and_wake():
    system = RigidSystem(RigidOptions(sleep_after=0.5), gravity=(0, 0, -9.81))
    system.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    towers = [[system.add(RigidBody.box((1, 1, 1), pose=Pose((4.0 * t, 0, 0.5 + k))), friction=0.5) for k in range(3)] for t in range(2)]
    for _ in range(120):
        info = system.step(0.01)
    assert info.islands == 2
    assert info.asleep == 6
    still = rows(system)
    system.step(0.01)
    np.testing.assert_array_equal(rows(system), still)
    towers[0][2].twist = Twist((0.5, 0, 0), (0, 0, 0))
    info = system.step(0.01)
    assert info.asleep == 3
    ball = system.add(RigidBody.sphere(0.3, pose=Pose((4, 0, 3.4)), twist=Twist((0, 0, -2), (0, 0, 0))), friction=0.5)
    woken = False
    for _ in range(20):
        woken = woken or system.step(0.01).asleep < 3
    assert woken
    assert ball.center[2] > 3.2


def test_what_is_moved_by_hand_is_awake():
    system = RigidSystem(RigidOptions(sleep_after=0.2), gravity=(0, 0, -9.81))
    floor = system.add(RigidBody.box((10, 10, 1), motion="fixed", pose=Pose((0, 0, -0.5))))
    boxes = [system.add(RigidBody.box((1, 1, 1), pose=Pose((3.0 * k, 0, 0.5)))) for k in range(2)]
    for _ in range(60):
        info = system.step(0.01)
    assert info.asleep == 2
    boxes[0].pose = Pose((0, 0, 1.5))
    for _ in range(30):
        info = system.step(0.01)
    assert boxes[0].center[2] < 1.2
    for _ in range(100):
        info = system.step(0.01)
    assert info.asleep == 2
    floor.pose = Pose((0, 0, -1.5))
    for _ in range(30):
        system.step(0.01)
    assert max(b.center[2] for b in boxes) < 0.2


def test_bodies_on_paths_carry_others():
    system = RigidSystem(gravity=(0, 0, -9.81))

    def belt(time):
        return Pose((0.3 * time, 0, 0))

    system.add(RigidBody.box((20, 2, 0.2), motion=belt), friction=0.8)
    box = system.add(RigidBody.box((0.5, 0.5, 0.5), pose=Pose((0, 0, 0.35))), friction=0.8)
    for _ in range(100):
        system.step(0.01)
    np.testing.assert_allclose(box.velocity, [0.3, 0, 0], atol=1e-6)
    assert system.bodies[0].center[0] == pytest.approx(0.3)


def test_solids_on_paths_carry_bodies():
    """A solid that is known by its distance alone, and moves."""
    system = RigidSystem(gravity=(0, 0, -9.81))
    shape = Box((-5, -5, -1), (5, 5, 0)) | Box((-5, -5, -1), (5, -4, 0.5))
    system.add_obstacle(KinematicSolid(shape, lambda time: Pose((0.3 * time, 0, 0))), friction=0.8)
    box = system.add(RigidBody.box((0.5, 0.5, 0.5), pose=Pose((0, 0, 0.25))), friction=0.8)
    for _ in range(100):
        system.step(0.01)
    np.testing.assert_allclose(box.velocity, [0.3, 0, 0], atol=1e-5)
    assert box.center[2] == pytest.approx(0.25, abs=2e-3)


def test_forces_and_torques():
    system = RigidSystem()
    box = system.add(RigidBody.box((1, 1, 1)))
    system.forces[0], system.torques[0] = (0, 500.0, 0), (0, 0, 50.0)
    for _ in range(100):
        system.step(0.01)
    np.testing.assert_allclose(box.center, [0, 0.25, 0], atol=1e-12)
    np.testing.assert_allclose(box.velocity, [0, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(box.angular_velocity, [0, 0, 50 / (1000 / 6)], rtol=1e-12)


def test_world_of_rigid_bodies():
    world = ms.solids.World(gravity=(0, 0, -9.81))
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    box = world.add(RigidBody.box((1, 1, 1), pose=Pose((0, 0, 0.7))), friction=0.5)
    arm = world.add(RigidBody.box((1, 0.1, 0.1), pose=Pose((3.5, 0, 2))))
    joint = world.join(arm, None, "hinge", point=(3, 0, 2), axis=(0, 1, 0), limits=(-1, 1))
    infos = world.advance(1.5)
    assert world.time == pytest.approx(1.5)
    assert box.center[2] == pytest.approx(0.5, abs=2e-3)
    assert joint.place == pytest.approx(1, abs=1e-3)
    assert infos[-1].rigid.contacts == 4
    assert "2 rigid bodies, 1 joints" in repr(world)
    cloth = ms.solids.World()
    cloth.add(ms.solids.DeformableBody(ms.mesh.tet_block(1, 1, 1), density=1000))
    with pytest.raises(TypeError, match="restitution are options of other bodies, not of DeformableBody"):
        cloth.add(ms.solids.DeformableBody(ms.mesh.tet_block(1, 1, 1), density=1000), restitution=0.5)


def test_a_failed_step_changes_nothing():
    system = heap(count=6)
    system.step(0.01)
    before = rows(system)
    system.forces[2] = np.nan
    with pytest.raises(ValueError, match=r"part 2 of the system, or the force on it, is not finite"):
        system.step(0.01)
    np.testing.assert_array_equal(rows(system), before)
    assert system.time == pytest.approx(0.01)
    with pytest.raises(ValueError, match="dt must be"):
        system.step(0.0)


def test_errors():
    system = RigidSystem()
    with pytest.raises(ValueError, match="needs a body"):
        system.step(0.01)
    box = system.add(RigidBody.box((1, 1, 1)))
    with pytest.raises(ValueError, match="has this body already"):
        system.add(box)
    with pytest.raises(ValueError, match="needs a shape or a mesh"):
        system.add(RigidBody(properties=MassProperties.sphere(1.0)))
    with pytest.raises(ValueError, match="no closed convex surface"):
        system.add(RigidBody(ms.mesh.cloth_mesh(3, 3), shell=True), form="convex")
    with pytest.raises(ValueError, match="restitution must be from 0 to 1"):
        system.add(RigidBody.box((1, 1, 1)), restitution=1.5)
    with pytest.raises(ValueError, match="friction must not be negative"):
        system.add(RigidBody.box((1, 1, 1)), friction=-0.1)
    with pytest.raises(ValueError, match="dynamic must be at most static"):
        RigidFriction(0.3, 0.5)
    with pytest.raises(ValueError, match="needs a positive thickness"):
        system.add(RigidBody(ms.mesh.cloth_mesh(3, 3), shell=True), thickness=0.0)
    with pytest.raises(ValueError, match="push must be at most 1"):
        RigidOptions(push=2.0)
    with pytest.raises(ValueError, match="guarantee needs a thickness"):
        system.step(0.01, guarantee=True)


def test_guarantee_asks_for_a_start_without_intersections():
    system = RigidSystem()
    system.add(RigidBody.box((1, 1, 1)), thickness=0.02)
    system.add(RigidBody.box((1, 1, 1), pose=Pose((0.5, 0.5, 0.5))), thickness=0.02)
    np.testing.assert_array_equal(system.audit(), [[0, 1]])
    with pytest.raises(ValueError, match="1 pairs do, the first of parts 0 and 1"):
        system.step(0.01, guarantee=True)


def test_guarantee_cuts_what_contact_does_not_stop():
    """So few sweeps that boxes are pressed into each other; and one that would pass through in a step."""
    ends = []
    for guarantee in (False, True):
        system = RigidSystem(RigidOptions(iterations=1, warm_start=False, push=0.0, solver="sweeps"), gravity=(0, 0, -9.81))
        system.add(RigidBody.box((3, 3, 1), motion="fixed"), thickness=0.01)
        for k in range(8):
            system.add(RigidBody.box((1, 1, 1), 1000 * 4**k, pose=Pose((0.01 * k, 0, 1.02 + 1.02 * k))), thickness=0.01)
        cut, worst = 0, 0
        for _ in range(100):
            info = system.step(0.02, guarantee=guarantee)
            cut += info.cut
            worst = max(worst, len(system.audit()))
            assert info.certified == guarantee
        ends.append((cut, worst))
    assert ends[0][1] > 0
    assert ends[1][0] > 0
    assert ends[1][1] == 0
