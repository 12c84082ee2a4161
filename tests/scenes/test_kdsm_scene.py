"""The scene `kdsm`: its frames, its resume, and its motions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from meniscus import io, scenes

SMALL = {"frames": 4, "cell_size": 1.0, "layers": 1, "points": 50}


def run(out: Path | None = None, **parameters):
    return scenes.run(scenes.SCENES["kdsm"](**{**SMALL, **parameters}), out)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["dynamic", "quasi-static"])
def test_a_run_that_is_broken_off_goes_on_with_the_same_bits(tmp_path: Path, mode: str) -> None:
    pytest.importorskip("h5py")
    pytest.importorskip("vtk")
    run(tmp_path / "whole", mode=mode)

    def stop(frame: scenes.Frame, count: int) -> None:
        if frame.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scenes.run(scenes.SCENES["kdsm"](**SMALL, mode=mode), tmp_path / "broken", on_frame=stop)
    scenes.run(scenes.SCENES["kdsm"](**SMALL, mode=mode), tmp_path / "broken", resume=True)
    for number in range(5):
        names = [f"frame-{number:04d}-{part}.vtu" for part in ("mesh", "skin", "trails")]
        one, other = (io.read_frame([folder / name for name in names], number) for folder in (tmp_path / "whole", tmp_path / "broken"))
        for part in ("mesh", "skin", "trails"):
            np.testing.assert_array_equal(one.meshes[part].vertices, other.meshes[part].vertices)
        assert set(one.meshes["mesh"].element_columns) == {"quality", "layer", "disabled"}
    assert (tmp_path / "whole" / "frame-0004.png").stat().st_size > 10_000


def test_trails_join_where_embedded_points_have_been() -> None:
    pytest.importorskip("matplotlib")
    scene = scenes.SCENES["kdsm"](**{**SMALL, "frames": 6}, motion="swim")
    seen = []
    for frame in scenes.frames(scene):
        data = scene.frame_data()["trails"]
        seen.append(data.vertices.reshape(8, -1, 3)[-1].copy())
        assert data.elements.shape == (7 * len(seen[0]), 2)
        assert frame.number == len(seen) - 1
    np.testing.assert_array_equal(data.vertices.reshape(8, -1, 3)[-len(seen) :], seen)
    assert np.abs(seen[-1] - seen[0]).max() > 1e-3


@pytest.mark.slow
def test_surfaces_and_animations_from_files(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.5)
    ball.apply_scale([2.0, 1.0, 1.0])
    ball.export(tmp_path / "egg.ply")
    for motion in ("swim", "nod", "twist", "hop", "bend"):
        last = run(mesh=str(tmp_path / "egg.ply"), motion=motion, cell_size=0.3, frames=24)
        assert last.diagnostics["mean gap (cells)"] < 0.2
    for k in range(5):
        moved = ball.copy()
        moved.apply_translation([0.05 * k, 0.0, 0.0])
        moved.export(tmp_path / f"egg-{k}.ply")
    last = run(mesh=str(tmp_path / "egg.ply"), animation=str(tmp_path / "egg-*.ply"), cell_size=0.3)
    assert last.diagnostics["disabled"] == 0.0


def test_parameters_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="animation needs mesh"):
        run(animation="egg-*.ply")
    with pytest.raises(ValueError, match="there is no creature 'cow'"):
        run(creature="cow")
    with pytest.raises(ValueError, match="cell_size must not be negative"):
        run(cell_size=-1.0)
    with pytest.raises(ValueError, match="mode must be one of"):
        scenes.SCENES["kdsm"](mode="still")
