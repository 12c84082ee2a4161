"""What nodes stand on among surfaces that do not yield."""

import numpy as np
import pytest

import meniscus as ms
from meniscus.collision import CollisionMesh, Repulsion


def sheet_over_ground(height: float, thickness: float = 0.02) -> tuple[Repulsion, np.ndarray, int]:
    """Return a sheet at a height over a fixed, larger one, all positions, and the number of nodes of the upper one."""
    sheet = ms.mesh.cloth_mesh(4, 4, (0.4, 0.4), origin=(0.013, 0.017, height))
    ground = ms.mesh.cloth_mesh(3, 3, (2, 2), origin=(-0.7, -0.8, 0))
    n = len(sheet.vertices)
    x = np.concatenate([sheet.vertices, ground.vertices])
    triangles = np.concatenate([sheet.triangles, ground.triangles + n])
    masses = np.concatenate([np.full(n, 10.0), np.zeros(len(ground.vertices))])
    return Repulsion(CollisionMesh(None, triangles), x, masses, thickness=thickness, friction=0.3), x, n


def test_a_sheet_stands_on_a_fixed_one_that_moves() -> None:
    repulsion, x, n = sheet_over_ground(0.0195)
    repulsion.find(x)
    v = np.zeros_like(x)
    v[n:] = [1.0, 0.5, 0.25]
    before = v.copy()
    found = repulsion.supports(x, v)
    assert np.array_equal(found.nodes, np.arange(n))
    assert np.allclose(found.normals, [0, 0, 1], rtol=0, atol=1e-14)
    assert np.allclose(found.velocities, [1.0, 0.5, 0.25], rtol=0, atol=1e-14)
    assert np.allclose(found.friction, 0.3, rtol=0, atol=1e-15)
    assert np.allclose(found.gaps, -0.0005, rtol=0, atol=1e-14)
    assert np.array_equal(v, before)


def test_nodes_somewhat_above_the_thickness_still_stand() -> None:
    repulsion, x, _ = sheet_over_ground(0.0205)
    repulsion.find(x)
    v = np.zeros_like(x)
    assert np.allclose(repulsion.supports(x, v, wider=1.05).gaps, 0.0005, rtol=0, atol=1e-14)
    assert len(repulsion.supports(x, v, wider=1.01).nodes) == 0
    with pytest.raises(ValueError, match="wider"):
        repulsion.supports(x, v, wider=0.9)


def test_two_sheets_that_yield_do_not_stand_on_each_other() -> None:
    repulsion, x, _ = sheet_over_ground(0.0195)
    free = Repulsion(repulsion._mesh, x, np.full(len(x), 10.0), thickness=0.02)
    free.find(x)
    assert len(free.supports(x, np.zeros_like(x)).nodes) == 0


def test_supports_do_not_depend_on_the_number_of_threads() -> None:
    repulsion, x, n = sheet_over_ground(0.0195)
    x[:n, 2] += 2e-4 * np.random.default_rng(0).normal(size=n)
    repulsion.find(x)
    threads, results = ms.num_threads(), []
    try:
        for k in (1, 3):
            ms.set_num_threads(k)
            results.append(repulsion.supports(x, np.zeros_like(x)))
    finally:
        ms.set_num_threads(threads)
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))
