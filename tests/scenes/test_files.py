"""Files of a run: frames, redrawn pictures, and write errors."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from meniscus import io, scenes

pytest.importorskip("h5py")
pytest.importorskip("vtk")
pytest.importorskip("matplotlib")

DUST = Path(__file__).with_name("dust.py")


def test_frames_hold_what_the_scene_shows(tmp_path):
    scene = scenes.find(str(DUST))(frames=3)
    last = scenes.run(scene, tmp_path)
    series = io.read_series(tmp_path / "frames.pvd")
    assert [time for time, _ in series] == [0.0, 1 / 3, 2 / 3, 1.0]
    assert tuple(series[-1][1]) == last.files
    frame = io.read_frame(last.files, 3)
    np.testing.assert_array_equal(frame["smoke"], scene.smoke.array)
    np.testing.assert_array_equal(frame.particles["dust"]["age"], scene.dust["age"])
    assert frame["velocity"].shape == (12, 12, 14, 3)


def test_pictures_are_made_again_without_simulating(tmp_path, monkeypatch):
    scenes.run("swirl", resolution=24, frames=3, out=tmp_path)
    pictures = {p: p.read_bytes() for p in tmp_path.glob("*.png")}
    animation = (tmp_path / "swirl.gif").read_bytes()
    assert len(pictures) == 4
    for p in [*pictures, tmp_path / "swirl.gif"]:
        p.unlink()

    def fail(*_):
        raise AssertionError("nothing is simulated")

    monkeypatch.setattr(scenes.Swirl, "setup", fail)
    monkeypatch.setattr(scenes.Swirl, "advance", fail)
    seen = []
    written = scenes.render(tmp_path, on_frame=lambda number, last: seen.append((number, last)))
    assert {p: p.read_bytes() for p in tmp_path.glob("*.png")} == pictures
    assert (tmp_path / "swirl.gif").read_bytes() == animation
    assert set(pictures) < set(written)
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_pictures_of_a_scene_from_a_file_are_made_again_by_its_drawing(tmp_path):
    path = tmp_path / "gray.py"
    path.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "import numpy as np\n"
        "from meniscus.scenes import Swirl, parameter\n"
        "@dataclass(kw_only=True)\n"
        "class Gray(Swirl):\n"
        "    name = 'gray'\n"
        "    resolution: int = parameter(16, 'cells')\n"
        "    frames: int = parameter(2, 'frames')\n"
        "    def draw(self, frame):\n"
        "        return np.repeat((255 * np.clip(frame['dye'], 0, 1)).astype(np.uint8)[..., None], 3, axis=2)\n"
    )
    scenes.run(str(path), out=tmp_path / "out")
    assert json.loads((tmp_path / "out" / "run.json").read_text())["source"] == str(path)
    before = (tmp_path / "out" / "frame-0002.png").read_bytes()
    (tmp_path / "out" / "frame-0002.png").unlink()
    path.write_text(path.read_text().replace("255 *", "128 *"))
    scenes.render(tmp_path / "out")
    assert (tmp_path / "out" / "frame-0002.png").read_bytes() != before
    image = pytest.importorskip("PIL.Image")
    with image.open(tmp_path / "out" / "frame-0002.png") as opened:
        assert opened.size == (16, 16)
        assert np.asarray(opened).max() <= 128


def test_what_cannot_be_rendered_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"holds no run: it has no run.json"):
        scenes.render(tmp_path)
    scenes.run("swirl", resolution=8, frames=1, out=tmp_path, files=False, pictures=False)
    assert not list(tmp_path.glob("*.vti"))
    with pytest.raises(ValueError, match=r"holds no frames: it has no frames.pvd"):
        scenes.render(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ValueError, match=r"run.json is damaged"):
        scenes.render(tmp_path)


def test_missing_libraries_are_said_and_do_not_stop_a_run(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(scenes.running.vtk, "available", lambda: False)
    monkeypatch.setattr(scenes.running.checkpoints, "available", lambda: False)
    scenes.run("swirl", resolution=8, frames=1, out=tmp_path, pictures=False)
    assert {p.name for p in tmp_path.iterdir()} == {"run.json", "diagnostics.csv"}
    sentences = sorted(r.getMessage() for r in caplog.records)
    assert sentences == [
        "no VTK files are written, because vtk is not installed (pip install 'meniscus-sim[vtk]')",
        "no checkpoints are written, because h5py is not installed (pip install 'meniscus-sim[io]')",
    ]


def test_libraries_that_were_asked_for_must_be_there(tmp_path, monkeypatch):
    for module, options in {"h5py": {"resume": True}, "vtkmodules.vtkIOXML": {"files": True}}.items():
        with monkeypatch.context() as m:
            m.setitem(sys.modules, module, None)
            with pytest.raises(ImportError, match=r"pip install 'meniscus-sim\[(io|vtk)\]'"):
                scenes.run("swirl", resolution=8, frames=1, out=tmp_path, pictures=False, **options)


@pytest.mark.fast_cases("row")
@pytest.mark.parametrize("stage", ["picture", "row", "checkpoint", "frame"])
def test_full_disk_keeps_finished_frames_and_names_the_file(tmp_path, monkeypatch, stage):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left on device"):  # noqa: PT012
        for frame in scenes.frames(scenes.Swirl(resolution=16, frames=6), tmp_path):
            if frame.number == 2:
                if stage == "row":
                    monkeypatch.setattr(scenes.record.csv, "writer", full)
                elif stage == "picture":
                    monkeypatch.setattr(scenes.pictures, "png", full)
                elif stage == "checkpoint":
                    monkeypatch.setattr(scenes.running.checkpoints, "write_checkpoint", full)
                else:
                    monkeypatch.setattr(scenes.running.vtk, "_write", full)
    monkeypatch.undo()
    finished = sorted(p.name for p in tmp_path.glob("frame-*.png"))
    assert finished[:3] == ["frame-0000.png", "frame-0001.png", "frame-0002.png"]
    assert not list(tmp_path.rglob(".*.part"))
    last = scenes.run("swirl", resolution=16, frames=6, out=tmp_path, resume=True)
    alone = scenes.run("swirl", resolution=16, frames=6)
    assert last.diagnostics == alone.diagnostics
    assert len(list(tmp_path.glob("frame-*.png"))) == 7


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte, where the test may make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_runs_full_ends_in_one_sentence(small_disk):
    command = [sys.executable, "-m", "meniscus", "run", "swirl", "--resolution", "64", "--frames", "30", "--out", str(small_disk)]
    done = subprocess.run([*command, "--no-pictures"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert f"cannot write or read {small_disk}" in done.stderr
    assert "No space left on device; finished frames are kept; go on with: meniscus run swirl" in done.stderr
    series = io.read_series(small_disk / "frames.pvd")
    assert len(series) >= 3
    for number, (_, files) in enumerate(series):
        assert io.read_frame(files, number).grid is not None
    found, passed_over = io.latest_checkpoint(small_disk / "checkpoints")
    assert found is not None
    assert not passed_over
