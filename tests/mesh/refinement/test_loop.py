"""Loop subdivision: its rules, what it reproduces, and the rim."""

from __future__ import annotations

import numpy as np
import pytest
from support.shells import ball, sheet

from meniscus.mesh import SubdivisionHierarchy, TriangleMesh, cloth_mesh
from meniscus.mesh.refinement.loop import LoopSubdivision


def test_a_tetrahedron_by_hand() -> None:
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    t = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], np.int32)
    finer = LoopSubdivision(t, 4)
    b = 3 / 16  # of three neighbours
    smooth = finer.smooth(x)
    assert np.allclose(smooth[:4], (1 - 3 * b) * x + b * (x.sum(axis=0) - x), atol=1e-15)
    assert np.allclose(smooth[4:], x.mean(axis=0) + 0.25 * (finer.linear(x)[4:] - x.mean(axis=0)) * 2, atol=1e-15)
    assert finer.vertices == 10
    assert len(finer.triangles) == 16


def test_a_plane_stays_where_the_mesh_is_regular_and_linear_is_the_same_surface() -> None:
    flat = cloth_mesh(6, 5, (1.2, 1.0))
    x = flat.vertices @ np.array([[1.0, 0.2, 0.1], [0.0, 0.9, 0.3], [0.0, 0.0, 1.0]])
    finer = LoopSubdivision(flat.triangles, len(x))
    normal = np.cross(x[1] - x[0], x[-1] - x[0])
    smooth, linear = finer.smooth(x), finer.linear(x)
    assert np.abs((smooth - x[0]) @ normal).max() < 1e-14
    assert TriangleMesh(linear, finer.triangles).area() == pytest.approx(TriangleMesh(x, flat.triangles).area(), rel=1e-13)
    expected = SubdivisionHierarchy(TriangleMesh(x, flat.triangles), 1)
    assert np.abs(np.sort(expected.positions(x, 1), axis=0) - np.sort(linear, axis=0)).max() < 1e-15


def test_the_rim_is_a_curve_by_itself_and_corners_of_it_as_well() -> None:
    """A cubic B-spline, whatever is inside."""
    x, t = sheet((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), 4)
    bumpy = x.copy()
    inner = (np.abs(x[:, :2] - 0.5).max(axis=1)) < 0.4
    bumpy[inner, 2] = 0.3
    bumpy[x[:, 1] == 0.0, 2] = [0.0, 0.1, -0.2, 0.3, 0.0]
    smooth = LoopSubdivision(t, len(x)).smooth(bumpy)
    heights = bumpy[x[:, 1] == 0.0, 2]
    for k in (1, 2, 3):
        place = int(np.flatnonzero((x[:, 1] == 0.0) & (x[:, 0] == 0.25 * k))[0])
        assert smooth[place, 2] == pytest.approx(0.75 * heights[k] + 0.125 * (heights[k - 1] + heights[k + 1]), abs=1e-15)


def test_a_sphere_becomes_rounder() -> None:
    """The largest angle between triangles at an edge is about halved on each level."""
    x, t = ball((0.1, 0.2, 0.3), 1.0, 1)
    angles = []
    for _ in range(3):
        angles.append(_largest_angle(x, t))
        finer = LoopSubdivision(t, len(x))
        x, t = finer.smooth(x), finer.triangles
    assert angles[1] < 0.75 * angles[0]
    assert angles[2] < 0.65 * angles[1]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="below 2"):
        LoopSubdivision(np.array([[0, 1, 2]]), 2)
    with pytest.raises(ValueError, match="three different corners"):
        LoopSubdivision(np.array([[0, 1, 1]]), 3)
    with pytest.raises(ValueError, match="3 rows"):
        LoopSubdivision(np.array([[0, 1, 2]]), 3).smooth(np.zeros((4, 3)))


def _largest_angle(x: np.ndarray, t: np.ndarray) -> float:
    n = np.cross(x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]])
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    sides = np.sort(np.stack([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]], axis=1).reshape(-1, 2), axis=1)
    order = np.lexsort(sides.T)
    pairs = order.reshape(-1, 2) // 3
    return float(np.arccos(np.clip((n[pairs[:, 0]] * n[pairs[:, 1]]).sum(axis=1), -1, 1)).max())
