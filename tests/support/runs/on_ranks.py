"""Runs on ranks: a scene of a page, comparison of what runs have left, and processes that `mpirun` has started."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import numpy as np

from meniscus import io
from support.runs.killed import diagnostics, final_state

ROOT = Path(__file__).parents[3]


def scene_of_the_page(folder: Path, pause: float = 0.0) -> Path:
    """Write the scene of docs/running.md to a file; its steps take a pause, s."""
    page = (ROOT / "docs" / "running.md").read_text()
    code = next(c for c in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class Embers" in c)
    path = folder / "embers.py"
    if pause:
        code = code.replace('with self.stage("carry"):', f'__import__("time").sleep({pause})\n        with self.stage("carry"):')
    path.write_text(code)
    return path


def by_id(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return arrays with the rows of each set of particles by their ids: on one rank, particles that were added last may come last."""
    result = dict(arrays)
    for ids in [name for name in arrays if name.endswith("/id")]:
        order, owner = np.argsort(arrays[ids]), ids.removesuffix("id")
        for name, values in arrays.items():
            if name.startswith(owner) and np.ndim(values) and len(values) == len(order):
                result[name] = values[order]
    return result


def assert_same_results(one: Path, other: Path) -> None:
    """Compare last checkpoints, reports, frames and pictures of runs on any numbers of ranks, bit by bit."""
    a, b = by_id(final_state(one)), by_id(final_state(other))
    assert a.keys() == b.keys()
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name], err_msg=name)
        assert np.asarray(value).dtype == np.asarray(b[name]).dtype
    assert diagnostics(one) == diagnostics(other)
    series = [io.read_series(folder / "frames.pvd") for folder in (one, other)]
    assert [time for time, _ in series[0]] == [time for time, _ in series[1]]
    for number, ((_, mine), (_, theirs)) in enumerate(zip(*series, strict=True)):
        f, g = io.read_frame(mine, number), io.read_frame(theirs, number)
        assert (f.grid, f.time) == (g.grid, g.time)
        sets = [{f"{n}/{column}": values for n, columns in h.particles.items() for column, values in columns.items()} for h in (f, g)]
        sections = [(f.cells, g.cells), (f.nodes, g.nodes), (by_id(sets[0]), by_id(sets[1]))]
        for left, right in sections:
            assert left.keys() == right.keys()
            for name, values in left.items():
                np.testing.assert_array_equal(values, right[name], err_msg=f"{name} in frame {number}")
                assert values.dtype == right[name].dtype
    pictures = {p.name: p.read_bytes() for p in one.glob("*.png")}
    assert pictures == {p.name: p.read_bytes() for p in other.glob("*.png")}


def descendants(process: int) -> list[int]:
    """Return the processes that a process has started, and those that these have started (Linux)."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, added = [process], True
    while added:
        added = [p for p, parent in parents.items() if parent in found and p not in found]  # type: ignore[assignment]
        found += added  # type: ignore[arg-type]
    return found[1:]


def ranks_of(process: int, words: str) -> list[int]:
    """Return the processes below `mpirun` whose command holds some words."""
    found = []
    for p in descendants(process):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{p}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            if words in command and "mpirun" not in command.split(" ")[0] and "-m meniscus" in command.split("mpirun")[-1][:200]:
                found.append(p)
    return sorted(found)
