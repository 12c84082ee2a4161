"""Frames as USD files, which programs for films open; needs the extra `usd`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _extras
from meniscus.core.atomic_file import atomic_path
from meniscus.io import openvdb
from meniscus.io.frames import FrameData
from meniscus.io.names import frame_stem
from meniscus.io.surfaces import VELOCITIES, clouds, curves, surfaces

Layer = Any
"""Layers of USD, which has no types."""
Prim = Any
"""Shapes of a stage, likewise."""
ROOT = "/frame"
VOLUME = "fields"
"""The volume of a frame that has its fields."""
SERIES_FILE = "frames.usda"
"""The file that plays all frames."""
MANIFEST_FILE = "frames-manifest.usda"
"""What the frames hold, for readers of the clips."""


def require() -> None:
    """Raise ImportError if USD is missing."""
    _module("Usd")


def write_frame(folder: Path, frame: FrameData, *, frames: int = 0) -> list[Path]:
    """Write the meshes and particles of one frame, in metres, to one `.usd` file, and all frames of the folder as one animation.

    Fields are volumes of the stage, whose samples lie in a `.vdb` file beside it; level sets are meshes. Values are samples at the time
    code that is the number of the frame; `velocities` are those of vertices and particles that have a column of that name or `velocity`,
    m/s, other columns are primvars. `frames.usda` plays the files as clips, with all names of all frames.

    Returns:
        The files of the frame.

    Raises:
        OSError: a file cannot be written.
        ImportError: USD is missing.
    """
    usd, geometry = _module("Usd"), _module("UsdGeom")
    stage = usd.Stage.CreateInMemory()
    root = geometry.Xform.Define(stage, ROOT)
    stage.SetDefaultPrim(root.GetPrim())
    stage.GetRootLayer().customLayerData = {"time": float(frame.time)}
    geometry.SetStageMetersPerUnit(stage, 1.0)
    geometry.SetStageUpAxis(stage, geometry.Tokens.z)
    code = float(frame.number)
    for name, vertices, triangles in surfaces(frame):
        mesh = geometry.Mesh.Define(stage, _path(name))
        mesh.CreatePointsAttr().Set(_points(vertices), code)
        mesh.CreateFaceVertexIndicesAttr().Set(_numbers(triangles), code)
        mesh.CreateFaceVertexCountsAttr().Set(_numbers(np.full(len(triangles), 3)), code)
        mesh.CreateSubdivisionSchemeAttr(geometry.Tokens.none)
        given = frame.meshes.get(name)
        _columns(mesh, {} if given is None else given.columns, len(vertices), code)
    for name, vertices, segments in curves(frame):
        lines = geometry.BasisCurves.Define(stage, _path(name))
        lines.CreateTypeAttr(geometry.Tokens.linear)
        lines.CreatePointsAttr().Set(_points(vertices[segments].reshape(-1, 3)), code)
        lines.CreateCurveVertexCountsAttr().Set(_numbers(np.full(len(segments), 2)), code)
    for name, positions, radii in clouds(frame):
        points = geometry.Points.Define(stage, _path(name))
        points.CreatePointsAttr().Set(_points(positions), code)
        if radii is not None:
            points.CreateWidthsAttr().Set(_module("Vt").FloatArray.FromNumpy(np.ascontiguousarray(2 * radii, np.float32)), code)
        columns = frame.particles[name]
        if "id" in columns:
            ids = np.ascontiguousarray(columns["id"], np.int64)
            points.CreateIdsAttr().Set(_module("Vt").Int64Array.FromNumpy(ids), code)
        _columns(points, {c: v for c, v in columns.items() if c not in ("position", "id", "radius")}, len(positions), code)
    files = _volumes(stage, folder, frame, frames)
    path = folder / f"{frame_stem(frame.number, frames)}.usd"
    _export(stage.GetRootLayer(), path)
    write_series(folder)
    return [path, *files]


def _volumes(stage: Prim, folder: Path, frame: FrameData, frames: int) -> list[Path]:
    """Add the fields of a frame to its stage, apart from level sets, one volume with all of them. Returns the file of their samples."""
    stored = openvdb.volumes_of(frame)
    fields = {name: volume for name, volume in stored.items() if name not in frame.levelsets}
    if not fields:
        return []
    sdf, volumes = _module("Sdf"), _module("UsdVol")
    file = openvdb.write_volumes(folder, frame, stored, frames)
    place = _path(VOLUME)
    while stage.GetPrimAtPath(place):
        place += "_"
    volume = volumes.Volume.Define(stage, place)
    for name, field in fields.items():
        asset = volumes.OpenVDBAsset.Define(stage, f"{place}/{_name(name)}")
        asset.CreateFilePathAttr().Set(sdf.AssetPath(f"./{file.name}"), float(frame.number))
        asset.CreateFieldNameAttr(name)
        asset.CreateFieldDataTypeAttr("float3" if field.values.ndim == 4 else "float")
        volume.CreateFieldRelationship(_name(name), asset.GetPath())
    return [file]


def write_series(folder: Path, chosen: Collection[int] | None = None) -> Path:
    """Write `frames.usda`, which plays the frames of a folder, all or some, as one animation: value clips, a few lines a frame.

    Time codes per second follow from the times of the first and the last frame.
    """
    sdf = _module("Sdf")
    files = {int(path.stem.rpartition("-")[2]): path for path in sorted(folder.glob("frame-*.usd"))}
    numbers = sorted(files if chosen is None else set(files) & set(chosen))
    layers = {number: sdf.Layer.FindOrOpen(str(files[number])) for number in {numbers[0], numbers[-1]}}
    out = folder / SERIES_FILE
    stage, manifest = sdf.Layer.CreateAnonymous(".usda"), sdf.Layer.CreateAnonymous(".usda")
    older = [sdf.Layer.FindOrOpen(str(path)) for path in (out, folder / MANIFEST_FILE) if path.exists()]
    for source in (layer for layer in [*older[:1], *layers.values()] if layer is not None):
        _declare(source, stage, manifest)
    root = stage.GetPrimAtPath(ROOT)
    clips = {
        "assetPaths": sdf.AssetPathArray([sdf.AssetPath(f"./{files[n].name}") for n in numbers]),
        "primPath": ROOT,
        "manifestAssetPath": sdf.AssetPath(f"./{MANIFEST_FILE}"),
        "active": _module("Vt").Vec2dArray([(float(n), float(i)) for i, n in enumerate(numbers)]),
        "times": _module("Vt").Vec2dArray([(float(n), float(n)) for n in numbers]),
    }
    root.SetInfo("clips", {"default": clips})
    times = [layers[n].customLayerData.get("time", 0.0) for n in (numbers[0], numbers[-1])]
    span = times[1] - times[0]
    stage.defaultPrim = ROOT.lstrip("/")
    stage.startTimeCode, stage.endTimeCode = float(numbers[0]), float(numbers[-1])
    stage.timeCodesPerSecond = stage.framesPerSecond = round((numbers[-1] - numbers[0]) / span, 9) if span > 0 else 24.0
    for key, value in (("metersPerUnit", 1.0), ("upAxis", "Z")):
        stage.pseudoRoot.SetInfo(key, value)
    _export(manifest, folder / MANIFEST_FILE)
    _export(stage, out)
    return out


def _declare(source: Layer, stage: Layer, manifest: Layer) -> None:
    """Declare the prims below the root of a layer, and their attributes, in two others."""
    sdf = _module("Sdf")
    root = source.GetPrimAtPath(ROOT)
    for target in (stage, manifest):
        own = sdf.CreatePrimInLayer(target, ROOT)
        own.specifier, own.typeName = sdf.SpecifierDef, "Xform"
        for prim in () if root is None else root.nameChildren:
            for part in (prim, *prim.nameChildren):
                _declare_prim(part, target)


def _declare_prim(prim: Prim, target: Layer) -> None:
    """Declare a prim and its attributes and relationships in another layer; what has no samples keeps its value."""
    sdf = _module("Sdf")
    mine = sdf.CreatePrimInLayer(target, prim.path)
    mine.specifier, mine.typeName = sdf.SpecifierDef, prim.typeName
    for attribute in prim.attributes:
        if mine.attributes.get(attribute.name) is None:
            made = sdf.AttributeSpec(mine, attribute.name, attribute.typeName, attribute.variability)
            if attribute.HasInfo("default"):
                made.default = attribute.default
            if attribute.HasInfo("interpolation"):
                made.SetInfo("interpolation", attribute.GetInfo("interpolation"))
    for relationship in prim.relationships:
        if mine.relationships.get(relationship.name) is None:
            own = sdf.RelationshipSpec(mine, relationship.name, relationship.custom, relationship.variability)
            for path in relationship.targetPathList.explicitItems:
                own.targetPathList.explicitItems.append(path)


def _export(layer: Layer, path: Path) -> None:
    """Write a layer; the file appears once it is whole. Raises OSError."""
    with atomic_path(path) as part:
        # The format of a layer follows from the name of its file.
        named = part.with_name(part.name + path.suffix)
        try:
            if not layer.Export(str(named)):
                raise OSError(f"{str(path)!r} cannot be written")
            named.replace(part)
        finally:
            named.unlink(missing_ok=True)


def _columns(shape: Prim, columns: Mapping[str, npt.NDArray[Any]], count: int, code: float) -> None:
    """Set the values at the points of a shape: velocities, and numbers and vectors as primvars."""
    sdf, vt, geometry = _module("Sdf"), _module("Vt"), _module("UsdGeom")
    for name, given in columns.items():
        values = np.asarray(given)
        if values.shape[:1] != (count,) or values.dtype.kind not in "fiu" or values.ndim > 2:
            continue
        vector = values.ndim == 2 and values.shape[1] in (2, 3)
        if vector:
            values = np.pad(values, ((0, 0), (0, 3 - values.shape[1])))
        if vector and name in VELOCITIES:
            shape.CreateVelocitiesAttr().Set(_points(values), code)
        elif vector or values.ndim == 1:
            kind = sdf.ValueTypeNames.Float3Array if vector else sdf.ValueTypeNames.FloatArray
            array = _points(values) if vector else vt.FloatArray.FromNumpy(np.ascontiguousarray(values, np.float32))
            made = geometry.PrimvarsAPI(shape).CreatePrimvar(_name(name), kind, geometry.Tokens.vertex)
            made.Set(array, code)


def _path(name: str) -> str:
    return f"{ROOT}/{_name(name)}"


def _name(name: str) -> str:
    """Return a name for the stage: there they hold letters, digits and underscores."""
    clean = re.sub(r"\W", "_", name, flags=re.ASCII)
    return clean if clean[:1].isalpha() or clean[:1] == "_" else "_" + clean


def _points(vertices: Any) -> Any:
    return _module("Vt").Vec3fArray.FromNumpy(np.ascontiguousarray(vertices, np.float32))


def _numbers(values: Any) -> Any:
    return _module("Vt").IntArray.FromNumpy(np.ascontiguousarray(values, np.int32).ravel())


def _module(name: str) -> Any:
    return _extras.require(f"pxr.{name}", "USD files need")
