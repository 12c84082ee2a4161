"""Heaps of meshes that are not convex, with and without certified ends. Source: Guendelman, Bridson and Fedkiw 2003, section 8."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from support.meshes import WATERTIGHT_FILES, real_mesh
from support.motion import random_rotation

import meniscus as ms
from meniscus.scenes.shapes import cup, ring, star
from meniscus.solids import RigidBody, RigidSystem
from meniscus.surface import HalfSpace, Pose


def heap(count, thickness):
    """Meshes of a metre in layers of four, above a floor between slopes."""
    rng = np.random.default_rng(1)
    meshes = []
    for name in WATERTIGHT_FILES:
        x, t = real_mesh(name)
        meshes.append(ms.mesh.TriangleMesh(np.ascontiguousarray((x - x.mean(axis=0)) / np.ptp(x, axis=0).max()), t))
    system = RigidSystem(gravity=(0, 0, -9.81))
    for n in ((0, 0, 1), (1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1)):
        system.add_obstacle(HalfSpace((-1.3 * n[0], -1.3 * n[1], 0), n), friction=0.5)
    for k in range(count):
        place = (1.45 * (k % 2 - 0.5), 1.45 * (k // 2 % 2 - 0.5), 0.9 + 1.45 * (k // 4))
        body = RigidBody(meshes[k % 3], density=1000, pose=Pose(place, random_rotation(rng)))
        system.add(body, friction=0.5, thickness=thickness)
    return system


@pytest.mark.slow
def test_six_meshes_do_not_intersect():
    system = heap(6, 0.02)
    contacts = 0
    for k in range(100):
        info = system.step(0.01, guarantee=True)
        assert info.certified
        contacts = max(contacts, info.contacts)
        if k % 10 == 9:
            assert not len(system.audit())
    assert contacts > 20
    assert info.blocked == 0


@pytest.mark.slow
def test_threads_and_resuming_give_the_same_bits():
    def run(threads, resume=False):
        ms.set_num_threads(threads)
        system, rng = RigidSystem(gravity=(0, 0, -9.81)), np.random.default_rng(2)
        system.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
        for k, mesh in enumerate([ring(0.33, 0.1), cup(0.4, 0.45, 0.08), star(5, 0.2, 0.48, 0.16)] * 3):
            place = (0.3 * (k % 2), 0.3 * (k // 2 % 2), 0.6 + 1.1 * k)
            system.add(RigidBody(mesh, pose=Pose(place, random_rotation(rng))), form="mesh", thickness=0.02)
        for k in range(120):
            system.step(0.01, guarantee=True)
            if resume and k == 80:
                system = pickle.loads(pickle.dumps(system))
        assert len(system.contacts) > 5
        return [b.state_row.tobytes() for b in system.bodies], system.contact_points.tobytes()

    before = ms.num_threads()
    try:
        plain = run(1)
        assert all(run(n) == plain for n in (2, 3, 5, 8))
        assert run(1, resume=True) == plain
    finally:
        ms.set_num_threads(before)


@pytest.mark.slow
def test_thirty_meshes_do_not_intersect_in_five_seconds():
    counts = []
    for guarantee in (False, True):
        system = heap(30, 0.01)
        found, cut, blocked = [], 0, 0
        for k in range(500):
            info = system.step(0.01, guarantee=guarantee)
            assert info.certified == guarantee
            cut, blocked = cut + info.cut, blocked + info.blocked
            if k % 10 == 9:
                found.append(len(system.audit()))
        counts.append((max(found), cut, blocked))
        assert max(float(np.linalg.norm(b.velocity)) for b in system.bodies) < 2.0
    assert counts[0][0] > 0
    assert counts[1][0] == 0
    # Contact does nearly all of it: of 15,000 ways.
    assert counts[1][1] < 300
    assert counts[1][2] < 30
