"""Frames as VTK XML files, which ParaView, PyVista and others open; needs the extra `vtk`.

Fields go to an image (`.vti`), cells as cell data and nodes as point data; particles to a `.vtp` each; a `.pvd` lists the files of all
frames with their times; meshes to a `.vtu` each. Values are appended as raw binary. Where the grid is cut among ranks, each of them writes
the part of its block, and a `.pvti` or `.pvtp` names the parts.
"""

from __future__ import annotations

import contextlib
import errno
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import numpy.typing as npt

from meniscus import _checks, _extras
from meniscus.core.atomic_file import atomic_path, write_text
from meniscus.grid import Grid
from meniscus.io.frames import FrameData, FrameMesh
from meniscus.io.names import frame_stem
from meniscus.io.vtk_reader import VtkFile
from meniscus.parallel import one_rank
from meniscus.parallel.communicator import resolve

# Corners of VTK's cells by their kind: lines, triangles, tetrahedra, quadratic tetrahedra.
_CORNERS = {3: 2, 5: 3, 10: 4, 24: 10}
_LEVEL_SET = "levelset:"
"""Begins the names of marks that say which arrays of a file are level sets."""
SUFFIXES = (".vti", ".vtp", ".vtu", ".pvti", ".pvtp")


def write_frame(folder: str | os.PathLike[str], frame: FrameData, *, frames: int = 0) -> list[Path]:
    """Write the files of one frame, each to a temporary file that is renamed, and return them; `frames` is the number of the last one, for
    the names.

    Within `parallel.ranks` it is collective: each rank writes the part of its block, then rank 0 the files that name the parts, and the
    meshes, which all ranks have. Rank 0 writes all of a frame without a grid, or with one that is not cut. All return the same files.

    Raises:
        OSError: the folder is full or cannot be written.
        RankError: that, with several ranks.
        ImportError: vtk is missing.
    """
    folder = _checks.path("folder", folder)
    _checks.one_of_type("frame", frame, FrameData)
    stem = frame_stem(frame.number, _checks.integer("frames", frames, at_least=0))
    folder.mkdir(parents=True, exist_ok=True)
    if frame.grid is not None and frame.grid.comm.size > 1:
        return _write_parts(folder, stem, frame, frame.grid)
    comm = resolve(None)
    if comm.size == 1:
        return _write_whole(folder, stem, frame)
    with comm.agreement():
        files = _write_whole(folder, stem, frame) if comm.rank == 0 else []
    return list(comm.gather(files)[0])


def _write_whole(folder: Path, stem: str, frame: FrameData) -> list[Path]:
    """Write all files of a frame that is not cut."""
    written = []
    if frame.grid is not None:
        written.append(_write(folder / f"{stem}.vti", "vtkXMLImageDataWriter", _image(frame, frame.grid)))
    for name, columns in frame.particles.items():
        written.append(_write(folder / f"{stem}-{name}.vtp", "vtkXMLPolyDataWriter", _points(columns, frame.time)))
    for name, mesh in frame.meshes.items():
        written.append(_write(folder / f"{stem}-{name}.vtu", "vtkXMLUnstructuredGridWriter", _cells(mesh, frame.time)))
    return written


def _write_parts(folder: Path, stem: str, frame: FrameData, grid: Grid) -> list[Path]:
    """Write the part of a rank, and on rank 0 what names the parts of all."""
    comm = grid.comm
    with comm.agreement():
        _write(folder / f"{stem}.{comm.rank}.vti", "vtkXMLImageDataWriter", _image(frame, grid))
        for name, columns in frame.particles.items():
            _write(folder / f"{stem}-{name}.{comm.rank}.vtp", "vtkXMLPolyDataWriter", _points(columns, frame.time))
    extents = comm.gather(_extent(grid))
    written = [folder / f"{stem}.pvti", *(folder / f"{stem}-{name}.pvtp" for name in frame.particles)]
    written += [folder / f"{stem}-{name}.vtu" for name in frame.meshes]
    with comm.agreement():
        if comm.rank == 0:
            _write_indices(folder, stem, frame, grid, extents)
            for name, mesh in frame.meshes.items():
                _write(folder / f"{stem}-{name}.vtu", "vtkXMLUnstructuredGridWriter", _cells(mesh, frame.time))
    return written


