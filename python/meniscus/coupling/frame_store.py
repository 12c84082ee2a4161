"""Frames of arrays of fixed shape in an HDF5 file: written one by one, whole after a crash at any moment, and longer than memory.

All data sets are contiguous and allocated when the file is made, so that nothing of HDF5's own structure changes afterwards: a frame is
written in place, flushed to the disk, and only then marked by its checksum in the data set `stamps`. A frame without a mark, or whose mark
does not match, does not exist. Any program that reads HDF5 can open the file, also while it grows.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._extras import require
from meniscus.core.atomic_file import atomic_path, naming

Arrays = dict[str, npt.NDArray[Any]]
Shapes = Mapping[str, tuple[tuple[int, ...], npt.DTypeLike]]


class FrameStore:
    """Frames in memory, or in a file; made by `create` or `open`."""

    def __init__(self, header: dict[str, Any], fixed: Arrays, frames: Arrays, stamps: npt.NDArray[np.uint64], path: Path | None) -> None:
        self.header, self.fixed, self.path = header, fixed, path
        self._frames, self._stamps = frames, stamps
        self._good = np.zeros(len(stamps), bool)
        self._leading = 0
        self._offsets: dict[str, int] = {}
        self._file: tuple[int, int] | None = None

    def __len__(self) -> int:
        """Number of frames that the store has room for."""
        return len(self._stamps)

    @classmethod
    def create(
        cls, path: str | os.PathLike[str] | None, header: Mapping[str, Any], fixed: Mapping[str, Any], shapes: Shapes, count: int
    ) -> FrameStore:
        """Make a store for `count` frames; folders of the path are made, and a file of that name is replaced.

        Args:
            path: of the file; None: in memory.
            header: JSON values; `schema` names the layout.
            fixed: arrays that belong to no frame.
            shapes: shape and dtype of each array of a frame.
            count: of frames.

        Raises:
            OSError: the file cannot be written, or the disk has no room for all frames.
            ImportError: h5py is missing.
        """
        constant = {name: np.ascontiguousarray(a) for name, a in fixed.items()}
        header = {**json.loads(json.dumps(header)), "fixed": _stamp(0, constant)}
        if path is None:
            frames = {name: np.zeros((count, *shape), dtype) for name, (shape, dtype) in shapes.items()}
            return cls(header, constant, frames, np.zeros(count, np.uint64), None)
        h5py = require("h5py", "files of frames need")
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        # Two builds of the same file do not take each other's part; the last one to begin has the file.
        temporary = file.with_name(f".{file.name}.{os.getpid()}-{threading.get_ident()}")
        with naming(file), atomic_path(temporary) as part:
            with h5py.File(part, "w") as h5:
                h5.attrs["header"] = json.dumps(header)
                for name, array in constant.items():
                    h5.create_dataset(f"fixed/{name}", data=array)
                wanted = {f"frames/{name}": ((count, *shape), dtype) for name, (shape, dtype) in shapes.items()}
                for name, (shape, dtype) in {**wanted, "stamps": ((count,), np.uint64)}.items():
                    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                    properties.set_layout(h5py.h5d.CONTIGUOUS)
                    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                    space = h5py.h5s.create_simple(shape)
                    group = h5.require_group("frames") if name.startswith("frames/") else h5
                    h5py.h5d.create(group.id, name.split("/")[-1].encode(), h5py.h5t.py_create(np.dtype(dtype)), space, dcpl=properties)
            with part.open("r+b") as raw:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(raw.fileno(), 0, max(1, part.stat().st_size))
        temporary.replace(file)
        return cls.open(file)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> FrameStore:
        """Open a file, also one that another process is writing.

        Raises:
            OSError: there is no such file, or it cannot be read.
            ValueError: it is something else or damaged.
            ImportError: h5py is missing.
        """
        h5py = require("h5py", "files of frames need")
        file = Path(path)
        if not file.is_file():
            raise FileNotFoundError(f"there is no file {str(file)!r}")
        try:
            with h5py.File(file, "r", locking=False) as h5:
                header = json.loads(h5.attrs["header"])
                fixed = {name: np.asarray(data) for name, data in h5["fixed"].items()}
                places = {name: (data.id.get_offset(), data.shape, data.dtype) for name, data in h5["frames"].items()}
                stamps = h5["stamps"]
                places["stamps"] = (stamps.id.get_offset(), stamps.shape, stamps.dtype)
            if header["fixed"] != _stamp(0, fixed) or len(places["stamps"][1]) != 1:
                raise ValueError("its checksum does not match")
        except (OSError, KeyError, ValueError, TypeError, RuntimeError, IndexError, AttributeError) as error:
            raise ValueError(f"{str(file)!r} holds no frames, or is damaged: {error}") from None
        size = file.stat().st_size
        for name, (offset, shape, dtype) in places.items():
            if np.prod(shape) and (offset is None or offset + int(np.prod(shape)) * dtype.itemsize > size):
                raise ValueError(f"{str(file)!r} was cut short: its array {name!r} does not fit into the file")
        arrays = {
            name: np.memmap(file, dtype, "r", offset, shape) if np.prod(shape) else np.zeros(shape, dtype)
            for name, (offset, shape, dtype) in places.items()
        }
        marks = arrays.pop("stamps")
        store = cls(header, fixed, arrays, marks, file)
        about = file.stat()
        store._file = (about.st_dev, about.st_ino)
        store._offsets = {name: int(offset or 0) for name, (offset, _, _) in places.items()}
        return store

    def has(self, k: int) -> bool:
        """Return whether frame k was written whole."""
        if not self._good[k]:
            stamp = int(self._stamps[k])
            self._good[k] = stamp != 0 and stamp == _stamp(k, {name: a[k] for name, a in self._frames.items()})
        return bool(self._good[k])

    def count(self) -> int:
        """Return how many frames from the first on are there without a gap."""
        while self._leading < len(self) and self.has(self._leading):
            self._leading += 1
        return self._leading

    def read(self, k: int, name: str) -> npt.NDArray[Any]:
        """Return an array of frame k, a read-only view. Raises ValueError for a frame that is not there."""
        if not self.has(k):
            raise ValueError(f"frame {k} is not there yet" + ("" if self.path is None else f" in {str(self.path)!r}"))
        view = self._frames[name][k].view(np.ndarray)
        view.flags.writeable = False
        result: npt.NDArray[Any] = view
        return result

    def write(self, k: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write a frame. Raises OSError; then the frame does not exist, and all others are as they were."""
        data = {name: np.ascontiguousarray(arrays[name], a.dtype).reshape(a.shape[1:]) for name, a in self._frames.items()}
        stamp = np.uint64(_stamp(k, data))
        self._good[k] = False
        self._leading = min(self._leading, k)
        if self.path is None:
            for name, array in data.items():
                self._frames[name][k] = array
            self._stamps[k] = stamp
            return
        with naming(self.path):
            descriptor = os.open(self.path, os.O_WRONLY)
            try:
                about = os.fstat(descriptor)
                if (about.st_dev, about.st_ino) != self._file:
                    raise OSError(errno.ESTALE, "another build has replaced the file")
                _write_at(descriptor, self._offsets["stamps"] + 8 * k, np.uint64(0).tobytes())
                for name, array in data.items():
                    _write_at(descriptor, self._offsets[name] + k * array.nbytes, array.tobytes())
                os.fsync(descriptor)
                _write_at(descriptor, self._offsets["stamps"] + 8 * k, stamp.tobytes())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def resized(self, header: Mapping[str, Any], fixed: Mapping[str, Any], count: int) -> FrameStore:
        """Return a store for `count` frames that begins with the frames of this one, in place of it."""
        shapes = {name: (a.shape[1:], a.dtype) for name, a in self._frames.items()}
        if self.path is None:
            larger = FrameStore.create(None, header, fixed, shapes, count)
            self._copy_to(larger, count)
            return larger
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.larger")
        try:
            larger = FrameStore.create(temporary, header, fixed, shapes, count)
            self._copy_to(larger, count)
            del larger
            temporary.replace(self.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return FrameStore.open(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        """A store in a file is pickled as its path, one in memory with its frames."""
        if self.path is not None:
            return FrameStore.open, (self.path,)
        return _rebuilt, (self.header, self.fixed, self._frames, self._stamps)

    def _copy_to(self, other: FrameStore, count: int) -> None:
        for k in range(min(count, len(self))):
            if self.has(k):
                other.write(k, {name: a[k] for name, a in self._frames.items()})


def _stamp(k: int, arrays: Mapping[str, npt.NDArray[Any]]) -> int:
    """Return a checksum of a frame, never 0."""
    digest = hashlib.blake2b(str(k).encode(), digest_size=8)
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return int.from_bytes(digest.digest(), "little") or 1


def _rebuilt(header: dict[str, Any], fixed: Arrays, frames: Arrays, stamps: npt.NDArray[np.uint64]) -> FrameStore:
    return FrameStore(header, fixed, frames, stamps, None)


def _write_at(descriptor: int, offset: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        done = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[done:], offset + done
