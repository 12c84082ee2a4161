"""Scenes of water on tetrahedra: ledgers, resume, drops, frames and pictures."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from meniscus import fluids, io, mesh, scenes, surface
from meniscus.scenes.tet_water import fly

SMALL = {
    "tet-column": {"cells": 8, "end": 0.2, "rate": 20.0},
    "tet-ball": {"cells": 4, "end": 0.3, "rate": 20.0},
    "adhesion": {"cell": 0.25, "end": 0.3, "rate": 20.0},
    "projections": {"cells": 8, "end": 0.2, "rate": 20.0},
}


def errors(diagnostics: dict[str, float]) -> list[float]:
    return [abs(value) for name, value in diagnostics.items() if "error" in name]


@pytest.mark.fast_cases("adhesion")
@pytest.mark.parametrize("name", SMALL)
def test_a_run_that_is_broken_off_goes_on_with_the_same_bits(tmp_path: Path, name: str) -> None:
    pytest.importorskip("h5py")
    pytest.importorskip("vtk")
    pytest.importorskip("matplotlib")

    def scene() -> scenes.Scene:
        return scenes.SCENES[name](**SMALL[name])

    whole = scenes.run(scene(), tmp_path / "whole", pictures=False)

    def stop(frame: scenes.Frame, count: int) -> None:
        if frame.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scenes.run(scene(), tmp_path / "broken", on_frame=stop, pictures=False)
    resumed = scenes.run(scene(), tmp_path / "broken", resume=True, pictures=False)
    assert resumed.diagnostics == whole.diagnostics
    assert max(errors(whole.diagnostics)) < 1e-12
    series = [io.read_series(tmp_path / folder / "frames.pvd") for folder in ("whole", "broken")]
    assert len(series[0]) == len(series[1]) == whole.total + 1
    one, other = (io.read_frame(s[-1][1], whole.total) for s in series)
    assert one.meshes.keys() == other.meshes.keys()
    for part, frame_mesh in one.meshes.items():
        np.testing.assert_array_equal(frame_mesh.vertices, other.meshes[part].vertices)
        for column, values in frame_mesh.element_columns.items():
            np.testing.assert_array_equal(values, other.meshes[part].element_columns[column])
    wet = next(m for part, m in one.meshes.items() if part.endswith("wet"))
    assert set(wet.element_columns) == {"fill", "volume", "rank", "velocity", "above capacity", "cut"}
    assert len(wet.elements) > 10
    (picture,) = scenes.render(tmp_path / "whole", frames=[whole.total])
    image = pytest.importorskip("PIL.Image")
    blue = np.asarray(image.open(picture).convert("RGB")).astype(int)
    assert (blue[..., 2] > blue[..., 0] + 40).sum() > 300  # water is seen


@pytest.mark.parametrize("show", ["fill", "rank"])
def test_wet_tetrahedra_are_shown(show: str) -> None:
    pytest.importorskip("matplotlib")
    scene = scenes.SCENES["tet-column"](cells=6, end=0.1, rate=10.0, show=show)
    scenes.run(scene)
    figure = scene.draw(io.frames.collect(scene.frame_data(), 1, 0.1))
    (picture,) = figure.axes[0].images
    colors = np.unique(np.asarray(picture.get_array()).reshape(-1, 3), axis=0)
    assert len(colors) > 50  # of tetrahedra in the light


@pytest.mark.fast_cases("0.0")
@pytest.mark.parametrize("acceleration", [0.0, 4.0, -4.0])
def test_a_plate_carries_the_water_on_it(acceleration: float) -> None:
    """The impulse of the force on the plate is the water's weight and the change of its momentum, in every step, and it comes to rest."""
    scene = scenes.SCENES["tet-column"](cells=8, end=1.0, acceleration=acceleration, sides="walls")
    forces, momenta, walls, times = [0.0], [0.0], [0.0], [0.0]

    def record(step: object) -> None:
        v = scene.vof
        forces.append(v.force_on_body()[2])
        momenta.append(v.options.density * float(v.volume @ v.velocity[:, 2]))
        walls.append(v.ledger().impulses["walls"][2])
        times.append(v.time)

    scenes.run(scene, on_step=record)
    mass = scene.vof.options.density * scene.vof.total_volume()
    assert len(scene.vof.drops) == 0
    dt = np.diff(times)
    weight = mass * 9.81 * dt
    given = np.diff(walls) - forces[1:] * dt
    np.testing.assert_allclose(np.diff(momenta), given - weight, rtol=0, atol=1e-10 * weight.min())
    # The walls are upright, and so the plate alone carries the water.
    half = len(forces) // 2
    carried = -np.sum((forces[1:] * dt)[half:])
    assert carried == pytest.approx(np.sum(weight[half:]) + momenta[-1] - momenta[half], rel=1e-3)
    # That it does so is seen from the water, which falls at first, and ever slower beside the plate.
    beside = np.array(momenta) / mass - acceleration * np.array(times)
    assert abs(beside[-1]) < 0.7 * abs(beside[half]) < 0.7 * 9.81 * times[half] * 0.2


