"""Rays against the surfaces of bodies, beside brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.surface import Pose
from tests.support.interaction.playground import empty_world, playground


def first_hit(world: Any, origin: Any, direction: Any) -> tuple[float, str]:
    """The nearest triangle that a ray meets, by Cramer's rule for each."""
    best = (np.inf, "")
    for name in world.interaction.bodies:
        s = world.interaction.surface(name)
        a, b, c = (s.vertices[s.triangles[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.einsum("md,md->m", a - origin, normal) / (normal @ direction)
        x = origin + t[:, None] * direction
        inside = t > 0
        for p, q in ((a, b), (b, c), (c, a)):
            inside &= np.einsum("md,md->m", np.cross(q - p, x - p), normal) >= 0
        if inside.any():
            best = min(best, (float(t[inside].min()), name))
    return best


def test_rays_find_the_nearest_surface() -> None:
    world = playground()
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(200):
        origin = np.array([*rng.uniform(-0.5, 0.5, 2), 1.0]) if rng.random() < 0.5 else np.array([-1.0, *rng.uniform(-0.3, 0.4, 2)])
        direction = rng.uniform(-0.3, 0.3, 3) + (np.array([0, 0, -1.0]) if origin[2] == 1.0 else np.array([1.0, 0, 0]))
        unit = direction / np.linalg.norm(direction)
        distance, name = first_hit(world, origin, unit)
        handle = world.interaction.pick(origin, direction)
        if handle is None:
            assert distance == np.inf
            continue
        assert handle.name == name
        np.testing.assert_allclose(handle.position, origin + distance * unit, atol=1e-12)
        np.testing.assert_array_equal(handle.target, handle.position)
        assert handle.body is world.interaction.body(name)
        handle.release()
        found += 1
    assert 60 < found < 200
    assert not world.interaction.pulls


def test_a_pick_may_be_of_one_body_and_ends_somewhere() -> None:
    world = playground()
    origin, down = (0.12, 0.0, 1.0), (0, 0, -1)
    handle = world.interaction.pick(origin, down, body=world.rigid.bodies[1])
    assert handle is not None
    assert abs(handle.position[2] - 0.25) < 1e-12
    assert world.interaction.pick(origin, down, max_distance=0.69) is None
    assert world.interaction.pick(origin, down, max_distance=0.71) is not None
    assert world.interaction.pick((5, 5, 5), down) is None
    with pytest.raises(ValueError, match="none of this world"):
        world.interaction.pick(origin, down, body=ms.solids.RigidBody.sphere(1.0))
    with pytest.raises(ValueError, match="direction must not be zero"):
        world.interaction.pick(origin, (0, 0, 0))
    with pytest.raises(ValueError, match="no stiffness and damping"):
        world.interaction.pick(origin, down, kind="attachment", stiffness=3.0)


def test_ropes_are_picked_within_a_radius() -> None:
    rope = ms.mesh.SegmentMesh(np.array([[0.0, 0, 0], [0.5, 0, 0], [1.0, 0, 0]]), np.array([[0, 1], [1, 2]], np.int32))
    world = empty_world(ms.solids.DeformableBody(rope, density=0.1))
    assert world.interaction.pick((0.25, 0.03, 1.0), (0, 0, -1)) is None
    handle = world.interaction.pick((0.25, 0.03, 1.0), (0, 0, -1), radius=0.05)
    assert handle is not None
    np.testing.assert_allclose(handle.position, (0.25, 0, 0), atol=1e-12)


def test_surfaces_that_hang_in_a_body_are_picked() -> None:
    block = ms.mesh.tet_block(2, 2, 2, (0.4, 0.4, 0.4))
    body = ms.solids.DeformableBody(block, density=100)
    skin = ms.mesh.TriangleMesh(np.array([[0.1, 0.1, 0.3], [0.3, 0.1, 0.3], [0.2, 0.3, 0.3]]), np.array([[0, 1, 2]], np.int32))
    world = ms.solids.World()
    world.add(body, skin)
    handle = world.interaction.pick((0.2, 0.2, 1.0), (0, 0, -1))
    assert handle is not None
    np.testing.assert_allclose(handle.position, (0.2, 0.2, 0.3), atol=1e-12)
    assert world.interaction.pick((0.02, 0.02, 1.0), (0, 0, -1)) is None
    before = body.momentum()
    handle.target = (0.2, 0.2, 0.5)
    world.step(1e-3)
    np.testing.assert_allclose(body.momentum() - before, handle.impulse, rtol=1e-12, atol=1e-14)


def test_handles_stay_where_they_took_hold() -> None:
    box = ms.solids.RigidBody.box((0.2, 0.2, 0.2), pose=Pose((0, 0, 0)))
    world = empty_world(box)
    handle = world.interaction.pick((0.05, 0.02, 1.0), (0, 0, -1))
    assert handle is not None
    box.pose = Pose((1, 2, 3), (0.0, 1.0, 0.0, 0.0))
    np.testing.assert_allclose(handle.position, (1.05, 1.98, 2.9), atol=1e-12)
