"""Runs that are killed at random moments, and what they leave."""

from __future__ import annotations

import csv
import random
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from meniscus import io


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """All arrays and numbers of a nested snapshot by their path."""
    if isinstance(value, dict):
        return {k: v for key, item in value.items() for k, v in flat(item, f"{path}/{key}").items()}
    if isinstance(value, (tuple, list)):
        return {k: v for i, item in enumerate(value) for k, v in flat(item, f"{path}/{i}").items()}
    return {path: value}


def final_state(folder: Path) -> dict[str, Any]:
    """State and progress of the last checkpoint of a run."""
    found, passed_over = io.latest_checkpoint(Path(folder) / "checkpoints")
    assert found is not None
    assert not passed_over
    return flat({"state": found.state, "progress": found.progress})


def diagnostics(folder: Path) -> list[dict[str, str]]:
    """What a run has reported, without seconds."""
    with (Path(folder) / "diagnostics.csv").open(newline="") as file:
        return [{k: v for k, v in row.items() if not k.startswith("seconds")} for row in csv.DictReader(file)]


def assert_same_run(one: Path, other: Path) -> None:
    """Compare last checkpoints, reports and all files of frames bit by bit."""
    a, b = final_state(one), final_state(other)
    assert a.keys() == b.keys()
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name], err_msg=name)
        assert np.asarray(value).dtype == np.asarray(b[name]).dtype
    assert diagnostics(one) == diagnostics(other)
    files = {p.name for p in Path(one).glob("frame*")}
    assert files == {p.name for p in Path(other).glob("frame*")}
    assert len(files) > 2
    for name in files:
        assert (Path(one) / name).read_bytes() == (Path(other) / name).read_bytes(), name


def wait_for(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    """Return as soon as a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def complete(out: Path) -> set[Path]:
    """Return the checkpoints of a run that have their name: others are still being written."""
    return set(out.glob("checkpoints/checkpoint-*.h5"))


def kills_change_nothing(
    command: Sequence[str], finish: Callable[[Path], Any], whole: Path, folder: Path, *, longest: float, kills: int = 20
) -> None:
    """Kill runs of a command that writes a checkpoint in each step, resume them, and compare with an uninterrupted one.

    Args:
        command: without `--out` and `--resume`.
        finish: resumes the run in a folder and takes it to its end.
        whole: folder of the uninterrupted run.
        folder: for the runs.
        longest: from the first checkpoint after a start to the kill, s.
        kills: how many, at least.
    """
    chance = random.Random(20)
    killed, steps = 0, []
    for number in range(2 * kills):
        out = folder / f"run {number}"
        resume: list[str] = []
        # Each run is killed several times before it is let go, so that kills hit resumed runs too.
        for _ in range(4):
            before = complete(out) if resume else set()
            process = subprocess.Popen([*command, "--out", str(out), *resume], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            wait_for(lambda out=out, before=before, p=process: complete(out) - before or p.poll() is not None)
            time.sleep(chance.uniform(0.0, longest))
            process.send_signal(signal.SIGKILL)
            if process.wait() == -signal.SIGKILL:
                killed += 1
                steps.append(io.latest_checkpoint(out / "checkpoints")[0].progress["step"])
            resume = ["--resume"]
        finish(out)
        assert_same_run(out, whole)
        if killed >= kills:
            break
    assert killed >= kills, "runs were over before they could be killed"
    assert len(set(steps)) > kills // 4, "the kills came at different moments"
