"""Files of a KDSM: appended frame by frame, whole after a kill, extended, and refused where they do not fit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.creatures import BALL, TIMES, built, squirm

from meniscus.coupling import KDSM, Following, Skinning
from meniscus.coupling.frame_store import FrameStore

h5py = pytest.importorskip("h5py")


def frames_of(kdsm: KDSM) -> np.ndarray:
    return np.stack([kdsm.frame(k) for k in range(len(kdsm.times))])


def test_a_file_holds_what_memory_holds(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ball.h5"
    seen: list[tuple[int, int]] = []
    in_memory = built(subdivisions=1)
    built(subdivisions=1, out=str(path), on_frame=lambda k, n: seen.append((k, n)))
    kdsm = KDSM.load(str(path))
    assert seen == [(k, 6) for k in range(6)]
    np.testing.assert_array_equal(frames_of(kdsm), frames_of(in_memory))
    np.testing.assert_array_equal(kdsm.at(0.11), in_memory.at(0.11))
    np.testing.assert_array_equal(kdsm.rest_distance, in_memory.rest_distance)
    assert kdsm.complete
    assert kdsm.options == in_memory.options
    assert kdsm.path == path
    with h5py.File(path) as file:
        assert "meniscus kdsm 1" in file.attrs["header"]
        np.testing.assert_array_equal(file["frames/positions"][3], in_memory.frame(3))
        np.testing.assert_array_equal(file["frames/skin"][3], squirm(TIMES[3]))


def test_a_build_is_readable_while_it_goes_on_and_extended_later(tmp_path: Path) -> None:
    path = tmp_path / "ball.h5"
    counts = []

    def look(k: int, count: int) -> None:
        counts.append(len(KDSM.load(path).times))

    built(times=TIMES[:4], out=path, on_frame=look)
    assert counts == [1, 2, 3, 4]
    early = KDSM.load(path)
    begin = path.read_bytes()
    longer = built(out=path)
    np.testing.assert_array_equal(frames_of(longer), frames_of(built()))
    assert len(early.times) == 4
    assert path.read_bytes() != begin
    assert [p.name for p in tmp_path.iterdir()] == ["ball.h5"]


@pytest.mark.fast_cases("0.0-dynamic")
@pytest.mark.parametrize("mode", ["dynamic", "quasi-static"])
@pytest.mark.parametrize("start", [0.0, 0.1])
def test_an_error_in_a_frame_keeps_those_before_and_the_build_goes_on(tmp_path: Path, mode: str, start: float) -> None:
    path, times = tmp_path / "ball.h5", TIMES + start

    def breaks(t: float) -> np.ndarray:
        if t > times[3] + 1e-9:
            raise RuntimeError("no more film")
        return squirm(t)

    with pytest.raises(RuntimeError, match="no more film"):
        built(breaks, times=times, out=path, skinning=Skinning(mode=mode))
    if mode == "dynamic":
        assert len(KDSM.load(path).times) == 4
    resumed = built(times=times, out=path, skinning=Skinning(mode=mode))
    np.testing.assert_array_equal(frames_of(resumed), frames_of(built(times=times, skinning=Skinning(mode=mode))))


@pytest.mark.slow
def test_the_printed_morph_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    path, times = tmp_path / "ball.h5", TIMES + 0.1
    built(times=times[:3], out=path, following=Following(morph="previous-frame"))
    resumed = built(times=times, out=path, following=Following(morph="previous-frame"))
    whole = built(times=times, following=Following(morph="previous-frame"))
    np.testing.assert_array_equal(frames_of(resumed), frames_of(whole))
    np.testing.assert_array_equal(resumed.report().drift, whole.report().drift)
    assert whole.report().drift[-1] > 0


def test_a_damaged_frame_is_computed_anew(tmp_path: Path) -> None:
    path = tmp_path / "ball.h5"
    built(out=path)
    with h5py.File(path) as file:
        offset = file["frames/positions"].id.get_offset()
        size = file["frames/positions"][0].nbytes
    content = bytearray(path.read_bytes())
    content[offset + 2 * size + 100] ^= 1
    path.write_bytes(content)
    damaged = KDSM.load(path)
    assert len(damaged.times) == 2
    with pytest.raises(ValueError, match="frame 2 is not there yet"):
        damaged.frame(2)
    np.testing.assert_array_equal(frames_of(built(out=path)), frames_of(built()))


def test_files_that_do_not_fit_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "ball.h5"
    built(times=TIMES[:2], out=path)
    with pytest.raises(ValueError, match="holds another KDSM"):
        built(times=TIMES[:2], out=path, skinning=Skinning(density=3.0))
    with pytest.raises(ValueError, match="is there already"):
        built(times=TIMES[:2], out=path, existing="refuse")
    with pytest.raises(ValueError, match="with other times"):
        built(times=TIMES[:2] + 0.01, out=path)
    built(times=TIMES[:2], out=path, skinning=Skinning(density=3.0), existing="replace")
    assert KDSM.load(path).options["density"] == 3.0
    with pytest.raises(FileNotFoundError, match="there is no file"):
        KDSM.load(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("no frames")
    with pytest.raises(ValueError, match="holds no frames, or is damaged"):
        KDSM.load(tmp_path / "text.h5")
    (tmp_path / "short.h5").write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(ValueError, match=r"is damaged|was cut short"):
        KDSM.load(tmp_path / "short.h5")
    with h5py.File(path, "r+") as file:
        file.attrs["header"] = file.attrs["header"].replace("kdsm 1", "kdsm 9")
    with pytest.raises(ValueError, match="has the schema 'meniscus kdsm 9', but this meniscus reads 'meniscus kdsm 1'"):
        KDSM.load(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_keeps_the_frames_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ball.h5"
    written = os.pwrite

    def full(descriptor: int, content: bytes, offset: int) -> int:
        if len(KDSM.load(path).times if FrameStore.open(path).has(0) else []) >= 2 and len(content) > 100:
            raise OSError(28, "No space left on device")
        return written(descriptor, content, offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match=r"No space left on device.*ball\.h5"):
        built(out=path)
    monkeypatch.undo()
    assert len(KDSM.load(path).times) == 2
    np.testing.assert_array_equal(frames_of(built(out=path)), frames_of(built()))


SCRIPT = """
import sys
from support.creatures import TIMES, built
from meniscus.coupling import Skinning
print("ready", flush=True)
built(times=TIMES, out=sys.argv[1], skinning=Skinning(mode=sys.argv[2]))
"""


def killed_builds(path: Path, mode: str, kills: int) -> None:
    """Kill builds at random moments until one ends by itself."""
    rng = random.Random(3)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    for _ in range(kills):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(path), mode], stdout=subprocess.PIPE, env=environment, cwd=path.parent
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.random() * 1.5)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    subprocess.run([sys.executable, "-c", SCRIPT, str(path), mode], check=True, env=environment, cwd=path.parent, stdout=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "kills"), [("dynamic", 3), ("dynamic", 20), ("quasi-static", 20)])
def test_killed_builds_go_on_with_the_same_bits(tmp_path: Path, mode: str, kills: int) -> None:
    path = tmp_path / "ball.h5"
    killed_builds(path, mode, kills)
    np.testing.assert_array_equal(frames_of(KDSM.load(path)), frames_of(built(skinning=Skinning(mode=mode))))
    assert not [p for p in tmp_path.iterdir() if p.name != "ball.h5" and not p.name.endswith(".part")]


def test_the_store_is_not_larger_than_its_frames(tmp_path: Path) -> None:
    path = tmp_path / "ball.h5"
    kdsm = built(times=TIMES[:3], out=path)
    n, m, k = len(kdsm.rest.vertices), len(kdsm.rest.tets), len(BALL.vertices)
    frame = 48 * n + m + 24 * k
    fixed = 24 * n + 16 * m + 24 * k + 12 * len(BALL.triangles) + 8 * n + 4 * m + (16 + 32 + 4) * k
    assert path.stat().st_size < 3 * frame + fixed + 8 * 3 * 2000 + 20_000
