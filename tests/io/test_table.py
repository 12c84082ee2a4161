"""Tables of reports: the numbers that were added, by name."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import meniscus as ms
from meniscus.io import Table


def filled() -> tuple[Table, list[ms.fluids.LiquidReport]]:
    solver = ms.fluids.LiquidSolver(ms.Grid((12, 12), 1 / 12))
    solver.fill(ms.surface.Box((0, 0), (0.4, 0.6)))
    table, reports = Table(), []
    for _ in range(3):
        reports.append(solver.step(0.01))
        table.add(reports[-1], time=solver.time, volume=solver.volume_report())
    return table, reports


def test_reports_become_columns() -> None:
    table, reports = filled()
    assert len(table) == 3
    np.testing.assert_array_equal(table["kinetic_energy"], [r.kinetic_energy for r in reports])
    np.testing.assert_array_equal(table["projection.iterations"], [r.projection.iterations for r in reports])
    np.testing.assert_allclose(table["time"], [0.01, 0.02, 0.03])
    np.testing.assert_allclose(table["volume.liquid"], 0.24, rtol=1e-2)


def test_rows_may_differ() -> None:
    table = Table()
    table.add(a=1, name="x")
    table.add({"b": np.float32(0.5)}, a=2)
    assert table.columns == ["a", "name", "b"]
    np.testing.assert_array_equal(table["b"], [np.nan, 0.5])
    assert table["name"].tolist() == ["x", ""]
    with pytest.raises(KeyError, match="there is no column 'c'; there are a, name, b"):
        table["c"]
    with pytest.raises(TypeError, match="a row takes numbers, strings and reports, but x is a object"):
        table.add(x=object())
    assert len(table) == 2


def test_goes_to_pandas_and_to_files(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table, _ = filled()
    frame = table.to_pandas()
    assert list(frame.columns) == table.columns
    np.testing.assert_array_equal(frame["kinetic_energy"], table["kinetic_energy"])
    table.write(str(tmp_path / "deep" / "run.csv"))
    with (tmp_path / "deep" / "run.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(r["kinetic_energy"]) for r in rows] == table["kinetic_energy"].tolist()
    assert pandas.read_csv(tmp_path / "deep" / "run.csv").shape == frame.shape
