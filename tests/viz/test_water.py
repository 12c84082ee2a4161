"""Pictures of water: reflection and refraction follow the laws of light at its surface."""

from __future__ import annotations

import numpy as np
import pytest
from support.meshes import box, torus

import meniscus as ms
from meniscus.surface import LevelSet
from meniscus.viz import Camera, liquid2d, water
from meniscus.viz.optics import dot, fresnel, normalized, refract, sky
from meniscus.viz.water import WaterLook
from meniscus.viz.water_light import Tracer

UP = Camera(azimuth=0.0, elevation=89.0, distance=20.0)


def test_fresnel_and_snell(rng: np.random.Generator) -> None:
    into = np.array([1 / 1.33])
    assert fresnel(np.ones(1), into) == pytest.approx((0.33 / 2.33) ** 2)
    # At Brewster's angle only half of the light takes part: what is polarised across the plane.
    angle = np.arctan(1.33)
    across = np.sin(angle - (np.pi / 2 - angle)) ** 2
    assert fresnel(np.cos([angle]), into) == pytest.approx(across / 2)
    # Nothing leaves the water beyond the critical angle, and both ways reflect the same.
    assert fresnel(np.cos([np.arcsin(1 / 1.33) + 1e-6]), 1 / into) == 1
    normal = normalized(rng.standard_normal((500, 3)))
    d = normalized(rng.standard_normal((500, 3)))
    d *= -np.sign(dot(d, normal))[:, None]
    keep = np.abs(dot(d, normal)) > 2e-3
    d, normal = d[keep], normal[keep]
    bent, passes = refract(d, normal, np.full(len(d), 1 / 1.33))
    assert passes.all()
    assert np.abs(np.linalg.norm(np.cross(d, normal), axis=1) - 1.33 * np.linalg.norm(np.cross(bent, normal), axis=1)).max() < 1e-12
    assert np.abs(dot(np.cross(d, normal), bent)).max() < 1e-12
    back, _ = refract(-bent, -normal, np.full(len(d), 1.33))
    assert np.abs(back + d).max() < 1e-9
    there = fresnel(-dot(d, normal), np.full(len(d), 1 / 1.33))
    home = fresnel(np.abs(dot(bent, normal)), np.full(len(d), 1.33))
    assert np.abs(there - home).max() < 1e-12
    assert not refract(np.array([[0.9, 0.0, np.sqrt(0.19)]]), np.array([[0.0, 0.0, -1.0]]), np.array([1.33]))[1].any()


def test_the_sky_is_bluer_above_and_bright_at_the_sun() -> None:
    sun = normalized(np.array([[0.3, 0.4, 0.6]]))[0]
    d = normalized(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.03], [0.0, 1.0, -0.5], sun]))
    light = sky(d, 2, sun)
    assert light[0, 2] / light[0, 0] > light[1, 2] / light[1, 0] > 1
    assert light[3].min() > 5 * light[0].max()
    assert light[2].max() < light[1].min()


def test_deeper_water_is_darker_and_less_red() -> None:
    colors = []
    for depth in (0.1, 0.4, 1.6):
        v, t = box((-1.0, -1.0, -depth), (1.0, 1.0, 0.0))
        picture = water(
            v, t, box=((-1, -1, -2), (1, 1, 0)), look=WaterLook(floor=-depth, caustics=False, samples=1), camera=UP, size=(48, 48)
        )
        colors.append(picture[16:32, 16:32].reshape(-1, 3).mean(axis=0))
    found = np.array(colors)
    assert (np.diff(found[:, 0]) < -5).all()
    assert (np.diff(found[:, 2] / found[:, 0]) > 0).all()


def test_no_water_is_the_floor_and_the_sky() -> None:
    nothing = np.zeros((0, 3)), np.zeros((0, 3), np.int32)
    picture = water(
        *nothing, look=WaterLook(floor=-0.5, samples=1), box=((0, 0, 0), (1, 1, 1)), size=(64, 48), camera=Camera(azimuth=10, elevation=5)
    )
    assert picture.shape == (48, 64, 3)
    assert picture.dtype == np.uint8
    assert picture[2, 2, 2] > picture[2, 2, 0]
    with pytest.raises(ValueError, match="a picture of nothing needs a box"):
        water(*nothing)


