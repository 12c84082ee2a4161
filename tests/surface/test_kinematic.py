"""Kinematic solids on grids: level sets, velocities, images, groups, meshes."""

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.build import components, same_bits

import meniscus as ms
from meniscus.surface import (
    Box,
    Capsule,
    DeformingSolid,
    Ellipsoid,
    HalfSpace,
    KinematicSolid,
    Pose,
    SolidGroup,
    SolidSample,
    Sphere,
    Torus,
    Twist,
)


def unit_grid(dimension: int, cells: int = 24, periodic: Any = False) -> ms.Grid:
    return ms.Grid((cells,) * dimension, 1.0 / cells, periodic=periodic)


def stacked(coordinates: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.stack([x.ravel() for x in np.broadcast_arrays(*coordinates)], axis=1)


def quaternion(axis: Any, angle: float) -> np.ndarray:
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.array(axis) / np.linalg.norm(axis)])


def swing2(t: float) -> Pose:
    """A pendulum that also drifts."""
    return Pose((0.5 + 0.1 * np.sin(3 * t), 0.4 + 0.2 * t), 0.8 * np.sin(2 * t))


AXIS = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])


def swing3(t: float) -> Pose:
    """The same around a fixed direction in space."""
    return Pose((0.5 + 0.1 * np.sin(3 * t), 0.4 + 0.2 * t, 0.5), quaternion(AXIS, 0.8 * np.sin(2 * t)))


def exact_velocity(x: np.ndarray, t: float) -> np.ndarray:
    """Velocity of swing2 or swing3 at points, from the formulas."""
    n = x.shape[1]
    linear = np.array([0.3 * np.cos(3 * t), 0.2, 0.0])[:n]
    c = np.array([0.5 + 0.1 * np.sin(3 * t), 0.4 + 0.2 * t, 0.5])[:n]
    rate = 1.6 * np.cos(2 * t)
    y = x - c
    if n == 2:
        return linear + rate * np.stack([-y[:, 1], y[:, 0]], axis=1)
    return linear + np.cross(rate * AXIS, y)


def body(dimension: int) -> Any:
    return Ellipsoid((0.05,) * dimension, (0.3, 0.15, 0.2)[:dimension]) - Sphere((0.1,) * dimension, 0.1)


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


def images_of(points: np.ndarray, reach: int, axes: tuple[bool, ...]) -> list[np.ndarray]:
    shifts = np.meshgrid(*[np.arange(-reach, reach + 1) if a else np.zeros(1) for a in axes])
    return [points - s for s in stacked(tuple(shifts))]


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


# --- meshes --------------------------------------------------------------------------------------------------------------------


class Closest(NamedTuple):
    triangles: np.ndarray
    barycentric: np.ndarray


def icosahedron(radius: float = 0.25, center: Any = (0.5, 0.5, 0.5)) -> tuple[np.ndarray, np.ndarray]:
    g = (1 + np.sqrt(5)) / 2
    v = np.array(
        [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g),
         (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]
    )  # fmt: skip
    t = np.array(
        [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6), (7, 1, 8),
         (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7), (9, 8, 1)],
        np.int32,
    )  # fmt: skip
    return radius * v / np.linalg.norm(v[0]) + center, t


class Oracle:
    """Distances of a convex mesh, triangle by triangle."""

    def __init__(self, calls: list[int] | None = None, vertices: Any = None, triangles: Any = None) -> None:
        start, faces = icosahedron()
        self.vertices = start if vertices is None else np.array(vertices)
        self.triangles = faces if triangles is None else triangles
        self.calls = [] if calls is None else calls

    def update(self, vertices: np.ndarray) -> None:
        self.vertices = vertices.copy()

    def closest(self, points: np.ndarray) -> Closest:
        best = np.full(len(points), np.inf)
        which, weights = np.zeros(len(points), int), np.zeros((len(points), 3))
        for i, corners in enumerate(self.vertices[self.triangles]):
            w = barycentric_of_closest(points, corners)
            d = np.linalg.norm(w @ corners - points, axis=1)
            nearer = d < best
            best[nearer], which[nearer], weights[nearer] = d[nearer], i, w[nearer]
        return Closest(which, weights)

    def signed_distance(self, points: np.ndarray) -> np.ndarray:
        self.calls.append(len(points))
        which, weights = self.closest(points)
        corners = self.vertices[self.triangles]
        d = np.linalg.norm(np.einsum("nk,nkd->nd", weights, corners[which]) - points, axis=1)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        behind = np.einsum("md,nmd->nm", normals, points[:, None] - corners[None, :, 0]) < 0
        return np.where(behind.all(axis=1), -d, d)


