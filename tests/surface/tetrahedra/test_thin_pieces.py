"""No cut cell is missed: plates, spikes and balls that no node and no sample of a tetrahedron notices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.surface import SolidOnTets, touched_tets

EDGE = 0.25


def rotation(seed: int) -> np.ndarray:
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def block(seed: int) -> tuple[np.ndarray, np.ndarray]:
    mesh = ms.mesh.bcc_lattice((-1.0,) * 3, EDGE, (8,) * 3)
    return np.ascontiguousarray((mesh.vertices + 0.3 * EDGE) @ rotation(seed).T), np.array(mesh.tets)


def box_mesh(low: Any, high: Any, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)], np.int32)
    return np.ascontiguousarray((np.array(low) + corners * (np.array(high) - low)) @ turn.T), triangles


def filled(solid: Any, x: np.ndarray, tets: np.ndarray, **options: Any) -> SolidOnTets:
    s = SolidOnTets(tets, len(x), **options)
    s.update(solid, x)
    return s


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("low", "high"),
    [
        ((-0.4, -0.35, 0.0), (0.42, 0.37, 0.02 * EDGE)),  # a plate
        ((-0.45, -0.02 * EDGE, 0.0), (0.4, 0.02 * EDGE, 0.04 * EDGE)),  # a needle
        ((0.03, 0.05, 0.01), (0.03 + 0.05 * EDGE, 0.05 + 0.05 * EDGE, 0.01 + 0.05 * EDGE)),  # a grain
    ],
)
def test_shapes_cut_what_their_surfaces_touch(low: tuple[float, ...], high: tuple[float, ...], seed: int) -> None:
    x, tets = block(seed)
    turn = rotation(seed + 10)
    vertices, triangles = box_mesh(low, high, turn)
    exact = touched_tets(x, tets, vertices, triangles)
    assert exact.sum() > 0
    shape = ms.surface.Box(low, high).rotated(turn)
    s = filled(shape, x, tets)
    as_mesh = filled(ms.surface.KinematicSolid((vertices, triangles)), x, tets)
    assert np.array_equal(as_mesh.cut, exact)
    # None is missed; what counts as cut though it is not touched is very close.
    assert s.cut[exact].all()
    for t in np.flatnonzero(s.cut & ~exact):
        grid = ms.mesh.tet_samples("stratified", 50000)[0] @ x[tets[t]]
        assert shape.signed_distance(np.ascontiguousarray(grid)).min() < 1.5 * EDGE / 64
    assert (s.cut & ~exact).sum() <= 0.1 * exact.sum()
    # None of it shows at nodes alone.
    nodes = shape.signed_distance(x)[tets]
    assert ((nodes.min(axis=1) > 0) & s.cut).sum() > 0.5 * s.cut.sum()


@pytest.mark.parametrize("radius", [0.2 * EDGE, 0.05 * EDGE, 0.02 * EDGE])
@pytest.mark.parametrize("hollow", [False, True])
def test_a_ball_or_a_hole_within_one_tetrahedron(radius: float, hollow: bool) -> None:
    x, tets = block(3)
    chosen = 1234
    centre = x[tets[chosen]].mean(axis=0)
    ball = ms.surface.Sphere(tuple(centre), radius)
    s = filled(~ball if hollow else ball, x, tets)
    assert s.cut[chosen]
    assert s.cut.sum() == (1 if radius < 0.1 * EDGE else s.cut.sum())
    assert s.fraction[chosen] == (1.0 if hollow else 0.0)
    assert not s.inside[chosen]
    assert s.inside.sum() == ((len(tets) - s.cut.sum()) if hollow else 0)
    np.testing.assert_allclose(np.linalg.norm(s.normal[chosen]), 1.0)


def test_a_spike_of_a_mesh_and_of_a_shape() -> None:
    x, tets = block(4)
    tip = x[tets[700]].mean(axis=0)
    away = tip / np.linalg.norm(tip)
    cone = ms.surface.Cone(tuple(tip - 0.5 * away), tuple(tip), 0.01)
    s = filled(cone, x, tets)
    assert s.cut[700]
    side = np.linalg.qr(np.column_stack([away, np.eye(3)[:, :2]]))[0][:, 1:]
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = tip - 0.5 * away + 0.01 * (np.cos(angles)[:, None] * side[:, 0] + np.sin(angles)[:, None] * side[:, 1])
    vertices = np.ascontiguousarray(np.vstack([tip, tip - 0.5 * away, ring]))
    rim = [(2 + i, 2 + (i + 1) % 12) for i in range(12)]
    triangles = np.array([(0, a, b) for a, b in rim] + [(1, b, a) for a, b in rim], np.int32)
    mesh = filled(ms.surface.KinematicSolid((vertices, triangles)), x, tets)
    assert mesh.cut[700]
    assert (s.cut & ~mesh.cut).sum() <= 2  # the cone is round


def test_counted_samples_see_what_the_level_set_does_not() -> None:
    x, tets = block(5)
    plate = ms.surface.Box((-0.5, -0.5, 0.0), (0.5, 0.5, 0.3 * EDGE)).rotated(rotation(6))
    volume = np.abs(np.linalg.det(x[tets[:, 1:]] - x[tets[:, :1]])) / 6
    counted = filled(plate, x, tets, fraction="count", count=35)
    linear = filled(plate, x, tets)
    assert np.array_equal(counted.cut, linear.cut)
    assert (counted.fraction * volume).sum() == pytest.approx(0.3 * EDGE, rel=0.03)
    assert not counted.fraction[~counted.cut & ~counted.inside].any()
    assert (linear.fraction * volume).sum() < 0.95 * 0.3 * EDGE


def test_functions_of_any_slope() -> None:
    x, tets = block(7)
    centre = x[tets[900]].mean(axis=0)
    for scale in (0.2, 1.0, 8.0):

        def values(p: np.ndarray, scale: float = scale) -> np.ndarray:
            return scale * (np.linalg.norm(p - centre, axis=1) - 0.12 * EDGE)

        s = filled(ms.surface.KinematicSolid(values, dimension=3), x, tets)
        assert s.cut[900]
        exact = filled(ms.surface.Sphere(tuple(centre), 0.12 * EDGE), x, tets)
        assert s.cut[exact.cut].all()
        assert s.cut.sum() <= exact.cut.sum() + 4


def test_surfaces_along_faces_of_the_mesh() -> None:
    """Planes through nodes, to within round-off on either side, end quickly and cut what has nodes on them."""
    mesh = ms.mesh.tet_block(8, 8, 8)
    x, tets = np.array(mesh.vertices), np.array(mesh.tets)
    for level in (0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1)):
        s = filled(ms.surface.HalfSpace((0.0, 0.0, level), (0.0, 0.0, 1.0)), x, tets)
        heights = x[tets][:, :, 2]
        middle = (heights.min(axis=1) < 0.5) & (heights.max(axis=1) > 0.5)
        assert not middle.any()
        beside = (heights == 0.5).any(axis=1)
        assert not s.cut[~beside].any()
        assert s.cut[(heights.min(axis=1) == 0.5)].all() or s.cut[(heights.max(axis=1) == 0.5)].all()
        assert (s.fraction * np.abs(np.linalg.det(x[tets[:, 1:]] - x[tets[:, :1]])) / 6).sum() == pytest.approx(0.5, abs=1e-12)


def test_holes_in_a_skin_are_closed_by_the_winding_number() -> None:
    x, tets = block(8)
    ball = ms.mesh.icosphere(3, 0.4)
    open_triangles = np.ascontiguousarray(ball.triangles[np.asarray(ball.vertices)[ball.triangles].mean(axis=1)[:, 2] < 0.3])
    with pytest.warns(ms.surface.NotWatertightWarning):
        solid = ms.surface.KinematicSolid((np.array(ball.vertices), open_triangles))
    s = filled(solid, x, tets)
    touched = touched_tets(x, tets, np.array(ball.vertices), open_triangles)
    assert s.cut[touched].all()
    phi = s.phi[tets]
    assert s.cut[(phi.min(axis=1) < 0) & (phi.max(axis=1) > 0)].all()
    assert 0.7 < (s.fraction * np.abs(np.linalg.det(x[tets[:, 1:]] - x[tets[:, :1]])) / 6).sum() / (4 / 3 * math.pi * 0.4**3) < 1.0