@pytest.mark.slow
def test_adhesion_moves_where_water_leaves_a_ball() -> None:
    leaves = {
        setting: scenes.run("adhesion", setting=setting, cell=0.2, water="cap", end=1.6, rate=15.0).diagnostics["leaves at"]
        for setting in ("outward", "none", "strong")
    }
    assert leaves["outward"] < leaves["none"] - 5
    assert leaves["none"] < leaves["strong"] - 15


def test_water_that_is_led_aside_leaves_on_that_side() -> None:
    scene = scenes.SCENES["adhesion"](setting="aside", cell=0.25, end=0.8, rate=15.0)
    scenes.run(scene)
    assert np.average(scene.vof.drops.positions[:, 0], weights=scene.vof.drops["volume"]) > 0.5


def test_push_out_keeps_the_occupied_volume_and_a_projection_alone_does_not() -> None:
    last = scenes.run("projections", cells=8, end=0.5, rate=15.0).diagnostics
    assert last["push_out: occupied"] == pytest.approx(1.0, abs=1e-12)
    assert last["both: occupied"] == pytest.approx(1.0, abs=1e-12)
    assert last["projection: occupied"] < 0.8
    assert last["projection: iterations"] > 0


def test_curves_of_the_projections_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    scene = scenes.SCENES["projections"](cells=6, end=0.1, rate=20.0)
    scenes.run(scene, tmp_path, pictures=False)
    made = scene.finish(tmp_path, [])
    assert [p.name for p in made] == ["projections-occupied.png", "projections-seconds.png"]
    assert all(p.stat().st_size > 5000 for p in made)
    with (tmp_path / "diagnostics.csv").open() as file:
        assert {"seconds projection", "seconds both", "seconds push_out"} <= set(next(csv.DictReader(file)))


@pytest.mark.slow
def test_the_mesh_of_the_ball_may_follow_it_elastically() -> None:
    last = scenes.run("tet-ball", mesh="kdsm", cells=3, end=0.3, rate=20.0).diagnostics
    assert max(errors(last)) < 1e-12
    assert last["volume"] > 0


def test_the_ball_takes_its_mesh_along_and_no_drop_is_in_it() -> None:
    scene = scenes.SCENES["tet-ball"](cells=4, end=0.9, rate=15.0, swing=0.4)
    for _ in scenes.frames(scene):
        v = scene.vof
        center = np.array(scene.pose(v.time).translation)
        middle = v.positions.mean(axis=0)
        np.testing.assert_allclose(middle - v.mesh.rest.vertices.mean(axis=0) - center, 0, atol=0.02)
        if len(v.drops):
            assert scene.distance(v.drops.positions).min() > -0.02 * scene.radius
    assert scene.gone[0] > 0


def still_water(**options: object) -> fluids.TetVOF:
    rest = mesh.bcc_lattice((0, 0, 0), 0.25, (4, 4, 4))
    return fluids.TetVOF(mesh.MovingTetMesh(rest, lambda t: rest.vertices), surface.Sphere((0.5, 0.5, 0.5), 0.2), **options)


def test_drops_fly_on_parabolas_and_vanish_below() -> None:
    vof = still_water()
    view = ((-1.0, -1.0, -1.0), (2.0, 2.0, 2.0))
    vof.drops.append(np.array([[3.0, 0.3, 1.0]]), velocity=np.array([[1.0, -2.0, 4.0]]), volume=np.array([1e-3]))
    gone, steps, dt = 0.0, 0, 0.01
    while not gone:
        gone = fly(vof, dt, view, 10.0)
        steps += 1
        if not gone:
            t = steps * dt
            np.testing.assert_allclose(vof.drops.positions[0], (3 + t, 0.3 - 2 * t, 1 + 4 * t - 4.905 * t * t), atol=1e-12)
    end = (4 + math.sqrt(16 + 4 * 4.905 * 2)) / 9.81
    assert steps == math.ceil(end / dt)
    assert gone == 1e-3
    assert len(vof.drops) == 0


def test_drops_that_meet_the_solid_or_water_are_taken_in() -> None:
    vof = still_water()
    v = 2.0**20 * vof.quantum
    x = np.array([[0.5, 0.5, 0.71], [0.25, 0.27, 0.24], [0.5, 0.1, 3.0]])
    vof.fill(surface.Sphere((0.25, 0.25, 0.25), 0.1))
    before = vof.total_volume()
    vof.drops.append(x, velocity=np.zeros((3, 3)), volume=np.full(3, v))
    assert fly(vof, 1e-6, ((0, 0, 0), (1, 1, 1)), 10.0) == 0.0
    assert len(vof.drops) == 1
    assert vof.total_volume() == before + 2 * v
    assert vof.ledger().absorbed == 2 * v
