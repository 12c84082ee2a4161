"""Rigid solids on grids: level sets, velocities, images, groups."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.build import components, same_bits
from support.solids import Oracle, body, exact_velocity, images_of, quaternion, stacked, swing2, swing3, unit_grid

import meniscus as ms
from meniscus.surface import Box, Capsule, HalfSpace, KinematicSolid, Pose, SolidGroup, Sphere, Torus, Twist


@pytest.fixture
def swinging(dimension: int) -> KinematicSolid:
    return KinematicSolid(body(dimension), swing2 if dimension == 2 else swing3)


def test_sampled_everywhere_it_is_the_solid(swinging: KinematicSolid, dimension: int, dtype: type) -> None:
    grid = unit_grid(dimension)
    t = 0.37
    sample = swinging.sample(grid, t, dtype=dtype, band=np.inf)
    assert sample.time == t
    assert sample.levelset.dtype == np.float64
    assert sample.velocity.dtype == dtype
    nodes = stacked(grid.nodes())
    expected = swinging.signed_distance(nodes, t).reshape(sample.levelset.shape)
    np.testing.assert_allclose(sample.levelset.array, expected, rtol=0, atol=1e-15)
    assert (expected < 0).any()
    pose = (swing2 if dimension == 2 else swing3)(t)
    np.testing.assert_allclose(expected.ravel(), body(dimension).signed_distance(pose.to_body(nodes)), rtol=0, atol=1e-15)
    for d in range(dimension):
        faces = stacked(grid.face_centers(d))
        v = sample.velocity.component(d)
        np.testing.assert_allclose(v, exact_velocity(faces, t)[:, d].reshape(v.shape), rtol=0, atol=1e-8 if dtype == np.float64 else 2e-7)


@pytest.mark.parametrize("band", [0.02, 0.1])
def test_band(swinging: KinematicSolid, dimension: int, band: float) -> None:
    """Equal bits where the surface is near; elsewhere at least the band, at most the distance, and the right sign."""
    grid = unit_grid(dimension, 64 if dimension == 3 else 200)
    exact = swinging.sample(grid, 0.2, band=np.inf).levelset.array
    banded = swinging.sample(grid, 0.2, band=band).levelset.array
    near = np.abs(exact) <= band
    assert 0 < near.mean() < 0.5
    assert same_bits(banded[near], exact[near])
    assert (np.sign(banded) == np.sign(exact)).all()
    assert (np.abs(banded[~near]) >= band).all()
    assert (np.abs(banded) <= np.abs(exact) + 1e-15).all()
    assert (banded != exact).mean() > 0.3
    calls: list[int] = []
    mesh = Oracle(calls) if dimension == 3 else None
    if mesh is not None:
        KinematicSolid(mesh).sample(grid, band=band)
        assert sum(calls) < 0.5 * exact.size


@given(band=st.floats(0.01, 0.5), center=st.tuples(st.floats(-0.5, 1.5), st.floats(-0.5, 1.5)), radius=st.floats(0.001, 0.8))
def test_band_of_circles_anywhere(band: float, center: tuple[float, float], radius: float) -> None:
    grid = ms.Grid((37, 50), 0.02)
    phi = KinematicSolid(Sphere(center, radius)).sample(grid, band=band).levelset.array
    x, y = grid.nodes()
    exact = np.hypot(x - center[0], y - center[1]) - radius
    near = np.abs(exact) < band - 1e-12
    np.testing.assert_allclose(phi[near], exact[near], rtol=0, atol=1e-14)
    assert (np.abs(phi[~near]) >= band - 1e-12).all()
    assert (np.abs(phi) <= np.abs(exact) + 1e-14).all()
    clear = np.abs(exact) > 1e-12
    assert (np.sign(phi) == np.sign(exact))[clear].all()


@pytest.mark.parametrize("time_scale", [0.05, 1.0, 30.0])
def test_rates_of_rigid_motions(dimension: int, time_scale: float) -> None:
    """The derivative of the motion against the formulas, for quick and for slow motions."""
    motion = swing2 if dimension == 2 else swing3
    solid = KinematicSolid(body(dimension), lambda t: motion(t / time_scale))
    x = np.random.default_rng(1).random((50, dimension))
    for t in (0.0, 0.3, -1.7):
        expected = exact_velocity(x, t) / time_scale
        np.testing.assert_allclose(solid.velocity(x, t * time_scale), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_stop_next_to_the_time_does_not_blur_the_velocity() -> None:
    """The differences shrink until the motion is smooth across them."""
    solid = KinematicSolid(Sphere((0.0, 0.0), 1.0), lambda t: (min(t, 1.0) * 2.0, 0.0))
    x = np.zeros((1, 2))
    np.testing.assert_allclose(solid.velocity(x, 0.99), [[2.0, 0.0]], rtol=0, atol=1e-9)
    np.testing.assert_allclose(solid.velocity(x, 1.003), [[0.0, 0.0]], rtol=0, atol=1e-9)


def test_the_level_set_is_carried_by_the_velocity(swinging: KinematicSolid, dimension: int) -> None:
    """d phi / dt + v . grad phi = 0, on the surface and off it, since the motion is rigid."""
    t, h = 0.4, 1e-5
    x = np.random.default_rng(2).random((4000, dimension))
    x = x[np.abs(swinging.signed_distance(x, t)) < 0.05]
    gradient = []
    for d in range(dimension):
        e = np.zeros(dimension)
        e[d] = h
        gradient.append((swinging.signed_distance(x + e, t) - swinging.signed_distance(x - e, t)) / (2 * h))
    rate = (swinging.signed_distance(x, t + h) - swinging.signed_distance(x, t - h)) / (2 * h)
    v = swinging.velocity(x, t)
    carried = (v * np.stack(gradient, axis=1)).sum(axis=1)
    assert len(x) > 100
    assert np.abs(rate).max() > 0.2
    # A few points lie on an edge between two parts, where phi has no derivative.
    assert np.sort(np.abs(rate + carried))[-10] < 1e-7


def test_mean_velocity_over_a_step_is_the_screw_between_the_poses(dimension: int) -> None:
    """Following the constant twist for dt carries every point of the body to where the motion has it."""
    motion = swing2 if dimension == 2 else swing3
    solid = KinematicSolid(body(dimension), motion)
    rest = np.random.default_rng(3).random((30, dimension))
    for t, dt in [(0.1, 0.4), (0.5, -0.3), (0.2, 1e-7), (0.2, 1e-3)]:
        x = motion(t).apply(rest)
        steps = 200
        for _ in range(steps):  # classic Runge-Kutta in the frozen velocity of the step
            h = dt / steps
            k1 = solid.velocity(x, t, dt)
            k2 = solid.velocity(x + 0.5 * h * k1, t, dt)
            k3 = solid.velocity(x + 0.5 * h * k2, t, dt)
            k4 = solid.velocity(x + h * k3, t, dt)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        np.testing.assert_allclose(x, motion(t + dt).apply(rest), rtol=0, atol=1e-11)
    small = solid.velocity(rest, 0.2, 1e-6)
    np.testing.assert_allclose(small, exact_velocity(rest, 0.2 + 0.5e-6), rtol=0, atol=1e-7)


def test_sampled_step_velocity_has_no_divergence(swinging: KinematicSolid, dimension: int) -> None:
    grid = unit_grid(dimension, 16)
    v = swinging.sample(grid, 0.1, 0.3).velocity
    divergence = sum(np.diff(c, axis=d) for d, c in enumerate(components(v))) / grid.spacing
    assert np.abs(divergence).max() < 1e-13
    faces = stacked(grid.face_centers(0))
    np.testing.assert_allclose(v.u.ravel(), swinging.velocity(faces, 0.1, 0.3)[:, 0], rtol=0, atol=1e-14)
    translating = KinematicSolid(Sphere((0.0,) * dimension, 0.1), lambda t: (t**2,) * dimension)
    for c in components(translating.sample(grid, 0.1, 0.3).velocity):
        np.testing.assert_allclose(c, (0.4**2 - 0.1**2) / 0.3, rtol=1e-14)


def test_a_rotating_box_against_closed_forms() -> None:
    """Half a turn of a unit square per second around its corner."""
    solid = KinematicSolid(Box((0.0, 0.0), (1.0, 1.0)), lambda t: Pose((2.0, 1.0), np.pi * t))
    x = np.array([[1.5, 1.5], [2.5, 1.5], [2.0, 2.5]])
    np.testing.assert_allclose(solid.signed_distance(x, 0.5), [-0.5, 0.5, 0.5], rtol=0, atol=1e-15)
    np.testing.assert_allclose(solid.velocity(x, 0.5), np.pi * np.array([[-0.5, -0.5], [-0.5, 0.5], [-1.5, 0.0]]), atol=1e-9)
    np.testing.assert_allclose(solid.bounds(0.5), [[1.0, 1.0], [2.0, 2.0]], atol=1e-15)
    assert solid.twist(0.5).angular == pytest.approx(np.pi, rel=1e-10)


def test_stationary_and_given_velocities(dimension: int) -> None:
    grid = unit_grid(dimension, 8)
    shape = Sphere((0.5,) * dimension, 0.2)
    for dt in (None, 0.1):
        for c in components(KinematicSolid(shape).sample(grid, 1.0, dt).velocity):
            assert not c.any()
    belt = KinematicSolid(shape, velocity=(1.0, -2.0, 3.0)[:dimension])
    for d, c in enumerate(components(belt.sample(grid, 1.0).velocity)):
        assert (c == (1.0, -2.0, 3.0)[d]).all()
    spin: Any = 2.0 if dimension == 2 else (0.0, 0.0, 2.0)
    spinning = KinematicSolid(shape, lambda t: (t,) * dimension, velocity=lambda t: Twist((t,) * dimension, spin))
    x = np.random.default_rng(4).random((5, dimension))
    for t, dt, at in [(0.5, None, 0.5), (0.5, 0.2, 0.6)]:
        expected = np.full(x.shape, at)
        expected[:, 0] -= 2.0 * (x[:, 1] - at)
        expected[:, 1] += 2.0 * (x[:, 0] - at)
        np.testing.assert_allclose(spinning.velocity(x, t, dt), expected, rtol=0, atol=1e-14)


def test_rotations_in_all_forms() -> None:
    matrix = np.array(Pose((0, 0, 0), quaternion((0, 0, 1), 0.3)).rotation)
    c, s = np.cos(0.3), np.sin(0.3)
    np.testing.assert_allclose(matrix, [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-15)
    assert Pose((0, 0), 0.3).rotation == ((c, -s), (s, c))
    assert Pose((0, 0), 0.3) == Pose([0.0, 0.0], [[c, -s], [s, c]])
    assert Pose((0, 0, 0)).rotation == ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    single = matrix.astype(np.float32)
    corrected = np.array(Pose((0, 0, 0), single).rotation)
    assert np.abs(single.T @ single - np.eye(3)).max() > 1e-9
    np.testing.assert_allclose(corrected.T @ corrected, np.eye(3), rtol=0, atol=1e-13)
    x = np.random.default_rng(1).random((4, 3))
    pose = Pose((1, 2, 3), matrix)
    np.testing.assert_allclose(pose.to_body(pose.apply(x)), x, rtol=0, atol=1e-15)


def test_functions_as_shapes(dimension: int) -> None:
    """phi need not be a distance: it is evaluated at every node."""
    motion = swing2 if dimension == 2 else swing3
    solid = KinematicSolid(lambda x: 10 * ((x**2).sum(axis=1) - 0.04), motion, dimension=dimension)
    grid = unit_grid(dimension, 12)
    sample = solid.sample(grid, 0.3, band=0.01)
    y = stacked(grid.nodes()) - motion(0.3).translation
    np.testing.assert_allclose(sample.levelset.array.ravel(), 10 * ((y**2).sum(axis=1) - 0.04), rtol=0, atol=1e-13)
    lower, upper = solid.bounds()
    assert np.isinf(lower).all()
    assert np.isinf(upper).all()
    np.testing.assert_allclose(sample.velocity.u.ravel(), exact_velocity(stacked(grid.face_centers(0)), 0.3)[:, 0], atol=1e-8)


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 8])
def test_same_bits_for_any_number_of_threads(threads: int, default_parallelism: None) -> None:
    group = SolidGroup([KinematicSolid(body(3), swing3), KinematicSolid(Torus((0.4, 0.4, 0.4), (1, 1, 0), 0.3, 0.1))])
    grid = unit_grid(3, 20, (True, False, True))

    def bits() -> list[np.ndarray]:
        s = group.sample(grid, 0.3, 0.1, dtype=np.float32)
        return [s.levelset.with_ghosts.copy(), *components(s.velocity)]

    ms.set_num_threads(1)
    plain = bits()
    ms.set_num_threads(threads)
    assert same_bits(bits(), plain)


def test_repeated_sampling_allocates_no_fields(dimension: int) -> None:
    motion = swing2 if dimension == 2 else swing3
    group = SolidGroup([KinematicSolid(body(dimension), motion), KinematicSolid(Sphere((0.2,) * dimension, 0.1))])
    grid = unit_grid(dimension, 16)
    out = group.sample(grid, 0.0)
    u, phi = out.velocity.u, out.levelset.array
    before = phi.copy()
    held = ms.core.block_allocations()
    for i in range(5):
        assert group.sample(grid, 0.1 * i, 0.1, out=out) is out
    assert ms.core.block_allocations() == held
    assert (phi != before).any()
    assert np.shares_memory(u, out.velocity.u)
    assert same_bits(phi, group.sample(grid, 0.4, 0.1).levelset.array)
    assert same_bits(u, group.sample(grid, 0.4, 0.1).velocity.u)


@pytest.mark.parametrize("axes", [(True, True), (False, True), (True, True, True), (True, False, False)])
def test_periodic_images(axes: tuple[bool, ...]) -> None:
    """The union over many images by brute force, for a solid across a side and one that is longer than the period."""
    n = len(axes)
    grid = unit_grid(n, 40 if n == 2 else 18, axes)
    nodes = stacked(grid.nodes())
    solids = [
        Capsule((0.9,) * n, (1.15, 0.8, 0.95)[:n], 0.1) - Sphere((1.0,) * n, 0.08),
        Capsule((-0.4, 0.3, 0.5)[:n], (1.3, 0.5, 0.2)[:n], 0.05),
        Sphere((2.3, -1.6, 0.5)[:n], 0.2),
    ]
    for shape in solids:
        solid = KinematicSolid(shape)
        brute = np.min([shape.signed_distance(np.ascontiguousarray(x)) for x in images_of(nodes, 3, axes)], axis=0)
        phi = solid.sample(grid, band=np.inf).levelset.array
        np.testing.assert_allclose(phi.ravel(), brute, rtol=0, atol=1e-13)
        banded = solid.sample(grid, band=0.05).levelset.array.ravel()
        near = np.abs(brute) < 0.05 - 1e-12
        np.testing.assert_allclose(banded[near], brute[near], rtol=0, atol=1e-13)
        assert (np.sign(banded) == np.sign(brute))[np.abs(brute) > 1e-12].all()
        for d in range(n):
            if axes[d]:
                assert same_bits(phi.take(0, d), phi.take(-1, d))
        alone = solid.sample(grid, band=np.inf, periodic_images=False).levelset.array
        inner = (slice(1, None),) * n
        np.testing.assert_allclose(alone[inner], shape.signed_distance(nodes).reshape(alone.shape)[inner], rtol=0, atol=1e-15)
        assert (alone[inner] != phi[inner]).any()


def test_unbounded_solids_are_not_repeated() -> None:
    grid = unit_grid(2, 10, True)
    floor = KinematicSolid(HalfSpace((0.0, 0.25), (0.0, 1.0)))
    phi = floor.sample(grid, band=np.inf).levelset.array
    np.testing.assert_allclose(phi[:, 1:], np.broadcast_to(grid.nodes()[1] - 0.25, phi.shape)[:, 1:], atol=1e-15)


def test_velocity_of_periodic_images() -> None:
    """A disc that spins across the corner of the domain: every face moves with the image next to it."""
    grid = unit_grid(2, 32, True)
    solid = KinematicSolid(Sphere((0.0, 0.0), 0.2), lambda t: Pose((3.0, -2.0), 2.0 * t))
    v = solid.sample(grid, 0.0).velocity
    x, y = (np.mod(c + 0.5, 1.0) - 0.5 for c in grid.face_centers(0))
    near = np.broadcast_to(np.hypot(x, y) < 0.3, v.u.shape)
    np.testing.assert_allclose(v.u[near], np.broadcast_to(-2.0 * y, v.u.shape)[near], rtol=0, atol=1e-9)
    x, y = (np.mod(c + 0.5, 1.0) - 0.5 for c in grid.face_centers(1))
    near = np.broadcast_to(np.hypot(x, y) < 0.3, v.v.shape)
    np.testing.assert_allclose(v.v[near], np.broadcast_to(2.0 * x, v.v.shape)[near], rtol=0, atol=1e-9)
    assert same_bits(v.u[0], v.u[-1])


def test_groups(dimension: int, dtype: type) -> None:
    """The union of the solids; faces and points have the velocity of the nearest."""
    one = KinematicSolid(Sphere((0.25,) + (0.5,) * (dimension - 1), 0.2), velocity=(1.0,) * dimension)
    two = KinematicSolid(Sphere((0.75,) + (0.5,) * (dimension - 1), 0.15), velocity=(2.0,) * dimension)
    three = KinematicSolid(Sphere((0.5,) * (dimension - 1) + (0.95,), 0.15), velocity=(3.0,) * dimension)
    group = SolidGroup([one, SolidGroup([two, three])])
    grid = unit_grid(dimension, 20)
    sample = group.sample(grid, 0.0, dtype=dtype)
    singles = [s.sample(grid, 0.0).levelset.array for s in (one, two, three)]
    assert same_bits(sample.levelset.array, np.min(singles, axis=0))
    for d in range(dimension):
        faces = stacked(grid.face_centers(d))
        phi = np.stack([s.signed_distance(faces) for s in (one, two, three)])
        order = np.sort(phi, axis=0)
        clear = (order[1] - order[0] > 0.1 * grid.spacing) & (order[0] < 3 * grid.spacing)
        expected = 1.0 + phi.argmin(axis=0)
        assert set(expected[clear]) == {1.0, 2.0, 3.0}
        np.testing.assert_array_equal(sample.velocity.component(d).ravel()[clear], expected[clear].astype(dtype))
        np.testing.assert_array_equal(group.velocity(faces)[:, d], expected)
        np.testing.assert_array_equal(group.signed_distance(faces), phi.min(axis=0))
    lower, upper = group.bounds()
    np.testing.assert_allclose(lower, np.min([s.bounds()[0] for s in (one, two, three)], axis=0))
    np.testing.assert_allclose(upper, np.max([s.bounds()[1] for s in (one, two, three)], axis=0))
    assert len(group.solids) == 2
