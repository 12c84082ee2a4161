"""Mesh files, through the libraries trimesh (surfaces) and meshio (formats with tetrahedra)."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._extras import require
from meniscus.core.atomic_file import atomic_path
from meniscus.mesh.file_checks import check_legacy_vtk, check_obj, check_off, check_ply
from meniscus.mesh.gmsh_files import read_gmsh, version_of
from meniscus.mesh.tetgen_files import read_tetgen

_M = TypeVar("_M")
_Arrays = tuple[npt.NDArray[np.float64], npt.NDArray[Any]]

# Modules of meshio by the ending of the name. Its own dispatch ends the process when a file cannot be read.
_VOLUME_FORMATS = {
    ".vtk": "vtk",
    ".vtu": "vtu",
    ".msh": "gmsh",
    ".mesh": "medit",
    ".meshb": "medit",
}
_QUADRATIC_FORMATS = {ending: name for ending, name in _VOLUME_FORMATS.items() if name != "medit"}
_TETGEN_FORMATS = {".ele": "tetgen", ".node": "tetgen"}
_SURFACE_FORMATS = {".obj": "obj", ".ply": "ply", ".stl": "stl", ".off": "off"}
# Written by trimesh.
_SCENE_FORMATS = {".glb": "glb"}
_SINGLE = ("stl", "glb")
"""Formats with single precision."""
_MOVED = 1e-3  # of the length of the shortest edge, by rounding: a warning tells
_CHECKS = {".obj": check_obj, ".ply": check_ply, ".off": check_off}


def _read_surface(file: Path) -> _Arrays:
    """Return vertices and triangles of a file that trimesh reads."""
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {str(file)!r}")
    trimesh = require("trimesh", "reading mesh files needs")
    try:
        if check := _CHECKS.get(file.suffix.lower()):
            check(file.read_bytes())
        # In this mode trimesh does not split the vertices of an OBJ file that have several texture coordinates.
        with _silent("trimesh"):
            scene = trimesh.load_scene(file, process=False, maintain_order=True, skip_materials=True)
            parts = [p for p in scene.dump() if isinstance(p, trimesh.Trimesh) and len(p.faces)]
    except Exception as error:
        raise _unreadable(file, error) from error
    if not parts:
        raise ValueError(f"{str(file)!r} holds no triangle mesh")
    starts = np.cumsum([0] + [len(p.vertices) for p in parts[:-1]])
    triangles: npt.NDArray[Any]
    vertices = np.ascontiguousarray(np.concatenate([p.vertices for p in parts]), dtype=np.float64)
    triangles = np.concatenate([p.faces + s for p, s in zip(parts, starts, strict=True)]).astype(np.int64)
    if not len(vertices) > triangles.max() >= triangles.min() >= 0:
        raise ValueError(f"{str(file)!r} holds no valid mesh: its triangles index vertices that it does not hold")
    if len(parts) > 1 or file.suffix.lower() == ".stl":
        vertices, triangles = _merged(vertices, triangles)
    return vertices, triangles


@contextlib.contextmanager
def _silent(library: str) -> Iterator[None]:
    """Keep a library from printing what it raises."""
    logger = logging.getLogger(library)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _unreadable(file: Path, error: BaseException) -> ValueError:
    """Return the error for a file that cannot be read; that of a library may hold lines of its bytes."""
    reason = " ".join(str(error).split())
    kind = "" if isinstance(error, ValueError) and reason else f"{type(error).__name__}: "
    return ValueError(f"{str(file)!r} could not be read as a mesh: {kind}{reason[:200]}".removesuffix(": "))


def _merged(vertices: npt.NDArray[np.float64], triangles: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Make one vertex of all vertices at the same position, in order of the first."""
    _, first, inverse = np.unique(vertices, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), np.int32)
    rank[order] = np.arange(len(first), dtype=np.int32)
    return np.ascontiguousarray(vertices[first[order]]), rank[inverse.reshape(-1)][triangles]


def read_mesh(kind: Callable[..., _M], read: Callable[[Path], _Arrays], path: str | os.PathLike[str]) -> _M:
    """Return the mesh of a file; a damaged one is refused by its name."""
    file = _checks.path("path", path)
    arrays = read(file)
    try:
        return kind(*arrays)
    except ValueError as error:
        raise ValueError(f"{str(file)!r} holds no valid mesh: {error}") from None


def read_triangles(file: Path) -> _Arrays:
    """Return vertices and triangles of a file; see `TriangleMesh.read`."""
    if file.suffix.lower() in _VOLUME_FORMATS:
        return _read_cells(file, _VOLUME_FORMATS, "triangle", "triangles")
    return _read_surface(file)


