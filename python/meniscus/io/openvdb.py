"""Fields as OpenVDB files, which programs for films open as volumes; needs no other package."""

from __future__ import annotations

import os
import struct
import uuid
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.atomic_file import atomic_path
from meniscus.io.frames import FrameData, FrameItem, collect
from meniscus.io.names import frame_stem

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

# Of the layout of files ("OpenVDB file format"): the number of this layout, and of the library that wrote it first.
_MAGIC, _VERSION, _LIBRARY = 0x56444220, 224, (9, 0)
# Samples are packed by zlib, and only active ones are stored.
_COMPRESSION, _LEVEL = 1 | 2, 1
# Sides of leaves, and of the nodes above them in what is below, as powers of two.
_LEAF, _LOWER, _UPPER = 3, 4, 5
# What a leaf says about its inactive samples: all are the background, all its negative, or bits tell which.
_OUTSIDE, _INSIDE, _BITS = 0, 1, 3
# Half of the width of the band of a level set with stored distances, in cells: as in OpenVDB's own.
_BAND = 3.0


class Volume(NamedTuple):
    """Samples of a volume, as they go to a file.

    Attributes:
        values: (nx, ny, nz) or (nx, ny, nz, 3) float32.
        active: (nx, ny, nz): which are stored; the others are the background.
        background: value there; for level sets its negative inside.
        origin: of the first sample, m.
        spacing: of samples, m.
        kind: as OpenVDB calls it.
    """

    values: Floats
    active: npt.NDArray[np.bool_]
    background: float
    origin: tuple[float, ...]
    spacing: float
    kind: str


def require() -> None:
    """Do nothing: the format needs no package."""


def write_vdb(path: str | os.PathLike[str], **items: FrameItem) -> Path:
    """Write fields and level sets to an OpenVDB file, one grid each by the name that it is given.

    Scalars on cells or nodes become fog volumes that are sparse where they are 0, level sets narrow bands of three cells on both sides,
    face velocities and vectors vector grids; all in float32, metres and metres per second, with samples where they are. Fields in two
    dimensions are a layer at z = 0. Other items of a frame are not in the file.

    Returns:
        The file.

    Raises:
        TypeError, ValueError: no field among the items, something that cannot be part of a frame, or fields on different grids.
        OSError: the file cannot be written; one that was there before stays.
    """
    frame = collect(items, 0, 0.0)
    volumes = volumes_of(frame)
    if not volumes:
        raise ValueError("an OpenVDB file needs at least one field or level set")
    return _write(_checks.path("path", path), volumes, 0.0)


def write_frame(folder: Path, frame: FrameData, *, frames: int = 0) -> list[Path]:
    """Write the fields and level sets of one frame to one `.vdb` file, and return it; nothing where there are none.

    Raises:
        OSError: the file cannot be written.
    """
    volumes = volumes_of(frame)
    return [write_volumes(folder, frame, volumes, frames)] if volumes else []


def write_volumes(folder: Path, frame: FrameData, volumes: Mapping[str, Volume], frames: int) -> Path:
    """Write the file of a frame for what `volumes_of` has returned. Raises OSError."""
    return _write(folder / f"{frame_stem(frame.number, frames)}.vdb", volumes, frame.time)


def volumes_of(frame: FrameData) -> dict[str, Volume]:
    """Return the fields of a frame by name."""
    found: dict[str, Volume] = {}
    for arrays, shift in ((frame.cells, 0.5), (frame.nodes, 0.0)):
        for name, array in arrays.items():
            assert frame.grid is not None
            h, d = float(frame.grid.spacing), frame.grid.dimension
            values = np.asarray(array, np.float32)
            if d == 2:
                values = values[:, :, None]
            if values.ndim == 4:
                values = np.pad(values, ((0, 0), (0, 0), (0, 0), (0, 3 - values.shape[3])))
            origin = (*(float(x) + shift * h for x in frame.grid.origin), 0.0)[:3]
            if name in frame.levelsets:
                band = np.float32(_BAND * h)
                found[name] = Volume(values, np.abs(values) < band, float(band), origin, h, "level set")
            else:
                active = values.any(axis=3) if values.ndim == 4 else values != 0
                found[name] = Volume(values, np.asarray(active, np.bool_), 0.0, origin, h, "unknown" if values.ndim == 4 else "fog volume")
    return found


