"""Checkpoints: restored to the last bit, or refused."""

from __future__ import annotations

import errno
import hashlib
import math
import os
from pathlib import Path

import numpy as np
import pytest

import meniscus as ms
from meniscus import io

h5py = pytest.importorskip("h5py")


def checkpoint(state, step=3, **grids):
    return io.Checkpoint("test", {"resolution": 8, "method": "bfecc"}, "1.2.3", {"step": step, "time": 0.1 + 0.2}, state, grids)


def test_every_kind_of_state_comes_back_to_the_last_bit(tmp_path, rng):
    grid = ms.Grid((4, 3), 0.1, (1 / 3, -2.0), (True, False))
    field = ms.CellField(ms.Grid((4, 3, 2), 0.1), np.float32)
    field.array[...] = rng.random(field.shape)
    particles = ms.Particles(rng.random((5, 2)), kind=np.arange(5, dtype=np.uint8))
    state = {
        "field": field.snapshot(),
        "particles": particles.snapshot(),
        "none": ms.Particles(np.empty((0, 3), np.float32)).snapshot(),
        "random": rng.bit_generator.state,
        "twister": np.random.Generator(np.random.MT19937(3)).bit_generator.state,
        "numbers": [0.1 + 0.2, -0.0, 1e-320, math.inf, 2**200, True, None, "text"],
        "single": np.float32(0.1),
        "half": np.array(0.5, np.float16),
    }
    io.write_checkpoint(tmp_path / "c.h5", checkpoint(state, grid=grid))
    back = io.read_checkpoint(tmp_path / "c.h5")
    assert (back.scene, back.version) == ("test", "1.2.3")
    assert back.parameters == {"resolution": 8, "method": "bfecc"}
    assert back.progress == {"step": 3, "time": 0.1 + 0.2}
    assert back.grids == {"grid": grid}
    assert isinstance(back.state["field"], tuple)
    np.testing.assert_array_equal(back.state["field"][0], field.array)
    assert back.state["field"][0].dtype == np.float32
    assert back.state["particles"].keys() == state["particles"].keys()
    copy = ms.Particles(np.empty((0, 2)), kind=np.empty(0, np.uint8))
    copy.restore(back.state["particles"])
    np.testing.assert_array_equal(copy.positions, particles.positions)
    assert back.state["none"]["position"].shape == (0, 3)
    assert back.state["numbers"] == state["numbers"]
    assert math.copysign(1, back.state["numbers"][1]) == -1
    assert back.state["single"] == np.float32(0.1)
    assert type(back.state["single"]) is np.float32
    assert back.state["half"].dtype == np.float16
    expected = rng.random(3)
    other = np.random.default_rng(0)
    other.bit_generator.state = back.state["random"]
    np.testing.assert_array_equal(other.random(3), expected)
    twister = np.random.Generator(np.random.MT19937(0))
    twister.bit_generator.state = back.state["twister"]
    assert twister.random() == np.random.Generator(np.random.MT19937(3)).random()


def test_every_single_changed_byte_is_noticed(tmp_path, rng):
    path = tmp_path / "c.h5"
    io.write_checkpoint(path, checkpoint({"a": rng.random(20)}))
    content = path.read_bytes()
    used = content.index(b"\0")  # the rest of the user block is padding
    for at in [*range(used), *rng.integers(512, len(content), 200)]:
        changed = bytearray(content)
        changed[at] ^= 0x10
        path.write_bytes(changed)
        with pytest.raises(io.DamagedCheckpoint):
            io.read_checkpoint(path)
    for length in (0, 10, 511, 512, 600, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(io.DamagedCheckpoint, match=r"cut short"):
            io.read_checkpoint(path)
    path.write_bytes(content)
    io.read_checkpoint(path)


def test_other_programs_read_the_file(tmp_path):
    path = tmp_path / "c.h5"
    io.write_checkpoint(path, checkpoint({"a": (np.arange(3.0),)}))
    with h5py.File(path) as file:
        assert file.attrs["schema"] == 2
        np.testing.assert_array_equal(file["state/a/0"], [0, 1, 2])
        assert b'"scene": "test"' in file["header"][()]
    content = path.read_bytes()
    assert hashlib.blake2b(content[512:], digest_size=32).hexdigest().encode() in content[:512]


def test_equal_states_make_equal_files(tmp_path):
    for name in ("a", "b"):
        io.write_checkpoint(tmp_path / name, checkpoint({"x": np.arange(4.0)}))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_newest_two_are_kept_and_the_newest_whole_one_is_found(tmp_path):
    assert io.latest_checkpoint(tmp_path / "nothing") == (None, [])
    for step in (8, 9, 10, 11):
        io.save_checkpoint(tmp_path, checkpoint({"x": step}, step=step))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint-000000010.h5", "checkpoint-000000011.h5"]
    (tmp_path / "checkpoint-000000011.h5").write_bytes(b"")
    found, passed_over = io.latest_checkpoint(tmp_path)
    assert found.state == {"x": 10}
    assert len(passed_over) == 1
    assert "checkpoint-000000011.h5" in passed_over[0]


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "c.h5"
    io.write_checkpoint(path, checkpoint({"x": 1}))
    content = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as error:
        io.write_checkpoint(path, checkpoint({"x": 2}))
    assert error.value.filename == str(path)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["c.h5"]


def test_what_cannot_be_kept_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"thing/inner/1 cannot go into a checkpoint: .* not set"):
        io.write_checkpoint(tmp_path / "c.h5", checkpoint({"thing": {"inner": [1, {2}]}}))
    assert not list(Path(tmp_path).iterdir())
