"""Bodies of position based dynamics at rest stay there: sweeps as linear maps, small disturbances, a balloon on a floor."""

from __future__ import annotations

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import (
    AttachmentConstraints,
    BendingConstraints,
    ClosedVolumeConstraint,
    DistanceConstraints,
    NeoHookeanConstraints,
    PositionBody,
    PositionContacts,
    ShapeMatching,
    VolumeConstraints,
    near_clusters,
)

BLOCK = ms.mesh.tet_block(2, 2, 2, (0.5, 0.5, 0.5))
CLOTH = ms.mesh.cloth_mesh(6, 6, (0.3, 0.3))
SPHERE = ms.mesh.icosphere(1, 0.3)
KINDS = {
    "edges of tetrahedra": (BLOCK, lambda: [DistanceConstraints(BLOCK)]),
    "edges of a cloth": (CLOTH, lambda: [DistanceConstraints(CLOTH)]),
    "edges of a sphere": (SPHERE, lambda: [DistanceConstraints(SPHERE)]),
    "isometric": (SPHERE, lambda: [BendingConstraints(SPHERE)]),
    "isometric, cloth": (CLOTH, lambda: [DistanceConstraints(CLOTH), BendingConstraints(CLOTH)]),
    "dihedral": (SPHERE, lambda: [DistanceConstraints(SPHERE), BendingConstraints(SPHERE, measure="dihedral")]),
    "volumes": (BLOCK, lambda: [VolumeConstraints(BLOCK), DistanceConstraints(BLOCK)]),
    "balloon": (SPHERE, lambda: [DistanceConstraints(SPHERE), ClosedVolumeConstraint(SPHERE)]),
    "clusters": (BLOCK, lambda: [ShapeMatching(BLOCK, clusters=near_clusters(BLOCK.vertices, 0.25), motion="linear")]),
    "rigid clusters": (BLOCK, lambda: [DistanceConstraints(BLOCK), ShapeMatching(BLOCK, clusters=near_clusters(BLOCK.vertices, 0.25))]),
    "quadratic": (BLOCK, lambda: [DistanceConstraints(BLOCK), ShapeMatching(BLOCK, motion="quadratic")]),
    "attached": (CLOTH, lambda: [DistanceConstraints(CLOTH), AttachmentConstraints([0, 6], CLOTH.vertices[[0, 6]])]),
    "neo-Hookean, soft": (BLOCK, lambda: [NeoHookeanConstraints(BLOCK, youngs_modulus=1e5)]),
    "neo-Hookean, hard": (BLOCK, lambda: [NeoHookeanConstraints(BLOCK, youngs_modulus=1e12)]),
}


def body_of(kind, **options):
    mesh, make = KINDS[kind]
    body = PositionBody(mesh, masses=np.linspace(0.5, 1.5, len(mesh.vertices)), **options)
    for c in make():
        body.add(c)
    return body