def _write_indices(folder: Path, stem: str, frame: FrameData, grid: Grid, extents: Sequence[Sequence[int]]) -> None:
    """Write the files that name the parts of all ranks."""
    whole = [n for d in range(3) for n in (0, grid.shape[d] if d < grid.dimension else 0)]
    flat = (0.0,) * (3 - grid.dimension)
    head = f'WholeExtent={_quoted(whole)} GhostLevel="0" Origin={_quoted(grid.origin + flat)} Spacing={_quoted((grid.spacing,) * 3)}'
    sections = "".join(
        f"    <{kind}>\n{''.join(_declared(name, _from_grid(a, grid.dimension)) for name, a in arrays.items())}    </{kind}>\n"
        for kind, arrays in (("PCellData", frame.cells), ("PPointData", frame.nodes))
    )
    parts = "".join(
        f"    <Piece Extent={_quoted(extent)} Source={quoteattr(f'{stem}.{rank}.vti')}/>\n" for rank, extent in enumerate(extents)
    )
    _write_index(folder / f"{stem}.pvti", "PImageData", head, sections + parts)
    for name, columns in frame.particles.items():
        points = f"    <PPoints>\n{_declared('position', _three_components(columns['position']))}    </PPoints>\n"
        others = "".join(_declared(column, a) for column, a in columns.items() if column != "position")
        parts = "".join(f"    <Piece Source={quoteattr(f'{stem}-{name}.{rank}.vtp')}/>\n" for rank in range(len(extents)))
        _write_index(
            folder / f"{stem}-{name}.pvtp", "PPolyData", 'GhostLevel="0"', f"{points}    <PPointData>\n{others}    </PPointData>\n{parts}"
        )


def _write_index(path: Path, kind: str, head: str, content: str) -> None:
    opening = f'<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n  <{kind} {head}>\n'
    write_text(path, f'<?xml version="1.0"?>\n{opening}{content}  </{kind}>\n</VTKFile>\n')


def _quoted(numbers: Sequence[float]) -> str:
    return '"' + " ".join(repr(n) for n in numbers) + '"'


def _declared(name: str, values: npt.NDArray[Any]) -> str:
    """Return the line that announces an array of the parts."""
    dtype = np.dtype(np.uint8) if values.dtype == np.bool_ else values.dtype
    kind = {"f": "Float", "i": "Int", "u": "UInt"}[dtype.kind]
    components = 1 if values.ndim == 1 else values.shape[1]
    return f'      <PDataArray type="{kind}{8 * dtype.itemsize}" Name={quoteattr(name)} NumberOfComponents="{components}"/>\n'


def _extent(grid: Grid) -> list[int]:
    """Return the first and last node of the own block along x, y and z; a 2-D grid is one layer of nodes."""
    ends = [n for first, cells in zip(grid.first_cell, grid.local_shape, strict=True) for n in (first, first + cells)]
    return ends + [0, 0] * (3 - grid.dimension)


def read_frame(paths: Sequence[str | os.PathLike[str]], number: int) -> FrameData:
    """Return what `write_frame` wrote to these files.

    Raises:
        OSError: one of them is missing or damaged.
    """
    time, grid = 0.0, None
    cells: Mapping[str, npt.NDArray[Any]] = {}
    nodes: Mapping[str, npt.NDArray[Any]] = {}
    particles, meshes = {}, {}
    levelsets: tuple[str, ...] = ()
    if isinstance(paths, (str, bytes)) or not isinstance(paths, Sequence):
        raise TypeError(f"paths must be a sequence of paths, not {paths!r}")
    _checks.integer("number", number, at_least=0)
    for path in (_checks.path("paths", p) for p in paths):
        try:
            if path.suffix == ".pvti":
                file, grid, cells, nodes = _read_parts(path)
            elif path.suffix == ".pvtp":
                files = [VtkFile(part, "PolyData") for part, _ in _parts(path, "PPolyData")]
                file, columns = files[0], [_read_points(f) for f in files]
                particles[_name_in(path)] = {name: np.concatenate([c[name] for c in columns]) for name in columns[0]}
            elif path.suffix == ".vti":
                file = VtkFile(path, "ImageData")
                grid, cells, nodes = _read_image(file)
            elif path.suffix == ".vtu":
                file = VtkFile(path, "UnstructuredGrid")
                meshes[_name_in(path)] = _read_cells(file)
            else:
                file = VtkFile(path, "PolyData")
                particles[_name_in(path)] = _read_points(file)
            time = float(file.fields()["TimeValue"][0])
            levelsets += tuple(name.removeprefix(_LEVEL_SET) for name in file.fields() if name.startswith(_LEVEL_SET))
        except (ValueError, TypeError, LookupError, OverflowError) as error:
            raise OSError(errno.EIO, "damaged, or no frame of a run", str(path)) from error
    return FrameData(number, time, grid, cells, nodes, particles, meshes, levelsets)


