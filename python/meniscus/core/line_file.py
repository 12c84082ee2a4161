"""Files of JSON values, one a line, of which no finished line is lost."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from meniscus.core.atomic_file import naming

_NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


class LineFile:
    """A file to whose end JSON values are written, each as a line that is with the system before `write` returns.

    A line that cannot be written whole, as on a full disk, is taken back: what stands in the file are finished lines. Those that wait are
    kept and written before the next one. A line that a crash has left unfinished is cut off when the file is opened again, and ignored by
    `read_lines`.

    Args:
        path: of the file, which is made, or gone on with.
        sync: whether each line is also flushed to the disk, so that a loss of power loses none.

    Attributes:
        waiting: lines that could not be written yet.
        error: why; None where no line waits.
    """

    def __init__(self, path: str | os.PathLike[str], sync: bool = False) -> None:
        self.path = Path(path)
        self.sync = sync
        self.waiting: list[bytes] = []
        self.error: OSError | None = None
        with naming(self.path):
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            self._size = _finished(self.path)
            os.ftruncate(self._file, self._size)

    def write(self, value: Any) -> None:
        """Add a value of numbers, strings, truth values, None, lists and dicts. An error of the system is kept in `error`."""
        self.waiting.append(json.dumps(plain(value), allow_nan=False, separators=(",", ":")).encode() + b"\n")
        self.flush()

    def flush(self) -> None:
        """Try to write the lines that wait."""
        try:
            with naming(self.path):
                while self.waiting:
                    self._append(self.waiting[0])
                    del self.waiting[0]
                if self.sync:
                    os.fsync(self._file)
        except OSError as error:
            self.error = error
        else:
            self.error = None

    def _append(self, line: bytes) -> None:
        done = 0
        try:
            os.lseek(self._file, self._size, os.SEEK_SET)
            while done < len(line):
                done += os.write(self._file, line[done:])
        except BaseException:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def close(self) -> None:
        """Close the file. Raises OSError where lines still cannot be written; a second call does nothing."""
        if self._file < 0:
            return
        self.flush()
        if self.error is not None:
            raise self.error
        os.close(self._file)
        self._file = -1


def read_lines(path: str | os.PathLike[str]) -> list[Any]:
    """Return the values of all finished lines of a file. Raises ValueError, with the number of the line, for what is no JSON."""
    place = Path(path)
    with naming(place):
        content = place.read_bytes()
    values = []
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            values.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"line {number} of {place} is no JSON: {error}") from error
    return values


def plain(value: Any) -> Any:
    """Return a value with infinities as strings, which JSON does not have. Raises ValueError for what is no number."""
    if isinstance(value, float):
        if math.isnan(value):
            raise ValueError("a line cannot hold what is no number")
        return _NOT_FINITE.get(value, value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def from_plain(value: Any) -> Any:
    """Return the value that `plain` has been given, with lists for tuples."""
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: from_plain(item) for name, item in value.items()}
    return float(value) if isinstance(value, str) and value in _NOT_FINITE.values() else value


def _finished(path: Path) -> int:
    """Return the length of a file up to the end of its last finished line."""
    size, block = path.stat().st_size, 1 << 16
    with path.open("rb") as file:
        while size > 0:
            first = max(0, size - block)
            file.seek(first)
            found = file.read(size - first).rfind(b"\n")
            if found >= 0:
                return first + found + 1
            size = first
    return 0
