"""Scenes of water around a moving body: volumes with each solver, resume, frames and pictures."""

from __future__ import annotations

import csv
import itertools
import math
import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.runs.killed import kills_change_nothing

from meniscus import io, mesh, scenes

SOLVERS = ("coupled", "particle-level-set", "flip")
SMALL = {
    "ball-stream": {"scale": 0.4, "edge": 0.05, "stream": 0.12, "frames": 4, "rate": 12.0},
    "breach": {"scale": 0.25, "frames": 3, "rate": 12.0, "cell": 0.3, "layers": 1, "subdivisions": 0},
}


def scene(name: str, solver: str, **changes: object) -> scenes.Scene:
    return scenes.SCENES[name](solver=solver, **{**SMALL[name], **changes})


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_twenty_kills_change_nothing(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    pytest.importorskip("vtk")
    small = SMALL["ball-stream"] | {"swing": 0.1, "frames": 6}
    options = [text for name, value in small.items() for text in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "meniscus", "run", "ball-stream", *options, "--checkpoint-every", "0", "--no-pictures"]
    run = partial(scenes.run, pictures=False, checkpoint_every=0)
    run(scene("ball-stream", "coupled", **small), tmp_path / "whole")
    finish = partial(run, resume=True)
    kills_change_nothing(
        command, lambda out: finish(scene("ball-stream", "coupled", **small), out), tmp_path / "whole", tmp_path, longest=1.0
    )


@pytest.mark.fast_cases("ball-stream-coupled")
@pytest.mark.parametrize(("name", "solver"), [*(("ball-stream", solver) for solver in SOLVERS), ("breach", "coupled")])
def test_a_run_that_is_broken_off_goes_on_with_the_same_bits(tmp_path: Path, name: str, solver: str) -> None:
    pytest.importorskip("h5py")
    pytest.importorskip("vtk")
    store = {"store": str(tmp_path / "mesh.h5")} if name == "breach" and solver == "coupled" else {}
    whole = scenes.run(scene(name, solver, **store), tmp_path / "whole", pictures=False)

    def stop(frame: scenes.Frame, count: int) -> None:
        if frame.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scenes.run(scene(name, solver, **store), tmp_path / "broken", on_frame=stop, pictures=False)
    resumed = scenes.run(scene(name, solver, **store), tmp_path / "broken", resume=True, pictures=False)
    assert resumed.diagnostics == whole.diagnostics
    series = [io.read_series(tmp_path / folder / "frames.pvd") for folder in ("whole", "broken")]
    assert len(series[0]) == len(series[1]) == whole.total + 1
    one, other = (io.read_frame(s[-1][1], whole.total) for s in series)
    for field in ("liquid", "velocity"):
        np.testing.assert_array_equal(one[field], other[field])
    assert one.meshes.keys() == other.meshes.keys()
    for part, found in one.meshes.items():
        np.testing.assert_array_equal(found.vertices, other.meshes[part].vertices)
        np.testing.assert_array_equal(found.elements, other.meshes[part].elements)
    assert len(one.meshes["surface"].elements) > 100
    assert set(one.meshes["surface"].columns) == {"normal", "velocity"}
    assert ("wet" in one.meshes) == (solver == "coupled")
    with (tmp_path / "whole" / "diagnostics.csv").open() as file:
        rows = list(csv.DictReader(file))
    stages = [column for column in rows[0] if column.startswith("seconds ")]
    assert stages == [f"seconds {stage}" for stage in scene(name, solver).stages]
    assert stages[-1] == "seconds surface"
    ends = [row for before, row in itertools.pairwise(rows) if row["frame"] != before["frame"]]
    assert len(ends) == whole.total
    assert all(float(row["seconds surface"]) > 0 for row in ends)


@pytest.mark.fast_cases("tetrahedra", "drops")
@pytest.mark.parametrize("source", ["tetrahedra", "drops", "grid"])
def test_coupled_streams_keep_their_volume(source: str) -> None:
    made = scene("ball-stream", "coupled", source=source, frames=6, swing=0.1, pool=0.0)
    for frame in scenes.frames(made):
        d = frame.diagnostics
        assert abs(d["ledger error"]) <= 1e-12 * max(d["injected"], 1e-300)
        ledger = made.model.ledger()
        there = d["tetrahedra"] + d["drops"] + d["grid"] + ledger.expansion + ledger.rounding
        assert there - d["injected"] + d["left"] == pytest.approx(d["error"], abs=1e-12)
    assert d["injected"] > 0.3 * math.pi * made.stream**2 * made.speed * 0.5
    if source == "drops":
        assert d["injected"] == pytest.approx(math.pi * made.stream**2 * made.speed * 0.5, rel=1e-12)
    assert (ledger.transfers["source to drops"][0] > 0) == (source == "drops")
    assert d["tetrahedra"] > 0
    assert d["wet"] == np.count_nonzero(made.model.vof.volume)
    assert d["force z"] < 0  # the stream presses on the ball


@pytest.mark.fast_cases("particle-level-set")
@pytest.mark.parametrize("solver", SOLVERS)
def test_two_streams_bring_twice_the_water(solver: str) -> None:
    injected = {}
    for streams in ("one", "two"):
        # A stream of less than a cell has more or less on a grid by where it lies in the cells.
        made = scene("ball-stream", solver, streams=streams, frames=2, scale=0.8)
        injected[streams] = scenes.run(made).diagnostics["injected"]
    assert injected["two"] == pytest.approx(2 * injected["one"], rel=0.3)


@pytest.mark.slow
def test_the_grid_alone_keeps_volume_and_its_own_loss_can_be_seen() -> None:
    for correction, low, high in ((True, 0.0, 2e-3), (False, 2e-3, 1.0)):
        made = scene("ball-stream", "particle-level-set", frames=6, drift_correction=correction)
        assert low <= abs(scenes.run(made).diagnostics["volume error"]) < high


@pytest.mark.slow
def test_adhesion_holds_water_to_the_ball() -> None:
    """Beyond its equator water is closer to a ball that holds it."""
    away = {}
    for adhesion in (0.0, 40.0):
        made = scene("ball-stream", "coupled", adhesion=adhesion, frames=8)
        scenes.run(made)
        v = made.model.vof
        wet = np.flatnonzero(v.volume > 0)
        x = np.array(v.positions)[v.tets[wet]].mean(axis=1) - np.array(made.pose(0.0).translation)
        angle = np.arctan2(np.hypot(x[:, 0], x[:, 1]), x[:, 2])
        spray = made.spray()
        assert spray is not None
        away[adhesion] = float(np.average(np.linalg.norm(x, axis=1), weights=v.volume[wet] * (angle > 1.2)))
    assert away[40.0] < away[0.0] - 0.01


@pytest.mark.fast_cases("rigid")
@pytest.mark.parametrize("kind", ["rigid", "kdsm"])
def test_the_ball_takes_its_mesh_along(kind: str) -> None:
    made = scene("ball-stream", "coupled", swing=0.3, mesh=kind, frames=6)
    scenes.run(made)
    t = made.model.time
    assert made.pose(t).translation[0] > 1.02
    middle = np.array(made.model.vof.positions).mean(axis=0)
    assert middle[0] == pytest.approx(made.pose(t).translation[0], abs=0.02)
    np.testing.assert_allclose(made.body(t).vertices.mean(axis=0), made.pose(t).translation, atol=1e-9)


@pytest.mark.fast_cases("particle-level-set")
@pytest.mark.parametrize("solver", SOLVERS)
def test_water_above_the_level_at_rest_is_told(solver: str) -> None:
    made = scene("breach", solver, frames=1)
    made.setup()
    assert made.report(0.0)["carried"] == 0.0
    level = made.liquid.levelset.array.copy()
    assert made.liquid.levelset.volume() > 2000
    made.level -= 2.0  # as if the pool had risen by 2 m
    area = 19.2 * 19.2
    assert made.carried() == pytest.approx(area * (2.0 - 0.4), rel=0.03)  # less the back of the whale
    np.testing.assert_array_equal(made.liquid.levelset.array, level)


def test_a_body_from_a_file_leaps_as_the_whale_does(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    ball = mesh.icosphere(2, 0.5)
    path = tmp_path / "ball.ply"
    ball.write(path)
    made = scene("breach", "particle-level-set", mesh=str(path), mesh_size=4.0, mesh_up="z", frames=1)
    made.setup()
    tops = [made.body(t).vertices[:, 1].max() for t in (0.0, 1.9, 4.0)]
    np.testing.assert_allclose(tops, (6.0, 14.0, 7.0), atol=0.1)
    assert made.body(0.0).vertices[:, 1].max() < made.level < made.body(1.9).vertices[:, 1].min()


@pytest.mark.fast_cases("ball-stream-layers")
@pytest.mark.parametrize(("name", "show"), [("ball-stream", "water"), ("ball-stream", "layers"), ("breach", "water")])
def test_pictures_show_water(tmp_path: Path, name: str, show: str) -> None:
    pytest.importorskip("vtk")
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    out = tmp_path / "run"
    made = scene(name, "coupled" if name == "ball-stream" else "flip", show=show, width=240, frames=2)
    scenes.run(made, out, pictures=False, checkpoint_every=None)
    described = made.path_tracing_scene(io.frames.collect(made.frame_data(), 2, 0.0), (48, 40))
    assert {"water", "sensor"} <= described.keys()
    (picture,) = scenes.render(out, frames=[2])
    pixels = np.asarray(image.open(picture).convert("RGB")).astype(int)
    if show == "layers":
        assert pixels.shape[1] == 4 * 210
        drawn = pixels[:, 210:420]
        assert (drawn.max(axis=2) - drawn.min(axis=2) > 60).sum() > 100  # tetrahedra in colours, on white
        pixels = pixels[:, -210:]
    blue = (pixels[..., 2] > pixels[..., 0] + 25).sum()
    assert blue > 100


def test_the_surface_can_be_made_again_from_the_files_of_a_run(tmp_path: Path) -> None:
    pytest.importorskip("vtk")
    made = scene("ball-stream", "coupled", frames=2)
    scenes.run(made, tmp_path, pictures=False, checkpoint_every=None)
    scenes.surface_frames(tmp_path, refine=2, pictures=False)
    again = io.read_frame(io.read_series(tmp_path / "surface" / "frames.pvd")[-1][1], 2).meshes["surface"]
    own = made.water.mesh()
    # Files do not hold dry tetrahedra, whose solid part is then taken for air.
    volume = mesh.TriangleMesh(own.vertices, own.triangles).volume()
    other = mesh.TriangleMesh(again.vertices, np.asarray(again.elements, np.int32)).volume()
    assert other == pytest.approx(volume, rel=0.05)


def test_steps_and_frames_are_those_asked_for() -> None:
    made = scene("ball-stream", "coupled", frames=2, steps=7, rate=12.0)
    seen: list[float] = []
    scenes.run(made, on_step=lambda step: seen.append(step.dt))
    assert len(seen) >= 14
    assert max(seen) <= 1 / 84 * (1 + 1e-12)
    assert made.shown_at == made.model.time == pytest.approx(2 / 12)


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("ball-stream", {"scale": 0.1}, "scale must leave at least 8 cells"),
        ("ball-stream", {"stream": 0.4}, "stream must fit"),
        ("ball-stream", {"stream": 0.2, "scale": 1.0}, "stream at most 0.125 m"),
        ("ball-stream", {"radius": 0.9}, "radius must be above 0 and below 0.8"),
        ("ball-stream", {"swing": -1.0}, "must not be negative"),
        ("ball-stream", {"edge": 0.2}, "tetrahedra must not be larger"),
        ("ball-stream", {"steps": 0}, "steps"),
        ("breach", {"scale": 0.1}, "scale must leave at least 8 cells"),
        ("breach", {"level": 40.0}, "level must be above 0 and below"),
        ("breach", {"mesh": "nowhere.obj"}, "cannot be read"),
    ],
)
def test_what_cannot_be_is_said(name: str, changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        scene(name, "coupled", **changes).setup()
