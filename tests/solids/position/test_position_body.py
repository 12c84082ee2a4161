"""Position based dynamics: projections, compliance, the printed stiffness, momenta, bits. Source: Müller et al. 2008, chapter 5."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import (
    AttachmentConstraints,
    BendingConstraints,
    ClosedVolumeConstraint,
    DistanceConstraints,
    PositionBody,
    VolumeConstraints,
)


def links(n):
    return np.stack([np.arange(n), np.arange(1, n + 1)], axis=1).astype(np.int32)


def rope(n, **options):
    """A rope of n links and 1 m along x, its first node held."""
    x = np.zeros((n + 1, 3))
    x[:, 0] = np.linspace(0, 1, n + 1)
    body = PositionBody(x, masses=1.0, gravity=(0, -9.81, 0))
    body.add(DistanceConstraints(x, edges=links(n), **options))
    body.pin([0])
    return body


def length(body):
    return np.linalg.norm(np.diff(body.positions, axis=0), axis=1).sum()


def crumpled(mesh, seed=0, part=0.2):
    """Positions of a mesh with random changes of a part of the mean edge."""
    rng = np.random.default_rng(seed)
    size = np.linalg.norm(mesh.vertices[mesh.edges[:, 0]] - mesh.vertices[mesh.edges[:, 1]], axis=1).mean()
    return mesh.vertices + part * size * rng.normal(size=mesh.vertices.shape)


@pytest.mark.parametrize(
    ("n", "iterations", "k", "expected"),
    [
        (10, 1, 1, 1.123),
        (10, 5, 1, 1.023),
        (10, 20, 1, 1.0049),
        (20, 1, 1, 1.513),
        (20, 5, 1, 1.103),
        (20, 50, 1, 1.0090),
        (10, 1, 0.5, 1.395),
        (10, 20, 0.5, 1.389),
        (10, 5, 0.9, 1.117),
    ],
)
def test_stretch_of_a_rope(n, iterations, k, expected):
    """The table of the digest, whose links are in another order."""
    body = rope(n, stiffness=k)
    for _ in range(600):
        body.step(1 / 60, substeps=1, iterations=iterations, method="printed", damping=-60 * np.log(0.995))
    assert length(body) == pytest.approx(expected, rel=0.02)


def test_one_link_is_exact_after_one_projection():
    rng = np.random.default_rng(1)
    for _ in range(20):
        x = rng.normal(size=(2, 3))
        m = rng.random(2) + 0.1
        body = PositionBody(x, masses=m)
        body.add(DistanceConstraints(np.array([[0.0, 0, 0], [0, 0, 0.7]]), edges=links(1)))
        before = m @ body.positions
        body.step(1.0, substeps=1)
        assert np.linalg.norm(body.positions[0] - body.positions[1]) == pytest.approx(0.7, abs=2e-15)
        np.testing.assert_allclose(m @ body.positions, before, atol=1e-14)


def test_a_converged_step_is_one_of_implicit_euler():
    """A straight hanging chain: with compliances, the converged projections minimise the potential of implicit Euler."""
    n, stiffness = 6, 300.0
    x = np.zeros((n + 1, 3))
    x[:, 2] = -np.linspace(0, 1.2, n + 1)
    mesh = ms.mesh.SegmentMesh(x, links(n))
    masses = np.linspace(0.05, 0.12, n + 1)
    body = PositionBody(mesh, masses=masses, gravity=(0, 0, -9.81))
    body.add(DistanceConstraints(mesh, compliance=0.2 / stiffness))
    body.pin([0])
    other = ms.solids.DeformableBody(mesh, masses=masses, gravity=(0, 0, -9.81))
    other.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=stiffness, damping=0.0, masses=masses)))
    other.pin([0])
    for _ in range(5):
        body.step(0.02, substeps=1, iterations=4000)
        other.step(0.02, "implicit-euler", tolerance=1e-13, max_iterations=100)
        np.testing.assert_allclose(body.positions, other.positions, atol=1e-10)
        np.testing.assert_allclose(body.velocities, other.velocities, atol=1e-8)
    assert length(body) > 1.2 * 1.01


@pytest.mark.slow
def test_stretch_of_a_loaded_link_is_its_compliance():
    """m g times the compliance, whatever the step and the iterations; that of the printed form depends on both."""
    stretches = {"compliant": [], "printed": []}
    for method, found in stretches.items():
        for dt, iterations in ((1 / 30, 1), (1 / 60, 4), (1 / 240, 1)):
            body = rope(1, compliance=0.01, stiffness=0.5)
            body.gravity = np.array([9.81, 0, 0])
            for _ in range(round(20 / dt)):
                body.step(dt, substeps=1, iterations=iterations, method=method, damping=3.0)
            found.append(length(body) - 1)
    np.testing.assert_allclose(stretches["compliant"], 0.0981, rtol=1e-9)
    assert max(stretches["printed"]) > 1.5 * min(stretches["printed"])


@pytest.mark.parametrize("measure", ["isometric", "dihedral", "printed"])
def test_a_fold_comes_back_to_its_angle(measure):
    """Newton's method on one constraint converges at once only if its gradient is right."""
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0.4, 0.8, 0.1], [0.6, -0.9, 0.5]])
    mesh = ms.mesh.TriangleMesh(x, np.array([[0, 1, 2], [1, 0, 3]], np.int32))
    constraint = BendingConstraints(mesh, measure=measure)
    rng = np.random.default_rng(3)
    body = PositionBody(mesh, masses=rng.random(4) + 0.5)
    body.add(constraint)
    start = x + 0.1 * rng.normal(size=x.shape)
    body.positions[...] = start
    m = body.masses
    for _ in range(6):
        body.step(1.0, substeps=1)
        body.velocities[...] = 0
    again = BendingConstraints(ms.mesh.TriangleMesh(np.ascontiguousarray(body.positions), mesh.triangles), measure=measure)
    angle = {"isometric": lambda c: c.values[0, 4], "dihedral": lambda c: c.values[0, 0], "printed": lambda c: c.values[0, 0]}[measure]
    if measure == "isometric":  # its coefficients are those at rest
        k = constraint.values[0, :4]
        s = k @ body.positions
        assert 0.5 * s @ s == pytest.approx(constraint.values[0, 4], rel=1e-12)
    else:
        assert angle(again) == pytest.approx(angle(constraint), abs=1e-13)
    # Along the gradient of what neither moves nor turns: momenta stay.
    np.testing.assert_allclose(m @ body.positions, m @ start, atol=1e-13)