def _parts(path: Path, kind: str) -> list[tuple[Path, list[int]]]:
    """Return the files that a `.pvti` or `.pvtp` names, with their extents."""
    try:
        data = ElementTree.fromstring(path.read_text()).find(kind)
    except ElementTree.ParseError as error:
        raise ValueError(f"it is no XML: {error}") from error
    pieces = [] if data is None else data.findall("Piece")
    if data is None or not pieces:
        raise ValueError("it names no parts")
    whole = [data.get("WholeExtent", "")]
    extents = [[int(n) for n in text.split()] for text in [*whole, *(p.get("Extent", "") for p in pieces)]]
    return [(path.parent / p.attrib["Source"], extent) for p, extent in zip(pieces, extents[1:], strict=True)]


def _read_parts(path: Path) -> tuple[VtkFile, Grid, Mapping[str, npt.NDArray[Any]], Mapping[str, npt.NDArray[Any]]]:
    """Return what the parts of a `.pvti` hold together, on a grid of one rank."""
    parts = [(VtkFile(part, "ImageData"), extent) for part, extent in _parts(path, "PImageData")]
    read = [_read_image(file) for file, _ in parts]
    one = read[0][0]
    shape = tuple(max(extent[2 * d + 1] for _, extent in parts) for d in range(one.dimension))
    grid = Grid(shape, one.spacing, one.origin, one.periodic, comm=one_rank())
    sections: list[dict[str, npt.NDArray[Any]]] = [{}, {}]
    for (_, extent), (_, *arrays) in zip(parts, read, strict=True):
        for on_side, (target, section) in enumerate(zip(sections, arrays, strict=True)):
            for name, values in section.items():
                whole = target.setdefault(name, np.empty((*(n + on_side for n in shape), *values.shape[one.dimension :]), values.dtype))
                whole[tuple(slice(extent[2 * d], extent[2 * d + 1] + on_side) for d in range(one.dimension))] = values
    return parts[0][0], grid, sections[0], sections[1]


def _read_image(file: VtkFile) -> tuple[Grid, Mapping[str, npt.NDArray[Any]], Mapping[str, npt.NDArray[Any]]]:
    info: dict[str, Any] = file.fields()
    shape = tuple(n - 1 for n in file.dimensions() if n > 1)
    grid = Grid(shape, float(info["spacing"][0]), tuple(info["origin"]), [bool(p) for p in info["periodic"]], comm=one_rank())
    cells = {n: _to_grid(a, shape, grid.dimension) for n, a in file.section("CellData").items()}
    return grid, cells, {n: _to_grid(a, tuple(s + 1 for s in shape), grid.dimension) for n, a in file.section("PointData").items()}


def _read_cells(file: VtkFile) -> FrameMesh:
    info: dict[str, Any] = file.fields()
    corners = int(info["corners"][0])
    points: Any = file.section("Points")["position"]
    elements: Any = file.section("Cells")["connectivity"]
    if corners not in _CORNERS.values() or points.shape[1:] != (3,) or ((elements < 0) | (elements >= len(points))).any():
        raise ValueError("elements have corners that are not there")
    elements = elements.astype(np.int32).reshape(-1, corners)
    return FrameMesh(points, elements, _columns(file, "PointData", len(points)), _columns(file, "CellData", len(elements)))


def _read_points(file: VtkFile) -> dict[str, npt.NDArray[Any]]:
    info: dict[str, Any] = file.fields()
    points: Any = file.section("Points")["position"]
    dimension = int(info["dimension"][0])
    if points.shape[1:] != (3,) or not 1 <= dimension <= 3:
        raise ValueError("positions have two or three coordinates")
    return {"position": np.ascontiguousarray(points[:, :dimension]), **_columns(file, "PointData", len(points))}


