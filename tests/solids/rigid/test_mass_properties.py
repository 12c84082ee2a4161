"""Mass, centre and inertia against closed forms. Source: Müller et al. 2008, section 6.1."""

from __future__ import annotations

import math

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import MassProperties, RigidBody
from meniscus.surface import Pose


def turn(seed):
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q *= np.sign(r.diagonal())
    return q * np.sign(np.linalg.det(q))


def pose(seed, shift):
    return Pose(tuple(shift), turn(seed).tolist())


def close(a, b, rel):
    assert a.mass == pytest.approx(b.mass, rel=rel)
    size = math.sqrt(np.abs(b.inertia).max() / b.mass)
    np.testing.assert_allclose(a.center, b.center, rtol=0, atol=rel * (size + np.abs(b.center).max()))
    np.testing.assert_allclose(a.inertia, b.inertia, rtol=0, atol=rel * np.abs(b.inertia).max())


def test_box_of_triangles_and_of_tetrahedra():
    size, rho = np.array([0.3, 1.1, 0.7]), 450.0
    exact = MassProperties.box(size, rho)
    m = rho * size.prod()
    np.testing.assert_allclose(np.diag(exact.inertia), m / 12 * np.array([1.1**2 + 0.49, 0.09 + 0.49, 0.09 + 1.21]), rtol=1e-15)
    close(MassProperties.of_mesh(RigidBody.box(size).mesh, rho), exact, 1e-14)
    block = ms.mesh.tet_block(2, 3, 4, size, origin=-size / 2)
    close(MassProperties.of_mesh(block, rho), exact, 1e-14)
    close(MassProperties.of_mesh(block.boundary, rho), exact, 1e-14)


@pytest.mark.parametrize("shift", [(0.2, -3.0, 1.0), (4e3, 1e3, -2e3)])
def test_a_body_somewhere_else(shift):
    size = (0.3, 1.1, 0.7)
    p = pose(4, shift)
    mesh = RigidBody.box(size).mesh
    # Coordinates of 4 km keep 1e-13 of a metre: their rounding is the error.
    close(MassProperties.of_mesh(mesh.moved(p.apply(mesh.vertices))), MassProperties.box(size).moved(p), 1e-14 * max(1, abs(shift[0]) * 10))


def test_one_tetrahedron():
    x = np.random.default_rng(1).normal(size=(4, 3))
    if np.linalg.det(x[1:] - x[0]) < 0:
        x[[0, 1]] = x[[1, 0]]
    found = MassProperties.of_mesh(ms.mesh.TetMesh(x, np.array([[0, 1, 2, 3]], np.int32)), 3.0)
    m = 3.0 * np.linalg.det(x[1:] - x[0]) / 6
    assert found.mass == pytest.approx(m, rel=1e-14)
    np.testing.assert_allclose(found.center, x.mean(0), rtol=1e-14)
    # Quadrature of degree two with four points.
    a, b = (5 + 3 * math.sqrt(5)) / 20, (5 - math.sqrt(5)) / 20
    points = (b * np.ones((4, 4)) + (a - b) * np.eye(4)) @ x
    close(found, MassProperties.of_points(points, m / 4), 1e-14)


@pytest.mark.parametrize("shell", [False, True])
def test_spheres_converge_with_second_order(shell):
    exact = MassProperties.sphere(0.7, 20.0, shell=shell)
    assert np.diag(exact.inertia) == pytest.approx((2 / 3 if shell else 2 / 5) * exact.mass * 0.49)
    errors = []
    for levels in (2, 3, 4, 5):
        found = MassProperties.of_mesh(ms.mesh.icosphere(levels, 0.7), 20.0, shell=shell)
        assert abs(found.inertia - found.inertia[0, 0] * np.eye(3)).max() < 1e-13 * found.inertia[0, 0]
        errors.append(1 - found.inertia[0, 0] / exact.inertia[0, 0])
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2, atol=0.05)
    assert 0 < errors[-1] < 2e-3


def test_rods_and_plates():
    rod = ms.mesh.SegmentMesh(np.array([[0, 0, 0], [0.5, 0, 0], [2.0, 0, 0]]), np.array([[0, 1], [1, 2]], np.int32))
    found = MassProperties.of_mesh(rod, 1.5)
    assert found.mass == pytest.approx(3)
    np.testing.assert_allclose(found.inertia, np.diag([0, 1, 1]) * 3 * 4 / 12, atol=1e-15)
    with pytest.raises(ValueError, match="no inertia about some axis"):
        found.inverse_inertia()
    plate = MassProperties.of_mesh(ms.mesh.cloth_mesh(5, 4, (2.0, 1.0)), 3.0, shell=True)
    np.testing.assert_allclose(plate.inertia, 6 / 12 * np.diag([1, 4, 5]), atol=1e-14)
    np.testing.assert_allclose(plate.center, [1, 0.5, 0], atol=1e-15)


