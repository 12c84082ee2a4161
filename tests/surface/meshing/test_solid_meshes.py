"""Closed triangle meshes as kinematic solids, moved and deformed."""

from typing import Any

import numpy as np
import pytest
from support.build import same_bits
from support.solids import Oracle, drifting, exact_velocity, icosahedron, images_of, stacked, swing3, unit_grid

from meniscus.surface import DeformingSolid, KinematicSolid


@pytest.mark.parametrize("periodic", [False, (True, False, False)])
def test_rigid_mesh(periodic: Any) -> None:
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


# Off the symmetry planes of the grid, where two triangles would be equally near to a face.
CENTER = np.array([0.503, 0.491, 0.507])


def breathing(t: float) -> np.ndarray:
    """Swells along x, shears and drifts: a linear map of the mesh at any time."""
    v = icosahedron(0.25, (0.0, 0.0, 0.0))[0]
    return CENTER + v * [1 + 0.3 * np.sin(3 * t), 1, 1] + np.stack([0 * v[:, 0], 0.2 * t * v[:, 0], 0 * v[:, 0] + 0.1 * t], axis=1)


def breathing_rate(t: float) -> np.ndarray:
    v = icosahedron(0.25, (0.0, 0.0, 0.0))[0]
    return v * [0.9 * np.cos(3 * t), 0, 0] + np.stack([0 * v[:, 0], 0.2 * v[:, 0], 0 * v[:, 0] + 0.1], axis=1)


@pytest.mark.parametrize("given_rate", [False, True])
def test_deforming_mesh(given_rate: bool, dtype: type) -> None:
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


def test_deforming_mesh_carries_its_level_set() -> None:
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


def test_deforming_mesh_across_a_periodic_side() -> None:
    solid = DeformingSolid(drifting, icosahedron()[1])
    grid = unit_grid(3, 12, (True, False, False))
    sample = solid.sample(grid, 0.1)
    assert (sample.levelset.array[:2] < 0).any()
    x = grid.face_centers(0)
    near = np.broadcast_to(np.sqrt((np.mod(x[0] - 1.05 + 0.5, 1) - 0.5) ** 2 + (x[1] - 0.5) ** 2 + (x[2] - 0.5) ** 2), (13, 12, 12)) < 0.3
    np.testing.assert_allclose(sample.velocity.u[near], 1.0, rtol=0, atol=1e-9)
    assert same_bits(sample.levelset.array[0], sample.levelset.array[-1])