def _columns(file: VtkFile, section: str, rows: int) -> dict[str, npt.NDArray[Any]]:
    columns: dict[str, Any] = file.section(section)
    if any(len(column) != rows for column in columns.values()):
        raise ValueError(f"a column has another length than the {'points' if section == 'PointData' else 'elements'}")
    return columns


def write_series(path: str | os.PathLike[str], frames: Sequence[tuple[float, Sequence[str | os.PathLike[str]]]]) -> None:
    """Write a `.pvd`: for each frame its time (s) and its files, named relative to the folder of `path`. Raises OSError."""
    target = _checks.path("path", path)
    if not isinstance(frames, Sequence) or not all(isinstance(f, Sequence) and len(f) == 2 for f in frames):
        raise TypeError("frames must be a sequence of times with their files")
    lines = [
        f'    <DataSet timestep="{time!r}" part="{part}" file={quoteattr(os.path.relpath(file, target.parent))}/>\n'
        for time, files in frames
        for part, file in enumerate(files)
    ]
    content = f'<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">\n  <Collection>\n{"".join(lines)}'
    write_text(target, f'<?xml version="1.0"?>\n{content}  </Collection>\n</VTKFile>\n')


def read_series(path: str | os.PathLike[str]) -> list[tuple[float, list[Path]]]:
    """Return the frames that a `.pvd` lists: time (s) and files of each. Raises OSError, or ValueError for another kind of file."""
    path = _checks.path("path", path)
    try:
        root = ElementTree.fromstring(path.read_text())
    except ElementTree.ParseError as error:
        raise ValueError(f"{path} is no collection of frames: {error}") from error
    frames: dict[float, list[Path]] = {}
    for entry in root.iter("DataSet"):
        frames.setdefault(float(entry.attrib["timestep"]), []).append(path.parent / entry.attrib["file"])
    return sorted(frames.items())


def available() -> bool:
    """Return whether frames can be written and read."""
    return _extras.available("vtkmodules")


def require() -> None:
    """Raise ImportError if vtk is missing."""
    _module("vtkCommonCore")


def _image(frame: FrameData, grid: Grid) -> Any:
    """Return a vtkImageData; a 2-D grid is one layer of nodes."""
    data = _new("vtkCommonDataModel", "vtkImageData")
    flat = (0.0,) * (3 - grid.dimension)
    data.SetExtent(_extent(grid))
    data.SetSpacing((grid.spacing,) * 3)
    data.SetOrigin(grid.origin + flat)
    for attributes, arrays in ((data.GetCellData(), frame.cells), (data.GetPointData(), frame.nodes)):
        for name, array in arrays.items():
            attributes.AddArray(_to_vtk(name, _from_grid(array, grid.dimension)))
    # The attributes of the file are rounded decimals, and it has no place for periodic axes.
    exact = {"TimeValue": [frame.time], "spacing": [grid.spacing], "origin": grid.origin, "periodic": np.array(grid.periodic, np.uint8)}
    marks = {_LEVEL_SET + name: np.ones(1, np.uint8) for name in frame.levelsets}
    for name, values in {**exact, **marks}.items():
        data.GetFieldData().AddArray(_to_vtk(name, np.asarray(values)))
    return data


def _points(columns: Mapping[str, npt.NDArray[Any]], time: float) -> Any:
    """Return a vtkPolyData with a vertex per particle, which viewers need to show it."""
    positions = columns["position"]
    n, dimension = positions.shape
    data = _new("vtkCommonDataModel", "vtkPolyData")
    points = _new("vtkCommonCore", "vtkPoints")
    points.SetData(_to_vtk("position", _three_components(positions)))
    data.SetPoints(points)
    vertices = _new("vtkCommonDataModel", "vtkCellArray")
    vertices.SetData(_to_vtk("offsets", np.arange(n + 1, dtype=np.int64)), _to_vtk("connectivity", np.arange(n, dtype=np.int64)))
    data.SetVerts(vertices)
    for name, array in columns.items():
        if name != "position":
            data.GetPointData().AddArray(_to_vtk(name, array))
    for name, values in {"TimeValue": [time], "dimension": [dimension]}.items():
        data.GetFieldData().AddArray(_to_vtk(name, np.asarray(values)))
    return data