def test_capsule():
    r, h = 0.3, 0.8
    exact = MassProperties.capsule(r, h)
    points = np.random.default_rng(2).uniform([-r, -r, -h / 2 - r], [r, r, h / 2 + r], (400_000, 3))
    inside = points[ms.surface.Capsule((0, 0, -h / 2), (0, 0, h / 2), r).signed_distance(points) <= 0]
    volume = len(inside) / len(points) * (2 * r) ** 2 * (h + 2 * r)
    sampled = MassProperties.of_points(np.ascontiguousarray(inside), 1000 * volume / len(inside))
    assert exact.mass == pytest.approx(sampled.mass, rel=3e-3)
    np.testing.assert_allclose(exact.inertia.diagonal(), sampled.inertia.diagonal(), rtol=8e-3)
    assert MassProperties.capsule(r, 1e-9).inertia[0, 0] == pytest.approx(MassProperties.sphere(r).inertia[0, 0], rel=1e-8)


def test_compounds():
    """Two halves of a box make the box, wherever they come from."""
    whole, half = MassProperties.box((2, 1, 1)), MassProperties.box((1, 1, 1))
    close(MassProperties.joined([half.moved(Pose((-0.5, 0, 0))), half.moved(Pose((0.5, 0, 0)))]), whole, 1e-15)
    p = pose(9, (3, 2, 1))
    close(MassProperties.joined([half.moved(Pose((-0.5, 0, 0))).moved(p), half.moved(Pose((0.5, 0, 0))).moved(p)]), whole.moved(p), 1e-14)
    moments, axes = whole.moved(p).principal()
    np.testing.assert_allclose(moments, np.sort(whole.inertia.diagonal()), rtol=1e-14)
    np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, whole.moved(p).inertia, rtol=0, atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1)


def test_kinetic_energy_is_that_of_the_particles():
    rng = np.random.default_rng(8)
    x, m = rng.normal(size=(40, 3)), rng.random(40)
    properties = MassProperties.of_points(x, m)
    body = RigidBody(properties=properties, pose=pose(3, (1, 2, 3)), twist=ms.surface.Twist((0.3, 1, -2), (2, -1, 0.5)))
    v = body.velocities(body.positions(x))
    assert body.kinetic_energy == pytest.approx(0.5 * (m * (v**2).sum(1)).sum(), rel=1e-14)
    np.testing.assert_allclose(body.momentum, m @ v, rtol=1e-13)
    r = body.positions(x) - body.center
    np.testing.assert_allclose(body.angular_momentum, (m[:, None] * np.cross(r, v)).sum(0), rtol=1e-13)


def test_errors():
    sheet = ms.mesh.cloth_mesh(3, 3)
    with pytest.raises(ValueError, match="must be closed, but has 1 hole with 12 boundary edges"):
        MassProperties.of_mesh(sheet)
    ball = ms.mesh.icosphere(1)
    with pytest.raises(ValueError, match="inside out"):
        MassProperties.of_mesh(ms.mesh.TriangleMesh(ball.vertices, np.ascontiguousarray(ball.triangles[:, ::-1])))
    with pytest.raises(ValueError, match="no body has the moments of inertia"):
        MassProperties(1.0, np.zeros(3), np.diag([1.0, 1, 3]))
    with pytest.raises(ValueError, match="must be finite"):
        MassProperties(1.0, np.zeros(3), np.diag([1.0, 1, np.nan]))
    with pytest.raises(ValueError, match="no inertia about some axis"):
        RigidBody(properties=MassProperties.of_points(np.ones((3, 3)), 1.0))


def test_printed_center_of_mass():
    """As printed, the sum of places over the mass, without the masses of the points (erratum 25)."""
    x, m = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]]), np.array([1.0, 5.0, 1.0, 3.0])
    printed = x.sum(axis=0) / m.sum()
    found = MassProperties.of_points(x, m)
    np.testing.assert_allclose(found.center, [0.5, 0.2, 0.9], rtol=1e-15)
    assert np.abs(printed - found.center).max() > 0.5
    # Only about the right one does a spin about any axis carry no momentum.
    for center, zero in ((found.center, True), (printed, False)):
        momentum = (m[:, None] * np.cross([0.3, 0.5, -1.0], x - center)).sum(axis=0)
        assert (np.abs(momentum).max() < 1e-14) == zero
