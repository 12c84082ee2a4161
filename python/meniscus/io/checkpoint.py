"""Checkpoints: the complete state of a run in one HDF5 file.

The file begins with a user block of 512 bytes that holds a checksum of all that follows, so that a file that was cut short or damaged is
recognised before HDF5 looks at it. After it, `header` is a JSON text (scene, parameters, clock, numbers), and every array of the state is a
data set `state/NAME/...`, with the grid of a field as attributes of its group: global shape, spacing, origin and the first cell of the
arrays. Any program that reads HDF5 can open the file.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus.core.atomic_file import atomic_path
from meniscus.core.stateful import Stateful
from meniscus.grid import Grid

SCHEMA = 2
"""Version of the layout; files of other versions are refused. 2: scenes save their solvers whole."""

_USER_BLOCK = 512
_MAGIC = b"meniscus checkpoint, blake2b of what follows this block: "


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
    """

    scene: str
    parameters: Mapping[str, Any]
    version: str
    progress: Mapping[str, Any]
    state: Mapping[str, Any]
    grids: Mapping[str, Grid] = field(default_factory=dict)


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
    """Write a checkpoint to a temporary file, flush it to the disk and rename it.

    The file is assembled in memory first, which takes as much memory as the state itself, so that a full disk is one clear error.

    Raises:
        OSError: it cannot be written; `path` is then unchanged.
        TypeError: the state holds something else than arrays, numbers, strings and containers of them.
        ImportError: h5py is missing.
    """
    target = _checks.path("path", path)
    image = _image(_checks.one_of_type("checkpoint", checkpoint, Checkpoint))
    digest = hashlib.blake2b(image[_USER_BLOCK:], digest_size=32).hexdigest().encode()
    image[:_USER_BLOCK] = (_MAGIC + digest + b"\n").ljust(_USER_BLOCK, b"\0")
    with atomic_path(target) as part, part.open("wb") as file:
        file.write(image)


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read and verify a checkpoint.

    Raises:
        OSError: there is no such file, or it cannot be read.
        DamagedCheckpoint: it is no checkpoint, is incomplete or damaged.
        ValueError: it has a layout that this version does not know.
        ImportError: h5py is missing.
    """
    h5py = require()
    content = _checks.path("path", path).read_bytes()
    if not content.startswith(_MAGIC):
        raise DamagedCheckpoint(f"{path} is no checkpoint, or was cut short at its beginning")
    written = content[len(_MAGIC) : _USER_BLOCK].split(b"\n")[0]
    if hashlib.blake2b(memoryview(content)[_USER_BLOCK:], digest_size=32).hexdigest().encode() != written:
        raise DamagedCheckpoint(f"{path} was cut short or damaged: its checksum does not match")
    with h5py.File(io.BytesIO(content), "r") as file:
        schema = int(file.attrs["schema"])
        if schema != SCHEMA:
            raise ValueError(
                f"{path} has version {schema} of the checkpoint layout, but this meniscus reads version {SCHEMA}; "
                "go on with the meniscus that wrote it, or start the run anew"
            )
        header = json.loads(file["header"][()])
        state = {name: _unflatten(tree, file) for name, tree in header["state"].items()}
    grids = {name: Grid(**arguments) for name, arguments in header["grids"].items()}
    return Checkpoint(header["scene"], header["parameters"], header["version"], header["progress"], state, grids)


def save_checkpoint(folder: str | os.PathLike[str], checkpoint: Checkpoint, *, keep: int = 2) -> Path:
    """Write a checkpoint into a folder, named by its step, remove all but the newest `keep`, and return its path."""
    place, least = _checks.path("folder", folder), _checks.integer("keep", keep, at_least=1)
    step = int(_checks.one_of_type("checkpoint", checkpoint, Checkpoint).progress["step"])
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"checkpoint-{step:09d}.h5"
    write_checkpoint(path, checkpoint)
    for old in sorted(place.glob("checkpoint-*.h5"))[:-least]:
        old.unlink(missing_ok=True)
    return path


def latest_checkpoint(folder: str | os.PathLike[str]) -> tuple[Checkpoint | None, list[str]]:
    """Return the newest valid checkpoint of a folder (None: there is none) and a sentence about each newer one that is damaged."""
    passed_over: list[str] = []
    for path in sorted(_checks.path("folder", folder).glob("checkpoint-*.h5"), reverse=True):
        try:
            return read_checkpoint(path), passed_over
        except DamagedCheckpoint as error:
            passed_over.append(str(error))
    return None, passed_over


def _image(checkpoint: Checkpoint) -> memoryview:
    """Return the bytes of the file, with an empty user block."""
    h5py = require()
    memory = io.BytesIO()
    grids = {n: {"shape": g.shape, "spacing": g.spacing, "origin": g.origin, "periodic": g.periodic} for n, g in checkpoint.grids.items()}
    with h5py.File(memory, "w", userblock_size=_USER_BLOCK) as file:
        file.attrs["schema"] = SCHEMA
        trees = {name: _flatten(value, f"state/{name}", file) for name, value in checkpoint.state.items()}
        for name, grid in grids.items():
            attributes = file.require_group(f"state/{name}").attrs
            for key, value in grid.items():
                attributes[f"grid {key}"] = value
            attributes["first cell"] = (0,) * len(checkpoint.grids[name].shape)
        header = {
            "scene": checkpoint.scene,
            "parameters": dict(checkpoint.parameters),
            "version": checkpoint.version,
            "progress": dict(checkpoint.progress),
            "state": trees,
            "grids": grids,
        }
        file["header"] = json.dumps(header)
    return memory.getbuffer()


def _flatten(value: Any, path: str, file: Any) -> Any:
    """Store the arrays of a snapshot as data sets and return its structure as JSON. Python writes and reads floats to the last bit."""
    if isinstance(value, (np.ndarray, np.generic)):
        file.create_dataset(path, data=value, track_times=False)
        return {"array" if isinstance(value, np.ndarray) else "scalar": path}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, (tuple, list)):
        return {"tuple" if isinstance(value, tuple) else "list": [_flatten(v, f"{path}/{i}", file) for i, v in enumerate(value)]}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"dict": {k: _flatten(v, f"{path}/{k}", file) for k, v in value.items()}}
    raise TypeError(
        f"{path.removeprefix('state/')} cannot go into a checkpoint: a snapshot holds arrays, numbers, strings, and tuples, lists and "
        f"dicts of them, not {type(value).__name__}"
    )


def _unflatten(tree: Any, file: Any) -> Any:
    ((kind, content),) = tree.items()
    if kind == "array":
        return np.asarray(file[content][()])
    if kind == "scalar":
        return file[content][()]
    if kind == "value":
        return content
    if kind == "dict":
        return {k: _unflatten(v, file) for k, v in content.items()}
    items = [_unflatten(v, file) for v in content]
    return tuple(items) if kind == "tuple" else items


def available() -> bool:
    """Return whether checkpoints can be written and read."""
    return importlib.util.find_spec("h5py") is not None


def require() -> Any:
    """Return the module h5py. Raises ImportError that names the package to install."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError("checkpoints need h5py; install it with: pip install 'meniscus[io]', or run without them") from error
    return h5py
