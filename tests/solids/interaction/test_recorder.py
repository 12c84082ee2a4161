"""Logs of what was done replay bit by bit, also after a pickle, a crash and a full disk."""

from __future__ import annotations

import errno
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.core import line_file
from meniscus.io import LineFile, read_lines
from meniscus.solids import Budget, Explosion, KinematicPath, Recorder, Wind, replay
from meniscus.solids.interaction.recorder import digest
from meniscus.surface import Pose
from tests.support.interaction.playground import DT, playground, rigid_world


def swirl(x: Any, v: Any, t: float) -> Any:
    return 3.0 * np.stack([-x[:, 1], x[:, 0], np.full(len(x), t)], axis=1)


def play(world: Any) -> None:
    """Do everything to a world that can be done."""
    rng = np.random.default_rng(9)
    ticks = iter(np.cumsum(rng.uniform(1e-5, 3e-4, 10**6)).tolist())
    world.clock = lambda: next(ticks)
    hand = world.interaction.pick((0.1, 0.0, 2), (0, 0, -1))
    field = world.interaction.add_field(Wind((2, 0, 0.5)))
    world.interaction.add_field(swirl, max_speed=3.0)
    aim = world.interaction.aim(world.rigid.bodies[0], Pose((-0.2, 0.1, 0.5)))
    glue = world.interaction.attach(world.rigid.bodies[1], world.bodies[1], (0.12, 0, 0.26))
    for k in range(16):
        hand.target = (0.1 + 0.01 * k, 0.02 * k, 0.4)
        if k == 4:
            field.field = Wind((-3, 0, 0))
        if k == 6:
            field.remove()
            world.interaction.add_field(Explosion((0, 0, 0.1), speed=2.0))
        if k == 8:
            aim.target = Pose((-0.3, 0.0, 0.4), (0.8, 0.6, 0.0, 0.0))
            hand.release()
            hand = world.interaction.pick((-0.28, 0.03, 2), (0, 0, -1), body=world.bodies[0], kind="attachment", max_force=30.0)
        if k == 12:
            glue.release()
            glue = world.interaction.attach(world.bodies[1], None, [(0.2, 0.2, 0.3), (-0.2, 0.2, 0.3)], compliance=1e-4)
            glue.target = (0, 0.2, 0.35)
        world.step(DT, budget=Budget(1e-3, least=2) if k % 3 else None)


@pytest.fixture(scope="module")
def played() -> tuple[Any, Any, list[dict[str, Any]]]:
    world = playground()
    start = pickle.dumps(world)
    with Recorder(world) as recorder:
        play(world)
    return start, world, recorder.events


def test_a_log_replays_bit_by_bit(played: Any) -> None:
    start, world, events = played
    copy = pickle.loads(start)
    assert replay(copy, events, functions={"swirl": swirl}) == 16
    assert digest(copy) == digest(world)
    for one, other in zip(world.bodies, copy.bodies, strict=True):
        np.testing.assert_array_equal(one.positions, other.positions)
    np.testing.assert_array_equal(copy.interaction.impulse, world.interaction.impulse)
    assert {len(set(e["counts"].get("rigid", [20]))) for e in events if e["event"] == "step"} == {1}


def test_a_log_replays_on_any_number_of_threads(played: Any) -> None:
    start, world, events = played
    before = ms.core.num_threads()
    try:
        for threads in (1, 3):
            ms.core.set_num_threads(threads)
            copy = pickle.loads(start)
            replay(copy, events, functions={"swirl": swirl})
            assert digest(copy) == digest(world)
    finally:
        ms.core.set_num_threads(before)


def test_a_pickle_in_the_middle_goes_on_with_the_same_bits(played: Any) -> None:
    start, world, events = played
    copy = pickle.loads(start)
    middle = next(k for k, e in enumerate(events) if e["event"] == "step" and e["step"] == 10)
    replay(copy, events[:middle], functions={"swirl": swirl})
    again = pickle.loads(pickle.dumps(copy))
    assert digest(again) == digest(copy)
    third = copy.copy()
    for one in (copy, again, third):
        replay(one, events[middle:])
        assert digest(one) == digest(world)


def test_snapshots_bring_released_handles_back() -> None:
    world = playground()
    hand = world.interaction.pick((0.1, 0.0, 2), (0, 0, -1))
    hand.target = (0.1, 0, 0.5)
    world.step(DT)
    saved = world.snapshot()
    kept = digest(world)
    other = world.interaction.pick((-0.1, 0, 2), (0, 0, -1))
    hand.release()
    world.step(DT)
    world.restore(saved)
    assert hand.active
    assert not other.active
    assert digest(world) == kept
    np.testing.assert_array_equal(hand.target, (0.1, 0, 0.5))
    assert world.interaction.pulls == {hand.number: hand}


