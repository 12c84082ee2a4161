"""Frames of several ranks: each writes its part, and VTK's parallel reader and ours give back the arrays of one rank."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.build import scalar_types

import meniscus as ms
from meniscus.io import FrameWriter, vtk


def _write(folder: Path, shape: tuple[int, ...]) -> list[Path]:
    grid = ms.Grid(shape, 0.25, origin=tuple(0.5 * d for d in range(len(shape))))
    rho = ms.CellField.from_function(grid, lambda *x: np.sin(sum(x)))
    phi = ms.NodeField.from_function(grid, lambda *x: np.cos(sum(x)), dtype=scalar_types(len(shape))[0])
    velocity = ms.MacField.from_function(grid, lambda x, t: np.sin(x))
    size = np.array(grid.shape) * grid.spacing
    whole = np.array(grid.origin) + np.random.default_rng(3).random((200, len(shape))) * size
    own = np.arange(200) % grid.comm.size == grid.comm.rank
    dust = ms.Particles(whole[own], number=np.flatnonzero(own))
    dust.migrate(grid)
    with FrameWriter(folder) as frames:
        return frames.write(0.1, rho=rho, phi=phi, velocity=velocity, dust=dust)


@pytest.mark.parametrize("shape", [(12, 10), (9, 11, 10)])
@pytest.mark.parametrize("count", [2, 4])
def test_parts_of_ranks_are_the_frame_of_one(tmp_path: Path, shape: tuple[int, ...], count: int) -> None:
    pytest.importorskip("vtkmodules")
    alone = vtk.read_frame(_write(tmp_path / "alone", shape), 0)
    files = ms.parallel.run_threads(count, _write, tmp_path / "ranks", shape)
    assert all(f == files[0] for f in files)
    assert [f.suffix for f in files[0]] == [".pvti", ".pvtp"]
    together = vtk.read_frame(files[0], 0)
    assert together.grid == alone.grid
    assert together.time == alone.time
    for mine, theirs in ((together.cells, alone.cells), (together.nodes, alone.nodes)):
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[n], theirs[n]) and mine[n].dtype == theirs[n].dtype for n in mine)
    order, other = (np.argsort(f.particles["dust"]["number"]) for f in (together, alone))
    assert np.array_equal(together.particles["dust"]["position"][order], alone.particles["dust"]["position"][other])
    listed = vtk.read_series(tmp_path / "ranks" / "frames.pvd")
    assert listed == [(0.1, files[0])]


def test_the_parallel_reader_of_vtk_gives_the_same_arrays(tmp_path: Path) -> None:
    xml = pytest.importorskip("vtkmodules.vtkIOXML")
    numpy_support = pytest.importorskip("vtkmodules.util.numpy_support")
    shape = (12, 8, 10)
    alone, parts = _write(tmp_path / "alone", shape), ms.parallel.run_threads(3, _write, tmp_path / "ranks", shape)[0]
    images = []
    for reader, file in ((xml.vtkXMLImageDataReader(), alone[0]), (xml.vtkXMLPImageDataReader(), parts[0])):
        reader.SetFileName(str(file))
        reader.Update()
        images.append(reader.GetOutput())
    one, many = images
    assert one.GetExtent() == many.GetExtent()
    assert one.GetSpacing() == many.GetSpacing()
    for name in ("rho", "velocity"):
        arrays = [numpy_support.vtk_to_numpy(i.GetCellData().GetArray(name)) for i in images]
        assert np.array_equal(*arrays)
    assert np.array_equal(*(numpy_support.vtk_to_numpy(i.GetPointData().GetArray("phi")) for i in images))
    reader = xml.vtkXMLPPolyDataReader()
    reader.SetFileName(str(parts[1]))
    reader.Update()
    assert reader.GetOutput().GetNumberOfPoints() == 200


def test_a_part_that_cannot_be_written_is_an_error_on_all_ranks(tmp_path: Path) -> None:
    pytest.importorskip("vtkmodules")
    (tmp_path / "frame-0000.1.vti").mkdir()

    def program() -> None:
        with pytest.raises(ms.parallel.RankError, match="rank 1 failed: IsADirectoryError"):
            _write(tmp_path, (12, 10))

    ms.parallel.run_threads(2, program)
    assert not list(tmp_path.glob("*.pvti"))
