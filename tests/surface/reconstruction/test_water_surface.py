"""The surface of water on a grid, in tetrahedra and in drops."""

from __future__ import annotations

import numpy as np
import pytest
from support.tet_vof.ball_of_water import CELL, FINE, ball_in, ball_on_grid, ball_volume, lattice, thrown
from support.variants import THREAD_COUNTS, slow_but

import meniscus as ms
from meniscus.grid.conversion import cell_means
from meniscus.surface import WaterInDrops, WaterInTets, WaterMesh, WaterSurface

UNIT = ms.Grid((24, 24, 24), CELL)
SPIN = np.array([0.3, 0.5, 1.0])
MIDDLE = np.array([0.5, 0.5, 0.5])


def arrays(mesh: WaterMesh):
    return mesh.vertices, mesh.triangles, mesh.normals, mesh.velocities


def same(a: WaterMesh, b: WaterMesh) -> bool:
    return all(np.array_equal(p, q) for p, q in zip(arrays(a), arrays(b), strict=True))


def components(water: WaterSurface) -> int:
    found = water.levelset()
    return 0 if found is None else found.components(volumes=False).count


def is_closed(mesh: WaterMesh) -> bool:
    return ms.mesh.check_watertight(mesh.vertices, mesh.triangles).watertight


@pytest.mark.parametrize("edge", slow_but([1.0, 1.5, 2.5, 4.0], 2.5, 4.0))
@pytest.mark.parametrize("radius", slow_but([5.0, 8.0], 5.0))
def test_a_resting_ball_keeps_volume_and_shape(edge: float, radius: float, rng) -> None:
    """Lee 2018, section 3.4.2; edges and radius in fine cells."""
    centre = MIDDLE + FINE * rng.uniform(-0.5, 0.5, 3)
    given = ball_in(lattice(edge * FINE), centre, radius * FINE)
    water = WaterSurface(UNIT, 2)
    for _ in range(3):
        mesh = water.update(0.1, tets=given)
        assert water.levelset().volume() == pytest.approx(given.volume.sum(), rel=0.05)
        assert np.abs(np.linalg.norm(mesh.vertices - centre, axis=1) - radius * FINE).max() < 0.5 * FINE
        full = np.ascontiguousarray(given.positions[given.tets[given.volume > 0.5 * given.capacity]].mean(axis=1))
        assert (water.levelset().sample(full) <= 0).mean() >= 0.99
    assert is_closed(mesh)
    assert components(water) == 1
    outward = (mesh.vertices - centre) / np.linalg.norm(mesh.vertices - centre, axis=1)[:, None]
    assert np.einsum("nd,nd->n", outward, mesh.normals).min() > 0.9


def test_thin_sheets_and_crumbs_of_full_tetrahedra_are_inside() -> None:
    x, tets, room = lattice(1.5 * FINE)
    centroids = x[tets].mean(axis=1)
    sheet = np.abs(centroids[:, 2] - 0.5) < 0.3 * FINE
    crumbs = (np.linalg.norm(centroids - (0.5, 0.5, 0.8), axis=1) < 0.1) & (np.arange(len(tets)) % 211 == 0)
    volume = np.where(sheet | crumbs, 0.55, 0.0) * room
    given = WaterInTets(x, tets, volume, room, np.zeros((len(tets), 3)))
    for least, inside in ((0.5, 1.0), (1.0, 0.0)):
        water = WaterSurface(UNIT, 2, least_fill=least)
        water.update(tets=given)
        found = water.levelset()
        there = np.zeros(1) if len(water.mesh().vertices) == 0 else found.sample(np.ascontiguousarray(centroids[volume > 0])) <= 0
        assert there.mean() == pytest.approx(inside, abs=0.01), "without the rule they are too thin to be seen"


@pytest.mark.parametrize("edge", slow_but([1.2, 2.0], 2.0))
@pytest.mark.parametrize("gain", slow_but([1.0, 0.25], 0.25))
def test_there_is_no_seam_between_tetrahedra_and_grid(edge: float, gain: float) -> None:
    """Half of a ball is in tetrahedra, half on the grid; the surface is as near to the ball at the seam as elsewhere."""
    centre, radius = np.array([0.5, 0.51, 0.49]), 0.25
    half = lattice(edge * FINE, (0.1, 0.1, 0.1), (0.42, 0.8, 0.8))
    given = ball_in(half, centre, radius)
    seam = half[0][:, 0].max() - 0.25 * edge * FINE  # where tetrahedra of a lattice with a jagged end fill half of the space
    other = ball_on_grid(centre, radius)
    other.array = np.maximum(other.array, seam - (np.arange(24) + 0.5).reshape(-1, 1, 1) * CELL)
    water = WaterSurface(UNIT, 2, gain=gain)
    for _ in range(3):
        mesh = water.update(0.04, levelset=other, tets=given)
    assert components(water) == 1
    assert is_closed(mesh)
    assert water.levelset().volume() == pytest.approx(ball_volume(radius), rel=0.01)
    assert np.abs(np.linalg.norm(mesh.vertices - centre, axis=1) - radius).max() < 0.35 * FINE, "no triangles between the halves"