def test_checkpoints_have_pulls_and_fields(tmp_path: Path) -> None:
    world = playground()
    hand = world.interaction.pick((0.1, 0.0, 2), (0, 0, -1), kind="attachment")
    hand.target = (0.1, 0, 0.4)
    world.interaction.attach(world.rigid.bodies[1], world.bodies[1], (0.12, 0, 0.26))
    world.interaction.aim(world.rigid.bodies[0], Pose((-0.2, 0.1, 0.5)))
    world.interaction.add_field(Wind((2, 0, 0.5)))
    for _ in range(6):
        world.step(DT)
    ms.io.write_checkpoint(tmp_path / "world.h5", ms.io.Checkpoint("none", {}, "0", {"step": 6}, {"world": world.snapshot()}))
    other = playground()
    other.restore(ms.io.read_checkpoint(tmp_path / "world.h5").state["world"])
    assert digest(other) == digest(world)
    for one in (world, other):
        for _ in range(4):
            one.step(DT)
    assert digest(other) == digest(world)


def test_files_have_the_same_log(played: Any, tmp_path: Path) -> None:
    start, world, events = played
    copy = pickle.loads(start)
    path = tmp_path / "log.jsonl"
    with Recorder(copy, path, sync=True) as recorder:
        play(copy)
    assert recorder.events == events == read_lines(path)
    assert all(json.loads(line) for line in path.read_text().splitlines())
    third = pickle.loads(start)
    replay(third, path, functions={"swirl": swirl})
    assert digest(third) == digest(world)


def test_another_start_or_end_is_noticed(played: Any) -> None:
    start, _, events = played
    copy = pickle.loads(start)
    copy.bodies[0].velocities[0, 0] += 1e-16
    with pytest.raises(ValueError, match="not that in which the log began"):
        replay(copy, events)
    copy = pickle.loads(start)
    with pytest.raises(ValueError, match="not that in which the log ended"):
        replay(copy, [events[0], events[-1]])
    with pytest.raises(ValueError, match="'swirl' of a field is not known"):
        replay(pickle.loads(start), events)
    with pytest.raises(ValueError, match="no event 'dance'"):
        replay(copy, [{"step": 0, "event": "dance"}])
    with pytest.raises(ValueError, match="version 7"):
        replay(copy, [{"step": 0, "event": "start", "version": 7}])


def test_led_bodies_replay() -> None:
    def made() -> Any:
        world = rigid_world(2)
        world.add(ms.solids.RigidBody.box((0.1, 0.3, 0.1), motion=KinematicPath(Pose((-0.3, 0, 0.15)), max_speed=3.0)))
        return world

    world = made()
    with Recorder(world) as recorder:
        target = world.interaction.aim(world.rigid.bodies[2], Pose((-0.3, 0, 0.15)))
        for k in range(20):
            target.target = Pose((0.05 * (k // 5) - 0.25, 0, 0.15), (1.0, 0.02 * k, 0, 0) / np.sqrt(1 + (0.02 * k) ** 2))
            world.step(0.01)
    other = made()
    replay(other, recorder)
    assert digest(other) == digest(world)


def test_a_crash_loses_no_finished_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    file = LineFile(path)
    for k in range(3):
        file.write({"k": k})
    # The file is not closed, and a line is torn.
    with path.open("ab") as torn:
        torn.write(b'{"k": 3, "half')
    assert read_lines(path) == [{"k": 0}, {"k": 1}, {"k": 2}]
    again = LineFile(path)
    again.write([1.5, float("inf"), None])
    again.close()
    again.close()
    assert line_file.from_plain(read_lines(path)[-1]) == [1.5, float("inf"), None]
    assert len(read_lines(path)) == 4
    path.write_bytes(b"{}\n{\n")
    with pytest.raises(ValueError, match="line 2 of"):
        read_lines(path)
    with pytest.raises(ValueError, match="no number"):
        LineFile(path).write(float("nan"))


def test_a_full_disk_loses_no_finished_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    room = [400]
    write = os.write

    def little(descriptor: int, content: bytes) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = write(descriptor, content[: room[0]])
        room[0] -= done
        return done

    monkeypatch.setattr(line_file.os, "write", little)
    world = rigid_world(1)
    recorder = Recorder(world, path)
    for _ in range(10):
        world.step(0.01)
    assert recorder.file is not None
    assert recorder.file.error is not None
    lines = read_lines(path)
    assert 0 < len(lines) < 11
    assert lines == recorder.events[: len(lines)]
    with pytest.raises(OSError, match=r"log\.jsonl"):
        recorder.close()
    assert path.read_bytes().endswith(b"\n")
    room[0] = 10**6
    recorder.close()
    assert read_lines(path) == recorder.events
    other = rigid_world(1)
    assert replay(other, path) == 10
    assert digest(other) == digest(world)
