"""Frames of a run as one Alembic file, which programs for films open; needs the extra `alembic`."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks, _extras
from meniscus.core.atomic_file import atomic_path
from meniscus.io.frames import FrameData
from meniscus.io.surfaces import VELOCITIES, clouds, curves, surfaces

Schema = Any
"""Objects of Alembic, which has no types."""
Array = npt.NDArray[Any]
_NONE = np.zeros((0, 3))


def require() -> None:
    """Raise ImportError if Alembic is missing."""
    _module("AbcGeom")


def write_alembic(path: str | os.PathLike[str], frames: Iterable[FrameData], times: Sequence[float]) -> Path:
    """Write the meshes, level sets and particles of frames to one Alembic file; it appears once it is whole.

    Surfaces are polygon meshes, segments linear curves, particles points with their `id` and radii as widths; velocities are those of
    vertices and particles that have a column `velocity` or `velocities`, m/s. What is not there in a frame is empty in it. The files of
    Alembic have y upwards: (x, y, z) becomes (x, z, -y), which programs with z upwards turn back. Fields are not in the file.

    Args:
        path: of the file.
        frames: one after the other; they need not be in memory together.
        times: of the frames, s, rising.

    Returns:
        The file.

    Raises:
        TypeError, ValueError: times that do not rise, another number of frames, or nothing to write in any of them.
        OSError: the file cannot be written; one that was there before stays.
        ImportError: Alembic is missing.
    """
    target = _checks.path("path", path)
    when = np.asarray(times, np.float64)
    if when.ndim != 1 or not len(when) or not np.isfinite(when).all() or (np.diff(when) <= 0).any():
        raise ValueError("times must be finite and rise from frame to frame")
    require()
    with atomic_path(target) as part:
        archive = _Archive(part, when)
        try:
            count = 0
            for count, frame in enumerate(frames, 1):
                if count > len(when):
                    raise ValueError(f"there are more frames than the {len(when)} times")
                archive.add(frame)
            if count < len(when):
                raise ValueError(f"there are {count} frames for {len(when)} times")
            if not archive.objects:
                raise ValueError("an Alembic file needs at least one mesh, level set or set of particles")
        finally:
            archive.close()
    return target


class _Archive:
    """A file that is written: an object for each name, with as many samples as there were frames."""

    def __init__(self, path: Path, times: npt.NDArray[np.float64]) -> None:
        abc, core = _module("Abc"), _module("AbcCoreAbstract")
        steps = np.diff(times)
        rate = 1.0 / float(steps.mean()) if len(steps) else 24.0
        self.archive: Schema = abc.CreateArchiveWithInfo(str(path), rate, "meniscus", "")
        if not len(steps) or np.abs(steps - steps.mean()).max() <= 1e-9 * steps.mean():
            sampling = core.TimeSampling(1.0 / rate, float(times[0]))
        else:
            vector = core.TimeVector()
            vector.extend(times.tolist())
            sampling = core.TimeSampling(core.TimeSamplingType(core.AcyclicFlag.kAcyclic), vector)
        self.sampling = int(self.archive.addTimeSampling(sampling))
        self.objects: dict[str, tuple[str, Schema]] = {}
        self.frames = 0

    def add(self, frame: FrameData) -> None:
        """Add a sample of all objects."""
        given: set[str] = set()
        for name, vertices, triangles in surfaces(frame):
            mesh = frame.meshes.get(name)
            self._set("mesh", name, vertices, triangles, {} if mesh is None else mesh.columns)
            given.add(name)
        for name, vertices, segments in curves(frame):
            self._set("curves", name, vertices[segments].reshape(-1, 3), segments, {})
            given.add(name)
        for name, positions, _ in clouds(frame):
            self._set("points", name, positions, _NONE, frame.particles[name])
            given.add(name)
        for name, (kind, _) in self.objects.items():
            if name not in given:
                self._sample(kind, name, _NONE, _NONE, {})
        self.frames += 1

    def _set(self, kind: str, name: str, points: Array, elements: Array, columns: Mapping[str, Array]) -> None:
        """Add a sample of an object, which is made if it is new, empty in the frames before."""
        if name not in self.objects:
            geometry = _module("AbcGeom")
            made = {"mesh": geometry.OPolyMesh, "curves": geometry.OCurves, "points": geometry.OPoints}[kind]
            self.objects[name] = kind, made(self.archive.getTop(), name, _module("Abc").Argument(self.sampling)).getSchema()
            for _ in range(self.frames):
                self._sample(kind, name, _NONE, _NONE, {})
        if self.objects[name][0] != kind:
            raise ValueError(f"{name!r} has other elements in one frame than in another, which an Alembic file cannot hold")
        self._sample(kind, name, points, elements, columns)

    def _sample(self, kind: str, name: str, points: Array, elements: Array, columns: Mapping[str, Array]) -> None:
        geometry, imath = _module("AbcGeom"), _imath()
        places = _vectors(points)
        velocities = next((_vectors(columns[c]) for c in VELOCITIES if c in columns), None)
        if kind == "mesh":
            # Alembic turns polygons the other way round.
            corners = _numbers(np.asarray(elements)[:, ::-1])
            sample = geometry.OPolyMeshSchemaSample(places, corners, _numbers(np.full(len(elements), 3)))
        elif kind == "curves":
            counts = _numbers(np.full(len(elements), 2))
            sample = geometry.OCurvesSchemaSample(places, counts, geometry.CurveType.kLinear)
        else:
            ids = np.asarray(columns.get("id", np.arange(len(places))), np.float64)
            numbers = imath.IntArrayFromBuffer(np.ascontiguousarray(ids, np.int32)) if len(ids) else imath.IntArray(0)
            sample = geometry.OPointsSchemaSample(places, numbers)
            if "radius" in columns and len(places):
                widths = imath.FloatArrayFromBuffer(np.ascontiguousarray(2 * np.asarray(columns["radius"]), np.float32))
                sample.setWidths(geometry.OFloatGeomParamSample(widths, geometry.GeometryScope.kVertexScope))
        if velocities is not None and len(velocities) == len(places) > 0:
            sample.setVelocities(velocities)
        self.objects[name][1].set(sample)

    def close(self) -> None:
        """Write what is left: Alembic does so when nothing refers to the file any more."""
        self.objects.clear()
        del self.archive
        gc.collect()


def _vectors(given: npt.ArrayLike) -> Any:
    """Return vectors (n, 2 or 3) as Alembic has them, with y upwards."""
    imath = _imath()
    values = np.asarray(given, np.float32)
    if not len(values):
        return imath.V3fArray(0)
    x, y, z = np.pad(values, ((0, 0), (0, 3 - values.shape[1]))).T
    return imath.V3fArrayFromBuffer(np.ascontiguousarray(np.stack([x, z, -y], axis=1)))


def _numbers(values: npt.ArrayLike) -> Any:
    imath = _imath()
    flat = np.ascontiguousarray(values, np.int32).ravel()
    return imath.IntArrayFromBuffer(flat) if len(flat) else imath.IntArray(0)


def _module(name: str) -> Any:
    return _extras.require(f"alembic3d.{name}", "Alembic files need")


def _imath() -> Any:
    return _extras.require("imath", "Alembic files need")
