"""Curves of runs, from their tables."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.atomic_file import write_bytes
from meniscus.scenes.record import DIAGNOSTICS_FILE

Floats = npt.NDArray[np.float64]
_LEAST = 0.02  # part of all seconds from which on a stage gets a curve
_STAGES = 5


def table_of(folder: Path) -> dict[str, Floats]:
    """Return the columns of the table of a run by name. Raises ValueError if the folder holds none, or an empty one."""
    path = folder / DIAGNOSTICS_FILE
    if not path.exists():
        raise ValueError(f"{folder} holds no table of a run, {DIAGNOSTICS_FILE}")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise ValueError(f"{path} has no rows")
    return {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}


def save_curves(folder: Path, figures: Mapping[str, Any]) -> list[Path]:
    """Write figures into the folder of a run, by name; return the files."""
    from meniscus.viz.picture import png

    files = [folder / f"{name}.png" for name in figures]
    for path, figure in zip(files, figures.values(), strict=True):
        write_bytes(path, png(figure))
    return files


def water_curves(folder: Path, beside: str | None) -> list[Path]:
    """Draw volumes, errors, force on the body and seconds per stage of a run of coupled water; return the files.

    The error of another run is drawn beside its own.
    """
    from meniscus import viz

    if not (folder / DIAGNOSTICS_FILE).exists():
        return []
    table = table_of(folder)
    time = table["time"]
    volumes = {name: table[name] for name in ("injected", "tetrahedra", "drops", "grid", "left") if np.ptp(table[name]) > 0}
    pool = table["grid"][0]
    if "grid" in volumes:
        volumes["grid, less the pool"] = volumes.pop("grid") - pool
    drawn = {"volumes": viz.lines(time, volumes, xlabel="t (s)", ylabel="volume (m^3)", title="where the water is")}
    errors = {"this run": 100 * _of_injected(table)}
    if beside is not None:
        other = table_of(Path(_checks.path("beside", beside)))
        errors["beside"] = np.interp(time, other["time"], 100 * _of_injected(other))
    drawn["errors"] = viz.lines(time, errors, xlabel="t (s)", ylabel="error (% of what came in)", title="water gained or lost, as measured")
    force = {axis: table[f"force {axis}"] for axis in "xyz" if f"force {axis}" in table}
    if force:
        drawn["force"] = viz.lines(time, force, xlabel="t (s)", ylabel="force (N)", title="force of the water on the body")
    seconds = {name.removeprefix("seconds "): values for name, values in table.items() if name.startswith("seconds ")}
    whole = sum(float(v.sum()) for v in seconds.values())
    longest = sorted(seconds, key=lambda name: -float(seconds[name].sum()))[:_STAGES]
    shown = {name: seconds[name] for name in longest if seconds[name].sum() > _LEAST * whole}
    if shown:
        drawn["seconds"] = viz.lines(time, shown, xlabel="t (s)", ylabel="seconds per step", title="what a step takes")
    return save_curves(folder, {f"curve-{name}": figure for name, figure in drawn.items()})


def _of_injected(table: dict[str, Floats]) -> Floats:
    """Return the error as part of what has come in; nothing before there is enough of it."""
    injected = table["injected"]
    enough = injected > 1e-3 * max(float(injected.max()), 1e-300)
    result: Floats = np.divide(table["error"], injected, out=np.full_like(injected, np.nan), where=enough & (injected > 0))
    return result
