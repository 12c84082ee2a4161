"""A folder that belongs to one process at a time."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK_FILE = ".meniscus.lock"


class FolderLock:
    """The right to write the frames of a folder, so that two processes never mix theirs.

    The system gives it back when the process ends, however it ends; the file stays, and means nothing by itself. Where the file system
    has no locks, nothing is refused.

    Raises:
        OSError: another process, or another writer of this one, holds the folder, or it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[Any] | None = (folder / LOCK_FILE).open("a+")
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                self._file.seek(0)
                holder = self._file.read().strip()
                self._file.close()
                self._file = None
                who = f"process {holder}" if holder else "another process"
                raise BlockingIOError(errno.EWOULDBLOCK, f"{who} writes to this folder; give another one, or wait", str(folder)) from None
            return
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def require_held(self) -> None:
        """Raise ValueError if the folder was released."""
        if self._file is None:
            raise ValueError(f"the writer of {str(self._folder)!r} is closed")

    def release(self) -> None:
        """Give the folder free; more than once does no harm."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        """Give the folder free."""
        if getattr(self, "_file", None) is not None:
            self.release()
