"""Numbers of a simulation, a row per step."""

from __future__ import annotations

import csv
import dataclasses
import io
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._extras import require
from meniscus.core.atomic_file import write_text
from meniscus.core.known_names import KnownNames

Value = float | int | bool | str | None


class Table(KnownNames):
    """Rows of named numbers: reports of solvers, or anything of your own; for pandas, for files and for plots::

        table = Table()
        while solver.time < 1:
            table.add(solver.step(solver.max_dt()), volume=solver.volume_report(), time=solver.time)
        table["kinetic_energy"]  # an array
        table.to_pandas()

    Columns appear with the first row that has them; other rows have NaN there. Reports give a column for each of their numbers; those of a
    report within a report, or of one that has a name, begin with its name: `volume.liquid`.
    """

    def __init__(self) -> None:
        self._rows: list[dict[str, Value]] = []
        self._columns: dict[str, None] = {}

    def add(self, report: Any = None, **values: Any) -> None:
        """Add a row.

        Args:
            report: a dataclass such as the report of a step, or a mapping.
            **values: numbers, strings, and further reports by name.

        Raises:
            TypeError: a value that is neither a number, a string nor a report.
        """
        row: dict[str, Value] = {}
        if report is not None:
            _flatten("", report, row)
        for name, value in values.items():
            _flatten(name, value, row)
        self._rows.append(row)
        self._columns.update(dict.fromkeys(row))

    @property
    def columns(self) -> list[str]:
        """Their names, in the order of their appearance."""
        return list(self._columns)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        """Return a column (n,); KeyError names the existing ones."""
        if column not in self._columns:
            raise KeyError(f"there is no column {column!r}; there are {', '.join(self._columns) or 'none'}")
        values = [row.get(column) for row in self._rows]
        if any(isinstance(v, str) for v in values):
            return np.array(["" if v is None else v for v in values], object)
        return np.array([np.nan if v is None else v for v in values])

    def __iter__(self) -> Iterator[dict[str, Value]]:
        """Yield the rows."""
        return (dict(row) for row in self._rows)

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`. Raises ImportError where pandas is missing."""
        return require("pandas", "this needs").DataFrame(self._rows, columns=self.columns)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file, which appears only once it is complete. Raises OSError."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self._rows)
        file = _checks.path("path", path)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, text.getvalue())

    def __repr__(self) -> str:
        """One line: rows and columns."""
        return f"<Table of {len(self)} rows: {', '.join(self._columns) or 'no columns'}>"


def _flatten(name: str, value: Any, row: dict[str, Value]) -> None:
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        row[name] = value
        return
    parts: Mapping[Any, Any]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    elif isinstance(value, Mapping):
        parts = value
    elif hasattr(value, "_asdict"):
        parts = value._asdict()
    else:
        raise TypeError(f"a row takes numbers, strings and reports, but {name or 'the report'} is a {type(value).__name__}")
    for part, inner in parts.items():
        # Lists in reports, such as those of components, have no place in a row.
        if not isinstance(inner, (tuple, list, np.ndarray)) or hasattr(inner, "_asdict"):
            _flatten(f"{name}.{part}" if name else str(part), inner, row)
