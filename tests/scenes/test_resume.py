"""Resuming of runs that were killed, interrupted or broken off, to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.runs.killed import assert_same_run, diagnostics, kills_change_nothing

from meniscus import io, scenes
from meniscus.io import checkpoint as checkpoints

h5py = pytest.importorskip("h5py")
pytest.importorskip("vtk")

DUST = Path(__file__).with_name("dust.py")
COMMAND = [sys.executable, "-m", "meniscus", "run", str(DUST), "--frames", "25", "--checkpoint-every", "0"]


def dust(**parameters):
    return scenes.find(str(DUST))(**parameters)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run in this process."""
    out = tmp_path_factory.mktemp("whole")
    scenes.run(dust(frames=25), out)
    return out


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_twenty_kills_at_random_moments_change_nothing(whole, tmp_path):
    kills_change_nothing(COMMAND, lambda out: scenes.run(dust(frames=25), out, resume=True), whole, tmp_path, longest=0.15)


def test_kill_while_a_checkpoint_is_written_leaves_the_one_before(whole, tmp_path):
    # The process dies in the middle of writing the bytes of its 31st checkpoint.
    code = f"""
import os, signal
from pathlib import Path
from meniscus import scenes
from meniscus.io import checkpoint
real, count = checkpoint.atomic_path, 0
class Half:
    def __init__(self, file): self.file = file
    def __enter__(self): return self
    def __exit__(self, *error): self.file.close()
    def write(self, content):
        self.file.write(content[: len(content) // 2]); self.file.flush(); os.kill(os.getpid(), signal.SIGKILL)
class Part(type(Path())):
    def open(self, *mode, **options): return Half(super().open(*mode, **options))
import contextlib
@contextlib.contextmanager
def dying(path):
    global count
    count += 1
    with real(path) as part:
        yield Part(part) if count == 31 else part
checkpoint.atomic_path = dying
scenes.run(scenes.find({str(DUST)!r})(frames=25), {str(tmp_path)!r}, checkpoint_every=0)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    halves = list((tmp_path / "checkpoints").glob(".*.part"))
    assert len(halves) == 1
    assert halves[0].stat().st_size > 0
    assert len(list((tmp_path / "checkpoints").glob("checkpoint-*.h5"))) == 2
    scenes.run(dust(frames=25), tmp_path, resume=True)
    assert_same_run(tmp_path, whole)
    assert not list((tmp_path / "checkpoints").glob(".*.part"))


def stop_after(out, frame, **parameters):
    for f in scenes.frames(dust(**parameters), out, checkpoint_every=0):
        if f.number == frame:
            return


@pytest.mark.fast_cases("cut short")
@pytest.mark.parametrize("damage", ["cut short", "changed", "emptied"])
def test_damaged_checkpoint_is_passed_over_with_a_sentence(whole, tmp_path, caplog, damage):
    stop_after(tmp_path, 3, frames=25)
    newest = max((tmp_path / "checkpoints").glob("checkpoint-*.h5"))
    content = bytearray(newest.read_bytes())
    if damage == "cut short":
        content = content[:-100]
    elif damage == "changed":
        content[len(content) // 2] ^= 1
    else:
        content = bytearray()
    newest.write_bytes(content)
    with pytest.raises(io.DamagedCheckpoint, match=newest.name):
        io.read_checkpoint(newest)
    scenes.run(dust(frames=25), tmp_path, resume=True)
    sentences = [r.getMessage() for r in caplog.records]
    assert len(sentences) == 1
    assert newest.name in sentences[0]
    assert "passed over" in sentences[0]
    assert_same_run(tmp_path, whole)


def test_checkpoint_of_another_scene_or_other_parameters_is_refused(tmp_path):
    stop_after(tmp_path, 1)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(ValueError, match=r"is of the scene 'dust', not 'swirl'"):
        scenes.run("swirl", resolution=8, out=tmp_path, resume=True)
    with pytest.raises(ValueError, match=r"was made with resolution=12, seed=7, not resolution=10, seed=8; use that"):
        scenes.run(dust(resolution=10, seed=8), tmp_path, resume=True)
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}


def test_checkpoint_of_another_layout_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SCHEMA", 99)
    stop_after(tmp_path, 0)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="has version 99 of the checkpoint layout, but this meniscus reads versions 2 and 3; go on with"):
        scenes.run(dust(), tmp_path, resume=True)


def test_resuming_without_a_checkpoint_starts_from_the_beginning_and_says_so(whole, tmp_path, caplog):
    scenes.run(dust(frames=25), tmp_path, resume=True)
    assert [r.getMessage() for r in caplog.records] == [f"{tmp_path} holds no checkpoint; the run starts from the beginning"]
    assert_same_run(tmp_path, whole)
    with pytest.raises(ValueError, match="can be resumed only in the folder"):
        scenes.run(dust(), resume=True)


def test_a_finished_run_resumes_to_its_last_frame_and_changes_nothing(whole):
    before = {p: p.read_bytes() for p in whole.rglob("*") if p.is_file() and p.name != "run.json"}
    last = scenes.run(dust(frames=25), whole, resume=True)
    assert (last.number, last.time) == (25, 1.0)
    assert last.diagnostics["dust"] == float(diagnostics(whole)[-1]["dust"])
    assert [p.name for p in last.files] == ["frame-0025.vti", "frame-0025-dust.vtp"]
    assert before == {p: p.read_bytes() for p in whole.rglob("*") if p.is_file() and p.name != "run.json"}


def test_iterator_goes_on_with_the_frames_that_are_still_to_come(whole, tmp_path):
    stop_after(tmp_path, 9, frames=25)
    numbers = [f.number for f in scenes.frames(dust(frames=25), tmp_path, resume=True)]
    assert numbers == list(range(10, 26))
    assert_same_run(tmp_path, whole)


def test_rows_beyond_the_checkpoint_and_half_a_row_are_cut(whole, tmp_path):
    stop_after(tmp_path, 4, frames=25)
    with (tmp_path / "diagnostics.csv").open("a") as file:
        file.write("21,4,0.168,0.008,1,2,3,0,0,0,0\n22,4,0.17")
    scenes.run(dust(frames=25), tmp_path, resume=True)
    assert_same_run(tmp_path, whole)


def test_a_new_run_in_the_folder_of_an_old_one_is_not_mistaken_for_it(tmp_path):
    scenes.run(dust(frames=4), tmp_path)
    stop_after(tmp_path, 0, frames=4, seed=8)
    found, _ = io.latest_checkpoint(tmp_path / "checkpoints")
    assert found.progress["step"] == 0
    assert found.parameters["seed"] == 8
    assert len(io.read_series(tmp_path / "frames.pvd")) == 1


def test_the_last_two_checkpoints_are_kept_with_their_grids(tmp_path):
    scenes.run(dust(frames=3), tmp_path, checkpoint_every=0)
    names = sorted(p.name for p in (tmp_path / "checkpoints").iterdir())
    assert names == ["checkpoint-000000014.h5", "checkpoint-000000015.h5"]
    with h5py.File(tmp_path / "checkpoints" / names[-1]) as file:
        assert file["state/smoke/0"].shape == (12, 12, 14)
        assert file["state/smoke/0"].dtype == np.float32
        assert tuple(file["state/velocity"].attrs["grid shape"]) == (12, 12, 14)
        assert file["state/velocity"].attrs["grid spacing"] == 1 / 12
        assert tuple(file["state/velocity"].attrs["first cell"]) == (0, 0, 0)


def test_checkpoints_can_be_fewer_or_none(tmp_path):
    scenes.run(dust(frames=3), tmp_path / "none", checkpoint_every=None)
    assert not (tmp_path / "none" / "checkpoints").exists()
    with pytest.raises(ValueError, match="checkpoint_every must be at least 0 s, not -1"):
        scenes.run(dust(), tmp_path, checkpoint_every=-1)


def test_state_that_cannot_be_kept_is_said_before_the_first_step(tmp_path):
    class Odd(type(dust())):
        def setup(self):
            self.thing = self.declare("thing", object())

    class Nameless(type(dust())):
        def setup(self):
            super().setup()
            self.declare("count", 3)

    class Silent(type(dust())):
        def declare(self, name, part, **_):
            return part

    with pytest.raises(TypeError, match="state 'thing' of Odd is a object; it must have snapshot"):
        scenes.run(Odd(), tmp_path)
    with pytest.raises(TypeError, match="state 'count' of Nameless must be an attribute of that name"):
        scenes.run(Nameless(), tmp_path)
    scenes.run(Silent(frames=1), tmp_path)
    assert not (tmp_path / "checkpoints").exists()


def interrupt_in_step(scene, out, number, seconds=0.0):
    """Press Ctrl-C in the middle of a step."""
    advance, count = scene.advance, 0

    def interrupted(t, dt):
        nonlocal count
        count += 1
        if count == number:
            scene.wind[:] = 99.0
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(seconds)
        advance(t, dt)

    scene.advance = interrupted
    with pytest.raises(KeyboardInterrupt):
        scenes.run(scene, out, checkpoint_every=1e9)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_in_a_short_step_lets_it_end(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    interrupt_in_step(dust(frames=25), tmp_path, 13)
    assert signal.getsignal(signal.SIGINT) is before
    found, _ = io.latest_checkpoint(tmp_path / "checkpoints")
    assert found.progress["step"] == 13
    assert diagnostics(tmp_path)[-1]["step"] == "13"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_in_a_long_step_goes_back_to_the_one_before(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(scenes.running, "SLOW_STEP", 0.0)
    monkeypatch.setattr(scenes.interrupts, "GRACE", 0.05)
    interrupt_in_step(dust(frames=25), tmp_path, 13, seconds=60.0)
    found, _ = io.latest_checkpoint(tmp_path / "checkpoints")
    assert found.progress["step"] == 12
    scenes.run(dust(frames=25), tmp_path, resume=True)
    assert_same_run(tmp_path, whole)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_while_a_frame_is_written_writes_it_again(whole, tmp_path, monkeypatch):
    real = scenes.running.vtk.write_frame

    def interrupted(folder, frame, **options):
        if frame.number == 5:
            raise KeyboardInterrupt
        return real(folder, frame, **options)

    monkeypatch.setattr(scenes.running.vtk, "write_frame", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scenes.run(dust(frames=25), tmp_path, checkpoint_every=1e9)
    assert not (tmp_path / "frame-0005.vti").exists()
    monkeypatch.undo()
    assert next(scenes.frames(dust(frames=25), tmp_path, resume=True)).number == 5
    scenes.run(dust(frames=25), tmp_path, resume=True)
    assert_same_run(tmp_path, whole)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_sigterm_leaves_a_checkpoint_too(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    scene = dust(frames=25)
    advance, count = scene.advance, 0

    def told_to_end(t, dt):
        nonlocal count
        count += 1
        if count == 7:
            os.kill(os.getpid(), signal.SIGTERM)
        advance(t, dt)

    scene.advance = told_to_end
    with pytest.raises(scenes.interrupts.Terminated):
        scenes.run(scene, tmp_path, checkpoint_every=1e9)
    assert signal.getsignal(signal.SIGTERM) is before
    found, _ = io.latest_checkpoint(tmp_path / "checkpoints")
    assert found.progress["step"] == 7


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_the_timer_and_the_handlers_of_the_caller_are_left_alone(tmp_path):
    rang = []
    handlers = signal.signal(signal.SIGALRM, lambda *_: rang.append("alarm")), signal.signal(signal.SIGTERM, lambda *_: rang.append("told"))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1000.0)
        scene = dust(frames=2)
        advance = scene.advance

        def told(t, dt):
            os.kill(os.getpid(), signal.SIGTERM)
            advance(t, dt)

        scene.advance = told
        scenes.run(scene, tmp_path)
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        assert 900 < left <= 1000
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(0.2)
        assert "alarm" in rang
        assert "told" in rang
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handlers[0])
        signal.signal(signal.SIGTERM, handlers[1])


def test_a_handler_that_is_not_of_python_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda number: None)
    monkeypatch.setattr(signal, "signal", lambda *_: pytest.fail("a handler of the host was replaced"))
    scenes.run(dust(frames=2), tmp_path)


def test_a_folder_takes_one_run_at_a_time(tmp_path):
    running = scenes.frames(dust(frames=5), tmp_path)
    next(running)
    with pytest.raises(BlockingIOError, match="writes to this folder"):
        scenes.run(dust(frames=5), tmp_path)
    running.close()
    scenes.run(dust(frames=5), tmp_path)
    broken = dust(frames=5)
    broken.setup = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        scenes.run(broken, tmp_path)
    scenes.run(dust(frames=5), tmp_path)