@pytest.mark.parametrize("kind", ["isometric, cloth", "dihedral", "volumes", "balloon", "rigid clusters", "attached"])
@pytest.mark.parametrize("method", ["compliant", "averaged"])
def test_a_projection_is_symmetric(kind, method):
    """Near rest an iteration is a linear map P that is symmetric in the metric of masses, with eigenvalues from 0 to 1; steps
    x' = P (2 x - x before) then have factors of sqrt(p) at most, whereas those of sweeps to and fro in turn exceed 1."""
    body, h, eps = body_of(kind), 1 / 600, 1e-6
    n = 3 * len(body)
    rest = body.positions.copy()
    p = np.empty((n, n))
    for i in range(n):
        ends = []
        for sign in (1, -1):
            body.positions[...] = rest
            body.velocities[...] = 0
            body.predict(h)
            body.positions[i // 3, i % 3] += sign * eps
            body.project(h, method=method)
            ends.append(body.positions.ravel().copy())
        p[:, i] = (ends[0] - ends[1]) / (2 * eps)
    root = np.sqrt(np.repeat(body.masses, 3))
    p = root[:, None] * p / root
    assert np.abs(p - p.T).max() < 2e-5
    values = np.linalg.eigvalsh(0.5 * (p + p.T))
    # The averaged method divides by the number of constraints at a node, not at a set.
    assert values.max() < 1 + 1e-5
    assert values.min() > (-1e-5 if method == "compliant" else -1)


def require_rest(kind, dt, substeps, iterations, count):
    body = body_of(kind)
    body.positions[...] += 1e-6 * np.random.default_rng(1).normal(size=body.positions.shape)
    # Corrections of the first substep.
    most = max(1e-3, 1e-5 * substeps / dt)
    for _ in range(count // substeps):
        body.step(dt, substeps=substeps, iterations=iterations)
        assert np.abs(body.velocities).max() < most, (substeps, iterations)
    assert np.abs(body.velocities).max() < 1e-3, (substeps, iterations)


@pytest.mark.parametrize("kind", KINDS)
def test_small_disturbances_stay_small(kind):
    """One sweep to and one fro in turn made 1e-6 m to tens of m/s within 100 substeps."""
    for dt, substeps, iterations in ((1 / 60, 10, 1), (1 / 24, 1, 1), (1 / 240, 20, 2)):
        require_rest(kind, dt, substeps, iterations, 300)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dt", [1 / 24, 1 / 60, 1 / 240])
def test_small_disturbances_stay_small_for_long(kind, dt):
    for substeps in (1, 2, 5, 20):
        for iterations in (1, 2):
            require_rest(kind, dt, substeps, iterations, 1000)


@pytest.mark.slow
def test_a_balloon_does_not_roll():
    """Sweeps of one order only push nodes to one side, and friction with a floor turned that into motion."""
    mesh = ms.mesh.icosphere(2, 0.3)
    body = PositionBody(mesh, density=0.3, gravity=(0, 0, -9.81))
    body.positions[:, 2] += 0.3
    body.add(DistanceConstraints(mesh, compliance=1e-6))
    body.add(ClosedVolumeConstraint(mesh, pressure=1.1, compliance=1e-6))
    contacts = PositionContacts(body, thickness=0.01, friction=0.3)
    contacts.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    for _ in range(60):
        body.step(1 / 60, damping=5.0, contacts=contacts)
    start = body.positions.mean(axis=0)
    for _ in range(90):
        body.step(1 / 60, contacts=contacts)
    way = body.positions.mean(axis=0) - start
    print(way, np.abs(body.velocities).max())
    assert np.linalg.norm(way) < 0.01
    assert np.abs(body.momentum).max() < 0.01 * body.masses.sum()


def test_a_free_balloon_does_not_begin_to_spin():
    """Corrections one after the other have a torque, of the second order; it is taken out of each iteration."""
    mesh = ms.mesh.icosphere(1, 0.3)
    body = PositionBody(mesh, density=0.3)
    body.add(DistanceConstraints(mesh, compliance=1e-6))
    body.add(ClosedVolumeConstraint(mesh, pressure=1.1, compliance=1e-6))
    for _ in range(60):
        body.step(1 / 60)
    momentum = (body.masses[:, None] * np.cross(body.positions, body.velocities)).sum(axis=0)
    assert np.abs(momentum).max() < 0.01 * body.masses.sum() * 0.3**2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_free_body_has_the_same_bits_on_any_threads(dtype):
    """Enough nodes for several pieces of the sums that take out its turn."""
    mesh = ms.mesh.cloth_mesh(100, 100)
    found, before = [], ms.num_threads()
    try:
        for threads in (1, 2, 5):
            ms.set_num_threads(threads)
            body = PositionBody(mesh, density=0.2, dtype=dtype)
            body.add(DistanceConstraints(mesh))
            body.positions[...] += (0.002 * np.random.default_rng(0).normal(size=body.positions.shape)).astype(dtype)
            body.step(1 / 60)
            found.append(body.nodes.copy())
    finally:
        ms.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("young", slow_but([1e7, 1e9], 1e9))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stiff_neo_hookean_blocks_keep_their_place(young, dtype):
    """From round-off alone, blocks of 1e7 Pa exploded; in float32, solutions of stiff elements must not move the centre."""
    mesh = ms.mesh.tet_block(4, 4, 4, (0.5, 0.5, 0.5))
    body = PositionBody(mesh, density=1000.0, dtype=dtype)
    body.add(NeoHookeanConstraints(mesh, youngs_modulus=young))
    for _ in range(100):
        body.step(1 / 60)
    assert np.abs(body.velocities).max() < (1e-10 if dtype == np.float64 else 1e-3)
    assert np.abs(body.momentum).max() < (1e-10 if dtype == np.float64 else 1e-4) * body.masses.sum()
