"""Checkpoints in a folder: written, kept, found again and read, by any number of ranks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.stateful import Stateful
from meniscus.grid import Particles
from meniscus.io import checkpoint as files
from meniscus.io.checkpoint import Checkpoint, DamagedCheckpoint
from meniscus.io.checkpoint_parts import remove_parts, write_parts
from meniscus.io.checkpoint_tree import STATE, unflatten
from meniscus.io.spread import CellRows, Rows, Samples, Spread, spread_of
from meniscus.parallel import Communicator
from meniscus.parallel.communicator import resolve


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint whose files are whole, before its state is read.

    Attributes:
        path: of the file, or of the index of the files of ranks.
        header: scene, parameters, version, progress, and the structure of the state.
    """

    path: Path
    header: Mapping[str, Any]

    def read(self, like: Stateful | None = None) -> Checkpoint:
        """Read the state; with `like`, an object with such a state, the part of it that this rank has; collective then.

        Particles come to the ranks that own their cells.

        Raises:
            OSError: it cannot be read.
            ValueError: arrays have another shape than those of `like`.
        """
        spread: Spread = {} if like is None else spread_of(like)
        with resolve(None).agreement(), files.require().File(self.path, "r") as file:
            state = {
                name: unflatten(tree, name, lambda at: file[at][()], lambda path, tree: _own_part(file, path, tree, spread))
                for name, tree in self.header["state"].items()
            }
        h = self.header
        return Checkpoint(h["scene"], h["parameters"], h["version"], h["progress"], state, files.grids_in(h))


def read_checkpoint(path: str | os.PathLike[str], like: Stateful | None = None) -> Checkpoint:
    """Read and verify a checkpoint; within `parallel.ranks` it is collective.

    Args:
        path: of the file, or of the index if several ranks have written it.
        like: an object with such a state: each rank reads what of it is its own. Default: all of the state on every rank.

    Raises:
        OSError: there is no such file, or it cannot be read.
        DamagedCheckpoint: it is no checkpoint, is incomplete or damaged, or a file of a rank is missing.
        ValueError: it has a layout that this version does not know.
        ImportError: h5py is missing.
    """
    return stored_checkpoint(_checks.path("path", path)).read(like)


def stored_checkpoint(path: Path) -> StoredCheckpoint:
    """Return a checkpoint after the checksums of all of its files were verified, each by one rank; collective.

    Raises as `read_checkpoint`.
    """
    files.require()
    comm = resolve(None)
    _verify(comm, [(path, None)])
    header = files.header_of(path)
    _verify(comm, [(path.parent / name, digest) for name, digest in header.get("parts", [])])
    return StoredCheckpoint(path, header)


def save_checkpoint(folder: str | os.PathLike[str], checkpoint: Checkpoint, *, keep: int = 2) -> Path:
    """Write a checkpoint into a folder, named by its step, remove all but the newest `keep`, and return its path.

    Within `parallel.ranks` it is collective: each rank writes a file with its own part, and the path is that of the index of these.

    Raises:
        OSError: it cannot be written; what was there stays. On ranks RankError.
        TypeError, ValueError: a state that cannot be kept; on ranks one that differs between them and is not spread.
    """
    place, least = _checks.path("folder", folder), _checks.integer("keep", keep, at_least=1)
    step = int(_checks.one_of_type("checkpoint", checkpoint, Checkpoint).progress["step"])
    comm = resolve(None)
    path = place / f"checkpoint-{step:09d}.h5"
    place.mkdir(parents=True, exist_ok=True)
    if comm.size == 1:
        files.write_checkpoint(path, checkpoint)
    else:
        write_parts(place, path, checkpoint, comm)
    if comm.rank == 0:
        for old in checkpoint_files(place)[:-least]:
            old.unlink(missing_ok=True)
        remove_parts(place)
    return path


def latest_checkpoint(folder: str | os.PathLike[str], like: Stateful | None = None) -> tuple[Checkpoint | None, list[str]]:
    """Return the newest valid checkpoint of a folder (None: there is none) and a sentence about each newer one that is damaged.

    `like` is that of `read_checkpoint`.
    """
    found, passed_over = latest_stored(folder)
    return None if found is None else found.read(like), passed_over


