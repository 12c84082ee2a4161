"""Barrier energies against those of ipctk, pair by pair and summed over meshes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.variants import slow

import meniscus as ms
from meniscus.mesh import icosphere

ipctk: Any = pytest.importorskip("ipctk")

DISTANCE = 0.1


def _near_pairs(rng: np.random.Generator, kind: str, count: int) -> np.ndarray:
    """Random pairs, the first element moved to where its centre is 0.2 to 1.5 activation distances from a point of the second."""
    x = rng.uniform(-0.5, 0.5, (count, 4, 3))
    own = 1 if kind == "vertex-face" else 2
    weights = rng.dirichlet(np.ones(4 - own), count)
    # A quarter has a corner of the second element nearest by, so that all features occur.
    weights[: count // 4] = np.eye(4 - own)[rng.integers(0, 4 - own, count // 4)]
    on_second = np.einsum("nk,nkd->nd", weights, x[:, own:])
    along = rng.uniform(0, 1, count)
    on_first = x[:, 0] if own == 1 else x[:, 0] + along[:, None] * (x[:, 1] - x[:, 0])
    away = rng.normal(size=(count, 3))
    away *= (DISTANCE * rng.uniform(0.2, 1.5, count) / np.linalg.norm(away, axis=1))[:, None]
    x[:, :own] += (on_second + away - on_first)[:, None]
    if kind == "edge-edge":
        # A fifth nearly parallel, where the mollifier acts.
        n = count // 5
        x[-n:, 3] = x[-n:, 2] + (x[-n:, 1] - x[-n:, 0]) * rng.uniform(0.5, 1.5, (n, 1)) + 0.01 * rng.normal(size=(n, 3))
    return x


def _theirs(potential: Any, kind: str, x: np.ndarray, projected: Any) -> tuple[float, np.ndarray, np.ndarray]:
    edges = np.array([[0, 1], [2, 3]], np.int32) if kind == "edge-edge" else np.array([[1, 2], [2, 3], [3, 1]], np.int32)
    faces = np.array([[1, 2, 3]], np.int32) if kind == "vertex-face" else np.zeros((0, 3), np.int32)
    mesh = ipctk.CollisionMesh(x, edges, faces)
    candidates = ipctk.Candidates()
    if kind == "edge-edge":
        candidates.ee_candidates = [ipctk.EdgeEdgeCandidate(0, 1)]
    else:
        candidates.fv_candidates = [ipctk.FaceVertexCandidate(0, 0)]
    collisions = ipctk.NormalCollisions()
    collisions.build(candidates, mesh, x, DISTANCE)
    gradient = potential.gradient(collisions, mesh, x)
    return potential(collisions, mesh, x), gradient, potential.hessian(collisions, mesh, x, projected).toarray()


@pytest.mark.parametrize("count", [1000, slow(10_000)])
@pytest.mark.parametrize("kind", ["vertex-face", "edge-edge"])
def test_pairs_have_the_energies_and_derivatives_of_ipctk(kind: Any, count: int) -> None:
    x = _near_pairs(np.random.default_rng(3), kind, count)
    exact = ms.collision.barrier_of_pairs(x, kind, DISTANCE)
    definite = ms.collision.barrier_of_pairs(x, kind, DISTANCE, curvature="definite")
    potential = ipctk.BarrierPotential(DISTANCE, 1.0)
    assert np.count_nonzero(exact.value) > 0.5 * count
    worst = np.zeros(4)
    for i in range(count):
        value, gradient, hessian = _theirs(potential, kind, x[i], ipctk.PSDProjectionMethod.NONE)
        errors = (
            abs(exact.value[i] - value) / max(abs(value), 1e-300),
            np.abs(exact.gradient[i] - gradient).max() / max(np.abs(gradient).max(), 1e-300),
            np.abs(exact.hessian[i] - hessian).max() / max(np.abs(hessian).max(), 1e-300),
            np.abs(definite.hessian[i] - _theirs(potential, kind, x[i], ipctk.PSDProjectionMethod.CLAMP)[2]).max()
            / max(np.abs(hessian).max(), 1e-300),
        )
        worst = np.maximum(worst, errors if value > 0 else (abs(exact.value[i]), 0.0, 0.0, 0.0))
    assert (worst < 1e-8).all(), worst


def test_meshes_have_the_energies_and_derivatives_of_ipctk() -> None:
    ball = icosphere(2, 0.5)
    n = len(ball.vertices)
    x = np.concatenate([ball.vertices, ball.vertices @ np.diag([1.0, 0.9, 1.1]) + [0.02, 0.97, 0.01]])
    triangles = np.concatenate([ball.triangles, ball.triangles + n]).astype(np.int32)
    edges = ms.collision.CollisionMesh(None, triangles).edges
    ours = ms.collision.Barrier(ms.collision.CollisionMesh(edges, triangles), x, 0.06)
    theirs = ipctk.CollisionMesh(x, edges, triangles)
    collisions = ipctk.NormalCollisions()
    collisions.build(theirs, x, 0.06)
    potential = ipctk.BarrierPotential(0.06, 1.0)
    assert ours.value(x) == pytest.approx(potential(collisions, theirs, x), rel=1e-10)
    assert len(ours.pairs().edges) > 20
    np.testing.assert_allclose(ours.gradient(x).ravel(), potential.gradient(collisions, theirs, x), rtol=0, atol=1e-13)
    hessian = potential.hessian(collisions, theirs, x).toarray()
    np.testing.assert_allclose(ours.hessian(x).dense(2 * n), hessian, rtol=0, atol=1e-8 * np.abs(hessian).max())
    assert ours.min_distance == pytest.approx(np.sqrt(collisions.compute_minimum_distance(theirs, x)), rel=1e-12)


def test_lagged_friction_is_that_of_ipctk_where_no_edges_are_parallel() -> None:
    """Of nearly parallel edges, ipctk has no friction, and this package that of the mollified force."""
    ball = icosphere(2, 0.5)
    n = len(ball.vertices)
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
    x = np.concatenate([ball.vertices, ball.vertices @ turn + [0.02, 1.0, 0.01]])
    triangles = np.concatenate([ball.triangles, ball.triangles + n]).astype(np.int32)
    edges = ms.collision.CollisionMesh(None, triangles).edges
    barrier = ms.collision.Barrier(ms.collision.CollisionMesh(edges, triangles), x, 0.06)
    assert barrier.find(x) > 100
    pairs = barrier.pairs()
    ends = x[pairs.vertices[pairs.edges]]
    a, b = ends[:, 1] - ends[:, 0], ends[:, 3] - ends[:, 2]
    assert ((np.cross(a, b) ** 2).sum(axis=1) > 1e-3 * (a * a).sum(axis=1) * (b * b).sum(axis=1)).all()
    ours = ms.collision.BarrierFriction(barrier, 0.3)
    ours.lag(x, 1e5)
    mesh = ipctk.CollisionMesh(x, edges, triangles)
    collisions, tangential = ipctk.NormalCollisions(), ipctk.TangentialCollisions()
    collisions.build(mesh, x, 0.06)
    tangential.build(mesh, x, collisions, ipctk.BarrierPotential(0.06, 1e5), 0.3)
    theirs = ipctk.FrictionPotential(1e-3)
    rng = np.random.default_rng(0)
    u, v = 5e-4 * rng.normal(size=x.shape), rng.normal(size=x.shape)
    assert ours.value(u, 1e-3) == pytest.approx(theirs(tangential, mesh, u), rel=1e-12)
    gradient = theirs.gradient(tangential, mesh, u)
    np.testing.assert_allclose(ours.gradient(u, 1e-3).ravel(), gradient, rtol=0, atol=1e-12 * np.abs(gradient).max())
    product = theirs.hessian(tangential, mesh, u) @ v.ravel()
    np.testing.assert_allclose(ours.product(u, v, 1e-3).ravel(), product, rtol=0, atol=1e-12 * np.abs(product).max())
