"""Atomic writing of files: written to a temporary file, flushed to the disk, renamed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; at the end that file is flushed to the disk and takes the place of `path`.

    When the body fails, what was written is removed and `path` stays as it was. An OSError names `path`.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with naming(path):
            yield part
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(path)
            _flush_folder(path.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an OSError of the body the name of the file that it is about, if it has none."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            error.filename = str(path)
        raise


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write a temporary file and rename it. Raises OSError that names it."""
    with atomic_path(path) as part, part.open("wb") as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Write a text to a temporary file and rename it. Raises OSError that names the file."""
    write_bytes(path, content.encode())


def _flush_folder(folder: Path) -> None:
    """Make the rename itself survive a loss of power, where the system can open folders."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
