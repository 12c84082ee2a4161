"""Frames as PLY files: a surface or a cloud of points each, which every program for meshes opens; needs the extra `mesh`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from meniscus.io.frames import FrameData
from meniscus.io.names import frame_stem
from meniscus.io.surfaces import clouds, surfaces
from meniscus.mesh.files import meshio_for, write_elements


def require() -> None:
    """Raise ImportError if meshio is missing."""
    meshio_for("writing")


def write_frame(folder: Path, frame: FrameData, *, frames: int = 0) -> list[Path]:
    """Write the surfaces and particles of one frame, a binary PLY file each, and return them.

    Raises:
        OSError: a file cannot be written.
        ImportError: meshio is missing.
    """
    no_triangles = np.empty((0, 3), np.int32)
    parts = [*surfaces(frame), *((name, positions, no_triangles) for name, positions, _ in clouds(frame))]
    written = []
    for name, vertices, triangles in parts:
        written.append(folder / f"{frame_stem(frame.number, frames)}-{name}.ply")
        write_elements(written[-1], vertices, triangles)
    return written