def test_the_signed_angle_knows_up_from_down():
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.5, -1, 0.3]])
    triangles = np.array([[0, 1, 2], [1, 0, 3]], np.int32)
    down = x * [1, 1, -1]
    for measure, back in (("dihedral", True), ("printed", False)):
        body = PositionBody(ms.mesh.TriangleMesh(x, triangles), masses=1.0)
        body.add(BendingConstraints(ms.mesh.TriangleMesh(x, triangles), measure=measure))
        body.add(DistanceConstraints(ms.mesh.TriangleMesh(x, triangles)))
        body.positions[...] = down
        for _ in range(60):
            body.step(1.0, substeps=1, iterations=4)
            body.velocities[...] = 0
        p = body.positions
        above = np.cross(p[1] - p[0], p[2] - p[0]) @ (p[3] - p[0]) > 0
        assert above == back


def test_a_flat_sheet_does_not_bend_as_printed():
    """Its gradient does not exist there: nothing happens, whereas the other measures hold the sheet up."""
    mesh = ms.mesh.cloth_mesh(8, 2, (1, 0.25))
    sags = {}
    for measure in ("isometric", "dihedral", "printed"):
        body = PositionBody(mesh, density=0.2, gravity=(0, 0, -9.81))
        body.add(DistanceConstraints(mesh))
        body.add(BendingConstraints(mesh, measure=measure))
        body.pin(np.flatnonzero(mesh.vertices[:, 0] < 0.2))
        for _ in range(60):
            body.step(1 / 60, substeps=20, damping=2.0)
        sags[measure] = -body.positions[:, 2].min()
        assert np.isfinite(body.positions).all()
    assert sags["isometric"] < 0.1
    assert sags["dihedral"] < 0.1
    flat = PositionBody(mesh, density=0.2)
    flat.add(BendingConstraints(mesh, measure="printed"))
    flat.step(1.0)
    np.testing.assert_array_equal(flat.positions, mesh.vertices)


