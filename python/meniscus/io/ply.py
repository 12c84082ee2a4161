"""Frames as PLY files: a surface or a cloud of points each, which every program for meshes opens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from meniscus.core.atomic_file import write_bytes
from meniscus.io.frames import FrameData
from meniscus.io.names import frame_stem
from meniscus.io.surfaces import clouds, surfaces


def require() -> None:
    """Nothing is needed."""


def write_frame(folder: Path, frame: FrameData, *, frames: int = 0) -> list[Path]:
    """Write the surfaces and particles of one frame, a binary PLY file each, and return them. Raises OSError."""
    stem, written = frame_stem(frame.number, frames), []
    for name, vertices, triangles in surfaces(frame):
        written.append(_write(folder / f"{stem}-{name}.ply", vertices, triangles))
    for name, positions, _ in clouds(frame):
        written.append(_write(folder / f"{stem}-{name}.ply", positions, np.empty((0, 3), np.int32)))
    return written


def _write(path: Path, vertices: npt.NDArray[np.float64], triangles: npt.NDArray[np.int32]) -> Path:
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(vertices)}", *(f"property double {c}" for c in "xyz")]
    if len(triangles):
        header += [f"element face {len(triangles)}", "property list uchar int vertex_indices"]
    faces = np.empty(len(triangles), np.dtype([("count", "u1"), ("corners", "<i4", 3)]))
    faces["count"], faces["corners"] = 3, triangles
    content = "\n".join([*header, "end_header\n"]).encode() + np.ascontiguousarray(vertices, "<f8").tobytes() + faces.tobytes()
    write_bytes(path, content)
    return path