def _write(path: Path, volumes: Mapping[str, Volume], time: float) -> Path:
    out = BytesIO()
    out.write(struct.pack("<qIII?", _MAGIC, _VERSION, *_LIBRARY, True))
    out.write(str(uuid.uuid5(uuid.NAMESPACE_URL, path.name)).encode())
    _metadata(out, {"creator": "meniscus", "time": time})
    out.write(struct.pack("<i", len(volumes)))
    for name, volume in volumes.items():
        _grid(out, name, volume)
    with atomic_path(path) as part:
        part.write_bytes(out.getbuffer())
    return path


def _grid(out: BytesIO, name: str, volume: Volume) -> None:
    """Write a grid: its name and kind, where its parts are, values that describe it, the transform, the tree, and the samples."""
    vector = volume.values.ndim == 4
    _string(out, name)
    _string(out, "Tree_vec3s_5_4_3" if vector else "Tree_float_5_4_3")
    _string(out, "")
    offsets, start = out.tell(), out.tell() + 24
    out.seek(start)
    out.write(struct.pack("<I", _COMPRESSION))
    known: dict[str, object] = {"class": volume.kind, "creator": "meniscus", "is_saved_as_half_float": False, "name": name}
    if vector:
        known["vector_type"] = "invariant"
    known["file_voxel_count"] = count = int(np.count_nonzero(volume.active))
    if count:
        used = [np.flatnonzero(volume.active.any(axis=other)) for other in ((1, 2), (0, 2), (0, 1))]
        known.update(file_bbox_min=np.array([u[0] for u in used]), file_bbox_max=np.array([u[-1] for u in used]))
    _metadata(out, known)
    h = volume.spacing
    _string(out, "UniformScaleTranslateMap")
    for value in (volume.origin, (h,) * 3, (h,) * 3, (1 / h,) * 3, (1 / h**2,) * 3, (0.5 / h,) * 3):
        out.write(struct.pack("<3d", *value))
    leaves, values, active = _leaves(volume)
    _tree(out, leaves, active, volume.background, 3 if vector else 1)
    samples = out.tell()
    for mask, bits, block in zip(np.packbits(active, axis=1, bitorder="little"), active, values, strict=True):
        out.write(mask.tobytes())
        inside = block < 0 if volume.kind == "level set" else None
        if inside is None or not inside[~bits].any():
            out.write(bytes([_OUTSIDE]))
        elif inside[~bits].all():
            out.write(bytes([_INSIDE]))
        else:
            out.write(bytes([_BITS]))
            out.write(np.packbits(~inside & ~bits, bitorder="little").tobytes())
        _packed(out, block[bits].tobytes())
    end = out.tell()
    out.seek(offsets)
    out.write(struct.pack("<3q", start, samples, end))
    out.seek(end)