@pytest.mark.slow
def test_mirror_symmetry_and_order_of_triangles(rng: np.random.Generator) -> None:
    # A scene that is the same from the left and the right gives such a picture, whatever the order of its triangles.
    n = 20
    phi = LevelSet.from_function(ms.Grid((n, n, n), 1 / n, (-0.5, -0.5, 0.0)), lambda x, y, z: z - 0.3 - 0.2 * x**2 + 0 * y)
    v, t = phi.to_mesh()
    options = {"size": (64, 48), "camera": Camera(azimuth=0, elevation=30), "look": WaterLook(light=(0.0, 1.0, 0.3), samples=1)}
    picture = water(v, t, **options)  # type: ignore[arg-type]
    shuffled = water(v, np.ascontiguousarray(rng.permutation(t)), **options)  # type: ignore[arg-type]
    assert np.abs(picture.astype(int) - shuffled).max() <= 2
    difference = np.abs(picture.astype(int) - picture[:, ::-1])
    assert np.quantile(difference, 0.9) <= 6


def test_light_on_the_floor_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # A slab with a flat top shifts light and takes the part that it reflects and absorbs; a solid throws a shadow.
    seen = []
    original = Tracer.light_floor

    def spied(self: Tracer) -> None:
        original(self)
        seen.append(self.map)

    monkeypatch.setattr(Tracer, "light_floor", spied)
    v, t = box((-1.0, -1.0, 0.0), (1.0, 1.0, 0.2))
    options = {"size": (16, 16), "look": WaterLook(clarity=1e9, light=(0.0, 1.0, 0.0), samples=1)}
    water(v, t, **options)  # type: ignore[arg-type]
    inner = seen[0][40:-40, 40:-40]
    assert np.abs(inner - (1 - (0.33 / 2.33) ** 2)).max() < 1e-6
    ring = torus(0.4, 0.1)
    water(v, t, solids=[(np.ascontiguousarray(ring[0] + [0, 0, 0.5]), ring[1])], **options)  # type: ignore[arg-type]
    shadow = (seen[1] < 0.2).sum() / (seen[1] > 0.5).sum()
    assert shadow == pytest.approx(np.pi * (0.5**2 - 0.3**2) / (2.24**2 - np.pi * (0.5**2 - 0.3**2)), rel=0.1)


def test_spray_is_seen_in_front_and_hidden_behind() -> None:
    ball = LevelSet.from_function(
        ms.Grid((16,) * 3, 1 / 16), lambda x, y, z: np.sqrt((x - 0.5) ** 2 + (y - 0.5) ** 2 + (z - 0.5) ** 2) - 0.3
    )
    v, t = ball.to_mesh()
    options = {"size": (48, 48), "camera": Camera(azimuth=0, elevation=0), "look": WaterLook(caustics=False, samples=1)}
    plain = water(v, t, **options)  # type: ignore[arg-type]
    front = water(v, t, spray=np.array([[0.5, 0.1, 0.5]]), spray_radius=0.05, **options)  # type: ignore[arg-type]
    behind = water(v, t, spray=np.array([[0.5, 0.9, 0.5]]), spray_radius=0.05, **options)  # type: ignore[arg-type]
    assert (front != plain).any(axis=2).sum() > 10
    assert np.array_equal(behind, plain)


def test_what_is_refused() -> None:
    v, t = box()
    with pytest.raises(TypeError, match="triangles must hold integers, not float64"):
        water(v, t.astype(float))
    with pytest.raises(ValueError, match="vertices must be finite"):
        water(v * np.nan, t)
    with pytest.raises(ValueError, match="normals must have 8 rows"):
        water(v, t, normals=np.zeros((3, 3)))
    with pytest.raises(ValueError, match="light must come from above"):
        water(v, t, look=WaterLook(light=(1.0, -1.0, 0.0)))
    with pytest.raises(ValueError, match="elevation must be from -89 to 89"):
        water(v, t, camera=Camera(elevation=90))
    with pytest.raises(ValueError, match="box must be its lowest and its highest corner"):
        water(v, t, box=((0, 0, 0), (1, 0, 1)))
    with pytest.raises(ValueError, match="up must be one of"):
        water(v, t, up="w")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="spray must have shape"):
        water(v, t, spray=np.zeros((3, 2)), size=(16, 16), look=WaterLook(samples=1))


def test_liquid2d() -> None:
    grid = ms.Grid((24, 16), 1 / 16)
    phi = LevelSet.from_function(
        grid, lambda x, y: np.minimum(np.maximum(y - 0.3 + 0 * x, 0.1 - np.hypot(x - 0.5, y - 0.15)), x - 0.1), "cells"
    )
    figure = liquid2d(phi, solid=LevelSet.from_function(grid, lambda x, y: np.hypot(x - 1, y - 0.3) - 0.1), spray=np.array([[0.5, 0.8]]))
    patch = figure.axes[0].patches[0]
    # What is filled is the inside, without the bubble in it.
    path = patch.get_path()
    assert len([c for c in path.codes if c == path.MOVETO]) == 2
    figure.canvas.draw()
    with pytest.raises(ValueError, match="phi must be 2-D"):
        liquid2d(LevelSet(ms.Grid((3, 3, 3), 1.0)))