def test_inverted_tetrahedra_turn_back():
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    mesh = ms.mesh.TetMesh(x, np.array([[0, 1, 2, 3]], np.int32))
    body = PositionBody(mesh, masses=[1.0, 2, 3, 4])
    body.add(VolumeConstraints(mesh))
    body.positions[3] = [0.1, 0.2, -0.4]
    start = body.masses @ body.positions
    for _ in range(30):
        body.step(1.0, substeps=1)
        body.velocities[...] = 0
    p = body.positions
    assert np.linalg.det(p[1:] - p[0]) / 6 == pytest.approx(1 / 6, rel=1e-12)
    np.testing.assert_allclose(body.masses @ body.positions, start, atol=1e-12)


def test_a_squeezed_block_keeps_its_volume():
    mesh = ms.mesh.tet_block(4, 4, 4, (1, 1, 1))
    body = PositionBody(mesh, density=100)
    body.add(DistanceConstraints(mesh, compliance=0.1))
    body.add(VolumeConstraints(mesh))
    # Between two plates without friction, of which the upper one comes down by half.
    for k in range(400):
        body.step(1 / 600, substeps=1, iterations=20, damping=2.0)
        z, top = body.positions[:, 2], 1 - 0.5 * min(1.0, k / 200)
        beyond = (z < 0) | (z > top)
        body.velocities[beyond, 2] = 0
        z[...] = np.clip(z, 0, top)
    moved = ms.mesh.TetMesh(np.ascontiguousarray(body.positions), mesh.tets)
    assert moved.volumes.sum() == pytest.approx(1, rel=0.01)
    assert (moved.volumes > 0).all()


def test_a_balloon_has_the_volume_of_its_pressure():
    mesh = ms.mesh.icosphere(3, 0.4)
    body = PositionBody(mesh, density=0.1)
    body.add(ClosedVolumeConstraint(mesh, pressure=1.8))
    body.velocities[...] = [0.3, 0, 0]
    start = body.momentum
    body.step(0.1, substeps=20)
    now = ms.mesh.TriangleMesh(np.ascontiguousarray(body.positions), mesh.triangles)
    assert now.volume() == pytest.approx(1.8 * mesh.volume(), rel=1e-6)
    np.testing.assert_allclose(body.momentum, start, atol=1e-12)


def test_attachments():
    x = np.zeros((2, 3))
    body = PositionBody(x, masses=[2.0, 2.0], gravity=(0, 0, -9.81))
    body.add(AttachmentConstraints([0], [[0.0, 0, 1]], compliance=0.01))
    body.add(AttachmentConstraints([1], [[1.0, 0, 0]]))
    for _ in range(400):
        body.step(0.05, substeps=4, damping=3.0)
    np.testing.assert_allclose(body.positions[0], [0, 0, 1 - 2 * 9.81 * 0.01], atol=1e-9)
    np.testing.assert_allclose(body.positions[1], [1, 0, 0], atol=1e-12)


@pytest.mark.parametrize("compression", [np.inf, 1e-2])
def test_separate_compression_and_limits(compression):
    x = np.array([[0.0, 0, 0], [1, 0, 0]])
    for start, soft in ((0.5, compression), (1.5, 0.0)):
        body = PositionBody(x, masses=1.0)
        body.add(DistanceConstraints(x, edges=links(1), compression=compression))
        body.positions[1, 0] = start
        body.step(0.1, substeps=1)
        stiff = 0.0 if soft == np.inf else 1 / (2 + soft / 0.01) * 2
        assert length(body) == pytest.approx(start + (1 - start) * stiff, abs=1e-14)
    body = PositionBody(x, masses=1.0)
    body.add(DistanceConstraints(x, edges=links(1), limits=(0.8, 1.1)))
    for start, end in ((0.5, 0.8), (0.9, 0.9), (1.05, 1.05), (2.0, 1.1)):
        body.positions[...] = x * start
        body.velocities[...] = 0
        body.step(0.1, substeps=1)
        assert length(body) == pytest.approx(end, abs=1e-14)


