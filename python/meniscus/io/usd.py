"""Frames as USD files, which programs for films open; needs the extra `usd`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from meniscus import _extras
from meniscus.core.atomic_file import atomic_path
from meniscus.io.frames import FrameData
from meniscus.io.names import frame_stem
from meniscus.io.surfaces import clouds, curves, surfaces


def require() -> None:
    """Raise ImportError if USD is missing."""
    _module("Usd")


def write_frame(folder: Path, frame: FrameData, *, frames: int = 0) -> list[Path]:
    """Write the meshes and particles of one frame to one `.usd` file, in metres, and return it in a list.

    Raises:
        OSError: the file cannot be written.
        ImportError: USD is missing.
    """
    usd, geometry = _module("Usd"), _module("UsdGeom")
    stage = usd.Stage.CreateInMemory()
    root = geometry.Xform.Define(stage, "/frame")
    stage.SetDefaultPrim(root.GetPrim())
    geometry.SetStageMetersPerUnit(stage, 1.0)
    geometry.SetStageUpAxis(stage, geometry.Tokens.z)
    for name, vertices, triangles in surfaces(frame):
        mesh = geometry.Mesh.Define(stage, _path(name))
        mesh.CreatePointsAttr(_points(vertices))
        mesh.CreateFaceVertexIndicesAttr(_numbers(triangles))
        mesh.CreateFaceVertexCountsAttr(_numbers(np.full(len(triangles), 3)))
        mesh.CreateSubdivisionSchemeAttr(geometry.Tokens.none)
    for name, vertices, segments in curves(frame):
        lines = geometry.BasisCurves.Define(stage, _path(name))
        lines.CreateTypeAttr(geometry.Tokens.linear)
        lines.CreatePointsAttr(_points(vertices[segments].reshape(-1, 3)))
        lines.CreateCurveVertexCountsAttr(_numbers(np.full(len(segments), 2)))
    for name, positions, radii in clouds(frame):
        points = geometry.Points.Define(stage, _path(name))
        points.CreatePointsAttr(_points(positions))
        if radii is not None:
            points.CreateWidthsAttr(_module("Vt").FloatArray.FromNumpy(np.ascontiguousarray(2 * radii, np.float32)))
    path = folder / f"{frame_stem(frame.number, frames)}.usd"
    with atomic_path(path) as part:
        # The format of a layer follows from the name of its file.
        named = part.with_name(part.name + ".usd")
        try:
            if not stage.GetRootLayer().Export(str(named)):
                raise OSError(f"{str(path)!r} cannot be written")
            named.replace(part)
        finally:
            named.unlink(missing_ok=True)
    return [path]


def _path(name: str) -> str:
    """Return a path in the stage: names there hold letters, digits and underscores."""
    clean = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"/frame/{clean if clean[:1].isalpha() or clean[:1] == '_' else '_' + clean}"


def _points(vertices: Any) -> Any:
    return _module("Vt").Vec3fArray.FromNumpy(np.ascontiguousarray(vertices, np.float32))


def _numbers(values: Any) -> Any:
    return _module("Vt").IntArray.FromNumpy(np.ascontiguousarray(values, np.int32).ravel())


def _module(name: str) -> Any:
    return _extras.require(f"pxr.{name}", "USD files need")