def _leaves(volume: Volume) -> tuple[Ints, Floats, npt.NDArray[np.bool_]]:
    """Return the places (n, 3) of leaves with something in them, in leaves, in the order of the tree, their values and masks (n, 512)."""
    side = 1 << _LEAF
    counts = [-(-n // side) for n in volume.active.shape]
    extra = [(0, c * side - n) for c, n in zip(counts, volume.active.shape, strict=True)]
    tail = volume.values.shape[3:]

    def blocks(array: npt.NDArray[np.generic], fill: float) -> npt.NDArray[np.generic]:
        """Return the array in leaves, (leaves, 512) or (leaves, 512, 3)."""
        rest = array.shape[3:]
        padded = np.pad(array, [*extra, *((0, 0) for _ in rest)], constant_values=fill)
        cut = padded.reshape(counts[0], side, counts[1], side, counts[2], side, *rest)
        return np.moveaxis(cut, (2, 4), (1, 2)).reshape(-1, side**3, *rest)

    values = np.asarray(blocks(volume.values, volume.background), np.float32)
    active = np.asarray(blocks(volume.active, 0), np.bool_)
    used = active.any(axis=1)
    if volume.kind == "level set":
        used |= (values < 0).any(axis=1)
    places = np.stack(np.unravel_index(np.flatnonzero(used), counts), axis=1)
    order = np.lexsort((_offset(places, 0, _LOWER), _offset(places, _LOWER, _UPPER), *(places >> (_LOWER + _UPPER)).T[::-1]))
    return places[order], values[used][order].reshape(-1, side**3, *tail), active[used][order]


def _offset(places: Ints, below: int, bits: int) -> Ints:
    """Return the number (n,) of a child of a node of 2^bits children a side, that are 2^below leaves wide, by the places of leaves."""
    x, y, z = ((places >> below) & ((1 << bits) - 1)).T
    found: Ints = (x << 2 * bits) | (y << bits) | z
    return found


def _tree(out: BytesIO, leaves: Ints, active: npt.NDArray[np.bool_], background: float, components: int) -> None:
    """Write the nodes of the tree, without the samples."""
    masks = np.packbits(active, axis=1, bitorder="little")
    tops = _runs(leaves >> (_LOWER + _UPPER))
    out.write(struct.pack("<i", 1))
    out.write(struct.pack(f"<{components}f", *[background] * components))
    out.write(struct.pack("<II", 0, len(tops)))
    for first, last in tops:
        out.write(struct.pack("<3i", *((leaves[first] >> (_LOWER + _UPPER)) << (_LEAF + _LOWER + _UPPER))))
        lower = [(first + a, first + b) for a, b in _runs(leaves[first:last] >> _LOWER)]
        _node(out, _offset(leaves[[a for a, _ in lower]], _LOWER, _UPPER), _UPPER)
        for a, b in lower:
            _node(out, _offset(leaves[a:b], 0, _LOWER), _LOWER)
            out.write(masks[a:b].tobytes())


def _node(out: BytesIO, children: Ints, bits: int) -> None:
    """Write a node: which children it has, and that it has no values of its own."""
    here = np.zeros(1 << 3 * bits, np.bool_)
    here[children] = True
    out.write(np.packbits(here, bitorder="little").tobytes())
    out.write(bytes(len(here) // 8))
    out.write(bytes([_OUTSIDE]))
    _packed(out, b"")


def _runs(places: Ints) -> list[tuple[int, int]]:
    """Return where runs of equal rows begin and end."""
    if not len(places):
        return []
    cuts = np.flatnonzero((places[1:] != places[:-1]).any(axis=1)) + 1
    return list(zip([0, *cuts.tolist()], [*cuts.tolist(), len(places)], strict=True))


def _packed(out: BytesIO, data: bytes) -> None:
    """Write bytes packed, or with the negative of their number as they are, where that is shorter."""
    packed = zlib.compress(data, _LEVEL) if data else b""
    if data and len(packed) < len(data):
        out.write(struct.pack("<q", len(packed)) + packed)
    else:
        out.write(struct.pack("<q", -len(data)) + data)


def _string(out: BytesIO, text: str) -> None:
    data = text.encode()
    out.write(struct.pack("<I", len(data)) + data)


def _metadata(out: BytesIO, values: Mapping[str, object]) -> None:
    """Write values that describe a file or a grid."""
    forms: list[tuple[type, str, Callable[..., bytes]]] = [
        (bool, "bool", lambda v: struct.pack("<?", v)),
        (int, "int64", lambda v: struct.pack("<q", v)),
        (float, "double", lambda v: struct.pack("<d", v)),
        (str, "string", str.encode),
        (np.ndarray, "vec3i", lambda v: struct.pack("<3i", *v)),
    ]
    out.write(struct.pack("<I", len(values)))
    for name, value in values.items():
        kind, pack = next((kind, pack) for form, kind, pack in forms if isinstance(value, form))
        _string(out, name)
        _string(out, kind)
        data = pack(value)
        out.write(struct.pack("<I", len(data)) + data)
