"""Pictures of smoke: absorption, scattering and shadows follow the laws of light."""

from __future__ import annotations

import numpy as np
import pytest

from meniscus.coupling import ShellWalls
from meniscus.grid import CellField, Grid
from meniscus.viz import Camera, smoke
from meniscus.viz.light import ambient_visibility, light_depth

SIDE = Camera(azimuth=0.0, elevation=0.0, distance=1e3)


def blob(shape=(24, 24, 36), center=(0.5, 0.5, 0.5), radius=0.25):
    x = [(np.arange(n) + 0.5) / shape[0] - c * n / shape[0] for n, c in zip(shape, center, strict=True)]
    r = np.sqrt(x[0][:, None, None] ** 2 + x[1][None, :, None] ** 2 + x[2][None, None, :] ** 2)
    return np.clip((radius - r) / 0.05, 0, 1), r - radius


def lightness(picture):
    return picture.astype(float).mean(2)


def test_depth_along_an_axis_is_the_sum_of_what_lies_before():
    extinction = np.random.default_rng(1).random((5, 4, 6)).astype(np.float32)
    depth = light_depth(extinction, np.array([0.0, 0.0, 1.0]))
    above = np.cumsum(extinction[:, :, ::-1], axis=2)[:, :, ::-1]
    np.testing.assert_allclose(depth, above - 0.5 * extinction, rtol=1e-6)
    other = light_depth(extinction, np.array([-1.0, 0.0, 0.0]))
    np.testing.assert_allclose(other, np.cumsum(extinction, axis=0) - 0.5 * extinction, rtol=1e-6)


def test_depth_of_an_even_slab_is_the_length_of_the_slanted_way():
    toward = np.array([0.3, -0.2, 0.8])
    toward /= np.linalg.norm(toward)
    depth = light_depth(np.full((60, 60, 10), 0.1, np.float32), toward)
    way = 0.1 * (10 - (np.arange(10) + 0.5)) / toward[2]
    np.testing.assert_allclose(depth[20:40, 20:40], np.broadcast_to(way, (20, 20, 10)), rtol=1e-5)


def test_a_solid_throws_a_shadow_and_the_middle_of_a_cloud_sees_less_sky():
    empty, solid = np.zeros((9, 9, 9), np.float32), np.zeros((9, 9, 9), np.float32)
    solid[4, 4, 6] = 1
    depth = light_depth(empty, np.array([0.0, 0.0, 1.0]), solid)
    assert depth[4, 4, :6].min() > 3
    assert depth[4, 4, 7:].max() == 0 == depth[2, 2].max()
    sky = ambient_visibility(np.full((31, 31, 31), 0.2, np.float32))
    assert sky[15, 15, 15] < 0.7 < sky[0, 0, 0] < 1


def test_empty_air_shows_the_background_only():
    picture = smoke(np.zeros((8, 8, 8)), size=(64, 96))
    assert picture.shape == (96, 64, 3)
    assert picture.dtype == np.uint8
    spread = picture.max(1).astype(int) - picture.min(1)
    assert spread.max() <= 1  # rows are even but for the pattern that hides steps
    assert lightness(picture)[-1].mean() > lightness(picture)[0].mean()
    assert lightness(smoke(np.zeros((8, 8, 8)), size=(64, 96), background="light")).min() > 120


