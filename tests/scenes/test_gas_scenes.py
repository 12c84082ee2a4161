"""Scenes of the gas solver: behaviour at tiny resolutions, resuming to the same bits, and errors."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

import meniscus as ms
from meniscus import io, scenes
from meniscus.scenes.library.ghia import REYNOLDS, centerlines
from meniscus.scenes.shapes import knot, placed

TINY = {
    "plume": {"resolution": 16, "frames": 3, "end": 0.3, "vortex_rate": 60.0},
    "billow": {"resolution": 16, "frames": 3, "end": 0.3, "vortex_rate": 60.0},
    "explosion": {"resolution": 16, "frames": 3, "end": 0.3, "expansion": 0.2, "particles": 80},
    "wake": {"resolution": 16, "frames": 3, "end": 0.6},
    "cavity": {"resolution": 16, "frames": 3, "end": 0.6},
}


def run(name: str, **parameters: object) -> tuple[scenes.Scene, scenes.Frame]:
    scene = scenes.find(name)(**{**TINY[name], **parameters})
    return scene, scenes.run(scene)


def final_state(folder: Path) -> dict[str, np.ndarray]:
    found, _ = io.latest_checkpoint(folder / "checkpoints")
    assert found is not None
    flat: dict[str, np.ndarray] = {}

    def walk(value: object, path: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                walk(item, f"{path}/{key}")
        elif isinstance(value, (tuple, list)):
            for i, item in enumerate(value):
                walk(item, f"{path}/{i}")
        else:
            flat[path] = np.asarray(value)

    walk(found.state, "")
    return flat


def diagnostics(folder: Path) -> list[dict[str, str]]:
    with (folder / "diagnostics.csv").open(newline="") as file:
        return [{k: v for k, v in row.items() if not k.startswith("seconds")} for row in csv.DictReader(file)]


@pytest.mark.parametrize("name", TINY)
def test_a_run_that_was_broken_off_goes_on_to_the_same_bits(name, tmp_path):
    pytest.importorskip("h5py")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    kind = scenes.find(name)
    scenes.run(kind(**TINY[name]), whole, pictures=False, files=False)
    for frame in scenes.frames(kind(**TINY[name]), broken, pictures=False, files=False):
        if frame.number == 1:
            break
    scenes.run(kind(**TINY[name]), broken, pictures=False, files=False, resume=True)
    one, other = final_state(whole), final_state(broken)
    assert one.keys() == other.keys()
    for path, value in one.items():
        np.testing.assert_array_equal(value, other[path], err_msg=path)
    assert diagnostics(whole) == diagnostics(broken)


@pytest.mark.fast_cases("plume", "wake")
@pytest.mark.parametrize("name", TINY)
def test_every_picture_shows_something_from_the_first_frame_on(name):
    pytest.importorskip("matplotlib")
    scene = scenes.find(name)(**TINY[name])
    pictures = []
    for frame in scenes.frames(scene):
        picture = scene.draw(io.collect(scene.frame_data(), frame.number, frame.time))
        if not isinstance(picture, np.ndarray):
            picture.canvas.draw()
            picture = np.asarray(picture.canvas.buffer_rgba())[..., :3]
        pictures.append(picture.astype(int))
    assert all(np.ptp(p.mean(axis=2)) > 50 for p in pictures)
    assert np.abs(pictures[-1] - pictures[0]).max() > 20


def test_plume_rises_past_its_obstacle_and_leaves_it_free_of_smoke():
    scene, last = run("plume", end=0.8, frames=2)
    z = scene.solver.grid.cell_centers()[2]
    a = scene.solver.density.array
    first = scenes.find("plume")(**TINY["plume"])
    first.setup()
    start = first.solver.density.array
    assert (a * z).sum() / a.sum() > (start * z).sum() / start.sum() + 0.1
    assert last.diagnostics["smoke"] > 1.5 * float(start.sum()) / 16**3
    # Seeded at 60 a second for 0.8 s; particles that meet the obstacle are removed.
    assert 0 < last.diagnostics["vortices"] <= 48
    points = scene.solver.vortices.positions.astype(float)
    assert (scene.obstacle.signed_distance(points) > -0.5 / 16).all()


def test_seed_decides_the_vortex_particles():
    one, again, other = (run("billow", seed=s)[0].solver.vortices.positions for s in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert one.shape == other.shape
    assert np.abs(one - other).max() > 0.01


def test_without_vortex_particles_there_are_none_and_less_enstrophy():
    parameters = {"resolution": 24, "end": 0.8, "frames": 1, "vortex_rate": 250.0}
    (bare, plain), (_, stirred) = (run("billow", vortex_particles=on, **parameters) for on in (False, True))
    assert bare.solver.vortices is None
    assert plain.diagnostics["vortices"] == 0
    assert stirred.diagnostics["vortices"] > 100
    assert stirred.diagnostics["enstrophy"] > 1.2 * plain.diagnostics["enstrophy"]
    assert stirred.diagnostics["middle scales"] > 1.2 * plain.diagnostics["middle scales"]


def test_bands_of_billow_hold_the_energy_of_its_spectrum():
    scene, last = run("billow")
    k, energy = scene.spectrum()
    bands = sum(last.diagnostics[f"{name} scales"] for name in ("large", "middle", "small"))
    assert bands == pytest.approx(energy.sum() * k[1], rel=1e-12)
    assert bands > 0


def test_explosion_pushes_out_the_volume_that_its_divergence_asks_for():
    scene = scenes.find("explosion")(**{**TINY["explosion"], "buoyancy": 0.0, "vortex_particles": False, "confinement": 0.0})
    scene.setup()
    assert np.isfinite(scene.max_dt())
    scene.advance(0.0, min(scene.max_dt(), 0.05))
    u = scene.solver.velocity
    h = scene.solver.grid.spacing
    out = sum(float(u.component(d).take(-1, d).sum() - u.component(d).take(0, d).sum()) for d in range(3)) * h**2
    cells = int((scene.solver.temperature.array > 0.99).sum())
    assert out == pytest.approx(scene.divergence * cells * h**3, rel=0.2)
    _, last = run("explosion")
    assert last.diagnostics["vortices"] == 80


def test_explosion_seeds_along_circles_that_drive_its_middle_upward():
    scene = scenes.find("explosion")(**TINY["explosion"])
    scene.setup()
    scene.add_particles(0.0, 0.1)
    v = scene.solver.vortices
    assert len(v) == 40
    arms = v.positions - np.float32([0.5, 0.5, 0.0])
    np.testing.assert_allclose(v.vorticity[:, 2], 0.0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(v.vorticity, axis=1), 2e-3, rtol=1e-5)
    # Right-handed around the axis: so turns a vortex ring that rises.
    assert (arms[:, 0] * v.vorticity[:, 1] - arms[:, 1] * v.vorticity[:, 0] > 0).all()
    scene.add_particles(0.3, 0.1)
    assert len(v) == 40


@pytest.mark.parametrize("method", ["semi-lagrangian", "bfecc", "maccormack"])
def test_wake_keeps_the_stream_outside_of_the_cylinder(method):
    scene, last = run("wake", method=method, slip="free", reynolds=100.0)
    u = scene.solver.velocity.u
    np.testing.assert_array_equal(u[0], 1.0)
    # What comes in goes out, past the narrowest place too.
    flux = u.sum(axis=1) / 16
    np.testing.assert_allclose(flux[[1, 20, -1]], 1.0, atol=2e-3)
    assert 1.0 < last.diagnostics["max speed"] < 2.5


def test_strouhal_number_comes_from_the_passages_of_the_probe():
    scene = scenes.Wake(**TINY["wake"])
    scene.setup()
    assert scene.strouhal == 0.0
    scene.crossings[-2:] = 3.0, 4.0
    assert scene.strouhal == 0.0
    scene.crossings[-3:] = 3.0, 4.0, 5.5
    assert scene.strouhal == pytest.approx(0.25 / 1.25)


def test_centerlines_are_those_of_the_tables():
    assert REYNOLDS == (100, 400, 1000)
    for reynolds, lowest_u, lowest_v in ((100, -0.21090, -0.24533), (400, -0.32726, -0.44993), (1000, -0.38289, -0.51550)):
        (y, u), (x, v) = centerlines(reynolds)
        assert u.min() == lowest_u
        assert v.min() == lowest_v
        assert (np.diff(y) < 0).all()
        assert (np.diff(x) < 0).all()
        # A value that was copied wrongly would stand out against the curvature of its neighbours.
        for s, f in ((y, u), (x, v)):
            guess = f[:-2] + (f[2:] - f[:-2]) * (s[1:-1] - s[:-2]) / (s[2:] - s[:-2])
            assert np.abs(guess - f[1:-1]).max() < 0.25
    assert centerlines(200) is None
    assert 0.9063 not in centerlines(400)[1][0]


def test_cavity_comes_close_to_the_tables():
    _, last = run("cavity", resolution=32, reynolds=100.0, end=12.0, frames=1)
    assert last.diagnostics["u deviation"] < 0.02
    assert last.diagnostics["v deviation"] < 0.02
    assert "u deviation" not in run("cavity", reynolds=250.0)[1].diagnostics


def test_obstacle_is_a_closed_surface_of_the_wanted_size_in_its_place():
    assert ms.mesh.check_watertight(*knot()).watertight
    vertices, triangles = placed(knot(60, 8), (0.5, 0.4, 0.3), 0.6)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    np.testing.assert_allclose((low + high) / 2, (0.5, 0.4, 0.3), atol=1e-12)
    assert (high - low).max() == pytest.approx(0.6)
    corners = vertices[triangles]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume > 0


def write_box(path: Path, size: tuple[float, float, float]) -> None:
    x, y, z = size
    corners = [(a, b, c) for a in (0, x) for b in (0, y) for c in (0, z)]
    quads = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
    path.write_text("".join(f"v {a} {b} {c}\n" for a, b, c in corners) + "".join(f"f {a} {b} {c} {d}\n" for a, b, c, d in quads))


@pytest.mark.parametrize(("up", "extent"), [("x", (0.3, 0.15, 0.6)), ("y", (0.15, 0.6, 0.3)), ("z", (0.6, 0.3, 0.15))])
def test_given_mesh_is_turned_scaled_and_placed(tmp_path, up, extent):
    pytest.importorskip("trimesh")
    write_box(tmp_path / "box.obj", (4.0, 2.0, 1.0))
    scene = scenes.Plume(**TINY["plume"], mesh=str(tmp_path / "box.obj"), mesh_up=up)
    scene.setup()
    low, high = scene.obstacle.bounds()
    turned = {"x": (2.0, 1.0, 4.0), "y": (1.0, 4.0, 2.0), "z": (4.0, 2.0, 1.0)}[up]
    np.testing.assert_allclose(high - low, 0.6 * np.array(turned) / 4.0, rtol=1e-9)
    np.testing.assert_allclose((high + low) / 2, (0.5, 0.5, scene.mesh_height), rtol=1e-9)
    assert scene.obstacle.signed_distance(np.array([[0.5, 0.5, scene.mesh_height]]))[0] < 0


def test_meshes_that_cannot_be_used_are_refused_in_one_sentence(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "text.obj").write_text("this is no mesh\n")
    (tmp_path / "point.obj").write_text("v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n")
    (tmp_path / "holes.obj").write_text("v 0 0 0\nv 1 0 nan\nv 0 1 0\nf 1 2 3\n")
    for name, sentence in (
        ("missing.obj", "the obstacle cannot be read: there is no file"),
        ("text.obj", "the obstacle cannot be read: .* holds no triangle mesh"),
        ("point.obj", "the obstacle cannot be used: all of its vertices are at one point"),
        ("holes.obj", "the obstacle cannot be read: .*vertices must be finite"),
    ):
        with pytest.raises(ValueError, match=sentence) as caught:
            scenes.run("plume", **TINY["plume"], mesh=str(tmp_path / name))
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="mesh_up must be"):
        scenes.run("plume", **TINY["plume"], mesh=str(tmp_path / "text.obj"), mesh_up="w")


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("plume", {"resolution": 2}, "resolution"),
        ("plume", {"source_radius": -1.0}, "source_radius must be positive"),
        ("billow", {"vortex_radius": 0.0}, "vortex_radius must be positive"),
        ("explosion", {"particles": -1}, "particles"),
        ("explosion", {"expansion": 0.0}, "expansion must be positive"),
        ("wake", {"reynolds": -1.0}, "reynolds must not be negative"),
        ("wake", {"slip": "none"}, "slip"),
        ("cavity", {"reynolds": 0.0}, "reynolds must be positive"),
    ],
)
def test_parameters_out_of_range_are_refused(name, parameters, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        run(name, **parameters)
    assert "\n" not in str(caught.value)