def test_free_fall_is_symplectic_euler():
    body = PositionBody(np.zeros((1, 3)), masses=1.0, gravity=(0, 0, -10))
    for _ in range(3):
        body.step(0.5, substeps=2)
    h, k = 0.25, 6
    assert body.velocities[0, 2] == pytest.approx(-10 * h * k)
    assert body.positions[0, 2] == pytest.approx(-10 * h * h * k * (k + 1) / 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_momenta_of_a_free_body(dtype):
    """Linear and angular momentum about the middle of the step, with unequal masses and all kinds of constraints."""
    mesh = ms.mesh.tet_block(3, 3, 3, (1, 1, 1))
    rng = np.random.default_rng(0)
    body = PositionBody(mesh, masses=rng.random(len(mesh.vertices)) + 0.2, dtype=dtype)
    surface = mesh.boundary
    body.add(DistanceConstraints(mesh, compliance=1e-4))
    body.add(BendingConstraints(surface, measure="dihedral", compliance=1e-3))
    body.add(BendingConstraints(surface, compliance=1e-3))
    body.add(VolumeConstraints(mesh))
    body.positions[...] = crumpled(mesh, part=0.1)
    body.velocities[...] = rng.normal(size=(len(body), 3))
    start = body.momentum
    for _ in range(5):
        body.step(0.02, substeps=5, iterations=2)
    # Velocities are differences of positions: rounding errors of these, over 4 ms.
    tolerance = 1e-13 if dtype == np.float64 else 2e-4
    scale = (body.masses[:, None] * np.abs(body.velocities)).sum()
    np.testing.assert_allclose(body.momentum, start, atol=tolerance * scale)


def test_rigid_damping_keeps_momenta():
    mesh = ms.mesh.tet_block(2, 2, 2)
    body = PositionBody(mesh, density=100)
    rng = np.random.default_rng(2)
    body.velocities[...] = rng.normal(size=(len(body), 3))
    m = body.masses[:, None]

    def momenta():
        return body.momentum, np.cross(body.positions, m * body.velocities).sum(axis=0)

    linear, angular = momenta()
    energy = (m * body.velocities**2).sum()
    body._damp(1.0)
    np.testing.assert_allclose(momenta()[0], linear, atol=1e-12)
    np.testing.assert_allclose(momenta()[1], angular, atol=1e-12)
    assert (m * body.velocities**2).sum() < energy
    # What is left is a rigid motion: no edge changes its length at first order.
    e = mesh.edges
    d, u = (a[e[:, 0]] - a[e[:, 1]] for a in (body.positions, body.velocities))
    np.testing.assert_allclose((d * u).sum(axis=1), 0, atol=1e-13)


def sheet(dtype=np.float64):
    mesh = ms.mesh.cloth_mesh(30, 30)
    body = PositionBody(mesh, density=0.2, gravity=(0, 0, -9.81), dtype=dtype)
    body.add(DistanceConstraints(mesh, compliance=1e-6))
    body.add(BendingConstraints(mesh, compliance=1e-2))
    body.pin([0, 30])
    body.positions[1:30] += [0, 0, 0.001]
    return body


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_give_the_same_bits(dtype):
    found, before = [], ms.num_threads()
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            body = sheet(dtype)
            for _ in range(3):
                body.step(1 / 60)
            found.append(body.nodes.tobytes() + body.velocities.tobytes())
    finally:
        ms.set_num_threads(before)
    assert len(set(found)) == 1


def test_a_violent_cloth_stays_finite_and_slows_down():
    body = sheet()
    body.gravity = np.zeros(3)
    rng = np.random.default_rng(5)
    body.velocities[1:30] = 100 * rng.normal(size=(29, 3))
    body.velocities[31:] = 100 * rng.normal(size=(len(body) - 31, 3))
    fastest = []
    for _ in range(100):
        body.step(1 / 20, substeps=2, iterations=20)
        fastest.append(np.abs(body.velocities).max())
    assert np.isfinite(body.positions).all()
    assert fastest[-1] < 60
    assert np.abs(body.positions).max() < 5


def test_release_and_errors():
    body = rope(3)
    body.move([3], lambda t: [[1.0, t, 0]])
    body.step(0.1)
    np.testing.assert_allclose(body.positions[3], [1, 0.1, 0])
    np.testing.assert_allclose(body.velocities[3], [0, 1, 0], atol=1e-12)
    body.release([0, 3])
    body.step(0.1)
    assert body.positions[0, 1] < 0
    before = body.nodes.copy()
    body.move([3], lambda t: [[np.nan, 0, 0]])
    kept = body.nodes.copy()
    with pytest.raises(ValueError, match="a path must return finite positions"):
        body.step(0.1)
    np.testing.assert_array_equal(body.nodes, kept)
    assert before.shape == kept.shape
    with pytest.raises(ValueError, match=r"limits must be ascending"):
        DistanceConstraints(ms.mesh.cloth_mesh(2, 2), limits=(1.2, 1.0))
    with pytest.raises(ValueError, match=r"compliance must be one number that is not negative, or one for each of the 16"):
        DistanceConstraints(ms.mesh.cloth_mesh(2, 2), compliance=-1.0)
    with pytest.raises(ValueError, match=r"constraint 0 has node 7, but there are 4"):
        rope(3).add(DistanceConstraints(np.zeros((9, 3)), edges=np.array([[0, 7]], np.int32)))
    with pytest.raises(ValueError, match=r"edges must hold indices from 0 to"):
        DistanceConstraints(np.zeros((9, 3)), edges=np.array([[0, 2**40]]))
    with pytest.raises(TypeError, match=r"edges must hold integers"):
        DistanceConstraints(np.zeros((9, 3)), edges=np.array([[0, 1.5]]))
    with pytest.raises(ValueError, match=r"must be closed, but has"):
        ClosedVolumeConstraint(ms.mesh.cloth_mesh(2, 2))
    with pytest.raises(ValueError, match=r"masses must be positive, but node 1"):
        PositionBody(np.zeros((2, 3)), masses=[1.0, 0.0])


@pytest.mark.parametrize("what", ["velocities", "positions", "targets", "step"])
def test_numbers_that_are_not_finite_are_refused(what):
    """The message names what and where; nothing has changed."""
    mesh = ms.mesh.tet_block(1, 1, 1)
    body = PositionBody(mesh, gravity=(0, 0, -9.81))
    body.add(DistanceConstraints(mesh))
    targets = body.add(AttachmentConstraints([2], [[0.0, 0, 0]]))
    if what == "targets":
        targets.targets[0, 1] = np.nan
    elif what != "step":
        getattr(body, what)[2, 1] = np.nan
    before = body.nodes.copy(), body.velocities.copy()
    with pytest.raises(ValueError, match="too long" if what == "step" else f"{what} must be finite, but .*node 2"):
        body.step(1e200 if what == "step" else 0.01)
    np.testing.assert_array_equal(body.nodes, before[0])
    np.testing.assert_array_equal(body.velocities, before[1])
    assert body.time == 0


def test_messages_of_wrong_arguments():
    mesh = ms.mesh.tet_block(1, 1, 1)
    body = PositionBody(mesh)
    for wrong, message in (
        (lambda: body.pin(np.ones(3, bool)), "a mask of nodes must have shape"),
        (lambda: body.step(0.01, contacts=3), "contacts must be PositionContacts"),
        (lambda: PositionBody(mesh, sleep=3), "sleep must be a speed"),
        (lambda: PositionBody(mesh, sleep=(1,)), "sleep must be a speed"),
        (lambda: PositionBody(mesh, max_speed="x"), "max_speed must be a positive number"),
        (lambda: PositionBody(mesh, masses=[1, 2]), "masses must be one number"),
        (lambda: DistanceConstraints(mesh, limits=3), "limits must hold 2 numbers"),
        (lambda: ms.solids.TetPenalty([], stiffness=1.0), "meshes must be at least one"),
        (lambda: ms.solids.ReducedBody(mesh, modes=1).step(0.01, loads=3), "loads must be a pair"),
        (lambda: ms.solids.ReducedBody(mesh, modes=1, density=np.inf), "density must be finite"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            wrong()


@pytest.mark.parametrize("how", ["assigned", "written"])
def test_new_targets_wake_a_body(how):
    mesh = ms.mesh.tet_block(1, 1, 1)
    body = PositionBody(mesh, sleep=(0.05, 0.3))
    body.add(ms.solids.ShapeMatching(mesh))
    held = body.add(AttachmentConstraints([0, 1, 2], body.positions[:3]))
    for _ in range(30):
        body.step(1 / 60)
    assert body.asleep
    goal = held.targets + 1.0
    if how == "assigned":
        held.targets = goal
    else:
        held.targets[...] = goal
    for _ in range(30):
        body.step(1 / 60)
    np.testing.assert_allclose(body.positions[:3], goal, atol=1e-3)
