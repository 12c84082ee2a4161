"""Barrier energies: closed forms, derivatives, conservation, the same bits on any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.same_bits import everywhere

import meniscus as ms
from meniscus.mesh import cloth_mesh

barrier_of_pairs = ms.collision.barrier_of_pairs
TRIANGLE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def _b(d: float, h: float) -> float:
    return -((d - h) ** 2) * np.log(d / h)


@pytest.mark.parametrize(
    ("point", "squared"),
    [
        ((0.25, 0.25, 0.3), 0.09),
        ((0.5, -0.2, 0.1), 0.05),
        ((-0.1, -0.2, 0.2), 0.09),
        ((0.6, 0.6, 0.1), 0.03),
    ],
    ids=["face", "edge", "corner", "long edge"],
)
def test_energy_of_a_vertex_is_that_of_its_nearest_feature(point: tuple[float, ...], squared: float) -> None:
    found = barrier_of_pairs(np.array([[point, *TRIANGLE]]), "vertex-face", 0.4)
    assert found.value[0] == pytest.approx(_b(squared, 0.16), rel=1e-12)


def test_pairs_beyond_the_distance_have_no_energy() -> None:
    found = barrier_of_pairs(np.array([[[0.2, 0.2, 0.4], *TRIANGLE]]), "vertex-face", 0.4)
    assert found.value[0] == 0
    assert not found.gradient.any()
    assert not found.hessian.any()


def test_crossed_edges_have_the_distance_of_their_lines() -> None:
    x = np.array([[[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, -1.0, 0.2], [0.1, 1.0, 0.2]]])
    assert barrier_of_pairs(x, "edge-edge", 0.5).value[0] == pytest.approx(_b(0.04, 0.25), rel=1e-12)


def _some(kind: str, seed: int = 1, n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.5, 0.5, (n, 4, 3))
    if kind == "edge-edge":
        x[::4, 3] = x[::4, 2] + (x[::4, 1] - x[::4, 0]) + 0.01 * rng.normal(size=x[::4, 0].shape)
    return x


@pytest.mark.parametrize("kind", ["vertex-face", "edge-edge"])
def test_derivatives_are_those_of_differences(kind: Any) -> None:
    x = _some(kind)
    found = barrier_of_pairs(x, kind, 0.8, rest=x)
    step = 1e-6
    gradient, hessian = np.zeros_like(found.gradient), np.zeros_like(found.hessian)
    for k in range(12):
        ends = []
        for sign in (1.0, -1.0):
            y = x.copy()
            y.reshape(-1, 12)[:, k] += sign * step
            ends.append(barrier_of_pairs(y, kind, 0.8, rest=x))
        gradient[:, k] = (ends[0].value - ends[1].value) / (2 * step)
        hessian[:, k] = (ends[0].gradient - ends[1].gradient) / (2 * step)
    size = np.abs(found.gradient).max(axis=1).clip(1e-6)
    assert (np.abs(found.gradient - gradient).max(axis=1) / size).max() < 1e-6
    size = np.abs(found.hessian).max(axis=(1, 2)).clip(1e-6)
    off = np.abs(found.hessian - hessian).max(axis=(1, 2)) / size
    # Where the nearest feature changes within the difference, the second derivative has a jump.
    assert np.count_nonzero(off > 1e-5) <= 2
    assert np.median(off) < 1e-7


@pytest.mark.parametrize("kind", ["vertex-face", "edge-edge"])
def test_definite_curvature_is_the_exact_one_without_negative_eigenvalues(kind: Any) -> None:
    x = _some(kind, 2)
    exact = barrier_of_pairs(x, kind, 0.8).hessian
    values, vectors = np.linalg.eigh(exact)
    wanted = np.einsum("nik,nk,njk->nij", vectors, values.clip(0), vectors)
    definite = barrier_of_pairs(x, kind, 0.8, curvature="definite").hessian
    np.testing.assert_allclose(definite, wanted, rtol=0, atol=1e-11 * np.abs(exact).max())
    assert (values < -1e-3 * np.abs(values).max(axis=1)[:, None]).any()


@pytest.mark.parametrize("kind", ["vertex-face", "edge-edge"])
def test_forces_have_no_sum_and_no_torque(kind: Any) -> None:
    x = _some(kind, 3) + 5.0
    g = barrier_of_pairs(x, kind, 0.8).gradient.reshape(-1, 4, 3)
    scale = np.abs(g).max()
    assert np.abs(g.sum(axis=1)).max() < 1e-13 * scale
    assert np.abs(np.cross(x, g).sum(axis=1)).max() < 1e-12 * scale * 5


def test_mollifier_keeps_the_gradient_continuous_at_parallel_edges() -> None:
    """Edges turn through the parallel position, where the nearest points jump from one pair of ends to the other."""

    def gradients(angles: np.ndarray) -> np.ndarray:
        c, s, h = np.cos(angles), np.sin(angles), np.full_like(angles, 0.1)
        first = np.broadcast_to([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]], (len(angles), 2, 3))
        second = np.stack([np.stack([sign * c + 0.2, sign * s, h], axis=1) for sign in (-0.5, 0.5)], axis=1)
        return barrier_of_pairs(np.concatenate([first, second], axis=1), "edge-edge", 0.3).gradient

    full = np.abs(gradients(np.array([0.5]))).max()
    assert np.abs(gradients(np.array([1e-8, -1e-8]))).max() < 1e-5 * full
    # So is it at the threshold, where the squared sine is 1e-3.
    end = np.arcsin(np.sqrt(1e-3))
    below, above = gradients(np.array([end - 1e-7, end + 1e-7]))
    assert np.abs(below - above).max() < 1e-4 * full


def _two_sheets(gap: float = 0.02) -> tuple[ms.collision.CollisionMesh, np.ndarray]:
    sheet = cloth_mesh(9, 8, (1.0, 0.9))
    n = len(sheet.vertices)
    rng = np.random.default_rng(4)
    x = np.concatenate([sheet.vertices, sheet.vertices @ np.array([[0.9, 0.3, 0], [-0.3, 0.9, 0], [0, 0, 1.0]]) + [0.1, 0.02, gap]])
    x[:, 2] += 0.004 * rng.uniform(-1, 1, len(x))
    return ms.collision.CollisionMesh(None, np.concatenate([sheet.triangles, sheet.triangles + n]).astype(np.int32)), x


def test_energy_of_a_mesh_is_the_sum_over_its_pairs() -> None:
    mesh, x = _two_sheets()
    barrier = ms.collision.Barrier(mesh, x, 0.04)
    value = barrier.value(x)
    pairs = barrier.pairs()
    sums, gradient = 0.0, np.zeros_like(x)
    kinds: Any = {"vertex-face": ~pairs.edges, "edge-edge": pairs.edges}
    for kind, rows in kinds.items():
        corners = pairs.vertices[rows]
        found = barrier_of_pairs(x[corners], kind, 0.04)
        sums += found.value.sum()
        np.add.at(gradient, corners, found.gradient.reshape(-1, 4, 3))
        assert len(corners) > 50
    assert value == pytest.approx(sums, rel=1e-13)
    np.testing.assert_allclose(barrier.gradient(x), gradient, rtol=0, atol=1e-15)
    h = barrier.hessian(x)
    np.testing.assert_array_equal(h.dense(len(x)), h.dense(len(x)).T)
    rows, columns, values = h.triplets()
    full = np.zeros((3 * len(x), 3 * len(x)))
    np.add.at(full, (rows, columns), values)
    np.testing.assert_allclose(full, h.dense(len(x)), rtol=0, atol=1e-18)


def test_all_candidates_are_found() -> None:
    mesh, x = _two_sheets()
    barrier = ms.collision.Barrier(mesh, x, 0.04)
    barrier.find(x)
    near = mesh.candidates(x, x, 0.03)
    corners = np.concatenate([near.vertex_face[:, :1], mesh.triangles[near.vertex_face[:, 1]]], axis=1)
    distance = ms.collision.point_triangle_distance(x[corners[:, 0]], x[corners[:, 1:]]).distances
    assert np.count_nonzero(~barrier.pairs().edges) == np.count_nonzero(distance < 0.04)
    ends = mesh.edges[near.edge_edge]
    distance = ms.collision.edge_edge_distance(x[ends[:, 0]], x[ends[:, 1]]).distances
    assert np.count_nonzero(barrier.pairs().edges) == np.count_nonzero(distance < 0.04)
    assert barrier.min_distance <= distance.min()


def test_vertices_on_given_paths_need_a_partner_that_yields() -> None:
    mesh, x = _two_sheets()
    half = np.repeat([1.0, 0.0], len(x) // 2)
    all_pairs = ms.collision.Barrier(mesh, x, 0.04).find(x)
    assert ms.collision.Barrier(mesh, x, 0.04, nodes=half).find(x) == all_pairs
    assert ms.collision.Barrier(mesh, x, 0.04, nodes=0.0 * half).find(x) == 0


def test_what_is_near_at_rest_may_store_no_energy() -> None:
    mesh, x = _two_sheets(1.0)
    assert ms.collision.Barrier(mesh, x, 0.2).value(x) > 0
    limited = ms.collision.Barrier(mesh, x, 0.2, rest_part=0.9)
    assert limited.value(x) == 0
    nearer = x * [0.8, 0.8, 1.0]
    assert limited.value(np.ascontiguousarray(nearer)) > 0


def test_normalized_energy_is_without_a_unit() -> None:
    mesh, x = _two_sheets()
    plain = ms.collision.Barrier(mesh, x, 0.04).value(x)
    assert ms.collision.Barrier(mesh, x, 0.04, normalized=True).value(x) == pytest.approx(plain / 0.04**4, rel=1e-12)
    larger = ms.collision.Barrier(mesh, 10 * x, 0.4, normalized=True).value(10 * x)
    assert larger == pytest.approx(plain / 0.04**4, rel=1e-10)


def test_surfaces_that_touch_or_intersect_are_refused() -> None:
    mesh, x = _two_sheets(0.0)
    with pytest.raises(ValueError, match=r"must not intersect, but [0-9]+ pairs"):
        ms.collision.Barrier(mesh, x, 0.04).value(x)
    touching = ms.collision.CollisionMesh(None, np.array([[1, 2, 3]], np.int32))
    points = np.array([[0.25, 0.25, 0.0], *TRIANGLE])
    with pytest.raises(ValueError, match="must not touch, but vertex and triangle 0 and 0 do"):
        ms.collision.Barrier(touching, points, 0.1).find(points)


def test_distances_must_be_positive() -> None:
    mesh, x = _two_sheets()
    with pytest.raises(ValueError, match="activation distances must be positive"):
        ms.collision.Barrier(mesh, x, 0.0)
    with pytest.raises(ValueError, match="for each of"):
        ms.collision.Barrier(mesh, x, np.ones(3))


def test_results_have_the_same_bits_on_any_number_of_threads() -> None:
    mesh, x = _two_sheets()
    u = np.random.default_rng(5).normal(size=x.shape) * 1e-3

    def results() -> list[np.ndarray]:
        own = ms.collision.CollisionMesh(mesh.edges, mesh.triangles)
        barrier = ms.collision.Barrier(own, x, 0.04)
        found = [np.array(barrier.value(x)), barrier.gradient(x), barrier.hessian(x, "definite").blocks]
        friction = ms.collision.BarrierFriction(barrier, 0.3)
        friction.lag(x)
        return [*found, np.array(friction.value(u, 1e-3)), friction.gradient(u, 1e-3), friction.product(u, x, 1e-3)]

    everywhere(results)


def test_friction_is_the_derivative_of_its_potential() -> None:
    mesh, x = _two_sheets()
    barrier = ms.collision.Barrier(mesh, x, 0.04)
    barrier.find(x)
    friction = ms.collision.BarrierFriction(barrier, 0.3)
    assert friction.lag(x, 1e4) > 100
    rng = np.random.default_rng(6)
    u, v = rng.normal(size=(2, *x.shape)) * 1e-3
    slip, step = 1e-3, 1e-6
    change = (friction.value(u + step * v, slip) - friction.value(u - step * v, slip)) / (2 * step)
    assert change == pytest.approx(np.vdot(friction.gradient(u, slip), v), rel=1e-6)
    change = (friction.gradient(u + step * v, slip) - friction.gradient(u - step * v, slip)) / (2 * step)
    np.testing.assert_allclose(friction.product(u, v, slip), change, rtol=0, atol=1e-5 * np.abs(change).max())
    assert np.vdot(friction.product(u, v, slip), v) > 0


def test_sliding_friction_has_the_force_of_coulomb() -> None:
    x = np.array([[0.25, 0.25, 0.03], *TRIANGLE])
    barrier = ms.collision.Barrier(ms.collision.CollisionMesh(None, np.array([[1, 2, 3]], np.int32)), x, 0.04)
    normal = -barrier.gradient(x)[0, 2] * 7.0
    friction = ms.collision.BarrierFriction(barrier, np.array([0.4, 0.1, 0.1, 0.1]))
    friction.lag(x, 7.0)
    u = np.zeros_like(x)
    u[0] = (3.0, 4.0, 1.0)
    force = -friction.gradient(u, 1e-3)
    np.testing.assert_allclose(force[0], -0.2 * normal * np.array([0.6, 0.8, 0.0]), rtol=1e-12, atol=1e-18)
    assert np.abs(force.sum(axis=0)).max() < 1e-15 * normal
    u[0] = (3e-4, 4e-4, 0.0)
    part = (2 - 0.5) * 0.5
    np.testing.assert_allclose(-friction.gradient(u, 1e-3)[0], -0.2 * part * normal * np.array([0.6, 0.8, 0.0]), rtol=1e-12)


def test_displacements_of_other_surfaces_are_refused() -> None:
    mesh, x = _two_sheets()
    barrier = ms.collision.Barrier(mesh, x, 0.04)
    barrier.find(x)
    friction = ms.collision.BarrierFriction(barrier, 0.3)
    friction.lag(x)
    few = np.ascontiguousarray(x[:3])
    for call in (
        lambda: friction.value(few, 1e-3),
        lambda: friction.gradient(few, 1e-3),
        lambda: friction.product(few, x, 1e-3),
        lambda: friction.product(x, few, 1e-3),
    ):
        with pytest.raises(ValueError, match=f"the surface has {len(x)} vertices, not 3"):
            call()
    with pytest.raises(ValueError, match="positions must be finite"):
        friction.lag(np.full_like(x, np.nan))
    with pytest.raises(ValueError, match="stiffness must be positive"):
        friction.lag(x, -1.0)


def test_points_of_pairs_must_be_finite() -> None:
    points = np.array([[[0.2, 0.2, np.nan], *TRIANGLE]])
    with pytest.raises(ValueError, match="points must be finite"):
        barrier_of_pairs(points, "vertex-face", 0.1)
    with pytest.raises(TypeError, match="points must be a ndarray"):
        barrier_of_pairs(points.tolist(), "vertex-face", 0.1)
