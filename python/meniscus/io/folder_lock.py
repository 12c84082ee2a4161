"""A folder that belongs to one process at a time."""

from __future__ import annotations

import contextlib
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

    It is a lock on a file, which the system gives back when the process ends, however it ends; a file that a killed process has left
    means nothing. Where the file system has no locks, nothing is refused.

    Raises:
        OSError: another process, or another writer of this one, holds the folder, or it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / LOCK_FILE
        self._file: IO[Any] | None = None
        while True:
            file = self._path.open("a+")
            try:
                self._lock(file)
            except BaseException:
                file.close()
                raise
            # The one who held it before may have removed it just now: what was locked then is not what others see.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), self._path.stat()):
                    self._file = file
                    break
            file.close()
        self._process = os.getpid()
        with contextlib.suppress(OSError):  # the number only helps others to see who it is
            self._file.truncate(0)
            self._file.write(str(self._process))
            self._file.flush()

    def _lock(self, file: IO[Any]) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                return
            file.seek(0)
            holder = file.read().strip()
            who = f"process {holder}" if holder else "another process"
            raise BlockingIOError(errno.EWOULDBLOCK, f"{who} writes to this folder; give another one, or wait", str(self._folder)) from None

    def require_held(self) -> None:
        """Raise ValueError if the folder was released."""
        if self._file is None:
            raise ValueError(f"the writer of {str(self._folder)!r} is closed")

    def release(self) -> None:
        """Give the folder free; more than once does no harm."""
        if self._file is not None:
            if os.getpid() == self._process:  # not in a copy of the process, whose file this is too
                with contextlib.suppress(OSError):  # on Windows an open file cannot be removed
                    self._path.unlink()
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        """Give the folder free."""
        if getattr(self, "_file", None) is not None:
            self.release()