def test_the_grids_level_set_alone_is_reproduced() -> None:
    given = ball_on_grid(MIDDLE, 0.3)
    velocity = ms.MacField.from_function(UNIT, lambda p, t: np.cross(SPIN, p - MIDDLE))
    for flow in (velocity, cell_means(velocity)):
        water = WaterSurface(UNIT, 3)
        for _ in range(2):
            mesh = water.update(0.05, levelset=given, velocity=flow)
            assert np.abs(np.linalg.norm(mesh.vertices - MIDDLE, axis=1) - 0.3).max() < 0.004 * CELL
            assert mesh.velocities == pytest.approx(np.cross(SPIN, mesh.vertices - MIDDLE), abs=1e-12)
    beside = np.array([[0.5, 0.5, 0.8 + 0.4 * CELL]])
    assert water.levelset().sample(beside)[0] == pytest.approx(0.4 * CELL, abs=0.02 * CELL)


def test_water_fills_a_tank_up_to_its_sides() -> None:
    pool = ms.surface.LevelSet.from_function(UNIT, lambda x, y, z: 0 * (x + y) + z - 0.4, "cells")
    water = WaterSurface(UNIT, 2)
    mesh = water.update(levelset=pool)
    assert water.levelset().volume() == pytest.approx(0.4, rel=1e-9)
    assert is_closed(mesh)


@pytest.mark.slow
def test_velocities_are_those_of_the_flow() -> None:
    given = ball_in(lattice(1.3 * FINE), MIDDLE, 0.25, (1.0, 2.0, 3.0))
    assert np.abs(WaterSurface(UNIT, 2).update(tets=given).velocities - (1.0, 2.0, 3.0)).max() < 1e-12
    centroids = given.positions[given.tets].mean(axis=1)
    turning = WaterInTets(given.positions, given.tets, given.volume, given.capacity, np.cross(SPIN, centroids - MIDDLE))
    mesh = WaterSurface(UNIT, 2).update(tets=turning)
    error = mesh.velocities - np.cross(SPIN, mesh.vertices - MIDDLE)
    assert np.linalg.norm(error, axis=1).max() < 0.75 * FINE * np.linalg.norm(SPIN), "that of the water within a fine cell"


def test_water_that_rests_takes_over_from_water_that_went_away() -> None:
    x, tets, room = lattice(1.5 * FINE)
    water = WaterSurface(UNIT, 2)
    water.update(tets=ball_in((x, tets, room), (0.3, 0.3, 0.3), 0.15))
    water.update(0.04, tets=ball_in((x, tets, room), (0.7, 0.7, 0.7), 0.15))
    assert components(water) == 1
    assert water.levelset().volume() == pytest.approx(ball_volume(0.15), rel=0.05), "nothing stays where the water was"


def test_drops_are_balls_where_they_are_large_and_count_where_they_are_dense(rng) -> None:
    centre, radius, speed = np.array([[0.5, 0.5, 0.5]]), np.array([0.1]), np.array([[1.0, 0.0, 2.0]])
    water = WaterSurface(UNIT, 2)
    mesh = water.update(drops=WaterInDrops(centre, radius, speed))
    assert water.levelset().volume() == pytest.approx(ball_volume(0.1), rel=0.03)
    assert mesh.velocities == pytest.approx(np.repeat(speed, len(mesh.vertices), 0))
    assert not water.spray.any()
    n = 20000
    cloud = MIDDLE + 0.2 * (rng.random((n, 3)) - 0.5)
    small = np.cbrt(0.75 / np.pi * 0.2**3 / n) * np.ones(n)
    far = np.array([[0.9, 0.9, 0.9]])
    drops = WaterInDrops(np.concatenate([cloud, far]), np.append(small, small[0]), np.zeros((n + 1, 3)))
    water.update(0.04, drops=drops)
    assert water.levelset().volume() == pytest.approx(0.2**3, rel=0.1)
    assert water.spray[-1], "one alone is drawn as a ball"
    assert water.spray.mean() < 0.2


def test_no_water_is_an_empty_mesh_and_water_may_go_and_come() -> None:
    tets = lattice(2 * FINE)
    none = WaterInTets(tets[0], tets[1], np.zeros(len(tets[1])), tets[2], np.zeros((len(tets[1]), 3)))
    dry = ms.surface.LevelSet.from_function(UNIT, lambda x, y, z: 0 * (x + y + z) + 1.0, "cells")
    water = WaterSurface(UNIT, 2)
    given = ball_in(tets, MIDDLE, 0.2)
    first = water.update(tets=given)
    for empty in ({}, {"tets": none}, {"levelset": dry}, {"levelset": dry, "tets": none}):
        mesh = water.update(0.04, **empty)
        assert [len(a) for a in arrays(mesh)] == [0, 0, 0, 0]
        assert water.levelset() is None
        assert np.array_equal(*water.box)
    assert same(water.update(0.04, tets=given), first)