def barycentric_of_closest(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Of the foot of the perpendicular if it lies in the triangle, else of the closest point of an edge."""
    a, b, c = corners
    basis = np.stack([b - a, c - a], axis=1)
    v, w = np.linalg.lstsq(basis, (points - a).T, rcond=None)[0]
    inside = np.stack([1 - v - w, v, w], axis=1)
    candidates, distances = [], []
    for i in range(3):
        p, q = corners[i], corners[(i + 1) % 3]
        t = np.clip((points - p) @ (q - p) / ((q - p) @ (q - p)), 0, 1)
        weights = np.zeros((len(points), 3))
        weights[:, i], weights[:, (i + 1) % 3] = 1 - t, t
        candidates.append(weights)
        distances.append(np.linalg.norm(weights @ corners - points, axis=1))
    edges = np.stack(candidates)[np.argmin(distances, axis=0), np.arange(len(points))]
    return np.where((inside >= 0).all(axis=1)[:, None], inside, edges)


@pytest.fixture
def oracle_for_meshes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Meshes are answered by the oracle, whatever the package has."""
    monkeypatch.setattr("meniscus.surface._distance.mesh_distance", lambda v, t: Oracle([], v, t))
    monkeypatch.setattr("meniscus.surface.kinematic.mesh_distance", lambda v, t: Oracle([], v, t))


@pytest.mark.parametrize("periodic", [False, (True, False, False)])
def test_rigid_mesh(oracle_for_meshes: None, periodic: Any) -> None:
    """A mesh given as arrays or by an object, moved; blocks far from it and images agree with brute force."""
    vertices, triangles = icosahedron(0.2, (0.0, 0.0, 0.0))
    grid = unit_grid(3, 12, periodic)
    t = 0.6
    axes = grid.periodic
    nodes = stacked(grid.nodes())
    oracle = Oracle([], vertices, triangles)
    brute = np.min([oracle.signed_distance(swing3(t).to_body(x)) for x in images_of(nodes, 1, axes)], axis=0)
    for shape in ((vertices, triangles), oracle):
        solid = KinematicSolid(shape, swing3)
        phi = solid.sample(grid, t, band=np.inf).levelset.array.ravel()
        np.testing.assert_allclose(phi, brute, rtol=0, atol=1e-13)
        banded = solid.sample(grid, t, band=0.1).levelset.array.ravel()
        near = np.abs(brute) < 0.1 - 1e-12
        np.testing.assert_allclose(banded[near], brute[near], rtol=0, atol=1e-13)
        assert (np.sign(banded) == np.sign(brute)).all()
        assert (np.abs(banded[~near]) >= 0.1 - 1e-12).all()
        assert (np.abs(banded) <= np.abs(brute) + 1e-12).all()
        lower, upper = solid.bounds(t)
        moved = swing3(t).apply(vertices)
        assert (moved >= lower - 1e-15).all()
        assert (moved <= upper + 1e-15).all()
        if not periodic:
            v = solid.sample(grid, t).velocity
            np.testing.assert_allclose(v.w.ravel(), exact_velocity(stacked(grid.face_centers(2)), t)[:, 2], rtol=0, atol=1e-8)


CENTER = np.array([0.5, 0.5, 0.5])


def breathing(t: float) -> np.ndarray:
    """Swells along x, shears and drifts: a linear map of the mesh at any time."""
    v = icosahedron()[0] - CENTER
    return CENTER + v * [1 + 0.3 * np.sin(3 * t), 1, 1] + np.stack([0 * v[:, 0], 0.2 * t * v[:, 0], 0 * v[:, 0] + 0.1 * t], axis=1)


def breathing_rate(t: float) -> np.ndarray:
    v = icosahedron()[0] - CENTER
    return v * [0.9 * np.cos(3 * t), 0, 0] + np.stack([0 * v[:, 0], 0.2 * v[:, 0], 0 * v[:, 0] + 0.1], axis=1)


@pytest.mark.parametrize("given_rate", [False, True])
def test_deforming_mesh(oracle_for_meshes: None, given_rate: bool, dtype: type) -> None:
    triangles = icosahedron()[1]
    solid = KinematicSolid.deforming(breathing, triangles, breathing_rate if given_rate else None)
    assert isinstance(solid, DeformingSolid)
    grid = unit_grid(3, 16)
    t = 0.4
    sample = solid.sample(grid, t, dtype=dtype)
    oracle = Oracle([], breathing(t), triangles)
    near = 4 * grid.spacing
    nodes = stacked(grid.nodes())
    exact = oracle.signed_distance(nodes).reshape(sample.levelset.shape)
    close = np.abs(exact) < near - 1e-12
    np.testing.assert_allclose(sample.levelset.array[close], exact[close], rtol=0, atol=1e-14)
    for d in range(3):
        faces = stacked(grid.face_centers(d))
        v = sample.velocity.component(d)
        lowest = exact
        for other in range(3):
            if other != d:
                n = exact.shape[other]
                lowest = np.minimum(lowest.take(range(n - 1), other), lowest.take(range(1, n), other))
        touched = (lowest <= near).ravel()
        which, weights = oracle.closest(faces[touched])
        expected = np.einsum("nk,nk->n", weights, breathing_rate(t)[triangles[which]][:, :, d])
        np.testing.assert_allclose(v.ravel()[touched], expected, rtol=0, atol=1e-9 if dtype == np.float64 else 1e-7)
        assert 0.01 < touched.mean() < 0.9
        assert not v.ravel()[(lowest > near + 1e-9).ravel()].any()
        assert np.abs(expected).max() > 0.03
    np.testing.assert_allclose(solid.bounds(t), [breathing(t).min(axis=0), breathing(t).max(axis=0)])


def test_deforming_mesh_carries_its_level_set(oracle_for_meshes: None) -> None:
    solid = DeformingSolid(breathing, icosahedron()[1])
    t, h = 0.3, 1e-6
    v = breathing(t)[icosahedron()[1]]
    on = np.einsum("k,mkd->md", [0.5, 0.3, 0.2], v)
    normals = np.cross(v[:, 1] - v[:, 0], v[:, 2] - v[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    rate = (solid.signed_distance(on, t + h) - solid.signed_distance(on, t - h)) / (2 * h)
    assert np.abs(solid.signed_distance(on, t)).max() < 1e-15
    np.testing.assert_allclose(rate, -(solid.velocity(on, t) * normals).sum(axis=1), rtol=0, atol=1e-7)
    assert np.abs(rate).max() > 0.05
    mean = solid.velocity(on, t, 0.2)
    which, weights = Oracle([], breathing(t), icosahedron()[1]).closest(on)
    expected = np.einsum("nk,nkd->nd", weights, ((breathing(t + 0.2) - breathing(t)) / 0.2)[icosahedron()[1][which]])
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-13)


def drifting(t: float) -> np.ndarray:
    return icosahedron(0.2, (0.95, 0.5, 0.5))[0] + [t, 0.0, 0.0]


def test_deforming_mesh_across_a_periodic_side(oracle_for_meshes: None) -> None:
    solid = DeformingSolid(drifting, icosahedron()[1])
    grid = unit_grid(3, 12, (True, False, False))
    sample = solid.sample(grid, 0.1)
    assert (sample.levelset.array[:2] < 0).any()
    x = grid.face_centers(0)
    near = np.broadcast_to(np.sqrt((np.mod(x[0] - 1.05 + 0.5, 1) - 0.5) ** 2 + (x[1] - 0.5) ** 2 + (x[2] - 0.5) ** 2), (13, 12, 12)) < 0.3
    np.testing.assert_allclose(sample.velocity.u[near], 1.0, rtol=0, atol=1e-9)
    assert same_bits(sample.levelset.array[0], sample.levelset.array[-1])


# --- the rest ------------------------------------------------------------------------------------------------------------------


def test_pickling(dimension: int, oracle_for_meshes: None) -> None:
    motion = swing2 if dimension == 2 else swing3
    spin: Any = 1.0 if dimension == 2 else (1.0, 0.0, 0.0)
    solids: list[Any] = [
        KinematicSolid(body(dimension), motion),
        KinematicSolid(body(dimension), velocity=Twist((1.0,) * dimension, spin)),
        SolidGroup([KinematicSolid(body(dimension), motion, difference_step=0.1)]),
    ]
    if dimension == 3:
        solids += [KinematicSolid(icosahedron(), motion), DeformingSolid(drifting, icosahedron()[1])]
    grid = unit_grid(dimension, 8)
    for solid in solids:
        sample, again = solid.sample(grid, 0.3), pickle.loads(pickle.dumps(solid)).sample(grid, 0.3)
        assert same_bits(again.levelset.array, sample.levelset.array)
        assert same_bits(components(again.velocity), components(sample.velocity))
        stored = pickle.loads(pickle.dumps(sample))
        assert stored.time == 0.3
        assert same_bits(stored.levelset.array, sample.levelset.array)
        assert same_bits(components(stored.velocity), components(sample.velocity))
        solid.sample(grid, 0.5, out=stored)
        assert same_bits(stored.levelset.array, solid.sample(grid, 0.5).levelset.array)


def test_reprs(oracle_for_meshes: None) -> None:
    solid = KinematicSolid(Sphere((0.5, 0.5), 0.25))
    text = "KinematicSolid(Sphere(center=(0.5, 0.5), radius=0.25), motion=None, velocity=None)"
    assert repr(solid) == text
    assert repr(SolidGroup([solid])) == f"SolidGroup([{text}])"
    assert "12 vertices and 20 triangles" in repr(KinematicSolid(icosahedron()))
    assert "20 triangles" in repr(DeformingSolid(drifting, icosahedron()[1]))
    assert repr(solid.sample(unit_grid(2, 4), 0.5)).startswith("<SolidSample at time 0.5 s: <NodeField 4x4")
    assert repr(Pose((1.0, 2.0))) == "Pose(translation=(1.0, 2.0), rotation=((1.0, 0.0), (0.0, 1.0)))"


DISC, BALL = Sphere((0.0, 0.0), 1.0), Sphere((0.0, 0.0, 0.0), 1.0)
V, T = icosahedron()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: KinematicSolid(3.0), TypeError, "shape must be a Shape, a tuple"),
        (lambda: KinematicSolid(lambda x: x[:, 0]), ValueError, "dimension must be given where shape is a function"),
        (lambda: KinematicSolid(lambda x: x[:, 0], dimension=4), ValueError, "dimension must be 2 or 3"),
        (lambda: KinematicSolid(DISC, dimension=3), ValueError, "dimension must be 2 like that of the shape"),
        (lambda: KinematicSolid(DISC, (1.0, 0.0)), TypeError, "motion must be a function of time or None"),
        (lambda: KinematicSolid(DISC, velocity=(1.0, 0.0, 0.0)), ValueError, "velocity must hold 2 numbers"),
        (lambda: KinematicSolid(DISC, velocity=Twist((0, 0, 0))), ValueError, "velocity must be 2-D like the shape"),
        (lambda: KinematicSolid(DISC, difference_step=0.0), ValueError, "difference_step must be positive"),
        (lambda: KinematicSolid((V.astype(np.float32), T)), TypeError, "vertices must be of dtype float64"),
        (lambda: KinematicSolid((V[:, :2].copy(), T)), ValueError, r"vertices must have shape \(n, 3\)"),
        (lambda: KinematicSolid((V * np.nan, T)), ValueError, "vertices must be finite"),
        (lambda: KinematicSolid((V, T.astype(np.int64))), TypeError, "triangles must be of dtype int32"),
        (lambda: KinematicSolid((V, T[:0])), ValueError, r"triangles must have shape \(m, 3\) with m > 0"),
        (lambda: KinematicSolid((V, T + 1)), ValueError, "triangles must index the 12 vertices"),
        (lambda: DeformingSolid(V, T), TypeError, "vertices must be a function of time"),
        (lambda: DeformingSolid(drifting, T, V), TypeError, "velocity must be a function of time or None"),
        (lambda: DeformingSolid(lambda t: V[:, :2], T), ValueError, r"vertices must return an array of shape \(n, 3\)"),
        (lambda: DeformingSolid(lambda t: V * np.inf, T), ValueError, "the result of vertices must be finite"),
        (lambda: Pose((0.0,)), ValueError, "translation must hold 2 or 3 numbers"),
        (lambda: Pose((0.0, np.inf)), ValueError, r"translation\[1\] must be finite"),
        (lambda: Pose((0.0, 0.0), np.nan), ValueError, "rotation must be finite"),
        (lambda: Pose((0.0, 0.0), [1.0, 0.0]), ValueError, "rotation must be an angle or a 2x2 matrix"),
        (lambda: Pose((0, 0, 0), np.diag([1.0, 1.0, -1.0])), ValueError, "rotation must be an orthogonal matrix of determinant 1"),
        (lambda: Pose((0, 0, 0), 1.1 * np.eye(3)), ValueError, "rotation must be an orthogonal matrix of determinant 1"),
        (lambda: Pose((0, 0, 0), (2.0, 0, 0, 0)), ValueError, "rotation must be a quaternion .* of length 1"),
        (lambda: Twist(1.0), ValueError, "linear must hold 2 or 3 numbers"),
        (lambda: Twist((1.0, 0.0), (0, 0, 1)), TypeError, "angular must be a number"),
        (lambda: Twist((1.0, 0.0, 0.0), 1.0), TypeError, "angular must hold 3 numbers"),
        (lambda: SolidGroup([]), TypeError, "solids must be a sequence of at least one solid"),
        (lambda: SolidGroup([DISC]), TypeError, r"solids\[0\] must be a Solid"),
        (lambda: SolidGroup([KinematicSolid(DISC), KinematicSolid(BALL)]), ValueError, r"solids\[1\] must be 2-D like solids\[0\]"),
    ],
)
def test_bad_solids(make: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


GRID = unit_grid(2, 4)


@pytest.mark.parametrize(
    ("solid", "arguments", "error", "words"),
    [
        (KinematicSolid(DISC), {"grid": unit_grid(3, 2)}, ValueError, "grid must be 2-D like the solid"),
        (KinematicSolid(DISC), {"grid": None}, TypeError, "grid must be a Grid"),
        (KinematicSolid(DISC), {"time": np.nan}, ValueError, "time must be finite"),
        (KinematicSolid(DISC), {"dt": 0.0}, ValueError, "dt must not be zero"),
        (KinematicSolid(DISC), {"dt": np.inf}, ValueError, "dt must be finite"),
        (KinematicSolid(DISC), {"band": 0.0}, ValueError, "band must be positive"),
        (KinematicSolid(DISC), {"dtype": np.int32}, TypeError, "dtype must be float32 or float64"),
        (KinematicSolid(DISC), {"out": 1}, TypeError, "out must be a SolidSample"),
        (KinematicSolid(DISC), {"out": SolidSample(unit_grid(2, 5))}, ValueError, "out must be a sample on"),
        (KinematicSolid(DISC), {"out": SolidSample(GRID), "dtype": np.float32}, TypeError, "out must have a velocity of dtype float32"),
        (KinematicSolid(DISC, lambda t: 1.0), {}, TypeError, "motion must return a Pose or a translation"),
        (KinematicSolid(DISC, lambda t: (1.0, np.nan)), {}, ValueError, r"the translation that motion returns\[1\] must be finite"),
        (KinematicSolid(DISC, lambda t: (1.0, 0.0, 0.0)), {}, ValueError, "the translation that motion returns must hold 2 numbers"),
        (KinematicSolid(DISC, lambda t: Pose((0, 0, 0))), {}, ValueError, "motion must return a 2-D pose like the shape"),
        (KinematicSolid(DISC, lambda t: Pose((0, 0), np.pi * t)), {"dt": 1.0}, ValueError, "less than half a turn within dt"),
        (KinematicSolid(DISC, velocity=lambda t: (1.0,)), {}, ValueError, "what velocity returns must hold 2 numbers"),
        (KinematicSolid(DISC, velocity=lambda t: Twist((0, 0, 0))), {}, ValueError, "what velocity returns must be 2-D"),
        (KinematicSolid(lambda x: x, dimension=2), {}, ValueError, r"shape must return an array of shape \(25,\) for 25 points"),
        (KinematicSolid(lambda x: x[:, 0] * np.nan, dimension=2), {}, ValueError, "the result of shape must be finite"),
    ],
)
def test_bad_sampling(solid: KinematicSolid, arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        solid.sample(**{"grid": GRID, **arguments})


def test_a_failed_sampling_says_so_in_the_time() -> None:
    solid = KinematicSolid(lambda x: np.full(len(x), np.inf), dimension=2)
    out = KinematicSolid(DISC).sample(GRID, 0.5)
    assert out.time == 0.5
    with pytest.raises(ValueError, match="must be finite"):
        solid.sample(GRID, 0.6, out=out)
    assert np.isnan(out.time)


def test_bad_deformations_and_points(oracle_for_meshes: None) -> None:
    shrinking = DeformingSolid(lambda t: V if t == 0 else V[1:], T)
    with pytest.raises(ValueError, match=r"vertices must return an array of shape \(12, 3\), not \(11, 3\)"):
        shrinking.sample(unit_grid(3, 4), 1.0)
    wrong = DeformingSolid(drifting, T, lambda t: V[1:])
    with pytest.raises(ValueError, match=r"velocity must return an array of shape \(12, 3\)"):
        wrong.sample(unit_grid(3, 4), 1.0)
    solid = KinematicSolid(DISC)
    for call in (solid.signed_distance, solid.velocity):
        with pytest.raises(ValueError, match=r"points must have shape \(n, 2\)"):
            call(np.zeros((1, 3)))
        with pytest.raises(TypeError, match="points must be of dtype float64"):
            call(np.zeros((1, 2), np.float32))
        with pytest.raises(ValueError, match="time must be finite"):
            call(np.zeros((1, 2)), np.inf)
