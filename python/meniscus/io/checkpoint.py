"""Checkpoints: the complete state of a run in one HDF5 file, on ranks in one for each of them and an index.

A file begins with a user block of 512 bytes that holds a checksum of all that follows, so that a file that was cut short or damaged is
recognised before HDF5 looks at it. After it, `header` is a JSON text (scene, parameters, clock, numbers), and every array of the state is a
data set `state/NAME/...`, with the grid of a field as attributes of its group: global shape, spacing, origin and the first cell of the
arrays. Any program that reads HDF5 can open the file. `checkpoint_parts` says what several ranks write; it is read alike.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meniscus import _checks, _extras
from meniscus.core.atomic_file import atomic_path
from meniscus.core.stateful import Stateful
from meniscus.grid import Grid
from meniscus.io.checkpoint_tree import STATE, flatten
from meniscus.io.spread import Spread
from meniscus.parallel import one_rank

SCHEMA = 2
"""Version of the layout; files of other versions are refused. 2: scenes save their solvers whole."""
PARTS_SCHEMA = 3
"""Version of the layout of an index of the files of several ranks."""

USER_BLOCK = 512
MAGIC = b"meniscus checkpoint, blake2b of what follows this block: "


class DamagedCheckpoint(ValueError):
    """Error for a file that is not a checkpoint, is incomplete, or was changed after it was written."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after a completed step.

    Attributes:
        scene: name of the scene.
        parameters: its parameters, as JSON values.
        version: of the package that wrote it.
        progress: progress of the run, as JSON values, including `step`, `frame` and `time`.
        state: the snapshots by name: arrays, numbers, and tuples, lists and dicts of them.
        grids: the grids of fields by their path in the state, such as 'solver/velocity'.
        spread: what of the state is the own part of a rank, by its path; see `spread_of`.
    """

    scene: str
    parameters: Mapping[str, Any]
    version: str
    progress: Mapping[str, Any]
    state: Mapping[str, Any]
    grids: Mapping[str, Grid] = field(default_factory=dict)
    spread: Spread = field(default_factory=dict)


def grids_of(owner: Stateful) -> dict[str, Grid]:
    """Return the grid of every declared part that has one, and of the parts of these, by their paths: 'solver/velocity'."""
    found: dict[str, Grid] = {}
    for name, part in owner.state.items():
        grid = getattr(part, "grid", None)
        if isinstance(part, Stateful):
            found.update({f"{name}/{path}": inner for path, inner in grids_of(part).items()})
        elif isinstance(grid, Grid):
            found[name] = grid
    return found


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint of one rank to a temporary file, flush it to the disk and rename it.

    The file is assembled in memory first, which takes as much memory as the state itself, so that a full disk is one clear error.

    Raises:
        OSError: it cannot be written; `path` is then unchanged.
        TypeError: the state holds something else than arrays, numbers, strings and containers of them.
        ImportError: h5py is missing.
    """
    target = _checks.path("path", path)
    _checks.one_of_type("checkpoint", checkpoint, Checkpoint)

    def content(file: Any) -> None:
        file.attrs["schema"] = SCHEMA
        trees = {
            name: flatten(value, STATE + name, lambda at, array: file.create_dataset(at, data=array, track_times=False))
            for name, value in checkpoint.state.items()
        }
        write_header(file, checkpoint, trees)

    write_image(target, content)


def write_image(path: Path, content: Callable[[Any], None]) -> str:
    """Write an HDF5 file, which `content` fills in memory, with the checksum before it; return the checksum. Raises OSError."""
    memory = io.BytesIO()
    with require().File(memory, "w", userblock_size=USER_BLOCK) as file:
        content(file)
    image = memory.getbuffer()
    digest = hashlib.blake2b(image[USER_BLOCK:], digest_size=32).hexdigest()
    image[:USER_BLOCK] = (MAGIC + digest.encode() + b"\n").ljust(USER_BLOCK, b"\0")
    with atomic_path(path) as part, part.open("wb") as opened:
        opened.write(image)
    return digest


def write_header(file: Any, checkpoint: Checkpoint, trees: Mapping[str, Any], **more: Any) -> None:
    """Write the header of a checkpoint and the attributes of grids."""
    grids = {n: {"shape": g.shape, "spacing": g.spacing, "origin": g.origin, "periodic": g.periodic} for n, g in checkpoint.grids.items()}
    for name, grid in checkpoint.grids.items():
        write_grid(file, name, grid, (0,) * grid.dimension)
    header = {
        "scene": checkpoint.scene,
        "parameters": dict(checkpoint.parameters),
        "version": checkpoint.version,
        "progress": dict(checkpoint.progress),
        "state": dict(trees),
        "grids": grids,
        **more,
    }
    file["header"] = json.dumps(header)


def write_grid(file: Any, name: str, grid: Grid, first_cell: tuple[int, ...]) -> None:
    """Write a grid as attributes of the group of a field."""
    attributes = file.require_group(STATE + name).attrs
    for key, value in {"shape": grid.shape, "spacing": grid.spacing, "origin": grid.origin, "periodic": grid.periodic}.items():
        attributes[f"grid {key}"] = value
    attributes["first cell"] = first_cell


def checked_digest(path: Path) -> str:
    """Return the checksum of a file, once it is the right one. Raises OSError, or DamagedCheckpoint."""
    with path.open("rb") as file:
        block = file.read(USER_BLOCK)
        if not block.startswith(MAGIC):
            raise DamagedCheckpoint(f"{path} is no checkpoint, or was cut short at its beginning")
        written = block[len(MAGIC) :].split(b"\n")[0]
        digest = hashlib.blake2b(digest_size=32)
        while piece := file.read(1 << 20):
            digest.update(piece)
    if digest.hexdigest().encode() != written:
        raise DamagedCheckpoint(f"{path} was cut short or damaged: its checksum does not match")
    return digest.hexdigest()


def header_of(path: Path) -> dict[str, Any]:
    """Return the header of a file whose checksum is right. Raises OSError, or ValueError for an unknown layout."""
    with require().File(path, "r") as file:
        schema = int(file.attrs["schema"])
        if schema not in (SCHEMA, PARTS_SCHEMA):
            raise ValueError(
                f"{path} has version {schema} of the checkpoint layout, but this meniscus reads versions {SCHEMA} and {PARTS_SCHEMA}; "
                "go on with the meniscus that wrote it, or start the run anew"
            )
        header: dict[str, Any] = json.loads(file["header"][()])
    return header


def grids_in(header: Mapping[str, Any]) -> dict[str, Grid]:
    """Return the grids of a header, on one rank."""
    return {name: Grid(**arguments, comm=one_rank()) for name, arguments in header["grids"].items()}


def available() -> bool:
    """Return whether checkpoints can be written and read."""
    return _extras.available("h5py")


def require() -> Any:
    """Return the module h5py. Raises ImportError that names the package to install."""
    return _extras.require("h5py", "checkpoints need", otherwise=", or run without them")
