"""Surface of the water of a finished run, made from its frames."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from meniscus import cli, io, scenes, surface

pytest.importorskip("vtk")
pytest.importorskip("h5py")


@pytest.fixture(scope="module")
def stream(tmp_path_factory) -> Path:
    """A run of water on tetrahedra."""
    out = tmp_path_factory.mktemp("stream")
    scenes.run("tet-ball", cells=4, end=0.4, rate=20.0, out=out, pictures=False, checkpoint_every=None)
    return out


@pytest.fixture(scope="module")
def pouring(tmp_path_factory) -> Path:
    """A run of water on a grid."""
    out = tmp_path_factory.mktemp("pouring")
    scenes.run("pour", resolution=14, end=0.2, frames=3, out=out, pictures=False, checkpoint_every=None)
    return out


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "surface" / "surface.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_a_stream_flickers_less_when_it_is_carried_along(stream: Path) -> None:
    worst = {}
    for method in ("advected", "rebuilt", "anisotropic"):
        seen = []
        written = scenes.surface_frames(
            stream, refine=2, method=method, pictures=False, on_frame=lambda n, last, seen=seen: seen.append((n, last))
        )
        assert seen == [(n, 8) for n in range(9)]
        assert stream / "surface" / "frames.pvd" in written
        measured = [[float(row[name]) for row in rows(stream)[3:]] for name in ("flicker", "bumpiness")]
        worst[method] = [float(np.sqrt(np.mean(np.square(values)))) for values in measured]
    for quantity in range(2):
        assert worst["advected"][quantity] < worst["rebuilt"][quantity] < worst["anisotropic"][quantity], worst


def test_meshes_have_normals_and_velocities_and_tetrahedra_are_inside(stream: Path) -> None:
    scenes.surface_frames(stream, refine=2, pictures=False)
    made = io.read_series(stream / "surface" / "frames.pvd")
    run = io.read_series(stream / "frames.pvd")
    assert [time for time, _ in made] == [time for time, _ in run]
    inside: list[bool] = []
    for number in range(1, 9):
        mesh = io.read_frame(made[number][1], number).meshes["surface"]
        wet = io.read_frame(run[number][1], number).meshes["wet"]
        assert np.linalg.norm(mesh.columns["normal"], axis=1) == pytest.approx(1.0)
        full = np.flatnonzero(wet.element_columns["fill"] > 0.5)
        centroids = np.ascontiguousarray(wet.vertices[wet.elements[full]].mean(axis=1), np.float64)
        distance = surface.MeshDistance(mesh.vertices, mesh.elements)
        inside += (distance.signed_distance(centroids) <= 0).tolist()
        fastest = np.linalg.norm(wet.element_columns["velocity"], axis=1).max()
        assert 0.1 < np.linalg.norm(mesh.columns["velocity"], axis=1).max() <= 1.01 * fastest
    assert len(inside) > 1000
    assert np.mean(inside) >= 0.99
    assert rows(stream)[0]["flicker"] == "nan"
    assert all(math.isfinite(float(row["bumpiness"])) for row in rows(stream)[1:])


def test_water_on_a_grid_is_shown_finer(pouring: Path) -> None:
    scenes.surface_frames(pouring, refine=3, pictures=False)
    for number, (_, files) in enumerate(io.read_series(pouring / "surface" / "frames.pvd")):
        mesh = io.read_frame(files, number).meshes["surface"]
        frame = io.read_frame(io.read_series(pouring / "frames.pvd")[number][1], number)
        liquid = surface.LevelSet(frame.grid, "cells")
        liquid.array = frame["liquid"].astype(np.float64)
        coarse = liquid.to_mesh()[0]
        assert len(mesh.vertices) > 5 * len(coarse)
        assert np.abs(liquid.sample(np.ascontiguousarray(mesh.vertices))).max() < 0.6 * frame.grid.spacing


@pytest.mark.slow
def test_the_command_line_draws_frames(stream: Path, capsys) -> None:
    pytest.importorskip("matplotlib")
    assert cli.main(["surface", str(stream), "--refine", "1", "--frames", "7-8", "--gain", "0.5", "--least-fill", "0.3"]) == 0
    out = capsys.readouterr().out
    assert str(stream / "surface" / "frame-0008.png") in out
    assert (stream / "surface" / "frame-0007.png").stat().st_size > 5000
    assert [row["frame"] for row in rows(stream)] == ["7", "8"]


@pytest.mark.parametrize(
    ("which", "arguments", "sentence"),
    [
        ("missing", [], "missing holds no frames: it has no frames.pvd"),
        ("stream", ["--frames", "99"], "holds frames 0 to 8, not 99"),
        ("stream", ["--refine", "0"], "refine must be at least 1, not 0"),
        ("stream", ["--gain", "2"], "gain must be above 0 and at most 1, not 2"),
        ("stream", ["--cell-size", "-1"], "cell_size must be positive"),
        ("pouring", ["--cell-size", "0.1"], "cell_size is for runs without a grid"),
        ("pouring", ["--method", "anisotropic"], "method 'anisotropic' is for water in tetrahedra and drops"),
    ],
)
def test_what_cannot_be_made_is_one_sentence(request, which: str, arguments: list[str], sentence: str, capsys) -> None:
    folder = which if which == "missing" else str(request.getfixturevalue(which))
    assert cli.main(["surface", folder, "--no-pictures", *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_a_run_without_water_is_one_sentence(tmp_path: Path) -> None:
    scenes.run("swirl", resolution=16, frames=1, out=tmp_path, pictures=False, checkpoint_every=None)
    with pytest.raises(ValueError, match="holds no water in three dimensions"):
        scenes.surface_frames(tmp_path, pictures=False)