def fly(water: WaterSurface, frames: range, tets=None) -> list[WaterMesh]:
    """Follow a ball in tetrahedra, one on the grid and drops, all of which fly."""
    tets = lattice(1.7 * FINE) if tets is None else tets
    meshes = []
    for k in frames:
        centre, speed = 0.6 * thrown(k / 24)[0] + 0.1, 0.6 * thrown(k / 24)[1]
        drops = WaterInDrops(
            centre + np.array([[0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.15]]), np.array([0.03, 0.005, 0.025]), np.tile(speed, (3, 1))
        )
        flow = ms.MacField.from_function(water.grid, lambda p, t, v=speed: np.tile(v, (len(p), 1)))
        below = ball_on_grid(centre - (0, 0, 0.12), 0.1, water.grid.shape[0])
        meshes.append(water.update(1 / 24, levelset=below, velocity=flow, tets=ball_in(tets, centre, 0.1, speed), drops=drops))
    return meshes


@pytest.mark.slow
def test_a_box_around_the_water_has_the_bits_of_the_whole_grid() -> None:
    large = ms.Grid((36, 36, 36), CELL)
    x, tets, room = lattice(1.7 * FINE)
    meshes = []
    for extent in ("water", "grid"):
        water = WaterSurface(large, 2, extent=extent, overlap="union")
        found = []
        for k in range(3):
            centre, speed = thrown(k / 24)
            found.append(water.update(1 / 24, tets=ball_in((x + 0.3, tets, room), centre + 0.15, 0.1, speed)))
        meshes.append(found)
        if extent == "water":
            low, high = water.box
            assert np.prod(high - low) < 0.6 * 1.5**3
    assert all(same(a, b) for a, b in zip(*meshes, strict=True))


@THREAD_COUNTS
def test_nothing_depends_on_the_number_of_threads(threads: tuple[int, ...], default_parallelism) -> None:
    expected = None
    for count in threads:
        ms.set_num_threads(count)
        found = fly(WaterSurface(UNIT, 2), range(3))
        expected = found if expected is None else expected
        assert all(same(a, b) for a, b in zip(found, expected, strict=True))


DRY = np.empty((0, 3)), np.empty((0, 4), np.int32), np.empty(0), np.empty(0), np.empty((0, 3))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: WaterSurface(ms.Grid((8, 8), 0.1)), "grid must be 3-D, not 2-D"),
        (lambda: WaterSurface(UNIT, 0), "refine must be at least 1, not 0"),
        (lambda: WaterSurface(UNIT, gain=0.0), "gain must be above 0 and at most 1, not 0"),
        (lambda: WaterSurface(UNIT, overlap="both"), "overlap must be one of 'sum', 'union', not 'both'"),
        (lambda: WaterSurface(UNIT, band=9.0), "band must be from 1 to 4 fine cells, not 9"),
        (lambda: WaterSurface(UNIT).update(-1.0), "dt must be at least 0 s, not -1"),
        (lambda: WaterSurface(UNIT).update(levelset=ball_on_grid(MIDDLE, 0.3, 12)), "levelset must be on the grid of the surface"),
        (lambda: WaterSurface(UNIT).update(levelset=ms.surface.LevelSet(UNIT)), "levelset must be on cells, not on nodes"),
        (
            lambda: WaterSurface(UNIT).update(levelset=ball_on_grid(MIDDLE, 0.3), velocity=np.zeros((3, 3))),
            "velocity must be a MacField or have shape",
        ),
        (lambda: WaterInTets(DRY[0], np.array([[0, 1, 2, 3]], np.int32), *DRY[2:]), "tets must refer to vertices below 0, not to 0 to 3"),
        (lambda: WaterInTets(np.eye(4)[:, :3].copy(), np.array([[0, 1, 2, 3]], np.int32), *DRY[2:]), "volume must have shape"),
        (lambda: WaterInDrops(np.zeros((1, 3)), np.array([-1.0]), np.zeros((1, 3))), "radius must not be negative, but drop 0 has -1 m"),
        (lambda: WaterInDrops(np.full((1, 3), np.nan), np.ones(1), np.zeros((1, 3))), "positions"),
    ],
)
def test_wrong_arguments_are_one_sentence(make, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        make()
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_an_update_that_fails_changes_nothing() -> None:
    water = WaterSurface(UNIT, 2)
    given = ball_in(lattice(2 * FINE), MIDDLE, 0.2)
    water.update(tets=given)
    before = water.copy()
    bad = ball_on_grid(MIDDLE, 0.3)
    bad.array[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="levelset"):
        water.update(0.04, levelset=bad, tets=given)
    assert same(water.update(0.04, tets=given), before.update(0.04, tets=given))
