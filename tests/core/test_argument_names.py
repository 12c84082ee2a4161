"""What a caller sees of a wrong argument: one sentence that names it, before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meniscus as ms

GRID2, GRID3 = ms.Grid((6, 5), 0.25), ms.Grid((5, 4, 3), 0.25)
BOX, BALL = ms.surface.Box((0, 0), (0.5, 0.4)), ms.mesh.icosphere(1)
BLOCK = ms.mesh.tet_block(2, 1, 1)
BODY = ms.solids.DeformableBody(BLOCK, density=1000.0)
HUGE = 10**400


def velocity(grid: ms.Grid = GRID2, dtype: Any = np.float64) -> ms.MacField:
    return ms.MacField(grid, dtype)


CALLS: dict[str, tuple[Callable[[], object], str]] = {
    # a number that no float holds
    "emitter": (lambda: ms.fluids.Emitter(BOX, end=HUGE), "end must be finite"),
    "source": (lambda: ms.fluids.LiquidSource(BOX, end=-HUGE), "end must be finite"),
    "drain": (lambda: ms.fluids.Drain(BOX, start=HUGE), "start must be finite"),
    "masses": (lambda: ms.solids.DeformableBody(BLOCK.vertices, masses=HUGE), "masses must be finite"),
    "steps": (lambda: ms.numerics.observed_orders([HUGE, 1], [1.0, 0.5]), "steps must be an array of numbers"),
    "velocities": (lambda: ms.solids.extrapolate_velocity(HUGE, BODY.velocities), "half must be an array of numbers"),
    "depth": (lambda: ms.surface.enclosing_mesh(BALL, BALL.vertices, 0.5, depth=HUGE), "depth must be finite"),
    "spacing": (lambda: ms.Grid((4, 4), HUGE), "spacing must be finite"),
    "duration": (lambda: BODY.step(HUGE), "dt must be finite"),
    "iterations": (lambda: ms.fluids.project(velocity(), 0.1, max_iterations=HUGE), "max_iterations must be below"),
    "capacity": (lambda: ms.Particles(np.zeros((1, 2))).reserve(HUGE), "capacity must be below"),
    "width": (lambda: ms.Particles(np.zeros((1, 2))).add_column("a", width=HUGE), "width must be below"),
    "nodes of a drag": (lambda: ms.solids.Drag(1.0, nodes=HUGE), "nodes must be below"),
    # nothing, or next to nothing
    "resolution": (lambda: ms.Grid((0, 4), 0.1), "shape"),
    "radius": (lambda: ms.surface.Sphere((0.5, 0.5), 0), "radius"),
    "tiny radius": (lambda: ms.surface.LevelSet.from_shape(GRID2, ms.surface.Sphere((0.5, 0.5), -1e-300)), "radius"),
    "no duration": (lambda: ms.fluids.SmokeSolver(GRID2).step(0), "dt must be positive"),
    "no time": (lambda: ms.fluids.advect(ms.CellField(GRID2), velocity(), 0.0 * math.nan), "dt must be finite"),
    "tiny ellipsoid": (lambda: ms.surface.Ellipsoid((0.5, 0.5), (1e-300, 0.1)), "radii must be from 1e-100"),
    "large ellipsoid": (lambda: ms.surface.Ellipsoid((0.5, 0.5, 0.5), (0.2, 0.1, 1e300)), "radii must be from 1e-100"),
    "tiny cells": (lambda: ms.Grid((4, 4), 1e-300), "spacing must be from 1e-100"),
    "large cells": (lambda: ms.Grid((4, 4, 4), 1e300), "spacing must be from 1e-100"),
    "scene without cells": (lambda: ms.scenes.run(ms.scenes.Plume(resolution=0)), "resolution must be at least 4, not 0"),
    "scene with too many": (lambda: ms.scenes.run(ms.scenes.Plume(resolution=HUGE)), "resolution must be below .* not a number of more"),
    "scene of no time": (lambda: ms.scenes.run(ms.scenes.TwistedBar(duration=0)), "duration must be positive"),
    "scene of all time": (lambda: ms.scenes.TwistedBar(duration=HUGE), "duration must be finite"),
    "turns": (lambda: ms.scenes.TwistedBar(turns="two"), "turns must be a number"),
    # something else
    "dtype": (lambda: ms.CellField(GRID2, {"a": 1}), "dtype must be float32 or float64"),
    "sources": (lambda: ms.fluids.LiquidSolver(GRID2, sources=3), "sources must be a sequence of LiquidSource"),
    "drains": (lambda: ms.fluids.ParticleLiquidSolver(GRID2, drains=None), "drains must be a sequence of Drain"),
    "emitters": (lambda: ms.fluids.SmokeSolver(GRID2, emitters="x"), "emitters must be a sequence of Emitter"),
    "velocity of a source": (lambda: ms.fluids.LiquidSource(BOX, velocity=1.0), "velocity of a LiquidSource must hold 2 numbers"),
    "dimension": (lambda: ms.fluids.curl_noise(np.ones(3), None), "dimension must be 2 or 3"),
    "dimension of a solid": (lambda: ms.surface.KinematicSolid(BALL, dimension=np.ones(2)), "dimension must be 2 or 3"),
    "flag": (lambda: ms.fluids.project(velocity(), 0.1, warm_start=np.zeros(3)), "warm_start must be True or False"),
    "both": (lambda: ms.surface.components(ms.surface.LevelSet.from_shape(GRID2, BOX), both="x"), "both must be True or False"),
    "frame": (lambda: ms.collision.CollisionMesh(BALL).collides(BALL.vertices, BALL.vertices, moving_frame=2), "moving_frame must be"),
    "formats": (lambda: ms.io.FrameWriter("out", 3), "formats must be a sequence"),
    "folder": (lambda: ms.io.latest_checkpoint(3), "folder must be a path"),
    "file": (lambda: ms.mesh.TriangleMesh.read(None), "path must be a path"),
    "table": (lambda: ms.io.Table().write(3), "path must be a path"),
    "items": (lambda: ms.io.collect([1], 0, 0.0), "items must be a Mapping"),
    "frames": (lambda: ms.io.read_frame(3, 0), "paths must be a sequence of paths"),
    "cubes": (lambda: ms.mesh.bcc_lattice((0, 0, 0), 1.0, 3), "cubes must have three values"),
    "sizes": (lambda: ms.mesh.red_green(BLOCK, 1.0), "sizes must be a function"),
    "bounds": (lambda: ms.surface.bcc_mesh(BALL, 0.5, bounds=1.0), "bounds must be the lower and the upper corner"),
    "on_side": (lambda: GRID2.coordinates(0), "on_side must hold 2 numbers"),
    "normals": (lambda: BODY.slide([0], "x"), "normals must be an array of numbers"),
    "wind": (lambda: ms.solids.Drag(np.ones(4), wind=1j), "wind must be an array of numbers"),
    "hook": (lambda: ms.fluids.SmokeSolver(GRID2).step(0.1, on_stage=-1), "on_stage must be a function"),
    "gravity": (lambda: setattr(BODY, "gravity", np.array(3.0)), "gravity must hold 3 numbers"),
    "time": (lambda: setattr(BODY, "time", "now"), "time must be a number"),
    "curves": (lambda: ms.viz.lines([0, 1], 3), "curves must be a Mapping"),
    "image": (lambda: ms.viz.image("picture"), "values must be a NumPy array"),
    "eye": (lambda: ms.viz.surface(BALL, eye=HUGE), "eye must hold 3 numbers"),
    "other mesh": (lambda: BLOCK.assign(np.ones(3)), "a mesh does not change"),
    "workspace": (lambda: ms.Particles(np.zeros((1, 2))).sort_by_cell(GRID2, workspace=-1), "workspace must be a Workspace"),
    "loops": (lambda: ms.surface.Polygon([1, 2]), "loops must be an array"),
    # one precision with the other
    "smoke in doubles": (lambda: ms.fluids.advect(ms.CellField(GRID3, np.float32), velocity(GRID3), 0.1), "dtype|float32"),
    "wind in singles": (lambda: ms.fluids.advect(ms.CellField(GRID3), velocity(GRID3, np.float32), 0.1), "dtype|float32"),
    "pressure": (lambda: ms.fluids.project(velocity(GRID3), 0.1, pressure=ms.CellField(GRID3, np.float32)), "pressure|float64"),
    "level set": (lambda: ms.fluids.project(velocity(GRID3), 0.1, liquid=ms.surface.LevelSet(GRID3, dtype=np.float32)), "liquid|float64"),
    "plane in singles": (lambda: ms.CellField(GRID2, np.float32), "float32 is for three dimensions: in two, fields and particles are"),
    "dust in singles": (lambda: ms.Particles(np.zeros((4, 2), np.float32)), "float32 is for three dimensions: in two, fields and"),
    "positions": (lambda: BLOCK.measures(np.zeros((len(BLOCK.vertices), 3), np.float32)), "positions must be of dtype float64"),
    "values": (lambda: setattr(ms.CellField(GRID3, np.float32), "array", np.zeros(GRID3.shape)), "must be of dtype float32"),
    "snapshot": (lambda: ms.CellField(GRID3).restore(ms.CellField(GRID3, np.float32).snapshot()), "float64"),
}


@pytest.mark.parametrize("case", list(CALLS))
def test_a_wrong_argument_is_named(case: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call, words = CALLS[case]
    with pytest.raises((TypeError, ValueError), match=words) as error:
        call()
    assert "incompatible" not in str(error.value)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_paths_may_be_strings(tmp_path: Any) -> None:
    """Of checkpoints, frames and collections too; folders are made."""
    pytest.importorskip("h5py")
    smoke = ms.fluids.SmokeSolver(GRID2)
    folder = str(tmp_path / "a" / "b")
    from meniscus.io.checkpoint import Checkpoint

    checkpoint = Checkpoint("mine", {}, "1", {"step": 3}, {"smoke": smoke.snapshot()}, {"smoke": GRID2})
    path = ms.io.save_checkpoint(folder, checkpoint)
    assert ms.io.read_checkpoint(str(path)).progress == {"step": 3}
    found, passed_over = ms.io.latest_checkpoint(folder)
    assert found is not None
    assert passed_over == []
    pytest.importorskip("vtkmodules")
    frames = str(tmp_path / "frames")
    written = ms.io.write_frame(frames, ms.io.collect({"smoke": smoke.density}, 0, 0.5))
    series = str(tmp_path / "frames" / "all.pvd")
    ms.io.write_series(series, [(0.5, [str(p) for p in written])])
    ((time, files),) = ms.io.read_series(series)
    assert time == 0.5
    assert np.array_equal(ms.io.read_frame([str(f) for f in files], 0)["smoke"], smoke.density.array)