def read_tets(file: Path) -> _Arrays:
    """Return vertices and tetrahedra of a file; see `TetMesh.read`."""
    return _read_cells(file, _VOLUME_FORMATS | _TETGEN_FORMATS, "tetra", "tetrahedra")


def read_quadratic_tets(file: Path) -> _Arrays:
    """Return vertices and ten-node tetrahedra of a file; see `QuadraticTetMesh.read`."""
    return _read_cells(file, _QUADRATIC_FORMATS, "tetra10", "ten-node tetrahedra")


def write_elements(path: str | os.PathLike[str], vertices: npt.NDArray[np.float64], elements: npt.NDArray[np.int32]) -> None:
    """Write triangles, tetrahedra or ten-node tetrahedra; see the methods `write` of their meshes."""
    file = _checks.path("path", path)
    kind, formats = {
        3: ("triangle", _VOLUME_FORMATS | _SURFACE_FORMATS | _SCENE_FORMATS),
        4: ("tetra", _VOLUME_FORMATS),
        10: ("tetra10", _QUADRATIC_FORMATS),
    }[elements.shape[1]]
    name = _format_of(file, formats, "write")
    if name in _SINGLE:
        _warn_of_rounding(file, vertices, elements)
    if name in _SCENE_FORMATS.values():
        scene = require("trimesh", "writing such mesh files needs").Trimesh(vertices, elements, process=False)
        with atomic_path(file) as part:
            part.write_bytes(scene.export(file_type=name))
        return
    meshio = meshio_for("writing")
    mesh = meshio.Mesh(vertices, [(kind, elements)])
    options: dict[str, Any] = {"fmt_version": "4.1", "binary": True} if name == "gmsh" else {"binary": True} if name == "stl" else {}
    with atomic_path(file) as part:
        # The format follows from the module, except that Medit files tell text from binary by their name.
        named = part.with_name(part.name + file.suffix.lower()) if name == "medit" else part
        try:
            importlib.import_module(f"meshio.{name}").write(str(named), mesh, **options)
            if named != part:
                named.replace(part)
        finally:
            if named != part:
                named.unlink(missing_ok=True)


def _warn_of_rounding(file: Path, vertices: npt.NDArray[np.float64], triangles: npt.NDArray[np.int32]) -> None:
    """Warn where single precision moves vertices by a part of the shortest edge, which spoils or folds triangles."""
    if not len(triangles):
        return
    corners = vertices[triangles]
    shortest = float(np.linalg.norm(corners - corners[:, (1, 2, 0)], axis=2).min())
    moved = float(np.abs(vertices - vertices.astype(np.float32)).max())
    if moved > _MOVED * shortest:
        warnings.warn(
            f"{file.suffix} files have single precision, which moves vertices by up to {moved:.2g} m, with edges of {shortest:.2g} m: "
            "move the mesh to the origin before, or write a .ply file",
            UserWarning,
            stacklevel=4,
        )


def _read_cells(file: Path, formats: dict[str, str], kind: str, what: str) -> _Arrays:
    """Return the vertices and all cells of one kind, in their order."""
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {str(file)!r}")
    name = _format_of(file, formats, "read")
    try:
        points, elements = _points_and_elements(file, name, kind)
    except (Exception, SystemExit) as error:
        raise _unreadable(file, error) from error
    if not len(elements):
        raise ValueError(f"{str(file)!r} holds no {what}")
    vertices = np.zeros((len(points), 3))
    vertices[:, : points.shape[1]] = points
    return vertices, elements


def _points_and_elements(file: Path, name: str, kind: str) -> _Arrays:
    """Return the points (n, 2 | 3) and all cells of one kind, with the integers of the file."""
    if name == "tetgen":
        return read_tetgen(file)
    if name == "gmsh":
        content = file.read_bytes()
        if version_of(content) in ("2.2", "4.1"):
            return read_gmsh(content, kind)
    meshio_for("reading")
    mesh = importlib.import_module(f"meshio.{name}").read(str(file))
    if name == "vtk":
        check_legacy_vtk(file.read_bytes(), sum(len(c.data) for c in mesh.cells))
    cells = [c.data for c in mesh.cells if c.type == kind]
    return np.asarray(mesh.points, dtype=np.float64), np.concatenate(cells) if cells else np.empty((0, 0), np.int32)


def _format_of(file: Path, formats: dict[str, str], verb: str) -> str:
    name = formats.get(file.suffix.lower())
    if name is None:
        raise ValueError(f"cannot {verb} {str(file)!r}: the name must end in {', '.join(formats)}")
    return name


def meshio_for(doing: str) -> Any:
    """Return the module meshio for reading or writing. Raises ImportError with the way to install it."""
    return require("meshio", f"{doing} such mesh files needs")
