"""Path-traced pictures: scene descriptions, tested without a renderer, and measured light where Mitsuba is installed."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.meshes import box

from meniscus import scenes
from meniscus.cli import main
from meniscus.viz import Camera, path_tracing
from meniscus.viz.optics import developed
from meniscus.viz.path_tracing import Surface, render, smoke_scene, surface_scene, water_scene
from meniscus.viz.path_tracing.denoising import Renderings
from meniscus.viz.path_tracing.stage import sky_light
from meniscus.viz.view import View

UNIT = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def leaves(node: dict[str, Any], path: str = "") -> list[tuple[str, Any]]:
    result = []
    for key, value in node.items():
        result += leaves(value, f"{path}/{key}") if isinstance(value, dict) else [(f"{path}/{key}", value)]
    return result


def ball(n: int = 12) -> np.ndarray:
    x = (np.arange(n) + 0.5) / n - 0.5
    return (np.sqrt(x[:, None, None] ** 2 + x[:, None] ** 2 + x**2) < 0.3).astype(np.float32)


def water(**more: Any) -> dict[str, Any]:
    v, t = box((0.0, 0.0, 0.0), (1.0, 1.0, 0.4))
    return water_scene(v, t, box=UNIT, **more)


def test_descriptions_hold_numbers_strings_and_arrays_alone() -> None:
    v, t = box((0.2, 0.2, 0.2), (0.6, 0.6, 0.6))
    spray = np.array([[0.5, 0.5, 0.8], [0.2, 0.6, 0.9]])
    for scene in (
        smoke_scene(ball(), solids=[(v, t)]),
        water(solids=[(v, t)], spray=spray, spray_radius=np.array([0.01, 0.02])),
        surface_scene(
            [Surface(vertices=v, triangles=t, back=(1, 0, 0)), Surface(vertices=v, triangles=t, triangle_colors=np.ones((12, 3)))]
        ),
    ):
        assert scene["type"] == "scene"
        for path, value in leaves(scene):
            if isinstance(value, np.ndarray):
                assert np.isfinite(value).all(), path
            else:
                assert isinstance(value, (int, float, str, bool, list)), path


def test_smoke_is_a_medium_in_the_box_of_the_cells_that_hold_it() -> None:
    density = np.zeros((10, 12, 14), np.float32)
    density[4, 5, 6] = 0.5
    density[5, 5, 8] = 1.0
    low, cell = np.array([1.0, 2.0, 3.0]), 0.1
    scene = smoke_scene(density, box=(low, low + cell * np.array(density.shape)), opacity=7.0)
    medium = scene["smoke"]["interior"]
    grid = medium["sigma_t"]["grid"]
    assert grid.shape == (5, 3, 4, 1)  # z, y, x, with a layer of empty cells around
    assert grid[1, 1, 1, 0] == 0.5
    assert grid[3, 1, 2, 0] == 1.0
    assert medium["scale"] == pytest.approx(7.0 / (10 * cell))
    placed = medium["sigma_t"]["to_world"]
    np.testing.assert_allclose(placed @ (0, 0, 0, 1), [*(low + cell * np.array([3, 4, 5])), 1])
    np.testing.assert_allclose(placed @ (1, 1, 1, 1), [*(low + cell * np.array([7, 7, 10])), 1])
    # The cube that bounds the medium reaches from -1 to 1.
    np.testing.assert_allclose(scene["smoke"]["to_world"] @ (-1, -1, -1, 1), placed @ (0, 0, 0, 1))
    np.testing.assert_allclose(scene["smoke"]["to_world"] @ (1, 1, 1, 1), placed @ (1, 1, 1, 1))


def test_no_smoke_is_a_scene_too() -> None:
    grid = smoke_scene(np.zeros((4, 4, 4)))["smoke"]["interior"]["sigma_t"]["grid"]
    assert not grid.any()


def test_water_absorbs_red_before_green_before_blue_and_lies_on_its_floor() -> None:
    scene = water(clarity=0.5)
    medium = scene["water"]["interior"]
    absorption = medium["scale"] * np.array(medium["sigma_t"]["value"])
    assert absorption[0] * 0.5 == pytest.approx(2.6)
    assert absorption[0] > absorption[1] > absorption[2] > 0
    assert medium["albedo"] == 0
    assert scene["water"]["bsdf"] == {"type": "dielectric", "int_ior": 1.33, "ext_ior": 1.0}
    # The floor is inside of the water, without air between them.
    assert 0 < scene["floor"]["to_world"][2, 3] < 0.01


def test_drops_are_balls() -> None:
    centers = np.array([[0.5, 0.5, 0.8], [0.2, 0.6, 0.9]])
    radii = np.array([0.002, 0.003])
    drops = water(spray=centers, spray_radius=radii)["spray"]
    points = drops["vertices"].reshape(2, -1, 3)
    np.testing.assert_allclose(
        np.linalg.norm(points - centers[:, None], axis=2), np.repeat(radii[:, None], points.shape[1], axis=1), rtol=1e-4
    )
    corners = drops["vertices"][drops["triangles"].astype(int)]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ij,ij->i", across, drops["normals"][drops["triangles"][:, 0].astype(int)]) > 0).all()
    volumes = np.einsum("ij,ij->i", corners[:, 0], across).reshape(2, -1).sum(axis=1) / 6
    np.testing.assert_allclose(volumes, 4 / 3 * np.pi * radii**3, rtol=0.15)


def test_edges_stay_sharp_and_triangles_without_area_are_left_out() -> None:
    v, t = box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    t = np.concatenate([t, [[0, 1, 1]]]).astype(np.int32)
    shape = surface_scene([Surface(vertices=v, triangles=t, triangle_colors=np.linspace(0, 1, 39).reshape(13, 3))])["surface 0"]
    assert shape["triangles"].shape == (12, 3)
    assert shape["face_color"].shape == (12, 3)
    assert (np.sort(np.abs(shape["normals"]), axis=1) == (0, 0, 1)).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_sun_stands_where_its_direction_points_and_gives_the_light_asked_for(axis: int) -> None:
    sun = np.array([0.4, 0.5, 0.6])
    sun /= np.linalg.norm(sun)
    with_sun, without = (sky_light(axis, sun, sunlight=light, sun_radius=5.0) for light in (3.0, 0.0))
    light = (with_sun["bitmap"] - without["bitmap"]).astype(float)[..., 0]
    h, w = light.shape
    theta, phi = np.pi * (np.arange(h) + 0.5) / h, 2 * np.pi * (np.arange(w) + 0.5) / w
    area = np.sin(theta)[:, None] * (np.pi / h) * (2 * np.pi / w)
    assert (light * area).sum() == pytest.approx(3.0, rel=0.03)
    # The directions of an environment's pixels, as Mitsuba documents them.
    s = np.sin(theta)[:, None]
    local = np.stack([s * np.sin(phi), np.cos(theta)[:, None] + 0 * phi, -s * np.cos(phi)], axis=-1)
    mean = with_sun["to_world"][:3, :3] @ (local * (light * area)[..., None]).sum(axis=(0, 1))
    np.testing.assert_allclose(mean / np.linalg.norm(mean), sun, atol=0.01)
    assert np.linalg.det(with_sun["to_world"]) == pytest.approx(1.0)
    assert with_sun["to_world"][axis, 1] == 1.0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: smoke_scene(np.zeros((4, 4))), "density must have 3 axes"),
        (lambda: smoke_scene(np.full((4, 4, 4), np.nan)), "density must be finite"),
        (lambda: smoke_scene(ball(), background="red"), "background must be one of"),  # type: ignore[arg-type]
        (lambda: smoke_scene(ball(), box=((0, 0, 0), (1, 0, 1))), "box must be its lowest and its highest corner"),
        (lambda: water(light=(0.0, -1.0, 0.0)), "light must come from above"),
        (lambda: water(spray=np.zeros((2, 2))), r"spray must have shape \(k, 3\)"),
        (lambda: surface_scene([]), "needs at least one"),
        (lambda: render(smoke_scene(ball()), samples=0), "samples must be at least 1"),
    ],
)
def test_errors_are_one_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


# --- noise -----------------------------------------------------------------------------------------------------------------------


def test_denoising_takes_noise_away_and_leaves_edges(rng: np.random.Generator) -> None:
    truth = np.full((40, 60, 3), 0.2)
    truth[:, 30:] = (0.9, 0.6, 0.3)
    renderings = Renderings()
    for _ in range(8):
        renderings.add(truth + 0.3 * rng.standard_normal(truth.shape))
    noise, left = (np.sqrt(np.square(picture - truth).mean()) for picture in (renderings.mean(), renderings.denoised()))
    assert noise == pytest.approx(0.3 / np.sqrt(8), rel=0.05)
    assert left < 0.2 * noise
    beside = np.abs(renderings.denoised() - truth)[:, 29:31].mean()
    assert beside < 0.05  # of a step of 0.3 to 0.7


def test_a_picture_without_noise_stays_as_it_is_and_few_renderings_are_averaged(rng: np.random.Generator) -> None:
    picture = rng.random((20, 24, 3))
    same, few = Renderings(), Renderings()
    for k in range(6):
        same.add(picture)
        if k < 3:
            few.add(picture + k)
    np.testing.assert_allclose(same.denoised(), picture, atol=1e-4)
    np.testing.assert_allclose(few.denoised(), picture + 1)


# --- the renderer ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def mitsuba() -> Any:
    return pytest.importorskip("mitsuba")


def test_a_point_is_seen_where_the_view_projects_it(mitsuba: Any) -> None:
    low, high = np.array([-1.0, -0.5, -0.4]), np.array([1.5, 0.7, 2.0])
    camera, size, place = Camera(azimuth=35, elevation=25, distance=1.2), (96, 72), np.array([[1.1, 0.5, 1.6]])
    v, t = box(tuple(place[0] - 0.04), tuple(place[0] + 0.04))
    for axis, up in enumerate("xyz"):
        scene = surface_scene(
            [Surface(vertices=v, triangles=t, color=(1, 0, 0))], box=(low, high), size=size, up=up, camera=camera, ground=-50
        )  # type: ignore[arg-type]
        picture = render(scene, samples=8).astype(int)
        rows, columns = np.nonzero(picture[..., 0] - picture[..., 2] > 40)
        found = np.array([columns.mean(), rows.mean()]) + 0.5
        np.testing.assert_allclose(found, View(low, high, axis, camera, size).project(place)[0][0], atol=0.7)


def test_the_same_bits_each_time_and_other_noise_with_another_seed(mitsuba: Any) -> None:
    scene = smoke_scene(ball(), size=(32, 32))
    first = render(scene, samples=8)
    assert first.shape == (32, 32, 3)
    np.testing.assert_array_equal(render(scene, samples=8), first)
    assert (render(scene, samples=8, seed=1) != first).any()


def test_smoke_covers_what_is_behind_it_as_its_opacity_says(mitsuba: Any) -> None:
    density = np.ones((8, 8, 8))
    dark = {"camera": Camera(azimuth=0, elevation=0, distance=50), "size": (24, 24), "albedo": 1e-6, "background": "light"}
    thin, thick = (render(smoke_scene(density, opacity=opacity, **dark), samples=64, denoise=False)[6:10, 8:16] for opacity in (1e-6, 0.7))
    # The film curve is undone by looking through it at the same light.
    levels = np.linspace(0, 4, 4001)
    curve = developed(np.repeat(levels[:, None], 3, axis=1))[:, 0].astype(float)
    light = [np.interp(p.mean(), curve, levels) for p in (thin[..., 1].astype(float), thick[..., 1].astype(float))]
    assert light[1] / light[0] == pytest.approx(np.exp(-0.7), rel=0.06)


def test_deep_water_is_darker_and_less_red(mitsuba: Any) -> None:
    colors = []
    for depth in (0.05, 0.9):
        v, t = box((-2.0, -2.0, 0.0), (2.0, 2.0, depth))
        scene = water_scene(v, t, box=((-1, -1, 0), (1, 1, 1)), clarity=0.7, camera=Camera(azimuth=0, elevation=80), size=(24, 24))
        colors.append(render(scene, samples=32)[8:16, 8:16].reshape(-1, 3).mean(axis=0))
    shallow, deep = colors
    assert (deep < shallow).all()
    assert deep[0] / shallow[0] < 0.8 * deep[2] / shallow[2]


def test_the_variant_that_somebody_chose_comes_back_and_nothing_is_printed(mitsuba: Any, capfd: pytest.CaptureFixture[str]) -> None:
    mitsuba.set_variant("scalar_spectral")
    seen: list[tuple[int, int]] = []
    v, t = box((0.2, 0.2, 0.2), (0.6, 0.6, 0.6))
    render(surface_scene([Surface(vertices=v, triangles=t)], size=(16, 16)), samples=20, on_pass=lambda *p: seen.append(p))
    assert mitsuba.variant() == "scalar_spectral"
    assert seen == [(8, 24), (16, 24), (24, 24)]
    assert capfd.readouterr() == ("", "")


def test_a_scene_that_mitsuba_does_not_take_is_one_sentence(mitsuba: Any) -> None:
    scene = smoke_scene(ball(), size=(16, 16))
    scene["floor"]["bsdf"]["type"] = "marble"
    with pytest.raises(ValueError, match=r"^Mitsuba does not take the scene: .*marble") as error:
        render(scene, samples=1)
    assert "\n" not in str(error.value)


# --- runs ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Path:
    pytest.importorskip("vtk")
    scenes.run("billow", resolution=8, frames=2, end=0.05, out=tmp_path, pictures=False)
    return tmp_path


def test_pictures_of_a_run_are_made_from_its_files(mitsuba: Any, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("nothing is simulated")

    monkeypatch.setattr(scenes.Billow, "setup", fail)
    before = {p.name for p in run.iterdir()}
    seen = []
    written = scenes.render(run, renderer="mitsuba", size=(24, 32), samples=8, on_frame=lambda *p: seen.append(p))
    assert [p.relative_to(run).as_posix() for p in written[:4]] == [
        *(f"mitsuba/frame-000{i}.png" for i in range(3)),
        "mitsuba/billow.gif",
    ]
    assert seen == [(0, 2), (1, 2), (2, 2)]
    assert {p.name for p in run.iterdir()} == before | {"mitsuba"}
    pictures = [p.read_bytes() for p in written]
    assert len(set(pictures[:3])) == 3
    assert scenes.render(run, renderer="mitsuba", size=(24, 32), samples=8, frames=[1]) == written[1:2]
    assert written[1].read_bytes() == pictures[1]
    with pytest.importorskip("PIL.Image").open(written[0]) as opened:
        assert opened.size == (24, 32)


def test_finished_frames_outlive_an_interruption(mitsuba: Any, run: Path) -> None:
    folder = run / "mitsuba"
    command = [sys.executable, "-m", "meniscus", "render", str(run), "--renderer", "mitsuba", "--samples", "512", "--size", "48", "48"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (folder / "frame-0000.png").exists():
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read() == "interrupted\n"
        assert process.wait() == 130
    left = sorted(p.name for p in folder.iterdir())
    assert left[0] == "frame-0000.png"
    assert all(not name.startswith(".") for name in left)
    assert len(left) < 3


def test_the_command_line_renders_frames(mitsuba: Any, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["render", str(run), "--renderer", "mitsuba", "--samples", "8", "--size", "16", "24"]
    assert main([*options, "--frames", "0", "1-2"]) == 0
    assert capsys.readouterr().out.split() == [str(run / "mitsuba" / f"frame-000{i}.png") for i in range(3)]


def test_options_that_do_not_fit_are_one_sentence(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(path_tracing.renderer, "available", lambda: True)
    for arguments, sentence in (
        (["--samples", "8"], "size and samples are options of the renderer 'mitsuba'; the built-in one draws what the scene says"),
        (["--frames", "1", "7"], f"{run} holds frames 0 to 2, not 7"),
        (["--renderer", "mitsuba", "--samples", "0"], "samples must be at least 1, not 0"),
        (["--renderer", "mitsuba", "--size", "8", "64"], "width must be at least 16, not 8"),
    ):
        assert main(["render", str(run), *arguments]) == 2
        assert capsys.readouterr().err == f"meniscus: {sentence}\n"
    with pytest.raises(SystemExit):
        main(["render", str(run), "--frames", "3-"])
    assert "neither the number of a frame nor two with a hyphen between them" in capsys.readouterr().err


def test_scenes_that_are_flat_have_no_path_traced_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vtk")
    monkeypatch.setattr(path_tracing.renderer, "available", lambda: True)
    scenes.run("swirl", resolution=8, frames=1, out=tmp_path, pictures=False)
    with pytest.raises(ValueError, match="the scene 'swirl' has no path-traced pictures"):
        scenes.render(tmp_path, renderer="mitsuba")
    assert not (tmp_path / "mitsuba").exists()


def test_a_missing_renderer_is_one_sentence(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "mitsuba" else find(name, *more))
    assert main(["render", str(run), "--renderer", "mitsuba"]) == 2
    assert capsys.readouterr().err == "meniscus: path-traced pictures need Mitsuba 3; install it with: pip install 'meniscus-sim[render]'\n"
    with pytest.raises(ImportError, match="path-traced pictures need Mitsuba 3"):
        render(smoke_scene(ball()), samples=1)
    assert not (run / "mitsuba").exists()


@pytest.mark.parametrize("name", ["explosion", "falling-drop", "drape", "twist"])
def test_scenes_describe_their_frames(name: str) -> None:
    from meniscus.io.frames import collect

    scene = scenes.find(name)(**({"resolution": 12} if name != "twist" else {"resolution": 1}))
    scene.setup()
    described = scene.path_tracing_scene(collect(scene.frame_data(), 0, 0.0), (48, 64))
    assert described is not None
    film = described["sensor"]["film"]
    assert (film["width"], film["height"]) == (48, 64)
    assert {"explosion": "smoke", "falling-drop": "water"}.get(name, "surface 0") in described