def test_soot_takes_away_the_share_of_the_background_that_its_depth_says():
    # A box of even, black smoke, seen along an axis by parallel rays: exp(-opacity) of the background comes through.
    clear, opacity = smoke(np.zeros((16, 16, 16)), camera=SIDE, size=(96, 96), background="light"), 1.5
    # The sun's share is nothing for albedo 0.
    dark = smoke(np.ones((16, 16, 16)), camera=SIDE, size=(96, 96), background="light", opacity=opacity, albedo=0.0)

    def linear(picture):
        coded = picture.astype(float) / 255
        mapped = np.where(coded < 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
        # The inverse of x (1 + x / 6) / (1 + x).
        return 3 * (np.sqrt((1 - mapped) ** 2 + 4 / 6 * mapped) - (1 - mapped))

    ratio = linear(dark)[40:56, 40:56] / linear(clear)[40:56, 40:56]
    # The outermost half cells are not between two slices.
    np.testing.assert_allclose(ratio, np.exp(-opacity * 15.5 / 16), rtol=0.03)


def test_the_side_towards_the_sun_is_brighter_and_shadows_fall_down():
    rho, _ = blob()
    from_left = lightness(smoke(rho, camera=SIDE, light=(-1, 0, 0), size=(120, 160)))
    assert from_left[60:100, 30:60].mean() > 1.2 * from_left[60:100, 60:90].mean()
    from_right = lightness(smoke(rho, camera=SIDE, light=(1, 0, 0), size=(120, 160)))
    # Edges of the blob lie differently between the pixels.
    difference = np.abs(from_right - from_left[:, ::-1])
    assert difference.mean() < 0.4
    assert np.percentile(difference, 99) < 2.0
    low, _ = blob(center=(0.5, 0.5, 0.2), radius=0.15)
    high, _ = blob(center=(0.5, 0.5, 0.75), radius=0.3)
    alone = lightness(smoke(low, camera=SIDE, light=(0, 1, 0), size=(120, 160)))
    shaded = lightness(smoke(low + high, camera=SIDE, light=(0, 1, 0), size=(120, 160)))
    assert shaded[125:132, 55:65].mean() < 0.75 * alone[125:132, 55:65].mean()


def test_a_sphere_covers_the_disc_that_it_should():
    rho, phi = blob((32, 32, 32), radius=0.3)
    picture = smoke(np.zeros_like(rho), solid=phi, camera=SIDE, size=(200, 200), solid_color=(1, 0, 0))
    red = picture[..., 0].astype(int) - picture[..., 2] > 8
    edge = 0.96 * 200  # the volume fills this many pixels
    assert red.sum() == pytest.approx(np.pi * (0.3 * edge) ** 2, rel=0.03)
    rows, columns = np.nonzero(red)
    assert rows.mean() == pytest.approx(99.5, abs=1)
    assert columns.mean() == pytest.approx(99.5, abs=1)
    corners = np.pad(phi, ((0, 1),) * 3, mode="edge")
    assert smoke(rho, solid=corners, size=(40, 40)).shape == (40, 40, 3)


@pytest.mark.parametrize("turn", [37.0, 130.0, -75.0])
def test_turning_the_camera_is_turning_the_volume(turn):
    rng = np.random.default_rng(5)
    rho = blob((20, 20, 26))[0] * rng.random((20, 20, 26))
    camera = Camera(azimuth=turn, elevation=12)
    turned = Camera(azimuth=turn + 90, elevation=12)
    one = smoke(rho, camera=turned, size=(80, 100)).astype(int)
    against = smoke(np.rot90(rho, -1, axes=(0, 1)), camera=camera, size=(80, 100)).astype(int)
    along = smoke(np.rot90(rho, 1, axes=(0, 1)), camera=camera, size=(80, 100)).astype(int)
    assert np.abs(one - against).max() <= 3
    assert np.abs(one - along).max() > 30


@pytest.mark.parametrize("azimuth", [45.0, 135.0, -45.0])
def test_nothing_jumps_where_the_slices_change_their_axis(azimuth):
    rho, phi = blob(center=(0.4, 0.6, 0.5))
    before, after = (
        smoke(rho, solid=phi + 0.15, camera=Camera(azimuth=azimuth + d, elevation=5), size=(90, 120)).astype(int) for d in (-0.01, 0.01)
    )
    # The two sets of slices cut the edges differently; a shifted or turned picture would differ many times as much.
    assert np.abs(before - after).mean() < 0.5
    assert np.percentile(np.abs(before - after), 99) < 12


@pytest.mark.parametrize("azimuth", [0.0, 90.0, 180.0, -90.0])
@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_pictures_are_not_mirrored(up, azimuth):
    """The camera looks along the cross product of the upward axis and the one to the right."""
    above = np.eye(3)["xyz".index(up)]
    first = np.eye(3)[1 if up == "x" else 0]
    angle = np.radians(azimuth)
    right = np.cos(angle) * first - np.sin(angle) * np.cross(first, above)
    rho = blob((24, 24, 24), center=tuple(0.5 + 0.3 * right), radius=0.15)[0]
    seen = lightness(smoke(rho, up=up, camera=Camera(azimuth=azimuth, elevation=0.0), size=(80, 80), light=(0, 1, 0)))
    columns = np.nonzero(seen.max(0) > 120)[0]
    assert columns.min() > 45


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_up_is_up(up):
    low = blob((24, 24, 24), center=(0.5, 0.5, 0.2), radius=0.15)[0]
    axes = {"x": (2, 0, 1), "y": (0, 2, 1), "z": (0, 1, 2)}[up]
    seen = lightness(smoke(low.transpose(axes), up=up, camera=SIDE, size=(80, 80), light=(0, 1, 0)))
    rows = np.nonzero(seen.max(1) > 120)[0]
    assert rows.min() > 45
    assert rows.max() < 76


def test_same_volume_same_bytes():
    rho, phi = blob()
    assert smoke(rho, solid=phi, size=(60, 80)).tobytes() == smoke(rho.copy(), solid=phi.copy(), size=(60, 80)).tobytes()


def test_what_cannot_be_drawn_is_said():
    rho = np.ones((4, 4, 4))
    with pytest.raises(ValueError, match=r"density must have 3 axes of at least 2 cells, not the shape \(4, 4\)"):
        smoke(rho[0])
    with pytest.raises(ValueError, match=r"shape of the cells \(4, 4, 4\) or of the nodes \(5, 5, 5\), not \(4, 4, 5\)"):
        smoke(rho, solid=np.ones((4, 4, 5)))
    with pytest.raises(ValueError, match="background must be one of 'dark', 'light', not 'pink'"):
        smoke(rho, background="pink")
    with pytest.raises(ValueError, match="elevation must be from -60 to 60 degrees, not 80"):
        smoke(rho, camera=Camera(elevation=80))
    rho[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"density must be finite, but \[1, 2, 3\] is nan"):
        smoke(rho)


def half_filled(oblique, *, clear=False):
    """Smoke on the left of a sheet across the volume, none on its right."""
    grid = Grid((24, 20, 22), 1 / 24)
    x = np.array([[0.47 - oblique, -0.2, -0.2], [0.47 - oblique, 1.2, -0.2], [0.47 + oblique, 1.2, 1.2], [0.47 + oblique, -0.2, 1.2]])
    walls = ShellWalls(grid, x, np.array([[0, 1, 2], [0, 2, 3]], np.int32), 1e-3 / 24)
    density = CellField(grid, np.dtype(np.float32))
    cx, _, cz = np.broadcast_arrays(*density.coordinates())
    density.array[...] = 0.0 if clear else cx < 0.47 - oblique + 2 * oblique * (cz + 0.2) / 1.4
    return density, walls


@pytest.mark.parametrize("oblique", [0.0, 0.13])
def test_smoke_beside_a_sheet_is_seen_on_its_side_alone(oblique):
    """Seen along the sheet: beyond it the picture is that without smoke, to the bit; on this side there is no dark rim."""
    density, walls = half_filled(oblique)
    options = {"camera": SIDE, "size": (192, 176), "light": (-0.9, 0.3, 0.3)}
    picture, empty = (lightness(smoke(d, walls=walls, **options)) for d in (density, half_filled(oblique, clear=True)[0]))
    plain = lightness(smoke(density, **options))
    row = 88
    changed = np.flatnonzero(picture[row] != empty[row])
    density.array[...] = 1.0
    ends = np.flatnonzero(lightness(smoke(density, **options))[row] != empty[row])
    place = 0.47 - oblique + 2 * oblique * (11 / 24 + 0.2) / 1.4
    sheet = ends[0] + place * (ends[-1] + 1 - ends[0])
    assert sheet - 2 < changed.max() < sheet + 1
    assert np.flatnonzero(plain[row] != empty[row]).max() > sheet + 2
    last = changed.max() - 2
    assert abs(picture[row, last] - picture[row, last - 12]) < 0.05 * picture[row, last - 12]


def test_a_sheet_hides_the_smoke_behind_it_and_shades_it():
    grid = Grid((20, 20, 20), 0.05)
    density = CellField(grid, np.dtype(np.float32))
    density.array[:, 10:, :] = 1.0
    x = np.array([[-0.1, 0.488, -0.1], [1.1, 0.488, -0.1], [1.1, 0.488, 1.1], [-0.1, 0.488, 1.1]])
    walls = ShellWalls(grid, x, np.array([[0, 1, 2], [0, 2, 3]], np.int32), 5e-5)
    density.array[:, :10, :] = 0.0
    empty = CellField(grid, np.dtype(np.float32))
    # Front: nothing but the sheet is seen. Behind: the sun on the other side does not reach the smoke.
    front = Camera(azimuth=0.0, elevation=0.0, distance=1e3)
    near = [lightness(smoke(d, walls=walls, camera=front, size=(96, 96)))[30:66, 30:66] for d in (density, empty)]
    assert np.array_equal(*near)
    back = Camera(azimuth=180.0, elevation=0.0, distance=1e3)
    shaded, lit = (lightness(smoke(density, walls=w, camera=back, size=(96, 96), light=(0.0, 0.1, -1.0))).max() for w in (walls, None))
    assert shaded < 0.8 * lit
    with pytest.raises(ValueError, match="the grid of density"):
        smoke(density.array, walls=walls)
