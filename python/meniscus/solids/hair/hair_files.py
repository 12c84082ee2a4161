"""Files of strands: `.hair`, and polylines of VTK."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _extras
from meniscus.core.atomic_file import atomic_path

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

_HEADER = np.dtype(
    [
        ("magic", "S4"),
        ("strands", "<u4"),
        ("points", "<u4"),
        ("arrays", "<u4"),
        ("segments", "<u4"),
        ("thickness", "<f4"),
        ("transparency", "<f4"),
        ("color", "<f4", 3),
        ("info", "S88"),
    ]
)
_SEGMENTS, _POINTS, _THICKNESS = 1, 2, 4
_MOST_SEGMENTS = 65535


def read_hair(path: Path) -> tuple[Floats, Longs, Floats | None]:
    """Return points, offsets and radii of a `.hair` file; half the thickness at the roots are the radii.

    Source: C. Yuksel, HAIR file format, cemyuksel.com/research/hairmodels.
    """
    raw = path.read_bytes()
    if len(raw) < _HEADER.itemsize or raw[:4] != b"HAIR":
        raise ValueError(f"{path.name} is no .hair file, or is cut short")
    head = np.frombuffer(raw, _HEADER, 1)[0]
    arrays, strands, points = int(head["arrays"]), int(head["strands"]), int(head["points"])
    at = _HEADER.itemsize

    def take(kind: str, count: int) -> npt.NDArray[Any]:
        nonlocal at
        size = np.dtype(kind).itemsize * count
        if at + size > len(raw):
            raise ValueError(f"{path.name} is cut short: {len(raw)} bytes, where {at + size} are needed")
        at += size
        return np.frombuffer(raw, kind, count, at - size)

    segments = take("<u2", strands).astype(np.int64) if arrays & _SEGMENTS else np.full(strands, int(head["segments"]))
    offsets = np.append(0, np.cumsum(segments + 1)).astype(np.int64)
    if not arrays & _POINTS or offsets[-1] != points:
        raise ValueError(f"{path.name} has {points} points, but its strands need {offsets[-1]}")
    x = take("<f4", 3 * points).reshape(-1, 3).astype(np.float64)
    if arrays & _THICKNESS:
        radius = 0.5 * take("<f4", points)[offsets[:-1]].astype(np.float64)
    else:
        radius = np.full(strands, 0.5 * float(head["thickness"]))
    return x, offsets, radius if (radius > 0).all() else None


def write_hair(path: Path, points: Floats, offsets: Longs, radius: Floats) -> None:
    """Write a `.hair` file, in single precision."""
    segments = np.diff(offsets) - 1
    if segments.max(initial=0) > _MOST_SEGMENTS:
        raise ValueError(f"a strand of a .hair file has at most {_MOST_SEGMENTS} segments, not {segments.max()}")
    head = np.zeros(1, _HEADER)
    head["magic"], head["strands"], head["points"] = b"HAIR", len(segments), len(points)
    head["arrays"], head["color"] = _SEGMENTS | _POINTS | _THICKNESS, 1.0
    thickness = np.repeat(2 * radius, segments + 1)
    parts = (head, segments.astype("<u2"), points.astype("<f4"), thickness.astype("<f4"))
    with atomic_path(path) as part:
        part.write_bytes(b"".join(p.tobytes() for p in parts))


def read_lines(path: Path) -> tuple[Floats, Longs, Floats | None]:
    """Return points, offsets and radii (of the points named "radius", at the roots) of the polylines of a VTK file."""
    pyvista = _extras.require("pyvista", "VTK files of strands need")
    if not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    data = pyvista.read(path)
    lines = np.asarray(data.lines) if isinstance(data, pyvista.PolyData) else np.empty(0, np.int64)
    if lines.size == 0:
        raise ValueError(f"{path.name} has no polylines")
    rows, starts, at = [], [0], 0
    while at < len(lines):
        count = int(lines[at])
        rows.append(lines[at + 1 : at + 1 + count])
        starts.append(starts[-1] + count)
        at += 1 + count
    order = np.concatenate(rows)
    offsets = np.array(starts, np.int64)
    radius = np.asarray(data.point_data["radius"], np.float64)[order][offsets[:-1]] if "radius" in data.point_data else None
    return np.asarray(data.points, np.float64)[order], offsets, radius


def write_lines(path: Path, points: Floats, offsets: Longs, radius: Floats) -> None:
    """Write polylines as a VTK file, with the radius at the points."""
    pyvista = _extras.require("pyvista", "VTK files of strands need")
    counts = np.diff(offsets)
    lines = np.insert(np.arange(len(points), dtype=np.int64), offsets[:-1], counts)
    data = pyvista.PolyData(points, lines=lines)
    data.point_data["radius"] = np.repeat(radius, counts)
    writer = _extras.require("vtkmodules.vtkIOXML", "VTK files of strands need").vtkXMLPolyDataWriter()
    with atomic_path(path) as part:
        writer.SetFileName(str(part))
        writer.SetInputData(data)
        if not writer.Write():
            raise OSError(f"{path} could not be written")
