"""Checkpoints of several ranks: a file of each rank with its part, and an index that opens as one file.

`part-STEP-SET-RANK.h5` holds the samples that a rank owns, and a share of the particles in the order of (cell, id). The index, named
`checkpoint-STEP.h5` like the file of one rank, holds what all ranks have alike, and for each spread array a virtual data set of the domain
over the parts. It names the parts with their checksums and is renamed last, so that a checkpoint is either whole or absent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.grid.particles.global_order import in_global_order
from meniscus.io.checkpoint import PARTS_SCHEMA, Checkpoint, header_of, require, write_grid, write_header, write_image
from meniscus.io.checkpoint_tree import STATE, Array, flatten
from meniscus.io.spread import CellRows, Rows, Samples, domain_shape, window
from meniscus.parallel import Communicator

Slices = tuple[slice, ...]


@dataclass(frozen=True)
class _Piece:
    """The own part of an array of the domain: where it is in it, and the shape of the whole."""

    values: npt.NDArray[Any]
    place: Slices
    shape: tuple[int, ...]


class _Division:
    """The state of a rank, divided into what is its own and what all ranks have alike."""

    def __init__(self, checkpoint: Checkpoint, comm: Communicator) -> None:
        self._spread, self._comm = checkpoint.spread, comm
        self.pieces: dict[str, _Piece] = {}
        self.alike: dict[str, Array] = {}
        self.trees = {name: self._tree(value, name) for name, value in checkpoint.state.items()}
        self._require_alike()

    def _tree(self, value: Any, path: str) -> Any:
        """Return the structure of a snapshot, whose arrays are stored."""
        part = self._spread.get(path)
        if isinstance(part, Samples):
            return flatten(value, STATE + path, lambda at, array: self._add_samples(at, array, part))
        if isinstance(part, Rows):
            return self._particles(value, path, part)
        if isinstance(part, CellRows):
            cells = value[part.cells]
            ordered = in_global_order({"id": cells, **{name: v for name, v in value.items() if name != part.cells}}, cells, part.grid)
            self._add_rows({name: ordered["id" if name == part.cells else name] for name in value}, path)
            return {"dict": {name: {"array": f"{STATE}{path}/{name}"} for name in value}}
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {"dict": {k: self._tree(v, f"{path}/{k}") for k, v in value.items()}}
        if isinstance(value, (tuple, list)):
            return {"tuple" if isinstance(value, tuple) else "list": [self._tree(v, f"{path}/{i}") for i, v in enumerate(value)]}
        return flatten(value, STATE + path, self.alike.__setitem__)

    def _add_samples(self, path: str, array: Array, part: Samples) -> None:
        values = np.asarray(array)
        shape = domain_shape(path.removeprefix(STATE), values.shape, part.grid)
        mine, place = window(part.grid, shape, self._comm.rank)
        rest = tuple(slice(0, n) for n in shape[part.grid.dimension :])
        self.pieces[path] = _Piece(values[mine], (*place, *rest), shape)

    def _particles(self, snapshot: Mapping[str, npt.NDArray[Any]], path: str, part: Rows) -> Any:
        columns = {name: values for name, values in snapshot.items() if name != "next id"}
        self._add_rows(in_global_order(columns, part.cells, part.grid), path)
        self.alike[f"{STATE}{path}/next id"] = np.array(max(self._comm.gather(int(snapshot["next id"]))))
        return {"dict": {name: {"array": f"{STATE}{path}/{name}"} for name in snapshot}}

    def _add_rows(self, rows: Mapping[str, npt.NDArray[Any]], path: str) -> None:
        """Store columns whose rows follow those of the ranks before."""
        numbers = self._comm.gather(max(map(len, rows.values())))
        first, total = sum(numbers[: self._comm.rank]), sum(numbers)
        for name, values in rows.items():
            rest = tuple(slice(0, n) for n in values.shape[1:])
            self.pieces[f"{STATE}{path}/{name}"] = _Piece(values, (slice(first, first + len(values)), *rest), (total, *values.shape[1:]))

    def _require_alike(self) -> None:
        """Raise ValueError, on all ranks, if what is not spread differs between ranks."""
        mine = {path: _digest(np.asarray(array)) for path, array in self.alike.items()}
        mine |= {f"{STATE}{path}": value for name, tree in self.trees.items() for path, value in _values(tree, name)}
        together = hashlib.blake2b(json.dumps(mine).encode()).hexdigest()
        if len(set(self._comm.gather(together))) == 1:
            return
        all_ranks = self._comm.gather(mine)
        for rank, theirs in enumerate(all_ranks):
            for path in {**all_ranks[0], **theirs}:
                if all_ranks[0].get(path) != theirs.get(path):
                    raise ValueError(
                        f"{path.removeprefix(STATE)} differs between the ranks 0 and {rank}; what is neither a field nor particles must be "
                        "the same on all ranks, or declared with samples_of="
                    )


def write_parts(folder: Path, path: Path, checkpoint: Checkpoint, comm: Communicator) -> None:
    """Write a checkpoint of all ranks, whose index is `path`; collective.

    Raises:
        RankError: a file cannot be written; the checkpoints that were there stay.
        ValueError: what must be the same on all ranks is not.
    """
    with comm.agreement():
        divided = _Division(checkpoint, comm)
    number = comm.gather(_unused_set(folder, path.stem) if comm.rank == 0 else None)[0]
    names = [f"part-{path.stem.removeprefix('checkpoint-')}-{number}-{rank}.h5" for rank in range(comm.size)]
    with comm.agreement():
        digest = write_image(folder / names[comm.rank], lambda file: _write_part(file, divided.pieces, checkpoint))
    written = comm.gather((digest, {name: piece.place for name, piece in divided.pieces.items()}))
    parts = [[name, digest] for name, (digest, _) in zip(names, written, strict=True)]
    with comm.agreement():
        if comm.rank == 0:
            places = [place for _, place in written]
            write_image(path, lambda file: _write_index(file, divided, checkpoint, parts, places))


def _write_part(file: Any, pieces: Mapping[str, _Piece], checkpoint: Checkpoint) -> None:
    file.attrs["schema"] = PARTS_SCHEMA
    for path, piece in pieces.items():
        file.create_dataset(path, data=piece.values, track_times=False).attrs["first"] = [s.start for s in piece.place]
    for name, grid in checkpoint.grids.items():
        write_grid(file, name, grid, grid.first_cell)


def _write_index(
    file: Any, divided: _Division, checkpoint: Checkpoint, parts: Sequence[Sequence[str]], places: Sequence[Mapping[str, Slices]]
) -> None:
    h5py = require()
    file.attrs["schema"] = PARTS_SCHEMA
    for path, array in divided.alike.items():
        file.create_dataset(path, data=array, track_times=False)
    for path, piece in divided.pieces.items():
        layout = h5py.VirtualLayout(piece.shape, piece.values.dtype)
        for (name, _), mine in zip(parts, places, strict=True):
            shape = tuple(s.stop - s.start for s in mine[path])
            if 0 not in shape:
                layout[mine[path]] = h5py.VirtualSource(name, path, shape, piece.values.dtype)
        if 0 in piece.shape:
            file.create_dataset(path, piece.shape, piece.values.dtype, track_times=False)
        else:
            file.create_virtual_dataset(path, layout)
    write_header(file, checkpoint, divided.trees, parts=parts)


def remove_parts(folder: Path) -> None:
    """Remove the files of ranks that belong to no checkpoint of a folder."""
    present = set(folder.glob("part-*.h5"))
    if not present:
        return
    named: set[str] = set()
    for index in folder.glob("checkpoint-*.h5"):
        try:
            named.update(name for name, _ in header_of(index).get("parts", []))
        except (OSError, ValueError, KeyError):  # damaged: whatever it names cannot be read through it
            continue
    for path in present:
        if path.name not in named:
            path.unlink(missing_ok=True)


def _unused_set(folder: Path, stem: str) -> int:
    """Return a number that no file of a part with this step has, so that a set which an index names is never overwritten."""
    step = stem.removeprefix("checkpoint-")
    used = {path.stem.split("-")[2] for path in folder.glob(f"part-{step}-*.h5")}
    return next(n for n in range(len(used) + 1) if str(n) not in used)


def _digest(array: npt.NDArray[Any]) -> str:
    content = np.ascontiguousarray(array)
    return hashlib.blake2b(f"{array.dtype} {array.shape}".encode() + content.tobytes(), digest_size=16).hexdigest()


def _values(tree: Any, path: str) -> list[tuple[str, Any]]:
    """Return the plain values of a structure, and its kinds, by their paths."""
    ((kind, content),) = tree.items()
    if kind in ("array", "scalar", "value"):
        return [(path, repr(content))] if kind == "value" else []
    items = content.items() if kind == "dict" else enumerate(content)
    return [(path, f"{kind} of {len(content)}"), *(pair for k, v in items for pair in _values(v, f"{path}/{k}"))]