def latest_stored(folder: str | os.PathLike[str]) -> tuple[StoredCheckpoint | None, list[str]]:
    """Return the same as `latest_checkpoint` before the state is read; collective on ranks."""
    place, comm = _checks.path("folder", folder), resolve(None)
    passed_over: list[str] = []
    for path in reversed(comm.gather(checkpoint_files(place) if comm.rank == 0 else None)[0]):
        try:
            return stored_checkpoint(path), passed_over
        except DamagedCheckpoint as error:
            passed_over.append(str(error))
    return None, passed_over


def checkpoint_files(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, oldest first, without looking into them."""
    return sorted(folder.glob("checkpoint-*.h5"))


def remove_checkpoints(folder: Path) -> None:
    """Remove all checkpoints of a folder."""
    for old in checkpoint_files(folder):
        old.unlink()
    remove_parts(folder)


def _verify(comm: Communicator, listed: list[tuple[Path, str | None]]) -> None:
    """Verify the checksums of files, each on one rank. Raises, on all ranks, DamagedCheckpoint or OSError for the first that is wrong."""
    found: list[tuple[int, Exception]] = []
    for number in range(comm.rank, len(listed), comm.size):
        path, expected = listed[number]
        try:
            digest = files.checked_digest(path)
            if expected not in (None, digest):
                raise DamagedCheckpoint(f"{path} belongs to another checkpoint than its index")
        except FileNotFoundError as error:
            missing = DamagedCheckpoint(f"{path}, a part of a checkpoint, is missing")
            found.append((number, error if expected is None else missing))
        except (OSError, ValueError) as error:
            found.append((number, error))
    everywhere = [pair for pairs in comm.gather(found) for pair in pairs]
    if everywhere:
        raise min(everywhere, key=lambda pair: pair[0])[1]


def _own_part(file: Any, path: str, tree: Any, spread: Spread) -> Any:
    """Return the part of a rank of what is spread; None for anything else."""
    part = spread.get(path)
    if isinstance(part, Samples):
        return unflatten(tree, path, lambda at: _samples(file[at], part))
    if isinstance(part, Rows):
        return _rows(file, tree["dict"], part)
    if isinstance(part, CellRows):
        cells = file[tree["dict"][part.cells]["array"]][()]
        first, shape = np.array(part.grid.first_cell), np.array(part.grid.local_shape)
        at = np.stack(np.unravel_index(cells, part.grid.shape), axis=1) - first
        own = ((at >= 0) & (at < shape)).all(axis=1)
        return {name: np.asarray(file[place["array"]][()][own]) for name, place in tree["dict"].items()}
    return None


def _samples(array: Any, part: Samples) -> npt.NDArray[Any]:
    """Return the samples of the own block, with those on its sides."""
    grid = part.grid
    on_side = [n - m for n, m in zip(array.shape, grid.shape, strict=False)]
    if len(array.shape) < grid.dimension or any(s not in (0, 1) for s in on_side):
        raise ValueError(
            f"{array.name.removeprefix('/' + STATE)} in the checkpoint has the shape {array.shape}, not that of {grid.shape} cells"
        )
    whole = zip(grid.first_cell, grid.local_shape, on_side, strict=False)
    return np.asarray(array[tuple(slice(first, first + n + s) for first, n, s in whole)])


def _rows(file: Any, tree: Mapping[str, Mapping[str, str]], part: Rows) -> dict[str, npt.NDArray[Any]]:
    """Return the snapshot of the particles of the own block."""
    comm = part.grid.comm
    count = file[tree["id"]["array"]].shape[0]
    mine = slice(comm.rank * count // comm.size, (comm.rank + 1) * count // comm.size)
    read = {name: file[place["array"]][() if name == "next id" else mine] for name, place in tree.items()}
    columns: dict[str, Any] = {
        name: np.empty((0, *a.shape[1:]), a.dtype) for name, a in read.items() if name not in ("position", "id", "next id")
    }
    particles = Particles(np.empty((0, *read["position"].shape[1:]), read["position"].dtype), **columns)
    particles.restore(read)
    particles.migrate(part.grid)
    return particles.snapshot()
