"""Signed distances, level sets and tetrahedra of meshes as they are found in the wild, unrepaired."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support.wild_meshes import MESHES, Wild, ball, flipped, probes, together

import meniscus as ms


def distance_of(surface: tuple[np.ndarray, np.ndarray]) -> ms.surface.MeshDistance:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ms.surface.NotWatertightWarning)
        return ms.surface.MeshDistance(surface)


@pytest.mark.parametrize("mesh", MESHES, ids=lambda m: m.name)
def test_the_inside_of_wild_meshes_is_that_of_clean_ones(mesh: Wild) -> None:
    points = probes(mesh)
    distance = distance_of(mesh.surface)
    assert np.array_equal(distance.contains(points), mesh.contains(points))
    assert np.array_equal(distance.signed_distance(points) < 0, mesh.contains(points))


def test_signs_follow_a_mesh_that_moves() -> None:
    """A ball that is inside out and has a hole, turned and moved."""
    x, t = flipped(ball())
    distance = distance_of((x, t[1:]))
    assert distance.signed_distance(np.zeros((1, 3)))[0] == pytest.approx(-0.98, abs=0.03)
    distance.update(np.ascontiguousarray(x[:, [1, 2, 0]]) + np.array([5.0, 0.0, 0.0]))
    assert distance.contains(np.array([[5.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist() == [True, False]


def test_obstacles_that_were_none_are_there() -> None:
    """Inside out with a hole, and with both sides: the level set has the volume of the ball."""
    x, t = ball(3)
    grid = ms.Grid((24, 24, 24), 3 / 24, origin=(-1.5,) * 3)
    for rows in (t, t[:, ::-1], t[1:], t[1:, ::-1], np.concatenate([t, t[:, ::-1]])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ms.surface.NotWatertightWarning)
            phi = ms.surface.LevelSet.from_mesh(grid, (x, np.ascontiguousarray(rows)))
        assert phi.volume() == pytest.approx(4.10, abs=0.03)


def test_closed_meshes_with_wrong_triangles_are_meshed() -> None:
    """What has no holes once vertices are joined: copies, triangles the wrong way round, parts that cross."""
    x, t = ball()
    clean = ms.surface.bcc_mesh((x, t), 0.3)
    some = flipped((x, t), np.arange(len(t)) % 3 == 0)
    for surface in (some, (x[t].reshape(-1, 3), np.arange(3 * len(t), dtype=np.int32).reshape(-1, 3))):
        with pytest.warns(ms.surface.NotWatertightWarning):
            mesh = ms.surface.bcc_mesh(surface, 0.3)
        assert mesh.volume() == pytest.approx(clean.volume(), rel=1e-12)
    pair = ms.surface.bcc_mesh(together((x, t), flipped((x + np.array([0.8, 0.0, 0.0]), t))), 0.3, compress=True)
    assert pair.components == 1
    assert pair.volume() > 1.3 * ms.surface.bcc_mesh((x, t), 0.3, compress=True).volume()
