"""Records of a run: `run.json` and `diagnostics.csv`."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meniscus import core
from meniscus._meniscus import __version__
from meniscus.core.atomic_file import naming, write_text
from meniscus.parallel import Communicator
from meniscus.scenes.scene import Scene

RUN_FILE = "run.json"
DIAGNOSTICS_FILE = "diagnostics.csv"


def parameters_of(scene: Scene) -> dict[str, Any]:
    """Return the parameters of a scene as JSON values."""
    values: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(scene), default=str))
    return values


def write_run_file(
    folder: Path, scene: Scene, options: Mapping[str, Any], source: str | None, resumed_at: int | None, comm: Communicator | None = None
) -> None:
    """Write `run.json`: scene, parameters, options, version, machine, ranks, and at which steps the run was resumed. Raises OSError."""
    path = folder / RUN_FILE
    resumed: list[int] = []
    if resumed_at is not None:
        if path.exists():
            resumed = read_run_file(folder).get("resumed at steps", [])
        resumed.append(resumed_at)
    description = {
        "scene": scene.name,
        "source": source,
        "parameters": parameters_of(scene),
        "options": dict(options),
        "seed": getattr(scene, "seed", None),
        "version": __version__,
        "build": core.build_info(),
        "threads": core.num_threads(),
        "ranks": 1 if comm is None else comm.size,
        "transport": "one rank" if comm is None else comm.transport,
        "simd": core.simd_level(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "resumed at steps": resumed,
    }
    write_text(path, json.dumps(description, indent=1, default=str) + "\n")


def read_run_file(folder: Path) -> dict[str, Any]:
    """Return the content of `run.json`. Raises ValueError if it is missing or invalid."""
    path = folder / RUN_FILE
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no run: it has no {RUN_FILE}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict) or not {"scene", "parameters"} <= set(content):
        raise ValueError(f"{path} does not describe a run")
    return content


class Diagnostics:
    """Writer of `diagnostics.csv`: a row per step, written immediately.

    With `after_step`, the rows up to that step are kept and all later ones are removed, including an incomplete row.
    """

    def __init__(self, folder: Path, after_step: int | None = None) -> None:
        self._path = folder / DIAGNOSTICS_FILE
        self._columns: list[str] = []
        if after_step is not None and self._path.exists():
            self._cut(after_step)
        with naming(self._path):
            # Without a buffer: what could not be written is not tried again when the file is closed.
            self._file = self._path.open("ab" if self._columns else "wb", buffering=0)

    def row(self, values: Mapping[str, Any]) -> None:
        """Append a row. Raises OSError; ValueError if the names are not those of the first row."""
        if not self._columns:
            self._columns = list(values)
            self._write(self._columns)
        if list(values) != self._columns:
            odd = sorted(set(values) ^ set(self._columns)) or list(values)
            raise ValueError(f"the diagnostics must have the same names at every step, but {', '.join(odd)} came or went")
        self._write(list(values.values()))

    def flush(self) -> None:
        """Flush the rows to the disk, so that no checkpoint is ahead of them even after a loss of power."""
        with naming(self._path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, values: list[Any]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(values)
        rest = memoryview(line.getvalue().encode())
        with naming(self._path):
            while rest:
                rest = rest[self._file.write(rest) :]

    def _cut(self, step: int) -> None:
        with self._path.open(newline="") as file:
            lines = file.read().splitlines(keepends=True)
        rows = [line for line in lines[1:] if line.endswith("\n") and int(line.split(",", 1)[0]) <= step]
        if lines and lines[0].endswith("\n"):
            self._columns = next(csv.reader(lines[:1]))
            write_text(self._path, "".join([lines[0], *rows]))
