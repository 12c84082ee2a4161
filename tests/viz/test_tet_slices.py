"""Slices and pictures of tetrahedra with water."""

from __future__ import annotations

import numpy as np
import pytest

from meniscus import fluids, mesh, surface, viz
from meniscus.viz.tet_slices import Plane

pytest.importorskip("matplotlib")


def area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return 0.5 * abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))))


@pytest.mark.parametrize("normal", [(0, -1, 0), (1, 2, -3), (0, 0, 1), (-0.3, 0.1, 0.9)])
def test_polygons_tile_the_section(normal: tuple[float, float, float]) -> None:
    """Their areas add up to that of the section of a ball-shaped mesh, whose boundary is cut in segments."""
    ball = surface.bcc_mesh(surface.Sphere((0.2, 0.1, -0.3), 0.7), 0.2, compress=True)
    plane = Plane((0.22, 0.13, -0.21), normal)
    polygons, owners = plane.cut(ball.vertices, ball.tets)
    assert {len(p) for p in polygons} == {3, 4}
    assert len(owners) == len(polygons)
    distance = np.dot(np.array((0.2, 0.1, -0.3)) - plane.point, plane.normal)
    assert sum(map(area, polygons)) == pytest.approx(np.pi * (0.49 - distance**2), rel=0.03)
    # Each polygon lies in its tetrahedron.
    back = [plane.point + p[:, :1] * plane.right + p[:, 1:] * plane.above for p in polygons]
    for t, corners in list(zip(owners, back, strict=True))[::7]:
        x = ball.vertices[ball.tets[t]]
        weights = np.linalg.solve((x[1:] - x[0]).T, (corners - x[0]).T)
        assert weights.min() > -1e-9
        assert weights.sum(axis=0).max() < 1 + 1e-9


def water(**options: object) -> fluids.TetVOF:
    rest = mesh.bcc_lattice((-1, -1, -1), 0.25, (8, 8, 8))
    floor = surface.Box((-2, -2, -2), (2, 2, -0.6))
    vof = fluids.TetVOF(mesh.MovingTetMesh(rest, lambda t: rest.vertices + np.array((0.2 * t, 0, 0))), floor, **options)
    vof.fill(surface.Sphere((0, 0, 0), 0.5), velocity=(0.5, 0.2, -1))
    return vof


def test_slices_have_a_polygon_for_each_tetrahedron_they_pass() -> None:
    vof = water()
    figure = viz.tet_slice(vof.positions, vof.tets, vof.saturation, point=(0, 0.01, 0), name="fill", title="water")
    (polygons,) = figure.axes[0].collections
    assert len(polygons.get_paths()) == len(Plane((0, 0.01, 0), (0, -1, 0)).cut(np.array(vof.positions), vof.tets)[1])
    assert len(np.unique(polygons.get_facecolor(), axis=0)) > 5
    with pytest.raises(ValueError, match="values must have shape"):
        viz.tet_slice(vof.positions, vof.tets, [1.0], point=(0, 0, 0))
    with pytest.raises(ValueError, match="normal must not be zero"):
        viz.tet_slice(vof.positions, vof.tets, vof.saturation, point=(0, 0, 0), normal=(0, 0, 0))


@pytest.mark.parametrize("count", [4, 10, 20, 35])
def test_requests_are_drawn_from_live_data_and_change_nothing(count: int) -> None:
    vof = water(samples="fixed", count=count)
    before = vof.snapshot()
    tet = int(np.argmin(np.linalg.norm(np.array(vof.positions)[vof.tets].mean(axis=1), axis=1)))
    figure = viz.transport_slice(vof, tet, 0.1)
    shares = [float(text.get_text().removesuffix(" %")) for text in figure.axes[0].texts if text.get_text().endswith("%")]
    assert len(shares) > 1
    assert 50 < sum(shares) < 105
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "."]
    assert len(dots[0].get_xdata()) == count
    np.testing.assert_array_equal(before["volume"], vof.volume)
    assert vof.time == 0
    with pytest.raises(ValueError, match="tet"):
        viz.transport_slice(vof, len(vof.volume), 0.1)


def test_the_way_out_is_drawn() -> None:
    vof = water()
    tet = int(np.flatnonzero(vof.rank == 1)[0])
    figure = viz.way_out_slice(vof, tet)
    way, found = vof.way_out(tet)
    assert way.replace("_", " ") in figure.axes[0].get_title()
    assert len(figure.axes[0].lines) == 6 * (1 + len(found))


def test_wet_tetrahedra_are_drawn_with_what_is_among_them() -> None:
    vof = water()
    wet = vof.volume > 0
    shown = mesh.TetMesh(vof.positions, vof.tets[wet])
    ball = mesh.icosphere(2, 0.2).translated((0.5, -0.6, 0.5))
    figure = viz.wet_tets(shown, vof.saturation[wet], name="fill", surfaces=[ball], title="wet")
    (picture,) = figure.axes[0].images
    red, _, blue = (picture.get_array()[..., k].astype(float) for k in range(3))
    assert (red > blue + 40).mean() > 0.01  # the ball
    assert (blue > red + 40).mean() > 0.01  # water, which is not orange in "viridis"
    with pytest.raises(ValueError, match="values must have shape"):
        viz.wet_tets(shown, [1.0])
    with pytest.raises(ValueError, match="a picture of nothing needs a box"):
        viz.wet_tets(mesh.TetMesh(vof.positions, vof.tets[:0]), [])


def test_the_edges_of_a_box_can_be_left_out() -> None:
    box = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
    ball = mesh.icosphere(2, 0.5)
    with_edges, without = (
        np.asarray(viz.water(ball.vertices, ball.triangles, box=box, look=viz.WaterLook(edges=edges), size=(80, 60))).astype(int)
        for edges in (True, False)
    )
    assert (np.abs(with_edges - without).max(axis=2) > 30).sum() > 50
