"""Writing of frames from a script."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Literal, get_args

from meniscus import _checks
from meniscus.io import openvdb, ply, usd, vtk
from meniscus.io.folder_lock import FolderLock
from meniscus.io.frames import FrameData, FrameItem, collect
from meniscus.io.names import SERIES_FILE
from meniscus.parallel import communicator as parallel

Format = Literal["vtk", "ply", "usd", "vdb"]

_FORMATS: dict[str, ModuleType] = {"vtk": vtk, "ply": ply, "usd": usd, "vdb": openvdb}


class FrameWriter:
    """Writer of the frames of a simulation, for scripts that take their own steps; runs of scenes write theirs themselves::

        with FrameWriter("out") as frames:
            for step in range(100):
                body.step(1 / 24)
                frames.write(body.time, jelly=mesh.moved(body.positions))

    Each file appears only once it is complete. `frames.pvd` lists the files of all frames with their times, after each frame. The folder
    belongs to this writer until it is closed, and another one is refused. Within `parallel.ranks` all ranks make the writer and write each
    frame together; fields and particles then are files of each rank, with one that names them.

    Args:
        folder: made if it is not there; frames in it are replaced by those of the same numbers.
        formats: one or several of "vtk" (fields on cells and nodes `.vti`, particles `.vtp`, meshes `.vtu`; needs the extra `vtk`), "ply"
            (surfaces of meshes and level sets, and particles, a file each; needs the extra `mesh`), "usd" (the same in one `.usd` file per
            frame, fields as volumes beside it, and all of them as one animation, `frames.usda`, for films; needs the extra `usd`) and
            "vdb" (fields and level sets as OpenVDB grids, a `.vdb` file per frame).

    Raises:
        TypeError, ValueError: an unknown format.
        OSError: the folder cannot be made, or belongs to another writer.
        ImportError: the library of a format is missing.
    """

    def __init__(self, folder: str | os.PathLike[str], formats: Format | Sequence[Format] = "vtk") -> None:
        place = _checks.path("folder", folder)
        names = (formats,) if isinstance(formats, str) else _checks.items("formats", formats, str)
        self._formats = tuple(_checks.choice("formats", name, Format) for name in names)
        if not self._formats:
            raise ValueError(f"formats must name at least one of {', '.join(map(repr, get_args(Format)))}")
        for name in self._formats:
            _FORMATS[name].require()
        self._folder = place
        self._comm = parallel.resolve(None)
        if self._comm.size > 1 and self._formats != ("vtk",):
            raise ValueError("several ranks can write frames in the format 'vtk' only")
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._comm.agreement():
            self._lock = FolderLock(self._folder) if self._comm.rank == 0 else None
        self._series: list[tuple[float, list[Path]]] = []

    def __len__(self) -> int:
        """Number of frames written."""
        return len(self._series)

    def write(self, time: float, **items: FrameItem) -> list[Path]:
        """Write a frame.

        Args:
            time: s.
            **items: fields, level sets, particles, meshes and `FrameMesh` objects, by the names that they get.

        Returns:
            The files.

        Raises:
            TypeError, ValueError: an object that cannot be part of a frame, or fields on different grids.
            OSError: the disk is full, or a file cannot be written; frames written before stay whole.
        """
        if self._lock is not None:
            self._lock.require_held()
        frame: FrameData = collect(items, len(self._series), _checks.number("time", time))
        files = [file for name in self._formats for file in _FORMATS[name].write_frame(self._folder, frame)]
        self._series.append((frame.time, files))
        if "vtk" in self._formats and self._comm.rank == 0:
            listed = [(t, [f for f in written if f.suffix in vtk.SUFFIXES]) for t, written in self._series]
            vtk.write_series(self._folder / SERIES_FILE, listed)
        return files

    def close(self) -> None:
        """Give the folder free."""
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> FrameWriter:
        """Return the writer."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give the folder free."""
        self.close()

    def __repr__(self) -> str:
        """One line: folder, formats, frames."""
        return f"<FrameWriter to {str(self._folder)!r}: {', '.join(self._formats)}, {len(self)} frames>"