def _cells(mesh: FrameMesh, time: float) -> Any:
    """Return a vtkUnstructuredGrid of one kind of cells."""
    m, corners = mesh.elements.shape
    data = _new("vtkCommonDataModel", "vtkUnstructuredGrid")
    points = _new("vtkCommonCore", "vtkPoints")
    points.SetData(_to_vtk("position", mesh.vertices))
    data.SetPoints(points)
    cells = _new("vtkCommonDataModel", "vtkCellArray")
    offsets = np.arange(0, corners * m + 1, corners, dtype=np.int64)
    cells.SetData(_to_vtk("offsets", offsets), _to_vtk("connectivity", mesh.elements.ravel().astype(np.int64)))
    data.SetCells(next(kind for kind, n in _CORNERS.items() if n == corners), cells)
    for attributes, columns in ((data.GetPointData(), mesh.columns), (data.GetCellData(), mesh.element_columns)):
        for name, array in columns.items():
            attributes.AddArray(_to_vtk(name, array))
    for name, values in {"TimeValue": [time], "corners": [corners]}.items():
        data.GetFieldData().AddArray(_to_vtk(name, np.asarray(values)))
    return data


def _name_in(path: Path) -> str:
    """Return the name of the particles or the mesh in the name of their file."""
    return path.stem.split("-", 2)[2]


def _from_grid(array: npt.NDArray[Any], dimension: int) -> npt.NDArray[Any]:
    """Return values in VTK's order (x fastest), vectors with three components."""
    if array.ndim == dimension:
        return np.ravel(array, order="F")
    axes = (*range(dimension - 1, -1, -1), dimension)
    return _three_components(array.transpose(axes).reshape(-1, array.shape[-1]))


def _to_grid(values: npt.NDArray[Any], shape: tuple[int, ...], dimension: int) -> npt.NDArray[Any]:
    if values.ndim == 1:
        return np.ascontiguousarray(values.reshape(shape[::-1]).T)
    axes = (*range(dimension - 1, -1, -1), dimension)
    return np.ascontiguousarray(values.reshape(*shape[::-1], -1).transpose(axes)[..., :dimension])


def _three_components(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return vectors (n, 2) with a third component of zero; others unchanged."""
    return np.pad(vectors, ((0, 0), (0, 1))) if vectors.shape[1] == 2 else vectors


def _to_vtk(name: str, array: npt.NDArray[Any]) -> Any:
    values = np.ascontiguousarray(array.view(np.uint8) if array.dtype == np.bool_ else array)
    result = _module("util.numpy_support").numpy_to_vtk(values, deep=True)
    result.SetName(name)
    return result


def _write(path: Path, kind: str, data: Any) -> Path:
    writer = _new("vtkIOXML", kind)
    writer.SetInputData(data)
    writer.SetHeaderTypeToUInt64()
    writer.SetDataModeToAppended()
    writer.EncodeAppendedDataOff()
    writer.SetCompressorTypeToNone()
    with atomic_path(path) as part:
        writer.SetFileName(str(part))
        with _silence():
            done = writer.Write() == 1 and writer.GetErrorCode() == 0
        if not done:
            code = _reason(part, data.GetActualMemorySize() * 1024)
            raise OSError(code, os.strerror(code), str(path))
    return path


def _reason(part: Path, size: int) -> int:
    """Return the errno of a failed write of `size` bytes. VTK does not report it; a trial write of this size does."""
    try:
        with part.open("wb") as file:
            for _ in range(0, size, 1 << 20):
                file.write(bytes(1 << 20))
    except OSError as error:
        return error.errno or errno.EIO
    return errno.EIO


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep VTK from printing messages that are raised as errors."""
    kind = _module("vtkCommonCore").vtkObject
    before = kind.GetGlobalWarningDisplay()
    kind.SetGlobalWarningDisplay(0)
    try:
        yield
    finally:
        kind.SetGlobalWarningDisplay(before)


def _new(module: str, kind: str) -> Any:
    return getattr(_module(module), kind)()


def _module(name: str) -> Any:
    """Return a module of VTK; modules are loaded one by one, since all of them take seconds."""
    return _extras.require(f"vtkmodules.{name}", "frames need", otherwise=", or run without them")
